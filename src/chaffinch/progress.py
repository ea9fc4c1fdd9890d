"""Progress: a record handed to a callback; only the command line draws it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Progress:
    """The progress of a long job.

    model: makes the present model, for a listener that scores it; training does not depend on it
    """

    task: str
    done: int
    total: int | None = None
    scores: dict[str, float] = field(default_factory=dict)
    model: Callable[[], Any] | None = field(default=None, repr=False, compare=False)


Listener = Callable[[Progress], object]
"""Is called with progress. It stops the job by returning False; other false values, such as None, do not."""


def going_on(listener: Listener, progress: Progress) -> bool:
    """Call a listener; return whether the job goes on.

    >>> going_on(print, Progress("pass", 1))
    Progress(task='pass', done=1, total=None, scores={})
    True
    """
    return listener(progress) is not False


def keep_going(_: Progress) -> bool:
    """The listener that shows nothing and never stops the job."""
    return True


def objective(history: Sequence[Progress]) -> dict[str, float]:
    """Primal, dual and gap at their last evaluation; empty if there was none."""
    names = ("primal", "dual", "gap")  # a likelihood reports its gap alone
    looks = [p.scores for p in history if all(name in p.scores for name in names)]
    return {name: float(looks[-1][name]) for name in names} if looks else {}


def gap_share(history: Sequence[Progress]) -> float | None:
    """The duality gap as a share of the primal at its last evaluation: an upper bound on the distance to the optimum.

    >>> gap_share([Progress("pass", 1, 2, {"primal": 8.0, "dual": 6.0, "gap": 2.0}), Progress("pass", 2, 2)])
    0.25
    """
    found = objective(history)
    return max(found["gap"], 0.0) / max(abs(found["primal"]), 1e-30) if found else None
