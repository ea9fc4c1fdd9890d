"""Scores of a classifier as fastText computes them: precision and recall of the k best labels."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

MISSED = -1.0  # the score of a gold label that was not predicted

Pair = tuple[float, bool]  # the score of a label and whether it is gold


@dataclass
class MeterCounts:
    """Gold, predicted and right labels."""

    gold: int = 0
    predicted: int = 0
    right: int = 0
    pairs: list[Pair] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of predictions that are right."""
        return self.right / self.predicted if self.predicted else math.nan

    @property
    def recall(self) -> float:
        """Share of gold labels that are predicted."""
        return self.right / self.gold if self.gold else math.nan

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        both = self.predicted + self.gold
        return 2 * self.right / both if both else math.nan


class Meter:
    """Counts of all labels together and of each label."""

    def __init__(self, labels: Iterable[str]) -> None:
        self.examples = 0
        self.all = MeterCounts()
        self.by_label: dict[str, MeterCounts] = {label: MeterCounts() for label in labels}

    def log(self, gold: Sequence[str], predicted: Sequence[tuple[str, float]]) -> None:
        """Count one example."""
        self.examples += 1
        given = {label for label, _ in predicted}
        for counts, own in self._counted(gold):
            counts.gold += own
        for label, score in predicted:
            for counts in (self.all, self.by_label[label]):
                counts.predicted += 1
                counts.right += label in gold
                counts.pairs.append((min(score, 1.0), label in gold))
        for label in gold:
            if label not in given:
                for counts in (self.all, self.by_label[label]):
                    counts.pairs.append((MISSED, True))

    def _counted(self, gold: Sequence[str]) -> Iterator[tuple[MeterCounts, int]]:
        yield self.all, len(gold)
        for label in gold:
            yield self.by_label[label], 1

    def score_vs_true(self, label: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The scores of a label in ascending order, and 1 for the examples that have it."""
        pairs = sorted(self.by_label[label].pairs)
        return np.array([score for score, _ in pairs]), np.array([float(own) for _, own in pairs])

    def precision_recall_curve(
        self, label: str | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Precision and recall at each score from the highest, up to full recall; then 1 and 0."""
        points = self._curve(label)
        return np.array([p for p, _ in points]), np.array([r for _, r in points])

    def precision_at_recall(self, recall: float, label: str | None = None) -> float:
        """The highest precision with at least this recall; 0: there is none."""
        return max((p for p, r in self._curve(label) if r >= recall), default=0.0)

    def recall_at_precision(self, precision: float, label: str | None = None) -> float:
        """The highest recall with at least this precision; 0: there is none."""
        return max((r for p, r in self._curve(label) if p >= precision), default=0.0)

    def _curve(self, label: str | None) -> list[tuple[float, float]]:
        counts = self.all if label is None else self.by_label[label]
        pairs = sorted((pair for pair in counts.pairs if pair[0] >= 0), key=lambda pair: -pair[0])
        points: list[tuple[float, float]] = []
        right = 0
        for n, (score, own) in enumerate(pairs, 1):
            right += own
            if n < len(pairs) and pairs[n][0] == score:
                continue
            points.append((right / n, right / counts.gold if counts.gold else math.nan))
            if right == counts.gold:
                break
        return [*points, (1.0, 0.0)] if points else []
