"""Loading: the estimator of a model file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaffinch import modelfile
from chaffinch.errors import ChaffinchError, ModelFileError, warn_about_data
from chaffinch.rescue import Rescued, format_of, rescued, rescued_object

ESTIMATORS: dict[str | None, Any] = {}  # by the task in a model file; every estimator class registers itself

# Errors that loading raises if the sections of a file do not fit together.
FAULTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError)


@dataclass(frozen=True)
class SavedTask(modelfile.Saved):
    """The key of a file's estimator in ``ESTIMATORS``; None: a tagger."""

    task: str | None = modelfile.fact(str, default=None, omit=True)


def load(path: Any) -> Any:
    """The estimator of a file, ready to predict; nothing in the file is executed.

    Model files of other tools are read too, with a warning that names the tool. Instead of a path, a trained object of
    another package may be given.

    >>> import tempfile
    >>> from chaffinch import Tagger
    >>> path = Path(tempfile.mkdtemp()) / "tiny.chaff"
    >>> Tagger("hmm").fit([["a", "b"], ["b", "a"]], [["X", "Y"], ["Y", "X"]]).save(path)
    >>> load(path).predict([["b", "a"]])
    [['Y', 'X']]
    """
    if not isinstance(path, str | Path):
        return estimator_of(rescued_object(path))
    if (format := format_of(path)) is not None:
        found = rescued(path, format)
        warn_about_data(f"{path}: read {found.told}")
        return estimator_of(found)
    file = modelfile.read(path)
    task = SavedTask.loaded(modelfile.Requirements(file)).task
    if task not in ESTIMATORS:
        raise ModelFileError(f"{path}: holds a model for {task!r}, which this version does not know")
    try:
        return ESTIMATORS[task].loaded(file)
    except FAULTS as e:
        raise _damaged(file.source, e) from None


def estimator_of(found: Rescued) -> Any:
    """The estimator of a model of another tool."""
    made = ESTIMATORS[found.task].around(found.model, found.config)
    for name, value in found.attributes.items():
        setattr(made, name, value)
    return made


def _damaged(source: str, e: BaseException) -> ModelFileError:
    """The error in one line that begins with the name of the file."""
    said = next(iter(str(e).splitlines()), "")
    if not isinstance(e, ChaffinchError):
        said = f"is damaged: {type(e).__name__} {said}".rstrip()
    return ModelFileError(said if said.startswith(f"{source}: ") else f"{source}: {said}")
