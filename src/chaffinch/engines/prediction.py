"""Prediction over many files: each is written whole or not at all, and a second run does only what is missing."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from chaffinch.engines.engine import Engine
from chaffinch.errors import DataError
from chaffinch.estimators import load
from chaffinch.files import writing_text
from chaffinch.kinds import kind_of_model
from chaffinch.kinds.requests import PredictRequest
from chaffinch.kinds.streaming import predict_file

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class FilePrediction:
    """The job: predict one file with a model that each process loads once.

    model:   the path of the model file
    digest:  of its bytes: a worker that finds another file there refuses it
    request: what is asked of each file; its data and output are replaced
    """

    model: Path
    digest: str
    request: PredictRequest
    on_error: str = "stop"

    def open(self) -> Any:
        """The model."""
        if digest_of(self.model) != self.digest:
            raise DataError(f"{self.model}: has changed since the work began")
        return load(self.model)

    def run(self, state: Any, shard: tuple[Path, Path]) -> int:
        """Predict a file; the size of the answers in bytes."""
        data, output = shard
        kind = kind_of_model(state)
        predict_file(kind, state, replace(self.request, data=data, output=output), self.on_error)
        return output.stat().st_size


def predict_files(
    job: FilePrediction, pairs: Sequence[tuple[Path, Path]], engine: Engine
) -> Iterator[tuple[Path, bool]]:
    """Predict each input into its output; gives each output and whether it was done before.

    The folder of the outputs has a manifest of what is done: an input that has not changed since the same model
    answered it in the same way is not answered again. All outputs are in one folder.
    """
    manifest = Manifest.read(pairs[0][1].parent, job)
    left = []
    for data, output in pairs:
        if manifest.has(data, output):
            yield output, True
        else:
            left.append((data, output))
    facts = [_facts(data) for data, _ in left]  # as they are before the work: a change on the way is seen
    for n, size in engine.map(job, left):
        data, output = left[n]
        manifest.add(data, output, facts[n], size)
        yield output, False


@dataclass
class Manifest:
    """What is done: by the name of the output, the input's size and time, and the answers' size.

    key: of the model and of what was asked
    """

    path: Path
    key: str
    files: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, folder: Path, job: FilePrediction) -> "Manifest":
        """The manifest of a folder; an empty one if there is none, or one of another job."""
        asked = {k: str(v) for k, v in asdict(job.request).items() if k not in ("data", "output", "threads")}
        key = hashlib.sha256(
            json.dumps([job.digest, job.on_error, asked], sort_keys=True).encode()
        ).hexdigest()
        path = folder / MANIFEST
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            files = found["files"] if found["key"] == key else {}
            return cls(path, key, {str(name): dict(entry) for name, entry in files.items()})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(path, key, {})

    def has(self, data: Path, output: Path) -> bool:
        """Whether the output holds the answers to this input as it is now."""
        entry = self.files.get(output.name)
        if entry is None or not output.is_file() or output.stat().st_size != entry.get("answers"):
            return False
        return {name: entry.get(name) for name in ("input", "size", "changed")} == _facts(data)

    def add(self, data: Path, output: Path, facts: dict[str, Any], size: int) -> None:
        """Record an output; the file of the manifest is whole at any moment."""
        self.files[output.name] = {**facts, "answers": size}
        with writing_text(self.path) as stream:
            json.dump({"key": self.key, "files": self.files}, stream, indent=1, sort_keys=True)


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _facts(path: Path) -> dict[str, Any]:
    found = path.stat()
    return {"input": str(path), "size": found.st_size, "changed": found.st_mtime_ns}
