"""The linear chain as a tagger: feature rows, one table of weights per part, exact decoding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import LinearChain, score_rows
from chaffinch.errors import ModelFileError
from chaffinch.model.chain_evidence import ChainSentence, chain_terms, chains_evidence, summing
from chaffinch.model.encoders import Encoder, TokenFeatures
from chaffinch.model.evidence import Evidence, Question
from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import Packed, Reading
from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.modelfile import ModelFile, Requirements
from chaffinch.scorers import Linear
from chaffinch.structures import Chain, Parts
from chaffinch.text.table import TokenTable

Legal = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]
"""Which label may follow which [Y, Y], begin [Y] and end [Y]."""

SECOND_ORDER = ("triple", "first", "last")

# Unary weights of which more than this share are zero are stored without their zeros.
SPARSE = 0.5


@dataclass(frozen=True)
class ChainWeights:
    """The weights of a chain, float32, by part; minus infinity forbids.

    unary [F, Y], start [Y], end [Y], pair [Y, Y]; second order: triple [Y, Y, Y], first [Y, Y], last [Y, Y].
    """

    unary: NDArray[np.float32]
    start: NDArray[np.float32]
    end: NDArray[np.float32]
    pair: NDArray[np.float32]
    triple: NDArray[np.float32] | None = None
    first: NDArray[np.float32] | None = None
    last: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, scorer: Linear, legal: Legal | None) -> "ChainWeights":
        """A copy of what a scorer of a first-order chain learnt; what is not legal weighs minus infinity."""
        unary, pair, start, end = (scorer.block(name).copy() for name in ("unary", "pair", "start", "end"))
        if legal is not None:
            follows, starts, ends = legal
            pair[~follows], start[0, ~starts], end[0, ~ends] = -np.inf, -np.inf, -np.inf
        return cls(unary, start[0], end[0], pair)

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Those that are there, by name."""
        return {name: a for name, a in vars(self).items() if a is not None}


@dataclass(frozen=True)
class ChainModel:
    """score(x, y) = start[y_1] + sum of unary[features at t][y_t] + sum of pair[y_{t-1}][y_t] + end[y_T].

    bits: unary weights are multiples of a scale and a file stores them as whole numbers of so many bits

    A sentence that no labelling can produce gets the labels of its longest possible beginning, and from there
    on the first label; finite weights never lead there.
    """

    encoder: Encoder
    weights: ChainWeights
    labels: LabelSet
    bits: int | None = None

    def __post_init__(self) -> None:
        w = self.weights
        kernel = LinearChain(w.unary, w.start, w.end, w.pair, w.triple, w.first, w.last)
        object.__setattr__(self, "_kernel", kernel)

    @property
    def columns(self) -> tuple[str, ...]:
        """The encoder's."""
        return self.encoder.columns

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """Viterbi."""
        rows = self.encoder.rows(table, threads)
        inner = self._native().tag(table.ptr, rows.ptr, rows.ids, threads)
        return self.labels.outer_of[inner]

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best labellings of each sentence; the score is the model's own."""
        rows = self.encoder.rows(table, threads)
        labels, scores, found = self._native().kbest(table.ptr, rows.ptr, rows.ids, k, threads)
        readings: list[list[Reading]] = []
        at = 0
        for n, length in enumerate(np.diff(table.ptr).tolist()):
            block = labels[at : at + k * length].reshape(k, length)
            at += k * length
            readings.append(
                [
                    Reading(self.labels.outer_of[block[i]], float(scores[n * k + i]))
                    for i in range(int(found[n]))
                ]
            )
        return readings

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """p(y_t|x) by forward-backward."""
        rows = self.encoder.rows(table, threads)
        p, _ = self._native().marginals(table.ptr, rows.ptr, rows.ids, threads)
        return self.labels.collapsed(p.reshape(-1, len(self.labels.inner)))

    def lattices(self, table: TokenTable, threads: int) -> Iterator[tuple[Chain, Parts]]:
        """Unary potentials are the sums of the rows' weights; all others are the same for every sentence."""
        w, rows = self.weights, self.encoder.rows(table, threads)
        chain = Chain(len(self.labels.inner), order=1 if w.triple is None else 2)
        unary = np.zeros((len(rows.ptr) - 1, chain.Y), np.float32)
        score_rows(rows.ptr, rows.ids, w.unary, unary)
        shared = {name: block for name, block in w.arrays().items() if name != "unary"}
        for a, b in pairwise(table.ptr.tolist()):
            yield chain, Parts(unary=unary[a:b], **shared)

    def transitions(self) -> NDArray[np.float64]:
        """Potentials of label pairs [Y, Y]; second order: the log of the mean over the label before them."""
        w = self.weights
        pair = w.pair.astype(np.float64)
        if w.triple is None:
            return pair
        with np.errstate(
            divide="ignore"
        ):  # a pair that nothing may precede is as impossible as its -inf says
            return pair + np.log(np.exp(w.triple.astype(np.float64)).mean(axis=0))

    def evidence(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> list[list[Evidence]]:
        """Features, and pairs and triples of labels."""
        return chains_evidence(self, self._sentence, table, which, question, threads)

    def _sentence(self, found: TokenFeatures) -> ChainSentence:
        weights = [self.weights.unary[ids].astype(np.float64) for ids in found.ids]
        sums = summing(weights)
        blocks = {k: v.astype(np.float64) for k, v in self.weights.arrays().items() if k != "unary"}
        return ChainSentence(
            Chain(len(self.labels.inner), order=1 if self.weights.triple is None else 2),
            self.labels,
            found.words,
            weights,
            found.names,
            lambda kept: Parts(unary=sums(kept), **blocks),
            chain_terms(self.labels.inner, blocks, len(weights)),
        )

    def packed(self) -> Packed:
        """The encoder's sections and the weights."""
        encoder = self.encoder.packed()
        weights: dict[str, NDArray[Any]] = dict(self.weights.arrays())
        zeros = weights["unary"].size - np.count_nonzero(weights["unary"])
        if self.bits is not None or zeros > SPARSE * weights["unary"].size:
            weights |= SparseWeights.of(weights.pop("unary"), self.bits).arrays("unary")
        return Packed(
            details=encoder.details,
            arrays={**encoder.arrays, **weights},
            strings=encoder.strings,
            templates=encoder.templates,
            droppable=encoder.droppable,
        )

    @classmethod
    def loaded(cls, file: ModelFile, encoder: Encoder) -> "ChainModel":
        """The model of a file, every size checked against the encoder and the labels."""
        inner = file.header.labels
        outer = file.header.details.get("outer")
        if not isinstance(outer, list) or not all(isinstance(label, str) for label in outer):
            raise ModelFileError(f"{file.source}: its header lacks the labels as users see them")
        need = Requirements(file, F=encoder.n_features, Y=len(inner))
        outer_of = need.array("outer_of", np.int32, ("Y",), below=len(outer))
        shapes: dict[str, tuple[str, ...]] = {
            "unary": ("F", "Y"),
            "start": ("Y",),
            "end": ("Y",),
            "pair": ("Y", "Y"),
            "triple": ("Y", "Y", "Y"),
            "first": ("Y", "Y"),
            "last": ("Y", "Y"),
        }
        if "triple" not in file.arrays:
            shapes = {name: shape for name, shape in shapes.items() if name not in SECOND_ORDER}
        sparse = None
        if "unary" not in file.arrays:
            sparse = SparseWeights.loaded(file, "unary", encoder.n_features, len(inner))
            del shapes["unary"]
        weights = {name: need.array(name, np.float32, shape) for name, shape in shapes.items()}
        if sparse is not None:
            weights["unary"] = sparse.dense(len(inner))
        for name, w in weights.items():
            if np.isnan(w).any() or np.isposinf(w).any():
                raise ModelFileError(f"{file.source}: array {name!r} holds NaN or +infinity")
        labels = LabelSet(tuple(outer), inner, outer_of)
        return cls(encoder, ChainWeights(**weights), labels, None if sparse is None else sparse.bits)

    def _native(self) -> Any:
        return self._kernel  # type: ignore[attr-defined]
