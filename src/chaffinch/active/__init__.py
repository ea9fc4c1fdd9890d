"""Active learning: which rows of a pool to label next, and whether choosing them pays."""

from chaffinch.active.choice import STRATEGIES, Chosen, choose, choose_centres
from chaffinch.active.queue import Queue, QueueRow, queued, started
from chaffinch.active.simulation import Curve, Simulation, simulate

__all__ = [
    "STRATEGIES",
    "Chosen",
    "Curve",
    "Queue",
    "QueueRow",
    "Simulation",
    "choose",
    "choose_centres",
    "queued",
    "simulate",
    "started",
]
