"""Ablation: the same experiment with some settings varied, over several seeds; resumable cell by cell."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path

from chaffinch import __version__
from chaffinch.errors import ConfigError
from chaffinch.evaluate.intervals import student_quantile
from chaffinch.kinds import Kind
from chaffinch.kinds.corpora import fingerprint
from chaffinch.lab.baseline import as_knobs, read_value
from chaffinch.lab.experiment import Experiment, Splits, main_score, run
from chaffinch.progress import Listener, Progress, going_on, keep_going


@dataclass(frozen=True)
class SeedScores:
    """The mean of a score over seeds and its 95 % confidence interval.

    >>> found = SeedScores.of([0.80, 0.82, 0.84])
    >>> f"{found.mean:.3f} {found.low:.3f} {found.high:.3f}"
    '0.820 0.770 0.870'
    """

    count: int
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> "SeedScores":
        """From one score per seed; with a single seed the interval is the score itself."""
        n = len(scores)
        mean = math.fsum(scores) / n
        if n == 1 or min(scores) == max(scores):
            return cls(n, mean, mean, mean)
        variance = math.fsum((s - mean) ** 2 for s in scores) / (n - 1)
        half = student_quantile(0.975, n - 1) * math.sqrt(variance / n)
        return cls(n, mean, mean - half, mean + half)


# Parameters that belong to the experiment and not to its recipe.
OWN = ("recipe", "features")


@dataclass(frozen=True)
class Axis:
    """A parameter and the values it takes, as the user wrote them."""

    param: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """One setting of all parameters, and its experiment."""

    point: dict[str, str]
    experiment: Experiment


@dataclass(frozen=True)
class CellRun:
    """A cell with one seed: its scores, the interval of the main one by resampling the scored split, its passes."""

    key: str
    seed: int
    scores: dict[str, float]
    low: float
    high: float
    epochs: list[float]
    wall_s: float


@dataclass(frozen=True)
class Row:
    """A cell over all seeds."""

    point: dict[str, str]
    runs: list[CellRun]
    score: str

    @property
    def over_seeds(self) -> SeedScores:
        """Mean and interval of the score over the seeds."""
        return SeedScores.of([r.scores[self.score] for r in self.runs])

    @property
    def over_data(self) -> tuple[float, float]:
        """The interval by resampling the scored split, averaged over the seeds."""
        return _mean([r.low for r in self.runs]), _mean([r.high for r in self.runs])

    @property
    def seconds(self) -> float:
        """Training time of one run."""
        return _mean([r.wall_s for r in self.runs])

    @property
    def label(self) -> str:
        """The varied settings, in a line."""
        return ", ".join(f"{k}={v}" for k, v in self.point.items()) or "unchanged"


@dataclass(frozen=True)
class Ablation:
    """The varied parameters, the scored split, and the resulting rows."""

    base: Experiment
    axes: tuple[Axis, ...]
    split: str
    score: str
    rows: list[Row] = field(default_factory=list)


def cells(base: Experiment, axes: Sequence[Axis], kind: Kind, grid: bool = True) -> list[Cell]:
    """Every combination of the values; or, one at a time, the base and each value by itself."""
    if not axes:
        raise ConfigError("nothing to vary: name a parameter with -p and its values with -v")
    names = [axis.param for axis in axes]
    if len(set(names)) < len(names):
        raise ConfigError(f"a parameter is named twice: {', '.join(names)}")
    if grid:
        points = [dict(zip(names, values, strict=True)) for values in product(*(a.values for a in axes))]
    else:
        points = [{}, *({axis.param: value} for axis in axes for value in axis.values)]
    return [Cell(point, varied(base, point, kind)) for point in points]


def varied(base: Experiment, point: Mapping[str, str], kind: Kind) -> Experiment:
    """The base experiment with the checked values of a point."""
    made = replace(
        base, recipe=point.get("recipe", base.recipe), features=point.get("features", base.features)
    )
    if made.recipe != base.recipe:
        made = replace(made, settings={})
    known = kind.settings_of(made.recipe)
    values = {k: read_value(k, text, made.recipe, known) for k, text in point.items() if k not in OWN}
    made = made.with_settings(as_knobs(values, made.recipe, known))
    made.full_settings(kind)
    return made


def ablate(
    base: Experiment,
    axes: Sequence[Axis],
    splits: Splits,
    kind: Kind,
    *,
    seeds: Sequence[int],
    split: str,
    grid: bool = True,
    score: str | None = None,
    journal: Path | None = None,
    threads: int = 0,
    listener: Listener = keep_going,
) -> Ablation:
    """Run every cell with every seed and score it on ``split``.

    journal: a file to which each finished run is added at once; runs that it holds are not repeated.
    """
    made = cells(base, axes, kind, grid)
    data = {name: fingerprint(splits[name]) for name in ("train", split)}
    finished = {} if journal is None else dict(_read_journal(journal))
    rows: list[Row] = []
    done, total = 0, len(made) * len(seeds)
    chosen = score
    for cell in made:
        runs = []
        for seed in seeds:
            experiment = replace(cell.experiment, seed=seed)
            key = _key(experiment, kind, data, split, score)
            if key not in finished:
                outcome = run(experiment, splits, scored=(split,), watched=(split,), threads=threads)
                chosen = main_score(outcome, split, score)
                interval = outcome.interval(split, chosen)
                epochs = [e[split] for e in outcome.epochs]
                finished[key] = CellRun(
                    key, seed, outcome.scores[split], interval.low, interval.high, epochs, outcome.wall_s
                )
                if journal is not None:
                    _add(journal, finished[key])
            runs.append(finished[key])
            chosen = chosen or next(iter(finished[key].scores))
            done += 1
            if not going_on(
                listener, Progress("ablation", done, total, {chosen: finished[key].scores[chosen]})
            ):
                raise KeyboardInterrupt
        rows.append(Row(cell.point, runs, chosen or ""))
    return Ablation(base, tuple(axes), split, chosen or "", rows)


def _key(experiment: Experiment, kind: Kind, data: dict[str, str], split: str, score: str | None) -> str:
    """The key of a run: everything that determines its result."""
    told = {
        "version": __version__,
        "recipe": experiment.recipe,
        "settings": experiment.full_settings(kind),
        "features": experiment.features,
        "seed": experiment.seed,
        "stop_on_dev": experiment.stop_on_dev,
        "data": data,
        "part": split,  # the name of this key in journals that exist
        "score": score,
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def _read_journal(path: Path) -> Iterator[tuple[str, CellRun]]:
    """The finished runs; an incomplete last line, left by an interruption, is removed and its cell run again."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        path.write_bytes(whole)
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            found = CellRun(**json.loads(line))
        except (ValueError, TypeError):
            raise ConfigError(f"{path}:{number}: is not a line of this journal; delete the file") from None
        yield found.key, found


def _add(path: Path, finished: CellRun) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(finished)) + "\n")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
