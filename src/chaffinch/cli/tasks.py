"""The tasks of the command line, a row each; the first whose kind of file it is takes it."""

from pathlib import Path
from typing import Any

from chaffinch.cli import alignments, documents, sentences, trees
from chaffinch.cli.task import Task
from chaffinch.corpus import detect
from chaffinch.errors import ConfigError

TASKS = (sentences.TASK, documents.TASK, alignments.TASK, trees.TASK)


def task_of_file(path: Path, recipe: str | None, format: str | None = None) -> Task:
    """The task that a file is for, in a format that is named or else detected.

    A recipe that belongs to another task is refused, and the file's recipes are listed.
    """
    chosen = detect(path, format)
    found = next((task for task in TASKS if task.holds(path, chosen)), sentences.TASK)
    if recipe is not None and recipe not in {r.name for r in found.recipes}:
        owners = [task.plural for task in TASKS if recipe in {r.name for r in task.recipes}]
        if owners:
            there = ", ".join(r.name for r in found.recipes)
            raise ConfigError(
                f"recipe {recipe} is for {' and '.join(owners)}, and {path} holds {found.plural}; "
                f"for these there are {there}"
            )
    return found


def task_of_model(estimator: Any) -> Task:
    """The task that a loaded model answers."""
    found = next((task for task in TASKS if isinstance(estimator, task.estimator)), None)
    if found is None:
        name = type(estimator).__name__.lower()
        raise ConfigError(
            f"this model is a {name}, which works on the lists of another: chaffinch rerank --help"
        )
    return found
