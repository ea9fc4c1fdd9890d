"""Evidence: why one answer was given and not another, as named numbers that add up to their scores."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, TypeVar

from chaffinch.errors import ConfigError, DataError

Answer = TypeVar("Answer", bound=Hashable)

FEATURE = "feature"  # of the input
LABELS = "labels"  # of labels and their neighbours
CONSTANT = "constant"  # intercepts, thresholds, normalisers
EXAMPLE = "example"  # of the training data
REST = "rest"  # many small ones in one sum


@dataclass(frozen=True)
class Question:
    """What is asked of a model.

    token:   which of the tokens, from 0; None: all
    against: the answer that was not given; None: the best other one
    """

    token: int | None = None
    against: str | None = None

    def tokens(self, T: int) -> range:
        """The tokens of a sentence that are asked about."""
        if self.token is None:
            return range(T)
        if not 0 <= self.token < T:
            raise DataError(f"there is no token {self.token + 1} in a sentence of {T} tokens")
        return range(self.token, self.token + 1)

    @property
    def wanted(self) -> str:
        """What a rival has to have, as a sentence begins."""
        return "Another label" if self.against is None else f"The label {self.against}"

    def is_answer(self, answer: str, t: int, word: str) -> bool:
        """Whether token t got the very label that is asked about; an error where the token was named too."""
        if self.against != answer:
            return False
        if self.token is not None:
            raise ConfigError(
                f"token {t + 1} ({word}) got the label {answer}: name another to compare it with"
            )
        return True

    def checked(self, labels: Sequence[str]) -> "Question":
        """The same; ConfigError where ``against`` is none of these labels."""
        if self.against is not None and self.against not in labels:
            known = ", ".join(labels[:12]) + (", ..." if len(labels) > 12 else "")
            raise ConfigError(f"the model has no label {self.against!r}; it has {known}")
        return self


@dataclass(frozen=True)
class Contribution:
    """One thing that speaks for an answer or against: value * weight of its score, value * rival of the rival's.

    place: the token that it was seen at, if any
    last:  the last of its tokens, where it may be about several
    """

    name: str
    weight: float
    rival: float = 0.0
    value: float = 1.0
    kind: str = FEATURE
    place: int | None = None
    last: int | None = None

    @property
    def difference(self) -> float:
        """How far it puts the answer ahead of the rival."""
        return self.value * (self.weight - self.rival)


@dataclass(frozen=True)
class Removal:
    """Features without which the answer would have been another.

    features: the contributions that go, the strongest first
    answer:   what it would have been
    """

    features: tuple[Contribution, ...]
    answer: str


@dataclass(frozen=True)
class Evidence:
    """One decision: the answer, its best rival, and all that tells their scores apart.

        score       = shared + sum over contributions of value * weight
        rival_score = shared + sum over contributions of value * rival

    subject: what was decided about: a word, a document, a phrase
    shared:  what both scores have in common: parts that are the same either way
    place:   the token in question, where there is one
    step:    when it was decided, from 0, where decisions are made one after the other
    without: what would have to go for another answer; None where there is no such set, or it was not looked for
    note:    one sentence that a reader needs besides
    whole:   the entire answer and the entire rival, label by label or link by link, where this is one part of them
    """

    subject: str
    answer: str
    score: float
    contributions: tuple[Contribution, ...]
    rival: str | None = None
    rival_score: float | None = None
    shared: float = 0.0
    probability: float | None = None
    rival_probability: float | None = None
    place: int | None = None
    step: int | None = None
    without: Removal | None = None
    note: str = ""
    whole: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def margin(self) -> float:
        """How far the answer is ahead, which contributions add up to; without a rival, what they add to its score."""
        return self.score - (self.shared if self.rival_score is None else self.rival_score)

    def ranked(self) -> list[Contribution]:
        """The contributions that make a difference, the strongest first."""
        telling = [c for c in self.contributions if c.difference != 0]
        return sorted(telling, key=lambda c: -abs(c.difference))

    def strongest(self, top: int) -> tuple[list[Contribution], Contribution | None]:
        """The strongest so many, and the sum of the others, if there are any, as one more."""
        ranked = self.ranked()
        return ranked[:top], summed(ranked[top:])


def turning_point(
    leads: Sequence[float], margin: float, given: Answer, answer: Callable[[int], Answer]
) -> tuple[int, Answer] | None:
    """How many features have to go for another answer, and which: n of them are enough, n - 1 are not; None if all
    are not.

    leads:     how far each puts the answer ahead of its rival, the strongest first
    margin:    how far it is ahead: where they have used it up is looked first, so that few answers are asked for
    answer(n): what it is without the first n

    >>> turning_point([1.0] * 10, 3.0, "A", lambda n: "B" if n >= 7 else "A")
    (7, 'B')
    >>> turning_point([2.0, 1.0, 1.0], 9.0, "A", lambda n: "A") is None
    True
    """
    N = len(leads)
    used_up = next((n for n, used in enumerate(accumulate(leads), 1) if used > margin), N)
    if N == 0:
        return None
    few, many, step = 0, used_up, 1
    turned = answer(many)
    if turned == given:
        while turned == given:
            if many == N:
                return None
            few, many, step = many, min(many + step, N), 2 * step
            turned = answer(many)
    else:
        few = many - 1
        while few > 0 and (other := answer(few)) != given:
            many, few, step, turned = few, max(few - step, 0), 2 * step, other
    while many - few > 1:
        middle = (few + many) // 2
        if (other := answer(middle)) == given:
            few = middle
        else:
            many, turned = middle, other
    return many, turned


class Term(NamedTuple):
    """Something that an answer has, and what it adds to the answer's score.

    place: the token that it stands at   last: the last one, where it stands at several
    """

    name: str
    weight: float
    place: int
    kind: str = LABELS
    last: int | None = None


def told_apart(own: Iterable[Term], others: Iterable[Term]) -> tuple[list[Contribution], float]:
    """What one of two answers has and the other has not, and the sum of what they share.

    What both have counts as shared even if at different places: it makes no difference.

    >>> told_apart([Term("A → B", 2.0, 1), Term("B → A", 1.0, 2)], [Term("A → B", 2.0, 2), Term("A → A", 0.5, 1)])
    ([Contribution(name='B → A', weight=1.0, rival=0.0, value=1.0, kind='labels', place=2, last=None),
      Contribution(name='A → A', weight=0.0, rival=0.5, value=1.0, kind='labels', place=1, last=None)], 2.0)
    """
    mine, theirs = Counter(own), Counter(others)
    same = mine & theirs
    shared = sum(times * term.weight for term, times in same.items())
    left: dict[tuple[str, float, str], tuple[list[Term], list[Term]]] = {}
    for side, terms in enumerate((mine - same, theirs - same)):
        for term in terms.elements():
            left.setdefault((term.name, term.weight, term.kind), ([], []))[side].append(term)
    found: tuple[list[Contribution], list[Contribution]] = [], []
    for (name, weight, kind), sides in left.items():
        moved = min(map(len, sides))
        shared += moved * weight
        for side, weights in enumerate(((weight, 0.0), (0.0, weight)) if weight else ()):
            for term in sorted(sides[side], key=lambda one: one.place)[moved:]:
                last = None if term.last == term.place else term.last
                found[side].append(Contribution(name, *weights, kind=kind, place=term.place, last=last))
    return found[0] + found[1], shared


def summed(many: Sequence[Contribution], place: int | None = None) -> Contribution | None:
    """Many contributions as one; None for none.

    >>> summed([Contribution("a", 2.0, 1.0), Contribution("b", 0.5, 0.0, value=2.0)])
    Contribution(name='2 others', weight=3.0, rival=1.0, value=1.0, kind='rest', place=None, last=None)
    """
    if not many:
        return None
    name = f"{len(many)} others" if len(many) > 1 else "1 other"
    weight, rival = sum(c.value * c.weight for c in many), sum(c.value * c.rival for c in many)
    return Contribution(name, weight, rival, kind=REST, place=place)
