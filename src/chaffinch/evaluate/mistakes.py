"""Errors worth reading: what kinds there are, how often, and the shortest sentences that show each."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.evaluate.sources import TagSource
from chaffinch.evaluate.tags import TagScorer

NONE = "(none)"


@dataclass(frozen=True, slots=True)
class Marked:
    """A span (or a tagged token) in a sentence, in tokens from its start, and whether the other side has it."""

    kind: str
    begin: int
    end: int
    verdict: str  # right, wrong, or mixed: the same words or type on the other side, but not both


@dataclass(frozen=True)
class Example:
    """A sentence with both readings."""

    sentence: int
    words: list[str]
    gold: list[Marked]
    predicted: list[Marked]


@dataclass(frozen=True)
class Mistake:
    """A kind of error: gold type (or none), predicted type (or none), and whether only the bounds differ."""

    gold: str
    predicted: str
    times: int
    examples: list[Example]

    @property
    def name(self) -> str:
        """What happened, in words."""
        return mistake_name(self.gold, self.predicted)


def mistake_name(gold: str, predicted: str) -> str:
    """What a mistake is called: of two types, or of one and none.

    >>> mistake_name("PER", "LOC"), mistake_name(NONE, "PER"), mistake_name("PER", "PER")
    ('PER taken for LOC', 'PER where there is none', 'PER with other bounds')
    """
    if gold == NONE:
        return f"{predicted} where there is none"
    if predicted == NONE:
        return f"{gold} missed"
    return f"{gold} with other bounds" if gold == predicted else f"{gold} taken for {predicted}"


def mistakes(
    source: TagSource, scorer: TagScorer, kinds: int = 12, examples: int = 2
) -> tuple[list[Mistake], list[str], NDArray[np.int64]]:
    """The most frequent kinds of error with examples; and the confusions [types, types] with their names."""
    readings = list(_readings(source, scorer))
    pairs: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for i, (n, gold, predicted) in enumerate(readings):
        length = int(source.ptr[n + 1] - source.ptr[n])
        for a, b, exact in paired(gold, predicted):
            pairs[a, b] += 1
            if not exact:
                shown[a, b].append((length, i))
    wrong = Counter({pair: len(cases) for pair, cases in shown.items()})
    found, used = [], set[int]()
    for (a, b), times in wrong.most_common(kinds):
        # The shortest sentences, but not those of a few words, and each sentence once.
        cases = sorted({c for c in shown[a, b] if c[1] not in used}, key=lambda c: (c[0] < 5, c))[:examples]
        used |= {i for _, i in cases}
        found.append(Mistake(a, b, times, [_example(source, *readings[i]) for _, i in cases]))
    names = [*sorted({name for pair in pairs for name in pair} - {NONE}), NONE]
    index = {name: i for i, name in enumerate(names)}
    confusion = np.zeros((len(names), len(names)), dtype=np.int64)
    for (a, b), times in pairs.items():
        confusion[index[a], index[b]] += times
    return found, names, confusion


Reading = list[tuple[str, int, int]]


def _readings(source: TagSource, scorer: TagScorer) -> Iterator[tuple[int, Reading, Reading]]:
    """Sentence, gold spans and predicted spans (type, begin, end), for sentences that have any."""
    if scorer.rules is None:
        yield from _token_readings(source)
        return
    sides = []
    for ids in (source.y, source.outputs[0]):
        by_sentence: dict[int, Reading] = defaultdict(list)
        for n, begin, end, kind in zip(*(x.tolist() for x in scorer.spans(ids, source.ptr)), strict=True):
            start = int(source.ptr[n])
            by_sentence[n].append((scorer.types[kind], begin - start, end - start))
        sides.append(by_sentence)
    for n in sorted({*sides[0], *sides[1]}):
        yield n, sides[0].get(n, []), sides[1].get(n, [])


def _token_readings(source: TagSource) -> Iterator[tuple[int, Reading, Reading]]:
    """Where tags mark no spans, the tokens that differ stand for them."""
    wrong = np.flatnonzero(source.y != source.outputs[0])
    sentences = np.searchsorted(source.ptr, wrong, side="right") - 1
    by_sentence: dict[int, tuple[Reading, Reading]] = defaultdict(lambda: ([], []))
    for t, n in zip(wrong.tolist(), sentences.tolist(), strict=True):
        at = t - int(source.ptr[n])
        for side, ids in zip(by_sentence[n], (source.y, source.outputs[0]), strict=True):
            side.append((source.labels[ids[t]], at, at + 1))
    for n, (gold, predicted) in by_sentence.items():
        yield n, gold, predicted


def paired(gold: Reading, predicted: Reading) -> Iterator[tuple[str, str, bool]]:
    """Each gold span with the predicted one that shares most words, and whether that is the same span.

    Predicted spans that share no word with a gold one follow, paired with none.
    """
    taken = set()
    for kind, begin, end in gold:
        overlaps = [
            (min(end, e) - max(begin, b), (k, b, e) == (kind, begin, end), k == kind, i)
            for i, (k, b, e) in enumerate(predicted)
        ]
        best = max(overlaps, default=(0, False, False, -1))
        if best[0] <= 0:
            yield kind, NONE, False
            continue
        taken.add(best[3])
        yield kind, predicted[best[3]][0], predicted[best[3]] == (kind, begin, end)
    for i, (kind, begin, end) in enumerate(predicted):
        if i not in taken and not any(min(end, e) > max(begin, b) for _, b, e in gold):
            yield NONE, kind, False


def _example(source: TagSource, n: int, gold: Reading, predicted: Reading) -> Example:
    return Example(n, source.sentence(n), marked(gold, predicted), marked(predicted, gold))


def marked(reading: Reading, other: Reading) -> list[Marked]:
    """The spans of one reading, judged by the other."""
    known = set(other)
    bounds = {(b, e) for _, b, e in other}
    marked = []
    for kind, begin, end in reading:
        if (kind, begin, end) in known:
            verdict = "right"
        else:
            near = (begin, end) in bounds or any(k == kind and b < end and begin < e for k, b, e in other)
            verdict = "mixed" if near else "wrong"
        marked.append(Marked(kind, begin, end, verdict))
    return marked
