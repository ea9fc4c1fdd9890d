"""SMO on the factored dual of a chain: steps move mass between labellings, and only marginals are stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.margin import Margin, MarginLearner, Plane
from chaffinch.learners.problem import Pass, Problem, example_order
from chaffinch.structures import Chain, Parts, Scorer

LEAST = 1e-9  # smaller mass counts as zero


@dataclass(frozen=True, kw_only=True)
class ChainSmo(MarginLearner):
    """Sequential minimal optimisation for the max-margin Markov network on a chain.

        up   = the labelling with the highest score plus cost
        down = the labelling with the lowest, among those with mass on all parts
        mass = min(mass of the parts of ``down``, gain / |C_n F_n (up - down)|^2)
        mu_n += mass (parts(up) - parts(down))

    The dual of an example is its marginals: of labels [T, Y] and of label pairs at each position [T-1, Y, Y]. On a
    chain every consistent and non-negative mu is a mixture of labellings. So mass can be taken from a labelling as long
    as each of its pairs has some, although the mass of a single labelling is not stored.

    Taskar, Guestrin and Koller 2003, section 6 (their pairs differ at one position or two; these are whole labellings).
    """

    turns: int = knob(5, "maximum number of pairs of labellings moved at each visit to an example", low=1)

    def check(self, problem: Problem) -> None:
        """Refuse structures other than first-order chains: only these have this dual."""
        super().check(problem)
        if not isinstance(problem.structure, Chain) or problem.structure.order != 1:
            raise ConfigError(
                f"ChainSmo needs a chain of order 1, got {type(problem.structure).__name__}; "
                "use FrankWolfe, NSlack or ExponentiatedGradient"
            )

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """Pass by pass."""
        margin = Margin(problem, self.C)
        N = len(margin)
        planes = [margin.zero(n) for n in range(N)]
        mus = [_Marginals(problem.structure.Y, np.asarray(y)) for _, y in problem.examples]
        scorer = margin.scorer(planes)
        for number in range(1, self.epochs + 1):
            for n in example_order(N, self.seed, number).tolist():
                if not mus[n].unary.size:
                    continue
                for _ in range(self.turns):
                    if not self._move(problem, margin, scorer, n, mus[n], planes):
                        break
            objective, _ = margin.objective(margin.scorer(planes), planes)
            yield self.record(number, objective, lambda: margin.scorer(planes))

    def _move(
        self,
        problem: Problem,
        margin: Margin,
        scorer: Scorer[Any],
        n: int,
        mu: "_Marginals",
        planes: list[Plane],
    ) -> bool:
        """Move mass between the best pair of labellings; returns whether the dual rose."""
        chain, (x, y) = problem.costed, problem.examples[n]
        potentials = scorer.potentials(x)
        augmented = potentials + chain.cost(potentials.shape, y)
        up, down = chain.argmax(augmented), mu.worst(augmented)
        best, worst = margin.plane(n, up), margin.plane(n, down)
        gain = best.hinge(potentials) - worst.hinge(potentials)
        if gain <= 1e-9:
            return False
        change = best.delta - worst.delta
        length = margin.C[n] * scorer.sq_norm(x, change)
        mass = min(mu.mass(down, up), gain / length if length > 0 else np.inf)
        if mass <= LEAST:
            return False
        mu.move(up, down, mass)
        scorer.update(x, change, mass * margin.C[n])
        here = planes[n]
        planes[n] = Plane(here.delta + change * mass, here.loss + (best.loss - worst.loss) * mass)
        return True


class _Marginals:
    """The marginals of labels and label pairs of one example; they start at its gold labelling."""

    def __init__(self, Y: int, y: NDArray[np.integer]) -> None:
        T = len(y)
        self.unary, self.pairs = np.zeros((T, Y)), np.zeros((max(T - 1, 0), Y, Y))
        self.unary[np.arange(T), y] = 1
        self.pairs[np.arange(T - 1), y[:-1], y[1:]] = 1
        self._chain = Chain(Y)

    def worst(self, potentials: Parts) -> NDArray[np.int32]:
        """The labelling with the lowest score among those with mass on all parts."""
        never = -np.inf
        T = len(self.unary)
        unary = np.where(self.unary > LEAST, -potentials["unary"].astype(np.float64), never)
        shared = np.zeros(self.pairs.shape[1:])
        for name, at in (("start", 0), ("end", T - 1)):
            if name in potentials:
                unary[at] -= potentials[name]
        if "pair" in potentials:
            shared = potentials["pair"].astype(np.float64)
        pairs = np.where(self.pairs > LEAST, -shared, never)
        return self._chain.argmax(Parts(unary=unary, pair=pairs))

    def mass(self, down: NDArray[np.int32], up: NDArray[np.int32]) -> float:
        """The mass that can move from ``down`` to ``up``: the smallest mass of the parts that only ``down`` has."""
        t = np.arange(len(down))
        own = down != up
        both = own[:-1] | own[1:]
        least = [self.unary[t[own], down[own]].min(initial=np.inf)]
        least.append(self.pairs[t[:-1][both], down[:-1][both], down[1:][both]].min(initial=np.inf))
        return float(min(least))

    def move(self, up: NDArray[np.int32], down: NDArray[np.int32], mass: float) -> None:
        """Move the mass from ``down`` to ``up``."""
        t = np.arange(len(up))
        for y, sign in ((up, mass), (down, -mass)):
            self.unary[t, y] += sign
            self.pairs[t[:-1], y[:-1], y[1:]] += sign
