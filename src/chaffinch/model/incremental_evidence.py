"""Evidence for incremental taggers: features, and the labels decided before.

    score(t, y) = sum of unary[features at t][y] + sum of context[contexts of labels at t][y]

A greedy or an easiest-first tagger compares labels at one position, in the state of that step; a beam compares whole
labellings, whose scores are the sums over their positions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.choice_evidence import ListExample
from chaffinch.model.evidence import (
    LABELS,
    Columns,
    Decision,
    Explainable,
    Features,
    Named,
    Question,
    Term,
    Without,
    no_rival,
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
        left = [np.delete(ids, gone[t]) if t in gone else ids for t, ids in enumerate(self.ids)]
        if self.values is None:
            return replace(self, ids=left)
        kept = [np.delete(v, gone[t]) if t in gone else v for t, v in enumerate(self.values)]
        return replace(self, ids=left, values=kept)

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
    """The weights of an incremental tagger by name, and its search on one sentence."""

    @property
    def labels(self) -> LabelSet:
        """The labels."""
        ...

    @property
    def reach(self) -> int:
        """The number of labels back that contexts read."""
        ...

    def unary(self, ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """Weights [n, Y] of features."""
        ...

    def context_rows(self, x: TokenRows, t: int, decided: Sequence[int]) -> list[int]:
        """The contexts that have weights, given the labels decided so far (-1: not yet)."""
        ...

    def context_weights(self, rows: Sequence[int]) -> NDArray[np.float64]:
        """Weights [n, Y] of contexts."""
        ...

    def context_names(self, rows: Sequence[int]) -> list[Named]:
        """The names of contexts, and what they read."""
        ...

    def steps_of(self, x: TokenRows) -> StepScores:
        """The decisions of a search that makes one after the other."""
        ...

    def searched(self, x: TokenRows, k: int) -> list[Path]:
        """The k best labellings that a beam finds."""
        ...


def token_groups(model: IncrementalSearcher, x: TokenRows, t: int) -> Features:
    """The features of a token."""
    weights = model.unary(x.ids[t])
    if x.values is not None:
        weights = weights * x.values[t][:, None]
    return Features(weights, lambda rows: x.names(t, rows), t)


def step_examples(
    model: IncrementalSearcher, x: TokenRows, steps: StepScores, question: Question
) -> Iterator[ListExample]:
    """Each decision in question, as a choice among the labels in the state of its step."""
    for t in question.checked(model.labels.outer).tokens(len(x.words)):
        yield step_example(model, x, steps, t, question.against)


def step_example(
    model: IncrementalSearcher, x: TokenRows, steps: StepScores, t: int, against: str | None
) -> ListExample:
    """One decision. If a feature is removed, all steps are repeated."""
    outer = model.labels.outer
    step, y = int(steps.order[t]), int(steps.labels[t])
    settled = x.settled(t)
    decision = Decision(x.words[t], place=t, step=step, settled=settled)
    answers = [outer[i] for i in model.labels.outer_of.tolist()]
    if settled:
        return ListExample(decision, answers, np.zeros(len(answers)), y)
    contexts = model.context_rows(x, t, np.where(steps.order < step, steps.labels, -1).tolist())
    named = model.context_names(contexts)
    seen = Features(
        model.context_weights(contexts), lambda rows: [named[k] for k in rows.tolist()], t, kind=LABELS
    )

    def rescored(without: Without) -> NDArray[np.float64]:
        again = model.steps_of(x.without({t: without[0]}))
        scores = again.scores[t].astype(np.float64)
        scores[again.labels[t]] = np.inf
        return scores

    return ListExample(
        decision,
        answers,
        steps.scores[t].astype(np.float64),
        y,
        [token_groups(model, x, t), seen],
        p=dict(zip(outer, steps.p[t].tolist(), strict=True)),
        rescored=rescored,
        remark=lambda rival: no_rival(against) if rival is None else "",
    )


@dataclass(frozen=True)
class BeamPotentials:
    """A sentence for the beam, with some features removed; wanted: the allowed labels of a token."""

    removed: Without
    token: int | None = None
    wanted: Callable[[str], bool] | None = None


@dataclass(frozen=True, eq=False)
class BeamExample(Explainable[BeamPotentials, Path]):
    """The best labelling of a beam against the best of a wider beam with another label at a token."""

    model: IncrementalSearcher
    x: TokenRows

    @cached_property
    def answer(self) -> Path:
        """The beam's best."""
        return self.model.searched(self.x, 1)[0]

    @cached_property
    def features(self) -> list[Features]:
        """The features of each token."""
        return [token_groups(self.model, self.x, t) for t in range(len(self.x.words))]

    def decisions(self, question: Question) -> Iterator[Decision]:
        """The tokens in question."""
        for t in question.checked(self.model.labels.outer).tokens(len(self.x.words)):
            yield Decision(self.x.words[t], place=t, settled=self.x.settled(t))

    def potentials(self, without: Without) -> BeamPotentials:
        """The change; potentials are computed when they are searched."""
        return BeamPotentials(without)

    def forbid(self, potentials: BeamPotentials, decision: Decision, against: str | None) -> BeamPotentials:
        """Forbid the answer, or force ``against``, at one token."""
        given = self.wording(self.answer, decision)
        return replace(
            potentials,
            token=decision.place,
            wanted=lambda label: label != given if against is None else label == against,
        )

    def best(self, potentials: BeamPotentials) -> Path | None:
        """The beam's best; if a label is wanted, the best of a wider beam that has it."""
        t, wanted = potentials.token, potentials.wanted
        if t is None or wanted is None:
            return self.model.searched(self.x.without(potentials.removed), 1)[0]
        outer, outer_of = self.model.labels.outer, self.model.labels.outer_of
        return next((path for path in self._wider if wanted(outer[outer_of[path.labels[t]]])), None)

    def score(self, y: Path) -> float:
        """The beam's score."""
        return y.score

    def columns(self, y: Path) -> Columns:
        """The labels; -1 for a token whose label was not searched for."""
        known = np.zeros(len(y.labels), bool) if self.x.known is None else self.x.known >= 0
        return np.where(known, -1, y.labels).astype(np.int64)

    def near(self, changed: Columns) -> list[int]:
        """The tokens whose contexts read a label that differs."""
        after = {t + back for t in changed.tolist() for back in range(self.model.reach + 1)}
        return sorted(t for t in after if t < len(self.x.words))

    def terms(self, y: Path, near: Sequence[int] | None) -> list[Term]:
        """The contributions of the labels before each token."""
        labels = y.labels.tolist()
        places = range(len(labels)) if near is None else near
        return [term for t in places if not self.x.settled(t) for term in self._at(labels, t)]

    def own(self, decision: Decision) -> Columns:
        """The token itself."""
        return np.array([decision.place], np.int64)

    def wording(self, y: Path, decision: Decision) -> str:
        """The outer label."""
        assert decision.place is not None
        return self.model.labels.outer[self.model.labels.outer_of[y.labels[decision.place]]]

    def spelt(self, y: Path) -> tuple[str, ...]:
        """All labels."""
        return tuple(self.model.labels.outer[i] for i in self.model.labels.outer_of[y.labels].tolist())

    def note(self, decision: Decision, rival: Path | None, against: str | None) -> str:
        """A note if a wider beam finds no rival, or a better answer."""
        if rival is None:
            what = "another label" if against is None else f"the label {against}"
            return f"None of the {KEPT} best labellings of a wider beam has {what} at this token."
        lost = rival.score > self.answer.score
        return "The beam pruned a better rival, which a wider beam finds." if lost else ""

    @cached_property
    def _wider(self) -> list[Path]:
        return self.model.searched(self.x, KEPT)

    @cached_property
    def _contexts(self) -> dict[tuple[int, ...], list[Term]]:
        return {}

    def _at(self, y: list[int], t: int) -> list[Term]:
        """The contributions of contexts at t, cached across labellings."""
        around = (t, *y[max(0, t - self.model.reach) : t + 1])
        if around not in self._contexts:
            rows = self.model.context_rows(self.x, t, [*y[:t], *[-1] * (len(y) - t)])
            weights = self.model.context_weights(rows)[:, y[t]].tolist()
            self._contexts[around] = [
                Term(name, w, t, offsets=seen.offsets)
                for (name, seen), w in zip(self.model.context_names(rows), weights, strict=True)
            ]
        return self._contexts[around]
