"""The training data of a document classifier, and the training that all its recipes share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import give_back_memory, row_strengths
from chaffinch.errors import ConfigError
from chaffinch.features.rows import SparseRows, joined
from chaffinch.features.shared_counts import SharedCounts
from chaffinch.kernels import Kernel
from chaffinch.knobs import knob
from chaffinch.learners.choice import ChoiceWeights, dealt, document_problem
from chaffinch.learners.dual import DualRidge
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.naive_bayes import ComplementNaiveBayes, MultinomialNaiveBayes
from chaffinch.learners.problem import Problem
from chaffinch.learners.shards import Sharding
from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.confidence import Calibration, Prior
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.quantised import quantised
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.calibration import calibrated
from chaffinch.recipes.out_of_fold import (
    FOLDS,
    SHARES,
    FoldScores,
    HeldOut,
    affordable_share,
    first_labels,
    out_of_fold,
    scored_folds,
    text_folds,
)
from chaffinch.recipes.recipe import Trained
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.recipes.training import document_score, train_in_place
from chaffinch.recipes.valences import PhraseValences
from chaffinch.trust.calibration import fitted_temperature
from chaffinch.trust.confidence import Confidence

# Recipes that count: their weights are neither rounded nor pruned.
COUNTS = (MultinomialNaiveBayes, ComplementNaiveBayes)


@dataclass(frozen=True)
class DocumentLabels:
    """The labels of documents.

    classes:   the labels, sorted
    ptr, ids:  the labels of each document as CSR: one each, unless ``several``
    soft:      target distributions float32 [N, Y] instead; or None
    indicator: several labels were given as a table of zeros and ones, and predictions take that form
    """

    classes: NDArray[Any]
    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    soft: NDArray[np.float32] | None = None
    several: bool = False
    indicator: bool = False

    def taken(self, which: NDArray[np.int64]) -> "DocumentLabels":
        """The labels of the selected documents, in the given order; the classes stay."""
        sizes = np.diff(self.ptr)[which]
        ptr = np.zeros(len(which) + 1, dtype=np.int64)
        np.cumsum(sizes, out=ptr[1:])
        at = np.repeat(self.ptr[which] - ptr[:-1], sizes) + np.arange(ptr[-1])
        return replace(self, ptr=ptr, ids=self.ids[at], soft=None if self.soft is None else self.soft[which])

    def table(self, classes: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these classes each document has: bool [N, classes]; other labels are left out."""
        place = {label: i for i, label in enumerate(classes.tolist())}
        to = np.array([place.get(label, len(place)) for label in self.classes.tolist()], dtype=np.int64)
        has = np.zeros((len(self.ptr) - 1, len(place) + 1), dtype=np.bool_)
        has[np.repeat(np.arange(len(has)), np.diff(self.ptr)), to[self.ids]] = True
        return has[:, :-1]

    def lists(self) -> list[list[int]]:
        """The label ids of each document, for features that read them."""
        flat = self.ids.tolist()
        return [flat[a:b] for a, b in zip(self.ptr[:-1].tolist(), self.ptr[1:].tolist(), strict=True)]


@dataclass(frozen=True)
class DocumentTask:
    """Documents with labels.

    X:          texts, or rows of numbers if ``text`` is false
    beside:     numbers beside the texts, or None
    importance: the weight of each document, float32 [N], above 0
    bits:       bits per weight, 8 or 32; None: 8 for text if the recipe allows it
    smallest:   drop features whose largest absolute weight is below this fraction of the maximum; None: the largest
                fraction that costs no accuracy on held-out folds
    dev:        held-out documents, their labels and the numbers beside them: the best pass on them is kept; or None
    kernel:     the kernel of a kernel machine, instead of the one in the recipe's settings; or None
    calibrate:  whether to compute out-of-fold scores, which calibrate probabilities and decide which small weights of
                texts are dropped
    ready:      the encoder and the rows of these features, if they were computed before
    held_out:   the folds of these rows, if they were computed before
    scored:     out-of-fold scores of all documents by the learner, if they are known
    keep:       whether the encoder and the rows are kept besides the model, for incremental learning
    sharding:   the engine to train on, in shards; None: train in this process
    """

    X: Any
    text: bool
    labels: DocumentLabels
    importance: NDArray[np.float32]
    beside: Any = None
    features: TextFeatures | None = None
    bits: int | None = None
    smallest: float | None = None
    threshold: float = 0.5
    seed: int = 0
    threads: int = 0
    on_epoch: Listener = keep_going
    dev: tuple[Any, DocumentLabels, Any] | None = None
    kernel: Kernel | None = None
    calibrate: bool = True
    ready: tuple[DocumentEncoder, SparseRows] | None = None
    held_out: HeldOut | None = None
    scored: FoldScores | None = None
    keep: bool = False
    sharding: Sharding | None = None

    def encoded(self, shared: SharedCounts | None = None) -> tuple[DocumentEncoder, SparseRows]:
        """The encoder fitted to the documents, and their rows.

        shared: counts of these documents that other features read too
        """
        if self.ready is not None:
            return self.ready
        if not self.text:
            rows = SparseRows.of(self.X)
            return DocumentEncoder(None, (), rows.columns), rows
        features = self.features or TextFeatures.of(None)
        encoder = features.encoder(len(self.X), self.seed, self.threads)
        names: Sequence[Any] | None = self.labels.lists() if features.reads_labels else None
        rows = encoder.fitted_rows(self.X, names, self.beside, shared)
        if features.phrases is None:
            return encoder, rows
        learner = PhraseValences(scale=features.phrase_scale, seed=self.seed, threads=self.threads)
        classes = [str(label) for label in self.labels.classes.tolist()]
        valences, block = learner.learnt(self.X, features.phrases, classes)
        return replace(encoder, valences=valences), joined([rows, SparseRows.of(block)])

    def gold(self, which: NDArray[np.int64]) -> NDArray[np.float32]:
        """The targets of some documents, float32 [which, Y]: shares, or 1 for the labels of a document."""
        if self.labels.soft is not None:
            return self.labels.soft[which]
        return self.labels.taken(which).table(self.labels.classes).astype(np.float32)

    def prior(self, sigmoids: bool, masses: NDArray[np.float64] | None = None) -> Prior:
        """The weighted shares of the labels among the documents."""
        weight = self.importance.astype(np.float64)
        if masses is None:
            masses = weight @ self.gold(np.arange(len(weight))).astype(np.float64)
            whole = weight.sum()
        else:
            whole = masses.sum()
        return Prior(np.asarray(masses / whole, np.float32), sigmoids)

    def problem(self, rows: SparseRows) -> Problem:
        """The documents as a learner's problem."""
        labels = self.labels
        Y = len(labels.classes)
        examples = DocumentExamples.of_rows(rows, labels.ids, Y, labels.ptr, labels.soft)
        return document_problem(examples, self.importance, self.seed)

    def held_out_score(self, encoder: Any) -> Callable[[Any], float] | None:
        """The score of a model on the held-out documents, encoded once; None if there are none."""
        if self.dev is None:
            return None
        X, labels, beside = self.dev
        rows, gold = encoder.rows(X, beside, self.threads), labels.table(self.labels.classes)

        def score(model: Any) -> float:  # a model without small weights has its own encoder
            own = rows if model.encoder is encoder else model.encoder.rows(X, beside, self.threads)
            return document_score(own, gold, self.labels.several, self.threads)(model)

        return score


def calibrated_on_documents(model: Any, held_out: Any, threads: int) -> tuple[Any, Confidence | None]:
    """The model calibrated on held-out documents, and its confidence; unchanged if none has a known label.

    model:    a :class:`ClassifierModel` or a :class:`KernelModel`
    held_out: documents, their labels, and the numbers beside them
    """
    X, labels, beside = held_out
    rows = model.encoder.rows(X, beside, threads)
    gold = labels.table(model.classes)
    known = gold.any(axis=1) | model.several
    if model.prior is not None:  # texts without a known feature get the prior
        known &= np.diff(rows.ptr) > 0
    if not known.any():
        return model, None
    calibration, confidence = calibrated(
        model.logits(model.scores_of_rows(rows, threads)[known]),
        gold[known],
        sigmoids=model.link == "sigmoid",
        several=model.several,
        threshold=model.threshold,
        folds=0,
    )
    return replace(model, calibration=calibration), confidence


def train_classifier(task: DocumentTask, learner: Any) -> Trained:
    """Encode, learn, keep the best pass if there are held-out documents, drop and round weights, calibrate."""
    encoder, rows = task.encoded()
    if len(rows.ids) >= MANY_VALUES:
        give_back_memory()  # of encoding, before the weights are allocated
    # The model that was scored on dev data is the one that is kept: nothing is dropped from it by default.
    whole = task if task.smallest is not None else replace(task, smallest=0.0)
    problem, learner = task.problem(rows), suited(learner, task.text, len(task.X))
    memory = (encoder, rows) if task.keep and len(rows.ids) <= MOST_KEPT_VALUES else None
    del rows
    found = fold_scores(task, encoder, problem, learner)
    training = train_in_place(
        task,
        without_own_folds(learner, found),
        problem,
        model=lambda made: finished(whole, encoder, replace(made, w=made.w.copy()))[0],
        held_out_score=task.held_out_score(encoder),
    )
    del problem  # its rows are larger than the model
    counts = training.made.counts
    model, confidence = finished(task if task.dev is None else whole, encoder, training.made, found)
    if task.dev is not None and task.calibrate and task.labels.soft is None and len(model.classes) > 1:
        model, confidence = calibrated_on_documents(model, task.dev, task.threads)
    counted = None if counts is None else (encoder, *counts)
    return Trained(
        model, training.history, counted, memory=memory, confidence=confidence, shards=training.shards
    )


MANY_VALUES = 2_000_000  # stored values of rows: the memory of encoding fewer is not worth giving back
MOST_KEPT_VALUES = 20_000_000  # stored values of rows: more are not kept after training


def fold_scores(
    task: DocumentTask, encoder: DocumentEncoder, problem: Problem, learner: Any
) -> FoldScores | None:
    """Out-of-fold scores by this learner; None if they are not wanted, or there are held-out documents."""
    if not task.calibrate or task.dev is not None or task.sharding is not None:
        return None
    data: DocumentExamples = problem.examples
    if getattr(learner, "folds", 1) == 0 or data.Y < 2 or data.soft is not None:
        return None  # soft targets are probabilities already
    if not task.text and len(data) < FEWEST_ROWS:
        return None
    shares: tuple[float, ...] = SHARES if task.smallest is None else (task.smallest,)
    if not task.text or isinstance(learner, COUNTS) or shares == (0.0,):
        shares = ()
    alone = without_own_folds(learner, True)
    held_out = task.held_out
    if held_out is None:
        y = first_labels(data)
        fold = text_folds(task.X, y, FOLDS) if task.text else scattered(y, FOLDS)
        rows = SparseRows(data.ptr, data.ids, data.values, data.F, data.factors)
        held_out = HeldOut(rows, fold, encoder if task.text else None)
    folds = scored_folds(len(data), task.ready is not None)
    found = out_of_fold(problem, alone, held_out, folds, task.threads, shares)
    if found is None or len(found.held) == 0:
        return None
    return found if task.scored is None or len(folds) == FOLDS else replace(found, every=task.scored)


# With fewer rows of numbers nothing is calibrated: the recipe's own estimate of a temperature stays.
FEWEST_ROWS = 50


def scattered(y: NDArray[np.integer[Any]], folds: int) -> NDArray[np.int64]:
    """The fold of each row of numbers, int64 [N]: the rows of each label are dealt out in a random order.

    Merging duplicate rows has sorted them by their numbers, so contiguous folds would differ from each other.
    """
    order = np.random.default_rng(0).permutation(len(y))
    fold = np.empty(len(y), np.int64)
    fold[order] = dealt(y[order], folds)
    return fold


def without_own_folds(learner: Any, found: object) -> Any:
    """The learner without its own calibration folds, if there are other out-of-fold scores."""
    own: int = getattr(learner, "folds", 0)
    return replace(learner, folds=0) if found is not None and own else learner


# With at least this many documents, passes of a regression after the third change almost nothing.
MANY = 10_000
PASSES, TRIAL_PASSES = 8, 4  # over fewer; four rank settings as eight do, but cost up to half a point


def suited(learner: Any, text: bool, documents: int = 0, trial: bool = False) -> Any:
    """The learner with the settings that depend on the documents filled in.

    Numbers need intercepts, n-grams do not. Rows of n-grams are nearly orthogonal: a few passes are as good as
    convergence; a table of numbers may need many.

    trial: settings are compared, and the model is not kept
    """
    own = {"bias": 0.0 if text else 1.0}
    if getattr(learner, "gap", None) is None:  # a gap is its own stopping rule
        few = PASSES if documents < MANY and not trial else TRIAL_PASSES
        quick = isinstance(learner, DualRidge) and documents >= MANY
        own["epochs"] = 200 if not text else 3 if quick else few
    open_ = {name: value for name, value in own.items() if getattr(learner, name, 0) is None}
    return replace(learner, **open_) if open_ else learner


def finished(
    task: DocumentTask,
    encoder: DocumentEncoder,
    made: ChoiceWeights,
    found: FoldScores | None = None,
    masses: NDArray[np.float64] | None = None,
) -> tuple[ClassifierModel, Confidence | None]:
    """The model of learnt weights, and the confidence in its decisions; None if no documents were held out.

    found:  out-of-fold scores: they calibrate, and decide which small weights are dropped
    masses: the total weight of the documents of each label, if the task does not hold all documents; float64 [Y]
    """
    labels = task.labels
    if task.bits not in (None, 8, 32):
        raise ConfigError(f"bits must be 8 or 32, got {task.bits}")
    small = task.text and made.link != "counts"
    bits = task.bits if task.bits is not None else (8 if small else 32)
    w = made.w
    link = "sigmoid" if made.link == "sigmoid" or labels.several else "softmax"
    smallest = task.smallest
    if smallest is None:
        smallest = (
            0.0
            if not small
            else SMALLEST
            if found is None
            else affordable_share(found, task.gold(found.held))
        )
    if smallest > 0 and task.text:
        encoder, w = without_small(encoder, w, smallest, task.threads)
    eight = quantised(w, len(labels.classes), task.threads) if bits == 8 else None
    confidence = None
    if found is None:
        calibration = Calibration(_temperature(made, labels, link) if made.link == "margin" else 1.0)
    else:
        held_out = found.calibrating(smallest)
        calibration, confidence = calibrated(
            held_out.scores,
            task.gold(held_out.held) > 0,
            sigmoids=link == "sigmoid",
            several=labels.several,
            threshold=task.threshold,
            folds=held_out.folds,
        )
    model = ClassifierModel(
        encoder=encoder,
        w=w,
        classes=labels.classes,
        link=link,
        calibration=calibration,
        several=labels.several,
        indicator=labels.indicator,
        threshold=task.threshold,
        eight=eight,
        prior=task.prior(link == "sigmoid", masses) if task.text else None,
    )
    return model, confidence


# Without out-of-fold scores, only tiny weights are dropped.
SMALLEST = SHARES[-1]
BLOCK = 1 << 14


def without_small(
    encoder: DocumentEncoder, w: NDArray[np.float32], share: float, threads: int
) -> tuple[DocumentEncoder, NDArray[np.float32]]:
    """The encoder and the weights without the features that have only small weights."""
    strongest = np.empty(len(w), dtype=np.float32)
    row_strengths(w, threads, strongest)
    keep = strongest[:-1] >= share * strongest.max(initial=0.0)
    encoder = encoder.restricted(keep)
    kept = np.append(np.flatnonzero(keep), len(keep))
    # In place, block by block: a second table would be the largest object in memory.
    for start in range(0, len(kept), BLOCK):
        rows = kept[start : start + BLOCK]
        w[start : start + len(rows)] = w[rows]
    return encoder, w[: len(kept)]


def _temperature(made: ChoiceWeights, labels: DocumentLabels, link: str) -> float:
    """The temperature of margins, fitted on documents not yet trained on."""
    if made.held is None or made.held_scores is None or len(labels.classes) < 2:
        return 1.0
    if link == "softmax":
        return fitted_temperature(made.held_scores, labels.ids[made.held])
    held = labels.taken(made.held)
    q = np.zeros(made.held_scores.shape, dtype=np.int64)
    q[np.repeat(np.arange(len(q)), np.diff(held.ptr)), held.ids] = 1
    s = made.held_scores.astype(np.float64).ravel()
    return fitted_temperature(np.stack([np.zeros_like(s), s], axis=1), q.ravel())


# -- options ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DocumentOptions:
    """Weights of labels, threshold of several labels, size of the file, a model to continue, clusters, phrases."""

    class_weight: str | None = knob(
        None, "weights of the texts by label: balanced, or a list such as spam=2,ham=0.5"
    )
    threshold: float = knob(
        0.5, "several labels: the lowest probability at which a label is predicted", low=0.0, high=1.0
    )
    bits: int | None = knob(None, "bits per weight: 8 or 32; by default 8 if the recipe allows it", low=8)
    smallest: float | None = knob(
        None,
        "drop features whose largest absolute weight is below this fraction of the overall maximum",
        low=0.0,
        high=1.0,
    )
    calibrate: bool | None = knob(
        None,
        "compute out-of-fold scores, to calibrate probabilities and to drop only weights that cost no accuracy; "
        "by default yes",
    )
    choose: bool | None = knob(
        None,
        "choose the features, recipe and penalty that are not given by cross-validation within the training data; by "
        "default if no recipe is named",
    )
    start: str | None = knob(
        None,
        "model file of a linear classifier to continue from: it learns these documents by small changes of its weights",
    )
    clusters: str | None = knob(None, "file of word clusters: path, word")
    phrases: str | None = knob(
        None, "file of phrases with labels: trees with a label at every node, or short documents"
    )


def label_weights(written: str) -> str | dict[str, float]:
    """The class weights that a user wrote, as an argument of the classifier.

    >>> label_weights("balanced"), label_weights("spam=2,ham=0.5")
    ('balanced', {'spam': 2.0, 'ham': 0.5})
    """
    if written == "balanced":
        return written
    found = {}
    for piece in written.split(","):
        name, equals, number = piece.strip().rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            equals = ""
        if not equals or not name or not 0 <= found[name] < inf:
            raise ConfigError(
                f"class_weight must be 'balanced' or a list such as 'spam=2,ham=0.5', got {piece.strip()!r}"
            )
    return found


BESIDE = ("clusters", "phrases", "start")  # options that are not arguments of the classifier


def as_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are set, as arguments of the classifier."""
    made = {name: v for name, v in options.items() if name not in BESIDE and v is not None}
    if "class_weight" in made:
        made["class_weight"] = label_weights(made["class_weight"])
    return made
