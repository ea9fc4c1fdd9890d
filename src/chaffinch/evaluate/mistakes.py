"""Examples of errors: kinds of error, their frequencies, and the shortest sentences with each."""

from collections.abc import Iterator
from dataclasses import dataclass

NONE = "(none)"


@dataclass(frozen=True, slots=True)
class Marked:
    """A span or tagged token: its type, its bounds in tokens, and the comparison with the other reading."""

    kind: str
    begin: int
    end: int
    verdict: str  # right, wrong, or mixed: the same words or type on the other side, but not both


@dataclass(frozen=True)
class ErrorSentence:
    """A sentence with its gold and its predicted spans."""

    sentence: int
    words: list[str]
    gold: list[Marked]
    predicted: list[Marked]


@dataclass(frozen=True)
class ErrorType:
    """A kind of error: gold and predicted type, or none; if they are equal, only the bounds differ."""

    gold: str
    predicted: str
    times: int
    examples: list[ErrorSentence]

    @property
    def name(self) -> str:
        """The error in words."""
        return mistake_name(self.gold, self.predicted)


def mistake_name(gold: str, predicted: str) -> str:
    """The name of an error: between two types, or between a type and none.

    >>> mistake_name("PER", "LOC"), mistake_name(NONE, "PER"), mistake_name("PER", "PER")
    ('PER taken for LOC', 'spurious PER', 'PER with other bounds')
    """
    if gold == NONE:
        return f"spurious {predicted}"
    if predicted == NONE:
        return f"{gold} missed"
    return f"{gold} with other bounds" if gold == predicted else f"{gold} taken for {predicted}"


Pieces = list[tuple[str, int, int]]


def paired(gold: Pieces, predicted: Pieces) -> Iterator[tuple[str, str, bool]]:
    """Each gold span with the predicted span that shares most words with it, and whether the two are the same span.

    Then the predicted spans that share no word with a gold span, paired with none.
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


def marked(reading: Pieces, other: Pieces) -> list[Marked]:
    """The spans of one reading, each with its verdict by the other reading."""
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
