"""The interface of explanations: what a model provides for one input; ``trust.explain`` does the rest.

An explanation compares two answers: the prediction, and the best other one. For each input, a model provides an
:class:`Explainable` with

    potentials(without)   the scores with some features removed
    forbid(...)           the same with an answer to the question forbidden, or with another one forced
    terms(y)              the named contributions to the score of an answer, each with the tokens that it is about
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError

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

    weights: NDArray[np.float64]
    names: Callable[[NDArray[np.int64]], Sequence[Named]]
    place: int | None = None
    values: NDArray[np.float64] | None = None
    kind: str = FEATURE
    most: int | None = None

    @cached_property
    def added(self) -> NDArray[np.float64]:
        """The contribution of each [n, columns]."""
        return self.weights if self.values is None else self.weights * self.values

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """The sum of all contributions [columns]."""
        return np.asarray(self.added.sum(axis=0))

    def without(self, gone: NDArray[np.int64]) -> NDArray[np.float64]:
        """The sum of the remaining contributions [columns]."""
        kept = np.ones(len(self.weights), bool)
        kept[gone] = False
        return np.asarray(self.added[kept].sum(axis=0))


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
    def forbid(self, potentials: P, decision: Decision, against: str | None) -> P:
        """The potentials with the model's answer to a decision forbidden, or all but ``against`` if it is named."""

    @abstractmethod
    def best(self, potentials: P) -> Y | None:
        """The best answer; None if none is possible."""

    @abstractmethod
    def score(self, y: Y) -> float:
        """The model's own score of an answer."""

    @abstractmethod
    def columns(self, y: Y) -> Columns:
        """The column that each group of features has in an answer [groups]; -1: the answer does not have it."""

    @abstractmethod
    def wording(self, y: Y, decision: Decision) -> str:
        """What an answer says about a decision."""

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

    def rival(self, decision: Decision, against: str | None) -> Y | None:
        """The best answer that says something else about a decision."""
        return self.best(self.forbid(self.potentials({}), decision, against))

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
