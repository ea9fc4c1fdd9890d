"""The laboratory: experiments on datasets by name, their records and presets, ablations and tuning."""

from chaffinch.lab.ablation import Ablation, Axis, ablate
from chaffinch.lab.datasets import Dataset, Source, dataset
from chaffinch.lab.experiment import (
    Bench,
    Experiment,
    Outcome,
    Splits,
    bench,
    run,
    run_and_watch,
    scored_split,
)
from chaffinch.lab.model_difference import ModelDifference, Verdict, compare_models, verdict
from chaffinch.lab.presets import Preset
from chaffinch.lab.tuning import Tuned, tune

__all__ = [
    "Ablation",
    "Axis",
    "Bench",
    "Dataset",
    "Experiment",
    "ModelDifference",
    "Outcome",
    "Preset",
    "Source",
    "Splits",
    "Tuned",
    "Verdict",
    "ablate",
    "bench",
    "compare_models",
    "dataset",
    "run",
    "run_and_watch",
    "scored_split",
    "tune",
    "verdict",
]
