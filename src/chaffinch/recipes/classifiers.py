"""The recipes of document classifiers: each is a learner under a name."""

from typing import Any

from chaffinch.errors import ModelFileError
from chaffinch.learners.choice_batch import ChoiceBatch
from chaffinch.learners.choice_sgd import ChoicePerceptron, ChoiceSgd
from chaffinch.learners.dual import DualCrammerSinger, DualLogistic, DualRest, DualRidge
from chaffinch.learners.naive_bayes import ComplementNaiveBayes, MultinomialNaiveBayes
from chaffinch.model.classifier import ClassifierModel
from chaffinch.modelfile import ModelFile
from chaffinch.recipes.document_task import train_classifier
from chaffinch.recipes.recipe import Recipe, Recipes


def load(file: ModelFile) -> ClassifierModel:
    """The model of a file."""
    try:
        return ClassifierModel.unpacked(file.header.labels, file.header.details, file.arrays, file.strings)
    except ModelFileError as e:
        raise ModelFileError(f"{file.source}: {e}") from None


def _recipe(name: str, summary: str, config: Any) -> Recipe:
    return Recipe(name, summary, config, train_classifier, load)


CLASSIFIERS = Recipes(
    _recipe("ridge", "regression of +1 and -1 on each label", DualRidge),
    _recipe("svm", "linear SVM, each label against the rest", DualRest),
    _recipe("crammer-singer", "linear SVM over all labels at once", DualCrammerSinger),
    _recipe("logistic", "multinomial logistic regression, by its dual", DualLogistic),
    _recipe("loglinear", "the log-linear model by stochastic gradients", ChoiceSgd),
    _recipe("maxent", "the log-linear model by L-BFGS, or OWL-QN with an L1 penalty", ChoiceBatch),
    _recipe("perceptron", "averaged multiclass perceptron", ChoicePerceptron),
    _recipe("nb", "multinomial naive Bayes", MultinomialNaiveBayes),
    _recipe("complement-nb", "complement naive Bayes", ComplementNaiveBayes),
)

DEFAULT_CLASSIFIER = "ridge"


def takes_several_labels(config: Any) -> bool:
    """Documents may have any number of labels."""
    if isinstance(config, ChoiceSgd):
        return config.loss == "labels"
    return isinstance(config, (DualRest, DualRidge)) or (isinstance(config, ChoiceBatch) and config.each)
