"""Scorers for ``cross_val_score`` and searches of scikit-learn: ``flat_accuracy``, ``sequence_accuracy``."""

from typing import Any

from chaffinch.compat.sklearn_crfsuite import metrics
from chaffinch.errors import missing_extra

SCORES = {
    "flat_accuracy": metrics.flat_accuracy_score,
    "sequence_accuracy": metrics.sequence_accuracy_score,
}


def __getattr__(name: str) -> Any:
    """A scorer, made on first use, because it needs scikit-learn."""
    if name not in SCORES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from sklearn.metrics import make_scorer
    except ImportError:
        raise missing_extra("sklearn", "scikit-learn") from None
    return make_scorer(SCORES[name])
