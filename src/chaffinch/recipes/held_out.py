"""Held-out data while learning: the score that decides which pass is kept and when to stop."""

import numpy as np

from chaffinch.evaluate.tags import TagScorer
from chaffinch.model import LabelSet, TaggingModel
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable


class HeldOut:
    """Scores models on the same sentences again and again; labels are understood once."""

    def __init__(self, dev: TokenTable, labels: LabelSet, threads: int) -> None:
        column = dev.columns[LABEL]
        place = {label: i for i, label in enumerate([*labels.outer, *set(column.types) - set(labels.outer)])}
        self._dev = dev
        self._threads = threads
        self._gold = np.array([place[t] for t in column.types], np.int32)[column.ids]
        self._scorer = TagScorer(list(place))

    def score(self, model: TaggingModel) -> float:
        """Span F1 where labels spell spans, else the share of tokens that are right."""
        found = self._scorer.score(self._gold, model.decode(self._dev, self._threads), self._dev.ptr)
        return found.token_accuracy if found.span is None else found.span.micro.f1
