"""The inputs of a classifier: texts or numbers as documents; labels, lists of labels or distributions as targets."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.estimators.inputs import (
    frame_columns,
    holds_text,
    is_frame,
    is_missing,
    listed,
    numbered,
    numbers_column,
    refuse_missing,
)
from chaffinch.features.rows import SparseRows
from chaffinch.recipes.document_task import DocumentLabels


def is_text(X: Any) -> bool:
    """Whether X is a sequence of strings (a list, an array, a column of a data frame); some may be missing."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "U":
        return X.ndim == 1
    if isinstance(X, (list, tuple)) or (getattr(X, "ndim", 0) == 1 and hasattr(X, "__len__")):
        return next((isinstance(one, str) for one in X if not is_missing(one)), False)
    return False


def documents_and_numbers(X: Any) -> tuple[Any, Any]:
    """Documents as a list of texts or unchanged if they are numbers, and the numbers beside the texts.

    A frame, or an array of objects as a ``ColumnTransformer`` makes it, may have one column of texts and columns of
    numbers. Columns of a frame keep their names. Columns and generators become lists.

    >>> documents_and_numbers(np.array([["a", 1], ["b", 2]], dtype=object))
    (['a', 'b'], array([[1.], [2.]]))
    """
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == object:
        columns = {str(i): X[:, i].tolist() for i in range(X.shape[1])}
    elif is_frame(X):
        columns = frame_columns(X)
    else:
        return listed(X), None
    texts = [name for name, column in columns.items() if holds_text(column)]
    if not texts:
        return X, None
    if len(texts) > 1:
        raise DataError(
            f"X has the text columns {', '.join(texts)}: give one of them, or make features of each with Vectorizer in "
            "a ColumnTransformer"
        )
    documents = listed(columns.pop(texts[0]))
    if not columns:
        return documents, None
    numbers = {name: numbers_column(name, column) for name, column in columns.items()}
    return documents, numbers if is_frame(X) else np.column_stack(list(numbers.values()))


def numbers_beside(beside: Any) -> Any:
    """Numbers beside texts: a frame as a dict of its columns, anything else unchanged."""
    if not is_frame(beside):
        return beside
    return {name: numbers_column(name, column) for name, column in frame_columns(beside).items()}


def texts_of(X: Any) -> list[str]:
    """The documents as a list of strings."""
    if isinstance(X, str):
        raise DataError("expected a list of texts, got one text: put it in a list")
    texts = X if isinstance(X, list) else list(X.tolist() if hasattr(X, "tolist") else X)
    for n, text in enumerate(texts):
        if not isinstance(text, str):
            what = "missing" if is_missing(text) else type(text).__name__
            raise DataError(f"document {n + 1} is {what}, expected str")
    return texts


def objects_of(X: Any) -> list[Any]:
    """The documents as a list of a kernel's objects."""
    if isinstance(X, str):
        raise DataError("expected a list of objects, got one text: put it in a list")
    listed = X if isinstance(X, list) else list(X)
    if not listed:
        raise DataError("expected at least one object, got none")
    return listed


def numbers_of(X: Any, expected: int | None = None) -> SparseRows:
    """Rows of numbers, sparse or dense; ``expected``: the required number of columns."""
    if hasattr(X, "tocsr"):
        if np.iscomplexobj(X):
            raise DataError("Complex data not supported")
        matrix: Any = X
    else:
        matrix = np.asarray(X)
        if np.iscomplexobj(matrix):
            raise DataError(f"Complex data not supported\n{X}")
        if matrix.dtype == object:
            matrix = _as_floats(matrix)
        if matrix.ndim != 2:
            raise DataError(
                f"Expected 2D array, got {matrix.ndim}D array instead. Reshape your data either using "
                "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a "
                "single sample; texts come as a list of strings"
            )
    if matrix.shape[0] == 0:
        raise DataError(
            f"Found array with 0 sample(s) (shape={matrix.shape}) while a minimum of 1 is required."
        )
    if matrix.shape[1] == 0:
        raise DataError(
            f"Found array with 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required."
        )
    if expected is not None and matrix.shape[1] != expected:
        raise DataError(
            f"X has {matrix.shape[1]} features, but Classifier is expecting {expected} features as input"
        )
    return SparseRows.of(matrix)


def labels_of(y: Any) -> DocumentLabels:
    """Targets as labels: one per document, a list or set of them, a 0/1 table, or a distribution as a dict."""
    if y is None:
        raise DataError(
            "This Classifier estimator requires y to be passed, but the target y is None: give a label per document"
        )
    if not isinstance(y, np.ndarray):
        y = listed(y)
    if not isinstance(y, (list, tuple, np.ndarray)):
        y = np.asarray(y)
    if isinstance(y, (list, tuple)) and len(y) > 0:
        refuse_missing(y)
        if all(isinstance(one, Mapping) for one in y):
            return _distributions(y)
        if any(isinstance(one, (list, tuple, set, frozenset, np.ndarray)) for one in y):
            return _indicator(np.asarray(y)) if _is_table(y) else _label_lists(y)
        _say_converted(y)
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_about_column()
        array = array[:, 0]
    if array.ndim == 2:
        return _indicator(array)
    if array.ndim != 1:
        raise DataError(f"y should be a 1d array of labels, got an array of shape {array.shape} instead.")
    return _single(array)


def _say_converted(y: Any) -> None:
    """Name the labels that become strings because others are strings."""
    if any(isinstance(one, str) for one in y):
        found = [n for n, one in enumerate(y, 1) if not isinstance(one, str)]
        if found:
            one = y[found[0] - 1]
            warn_about_data(
                f"{numbered('document', found)}: expected a string as the label, as of other documents, found {one!r}, "
                f"which is read as {str(one)!r}; give labels of one type"
            )


def say_empty(labels: DocumentLabels) -> None:
    """Name the documents whose label is the empty string."""
    empty = (
        np.flatnonzero(labels.classes == "") if labels.classes.dtype.kind == "U" else np.zeros(0, np.int64)
    )
    if len(empty):
        has = labels.ids == empty[0]
        found = np.unique(np.repeat(np.arange(1, len(labels.ptr)), np.diff(labels.ptr))[has]).tolist()
        warn_about_data(
            f"{numbered('document', found)}: the label is the empty string, which is learned as a label like any other"
        )


def importance_of(
    sample_weight: Any, class_weight: Any, labels: DocumentLabels, N: int
) -> NDArray[np.float32]:
    """The weight of each document: its own weight times that of its class."""
    weight = np.ones(N) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(N, float(weight))
    if weight.ndim != 1:
        raise DataError("Sample weights must be 1D array or scalar")
    if weight.shape != (N,):
        raise DataError(f"sample_weight.shape == {weight.shape}, expected {(N,)}!")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError("sample weights must be finite and not negative")
    if class_weight is None:
        return weight.astype(np.float32)
    if labels.several or labels.soft is not None:
        raise ConfigError("class_weight needs one label per document")
    Y = len(labels.classes)
    by_class = np.ones(Y)
    if class_weight == "balanced":
        counts = np.bincount(labels.ids, weights=weight, minlength=Y)
        by_class = weight.sum() / (Y * np.maximum(counts, 1e-12))
    elif isinstance(class_weight, Mapping):
        for label, value in class_weight.items():
            found = np.flatnonzero(labels.classes == label)
            if len(found):
                by_class[found[0]] = float(value)
    else:
        raise ConfigError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}")
    with np.errstate(over="ignore"):
        importance = (weight * by_class[labels.ids]).astype(np.float32)
    if not np.isfinite(importance).all() or (importance < 0).any():
        raise ConfigError("class weights must be finite and not negative")
    return importance


def counting(documents: Any, labels: DocumentLabels, beside: Any, importance: NDArray[np.float32]) -> Any:
    """The arguments without the documents of weight zero; classes stay."""
    keep = np.flatnonzero(importance > 0)
    if len(keep) == 0:
        raise DataError("expected a document with a weight above zero, got none")
    rows = [documents[n] for n in keep.tolist()] if isinstance(documents, list) else documents.taken(keep)
    if isinstance(beside, Mapping):
        beside = {name: np.asarray(column)[keep] for name, column in beside.items()}
    elif beside is not None:
        beside = (beside.tocsr() if hasattr(beside, "tocsr") else np.asarray(beside))[keep]
    return rows, labels.taken(keep), beside, importance[keep]


def _single(array: NDArray[Any]) -> DocumentLabels:
    if array.dtype.kind in "fO":
        refuse_missing(array.tolist())
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise DataError("Input y contains NaN or infinity: labels must be given for all documents")
        if (array != np.floor(array)).any():
            raise DataError("Unknown label type: continuous. A classifier learns labels, not quantities")
    if array.dtype == object:
        kinds = {type(one) for one in array.tolist()}
        if kinds <= {str} or kinds <= {int} or kinds <= {bool}:
            array = np.array(array.tolist())
        else:
            raise DataError(f"labels must be of one kind, got {', '.join(sorted(k.__name__ for k in kinds))}")
    if array.dtype.kind not in "biufUS":
        raise DataError(f"Unknown label type: {array.dtype}")
    classes, ids = np.unique(array, return_inverse=True)
    return DocumentLabels(classes, np.arange(len(array) + 1, dtype=np.int64), ids.astype(np.int32))


def _is_table(y: Any) -> bool:
    """Whether rows are zeros and ones rather than lists of labels: some row repeats a value."""
    if len({len(one) for one in y}) != 1 or any(isinstance(one, (set, frozenset)) for one in y):
        return False
    return any(len(set(one)) < len(one) for one in y) and all(cell in (0, 1) for one in y for cell in one)


def merged(
    rows: SparseRows, labels: DocumentLabels, importance: NDArray[np.float32]
) -> tuple[SparseRows, DocumentLabels, NDArray[np.float32]]:
    """Merge duplicate rows with the same labels into one row with their total weight, in a canonical order.

    So a weight of two is exactly equivalent to giving the row twice.
    """
    values = rows.weights()
    first: dict[bytes, int] = {}
    place = np.empty(len(rows), dtype=np.int64)
    for n in range(len(rows)):
        a, b = rows.ptr[n], rows.ptr[n + 1]
        tags = labels.ids[labels.ptr[n] : labels.ptr[n + 1]].tobytes()
        soft = b"" if labels.soft is None else labels.soft[n].tobytes()
        key = b"|".join((rows.ids[a:b].tobytes(), values[a:b].tobytes(), tags, soft))
        place[n] = first.setdefault(key, n)
    order = np.array([first[key] for key in sorted(first)], dtype=np.int64)
    total = np.bincount(place, weights=importance, minlength=len(rows))[order]
    return rows.taken(order), labels.taken(order), total.astype(np.float32)


def _label_lists(y: Any) -> DocumentLabels:
    lists = [
        sorted(one)
        if isinstance(one, (set, frozenset))
        else list(one)
        if isinstance(one, (list, tuple))
        else [one]
        for one in y
    ]
    for n, one in enumerate(lists, 1):
        if any(map(is_missing, one)):
            raise DataError(f"Input y contains NaN: a label of document {n} is missing")
    classes = np.array(sorted({label for one in lists for label in one}))
    if len(classes) == 0:
        raise DataError("expected at least one document with a label, got none")
    place = {label: i for i, label in enumerate(classes.tolist())}
    ptr = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(one) for one in lists], out=ptr[1:])
    ids = np.array([place[label] for one in lists for label in one], dtype=np.int32)
    return DocumentLabels(classes, ptr, ids, several=True)


def _indicator(array: NDArray[Any]) -> DocumentLabels:
    if not np.isin(array, (0, 1)).all():
        raise DataError(f"a table of labels must hold 0 and 1 only, got shape {array.shape} of {array.dtype}")
    ptr = np.zeros(len(array) + 1, dtype=np.int64)
    np.cumsum((array == 1).sum(axis=1), out=ptr[1:])
    ids = np.nonzero(array)[1].astype(np.int32)
    return DocumentLabels(np.arange(array.shape[1]), ptr, ids, several=True, indicator=True)


def _distributions(y: Any) -> DocumentLabels:
    classes = np.array(sorted({label for one in y for label in one}))
    place = {label: i for i, label in enumerate(classes.tolist())}
    q = np.zeros((len(y), len(classes)), dtype=np.float32)
    for n, one in enumerate(y):
        for label, share in one.items():
            q[n, place[label]] = share
        if not np.isfinite(q[n]).all() or (q[n] < 0).any() or abs(q[n].sum() - 1) > 1e-3:
            raise DataError(f"document {n + 1}: the shares of its labels must sum to one, got {dict(one)}")
    best = q.argmax(axis=1).astype(np.int32)
    return DocumentLabels(classes, np.arange(len(y) + 1, dtype=np.int64), best, soft=q)


def _as_floats(matrix: NDArray[Any]) -> NDArray[np.float64]:
    try:
        return matrix.astype(np.float64)
    except (TypeError, ValueError) as e:
        if any(isinstance(cell, Mapping) for cell in matrix.ravel()):
            raise TypeError(
                "argument must be a string or a real number, found a dict among the features"
            ) from None
        raise DataError(f"features must be numbers: {e}") from None


def _warn_about_column() -> None:
    """Warn with scikit-learn's class if it is loaded, else with Python's."""
    import warnings

    kind: type[Warning] = UserWarning
    if "sklearn" in sys.modules:
        from sklearn.exceptions import DataConversionWarning

        kind = DataConversionWarning
    warnings.warn("A column-vector y was passed when a 1d array was expected.", kind, stacklevel=4)
