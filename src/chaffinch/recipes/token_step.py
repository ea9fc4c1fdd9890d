"""Take a few sentences into any tagger with features of tokens, near the weights that it has.

    w[f, gold] += s x_f / 2 |x|^2      w[f, answer] -= s x_f / 2 |x|^2      f: the features of a token that is wrong

A step moves the score of the gold label against the answer by s. Steps are small against the scores of the sentences
and grow until every token is right, so the weights end near the first ones that are right. Only weights of features of
tokens move: those of pairs of labels, and the most frequent features, belong to all sentences.

Chains count labels, semi-Markov taggers places in a segment (:mod:`chaffinch.scorers.segments`); a search that decides
label by label is corrected at its first wrong decision, since later ones may follow from it.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chaffinch.model import TaggingModel
from chaffinch.model.chain import ChainModel
from chaffinch.model.encoders import EncodedTable, IdRows, TemplateEncoder
from chaffinch.model.incremental import IncrementalModel
from chaffinch.model.potentials import Additive, LocallyNormalised
from chaffinch.model.segments import SegmentModel
from chaffinch.scorers.segments import SegmentScorer, places_of
from chaffinch.search import Beam
from chaffinch.text.document import LABEL
from chaffinch.text.schemes import spans
from chaffinch.text.table import TokenTable

# Shares of features that do not move, the most frequent ones, which come first.
HELD = (0.1, 0.3, 0.02)
FIRST_STEP = 0.02  # of the mean lead of a token's best label over the mean of its labels
ROUNDS = 10  # with one step size, which is then doubled
DOUBLINGS = 6

Ids: TypeAlias = NDArray[np.int32]
Weights: TypeAlias = NDArray[np.float32]
Steppable: TypeAlias = ChainModel | IncrementalModel | SegmentModel
# Where sentences are wrong: tokens, gold columns, columns of the answer.
Differences: TypeAlias = tuple[NDArray[np.int64], Ids, Ids]


def corrected_tokens(
    model: TaggingModel, lesson: TokenTable, threads: int, held: float = HELD[0]
) -> TaggingModel | None:
    """The model that gives these sentences their labels; None if its weights cannot be changed so.

    held: the share of features that do not move
    """
    if not isinstance(model, ChainModel | IncrementalModel | SegmentModel) or not _takes_steps(model):
        return None
    gold = label_ids(model, lesson)
    if (gold < 0).any():
        return None
    encoder = model.encoder
    assert isinstance(encoder, TemplateEncoder)
    rows = encoder.rows(lesson, threads)
    touched, place = np.unique(rows.ids, return_inverse=True)
    if not len(touched):
        return None
    every = _token_weights(model)
    w = every[touched]
    # The search sees the features of the lesson alone: it need not copy all weights after each step.
    known: Any = EncodedTable(encoder, replace(rows, ids=place.astype(np.int32)))
    small = replace(model, encoder=known)
    owner = np.repeat(np.arange(lesson.n_tokens), np.diff(rows.ptr))
    values = _movable_values(rows, owner, int(held * len(every)))
    squares = np.bincount(owner, np.square(values), lesson.n_tokens)
    scores = np.zeros((lesson.n_tokens, w.shape[1]))
    np.add.at(scores, owner, w[place])
    size = FIRST_STEP * max(float((scores.max(axis=1) - scores.mean(axis=1)).mean()), 1e-3)
    for number in range(ROUNDS * DOUBLINGS + 1):
        found = _differences(_with_token_weights(small, w), lesson, gold, threads)
        if found is None:
            whole = every.copy()
            whole[touched] = w
            return _with_token_weights(model, whole)
        tokens, right, wrong = found
        if not (squares[tokens] > 0).any():
            return None
        step = np.zeros((lesson.n_tokens, w.shape[1]))
        moved = size * 2 ** (number // ROUNDS) / (2 * np.maximum(squares[tokens], 1e-9))
        np.add.at(step, (tokens, right), moved)
        np.add.at(step, (tokens, wrong), -moved)
        np.add.at(w, place, (values[:, None] * step[owner]).astype(np.float32))
    return None


def gives_gold(model: TaggingModel, table: TokenTable, threads: int) -> bool:
    """Whether every token gets its label."""
    return np.array_equal(model.decode(table, threads), label_ids(model, table))


def label_ids(model: TaggingModel, table: TokenTable) -> Ids:
    """The gold labels as the model numbers them, -1 for those that it lacks: int32 [tokens]."""
    column, place = table.columns[LABEL], {label: i for i, label in enumerate(model.labels.outer)}
    return np.array([place.get(t, -1) for t in column.types], np.int32)[column.ids]


def _movable_values(rows: IdRows, owner: NDArray[np.int64], held: int) -> NDArray[np.float64]:
    """The values of features, zero for the ``held`` most frequent ones unless a token has no others."""
    values = np.ones(len(rows.ids)) if rows.values is None else rows.values.astype(np.float64)
    rare = rows.ids >= held
    alone = np.bincount(owner, rare, len(rows.ptr) - 1) == 0
    return np.where(rare | alone[owner], values, 0.0)


def _takes_steps(model: Steppable) -> bool:
    """Whether scores are sums of weights of features of tokens, and inner labels follow from the given ones."""
    if not isinstance(model.encoder, TemplateEncoder):
        return False
    if isinstance(model, ChainModel):
        return not model.needs and isinstance(model.source, Additive | LocallyNormalised)
    return isinstance(model, SegmentModel) or model.labels.inner == model.labels.outer


def _differences(model: TaggingModel, lesson: TokenTable, gold: Ids, threads: int) -> Differences | None:
    """The tokens to move, their gold columns and those of the answer; None if every token is right."""
    answer = model.decode(lesson, threads)
    if np.array_equal(answer, gold):
        return None
    if isinstance(model, IncrementalModel):
        order: NDArray[Any] = np.arange(lesson.n_tokens)
        if not isinstance(model.search, Beam):
            order = model.steps(lesson, threads).order
        first = []
        for a, b in pairwise(lesson.ptr.tolist()):
            wrong = a + np.flatnonzero(answer[a:b] != gold[a:b])
            first += [wrong[order[wrong].argmin()]] if len(wrong) else []
        tokens = np.array(first, np.int64)
        return tokens, gold[tokens], answer[tokens]
    if isinstance(model, SegmentModel):
        right, found = (_segment_places(model, lesson, y) for y in (gold, answer))
    else:
        assert isinstance(model, ChainModel)
        right, found = _paths(model, lesson, gold, threads)
    tokens = np.flatnonzero(right != found)
    return tokens, right[tokens], found[tokens]


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


def _with_token_weights(model: Steppable, w: Weights) -> Steppable:
    """The model with other weights of tokens."""
    if isinstance(model, ChainModel):
        weights = replace(model.weights, unary=w, bits=None)
        return replace(model, source=model.source.with_weights(weights))
    if isinstance(model, IncrementalModel):
        return replace(model, weights=replace(model.weights, unary=w), bits=None)
    own = model.weights
    scorer = SegmentScorer.zeros(len(w), own.G, own.longest)
    for name, block in own.blocks().items():
        scorer.blocks()[name][...] = w if name == "token" else block
    return replace(model, weights=scorer)
