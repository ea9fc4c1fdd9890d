"""The semi-Markov tagger: it labels whole spans, so features can describe phrases as well as tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.costs import PlaceCosts
from chaffinch.learners.examples import SegmentExamples
from chaffinch.learners.likelihood import Sgd
from chaffinch.learners.problem import Problem
from chaffinch.model.segments import SegmentModel, SpanIndex, labels_of
from chaffinch.modelfile import ModelFile
from chaffinch.recipes.crf_config import Likelihood, suited_objective
from chaffinch.recipes.encoding import (
    encoded,
    inner_labels,
    phrase_files,
    suggested_preset,
)
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained
from chaffinch.recipes.training import train_tagger
from chaffinch.scorers.segments import SegmentScorer
from chaffinch.text.document import LABEL
from chaffinch.text.gazetteers import Gazetteers
from chaffinch.text.schemes import OUTSIDE, TokenSpan, detect_column, spans


@dataclass(frozen=True, kw_only=True)
class SemiCrf(Likelihood):
    """A conditional random field over segments: p(y|x) = exp(s(x, y)) / Z(x), y a segmentation into labelled spans.

    Tokens have the features of the CRF, by their place in the segment; segments have features of their own.
    Sarawagi and Cohen 2004, "Semi-Markov conditional random fields for information extraction".
    """

    passes: int = knob(5, "passes over the training data", low=1)
    rate: float | None = knob(
        None, "initial step size; auto: 0.2, less if tokens have more than 40 features", low=0.0
    )
    longest: int = knob(8, "maximum length of a span in tokens; longer ones are learnt in pieces", low=1)
    span_count: int = knob(2, "minimum count of a whole-span feature; rarer ones are left out", low=1)


def train(task: TaggingTask, config: SemiCrf) -> Trained:
    """Encode tokens and spans, learn pass by pass."""
    column = task.table.columns[LABEL]
    scheme = detect_column(column, task.table.ptr)
    if scheme is None:
        raise ConfigError(
            "recipe semi-crf needs labels of a tag scheme such as BIO, but these labels mark no spans; use crf"
        )
    if task.without_words:
        raise ConfigError(
            "recipe semi-crf reads the words of spans: give tuples such as ('tea', {'cap': True}), or use crf"
        )
    inner = inner_labels(task, "auto")
    encoder, rows = encoded(task, config, preset=suggested_preset(task, inner))
    if encoder.features.label_templates:
        raise ConfigError("recipe semi-crf takes no templates over labels; leave out those with y[-1]")
    found = [spans(tags, scheme) for tags in task.table.lists(LABEL)]
    types = (OUTSIDE, *sorted({span.label for one in found for span in one}))
    longest = _longest(found, types, config.longest)
    gold, gold_ptr = _segments(found, np.diff(task.table.ptr).tolist(), types, longest)
    gazetteers = None if config.gazetteers is None else Gazetteers.read(phrase_files(config.gazetteers))
    L = int(longest.max())
    named = _rows(gold, gold_ptr, task.table.ptr, L)
    index = SpanIndex.fitted(task.table, L, named, config.span_count, gazetteers)
    density = len(rows.ids) / max(rows.n_tokens, 1)
    chosen = suited_objective(
        config, rate=config.rate, names=inner.names, certain=True, features_per_token=density
    )
    span_ptr, span_ids = index.known(index.found(task.table, L))
    scorer = SegmentScorer.zeros(encoder.n_features, len(index.keys), longest)
    problem = Problem(
        scorer.structure,
        scorer,
        SegmentExamples(rows.sentences, rows.ptr, rows.ids, span_ptr, span_ids, gold, gold_ptr, rows.values),
        task.weight,
        PlaceCosts(chosen.margin, chosen.recall) if chosen.margin > 0 else None,
        task.seed,
    )
    labels = labels_of(types, scheme, column.types)

    def model(weights: SegmentScorer) -> SegmentModel:
        return SegmentModel(encoder, index, weights, types, scheme, labels)

    learner = Sgd(c2=chosen.c2, epochs=config.passes, rate=chosen.rate)
    return train_tagger(task, learner, problem, model)


def load(file: ModelFile) -> SegmentModel:
    """The model of a file."""
    return SegmentModel.loaded(file)


def _longest(found: Sequence[Sequence[TokenSpan]], types: Sequence[str], most: int) -> NDArray[np.int32]:
    """The maximum length of segments of each type; words outside are segments of length 1."""
    seen = dict.fromkeys(types, 1)
    for one in found:
        for span in one:
            seen[span.label] = max(seen[span.label], min(most, span.end - span.start))
    return np.array([seen[name] for name in types], np.int32)


def _segments(
    found: Sequence[Sequence[TokenSpan]],
    lengths: Sequence[int],
    types: Sequence[str],
    longest: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Start, length and label of every segment, long spans in pieces; and the bounds of the sentences in segments."""
    place = {name: y for y, name in enumerate(types)}
    rows: list[tuple[int, int, int]] = []
    ptr = [0]
    for one, T in zip(found, lengths, strict=True):
        at = 0
        for span in sorted(one, key=lambda s: s.start):
            rows += ((t, 1, 0) for t in range(at, span.start))
            L = int(longest[place[span.label]])
            rows += ((t, min(L, span.end - t), place[span.label]) for t in range(span.start, span.end, L))
            at = span.end
        rows += ((t, 1, 0) for t in range(at, T))
        ptr.append(len(rows))
    return np.array(rows, np.int32).reshape(-1, 3), np.array(ptr, np.int64)


def _rows(
    gold: NDArray[np.int32], gold_ptr: NDArray[np.int64], ptr: NDArray[np.int64], L: int
) -> NDArray[np.int64]:
    """The rows of gold segments among all spans, except those of words outside."""
    first = np.repeat(ptr[:-1], np.diff(gold_ptr))
    rows = (first + gold[:, 0]) * L + gold[:, 1] - 1
    return np.asarray(rows[gold[:, 2] > 0])


RECIPE = Recipe(
    "semi-crf",
    "conditional random field over whole spans",
    SemiCrf,
    train,
    load,
    options=("weight", "attributes"),
)
