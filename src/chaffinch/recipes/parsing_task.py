"""What a parser is trained on, and how."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from chaffinch.learners.problem import Learner, Problem
from chaffinch.learners.training import train_passes
from chaffinch.model.parsing import ParsingModel
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.recipe import Trained
from chaffinch.recipes.training import tree_score
from chaffinch.text.document import Tree


@dataclass(frozen=True)
class ParsingTask:
    """Trees without traces and function tags.

    dev: held-out trees: the best pass on them is kept; or None
    """

    trees: Sequence[Tree]
    seed: int = 0
    threads: int = 0
    on_epoch: Listener = keep_going
    dev: Sequence[Tree] | None = None


def trained_parser(
    task: ParsingTask, learner: Learner, problem: Problem, model: Callable[[Any], ParsingModel]
) -> Trained:
    """Train on a problem and stop on the task's held-out trees. model: makes a parser of what a pass made."""
    training = train_passes(
        learner,
        problem,
        threads=task.threads,
        model=model,
        on_epoch=task.on_epoch,
        held_out_score=None if task.dev is None else tree_score(task.dev, task.threads),
    )
    return Trained(model(training.made), training.history)
