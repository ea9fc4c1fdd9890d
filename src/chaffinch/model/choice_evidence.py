"""Evidence for choices: one of a list of answers with scores. Labels, candidates, trees, votes of kernels."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.model.evidence import (
    UNSEEN,
    Columns,
    Decision,
    Explainable,
    Features,
    Named,
    Question,
    Restriction,
    Table,
    Term,
    Without,
)

DOCUMENT, LIST = "the document", "the list"
NOT = "not "  # precedes a label that was not predicted


@dataclass(frozen=True, eq=False)
class ListExample(Explainable[Table, int]):
    """One of n answers.

    answers:  in words   scores: [n]   chosen: the predicted one
    groups:   features, with a column for each answer
    parts:    the other contributions to an answer
    p:        the probability of each answer
    rivals:   the possible rivals; None: all other answers
    rescored: the scores without some features, if they are not the sums of the groups
    remark:   a note, given the rival
    """

    decision: Decision
    answers: Sequence[str]
    scores: Table
    chosen: int
    groups: Sequence[Features] = ()
    parts: Callable[[int], Iterable[Term]] | None = None
    p: Mapping[str, float] | None = None
    rivals: Sequence[int] | None = None
    rescored: Callable[[Without], Table] | None = None
    remark: Callable[[int | None], str] | None = None

    @property
    def answer(self) -> int:
        """The predicted answer."""
        return self.chosen

    @property
    def features(self) -> Sequence[Features]:
        """The groups."""
        return self.groups

    def decisions(self, question: Question) -> Iterator[Decision]:
        """The one choice."""
        yield self.decision

    def potentials(self, without: Without) -> Table:
        """A score of each answer."""
        if not without:
            return self.scores
        if self.rescored is not None:
            return self.rescored(without)
        left = (g.without(without[n]) if n in without else g.sums for n, g in enumerate(self.groups))
        return np.sum(list(left), axis=0, dtype=np.float64)

    def best(self, potentials: Table, rule: Restriction | None = None) -> int | None:
        """The first of the best."""
        if rule is not None:
            said = [rule.allows(one) for one in self.answers]
            allowed = said if self.rivals is None else np.isin(np.arange(len(said)), self.rivals)
            potentials = np.where(allowed, potentials, -np.inf)
        return int(potentials.argmax()) if potentials.max(initial=-np.inf) > -np.inf else None

    def score(self, y: int) -> float:
        """Its score in the list."""
        return float(self.scores[y])

    def columns(self, y: int) -> Columns:
        """Its place in the list."""
        return np.full(len(self.groups), y, np.int64)

    def terms(self, y: int, near: Sequence[int] | None) -> Iterable[Term]:
        """The parts."""
        return () if self.parts is None else self.parts(y)

    def wording(self, y: int, decision: Decision) -> str:
        """The answer in words."""
        return self.answers[y]

    def probability(self, said: str, decision: Decision) -> float | None:
        """Its probability, if probabilities are given."""
        return None if self.p is None else self.p.get(said)

    def note(self, decision: Decision, rival: int | None, against: str | None) -> str:
        """The remark."""
        return "" if self.remark is None else self.remark(rival)


@dataclass(frozen=True, eq=False)
class ScoredDocument:
    """One document as a linear classifier scores it.

    names, values [n], weights [n, Y]: of its features   intercepts, scores, p: [Y]
    """

    names: Sequence[Named]
    values: NDArray[np.floating]
    weights: NDArray[np.floating]
    intercepts: NDArray[np.floating]
    scores: NDArray[np.floating]
    p: NDArray[np.floating]
    labels: Sequence[str]

    def choice(self, question: Question) -> ListExample:
        """The best label against the others."""
        question.checked(self.labels)
        return ListExample(
            Decision(DOCUMENT),
            self.labels,
            self.scores.astype(np.float64),
            int(self.scores.argmax()),
            [self._features(self.weights), Features.constant("intercept", self.intercepts)],
            p=dict(zip(self.labels, self.p.tolist(), strict=True)),
        )

    def several(self, question: Question, bar: float) -> list[ListExample]:
        """Each predicted label, or the label in question, against its absence.

        bar: the minimum score of a predicted label
        """
        question.checked(self.labels)
        has = self.scores >= bar
        asked = np.flatnonzero(has).tolist() or [int(self.scores.argmax())]
        if question.against is not None:
            asked = [self.labels.index(question.against)]
        return [self._of_one_label(y, bar, given=bool(has[y])) for y in asked]

    def _of_one_label(self, y: int, bar: float, *, given: bool) -> ListExample:
        label, p = self.labels[y], float(self.p[y])
        weights = np.stack([self.weights[:, y].astype(np.float64), np.zeros(len(self.weights))], axis=1)
        constants = {"intercept": np.array([self.intercepts[y], 0.0]), "threshold": np.array([0.0, bar])}
        return ListExample(
            Decision(DOCUMENT),
            [label, NOT + label],
            np.array([float(self.scores[y]), bar]),
            0 if given else 1,
            [self._features(weights), *(Features.constant(name, w) for name, w in constants.items())],
            p={label: p, NOT + label: 1 - p},
        )

    def _features(self, weights: NDArray[np.floating]) -> Features:
        return Features.listed(self.names, weights, self.values)


def rival_label(
    scores: NDArray[np.floating], given: int, labels: Sequence[str], against: str | None
) -> int | None:
    """The rival label: the one in question, else the best other label, if there is one."""
    if against is not None:
        if labels[given] == against:
            raise ConfigError(
                f"the model's answer is {against} itself; name another label to compare it with"
            )
        return list(labels).index(against)
    if len(scores) < 2:
        return None
    others = np.array(scores, np.float64)
    others[given] = -np.inf
    return int(others.argmax())


def candidate_example(
    shown: Sequence[str],
    names: Sequence[str],
    values: NDArray[np.float64],
    w: NDArray[np.float64],
    scores: NDArray[np.float64],
    kinds: Sequence[str],
    against: int | None,
) -> ListExample:
    """The chosen candidate against the one in question, else the base model's first, else the next best.

    shown: the candidates in words   names, w, kinds [F], values [n, F]: of the features of all candidates
    """
    chosen = int(scores.argmax())
    if against is not None:
        if not 0 <= against < len(scores):
            raise ConfigError(f"there is no candidate {against + 1}: the list has {len(scores)} candidates")
        if against == chosen:
            raise ConfigError(f"candidate {against + 1} is the chosen one; name another to compare it with")
        rivals = [against]
    else:
        rivals = [0] if chosen else list(range(1, len(scores)))

    def remark(rival: int | None) -> str:
        instead = "" if rival is None else f"; its rival is candidate {rival + 1}"
        return f"Candidate {chosen + 1} of {len(scores)}{instead}."

    weights = np.broadcast_to(w[:, None], (len(w), len(shown)))
    groups = _by_kind(names, kinds, weights, values.T)
    return ListExample(
        Decision(LIST), shown, scores.astype(np.float64), chosen, groups, rivals=rivals, remark=remark
    )


def shares_example(
    decision: Decision,
    answers: Sequence[str],
    scores: tuple[float, float],
    shares: Sequence[tuple[str, float, float, float, str]],
    p: Mapping[str, float] | None,
    remark: str,
) -> ListExample:
    """Two answers of a kernel machine. shares: name, both weights, value and kind of each contribution."""
    names, mine, theirs, values, kinds = zip(*shares, strict=True) if shares else ((),) * 5
    groups = _by_kind(names, kinds, np.array([mine, theirs]).T, np.array(values))
    return ListExample(
        decision, answers, np.array(scores), 0, groups, p=p, rivals=[1], remark=lambda _: remark
    )


def _by_kind(names: Sequence[str], kinds: Sequence[str], weights: Table, values: Table) -> list[Features]:
    """A group for each kind of features; those that read no tokens have a name alone."""
    of = {kind: [k for k, other in enumerate(kinds) if other == kind] for kind in dict.fromkeys(kinds)}
    return [
        Features.listed([(names[k], UNSEEN) for k in rows], weights[rows], values[rows], kind)
        for kind, rows in of.items()
    ]
