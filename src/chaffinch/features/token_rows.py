"""Rows: what the encoder hands to scorers and decoders."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class FeatureRows:
    """The features of every token, as compressed rows, and what label templates observe there.

    ptr:          int64 [T+1], the features of token t are ids[ptr[t]:ptr[t+1]]
    ids:          int32 [nnz], each in [0, n_features)
    observations: int32 [T, L], one column per label template: the id of its observed value at the token, -1
                  where training had none; 0 everywhere for a template of labels alone
    sentences:    int64 [N+1], bounds of the sentences in tokens
    """

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    observations: NDArray[np.int32]
    sentences: NDArray[np.int64]

    @property
    def n_tokens(self) -> int:
        """T."""
        return len(self.ptr) - 1


@dataclass(frozen=True)
class LabelTemplate:
    """A template that reads labels: weights are found by (observation, labels at the offsets).

    text:           as written
    offsets:        where the labels are, in rising order, 0 excluded
    n_observations: observations are 0 .. n_observations - 1, the most frequent first
    """

    text: str
    offsets: tuple[int, ...]
    n_observations: int
