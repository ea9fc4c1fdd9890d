"""The inputs of a tagger: sentences as a token table, and labels that are certain, unknown or soft."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.estimators.inputs import (
    SampleWeight,
    frame_columns,
    is_frame,
    is_missing,
    listed,
    sample_weights,
)
from chaffinch.text.attributes import ATTRIBUTES
from chaffinch.text.document import LABEL, WORD
from chaffinch.text.table import TokenTable

_ROW_TYPES = frozenset((list, tuple))
WORD_NAMES = (WORD, "tokens", "words")  # names of the column of words in a frame

# A table; sentences of tokens, which are words, tuples of a word and further columns, or a user's features (dicts,
# lists of strings); or lists by column.
Sentences: TypeAlias = "TokenTable | Sequence[Sequence[Any]] | Mapping[str, Sequence[Sequence[str]]]"


def table_of(
    X: Sentences, columns: Sequence[str], needed: Sequence[str] | None = None, first: int = 1
) -> TokenTable:
    """The sentences as a table.

    columns: the names of the columns if tokens are tuples, the word first
    needed:  the columns that the result must have; None: all of them
    first:   the number of the first sentence in messages

    >>> table_of([["a", "b"]], ["w"]).lists("w")
    [['a', 'b']]
    >>> table_of([[("a", "DT"), ("b", "NN")]], ["w", "pos"]).lists("pos")
    [['DT', 'NN']]
    >>> table_of([[("a", {"cap": True})]], ["w", "attributes"]).lists("attributes")
    [['cap']]
    """
    wanted = columns if needed is None else needed
    X = sentences_of(X) if is_frame(X) else X
    if isinstance(X, TokenTable):
        given = X
    elif isinstance(X, Mapping):
        given = TokenTable.over_lists({name: sentences_of(rows) for name, rows in X.items()})
    else:
        rows = sentences_of(X, first=first)
        if isinstance(rows, str) or not isinstance(rows, Sequence):
            raise DataError(f"expected a list of sentences, got {type(X).__name__}")
        if all(isinstance(row, list | tuple) and not row for row in rows):
            return TokenTable.over_lists({name: [[] for _ in rows] for name in wanted})
        given = _from_rows(rows, columns, first)
    if [name for name in wanted if name not in given.names]:
        have = ", ".join(given.names)
        raise DataError(f"expected the columns {', '.join(wanted)}; the input has {have}")
    return given


def sentences_of(X: Any, holds: str = "tokens", first: int = 1) -> Any:
    """Sentences as a list of lists or tuples, from generators, Series and columns of Arrow, polars and arrays.

    A frame with one column gives that column; a frame with several gives lists by column, the words as ``w``.

    holds: what the lists hold, for messages     first: the number of the first sentence in messages
    """
    if is_frame(X):
        columns = frame_columns(X)
        if len(columns) == 1:
            return sentences_of(next(iter(columns.values())))
        words = next((name for name in WORD_NAMES if name in columns), None)
        if words is None:
            raise DataError(
                f"expected a frame with a column of words called {' or '.join(WORD_NAMES)}, found {', '.join(columns)}"
            )
        others = {name: sentences_of(column) for name, column in columns.items() if name != words}
        return {WORD: sentences_of(columns[words]), **others}
    rows = X if isinstance(X, list) else listed(X)
    if isinstance(rows, list) and not _ROW_TYPES.issuperset(map(type, rows)):
        _refuse_missing_rows(rows, holds, first)
    if isinstance(rows, list) and rows and not isinstance(rows[0], list | tuple | str):
        return [listed(row) for row in rows]
    return rows


def _refuse_missing_rows(rows: Sequence[Any], holds: str, first: int) -> None:
    """Raise for a sentence that is null in its column, and name it."""
    for n, row in enumerate(rows, first):
        if is_missing(row):
            raise DataError(
                f"sentence {n:,} is missing: expected a list of {holds}, got {row}; leave out rows without a list"
            )


def column_names(X: Sentences) -> list[str]:
    """The columns of the sentences: w, then pos or x1, x2 ... if tokens are tuples; a guess gives a warning."""
    if isinstance(X, TokenTable):
        return X.names
    if isinstance(X, Mapping):
        return list(X)
    first = next((t for s in X for t in s), "")
    if _are_features(first) or _are_strings(X, first):
        return [ATTRIBUTES]
    width = next(
        (len(t) if isinstance(t, Sequence) and not isinstance(t, str) else 1 for s in X for t in s), 1
    )
    if width == 1:
        return [WORD]
    if _are_features(first[-1]):
        named = [WORD, "pos"] if width == 3 else [WORD, *(f"x{i}" for i in range(1, width - 1))]
        return [*named, ATTRIBUTES]
    made = [WORD, "pos"] if width == 2 else [WORD, *(f"x{i}" for i in range(1, width))]
    _say_what_tokens_are(made)
    return made


def unread_remarks(columns: Sequence[str], read: Sequence[str], *, every: bool = False) -> list[str]:
    """A warning about columns that no feature reads: those named by their position, or ``every`` column.

    >>> unread_remarks(["w", "x1", "x2", "mine"], ["w", "x2"])
    ['no feature reads the column x1: name templates that do (features), such as x1[0], or leave it out']
    """
    placed = re.compile(r"pos|x\d+").fullmatch
    columns = [name for name in columns if name != ATTRIBUTES]
    left = [name for name in columns if name not in read and (every or placed(name))]
    if not left:
        return []
    which, them = ("column", "it") if len(left) == 1 else ("columns", "them")
    remedy = f"name templates that do (features), such as {left[0]}[0], or leave {them} out"
    return [f"no feature reads the {which} {', '.join(left)}: {remedy}"]


def _say_what_tokens_are(names: Sequence[str]) -> None:
    """Warn about columns that are named by their position."""
    if names[1] == "pos":
        warn_about_data(
            "the second column of tokens is read as parts of speech (pos): "
            "give {'w': ..., 'pos': ...} to name columns yourself"
        )


def input_names(known: Sequence[str], found: int) -> list[str]:
    """The names of the columns of an input without labels: those of training; further columns are numbered.

    >>> input_names(("w", "pos"), 3)
    ['w', 'pos', 'input3']
    """
    return [*known[:found], *(f"input{i}" for i in range(len(known) + 1, found + 1))]


def _are_features(token: Any) -> bool:
    """Whether a token, or the last part of one, is a dict, a set or a list of weighted features."""
    if isinstance(token, list | tuple) and token and isinstance(token[0], tuple):
        return True  # strings with weights
    return isinstance(token, Mapping | set | frozenset)


def _are_strings(X: Sequence[Sequence[Any]], first: Any) -> bool:
    """Whether tokens are lists of feature strings rather than columns: they hold ``=``, or differ in length."""
    if not isinstance(first, list) or not all(isinstance(cell, str | bytes) for cell in first):
        return False
    if any(isinstance(cell, str) and "=" in cell for cell in first):
        return True
    return any(isinstance(token, list) and len(token) != len(first) for sentence in X for token in sentence)


def _from_rows(X: Sequence[Sequence[Any]], columns: Sequence[str], number: int) -> TokenTable:
    if list(columns) == [ATTRIBUTES]:
        token: Any = next((t for s in X for t in s), {})
        if isinstance(token, str):
            raise DataError(f"expected tokens as dicts or lists of features, as in training, got {token!r}")
        return TokenTable.over_lists({ATTRIBUTES: X})
    first = next((t for s in X for t in s), "")
    if isinstance(first, str):
        for n, sentence in enumerate(X, number):
            if isinstance(sentence, str):
                raise DataError(f"sentence {n:,} is a string, expected a list of tokens: {sentence[:40]!r}")
        try:
            return TokenTable.over_lists({WORD: X if isinstance(X, list) else list(X)}, number)
        except TypeError as e:
            raise DataError(f"expected sentences of strings: {e}") from None
    width = len(columns)
    lists: list[list[list[str]]] = [[] for _ in range(width)]
    for n, sentence in enumerate(X, number):
        for token in sentence:
            if isinstance(token, str) or not isinstance(token, Sequence) or len(token) != width:
                raise DataError(
                    f"sentence {n:,}: expected tokens of {width} columns ({', '.join(columns)}), got {token!r}"
                )
        for c in range(width):
            lists[c].append([token[c] for token in sentence])
    return TokenTable.over_lists(dict(zip(columns, lists, strict=True)), number)


# Stands for None in a column of labels; it occurs in no corpus.
UNKNOWN = "\ufffd not known"


@dataclass(frozen=True)
class GivenLabels:
    """Labels in the form of a table: one string for each token, and unknown or soft labels.

    unknown: the string that stands for None, if any token has it
    soft:    labels in alphabetical order, and float32 [tokens, labels]
    """

    y: list[list[str]]
    unknown: str | None = None
    soft: tuple[tuple[str, ...], NDArray[np.float32]] | None = None


def given_labels(y: Any, first: int = 1) -> GivenLabels:
    """Labels from strings, None, or mappings from label to probability, in lists or columns of any library.

    first: the number of the first sentence in messages

    >>> given_labels([["A", None]]).y == [["A", UNKNOWN]]
    True
    >>> given = given_labels([[{"A": 0.25, "B": 0.75}, "A"]])
    >>> given.y, given.soft[0], given.soft[1].tolist()
    ([['B', 'A']], ('A', 'B'), [[0.25, 0.75], [1.0, 0.0]])
    """
    y = sentences_of(y, "labels", first)
    kinds = {type(label) for sentence in y for label in sentence}
    if kinds - {str, type(None)}:
        y, kinds = _plain(y, kinds, first)
    if any(issubclass(kind, Mapping) for kind in kinds):
        return _soft(y, first)
    if type(None) in kinds:
        return GivenLabels([[UNKNOWN if label is None else label for label in s] for s in y], UNKNOWN)
    return GivenLabels(y if isinstance(y, list) else [list(sentence) for sentence in y])


def _plain(y: Sequence[Sequence[Any]], kinds: set[type], first: int) -> tuple[Any, set[type]]:
    """Labels as strings; NaN is refused with its place, whole numbers are converted with a warning."""
    for n, sentence in enumerate(y, first):
        for t, label in enumerate(sentence, 1):
            if label is not None and is_missing(label):
                raise DataError(f"y contains NaN: the label of token {t} of sentence {n:,} is {label}")
    if not all(kind is type(None) or issubclass(kind, int | np.integer) for kind in kinds):
        return y, kinds
    warn_about_data("labels are whole numbers: they are learned and predicted as strings such as '0'")
    made = [[None if label is None else str(int(label)) for label in sentence] for sentence in y]
    return made, {str, *(kinds & {type(None)})}


def _soft(y: Sequence[Sequence[Any]], first: int) -> GivenLabels:
    tokens: list[dict[str, float]] = []
    for n, sentence in enumerate(y, first):
        for label in sentence:
            if label is None:
                raise DataError(
                    f"sentence {n:,}: expected a distribution for every token beside soft labels, got None"
                )
            p = dict(label) if isinstance(label, Mapping) else {label: 1.0}
            total = sum(p.values())
            if not p or min(p.values()) < 0 or not abs(total - 1) < 1e-3:
                raise DataError(f"sentence {n:,}: expected probabilities that add up to 1, got {label!r}")
            tokens.append(p)
    names = tuple(sorted({name for p in tokens for name in p}))
    place = {name: i for i, name in enumerate(names)}
    soft = np.zeros((len(tokens), len(names)), np.float32)
    for t, p in enumerate(tokens):
        for name, value in p.items():
            soft[t, place[name]] = value
    likeliest = iter(soft.argmax(axis=1).tolist())
    return GivenLabels([[names[next(likeliest)] for _ in s] for s in y], None, (names, soft))


# -- training data ------------------------------------------------------------------------------------------------


def word_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that templates may read."""
    return tuple(name for name in columns if name != ATTRIBUTES)


def labelled(X: Sentences, y: Sequence[Sequence[str]] | None = None, first: int = 1) -> TokenTable:
    """Sentences and labels as one table. first: the number of the first sentence in messages"""
    table = table_of(X, column_names(X))
    if y is None:
        if LABEL not in table.columns:
            raise DataError("expected labels: give y, or a table with a column 'y'")
        return table
    labels = TokenTable.from_lists({LABEL: y if isinstance(y, list) else list(y)})
    if not np.array_equal(labels.ptr, table.ptr):
        raise DataError(_length_difference(table, labels, first))
    if table.n_tokens == 0:
        raise DataError("expected at least one token to train on, got none")
    return dataclasses.replace(table, columns={**table.columns, LABEL: labels.columns[LABEL]})


def held_out_sentences(X: Sentences, y: Sequence[Sequence[str]]) -> TokenTable:
    """Held-out sentences and their labels as one table."""
    X = X if isinstance(X, TokenTable | Mapping) else sentences_of(X)
    return labelled(X, given_labels(y).y)


def known_labels(X: Sentences, y: Sequence[Sequence[Any]] | None, columns: Sequence[str]) -> TokenTable:
    """Sentences with all labels known, with the columns of the earlier sentences."""
    X = (
        X
        if isinstance(X, TokenTable)
        else table_of(X if isinstance(X, Mapping) else sentences_of(X), columns)
    )
    given = None if y is None else given_labels(y)
    if given is not None and (given.soft is not None or given.unknown is not None):
        raise ConfigError("partial_fit needs a known, certain label for every token")
    return labelled(X, None if given is None else given.y)


def sentence_weights(sample_weight: SampleWeight, table: TokenTable) -> NDArray[np.float32] | None:
    """The weight of each sentence, checked; None: all are equal."""
    return sample_weights(sample_weight, table.n_sentences, "sentences")


def soft_of(
    soft: tuple[tuple[str, ...], NDArray[np.float32]], sentences: NDArray[np.bool_], table: TokenTable
) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """The soft labels of some sentences; labels with probability zero at all their tokens are left out."""
    labels, q = soft
    left = q[np.repeat(sentences, np.diff(table.ptr))]
    seen = np.flatnonzero(left.any(axis=0))
    return tuple(labels[y] for y in seen.tolist()), np.ascontiguousarray(left[:, seen])


def _length_difference(table: TokenTable, labels: TokenTable, first: int) -> str:
    if table.n_sentences != labels.n_sentences:
        return f"X has {table.n_sentences} sentences, y has {labels.n_sentences}"
    n = int(np.flatnonzero(np.diff(table.ptr) != np.diff(labels.ptr))[0])
    return f"sentence {first + n:,} has {np.diff(table.ptr)[n]} tokens and {np.diff(labels.ptr)[n]} labels"
