"""Check a structure of your own against an enumeration of small cases; each fault is one sentence."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from chaffinch.errors import ConfigError
from chaffinch.structures import Parts, Shape, oracles

NEAR = 1e-4  # tolerance: potentials are of the order of one, and a structure may work in single precision
STEP = 1e-3

Loss = Callable[[Any, Any], float]


def check_structure(
    structure: Any,
    answers: Callable[[Shape], Iterable[Any]],
    shapes: Iterable[Shape],
    *,
    loss: Loss | None = None,
    trials: int = 8,
    seed: int = 0,
) -> list[str]:
    """The faults of a structure, one sentence each; an empty list if none was found.

    shapes:  small shapes of parts; each has at least one answer, and few enough to list
    answers: a function from a shape to every y of that shape
    loss:    the loss that ``cost`` should add up to, loss(gold, answer); without it, cost must be zero on gold alone
    trials:  number of random potentials per shape, half of them with many ties

    Every oracle of the structure is compared with the list of answers: ``argmax`` must find a best one, ``kbest`` the
    best ones in order and each once, ``logsum`` the sum and, as its gradient, the expected parts. ``argmax`` is also
    checked with the cost added to the potentials. Each sentence gives the case that shows the fault.

    >>> from chaffinch.structures import Choice
    >>> check_structure(Choice(), lambda shape: range(shape["choice"][0]), [{"choice": (3,)}])
    []
    >>> class First(Choice):
    ...     def argmax(self, potentials):
    ...         return 0
    >>> print(check_structure(First(), lambda shape: range(shape["choice"][0]), [{"choice": (2,)}], seed=3)[0])
    argmax: found 0 with the score ..., but 1 has the score ...; shape {'choice': (2,)}, potentials ...
    """
    if "argmax" not in (offered := oracles(structure)) and "logsum" not in offered:
        missing = [name for name in ("parts", "cost", "argmax") if not hasattr(structure, name)]
        return [
            f"{type(structure).__name__} lacks {', '.join(missing)}: a structure needs parts, cost and argmax"
        ]
    faults: list[str] = []
    rng = np.random.default_rng(seed)
    for shape in shapes:
        case = _Case(structure, shape, list(answers(shape)))
        found = list(case.part_faults())
        if not found:
            found += case.cost_faults(loss)
            for trial in range(trials):
                potentials = _drawn(rng, shape, tied=trial % 2 == 1)
                gold = case.answers[int(rng.integers(len(case.answers)))]
                for oracle in offered:
                    found += case.oracle_faults(oracle, potentials)
                if "argmax" in offered and not found:
                    augmented = potentials + structure.cost(shape, gold)
                    found += (
                        f"with the cost of {_text(gold)} added, {f}" for f in case.argmax_faults(augmented)
                    )
        faults += found
    return list(dict.fromkeys(_first_of_each(faults)))


class _Case:
    """One shape with all its answers."""

    def __init__(self, structure: Any, shape: Shape, answers: list[Any]) -> None:
        if not answers:
            raise ConfigError(f"there is no answer of the shape {dict(shape)} to check with")
        self.structure, self.shape, self.answers = structure, shape, answers
        self.indicators: list[Parts] = []

    # -- parts and cost -----------------------------------------------------------------------------------------

    def part_faults(self) -> Iterator[str]:
        """Check that parts have the right shape, are the same each time and differ for different answers."""
        where = f"shape {dict(self.shape)}"
        for y in self.answers:
            parts, again = self.structure.parts(self.shape, y), self.structure.parts(self.shape, y)
            if (fault := self._misshapen(parts)) is not None:
                yield f"parts: of {_text(y)} {fault}; {where}"
                return
            if _difference(parts, again):
                yield f"parts: asked twice for {_text(y)} they differ; {where}"
            for other, theirs in zip(self.answers, self.indicators, strict=False):
                if not _difference(parts, theirs):
                    yield f"parts: {_text(other)} and {_text(y)} have the same, so no score can separate them; {where}"
                    return
            self.indicators.append(parts)

    def cost_faults(self, loss: Loss | None) -> Iterator[str]:
        """Check that the cost is zero on gold and positive elsewhere, or equals the loss if there is one."""
        where = f"shape {dict(self.shape)}"
        for gold in self.answers:
            cost = self.structure.cost(self.shape, gold)
            if (fault := self._misshapen(cost)) is not None:
                yield f"cost: of {_text(gold)} {fault}; {where}"
                return
            for y, parts in zip(self.answers, self.indicators, strict=True):
                value = cost.dot(parts)
                wanted = None if loss is None else float(loss(gold, y))
                if y is gold and abs(value) > NEAR:
                    yield f"cost: of gold {_text(gold)} itself is {value:g}, expected 0; {where}"
                elif wanted is not None and abs(value - wanted) > NEAR:
                    yield (
                        f"cost: of {_text(y)} if {_text(gold)} is gold adds up to {value:g} over its parts, "
                        f"the loss is {wanted:g}; {where}"
                    )
                elif y is not gold and value <= 0 and wanted is None:
                    yield f"cost: of {_text(y)} if {_text(gold)} is gold is {value:g}, expected more than 0; {where}"

    def _misshapen(self, parts: Any) -> str | None:
        if not isinstance(parts, Parts):
            return f"are a {type(parts).__name__}, expected Parts"
        for name, block in parts.items():
            if name not in self.shape:
                return f"have a block {name!r}, which the shape does not have"
            if block.shape != tuple(self.shape[name]):
                return f"have the block {name!r} of shape {block.shape}, expected {tuple(self.shape[name])}"
            if not np.isfinite(block).all():
                return f"have a number that is not finite in the block {name!r}"
        return None

    # -- oracles ------------------------------------------------------------------------------------------------

    def oracle_faults(self, oracle: str, potentials: Parts) -> Iterator[str]:
        """The faults of one oracle on these potentials, including a change of them."""
        kept = Parts(**{name: block.copy() for name, block in potentials.items()})
        try:
            yield from getattr(self, f"{oracle}_faults")(potentials)
        except Exception as e:
            yield f"{oracle}: raised {type(e).__name__}: {e}; {self._where(potentials)}"
        if _difference(kept, potentials):
            yield f"{oracle}: changed the potentials that it was given; shape {dict(self.shape)}"

    def argmax_faults(self, potentials: Parts) -> Iterator[str]:
        """Check that argmax finds the best answer, and the same when called again."""
        y = self.structure.argmax(potentials)
        place = self._place(y)
        if place is None:
            yield f"argmax: found {_text(y)}, which is not among the answers; {self._where(potentials)}"
            return
        scores = self._scores(potentials)
        best = int(np.argmax(scores))
        if scores[place] < scores[best] - NEAR:
            yield (
                f"argmax: found {_text(y)} with the score {scores[place]:g}, but {_text(self.answers[best])} has the "
                f"score {scores[best]:g}; {self._where(potentials)}"
            )
        if self._place(self.structure.argmax(potentials)) != place:
            yield f"argmax: gave another answer when called again; {self._where(potentials)}"

    def kbest_faults(self, potentials: Parts) -> Iterator[str]:
        """Check that kbest gives right scores in descending order, each answer once, none missing, argmax's first."""
        ranked = sorted(self._scores(potentials), reverse=True)
        where = self._where(potentials)
        for k in dict.fromkeys((1, 2, len(self.answers), len(self.answers) + 3)):
            found = self.structure.kbest(potentials, k)
            places = [self._place(y) for _, y in found]
            if None in places:
                yield f"kbest: found {_text(found[places.index(None)][1])}, which is not among the answers; {where}"
                return
            if len(found) != min(k, len(self.answers)):
                yield f"kbest: expected {min(k, len(self.answers))} answers for k = {k}, found {len(found)}; {where}"
                return
            if len(set(places)) < len(places):
                yield f"kbest: an answer came twice among the best {k}; {where}"
                return
            scores = self._scores(potentials)
            for rank, ((score, y), place) in enumerate(zip(found, places, strict=True)):
                assert place is not None
                if abs(score - scores[place]) > NEAR:
                    yield f"kbest: gives {_text(y)} the score {score:g}, its parts add up to {scores[place]:g}; {where}"
                    return
                if abs(score - ranked[rank]) > NEAR:
                    yield f"kbest: place {rank + 1} has the score {score:g}, expected {ranked[rank]:g}; {where}"
                    return
            if places[0] != self._place(self.structure.argmax(potentials)):
                yield f"kbest: its first answer is {_text(found[0][1])}, and argmax finds another; {where}"
                return

    def logsum_faults(self, potentials: Parts) -> Iterator[str]:
        """Check the sum over the answers, and its gradient by expectation and by finite differences."""
        where = self._where(potentials)
        scores = self._scores(potentials)
        top = max(scores)
        weights = [math.exp(s - top) for s in scores]
        wanted = top + math.log(math.fsum(weights))
        log_z, gradient = self.structure.logsum(potentials)
        if abs(log_z - wanted) > NEAR:
            yield f"logsum: log Z is {log_z:g}, the sum over the answers gives {wanted:g}; {where}"
            return
        if (fault := self._misshapen(gradient)) is not None:
            yield f"logsum: its gradient {fault}; {where}"
            return
        expected = Parts.zeros(self.shape)
        for weight, parts in zip(weights, self.indicators, strict=True):
            expected = expected + parts * (weight / math.fsum(weights))
        for name, size in self.shape.items():
            for at in np.ndindex(*size):
                given = 0.0 if name not in gradient else float(gradient[name][at])
                if abs(given - expected[name][at]) > NEAR:
                    yield (
                        f"logsum: the marginal of part {name}{list(at)} is {given:g}, expected "
                        f"{expected[name][at]:g}, the share of the answers that have it; {where}"
                    )
                    return
        name = next(iter(self.shape))
        if math.prod(self.shape[name]):
            at = np.unravel_index(int(np.argmax(expected[name])), self.shape[name])
            step = np.zeros(self.shape[name])
            step[at] = STEP
            above, _ = self.structure.logsum(potentials + Parts(**{name: step}))
            below, _ = self.structure.logsum(potentials - Parts(**{name: step}))
            slope = (above - below) / (2 * STEP)
            if abs(slope - expected[name][at]) > 10 * NEAR:
                yield (
                    f"logsum: by finite differences the derivative of log Z at part {name}{[int(i) for i in at]} is "
                    f"{slope:g}, the marginal is {expected[name][at]:g}; {where}"
                )

    def _scores(self, potentials: Parts) -> list[float]:
        return [potentials.dot(parts) for parts in self.indicators]

    def _place(self, y: Any) -> int | None:
        """The index of the answer with the parts of y."""
        try:
            parts = self.structure.parts(self.shape, y)
        except Exception:
            return None
        return next((i for i, theirs in enumerate(self.indicators) if not _difference(parts, theirs)), None)

    def _where(self, potentials: Parts) -> str:
        numbers = {name: np.round(block, 3).tolist() for name, block in potentials.items()}
        return f"shape {dict(self.shape)}, potentials {numbers}"


def _drawn(rng: np.random.Generator, shape: Shape, *, tied: bool) -> Parts:
    """Random potentials; tied: drawn from three values, so that many answers have the same score."""
    values = {
        name: rng.choice([-1.0, 0.0, 1.0], size) if tied else rng.normal(size=size)
        for name, size in shape.items()
    }
    return Parts(**{name: np.asarray(block, np.float64) for name, block in values.items()})


def _difference(a: Parts, b: Parts) -> bool:
    return any(bool(np.any(block)) for _, block in (a - b).items())


def _first_of_each(faults: list[str]) -> Iterator[str]:
    """The first fault of each kind; the words of a sentence without its figures are its kind."""
    seen = set()
    for fault in faults:
        words = fault.split(";", maxsplit=1)[0].split()
        kind = " ".join(w for w in words if w.isalpha() or w.endswith(":"))
        if kind not in seen:
            seen.add(kind)
            yield fault


def _text(y: Any) -> str:
    return str(y.tolist()) if isinstance(y, np.ndarray) else repr(y)
