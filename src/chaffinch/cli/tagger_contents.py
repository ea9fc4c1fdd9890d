"""What a tagger holds, for ``inspect``: the weights that count most for each label, and its transitions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.cli.task import Contents
from chaffinch.estimators import Tagger
from chaffinch.model.bigram_chain import BigramChainModel
from chaffinch.model.chain import ChainModel
from chaffinch.model.incremental import IncrementalModel
from chaffinch.model.memm import MemmModel
from chaffinch.model.two_pass import TwoPassModel

Names = Callable[[NDArray[np.int32]], list[str]]


def tagger_contents(tagger: Tagger, top: int, label: str | None) -> Contents:
    """The strongest features of each label, contexts of labels among them; of a chain its transitions."""
    model: Any = tagger.model_
    if isinstance(model, TwoPassModel):
        model = model.second
    labels = model.labels.inner
    weights, names = _weights(model)
    chosen = [y for y, name in enumerate(labels) if label is None or name == label]
    rows = {labels[y]: _strongest(weights[:, y], top, names) for y in chosen} if len(weights) else {}
    transitions = model.transitions() if hasattr(model, "transitions") else None
    return Contents(labels, rows=rows, transitions=transitions)


def _weights(model: Any) -> tuple[NDArray[np.float32], Names]:
    """A row for each feature [rows, Y] and what rows are called; none where features have no weights of their own."""
    match model:
        case ChainModel() | BigramChainModel() | MemmModel():
            return model.weights.unary, model.encoder.names
        case IncrementalModel():
            return np.concatenate([model.weights.unary, model.weights.context]), model.names
        case _:
            return np.zeros((0, len(model.labels.inner)), np.float32), lambda _: []


def _strongest(weights: NDArray[np.float32], top: int, names: Names) -> list[tuple[str, float]]:
    """The greatest weights of one label, among those that are finite."""
    column = np.where(np.isfinite(weights), weights, -np.inf)
    order = np.argsort(-column, kind="stable")[:top]
    named = zip(names(order.astype(np.int32)), order.tolist(), strict=True)
    return [(name, float(column[f])) for name, f in named]
