"""Slack rescaling: the answer with the highest cost times violation, a product that does not decompose into parts.

    argmax over y of  g(y) h(y)        g(y) = cost(y),  h(y) = 1 + s(y) - s(y_n)

Maximising h + lambda g is ordinary cost-augmented search, and its answers are the corners of the convex hull of all
points (h, g). On the hull the product is highest where h / g = lambda: at a corner, or on the edge between two, which
is found by taking the lambda of the line through the last corners on either side until no point lies above it.
Points below that edge may still beat its ends: for any y, h(y) + lambda g(y) <= v gives
g h <= v^2 / (4 lambda), so the k best for that lambda are searched until no other answer can win.

Sarawagi and Gupta 2008; Choi, Meshi and Srebro 2016.
"""

from dataclasses import dataclass
from typing import Any

from chaffinch.structures import Parts

CORNERS = 60
MOST = 256
CLOSE = 1e-6  # relative tolerance of the product


@dataclass(frozen=True)
class Point:
    """An answer, its violation h and its cost g."""

    answer: Any
    h: float
    g: float

    @property
    def product(self) -> float:
        """The product to maximise; 0 if the answer violates nothing."""
        return self.h * self.g if self.h > 0 else 0.0

    def value(self, rate: float) -> float:
        """h + lambda g"""
        return self.h + rate * self.g


def most_violated_by_slack(structure: Any, potentials: Parts, y: Any) -> Any:
    """The answer with the highest cost (1 + s(y) - s(y_n)); y itself if none is positive."""
    plane = _Plane(structure, potentials, y)
    rate, best = _edge(plane)
    return best.answer if rate is None else _certify(plane, rate, best).answer


class _Plane:
    """The points of all answers to one example."""

    def __init__(self, structure: Any, potentials: Parts, y: Any) -> None:
        self.structure, self.potentials = structure, potentials
        self.cost = structure.cost(potentials.shape, y)
        self.gold = Point(y, 1.0, 0.0)
        self.gold_score = potentials.dot(structure.parts(potentials.shape, y))

    def point(self, answer: Any) -> Point:
        parts = self.structure.parts(self.potentials.shape, answer)
        return Point(answer, 1 + self.potentials.dot(parts) - self.gold_score, self.cost.dot(parts))

    def corner(self, rate: float) -> Point:
        """The answer with the highest h + lambda g."""
        return self.point(self.structure.argmax(self.potentials + self.cost * rate))

    def listed(self, rate: float, k: int) -> list[tuple[float, Any]]:
        """The k best by h + lambda g, with their values."""
        found = self.structure.kbest(self.potentials + self.cost * rate, k)
        return [(value + 1 - self.gold_score, answer) for value, answer in found]

    def listed_point(self, rate: float, value: float, answer: Any) -> Point:
        """The point of an answer whose h + lambda g is known."""
        g = self.cost.dot(self.structure.parts(self.potentials.shape, answer))
        return Point(answer, value - rate * g, g)


def _edge(plane: _Plane) -> tuple[float | None, Point]:
    """The lambda at which the hull's product is highest, and the best corner; no lambda if all costs are zero."""
    left = plane.corner(0.0)  # its h / g is above its lambda; that of the right one is not
    best, rate = max(plane.gold, left, key=lambda p: p.product), 1.0
    for _ in range(CORNERS):
        right = plane.corner(rate)
        best = max(best, right, key=lambda p: p.product)
        if right.h <= rate * right.g:
            break
        left, rate = right, rate * 8
    else:
        return None, best
    for _ in range(CORNERS):
        if right.g <= left.g:
            break
        if right.h >= left.h:  # as good in both: the product is highest there
            return right.h / right.g, best
        rate = (left.h - right.h) / (right.g - left.g)
        found = plane.corner(rate)
        best = max(best, found, key=lambda p: p.product)
        if found.value(rate) <= left.value(rate) + CLOSE * abs(left.value(rate)):
            break
        if found.h > rate * found.g:
            left = found
        else:
            right = found
    return rate, best


def _certify(plane: _Plane, rate: float, best: Point) -> Point:
    """The best of the k best, for a k large enough that no other answer can have a higher product."""
    k, seen = 4, 0
    while True:
        listed = plane.listed(rate, k)
        for value, answer in listed[seen:]:
            if value <= 0 or value * value / (4 * rate) <= best.product * (1 + CLOSE):
                return best
            best = max(best, plane.listed_point(rate, value, answer), key=lambda p: p.product)
        if len(listed) < k or k >= MOST:
            return best
        k, seen = 2 * k, k
