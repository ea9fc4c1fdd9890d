"""Features of texts learnt from labelled phrases: a score of each n-gram, summed, pooled, and by windows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import choice_scores
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.rows import SparseRows, joined
from chaffinch.features.union import FeatureUnion
from chaffinch.model.quantised import with_lanes
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, array, fact, inside, strings

# Log-odds are larger numbers than regressions of 0 and 1; shares are smaller than sums.
SECOND = 0.3
SHARES = 1.25
# Words per window: a phrase, a clause, a short sentence.
WINDOWS = (3, 6, 12)
UNKNOWN = "?"


@dataclass(frozen=True)
class WordKinds:
    """Words replaced by the label that they have alone; frequent words keep their form beside the label.

    So "not charming", which may be unseen, becomes the frequent "not/1 /4".

    >>> WordKinds({"not": "not/1", "charming": "/4"}).of(["Not charming tea"])
    ['not/1 /4 ?']
    """

    kinds: Mapping[str, str]

    def of(self, texts: Iterable[str]) -> list[str]:
        """The texts, words replaced by their kinds."""
        return [" ".join(self.kinds.get(word, UNKNOWN) for word in text.lower().split()) for text in texts]


@dataclass(frozen=True, eq=False)
class Valences:
    """Dense features of texts: scores of their n-grams for each of Y labels.

    Over the n-grams f of a text, for each label and for the number that an ordinal label stands for, twice (by
    regression and by log-odds):

        sum of w_f,   the same / sqrt(length),   sum of positive and of negative w_f,   the largest, the smallest

    and over windows of a few words, for p(label|window) and the number expected: mean, largest, smallest, first, last.

    vectorizers, scales: n-grams of words, of characters and of kinds of words, and the multipliers of their values
    w:             float32 [F+1, 2Y], the regression's beside the log-odds', the intercepts last
    """

    vectorizers: tuple[TextVectorizer, ...]
    scales: tuple[float, ...]
    kinds: WordKinds
    w: NDArray[np.float32]
    scale: float

    @property
    def Y(self) -> int:
        """The number of labels of phrases."""
        return self.w.shape[1] // 2

    @property
    def columns(self) -> int:
        """The number of features of a text."""
        return (6 * 2 + 5 * len(WINDOWS)) * (self.Y + 1)

    def rows(self, texts: list[str], threads: int) -> SparseRows:
        """The n-grams of texts."""
        blocks = []
        for vectorizer, scale, seen in zip(self.vectorizers, self.scales, self.views(texts), strict=True):
            blocks.append(vectorizer.transform(seen, threads=threads).times(scale))
        return joined(blocks)

    def views(self, texts: list[str]) -> tuple[list[str], ...]:
        """The texts as each vectoriser reads them."""
        return texts, texts, self.kinds.of(texts)

    def features(self, texts: list[str], threads: int) -> NDArray[np.float32]:
        """float32 [N, columns]."""
        if not texts:
            return np.zeros((0, self.columns), dtype=np.float32)
        worth = _with_numbers(self.w[:-1], self.Y)
        blocks = [_pooled(self.rows(texts, threads), worth)]
        odds = with_lanes(self.w[:, self.Y :])
        blocks += [SHARES * self._by_windows(texts, length, odds, threads) for length in WINDOWS]
        return np.asarray(self.scale * np.hstack(blocks), dtype=np.float32)

    def _by_windows(
        self, texts: list[str], length: int, odds: NDArray[np.float32], threads: int
    ) -> NDArray[np.float32]:
        cut = [_windows(text, length) for text in texts]
        counts = np.array([len(windows) for windows in cut])
        rows = self.rows([window for windows in cut for window in windows], threads)
        s = np.zeros((len(rows), self.Y), dtype=np.float32)
        choice_scores(rows.native(1.0), odds, threads, s)
        p = np.exp(s - s.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        said = np.column_stack([p, p @ _scale_of_labels(self.Y)])
        last = np.cumsum(counts) - 1
        first = last - counts + 1
        return np.hstack(
            [
                np.add.reduceat(said, first) / counts[:, None],
                np.maximum.reduceat(said, first),
                np.minimum.reduceat(said, first),
                said[first],
                said[last],
            ]
        )

    def packed(self) -> Packed:
        """The content for a model file."""
        words, kinds = tuple(self.kinds.kinds), tuple(self.kinds.kinds.values())
        union = FeatureUnion(self.vectorizers)
        return _Sections(union, list(self.scales), self.scale, self.w, words, kinds).packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "Valences":
        """The valences of a file, checked."""
        need = Requirements(file)
        found = _Sections.loaded(need)
        union = found.union
        rows, columns = found.w.shape
        if rows != union.offsets()[-1] + 1 or columns % 2 or not columns:
            raise need.fault("the weights of its phrases do not fit their features")
        if len(union.vectorizers) != 3 or len(found.scales) != 3:
            raise need.fault("its phrases need three kinds of features, each with a scale")
        kinds = WordKinds(dict(zip(found.words, found.kinds, strict=True)))
        return cls(union.vectorizers, tuple(float(s) for s in found.scales), kinds, found.w, found.scale)


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of valences; union: their features."""

    union: FeatureUnion = inside(FeatureUnion)
    scales: list[float] = fact(list)
    scale: float = fact(float)
    w: NDArray[np.float32] = array("float32", "rows", "columns", stored=("float16",), finite=True)
    words: tuple[str, ...] = strings("kinds", name="kinds.words")
    kinds: tuple[str, ...] = strings("kinds", name="kinds.kinds")


def _pooled(rows: SparseRows, worth: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sums and extremes over the n-grams of each text: float32 [N, 6 columns of scores]."""
    each = worth[rows.ids] * rows.weights()[:, None]
    lengths = np.diff(rows.ptr)
    filled = np.flatnonzero(lengths)
    root = np.sqrt(np.maximum(lengths, 1))[:, None]

    def pool(how: np.ufunc, values: NDArray[np.float32]) -> NDArray[np.float32]:
        out = np.zeros((len(rows), worth.shape[1]), dtype=np.float32)
        if len(filled):
            out[filled] = how.reduceat(values, rows.ptr[:-1][filled], axis=0)
        return out

    total, positive = pool(np.add, each), pool(np.add, np.maximum(each, 0))
    extremes = [pool(np.maximum, each), pool(np.minimum, each)]
    return np.hstack([total, total / root, positive / root, (total - positive) / root, *extremes])


def _with_numbers(w: NDArray[np.float32], Y: int) -> NDArray[np.float32]:
    """The scores of n-grams for each label, and for the number that an ordinal label stands for.

    Ridge regression is linear in its target, so sum_y (y - middle) w_fy is the regression of that number.
    """
    opinions = np.hstack([w[:, :Y], SECOND * w[:, Y:]])
    middle = _scale_of_labels(Y)
    numbers = np.column_stack([opinions[:, :Y] @ middle, opinions[:, Y:] @ middle])
    return np.ascontiguousarray(np.hstack([opinions, numbers]), dtype=np.float32)


def _scale_of_labels(Y: int) -> NDArray[np.float32]:
    return np.asarray(np.arange(Y) - (Y - 1) / 2, dtype=np.float32)


def _windows(text: str, length: int) -> list[str]:
    """Windows of ``length`` words that overlap by half; a short text is one window.

    >>> _windows("a b c d e", 3)
    ['a b c', 'b c d', 'c d e']
    """
    words = text.split()
    if len(words) <= length:
        return [text]
    starts = [*range(0, len(words) - length, max(1, length // 2)), len(words) - length]
    return [" ".join(words[i : i + length]) for i in starts]
