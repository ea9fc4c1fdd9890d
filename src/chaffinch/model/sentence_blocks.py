"""Chains whose potentials differ from position to position: made and decoded a block of sentences at a time."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.chain_evidence import ChainSentence, chains_evidence
from chaffinch.model.encoders import TokenFeatures
from chaffinch.model.evidence import Evidence, Question
from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import Reading
from chaffinch.model.template_encoder import TemplateEncoder
from chaffinch.structures import Chain, Parts
from chaffinch.text.table import TokenTable


class BlockwiseChain:
    """Decoding for models that say their potentials block by block: pairs are [tokens, Y, Y], too much for all."""

    encoder: TemplateEncoder
    labels: LabelSet

    def potentials(self, table: TokenTable, threads: int) -> Iterator[tuple[Parts, NDArray[np.int64]]]:
        """Blocks of whole sentences: their potentials and bounds."""
        raise NotImplementedError

    def scored_as(self, found: TokenFeatures) -> ChainSentence:
        """One sentence as a chain of features and labels that have names."""
        raise NotImplementedError

    @property
    def columns(self) -> tuple[str, ...]:
        """The encoder's."""
        return self.encoder.columns

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """Viterbi."""
        chain = Chain(len(self.labels.inner))
        found = [
            chain.viterbi_batch(parts, bounds, threads=threads)[0]
            for parts, bounds in self.potentials(table, threads)
        ]
        return self.labels.outer_of[np.concatenate([np.zeros(0, np.int32), *found])]

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best labellings of each sentence; the score is the model's own."""
        chain = Chain(len(self.labels.inner))
        return [
            [Reading(self.labels.outer_of[y], score) for score, y in readings]
            for parts, bounds in self.potentials(table, threads)
            for readings in chain.kbest_batch(parts, bounds, k, threads=threads)
        ]

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """p(y_t|x) by forward-backward."""
        Y = len(self.labels.inner)
        chain = Chain(Y)
        found = [
            chain.marginals_batch(parts, bounds, threads=threads)[1]["unary"]
            for parts, bounds in self.potentials(table, threads)
        ]
        return self.labels.collapsed(np.concatenate([np.zeros((0, Y), np.float32), *found]))

    def lattices(self, table: TokenTable, threads: int) -> Iterator[tuple[Chain, Parts]]:
        """A block has pairs of the tokens that follow another: one less than tokens for each sentence."""
        chain = Chain(len(self.labels.inner))
        for parts, bounds in self.potentials(table, threads):
            shared = {name: block for name, block in parts.items() if name not in ("unary", "pair")}
            step = 0
            for a, b in pairwise(bounds.tolist()):
                pair = parts["pair"][step : step + max(b - a - 1, 0)]
                step += len(pair)
                yield chain, Parts(unary=parts["unary"][a:b], pair=pair, **shared)

    def evidence(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> list[list[Evidence]]:
        """What each decision was made of, against its best rival."""
        return chains_evidence(self, self.scored_as, table, which, question, threads)


def sentence_blocks(ptr: NDArray[np.int64], tokens: int) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Runs of whole sentences of about so many tokens: the first token, the end, and the sentences' bounds from 0.

    >>> [(a, b, bounds.tolist()) for a, b, bounds in sentence_blocks(np.array([0, 2, 3, 7, 8]), 3)]
    [(0, 3, [0, 2, 3]), (3, 7, [0, 4]), (7, 8, [0, 1])]
    """
    first = 0
    for n in range(1, len(ptr)):
        if ptr[n] - ptr[first] >= tokens or n == len(ptr) - 1:
            yield int(ptr[first]), int(ptr[n]), ptr[first : n + 1] - ptr[first]
            first = n
