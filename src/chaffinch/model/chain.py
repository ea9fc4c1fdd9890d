"""The linear chain as a tagger: features of tokens, a source of potentials, exact decoding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import LinearChain
from chaffinch.errors import ConfigError
from chaffinch.features.symbols import Symbols
from chaffinch.model.chain_evidence import ChainExample
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.distribution import posterior_labels
from chaffinch.model.encoders import Encoder, IdRows, SymbolEncoder, TemplateEncoder, token_features
from chaffinch.model.evidence import Question, TaggedSentence
from chaffinch.model.labels import LabelSet
from chaffinch.model.needs import SavedNeeds, loaded_needs
from chaffinch.model.potentials import (
    Additive,
    LocallyNormalised,
    PolynomialPotentials,
    Potentials,
    Pruned,
    Pruning,
)
from chaffinch.model.protocols import Packed, Reading
from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.model.temperature import loaded_temperature, packed_temperature, tempered
from chaffinch.modelfile import ModelFile, Requirements
from chaffinch.search.legality import Need, label_states
from chaffinch.structures import Chain, Parts
from chaffinch.text.table import TokenTable

WIDEST = "*"  # the rung of all unknown words
LEAST = -30.0  # stands for the log-probability of an impossible event when words are compared


@dataclass(frozen=True)
class ChainModel:
    """score(x, y) = start[y_1] + sum_t unary_t[y_t] + sum_t pair_t[y_{t-1}][y_t] + end[y_T], second order likewise.

    source:      computes the potentials of a sentence from its features, and holds the weights
    needs:       labels that are legal only after others
    temperature: p(y|x) is proportional to exp(score / temperature); the best labels do not depend on it

    If the source has a chain in the core, rows of features go directly there. If no labelling of a sentence is
    possible, it gets the labels of its longest possible prefix and the first label after it; finite weights
    never cause that.
    """

    encoder: Encoder
    source: Potentials
    labels: LabelSet
    temperature: float = 1.0
    needs: tuple[Need, ...] = ()

    def __post_init__(self) -> None:
        _ = self.searched.source.native  # made once, with the model

    @property
    def searched(self) -> "ChainModel":
        """The chain over which labellings are searched: this one, or the one that keeps account of needs."""
        return self._by_needs if self.needs else self  # a model that held itself would outlive its last use

    @cached_property
    def _by_needs(self) -> "ChainModel":
        """The chain whose labels are split by the set of needs met after them."""
        states = label_states(self.needs, self.labels)
        label = states.label
        inner = tuple(self.labels.inner[y] for y in label.tolist())
        labels = LabelSet(self.labels.outer, inner, self.labels.outer_of[label])
        return replace(
            self, source=self.source.with_weights(self.weights.by_state(states)), labels=labels, needs=()
        )

    @property
    def lattice_labels(self) -> LabelSet:
        """The labels of the lattices."""
        return self.searched.labels

    @property
    def weights(self) -> ChainWeights:
        """The weights of the source."""
        return self.source.weights

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the encoder reads."""
        return self.encoder.columns

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """Viterbi."""
        return self.decode_rows(table.ptr, self.encoder.rows(table, threads), threads)

    def decode_rows(self, ptr: NDArray[np.int64], rows: IdRows, threads: int) -> NDArray[np.int32]:
        """The best labels of encoded tokens; ptr: the bounds of sentences."""
        if self.needs:
            return self.searched.decode_rows(ptr, rows, threads)
        if (native := self.source.native) is not None:
            return self.labels.outer_of[native.tag(ptr, rows.ptr, rows.ids, threads, rows.values)]
        chain = self._chain()
        found = [
            chain.viterbi_batch(parts, bounds, threads=threads)[0]
            for parts, bounds in self.source.blocks(rows, ptr, threads)
        ]
        return self.labels.outer_of[np.concatenate([np.zeros(0, np.int32), *found])]

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best labellings of each sentence; the score is the model's own."""
        if self.needs:
            return self.searched.kbest(table, k, threads)
        outer_of = self.labels.outer_of
        if (native := self.source.native) is not None:
            rows = self.encoder.rows(table, threads)
            labels, scores, counts = native.kbest(table.ptr, rows.ptr, rows.ids, k, threads, rows.values)
            readings = []
            for n, (a, b) in enumerate(pairwise(table.ptr.tolist())):
                block = outer_of[labels[k * a : k * b].reshape(k, b - a)]
                readings.append([Reading(block[i], float(scores[n * k + i])) for i in range(int(counts[n]))])
            return readings
        chain = self._chain()
        return [
            [Reading(outer_of[y], score) for score, y in listed]
            for parts, bounds in self.potentials(table, threads)
            for listed in chain.kbest_batch(parts, bounds, k, threads=threads)
        ]

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """p(y_t|x) by forward-backward."""
        if self.needs:
            return self.searched.marginals(table, threads)
        Y = self.weights.Y
        native = self.source.native
        if native is not None and self.temperature == 1.0:
            rows = self.encoder.rows(table, threads)
            p, _ = native.marginals(table.ptr, rows.ptr, rows.ids, threads, rows.values)
            return self.labels.collapsed(p.reshape(-1, Y))
        if isinstance(native, LinearChain):
            rows = self.encoder.rows(table, threads)
            p, log_z = native.marginals_at(
                table.ptr, rows.ptr, rows.ids, self.temperature, threads, rows.values
            )
            if np.isfinite(log_z).all():
                return self.labels.collapsed(p.reshape(-1, Y))
        chain = self._chain()
        found = [
            chain.marginals_batch(tempered(parts, self.temperature), bounds, threads=threads)[1][
                "unary"
            ].astype(np.float32)
            for parts, bounds in self.potentials(table, threads)
        ]
        return self.labels.collapsed(np.concatenate([np.zeros((0, Y), np.float32), *found]))

    def posterior(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The possible labelling of each sentence with the highest sum of marginals."""
        p, labels = self.marginals(table, threads), self.lattice_labels
        found = [
            posterior_labels(chain, parts, labels, p[a:b])
            for (chain, parts), (a, b) in zip(
                self.lattices(table, threads), pairwise(table.ptr.tolist()), strict=True
            )
        ]
        return np.concatenate([np.zeros(0, np.int32), *found]).astype(np.int32)

    def with_temperature(self, temperature: float) -> "ChainModel":
        """The same model at this temperature; below 1 its probabilities are sharper."""
        return replace(self, temperature=temperature)

    def potentials(self, table: TokenTable, threads: int) -> Iterator[tuple[Parts, NDArray[np.int64]]]:
        """Blocks of whole sentences: their potentials and bounds."""
        if self.needs:
            return self.searched.potentials(table, threads)
        return self.source.blocks(self.encoder.rows(table, threads), table.ptr, threads)

    def lattices(self, table: TokenTable, threads: int) -> Iterator[tuple[Chain, Parts]]:
        """The potentials of each sentence; pairs by position have one row fewer than the sentence has tokens."""
        if self.needs:
            yield from self.searched.lattices(table, threads)
            return
        chain = self._chain()
        for parts, bounds in self.potentials(table, threads):
            shared = {name: block for name, block in parts.items() if name not in ("unary", "pair")}
            pairs, step = parts["pair"], 0
            for a, b in pairwise(bounds.tolist()):
                pair = pairs if pairs.ndim == 2 else pairs[step : step + max(b - a - 1, 0)]
                step += len(pair)
                yield chain, Parts(unary=parts["unary"][a:b], pair=pair, **shared)

    def transitions(self) -> NDArray[np.float64]:
        """Potentials of label pairs [Y, Y]; second order: the log of the mean over the label before them."""
        w = self.weights
        pair = w.pair.astype(np.float64)
        if w.triple is None:
            return pair
        with np.errstate(divide="ignore"):  # a pair that no label may precede is impossible: -inf
            return pair + np.log(np.exp(w.triple.astype(np.float64)).mean(axis=0))

    def feature_weights(self, y: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The rows of the unary weights that have one for inner label y, and the weights."""
        return self.weights.of_label(y)

    def feature_names(self, rows: NDArray[np.int32]) -> list[str]:
        """The names of rows of the unary weights: features, or products of them."""
        return self.source.names(self.encoder, rows)

    def states(self, table: TokenTable, threads: int) -> float:
        """The mean number of labels tried at a token."""
        if not isinstance(self.source, Pruned):
            return float(self.weights.Y)
        rows = self.encoder.rows(table, threads)
        tried = self.source.native.states(table.ptr, rows.ptr, rows.ids, threads, rows.values)
        return tried / max(table.n_tokens, 1)

    def examples(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> Iterator[TaggedSentence]:
        """Features, and transitions, of some sentences of a table, which is encoded once."""
        if self.needs:
            return self.searched.examples(table, which, question, threads)
        rows = self.encoder.rows(table, threads)
        return self.encoded_examples(table, rows, self.decode_rows(table.ptr, rows, threads), which)

    def encoded_examples(
        self, table: TokenTable, rows: IdRows, decided: NDArray[np.int32], which: Sequence[int]
    ) -> Iterator[TaggedSentence]:
        """The same of a table that was encoded and decoded."""
        labels = self.labels
        for found in token_features(self.encoder, rows, table, which):
            y, made = decided[found.tokens], []
            if len(y):
                x = self.source.sentence(found, labels)
                made = [ChainExample(x, labels, found.words, y, self.temperature)]
            yield TaggedSentence([labels.outer[i] for i in y.tolist()], made)

    @property
    def widths(self) -> tuple[int, ...]:
        """Bits of weights; the log-probabilities of words are not rounded."""
        return (32,) if isinstance(self.encoder, SymbolEncoder) else (8, 6)

    def magnitudes(self) -> NDArray[np.float32]:
        """The absolute values of the weights of features; transitions are always kept.

        For an HMM: the difference of a word's row from that of an unknown word of its form.
        """
        unary = self.weights.unary
        if isinstance(self.encoder, SymbolEncoder):
            return self._word_differences(self.encoder.symbols)
        if isinstance(unary, SparseWeights):
            return np.abs(unary.values.astype(np.float32) * np.float32(unary.scale))
        return np.abs(unary.ravel())

    def shrunk(self, threshold: float, bits: int) -> "ChainModel":
        """The same model without weights below the threshold, the others rounded, features without weights removed."""
        if isinstance(self.encoder, SymbolEncoder):
            return self._with_fewer_words(self.encoder.symbols, threshold)
        if not isinstance(self.encoder, TemplateEncoder) or isinstance(self.source, PolynomialPotentials):
            raise ConfigError("a model of a kernel has no features that could be dropped")
        w = self.weights
        every = w.dense
        rounded = SparseWeights.of(np.where(np.abs(every) < threshold, np.float32(0), every), bits)
        encoder, order = self.encoder.reduced(rounded.counts > 0)
        kept = rounded.of_rows(order.astype(np.int32))
        sparse = isinstance(w.unary, SparseWeights)
        weights = replace(w, unary=kept if sparse else kept.dense(w.Y), bits=bits)
        return replace(self, encoder=encoder, source=self.source.with_weights(weights))

    def _word_differences(self, symbols: Symbols) -> NDArray[np.float32]:
        """How far each symbol's log-probabilities are from those of a wider one, times its probability.

        A word is compared with its rung, a rung with the widest one, which stays. Of equals, the earlier comes first.
        """
        V, S, every = len(symbols.words), len(symbols), np.maximum(self.weights.dense, LEAST)
        rung = Symbols([], symbols.rungs, symbols.ladder).of(symbols.words)
        widest = V + symbols.rungs.index(WIDEST)
        wider = np.append(V + rung, np.full(S - V, widest))
        found = np.abs(every - every[wider]).max(axis=1, initial=0) * np.exp(every.max(axis=1, initial=LEAST))
        found *= 1 - 1e-3 * np.arange(S) / max(S, 1)
        found[widest] = found.max(initial=0) + 1
        return found.astype(np.float32)

    def _with_fewer_words(self, symbols: Symbols, threshold: float) -> "ChainModel":
        """Drop words that differ little from unknown words of their form, and rungs in the same way."""
        differ, V = self._word_differences(symbols), len(symbols.words)
        kept = np.flatnonzero(differ >= min(threshold, float(differ.max(initial=0))))
        words = [symbols.words[i] for i in kept[kept < V].tolist()]
        rungs = [symbols.rungs[i - V] for i in kept[kept >= V].tolist()]
        weights = replace(self.weights, unary=np.ascontiguousarray(self.weights.dense[kept]))
        encoder = SymbolEncoder(replace(symbols, words=words, rungs=rungs))
        return replace(self, encoder=encoder, source=self.source.with_weights(weights))

    def packed(self) -> Packed:
        """The encoder's sections and the weights."""
        facts = self.source.facts() | packed_temperature(self.temperature)
        facts |= SavedNeeds.of(self.needs).packed()
        return self.encoder.packed() | facts | self.weights.packed()

    @classmethod
    def loaded(
        cls, file: ModelFile, encoder: Encoder, *, local: bool = False, labels: LabelSet | None = None
    ) -> "ChainModel":
        """The model of a file, every size checked against the encoder and the labels.

        local:  the model is locally normalised; the recipe knows this, the file does not say so
        labels: those of a model inside another; None: the file's
        """
        if labels is None:
            inner = file.header.labels
            labels = LabelSet.loaded(Requirements(file, Y=len(inner)), inner=inner)
        need = Requirements(file, F=encoder.n_features, Y=len(labels.inner))
        needs = loaded_needs(need, labels)
        temperature = loaded_temperature(file)
        if not Pruning.absent(need):
            pruning = Pruning.loaded(need)
            weights = ChainWeights.restored(need, (), sparse=True)
            return cls(encoder, Pruned(weights, pruning), labels, temperature, needs)
        if (products := PolynomialPotentials.loaded_products(need, encoder.n_features)) is not None:
            need = Requirements(file, F=products.rows, Y=len(labels.inner))
            weights = ChainWeights.restored(need, (), sparse=False)
            return cls(encoder, PolynomialPotentials(weights, products), labels, temperature, needs)
        templates = encoder.features.label_templates if isinstance(encoder, TemplateEncoder) else ()
        observations = tuple(template.n_observations for template in templates)
        weights = ChainWeights.restored(need, observations, sparse=False)
        source = LocallyNormalised(weights) if local else Additive(weights)
        return cls(encoder, source, labels, temperature, needs)

    def _chain(self) -> Chain:
        return Chain(self.weights.Y, order=self.weights.order)
