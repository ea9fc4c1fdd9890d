"""What a document classifier is trained on, and the way from there to a model that all its recipes share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import give_back_memory, row_strengths
from chaffinch.errors import ConfigError
from chaffinch.features.rows import SparseRows, joined
from chaffinch.kernels import Kernel
from chaffinch.learners.choice import ChoiceProblem, ChoiceWeights
from chaffinch.learners.dual import DualRidge
from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.quantised import quantised
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.recipes.best_pass import BestPass, HeldOutDocuments
from chaffinch.recipes.text_features import TextFeatures
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

    def problem(self, rows: SparseRows) -> ChoiceProblem:
        """What a learner is given."""
        labels = self.labels
        return ChoiceProblem(
            ptr=rows.ptr,
            ids=rows.ids,
            values=rows.values,
            factors=rows.factors,
            F=rows.columns,
            label_ptr=labels.ptr,
            labels=labels.ids,
            Y=len(labels.classes),
            importance=self.importance,
            soft=labels.soft,
            seed=self.seed,
            threads=self.threads,
            on_epoch=self.on_epoch,
        )


@dataclass(frozen=True)
class TrainedClassifier:
    """A model, and the progress that was reported on the way."""

    model: Any
    history: list[Progress] = field(default_factory=list)


def train_classifier(task: DocumentTask, learner: Any) -> TrainedClassifier:
    """Encode, learn, keep the best pass where there are held-out documents, drop and round weights, calibrate."""
    encoder, rows = task.encoded()
    give_back_memory()  # what encoding needed, before the weights are made
    whole = replace(task, smallest=0.0)  # what is watched keeps its features, so that texts are encoded once
    best, held_out = BestPass(), _held_out(task, encoder)
    told: dict[int, float] = {}

    def on_epoch(progress: Progress) -> bool:
        weights = progress.model
        if weights is None:
            if held_out is not None:
                raise ConfigError("this recipe does not learn in passes: there is nothing to stop")
            return task.on_epoch(progress)
        going = True
        if held_out is not None:
            made = weights()
            told[progress.done] = held_out.score(finished(whole, encoder, replace(made, w=made.w.copy())))
            going = best.better(told[progress.done], made)
            progress = replace(progress, scores={**progress.scores, "dev": told[progress.done]})
        model = partial(_as_it_stands, whole, encoder, weights)
        return task.on_epoch(replace(progress, model=model)) and going

    made: ChoiceWeights = settled(learner, task.text, len(task.X)).fit(
        replace(task.problem(rows), on_epoch=on_epoch)
    )
    del rows  # which are larger than the model that is made now
    if held_out is not None:
        if best.made is None:
            raise ConfigError("this recipe does not learn in passes: there is nothing to stop")
        made.w = best.made.w
    history = [
        replace(p, scores={**p.scores, "dev": told[p.done]}) if p.done in told else p for p in made.history
    ]
    return TrainedClassifier(finished(task, encoder, made), history)


def _as_it_stands(
    task: DocumentTask, encoder: DocumentEncoder, weights: Callable[[], ChoiceWeights]
) -> ClassifierModel:
    return finished(task, encoder, weights())


def _held_out(task: DocumentTask, encoder: DocumentEncoder) -> HeldOutDocuments | None:
    if task.dev is None:
        return None
    X, labels, beside = task.dev
    rows = encoder.rows(X, beside, task.threads)
    return HeldOutDocuments(rows, labels.table(task.labels.classes), task.threads)


# From so many documents on, the third pass of a regression is the last that changes anything worth the name.
MANY = 10_000


def settled(learner: Any, text: bool, documents: int = 0) -> Any:
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
