"""The recipes of models that another tool trained: they are loaded and saved, and cannot be trained here."""

from dataclasses import dataclass
from typing import Any, NoReturn

from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.model import LabelSet
from chaffinch.model.foreign_chain import (
    AttributeFeatures,
    ForeignChain,
    ForeignChainModel,
    ForeignWeights,
    SavedAddition,
    StringFeatures,
)
from chaffinch.model.nltk_perceptron import NltkPerceptron
from chaffinch.modelfile import ModelFile, Requirements
from chaffinch.recipes.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class RescuedTagger:
    """A tagger of another tool."""

    tool: str = knob("", "the tool that trained the model, and its file format")


def refuse(task: Any, config: Any) -> NoReturn:
    """Say how to train instead."""
    raise ConfigError(
        f"this model was trained by {config.tool or 'another tool'} and cannot be trained here; choose a recipe, "
        f"such as crf, for the {task.table.n_sentences} sentences"
    )


def load(file: ModelFile) -> ForeignChainModel | NltkPerceptron:
    """The model of a file."""
    if not NltkPerceptron.absent(file):
        return NltkPerceptron.loaded(file)
    encoder: StringFeatures | AttributeFeatures
    if not StringFeatures.absent(file):
        encoder = StringFeatures.loaded(file)
    elif not AttributeFeatures.absent(file):
        encoder = AttributeFeatures.loaded(file)
    else:
        raise file.fault("its header lacks the features of the model")
    need = Requirements(file, F=encoder.n_features, Y=len(file.header.labels))
    weights = ForeignWeights.loaded(need, Y=len(file.header.labels))
    addition = SavedAddition.loaded(need).addition
    labels = LabelSet.loaded(need, inner=file.header.labels)
    return ForeignChainModel(encoder, ForeignChain(weights, addition), labels)


RECIPE = Recipe("rescued", "a tagger of another tool", RescuedTagger, refuse, load)


# -- classifiers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A classifier that was read from another tool's file or object."""

    tool: str = knob("another tool", "tool that trained the model")
    method: str = knob("", "its loss, solver or class, by its own name")


def refuse_training(_task: Any, config: Imported) -> NoReturn:
    """A model of another tool is not trained here."""
    raise ConfigError(
        f"a model of {config.tool} is read, not trained; name a recipe, or none: Classifier().fit(texts, labels)"
    )
