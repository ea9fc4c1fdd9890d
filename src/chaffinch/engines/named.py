"""Engines by their names on the command line."""

from chaffinch.engines.engine import Engine, InProcess
from chaffinch.engines.processes import Processes
from chaffinch.engines.ray_engine import RayEngine
from chaffinch.errors import ConfigError

ENGINES = ("threads", "processes", "ray")


def engine_named(name: str, workers: int = 0, address: str | None = None, threads: int = 0) -> Engine:
    """The engine of this name; workers: 0 for one per core; threads: of the core, for the engine ``threads``."""
    if name == "threads":
        return InProcess(threads)
    if name == "processes":
        return Processes(workers)
    if name == "ray":
        return RayEngine(workers, address)
    raise ConfigError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}")
