"""Evidence for incremental taggers: features, and the labels decided before.

    score(t, y) = sum of unary[features at t][y] + sum of context[contexts of labels at t][y]

A greedy or an easiest-first tagger compares labels at one position, in the state of that step; a beam compares whole
labellings, whose scores are the sums over their positions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.choice_evidence import ListExample
from chaffinch.model.evidence import (
    LABELS,
    Columns,
    Decision,
    Features,
    Named,
    Question,
    Restriction,
    SentenceExample,
    Table,
    TaggedSentence,
    Term,
    Without,
    no_rival,
    token_groups,
)
from chaffinch.model.labels import LabelSet

Labels = NDArray[np.int32]
KEPT = 128  # width of the wider beam in which rivals are searched
LISTED = (
    "The word is in the label dictionary: in training it had this label every time, so nothing was compared."
)


@dataclass(frozen=True, eq=False)
class TokenRows:
    """One sentence as the search reads it.

    ids: of each token, its features   observations: int32 [T, columns]   known: int32 [T], labels that need no search
    names: names of features, given the token and their places among its features
    values: of each token, the values of its features; None: all are 1
    """

    words: Sequence[str]
    ids: Sequence[NDArray[np.int32]]
    observations: NDArray[np.int32]
    known: Labels | None
    names: Callable[[int, NDArray[np.int64]], Sequence[Named]]
    values: Sequence[NDArray[np.float32]] | None = None

    def without(self, gone: Without) -> "TokenRows":
        """The same with the features at these places of these tokens removed."""
        ids = left_of(self.ids, gone)
        return replace(self, ids=ids, values=None if self.values is None else left_of(self.values, gone))

    def settled(self, t: int) -> str:
        """Why a token's label was not searched for; empty if it was."""
        return LISTED if self.known is not None and self.known[t] >= 0 else ""


class StepScores(NamedTuple):
    """A sentence's steps: order [T], labels [T], scores [T, Y] (-inf: not allowed) and p [T, outer labels]."""

    order: NDArray[np.int32]
    labels: Labels
    scores: NDArray[np.float32]
    p: NDArray[np.float32]


class Path(NamedTuple):
    """A labelling that a search found: its score and its inner labels."""

    score: float
    labels: Labels


class IncrementalSearcher(Protocol):
    """The weights of an incremental tagger by name, and its decisions on one sentence."""

    @property
    def labels(self) -> LabelSet:
        """The labels."""
        ...

    def unary(self, ids: NDArray[np.int32]) -> Table:
        """Weights [n, Y] of features."""
        ...

    def contexts(self, x: TokenRows, t: int, decided: Sequence[int]) -> tuple[list[Named], Table]:
        """The contexts that have weights, given the labels decided so far (-1: not yet): names and weights [n, Y]."""
        ...

    def steps_of(self, x: TokenRows) -> StepScores:
        """The decisions of a search that makes one after the other."""
        ...


def left_of(rows: Sequence[NDArray[Any]], gone: Without) -> list[NDArray[Any]]:
    """What each token keeps if some of its features are removed."""
    return [np.delete(row, gone[t]) if t in gone else row for t, row in enumerate(rows)]


def _features(model: IncrementalSearcher, x: TokenRows) -> list[Features]:
    """The features of each token."""
    weights = [model.unary(ids) for ids in x.ids]
    if x.values is not None:
        weights = [w * v[:, None] for w, v in zip(weights, x.values, strict=True)]
    return token_groups(weights, x.names)


def step_sentence(model: IncrementalSearcher, x: TokenRows, question: Question) -> TaggedSentence:
    """A sentence whose decisions are made one after the other, each in the state of its step."""
    if not x.words:
        return TaggedSentence([], [])
    steps, labels = model.steps_of(x), model.labels
    asked = question.checked(labels.outer).tokens(len(x.words))
    given = [labels.outer[i] for i in labels.outer_of[steps.labels].tolist()]
    return TaggedSentence(given, step_examples(model, x, steps, asked, question.against))


def step_examples(
    model: IncrementalSearcher, x: TokenRows, steps: StepScores, asked: Iterable[int], against: str | None
) -> Iterator[ListExample]:
    """Each decision in question, as a choice among the labels. If a feature is removed, all steps are repeated."""
    outer, features = model.labels.outer, _features(model, x)
    answers = [outer[i] for i in model.labels.outer_of.tolist()]
    for t in asked:
        step, y = int(steps.order[t]), int(steps.labels[t])
        settled = x.settled(t)
        decision = Decision(x.words[t], place=t, step=step, settled=settled)
        if settled:
            yield ListExample(decision, answers, np.zeros(len(answers)), y)
            continue
        named = model.contexts(x, t, np.where(steps.order < step, steps.labels, -1).tolist())

        def rescored(without: Without, t: int = t) -> Table:
            again = model.steps_of(x.without({t: without[0]}))
            scores = again.scores[t].astype(np.float64)
            scores[again.labels[t]] = np.inf
            return scores

        yield ListExample(
            decision,
            answers,
            steps.scores[t].astype(np.float64),
            y,
            [features[t], Features.listed(*named, kind=LABELS, place=t)],
            p=dict(zip(outer, steps.p[t].tolist(), strict=True)),
            rescored=rescored,
            remark=lambda rival: no_rival(against) if rival is None else "",
        )


@dataclass(frozen=True, eq=False)
class BeamExample(SentenceExample[TokenRows, Path]):
    """The best labelling of a beam against the best of a wider beam with another label at a token.

    searched: the k best labellings that a beam finds   back: the number of labels back that contexts read
    """

    model: IncrementalSearcher
    x: TokenRows
    searched: Callable[[TokenRows, int], list[Path]]
    back: int
    words: Sequence[str]
    labels: LabelSet

    @property
    def reach(self) -> int:
        """The number of labels back that contexts read."""
        return self.back

    @cached_property
    def answer(self) -> Path:
        """The beam's best."""
        return self.searched(self.x, 1)[0]

    @cached_property
    def features(self) -> list[Features]:
        """The features of each token."""
        return _features(self.model, self.x)

    def settled(self, t: int) -> str:
        """Why a token's label was not searched for."""
        return self.x.settled(t)

    def potentials(self, without: Without) -> TokenRows:
        """The remaining features: a beam scores labels as it goes."""
        return self.x.without(without)

    def best(self, potentials: TokenRows, rule: Restriction | None = None) -> Path | None:
        """The beam's best; given a rule, the best of a wider beam that it allows."""
        if rule is None:
            return self.searched(potentials, 1)[0]
        return next((path for path in self._wider if rule.allows(self.wording(path, rule.decision))), None)

    def score(self, y: Path) -> float:
        """The beam's score."""
        return y.score

    def columns(self, y: Path) -> Columns:
        """The labels; -1 for a token whose label was not searched for."""
        known = np.zeros(len(y.labels), bool) if self.x.known is None else self.x.known >= 0
        return np.where(known, -1, y.labels).astype(np.int64)

    def terms(self, y: Path, near: Sequence[int] | None) -> list[Term]:
        """The contributions of the labels before each token."""
        labels = y.labels.tolist()
        places = range(len(labels)) if near is None else near
        return [term for t in places if not self.x.settled(t) for term in self._at(labels, t)]

    def tags(self, y: Path) -> list[str]:
        """The outer labels."""
        return [self.labels.outer[i] for i in self.labels.outer_of[y.labels].tolist()]

    def note(self, decision: Decision, rival: Path | None, against: str | None) -> str:
        """A note if a wider beam finds no rival, or a better answer."""
        if rival is None:
            what = "another label" if against is None else f"the label {against}"
            return f"None of the {KEPT} best labellings of a wider beam has {what} at this token."
        lost = rival.score > self.answer.score
        return "The beam pruned a better rival, which a wider beam finds." if lost else ""

    @cached_property
    def _wider(self) -> list[Path]:
        return self.searched(self.x, KEPT)

    @cached_property
    def _contexts(self) -> dict[tuple[int, ...], list[Term]]:
        return {}

    def _at(self, y: list[int], t: int) -> list[Term]:
        """The contributions of contexts at t, cached across labellings."""
        around = (t, *y[max(0, t - self.back) : t + 1])
        if around not in self._contexts:
            names, weights = self.model.contexts(self.x, t, [*y[:t], *[-1] * (len(y) - t)])
            self._contexts[around] = [
                Term(name, w, t, offsets=seen.offsets)
                for (name, seen), w in zip(names, weights[:, y[t]].tolist(), strict=True)
            ]
        return self._contexts[around]
