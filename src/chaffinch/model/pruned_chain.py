"""A chain of hundreds of labels as a tagger: weights of few labels a feature, few labels tried at a token."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import PrunedChain, score_rows
from chaffinch.errors import ModelFileError
from chaffinch.model.chain_evidence import ChainSentence, Kept, chain_terms, chains_evidence, summing
from chaffinch.model.encoders import Encoder, TokenFeatures
from chaffinch.model.evidence import Evidence, Question
from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import Packed, Reading
from chaffinch.model.sentence_blocks import sentence_blocks
from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.modelfile import ModelFile, Requirements
from chaffinch.structures import Chain, Parts
from chaffinch.text.table import TokenTable

PRUNING = "pruning"

# Potentials are made for so many tokens at a time.
TOKENS = 1024


@dataclass(frozen=True)
class Pruning:
    """A token keeps the labels that its own features give a share of at least ``threshold``, ``most`` of them."""

    threshold: float
    most: int


@dataclass(frozen=True)
class PrunedChainModel:
    """The score of :class:`ChainModel`, over the labels that pruning leaves at each token.

    unary: sparse [F, Y]; start, end: float32 [Y]; pair: float32 [Y, Y], minus infinity forbids
    """

    encoder: Encoder
    unary: SparseWeights
    start: NDArray[np.float32]
    end: NDArray[np.float32]
    pair: NDArray[np.float32]
    labels: LabelSet
    pruning: Pruning

    @cached_property
    def _kernel(self) -> PrunedChain:
        ptr = np.concatenate([[0], np.cumsum(self.unary.counts, dtype=np.int64)])
        weights = self.unary.values.astype(np.float32) * np.float32(self.unary.scale)
        cut = (self.pruning.threshold, self.pruning.most)
        return PrunedChain(ptr, self.unary.columns, weights, self.start, self.end, self.pair, *cut)

    @property
    def columns(self) -> tuple[str, ...]:
        """The encoder's."""
        return self.encoder.columns

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """Viterbi over the lattice."""
        rows = self.encoder.rows(table, threads)
        inner, _, _ = self._kernel.kbest(table.ptr, rows.ptr, rows.ids, 1, threads)
        return self.labels.outer_of[inner]

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best labellings that the lattice of each sentence has."""
        rows = self.encoder.rows(table, threads)
        labels, scores, found = self._kernel.kbest(table.ptr, rows.ptr, rows.ids, k, threads)
        readings, at = [], 0
        for n, length in enumerate(np.diff(table.ptr).tolist()):
            block = self.labels.outer_of[labels[at : at + k * length].reshape(k, length)]
            at += k * length
            readings.append([Reading(block[i], float(scores[n * k + i])) for i in range(int(found[n]))])
        return readings

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """p(y_t|x) by forward-backward over the lattice."""
        rows = self.encoder.rows(table, threads)
        p, _ = self._kernel.marginals(table.ptr, rows.ptr, rows.ids, threads)
        return self.labels.collapsed(p.reshape(-1, len(self.labels.inner)))

    def lattices(self, table: TokenTable, threads: int) -> Iterator[tuple[Chain, Parts]]:
        """Labels that are not tried at a token have minus infinity there."""
        rows = self.encoder.rows(table, threads)
        Y = len(self.labels.inner)
        chain = Chain(Y)
        for a, b, bounds in sentence_blocks(table.ptr, TOKENS):
            ptr, ids = rows.ptr[a : b + 1] - rows.ptr[a], rows.ids[rows.ptr[a] : rows.ptr[b]]
            used, places = np.unique(ids, return_inverse=True)
            unary = np.zeros((b - a, Y), np.float32)
            score_rows(ptr, places.astype(np.int32), self.unary.of_rows(used).dense(Y), unary)
            p, _ = self._kernel.marginals(bounds, ptr, ids, threads)
            unary[p.reshape(-1, Y) == 0] = -np.inf
            for begin, end in pairwise(bounds.tolist()):
                yield chain, Parts(unary=unary[begin:end], pair=self.pair, start=self.start, end=self.end)

    def evidence(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> list[list[Evidence]]:
        """As a chain's, over the labels that are tried."""
        return chains_evidence(self, self._sentence, table, which, question, threads)

    def _sentence(self, found: TokenFeatures) -> ChainSentence:
        Y = len(self.labels.inner)
        every = found.ids
        weights = [self.unary.of_rows(ids).dense(Y).astype(np.float64) for ids in every]
        sums = summing(weights)
        blocks = {
            name: block.astype(np.float64)
            for name, block in (("start", self.start), ("end", self.end), ("pair", self.pair))
        }
        bounds = np.array([0, len(weights)], np.int64)

        def tried(kept: Kept) -> Parts:
            unary = sums(kept)
            left = [ids[kept[t]] if t in kept else ids for t, ids in enumerate(every)]
            ptr = np.cumsum([0, *map(len, left)], dtype=np.int64)
            p, _ = self._kernel.marginals(bounds, ptr, np.concatenate(left), 1)
            unary[p.reshape(-1, Y) == 0] = -np.inf
            return Parts(unary=unary, **blocks)

        def whole() -> Parts:
            return Parts(unary=sums({}), **blocks)

        labels = chain_terms(self.labels.inner, blocks, len(weights))
        return ChainSentence(
            Chain(Y), self.labels, found.words, weights, found.names, tried, labels, whole=whole
        )

    def states(self, table: TokenTable, threads: int) -> float:
        """How many labels are tried at a token, on the mean."""
        rows = self.encoder.rows(table, threads)
        return self._kernel.states(table.ptr, rows.ptr, rows.ids, threads) / max(table.n_tokens, 1)

    def transitions(self) -> NDArray[np.float64]:
        """Potentials of label pairs [Y, Y]."""
        return self.pair.astype(np.float64)

    def packed(self) -> Packed:
        """The encoder's sections and the weights."""
        encoder = self.encoder.packed()
        chain = {"start": self.start, "end": self.end, "pair": self.pair}
        return Packed(
            details={**encoder.details, PRUNING: vars(self.pruning)},
            arrays={**encoder.arrays, **chain, **self.unary.arrays("unary")},
            strings=encoder.strings,
            templates=encoder.templates,
            droppable=encoder.droppable,
        )

    @classmethod
    def loaded(cls, file: ModelFile, encoder: Encoder) -> "PrunedChainModel":
        """The model of a file, every size and index checked."""
        details, inner = file.header.details, file.header.labels
        outer, cut = details.get("outer"), details.get(PRUNING)
        if not isinstance(outer, list) or not all(isinstance(label, str) for label in outer):
            raise ModelFileError(f"{file.source}: its header lacks the labels as users see them")
        if not isinstance(cut, dict) or not _is_pruning(cut):
            raise ModelFileError(f"{file.source}: its header says nothing sound about pruning")
        need = Requirements(file, Y=len(inner))
        outer_of = need.array("outer_of", np.int32, ("Y",), below=len(outer))
        chain = {
            name: need.array(name, np.float32, shape)
            for name, shape in (("start", ("Y",)), ("end", ("Y",)), ("pair", ("Y", "Y")))
        }
        for name, w in chain.items():
            if np.isnan(w).any() or np.isposinf(w).any():
                raise ModelFileError(f"{file.source}: array {name!r} holds NaN or +infinity")
        unary = SparseWeights.loaded(file, "unary", encoder.n_features, len(inner))
        pruning = Pruning(float(cut["threshold"]), int(cut["most"]))
        return cls(encoder, unary, labels=LabelSet(tuple(outer), inner, outer_of), pruning=pruning, **chain)


def _is_pruning(cut: dict[str, object]) -> bool:
    threshold, most = cut.get("threshold"), cut.get("most")
    return (
        isinstance(threshold, int | float)
        and 0 <= threshold <= 1
        and isinstance(most, int)
        and not isinstance(most, bool)
        and most >= 1
    )
