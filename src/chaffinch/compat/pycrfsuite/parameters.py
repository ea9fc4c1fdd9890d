"""The algorithms of CRFsuite and their parameters."""

from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """A default value, which gives the parameter its type, and the meaning of the parameter here."""

    default: Any
    help: str


FEATURES = {
    "feature.minfreq": Parameter(0.0, "The minimum sum of the values of a feature in the training data."),
    "feature.possible_states": Parameter(
        False, "Also generate state features of attributes with labels that they do not occur with."
    ),
    "feature.possible_transitions": Parameter(False, "Also generate transition features that do not occur."),
}
ITERATIONS = "The maximum number of iterations."
STOP = "The number of iterations over which the stopping criterion compares the objective."
DELTA = "Stop when the objective improved by a smaller fraction over the last ${period} iterations."
NO_MEANING = "No meaning here: the objective is minimised without a learning rate."

ALGORITHMS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **FEATURES,
        "c1": Parameter(0.0, "Coefficient for L1 regularization."),
        "c2": Parameter(1.0, "Coefficient for L2 regularization."),
        "max_iterations": Parameter(2**31 - 1, ITERATIONS),
        "num_memories": Parameter(6, "The number of steps from which L-BFGS estimates the curvature."),
        "epsilon": Parameter(
            1e-5, "Stop when the norm of the gradient is below this fraction of the norm of the weights."
        ),
        "period": Parameter(10, STOP),
        "delta": Parameter(1e-5, DELTA),
        "linesearch": Parameter(
            "MoreThuente", "No meaning here: there is one line search, for the Wolfe conditions."
        ),
        "max_linesearch": Parameter(20, "The maximum number of trials of a line search."),
    },
    "l2sgd": {
        **FEATURES,
        "c2": Parameter(1.0, "Coefficient for L2 regularization."),
        "max_iterations": Parameter(1000, f"{ITERATIONS} Values below 100 mean 100."),
        "period": Parameter(10, STOP),
        "delta": Parameter(1e-6, DELTA),
        "calibration.eta": Parameter(0.1, NO_MEANING),
        "calibration.rate": Parameter(2.0, NO_MEANING),
        "calibration.samples": Parameter(1000.0, NO_MEANING),
        "calibration.candidates": Parameter(10, NO_MEANING),
        "calibration.max_trials": Parameter(20, NO_MEANING),
    },
    "averaged-perceptron": {
        **FEATURES,
        "max_iterations": Parameter(100, ITERATIONS),
        "epsilon": Parameter(0.0, "Stop when the mean share of wrong labels is below this."),
    },
    "passive-aggressive": {
        **FEATURES,
        "type": Parameter(1, "The size of a step: 0 without slack, 1 PA-I, 2 PA-II."),
        "c": Parameter(1.0, "The aggressiveness C."),
        "error_sensitive": Parameter(
            True, "The cost of an answer is the square root of the number of wrong labels."
        ),
        "averaging": Parameter(True, "Return the mean of the weights over all steps."),
        "max_iterations": Parameter(100, ITERATIONS),
        "epsilon": Parameter(0.0, "Stop when the mean loss is below this."),
    },
    "arow": {
        **FEATURES,
        "variance": Parameter(1.0, "The initial variance of every weight."),
        "gamma": Parameter(1.0, "Larger values lower the variances more slowly."),
        "max_iterations": Parameter(100, ITERATIONS),
        "epsilon": Parameter(0.0, "Stop when the mean loss is not above this."),
    },
}
SHORT = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


def cast(value: Any, default: Any) -> Any:
    """A value in the type of the default.

    >>> cast("1", False), cast(5.7, 10), cast(3, 1.0)
    (True, 5, 3.0)
    """
    if isinstance(default, bool):
        return bool(int(value))
    if isinstance(default, int):
        return int(float(value))
    return float(value) if isinstance(default, float) else str(value)
