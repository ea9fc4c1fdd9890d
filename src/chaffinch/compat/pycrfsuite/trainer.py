"""Training: CRFsuite's algorithms and their parameters, its objective and features, a model file of ours."""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import AttributeIndex
from chaffinch.compat.pycrfsuite import online
from chaffinch.compat.pycrfsuite._logparser import TrainLogParser
from chaffinch.compat.pycrfsuite.items import given_items
from chaffinch.compat.pycrfsuite.minimiser import minimise, norm
from chaffinch.compat.pycrfsuite.problem import THREADS, CrfsuiteObjective, FeatureCells, LabelledItems
from chaffinch.estimators.loading import estimator_of
from chaffinch.model.encoders import CsrRows
from chaffinch.model.foreign_chain import AttributeFeatures, ForeignChain, ForeignWeights, OrderedRows
from chaffinch.rescue.chains import tagger
from chaffinch.text.attributes import ATTRIBUTES

# -- parameters -------------------------------------------------------------------------------------------------------


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


# -- the trainer ------------------------------------------------------------------------------------------------------


LEAST_STEPS = 100  # of l2sgd
TITLES = {
    "lbfgs": "L-BFGS optimization",
    "l2sgd": "Minimisation of the objective of l2sgd by L-BFGS",
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}
Vector = NDArray[np.float64]


class CRFSuiteError(Exception):
    """An error of training."""


@dataclass(frozen=True)
class Iteration:
    """The weights of the features after an iteration, and the lines of the log about it."""

    w: Vector
    lines: tuple[str, ...]


class BaseTrainer:
    """Collects sequences and trains on them; ``message`` gets each line of the log.

    The algorithms, and what differs from CRFsuite:

        lbfgs  the same objective: -log-likelihood + c1 |w| + c2 |w|^2, by OWL-QN if c1 > 0, with
               the same steps; else by L-BFGS with another line search: the steps differ, the optimum does not
        l2sgd  the objective of lbfgs with c1 = 0, minimised by L-BFGS: nearer to the optimum than SGD;
               parameters of the learning rate have no meaning
        ap, pa, arow  the same updates; the order of the sequences in each iteration differs
    """

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        del verbose
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Subclasses may leave out ``__init__``."""
        made = super().__new__(cls)
        made._begin()
        return made

    def _begin(self) -> None:
        self.algorithm = "lbfgs"
        self.values: dict[str, Any] = {}
        self.clear()

    # -- data ---------------------------------------------------------------------------------------------------

    def append(self, xseq: Any, yseq: Iterable[str], group: int = 0) -> None:
        """Add a sequence and its labels; ``group`` may be held out by ``train``."""
        x = given_items(xseq)
        y: list[Any] = list(yseq)
        if len(x) != len(y):
            raise ValueError(f"The numbers of items and labels differ: |x| = {len(x)}, |y| = {len(y)}")
        for label in y:
            if not isinstance(label, str | bytes):
                raise TypeError(f"expected labels that are strings, got {type(label).__name__}")
        names = [label.decode() if isinstance(label, bytes) else label for label in y]
        bounds, ptr, ids, values = self._index.read([x], True, True)
        labels = np.array([self._labels.setdefault(name, len(self._labels)) for name in names], np.int32)
        values = np.ones(len(ids), np.float32) if values is None else values
        self._data.append((group, LabelledItems(bounds, ptr, ids, values, labels)))

    def clear(self) -> None:
        """Forget the sequences."""
        self._index = AttributeIndex()
        self._labels: dict[str, int] = {}
        self._data: list[tuple[int, LabelledItems]] = []

    # -- parameters ---------------------------------------------------------------------------------------------

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm: lbfgs, l2sgd, ap, pa or arow; its parameters get their defaults."""
        name = SHORT.get(algorithm, algorithm)
        if name not in ALGORITHMS or type != "crf1d":
            raise ValueError(f"Bad arguments: algorithm={algorithm!r}, type={type!r}")
        self.algorithm, self.values = name, {}

    def params(self) -> list[str]:
        """The names of the algorithm's parameters."""
        return list(ALGORITHMS[self.algorithm])

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        return self.values.get(name, self._parameter(name).default)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; the value is cast to its type."""
        self.values[name] = cast(value, self._parameter(name).default)

    def get_params(self) -> dict[str, Any]:
        """The values of all parameters."""
        return {name: self.get(name) for name in self.params()}

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def help(self, name: str) -> str:
        """What a parameter means."""
        return self._parameter(name).help

    def _parameter(self, name: str) -> Parameter:
        found = ALGORITHMS[self.algorithm].get(name)
        if found is None:
            raise ValueError(f"Parameter not found: {name}")
        return found

    # -- training -----------------------------------------------------------------------------------------------

    def message(self, message: str) -> None:
        """Receive a line of the log; does nothing unless a subclass overrides it."""

    def train(self, model: str, holdout: int = -1) -> None:
        """Train and write the model file; sequences of the group ``holdout`` are only scored."""
        if not any(group != holdout for group, _ in self._data):
            raise ValueError("there is nothing to train on: append sequences first")
        say, begun = self.message, time.perf_counter()
        data = LabelledItems.joined([one for group, one in self._data if group != holdout])
        held = LabelledItems.joined([one for group, one in self._data if group == holdout])
        if holdout >= 0:
            say(f"Holdout group: {holdout + 1}\n")
            say("\n")
        given = self.get_params()
        features = self._generated(data, given)
        say("\n")
        say(f"{TITLES[self.algorithm]}\n")
        for name, value in given.items():
            if not name.startswith("feature."):
                say(f"{name}: {_shown(value)}\n")
        say("\n")
        start, w = time.perf_counter(), np.zeros(len(features))
        iterated = False
        for number, one in enumerate(_ALGORITHMS[self.algorithm](data, features, given), 1):
            iterated, w = True, one.w
            say(f"***** Iteration #{number} *****\n")
            for line in one.lines:
                say(line)
            say(f"Seconds required for this iteration: {time.perf_counter() - start:.3f}\n")
            if len(held):
                for line in self._scored(held, features, w):
                    say(line)
            say("\n")
            start = time.perf_counter()
        if not iterated:
            say("Training terminated with error: no step from zero lowers the objective\n")
        say(f"Total seconds required for training: {time.perf_counter() - begun:.3f}\n")
        say("\n")
        self._store(model, features, w)

    def _generated(self, data: LabelledItems, given: Mapping[str, Any]) -> FeatureCells:
        """The features, with the lines of the log about them."""
        say, begun = self.message, time.perf_counter()
        say("Feature generation\n")
        say("type: CRF1d\n")
        for name in ("feature.minfreq", "feature.possible_states", "feature.possible_transitions"):
            say(f"{name}: {_shown(given[name])}\n")
        features = FeatureCells.of(
            data,
            len(self._index),
            len(self._labels),
            given["feature.minfreq"],
            given["feature.possible_states"],
            given["feature.possible_transitions"],
        )
        for percent in range(0, 101, 2):
            say("." if percent % 10 else str(percent // 10))
        say("\n")
        say(f"Number of features: {len(features)}\n")
        say(f"Seconds required: {time.perf_counter() - begun:.3f}\n")
        return features

    def _scored(self, held: LabelledItems, features: FeatureCells, w: Vector) -> Iterator[str]:
        """Scores on held-out sequences."""
        chain = ForeignChain(_weights(features, w), "after")
        best = chain.decode(CsrRows(held.ptr, held.ids, held.values), held.bounds, THREADS)
        yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
        rates = []
        for label, y in self._labels.items():
            match, model, ref = (
                int(part.sum()) for part in ((best == y) & (held.y == y), best == y, held.y == y)
            )
            p, r = match / max(model, 1), match / max(ref, 1)
            f1 = 2 * p * r / (p + r) if match else 0.0
            rates.append((p, r, f1))
            shown = "******, ******, ******" if not model + ref else f"{p:.4f}, {r:.4f}, {f1:.4f}"
            yield f"    {label}: ({match}, {model}, {ref}) ({shown})\n"
        macro = ", ".join(f"{x:.6f}" for x in np.mean(rates, axis=0))
        yield f"Macro-average precision, recall, F1: ({macro})\n"
        right = best == held.y
        every = [bool(right[a:b].all()) for a, b in zip(held.bounds, held.bounds[1:], strict=False)]
        for name, good, of in (("Item", int(right.sum()), len(right)), ("Instance", sum(every), len(every))):
            yield f"{name} accuracy: {good} / {of} ({good / max(of, 1):.4f})\n"

    def _store(self, model: str, features: FeatureCells, w: Vector) -> None:
        """Write the file, without zero weights and without attributes that have only zero weights."""
        say, begun = self.message, time.perf_counter()
        say("Storing the model\n")
        weights, labels = _weights(features, w), list(self._labels)
        kept = np.flatnonzero(np.diff(weights.unary.bounds)).astype(np.int32)
        unary = OrderedRows(
            np.append(weights.unary.bounds[:-1][kept], len(weights.unary.columns)),
            weights.unary.columns,
            weights.unary.weights,
        )
        say(f"Number of active features: {int(np.count_nonzero(w))} ({len(features)})\n")
        say(f"Number of active attributes: {len(kept)} ({features.A})\n")
        say(f"Number of active labels: {len(labels)} ({len(labels)})\n")
        made = tagger(
            "a model of chaffinch.compat.pycrfsuite",
            f"chaffinch.compat.pycrfsuite ({self.algorithm})",
            labels,
            AttributeFeatures(self._index.names(kept)),
            ForeignChain(ForeignWeights(features.Y, unary, weights.pair), "after"),
            (ATTRIBUTES,),
        )
        estimator_of(made).save(Path(model))
        say(f"Seconds required: {time.perf_counter() - begun:.3f}\n")
        say("\n")


class Trainer(BaseTrainer):
    """A trainer that calls an ``on_...`` method for each event of the log; unless overridden, it prints the lines.

    verbose: whether these methods are called
    """

    verbose = True

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        super().__init__(algorithm, params)
        self.verbose = verbose

    def _begin(self) -> None:
        super()._begin()
        self.logparser = TrainLogParser()

    def train(self, model: str, holdout: int = -1) -> None:
        """Train and write the model file; sequences of the group ``holdout`` are only scored."""
        self.logparser = TrainLogParser()
        super().train(model, holdout)

    def message(self, message: str) -> None:
        """Read a line of the log and call the method of the event, if any."""
        event = self.logparser.feed(message)
        if not self.verbose or event is None:
            return
        more: tuple[Any, ...] = ()
        if event == "featgen_progress":
            more = (self.logparser.featgen_percent,)
        elif event == "iteration":
            more = (self.logparser.last_iteration,)
        getattr(self, f"on_{event}")(self.logparser.last_log, *more)

    def on_start(self, log: str) -> None:
        """Training begins."""
        sys.stdout.write(log)

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """A part of the features is generated."""
        del percent
        sys.stdout.write(log)

    def on_featgen_end(self, log: str) -> None:
        """All features are generated."""
        sys.stdout.write(log)

    def on_prepared(self, log: str) -> None:
        """Iterations begin."""
        sys.stdout.write(log)

    def on_prepare_error(self, log: str) -> None:
        """Training failed before the first iteration."""
        sys.stdout.write(log)

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """An iteration ended; ``info`` has its numbers."""
        del info
        sys.stdout.write(log)

    def on_optimization_end(self, log: str) -> None:
        """Iterations ended."""
        sys.stdout.write(log)

    def on_end(self, log: str) -> None:
        """The model is written."""
        sys.stdout.write(log)


def _by_lbfgs(data: LabelledItems, features: FeatureCells, given: Mapping[str, Any]) -> Iterator[Iteration]:
    sgd = "num_memories" not in given
    most = max(LEAST_STEPS, given["max_iterations"]) if sgd else given["max_iterations"]
    steps = minimise(
        CrfsuiteObjective(data, features, given["c2"]),
        np.zeros(len(features)),
        given.get("c1", 0.0),
        memory=given.get("num_memories", 6),
        epsilon=given.get("epsilon", 1e-5),
        period=given["period"],
        delta=given["delta"],
        iterations=most,
        trials=given.get("max_linesearch", 20),
    )
    for step in steps:
        yield Iteration(
            step.w,
            (
                f"Loss: {step.value:.6f}\n",
                f"Feature norm: {norm(step.w):.6f}\n",
                f"Error norm: {step.gradient_norm:.6f}\n",
                f"Active features: {np.count_nonzero(step.w)}\n",
                f"Line search trials: {step.trials}\n",
                f"Line search step: {step.length:.6f}\n",
            ),
        )


def _online(
    name: str, data: LabelledItems, features: FeatureCells, given: Mapping[str, Any]
) -> Iterator[Iteration]:
    epsilon, average = given["epsilon"], True
    if name == "averaged-perceptron":
        rule = online.perceptron()
    elif name == "passive-aggressive":
        rule = online.passive_aggressive(given["type"], given["c"], given["error_sensitive"])
        average = given["averaging"]
    else:
        rule = online.arow(given["variance"], given["gamma"], (features.A + features.Y) * features.Y)
        average = False

    def stops(loss: float) -> bool:
        return loss < epsilon or (loss == epsilon and name == "arow")

    for w, loss in online.iterations(
        data, features, rule, most=given["max_iterations"], average=average, stops=stops
    ):
        yield Iteration(w, (f"Loss: {loss:.6f}\n", f"Feature norm: {norm(w):.6f}\n"))


_ALGORITHMS: dict[str, Any] = {
    "lbfgs": _by_lbfgs,
    "l2sgd": _by_lbfgs,
    **{name: partial(_online, name) for name in ("averaged-perceptron", "passive-aggressive", "arow")},
}


def _weights(features: FeatureCells, w: Vector) -> ForeignWeights:
    """The weights of features as those of a chain."""
    A, Y = features.A, features.Y
    n = int(np.searchsorted(features.cells, A * Y))
    cells = features.cells[:n]
    pair = np.zeros(Y * Y)
    pair[features.cells[n:] - A * Y] = w[n:]
    return ForeignWeights(Y, OrderedRows.of(cells // Y, cells % Y, w[:n], A), pair.reshape(Y, Y))


def _shown(value: Any) -> str:
    """A parameter in the log."""
    return (
        f"{value:.6f}" if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)
    )
