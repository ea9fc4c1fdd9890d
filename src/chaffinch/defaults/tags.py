"""Choose the features and the recipe of a tagger if they are not given, by cross-validation in the training data.

The fixed rule is the preset that the columns and labels suggest, with the default CRF. It is compared with challengers
on three folds of contiguous sentences:

1. Other presets, with the default CRF.
2. With the winning preset: a CRF with a wider margin, one with an L1 penalty besides, and recipes of other kinds.

A challenger that is not ahead after a fold is dropped, and so is one whose lead after two folds, if it stays as it is,
will fall clearly short of the one that it needs. It wins if it is ahead by more than one standard error of the
difference after all folds. The CRF with an L1 penalty is tried only if the one with the wider margin is ahead after
the first fold. A CRF with another margin needs half a standard error: it can continue training and has
probabilities, as the default does. Recipes that decide label by label need two: they have no k best labellings and no
distribution over them.

The budget is a number of tokens, so the choice is the same on any machine: data beyond ``MOST`` tokens keep the fixed
rule, and at most ``SAMPLE`` tokens are used to choose, fewer with more than ``FEW_LABELS`` labels. The default costs
three trainings on two thirds of these, and each challenger one, or three if it stays ahead. If all sentences were used,
the models of the winner also serve to calibrate the probabilities.
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
from chaffinch.progress import keep_going
from chaffinch.recipes import DEFAULT_TAGGER, TAGGERS, TaggingTask
from chaffinch.recipes.encoding import inner_labels, suggested_preset
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable

FEWEST = 100  # sentences: fewer are too few for cross-validation
MOST = 60_000  # tokens: with more, the fixed rule is as good, and folds cost too much
SAMPLE = 20_000  # tokens that are used to choose
FOLDS = 3
FEW_LABELS = 24  # with more labels, fewer tokens are used to choose: a pass costs about their product
LEAST_SAMPLE = 8_000

# Presets that may do better than the suggested one.
OTHERS: Mapping[str, tuple[str, ...]] = {
    "ner": ("pos",),
    "pos": ("ingredients", "ner"),
    "default": ("pos", "ingredients"),
    "chunking": ("ingredients",),
}
WIDE_MARGIN: Mapping[str, Any] = {"margin": 8.0, "c2": 0.5}
ELASTIC_NET: Mapping[str, Any] = {"margin": 8.0, "c1": 0.3, "c2": 0.3}
# Folds of CRFs are trained to this gap; closer to the optimum they are no better on other sentences.
ROUGH: Mapping[str, Any] = {"tolerance": 0.01}
# The lead that a challenger needs, in standard errors of the difference; its expected lead after two
# folds may fall short by SHORTFALL; that after one fold says too little.
SHORTFALL = 0.75
PRESET_LEAD = 1.0
CHALLENGERS: tuple[tuple[str, Mapping[str, Any], float], ...] = (
    ("crf", WIDE_MARGIN, 0.5),
    ("crf", ELASTIC_NET, 1.0),
    ("ssvm", {"C": 0.1}, 1.0),
    ("easiest-first", {}, 2.0),
    ("greedy", {}, 2.0),
)
# Recipes with a setting that makes passes cost the square of the number of labels are tried below this many labels.
MANY_LABELS = 64
DEAR = (("ssvm", "C"), ("crf", "c1"))

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
    held:      the models, each with the sentences that it was not trained on
    """

    candidate: TagCandidate
    right: NDArray[np.float64]
    of: NDArray[np.float64]
    held: tuple[Held, ...] = ()

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

    def first(self, sentences: int) -> "MeasuredTagger":
        """The same on the first folds alone."""
        return replace(self, right=self.right[:sentences], of=self.of[:sentences])

    def lead(self, other: "MeasuredTagger") -> float:
        """The lead over another on the same sentences, in standard errors of the difference."""
        difference = self.score - other.score
        error = float(np.sqrt(np.square(self.influence - other.influence).sum()))
        return difference / error if error > 0 else 0.0


@dataclass(frozen=True)
class Settled:
    """The task with its features, the config of the recipe, and how it was chosen.

    known: models of the recipe, each with sentences that it was not trained on; empty if not all sentences were used
    """

    task: TaggingTask
    config: Any
    choice: DefaultChoice | None = None
    known: tuple[Held, ...] = ()


def choose(task: TaggingTask, config: Any = None) -> Settled:
    """Choose what is not given: the features if the task names none, the recipe if there is no config."""
    default = TAGGERS.by_name(DEFAULT_TAGGER).config() if config is None else config
    if not _is_open(task, default) or (config is not None and task.features is not None):
        return Settled(task, default)
    race = _Race(_sampled(task), config)
    best = race.begin()
    if best is None:
        return Settled(task, default)
    if task.features is None:
        for name in OTHERS.get(best.candidate.features, ()):
            best = race.met(best, replace(best.candidate, features=name), PRESET_LEAD)
    if config is None:
        for recipe, settings, needed in CHALLENGERS:
            if race.labels >= MANY_LABELS and any(recipe == name and knob in settings for name, knob in DEAR):
                continue
            if settings is ELASTIC_NET and race.dropped_at_once == WIDE_MARGIN:
                continue
            best = race.met(best, TagCandidate(best.candidate.features, recipe, settings), needed)
    found = best.candidate
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
        tried=race.others(found),
        unit="sentences",
        measure="" if race.plain else "span F1",
    )
    if config is None:
        default = TAGGERS.by_name(found.recipe).configured(found.settings)
    features = found.features if task.features is None else task.features
    return Settled(replace(task, features=features), default, chosen, best.held if whole else ())


GIVEN = "given features"


class _Race:
    """Candidates on the same folds of a task."""

    def __init__(self, task: TaggingTask, config: Any) -> None:
        self.task, self.config = task, config
        N = task.table.n_sentences
        fold = np.arange(N) * FOLDS // N
        self.folds = [
            (task.table.of_sentences(fold != k), task.table.of_sentences(fold == k)) for k in range(FOLDS)
        ]
        self.weights = [None if task.weight is None else task.weight[fold != k] for k in range(FOLDS)]
        inner = inner_labels(task, "auto")
        self.labels = len(inner.labels.inner)
        self.suggested = suggested_preset(task, inner)
        self.scorer = TagScorer(task.table.columns[LABEL].types)
        self.plain = self.scorer.rules is None
        self.scores: dict[TagCandidate, float] = {}
        self.dropped_at_once: Mapping[str, Any] | None = (
            None  # settings of the last candidate behind after one fold
        )

    def begin(self) -> MeasuredTagger | None:
        """The fixed rule; None if it cannot be trained on a fold."""
        features = self.suggested if self.task.features is None else GIVEN
        recipe = DEFAULT_TAGGER if self.config is None else TAGGERS.by_config(self.config).name
        return self._measured(TagCandidate(features, recipe), None)

    def met(self, best: MeasuredTagger, candidate: TagCandidate, needed: float) -> MeasuredTagger:
        """The better of the two; the challenger needs a lead of ``needed`` standard errors."""
        other = self._measured(candidate, best, needed)
        return best if other is None or other.lead(best) <= needed else other

    def others(self, chosen: TagCandidate) -> dict[str, float]:
        """The scores of the other candidates: by preset in the first round, by recipe in the second."""
        found: dict[str, float] = {}
        for one, score in self.scores.items():
            if one == chosen:
                continue
            same = one.features == chosen.features
            found[one.name if same else f"{one.features} {one.name}"] = score
        return found

    def _measured(
        self, candidate: TagCandidate, best: MeasuredTagger | None, needed: float = 0.0
    ) -> MeasuredTagger | None:
        """The out-of-fold predictions; None if the candidate is far behind or cannot be trained on a fold."""
        config = self.config
        if config is None:
            rough = ROUGH if candidate.recipe == "crf" and "c1" not in candidate.settings else {}
            config = TAGGERS.by_name(candidate.recipe).configured({**candidate.settings, **rough})
        right: list[NDArray[np.float64]] = []
        of: list[NDArray[np.float64]] = []
        held: list[Held] = []
        for (learnt, left), weight in zip(self.folds, self.weights, strict=True):
            features = self.task.features if candidate.features == GIVEN else candidate.features
            part = replace(
                self.task,
                table=learnt,
                weight=weight,
                features=features,
                dev=None,
                on_epoch=keep_going,
                keep=False,
            )
            try:
                model = TAGGERS.trained(part, config).model
            except ChaffinchError:  # a fold may lack a label, or the recipe may lack an option of the task
                return None
            counts = self._counts(model, left)
            right.append(counts[0])
            of.append(counts[1])
            held.append((model, left))
            found = MeasuredTagger(candidate, np.concatenate(right), np.concatenate(of), tuple(held))
            if best is not None:
                lead = found.lead(best.first(len(found.of)))
                expected = lead * np.sqrt(FOLDS / len(held))
                if lead <= 0 or (1 < len(held) < FOLDS and expected < needed - SHORTFALL):
                    if len(held) == FOLDS:
                        self.scores[candidate] = found.score
                    elif len(held) == 1:
                        self.dropped_at_once = candidate.settings
                    return None
        self.scores[candidate] = found.score
        return found

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
    """The task of evenly spaced sentences with about ``SAMPLE`` tokens in total, or fewer with many labels."""
    N, tokens, labels = task.table.n_sentences, task.table.n_tokens, len(task.table.columns[LABEL].types)
    most = min(SAMPLE, max(LEAST_SAMPLE, SAMPLE * FEW_LABELS // labels))
    if tokens <= most:
        return task
    count = max(FEWEST, N * most // tokens)
    chosen = np.zeros(N, bool)
    chosen[np.arange(count) * N // count] = True
    weight = None if task.weight is None else task.weight[chosen]
    return replace(task, table=task.table.of_sentences(chosen), weight=weight)
