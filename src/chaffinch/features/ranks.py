"""Frequencies of features that are not stored, estimated from the order in which features are numbered."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def counts_by_rank(ids: NDArray[np.integer[Any]], F: int) -> NDArray[np.float64]:
    """How many examples likely have each of some features, numbered by falling frequency: float64 [len(ids)].

    By Zipf's law: the k-th of F features has F / k examples, the last one has 1. Features from F on are new: 0.

    >>> counts_by_rank(np.array([0, 1, 9, 10]), 10).tolist()
    [10.0, 5.0, 1.0, 0.0]
    """
    return np.where(ids < F, F / (ids + 1.0), 0.0)
