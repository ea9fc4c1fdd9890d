"""The way from documents or other objects to a kernel machine, which all its recipes share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.kernels import Kernel
from chaffinch.learners.choice import dealt
from chaffinch.learners.kernel_choice import GramExamples, KernelMachine, kernel_problem, taken
from chaffinch.learners.problem import Problem
from chaffinch.learners.training import train_passes
from chaffinch.model.confidence import RAW, Calibration
from chaffinch.model.kernel_classifier import (
    KernelModel,
    ObjectEncoder,
    better_dense,
    kernel_objects,
    vote_scores,
)
from chaffinch.recipes.document_task import DocumentTask
from chaffinch.recipes.recipe import Trained
from chaffinch.trust.calibration import fitted_calibration, fitted_temperature

FOLDS = 3


def train_kernel_machine(task: DocumentTask, learner: Any) -> Trained:
    """Encode, fit the kernel to the objects, learn, calibrate on held-out folds."""
    labels = task.labels
    if labels.several or labels.soft is not None:
        raise ConfigError("a kernel machine needs one label per document; recipe svm takes several")
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

    def model(machine: KernelMachine, calibration: Calibration = RAW) -> KernelModel:
        support = machine.support
        return KernelModel(
            encoder=encoder,
            kernel=kernel,
            scorer=machine.scorer,
            support=rows.taken(support) if kernel.of_vectors else [rows[n] for n in support.tolist()],
            classes=labels.classes,
            link="shares" if machine.link == "shares" else "softmax",
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
    return Trained(model(machine, _calibration(problem, learner, machine.link, task)), training.history)


def _calibration(problem: Problem, learner: Any, link: str, task: DocumentTask) -> Calibration:
    """How scores become probabilities, from machines that had not seen the objects they scored.

    Margins of numbers and other objects get a temperature; of texts the top label is calibrated too, and so are votes.
    """
    data: GramExamples = problem.examples
    if not task.calibrate or (link != "margin" and not task.text):
        return RAW
    most = int(np.bincount(data.y, minlength=data.Y).max(initial=0))
    folds = min(getattr(learner, "folds", FOLDS), most)
    if folds < 2 or data.Y < 2:
        return RAW
    fold = dealt(data.y, folds)
    scores, y = [], []
    for k in range(folds):
        learnt, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        rest = taken(problem, learnt)
        if len(held) == 0 or len(np.unique(rest.examples.y)) < 2:
            continue
        found = _held_out_scores(data, learner.fit(rest), learnt, held)
        scores.append(vote_scores(found) if link == "shares" else found)
        y.append(data.y[held])
    if not scores:
        return RAW
    together = np.concatenate(scores), np.concatenate(y)
    return fitted_calibration(*together) if task.text else Calibration(fitted_temperature(*together))


def _held_out_scores(
    data: GramExamples, machine: KernelMachine, learnt: NDArray[np.int64], held: NDArray[np.int64]
) -> NDArray[np.float64]:
    if data.rows.fits and hasattr(machine.scorer, "of_block"):  # the Gram matrix is there already
        block = data.rows.whole()[np.ix_(held, learnt[machine.support])]
        found: NDArray[np.float64] = machine.scorer.of_block(block)
        return found
    return np.asarray(machine.scorer.scores(data.objects.taken(held), data.threads))
