"""Choose the features and the recipe of a tagger if they are not given, by cross-validation in the training data.

The fixed rule is the preset that the columns and labels suggest, with the default CRF. It is compared with challengers
on the two halves of the sentences, each tagged by a model of the other half:

1. Other presets, with the default CRF.
2. If labels are names, and not many: a CRF that pays more for a missed one, with the winning preset. Where names are
   rare and mostly unknown, the default finds too few of them. If it wins, the CRFs below do so too.
3. With the winning preset: a CRF with a wider margin, one with an L1 penalty besides, a structured SVM, and recipes
   that decide label by label.

A challenger is compared on one half first. It is dropped if it is clearly behind there, or if its lead is too small to
reach the required one; it wins at once if its lead is far larger; otherwise the other half decides. It wins if it is
ahead by more than one standard error of the difference, or half of one if it is another preset or a CRF, which has
probabilities and continues training as the default does; a wider margin wins if it is ahead at all. Some challengers
are tried only if a similar one did well on the first half. The halves are contiguous: sentences of one document must
not be on both sides.

The budget counts work (tokens times passes, weighted by recipe and number of labels), not seconds, so the choice is the
same on any machine: the choice stops before it costs more than ``BUDGET`` trainings of the winner. Data beyond
``MOST`` tokens keep the fixed rule, and at most ``SAMPLE`` tokens are used to choose, fewer with more than
``FEW_LABELS`` labels. If all sentences were used and the choice was not cheap, the models of the winner also calibrate
the probabilities.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.defaults.choice import DefaultChoice
from chaffinch.errors import ChaffinchError
from chaffinch.evaluate.tags import TagScorer
from chaffinch.model import TaggingModel
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes import DEFAULT_TAGGER, TAGGERS, TaggingTask
from chaffinch.recipes.calibration import encoded_once
from chaffinch.recipes.encoding import inner_labels, suggested_preset
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable

FEWEST = 100  # sentences: fewer are too few for cross-validation
MOST = 100_000  # tokens: with more, what is best on the sample is not best on all
SAMPLE = 20_000  # tokens that are used to choose
RUN = 50  # consecutive sentences of a sample
FOLDS = 2
FEW_LABELS = 24  # with more labels, fewer tokens are used to choose: a pass costs about their product
LEAST_SAMPLE = 8_000

# Presets that may do better than the suggested one.
OTHERS: Mapping[str, tuple[str, ...]] = {
    "ner": ("pos",),
    "pos": ("ingredients", "ner"),
    "default": ("pos", "ingredients"),
    "chunking": ("ingredients",),
}
MORE_NAMES: Mapping[str, Any] = {"recall": 2.0}
WIDE_MARGIN: Mapping[str, Any] = {"margin": 8.0, "c2": 0.5}
ELASTIC_NET: Mapping[str, Any] = {"margin": 8.0, "c1": 0.3, "c2": 0.3}
# Folds of CRFs are trained to this gap; a smaller gap does not improve held-out scores.
ROUGH: Mapping[str, Any] = {"tolerance": 0.01}
MOST_PASSES = {"crf": 14, "ssvm": 12}  # of folds

# Leads are in standard errors of the difference. After one fold, a challenger is dropped if it is BEHIND, or if its
# expected lead after all folds is short of the one that it needs by more than SHORTFALL; one that is ahead by SURE
# more than it needs wins. Presets are dropped later, because all recipes depend on them.
BEHIND, SHORTFALL, SURE = -0.5, 2.0, 2.0
PRESET_LEAD, PRESET_PATIENCE = 0.5, 1.0
NAMES_LEAD = 0.5


@dataclass(frozen=True, eq=False)
class Challenger:
    """A recipe with settings that may replace the fixed rule.

    needed:       its lead after all folds
    after, least: the challenger of which it is a variant, and the lead which that challenger needs after one fold
    """

    recipe: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    needed: float = 1.0
    after: "Challenger | None" = None
    least: float = 0.0


WIDE = Challenger("crf", WIDE_MARGIN, 0.0)  # the best on most corpora: being ahead suffices
GREEDY = Challenger("greedy")
CHALLENGERS: tuple[Challenger, ...] = (
    WIDE,
    Challenger("crf", ELASTIC_NET, 0.5, after=WIDE),
    Challenger("ssvm", {"C": 0.1}, after=WIDE),
    GREEDY,
    Challenger("easiest-first", after=GREEDY, least=-1.0),
)
# With this many labels, recipes that decide label by label cost least and are tried first, and recipes with a setting
# that makes passes cost the square of the number of labels are not tried.
MANY_LABELS = 64
BY_LABEL = ("greedy", "easiest-first")
DEAR = (("ssvm", "C"), ("crf", "c1"))

# Work is counted in nanoseconds of the machine on which these constants were fitted.
BUDGET = 6.5  # trainings of the winner on all the data, not counting the final one
ENCODING = 7_000.0  # per token
# Per token and pass, and in addition per label; how many passes a training takes at most, approximately.
WORK: Mapping[str, tuple[float, float, int]] = {
    "crf": (300.0, 80.0, 20),
    "ssvm": (500.0, 40.0, 20),
    "greedy": (450.0, 20.0, 10),
    "easiest-first": (900.0, 35.0, 10),
}
OTHER_WORK = (600.0, 60.0, 20)
# Models trained on halves differ from the model trained on all the data. If the choice cost at most CHEAP trainings,
# more models are trained on larger parts for calibration.
CHEAP, CALIBRATION_FOLDS = 4.2, 3

Held = tuple[TaggingModel, TokenTable]


@dataclass(frozen=True, eq=False)
class TagCandidate:
    """A preset and a recipe with settings."""

    features: str
    recipe: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The recipe and its settings as text."""
        return self.recipe + "".join(f" {name} {value:g}" for name, value in self.settings.items())


@dataclass(frozen=True, eq=False)
class MeasuredTagger:
    """A candidate and its out-of-fold predictions.

    right, of: float64 [sentences]; the score is the ratio of their sums: accuracy of tokens, or F1 of spans
    """

    candidate: TagCandidate
    right: NDArray[np.float64]
    of: NDArray[np.float64]

    @property
    def score(self) -> float:
        """The score of all sentences together."""
        return float(self.right.sum() / max(self.of.sum(), 1.0))

    @property
    def influence(self) -> NDArray[np.float64]:
        """The linearised contribution of each sentence to the score: (right - score * of) / sum of ``of``."""
        return (self.right - self.score * self.of) / max(self.of.sum(), 1.0)

    @property
    def error(self) -> float:
        """The standard error of the score."""
        return float(np.sqrt(np.square(self.influence).sum()))

    def lead(self, other: "MeasuredTagger") -> float:
        """The lead over another on the same sentences, in standard errors of the difference."""
        difference = self.score - other.score
        error = float(np.sqrt(np.square(self.influence - other.influence).sum()))
        return difference / error if error > 0 else 0.0


@dataclass(frozen=True)
class TaggingPlan:
    """The task with its features, the config of the recipe, and how it was chosen.

    known: models of the recipe, each with sentences that it was not trained on; empty if not all sentences were used
    folds: number of further models to calibrate on instead; None: the known ones, or by the size of the data
    """

    task: TaggingTask
    config: Any
    choice: DefaultChoice | None = None
    known: tuple[Held, ...] = ()
    folds: int | None = None


def choose(task: TaggingTask, config: Any = None) -> TaggingPlan:
    """Choose what is not given: the features if the task names none, the recipe if there is no config."""
    default = TAGGERS.by_name(DEFAULT_TAGGER).config() if config is None else config
    if not _is_open(task, default) or (config is not None and task.features is not None):
        return TaggingPlan(task, default)
    race = _Race(_sampled(task), config, task.table.n_tokens)
    if race.measure(race.best, 1) is None:
        return TaggingPlan(task, default)
    if task.features is None:
        for name in OTHERS.get(race.best.features, ()):
            race.meet(replace(race.best, features=name), PRESET_LEAD, PRESET_PATIENCE)
    if config is None:
        many = race.labels >= MANY_LABELS
        if race.names and not many:
            race.meet(replace(race.best, settings=MORE_NAMES), NAMES_LEAD)
        shared = race.best.settings
        leads: dict[Challenger, float | None] = {}
        for one in sorted(CHALLENGERS, key=lambda one: many and one.recipe not in BY_LABEL):
            if many and any(one.recipe == r and knob in one.settings for r, knob in DEAR):
                continue
            if one.after is not None and (lead := leads.get(one.after)) is not None and lead <= one.least:
                continue
            settings = {**shared, **one.settings} if one.recipe == DEFAULT_TAGGER else one.settings
            leads[one] = race.meet(TagCandidate(race.best.features, one.recipe, settings), one.needed)
    found, best = race.best, race.measure(race.best, FOLDS)
    if best is None:
        return TaggingPlan(task, default)
    whole = race.task.table.n_sentences == task.table.n_sentences
    chosen = DefaultChoice(
        features=found.features,
        recipe=found.recipe,
        settings=dict(found.settings),
        accuracy=best.score,
        error=best.error,
        folds=FOLDS,
        examples=race.task.table.n_sentences,
        sample=race.task.table.n_sentences,
        whole=task.table.n_sentences,
        tried=race.others(),
        unit="sentences",
        measure="" if race.plain else "span F1",
    )
    if config is None:
        default = TAGGERS.by_name(found.recipe).configured(found.settings)
    features = found.features if task.features is None else task.features
    ready = replace(task, features=features)
    if whole and race.spent <= CHEAP * race.work(found.recipe, race.tokens):
        return TaggingPlan(ready, default, chosen, folds=CALIBRATION_FOLDS)
    return TaggingPlan(ready, default, chosen, race.held(found) if whole else ())


GIVEN = "given features"


@dataclass(frozen=True)
class _Fold:
    """The counts of the held-out sentences, and the model with these sentences."""

    right: NDArray[np.float64]
    of: NDArray[np.float64]
    held: Held


class _Race:
    """Candidates on the same folds of a task; ``best`` is the leading one, at first the fixed rule.

    tokens: of all the data, of which the task may be a sample
    spent:  work so far
    """

    def __init__(self, task: TaggingTask, config: Any, tokens: int) -> None:
        self.task, self.config, self.tokens, self.spent = task, config, tokens, 0.0
        N = task.table.n_sentences
        fold = np.arange(N) * FOLDS // N
        self.parts = [
            (task.table.of_sentences(fold != k), task.table.of_sentences(fold == k)) for k in range(FOLDS)
        ]
        self.weights = [None if task.weight is None else task.weight[fold != k] for k in range(FOLDS)]
        inner = inner_labels(task, "auto")
        self.labels, self.names = len(inner.labels.inner), inner.names
        self.scorer = TagScorer(task.table.columns[LABEL].types)
        self.plain = self.scorer.rules is None
        self.scores: dict[TagCandidate, float] = {}
        self._folds: dict[TagCandidate, list[_Fold]] = {}
        self._encoded: list[dict[Any, Any]] = [{} for _ in self.parts]
        features = suggested_preset(task, inner) if task.features is None else GIVEN
        recipe = DEFAULT_TAGGER if config is None else TAGGERS.by_config(config).name
        self.best = TagCandidate(features, recipe)

    def meet(self, candidate: TagCandidate, needed: float, patience: float = 0.0) -> float | None:
        """Compare a challenger with the best, which it replaces if its lead is above ``needed``.

        Returns its lead after the first fold, in standard errors of the difference; None: it was not compared.

        patience: how much further behind it may be before it is dropped after one fold, in standard errors
        """
        first = None
        for count in range(1, FOLDS + 1):
            if not self._affordable(candidate, count):
                break
            ours, other = self.measure(candidate, count), self.measure(self.best, count)
            if ours is None or other is None:
                break
            lead = ours.lead(other)
            first = lead if first is None else first
            expected = lead * np.sqrt(FOLDS / count)
            sure = lead > needed + SURE
            if count == FOLDS or sure:
                if lead > needed:
                    self._folds.pop(self.best)
                    self.best = candidate
                    return first
                break
            if lead < BEHIND - patience or expected < needed - SHORTFALL - patience:
                break
        self._folds.pop(candidate, None)  # its models are not needed any more
        return first

    def measure(self, candidate: TagCandidate, count: int) -> MeasuredTagger | None:
        """The predictions of the first folds; None if the candidate cannot be trained on one of them."""
        folds = self._folds.setdefault(candidate, [])
        while len(folds) < count:
            one = self._train_fold(candidate, len(folds))
            if one is None:
                return None
            folds.append(one)
        right, of = (np.concatenate([getattr(f, name) for f in folds[:count]]) for name in ("right", "of"))
        found = MeasuredTagger(candidate, right, of)
        if count == FOLDS:
            self.scores[candidate] = found.score
        return found

    def held(self, candidate: TagCandidate) -> tuple[Held, ...]:
        """The models of the folds, each with the sentences that it was not trained on."""
        return tuple(fold.held for fold in self._folds[candidate])

    def others(self) -> dict[str, float]:
        """The scores of the candidates that were measured on all folds, without the best."""
        found: dict[str, float] = {}
        for one, score in self.scores.items():
            if one == self.best:
                continue
            same = one.features == self.best.features
            found[one.name if same else f"{one.features} {one.name}"] = score
        return found

    def work(self, recipe: str, tokens: int, passes: int | None = None) -> float:
        """The work of one training."""
        step, by_label, most = WORK.get(recipe, OTHER_WORK)
        passes = most if passes is None else min(passes, most)
        return tokens * (ENCODING + passes * (step + by_label * self.labels))

    def _affordable(self, candidate: TagCandidate, count: int) -> bool:
        """Whether a challenger's next fold is within the budget, whichever of the two wins."""
        one = min(self.work(c.recipe, self.tokens) for c in (candidate, self.best))
        more = sum(
            self.work(c.recipe, self.parts[k][0].n_tokens)
            for c in (candidate, self.best)
            for k in range(len(self._folds.get(c, ())), count)
        )
        return self.spent + more <= BUDGET * one

    def _train_fold(self, candidate: TagCandidate, k: int) -> _Fold | None:
        """A model of the other folds, and its counts of fold k."""
        learnt, left = self.parts[k]
        config = self.config
        listener: Listener = keep_going
        if config is None:
            rough = ROUGH if candidate.recipe == "crf" and "c1" not in candidate.settings else {}
            config = TAGGERS.by_name(candidate.recipe).configured({**candidate.settings, **rough})
            listener = _stop_after(MOST_PASSES.get(candidate.recipe))
        part = replace(
            self.task,
            table=learnt,
            weight=self.weights[k],
            features=self.task.features if candidate.features == GIVEN else candidate.features,
            dev=None,
            on_epoch=listener,
            keep=False,
            encoded=self._encoded[k],
        )
        try:
            trained = TAGGERS.train(part, config)
        except ChaffinchError:  # a fold may lack a label, or the recipe may lack an option of the task
            return None
        self.spent += self.work(candidate.recipe, learnt.n_tokens, len(trained.history))
        model = encoded_once(trained.model, left, self.task.threads)
        return _Fold(*self._counts(model, left), (model, left))

    def _counts(
        self, model: TaggingModel, held: TokenTable
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By sentence: correct tokens and tokens, or twice the correct spans and gold plus predicted spans."""
        place = {label: i for i, label in enumerate(self.scorer.labels)}
        outer = np.array([place[label] for label in model.labels.outer], np.int32)
        column = held.columns[LABEL]
        y = np.array([place[label] for label in column.types], np.int32)[column.ids]
        tally = self.scorer.tally(y, outer[model.decode(held, self.task.threads)], held.ptr)
        dense = np.zeros((tally.N, tally.K))
        dense[np.repeat(np.arange(tally.N), np.diff(tally.ptr)), tally.columns] = tally.values
        if self.plain:
            return dense[:, 1], dense[:, 0]
        typed = dense[:, 7:].reshape(tally.N, -1, 3).sum(axis=1)
        return 2 * typed[:, 2], typed[:, 0] + typed[:, 1]


def _stop_after(passes: int | None) -> Listener:
    """A listener that ends training after this many passes."""
    return lambda progress: passes is None or progress.task != "pass" or progress.done < passes


def _is_open(task: TaggingTask, config: Any) -> bool:
    """Whether cross-validation is possible: enough certain labels, and not too many."""
    table = task.table
    return (
        task.soft is None
        and task.unknown is None
        and task.start is None
        and getattr(config, "start", None) is None
        and getattr(config, "unknown", None) is None
        and not table.images
        and table.n_sentences >= FEWEST
        and table.n_tokens <= MOST
        and len(table.columns[LABEL].types) > 1
    )


def _sampled(task: TaggingTask) -> TaggingTask:
    """The task of evenly spaced runs of sentences with about ``SAMPLE`` tokens in total, or fewer with many labels.

    Runs keep the sentences of a document together: features of a word's other occurrences need them.
    """
    N, tokens, labels = task.table.n_sentences, task.table.n_tokens, len(task.table.columns[LABEL].types)
    most = min(SAMPLE, max(LEAST_SAMPLE, SAMPLE * FEW_LABELS // labels))
    if tokens <= most:
        return task
    count = max(FEWEST, N * most // tokens)
    runs = -(-count // RUN)
    chosen = np.zeros(N, bool)
    for k in range(runs):
        start, length = k * N // runs, (k + 1) * count // runs - k * count // runs
        chosen[start : start + length] = True
    weight = None if task.weight is None else task.weight[chosen]
    return replace(task, table=task.table.of_sentences(chosen), weight=weight)
