"""Driving a learner: its passes reported, scored on held-out data, stopped, and the best one kept."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chaffinch.learners.likelihood import Pass
from chaffinch.model import TaggingModel
from chaffinch.progress import Progress
from chaffinch.recipes.held_out import HeldOut
from chaffinch.recipes.recipe import TaggingTask


@dataclass(frozen=True)
class Step:
    """One pass over the training data, as far as a listener needs to know.

    model: the model as the pass left it
    """

    progress: Progress
    model: Callable[[], TaggingModel]


def followed(
    steps: Iterator[Step], task: TaggingTask, patience: int, keep: Callable[[TaggingModel], None]
) -> list[Progress]:
    """Run the passes to their end, or until the listener or the held-out data says stop.

    With dev data ``keep`` is called whenever a pass is better than all before, and training stops ``patience``
    passes after the best one.
    """
    history: list[Progress] = []
    held_out: HeldOut | None = None
    best_score, best_number = -np.inf, 0
    for step in steps:
        progress = step.progress
        if task.dev is not None:
            model = step.model()
            held_out = held_out or HeldOut(task.dev, model.labels, task.threads)
            progress = replace(progress, scores={**progress.scores, "dev": held_out.score(model)})
            if progress.scores["dev"] > best_score:
                best_score, best_number = progress.scores["dev"], progress.done
                keep(model)
        history.append(progress)
        patient = task.dev is None or progress.done - best_number < patience
        if not (task.on_epoch(replace(progress, model=step.model)) and patient):
            break
    return history


def driven(
    passes: Iterator[Pass],
    w: NDArray[np.float32],
    model: Callable[[], TaggingModel],
    task: TaggingTask,
    patience: int,
) -> list[Progress]:
    """``followed`` for a learner that moves ``w`` in place: with dev data it ends as the best pass left it.

    model: the model that ``w`` makes as it is
    """
    best = np.empty_like(w) if task.dev is not None else w

    def steps() -> Iterator[Step]:
        for met in passes:
            scores = {"objective": met.objective} | ({} if met.gap is None else {"gap": met.gap})
            yield Step(Progress("pass", met.number, None, scores), model)

    history = followed(steps(), task, patience, lambda _: np.copyto(best, w))
    if history:
        w[:] = best
    return history
