"""Prediction over many files: each is written completely or not at all; a second run predicts the missing ones."""

import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from chaffinch.engines.engine import Engine
from chaffinch.errors import DataError, DataWarning, warn_about_data
from chaffinch.estimators import load
from chaffinch.files import writing_text
from chaffinch.kinds import kind_of_model
from chaffinch.kinds.requests import PredictRequest
from chaffinch.kinds.streaming import predict_file

MANIFEST = "manifest.json"
VERSION = 1  # of the manifest
BETWEEN_RECORDS = 1.0  # seconds between two writings of the manifest

if sys.platform != "win32":
    import fcntl


@dataclass(frozen=True)
class FilePrediction:
    """The job: predict one file with a model that each process loads once.

    model:   the path of the model file
    digest:  SHA-256 of the model file; a worker refuses a file with another digest
    request: the request for each file; its data and output are replaced
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

    def run(self, state: Any, shard: tuple[Path, Path]) -> "AnsweredFile":
        """Predict a file."""
        data, output = shard
        kind = kind_of_model(state)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", DataWarning)
            predict_file(kind, state, replace(self.request, data=data, output=output), self.on_error)
        remarks = tuple(str(one.message) for one in told if issubclass(one.category, DataWarning))
        return AnsweredFile(output.stat().st_size, remarks)


@dataclass(frozen=True)
class AnsweredFile:
    """A predicted file: the size of its answers in bytes, and remarks on its rows."""

    size: int
    remarks: tuple[str, ...] = ()


def predict_files(
    job: FilePrediction,
    pairs: Sequence[tuple[Path, Path]],
    engine: Engine,
    on_replaced: Callable[[str], object] = lambda _: None,
) -> Iterator[tuple[Path, bool]]:
    """Predict each input into its output; yields each output and whether an earlier run had finished it.

    on_replaced: called with the name of another input whose answers an output holds and now loses

    The folder of the outputs has a manifest of finished files: an input is not predicted again if it has not changed
    since the same model predicted it with the same settings. All outputs are in one folder.
    """
    folder = pairs[0][1].parent
    with _alone_in(folder):
        manifest = Manifest.read(folder, job)
        manifest.tell_leftovers({output.name for _, output in pairs})
        left = []
        for data, output in pairs:
            if manifest.has(data, output):
                yield output, True
            else:
                left.append((data, output))
                if (other := manifest.input_of(output)) not in (None, str(data)):
                    on_replaced(str(other))
        if left:
            _remove_unfinished([output for _, output in left])
            manifest.write()  # before the first answer, which makes entries of another model wrong
        facts = [_facts(data) for data, _ in left]  # taken before the work, so that a later change is noticed
        try:
            for n, answered in engine.map(job, left):
                data, output = left[n]
                for remark in answered.remarks:
                    warn_about_data(remark)
                manifest.add(output, facts[n], answered.size)
                yield output, False
        except BaseException:
            with suppress(DataError):  # if the disk is full, the error of the answers is reported
                manifest.write()
            raise
        if left:
            manifest.write()
            _remove_unfinished([output for _, output in left])  # of workers that were killed


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Refuse a folder that another run is writing to. The lock ends with the process, however it ends."""
    if sys.platform == "win32":
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DataError(
                    f"{folder}: another run is writing here; wait for it, or name another folder"
                ) from None
        yield
    finally:
        os.close(held)


def _remove_unfinished(outputs: Sequence[Path]) -> None:
    """Remove the partial files of a killed run, by the names that ``files.writing`` gives them."""
    names = {MANIFEST, *(output.name for output in outputs)}
    for path in outputs[0].parent.glob(".*.*.part*"):
        if path.name[1:].rsplit(".", 2)[0] in names:
            path.unlink(missing_ok=True)


@dataclass
class Manifest:
    """The finished files: by the name of the output, the input's size and time, and the size of the answers.

    key:     a hash of the model, the request and the contents of the files that the request names, such as rules
    earlier: outputs that another model or request has written, by name, and their inputs
    """

    path: Path
    key: str
    files: dict[str, dict[str, Any]]
    earlier: dict[str, str] = field(default_factory=dict)
    _written: float = 0.0

    @classmethod
    def read(cls, folder: Path, job: FilePrediction) -> "Manifest":
        """The manifest of a folder; without files if there is none, it is damaged, or it is that of another job."""
        asked = {
            k: _contents(v) for k, v in asdict(job.request).items() if k not in ("data", "output", "threads")
        }
        key = hashlib.sha256(
            json.dumps([job.digest, job.on_error, asked], sort_keys=True).encode()
        ).hexdigest()
        path = folder / MANIFEST
        if not path.exists():
            return cls(path, key, {})
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as e:
            warn_about_data(f"{path}: is damaged ({e}), so every file is predicted again")
            return cls(path, key, {})
        try:
            files = {str(name): dict(entry) for name, entry in found["files"].items()}
            earlier = {str(name): str(data) for name, data in found.get("earlier", {}).items()}
            version, of = found.get("version", VERSION), str(found["key"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError(
                f"{path}: is not the record of predictions that --engine writes under this name; name another folder, "
                "or move the file"
            ) from None
        if version != VERSION:
            warn_about_data(
                f"{path}: expected version {VERSION}, found {version}, so every file is predicted again"
            )
        if version != VERSION or of != key:
            earlier |= {name: str(entry.get("input")) for name, entry in files.items()}
            files = {}
        return cls(
            path, key, files, {name: data for name, data in earlier.items() if (folder / name).is_file()}
        )

    def tell_leftovers(self, names: Collection[str]) -> None:
        """Warn about answers in the folder that are not those of this run, which writes outputs of these names."""
        folder = self.path.parent
        others = sorted(self.earlier.keys() - names)
        gone = sorted(
            name
            for name, entry in self.files.items()
            if name not in names and (folder / name).is_file() and not Path(str(entry.get("input"))).exists()
        )
        for left, of in ((others, "of another model or other settings"), (gone, "to inputs that are gone")):
            if left:
                files, hold = ("file", "holds") if len(left) == 1 else ("files", "hold")
                warn_about_data(
                    f"{len(left):,} {files} of earlier runs in {folder} {hold} answers {of}, such as {left[0]}; remove "
                    "what should not be read together with the answers of this run"
                )

    def has(self, data: Path, output: Path) -> bool:
        """Whether the output holds the answers to this input as it is now."""
        entry = self.files.get(output.name)
        if entry is None or not output.is_file() or output.stat().st_size != entry.get("answers"):
            return False
        return {name: entry.get(name) for name in ("input", "size", "changed")} == _facts(data)

    def input_of(self, output: Path) -> str | None:
        """The input to which an existing output holds the answers; None: unknown."""
        if not output.is_file():
            return None
        entry = self.files.get(output.name)
        return self.earlier.get(output.name) if entry is None else str(entry.get("input"))

    def add(self, output: Path, facts: dict[str, Any], size: int) -> None:
        """Record an output."""
        self.files[output.name] = {**facts, "answers": size}
        self.earlier.pop(output.name, None)
        if time.monotonic() - self._written > BETWEEN_RECORDS:
            self.write()

    def write(self) -> None:
        """Write the file; it is complete at any moment."""
        self._written = time.monotonic()
        with writing_text(self.path) as stream:
            record = {"version": VERSION, "key": self.key, "files": self.files, "earlier": self.earlier}
            json.dump(record, stream, indent=1, sort_keys=True)


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as e:
        raise DataError(f"{path}: cannot be read: {e.strerror}") from None


def _contents(setting: Any) -> str:
    """A setting of a request as text; a file by the digest of its contents, which may change under the same name."""
    if isinstance(setting, list | tuple):
        return json.dumps([_contents(one) for one in setting])
    return digest_of(setting) if isinstance(setting, Path) else str(setting)


def _facts(path: Path) -> dict[str, Any]:
    found = path.stat()
    return {"input": str(path), "size": found.st_size, "changed": found.st_mtime_ns}
