"""Learn a few sentences by a tagger with features of tokens, near its weights.

    w[., gold] += s d / 2          w[., answer] -= s d / 2          x . d = 1

x are the features of a token that is wrong, d the direction along which the scores of learnt tokens change least
(:mod:`chaffinch.recipes.quiet_direction`): a step changes the score of the gold label against the answer by s. Steps
are small against the scores of the sentences and grow until every token is right; then the change is scaled down as
far as all tokens stay right. New features of the lesson get weights. Weights of label pairs do not change: they belong
to all sentences.

Chains count labels, semi-Markov taggers places in a segment (:mod:`chaffinch.scorers.segments`); a search that decides
label by label is corrected at its first wrong decision, since later ones may follow from it. The step is at least as
large as the lead of the answer over the gold label: a smaller one would not change the decision.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ChaffinchError
from chaffinch.features.ranks import counts_by_rank
from chaffinch.model import TaggingModel
from chaffinch.model.chain import ChainModel
from chaffinch.model.encoders import EncodedTable, IdRows, TemplateEncoder
from chaffinch.model.incremental import IncrementalModel
from chaffinch.model.potentials import Additive, LocallyNormalised
from chaffinch.model.segments import SegmentModel
from chaffinch.recipes.crf import solve
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.crf_memory import CrfMemory, can_learn_on
from chaffinch.recipes.quiet_direction import (
    NOTHING,
    Shared,
    quiet_direction,
    shared_features,
)
from chaffinch.scorers.segments import SegmentScorer, places_of
from chaffinch.search import Beam
from chaffinch.text.document import LABEL, WORD
from chaffinch.text.schemes import spans
from chaffinch.text.table import TokenTable

FIRST_STEP = 0.02  # fraction of the mean lead of a token's best label over the mean of its labels
ROUNDS = 10  # rounds with one step size, which is then doubled
DOUBLINGS = 6
LEAST = 1.01  # minimum step, as a multiple of the lead of a wrong decision
HALVINGS = 5  # steps of the bisection for the scale of the change

Ids: TypeAlias = NDArray[np.int32]
Weights: TypeAlias = NDArray[np.float32]
Steppable: TypeAlias = ChainModel | IncrementalModel | SegmentModel
# The mistakes: tokens, gold columns, columns of the answer, and minimum steps.
Differences: TypeAlias = tuple[NDArray[np.int64], Ids, Ids, NDArray[np.float64]]


def corrected_tokens(
    model: TaggingModel, lesson: TokenTable, learnt: TokenTable | None, threads: int
) -> TaggingModel | None:
    """The model that gives these sentences their labels; None if no change of its weights achieves that.

    learnt: learnt sentences; None: there are none, and the frequency of a feature is estimated from its rank
    """
    if not takes_token_steps(model):
        return None
    gold = label_ids(model, lesson)
    if (gold < 0).any():
        return None
    F = len(_token_weights(model))
    model, rows = with_features_of(model, lesson, threads)
    encoder = model.encoder
    touched, place = np.unique(rows.ids, return_inverse=True)
    if not len(touched):
        return None
    every = _token_weights(model)
    before = every[touched]
    w = before.copy()
    # The search sees the features of the lesson alone: it need not copy all weights after each step.
    known: Any = EncodedTable(encoder, replace(rows, ids=place.astype(np.int32)))
    small = replace(model, encoder=known)
    owner = np.repeat(np.arange(lesson.n_tokens), np.diff(rows.ptr))
    scores = np.zeros((lesson.n_tokens, w.shape[1]))
    np.add.at(scores, owner, w[place])
    size = FIRST_STEP * max(float((scores.max(axis=1) - scores.mean(axis=1)).mean()), 1e-3)
    shared, further = NOTHING, None
    if learnt is not None:
        shared = _shared(encoder.rows(learnt, threads), touched)
    else:
        further = counts_by_rank(touched, F)
    directions: dict[int, NDArray[np.float64]] = {}
    for number in range(ROUNDS * DOUBLINGS + 1):
        found = _differences(_with_token_weights(small, w), lesson, gold, threads)
        if found is None:
            break
        for t, right, wrong, least in zip(*(ids.tolist() for ids in found), strict=True):
            at = slice(rows.ptr[t], rows.ptr[t + 1])
            if t not in directions:
                values = None if rows.values is None else rows.values[at]
                directions[t] = _direction(place[at], values, shared, len(touched), further)
            step = max(size * 2 ** (number // ROUNDS), least) * directions[t] / 2
            np.add.at(w, (place[at], right), step.astype(np.float32))
            np.add.at(w, (place[at], wrong), -step.astype(np.float32))
    else:
        return None
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        part = (low + high) / 2
        made = _with_token_weights(small, before + np.float32(part) * (w - before))
        if np.array_equal(made.decode(lesson, threads), gold):
            high = part
        else:
            low = part
    whole = every.copy()
    whole[touched] = before + np.float32(high) * (w - before)
    return _with_token_weights(model, whole)


def with_features_of(model: Steppable, lesson: TokenTable, threads: int) -> tuple[Steppable, Any]:
    """The model with weights for every feature of the lesson, zero for new ones, and the rows of the lesson."""
    encoder = model.encoder
    assert isinstance(encoder, TemplateEncoder)
    if isinstance(model, ChainModel) and model.weights.bigrams:  # whose observations would grow too
        return model, encoder.rows(lesson, threads)
    read = {k: c for k, c in lesson.columns.items() if k in (WORD, *encoder.columns)}
    features, rows = encoder.features.grown(
        TokenTable(lesson.ptr, read, lesson.groups, attributes=lesson.attributes), threads=threads
    )
    w = _token_weights(model)
    new = np.zeros((features.n_features - len(w), w.shape[1]), np.float32)
    return _with_token_weights(model, np.concatenate([w, new]), TemplateEncoder(features)), rows


def _shared(rows: IdRows, features: Ids) -> Shared:
    """The occurrences of the lesson's features in learnt tokens."""
    at, tokens, places = shared_features(features, rows.ptr, rows.ids)
    return tokens, places, np.ones(len(at)) if rows.values is None else rows.values[at].astype(np.float64)


def _direction(
    place: NDArray[np.int64], values: Any, shared: Shared, F: int, further: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """The direction d of a token with  x . d = 1,  for its features: ``place`` among the F features of the lesson.

    further: float64 [F], further learnt tokens with each feature; or None
    """
    own = np.full(F, -1)
    own[place] = np.arange(len(place))
    tokens, features, amounts = shared
    at = np.flatnonzero(own[features] >= 0)
    x = np.ones(len(place)) if values is None else values.astype(np.float64)
    known = tokens[at], own[features[at]], amounts[at]
    return quiet_direction(x, known, None if further is None else further[place]) / max(float(x @ x), 1e-9)


def gives_gold(model: TaggingModel, table: TokenTable, threads: int) -> bool:
    """Whether every token gets its label."""
    return np.array_equal(model.decode(table, threads), label_ids(model, table))


def label_ids(model: TaggingModel, table: TokenTable) -> Ids:
    """The model's ids of the gold labels, -1 for labels that it lacks: int32 [tokens]."""
    column, place = table.columns[LABEL], {label: i for i, label in enumerate(model.labels.outer)}
    return np.array([place.get(t, -1) for t in column.types], np.int32)[column.ids]


def takes_token_steps(model: TaggingModel) -> TypeGuard[Steppable]:
    """Whether scores are sums of weights of features of tokens, and inner labels follow from the given ones."""
    if not isinstance(model, ChainModel | IncrementalModel | SegmentModel):
        return False
    if not isinstance(model.encoder, TemplateEncoder):
        return False
    if isinstance(model, ChainModel):
        return not model.needs and isinstance(model.source, Additive | LocallyNormalised)
    return isinstance(model, SegmentModel) or model.labels.inner == model.labels.outer


def _differences(model: TaggingModel, lesson: TokenTable, gold: Ids, threads: int) -> Differences | None:
    """The differences between the answer and the gold labels; None if there are none."""
    answer = model.decode(lesson, threads)
    if np.array_equal(answer, gold):
        return None
    if isinstance(model, IncrementalModel):
        every = np.arange(lesson.n_tokens)
        order: NDArray[Any] = every
        lead: NDArray[Any] = np.zeros(lesson.n_tokens)
        if not isinstance(model.search, Beam):
            steps = model.steps(lesson, threads)
            order = steps.order
            lead = LEAST * (steps.scores[every, answer] - steps.scores[every, gold])
            lead[~np.isfinite(lead)] = 0.0  # a decision that no weight can change
        first = []
        for a, b in pairwise(lesson.ptr.tolist()):
            wrong = a + np.flatnonzero(answer[a:b] != gold[a:b])
            first += [wrong[order[wrong].argmin()]] if len(wrong) else []
        tokens = np.array(first, np.int64)
        return tokens, gold[tokens], answer[tokens], lead[tokens]
    if isinstance(model, SegmentModel):
        right, found = (_segment_places(model, lesson, y) for y in (gold, answer))
    else:
        assert isinstance(model, ChainModel)
        right, found = _paths(model, lesson, gold, threads)
    tokens = np.flatnonzero(right != found)
    return tokens, right[tokens], found[tokens], np.zeros(len(tokens))


def _paths(model: ChainModel, lesson: TokenTable, gold: Ids, threads: int) -> tuple[Ids, Ids]:
    """The best inner labels that show the gold labels, and the best of all."""
    right, found = [], []
    shown = model.labels.outer_of[None, :] == gold[:, None]
    bounds = pairwise(lesson.ptr.tolist())
    for (chain, parts), (a, b) in zip(model.lattices(lesson, threads), bounds, strict=True):
        right.append(chain.argmax(parts, allowed=shown[a:b]))
        found.append(chain.argmax(parts))
    return np.concatenate(right), np.concatenate(found)


def _segment_places(model: SegmentModel, lesson: TokenTable, labels: Ids) -> Ids:
    """The place of each token in its segment, by the tags of a labelling; long spans are in pieces."""
    made = np.zeros(len(labels), np.int32)
    for a, b in pairwise(lesson.ptr.tolist()):
        for span in spans([model.labels.outer[y] for y in labels[a:b].tolist()], model.scheme):
            y = model.types.index(span.label)
            most = int(model.weights.longest[y])
            for start in range(span.start, span.end, most):
                length = min(most, span.end - start)
                made[a + start : a + start + length] = places_of(y, length)
    return made


def _token_weights(model: Steppable) -> Weights:
    """The weights of the features of tokens [F, columns]."""
    if isinstance(model, ChainModel):
        return model.weights.dense
    if isinstance(model, IncrementalModel):
        return model.weights.unary
    return model.weights.blocks()["token"]


def _with_token_weights(model: Steppable, w: Weights, encoder: TemplateEncoder | None = None) -> Steppable:
    """The model with other weights of tokens, and the encoder of their features if it is another."""
    known: Any = encoder or model.encoder
    if isinstance(model, ChainModel):
        weights = replace(model.weights, unary=w, bits=None)
        return replace(model, encoder=known, source=model.source.with_weights(weights))
    if isinstance(model, IncrementalModel):
        return replace(model, encoder=known, weights=replace(model.weights, unary=w), bits=None)
    own = model.weights
    scorer = SegmentScorer.zeros(len(w), own.G, own.longest)
    for name, block in own.blocks().items():
        scorer.blocks()[name][...] = w if name == "token" else block
    return replace(model, encoder=known, weights=scorer)


# -- chains by dual ascent --------------------------------------------------------------------------------------------
#
# Learn a few sentences by a chain whose recipe keeps no duals, near its weights.
#
#     min over w of  sum_n loss_n(w) + c2 |w - w_0|^2          n: the sentences of the lesson alone
#
# The loss is that of the CRF with a small margin, minimised by dual ascent (``crf_memory.py``) for any learner of w_0:
# a model without its training data learns in the same way. New words and labels get features.

# Penalties of the change, from strong to weak: the strongest that makes the sentences right is used.
PENALTIES = (8.0, 2.0, 0.5, 0.1)


def takes_chain_steps(model: TaggingModel) -> TypeGuard[ChainModel]:
    """Whether dual ascent can change the weights of a model."""
    return isinstance(model, ChainModel) and not model.needs and can_learn_on(model, Crf(c2=PENALTIES[0]))


def corrected_chain(
    model: TaggingModel, lesson: TokenTable, constraints: bool, seed: int, threads: int
) -> TaggingModel | None:
    """The chain that gives these sentences their labels; None if no change of its weights achieves that.

    constraints: whether transitions that the tag scheme forbids stay forbidden
    """
    config = Crf(c2=PENALTIES[0], margin=1.0, recall=1.0, min_weight=0.0, constraints=constraints)
    if not takes_chain_steps(model):
        return None
    try:
        memory = CrfMemory.around(model, config, seed)
        memory = memory.with_sentences(lesson, np.ones(lesson.n_sentences, np.float32), threads)
    except ChaffinchError:  # the labels are in another scheme
        return None
    for c2 in PENALTIES:
        trained = solve(replace(memory, chosen=replace(memory.chosen, c2=c2)))
        if gives_gold(trained.model, lesson, threads):
            made: TaggingModel = trained.model
            return made
    return None
