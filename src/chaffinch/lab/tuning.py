"""Tuning: random search with successive halving, scored on held-out data only.

Successive halving (Jamieson and Talwalkar 2016): nine sampled settings train on a ninth of the data, the best
three of them on a third, the best one on all; then nine others, until the trials or the time are used up.
The recipes' default settings run first, on all data, so the result is never worse than they are.
"""

import math
import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import uuid4

from chaffinch.errors import ChaffinchError, ConfigError
from chaffinch.evaluate.evaluation import ERRORS
from chaffinch.kinds.corpora import Corpus, shuffled, size, taken
from chaffinch.knobs import Knob
from chaffinch.lab.baseline import as_knobs, read_value
from chaffinch.lab.experiment import Experiment, Splits, SplitsByName, main_score, run
from chaffinch.lab.presets import Preset
from chaffinch.progress import Listener, Progress, going_on, keep_going


class Space(Protocol):
    """A distribution of values of a setting."""

    def draw(self, chance: random.Random) -> Any:
        """A sampled value."""


@dataclass(frozen=True)
class Among:
    """One of a few values, drawn uniformly."""

    values: tuple[Any, ...]

    def draw(self, chance: random.Random) -> Any:
        """A sampled value."""
        return self.values[int(chance.random() * len(self.values))]


@dataclass(frozen=True)
class Between:
    """A number between two, drawn log-uniformly; rounded to two digits."""

    low: float
    high: float
    whole: bool = False

    def draw(self, chance: random.Random) -> Any:
        """A sampled value."""
        value = math.exp(math.log(self.low) + chance.random() * (math.log(self.high) - math.log(self.low)))
        return max(1, round(value)) if self.whole else float(f"{value:.2g}")


# The features as a whole, by the name of their preset: not a knob, but sampled like one.
FEATURES = "features"

# By the name of the knob; a recipe is tuned over those that it has.
SPACES: dict[str, Space] = {
    # regularisation
    "c1": Among((0.0, 0.0, 0.03, 0.1, 0.3)),
    "c2": Between(0.03, 10.0),
    "C": Between(0.02, 20.0),
    "l2": Between(1e-7, 1e-3),
    "alpha": Between(0.01, 3.0),
    "aggressiveness": Between(0.01, 1.0),
    # optimisation
    "epochs": Among((5, 10, 20, 30)),
    "rate": Between(0.003, 1.0),
    # features
    "order": Among((1, 2)),
    "unknown": Among(("suffix", "classes")),
    "transition_smoothing": Among(("deleted", "add-k", "witten-bell", "kneser-ney")),
    "min_count": Among((1, 1, 2, 3)),
    # representation of texts
    FEATURES: Among(("words", "more-words", "words+characters", "mail", "sentences", "questions", "tf-idf")),
    "stopwords": Among(("none", "none", "english")),
    "stemming": Among(("none", "none", "stem")),
    "min_df": Among((1, 2, 2, 3)),
}


# Exceptions: recipes in which a knob has another meaning.
SPACES_OF: dict[str, dict[str, Space]] = {"maxent": {"l2": Between(0.003, 10.0)}}

# Knobs that have no effect under a recipe's default settings.
IDLE = {"crf": ("rate",)} | dict.fromkeys(("ridge", "svm", "crammer-singer", "logistic"), ("epochs",))


def space_of(recipe: str, known: Mapping[str, Knob], fixed: Collection[str] = ()) -> dict[str, Space]:
    """The tuned knobs of a recipe: those in the table, without those that the user fixed.

    >>> from chaffinch.kinds import TAGS
    >>> list(space_of("hmm", TAGS.settings_of("hmm"), fixed=["order"]))
    ['unknown', 'transition_smoothing']
    """
    found: dict[str, Space] = {}
    table = SPACES | SPACES_OF.get(recipe, {})
    if "ngram_high" in known and FEATURES not in fixed:
        found[FEATURES] = table[FEATURES]
    for k in known.values():
        if k.name not in table or k.name in fixed or k.name in IDLE.get(recipe, ()):
            continue
        space = table[k.name]
        if k.choices is not None and isinstance(space, Among):
            space = Among(tuple(v for v in space.values if v in k.choices))
        found[k.name] = space
    return found


def written_space(param: str, text: str, recipe: str, known: Mapping[str, Knob]) -> tuple[str, Space]:
    """The knob and the space that a user wrote: ``0.01..10`` for a range, ``a,b,c`` for a few values.

    >>> from chaffinch.kinds import TAGS
    >>> written_space("c2", "0.1..10", "crf", TAGS.settings_of("crf"))
    ('c2', Between(low=0.1, high=10.0, whole=False))
    """
    if ".." in text:
        low, _, high = text.partition("..")
        ends = [
            as_knobs({param: read_value(param, end, recipe, known)}, recipe, known) for end in (low, high)
        ]
        name = next(iter(ends[0]))
        a, b = ends[0][name], ends[1][name]
        if isinstance(a, str | bool) or not 0 < a < b:
            raise ConfigError(f"{param}: a range goes from a number above 0 to a larger one, got {text!r}")
        return name, Between(float(a), float(b), isinstance(a, int))
    values = [as_knobs({param: read_value(param, v, recipe, known)}, recipe, known) for v in text.split(",")]
    name = next(iter(values[0]))
    return name, Among(tuple(v[name] for v in values))


def drawn(spaces: Mapping[str, Space], chance: random.Random) -> dict[str, Any]:
    """One setting of every knob."""
    return {name: space.draw(chance) for name, space in spaces.items()}


BRACKET = 9
KEEP = 3  # one in this many settings is promoted, with this many times the data
FEWEST = 300  # minimum number of examples in a share of the training split


@dataclass(frozen=True)
class Trial:
    """One setting on one share of the training split.

    settings: those that were sampled
    score:    minus infinity if the trial failed
    error:    the sentence of a failed trial, else empty
    """

    number: int
    recipe: str
    settings: dict[str, Any]
    share: float
    score: float
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Tuned:
    """Every trial in the order it was run, and the best on all the data as a preset."""

    score: str
    trials: list[Trial]
    best: Trial
    preset: Preset


@dataclass(frozen=True)
class Configuration:
    """Settings to be tried."""

    number: int
    experiment: Experiment
    settings: dict[str, Any]


class Mapper(Protocol):
    """The part of an engine that trials use."""

    def map(self, job: Any, shards: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The number of each shard and its result, as they come."""
        ...


@dataclass(frozen=True)
class TrialScore:
    """The result of a trial: the name and value of its score, its time, and its preset if it used all data."""

    score: str
    value: float
    seconds: float
    preset: Preset | None


@dataclass(frozen=True)
class TrialFailure:
    """The error of a trial whose settings cannot be trained on the data, and its time."""

    error: ChaffinchError
    seconds: float


@dataclass(frozen=True)
class TrialJob:
    """Trials as the job of an engine: train on a share of the training split, score on the dev split.

    wanted: the score; None: the main one
    token:  identifies this search, so that a worker recognises the job
    """

    splits: SplitsByName = field(repr=False)
    wanted: str | None
    threads: int
    token: str = field(default_factory=lambda: uuid4().hex)

    def open(self) -> dict[float, Corpus]:
        """The shares of the training split that were cut so far."""
        return {1.0: self.splits["train"]}

    def run(self, state: dict[float, Corpus], shard: tuple[Experiment, float]) -> "TrialScore | TrialFailure":
        """One trial."""
        return self.scored(state, *shard, keep_going)

    def scored(
        self, state: dict[float, Corpus] | None, experiment: Experiment, share: float, on_epoch: Listener
    ) -> TrialScore | TrialFailure:
        """One trial, which a listener may stop."""
        assert state is not None
        train = self.splits["train"]
        if share not in state:
            order = shuffled(train, seed=1)
            state[share] = taken(train, sorted(order[: round(share * len(order))]))
        splits = _Shared(self.splits, state[share])
        splits["dev"]  # an unreadable file ends the search, settings that cannot be trained end one trial
        started = time.monotonic()
        try:
            outcome = run(experiment, splits, scored=("dev",), threads=self.threads, on_epoch=on_epoch)
        except ChaffinchError as error:
            return TrialFailure(error, time.monotonic() - started)
        score = main_score(outcome, "dev", self.wanted)
        preset = Preset.of(outcome, self.splits, "tuned") if share == 1.0 else None
        return TrialScore(score, outcome.scores["dev"][score], outcome.wall_s, preset)


class _OutOfTime(Exception):
    """The budget ended inside a trial."""


def tune(
    bases: Sequence[Experiment],
    spaces: Sequence[Mapping[str, Space]],
    splits: Splits,
    *,
    trials: int | None = None,
    seconds: float | None = None,
    name: str = "tuned",
    score: str | None = None,
    seed: int = 0,
    threads: int = 0,
    listener: Listener = keep_going,
    engine: Mapper | None = None,
) -> Tuned:
    """Search for the settings with the best score on the dev split.

    bases, spaces: the experiments to start from, one per recipe, and the search space of each
    trials:        number of settings to sample; the same number gives the same result
    seconds:       or the time budget; a trial that it interrupts does not count
    engine:        runs trials side by side, with the same result; it needs a number of trials

    A trial whose settings cannot be trained on the data is recorded with its error, and the search goes on; if the
    recipes' own settings and the first nine others all fail, the first error is raised.
    """
    if engine is not None and seconds is not None:
        raise ConfigError("an engine needs a number of trials, not a time: use --trials")
    if (trials is None) == (seconds is None):
        raise ConfigError("tuning needs a budget: give either a number of trials or a time")
    if score in ERRORS:
        raise ConfigError(f"tuning maximises a score, and lower is better for {score}; name another score")
    search = _Search(
        splits, score, seconds, threads, listener, _expected(bases, spaces, trials, splits), engine
    )
    try:
        search.run_all([Configuration(number, base, {}) for number, base in enumerate(bases)], 1.0)
        for bracket in _brackets(bases, spaces, trials, seed):
            _halve(search, bracket, shares(size(splits["train"])))
            if all(trial.error for trial in search.trials):
                break
    except _OutOfTime:
        pass
    if search.best is None or search.preset is None:
        if search.failure is not None:
            raise search.failure
        raise ConfigError(f"{seconds:g} s are not enough to train once; give more time or less data")
    return Tuned(search.score, search.trials, search.best, replace(search.preset, name=name))


def shares(examples: int) -> list[float]:
    """The shares of the training split that the rungs use, the last all of it.

    >>> shares(9000), shares(1200), shares(500)
    ([0.1111111111111111, 0.3333333333333333, 1.0], [0.3333333333333333, 1.0], [1.0])
    """
    return [s for s in (1 / KEEP**2, 1 / KEEP) if s * examples >= FEWEST] + [1.0]


class _Search:
    """The state of a search: the trials so far, the best of them, the data and the time."""

    def __init__(
        self,
        splits: Splits,
        score: str | None,
        seconds: float | None,
        threads: int,
        listener: Listener,
        expected: int | None,
        engine: Mapper | None,
    ) -> None:
        # Data is loaded before it is sent to other processes: a dataset may be read by functions of this process.
        read = splits if engine is None else _Loaded(splits["train"], splits["dev"])
        self.job = TrialJob(read, score, threads if engine is None else 1)
        self.engine = engine
        self.listener, self.expected = listener, expected
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.score = score or ""
        self.trials: list[Trial] = []
        self.best: Trial | None = None
        self.preset: Preset | None = None  # of the best
        self.failure: ChaffinchError | None = None  # the first
        self._longest = 0.0  # of the runs on everything
        self._state = None if engine is not None else self.job.open()

    def run(self, candidate: Configuration, share: float) -> Trial:
        """Train on a share, score on the dev split, keep the best of those on everything."""
        self._check_time()
        started = time.monotonic()
        found = self.job.scored(self._state, candidate.experiment, share, self._in_time)
        self._check_time()
        if share == 1.0:
            self._longest = max(self._longest, time.monotonic() - started)
        return self._record(candidate, share, found)

    def run_all(self, candidates: Sequence[Configuration], share: float) -> list[Trial]:
        """The same for several, side by side on an engine; they are recorded in their order."""
        if self.engine is None:
            return [self.run(candidate, share) for candidate in candidates]
        shards = [(candidate.experiment, share) for candidate in candidates]
        made: list[Trial] = []
        early: dict[int, TrialScore | TrialFailure] = {}
        for n, found in self.engine.map(self.job, shards):
            early[n] = found
            while len(made) in early:
                made.append(self._record(candidates[len(made)], share, early.pop(len(made))))
        return made

    def _record(self, candidate: Configuration, share: float, found: TrialScore | TrialFailure) -> Trial:
        value, error = (-math.inf, str(found.error)) if isinstance(found, TrialFailure) else (found.value, "")
        recipe = candidate.experiment.recipe
        trial = Trial(candidate.number, recipe, candidate.settings, share, value, found.seconds, error)
        self.trials.append(trial)
        if isinstance(found, TrialFailure):
            self.failure = self.failure or found.error
        else:
            self.score = found.score
            if share == 1.0 and (self.best is None or trial.score > self.best.score):
                self.best, self.preset = trial, found.preset
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
class _Loaded:
    """The splits that tuning reads."""

    train: Corpus
    dev: Corpus

    def __getitem__(self, name: str) -> Corpus:
        return self.train if name == "train" else self.dev


@dataclass(frozen=True)
class _Shared:
    """The splits with a share of the training split; the test split is not accessible."""

    splits: SplitsByName
    train: Corpus

    def __getitem__(self, name: str) -> Corpus:
        if name not in ("train", "dev"):
            raise ConfigError(f"tuning reads only the train and dev splits, not {name}")
        return self.train if name == "train" else self.splits["dev"]


def _halve(search: _Search, bracket: Sequence[Configuration], rungs: Sequence[float]) -> None:
    """Run the rungs; if time is nearly up, the best so far goes directly to the last."""
    left = list(bracket)
    for share in rungs[:-1]:
        scored: list[tuple[float, Configuration]] = []
        if search.engine is not None:
            found = search.run_all(left, share)
            scored = [(trial.score, candidate) for trial, candidate in zip(found, left, strict=True)]
        for candidate in left if search.engine is None else ():
            if search.last_call():
                best = min(scored, key=_best_first)[1] if scored else left[0]
                search.run(best, 1.0)
                raise _OutOfTime
            scored.append((search.run(candidate, share).score, candidate))
        left = [candidate for _, candidate in sorted(scored, key=_best_first)[: -(-len(left) // KEEP)]]
    search.run_all(left, rungs[-1])


def _best_first(scored: tuple[float, Configuration]) -> tuple[float, int]:
    score, candidate = scored
    return -score, candidate.number


def _brackets(
    bases: Sequence[Experiment], spaces: Sequence[Mapping[str, Space]], trials: int | None, seed: int
) -> Iterator[list[Configuration]]:
    """Sampled settings, nine at a time, alternating between recipes, without repetition."""
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
        bracket.append(Configuration(number, bases[which].with_settings(settings), settings))
        number += 1
        if len(bracket) == BRACKET:
            yield bracket
            bracket = []
    if bracket:
        yield bracket


def _expected(
    bases: Sequence[Experiment], spaces: Sequence[Mapping[str, Space]], trials: int | None, splits: Splits
) -> int | None:
    """The number of runs for a number of trials; unknown for a time budget."""
    if trials is None:
        return None
    rungs = len(shares(size(splits["train"])))
    total = len(bases)
    for bracket in _brackets(bases, spaces, trials, 0):
        left = len(bracket)
        for _ in range(rungs):
            total += left
            left = -(-left // KEEP)
    return total
