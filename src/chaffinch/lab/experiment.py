"""An experiment: recipe, settings, dataset and seed; its setup on a dataset, and its outcome."""

import hashlib
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from chaffinch.errors import ConfigError
from chaffinch.evaluate import Interval, Tally, intervals
from chaffinch.kinds import Kind, kind_of_corpus
from chaffinch.kinds.corpora import Corpus, held_out, joined
from chaffinch.lab import baseline
from chaffinch.lab.datasets import Dataset, Source, dataset
from chaffinch.progress import Listener, Progress, keep_going


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything that determines a result: the same experiment on the same data gives the same bytes.

    settings:    the recipe's knobs that are set; the others have their defaults
    hold_out:    share of the training split that is held out as the dev split; 0: the dataset's own, if any
    stop_on_dev: show the dev split to the learner, to stop on
    """

    source: Source
    recipe: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    features: str | None = None
    seed: int = 0
    hold_out: float = 0.0
    stop_on_dev: bool = False

    def with_settings(self, settings: Mapping[str, Any]) -> "Experiment":
        """The same with further settings; ``features`` among them names the features as a whole."""
        knobs = {k: v for k, v in settings.items() if k != "features"}
        features = settings.get("features", self.features)
        return replace(self, settings={**self.settings, **knobs}, features=features)

    def splits(self, data: Dataset) -> "Splits":
        """The splits of the experiment, read on first use."""
        return Splits(data, self.hold_out)

    def whole_splits(self, data: Dataset) -> "Splits":
        """The splits with held-out data joined to the training split, for a final model with the chosen settings."""
        if self.stop_on_dev:
            raise ConfigError("the dev split is used for early stopping, so it cannot be training data too")
        if self.hold_out > 0 or "dev" not in data:
            return Splits(data, 0.0)
        readers = {name: reader for name, reader in data.readers.items() if name != "dev"}
        readers["train"] = lambda: joined([data.split("train"), data.split("dev")])
        return Splits(Dataset(data.name, readers), 0.0)

    def full_settings(self, kind: Kind) -> dict[str, Any]:
        """The checked settings with all defaults of the recipe."""
        return kind.full_settings(self.recipe, self.settings)


class SplitsByName(Protocol):
    """Splits that are read on first use."""

    def __getitem__(self, name: str) -> Corpus:
        """The split."""


@dataclass(frozen=True)
class Splits:
    """A dataset's splits as an experiment sees them: with ``hold_out``, dev is a share of the training split."""

    data: Dataset
    hold_out: float

    @cached_property
    def _cut(self) -> tuple[Corpus, Corpus]:
        return held_out(self.data.split("train"), self.hold_out, seed=0)

    def __contains__(self, name: str) -> bool:
        return name in self.data or (name == "dev" and self.hold_out > 0)

    def __getitem__(self, name: str) -> Corpus:
        if self.hold_out > 0 and name in ("train", "dev"):
            return self._cut[name == "dev"]
        return self.data.split(name)


@dataclass(frozen=True)
class Outcome:
    """The outcome of an experiment.

    epochs: accuracy after each pass, by split; empty if the recipe has no passes
    scores: every reported score of the finished model, by split
    """

    experiment: Experiment
    kind: Kind
    estimator: Any
    epochs: list[dict[str, float]]
    tallies: dict[str, Tally] = field(repr=False)
    wall_s: float
    cpu_s: float

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """Each reported score, by split."""
        found = {}
        for split, tally in self.tallies.items():
            found[split] = self.kind.scores_of(tally)
        return found

    @property
    def settings(self) -> dict[str, Any]:
        """Every knob of the recipe, defaults included."""
        return self.experiment.full_settings(self.kind)

    def interval(self, split: str, key: str) -> Interval:
        """The bootstrap interval of a score, by resampling the split's sentences or texts."""
        return intervals(self.tallies[split])[key]

    def model_digest(self) -> tuple[str, int]:
        """SHA-256 and size of the model file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.chaff"
            self.estimator.save(path)
            content = path.read_bytes()
        return f"sha256:{hashlib.sha256(content).hexdigest()}", len(content)


def run(
    experiment: Experiment,
    splits: SplitsByName,
    *,
    scored: Sequence[str] = ("train", "test"),
    watched: Sequence[str] = (),
    threads: int = 0,
    on_epoch: Listener = keep_going,
) -> Outcome:
    """Train and score. ``watched`` splits are also scored after every pass, which does not affect training.

    >>> from chaffinch.lab.datasets import dataset
    >>> trial = Experiment(source=Source(name="ingredients"), recipe="perceptron", settings={"epochs": 1})
    >>> outcome = run(trial, trial.splits(dataset(trial.source)))
    >>> 0.9 < outcome.scores["test"]["token_accuracy"] < 1.0
    True
    """
    train = splits["train"]
    kind = kind_of_corpus(train)
    dev = splits["dev"] if experiment.stop_on_dev else None
    estimator = kind.made(
        experiment.recipe,
        {**kind.experimental, **experiment.settings},
        experiment.features,
        experiment.seed,
        threads,
    )
    found = {split: kind.watcher(splits[split], threads) for split in watched}
    watchers = {split: watcher for split, watcher in found.items() if watcher is not None}
    epochs: list[dict[str, float]] = []
    aside = [0.0, 0.0]  # time of watching, not counted as training

    def listen(progress: Progress) -> object:
        if not watchers or progress.model is None:
            return on_epoch(progress)
        wall, cpu = time.perf_counter(), time.process_time()
        model = progress.model()
        epochs.append({split: accuracy(model) for split, accuracy in watchers.items()})
        aside[0] += time.perf_counter() - wall
        aside[1] += time.process_time() - cpu
        return on_epoch(replace(progress, scores={**progress.scores, **epochs[-1]}))

    wall, cpu = time.perf_counter(), time.process_time()
    kind.fit(estimator, train, dev, listen)
    wall, cpu = time.perf_counter() - wall - aside[0], time.process_time() - cpu - aside[1]
    tallies = {split: kind.tally(estimator, splits[split]) for split in scored}
    return Outcome(experiment, kind, estimator, epochs, tallies, wall, cpu)


def run_and_watch(
    experiment: Experiment, splits: Splits, threads: int = 0, on_epoch: Listener = keep_going
) -> Outcome:
    """Train, score every split, and watch the training split and the test split, else the dev split."""
    scored = [split for split in ("train", "dev", "test") if split in splits]
    watched = ["train", *(split for split in ("test", "dev") if split in scored)][:2]
    return run(experiment, splits, scored=scored, watched=watched, threads=threads, on_epoch=on_epoch)


def main_score(outcome: Outcome, split: str, wanted: str | None = None) -> str:
    """The key of the main score: the wanted one, else the kind's first that the split has."""
    found = outcome.scores[split]
    if wanted is None:
        return next(iter(found))
    if wanted not in found:
        raise ConfigError(f"there is no score {wanted!r}; there are {', '.join(found)}")
    return wanted


HOLD_OUT = 0.2


@dataclass(frozen=True)
class Bench:
    """An experiment with its splits and their kind."""

    experiment: Experiment
    splits: Splits
    kind: Kind

    @property
    def parts(self) -> Splits:
        """Deprecated: the old name of ``splits``."""
        warnings.warn("Bench.parts is now called Bench.splits", DeprecationWarning, stacklevel=2)
        return self.splits


def bench(
    source: Source,
    folder: Path | None = None,
    *,
    recipe: str | None = None,
    settings: Mapping[str, Any] | None = None,
    features: str | None = None,
    seed: int = 0,
    dev_needed: bool = False,
    stop_on_dev: bool = False,
    from_baseline: bool = True,
) -> Bench:
    """Set up an experiment. settings: by short name or by knob.

    Without a recipe, texts get the baseline (without ``from_baseline`` the default recipe), sentences the
    default tagger. dev_needed: if the dataset has no dev split, a fifth of the training split is held out.
    """
    data = dataset(source, folder)
    kind = kind_of_corpus(data.split("train"))
    basic = recipe is None and from_baseline and kind.baseline
    name = recipe or (baseline.RECIPE if basic else kind.default)
    start = {**baseline.start(settings or {}), "cleaning": baseline.CLEANING} if basic else {}
    hold_out = HOLD_OUT if (dev_needed or stop_on_dev) and "dev" not in data else 0.0
    experiment = Experiment(
        source=source,
        recipe=name,
        settings=baseline.as_knobs({**start, **(settings or {})}, name, kind.settings_of(name)),
        features=features or (baseline.FEATURES if basic else None),
        seed=seed,
        hold_out=hold_out,
        stop_on_dev=stop_on_dev,
    )
    experiment.full_settings(kind)
    return Bench(experiment, experiment.splits(data), kind)


def scored_split(splits: Splits, wanted: str | None = None) -> str:
    """The split that a result is measured on: the wanted one, else test, else dev."""
    if wanted is not None:
        if wanted not in splits:
            raise ConfigError(f"the dataset {splits.data.name} has no split {wanted!r}")
        return wanted
    for name in ("test", "dev"):
        if name in splits:
            return name
    raise ConfigError(
        f"{splits.data.name} has only a training split: add a test file (-d TRAIN,TEST) or hold data out (--on dev)"
    )
