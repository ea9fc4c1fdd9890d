"""A chain whose positions are scored through a polynomial kernel, in the primal: weights of products of features."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ModelFileError
from chaffinch.model.chain import ChainModel, ChainWeights
from chaffinch.model.chain_evidence import ChainSentence, chain_evidence, chain_terms, summing
from chaffinch.model.encoders import Encoder, Rows
from chaffinch.model.evidence import Evidence, Question
from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import Packed, Reading
from chaffinch.modelfile import ModelFile
from chaffinch.scorers import Layout
from chaffinch.scorers.monomials import Monomials
from chaffinch.structures import Chain, Parts
from chaffinch.text.document import WORD
from chaffinch.text.table import TokenTable

KERNELS = {1: "linear", 2: "quadratic", 3: "cubic"}


@dataclass(frozen=True)
class PolynomialChainModel:
    """score(x, y) as a chain's, with unary scores summed over the products of up to three features of a position.

    The products are counted off as they are summed; neither they nor a Gram matrix is ever stored.
    """

    encoder: Encoder
    map: Monomials
    weights: ChainWeights
    labels: LabelSet

    @property
    def columns(self) -> tuple[str, ...]:
        """The encoder's."""
        return self.encoder.columns

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """Viterbi."""
        labels, _ = self._chain().viterbi_batch(self._potentials(table, threads), table.ptr, threads=threads)
        return self.labels.outer_of[labels]

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best labellings of each sentence."""
        found = self._chain().kbest_batch(self._potentials(table, threads), table.ptr, k, threads=threads)
        return [[Reading(self.labels.outer_of[y], score) for score, y in listed] for listed in found]

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """p(y_t|x) by forward-backward."""
        _, expected = self._chain().marginals_batch(
            self._potentials(table, threads), table.ptr, threads=threads
        )
        return self.labels.collapsed(expected["unary"].astype(np.float32))

    def lattices(self, table: TokenTable, threads: int) -> Iterator[tuple[Chain, Parts]]:
        """Unary potentials are the kernel's; all others are the same for every sentence."""
        chain, parts = self._chain(), self._potentials(table, threads)
        shared = {name: block for name, block in parts.items() if name != "unary"}
        for a, b in pairwise(table.ptr.tolist()):
            yield chain, Parts(unary=parts["unary"][a:b], **shared)

    def evidence(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> list[list[Evidence]]:
        """Products of features, and pairs of labels. A feature is in many products, so none can be left out alone."""
        decided, words = self.decode(table, threads), table.lists(WORD)
        ptr, ids = rising(self.encoder.rows(table, threads), self.encoder.n_features)
        found = []
        for n in which:
            a, b = int(table.ptr[n]), int(table.ptr[n + 1])
            bounds, products = self.map.expanded(ptr[a : b + 1] - ptr[a], ids[ptr[a] : ptr[b]])
            rows = [products[i:j] for i, j in pairwise(bounds.tolist())]
            found.append(chain_evidence(self._sentence(words[n], rows), decided[a:b], question))
        return found

    def _sentence(self, words: Sequence[str], rows: Sequence[NDArray[np.int32]]) -> ChainSentence:
        weights = [self.weights.unary[r].astype(np.float64) for r in rows]
        sums = summing(weights)
        blocks = {k: v.astype(np.float64) for k, v in self.weights.arrays().items() if k != "unary"}
        return ChainSentence(
            Chain(len(self.labels.inner)),
            self.labels,
            words,
            weights,
            lambda t, places: self.names(rows[t][places]),
            lambda kept: Parts(unary=sums(kept), **blocks),
            chain_terms(self.labels.inner, blocks, len(weights)),
            fixed=True,
        )

    def transitions(self) -> NDArray[np.float64]:
        """Potentials of label pairs [Y, Y]."""
        return self.weights.pair.astype(np.float64)

    def names(self, rows: NDArray[np.int32]) -> list[str]:
        """What is multiplied in rows of the weights, such as ``bit3[0]=1 & bit9[0]=1``; row 0 is the constant."""
        factors = [self.map.factors(row) for row in rows.tolist()]
        single = sorted({f for product in factors for f in product})
        named = dict(zip(single, self.encoder.names(np.array(single, np.int32)), strict=True))
        return [" & ".join(named[f] for f in product) or "constant" for product in factors]

    def packed(self) -> Packed:
        """The encoder's sections, the kernel and the weights."""
        encoder = self.encoder.packed()
        kernel = {"degree": self.map.degree, "gamma": self.map.gamma, "offset": self.map.offset}
        return Packed(
            details={**encoder.details, "kernel": kernel},
            arrays={**encoder.arrays, **self.weights.arrays()},
            strings=encoder.strings,
            templates=encoder.templates,
            droppable=encoder.droppable,
        )

    @classmethod
    def loaded(cls, file: ModelFile, encoder: Encoder) -> "PolynomialChainModel":
        """The model of a file, every size checked."""
        kernel = file.header.details.get("kernel")
        numbers: list[Any] = (
            [kernel.get(k) for k in ("degree", "gamma", "offset")] if isinstance(kernel, dict) else []
        )
        if (
            len(numbers) != 3
            or type(numbers[0]) is not int
            or numbers[0] not in KERNELS
            or not all(isinstance(v, float) and 0 < v < np.inf for v in numbers[1:])
        ):
            raise ModelFileError(f"{file.source}: its header lacks a kernel of degree, gamma and offset")
        map = Monomials(encoder.n_features, numbers[0], float(numbers[1]), float(numbers[2]))
        chain = ChainModel.loaded(file, _Products(encoder, map))
        return cls(encoder, map, chain.weights, chain.labels)

    def _chain(self) -> Chain:
        w = self.weights
        return Chain(len(w.start), w.pair > -np.inf, w.start > -np.inf, w.end > -np.inf)

    def _potentials(self, table: TokenTable, threads: int) -> Parts:
        ptr, ids = rising(self.encoder.rows(table, threads), self.encoder.n_features)
        Y = len(self.weights.start)
        unary = self.map.score(ptr, ids, self._padded())[:, :Y]
        w = self.weights
        return Parts(unary=np.ascontiguousarray(unary), pair=w.pair, start=w.start, end=w.end)

    def _padded(self) -> NDArray[np.float32]:
        """The unary weights in rows of whole vectors, made once."""
        made: NDArray[np.float32] | None = self.__dict__.get("_rows")
        if made is None:
            block = Layout.choice(*self.weights.unary.shape)["choice"]
            made = np.zeros((block.rows, block.stride), np.float32)
            made[:, : block.columns] = self.weights.unary
            object.__setattr__(self, "_rows", made)
        return made


@dataclass(frozen=True)
class _Products:
    """An encoder that has as many features as there are products of another's."""

    encoder: Encoder
    map: Monomials

    @property
    def columns(self) -> tuple[str, ...]:
        return self.encoder.columns

    @property
    def n_features(self) -> int:
        return self.map.rows

    def rows(self, table: TokenTable, threads: int) -> Rows:
        return self.encoder.rows(table, threads)

    def names(self, ids: NDArray[np.int32]) -> list[str]:
        return self.encoder.names(ids)

    def packed(self) -> Packed:
        return self.encoder.packed()


def rising(rows: Rows, F: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The same rows with the ids of each in rising order, each once."""
    T = len(rows.ptr) - 1
    keys = np.unique(np.repeat(np.arange(T), np.diff(rows.ptr)) * max(F, 1) + rows.ids)
    of, ids = np.divmod(keys, max(F, 1))
    ptr = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=T))]).astype(np.int64)
    return ptr, ids.astype(np.int32)
