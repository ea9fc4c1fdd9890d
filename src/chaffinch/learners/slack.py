"""Slack rescaling: the answer of the highest cost times violation, which does not fall apart into parts.

    argmax over y of  g(y) h(y)        g(y) = cost(y),  h(y) = 1 + s(y) - s(y_n)

Maximising h + lambda g is ordinary cost-augmented search, and its answers are the corners of the convex hull of all
points (h, g). The best corner is found by moving lambda to where the product curve touches the line through the last
answer. Points inside the hull may be better still: for any y, h(y) + lambda g(y) <= v gives g h <= v^2 / (4 lambda),
so the k best of the last lambda are asked for until none that is left can win.

Sarawagi and Gupta 2008; Choi, Meshi and Srebro 2016.
"""

from typing import Any

from chaffinch.structures import Parts

CORNERS = 20
MOST = 256


def most_violated_by_slack(structure: Any, potentials: Parts, y: Any) -> Any:
    """The answer of the highest cost (1 + s(y) - s(y_n)); y itself where none has a positive one."""
    shape = potentials.shape
    cost = structure.cost(shape, y)
    gold = potentials.dot(structure.parts(shape, y))
    best, top, rate = y, 0.0, 1.0

    def point(answer: Any) -> tuple[float, float]:
        parts = structure.parts(shape, answer)
        return 1 + potentials.dot(parts) - gold, cost.dot(parts)

    for _ in range(CORNERS):
        answer = structure.argmax(potentials + cost * rate)
        h, g = point(answer)
        if h * g > top and h > 0:
            best, top = answer, h * g
        then = h / g if g > 0 and h > 0 else rate / 4 if h <= 0 else rate * 4
        if abs(then - rate) <= 1e-9 * rate:
            break
        rate = then
    if top > 0:
        h, g = point(best)
        rate = h / g  # the hull is tight around the best: lambda g = h there
    return _certified(structure, potentials + cost * rate, rate, 1 - gold, point, best, top)


def _certified(
    structure: Any, augmented: Parts, rate: float, offset: float, point: Any, best: Any, top: float
) -> Any:
    """The best of the k best, for a k at which no answer beyond them can have a higher product."""
    k = 4
    while True:
        listed = structure.kbest(augmented, k)
        for _, answer in listed[k // 2 if k > 4 else 0 :]:
            h, g = point(answer)
            if h > 0 and h * g > top:
                best, top = answer, h * g
        last = listed[-1][0] + offset  # h + lambda g of the k-th: a bound on all that follow
        if len(listed) < k or k >= MOST or last <= 0 or last * last / (4 * rate) <= top:
            return best
        k *= 2
