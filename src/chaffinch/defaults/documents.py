"""Choose the settings of a text classifier that are not given, by cross-validation within the training data.

Three rounds, each with fewer candidates on more documents:

1. Kinds of features: two ridge regressions for each kind, on three folds of a sample of the documents. Kinds are
   compared by the calibrated likelihood of the gold labels: with few documents it varies less from sample to sample
   than accuracy does.
2. Recipe and penalty for the best kind, on three folds of as many documents as the budget allows. If the best two are
   close, ridge regressions on these documents decide between them first.
3. The leading candidates, on all five folds of the same documents. Among those within half a standard error of the
   best accuracy, the one whose calibrated probabilities fit best is chosen.

The budget counts work (stored values times passes times labels), not seconds: the choice is the same on any machine.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.defaults.choice import DefaultChoice
from chaffinch.defaults.encoded_documents import (
    EncodedDocuments,
    RecipeTrial,
    Scored,
    fold_of_documents,
    label_of_documents,
)
from chaffinch.errors import ConfigError, DataError
from chaffinch.knobs import knobs
from chaffinch.learners.choice import padded
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.document_task import DocumentTask, suited, without_own_folds
from chaffinch.recipes.out_of_fold import (
    FOLDS,
    FoldScores,
    HeldOut,
    each_fold,
    joined_folds,
)
from chaffinch.recipes.text_features import DEFAULT
from chaffinch.trust.calibration import fitted_calibration, fitted_label_calibration

# Penalties to try, from strong to weak; the search starts with the second and the third.
PENALTIES: dict[str, tuple[float, ...]] = {
    "ridge": (0.1, 0.3, 1.0, 3.0),
    "crammer-singer": (0.1, 0.3, 1.0),
    "logistic": (1.0, 3.0, 10.0),
    "svm": (0.1, 0.3, 1.0, 3.0),
}
SINGLE = ("ridge", "crammer-singer", "logistic")
SEVERAL = ("ridge", "svm")
SOFT = ("logistic",)
PROBES = (("ridge", 0.3), ("ridge", 2.0))
# With this many documents, kinds of features are compared before the weights have converged.
QUICK, QUICK_FROM = {"epochs": 2}, 1000

# Among kinds of features as good as the best, the first of these is chosen. A kind is as good if it is behind by at
# most HALF a standard error of the difference on all documents, or one on a sample.
HALF = 0.5
PREFERRED = (
    "sentences",
    "questions",
    "mail",
    "more-words",
    "words+characters",
    "words",
    "tf-idf",
    "characters",
)

FEWEST = 20  # documents: fewer are too few for cross-validation
SAMPLE = 2000  # documents of the first round
SAMPLE_CHARACTERS = 3_000_000
SHORT = 300  # mean characters per text: below it, characters and questions are worth their cost
FEW_CHARACTERS = 1_000_000  # total of longer texts up to which characters within words are tried
PROBED_FOLDS = (0, 2, 4)
FAR_BEHIND = 0.05  # of accuracy
HEADER = re.compile(r"[A-Z][\w-]*: ")

# Work is counted in nanoseconds of the machine on which these constants were fitted.
ENCODING = 130.0  # per stored value
STEP, LANE = 5.0, 0.55  # per stored value and pass; in addition per label
TIMES = 6.0  # budget of the second round, in trainings
LEAST = 3e8  # minimum budget of the second round
DEAR = {"logistic": 2.0}  # recipes whose passes cost more
LEADING = 3  # candidates that are measured on all folds
CLOSE = 2  # kinds of features that the second round compares if they are close in the first


@dataclass(frozen=True, eq=False)
class Measured:
    """A candidate and its out-of-fold predictions.

    right:  float64 [M], the accuracy on each document
    scores: float32 [K, Y], of the documents that have features     gold: float32 [K, Y], their labels
    held:   int64 [K], these documents                              folds: number of models
    place:  int64 [K], their places among the M documents
    prior:  float64 [M], the negative log-likelihood of the gold labels under the shares of the labels
    """

    candidate: RecipeTrial
    right: NDArray[np.float64]
    scores: NDArray[np.float32]
    gold: NDArray[np.float32]
    several: bool
    held: NDArray[np.int64]
    folds: int
    place: NDArray[np.int64]
    prior: NDArray[np.float64]

    @property
    def accuracy(self) -> float:
        """The mean over documents."""
        return float(self.right.mean())

    @cached_property
    def surprises(self) -> NDArray[np.float64]:
        """The negative log-likelihood of the gold labels of each document, calibrated on the same scores: float64 [M].

        Documents without features have the shares of the labels as their probabilities.
        """
        if self.several:
            p = fitted_label_calibration(self.scores, self.gold > 0).sigmoid(self.scores)
            own = -np.log(np.maximum(np.where(self.gold > 0, p, 1 - p), 1e-12)).sum(axis=1)
        else:
            p = fitted_calibration(self.scores, self.gold.argmax(axis=1)).softmax(self.scores)
            own = -np.log(np.maximum((p * self.gold).sum(axis=1), 1e-12))
        found = self.prior.copy()
        found[self.place] = own
        return found

    @property
    def losses(self) -> NDArray[np.float64]:
        """The losses by which kinds of features are compared, float64 [M]: surprises; with several labels, errors."""
        return 1 - self.right if self.several else self.surprises

    def surprise(self) -> float:
        """The mean over documents."""
        return float(self.surprises.mean())


@dataclass(frozen=True)
class Open:
    """The settings that are not given.

    recipes:  the recipes to choose among
    settings: the given settings of recipes
    features: kinds of features to choose among; None: the task gives its features
    """

    recipes: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    features: tuple[str, ...] | None = ()


def choose(
    task: DocumentTask,
    recipe: str | None,
    settings: Mapping[str, Any],
    features: bool,
    among: tuple[str, ...] | None = None,
) -> tuple[DocumentTask, Any, DefaultChoice | None]:
    """The task with features, the recipe's config, and the choice; None if nothing could be measured.

    recipe:   the name of the recipe, if it is given
    settings: the given settings of recipes
    features: whether the task gives its features
    among:    the kinds of features to choose among; None: those that suit the texts
    """
    left = _left(task, recipe, settings, features)
    if among is not None and not features:
        left = replace(left, features=among)
    default = CLASSIFIERS.by_name(left.recipes[0]).configured(left.settings)
    labels = task.labels
    if not task.text or len(task.X) < FEWEST or len(labels.classes) < 2:
        return task, default, None
    kinds = EncodedDocuments(task, left.features)
    if len(np.unique(label_of_documents(task))) < 2:
        return task, default, None
    names, tried, sample = _first_round(kinds)
    found = _second_round(kinds, left, names, sample)
    if not found:
        return task, default, None
    best = _last_round(found)
    c = best.candidate
    own = {} if c.C is None else {"C": c.C}
    config = CLASSIFIERS.by_name(c.recipe).configured({**left.settings, **own})
    chosen = DefaultChoice(
        features=c.features,
        recipe=c.recipe,
        settings=own,
        accuracy=best.accuracy,
        error=float(best.right.std() / np.sqrt(len(best.right))),
        folds=FOLDS,
        examples=len(best.right),
        whole=len(task.X),
        sample=sample,
        tried=tried if len(tried) > 1 else {},
    )
    whole = len(best.right) == len(task.X)
    ready = replace(
        task,
        features=kinds.features(c.features),
        ready=kinds.whole(c.features),
        held_out=kinds.known_folds(c.features),
        scored=FoldScores(best.held, best.scores, folds=best.folds) if whole else None,
    )
    return ready, config, chosen


def _left(task: DocumentTask, recipe: str | None, settings: Mapping[str, Any], features: bool) -> Open:
    """The settings to choose; raises if none of the recipes has a given setting."""
    if recipe is not None:
        recipes: tuple[str, ...] = (recipe,)
    else:
        recipes = SOFT if task.labels.soft is not None else SEVERAL if task.labels.several else SINGLE
        fitting = [name for name in recipes if settings.keys() <= _own(name)]
        if not fitting:
            raise ConfigError(
                f"none of the recipes to choose from has {', '.join(sorted(settings))}; name one with --recipe"
            )
        recipes = tuple(fitting)
    return Open(recipes, dict(settings), None if features else suited_kinds(task.X))


def _own(recipe: str) -> set[str]:
    return {k.name for k in knobs(CLASSIFIERS.by_name(recipe).config)}


def suited_kinds(texts: Sequence[str]) -> tuple[str, ...]:
    """The presets that suit texts of this length and form."""
    characters = sum(map(len, texts))
    mean = characters / max(len(texts), 1)
    if mean < SHORT:
        return ("tf-idf", "characters", "words+characters", "sentences", "questions")
    found = ["words", "more-words"]
    if characters < FEW_CHARACTERS:
        found.append("characters")
    looked = texts[:: max(1, len(texts) // 100)]
    if sum(HEADER.match(text) is not None for text in looked) > len(looked) / 2:
        found.append("mail")
    return tuple(found)


def evenly_spaced(task: DocumentTask, count: int) -> DocumentTask:
    """The task of this many evenly spaced documents, or of all if there are no more."""
    N = len(task.X)
    if count >= N:
        return task
    which = np.arange(count) * N // count
    beside = task.beside
    if isinstance(beside, Mapping):
        beside = {name: np.asarray(column)[which] for name, column in beside.items()}
    elif beside is not None:
        beside = beside[which] if hasattr(beside, "tocsr") else np.asarray(beside)[which]
    return replace(
        task,
        X=[task.X[n] for n in which.tolist()],
        labels=task.labels.taken(which),
        importance=task.importance[which],
        beside=beside,
    )


def _first_round(kinds: EncodedDocuments) -> tuple[list[str], dict[str, float], int]:
    """The best kinds of features on a sample, best first, the accuracy of each kind, and the size of the sample."""
    N = len(kinds.task.X)
    if len(kinds.names) == 1:
        return list(kinds.names), {}, N
    mean = max(1, sum(map(len, kinds.task.X)) // N)
    task = evenly_spaced(kinds.task, min(N, SAMPLE, max(FEWEST, SAMPLE_CHARACTERS // mean)))
    whole = len(task.X) == N
    best: dict[str, Measured] = {}
    held_out: dict[str, HeldOut] = {}
    settings = QUICK if len(task.X) >= QUICK_FROM else {}
    known = kinds.scored if whole and not settings else None
    probes: Sequence[tuple[str, float]] = PROBES if task.labels.soft is None else (("logistic", 3.0),)
    shared, fold = kinds.shared_counts(kinds.names, task), kinds.fold if whole else fold_of_documents(task)
    for name in kinds.names:
        try:
            if whole:
                held_out[name] = kinds.held_out(name, shared)
            else:
                encoder, rows = replace(task, features=kinds.features(name)).encoded(shared)
                held_out[name] = HeldOut(rows, fold, encoder)
                kinds.sampled(name, rows)
        except DataError:  # no n-gram occurs twice: these texts have no features of this kind
            continue
    for recipe, C in probes:
        # A kind that is far behind with one penalty is not tried with another.
        most = max((one.accuracy for one in best.values()), default=0.0)
        for name, rows_by_fold in held_out.items():
            if name in best and most - best[name].accuracy > FAR_BEHIND:
                continue
            trial = RecipeTrial(name, recipe, C)
            one = _measured(task, rows_by_fold, trial, settings, PROBED_FOLDS, known)
            if one is not None and (name not in best or one.accuracy > best[name].accuracy):
                best[name] = one
    if not best:
        return [DEFAULT], {}, len(task.X)
    close = _close(best, HALF if whole else 1.0)
    # If two are close, the next round decides, on more documents if there are any.
    names = close[:CLOSE] if not whole else [min(close, key=PREFERRED.index)]
    return names, {name: one.accuracy for name, one in best.items()}, len(task.X)


def _close(best: Mapping[str, Measured], errors: float) -> list[str]:
    """The kinds of features that are behind the best by at most ``errors`` standard errors, the best first."""
    if len(best) == 1:
        return list(best)
    order = sorted(best, key=lambda name: best[name].losses.mean())
    first = best[order[0]].losses
    behind = {name: best[name].losses - first for name in order}
    return [name for name, d in behind.items() if d.mean() <= errors * d.std() / np.sqrt(len(d))]


def _second_round(kinds: EncodedDocuments, left: Open, names: list[str], sample: int) -> list[Measured]:
    """The leading recipes and penalties with the kinds of features that are left, measured on all folds.

    names:  kinds of features, best first
    sample: number of documents of the first round; if the budget allows fewer, only the first kind is kept
    """
    N = len(kinds.task.X)
    # First by the size of the sample: a kind that cannot be compared is not encoded again.
    names, _ = _compared(kinds, left, names, sample)
    kinds.encode(names)
    names, count = _compared(kinds, left, names, sample)
    if len(names) > 1:
        names = sorted(names, key=PREFERRED.index)
    part, which = evenly_spaced(kinds.task, count), np.arange(count) * N // count
    if count == N:
        held_out = {name: kinds.held_out(name) for name in names}
    else:
        fold, encoded = fold_of_documents(part), {name: kinds.whole(name) for name in names}
        held_out = {name: HeldOut(rows.taken(which), fold, own) for name, (own, rows) in encoded.items()}

    known = kinds.scored if count == N and not left.settings else {}

    def measure(candidate: RecipeTrial, folds: Sequence[int]) -> Measured | None:
        return _measured(part, held_out[candidate.features], candidate, left.settings, folds, known)

    def climb(name: str, recipe: str) -> Iterator[Measured]:
        ladder = [RecipeTrial(name, recipe, C) for C in _penalties(recipe, left)]
        return _climb(ladder, lambda candidate: measure(candidate, PROBED_FOLDS))

    found = [one for name in names for one in climb(name, left.recipes[0])]
    if found:
        best: dict[str, Measured] = {}
        for measured in sorted(found, key=lambda one: -one.accuracy):
            best.setdefault(measured.candidate.features, measured)
        # Kinds with more features gain more from the documents that are not in the sample.
        kind = min(_close(best, HALF if count == N else 1.0), key=names.index)
        found = [one for one in found if one.candidate.features == kind]
        found += [one for recipe in left.recipes[1:] for one in climb(kind, recipe)]
    leading = sorted(found, key=lambda one: -one.accuracy)[:LEADING]
    return [one for led in leading if (one := measure(led.candidate, range(FOLDS))) is not None]


def _compared(kinds: EncodedDocuments, left: Open, names: list[str], sample: int) -> tuple[list[str], int]:
    """The kinds of features that the second round compares, and on how many documents."""
    count = _affordable(kinds, left, names)
    if len(names) > 1 and count < sample:
        names = names[:1]
        count = _affordable(kinds, left, names)
    return names, count


def _affordable(kinds: EncodedDocuments, left: Open, names: list[str]) -> int:
    """The number of documents on which the second round stays within its budget."""
    N, Y = len(kinds.task.X), len(kinds.task.labels.classes)
    largest = max(kinds.stored(name) for name in names)
    one = _cost(largest, Y)
    budget = max(TIMES * (one + ENCODING * largest), LEAST)
    tries = [DEAR.get(name, 1.0) * min(3, len(_penalties(name, left))) for name in left.recipes]
    fits = len(PROBED_FOLDS) * (sum(tries) + (len(names) - 1) * tries[0])
    fits += LEADING * (FOLDS - len(PROBED_FOLDS))
    return max(min(N, FEWEST), min(N, int(N * budget / max(0.8 * fits * one, 1.0))))


def _penalties(recipe: str, left: Open) -> tuple[float | None, ...]:
    """The penalties of a recipe to try; only None if it has no penalty or the penalty is given."""
    known = "C" in _own(recipe) and "C" not in left.settings
    return PENALTIES.get(recipe, (None,)) if known else (None,)


def _climb(
    ladder: Sequence[RecipeTrial], measure: Callable[[RecipeTrial], Measured | None]
) -> Iterator[Measured]:
    """Hill climbing over one setting: two candidates in the middle, then further in the better direction."""
    if len(ladder) == 1:
        one = measure(ladder[0])
        return iter([] if one is None else [one])
    low, high = measure(ladder[1]), measure(ladder[2])
    if low is None or high is None:
        return iter([])
    found = [low, high]
    rest = ladder[3:] if high.accuracy > low.accuracy else ladder[:1]
    found += [one for candidate in rest if (one := measure(candidate)) is not None]
    return iter(found)


def _last_round(found: list[Measured]) -> Measured:
    """Among candidates as good as the best, the one whose calibrated probabilities fit the labels best."""
    best = max(found, key=lambda one: one.accuracy)
    equal = [one for one in found if best.accuracy - one.accuracy <= HALF * _spread(best, one)]
    return min(equal, key=Measured.surprise) if len(equal) > 1 else best


def _measured(
    task: DocumentTask,
    held_out: HeldOut,
    candidate: RecipeTrial,
    settings: Mapping[str, Any],
    folds: Sequence[int],
    known: Scored | None = None,
) -> Measured | None:
    """The out-of-fold predictions of a candidate; None if it cannot be trained on folds of these documents.

    known: folds that were scored before and are not scored again
    """
    own = {} if candidate.C is None else {"C": candidate.C}
    config = CLASSIFIERS.by_name(candidate.recipe).configured({**settings, **own})
    learner = without_own_folds(suited(config, True, len(task.X), trial=True), True)
    rows, fold = held_out.rows, held_out.fold
    problem, known = task.problem(rows), {} if known is None else known
    missing = [k for k in folds if (candidate, k) not in known]
    if missing:
        scored = each_fold(problem, learner, held_out, missing, task.threads)
        known |= {(candidate, k): one for k, one in zip(missing, scored, strict=True)}
    found = joined_folds([known[candidate, k] for k in folds])
    if found is None or len(found.held) == 0:
        return None
    gold = task.gold(np.arange(len(rows)))
    # Documents without features get the most frequent label.
    right = gold[:, gold.sum(axis=0).argmax()].astype(np.float64)
    here = gold[found.held]
    if task.labels.several:
        right[:] = 0.0
        given, wanted = found.scores > 0, here > 0
        right[found.held] = (given & wanted).sum(axis=1) / np.maximum((given | wanted).sum(axis=1), 1)
    else:
        right[found.held] = here[np.arange(len(here)), found.scores.argmax(axis=1)]
    inside = np.isin(fold, folds)
    shares = gold.mean(axis=0)
    likely = gold @ shares if not task.labels.several else np.where(gold > 0, shares, 1 - shares)
    prior = -np.log(np.maximum(likely, 1e-12)).reshape(len(gold), -1).sum(axis=1, dtype=np.float64)
    return Measured(
        candidate,
        right[inside],
        found.scores,
        here,
        task.labels.several,
        found.held,
        found.folds,
        (np.cumsum(inside) - 1)[found.held],
        prior[inside],
    )


def _spread(one: Measured, other: Measured) -> float:
    """The standard error of the difference between two accuracies on the same documents."""
    return float((one.right - other.right).std() / np.sqrt(len(one.right)))


def _cost(stored: int, Y: int) -> float:
    """The work of one trial on this many stored values: four passes."""
    return 4 * stored * (STEP + LANE * padded(Y))
