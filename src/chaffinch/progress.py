"""Progress: a record handed to a callback; only the command line draws it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Progress:
    """How far a long job has come.

    model: makes the model as it stands, for a listener that scores it on the way; it decides nothing
    """

    task: str
    done: int
    total: int | None = None
    scores: dict[str, float] = field(default_factory=dict)
    model: Callable[[], Any] | None = field(default=None, repr=False, compare=False)


Listener = Callable[[Progress], object]
"""Is told of progress. One that returns False, and nothing else that counts as false, stops the job."""


def going_on(listener: Listener, progress: Progress) -> bool:
    """Tell a listener; whether the job goes on.

    >>> going_on(print, Progress("pass", 1))
    Progress(task='pass', done=1, total=None, scores={})
    True
    """
    return listener(progress) is not False


def keep_going(_: Progress) -> bool:
    """The listener that neither shows nor stops anything: a listener returns False to stop the job."""
    return True


def objective(history: Sequence[Progress]) -> dict[str, float]:
    """Primal, dual and gap when they were last evaluated; nothing if they never were."""
    names = ("primal", "dual", "gap")  # a likelihood tells its gap alone
    looks = [p.scores for p in history if all(name in p.scores for name in names)]
    return {name: float(looks[-1][name]) for name in names} if looks else {}


def gap_share(history: Sequence[Progress]) -> float | None:
    """The duality gap as a share of the primal, when it was last evaluated: how far from the optimum at most.

    >>> gap_share([Progress("pass", 1, 2, {"primal": 8.0, "dual": 6.0, "gap": 2.0}), Progress("pass", 2, 2)])
    0.25
    """
    found = objective(history)
    return max(found["gap"], 0.0) / max(abs(found["primal"]), 1e-30) if found else None
