"""The texts that a classifier has learnt, and what a further lesson changes about them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.estimators.learnt import MOST_WEIGHT


@dataclass(frozen=True)
class Lessons:
    """Texts with one label each, in the order in which they were learnt, and how much each counts."""

    texts: list[str]
    labels: list[Any]
    weight: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, X: Sequence[str], y: Any, sample_weight: Any) -> "Lessons":
        """The documents of one training."""
        texts = list(X)
        weight = np.ones(len(texts)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        return cls(texts, np.asarray(y).tolist(), weight)

    @cached_property
    def _place(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for n, text in enumerate(self.texts):
            found.setdefault(text, []).append(n)
        return found

    def taught(self, more: "Lessons", right: NDArray[np.bool_]) -> "Lessons | None":
        """The documents after a lesson; None if it changes nothing.

        A text that is known with the same label is not learnt twice; if the classifier still gets it wrong (``right``,
        bool [texts of the lesson]), it counts twice as much. One that is known with another label takes its place.
        """
        kept, weight = np.ones(len(self.texts), bool), self.weight.copy()
        fresh = np.ones(len(more.texts), bool)
        for n, (text, label) in enumerate(zip(more.texts, more.labels, strict=True)):
            known = self._place.get(text, [])
            same = [k for k in known if self.labels[k] == label]
            kept[[k for k in known if self.labels[k] != label]] = False
            if same:
                fresh[n] = False
                if not right[n]:
                    weight[same] = np.minimum(2 * weight[same], np.maximum(MOST_WEIGHT, weight[same]))
        if kept.all() and not fresh.any() and np.array_equal(weight, self.weight):
            return None
        old, new = np.flatnonzero(kept).tolist(), np.flatnonzero(fresh).tolist()
        return Lessons(
            [self.texts[k] for k in old] + [more.texts[k] for k in new],
            [self.labels[k] for k in old] + [more.labels[k] for k in new],
            np.concatenate([weight[kept], more.weight[fresh]]),
        )

    def without(self, texts: Sequence[str]) -> "Lessons | None":
        """The documents without these; None if none of them was learnt."""
        gone = {k for text in texts for k in self._place.get(text, ())}
        if not gone:
            return None
        kept = [k for k in range(len(self.texts)) if k not in gone]
        return Lessons([self.texts[k] for k in kept], [self.labels[k] for k in kept], self.weight[kept])
