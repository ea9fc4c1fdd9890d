"""What a document classifier is trained on, and the way from there to a model that all its recipes share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import give_back_memory, row_strengths
from chaffinch.errors import ConfigError
from chaffinch.features.rows import SparseRows, joined
from chaffinch.kernels import Kernel
from chaffinch.learners.choice import ChoiceWeights, document_problem
from chaffinch.learners.dual import DualRidge
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.problem import Problem
from chaffinch.learners.training import train_passes
from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.quantised import quantised
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.recipe import Trained
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.recipes.training import document_score
from chaffinch.recipes.valences import PhraseValences
from chaffinch.trust.calibration import fitted_temperature


@dataclass(frozen=True)
class DocumentLabels:
    """What documents are labelled.

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
        """The labels of some documents, in the order named; the classes stay."""
        sizes = np.diff(self.ptr)[which]
        ptr = np.zeros(len(which) + 1, dtype=np.int64)
        np.cumsum(sizes, out=ptr[1:])
        at = np.repeat(self.ptr[which] - ptr[:-1], sizes) + np.arange(ptr[-1])
        return replace(self, ptr=ptr, ids=self.ids[at], soft=None if self.soft is None else self.soft[which])

    def table(self, classes: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these classes each document has: bool [N, classes]; labels that are none of them are left out."""
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

    X:          texts, or rows of numbers where ``text`` is false
    beside:     numbers beside the texts, or None
    importance: how much each document counts, float32 [N], above 0
    bits:       8 or 32 for each weight; None: 8 for text where the recipe bears it
    smallest:   features none of whose weights reaches this share of the largest are dropped; None: the recipe's
    dev:        held-out documents, their labels and the numbers beside them: the best pass on them is kept; or None
    kernel:     of kernel machines, instead of the one that the recipe's settings name; or None
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

    def encoded(self) -> tuple[DocumentEncoder, SparseRows]:
        """The encoder fitted to the documents, and their rows."""
        if not self.text:
            rows = SparseRows.of(self.X)
            return DocumentEncoder(None, (), rows.columns), rows
        features = self.features or TextFeatures.of(None)
        encoder = features.encoder(len(self.X), self.seed, self.threads)
        names: Sequence[Any] | None = self.labels.lists() if features.reads_labels else None
        rows = encoder.fitted_rows(self.X, names, self.beside)
        if features.phrases is None:
            return encoder, rows
        learner = PhraseValences(scale=features.phrase_scale, seed=self.seed, threads=self.threads)
        classes = [str(label) for label in self.labels.classes.tolist()]
        valences, block = learner.learnt(self.X, features.phrases, classes)
        return replace(encoder, valences=valences), joined([rows, SparseRows.of(block)])

    def problem(self, rows: SparseRows) -> Problem:
        """What a learner is given."""
        labels = self.labels
        examples = DocumentExamples(
            ptr=rows.ptr,
            ids=rows.ids,
            values=rows.values,
            factors=rows.factors,
            F=rows.columns,
            label_ptr=labels.ptr,
            labels=labels.ids,
            Y=len(labels.classes),
            soft=labels.soft,
        )
        return document_problem(examples, self.importance, self.seed)

    def held_out_score(self, encoder: Any) -> Callable[[Any], float] | None:
        """The score of a model on the held-out documents, encoded once; None if there are none."""
        if self.dev is None:
            return None
        X, labels, beside = self.dev
        rows = encoder.rows(X, beside, self.threads)
        return document_score(rows, labels.table(self.labels.classes), self.labels.several, self.threads)


def train_classifier(task: DocumentTask, learner: Any) -> Trained:
    """Encode, learn, keep the best pass if there are held-out documents, drop and round weights, calibrate."""
    encoder, rows = task.encoded()
    give_back_memory()  # what encoding needed, before the weights are made
    whole = replace(task, smallest=0.0)  # what is watched keeps its features, so that texts are encoded once
    problem = task.problem(rows)
    del rows
    training = train_passes(
        suited(learner, task.text, len(task.X)),
        problem,
        threads=task.threads,
        model=lambda made: finished(whole, encoder, replace(made, w=made.w.copy())),
        on_epoch=task.on_epoch,
        held_out_score=task.held_out_score(encoder),
    )
    del problem  # whose rows are larger than the model that is made now
    counts = training.made.counts
    return Trained(
        finished(task, encoder, training.made),
        training.history,
        None if counts is None else (encoder, *counts),
    )


# From so many documents on, the third pass of a regression is the last that changes anything worth the name.
MANY = 10_000


def suited(learner: Any, text: bool, documents: int = 0) -> Any:
    """The learner with what depends on the kind of documents decided.

    Numbers need intercepts, n-grams do without. Rows of n-grams are nearly orthogonal: a few passes are as good as
    convergence, which a table of numbers may need many for.
    """
    own = {"bias": 0.0 if text else 1.0}
    if getattr(learner, "gap", None) is None:  # which decides when it is enough
        quick = isinstance(learner, DualRidge) and documents >= MANY
        own["epochs"] = 200 if not text else 3 if quick else 4
    open_ = {name: value for name, value in own.items() if getattr(learner, name, 0) is None}
    return replace(learner, **open_) if open_ else learner


def finished(task: DocumentTask, encoder: DocumentEncoder, made: ChoiceWeights) -> ClassifierModel:
    """The model of learnt weights."""
    labels = task.labels
    margins = made.link == "margin"
    if task.bits not in (None, 8, 32):
        raise ConfigError(f"bits must be 8 or 32, got {task.bits}")
    small = task.text and made.link != "counts"
    bits = task.bits if task.bits is not None else (8 if small else 32)
    w = made.w
    smallest = task.smallest if task.smallest is not None else (SMALLEST if small else 0.0)
    if smallest > 0 and task.text:
        encoder, w = without_small(encoder, w, smallest, task.threads)
    eight = quantised(w, len(labels.classes), task.threads) if bits == 8 else None
    link = "sigmoid" if made.link == "sigmoid" or labels.several else "softmax"
    return ClassifierModel(
        encoder=encoder,
        w=w,
        classes=labels.classes,
        link=link,
        temperature=_temperature(made, labels, link) if margins else 1.0,
        several=labels.several,
        indicator=labels.indicator,
        threshold=task.threshold,
        eight=eight,
    )


# At this share half of the features of 20 newsgroups go: in five-fold cross-validation of the training part 93.44 %
# stay right of 93.46 %, and probabilities get better by a hair.
SMALLEST = 0.02
BLOCK = 1 << 14


def without_small(
    encoder: DocumentEncoder, w: NDArray[np.float32], share: float, threads: int
) -> tuple[DocumentEncoder, NDArray[np.float32]]:
    """The encoder and the weights without features whose weights are all small."""
    strongest = np.empty(len(w), dtype=np.float32)
    row_strengths(w, threads, strongest)
    keep = strongest[:-1] >= share * strongest.max(initial=0.0)
    encoder = encoder.restricted(keep)
    kept = np.append(np.flatnonzero(keep), len(keep))
    # In place, block after block, for a second table would be the largest thing in memory.
    for start in range(0, len(kept), BLOCK):
        rows = kept[start : start + BLOCK]
        w[start : start + len(rows)] = w[rows]
    return encoder, w[: len(kept)]


def _temperature(made: ChoiceWeights, labels: DocumentLabels, link: str) -> float:
    """What margins are divided by before they are read as log-odds, from documents that had not yet taken part."""
    if made.held is None or made.held_scores is None or len(labels.classes) < 2:
        return 1.0
    if link == "softmax":
        return fitted_temperature(made.held_scores, labels.ids[made.held])
    held = labels.taken(made.held)
    q = np.zeros(made.held_scores.shape, dtype=np.int64)
    q[np.repeat(np.arange(len(q)), np.diff(held.ptr)), held.ids] = 1
    s = made.held_scores.astype(np.float64).ravel()
    return fitted_temperature(np.stack([np.zeros_like(s), s], axis=1), q.ravel())
