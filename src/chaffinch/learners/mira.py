"""Margin-infused learning: the smallest change of w that puts the right answer far enough above the others."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from chaffinch.knobs import knob
from chaffinch.learners.online import Mistake, OnlineLearner
from chaffinch.structures import Scorer

TURNS = 50
STILL = 1e-6


@dataclass(frozen=True, kw_only=True)
class PassiveAggressive(OnlineLearner):
    """Passive-aggressive updates of the kind PA-I, on the answer that was found.

        d   = f(x, y) - f(x, y_hat)
        tau = min(C, max(0, cost(y, y_hat) - w.d) / |d|^2)
        w  += tau d

    Crammer et al. 2006, "Online passive-aggressive algorithms". Needs a MaxOracle.
    """

    C: float = knob(1.0, "largest step taken on one example", low=0.0)

    rule = "pa"

    def amount(self) -> float:
        """C."""
        return self.C

    def move(self, scorer: Scorer[Any], x: object, mistakes: list[Mistake]) -> None:
        """Hildreth's turns: each multiplier in [0, C] is set right for the others, until none moves."""
        lengths = [scorer.sq_norm(x, m.delta) for m in mistakes]
        tau = [0.0] * len(mistakes)
        for _ in range(TURNS if len(mistakes) > 1 else 1):
            moved = 0.0
            for i, m in enumerate(mistakes):
                if lengths[i] == 0:
                    continue
                missing = m.cost - scorer.potentials(x).dot(m.delta)
                then = float(np.clip(tau[i] + missing / lengths[i], 0.0, self.C))
                if then != tau[i]:
                    scorer.update(x, m.delta, then - tau[i])
                moved += abs(then - tau[i])
                tau[i] = then
            if moved <= STILL:
                return


@dataclass(frozen=True, kw_only=True)
class Mira(PassiveAggressive):
    """MIRA: the same on the k answers of the highest score plus cost, each kept below y by its cost.

    Crammer and Singer 2003; k-best: McDonald, Crammer and Pereira 2005. Needs a KBestOracle if k > 1.
    """

    C: float = knob(0.1, "largest step taken on one answer", low=0.0)
    k: int = knob(1, "answers considered at a time", low=1)

    rule = "mira"
    augmented = True

    def answers(self) -> int:
        """k."""
        return self.k
