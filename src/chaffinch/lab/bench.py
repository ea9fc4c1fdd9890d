"""The bench: a dataset, its kind, and an experiment on it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chaffinch.errors import ConfigError
from chaffinch.kinds import Kind, kind_of_corpus
from chaffinch.lab import baseline
from chaffinch.lab.datasets import Source, dataset
from chaffinch.lab.experiment import Experiment, Parts

HOLD_OUT = 0.2


@dataclass(frozen=True)
class Bench:
    """An experiment beside the parts it works on and the kind they are for."""

    experiment: Experiment
    parts: Parts
    kind: Kind


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
    """Lay out an experiment. settings: by short name or by knob.

    Without a recipe, texts get the baseline (or, where that is not wanted, the default recipe), sentences the
    default tagger. dev_needed: where the dataset has no dev part, a fifth of the training part is held out.
    """
    data = dataset(source, folder)
    kind = kind_of_corpus(data.part("train"))
    basic = recipe is None and from_baseline and kind.baseline
    name = recipe or (baseline.RECIPE if basic else kind.default)
    start = asdict(baseline.Baseline()) if basic else {}
    hold_out = HOLD_OUT if (dev_needed or stop_on_dev) and "dev" not in data else 0.0
    experiment = Experiment(
        source=source,
        recipe=name,
        settings=baseline.turned({**start, **(settings or {})}, name, kind.settings_of(name)),
        features=features or (baseline.FEATURES if basic else None),
        seed=seed,
        hold_out=hold_out,
        stop_on_dev=stop_on_dev,
    )
    experiment.settled(kind)
    return Bench(experiment, experiment.parts(data), kind)


def scored_part(parts: Parts, wanted: str | None = None) -> str:
    """Which part a result is measured on: the wanted one, else test, else dev."""
    if wanted is not None:
        if wanted not in parts:
            raise ConfigError(f"the dataset {parts.data.name} has no part {wanted!r}")
        return wanted
    for name in ("test", "dev"):
        if name in parts:
            return name
    raise ConfigError(
        f"{parts.data.name} has a training part only: add a test file, -d TRAIN,TEST, or hold some out, --on dev"
    )
