"""The interface of explanations: what a model provides for one input; ``trust.explain`` does the rest.

An explanation compares two answers: the prediction, and the best other one. For each input, a model provides an
:class:`Explainable` with

    potentials(without)   the scores with some features removed
    best(potentials)      the best answer; given the rule of ``forbid``, the best that answers a question otherwise
    features, terms(y)    the named contributions to the score of an answer, each with the tokens that it is about
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.model.labels import LabelSet

P = TypeVar("P")
Y = TypeVar("Y")

FEATURE = "feature"  # of the input
LABELS = "labels"  # of labels and their neighbours
CONSTANT = "constant"  # intercepts, thresholds, normalisers
EXAMPLE = "example"  # of the training data
REST = "rest"  # many small ones in one sum

Offsets = tuple[int, ...]
HERE: Offsets = (0,)
Without = Mapping[int, NDArray[np.int64]]  # which rows of which features are removed
Columns = NDArray[np.int64]
Table = NDArray[np.float64]


class Grams(NamedTuple):
    """The n-grams of a text that a feature counts; a hashed feature may count several.

    characters: n-grams of characters, not of words
    """

    texts: tuple[str, ...]
    characters: bool = False


class Seen(NamedTuple):
    """The input of a feature.

    family:  the group of features that it belongs to, such as the template ``suffix2[0]``; empty: none
    offsets: tokens, counted from its own
    grams:   n-grams of a text
    """

    family: str = ""
    offsets: Offsets = HERE
    grams: Grams | None = None


Named = tuple[str, Seen]  # the name of a feature, and its input
UNSEEN = Seen()


@dataclass(frozen=True)
class Question:
    """A question to a model: why this answer, and not that one?

    token:   which of the tokens, from 0; None: all
    against: the other answer; None: the best other one
    """

    token: int | None = None
    against: str | None = None

    def tokens(self, T: int) -> range:
        """The tokens in question."""
        if self.token is None:
            return range(T)
        if not 0 <= self.token < T:
            raise DataError(f"there is no token {self.token + 1}: the sentence has {T} tokens")
        return range(self.token, self.token + 1)

    def checked(self, labels: Sequence[str]) -> "Question":
        """The same; ConfigError if ``against`` is none of these labels."""
        if self.against is not None and self.against not in labels:
            known = ", ".join(labels[:12]) + (", ..." if len(labels) > 12 else "")
            raise ConfigError(f"the model has no label {self.against!r}; it has {known}")
        return self


class Term(NamedTuple):
    """A named contribution to the score of an answer.

    place:   the token that it stands at, if any
    offsets: the tokens that it is about, counted from its place
    """

    name: str
    weight: float
    place: int | None = None
    kind: str = LABELS
    offsets: Offsets = HERE


def span_offsets(start: int, end: int) -> Offsets:
    """The offsets of a term at ``start`` that is about all tokens up to ``end``, exclusive.

    >>> span_offsets(3, 6)
    (0, 1, 2)
    """
    return tuple(range(end - start))


@dataclass(frozen=True, eq=False)
class Features:
    """The features of a token, a span, a link or a document, with their weights for all its possible answers.

        contribution of feature k to an answer that has column c = values[k, c] * weights[k, c]

    weights: float64 [n, columns]   values: the same, or None for 1
    names:   names of the features in these rows, and their inputs
    place:   the token in question, if any
    kind:    those of kind FEATURE can be removed one by one
    most:    maximum number listed by name; the others are summed
    """

    weights: Table
    names: Callable[[NDArray[np.int64]], Sequence[Named]]
    place: int | None = None
    values: Table | None = None
    kind: str = FEATURE
    most: int | None = None

    @classmethod
    def listed(
        cls,
        names: Sequence[Named],
        weights: NDArray[np.floating],
        values: NDArray[np.floating] | None = None,
        kind: str = FEATURE,
        place: int | None = None,
    ) -> "Features":
        """Features whose names are at hand; values: [n], or one for each answer [n, columns]."""
        wide = None
        if values is not None:
            column = values if values.ndim == 2 else values[:, None]
            wide = np.broadcast_to(column, weights.shape).astype(np.float64)
        w = weights.astype(np.float64)
        return cls(w, lambda rows: [names[k] for k in rows.tolist()], place, wide, kind)

    @classmethod
    def constant(cls, name: str, weights: NDArray[np.floating]) -> "Features":
        """A constant such as an intercept: a weight for each answer."""
        return cls.listed([(name, UNSEEN)], weights[None, :], kind=CONSTANT)

    @cached_property
    def added(self) -> Table:
        """The contribution of each [n, columns]."""
        return self.weights if self.values is None else self.weights * self.values

    @cached_property
    def sums(self) -> Table:
        """The sum of all contributions [columns]."""
        return np.asarray(self.added.sum(axis=0))

    def without(self, gone: NDArray[np.int64]) -> Table:
        """The sum of the remaining contributions [columns]."""
        return np.asarray(np.delete(self.added, gone, axis=0).sum(axis=0))


def token_groups(
    weights: Iterable[Table],
    names: Callable[[int, NDArray[np.int64]], Sequence[Named]],
    most: int | None = None,
) -> list[Features]:
    """A group for each token; names: given the token and rows of its weights."""
    return [Features(w, partial(names, t), t, most=most) for t, w in enumerate(weights)]


@dataclass(frozen=True)
class Decision:
    """One part of an answer, which is explained separately.

    subject: what the decision is about: a word, a document, a phrase
    key:     the model's identifier, such as a link
    place:   its token, if any   step: when it was decided, from 0, if decisions are made one after the other
    settled: why there is no comparison; empty if there is one
    """

    subject: str
    key: Any = None
    place: int | None = None
    step: int | None = None
    settled: str = ""


class Restriction(NamedTuple):
    """What a rival must say about a decision: ``against``, or anything but what the model gave."""

    decision: Decision
    given: str
    against: str | None

    def allows(self, said: str) -> bool:
        """Whether a rival may say this.

        >>> Restriction(Decision("tea"), "X", None).allows("X"), Restriction(Decision("tea"), "X", "Y").allows("Y")
        (False, True)
        """
        return said != self.given if self.against is None else said == self.against


class Explainable(ABC, Generic[P, Y]):
    """One input as its model scores it. P: potentials, Y: answers."""

    @property
    @abstractmethod
    def answer(self) -> Y:
        """The model's answer."""

    @property
    @abstractmethod
    def features(self) -> Sequence[Features]:
        """All features, in groups whose weights depend on the answer through one column each."""

    @abstractmethod
    def decisions(self, question: Question) -> Iterable[Decision]:
        """The decisions in question."""

    @abstractmethod
    def potentials(self, without: Without) -> P:
        """The scores of all parts, with some features removed."""

    @abstractmethod
    def best(self, potentials: P, rule: Restriction | None = None) -> Y | None:
        """The best answer, of those that a rule allows; None if none is possible."""

    @abstractmethod
    def score(self, y: Y) -> float:
        """The model's own score of an answer."""

    @abstractmethod
    def columns(self, y: Y) -> Columns:
        """The column that each group of features has in an answer [groups]; -1: the answer does not have it."""

    @abstractmethod
    def wording(self, y: Y, decision: Decision) -> str:
        """What an answer says about a decision."""

    def forbid(self, decision: Decision, against: str | None) -> Restriction:
        """The rule that forbids the model's answer to a decision, or all but ``against`` if it is named."""
        return Restriction(decision, self.wording(self.answer, decision), against)

    def terms(self, y: Y, near: Sequence[int] | None) -> Iterable[Term]:
        """The contributions to an answer's score besides features; near: only those that depend on these groups."""
        return ()

    def near(self, changed: Columns) -> Sequence[int] | None:
        """The places whose terms depend on the columns of these groups; None: all."""
        return None

    def own(self, decision: Decision) -> Columns | None:
        """The groups that a decision without a rival is about; None: all."""
        return None

    @property
    def removable(self) -> bool:
        """Whether the model can answer with features removed."""
        return True

    def described(self, rival: Y, decision: Decision) -> str:
        """What the rival says about a decision, in words."""
        return self.wording(rival, decision)

    def probability(self, said: str, decision: Decision) -> float | None:
        """The probability that the model gives to this answer to the decision."""
        return None

    def spelt(self, y: Y) -> tuple[str, ...] | None:
        """An entire answer, label by label or link by link; None if the decisions say it all."""
        return None

    def note(self, decision: Decision, rival: Y | None, against: str | None) -> str:
        """One further sentence for the reader."""
        return ""


class SentenceExample(Explainable[P, Y]):
    """A sentence with a label for each token, each of which is a decision."""

    words: Sequence[str]
    labels: LabelSet

    @abstractmethod
    def tags(self, y: Y) -> Sequence[str]:
        """The outer labels of an answer."""

    @property
    def reach(self) -> int | None:
        """How many labels back the terms of a token read; None: there are groups of more than a token."""
        return None

    def settled(self, t: int) -> str:
        """Why a token's label was not searched for; empty if it was."""
        return ""

    def decisions(self, question: Question) -> Iterator[Decision]:
        """The tokens in question."""
        for t in question.checked(self.labels.outer).tokens(len(self.words)):
            yield Decision(self.words[t], place=t, settled=self.settled(t))

    def wording(self, y: Y, decision: Decision) -> str:
        """The label."""
        assert decision.place is not None
        return self.tags(y)[decision.place]

    def spelt(self, y: Y) -> tuple[str, ...]:
        """All labels."""
        return tuple(self.tags(y))

    def near(self, changed: Columns) -> list[int] | None:
        """The tokens whose terms read a label that differs."""
        if self.reach is None:
            return None
        after = {t + back for t in changed.tolist() for back in range(self.reach + 1)}
        return sorted(t for t in after if t < len(self.words))

    def own(self, decision: Decision) -> Columns | None:
        """The token itself."""
        return None if self.reach is None else np.array([decision.place], np.int64)

    def note(self, decision: Decision, rival: Y | None, against: str | None) -> str:
        """Why there is no rival."""
        return no_rival(against) if rival is None else ""


def no_rival(against: str | None) -> str:
    """Why a token has no rival.

    >>> no_rival(None), no_rival("NAME")
    ('No other label is allowed at this token.', 'The label NAME is not allowed at this token.')
    """
    what = "No other label is allowed" if against is None else f"The label {against} is not allowed"
    return f"{what} at this token."


@dataclass(frozen=True, eq=False)
class TaggedSentence:
    """A sentence with its predicted labels, and the examples that explain them, made on demand."""

    labels: Sequence[str]
    examples: Iterable[Explainable[Any, Any]]
