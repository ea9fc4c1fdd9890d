"""Out-of-fold scores of documents: scores by models that were not trained on the document.

They calibrate probabilities, and measure how many small weights can be dropped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import choice_scores, row_strengths
from chaffinch.errors import DataError
from chaffinch.features.rows import SparseRows
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.native_choice import weights_of_parts
from chaffinch.learners.problem import Problem
from chaffinch.model.document_encoder import DocumentEncoder

FOLDS = 5
FEW = 2000  # with fewer documents, every fold is scored
FEWER = 1000  # the same after a choice of settings, which has scored folds already
FEWEST_DISTINCT = 20  # distinct texts from which duplicates share a fold
MOST_KEPT = 2_000_000  # with at most this many stored values, the rows of folds are kept for several learners
MANY = 10_000  # with at least this many documents, only the last fold is scored
# Features whose largest weight is below this share of the maximum are dropped if that costs no accuracy.
SHARES = (0.02, 0.01, 0.005)

Which = NDArray[np.int64]


@dataclass(frozen=True)
class FoldScores:
    """Documents and their scores by models of the other folds.

    held:    int64 [M], the documents
    scores:  float32 [M, Y]
    dropped: the same by models without features whose weights are below a share of the largest
    folds:   the number of models
    every:   scores of more folds by the same learner with fewer passes, for calibration; None: these scores
    """

    held: Which
    scores: NDArray[np.float32]
    dropped: dict[float, NDArray[np.float32]] = field(default_factory=dict)
    folds: int = 1
    every: "FoldScores | None" = None

    def calibrating(self, share: float) -> "FoldScores":
        """The scores to calibrate on, of models without the features whose weights are below this share.

        A row of length one is normalised again without these features, so its scores grow; more passes change them
        too. The scores of more folds are multiplied by the factor s that fits the documents of both best:

            min_s sum over documents |dropped - s every|^2
        """
        dropped = self.dropped.get(share, self.scores)
        if self.every is None:
            return replace(self, scores=dropped)
        _, here, there = np.intersect1d(self.held, self.every.held, return_indices=True)
        found, before = dropped[here], self.every.scores[there]
        length = float(np.vdot(before, before))
        factor = np.float32(np.vdot(before, found) / length if length > 0 else 1.0)
        return replace(self.every, scores=factor * self.every.scores)


def text_folds(texts: Sequence[str], y: NDArray[np.integer[Any]], folds: int) -> Which:
    """The fold of each text, int64 [N]: distinct texts are blocked, and duplicates share a fold.

    A model that was trained on a text would be scored on its duplicate, and its accuracy would be too high.
    Duplicates with different labels are blocked by the label of the first. With few distinct texts, new documents
    are duplicates too, and models that lack one of these texts say little about it: then documents are blocked.

    >>> texts = [f"text {n}" for n in range(20)]
    >>> text_folds([*texts, "text 3"], np.zeros(21, int), 5).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 0]
    """
    first = first_duplicates(texts)
    distinct = np.flatnonzero(first == np.arange(len(first)))
    if len(distinct) < FEWEST_DISTINCT:
        return blocked(y, folds)
    fold = np.empty(len(first), np.int64)
    fold[distinct] = blocked(y[distinct], folds)
    return fold[first]


def first_duplicates(texts: Sequence[str]) -> Which:
    """For each text the first document with the same text, int64 [N].

    >>> first_duplicates(["tea", "rain", "tea"]).tolist()
    [0, 1, 0]
    """
    seen: dict[str, int] = {}
    return np.fromiter((seen.setdefault(text, n) for n, text in enumerate(texts)), np.int64, len(texts))


def blocked(y: NDArray[np.integer[Any]], folds: int) -> Which:
    """The fold of each document, int64 [N]: the documents of a label, in their order, are cut into even runs.

    Neighbours in a file are often similar (one author, one thread, one day). Runs keep them in one fold, so that
    scores are not optimistic; a file in random order is cut at random. Labels with fewer documents than folds go
    to the folds in turn.

    >>> blocked(np.array([0, 0, 1, 0, 1, 0]), 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    fold = np.empty(len(y), np.int64)
    counts = np.bincount(y)
    first = 0
    for label in np.flatnonzero(counts):
        which = np.flatnonzero(y == label)
        if len(which) < folds:
            fold[which] = (first + np.arange(len(which))) % folds
            first += len(which)
        else:
            fold[which] = np.arange(len(which)) * folds // len(which)
    return fold


def first_labels(data: DocumentExamples) -> NDArray[np.int64]:
    """One label of each document, int64 [N]: its first; 0 for documents without a label."""
    first = np.zeros(len(data), np.int64)
    labelled = np.diff(data.label_ptr) > 0
    first[labelled] = 1 + data.labels[data.label_ptr[:-1][labelled]]
    return first


def scored_folds(documents: int, chosen: bool = False) -> tuple[int, ...]:
    """The folds to score: all if documents are few, otherwise the first and the last; with very many only the last.

    The runs at the ends have neighbours on one side only, as new documents do.

    chosen: settings were chosen by cross-validation before
    """
    if documents < (FEWER if chosen else FEW):
        return tuple(range(FOLDS))
    return (0, FOLDS - 1) if documents < MANY else (FOLDS - 1,)


class HeldOut:
    """The rows of each fold as models of the other folds read them.

    A feature that is too rare in the other folds would be unknown in a new text: it is dropped, and a row of length
    one is normalised again. Rows of numbers keep all features.
    """

    def __init__(self, rows: SparseRows, fold: Which, encoder: DocumentEncoder | None) -> None:
        self.rows, self.fold, self.encoder = rows, fold, encoder
        self._of_fold: dict[int, tuple[Which, SparseRows]] = {}
        self._others: dict[int, tuple[Which, SparseRows]] = {}
        self._learnt: dict[int, Which] = {}
        if encoder is not None:
            self._counts = np.bincount(rows.ids, minlength=rows.columns)
            self._least = _least_documents(encoder, rows)

    def of(self, k: int) -> tuple[Which, SparseRows]:
        """The documents of fold k that have features, and their rows."""
        if k not in self._of_fold:
            left = np.flatnonzero(self.fold == k)
            rows = self.rows.taken(left)
            if self.encoder is not None:
                known = self._counts - np.bincount(rows.ids, minlength=self.rows.columns) >= self._least
                if not known[rows.ids].all():
                    rows = self.encoder.thinned(rows, known)
            some = np.flatnonzero(np.diff(rows.ptr) > 0)  # the others get the prior
            self._of_fold[k] = (left, rows) if len(some) == len(left) else (left[some], rows.taken(some))
        return self._of_fold[k]

    def other_documents(self, k: int) -> Which:
        """The documents of the other folds."""
        if k not in self._learnt:
            self._learnt[k] = np.flatnonzero(self.fold != k)
        return self._learnt[k]

    def others(self, k: int) -> tuple[Which, SparseRows]:
        """The documents of the other folds, and their rows; small rows are kept for the next learner."""
        if k in self._others:
            return self._others[k]
        learnt = self.other_documents(k)
        made = learnt, self.rows.taken(learnt)
        if len(self.rows.ids) <= MOST_KEPT:
            self._others[k] = made
        return made


def _least_documents(encoder: DocumentEncoder, rows: SparseRows) -> NDArray[np.float64]:
    """The minimum number of documents with each feature for the encoder to keep it: float64 [F]."""
    least = np.ones(rows.columns)
    if encoder.union is not None:
        bounds = encoder.union.offsets()
        for k, one in enumerate(encoder.union.vectorizers):
            wanted = one.min_df if one.min_df >= 1 else one.min_df * len(rows)
            least[bounds[k] : bounds[k + 1]] = max(wanted, 1.0)
    return least


def out_of_fold(
    problem: Problem,
    learner: Any,
    held_out: HeldOut,
    folds: Sequence[int],
    threads: int,
    shares: Sequence[float] = (),
) -> FoldScores | None:
    """The scores of the documents of some folds; None if no fold leaves two labels in the training data.

    shares: shares below which weights are dropped for further scores, see :class:`FoldScores`
    """
    return joined_folds(list(each_fold(problem, learner, held_out, folds, threads, shares)))


def joined_folds(folds: Sequence[FoldScores | None]) -> FoldScores | None:
    """The scores of several folds together; None if there are none."""
    found = [one for one in folds if one is not None]
    if not found:
        return None
    return FoldScores(
        np.concatenate([one.held for one in found]),
        np.concatenate([one.scores for one in found]),
        {share: np.concatenate([one.dropped[share] for one in found]) for share in found[0].dropped},
        len(found),
    )


def each_fold(
    problem: Problem,
    learner: Any,
    held_out: HeldOut,
    folds: Sequence[int],
    threads: int,
    shares: Sequence[float] = (),
) -> Iterator[FoldScores | None]:
    """The scores of each fold; None for a fold if the other folds have a single label, or no documents."""
    data: DocumentExamples = problem.examples
    encoder = held_out.encoder
    able = [_trains(learner, problem, held_out, k) for k in folds]
    for fits, k, w in zip(
        able, folds, _weights(problem, learner, held_out, folds, able, threads), strict=True
    ):
        if not fits or w is None:
            yield None
            continue
        left, some = held_out.of(k)
        scores = _scores(some, w, data.Y, threads)
        dropped = {}
        if encoder is not None and shares:
            strongest = np.empty(len(w), dtype=np.float32)
            row_strengths(w, threads, strongest)
            for share in shares:
                keep = strongest[:-1] >= share * strongest.max(initial=0.0)
                dropped[share] = _scores(encoder.thinned(some, keep), w, data.Y, threads)
        yield FoldScores(left, scores, dropped)


def _trains(learner: Any, problem: Problem, held_out: HeldOut, k: int) -> bool:
    """Whether the learner can be trained without fold k: there are documents, and two labels if it needs them."""
    learnt = held_out.other_documents(k)
    if len(learnt) in (0, len(held_out.rows)):
        return False
    none = SparseRows(np.zeros(len(learnt) + 1, np.int64), np.zeros(0, np.int32), None, held_out.rows.columns)
    try:
        learner.check(part_of(problem, none, learnt))
    except DataError:  # only one label
        return False
    return True


def _weights(
    problem: Problem,
    learner: Any,
    held_out: HeldOut,
    folds: Sequence[int],
    able: Sequence[bool],
    threads: int,
) -> Iterator[NDArray[np.float32] | None]:
    """The weights of a training without each fold; None if there is none."""
    parts = [held_out.other_documents(k) for fits, k in zip(able, folds, strict=True) if fits]
    trained = weights_of_parts(learner, problem, parts, threads) if parts else None
    for fits, k in zip(able, folds, strict=True):
        if not fits:
            yield None
        elif trained is not None:
            yield next(trained)
        else:
            learnt, kept = held_out.others(k)
            try:
                yield learner.fit(part_of(problem, kept, learnt), threads=threads).w
            except DataError:
                yield None


def part_of(problem: Problem, rows: SparseRows, which: Which) -> Problem:
    """The problem of some of the documents; rows: of these."""
    data = problem.examples
    sizes = np.diff(data.label_ptr)[which]
    label_ptr = np.zeros(len(which) + 1, dtype=np.int64)
    np.cumsum(sizes, out=label_ptr[1:])
    at = np.repeat(data.label_ptr[which] - label_ptr[:-1], sizes) + np.arange(label_ptr[-1])
    examples = replace(
        data,
        ptr=rows.ptr,
        ids=rows.ids,
        values=rows.values,
        factors=rows.factors,
        label_ptr=label_ptr,
        labels=data.labels[at],
        soft=None if data.soft is None else data.soft[which],
    )
    return replace(
        problem, examples=examples, weight=None if problem.weight is None else problem.weight[which]
    )


def affordable_share(found: FoldScores, gold: NDArray[np.float32]) -> float:
    """The largest share of which the dropped weights cost no out-of-fold accuracy; otherwise 0.

    gold: float32 [M, Y], the labels of the documents scored
    """
    several = not np.allclose(gold.sum(axis=1), 1.0, atol=1e-3)

    def right(scores: NDArray[np.float32]) -> float:
        if several:  # margins and log-odds both have their threshold at zero
            return float(((scores > 0) == (gold > 0)).sum())
        return float(gold[np.arange(len(gold)), scores.argmax(axis=1)].sum())

    least = right(found.scores)
    return max((share for share, scores in found.dropped.items() if right(scores) >= least), default=0.0)


def _scores(rows: SparseRows, w: NDArray[np.float32], Y: int, threads: int) -> NDArray[np.float32]:
    out = np.zeros((len(rows), Y), dtype=np.float32)
    choice_scores(rows.native(1.0), w, threads, out)
    return out
