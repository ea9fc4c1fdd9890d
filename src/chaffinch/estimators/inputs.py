"""Columns of data that estimators accept: lists, generators, arrays, pandas Series and frames, Arrow, polars.

No library is imported: each is recognised by the methods of its objects.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from chaffinch.errors import DataError
from chaffinch.text.tokens import tokens


def listed(X: Any) -> Any:
    """A column of data as a list; other objects (a matrix, a mapping, one string) unchanged.

    >>> listed(text for text in ("a", "b")), listed(np.array(["a", "b"])), listed(("a", "b"))
    (['a', 'b'], ['a', 'b'], ['a', 'b'])
    """
    if isinstance(X, list | str | bytes | Mapping) or hasattr(X, "tocsr"):
        return X
    for spelled in ("to_pylist", "to_list", "tolist"):  # Arrow; pandas and polars; arrays
        if hasattr(X, spelled) and getattr(X, "ndim", 1) == 1 and not is_frame(X):
            return getattr(X, spelled)()
    if isinstance(X, tuple) or (isinstance(X, Iterable) and not isinstance(X, Sequence) and not _shaped(X)):
        return list(X)
    return X


def is_frame(X: Any) -> bool:
    """A table with named columns: a pandas or polars DataFrame, or an Arrow table."""
    return (hasattr(X, "columns") and hasattr(X, "dtypes")) or hasattr(X, "column_names")


def text_column(X: Any) -> list[Any] | None:
    """The only column of a frame, if it holds text; None if the frame holds numbers.

    A frame with a text and further columns is ambiguous and is refused.
    """
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)
    columns = {name: listed(X[name]) for name in names}
    texts = [name for name, cells in columns.items() if any(isinstance(cell, str) for cell in cells)]
    if not texts:
        return None
    if len(names) > 1:
        others = ", ".join(str(name) for name in names if name != texts[0])
        raise DataError(
            f"X is a frame with the text column {texts[0]!r} and {others}: give X[{texts[0]!r}], and columns of "
            "numbers as beside="
        )
    found: list[Any] = columns[texts[0]]
    return found


def words_of(text: str) -> list[str]:
    """One text as the words of a sentence, tokenised as in training."""
    return [token.text for token in tokens(text)]


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' equivalent.

    >>> is_missing(None), is_missing(float("nan")), is_missing("nan"), is_missing(0)
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def refuse_missing(labels: Sequence[Any], what: str = "document") -> None:
    """Raise for a missing label and name its place."""
    for n, label in enumerate(labels, 1):
        if is_missing(label):
            raise DataError(
                f"Input y contains NaN: the label of {what} {n} is {label}; every {what} needs one"
            )


def _shaped(X: Any) -> bool:
    return hasattr(X, "shape") or hasattr(X, "__array__")
