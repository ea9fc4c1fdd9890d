"""The linear chain whose label pairs look at the input: weights for (observation, label before, label)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import score_rows
from chaffinch.model.chain import ChainModel, ChainWeights
from chaffinch.model.chain_evidence import ChainSentence, chain_terms, summing
from chaffinch.model.encoders import TokenFeatures
from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import Packed
from chaffinch.model.sentence_blocks import BlockwiseChain, sentence_blocks
from chaffinch.model.template_encoder import TemplateEncoder
from chaffinch.modelfile import ModelFile, Requirements
from chaffinch.structures import Chain, Parts
from chaffinch.text.table import TokenTable

# Cells [tokens, Y, Y] of potentials that are made at a time.
CELLS = 1 << 23


@dataclass(frozen=True)
class BigramChainModel(BlockwiseChain):
    """A chain of first order with score(x, y) + sum_t sum_l bigrams_l[o_l(t)][y_{t-1}][y_t].

    bigrams: one array [observations, Y, Y] for each template with y[-1]
    """

    encoder: TemplateEncoder
    weights: ChainWeights
    bigrams: tuple[NDArray[np.float32], ...]
    labels: LabelSet

    def potentials(self, table: TokenTable, threads: int) -> Iterator[tuple[Parts, NDArray[np.int64]]]:
        """Blocks of whole sentences: their potentials and bounds."""
        rows = self.encoder.rows(table, threads)
        Y = len(self.labels.inner)
        unary = np.zeros((rows.n_tokens, Y), np.float32)
        score_rows(rows.ptr, rows.ids, self.weights.unary, unary)
        for a, b, bounds in sentence_blocks(table.ptr, max(1, CELLS // Y**2)):
            inside = np.ones(b - a, bool)
            inside[bounds[:-1][np.diff(bounds) > 0]] = False
            after = a + np.flatnonzero(inside)
            pair = np.repeat(self.weights.pair[None], len(after), axis=0)
            for l, table_l in enumerate(self.bigrams):
                o = rows.observations[after, l]
                pair[o >= 0] += table_l[o[o >= 0]]
            yield Parts(unary=unary[a:b], pair=pair, start=self.weights.start, end=self.weights.end), bounds

    def scored_as(self, found: TokenFeatures) -> ChainSentence:
        """Features, pairs of labels, and pairs with what is observed beside them."""
        w, names = self.weights, self.labels.inner
        weights = [w.unary[ids].astype(np.float64) for ids in found.ids]
        sums = summing(weights)
        seen = found.observations
        blocks = {k: v.astype(np.float64) for k, v in w.arrays().items() if k != "unary"}
        pair = np.repeat(blocks["pair"][None], max(len(weights) - 1, 0), axis=0)
        for l, table_l in enumerate(self.bigrams):
            known = seen[1:, l] >= 0
            pair[known] += table_l[seen[1:, l][known]]
        shared = {"start": blocks["start"], "end": blocks["end"], "pair": pair}
        labels = chain_terms(names, blocks, len(weights))

        def terms(y: Sequence[int], t: int) -> dict[str, float]:
            more = {}
            for l, table_l in enumerate(self.bigrams if t else ()):
                if (o := int(seen[t, l])) >= 0:
                    shown = self.encoder.features.observation_name(l, o)
                    more[f"{names[y[t - 1]]} → {names[y[t]]}|{shown}"] = float(table_l[o, y[t - 1], y[t]])
            return labels(y, t) | more

        return ChainSentence(
            Chain(len(names)),
            self.labels,
            found.words,
            weights,
            found.names,
            lambda kept: Parts(unary=sums(kept), **shared),
            terms,
        )

    def packed(self) -> Packed:
        """The encoder's sections and the weights."""
        encoder = self.encoder.packed()
        bigrams = {f"bigrams.{l}": table for l, table in enumerate(self.bigrams)}
        return Packed(
            details=encoder.details,
            arrays={**encoder.arrays, **self.weights.arrays(), **bigrams},
            strings=encoder.strings,
            templates=encoder.templates,
            droppable=encoder.droppable,
        )

    @classmethod
    def loaded(cls, file: ModelFile, encoder: TemplateEncoder) -> "BigramChainModel":
        """The model of a file, every size checked against the encoder and the labels."""
        chain = ChainModel.loaded(file, encoder)
        need = Requirements(file, Y=len(chain.labels.inner))
        bigrams = tuple(
            need.array(f"bigrams.{l}", np.float32, (template.n_observations, "Y", "Y"), finite=True)
            for l, template in enumerate(encoder.features.label_templates)
        )
        return cls(encoder, chain.weights, bigrams, chain.labels)
