"""The inputs of estimators: columns as lists, generators, arrays, pandas, Arrow or polars, and weights of examples.

No library is imported: each is recognised by the methods of its objects.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.text.tokens import tokens

SampleWeight = Sequence[float] | NDArray[np.floating[Any]] | None


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


def frame_columns(X: Any) -> dict[str, Any]:
    """The columns of a frame by name."""
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)
    return {str(name): X[name] for name in names}


def holds_text(column: Any) -> bool:
    """Whether the first cell of a column that is not missing is a string.

    >>> holds_text([None, "a"]), holds_text([1.0, 2.0]), holds_text([["a"]])
    (True, False, False)
    """
    return isinstance(next((cell for cell in listed(column) if not is_missing(cell)), None), str)


def is_text_column(X: Any) -> bool:
    """Whether X is a column of texts of pandas, polars or Arrow, not a list, which may be one sentence of words."""
    column = not isinstance(X, list | tuple | np.ndarray) and (
        hasattr(X, "to_pylist") or hasattr(X, "to_list")
    )
    return column and not is_frame(X) and holds_text(X)


def numbers_column(name: str, column: Any) -> NDArray[np.float64]:
    """A column of numbers or truth values as floats, NaN for missing cells; DataError names the column."""
    cells = listed(column)
    try:
        return np.array([np.nan if is_missing(cell) else cell for cell in cells], dtype=np.float64)
    except (TypeError, ValueError):
        wrong = next(cell for cell in cells if not is_missing(cell) and not isinstance(cell, int | float))
        raise DataError(f"column {name!r} beside the text must hold numbers, found {wrong!r}") from None


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


# -- weights of examples, scikit-learn's sample_weight ------------------------------------------------------------


def sample_weights(given: SampleWeight, N: int, examples: str) -> NDArray[np.float32] | None:
    """The weights checked: finite, at least 0, one of them above 0: float32 [N]; None if none were given.

    examples: their name in messages, such as "sentences"

    >>> sample_weights([1, 0.5], 2, "sentences")
    array([1. , 0.5], dtype=float32)
    """
    if given is None:
        return None
    try:
        weight = np.asarray(given, np.float32)
    except (TypeError, ValueError):
        raise DataError(f"sample_weight must hold one number for each of the {N} {examples}") from None
    if weight.shape != (N,):
        raise DataError(
            f"sample_weight has the shape {weight.shape}, expected ({N},): one for each of the {examples}"
        )
    wrong = ~((weight >= 0) & np.isfinite(weight))
    if wrong.any():
        raise DataError(f"sample_weight must be finite and at least 0, got {weight[wrong][0]:g}")
    if N and not weight.any():
        raise DataError(f"expected a sample_weight above 0, got 0 for all {examples}")
    return weight


def counting(weight: NDArray[np.float32] | None) -> NDArray[np.int64] | None:
    """The examples with weight above 0, if some have weight 0; otherwise None: all count."""
    return None if weight is None or weight.all() else np.flatnonzero(weight)


def numbered(noun: str, rows: Sequence[int]) -> str:
    """The first of some rows by number, and how many others there are.

    >>> numbered("document", [3]), numbered("sentence", [1, 2, 5, 7])
    ('document 3', 'sentences 1, 2, 5 and 1 more')
    """
    shown = ", ".join(f"{n:,}" for n in rows[:3])
    more = f" and {len(rows) - 3:,} more" if len(rows) > 3 else ""
    return f"{noun}{'s' if len(rows) > 1 else ''} {shown}{more}"
