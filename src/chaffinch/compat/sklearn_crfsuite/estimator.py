"""The estimator, its trainer that prints one line per iteration, and its model file."""

import contextlib
import inspect
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch.compat.pycrfsuite import Tagger, Trainer
from chaffinch.compat.pycrfsuite.tagger import ParsedDump
from chaffinch.compat.sklearn_crfsuite.metrics import flat_accuracy_score
from chaffinch.errors import ConfigError


class LinePerIterationTrainer(Trainer):
    """Prints the numbers of each iteration on one line, and the scores of the labels at the end."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """One line."""
        del log
        line = f"Iter {info['num']:<3} time={info['time']:<5.2f} loss={info['loss']:<8.2f}"
        if "active_features" in info:
            line += f" active={info['active_features']:<5}"
        if "avg_f1" in info:
            line += (
                f" precision={info['avg_precision']:.3f}  recall={info['avg_recall']:.3f}  F1={info['avg_f1']:.3f}"
                f"  Acc(item/seq)={info['item_accuracy_float']:.3f} {info['instance_accuracy_float']:.3f}"
            )
        if "feature_norm" in info:
            line += f" feature_norm={info['feature_norm']:<8.2f}"
        sys.stdout.write(line.rstrip() + "\n")

    def on_optimization_end(self, log: str) -> None:
        """The scores of the labels on held-out sequences, if any."""
        last = self.logparser.last_iteration
        if last is not None and last["scores"]:
            width = max(map(len, [*last["scores"], "Label"]))
            sys.stdout.write(f"{'Label':<{width}}  Precision  Recall     F1  Support\n")
            for label, score in sorted(last["scores"].items()):
                rates = (score.precision or 0.0, score.recall or 0.0, score.f1 or 0.0)
                shown = "{:9.3f}  {:6.3f}  {:5.3f}".format(*rates)
                sys.stdout.write(f"{label:<{width}}  {shown}  {score.ref:7}\n")
        super().on_optimization_end(log)


class ModelPath:
    """A file that is deleted with its object, unless its name was given or ``keep`` is set.

    name: its path; None: there is none yet
    """

    def __init__(self, name: str | None, keep: bool) -> None:
        self.name, self.given, self.keep = name, name is not None, keep

    def renew(self) -> str:
        """A path to write a new model to."""
        if not self.given:
            self.remove()
            number, self.name = tempfile.mkstemp(".chaff", "model")
            os.close(number)
        assert self.name is not None
        return self.name

    def remove(self) -> None:
        """Delete a temporary file."""
        if self.given or self.keep or self.name is None:
            return
        with contextlib.suppress(OSError):
            Path(self.name).unlink()
        self.name = None

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the interpreter may be closing
            self.remove()

    def __getstate__(self) -> dict[str, Any]:
        """The state, with the content of a temporary file."""
        state = dict(vars(self))
        if not self.given and self.name is not None:
            state["content"], state["name"] = Path(self.name).read_bytes(), None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        content = state.pop("content", None)
        vars(self).update(state)
        if content is not None:
            Path(self.renew()).write_bytes(content)


# Names of parameters that differ from those of the trainer.
TRAINERS = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
}
OWN = ("algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls")


class CRF:
    """A conditional random field on sequences of features, trained as CRFsuite does.

    The parameters are those of :class:`chaffinch.compat.pycrfsuite.Trainer` for the algorithm (lbfgs, l2sgd, ap, pa,
    arow), with underscores; None: its default. Parameters of other algorithms raise ValueError.

    verbose:        print a line per iteration
    model_filename: where the model is written and read; None: a temporary file, which a pickle contains
    keep_tempfiles: whether a temporary file is kept when the object is deleted
    trainer_cls:    a trainer of your own
    """

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: float | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: Any = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls
        self.modelfile = ModelPath(model_filename, keep_tempfiles)
        self.training_log_: Any = None
        self._tagger: Tagger | None = None
        self._known: ParsedDump | None = None

    # -- training -----------------------------------------------------------------------------------------------

    def fit(self, X: Sequence[Any], y: Sequence[Any], X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train; each iteration is scored on ``X_dev`` and ``y_dev`` for the log."""
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Pass both X_dev and y_dev to use the holdout data")
        kind = LinePerIterationTrainer if self.trainer_cls is None else self.trainer_cls
        trainer = kind(algorithm=self.algorithm, params=self._trainer_params(), verbose=self.verbose)
        for x, labels in zip(X, y, strict=True):
            trainer.append(x, labels)
        if X_dev is not None:
            for x, labels in zip(X_dev, y_dev, strict=True):
                trainer.append(x, labels, 1)
        self._tagger = self._known = None
        try:
            trainer.train(self.modelfile.renew(), holdout=-1 if X_dev is None else 1)
        except BaseException:
            self.modelfile.remove()
            raise
        self.training_log_ = trainer.logparser
        return self

    def _trainer_params(self) -> dict[str, Any]:
        given = {name: value for name, value in self.get_params().items() if name not in OWN}
        named = {
            TRAINERS.get(name, name.replace("calibration_", "calibration.")): v for name, v in given.items()
        }
        return {name: value for name, value in named.items() if value is not None}

    # -- prediction ---------------------------------------------------------------------------------------------

    def predict(self, X: Sequence[Any]) -> NDArray[Any]:
        """The labels of each sequence: an array of lists; of rows if all sequences are equally long."""
        return np.array(self._opened().tag_all(X), dtype=object)

    def predict_single(self, xseq: Any) -> list[str]:
        """The labels of one sequence."""
        return self._opened().tag(xseq)

    def predict_marginals(self, X: Sequence[Any]) -> NDArray[Any]:
        """For each item of each sequence, the probability of each label."""
        return np.array([self.predict_marginals_single(x) for x in X], dtype=object)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """The same for one sequence."""
        tagger = self._opened()
        tagger.set(xseq)
        labels = tagger.labels()
        return [dict(zip(labels, p, strict=True)) for p in tagger.marginals().tolist()]

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """The share of right items."""
        return flat_accuracy_score(y, self._opened().tag_all(X))

    def _opened(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            raise ConfigError("this CRF is not trained: call fit, or give model_filename")
        return tagger

    # -- the model ------------------------------------------------------------------------------------------------

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger of the model file; None before ``fit``, as are all attributes below."""
        if self._tagger is None and self.modelfile.name is not None:
            tagger = Tagger()
            tagger.open(self.modelfile.name)
            self._tagger = tagger
        return self._tagger

    @property
    def classes_(self) -> list[str] | None:
        """The labels."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """The size of the model file in bytes."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """The number of attributes with weights."""
        return None if self._info is None else len(self._info.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes with weights."""
        return None if self._info is None else list(self._info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by attribute and label."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by the label before and the label after."""
        return None if self._info is None else self._info.transitions

    @property
    def _info(self) -> ParsedDump | None:
        if self._known is None and self.tagger_ is not None:
            self._known = self.tagger_.info()
        return self._known

    # -- scikit-learn's interface -------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments."""
        del deep
        return {name: getattr(self, name) for name in inspect.signature(CRF).parameters}

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor."""
        known = inspect.signature(CRF).parameters
        for name, value in params.items():
            if name not in known:
                raise ConfigError(f"CRF has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        if {"model_filename", "keep_tempfiles"} & set(params):
            self.modelfile = ModelPath(self.model_filename, self.keep_tempfiles)
            self._tagger = self._known = None
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    def __repr__(self) -> str:
        known = inspect.signature(CRF).parameters
        given = {name: value for name, value in self.get_params().items() if value is not known[name].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tagger": None, "_known": None}
