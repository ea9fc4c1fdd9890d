"""Tuning: settings drawn by chance, most of them dropped early, judged on held-out data only.

Successive halving (Jamieson and Talwalkar 2016): nine drawn settings train on a ninth of the data, the best
three of them on a third, the best one on all; then nine others, until the trials or the time are used up.
The recipes' own settings run first, on everything, so that the answer is never worse than they are.
"""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chaffinch.errors import ConfigError
from chaffinch.evaluate.wording import ERRORS
from chaffinch.kinds import Kind
from chaffinch.kinds.corpora import Corpus, shuffled, size, taken
from chaffinch.lab.experiment import Experiment, Outcome, Parts, main_score, run
from chaffinch.lab.presets import Preset
from chaffinch.lab.spaces import Space, drawn
from chaffinch.progress import Listener, Progress, going_on, keep_going

BRACKET = 9
KEEP = 3  # one of so many goes on, with so many times the data
FEWEST = 300  # examples below which a share of the training part says too little


@dataclass(frozen=True)
class Trial:
    """One setting on one share of the training part. settings: what differs from the recipe's own."""

    number: int
    recipe: str
    settings: dict[str, Any]
    share: float
    score: float
    seconds: float


@dataclass(frozen=True)
class Tuned:
    """Every trial in the order it was run, and the best on all the data as a preset."""

    score: str
    trials: list[Trial]
    best: Trial
    preset: Preset


@dataclass(frozen=True)
class Candidate:
    """Settings to be tried."""

    number: int
    experiment: Experiment
    settings: dict[str, Any]


class _OutOfTime(Exception):
    """The budget ended inside a trial."""


def tune(
    bases: Sequence[Experiment],
    spaces: Sequence[Mapping[str, Space]],
    parts: Parts,
    kind: Kind,
    *,
    trials: int | None = None,
    seconds: float | None = None,
    name: str = "tuned",
    score: str | None = None,
    seed: int = 0,
    threads: int = 0,
    listener: Listener = keep_going,
) -> Tuned:
    """The best settings for the dev part that were found.

    bases, spaces: the experiments to start from, one per recipe, and what may change in each
    trials:        how many settings are drawn; the same number gives the same answer
    seconds:       or how long to go on; a trial that is running when time is up does not count
    """
    if (trials is None) == (seconds is None):
        raise ConfigError("tuning ends after a number of trials or after a time: give one of the two")
    if score in ERRORS:
        raise ConfigError(f"tuning looks for the highest score, and of {score} less is better; name another")
    search = _Search(parts, kind, score, seconds, threads, listener, _expected(bases, spaces, trials, parts))
    try:
        for number, base in enumerate(bases):
            search.run(Candidate(number, base, {}), 1.0)
        for bracket in _brackets(bases, spaces, trials, seed):
            _halve(search, bracket, shares(size(parts["train"])))
    except _OutOfTime:
        pass
    if search.best is None or search.outcome is None:
        raise ConfigError(f"{seconds:g} s are not enough to train once; give more time or fewer data")
    return Tuned(search.score, search.trials, search.best, Preset.of(search.outcome, parts, name))


def shares(examples: int) -> list[float]:
    """The shares of the training part that the rungs use, the last all of it.

    >>> shares(9000), shares(1200), shares(500)
    ([0.1111111111111111, 0.3333333333333333, 1.0], [0.3333333333333333, 1.0], [1.0])
    """
    return [s for s in (1 / KEEP**2, 1 / KEEP) if s * examples >= FEWEST] + [1.0]


class _Search:
    """The trials so far and the best of them; knows the data and the clock."""

    def __init__(
        self,
        parts: Parts,
        kind: Kind,
        score: str | None,
        seconds: float | None,
        threads: int,
        listener: Listener,
        expected: int | None,
    ) -> None:
        self.parts, self.kind, self.wanted, self.threads = parts, kind, score, threads
        self.listener, self.expected = listener, expected
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.score = score or ""
        self.trials: list[Trial] = []
        self.best: Trial | None = None
        self.outcome: Outcome | None = None
        self._longest = 0.0  # of the runs on everything
        self._order = shuffled(parts["train"], seed=1)
        self._cut: dict[float, Corpus] = {1.0: parts["train"]}

    def run(self, candidate: Candidate, share: float) -> Trial:
        """Train on a share, score on the dev part, keep the best of those on everything."""
        if share not in self._cut:
            count = round(share * len(self._order))
            self._cut[share] = taken(self.parts["train"], sorted(self._order[:count]))
        self._check_time()
        started = time.monotonic()
        outcome = run(
            candidate.experiment,
            _Shared(self.parts, self._cut[share]),
            scored=("dev",),
            threads=self.threads,
            on_epoch=self._in_time,
        )
        self._check_time()
        if share == 1.0:
            self._longest = max(self._longest, time.monotonic() - started)
        self.score = main_score(outcome, "dev", self.wanted)
        value = outcome.scores["dev"][self.score]
        trial = Trial(
            candidate.number,
            candidate.experiment.recipe,
            candidate.settings,
            share,
            value,
            outcome.wall_s,
        )
        self.trials.append(trial)
        if share == 1.0 and (self.best is None or value > self.best.score):
            self.best, self.outcome = trial, outcome
        shown = {} if self.best is None else {"best": self.best.score}
        if not going_on(self.listener, Progress("tuning", len(self.trials), self.expected, shown)):
            raise KeyboardInterrupt
        return trial

    def last_call(self) -> bool:
        """Whether there is time for about one more run on everything."""
        return self.deadline is not None and self.deadline - time.monotonic() < 2.0 * self._longest

    def _in_time(self, _: Progress) -> bool:
        return self.deadline is None or time.monotonic() < self.deadline

    def _check_time(self) -> None:
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise _OutOfTime


@dataclass(frozen=True)
class _Shared:
    """The parts with some of the training part only; the test part is out of reach."""

    parts: Parts
    train: Corpus

    def __getitem__(self, name: str) -> Corpus:
        if name not in ("train", "dev"):
            raise ConfigError(f"tuning looks at train and dev alone, not at {name}")
        return self.train if name == "train" else self.parts["dev"]


def _halve(search: _Search, bracket: Sequence[Candidate], rungs: Sequence[float]) -> None:
    """Rung by rung; when time is nearly up, the best so far goes straight to the last."""
    left = list(bracket)
    for share in rungs[:-1]:
        scored: list[tuple[float, Candidate]] = []
        for candidate in left:
            if search.last_call():
                best = min(scored, key=_best_first)[1] if scored else left[0]
                search.run(best, 1.0)
                raise _OutOfTime
            scored.append((search.run(candidate, share).score, candidate))
        left = [candidate for _, candidate in sorted(scored, key=_best_first)[: -(-len(left) // KEEP)]]
    for candidate in left:
        search.run(candidate, rungs[-1])


def _best_first(scored: tuple[float, Candidate]) -> tuple[float, int]:
    score, candidate = scored
    return -score, candidate.number


def _brackets(
    bases: Sequence[Experiment], spaces: Sequence[Mapping[str, Space]], trials: int | None, seed: int
) -> Iterator[list[Candidate]]:
    """Drawn settings, nine at a time, the recipes taking turns; what was drawn before is not drawn again."""
    chance = random.Random(seed)
    seen: set[str] = set()
    number, misses, bracket = len(bases), 0, []
    limit = None if trials is None else len(bases) + trials
    while (limit is None or number < limit) and misses < 100:
        which = number % len(bases)
        settings = drawn(spaces[which], chance)
        told = f"{which} {sorted(settings.items())}"
        if told in seen or not settings:
            misses += 1
            continue
        seen.add(told)
        misses = 0
        bracket.append(Candidate(number, bases[which].with_settings(settings), settings))
        number += 1
        if len(bracket) == BRACKET:
            yield bracket
            bracket = []
    if bracket:
        yield bracket


def _expected(
    bases: Sequence[Experiment], spaces: Sequence[Mapping[str, Space]], trials: int | None, parts: Parts
) -> int | None:
    """How many runs a number of trials takes; unknown for a time."""
    if trials is None:
        return None
    rungs = len(shares(size(parts["train"])))
    total = len(bases)
    for bracket in _brackets(bases, spaces, trials, 0):
        left = len(bracket)
        for _ in range(rungs):
            total += left
            left = -(-left // KEEP)
    return total
