"""Taggers under rules: the same scores, over the labellings that obey the rules.

chains                      exact: Viterbi, k best and marginals over the product of chain and automaton
greedy, easiest-first, beam a label is offered only if the rest of the sentence can still obey the rules
other models, and rules     the k best labellings in order until one obeys: exact if one of them does
with too many states
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_evidence import ChainScores
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.encoders import Encoder, IdRows, TokenFeatures
from chaffinch.model.evidence import Question, TaggedSentence
from chaffinch.model.incremental import IncrementalModel
from chaffinch.model.labels import LabelSet
from chaffinch.model.potentials import Additive, Block, PolynomialPotentials, Potentials, Pruned
from chaffinch.model.protocols import Packed, Reading, TaggingModel
from chaffinch.model.two_pass import TwoPassModel
from chaffinch.search import Legality
from chaffinch.search.label_rules import Infeasible, Rule, RuleBook, TooManyStates
from chaffinch.structures import Chain, Parts
from chaffinch.structures.ruled import LabelStates, by_state
from chaffinch.text.table import TokenTable

MOST_READINGS = 1024  # of a sentence, in search of one that obeys

Mask = NDArray[np.bool_]

Model = TypeVar("Model", bound=TaggingModel)


def under_rules(model: Any, rules: Sequence[Rule]) -> Any:
    """The tagger whose labellings obey the rules; raises ConfigError if they name labels that it does not have."""
    if not rules:
        return model
    if isinstance(model, TwoPassModel):
        return replace(model, second=under_rules(model.second, rules))
    labels = model.searched.labels if isinstance(model, ChainModel) else model.labels
    book = RuleBook(tuple(rules), labels.outer, labels.inner, labels.outer_of)
    try:
        if isinstance(model, ChainModel):
            chain = model.searched
            if isinstance(chain.source, Pruned):  # a label that the rules need may be among the pruned ones
                weights = chain.weights
                chain = replace(chain, source=Additive(replace(weights, unary=weights.dense)))
            return RuledChainModel(chain, book, book.states(_finite(chain.weights)))
        if isinstance(model, IncrementalModel):
            settings = {name: getattr(model, name) for name in IncrementalModel.__dataclass_fields__}
            return RuledIncrementalModel(**settings, book=book)
    except TooManyStates as e:
        warn_about_data(f"{e}; the {MOST_READINGS} best labellings are searched for one that obeys them")
    return FilteredModel(model, book)


@dataclass(frozen=True)
class Wrapper(Generic[Model]):
    """A model under rules: labels, columns and the file are those of ``model``."""

    model: Model
    book: RuleBook

    @property
    def labels(self) -> LabelSet:
        """The labels of the model."""
        return self.model.labels

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the model reads."""
        return self.model.columns

    def packed(self) -> Packed:
        """The content of the model; rules are not saved."""
        return self.model.packed()


# -- chains


@dataclass(frozen=True)
class RuledPotentials:
    """The potentials of a source by state; minus infinity if a state may not follow, begin or be at a token.

    barred: bool [tokens, labels] of the table that is decoded
    """

    source: Potentials
    states: LabelStates
    barred: Mask | None = None

    @cached_property
    def weights(self) -> ChainWeights:
        """The weights of the source, by state."""
        return self.source.weights.by_state(self.states)

    @property
    def native(self) -> None:
        """None: the product is decoded from its potentials."""
        return None

    def blocks(self, rows: IdRows, ptr: NDArray[np.int64], threads: int) -> Iterator[Block]:
        """The source's blocks, by state."""
        label, first = self.states.label, 0
        for parts, bounds in self.source.blocks(rows, ptr, threads):
            blocks = {name: by_state(name, block, label).copy() for name, block in parts.items()}
            blocks["pair"][..., ~self.states.follows] = -np.inf
            starts = bounds[:-1][np.diff(bounds) > 0]
            blocks["unary"][np.ix_(starts, ~self.states.starts)] = -np.inf
            end = first + int(bounds[-1])
            if self.barred is not None:
                blocks["unary"][self.barred[first:end][:, label]] = -np.inf
            first = end
            yield Parts(**blocks), bounds

    def sentence(self, found: TokenFeatures, labels: LabelSet) -> ChainScores:
        """Refused."""
        raise ConfigError("this model's answers under rules cannot be explained; leave the rules out")

    def names(self, encoder: Encoder, rows: NDArray[np.int32]) -> list[str]:
        """The names of the source."""
        return self.source.names(encoder, rows)

    def facts(self) -> Packed:
        """The facts of the source."""
        return self.source.facts()

    def with_weights(self, weights: ChainWeights) -> "RuledPotentials":
        """The same rules over other weights."""
        return replace(self, source=self.source.with_weights(weights))


@dataclass(frozen=True)
class RuledChainModel(Wrapper[ChainModel]):
    """A chain over the states of an automaton. The scores of labellings are those of ``model``.

    states: they obey the rules over types and the constraints of the model itself
    """

    states: LabelStates

    @property
    def temperature(self) -> float:
        """The temperature of the model."""
        return self.model.temperature

    def with_temperature(self, temperature: float) -> "RuledChainModel":
        """The same rules over the model at this temperature."""
        return replace(self, model=self.model.with_temperature(temperature))

    @cached_property
    def lattice_labels(self) -> LabelSet:
        """One inner label per state."""
        own, label = self.model.labels, self.states.label
        return LabelSet(own.outer, tuple(own.inner[y] for y in label.tolist()), own.outer_of[label])

    @cached_property
    def _product(self) -> ChainModel:
        """The chain over states. Sums of weights are split by state once, all other sources block by block."""
        source: Potentials = self.model.source
        if isinstance(source, Additive | PolynomialPotentials):
            source = source.with_weights(source.weights.by_state(self.states))
        else:
            source = RuledPotentials(source, self.states)
        return replace(self.model, source=source, labels=self.lattice_labels)

    def _for(self, table: TokenTable) -> ChainModel:
        barred = self.book.barred(table.ptr)
        if barred is None:
            return self._product
        source = RuledPotentials(self.model.source, self.states, barred)
        return replace(self.model, source=source, labels=self.lattice_labels)

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """Viterbi over the product."""
        product = self._for(table)
        return self._decoded(product, table, product.encoder.rows(table, threads), threads)

    def _decoded(
        self, product: ChainModel, table: TokenTable, rows: IdRows, threads: int
    ) -> NDArray[np.int32]:
        """The labels of encoded tokens, or the sentence that has no labelling."""
        try:
            found = product.decode_rows(table.ptr, rows, threads)
        except Infeasible:
            raise
        except DataError:  # a sentence has no labelling: say which, and why
            for n in range(table.n_sentences):
                if not _feasible(self.book, table.ptr, n, _finite(self.model.weights)):
                    self._infeasible(table, n)
            raise
        self._check(table, found)
        return found

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best labellings that obey the rules."""
        self.decode(table, threads)  # says which sentence has no labelling
        return self._for(table).kbest(table, k, threads)

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """p(y_t|x, rules)."""
        self.decode(table, threads)  # says which sentence has no labelling
        return self._for(table).marginals(table, threads)

    def posterior(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The labelling with the highest sum of marginals that obeys the rules."""
        self.decode(table, threads)
        return self._for(table).posterior(table, threads)

    def lattices(self, table: TokenTable, threads: int) -> Iterator[tuple[Chain, Parts]]:
        """The chains over states."""
        self.decode(table, threads)
        return self._for(table).lattices(table, threads)

    def examples(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> Iterator[TaggedSentence]:
        """Features and transitions; rivals obey the rules too."""
        product = self._for(table)
        rows = product.encoder.rows(table, threads)
        return product.encoded_examples(table, rows, self._decoded(product, table, rows, threads), which)

    def _check(self, table: TokenTable, found: NDArray[np.int32]) -> None:
        for n in _broken(table.ptr, found, self._walk, self.book.barred(table.ptr)):
            self._infeasible(table, n)

    @cached_property
    def _walk(self) -> "Acceptor":
        _, _, ends = _masks(self.model.weights)
        return Acceptor(self.states, self.lattice_labels.outer_of, ends[self.states.label])

    def _infeasible(self, table: TokenTable, n: int) -> None:
        raise Infeasible(n, smallest_conflict(self.book, table.ptr, n, _finite(self.model.weights)))


# -- incremental search


@dataclass(frozen=True)
class RuledIncrementalModel(IncrementalModel):
    """Incremental search that offers only labels from which the rules can still be obeyed.

    A word of the dictionary keeps its label unless its sentence would then break a rule.
    """

    book: RuleBook = field(default_factory=lambda: RuleBook((), (), (), np.zeros(0, np.int32)))

    def _rules(self) -> dict[str, Any]:
        states, Y = self._states, len(self.labels.inner)
        Q = len(states.label)
        missing = sorted(set(range(Y)) - set(states.label.tolist()))  # labels that the rules never allow
        label = np.concatenate([[-1], states.label, missing]).astype(np.int32)
        next = np.full((len(label), Y), -1, np.int32)
        first = np.flatnonzero(states.starts)
        next[0, states.label[first]] = first + 1
        before, after = np.nonzero(states.follows)
        next[before + 1, states.label[after]] = after + 1
        final = np.ones(len(label), np.uint8)
        if self.legality.ends is not None:
            final[1 : Q + 1] = self.legality.ends[states.label]
        return {"state_label": label, "state_next": next, "state_final": final}

    @cached_property
    def _states(self) -> LabelStates:
        return self.book.states(self.legality)

    def _barred(self, ptr: NDArray[np.int64]) -> NDArray[np.uint8] | None:
        barred = self.book.barred(ptr)
        return None if barred is None else np.ascontiguousarray(barred, np.uint8)

    def _known(self, table: TokenTable) -> NDArray[np.int32] | None:
        known = super()._known(table)
        if known is None:
            return None
        found = self.labels.outer_of[self._searched(table, 0, known)]
        kept = known.copy()
        for n in self._breaking(table, found):
            kept[table.ptr[n] : table.ptr[n + 1]] = -1
        return kept

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The labels that the search decides on."""
        found = super().decode(table, threads)
        for n in self._breaking(table, found):
            raise Infeasible(n, smallest_conflict(self.book, table.ptr, n, self.legality))
        return found

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best of the beam that obey the rules."""
        self.decode(table, threads)
        return super().kbest(table, k, threads)

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """The confidence of each decision among the labels that the rules allow."""
        self.decode(table, threads)
        return super().marginals(table, threads)

    def examples(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> Iterator[TaggedSentence]:
        """Features, and contexts of labels decided before."""
        if self.book.of_tokens:
            raise ConfigError("answers under must and forbid cannot be explained; leave these rules out")
        return super().examples(table, which, question, threads)

    def _breaking(self, table: TokenTable, found: NDArray[np.int32]) -> list[int]:
        ends = np.ones(len(self.labels.inner), bool) if self.legality.ends is None else self.legality.ends
        states = self._states
        walk = Acceptor(states, self.labels.outer_of[states.label], ends[states.label])
        return _broken(table.ptr, found, walk, self.book.barred(table.ptr))


# -- other models


@dataclass(frozen=True)
class FilteredModel(Wrapper[TaggingModel]):
    """The best of a model's readings that obeys the rules. The readings come best first, so it is the best of all."""

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The best reading that obeys."""
        found = [readings[0].labels for readings in self.kbest(table, 1, threads)]
        return np.concatenate([np.zeros(0, np.int32), *found])

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best readings that obey, of the ``MOST_READINGS`` best."""
        bounds = list(pairwise(table.ptr.tolist()))
        barred = self._barred(table.ptr)
        made: list[list[Reading]] = [[] for _ in bounds]
        open, asked = list(range(len(bounds))), max(4 * k, 8)
        while open:
            listed = self.model.kbest(table.taken(np.array(open)), asked, threads)
            left = []
            for n, readings in zip(open, listed, strict=True):
                bars = None if barred is None else barred[bounds[n][0] : bounds[n][1]]
                obeying = [r for r in readings if self._obeys(r.labels, bars)]
                if len(obeying) >= k or len(readings) < asked or asked >= MOST_READINGS:
                    made[n] = obeying[:k]
                    if not obeying:
                        self._refuse(n, len(readings), asked)
                else:
                    left.append(n)
            open, asked = left, min(asked * 8, MOST_READINGS)
        return made

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """Refused: they would be the model's without the rules."""
        raise ConfigError("this model has no probabilities under rules; leave the rules out, or train a crf")

    def posterior(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """Refused likewise."""
        return self.marginals(table, threads).astype(np.int32)

    def examples(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> Iterable[TaggedSentence]:
        """Refused."""
        raise ConfigError("this model's answers under rules cannot be explained; leave the rules out")

    def _barred(self, ptr: NDArray[np.int64]) -> Mask | None:
        """By outer label: one is barred if all its inner ones are."""
        barred = self.book.barred(ptr)
        if barred is None:
            return None
        outer_of = self.book.outer_of
        return np.stack([barred[:, outer_of == y].all(axis=1) for y in range(len(self.book.outer))], axis=1)

    def _obeys(self, y: NDArray[np.int32], barred: Mask | None) -> bool:
        if barred is not None and barred[np.arange(len(y)), y].any():
            return False
        return self.book.broken(y.tolist()) is None

    def _refuse(self, n: int, readings: int, asked: int) -> None:
        if readings < asked:
            raise Infeasible(
                n, [r for r in self.book.rules if r not in self.book.of_tokens or r.sentence == n]
            )
        raise ConfigError(
            f"sentence {n + 1}: none of the {readings} best labellings obeys the rules, and exact search under these "
            "rules is not possible for this model; use fewer rules, or train a crf"
        )


# -- checks


@dataclass(frozen=True, eq=False)
class Acceptor:
    """Outer labels read by an automaton of states.

    outer: the outer label of each state   ends: bool, states at which a sentence may end
    """

    states: LabelStates
    outer: NDArray[np.int32]
    ends: Mask

    def accepts(self, y: Sequence[int], barred: Mask | None = None) -> bool:
        """Whether some path of states has these outer labels; barred: bool [T, labels]."""
        at = None
        for t, label in enumerate(y):
            allowed = None if barred is None or not barred[t].any() else ~barred[t][self.states.label]
            at = self._next(at, label) if allowed is None else self._next(at, label) & allowed
            if not at.any():
                return False
        return at is None or bool((at & self.ends).any())

    @cached_property
    def _steps(self) -> dict[tuple[bytes, int], Mask]:
        return {}

    def _next(self, at: Mask | None, label: int) -> Mask:
        key = (b"" if at is None else at.tobytes(), label)
        if key not in self._steps:
            reached = self.states.starts if at is None else self.states.follows[at].any(axis=0)
            self._steps[key] = reached & (self.outer == label)
        return self._steps[key]


def _broken(
    ptr: NDArray[np.int64],
    found: NDArray[np.int32],
    walk: Acceptor,
    barred: Mask | None,
) -> list[int]:
    """The sentences with outer labels that no path of states gives."""
    y = found.tolist()
    return [
        n
        for n, (a, b) in enumerate(pairwise(ptr.tolist()))
        if not walk.accepts(y[a:b], None if barred is None else barred[a:b])
    ]


def smallest_conflict(book: RuleBook, ptr: NDArray[np.int64], n: int, legality: Legality) -> list[Rule]:
    """Rules that no labelling of sentence n obeys together, none of which can be left out."""
    kept = [r for r in book.rules if r in book.of_types or r.sentence == n]
    for rule in list(kept):
        fewer = [r for r in kept if r is not rule]
        if not _feasible(book.only(fewer), ptr, n, legality):
            kept = fewer
    return kept


def _feasible(book: RuleBook, ptr: NDArray[np.int64], n: int, legality: Legality) -> bool:
    states = book.states(legality)
    barred, a, b = book.barred(ptr), int(ptr[n]), int(ptr[n + 1])
    at: Mask = states.starts
    for t in range(a, b):
        if t > a:
            at = np.asarray(states.follows[at].any(axis=0))
        if barred is not None:
            at = np.logical_and(at, ~barred[t][states.label])
        if not at.any():
            return False
    return legality.ends is None or b == a or bool((at & legality.ends[states.label]).any())


def _masks(weights: ChainWeights) -> tuple[Mask, Mask, Mask]:
    """Which transitions, first and last labels have a finite weight."""
    return np.isfinite(weights.pair), np.isfinite(weights.start), np.isfinite(weights.end)


def _finite(weights: ChainWeights) -> Legality:
    return Legality(*_masks(weights))
