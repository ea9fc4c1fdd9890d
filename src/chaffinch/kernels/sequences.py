"""Kernels of strings: n-grams, n-grams with mismatches, and subsequences with gaps, over characters or words."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.rows import SparseRows
from chaffinch.kernels.kernel import Block, Kernel
from chaffinch.kernels.vectors import LinearKernel
from chaffinch.knobs import check, knob
from chaffinch.text.tokens import tokens

UNITS = ("characters", "words")


@dataclass(frozen=True)
class Sequences:
    """Sequences of symbols in a bank, and the selected ones: int64 [n]."""

    bank: _core.SequenceBank
    which: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.which)

    def taken(self, which: NDArray[np.integer[Any]]) -> "Sequences":
        """Some of the sequences, in the order named."""
        return Sequences(self.bank, self.which[which])


@dataclass(frozen=True)
class CountedNgrams:
    """The n-grams of each text as sorted 64-bit keys, with their counts."""

    ptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    counts: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def taken(self, which: NDArray[np.integer[Any]]) -> "CountedNgrams":
        """Some of the texts, in the order named."""
        sizes = np.diff(self.ptr)[which]
        ptr = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=ptr[1:])
        at = np.repeat(self.ptr[which] - ptr[:-1], sizes) + np.arange(ptr[-1])
        return CountedNgrams(ptr, self.keys[at], self.counts[at])

    @cached_property
    def table(self) -> NDArray[np.uint64]:
        """The distinct keys."""
        return np.unique(self.keys)

    def numbered(self, table: NDArray[np.uint64]) -> SparseRows:
        """Rows over the keys of a table; n-grams that it lacks are left out."""
        if len(table) == 0:
            return SparseRows(np.zeros_like(self.ptr), np.zeros(0, np.int32), None, 0)
        ids = np.minimum(np.searchsorted(table, self.keys), len(table) - 1)
        known = table[ids] == self.keys
        ptr = np.concatenate([[0], np.cumsum(known)])[self.ptr].astype(np.int64)
        return SparseRows(ptr, ids[known].astype(np.int32), self.counts[known], len(table))

    @cached_property
    def rows(self) -> SparseRows:
        """Rows over its own keys."""
        return self.numbered(self.table)


class SequenceKernel(Kernel):
    """A kernel of texts: strings, or lists of words if the unit is words."""

    unit: str

    def prepared(self, objects: Any) -> Any:
        """Sequences in a bank of symbols."""
        if isinstance(objects, Sequences):
            return objects
        ptr, keys = symbols(objects, self.unit)
        return Sequences(_core.SequenceBank(ptr, keys), np.arange(len(ptr) - 1))


@dataclass(frozen=True, kw_only=True)
class Spectrum(Kernel, name="spectrum", of="text"):
    """k(s, t) = sum over n-grams u of  count_u(s) count_u(t),   low <= n <= high. Leslie et al. 2002.

    >>> Spectrum(low=2, high=2).gram(["banana"], ["ananas"])   # an: 2 x 2, na: 2 x 2
    array([[8.]], dtype=float32)
    """

    length = "high"
    low: int = knob(3, "length of the shortest n-gram", low=1)
    high: int = knob(3, "length of the longest n-gram", low=1, high=100)
    unit: str = knob("characters", "unit of the n-grams", choices=UNITS)

    def prepared(self, objects: Any) -> CountedNgrams:
        """The n-grams of each text, counted."""
        if isinstance(objects, CountedNgrams):
            return objects
        _check_lengths(self, self.low, self.high)
        ptr, keys = symbols(objects, self.unit)
        return CountedNgrams(*_core.ngram_counts(ptr, keys, self.low, self.high))

    def block(self, A: CountedNgrams, B: CountedNgrams, threads: int) -> Block:
        """The inner products of the counts."""
        b = B.rows
        return LinearKernel().block(b if A is B else A.numbered(B.table), b, threads)

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """See :class:`Kernel`."""
        return LinearKernel().diagonal(self.prepared(A).rows, threads=threads)


@dataclass(frozen=True, kw_only=True)
class Mismatch(SequenceKernel, name="mismatch", of="text"):
    """The spectrum of n-grams with up to m mismatches. Leslie et al. 2004.

        k(s, t) = sum over n-grams u of s, v of t of  I(h),   h the number of positions in which u and v differ
        I(h)    = number of n-grams over the alphabet within m mismatches of both u and v

    >>> Mismatch(n=2, m=1, alphabet=3).gram(["ab"], ["ab", "ac", "cc"])   # 5 n-grams; 3 shared; 2 shared
    array([[5., 3., 2.]])
    """

    length = "n"
    n: int = knob(4, "length of the n-grams", low=1, high=64)
    m: int = knob(1, "largest number of mismatches in an n-gram", low=0)
    alphabet: int | None = knob(None, "number of symbols; by default that of the training texts", low=1)
    unit: str = knob("characters", "unit of the n-grams", choices=UNITS)

    def fitted(self, objects: Any) -> "Mismatch":
        """The kernel with the alphabet of these texts."""
        if self.alphabet is not None:
            return self
        return replace(self, alphabet=max(1, self.prepared(objects).bank.symbols))

    def block(self, A: Sequences, B: Sequences, threads: int) -> Block:
        """See :class:`Kernel`."""
        check(self)
        if self.alphabet is None:
            raise ConfigError("Mismatch.alphabet is None: blocks of prepared objects need a number")
        if self.m > self.n:
            raise ConfigError(f"Mismatch.m must be <= n = {self.n}, got {self.m}")
        shared = np.array(
            [_shared(self.n, self.m, self.alphabet, h) for h in range(min(self.n, 2 * self.m) + 1)]
        )
        out = np.zeros((len(A), len(B)), np.float64)
        _core.mismatch_gram(A.bank, A.which, B.bank, B.which, self.n, shared, threads, out)
        return out


@dataclass(frozen=True, kw_only=True)
class Subsequence(SequenceKernel, name="subsequence", of="text"):
    """Shared subsequences of two texts, with gaps; a longer span counts less.

        k(s, t) = sum over u of length low .. high, occurrences i in s and j in t of  decay^(span(i) + span(j))

    Lodhi et al. 2002, "Text classification using string kernels"; over words, Cancedda et al. 2003.

    >>> Subsequence(low=2, high=2, decay=0.5).gram(["cat"], ["car", "bat"]).tolist()   # ca: 2 + 2, at: 2 + 2
    [[0.0625, 0.0625]]
    """

    length = "high"
    low: int = knob(4, "length of the shortest subsequence", low=1)
    high: int = knob(4, "length of the longest subsequence", low=1, high=8)
    decay: float = knob(0.5, "factor for each position of the span", low=1e-3, high=1.0)
    unit: str = knob("characters", "unit of the subsequences", choices=UNITS)

    def block(self, A: Sequences, B: Sequences, threads: int) -> Block:
        """See :class:`Kernel`."""
        _check_lengths(self, self.low, self.high)
        out = np.zeros((len(A), len(B)), np.float64)
        _core.subsequence_gram(
            A.bank, A.which, B.bank, B.which, self.low, self.high, self.decay, threads, out
        )
        return out


@dataclass(frozen=True, kw_only=True)
class WordSequence(Subsequence, name="word-sequence", of="text"):
    """Subsequences of one to three words with gaps between them: :class:`Subsequence` over words.

    >>> WordSequence().gram(["the old cat sat"], ["the cat sat"]) > WordSequence().gram(["a dog sat"], ["the cat sat"])
    array([[ True]])
    """

    low: int = knob(1, "length of the shortest subsequence", low=1)
    high: int = knob(3, "length of the longest subsequence", low=1, high=8)
    unit: str = knob("words", "unit of the subsequences", choices=UNITS)


def symbols(texts: Any, unit: str) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Texts as symbols end to end: bounds [N+1] and keys. Characters are code points; words are hashed to 64 bits."""
    if isinstance(texts, str):
        raise DataError("expected a list of texts, got one text: put it in a list")
    listed = list(texts)
    pieces = [_characters(n, t) if unit == "characters" else _words(n, t) for n, t in enumerate(listed)]
    ptr = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(p) for p in pieces], out=ptr[1:])
    return ptr, np.concatenate([np.zeros(0, np.uint64), *pieces])


@lru_cache(maxsize=1 << 18)
def key(word: str) -> int:
    """A 64-bit hash of a word, the same in every run."""
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _characters(n: int, text: Any) -> NDArray[np.uint64]:
    if not isinstance(text, str):
        raise DataError(f"object {n + 1} is {type(text).__name__}, expected a text")
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)


def _words(n: int, text: Any) -> NDArray[np.uint64]:
    words: Iterable[Any] = (token.text.lower() for token in tokens(text)) if isinstance(text, str) else text
    if not isinstance(text, (str, list, tuple)) or not all(isinstance(w, str) for w in text):
        raise DataError(f"object {n + 1} is {type(text).__name__}, expected a text or a list of words")
    return np.array([key(w) for w in words], np.uint64)


def _check_lengths(kernel: Any, low: int, high: int) -> None:
    check(kernel)
    if low > high:
        raise ConfigError(f"{type(kernel).__name__}.low must be <= high = {high}, got {low}")


def _shared(n: int, m: int, alphabet: int, h: int) -> float:
    """The number of strings within m mismatches of both of two strings that differ in h of n positions.

    In i of the positions in which the two agree, the string differs from both. Of the other positions, it agrees with
    the first string in a, with the second in b, and with neither in c.
    """
    total = 0
    for a in range(h + 1):
        for b in range(h - a + 1):
            c = h - a - b
            ways = math.comb(h, a) * math.comb(h - a, b) * max(alphabet - 2, 0) ** c
            for i in range(n - h + 1):
                if i + c + max(a, b) <= m:
                    total += ways * math.comb(n - h, i) * (alphabet - 1) ** i
    return float(total)
