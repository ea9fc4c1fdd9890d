"""Online learning with incremental search: updates at single decisions, or at the prefix where gold loses to a beam."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import check, knob
from chaffinch.learners.learner import Learner
from chaffinch.learners.online import MarginPerceptron, Mistake, OnlineLearner, Perceptron
from chaffinch.learners.problem import Pass, Problem, example_order
from chaffinch.scorers import Example
from chaffinch.scorers.contexts import ContextFeatures, ContextScorer
from chaffinch.search import Beam, EasiestFirst, IncrementalChain, LeftToRight
from chaffinch.search.legality import State
from chaffinch.structures import Parts

STRETCH = 512  # easiest-first training chooses among this many positions of a long sentence at a time


@dataclass(frozen=True, kw_only=True)
class SearchLearner(Learner):
    """What learners with incremental search share: an update rule, and rows that it uses only after some updates.

    rule: decides the step, the order of the examples and whether weights are averaged over the steps
    """

    rule: OnlineLearner = field(default_factory=Perceptron)
    min_updates: int = knob(
        1, "minimum number of updates of a feature before it is used, in training too", low=1
    )

    searches: ClassVar[tuple[type, ...]] = (LeftToRight, EasiestFirst, Beam)

    def check(self, problem: Problem) -> None:
        """Refuse structures without incremental search, and searches of another learner."""
        check(self.rule)
        found = getattr(problem.structure, "search", None)
        if not isinstance(found, self.searches):
            wanted = " or ".join(search.__name__ for search in self.searches)
            raise ConfigError(f"{type(self).__name__} needs an IncrementalChain with {wanted} search")

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The loop over the protocols: each position is scored again for each decision."""
        weights = _Weights(problem.scorer, self.rule, self.min_updates)
        importance, draws = problem.weights(), _uniforms(self.rule.seed)
        for number in range(1, self.rule.epochs + 1):
            tally = EpochTally()
            for n in example_order(len(problem.examples), self.rule.seed, number).tolist():
                x, y = problem.examples[n]
                sentence = _PartialLabelling(problem.structure, weights, x, importance[n])
                self.learn(_Visit(sentence, y.tolist(), number, draws, tally))
            yield self.epoch(number, tally, weights.scorer)

    @abstractmethod
    def learn(self, visit: "_Visit") -> None:
        """Learn from one sentence."""

    def epoch(self, number: int, tally: "EpochTally", scorer: Callable[[], ContextScorer]) -> Pass:
        """The record of an epoch."""
        wrong = tally.mistakes / max(1, tally.decisions)
        return Pass(number, {"wrong": wrong}, scorer, self.rule.epochs)


@dataclass(frozen=True, kw_only=True)
class DecisionLearner(SearchLearner):
    """An update at each wrong decision of left-to-right or easiest-first search, at once.

        t, y_hat = the next decision of the search;  a rule with a margin looks for argmax score + cost at t instead
        w       += a step on f(t, y_t) - f(t, y_hat)
        then t is decided: y_hat with probability ``own``, else y_t

    With updates anywhere, w moves towards the best correct choice of all positions, and the search chooses again, at
    most ``tries`` times (Goldberg and Elhadad 2010). In the first epoch no wrong choice is kept.
    """

    own: float = knob(
        1.0,
        "probability of keeping the model's own wrong label as context in training; otherwise the gold label is used",
        low=0.0,
        high=1.0,
    )
    anywhere: bool = knob(
        False, "easiest-first: update towards the best correct choice at any position and choose again"
    )
    tries: int = knob(20, "with anywhere: choices before the best correct one is taken", low=1)

    searches = (LeftToRight, EasiestFirst)

    def own_in(self, epoch: int) -> float:
        """The probability in an epoch, counted from 1."""
        return 0.0 if self.anywhere and epoch == 1 else self.own

    def learn(self, visit: "_Visit") -> None:
        """Decision by decision."""
        sentence, y = visit.sentence, visit.y
        if isinstance(sentence.chain.search, LeftToRight):
            self._learn_forward(visit)
            return
        for t, label in enumerate(sentence.known):
            sentence.decided[t] = label
        for first in range(0, len(y), STRETCH):
            stretch = range(first, min(len(y), first + STRETCH))
            self._learn_stretch(visit, stretch)

    def _learn_forward(self, visit: "_Visit") -> None:
        sentence, y, epoch, draws, tally = visit
        own = self.own_in(epoch)
        for t, known in enumerate(sentence.known):
            label = known
            if known < 0:
                scores = sentence.scores(t)
                choice, rival = int(scores.argmax()), self._rival(scores, y[t])
                if rival != y[t]:
                    sentence.update([(t, y[t], 1.0), (t, rival, -1.0)])
                label = _kept(choice, y[t], own, draws, tally)
                sentence.weights.steps += 1
            sentence.decided[t] = label

    def _learn_stretch(self, visit: "_Visit", stretch: range) -> None:
        sentence, y, epoch, draws, tally = visit
        own, tries = self.own_in(epoch), 0
        while (t := sentence.easiest(stretch)) is not None:
            scores = sentence.scores(t)
            choice, rival = int(scores.argmax()), self._rival(scores, y[t])
            correct = t if choice == y[t] or not self.anywhere else sentence.best_correct(stretch, y, t)
            if rival != y[t]:
                sentence.update([(correct, y[correct], 1.0), (t, rival, -1.0)])
            sentence.weights.steps += 1
            if choice == y[t] or not self.anywhere:
                sentence.decided[t] = _kept(choice, y[t], own, draws, tally)
            else:
                tally.mistakes += tries == 0
                stays = own > 0 and next(draws) < own
                tries += not stays
                if not stays and tries < self.tries:
                    continue
                tally.decisions += 1
                if stays:
                    sentence.decided[t] = choice
                else:
                    sentence.decided[correct] = y[correct]
            tries = 0

    def _rival(self, scores: NDArray[np.float32], gold: int) -> int:
        """The label to move away from; gold if there is nothing to learn."""
        return int((scores + (np.arange(len(scores)) != gold) * np.float32(self.rule.augmented)).argmax())


@dataclass(frozen=True, kw_only=True)
class PrefixLearner(SearchLearner):
    """One update for each sentence on which beam search loses gold, at a prefix.

        w += a step on f(y_0 .. y_t) - f(the best prefix of length t + 1 in the beam)

    t: the position where gold falls off the beam (early update; Collins and Roark 2004), or where the best wrong prefix
    is furthest above gold (max violation; Huang, Fayong and Guo 2012).
    """

    violation: str = knob(
        "max",
        "update at the largest violation, or where gold falls off the beam",
        choices=("max", "early"),
    )

    searches = (Beam,)

    def learn(self, visit: "_Visit") -> None:
        """The update of one sentence, if there is any."""
        sentence, y, tally = visit.sentence, visit.y, visit.tally
        tally.decisions += len(y)
        y_hat = self._violation(sentence, y)
        if y_hat is not None:
            wrong = [a != b for a, b in zip(y, y_hat, strict=False)]
            tally.mistakes += sum(wrong)
            sentence.update_prefix(y[: len(y_hat)], y_hat)
        sentence.weights.steps += 1

    def _violation(self, sentence: "_PartialLabelling", y: list[int]) -> list[int] | None:
        """The prefix to move away from; None if gold won."""
        beam, gold, worst, found = [_Prefix(0.0, [], (-1, 0))], 0.0, 0.0, None
        for t in range(len(y)):
            beam = sentence.extend(beam, y[t] if self.rule.augmented else None)
            if sentence.known[t] < 0:
                gold += float(sentence.raw_scores(t, [*y[:t], *[-1] * (len(y) - t)])[y[t]])
            best = beam[0]
            if self.violation == "early" and not any(item.labels == y[: t + 1] for item in beam):
                return best.labels
            if best.labels != y[: t + 1] and (found is None or best.score - gold > worst):
                worst, found = best.score - gold, best.labels
        if self.violation == "max":
            return found
        return None if not y or beam[0].labels == y else beam[0].labels


@dataclass
class EpochTally:
    """Labels decided in an epoch, and mistakes among them."""

    decisions: int = 0
    mistakes: int = 0


class _Visit(NamedTuple):
    """A sentence to learn from in an epoch, counted from 1; draws: uniform numbers, shared by all sentences."""

    sentence: "_PartialLabelling"
    y: list[int]
    epoch: int
    draws: Iterator[float]
    tally: EpochTally


class _Prefix(NamedTuple):
    score: float
    labels: list[int]
    state: State


class _Weights:
    """Online weights, their mean over the steps, and rows that are hidden until they have had enough updates."""

    def __init__(self, scorer: ContextScorer, rule: OnlineLearner, min_updates: int) -> None:
        self.start, self.rule, self.enough = scorer, rule, min_updates
        self.linear = scorer.linear()
        self.move = rule.mover(self.linear)
        self.total = np.zeros(self.linear.w.shape, np.float64)
        self.steps = self.summed = 0
        self.hidden = self.linear.with_weights(np.zeros_like(self.linear.w))
        self.rewards = np.zeros(scorer.first[-1], np.int64)

    def update(self, x: Example, delta: NDArray[np.float32], cost: float, weight: float) -> None:
        """Let the rule move the weights; ``total`` is their sum over the steps up to ``summed``."""
        self.total += (self.steps - self.summed) * self.linear.w.astype(np.float64)
        self.summed = self.steps
        before = self.linear.w.copy()
        self.move(self.linear, x, [Mistake(Parts(unary=delta), cost)], weight)
        if self.enough > 1:
            self._hide(x, delta, before)

    def _hide(self, x: Example, delta: NDArray[np.float32], before: NDArray[np.float32]) -> None:
        w, hidden = self.linear.block("unary"), self.hidden.block("unary")
        change = w - self.linear.with_weights(before).block("unary")
        open_rows = self.rewards >= self.enough
        hidden += np.where(open_rows[:, None], 0, change)
        if isinstance(self.rule, Perceptron | MarginPerceptron):  # each addition of a step counts
            added = np.repeat((delta > 0).sum(axis=1), np.diff(x.ptr))
            np.add.at(self.rewards, x.ids, np.where(open_rows[x.ids], 0, added))
        else:
            self.rewards += np.where(open_rows, 0, (change > 0).sum(axis=1))
        self.linear.w[:] = before
        shown = ~open_rows & (self.rewards >= self.enough)
        w += np.where(open_rows[:, None], change, 0) + np.where(shown[:, None], hidden, 0)

    def scorer(self) -> ContextScorer:
        """The weights as they are now, or their mean."""
        w = self.linear.w
        if self.rule.average and self.steps:
            w = ((self.total + (self.steps - self.summed) * w.astype(np.float64)) / self.steps).astype(
                np.float32
            )
        return self.start.with_linear(self.linear.with_weights(w))


class _PartialLabelling:
    """A partly labelled sentence: its decided labels (-1: undecided), and the scores of undecided positions."""

    def __init__(self, chain: IncrementalChain, weights: _Weights, x: ContextFeatures, weight: float) -> None:
        self.chain, self.weights, self.x, self.weight = chain, weights, x, weight
        self.decided = [-1] * x.tokens.T
        self.known: list[int] = self.decided[:] if x.known is None else x.known.tolist()

    def rows(self, t: int, labels: Sequence[int]) -> NDArray[np.int32]:
        """The rows of weights at t in a context of labels."""
        return np.array(self.weights.start.rows(self.x, t, labels), np.int32)

    def values(self, t: int, rows: int) -> NDArray[np.float32] | None:
        """The values of the rows at t: those of features, then 1 for each context; None: all are 1."""
        ptr, _, values = self.x.tokens
        if values is None:
            return None
        made = np.ones(rows, np.float32)
        made[: ptr[t + 1] - ptr[t]] = values[ptr[t] : ptr[t + 1]]
        return made

    def raw_scores(self, t: int, labels: Sequence[int]) -> NDArray[np.float32]:
        """The scores of all labels at t in a context of labels."""
        rows = self.rows(t, labels)
        x = Example(np.array([0, len(rows)], np.int64), rows, self.values(t, len(rows)))
        found: NDArray[np.float32] = self.weights.linear.potentials(x)["unary"][0]
        return found

    def scores(self, t: int) -> NDArray[np.float32]:
        """The scores of the labels at t, -inf if a label is illegal."""
        scores = self.raw_scores(t, self.decided)
        states = self.chain.states
        return scores if states is None else np.where(states.offered(self.decided, t), scores, -np.inf)

    def easiest(self, stretch: range) -> int | None:
        """The undecided position with the highest score, or the highest margin; the first of equals."""
        best, highest = None, -np.inf
        by_margin = isinstance(self.chain.search, EasiestFirst) and self.chain.search.ease == "margin"
        for t in stretch:
            if self.decided[t] < 0:
                top, second = np.sort([*self.scores(t), -np.inf])[::-1][:2]
                value = top - second if by_margin else top
                if best is None or value > highest:
                    best, highest = t, value
        return best

    def best_correct(self, stretch: range, y: Sequence[int], t: int) -> int:
        """The undecided position at which the correct label is legal and has the highest score; t if there is none."""
        gold = [(p, float(self.scores(p)[y[p]])) for p in stretch if self.decided[p] < 0]
        legal = [(p, score) for p, score in gold if score > -np.inf]
        return max(legal, key=lambda found: found[1])[0] if legal else t

    def update(self, choices: Sequence[tuple[int, int, float]]) -> None:
        """One step on choices: position, label, and 1 towards it or -1 away from it."""
        made = [(rows := self.rows(t, self.decided), self.values(t, len(rows)), y, s) for t, y, s in choices]
        self._update(made, 1.0)

    def update_prefix(self, y: Sequence[int], y_hat: Sequence[int]) -> None:
        """One step on the positions at which gold and prediction differ in label or context."""
        T, left = (
            len(self.decided),
            max((-o for t in self.weights.start.templates for o in t.offsets), default=0),
        )
        ptr, choices, last = self.x.tokens.ptr, [], None
        for t, (gold, label) in enumerate(zip(y, y_hat, strict=True)):
            last = t if gold != label else last
            if last is None or t - last > left or self.known[t] >= 0:
                continue
            for labels, sign in ((y, 1.0), (y_hat, -1.0)):
                rows = self.rows(t, [*labels[:t], *[-1] * (T - t)])
                shared = 0 if last == t else int(ptr[t + 1] - ptr[t])  # the features of equal labels cancel
                values = self.values(t, len(rows))
                choices.append((rows[shared:], None if values is None else values[shared:], labels[t], sign))
        self._update(choices, float(sum(a != b for a, b in zip(y, y_hat, strict=True))))

    def _update(
        self,
        choices: Sequence[tuple[NDArray[np.int32], NDArray[np.float32] | None, int, float]],
        cost: float,
    ) -> None:
        delta = np.zeros((len(choices), self.chain.Y), np.float32)
        for row, (_, _, y, sign) in enumerate(choices):
            delta[row, y] = sign
        ids = np.concatenate([np.zeros(0, np.int32), *(rows for rows, _, _, _ in choices)])
        given = [values for _, values, _, _ in choices if values is not None]
        values = np.concatenate(given) if given else None
        x = Example(np.cumsum([0, *(len(rows) for rows, _, _, _ in choices)], dtype=np.int64), ids, values)
        self.weights.update(x, delta, cost, self.weight)

    def extend(self, beam: list[_Prefix], gold: int | None) -> list[_Prefix]:
        """The best prefixes that are one label longer. gold: all other labels get a bonus of 1; None: no bonus."""
        t, width = len(beam[0].labels), getattr(self.chain.search, "width", 1)
        offers = self._offers(beam, t, gold, True) or self._offers(beam, t, gold, False)
        offers.sort(key=lambda offer: (-offer[0], offer[1], offer[2]))
        return [
            _Prefix(score, [*beam[p].labels, y], self._after(beam[p].state, y))
            for score, p, y in offers[:width]
        ]

    def _offers(
        self, beam: list[_Prefix], t: int, gold: int | None, constrained: bool
    ) -> list[tuple[float, int, int]]:
        """Score, number of the prefix and next label; constrained: only those that leave a legal way to the end."""
        states, rest = self.chain.states, [-1] * (len(self.decided) - t)
        later = set() if states is None else states.ending(rest[1:], lenient=False)
        found = []
        for p, parent in enumerate(beam):
            if self.known[t] >= 0:
                found.append((parent.score, p, self.known[t]))
                continue
            scores = self.raw_scores(t, [*parent.labels, *rest]).tolist()
            for y, score in enumerate(scores):
                if states is None or not constrained or states.next(parent.state, y) in later:
                    found.append((parent.score + score + (gold is not None and y != gold), p, y))
        return found

    def _after(self, state: State, y: int) -> State:
        states = self.chain.states
        return state if states is None else states.next(state, y) or states.forced(y)


def _kept(label: int, gold: int, own: float, draws: Iterator[float], tally: EpochTally) -> int:
    """The label that becomes context: the model's own if it is right, or with probability ``own``; otherwise gold."""
    tally.decisions += 1
    if label == gold:
        return gold
    tally.mistakes += 1
    return label if own >= 1 or (own > 0 and next(draws) < own) else gold


def _uniforms(seed: int) -> Iterator[float]:
    """Numbers in [0, 1), the same as the core draws."""
    drawn = 0
    while True:
        found = _core.uniforms(2 * drawn + 64, seed).tolist()
        yield from found[drawn:]
        drawn = len(found)
