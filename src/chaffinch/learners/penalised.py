"""A loss and a pull towards where one started, lowered by L-BFGS.

f(w) = loss(w) + l2 / 2 |w - w_0|^2,   w_0 the weights of the problem's own scorer
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.learners.problem import Problem
from chaffinch.progress import Listener, Progress

Loss = Callable[[Any, Any], float]
"""loss(scorer, gradient): the loss at the scorer's weights; its derivative is added to those of ``gradient``."""


def minimised(
    problem: Problem, loss: Loss, on_epoch: Listener, *, l2: float, steps: int, tolerance: float
) -> Any:
    """A scorer at the minimum; stops when two steps running lower the value by a share below the tolerance."""
    start = problem.scorer.w.astype(np.float32)
    known = start.astype(np.float64)

    def value(w: NDArray[np.float32], g: NDArray[np.float32]) -> float:
        scorer = problem.scorer.with_weights(w)
        off = w.astype(np.float64) - known
        gradient = scorer.with_weights(l2 * off)
        found = loss(scorer, gradient)
        g[:] = gradient.w
        return found + 0.5 * l2 * float(np.dot(off, off))

    minimiser = _core.Minimiser(value, start)
    before, small = minimiser.value, 0
    for step in range(1, steps + 1):
        moved = minimiser.iterate()
        fall = (before - minimiser.value) / max(abs(minimiser.value), 1e-300)
        before = minimiser.value
        small = small + 1 if fall < tolerance else 0
        going = on_epoch(Progress("step", step, steps, {"objective": before}))
        if not going or not moved or small == 2:
            break
    minimiser.x(start)
    return problem.scorer.with_weights(start)
