"""Progress: a record handed to a callback; only the command line draws it."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """How far a long job has come."""

    task: str
    done: int
    total: int | None = None
    scores: dict[str, float] = field(default_factory=dict)


Listener = Callable[[Progress], bool]


def keep_going(_: Progress) -> bool:
    """The listener that neither shows nor stops anything: a listener returns False to stop the job."""
    return True
