"""Engines: where many independent pieces of work run: in this process, in several, or on a Ray cluster."""

from typing import TYPE_CHECKING, Any

from chaffinch.engines.engine import ENGINES, Engine, InProcess, Job, Processes, engine_named

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    """What predicts files is imported when it is asked for: a worker that trains does not need all kinds of data."""
    if name in ("FilePrediction", "predict_files"):
        from chaffinch.engines import prediction

        return getattr(prediction, name)
    raise AttributeError(f"module 'chaffinch.engines' has no attribute {name!r}")
