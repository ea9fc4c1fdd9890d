"""The hidden Markov model: counted, smoothed, decoded by Viterbi; and its emissions alone."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.features.symbols import SymbolTable, counted
from chaffinch.knobs import knob
from chaffinch.learners.count import (
    SymbolCounts,
    Transitions,
    emissions_by_class,
    emissions_by_ladder,
    emissions_by_rule,
    transitions_of_counts,
)
from chaffinch.learners.learner import CountLearner
from chaffinch.learners.problem import Problem
from chaffinch.learners.sharded import CountTokens, sharded_counts
from chaffinch.learners.shards import ShardNote
from chaffinch.learners.smoothing import SMOOTHINGS
from chaffinch.model import LabelSet, TaggingModel
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.encoders import SymbolEncoder
from chaffinch.model.potentials import Additive
from chaffinch.modelfile import ModelFile
from chaffinch.recipes.encoding import InnerLabels, inner_labels
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained, repeated
from chaffinch.recipes.rules import LabelRules, TransitionRules
from chaffinch.recipes.training import train_tagger
from chaffinch.structures import Chain
from chaffinch.text.document import LABEL, WORD

# Words seen this often or less estimate the suffixes of unknown words (Brants 2000 uses 10).
COMMON = 10

UNKNOWN = ("suffix", "classes", "one", "half", "constant")
# Rules that count rare words as unknown words, so that one smoothed distribution covers both.
FOLDED = ("classes", "one")


@dataclass(frozen=True, kw_only=True)
class Hmm(TransitionRules, CountLearner):
    """A hidden Markov model: p(x, y) = product of q(y_t|y_{t-1}) e(x_t|y_t), counted on the training data."""

    order: int = knob(2, "number of previous labels in a transition", low=1, high=2)
    unknown: str = knob(
        "suffix",
        "words not seen in training: by case and suffix, by classes of case and ending, as one word, by the "
        "rule k / (count(y) + k), or the same under every label",
        choices=UNKNOWN,
    )
    rare: int = knob(2, "classes, one: words that occur fewer times than this count as unknown", low=1)
    emission_smoothing: str = knob(
        "auto", "classes, one: smoothing of e(x|y); auto: add-k", choices=("auto", *SMOOTHINGS)
    )
    emission_amount: float = knob(0.1, "its k or discount", low=0.0)
    unseen: float = knob(0.5, "half: the count k of an unseen word", low=0.0)
    word_strength: float | None = knob(
        None,
        "suffix: pseudo-counts of a word from its class; by default estimated by leaving words out",
        low=0.0,
    )
    rung_strength: float | None = knob(
        None,
        "suffix: pseudo-counts from the next shorter suffix; by default estimated by leaving words out",
        low=0.0,
    )
    transition_smoothing: str = knob(
        "deleted", "smoothing of q(y_t|history)", choices=(*SMOOTHINGS, "deleted")
    )
    transition_amount: float = knob(0.1, "its k or discount", low=0.0)
    floor: float | None = knob(
        -50.0, "log-probability used instead of minus infinity; none: minus infinity", high=0.0
    )

    def count(self, problem: Problem) -> tuple[NDArray[np.float64], Transitions]:
        """Emissions and transitions."""
        tokens: CountedTokens = problem.examples
        how = (self.transition_smoothing, self.transition_amount)
        return _emissions(tokens.table, tokens.seen, self), transitions_of_counts(
            tokens.trigrams, self.order, *how
        )


@dataclass(frozen=True, kw_only=True)
class Emission(CountLearner):
    """Tags each word separately, with the label under which the word is most likely: argmax of e(x|y)."""

    unknown: str = knob("half", "words not seen in training, as for the HMM", choices=UNKNOWN)
    rare: int = knob(1, "classes, one: words that occur fewer times than this count as unknown", low=1)
    emission_smoothing: str = knob(
        "auto", "classes, one: smoothing of e(x|y); auto: add-k", choices=("auto", *SMOOTHINGS)
    )
    emission_amount: float = knob(0.1, "its k or discount", low=0.0)
    unseen: float = knob(0.5, "half: the count k of an unseen word", low=0.0)

    def count(self, problem: Problem) -> tuple[NDArray[np.float64], Transitions]:
        """The emissions of an HMM without its transitions."""
        tokens: CountedTokens = problem.examples
        Y = len(tokens.labels.inner)
        still = Transitions(np.zeros(Y), np.zeros(Y), np.zeros((Y, Y)))
        return _emissions(tokens.table, tokens.seen, Hmm(**asdict(self))), still


@dataclass(frozen=True)
class CountedTokens:
    """Tokens as symbols with labels, and their counts: the input of both models.

    y: int32 [tokens]    ptr: int64 [N+1], bounds of sentences    seen: float64 [Y], tokens of each label
    trigrams: the result of :func:`trigram_counts`
    """

    table: SymbolTable
    labels: LabelSet
    y: NDArray[np.int32]
    ptr: NDArray[np.int64]
    seen: NDArray[np.float64]
    trigrams: NDArray[np.float64]
    shards: ShardNote | None = None

    def __len__(self) -> int:
        return len(self.ptr) - 1


def train(task: TaggingTask, config: Hmm | Emission) -> Trained:
    """Count, smooth, take logs; a sentence of weight k is counted k times."""
    if task.weight is not None:
        task = replace(task, table=task.table.taken(repeated(task.weight, "sentence")), weight=None)
    counted = _counts(task, config.unknown, config.rare)
    floor = config.floor if isinstance(config, Hmm) else None
    problem = Problem(Chain(len(counted.labels.inner)), None, counted)
    rules = _rules(task, config, counted) if isinstance(config, Hmm) else LabelRules()

    def model(made: tuple[NDArray[np.float64], Transitions]) -> ChainModel:
        found = _model(counted.table, counted.labels, *made, floor)
        weights = rules.put_into(found.weights)
        return replace(found, source=found.source.with_weights(weights), needs=rules.needs)

    alone = replace(task, sharding=None)  # the counts are already computed
    return replace(train_tagger(alone, config, problem, model), shards=counted.shards)


def _rules(task: TaggingTask, config: Hmm, counted: CountedTokens) -> LabelRules:
    """The rules of the config and of the tag scheme; labels are counted in their given scheme."""
    if config.fixed is not None and any("=" not in part for part in config.fixed.split(",") if part.strip()):
        raise ConfigError(
            "Hmm.fixed: transitions are counted, so every fixed transition needs a value: 'A->B=-0.5'"
        )
    scheme = inner_labels(task, "as given").scheme
    return LabelRules.of(config, task, InnerLabels(counted.labels, counted.y, scheme))


def load(file: ModelFile) -> TaggingModel:
    """Load the model from a file."""
    return ChainModel.loaded(file, SymbolEncoder.loaded(file))


def _counts(task: TaggingTask, unknown: str, rare: int) -> CountedTokens:
    labels = LabelSet.plain(task.table.columns[LABEL].types)
    y = labels.column_ids(task.table.columns[LABEL])
    words = task.table.columns[WORD]
    Y = len(labels.inner)
    counting = CountTokens(len(words.types), Y)
    note = None
    if task.sharding is None:
        by_type, trigrams = counting.counts(words.ids, y, task.table.ptr)
    else:
        by_type, trigrams, note = sharded_counts(task.sharding, counting, words.ids, y, task.table.ptr)
    ladder = unknown if unknown in ("suffix", "classes") else "one"
    folded = unknown in FOLDED
    table = counted(words.types, by_type, ladder, rare=rare if folded else 1, common=0 if folded else COMMON)
    return CountedTokens(table, labels, y, task.table.ptr, by_type.sum(axis=0), trigrams, note)


def _emissions(table: SymbolTable, seen: NDArray[np.float64], config: Hmm) -> NDArray[np.float64]:
    symbols = SymbolCounts(table.counts, table.direct, len(table.symbols.words), table.parent, seen)
    smoothing = "add-k" if config.emission_smoothing == "auto" else config.emission_smoothing
    if smoothing != "add-k" and config.unknown not in FOLDED:
        raise ConfigError(
            f"emission_smoothing {smoothing!r} needs unknown 'classes' or 'one': the rule "
            f"{config.unknown!r} has its own estimate of e(x|y)"
        )
    if config.unknown in ("half", "constant"):
        return emissions_by_rule(symbols, config.unknown, config.unseen)
    if config.unknown == "suffix":
        return emissions_by_ladder(symbols, config.word_strength, config.rung_strength)[0]
    return emissions_by_class(symbols, smoothing, config.emission_amount)


def _model(
    table: SymbolTable,
    labels: LabelSet,
    unary: NDArray[np.float64],
    moves: Transitions,
    floor: float | None,
) -> ChainModel:
    def stored(p: NDArray[np.float64]) -> NDArray[np.float32]:
        return np.ascontiguousarray(p if floor is None else np.maximum(p, floor), dtype=np.float32)

    second: dict[str, Any] = {}
    if moves.triple is not None and moves.first is not None and moves.last is not None:
        second = {"triple": stored(moves.triple), "first": stored(moves.first), "last": stored(moves.last)}
    weights = ChainWeights(
        unary=stored(unary),
        start=stored(moves.start),
        end=stored(moves.end),
        pair=stored(moves.pair),
        **second,
    )
    return ChainModel(SymbolEncoder(table.symbols), Additive(weights), labels)


RECIPE = Recipe(
    "hmm",
    "hidden Markov model, counted",
    Hmm,
    train,
    load,
    options=("weight", "sharding"),
    near=False,
)
EMISSION = Recipe(
    "emission",
    "each word by its most likely label",
    Emission,
    train,
    load,
    options=("weight", "sharding"),
    near=False,
)
