"""Weights of training examples, scikit-learn's ``sample_weight``."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError

SampleWeight = Sequence[float] | NDArray[np.floating[Any]] | None


def sample_weights(given: SampleWeight, N: int, examples: str) -> NDArray[np.float32] | None:
    """One finite weight of at least 0 per example, one of them above 0: float32 [N]; None if none were given.

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
    """The examples with weight above 0 if some have weight 0; else None: all count."""
    return None if weight is None or weight.all() else np.flatnonzero(weight)
