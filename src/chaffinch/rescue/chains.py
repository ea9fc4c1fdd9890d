"""Shared by the readers of chain models: limits, and building the tagger from the weights."""

from collections.abc import Sequence

import numpy as np

from chaffinch.model import LabelSet
from chaffinch.model.encoders import Encoder
from chaffinch.model.foreign_chain import ForeignChain, ForeignChainModel
from chaffinch.recipes.rescued import RescuedTagger
from chaffinch.rescue.foreign import ForeignFile, Rescued

MOST_LABELS = 4096  # pairs of them are held at once


def check_labels(file: ForeignFile, offset: int, labels: Sequence[str]) -> None:
    """Raise if there are no labels, too many, or duplicates."""
    if not 1 <= len(labels) <= MOST_LABELS:
        raise file.fault(offset, f"from 1 to {MOST_LABELS} labels", len(labels))
    if len(set(labels)) < len(labels):
        twice = next(label for n, label in enumerate(labels) if label in labels[:n])
        raise file.fault(offset, "distinct labels", f"{twice!r} twice")


def labels_in_order(labels: Sequence[str]) -> LabelSet:
    """Labels that are scored in the order of the tool, which breaks ties, and shown in alphabetical order."""
    shown = tuple(sorted(labels))
    place = {label: i for i, label in enumerate(shown)}
    return LabelSet(shown, tuple(labels), np.array([place[label] for label in labels], np.int32))


def tagger(
    told: str,
    tool: str,
    labels: Sequence[str],
    encoder: Encoder,
    chain: ForeignChain,
    columns: tuple[str, ...],
) -> Rescued:
    """A chain model with the other attributes of a tagger."""
    model = ForeignChainModel(encoder, chain, labels_in_order(labels))
    return Rescued(told, None, model, RescuedTagger(tool=tool), {"columns_": columns, "confidence_": None})
