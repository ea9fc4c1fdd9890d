"""Engines run many independent pieces of work: in this process, in several, or on a Ray cluster.

Prediction over files is in ``chaffinch.engines.prediction``, which imports every kind of data: workers that train do
not need it.
"""

from chaffinch.engines.engine import Engine, InProcess, Job
from chaffinch.engines.named import ENGINES, engine_named
from chaffinch.engines.processes import Processes

__all__ = ["ENGINES", "Engine", "InProcess", "Job", "Processes", "engine_named"]
