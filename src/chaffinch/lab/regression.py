"""Whether a new model may be shipped: no, if its score fell by more than is tolerated."""

from dataclasses import dataclass

from chaffinch.errors import ConfigError
from chaffinch.evaluate.evaluation import Evaluation
from chaffinch.evaluate.wording import ERRORS, title_of


@dataclass(frozen=True)
class Verdict:
    """The answer, by which score, and why in one sentence."""

    regression: bool
    score: str
    sentence: str


def verdict(
    evaluation: Evaluation,
    *,
    score: str | None = None,
    tolerance: float = 0.0,
    point: bool = False,
    fail_below: float | None = None,
) -> Verdict:
    """Is the new model worse than the old?

    It is if the whole interval of the difference lies below minus the tolerance; with ``point``, if the difference
    itself does. It also is if its score is below ``fail_below``. Of an error rate, less is better.

    score: by its key; by default the first of the task's headline
    """
    comparison = evaluation.comparison or {}
    key = evaluation.headline[0] if score is None else score
    if key not in comparison:
        raise ConfigError(f"there is no score {key!r} to judge by; there are {', '.join(comparison)}")
    if tolerance < 0:
        raise ConfigError(f"a tolerance must not be negative, got {tolerance:g}")
    c = comparison[key]
    sign = -1.0 if key in ERRORS else 1.0
    gain = sign * c.difference
    best = max(sign * c.low, sign * c.high)
    figures = (
        f"{c.other:.4f} -> {c.ours:.4f}, {c.difference:+.4f} "
        f"({evaluation.confidence:g}% interval {c.low:+.4f} to {c.high:+.4f})"
    )
    title = title_of(key)
    if fail_below is not None and sign * (c.ours - fail_below) < 0:
        side = "below" if sign > 0 else "above"
        return Verdict(True, key, f"Regression: {title} is {c.ours:.4f}, {side} the limit of {fail_below:g}.")
    allowed = f" beyond the tolerance of {tolerance:g}" if tolerance else ""
    if (gain if point else best) < -tolerance:
        return Verdict(True, key, f"Regression: by {title} the new model is worse{allowed}: {figures}.")
    if min(sign * c.low, sign * c.high) > 0:
        return Verdict(False, key, f"By {title} the new model is better: {figures}.")
    if best < 0:
        return Verdict(
            False,
            key,
            f"By {title} the new model is worse, within the tolerance of {tolerance:g}: {figures}.",
        )
    return Verdict(False, key, f"By {title} the two cannot be told apart: {figures}.")
