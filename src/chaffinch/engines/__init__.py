"""Engines: where many independent pieces of work run: in this process, in several, or on a Ray cluster."""

from chaffinch.engines.engine import ENGINES, Engine, InProcess, Job, Processes, engine_named
from chaffinch.engines.prediction import FilePrediction, predict_files

__all__ = [
    "ENGINES",
    "Engine",
    "FilePrediction",
    "InProcess",
    "Job",
    "Processes",
    "engine_named",
    "predict_files",
]
