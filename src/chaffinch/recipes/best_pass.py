"""Held-out documents while learning: which pass is kept, and when to stop."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.rows import SparseRows
from chaffinch.model.classifier import ClassifierModel

PATIENCE = 3


@dataclass(frozen=True)
class HeldOutDocuments:
    """Documents that are not learnt from: rows of features, and what is right, bool [N, Y]."""

    rows: SparseRows
    gold: NDArray[np.bool_]
    threads: int

    def score(self, model: ClassifierModel) -> float:
        """The share of documents labelled right; where they may have several labels, F1 over all labels given."""
        scores = model.scores_of_rows(self.rows, self.threads)
        if not model.several:
            return float(self.gold[np.arange(len(scores)), scores.argmax(axis=1)].mean())
        given = model.given(scores)
        both = int((given & self.gold).sum())
        return 2.0 * both / max(1, int(given.sum()) + int(self.gold.sum()))


class BestPass:
    """Keeps what the best pass made, and says when no better one has come for a while.

    >>> best = BestPass()
    >>> [best.better(score, f"pass {n}") for n, score in enumerate([0.4, 0.6, 0.5, 0.6, 0.5])], best.made
    ([True, True, True, True, False], 'pass 1')
    """

    def __init__(self) -> None:
        self.made: Any = None
        self._score, self._since = -np.inf, 0

    def better(self, score: float, made: Any) -> bool:
        """Note a pass; False when it is time to stop."""
        self._since += 1
        if score > self._score:
            self.made, self._score, self._since = made, score, 0
        return self._since < PATIENCE
