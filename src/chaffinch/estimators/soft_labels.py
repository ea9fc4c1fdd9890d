"""Labels that are not certain: None where a token's label is not known, or how likely each label is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError, warn_about_data
from chaffinch.estimators.inputs import is_missing

# Stands for None in a column of labels; no corpus has it.
UNKNOWN = "\ufffd not known"


@dataclass(frozen=True)
class GivenLabels:
    """Labels as a table needs them: one string for each token, and what else was said.

    unknown: the string that stands for None, if any token had it
    soft:    labels in alphabetical order, and float32 [tokens, labels]
    """

    y: list[list[str]]
    unknown: str | None = None
    soft: tuple[tuple[str, ...], NDArray[np.float32]] | None = None


def given_labels(y: Sequence[Sequence[Any]]) -> GivenLabels:
    """Labels from strings, None, or mappings from label to probability.

    >>> given_labels([["A", None]]).y == [["A", UNKNOWN]]
    True
    >>> given = given_labels([[{"A": 0.25, "B": 0.75}, "A"]])
    >>> given.y, given.soft[0], given.soft[1].tolist()
    ([['B', 'A']], ('A', 'B'), [[0.25, 0.75], [1.0, 0.0]])
    """
    kinds = {type(label) for sentence in y for label in sentence}
    if kinds - {str, type(None)}:
        y, kinds = _plain(y, kinds)
    if any(issubclass(kind, Mapping) for kind in kinds):
        return _soft(y)
    if type(None) in kinds:
        return GivenLabels([[UNKNOWN if label is None else label for label in s] for s in y], UNKNOWN)
    return GivenLabels(y if isinstance(y, list) else [list(sentence) for sentence in y])


def _plain(y: Sequence[Sequence[Any]], kinds: set[type]) -> tuple[Any, set[type]]:
    """Labels without NaN, which is refused with its place, and with whole numbers as strings, which is said."""
    for n, sentence in enumerate(y, 1):
        for t, label in enumerate(sentence, 1):
            if label is not None and is_missing(label):
                raise DataError(f"y contains NaN: the label of token {t} of sentence {n} is {label}")
    if not all(kind is type(None) or issubclass(kind, int | np.integer) for kind in kinds):
        return y, kinds
    warn_about_data("labels are whole numbers: they are learned, and predicted, as strings such as '0'")
    made = [[None if label is None else str(int(label)) for label in sentence] for sentence in y]
    return made, {str, *(kinds & {type(None)})}


def _soft(y: Sequence[Sequence[Any]]) -> GivenLabels:
    tokens: list[dict[str, float]] = []
    for n, sentence in enumerate(y, 1):
        for label in sentence:
            if label is None:
                raise DataError(f"sentence {n}: None cannot stand beside soft labels; give a distribution")
            p = dict(label) if isinstance(label, Mapping) else {label: 1.0}
            total = sum(p.values())
            if not p or min(p.values()) < 0 or not abs(total - 1) < 1e-3:
                raise DataError(f"sentence {n}: expected probabilities that add up to 1, got {label!r}")
            tokens.append(p)
    names = tuple(sorted({name for p in tokens for name in p}))
    place = {name: i for i, name in enumerate(names)}
    soft = np.zeros((len(tokens), len(names)), np.float32)
    for t, p in enumerate(tokens):
        for name, value in p.items():
            soft[t, place[name]] = value
    likeliest = iter(soft.argmax(axis=1).tolist())
    return GivenLabels([[names[next(likeliest)] for _ in s] for s in y], None, (names, soft))
