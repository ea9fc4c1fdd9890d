"""The recipes of aligners: one learner each, over matchings with the same features."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.knobs import knob
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.online import Mira, Perceptron
from chaffinch.learners.problem import Problem
from chaffinch.learners.training import train_passes
from chaffinch.model.aligner import VIEWS, AlignerModel
from chaffinch.model.alignment_features import COMMON, AlignmentFeatures
from chaffinch.model.associations import Associations, Pair
from chaffinch.modelfile import ModelFile
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.recipe import Recipe, Recipes, Trained
from chaffinch.recipes.training import link_score
from chaffinch.scorers import FeatureScorer
from chaffinch.structures import GoldLinks, Matching, Parts
from chaffinch.structures.fertile import FertileMatching, GoldKindLinks, with_kinds
from chaffinch.structures.matching import Link, Links

Lexicon = dict[tuple[str | None, str | None], int]


@dataclass(frozen=True, kw_only=True)
class AlignerKnobs:
    """The knobs that all aligners share."""

    rounds: int = knob(5, "rounds of EM for the word associations (IBM model 1)", low=1, high=1000)
    lexicon: int = knob(
        3,
        "minimum number of links of a word pair, or of unlinked occurrences of a word, for a lexicon feature",
        low=1,
    )
    wrong: float = knob(1.0, "cost of a wrong link", low=0.0)
    missed: float = knob(2.0, "cost of a missed link", low=0.0)
    fertility: int = knob(2, "maximum number of links of a word", low=1, high=2)


@dataclass(frozen=True, kw_only=True)
class MarginAligner(AlignerKnobs, FrankWolfe):
    """Matchings with a structured margin, by block-coordinate Frank-Wolfe."""

    C: float = knob(1.0, "weight of an example's hinge loss against |w|^2 / 2", low=1e-12, high=1e12)
    epochs: int = knob(10, "maximum number of passes over the examples", low=1)
    average: bool = knob(True, "return the average of w over all steps, later steps with more weight")
    measure: int = knob(0, "passes between two evaluations of the exact duality gap; 0: never", low=0)


@dataclass(frozen=True, kw_only=True)
class MiraAligner(AlignerKnobs, Mira):
    """Matchings by margin-infused updates."""

    C: float = knob(0.01, "largest step taken on one answer", low=0.0)
    epochs: int = knob(5, "passes over the training data", low=1)


@dataclass(frozen=True, kw_only=True)
class PerceptronAligner(AlignerKnobs, Perceptron):
    """Matchings by the averaged perceptron."""

    epochs: int = knob(5, "passes over the training data", low=1)


@dataclass(frozen=True)
class AlignmentTask:
    """The training data of an aligner, and the settings of its training.

    pairs:    two sentences each, as words
    sure:     links that are required   possible: links that are allowed
    text:     further sentence pairs without links, for the word associations
    dev:      held-out pairs, their sure and their possible links: the best pass on them is kept; or None
    weight:   float32 [pairs], the weight of the loss of each pair; None: all are equal
    """

    pairs: Sequence[Pair]
    sure: Sequence[Links]
    possible: Sequence[Links]
    text: Sequence[Pair] = ()
    threads: int = 0
    on_epoch: Listener = keep_going
    dev: tuple[Sequence[Pair], Sequence[Links], Sequence[Links]] | None = None
    weight: NDArray[np.float32] | None = None


def train(task: AlignmentTask, config: Any) -> Trained:
    """Learn associations from the text, then weights from the links."""
    if not any(task.sure):
        raise DataError("expected at least one sure link to train on, found none")
    text = [*task.pairs, *task.text]
    views = {
        name: Associations.learnt(text, view, config.rounds, task.threads) for name, view in VIEWS.items()
    }
    lexicon = _lexicon(task, config.lexicon)
    features = AlignmentFeatures(views["words"], views["stems"], lexicon, config.fertility)
    structure = _structure(config)
    examples = []
    for pair, sure, possible in zip(task.pairs, task.sure, task.possible, strict=True):
        x = features(pair)
        links = _as_matching(x.shape["edge"], sure)
        examples.append((x, _gold(structure, links, sure, possible)))

    def model(scorer: FeatureScorer) -> AlignerModel:
        # Weights are rounded to 32 bits now, so that a model predicts the same before and after it is saved.
        w = scorer.w.astype(np.float32).astype(np.float64)
        return AlignerModel(features, FeatureScorer(len(w), w), structure)

    training = train_passes(
        config,
        Problem(structure, FeatureScorer(features.F), examples, task.weight),
        threads=task.threads,
        model=model,
        on_epoch=task.on_epoch,
        held_out_score=None if task.dev is None else link_score(*task.dev),
    )
    return Trained(model(training.made), training.history)


def load(file: ModelFile) -> AlignerModel:
    """The model of a file."""
    config = ALIGNERS.by_name(file.header.recipe).configured(file.header.settings)
    return AlignerModel.loaded(file, _structure(config))


def _structure(config: Any) -> Matching | FertileMatching:
    if config.fertility == 1:
        return Matching(wrong=config.wrong, missed=config.missed)
    return FertileMatching(wrong=config.wrong, missed=config.missed)


def _gold(
    structure: Matching | FertileMatching, links: Links, sure: Links, possible: Links
) -> GoldLinks | GoldKindLinks:
    """The target of training: a matching, with further links if the structure allows them."""
    if isinstance(structure, Matching):
        return GoldLinks(links, (sure | possible) - links)
    kinds = with_kinds(sure, links)
    return GoldKindLinks(kinds, (sure | possible) - {(i, j) for i, j, _ in kinds})


def _as_matching(shape: tuple[int, ...], links: Links) -> Links:
    """A matching chosen from the links; links near the diagonal are preferred."""
    n, m = shape
    if len({i for i, _ in links}) == len({j for _, j in links}) == len(links):
        return links
    edge = np.full((n, m), -np.inf)
    for i, j in links:
        edge[i, j] = 1 - 1e-3 * abs((i + 0.5) / n - (j + 0.5) / m)
    return Matching().argmax(Parts(edge=edge))


def _lexicon(task: AlignmentTask, least: int) -> Lexicon:
    """Word pairs with enough links, and words with enough unlinked occurrences."""
    counts: Counter[tuple[str | None, str | None]] = Counter()
    for (e, f), sure, possible in zip(task.pairs, task.sure, task.possible, strict=True):
        linked: set[Link] = {*sure, *possible}
        counts.update((e[i].lower(), f[j].lower()) for i, j in sure)
        counts.update((w.lower(), None) for i, w in enumerate(e) if i not in {k for k, _ in linked})
        counts.update((None, w.lower()) for j, w in enumerate(f) if j not in {k for _, k in linked})
    kept = sorted(
        (pair for pair, count in counts.items() if count >= least), key=lambda p: (p[0] or "", p[1] or "")
    )
    return {pair: COMMON + k for k, pair in enumerate(kept)}


ALIGNERS = Recipes(
    Recipe(
        "aligner",
        "matchings with a structured margin, by Frank-Wolfe",
        MarginAligner,
        train,
        load,
        options=("weight",),
    ),
    Recipe("aligner-mira", "matchings by margin-infused updates", MiraAligner, train, load),
    Recipe("aligner-perceptron", "matchings by the averaged perceptron", PerceptronAligner, train, load),
)

DEFAULT_ALIGNER = "aligner"
