"""Training of kernel machines on documents or other objects, shared by all their recipes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.features.rows import SparseRows
from chaffinch.kernels import Kernel
from chaffinch.learners.kernel_choice import GramExamples, KernelMachine, kernel_problem, taken
from chaffinch.learners.problem import Problem
from chaffinch.learners.training import train_passes
from chaffinch.model.confidence import RAW, Calibration
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.kernel_classifier import (
    KernelModel,
    ObjectEncoder,
    better_dense,
    kernel_objects,
    vote_scores,
    with_margins,
)
from chaffinch.recipes.calibration import calibrated
from chaffinch.recipes.document_task import FEWEST_ROWS, DocumentTask, scattered
from chaffinch.recipes.out_of_fold import HeldOut, first_duplicates
from chaffinch.recipes.recipe import Trained
from chaffinch.scorers.pairwise import Pairwise
from chaffinch.trust.calibration import fitted_temperature
from chaffinch.trust.confidence import Confidence

FOLDS = 3


def train_kernel_machine(task: DocumentTask, learner: Any) -> Trained:
    """Encode, fit the kernel to the objects, learn, calibrate on held-out folds."""
    labels = task.labels
    if labels.several or labels.soft is not None:
        other = "recipe svm takes several" if labels.several else "recipe logistic takes soft targets"
        raise ConfigError(f"a kernel machine needs one label per document; {other}")
    kernel: Kernel = task.kernel or learner.chosen_kernel()
    rows: Any
    encoder, rows = task.encoded() if kernel.of_vectors else (ObjectEncoder(), list(task.X))
    dense = kernel.of_vectors and better_dense(rows)
    objects = kernel_objects(rows, dense)
    kernel = kernel.fitted(objects)
    problem = kernel_problem(
        kernel,
        kernel.prepared(objects),
        labels.ids,
        len(labels.classes),
        task.importance,
        seed=task.seed,
        threads=task.threads,
        megabytes=learner.megabytes,
    )

    def model(machine: KernelMachine, calibration: Calibration = RAW, link: str = "") -> KernelModel:
        support = machine.support
        return KernelModel(
            encoder=encoder,
            kernel=kernel,
            scorer=machine.scorer,
            support=rows.taken(support) if kernel.of_vectors else [rows[n] for n in support.tolist()],
            classes=labels.classes,
            link=link or ("shares" if machine.link == "shares" else "softmax"),
            calibration=calibration,
            dense=dense,
            prior=task.prior(False) if task.text else None,
        )

    training = train_passes(
        learner,
        problem,
        threads=task.threads,
        model=model,
        on_epoch=task.on_epoch,
        held_out_score=task.held_out_score(encoder),
    )
    machine: KernelMachine = training.made
    rare = HeldOutRows(encoder, rows, dense) if task.text and isinstance(encoder, DocumentEncoder) else None
    pairs = isinstance(machine.scorer, Pairwise) and len(labels.classes) > 2
    link = "votes" if pairs else machine.link
    calibration, confidence = _calibration(problem, learner, link, task, rare)
    fitted = "votes" if pairs and confidence is not None else ""
    return Trained(model(machine, calibration, fitted), training.history, confidence=confidence)


@dataclass(frozen=True)
class HeldOutRows:
    """The rows of texts, from which a held-out fold is read without the features that are too rare in other folds."""

    encoder: DocumentEncoder
    rows: SparseRows
    dense: bool


def _calibration(
    problem: Problem, learner: Any, link: str, task: DocumentTask, texts: HeldOutRows | None
) -> tuple[Calibration, Confidence | None]:
    """The calibration, fitted on out-of-fold scores, and the confidence.

    With few objects other than texts, only a temperature is fitted, and shares of votes are not calibrated.
    """
    data: GramExamples = problem.examples
    few = not task.text and len(data) < FEWEST_ROWS
    if not task.calibrate or (link == "shares" and few):
        return RAW, None
    most = int(np.bincount(data.y, minlength=data.Y).max(initial=0))
    folds = min(getattr(learner, "folds", FOLDS), most)
    if folds < 2 or data.Y < 2:
        return RAW, None
    fold = scattered(data.y, folds)
    if task.text:
        fold = fold[first_duplicates(task.X)]
    held_out = None if texts is None else HeldOut(texts.rows, fold, texts.encoder)
    scores, y = [], []
    for k in range(folds):
        learnt, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        rest = taken(problem, learnt)
        if len(held) == 0 or len(np.unique(rest.examples.y)) < 2:
            continue
        machine = learner.fit(rest)
        if texts is not None and held_out is not None:
            held, row_part = held_out.of(k)
            found = np.asarray(machine.scorer.scores(kernel_objects(row_part, texts.dense), task.threads))
        else:
            found = _held_out_scores(data, machine, learnt, held)
        if link == "shares":
            found = vote_scores(found)
        scores.append(with_margins(found) if link == "votes" and not few else found)
        y.append(data.y[held])
    if not scores:
        return RAW, None
    together, gold = np.concatenate(scores), np.concatenate(y)
    if few:
        return Calibration(fitted_temperature(together, gold)), None
    right = gold[:, None] == np.arange(data.Y)
    return calibrated(
        together, right, sigmoids=False, several=False, threshold=task.threshold, folds=len(scores)
    )


def _held_out_scores(
    data: GramExamples, machine: KernelMachine, learnt: NDArray[np.int64], held: NDArray[np.int64]
) -> NDArray[np.float64]:
    if data.rows.fits and hasattr(machine.scorer, "of_block"):  # the Gram matrix was computed before
        block = data.rows.whole()[np.ix_(held, learnt[machine.support])]
        found: NDArray[np.float64] = machine.scorer.of_block(block)
        return found
    return np.asarray(machine.scorer.scores(data.objects.taken(held), data.threads))
