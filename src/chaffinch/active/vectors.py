"""Texts as points: weighted words under a random projection to few dimensions; k-means; near-duplicates."""

import re

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.rows import SparseRows

DIMENSIONS = 64
_CHUNK = 4096  # number of texts that are projected at once
_LLOYD = 12  # steps of k-means; the clusters only diversify a batch, so an approximate optimum is enough
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d")

Points = NDArray[np.float32]


def points(texts: list[str], seed: int = 0) -> Points:
    """One unit vector per text, close if texts share rare words; zero for a text without words.

    Johnson and Lindenstrauss 1984: a Gaussian projection approximately preserves angles for any vocabulary.
    """
    vectorizer = TextVectorizer(ngram_high=1, sublinear=True, idf=True, norm="l2")
    try:
        rows = vectorizer.fit_transform(texts)
    except DataError:  # no text has a word
        return np.zeros((len(texts), DIMENSIONS), np.float32)
    onto = np.random.default_rng(seed).standard_normal((rows.columns, DIMENSIONS), dtype=np.float32)
    weights, N = rows.weights(), len(texts)
    blocks = [_projected(rows, weights, a, min(a + _CHUNK, N), onto) for a in range(0, N, _CHUNK)]
    made = np.concatenate([np.zeros((0, DIMENSIONS), np.float32), *blocks])
    length = np.linalg.norm(made, axis=1, keepdims=True)
    return (made / np.where(length > 0, length, 1)).astype(np.float32)


def _projected(rows: SparseRows, weights: Points, start: int, end: int, onto: Points) -> Points:
    ptr = rows.ptr[start : end + 1]
    weighted = onto[rows.ids[ptr[0] : ptr[-1]]] * weights[ptr[0] : ptr[-1], None]
    sums = np.zeros((len(weighted) + 1, DIMENSIONS), np.float64)
    np.cumsum(weighted, axis=0, dtype=np.float64, out=sums[1:])
    at = ptr - ptr[0]
    return (sums[at[1:]] - sums[at[:-1]]).astype(np.float32)


def density(found: Points) -> NDArray[np.float64]:
    """The density of each text: its mean cosine with all texts, at least zero.

    >>> near = density(points(["green tea", "black tea", "tea", "an old ship"]))
    >>> bool(near[2] > near[3])
    True
    """
    mean = found.mean(axis=0, dtype=np.float64)
    return np.maximum(found @ mean, 0.0).astype(np.float64)


def clusters(found: Points, k: int, seed: int) -> tuple[NDArray[np.int64], Points]:
    """k-means++ (Arthur and Vassilvitskii 2007): the cluster of each text, and the centres."""
    chance = np.random.default_rng(seed)
    k = min(k, len(found))
    centres = [found[int(chance.integers(len(found)))]]
    nearest = ((found - centres[0]) ** 2).sum(axis=1)
    while len(centres) < k:
        total = float(nearest.sum())
        if total <= 0:  # fewer distinct texts than clusters
            break
        at = int(np.searchsorted(np.cumsum(nearest, dtype=np.float64), chance.random() * total))
        centres.append(found[min(at, len(found) - 1)])
        nearest = np.minimum(nearest, ((found - centres[-1]) ** 2).sum(axis=1))
    middle = np.stack(centres)
    for _ in range(_LLOYD):
        which = _nearest(found, middle)
        moved = middle.copy()
        for c in range(len(middle)):
            inside = found[which == c]
            if len(inside):
                moved[c] = inside.mean(axis=0)
        if np.array_equal(moved, middle):
            break
        middle = moved
    return _nearest(found, middle), middle


def _nearest(found: Points, middle: Points) -> NDArray[np.int64]:
    distance = (middle**2).sum(axis=1)[None, :] - 2 * found @ middle.T
    return distance.argmin(axis=1).astype(np.int64)


class SeenVectors:
    """Texts that were taken, and whether another is a near-duplicate of one of them, by Jaccard similarity of words.

    >>> seen = SeenVectors()
    >>> [seen.add(text) for text in ("Call me at 5 pm", "call me at 6 PM!", "Call him")]
    [True, False, True]
    """

    def __init__(self, similarity: float = 0.8) -> None:
        self.similarity = similarity
        self._bags: list[frozenset[str]] = []
        self._of_word: dict[str, list[int]] = {}

    def add(self, text: str) -> bool:
        """Take a text unless it is a near-duplicate of a taken one; returns whether it was taken."""
        bag = frozenset(_WORD.findall(_DIGITS.sub("0", text.lower()))) or frozenset([text])
        shared: dict[int, int] = {}
        for word in bag:
            for n in self._of_word.get(word, ()):
                shared[n] = shared.get(n, 0) + 1
        for n, count in shared.items():
            if count >= self.similarity * (len(bag) + len(self._bags[n]) - count):
                return False
        for word in bag:
            self._of_word.setdefault(word, []).append(len(self._bags))
        self._bags.append(bag)
        return True
