"""A simulation of active learning on labelled data, for each strategy and seed: does it pay?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.active.choice import Pool, choose, choose_centres
from chaffinch.active.vectors import points
from chaffinch.errors import DataError
from chaffinch.evaluate.intervals import student_quantile
from chaffinch.kinds.corpora import Corpus, size, taken
from chaffinch.kinds.kind import Kind
from chaffinch.progress import Listener, Progress, going_on, keep_going

BASELINE = "random"

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """The learning curve of one strategy: a row per seed and a column per round.

    rows, units, corrections: labelled so far; corrections are the model's wrong answers among the rows it chose
    score: the score on held-out data after training on them
    """

    strategy: str
    rows: Table
    units: Table
    corrections: Table
    score: Table

    def of_seeds(self, which: NDArray[np.int64]) -> "Curve":
        """The curve of some of the seeds, by number."""
        spent = (self.rows, self.units, self.corrections, self.score)
        return Curve(self.strategy, *(table[which] for table in spent))

    def cost_of(self, wanted: float) -> dict[str, float] | None:
        """The cost of reaching a score, interpolated on the mean curve; None if it is never reached."""
        mean = self.score.mean(axis=0)
        reached = np.flatnonzero(mean >= wanted)
        if not len(reached):
            return None
        at = int(reached[0])
        part = 1.0 if at == 0 else (wanted - mean[at - 1]) / (mean[at] - mean[at - 1])
        spent = {"rows": self.rows, "units": self.units, "corrections": self.corrections}
        found = {}
        for name, table in spent.items():
            of = table.mean(axis=0)
            found[name] = float(of[at] if at == 0 else of[at - 1] + part * (of[at] - of[at - 1]))
        return found


@dataclass(frozen=True)
class Gain:
    """A strategy against random sampling: the mean difference over all rounds, paired by seed, with a 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:+.2f} ({100 * self.low:+.2f} to {100 * self.high:+.2f})"

    @property
    def shares(self) -> str:
        """As whole per cents; without an interval if there is none.

        >>> Gain(0.4, 0.35, 0.45).shares, Gain(0.4, -math.inf, math.inf).shares
        ('40% (35% to 45%)', '40%')
        """
        bounds = f" ({self.low:.0%} to {self.high:.0%})" if math.isfinite(self.low) else ""
        return f"{self.mean:.0%}{bounds}"

    @property
    def verdict(self) -> str:
        """better, worse or level."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "level"


@dataclass(frozen=True)
class Simulation:
    """The curves by strategy; random sampling is the first."""

    curves: dict[str, Curve]
    unit: str
    score: str
    held_out: int

    def gain(self, strategy: str) -> Gain:
        """The strategy's curve against that of random sampling, at the same number of units."""
        return _paired(self._differences(strategy).mean(axis=1))

    def saving(self, strategy: str) -> Gain | None:
        """The share of units that the strategy saves until it reaches the last score of random; None if it never does.

        The interval is the jackknife's: with S(-i) the saving without seed i and n seeds,

            S_i = n S - (n - 1) S(-i)        interval: that of the mean of S_1 .. S_n, by Student's t

        since S is a function of mean curves. It has no bounds if S(-i) does not exist for some i.
        """
        every = np.arange(len(self.curves[BASELINE].score))
        whole = self._saving(strategy, every)
        if whole is None:
            return None
        left = [self._saving(strategy, np.delete(every, i)) for i in every] if len(every) > 1 else []
        known = [one for one in left if one is not None]
        if len(known) < max(2, len(every)):
            return Gain(whole, -math.inf, math.inf)
        found = _paired(len(every) * whole - (len(every) - 1) * np.array(known))
        half = (found.high - found.low) / 2
        return Gain(whole, whole - half, whole + half)

    def _saving(self, strategy: str, seeds: NDArray[np.int64]) -> float | None:
        chance = self.curves[BASELINE].of_seeds(seeds)
        cost = self.curves[strategy].of_seeds(seeds).cost_of(float(chance.score.mean(axis=0)[-1]))
        return None if cost is None else 1 - cost["units"] / float(chance.units.mean(axis=0)[-1])

    def worst(self, strategy: str) -> tuple[int, Gain]:
        """The number of units at which the strategy does worst against random sampling, and the difference there."""
        found = self._differences(strategy)
        at = int(found.mean(axis=0).argmin())
        return round(float(self.curves[BASELINE].units[:, at + 1].mean())), _paired(found[:, at])

    def _differences(self, strategy: str) -> Table:
        """The scores above random sampling [seeds, rounds]: at its numbers of units, interpolated linearly.

        If a strategy ends with fewer units, its last score is used for larger numbers.
        """
        curve, chance = self.curves[strategy], self.curves[BASELINE]
        reached = [np.interp(*of) for of in zip(chance.units, curve.units, curve.score, strict=True)]
        return (np.array(reached) - chance.score)[:, 1:]

    def verdict(self) -> str:
        """One sentence: which strategy pays and how much it saves, or that none does."""
        chance = self.curves[BASELINE]
        wanted = float(chance.score.mean(axis=0)[-1])
        better = [s for s in self.curves if s != BASELINE and self.gain(s).verdict == "better"]
        if not better:
            return (
                "No strategy is better than random by more than its interval: draw rows at random, "
                "or run more seeds."
            )
        best = max(better, key=lambda s: self.gain(s).mean)
        gain = self.gain(best)
        budget, lowest = self.worst(best)
        worst = f"{lowest} at its worst budget ({budget:,} {self.unit})"
        said = f"{best} is {gain} points above random over the curve, {worst}"
        cost = self.curves[best].cost_of(wanted)
        if cost is None:
            return f"{said}, but does not reach the last score of random, {100 * wanted:.2f} %."
        saved = self.saving(best)
        assert saved is not None
        corrections = float(chance.corrections.mean(axis=0)[-1])
        return (
            f"{said}; it reaches the last score of random, {100 * wanted:.2f} %, with {saved.shares} "
            f"fewer {self.unit} and {cost['corrections'] / max(corrections, 1) - 1:+.0%} corrections."
        )


def _paired(per_seed: Table) -> Gain:
    """The mean of differences, one per seed, with its 95 % interval."""
    mean = float(per_seed.mean())
    if len(per_seed) < 2:
        return Gain(mean, -math.inf, math.inf)
    t = student_quantile(0.975, len(per_seed) - 1)
    half = t * float(per_seed.std(ddof=1)) / math.sqrt(len(per_seed))
    return Gain(mean, mean - half, mean + half)


def simulate(
    kind: Kind,
    corpus: Corpus,
    test: Corpus,
    strategies: Sequence[str],
    *,
    recipe: str | None = None,
    settings: Mapping[str, Any] | None = None,
    features: str | None = None,
    start: int = 25,
    batch: int = 25,
    rounds: int = 8,
    seeds: Sequence[int] = (0, 1, 2),
    score: str | None = None,
    threads: int = 0,
    listener: Listener = keep_going,
) -> Simulation:
    """Label ``start`` rows and then ``rounds`` batches of a labelled corpus by each strategy, and score on ``test``."""
    texts = kind.texts(corpus)  # refuses kinds whose rows cannot be chosen
    need = start + rounds * batch
    if size(corpus) < need:
        raise DataError(
            f"{size(corpus)} {kind.plural} are too few for a start of {start} and {rounds} batches of {batch}: "
            f"that takes {need}; lower --start, --batch or --rounds"
        )
    names = list(dict.fromkeys([BASELINE, *strategies]))
    spread = points(texts)
    units = kind.unit_counts(corpus)
    found: dict[str, list[list[tuple[float, ...]]]] = {name: [] for name in names}
    key, done, total = score or kind.scores[0], 0, len(names) * len(seeds) * (rounds + 1)
    for seed in seeds:
        for name in names:
            run = _StrategyRun(kind, corpus, texts, spread, start, seed, cold=name != BASELINE)
            curve: list[tuple[float, ...]] = []
            corrections = 0.0
            for step in range(rounds + 1):
                model = kind.made(recipe, {**kind.experimental, **(settings or {})}, features, seed, threads)
                kind.fit(model, taken(corpus, run.labelled), None, keep_going)
                tally = kind.tally(model, test)
                values = kind.scores_of(tally)
                key = key if key in values else next(iter(values))
                spent = float(units[run.labelled].sum())
                curve.append((float(len(run.labelled)), spent, corrections, values[key]))
                done += 1
                if not going_on(listener, Progress("simulating", done, total, {key: values[key]})):
                    raise KeyboardInterrupt
                if step < rounds:
                    new = run.next(name, model, batch, seed + step + 1)
                    corrections += float(kind.wrong_units(model, taken(corpus, new)).sum())
            found[name].append(curve)
    curves = {}
    for name, of_seeds in found.items():
        columns = np.array(of_seeds, dtype=np.float64).transpose(2, 0, 1)
        curves[name] = Curve(name, *columns)
    return Simulation(curves, kind.unit, key, size(test))


class _StrategyRun:
    """One strategy with one seed: the labelled rows and the remaining ones."""

    def __init__(
        self, kind: Kind, corpus: Corpus, texts: list[str], spread: Any, start: int, seed: int, cold: bool
    ) -> None:
        self.kind, self.corpus, self.texts, self.spread = kind, corpus, texts, spread
        order = np.random.default_rng(seed).permutation(len(texts)).tolist()
        centres = choose_centres(texts, spread, start, seed).rows if cold and kind.starts_at_centres else []
        self.labelled: list[int] = list(dict.fromkeys([*centres, *order]))[:start]

    def next(self, strategy: str, model: Any, n: int, seed: int) -> list[int]:
        """Label n more rows; returns their numbers."""
        known = set(self.labelled)
        left = [i for i in range(len(self.texts)) if i not in known]
        doubt = (
            np.zeros(len(left))
            if strategy == BASELINE
            else self.kind.uncertainty(model, taken(self.corpus, left))
        )
        pool = Pool([self.texts[i] for i in left], doubt, self.spread[left])
        if strategy == BASELINE:  # the baseline skips no near-duplicates
            rows = np.random.default_rng(seed).permutation(len(left))[:n].tolist()
        else:
            rows = choose(strategy, pool, n, seed).rows
        rows += [i for i in range(len(left)) if i not in set(rows)][: n - len(rows)]
        new = [left[i] for i in rows]
        self.labelled += new
        return new
