"""Incremental tagging written plainly: every undecided position is scored again before every decision."""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np

START, END, OPEN = "<s>", "</s>", "?"


@dataclass
class NaiveTagger:
    """Weights by (feature, label); label templates are (offsets, column of observations)."""

    labels: int
    templates: list[tuple[tuple[int, ...], int]]
    weights: dict = field(default_factory=lambda: defaultdict(np.float32))
    legal: object = None  # legal(labels with None where undecided) -> bool

    def features(self, x, t, decided):
        """x: (features of each position, observations of each position)."""
        ids, observed = x
        names = [("f", f) for f in ids[t]]
        for number, (offsets, column) in enumerate(self.templates):
            if observed[t][column] < 0:
                continue
            around = tuple(self.label_at(decided, t + o) for o in offsets)
            names.append(("y", number, observed[t][column], around))
        return names

    def label_at(self, decided, t):
        if t < 0:
            return START
        if t >= len(decided):
            return END
        return OPEN if decided[t] is None else decided[t]

    def scores(self, x, t, decided):
        """Features one by one; label templates in four sums, as the core adds them, for the same rounding."""
        sums = np.zeros((4, self.labels), np.float32)
        for name in self.features(x, t, decided):
            place = name[1] % 4 if name[0] == "y" else 0
            sums[place] += np.array([self.weights.get((name, y), 0) for y in range(self.labels)], np.float32)
        return (sums[0] + sums[1]) + (sums[2] + sums[3])

    def allowed(self, decided, t, y):
        if self.legal is None:
            return True
        trial = list(decided)
        trial[t] = y
        return self.legal(trial)

    def choices(self, x, t, decided):
        """(score, label) of the legal labels of a position."""
        scores = self.scores(x, t, decided)
        legal = [y for y in range(self.labels) if self.allowed(decided, t, y)]
        return [(float(scores[y]), y) for y in legal or range(self.labels)]

    def easiest(self, x, decided, ease="score"):
        """(position, label) of the best choice; ties by position, then label."""
        best, best_value = None, -np.inf
        for t in range(len(decided)):
            if decided[t] is not None:
                continue
            ranked = sorted(self.choices(x, t, decided), key=lambda c: (-c[0], c[1]))
            value = ranked[0][0]
            if ease == "margin":
                value = np.float32(value) - np.float32(ranked[1][0]) if len(ranked) > 1 else np.inf
            if best is None or value > best_value:
                best, best_value = (t, ranked[0][1]), value
        return best

    def easiest_first(self, x, ease="score"):
        """The decisions in order: (position, label)."""
        decided = [None] * len(x[0])
        steps = []
        while None in decided:
            t, y = self.easiest(x, decided, ease)
            decided[t] = y
            steps.append((t, y))
        return steps

    def left_to_right(self, x):
        decided = [None] * len(x[0])
        for t in range(len(decided)):
            decided[t] = min(self.choices(x, t, decided), key=lambda c: (-c[0], c[1]))[1]
        return decided

    def beam(self, x, width):
        """Whole labellings, best first."""
        T = len(x[0])
        items = [(0.0, [])]
        for t in range(T):
            candidates = []
            for place, (score, labels) in enumerate(items):
                decided = labels + [None] * (T - len(labels))
                candidates += [(-(score + s), place, y, labels) for s, y in self.choices(x, t, decided)]
            candidates.sort(key=lambda c: c[:3])
            items = [(-value, [*labels, y]) for value, _, y, labels in candidates[:width]]
        return items


@dataclass
class NaivePerceptron(NaiveTagger):
    """Perceptron learning with averages kept by adding up all weights after every step."""

    totals: dict = field(default_factory=lambda: defaultdict(float))
    steps: int = 0

    def move(self, x, t, y, decided, change):
        for name in self.features(x, t, decided):
            self.weights[name, y] = np.float32(self.weights.get((name, y), 0) + change)

    def tick(self):
        self.steps += 1
        for key, value in self.weights.items():
            self.totals[key] += float(value)

    def averaged(self):
        return {key: value / self.steps for key, value in self.totals.items()}

    def learn_left_to_right(self, x, gold, own=True):
        decided = [None] * len(gold)
        for t, y in enumerate(gold):
            guess = min(self.choices(x, t, decided), key=lambda c: (-c[0], c[1]))[1]
            if guess != y:
                self.move(x, t, y, decided, 1)
                self.move(x, t, guess, decided, -1)
            decided[t] = guess if own else y
            self.tick()

    def learn_easiest_first(self, x, gold, own=True):
        """The local update: the right label at the chosen position."""
        decided = [None] * len(gold)
        while None in decided:
            t, guess = self.easiest(x, decided)
            if guess != gold[t]:
                self.move(x, t, gold[t], decided, 1)
                self.move(x, t, guess, decided, -1)
            decided[t] = guess if own else gold[t]
            self.tick()

    def learn_goldberg_elhadad(self, x, gold, tries=20):
        """Reward the best correct choice anywhere, punish the chosen wrong one, choose again."""
        decided = [None] * len(gold)
        tried = 0
        while None in decided:
            t, guess = self.easiest(x, decided)
            if guess == gold[t]:
                decided[t] = guess
                tried = 0
                self.tick()
                continue
            correct = [
                (-float(self.scores(x, p, decided)[gold[p]]), p)
                for p in range(len(gold))
                if decided[p] is None and self.allowed(decided, p, gold[p])
            ]
            right = min(correct)[1] if correct else t
            self.move(x, right, gold[right], decided, 1)
            self.move(x, t, guess, decided, -1)
            self.tick()
            tried += 1
            if tried == tries:
                decided[right] = gold[right]
                tried = 0


def legal_by_enumeration(Y, follows, starts, ends, needs):
    """legal(labels, None where open): can the open positions be filled so that every rule holds?"""

    def whole(labels):
        if not starts[labels[0]] or not ends[labels[-1]]:
            return False
        if any(not follows[a][b] for a, b in pairwise(labels)):
            return False
        for label, needed, since in needs:
            met = False
            for y in labels:
                if y == label and not met:
                    return False
                if y == since:
                    met = False
                if y == needed:
                    met = True
        return True

    def legal(labels):
        open_places = [t for t, y in enumerate(labels) if y is None]
        for filling in product(range(Y), repeat=len(open_places)):
            trial = list(labels)
            for t, y in zip(open_places, filling, strict=True):
                trial[t] = y
            if whole(trial):
                return True
        return False

    return legal
