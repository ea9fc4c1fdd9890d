"""Latent variables: part of the answer is hidden, in training too. A perceptron, a margin and a likelihood.

A full answer h shows a visible answer y(h). The visible answer of an example rules out full answers. This evidence is
expressed as potentials: 0 if a part may be used and -inf if not. So the structure's own argmax and logsum search and
sum over the full answers that agree with y.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.knobs import knob
from chaffinch.learners.costs import label_costs
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem, constant_gap, example_order
from chaffinch.scorers import Linear
from chaffinch.structures import Parts, Shape, require


class Latent(Protocol):
    """A structure of full answers, and the visible answer of each."""

    structure: Any

    def evidence(self, shape: Shape, y: Any) -> Parts:
        """0 for the parts of full answers that show y, -inf for the others."""
        ...

    def shown(self, answer: Any) -> Any:
        """The visible answer that a full answer shows."""
        ...


@dataclass(frozen=True, eq=False)
class Refined:
    """Hidden labels, each of which shows a visible one: hidden label h shows ``shows[h]``.

    >>> from chaffinch.structures import Chain
    >>> refined = Refined(Chain(3), np.array([0, 1, 1]))  # label 1 has two hidden kinds
    >>> refined.shown(np.array([0, 2, 1], np.int32))
    array([0, 1, 1])
    >>> refined.evidence({"unary": (2, 3)}, np.array([1, 0]))["unary"]
    array([[-inf,   0.,   0.],
           [  0., -inf, -inf]], dtype=float32)
    """

    structure: Any
    shows: NDArray[np.integer]

    @classmethod
    def alike(cls, kind: type, Y: int, kinds: int) -> "Refined":
        """Split each of Y visible labels into ``kinds`` hidden ones, in a structure such as Chain."""
        return cls(kind(Y * kinds), np.repeat(np.arange(Y), kinds))

    def evidence(self, shape: Shape, y: Any) -> Parts:
        """Only labels that show y may be used."""
        name = "unary" if "unary" in shape else "choice"
        wanted = np.atleast_1d(np.asarray(y))
        if not np.isin(wanted, self.shows).all():
            raise DataError(f"no hidden label shows {np.setdiff1d(wanted, self.shows)[0]}")
        agrees = self.shows[None, :] == wanted[:, None]
        return Parts(**{name: np.where(agrees, 0.0, -np.inf).astype(np.float32).reshape(shape[name])})

    def shown(self, answer: Any) -> Any:
        """The visible labels of hidden ones."""
        return self.shows[answer]


@dataclass(frozen=True, kw_only=True)
class _LatentLearner(Learner):
    """Random restarts: each starts from small random weights, which break the symmetry between hidden labels."""

    epochs: int = knob(20, "passes over the training data", low=1)
    seed: int = knob(0, "seed of the order of the examples and of the initial weights", low=0)
    noise: float = knob(
        0.1, "size of the random initial weights, which break the symmetry of labels", low=0.0
    )

    restarts: int = knob(5, "random restarts; the best on the training data is kept", low=1)

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The passes of all restarts; the model of each pass is the best so far."""
        best: list[tuple[float, Linear]] = []
        done = 0
        for start in range(self.restarts):
            loss = np.inf
            for name, loss, end in self._epochs(problem, self._started(problem, start)):
                done += 1

                def made(loss: float = loss, end: Callable[[], Linear] = end) -> Linear:
                    return end() if not best or loss < best[0][0] else best[0][1]

                scores = {name: loss, "restart": float(start + 1)}
                yield Pass(done, scores, made, self.restarts * self.epochs)
            if not best or loss < best[0][0]:
                best[:] = [(loss, end())]
            if best[0][0] == 0:
                return

    @abstractmethod
    def _epochs(self, problem: Problem, scorer: Linear) -> Iterator[tuple[str, float, Callable[[], Linear]]]:
        """Pass by pass from these weights: the name and value of the loss, and the present scorer."""

    def _started(self, problem: Problem, start: int) -> Linear:
        w = problem.scorer.layout.zeros()
        chance = np.random.default_rng([self.seed, start])
        w[:] = problem.scorer.w + self.noise * chance.standard_normal(len(w))
        for block in problem.scorer.layout:  # the padding of rows stays zero
            rows = w[block.offset : block.offset + block.size].reshape(block.rows, block.stride)
            rows[:, block.columns :] = 0
        return Linear(problem.scorer.layout, w)


@dataclass(frozen=True, kw_only=True)
class LatentPerceptron(_LatentLearner):
    """The perceptron with hidden parts.

        h_hat = argmax over all h of w.f(x, h);   if it does not show y:
        h     = argmax over the h that show y of w.f(x, h)
        w    += f(x, h) - f(x, h_hat)

    The problem's structure is a :class:`Latent`; its gold answers are the visible ones. Needs a MaxOracle.

    Liang et al. 2006; Sun et al. 2009.
    """

    average: bool = knob(True, "return the mean of w over all steps")

    def check(self, problem: Problem) -> None:
        """Refuse example weights."""
        if problem.weight is not None:
            raise ConfigError(
                "LatentPerceptron has no loss to scale by the weights of examples; use LatentLikelihood"
            )

    def _epochs(self, problem: Problem, scorer: Linear) -> Iterator[tuple[str, float, Callable[[], Linear]]]:
        latent = problem.structure
        require(self, "argmax", latent.structure)
        late, steps = scorer.with_weights(np.zeros_like(scorer.w)), 0  # each update times the steps before it

        def now() -> Linear:
            w = scorer.layout.zeros()
            w[:] = scorer.w - late.w / steps if self.average and steps else scorer.w
            return Linear(scorer.layout, w)

        for epoch in range(1, self.epochs + 1):
            wrong = 0
            for x, y, _ in _visits(problem, self.seed, epoch):
                potentials = scorer.potentials(x)
                shape, found = potentials.shape, latent.structure.argmax(potentials)
                if not np.array_equal(latent.shown(found), y):
                    right = latent.structure.argmax(potentials + latent.evidence(shape, y))
                    change = latent.structure.parts(shape, right) - latent.structure.parts(shape, found)
                    scorer.update(x, change)
                    late.update(x, change, float(steps))
                    wrong += 1
                steps += 1
            yield "wrong", wrong / max(1, len(problem.examples)), now


@dataclass(frozen=True, kw_only=True)
class LatentSvm(_LatentLearner):
    """The latent structured SVM, by the concave-convex procedure.

        P(w) = |w|^2 / 2 + sum_n C_n (max over h of cost(y(h), y_n) + s(h)  -  max over the h that show y_n of s(h))

        h_n = argmax over the h that show y_n of s(h)                the second maximum is linear at h_n
        w   = the structured SVM with the answers h_n                by Frank-Wolfe; a wrong label that is shown costs 1

    in turns, until no h_n changes. Not convex: the seed matters. Needs a :class:`Refined` structure and a MaxOracle.

    Yu and Joachims 2009.
    """

    epochs: int = knob(5, "rounds of filling in the hidden parts and training", low=1)
    sweeps: int = knob(10, "passes of Frank-Wolfe in each round", low=1)
    C: float = knob(1.0, "weight of an example's hinge loss against |w|^2 / 2", low=1e-12, high=1e12)

    def _epochs(self, problem: Problem, scorer: Linear) -> Iterator[tuple[str, float, Callable[[], Linear]]]:
        latent: Any = problem.structure
        require(self, "argmax", latent.structure)
        cost = label_costs((latent.shows[:, None] != latent.shows[None, :]).astype(np.float32))
        learner = FrankWolfe(C=self.C, epochs=self.sweeps, measure=0, average=True, seed=self.seed)
        before: list[Any] = []
        for _ in range(self.epochs):
            filled = []
            for x, y in problem.examples:
                potentials = scorer.potentials(x)
                filled.append((x, latent.structure.argmax(potentials + latent.evidence(potentials.shape, y))))
            if before and all(np.array_equal(a, b) for a, (_, b) in zip(before, filled, strict=True)):
                return
            before = [h for _, h in filled]
            start = scorer.with_weights(np.zeros_like(scorer.w))
            scorer = learner.fit(Problem(latent.structure, start, filled, problem.weight, cost))
            yield "objective", self._objective(problem, scorer, cost), lambda made=scorer: made  # type: ignore[misc]

    def _objective(self, problem: Problem, scorer: Linear, cost: Any) -> float:
        latent, found = problem.structure, float(np.dot(scorer.w, scorer.w)) / 2
        for (x, y), weight in zip(problem.examples, problem.weights(), strict=True):
            potentials = scorer.potentials(x)
            shape = potentials.shape
            right = latent.structure.argmax(potentials + latent.evidence(shape, y))
            costly = potentials + cost(shape, right)
            worst = latent.structure.argmax(costly)
            score = costly.dot(latent.structure.parts(shape, worst))
            score += constant_gap(latent.structure, worst, right)
            found += self.C * weight * (score - potentials.dot(latent.structure.parts(shape, right)))
        return found


@dataclass(frozen=True, kw_only=True)
class LatentLikelihood(_LatentLearner):
    """The conditional likelihood of the visible answer, summed over hidden parts, by stochastic gradient descent.

        f(w)  = sum_n k_n (log Z(x_n) - log Z(x_n, y_n)) + c2 |w|^2    Z(x, y): over the h that show y
        w    += rate_t k_n (F E[parts | x, y] - F E[parts | x])        marginals with and without the evidence

    Not convex: the seed matters. On a chain this is the latent-dynamic CRF. Needs a SumOracle.

    Quattoni et al. 2007; Morency, Quattoni and Darrell 2007.
    """

    c2: float = knob(0.01, "L2 penalty c2 |w|^2", low=0.0)
    rate: float = knob(0.5, "initial step size; it falls linearly to zero", low=0.0)

    def _epochs(self, problem: Problem, scorer: Linear) -> Iterator[tuple[str, float, Callable[[], Linear]]]:
        require(self, "logsum", problem.structure.structure, ("LatentPerceptron",))
        N = max(1, len(problem.examples))
        for epoch in range(1, self.epochs + 1):
            loss = 0.0
            for t, (x, y, weight) in enumerate(_visits(problem, self.seed, epoch)):
                step = self.rate * (1 - ((epoch - 1) * N + t) / (N * self.epochs))
                value, change = observed_likelihood(problem.structure, scorer.potentials(x), y)
                loss -= weight * value
                scorer.w *= np.float32(1 - 2 * step * self.c2 / N)
                scorer.update(x, change, step * weight)
            yield (
                "objective",
                loss + self.c2 * float(np.dot(scorer.w, scorer.w)),
                lambda: scorer.with_weights(scorer.w),
            )


def observed_likelihood(latent: Latent, potentials: Parts, y: Any) -> tuple[float, Parts]:
    """log p(y | x), summed over hidden parts, and its gradient with respect to the potentials."""
    seen, with_evidence = latent.structure.logsum(potentials + latent.evidence(potentials.shape, y))
    log_z, free = latent.structure.logsum(potentials)
    return seen - log_z, with_evidence - free


def _visits(problem: Problem, seed: int, epoch: int) -> Iterator[tuple[Any, Any, float]]:
    """The examples in the order of an epoch, with their weights."""
    weight = problem.weights()
    for n in example_order(len(problem.examples), seed, epoch).tolist():
        x, y = problem.examples[n]
        yield x, y, weight[n]
