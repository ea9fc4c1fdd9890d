"""Scores of sequences of labels: of all items together, or of whole sequences."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from chaffinch.errors import missing_extra

Labels = Sequence[Sequence[Any]]


def flat_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of right items.

    >>> flat_accuracy_score([["a", "b"], ["a"]], [["a", "a"], ["a"]]) == 2 / 3
    True
    """
    right = [a == b for t, p in zip(y_true, y_pred, strict=True) for a, b in zip(t, p, strict=True)]
    return sum(right) / len(right) if right else float("nan")


def flat_precision_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """``sklearn.metrics.precision_score`` of the items."""
    return _scored("precision_score", y_true, y_pred, **kwargs)


def flat_recall_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """``sklearn.metrics.recall_score`` of the items."""
    return _scored("recall_score", y_true, y_pred, **kwargs)


def flat_f1_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """``sklearn.metrics.f1_score`` of the items."""
    return _scored("f1_score", y_true, y_pred, **kwargs)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **kwargs: Any) -> Any:
    """``sklearn.metrics.fbeta_score`` of the items."""
    return _scored("fbeta_score", y_true, y_pred, beta=beta, **kwargs)


def flat_classification_report(
    y_true: Labels, y_pred: Labels, labels: Sequence[Any] | None = None, **kwargs: Any
) -> Any:
    """``sklearn.metrics.classification_report`` of the items."""
    return _scored("classification_report", y_true, y_pred, labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of sequences whose labels are all right.

    sklearn-crfsuite counts items instead if all sequences are equally long.

    >>> sequence_accuracy_score([["a", "b"], ["a", "a"]], [["a", "b"], ["b", "a"]])
    0.5
    """
    if not len(y_true):
        return 0.0
    return sum(list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True)) / len(y_true)


def _scored(name: str, y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    try:
        from sklearn import metrics
    except ImportError:
        raise missing_extra("sklearn", "scikit-learn") from None
    return getattr(metrics, name)(
        list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred)), **kwargs
    )
