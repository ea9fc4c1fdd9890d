"""Unlabelled rows: which to label next, whether active learning pays, and whether a model may label them itself."""

from chaffinch.active.choice import STRATEGIES, Chosen, choose, choose_centres
from chaffinch.active.queue import Queue, QueueRow, choose_queue, start_queue
from chaffinch.active.self_training import SelfTraining, self_train
from chaffinch.active.simulation import Curve, Simulation, simulate

__all__ = [
    "STRATEGIES",
    "Chosen",
    "Curve",
    "Queue",
    "QueueRow",
    "SelfTraining",
    "Simulation",
    "choose",
    "choose_centres",
    "choose_queue",
    "self_train",
    "simulate",
    "start_queue",
]
