"""Global features of k-best lists of labellings, as 64-bit keys of whole labelled sentences, and their names.

Names are rebuilt on demand from the core's keys:
h_0 = mixed(c * template),   h_k = mixed(h_{k-1} ^ key of the k-th observed value) + c
"""

from collections.abc import Callable, Sequence
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.text.schemes.table import OUTSIDE

LETTERS = "BIESLU"


class KeyedRows(NamedTuple):
    """Features of candidates by key. ptr: int64 [candidates+1]   keys: uint64 [nnz]   values: float32 [nnz]."""

    ptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float32]


def tag_list_features(
    words: Sequence[Sequence[str]],
    candidates: Sequence[Sequence[Sequence[str]]],
    extra: Sequence[Sequence[str]] | None = None,
    threads: int = 0,
) -> KeyedRows:
    """The features of every candidate of every list, without those that all candidates of a list share.

    words: of each sentence   candidates: the labellings of each sentence   extra: a further column, such as tags

    >>> rows = tag_list_features([["Anna", "sings"]], [[["B-PER", "O"], ["O", "O"], ["O", "O"]]])
    >>> len(rows.ptr) - 1, len(rows.keys) == rows.ptr[-1]
    (3, np.True_)
    """
    place: dict[str, int] = {}
    tags = np.fromiter(
        (place.setdefault(tag, len(place)) for tag in chain.from_iterable(chain.from_iterable(candidates))),
        np.int32,
    )
    labels = list(place)
    kinds = [span_of(tag) for tag in labels]
    return KeyedRows(
        *_core.tag_list_features(
            np.cumsum([0, *map(len, candidates)], dtype=np.int64),
            np.cumsum([0, *map(len, words)], dtype=np.int64),
            tags,
            _core.string_keys(labels),
            np.where([kind != "" for kind in kinds], _core.string_keys(kinds), 0).astype(np.uint64),
            np.array([tag[0] in "BSU" for tag in labels], np.uint8),
            np.array([tag[0] in "ESLU" for tag in labels], np.uint8),
            _keys(words, str.lower),
            _keys(words, word_shape),
            np.zeros(0, np.uint64) if extra is None else _keys(extra, str),
            threads,
        )
    )


def span_of(tag: str) -> str:
    """The type of a tag's span with a mark before it; empty if the tag is outside."""
    letter, dash, kind = tag.partition("-")
    if tag == OUTSIDE or letter not in LETTERS or (dash and not kind):
        return ""
    return f"-{kind}" if dash else ("-" if len(tag) == 1 else "")


def _keys(sentences: Sequence[Sequence[str]], function: Callable[[str], str]) -> NDArray[np.uint64]:
    """A key for each token; the function is called once per type."""
    place: dict[str, int] = {}
    ids = np.fromiter((place.setdefault(w, len(place)) for w in chain.from_iterable(sentences)), np.int64)
    keys = _core.string_keys([function(w) for w in place])
    return np.asarray(keys[ids])


def word_shape(word: str) -> str:
    """The word shape: runs of capitals, small letters and digits shortened, ``McDonald's`` to ``XxXx'x``."""
    kinds = ("X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word)
    return "".join(kind for kind, _ in groupby(kinds))


LONGEST = 6  # larger lengths and counts share one bucket
NEAR = 12  # largest distance at which a repeated word counts

_WORD = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
# In the core's order, numbered from 1.
_TEMPLATES = (
    "labels", "four labels", "labels and word", "two labels and words", "labels and words before",
    "labels and column", "phrase", "phrase shape", "span length", "span ends", "span around", "span column",
    "span column around", "spans", "three spans", "span heads", "span gap", "spans with the same head",
    "word twice", "number of spans", "earlier spans of the type",
)  # fmt: skip


class ObservedValue(NamedTuple):
    """A value that a template observed, and its key."""

    key: int
    text: str


class TypedSpan(NamedTuple):
    """The first and the last token of a span, and its type."""

    first: int
    last: int
    kind: ObservedValue


EDGE = ObservedValue(0x51ED270B35A9D1CF, "-")


def tag_list_names(
    words: Sequence[str], labels: Sequence[str], extra: Sequence[str] | None = None
) -> dict[int, str]:
    """The names of the features of one labelling, by key.

    >>> names = tag_list_names(["Anna", "sings"], ["B-PER", "O"])
    >>> [name for name in names.values() if name.startswith("phrase=")]
    ['phrase=PER anna']
    """
    return _Labelling(words, labels, extra).names()


class _Labelling:
    def __init__(self, words: Sequence[str], labels: Sequence[str], extra: Sequence[str] | None) -> None:
        self.T = len(words)
        self.tags = _seen(labels)
        self.words = _seen([w.lower() for w in words])
        self.shapes = _seen([word_shape(w) for w in words])
        self.extra = None if extra is None else _seen(extra)
        self.spans = _spans(labels)
        self.found: dict[int, str] = {}

    def names(self) -> dict[int, str]:
        for t in range(self.T + 1):
            self._at(t)
        for s in range(len(self.spans) + 1):
            self._between(s)
        for span in self.spans:
            self._inside(span)
        self._whole()
        return self.found

    def _emit(self, template: int, *seen: ObservedValue) -> None:
        h = _mixed(_STEP * template & _WORD)
        for one in seen:
            h = (_mixed(h ^ one.key) + _STEP) & _WORD
        shown = " ".join(one.text for one in seen if one.text)
        self.found[h] = f"{_TEMPLATES[template - 1]}={shown}"

    def _at(self, t: int) -> None:
        y3, y2, y1, y = (_get(self.tags, t - back) for back in (3, 2, 1, 0))
        w2, w1, w = (_get(self.words, t - back) for back in (2, 1, 0))
        self._emit(1, y2, y1, y)
        self._emit(2, y3, y2, y1, y)
        self._emit(3, y2, y1, y, w)
        self._emit(4, y1, y, w1, w)
        self._emit(5, y2, y1, y, w2, w1)
        if self.extra is not None:
            self._emit(6, y2, y1, y, *(_get(self.extra, t - back) for back in (2, 1, 0)))

    def _inside(self, s: TypedSpan) -> None:
        here = slice(s.first, s.last + 1)
        self._emit(7, s.kind, _row(self.words[here]))
        self._emit(
            8, s.kind, _row(self.shapes[here]), _number(int(s.first == 0), "at the start" * (s.first == 0))
        )
        self._emit(9, s.kind, _bounded(s.last - s.first + 1))
        self._emit(10, s.kind, self.words[s.first], self.words[s.last])
        self._emit(11, s.kind, _get(self.words, s.first - 1), _get(self.words, s.last + 1))
        if self.extra is not None:
            extras = _row(self.extra[here])
            self._emit(12, s.kind, extras)
            self._emit(13, s.kind, extras, _get(self.extra, s.first - 1), _get(self.extra, s.last + 1))

    def _between(self, s: int) -> None:
        kinds = [span.kind for span in self.spans]
        heads = [self.words[span.last] for span in self.spans]
        k2, k1, k = (_get(kinds, s - back) for back in (2, 1, 0))
        self._emit(14, k1, k)
        self._emit(15, k2, k1, k)
        self._emit(16, k1, _get(heads, s - 1), k, _get(heads, s))
        if 0 < s < len(self.spans):
            gap = self.spans[s].first - self.spans[s - 1].last - 1
            word = self.words[self.spans[s].first - 1] if gap == 1 else ObservedValue(0, "")
            self._emit(17, k1, k, _bounded(gap), word)

    def _whole(self) -> None:
        self._emit(20, _bounded(len(self.spans)), _bounded(self.T))
        for a, span in enumerate(self.spans):
            before = self.spans[:a]
            for other in before:
                if self.words[span.last].key == self.words[other.last].key:
                    self._emit(18, *sorted((span.kind, other.kind)))
            self._emit(21, span.kind, _bounded(sum(other.kind.key == span.kind.key for other in before)))
        for a in range(1, self.T):
            for b in range(max(0, a - NEAR), a):
                if self.words[a].key == self.words[b].key:
                    self._emit(19, self.tags[b], self.tags[a], self.shapes[a])


def _spans(labels: Sequence[str]) -> list[TypedSpan]:
    found: list[TypedSpan] = []
    for t, label in enumerate(labels):
        kind = span_of(label)
        if not kind:
            continue
        before = labels[t - 1] if t else ""
        opens, closed = label[0] in "BSU", bool(before) and before[0] in "ESLU"
        if t and not opens and span_of(before) == kind and not closed:
            found[-1] = found[-1]._replace(last=t)
        else:
            found.append(
                TypedSpan(t, t, ObservedValue(int(_core.string_keys([kind])[0]), kind.removeprefix("-")))
            )
    return found


def _seen(texts: Sequence[str]) -> list[ObservedValue]:
    return [
        ObservedValue(int(k), text) for k, text in zip(_core.string_keys(list(texts)), texts, strict=True)
    ]


def _get(things: Sequence[ObservedValue], at: int) -> ObservedValue:
    return things[at] if 0 <= at < len(things) else EDGE


def _row(things: Sequence[ObservedValue]) -> ObservedValue:
    h = 0
    for one in things:
        h = (_mixed(h ^ one.key) + 1) & _WORD
    return ObservedValue(h, " ".join(one.text for one in things))


def _bounded(n: int) -> ObservedValue:
    return _number(min(n, LONGEST), str(n) if n < LONGEST else f"{LONGEST} or more")


def _number(n: int, text: str) -> ObservedValue:
    return ObservedValue(n, text)


def _mixed(h: int) -> int:
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    h = (h ^ (h >> 27)) * 0x94D049BB133111EB & _WORD
    return h ^ (h >> 31)
