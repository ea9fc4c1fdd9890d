"""The linear-chain conditional random field: globally normalised, trained on the conditional likelihood."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import CrfProblem
from chaffinch.errors import ConfigError
from chaffinch.features.token_rows import FeatureRows
from chaffinch.knobs import knob
from chaffinch.learners.likelihood import MOST_DUAL_BYTES, Lbfgs, LikelihoodLearner, Pass, Sdca, Sgd
from chaffinch.model import TaggingModel
from chaffinch.model.chain import ChainModel, ChainWeights
from chaffinch.model.template_encoder import TemplateEncoder
from chaffinch.modelfile import ModelFile
from chaffinch.progress import Progress
from chaffinch.recipes.encoding import INSIDE, InnerLabels, encoded, inner_labels, suggested_preset
from chaffinch.recipes.held_out import HeldOut
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained

OPTIMISERS = ("auto", "precise", "fast", "sdca", "sgd", "lbfgs")


@dataclass(frozen=True, kw_only=True)
class Crf:
    """A conditional random field: p(y|x) = exp(s(x, y)) / Z(x), maximised with c1 |w|_1 + c2 |w|^2 taken off."""

    c1: float = knob(0.0, "L1 penalty c1 |w|_1: makes most weights zero", low=0.0)
    c2: float = knob(1.0, "L2 penalty c2 |w|^2", low=0.0)
    optimiser: str = knob(
        "auto",
        "auto: dual coordinate ascent where it can, else SGD or L-BFGS; precise: the same run to the optimum; "
        "fast: SGD",
        choices=OPTIMISERS,
    )
    passes: int | None = knob(None, "passes over the training data at most; else the optimiser's own", low=1)
    tolerance: float | None = knob(None, "when to stop; else the optimiser's own", low=0.0)
    rate: float = knob(0.2, "SGD: the first step size", low=0.0)
    patience: int = knob(3, "with dev data: passes without a better score before stopping", low=1)
    order: int = knob(1, "labels of history", low=1, high=2)
    states: str = knob(
        "all",
        "which (feature, label) pairs have a weight: all, or those observed in training",
        choices=("all", "observed"),
    )
    inside: str = knob("auto", "auto: BIO labels are learnt as BIOES", choices=INSIDE)
    constraints: bool = knob(True, "never predict a transition that the tag scheme forbids")
    min_count: int = knob(1, "features seen fewer times are left out", low=1)
    language: str = knob("english", "of stems and prepositions, for the templates that use them")
    clusters: str | None = knob(None, "file of word clusters: path, word")
    gazetteers: str | None = knob(None, "files of phrases, separated by commas, or a folder of .txt files")


def train(task: TaggingTask, config: Crf) -> Trained:
    """Encode, learn pass by pass, keep the last pass or, with dev data, the best."""
    inner = inner_labels(task, config.inside)
    encoder, rows = encoded(
        task,
        preset=suggested_preset(task, inner),
        min_count=config.min_count,
        language=config.language,
        clusters=config.clusters,
        gazetteers=config.gazetteers,
    )
    shape = Shape(encoder.n_features, len(inner.labels.inner), config.order)
    problem = CrfProblem(
        rows.sentences,
        rows.ptr,
        rows.ids,
        inner.y,
        shape.F,
        shape.Y,
        shape.order,
        trainable=shape.observed(rows, inner.y) if config.states == "observed" else None,
    )
    w = np.zeros(problem.size, np.float32)

    def model() -> ChainModel:
        return ChainModel(encoder, shape.weights(w, inner if config.constraints else None), inner.labels)

    passes = chosen_learner(config, problem).passes(problem, w, task.seed, task.threads)
    history = _run(passes, w, model, task, config)
    return Trained(model(), history)


def load(file: ModelFile) -> TaggingModel:
    """The model of a file."""
    return ChainModel.loaded(file, TemplateEncoder.loaded(file))


def chosen_learner(config: Crf, problem: CrfProblem) -> LikelihoodLearner:
    """The learner that the config asks for, or the one that fits."""
    dual = config.c1 == 0 and config.c2 > 0 and config.order == 1
    if config.optimiser == "sdca" and not dual:
        raise ConfigError(
            "Crf.optimiser 'sdca' needs c1 = 0, c2 > 0 and order 1; use 'auto', 'sgd' or 'lbfgs'"
        )
    if config.optimiser in ("fast", "sgd") and config.c1 > 0:
        raise ConfigError(f"Crf.optimiser {config.optimiser!r} needs c1 = 0; use 'auto' or 'lbfgs'")
    sgd = Sgd(config.c2, config.passes or 5, config.rate)
    name = config.optimiser
    precise = name == "precise"
    if name in ("auto", "precise"):
        fits = dual and problem.dual_bytes <= MOST_DUAL_BYTES
        name = "sdca" if fits else "lbfgs" if precise or config.c1 > 0 or config.c2 == 0 else "sgd"
    if name == "sdca":
        tolerance = 0.001 if precise else 0.02
        return Sdca(
            config.c2,
            config.passes or (100 if precise else 20),
            tolerance if config.tolerance is None else config.tolerance,
            0.0 if precise else 0.001,
        )
    if name == "lbfgs":
        tolerance = 1e-6 if precise else 1e-4
        return Lbfgs(
            config.c1,
            config.c2,
            config.passes or 500,
            tolerance if config.tolerance is None else config.tolerance,
            Sgd(config.c2, 5, config.rate),
        )
    return sgd


@dataclass(frozen=True)
class Shape:
    """Where the weights of a problem lie in its flat array: unary rows first, then the chain's blocks."""

    F: int
    Y: int
    order: int

    @property
    def S(self) -> int:
        """The length of a row: Y rounded up to whole lanes."""
        return (self.Y + 7) // 8 * 8

    def weights(self, w: NDArray[np.float32], legal: InnerLabels | None) -> ChainWeights:
        """The weights by part; transitions that ``legal`` forbids are minus infinity."""
        F, Y, S = self.F, self.Y, self.S
        rows = w[: (F + Y + 2) * S].reshape(-1, S)[:, :Y]
        pair, start, end = rows[F : F + Y].copy(), rows[F + Y].copy(), rows[F + Y + 1].copy()
        if legal is not None and legal.legal is not None:
            follows, starts, ends = legal.legal
            pair[~follows], start[~starts], end[~ends] = -np.inf, -np.inf, -np.inf
        second = {}
        if self.order == 2:
            at = (F + Y + 2) * S
            triple, first, last = np.split(w[at : at + Y**3 + 2 * Y**2], [Y**3, Y**3 + Y**2])
            second = {
                "triple": triple.reshape(Y, Y, Y).copy(),
                "first": first.reshape(Y, Y).copy(),
                "last": last.reshape(Y, Y).copy(),
            }
        return ChainWeights(np.ascontiguousarray(rows[:F]), start, end, pair, **second)

    def observed(self, rows: FeatureRows, y: NDArray[np.int32]) -> NDArray[np.uint8]:
        """1 where training has the (feature, label) pair, transition, first or last label."""
        F, Y, S = self.F, self.Y, self.S
        if self.order == 2:
            raise ConfigError("Crf.states 'observed' needs order 1")
        seen = np.zeros((F + Y + 2, S), np.uint8)
        seen[rows.ids, np.repeat(y, np.diff(rows.ptr))] = 1
        filled = np.flatnonzero(np.diff(rows.sentences))
        starts, ends = rows.sentences[filled], rows.sentences[filled + 1] - 1
        seen[F + Y, y[starts]] = 1
        seen[F + Y + 1, y[ends]] = 1
        inside = np.ones(len(y), bool)
        inside[starts] = False
        after = np.flatnonzero(inside)
        seen[F + y[after - 1], y[after]] = 1
        return seen.ravel()


def _run(
    passes: Iterator[Pass],
    w: NDArray[np.float32],
    model: Callable[[], ChainModel],
    task: TaggingTask,
    config: Crf,
) -> list[Progress]:
    """Drive the passes; with dev data ``w`` ends as the best of them left it."""
    history: list[Progress] = []
    held_out = None if task.dev is None else HeldOut(task.dev, model().labels, task.threads)
    best, best_score, best_number = None, -np.inf, 0
    for met in passes:
        scores = {"objective": met.objective} | ({} if met.gap is None else {"gap": met.gap})
        if held_out is not None:
            scores["dev"] = held_out.score(model())
            if scores["dev"] > best_score:
                best, best_score, best_number = w.copy(), scores["dev"], met.number
        history.append(Progress("pass", met.number, config.passes, scores))
        patient = held_out is None or met.number - best_number < config.patience
        if not (task.on_epoch(replace(history[-1], model=model)) and patient):
            break
    if best is not None:
        w[:] = best
    return history


RECIPE = Recipe("crf", "conditional random field on the linear chain", Crf, train, load)
