"""Confidence-weighted learning: weights that are sure of themselves move less."""

from dataclasses import dataclass

from chaffinch.knobs import knob
from chaffinch.learners.online import OnlineLearner


@dataclass(frozen=True, kw_only=True)
class Arow(OnlineLearner):
    """Adaptive regularisation of weights, with a variance sigma_c for each weight, at first 1.

        d     = f(x, y) - f(x, y_hat),   y_hat = argmax score + cost
        beta  = 1 / (sum_c sigma_c d_c^2 + r),   alpha = beta max(0, cost(y, y_hat) - w.d)
        w_c  += alpha sigma_c d_c,   sigma_c -= beta (sigma_c d_c)^2

    Crammer, Kulesza and Dredze 2009. Runs fused only: variances belong to single weights, which scorers hide.
    """

    r: float = knob(1.0, "how slowly variances fall", low=0.0)
    average: bool = knob(False, "return the mean of w over all steps")

    rule = "arow"
    augmented = True

    def amount(self) -> float:
        """r."""
        return self.r
