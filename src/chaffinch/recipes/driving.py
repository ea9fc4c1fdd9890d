"""Driving a learner: its passes reported, scored on held-out data, stopped, and the best one kept."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from chaffinch.learners.likelihood import Pass
from chaffinch.model import TaggingModel
from chaffinch.progress import Progress
from chaffinch.recipes.held_out import HeldOut
from chaffinch.recipes.recipe import TaggingTask


def driven(
    passes: Iterator[Pass],
    w: NDArray[np.float32],
    model: Callable[[], TaggingModel],
    task: TaggingTask,
    patience: int,
) -> list[Progress]:
    """Run the passes to their end, or until the listener or the held-out data says stop.

    With dev data ``w`` ends as the best pass left it, and training stops ``patience`` passes after that one.
    model: the model that ``w`` makes as it is
    """
    history: list[Progress] = []
    held_out = None if task.dev is None else HeldOut(task.dev, model().labels, task.threads)
    best, best_score, best_number = None, -np.inf, 0
    for met in passes:
        scores = {"objective": met.objective} | ({} if met.gap is None else {"gap": met.gap})
        if held_out is not None:
            scores["dev"] = held_out.score(model())
            if scores["dev"] > best_score:
                best, best_score, best_number = w.copy(), scores["dev"], met.number
        history.append(Progress("pass", met.number, None, scores))
        patient = held_out is None or met.number - best_number < patience
        if not (task.on_epoch(history[-1]) and patient):
            break
    if best is not None:
        w[:] = best
    return history
