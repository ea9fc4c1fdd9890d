"""The recipes of document classifiers: each is a learner under a name. Kernel machines share one training."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.features.rows import SparseRows
from chaffinch.kernels import Kernel
from chaffinch.learners.choice_gradient import ChoiceBatch, ChoicePerceptron, ChoiceSgd
from chaffinch.learners.dual import DualCrammerSinger, DualLogistic, DualRest, DualRidge
from chaffinch.learners.kernel_choice import (
    GramExamples,
    KernelMachine,
    NearestNeighbours,
    kernel_problem,
    taken,
)
from chaffinch.learners.kernel_eg import KernelExponentiatedGradient
from chaffinch.learners.kernel_perceptron import KernelPerceptron
from chaffinch.learners.kernel_svm import KernelSvm
from chaffinch.learners.naive_bayes import ComplementNaiveBayes, MultinomialNaiveBayes
from chaffinch.learners.problem import Problem
from chaffinch.learners.training import train_passes
from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.confidence import RAW, Calibration
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.fasttext import FastTextModel
from chaffinch.model.kernel_classifier import (
    KernelModel,
    ObjectEncoder,
    better_dense,
    kernel_objects,
    vote_scores,
    with_margins,
)
from chaffinch.modelfile import ModelFile, Packed
from chaffinch.recipes.calibration import calibrated
from chaffinch.recipes.document_task import FEWEST_ROWS, DocumentTask, scattered, train_classifier
from chaffinch.recipes.out_of_fold import HeldOut, first_duplicates
from chaffinch.recipes.recipe import Recipe, Recipes, Trained
from chaffinch.recipes.rescued import Imported, refuse_training
from chaffinch.scorers.pairwise import Pairwise
from chaffinch.trust.calibration import fitted_temperature
from chaffinch.trust.confidence import Confidence

# -- kernel machines --------------------------------------------------------------------------------------------------


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


# -- the table of recipes ---------------------------------------------------------------------------------------------


def load(file: ModelFile) -> Any:
    """The model of a file: weights, a kernel machine, or word vectors of fastText."""
    if not FastTextModel.absent(file):
        return FastTextModel.loaded(file)
    return (ClassifierModel if KernelModel.absent(file) else KernelModel).loaded(file)


def unpacked(
    labels: tuple[str, ...],
    details: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    strings: Mapping[str, list[str]],
) -> Any:
    """The model of packed sections, as if read from a file."""
    return load(Packed(details, arrays, strings).file("the classifier is damaged", labels))


def _kernel_recipe(name: str, summary: str, config: Any) -> Recipe:
    return Recipe(name, summary, config, train_kernel_machine, load)


def _recipe(name: str, summary: str, config: Any, *options: str) -> Recipe:
    return Recipe(name, summary, config, train_classifier, load, options=options)


CLASSIFIERS = Recipes(
    _recipe("ridge", "regression of +1 and -1 on each label", DualRidge),
    _recipe("svm", "linear SVM, each label against the rest", DualRest),
    _recipe("crammer-singer", "linear SVM over all labels at once", DualCrammerSinger),
    _recipe("logistic", "multinomial logistic regression, by its dual", DualLogistic, "sharding"),
    _recipe("loglinear", "the log-linear model by stochastic gradients", ChoiceSgd),
    _recipe(
        "maxent", "the log-linear model by L-BFGS, or OWL-QN with an L1 penalty", ChoiceBatch, "sharding"
    ),
    _recipe("perceptron", "averaged multiclass perceptron", ChoicePerceptron, "sharding"),
    _recipe("nb", "multinomial naive Bayes", MultinomialNaiveBayes, "sharding"),
    _recipe("complement-nb", "complement naive Bayes", ComplementNaiveBayes, "sharding"),
    _kernel_recipe("kernel-svm", "support vector machine with a kernel, by SMO", KernelSvm),
    _kernel_recipe("kernel-perceptron", "perceptron with a kernel: mistake counts", KernelPerceptron),
    _kernel_recipe(
        "kernel-eg", "multiclass margin with a kernel, by exponentiated gradient", KernelExponentiatedGradient
    ),
    _kernel_recipe("knn", "nearest neighbours by a kernel", NearestNeighbours),
    hidden=(
        Recipe(
            "imported",
            "a model of another tool",
            Imported,
            refuse_training,
            load,
            unshrinkable="another tool trained it",
        ),
    ),
)

DEFAULT_CLASSIFIER = "ridge"
SHARDED_CLASSIFIER = "logistic"


def takes_several_labels(config: Any) -> bool:
    """Whether documents may have any number of labels."""
    if isinstance(config, ChoiceSgd):
        return config.loss == "labels"
    return isinstance(config, (DualRest, DualRidge)) or (isinstance(config, ChoiceBatch) and config.each)
