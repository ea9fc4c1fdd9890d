"""Held-out sentences that are scored after each pass with the weights of their own features alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.rows import FeatureRows
from chaffinch.model.encoders import EncodedTable, TemplateEncoder
from chaffinch.scorers import Layout, Linear
from chaffinch.text.table import TokenTable

IDS = 1 << 20  # ids that are renumbered at a time


@dataclass(frozen=True)
class ScoredRows:
    """The rows of some sentences over the features that occur in them, numbered from 0.

    features: their numbers among all features, rising, int32
    encoder:  has the rows of the sentences, so that they are encoded once

    A model of these rows answers as the whole model does, and the whole table of weights is not copied to make it.
    """

    features: NDArray[np.int32]
    encoder: EncodedTable

    @classmethod
    def of(cls, table: TokenTable, encoder: TemplateEncoder, threads: int) -> "ScoredRows":
        """The rows of a table."""
        rows = encoder.rows(table, threads)
        found = np.zeros(0, np.int32)
        for at in range(0, len(rows.ids), IDS):
            found = np.union1d(found, rows.ids[at : at + IDS])
        ids = np.empty(len(rows.ids), np.int32)
        for at in range(0, len(ids), IDS):
            ids[at : at + IDS] = np.searchsorted(found, rows.ids[at : at + IDS])
        own = FeatureRows(rows.ptr, ids, rows.observations, rows.sentences, rows.values)
        return cls(found, EncodedTable(encoder, own, table))

    def scorer(self, whole: Linear, layout: Layout) -> Linear:
        """The weights of these features, and all others but those of features; layout: with as many features."""
        own = Linear(layout)
        for block in layout:
            taken = whole.block(block.name)
            own.block(block.name)[...] = taken[self.features] if block.name == "unary" else taken
        return own
