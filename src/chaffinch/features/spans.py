"""Features of whole spans, as 64-bit keys."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.features.tag_lists import word_shape
from chaffinch.text.gazetteers import Gazetteers

Keys = NDArray[np.uint64]
EDGE = np.uint64(0x51ED270B35A9D1CF)  # before the first and after the last token

# Templates, each a number that is mixed into its keys.
LENGTH, PHRASE, SHAPES, AROUND, ENDS, LISTED, LISTED_LENGTH = range(1, 8)


@dataclass(frozen=True)
class SpanRows:
    """Features of every span of at most L tokens.

    The span of a length that starts at token t, counted over all sentences, is row t * L + length - 1. Rows of spans
    that pass the end of a sentence are empty.

    ptr: int64 [tokens * L + 1]   keys: uint64 [nnz]
    """

    ptr: NDArray[np.int64]
    keys: Keys


def span_features(words: Sequence[Sequence[str]], L: int, gazetteers: Gazetteers | None = None) -> SpanRows:
    """The features of all spans of all sentences.

    >>> rows = span_features([["New", "York"]], 2)
    >>> (np.diff(rows.ptr) > 0).tolist()
    [True, True, True, False]
    """
    ptr = np.cumsum([0, *map(len, words)], dtype=np.int64)
    flat = list(chain.from_iterable(words))
    T = len(flat)
    ends = np.repeat(ptr[1:], np.diff(ptr))
    starts = np.repeat(ptr[:-1], np.diff(ptr))
    place = np.arange(T)
    word, shape = _by_type(flat, str.lower), _by_type(flat, word_shape)
    before = np.where(place > starts, np.roll(word, 1), EDGE) if T else word
    after = np.where(place + 1 < ends, np.roll(word, -1), EDGE) if T else word
    rows: list[NDArray[np.int64]] = []
    found: list[Keys] = []
    phrases, shapes = np.zeros(T, np.uint64), np.zeros(T, np.uint64)
    for length in range(1, L + 1):
        last = place + length - 1
        fits = np.flatnonzero(last < ends)
        end = last[fits]
        phrases[fits], shapes[fits] = mixed(0, phrases[fits], word[end]), mixed(0, shapes[fits], shape[end])
        n = np.full(len(fits), length, np.uint64)
        whole = [
            mixed(LENGTH, n),
            mixed(PHRASE, phrases[fits]),
            mixed(SHAPES, shapes[fits]),
            mixed(AROUND, before[fits], after[end]),
            mixed(ENDS, shape[fits], shape[end], n),
        ]
        rows += [fits * L + length - 1] * len(whole)
        found += whole
    if gazetteers is not None:
        hits, listed = _listed(words, ptr, L, gazetteers)
        rows += [hits, hits]
        found += [mixed(LISTED, listed), mixed(LISTED_LENGTH, listed, (hits % L).astype(np.uint64))]
    every, keys = np.concatenate(rows) if rows else place, np.concatenate(found) if found else word
    order = np.argsort(every, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(every, minlength=T * L))])
    return SpanRows(bounds.astype(np.int64), keys[order])


def span_names(L: int, gazetteers: Gazetteers | None = None) -> dict[int, str]:
    """The names of keys that do not depend on a text: lengths, and lists that contain the span."""
    lengths = np.arange(1, L + 1, dtype=np.uint64)
    named = {
        key: f"length={n}" for n, key in zip(lengths.tolist(), mixed(LENGTH, lengths).tolist(), strict=True)
    }
    lists = [] if gazetteers is None else list(gazetteers.lists)
    keys = np.asarray(_core.string_keys(lists), np.uint64)
    named |= {key: f"list={name}" for name, key in zip(lists, mixed(LISTED, keys).tolist(), strict=True)}
    return named


def names_of_span(
    words: Sequence[str], start: int, length: int, gazetteers: Gazetteers | None = None
) -> list[str]:
    """The names of the features of one span of a sentence, in the order of ``span_features``.

    >>> names_of_span(["in", "New", "York"], 1, 2)
    ['length=2', 'phrase=new york', 'shapes=Xx Xx', 'around=in _ </s>', 'ends=Xx Xx, length=2']
    """
    end = start + length
    lower, shapes = [w.lower() for w in words], [word_shape(w) for w in words[start:end]]
    before, after = lower[start - 1] if start else "<s>", lower[end] if end < len(words) else "</s>"
    found = [
        f"length={length}",
        f"phrase={' '.join(lower[start:end])}",
        f"shapes={' '.join(shapes)}",
        f"around={before} _ {after}",
        f"ends={shapes[0]} {shapes[-1]}, length={length}",
    ]
    if gazetteers is None:
        return found
    seen = tuple(lower[start:end] if gazetteers.fold else words[start:end])
    names = list(gazetteers.lists)
    on = [names[k] for k in _phrases(gazetteers).get(seen, ())]
    return [*found, *(f"on list {name}" for name in on), *(f"on list {name}, length={length}" for name in on)]


def mixed(number: int, *seen: Keys) -> Keys:
    """Keys of a template and its values."""
    h = np.full(len(seen[0]), number + 1, np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for keys in seen:
        h ^= keys
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        h ^= h >> np.uint64(31)
    return h


def _by_type(tokens: Sequence[str], function: Callable[[str], str]) -> Keys:
    """A key for each token; the function is called once per type."""
    place: dict[str, int] = {}
    ids = np.fromiter((place.setdefault(w, len(place)) for w in tokens), np.int64, len(tokens))
    return np.asarray(_core.string_keys([function(w) for w in place]))[ids]


def _listed(
    words: Sequence[Sequence[str]], ptr: NDArray[np.int64], L: int, gazetteers: Gazetteers
) -> tuple[NDArray[np.int64], Keys]:
    """The spans that are exactly a phrase of a list, and the list's key."""
    on: Mapping[tuple[str, ...], list[int]] = _phrases(gazetteers)
    heads = {phrase[0] for phrase in on}
    names = list(gazetteers.lists)
    keys = np.asarray(_core.string_keys(names))
    rows: list[int] = []
    which: list[int] = []
    for sentence, (first, _) in zip(words, pairwise(ptr.tolist()), strict=True):
        seen = [w.lower() for w in sentence] if gazetteers.fold else list(sentence)
        for t, word in enumerate(seen):
            if word not in heads:
                continue
            for length in range(1, min(L, len(seen) - t) + 1):
                for k in on.get(tuple(seen[t : t + length]), ()):
                    rows.append((first + t) * L + length - 1)
                    which.append(k)
    return np.array(rows, np.int64), keys[np.array(which, np.int64)]


def _phrases(gazetteers: Gazetteers) -> dict[tuple[str, ...], list[int]]:
    on: dict[tuple[str, ...], list[int]] = {}
    lists: Iterable[list[tuple[str, ...]]] = gazetteers.lists.values()
    for k, phrases in enumerate(lists):
        for phrase in phrases:
            if phrase:
                on.setdefault(phrase, []).append(k)
    return on
