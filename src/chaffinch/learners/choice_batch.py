"""Log-linear classifiers by batch optimisation: L-BFGS, and OWL-QN where there is an L1 penalty."""

from dataclasses import dataclass, replace

import numpy as np

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.choice import ChoiceProblem, ChoiceWeights, with_intercepts
from chaffinch.progress import Progress


@dataclass(frozen=True, kw_only=True)
class ChoiceBatch:
    """min over w of  sum_n c_n loss_n(w) + l2 |w|^2 / 2 + l1 |w|_1.

    The loss is that of multinomial logistic regression, or of one logistic regression per label where documents
    have several. Both penalties together are the elastic net.
    """

    l1: float = knob(0.0, "L1 penalty: makes most weights zero", low=0.0)
    l2: float = knob(0.1, "L2 penalty", low=0.0)
    each: bool = knob(
        False, "a logistic regression for each label by itself, as several labels per document need"
    )
    steps: int = knob(200, "most steps", low=1)
    tolerance: float = knob(1e-4, "stop when two steps running lower the value by a smaller share", low=0.0)
    bias: float | None = knob(
        None, "value of a feature that all documents have; else 1 for numbers, 0 for text", low=0.0
    )

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights at the minimum."""
        if not self.each and problem.soft is None and not problem.single:
            raise ConfigError("several labels per document need each=True")
        loss = _core.ChoiceLoss.sigmoid if self.each else _core.ChoiceLoss.softmax
        rows = problem.rows(self.bias or 0.0)
        batch = _core.ChoiceBatch(
            rows, problem.targets(), problem.importance, loss, self.l1, self.l2, threads=problem.threads
        )

        def weights() -> ChoiceWeights:
            w = np.zeros((problem.F + 1, problem.S), dtype=np.float32)
            batch.weights(w)
            return with_intercepts(ChoiceWeights(w, "sigmoid" if self.each else "softmax"), self.bias or 0.0)

        history: list[Progress] = []
        before, small = batch.value, 0
        for step in range(self.steps):
            moved = batch.run()
            fall = (before - batch.value) / max(abs(batch.value), 1e-300)
            before = batch.value
            history.append(Progress("training", step + 1, self.steps, {"objective": before}))
            small = small + 1 if fall < self.tolerance else 0
            going = problem.on_epoch(replace(history[-1], model=weights))
            if not going or not moved or small == 2:
                break
        made = weights()
        made.history = history
        return made
