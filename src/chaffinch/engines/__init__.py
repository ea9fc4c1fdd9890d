"""Engines run many independent pieces of work: in this process, in several, or on a Ray cluster.

Prediction over files is in ``chaffinch.engines.prediction``, which imports every kind of data: workers that train do
not need it.
"""

from chaffinch.engines.engine import Engine, InProcess, Job
from chaffinch.engines.processes import Processes
from chaffinch.engines.ray_engine import RayEngine
from chaffinch.errors import ConfigError

__all__ = ["ENGINES", "Engine", "InProcess", "Job", "Processes", "RayEngine", "engine_named"]

ENGINES = ("threads", "processes", "ray")  # their names on the command line


def engine_named(name: str, workers: int = 0, address: str | None = None, threads: int = 0) -> Engine:
    """The engine of this name; workers: 0 for one per core; threads: of the core, for the engine ``threads``."""
    if name == "threads":
        return InProcess(threads)
    if name == "processes":
        return Processes(workers)
    if name == "ray":
        return RayEngine(workers, address)
    raise ConfigError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}")
