"""Calibrate a tagger: a temperature for its chain and a map for its decisions, fitted on held-out sentences.

Training with a margin improves a tagger's answers but makes its probabilities overconfident, and a perceptron's scores
are not log-odds at all. So calibration leaves the answers as they are and fits the probabilities: on out-of-fold
predictions of models of the same recipe, or on the model's own predictions for dev data.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ChaffinchError, ConfigError, DataError
from chaffinch.knobs import knob
from chaffinch.model import TaggingModel
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_conditionals import is_markov, span_probabilities
from chaffinch.model.confidence import Calibration
from chaffinch.model.distribution import distributions
from chaffinch.model.encoders import EncodedTable
from chaffinch.model.incremental import IncrementalModel, Steps
from chaffinch.model.protocols import LatticeModel, Tempered
from chaffinch.model.segments import SegmentModel
from chaffinch.progress import keep_going
from chaffinch.recipes.recipe import Recipe, TaggingTask
from chaffinch.text.document import LABEL
from chaffinch.text.schemes import BIO, Scheme, scheme_of, spans
from chaffinch.text.schemes.legality import SpanArrays
from chaffinch.text.table import TokenTable
from chaffinch.trust.calibration import (
    LogitMap,
    fitted_calibration,
    fitted_label_calibration,
    golden_minimum,
)
from chaffinch.trust.confidence import DOCUMENTS, LABELS, SPANS, TOKENS, Confidence

# Folds by the number of tokens: small data is cheap to train on, and suffers most if much of it is held out.
FOLDS_UP_TO = ((20_000, 5), (60_000, 3))
PART = 5  # beyond that, one model is trained, with one fifth of the sentences held out
MOST_JUDGED = 2_000  # maximum number of held-out sentences: more would cost time and change nothing
MOST_SPANS = 4_000  # maximum number of spans in them: the exact probability of a span costs a forward pass
# A forward pass costs Y^(order + 1) cells per token. With many labels or second order, fewer tokens and spans are
# used, so that calibration stays cheap; but no fewer than these.
MOST_CELLS, FEWEST_TOKENS = 25_000_000, 4_000  # of one pass over the tokens that the temperature is fitted on
MOST_SPAN_CELLS, FEWEST_SPANS = 2_000_000, 1_000  # a token's cells, summed over the spans
FEWEST_DECISIONS = (
    500  # spans to fit on: with fewer in one fifth of the sentences, RARE_FOLDS models are trained
)
RARE_FOLDS = 3
LOWEST = -1e30  # a score below all others
FEWEST = 20  # sentences: with fewer, nothing is calibrated


@dataclass(frozen=True, kw_only=True)
class TagOptions:
    """How to choose settings that are not given, and how to calibrate the probabilities of a tagger."""

    choose: bool | None = knob(
        None,
        "choose the features and the recipe that are not given by cross-validation within the training data, if it "
        "has 100 sentences or more and at most 100,000 tokens; by default if neither a recipe nor a setting of one is "
        "given",
    )
    folds: int | None = knob(
        None,
        "number of models for calibrating probabilities on held-out sentences, unless there is dev data; auto: 5 or 3 "
        "for small data, 1 for large; 0: no calibration",
        low=0,
        high=20,
    )


M = TypeVar("M", bound=TaggingModel)
Judged = list[tuple[Tempered, TokenTable]]
Decision = tuple[int, int, str, float]


def calibrate(
    task: TaggingTask,
    recipe: Recipe,
    config: Any,
    model: TaggingModel,
    folds: int | None,
    known: Sequence[tuple[TaggingModel, TokenTable]] = (),
) -> tuple[TaggingModel, Confidence | None]:
    """The model at its temperature, and the confidence of its decisions; None if there is no data to fit them on.

    folds: number of models to train; None: it depends on the size of the data; 0: no calibration
    known: models of this recipe, each with held-out sentences; used if ``folds`` is None
    """
    if folds == 0 or task.soft is not None or task.unknown is not None:
        return model, None
    if task.dev is not None:
        return calibrated_on_sentences(model, task.dev, task.threads)
    if task.table.n_sentences < FEWEST or not _has_probabilities(model, task.table, task.threads):
        return model, None
    if folds is None and known:
        judged = [
            (m, _first(held, MOST_JUDGED // len(known))) for m, held in known if isinstance(m, Tempered)
        ]
    else:
        judged = list(_out_of_fold(task, recipe, config, folds))
    return _fitted(model, judged, len(judged), task.threads)


def calibrated_on_sentences(
    model: TaggingModel, table: TokenTable, threads: int
) -> tuple[TaggingModel, Confidence | None]:
    """The model at a temperature fitted on held-out sentences, and its confidence; None if they are too few."""
    if table.n_sentences < FEWEST or not _has_probabilities(model, table, threads):
        return model, None
    assert isinstance(model, Tempered)
    return _fitted(model, [(model.with_temperature(1.0), _first(table, MOST_JUDGED))], 0, threads)


def _fitted(
    model: TaggingModel, judged: Judged, folds: int, threads: int
) -> tuple[TaggingModel, Confidence | None]:
    """The model at its temperature, and the confidence of its decisions; None if the held-out sentences allow none."""
    assert isinstance(model, Tempered)
    if sum(table.n_sentences for _, table in judged) < FEWEST:
        return model, None
    try:
        return _fitted_on_all(model, judged, folds, threads)
    except (
        DataError
    ):  # a model without a floor may rule out a whole sentence, and then has no probabilities for it
        return model, None


def _fitted_on_all(
    model: Tempered, judged: Judged, folds: int, threads: int
) -> tuple[TaggingModel, Confidence | None]:
    """The model at its temperature, and the confidence of its decisions, fitted on held-out sentences."""
    judged = [(encoded_once(m, table, threads), table) for m, table in judged]
    cells = _cells(model)
    tokens = max(FEWEST_TOKENS, MOST_CELLS // cells) / max(1, sum(table.n_tokens for _, table in judged))
    temperature = _temperature(_share(judged, tokens), threads)
    scheme = scheme_of(model.labels.outer)
    unit = TOKENS if scheme is None else SPANS
    if unit == SPANS:
        most = min(MOST_SPANS, max(FEWEST_SPANS, MOST_SPAN_CELLS // cells))
        judged = _share(judged, most / max(1, sum(_spans(m, table, threads) for m, table in judged)))
        judged = [(encoded_once(m, table, threads), table) for m, table in judged]
    tempered = [(m.with_temperature(temperature), table) for m, table in judged]
    made = [decision_probabilities(m, table, threads) for m, table in tempered]
    p = _probabilities(made)
    raw = _probabilities([decision_probabilities(m, table, threads) for m, table in judged])
    right = _right(judged, made)
    return model.with_temperature(temperature), Confidence.fitted(unit, folds, p, right, raw)


def encoded_once(model: M, table: TokenTable, threads: int) -> M:
    """The same model with the rows of a table that it will read many times."""
    if not isinstance(model, ChainModel | SegmentModel | IncrementalModel):
        return model
    encoder: Any = model.encoder
    if isinstance(encoder, EncodedTable):
        if encoder.table is table:
            return model
        encoder = encoder.encoder
    read = copy(model)  # keeps what the model has derived from its weights
    object.__setattr__(read, "encoder", EncodedTable(encoder, encoder.rows(table, threads), table))
    return read


def _cells(model: Tempered) -> int:
    """The number of cells that a forward pass sums for one token: Y^(order + 1)."""
    order = getattr(getattr(model, "weights", None), "order", 1)
    return int(len(model.labels.outer) ** (order + 1))


def _share(judged: Judged, share: float) -> Judged:
    """At most this fraction of the sentences of each model."""
    return [(m, _first(table, max(1, int(share * table.n_sentences)))) for m, table in judged]


def decision_probabilities(model: Tempered, table: TokenTable, threads: int) -> list[list[Decision]]:
    """The decisions of each sentence, with the model's probability of each: start, end, label, p.

    Decisions are spans if the labels encode spans, otherwise tokens. The probability of a span is exact if the model
    has a distribution over labellings, otherwise the product over its tokens.
    """
    scheme = scheme_of(model.labels.outer)
    labels = model.labels.outer
    bounds = list(pairwise(table.ptr.tolist()))
    if isinstance(model, IncrementalModel):
        steps = _steps(model, table, threads)
        p = _softmax(steps.scores.astype(np.float64) / model.temperature)
        decided = model.labels.outer_of[steps.labels]
        return _of_tokens(model.labels.collapsed(p), decided, labels, bounds, scheme)
    decided = model.decode(table, threads)
    if scheme == BIO and isinstance(model, ChainModel) and is_markov(model):
        tags = [labels[i] for i in decided.tolist()]
        marked = [spans(tags[a:b], scheme) for a, b in bounds]
        if all(f"B-{s.label}" in labels for own in marked for s in own):
            sure = iter(span_probabilities(model, table, SpanArrays.of_lists(marked), threads).tolist())
            return [[(s.start, s.end, s.label, next(sure)) for s in own] for own in marked]
    if scheme is not None and isinstance(model, LatticeModel):
        found = []
        for d, (a, b) in zip(distributions(model, table, threads), bounds, strict=True):
            tags = [labels[i] for i in decided[a:b].tolist()]
            found.append(
                [
                    (s.start, s.end, s.label, d.span_probability(s.start, s.end, s.label))
                    for s in spans(tags, scheme)
                ]
            )
        return found
    return _of_tokens(model.marginals(table, threads), decided, labels, bounds, scheme)


def _steps(model: IncrementalModel, table: TokenTable, threads: int) -> Steps:
    """The decisions of a search, which do not depend on the temperature: searched once if the rows are kept."""
    kept: Any = model.encoder
    if not isinstance(kept, EncodedTable) or kept.table is not table:
        return model.steps(table, threads)
    if "steps" not in kept.made:
        kept.made["steps"] = model.steps(table, threads)
    steps: Steps = kept.made["steps"]
    return steps


def _of_tokens(
    marginals: NDArray[np.float32],
    decided: NDArray[np.int32],
    labels: Sequence[str],
    bounds: Sequence[tuple[int, int]],
    scheme: Scheme | None,
) -> list[list[Decision]]:
    """Decisions with the product of the probabilities of their tokens."""
    p = marginals[np.arange(len(decided)), decided].astype(np.float64)
    found: list[list[Decision]] = []
    for a, b in bounds:
        tags = [labels[i] for i in decided[a:b].tolist()]
        if scheme is None:
            found.append([(t, t + 1, tag, float(p[a + t])) for t, tag in enumerate(tags)])
        else:
            found.append(
                [
                    (s.start, s.end, s.label, float(p[a + s.start : a + s.end].prod()))
                    for s in spans(tags, scheme)
                ]
            )
    return found


def _spans(model: Tempered, table: TokenTable, threads: int) -> int:
    """The number of spans that the model predicts."""
    scheme = scheme_of(model.labels.outer)
    assert scheme is not None
    found = (
        model.labels.outer_of[_steps(model, table, threads).labels]
        if isinstance(model, IncrementalModel)
        else model.decode(table, threads)
    )
    decided = [model.labels.outer[i] for i in found.tolist()]
    return sum(len(spans(decided[a:b], scheme)) for a, b in pairwise(table.ptr.tolist()))


def _has_probabilities(model: TaggingModel, table: TokenTable, threads: int) -> bool:
    """Whether the model has probabilities: beam search scores whole prefixes and has none."""
    if not isinstance(model, Tempered):
        return False
    try:
        model.marginals(_first(table, 1), threads)
    except ConfigError:
        return False
    return True


def _probabilities(made: Sequence[list[list[Decision]]]) -> NDArray[np.float64]:
    """The probability of every decision."""
    return np.array([d[3] for tables in made for found in tables for d in found], np.float64)


def _right(judged: Judged, made: Sequence[list[list[Decision]]]) -> NDArray[np.bool_]:
    """Whether every decision was right."""
    right: list[bool] = []
    for (model, table), decided in zip(judged, made, strict=True):
        scheme = scheme_of(model.labels.outer)
        for gold, found in zip(table.lists(LABEL), decided, strict=True):
            true: set[tuple[int, int, str]] = (
                {(s.start, s.end, s.label) for s in spans(gold, scheme)}
                if scheme is not None
                else {(t, t + 1, tag) for t, tag in enumerate(gold)}
            )
            right += [d[:3] in true for d in found]
    return np.array(right, bool)


def _temperature(judged: Judged, threads: int) -> float:
    """The temperature that maximises the likelihood of held-out gold labels, by golden-section search over log T.

    T = argmin of  (log T)^2 - sum over held-out tokens of log p_T(gold label)
    """
    places = []
    chances = [_tempered_marginals(model, table, threads) for model, table in judged]
    for model, table in judged:
        column, place = table.columns[LABEL], {label: i for i, label in enumerate(model.labels.outer)}
        y = np.array([place.get(t, -1) for t in column.types], np.int64)[column.ids]
        places.append((np.flatnonzero(y >= 0), y[y >= 0]))

    def surprise(log_t: float) -> float:
        total = log_t**2  # a prior around 1: a few labels, all correct, must not make the model certain
        for marginals, (tokens, y) in zip(chances, places, strict=True):
            p = marginals(float(np.exp(log_t)))
            total -= float(np.log(np.maximum(p[tokens, y], 1e-12, dtype=np.float64)).sum())
        return total

    return float(np.exp(golden_minimum(surprise, np.log(0.05), np.log(200.0), 0.02)))


def _tempered_marginals(
    model: Tempered, table: TokenTable, threads: int
) -> Callable[[float], NDArray[np.float32]]:
    """The marginals of a table by temperature; what does not depend on it is computed once."""
    if isinstance(model, IncrementalModel):
        steps = _steps(model, table, threads)
        return lambda t: model.labels.collapsed(_softmax(steps.scores.astype(np.float64) / t))
    read = encoded_once(model, table, threads)
    return lambda t: read.with_temperature(t).marginals(table, threads)


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    """By row; minus infinity has no probability."""
    p = np.exp(scores - scores.max(axis=1, keepdims=True, initial=LOWEST))
    return (p / p.sum(axis=1, keepdims=True)).astype(np.float32)


def _out_of_fold(
    task: TaggingTask, recipe: Recipe, config: Any, folds: int | None
) -> Iterator[tuple[Tempered, TokenTable]]:
    """The models of the folds, each with its held-out sentences."""
    N = task.table.n_sentences
    if folds is None:
        folds = next((k for tokens, k in FOLDS_UP_TO if task.table.n_tokens <= tokens), 1)
        if folds == 1 and _rare_spans(task.table):
            folds = RARE_FOLDS
    if folds == 1:
        held = [np.arange(N) // 50 % PART == PART - 1]
        if not held[0].any():
            held = [np.arange(N) % PART == PART - 1]
    else:
        held = [np.arange(N) * folds // max(N, 1) == k for k in range(folds)]
    for out in held:
        if not out.any() or out.all():
            continue
        part = replace(
            task,
            table=task.table.of_sentences(~out),
            weight=None if task.weight is None else task.weight[~out],
            on_epoch=keep_going,
            fold=True,
        )
        try:
            model = recipe.train(part, config).model
        except ChaffinchError:  # a fold may lack something that all the data has, such as a second label
            continue
        if isinstance(model, Tempered):
            yield model, _first(task.table.of_sentences(out), MOST_JUDGED // len(held))


def _rare_spans(table: TokenTable) -> bool:
    """Whether labels mark spans, and a held-out part of the sentences would have too few of them."""
    column = table.columns[LABEL]
    if scheme_of(column.types) is None:
        return False
    counts = np.bincount(column.ids, minlength=len(column.types))
    begins = sum(int(n) for tag, n in zip(column.types, counts, strict=True) if tag[:1] in "BSUL")
    return begins < FEWEST_DECISIONS * PART


def _first(table: TokenTable, most: int) -> TokenTable:
    """At most ``most`` evenly spaced sentences."""
    N = table.n_sentences
    if most >= N:
        return table
    chosen = np.zeros(N, bool)
    chosen[np.arange(most) * N // most] = True
    return table.of_sentences(chosen)


# -- classifiers: the map from scores to probabilities, fitted on held-out documents ----------------------------------

Scores = NDArray[np.floating]


def calibrated(
    scores: Scores,
    gold: NDArray[np.bool_],
    *,
    sigmoids: bool,
    several: bool,
    threshold: float,
    folds: int,
) -> tuple[Calibration, Confidence]:
    """The calibration, and the confidence in the decisions that a classifier makes with it.

    scores:    [N, Y], held-out scores of documents; folds: the number of models that made them, 0: dev data
    gold:      bool [N, Y], their labels
    sigmoids:  each label has its own probability; several: a document gets every label that reaches the threshold
    """

    def fitted(which: NDArray[np.bool_]) -> Calibration:
        if sigmoids:
            return fitted_label_calibration(scores[which], gold[which])
        return fitted_calibration(scores[which], gold[which].argmax(axis=1))

    def probabilities(calibration: Calibration, s: Scores) -> NDArray[np.float64]:
        return calibration.sigmoid(s) if sigmoids else calibration.softmax(s)

    whole = fitted(np.ones(len(scores), bool))
    p = probabilities(whole, scores)
    crossed, half = p.copy(), np.arange(len(p)) % 2 == 0
    if len(p) > 1:
        for part in (half, ~half):
            crossed[part] = probabilities(fitted(~part), scores[part])
    if several:
        which = p >= threshold
        unit, right = LABELS, gold[which]
    else:
        which = np.zeros(p.shape, bool)
        which[np.arange(len(p)), np.asarray(scores).argmax(axis=1)] = True
        unit, right = DOCUMENTS, gold[which]
    raw = probabilities(Calibration(), scores)
    made = Confidence.of_decisions(
        unit, folds, p[which], right, raw[which], crossed[which], LogitMap.line(1.0, 0.0)
    )
    return whole, made
