"""The contents of a tagger, for ``inspect``: the largest weights of each label, and its transitions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.estimators import Tagger
from chaffinch.features.spans import span_names
from chaffinch.kinds.kind import Contents
from chaffinch.model.chain import ChainModel
from chaffinch.model.incremental import IncrementalModel
from chaffinch.model.nltk_perceptron import NltkPerceptron
from chaffinch.model.segments import SegmentModel
from chaffinch.model.two_pass import TwoPassModel

Names = Callable[[NDArray[np.int32]], list[str]]
Strongest = list[tuple[str, float]]


def tagger_contents(tagger: Tagger, top: int, label: str | None) -> Contents:
    """The strongest features of each label, label contexts included, and the transitions of a chain."""
    model: Any = tagger.model_
    if isinstance(model, TwoPassModel):
        model = model.second
    labels = model.types if isinstance(model, SegmentModel) else model.labels.inner
    found = _by_label(model)
    chosen = [y for y, name in enumerate(labels) if label is None or name == label]
    rows = {} if found is None else {labels[y]: found(y, top) for y in chosen}
    transitions = model.transitions() if hasattr(model, "transitions") else None
    edges = None
    if isinstance(model, ChainModel):
        edges = (model.weights.start.astype(np.float64), model.weights.end.astype(np.float64))
    return Contents(labels, rows=rows, transitions=transitions, edges=edges)


def _by_label(model: Any) -> Callable[[int, int], Strongest] | None:
    """The ``top`` strongest features of label y; None if features have no weights of their own."""
    match model:
        case ChainModel():
            return lambda y, top: _of_chain(model, y, top)
        case IncrementalModel():
            both = np.concatenate([model.weights.unary, model.weights.context])
            return lambda y, top: _strongest(both[:, y], top, model.names)
        case NltkPerceptron():
            return lambda y, top: _of_rows(*model.of_label(y), top, model.names)
        case SegmentModel():
            return lambda y, top: _of_segments(model, y, top)
        case _:
            return None


def _of_chain(model: ChainModel, y: int, top: int) -> Strongest:
    return _of_rows(*model.feature_weights(y), top, model.feature_names)


def _of_rows(rows: NDArray[np.int32], weights: NDArray[np.float32], top: int, names: Names) -> Strongest:
    return _strongest(weights, top, lambda ids: names(rows[ids]))


def _of_segments(model: SegmentModel, y: int, top: int) -> Strongest:
    """Features of tokens with their place in segments of label y, and those of whole segments that have names."""
    found = [
        (f"{name}{place}", w)
        for place, weights in model.weights.by_place(y).items()
        for name, w in _strongest(weights, top, model.encoder.names)
    ]
    named = span_names(model.weights.L, model.spans.gazetteers)
    known = [(g, named[key]) for g, key in enumerate(model.spans.keys.tolist()) if key in named]
    of_spans = model.weights.blocks()["span"][:, y]
    found += [(name, float(of_spans[g])) for g, name in known]
    return sorted(found, key=lambda pair: -pair[1])[:top]


def _strongest(weights: NDArray[np.float32], top: int, names: Names) -> Strongest:
    """The largest finite weights of one label."""
    finite = np.flatnonzero(np.isfinite(weights))
    order = finite[np.argsort(-weights[finite], kind="stable")[:top]]
    named = zip(names(order.astype(np.int32)), order.tolist(), strict=True)
    return [(name, float(weights[f])) for name, f in named]
