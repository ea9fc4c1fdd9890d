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
from chaffinch.model.kernel_classifier import KernelModel, ObjectEncoder, better_dense, kernel_objects
from chaffinch.recipes.document_task import DocumentTask
from chaffinch.recipes.recipe import Trained
from chaffinch.trust.calibration import fitted_temperature


def train_kernel_machine(task: DocumentTask, learner: Any) -> Trained:
    """Encode, settle the kernel, learn, calibrate on held-out folds."""
    labels = task.labels
    if labels.several or labels.soft is not None:
        raise ConfigError("a kernel machine needs one label per document; recipe svm takes several")
    kernel: Kernel = task.kernel or learner.chosen_kernel()
    rows: Any
    encoder, rows = task.encoded() if kernel.of_vectors else (ObjectEncoder(), list(task.X))
    dense = kernel.of_vectors and better_dense(rows)
    objects = kernel_objects(rows, dense)
    kernel = kernel.settled(objects)
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

    def model(machine: KernelMachine, temperature: float = 1.0) -> KernelModel:
        support = machine.support
        return KernelModel(
            encoder=encoder,
            kernel=kernel,
            scorer=machine.scorer,
            support=rows.taken(support) if kernel.of_vectors else [rows[n] for n in support.tolist()],
            classes=labels.classes,
            link="shares" if machine.link == "shares" else "softmax",
            temperature=temperature,
            dense=dense,
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
    temperature = _temperature(problem, learner) if machine.link == "margin" else 1.0
    return Trained(model(machine, temperature), training.history)


def _temperature(problem: Problem, learner: Any) -> float:
    """What margins are divided by, from machines that had not seen the objects they scored."""
    data: GramExamples = problem.examples
    folds = min(learner.folds, int(np.bincount(data.y, minlength=data.Y).max(initial=0)))
    if folds < 2 or data.Y < 2:
        return 1.0
    fold = dealt(data.y, folds)
    scores, y = [], []
    for k in range(folds):
        learnt, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        part = taken(problem, learnt)
        if len(held) == 0 or len(np.unique(part.examples.y)) < 2:
            continue
        scores.append(_held_out_scores(data, learner.fit(part), learnt, held))
        y.append(data.y[held])
    return fitted_temperature(np.concatenate(scores), np.concatenate(y)) if scores else 1.0


def _held_out_scores(
    data: GramExamples, machine: KernelMachine, learnt: NDArray[np.int64], held: NDArray[np.int64]
) -> NDArray[np.float64]:
    if data.rows.fits:  # the Gram matrix is there already
        block = data.rows.whole()[np.ix_(held, learnt[machine.support])]
        found: NDArray[np.float64] = machine.scorer.of_block(block)
        return found
    return np.asarray(machine.scorer.scores(data.objects.taken(held), data.threads))
