"""The declaration of a benchmark: a question, an input, ours, its rivals, and the bar."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Clock = Literal["cpu", "wall"]


def as_it_is(given: Any) -> Any:
    """The preparation of a contender that takes the input in its common form."""
    return given


def no_scores(_given: Any, _output: Any) -> dict[str, float]:
    """The scores of a benchmark whose answers cannot differ."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One way to do the work.

    prepare: the input in this contender's own form, its imports and set-up; not timed
    run:     the work itself, from what ``prepare`` returned to an output; timed
    package: the distribution whose version the record names; None for ourselves and for plain Python
    """

    name: str
    run: Callable[[Any], Any]
    prepare: Callable[[Any], Any] = as_it_is
    package: str | None = None


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One question, answered by measuring.

    input:   makes the common input from a seed
    work:    amount of work and its unit, for throughput: (1_000_000, "tokens")
    scores:  quality of an output, from (input, output); always reported beside speed
    bar:     how many times faster than every rival ours has to be; None: only measured
    clock:   the clock that the bar refers to
    fresh:   every run in a process of its own; False: all in this one, after a warm-up
    needs:   paths below the folder of corpora; the benchmark is skipped if one is missing
    timeout: seconds after which a fresh process is ended and counted as failed
    """

    name: str
    question: str
    input: Callable[[int], Any]
    ours: Contender
    rivals: tuple[Contender, ...]
    work: Callable[[Any], tuple[float, str]]
    scores: Callable[[Any, Any], Mapping[str, float]] = no_scores
    bar: float | None = None
    clock: Clock = "cpu"
    fresh: bool = True
    needs: tuple[str, ...] = ()
    repeats: int = 5
    timeout: float = 600.0

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """Ours first."""
        return (self.ours, *self.rivals)
