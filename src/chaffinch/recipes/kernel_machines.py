"""The way from documents or other objects to a kernel machine, which all its recipes share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.kernels import Kernel
from chaffinch.learners.held_out import dealt
from chaffinch.learners.kernel_problem import KernelMachine, KernelProblem
from chaffinch.model.kernel_classifier import KernelModel, ObjectEncoder, better_dense, kernel_objects
from chaffinch.recipes.document_task import DocumentTask, TrainedClassifier
from chaffinch.trust.calibration import fitted_temperature


def train_kernel_machine(task: DocumentTask, learner: Any) -> TrainedClassifier:
    """Encode, settle the kernel, learn, calibrate on held-out folds."""
    labels = task.labels
    if labels.several or labels.soft is not None:
        raise ConfigError("a kernel machine needs one label per document; recipe svm takes several")
    if task.dev is not None:
        raise ConfigError("a kernel machine does not keep its passes: there is nothing to stop")
    kernel: Kernel = task.kernel or learner.chosen_kernel()
    rows: Any
    encoder, rows = task.encoded() if kernel.of_vectors else (ObjectEncoder(), list(task.X))
    dense = kernel.of_vectors and better_dense(rows)
    objects = kernel_objects(rows, dense)
    kernel = kernel.settled(objects)
    problem = KernelProblem(
        kernel=kernel,
        objects=kernel.prepared(objects),
        y=labels.ids,
        Y=len(labels.classes),
        importance=task.importance,
        seed=task.seed,
        threads=task.threads,
        megabytes=learner.megabytes,
        on_epoch=task.on_epoch,
    )
    machine: KernelMachine = learner.fit(problem)
    support = machine.support
    model = KernelModel(
        encoder=encoder,
        kernel=kernel,
        scorer=machine.scorer,
        support=rows.taken(support) if kernel.of_vectors else [rows[n] for n in support.tolist()],
        classes=labels.classes,
        link="shares" if machine.link == "shares" else "softmax",
        temperature=_temperature(problem, learner) if machine.link == "margin" else 1.0,
        dense=dense,
    )
    return TrainedClassifier(model, machine.history)


def _temperature(problem: KernelProblem, learner: Any) -> float:
    """What margins are divided by, from machines that had not seen the objects they scored."""
    folds = min(learner.folds, int(np.bincount(problem.y, minlength=problem.Y).max(initial=0)))
    if folds < 2 or problem.Y < 2:
        return 1.0
    fold = dealt(problem.y, folds)
    scores, y = [], []
    for k in range(folds):
        learnt, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        part = problem.taken(learnt)
        if len(held) == 0 or len(np.unique(part.y)) < 2:
            continue
        scores.append(_held_out_scores(problem, learner.fit(part), learnt, held))
        y.append(problem.y[held])
    return fitted_temperature(np.concatenate(scores), np.concatenate(y)) if scores else 1.0


def _held_out_scores(
    problem: KernelProblem, machine: KernelMachine, learnt: NDArray[np.int64], held: NDArray[np.int64]
) -> NDArray[np.float64]:
    if problem.rows.fits:  # the Gram matrix is there already
        block = problem.rows.whole()[np.ix_(held, learnt[machine.support])]
        found: NDArray[np.float64] = machine.scorer.of_block(block)
        return found
    return np.asarray(machine.scorer.scores(problem.objects.taken(held), problem.threads))
