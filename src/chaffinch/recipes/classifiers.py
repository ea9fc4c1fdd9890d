"""The recipes of document classifiers: each is a learner under a name."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from chaffinch.learners.choice_gradient import ChoiceBatch, ChoicePerceptron, ChoiceSgd
from chaffinch.learners.dual import DualCrammerSinger, DualLogistic, DualRest, DualRidge
from chaffinch.learners.kernel_choice import NearestNeighbours
from chaffinch.learners.kernel_eg import KernelExponentiatedGradient
from chaffinch.learners.kernel_perceptron import KernelPerceptron
from chaffinch.learners.kernel_svm import KernelSvm
from chaffinch.learners.naive_bayes import ComplementNaiveBayes, MultinomialNaiveBayes
from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.fasttext import FastTextModel
from chaffinch.model.kernel_classifier import KernelModel
from chaffinch.modelfile import ModelFile, Packed
from chaffinch.recipes.document_task import train_classifier
from chaffinch.recipes.kernel_machines import train_kernel_machine
from chaffinch.recipes.recipe import Recipe, Recipes
from chaffinch.recipes.rescued import Imported, refuse_training


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
