"""What a tagger accepts as sentences, made into a token table."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from chaffinch.errors import DataError
from chaffinch.text.document import WORD
from chaffinch.text.table import TokenTable

# A table, or sentences whose tokens are words, or tuples of a word and further columns; or lists by column.
Sentences: TypeAlias = "TokenTable | Sequence[Sequence[Any]] | Mapping[str, Sequence[Sequence[str]]]"


def table_of(X: Sentences, columns: Sequence[str], needed: Sequence[str] | None = None) -> TokenTable:
    """The sentences as a table.

    columns: what the tokens are made of where they are tuples, the word first
    needed:  the columns that the result must have; None: all of them

    >>> table_of([["a", "b"]], ["w"]).lists("w")
    [['a', 'b']]
    >>> table_of([[("a", "DT"), ("b", "NN")]], ["w", "pos"]).lists("pos")
    [['DT', 'NN']]
    """
    if isinstance(X, TokenTable):
        given = X
    elif isinstance(X, Mapping):
        given = TokenTable.over_lists(X)
    elif isinstance(X, str) or not isinstance(X, Sequence):
        raise DataError(f"expected a list of sentences, got {type(X).__name__}")
    else:
        given = _from_rows(X, columns)
    wanted = columns if needed is None else needed
    if [name for name in wanted if name not in given.columns]:
        have = ", ".join(given.columns)
        raise DataError(f"expected the columns {', '.join(wanted)}; the input has {have}")
    return given


def column_names(X: Sentences) -> list[str]:
    """The columns that the sentences have: w, then pos or x1, x2 ... where tokens are tuples."""
    if isinstance(X, TokenTable):
        return list(X.columns)
    if isinstance(X, Mapping):
        return list(X)
    width = next(
        (len(t) if isinstance(t, Sequence) and not isinstance(t, str) else 1 for s in X for t in s), 1
    )
    if width <= 2:
        return [WORD, "pos"][:width]
    return [WORD, *(f"x{i}" for i in range(1, width))]


def input_names(known: Sequence[str], found: int) -> list[str]:
    """What the columns of an input without labels are called: as in training, and what follows has numbers.

    >>> input_names(("w", "pos"), 3)
    ['w', 'pos', 'input3']
    """
    return [*known[:found], *(f"input{i}" for i in range(len(known) + 1, found + 1))]


def _from_rows(X: Sequence[Sequence[Any]], columns: Sequence[str]) -> TokenTable:
    first = next((t for s in X for t in s), "")
    if isinstance(first, str):
        for n, sentence in enumerate(X):
            if isinstance(sentence, str):
                raise DataError(f"sentence {n + 1} is a string, expected a list of tokens: {sentence[:40]!r}")
        try:
            return TokenTable.over_lists({WORD: X if isinstance(X, list) else list(X)})
        except TypeError as e:
            raise DataError(f"expected sentences of strings: {e}") from None
    width = len(columns)
    lists: list[list[list[str]]] = [[] for _ in range(width)]
    for n, sentence in enumerate(X):
        for token in sentence:
            if isinstance(token, str) or not isinstance(token, Sequence) or len(token) != width:
                raise DataError(
                    f"sentence {n + 1}: expected tokens of {width} columns ({', '.join(columns)}), got {token!r}"
                )
        for c in range(width):
            lists[c].append([token[c] for token in sentence])
    return TokenTable.over_lists(dict(zip(columns, lists, strict=True)))
