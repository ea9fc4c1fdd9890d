"""The rows of a data file for one model: its answers, its uncertainty, and the changes by a new version."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus import detect
from chaffinch.errors import ChaffinchError
from chaffinch.kinds.kind import Kind
from chaffinch.kinds.requests import PredictRequest
from chaffinch.serve.answers import Answering, InputRow
from chaffinch.serve.versions import Version

MOST_KEPT = 3  # versions whose answers are kept
FIXED, BROKEN, MOVED = "fixed", "broken", "moved"
NEAR_TIE = 0.6  # an answer less certain than this may change with any training


class DataPool:
    """A data file for one model.

    name:    on the page: the file's name without its folder
    told:    options of its reader
    changed: row -> fixed, broken or moved, by the last change of version
    """

    def __init__(
        self, path: Path, kind: Kind, answering: Answering, model: Any, told: Mapping[str, str]
    ) -> None:
        self.path, self.name, self.kind, self.answering = path, path.name, kind, answering
        self._text = told.get("text")
        self.test = kind.test_set(path, [model], told)
        self.rows: list[InputRow] = [answering.row_of(model, d) for d in self.test.documents]
        self.places: dict[str, list[int]] = {}
        for n, row in enumerate(self.rows):
            self.places.setdefault(row.key, []).append(n)
        self.changed: dict[int, str] = {}
        self.suspects: dict[int, str] | None = None
        self._lock = threading.Lock()
        self._answers: dict[str, list[Any]] = {}
        self._doubts: dict[str, NDArray[np.float64]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def answers(self, version: Version) -> list[Any]:
        """The answers of a version to all rows, as the test set has them."""
        return self._kept(self._answers, version, lambda: self.test.ask(version.model))

    def doubts(self, version: Version) -> NDArray[np.float64] | None:
        """The uncertainty of a version about each answer; None if its kind has no measure of it."""

        def measured() -> Any:
            try:
                asked = PredictRequest(data=self.path, output=Path("-"), text=self._text)
                corpus = getattr(self.test, "table", None)
                corpus = self.kind.pool(version.model, asked) if corpus is None else corpus
                return self.kind.uncertainty(version.model, corpus)
            except ChaffinchError:
                return None

        return self._kept(self._doubts, version, measured)

    def gold(self, row: int) -> Any:
        """The gold answer of a row; None if the file has none."""
        return self.test.gold[row] if self.test.labelled else None

    def find_suspects(self) -> None:
        """Ask the doctor for likely label errors; afterwards ``suspects`` holds a sentence for each such row."""
        from chaffinch.doctor.corpus_file import CorpusFile
        from chaffinch.doctor.label_errors import label_errors

        found: dict[int, str] = {}
        if self.test.labelled and self.kind.detected:
            file = CorpusFile(self.path, detect(self.path).name, self.test.documents)
            for finding in label_errors([file], threads=1):
                if finding.row is not None:
                    found.setdefault(finding.row - 1, f"{finding.what}: {finding.suggestion}")
        self.suspects = found

    def difference(
        self, before: Version, after: Version, right: Callable[[int], Any]
    ) -> list[dict[str, Any]]:
        """The rows that two versions answer differently; right: the known answer of a row, or None."""
        old, new = self.answers(before), self.answers(after)
        changed, self_changed = [], {}
        for n, (a, b) in enumerate(zip(old, new, strict=True)):
            if a == b:
                continue
            known = right(n)
            was, now = self.answering.plain(a), self.answering.plain(b)
            verdict = MOVED
            if known is not None and known in (was, now):
                verdict = FIXED if now == known else BROKEN
            self_changed[n] = verdict
            changed.append(
                {
                    "data": self.name,
                    "row": n,
                    "text": self.rows[n].text,
                    "before": was,
                    "after": now,
                    **({} if known is None else {"gold": known}),
                    "verdict": verdict,
                }
            )
        self.changed = self_changed
        return changed

    def right(self, version: Version, known: Callable[[int], Any]) -> tuple[int, int]:
        """How many rows with a known answer a version answers right, and how many there are."""
        found = self.answers(version)
        judged = [(answer, known(n)) for n, answer in enumerate(found)]
        told = [(self.answering.plain(a), k) for a, k in judged if k is not None]
        return sum(a == k for a, k in told), len(told)

    def _kept(self, kept: dict[str, Any], version: Version, make: Callable[[], Any]) -> Any:
        with self._lock:
            if version.name not in kept:
                kept[version.name] = make()
                while len(kept) > MOST_KEPT:
                    del kept[next(iter(kept))]
            return kept[version.name]
