"""Labels of phrases as features of the sentences they are in: what each n-gram is worth, summed and pooled."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import permutation
from chaffinch.errors import DataError
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.rows import SparseRows
from chaffinch.knobs import knob
from chaffinch.learners.choice import ChoiceProblem
from chaffinch.learners.dual import DualLogistic, DualRidge

# Log-odds are larger numbers than regressions of 0 and 1.
SECOND = 0.3


@dataclass(kw_only=True)
class PhraseValences:
    """Phrases with labels teach what n-grams are worth; a sentence gets what its own are worth together.

    Ridge regression of each label's presence on the n-grams of a phrase gives w_fy, logistic regression a second
    opinion. Where labels are numbers on a scale, sum_y (y - middle) w_fy is the regression of that number, for ridge is
    linear in what it is to predict. Over the n-grams f of a sentence, for each label and for the number:

        sum of w_f,   the same / sqrt(length),   sum of positive and of negative w_f,   the largest, the smallest

    A training sentence never meets weights learnt from its own phrases: they come from the other folds, for
    otherwise the features would look far better in training than they are.

    >>> phrases = ["good", "bad", "good tea", "bad tea"] * 10
    >>> valences = PhraseValences(folds=2)
    >>> block = valences.fit_transform(["good tea", "bad tea"], phrases, [1, 0, 1, 0] * 10, [n % 2 for n in range(40)])
    >>> block.shape, bool(valences.transform(["good"])[0, 1] > valences.transform(["bad"])[0, 1])
    ((2, 36), True)
    """

    C: float = knob(0.06, "how much a phrase's loss counts against the size of the weights", low=1e-9)
    ngram_high: int = knob(3, "longest n-gram", low=1)
    folds: int = knob(10, "parts that the sentences are split into", low=2)
    passes: int = knob(10, "passes over the phrases", low=1)
    scale: float = knob(0.4, "what every feature is multiplied by", low=0.0)
    seed: int = knob(0, "decides the folds and the order of phrases", low=0)
    threads: int = knob(0, "threads to use; 0 for all cores", low=0)
    _fitted: Any = field(default=None, init=False, repr=False, compare=False)

    def fit_transform(
        self, texts: list[str], phrases: list[str], labels: Sequence[int], owner: Sequence[int]
    ) -> NDArray[np.float32]:
        """Features [N, 12 (Y + 1)] of training sentences.

        labels: of the phrases, from 0   owner: the sentence that each phrase is from
        """
        y, owners = np.asarray(labels, dtype=np.int32), np.asarray(owner, dtype=np.int64)
        if not len(phrases) == len(y) == len(owners) or len(y) == 0:
            raise DataError(
                f"{len(phrases)} phrases, {len(y)} labels and {len(owners)} owners; expected as many"
            )
        if owners.min() < 0 or owners.max() >= len(texts) or y.min() < 0:
            raise DataError("a phrase has an owner that is not among the sentences, or a label below 0")
        Y = int(y.max()) + 1
        vectorizer = TextVectorizer(
            tokens="marks", ngram_high=self.ngram_high, binary=True, min_df=2, threads=self.threads
        )
        rows = vectorizer.fit_transform(phrases)
        sentences = vectorizer.transform(texts)
        names = np.unique(np.array(phrases), return_inverse=True)[1]
        fold = np.empty(len(texts), dtype=np.int64)
        fold[np.asarray(permutation(len(texts), self.seed))] = np.arange(len(texts)) % self.folds
        block = np.zeros((len(texts), 12 * (Y + 1)), dtype=np.float32)
        for k in range(self.folds):
            others, own = _distinct(names, fold[owners] != k), np.flatnonzero(fold == k)
            w = self._weights(rows.taken(others), y[others], Y)
            block[own] = self._features(sentences.taken(own), w)
        once = _distinct(names, np.ones(len(y), dtype=np.bool_))
        self._fitted = (vectorizer, self._weights(rows.taken(once), y[once], Y))
        return block

    def transform(self, texts: list[str]) -> NDArray[np.float32]:
        """Features of new sentences, by all phrases."""
        if self._fitted is None:
            raise DataError("PhraseValences has learnt nothing yet: call fit_transform first")
        vectorizer, w = self._fitted
        return self._features(vectorizer.transform(texts), w)

    def _weights(self, rows: SparseRows, y: NDArray[np.int32], Y: int) -> NDArray[np.float32]:
        problem = ChoiceProblem(
            ptr=rows.ptr,
            ids=rows.ids,
            values=rows.values,
            F=rows.columns,
            label_ptr=np.arange(len(y) + 1, dtype=np.int64),
            labels=y,
            Y=Y,
            importance=np.ones(len(y), dtype=np.float32),
            seed=self.seed,
            threads=self.threads,
        )
        ridge = DualRidge(C=self.C, epochs=self.passes, tolerance=1e-3, bias=1.0).fit(problem).w
        logistic = DualLogistic(C=5 * self.C, epochs=self.passes, tolerance=1e-4, bias=1.0).fit(problem).w
        opinions = np.hstack([ridge[:-1, :Y], SECOND * logistic[:-1, :Y]])
        middle = np.arange(Y, dtype=np.float32) - (Y - 1) / 2
        numbers = np.column_stack([opinions[:, :Y] @ middle, opinions[:, Y:] @ middle])
        return np.ascontiguousarray(np.hstack([opinions, numbers]), dtype=np.float32)

    def _features(self, rows: SparseRows, w: NDArray[np.float32]) -> NDArray[np.float32]:
        each = w[rows.ids]
        lengths = np.diff(rows.ptr)
        filled = np.flatnonzero(lengths)
        starts = rows.ptr[:-1][filled]
        root = np.sqrt(np.maximum(lengths, 1))[:, None]

        def pooled(pool: np.ufunc, values: NDArray[np.float32]) -> NDArray[np.float32]:
            out = np.zeros((len(rows), w.shape[1]), dtype=np.float32)
            if len(filled):
                out[filled] = pool.reduceat(values, starts, axis=0)
            return out

        total = pooled(np.add, each)
        positive = pooled(np.add, np.maximum(each, 0))
        kinds: list[Any] = [
            total,
            total / root,
            positive / root,
            (total - positive) / root,
            pooled(np.maximum, each),
            pooled(np.minimum, each),
        ]
        return np.asarray(self.scale * np.hstack(kinds), dtype=np.float32)


def _distinct(names: NDArray[np.int64], wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The first of each phrase among those wanted: small words would drown the rest if every one counted."""
    at = np.flatnonzero(wanted)
    return np.sort(at[np.unique(names[at], return_index=True)[1]])
