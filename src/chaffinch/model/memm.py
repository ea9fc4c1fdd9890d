"""The maximum-entropy Markov model: one softmax per position, given the label before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import score_rows
from chaffinch.model.chain import ChainModel, ChainWeights
from chaffinch.model.chain_evidence import (
    START,
    ChainSentence,
    Kept,
    chain_terms,
    summing,
)
from chaffinch.model.encoders import TokenFeatures
from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import Packed
from chaffinch.model.sentence_blocks import BlockwiseChain, sentence_blocks
from chaffinch.model.template_encoder import TemplateEncoder
from chaffinch.modelfile import ModelFile
from chaffinch.structures import Chain, Parts
from chaffinch.text.table import TokenTable

# Cells [tokens, Y, Y] of log-probabilities that are made at a time.
CELLS = 1 << 22


@dataclass(frozen=True)
class MemmModel(BlockwiseChain):
    """p(y|x) = product over t of p(y_t | y_{t-1}, x), each proportional to exp(unary_t[y_t] + pair[y_{t-1}][y_t]).

    Decoded by Viterbi over the logarithms, which is exact: the score of a labelling is its log-probability.
    A transition whose weight is minus infinity has probability zero.
    """

    encoder: TemplateEncoder
    weights: ChainWeights
    labels: LabelSet

    def potentials(self, table: TokenTable, threads: int) -> Iterator[tuple[Parts, NDArray[np.int64]]]:
        """Log-probabilities: log p(y_1|x) as unary of the first token, log p(y_t|y_{t-1}, x) as pairs."""
        rows = self.encoder.rows(table, threads)
        w, Y = self.weights, len(self.labels.inner)
        scores = np.zeros((rows.n_tokens, Y), np.float32)
        score_rows(rows.ptr, rows.ids, w.unary, scores)
        for a, b, bounds in sentence_blocks(table.ptr, max(1, CELLS // Y**2)):
            starts = bounds[:-1][np.diff(bounds) > 0]
            inside = np.ones(b - a, bool)
            inside[starts] = False
            unary = np.zeros((b - a, Y), np.float32)
            unary[starts] = _log_softmax(scores[a + starts] + w.start)
            pair = _log_softmax(scores[a:b][inside][:, None, :] + w.pair)
            yield Parts(unary=unary, pair=pair, end=w.end), bounds

    def scored_as(self, found: TokenFeatures) -> ChainSentence:
        """Features, pairs of labels, and what a decision loses to the sum over its labels: its normaliser."""
        w, names = self.weights, self.labels.inner
        weights = [w.unary[ids].astype(np.float64) for ids in found.ids]
        sums = summing(weights)
        start, pair, end = (block.astype(np.float64) for block in (w.start, w.pair, w.end))

        def potentials(kept: Kept) -> Parts:
            scores = sums(kept)
            unary = np.zeros_like(scores)
            unary[:1] = _log_softmax(scores[:1] + start)
            return Parts(unary=unary, pair=_log_softmax(scores[1:, None, :] + pair), end=end)

        whole = sums({})
        labels = chain_terms(names, {"start": start, "pair": pair, "end": end}, len(weights))

        def terms(y: Sequence[int], t: int) -> dict[str, float]:
            row = start if t == 0 else pair[y[t - 1]]
            after = START if t == 0 else names[y[t - 1]]
            return labels(y, t) | {f"normaliser after {after}": -_log_sum(whole[t] + row)}

        chain = Chain(len(names))
        return ChainSentence(chain, self.labels, found.words, weights, found.names, potentials, terms)

    def packed(self) -> Packed:
        """The encoder's sections and the weights."""
        return ChainModel(self.encoder, self.weights, self.labels).packed()

    @classmethod
    def loaded(cls, file: ModelFile, encoder: TemplateEncoder) -> "MemmModel":
        """The model of a file, every size checked against the encoder and the labels."""
        chain = ChainModel.loaded(file, encoder)
        return cls(encoder, chain.weights, chain.labels)


def _log_sum(scores: NDArray[np.float64]) -> float:
    """log of the sum of exp(scores)."""
    return float(np.logaddexp.reduce(scores))


def _log_softmax(scores: NDArray[Any]) -> NDArray[Any]:
    """Along the last axis; a row in which nothing is allowed stays so."""
    top = np.maximum(scores.max(axis=-1, keepdims=True), np.finfo(np.float32).min)
    shifted = scores - top
    with np.errstate(divide="ignore"):
        return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
