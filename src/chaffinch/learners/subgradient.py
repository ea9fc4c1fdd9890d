"""The stochastic subgradient method on the structured hinge (Pegasos)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from chaffinch.knobs import knob
from chaffinch.learners.margin import RESCALINGS, Margin, MarginLearner, Plane
from chaffinch.learners.problem import Pass, Problem, example_order
from chaffinch.structures import Parts


@dataclass(frozen=True, kw_only=True)
class Subgradient(MarginLearner):
    """Pegasos for structures: steps of length 1 / t down |w|^2 / 2 and N C_n times the hinge of one example.

        s_t = the highest plane of the example at w
        w  := (1 - 1/t) w + (C_n N / t) F_n s_t          so that w = N mean of all C_n F_n s so far

    The weights are the mean of the planes found so far, so the scorer stores their sum and is never rescaled. After a
    whole pass every example has contributed the same number of planes: their means are a dual point, from which the
    gap is computed. The averaged w weights step t by t. Needs a MaxOracle.

    Shalev-Shwartz, Singer and Srebro 2007; averaging: Lacoste-Julien, Schmidt and Bach 2012.
    """

    rescale: str = knob("margin", "rescale the margin or the slack by the cost", choices=RESCALINGS)
    average: bool = knob(True, "return the average of w over all steps, later steps with more weight")
    measure: int = knob(
        1,
        "passes between two evaluations of the exact duality gap; the last pass always has one; 0: never",
        low=0,
    )

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """Pass by pass."""
        margin = Margin(problem, self.C, self.rescale)
        N = len(problem.examples)
        total = margin.scorer([margin.zero(n) for n in range(N)])  # N sum of C_n F_n s over the planes so far
        sums, late = [Parts() for _ in range(N)], [Parts() for _ in range(N)]  # of s, and of t s
        losses = np.zeros((2, N))
        t = 0

        def planes() -> list[Plane]:
            if not self.average:  # each s occurs t/N times
                return [
                    Plane(s * (N / t), N / t * loss) for s, loss in zip(sums, losses[0].tolist(), strict=True)
                ]
            share = 2 * N / (t * (t + 1))  # sum over steps u >= t of u / u
            return [
                Plane(
                    ((t + 1) * sums[n] - late[n]) * share,
                    float((t + 1) * losses[0, n] - losses[1, n]) * share,
                )
                for n in range(N)
            ]

        def scorer() -> Any:
            return margin.scorer(planes())

        for number in range(1, self.epochs + 1):
            for n in example_order(N, self.seed, number).tolist():
                x, _ = problem.examples[n]
                _, plane = margin.worst(n, total.potentials(x) * (1 / max(t, 1)))
                t += 1
                total.update(x, plane.delta, margin.C[n] * N)
                sums[n], late[n] = sums[n] + plane.delta, late[n] + t * plane.delta
                losses[:, n] += plane.loss, t * plane.loss
            due = self.measure and (number % self.measure == 0 or number == self.epochs)
            yield self.record(number, margin.objective(scorer(), planes())[0] if due else None, scorer)
