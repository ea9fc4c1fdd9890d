"""K-best lists in a file: a JSON object per line, with the candidates of one input.

    {"input": "...", "candidates": [{"answer": "...", "score": -1.5, "loss": 0, "features": {"length": 3}}, ...]}

``score`` is the base model's. ``loss`` is the answer's loss; only training lists need it. ``features`` are
numbers by name, or a list of names.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaffinch.corpus.lines import lines
from chaffinch.errors import DataError
from chaffinch.files import display_name


@dataclass(frozen=True)
class Candidate:
    """One answer of a list, as the file gives it."""

    answer: Any
    score: float
    loss: float | None = None
    features: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class FileList:
    """One line of the file."""

    input: Any
    candidates: tuple[Candidate, ...]
    record: dict[str, Any]


def read_lists(path: str | Path) -> Iterator[FileList]:
    """The lists of a file, one per line."""
    name = display_name(path)
    for number, text in lines(path):
        if not text.strip():
            continue
        where = f"{name}:{number}"
        try:
            record = json.loads(text)
        except json.JSONDecodeError as e:
            raise DataError(f"{where}: is not JSON: {e}") from None
        if not isinstance(record, dict) or not isinstance(record.get("candidates"), list):
            raise DataError(f"{where}: expected an object with a list 'candidates'")
        if not record["candidates"]:
            raise DataError(f"{where}: expected at least one candidate, found an empty list")
        found = tuple(_candidate(c, f"{where}: candidate {k}") for k, c in enumerate(record["candidates"], 1))
        yield FileList(record.get("input"), found, record)


def _candidate(given: Any, where: str) -> Candidate:
    if not isinstance(given, dict):
        raise DataError(f"{where}: expected an object, found {given!r:.40}")
    score, loss, features = given.get("score"), given.get("loss"), given.get("features", {})
    if score is None or not _is_number(score):
        raise DataError(f"{where}: expected a number as 'score', found {score!r:.40}")
    if loss is not None and not _is_number(loss):
        raise DataError(f"{where}: expected a number as 'loss', found {loss!r:.40}")
    if isinstance(features, list):
        counted: dict[str, float] = {}
        for name in features:
            counted[str(name)] = counted.get(str(name), 0.0) + 1.0
        features = counted
    if not isinstance(features, dict) or not all(_is_number(v) for v in features.values()):
        raise DataError(f"{where}: expected numbers by name, or names, as 'features'")
    return Candidate(given.get("answer"), float(score), None if loss is None else float(loss), features)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
