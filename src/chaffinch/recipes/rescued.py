"""The recipe of taggers that another tool trained: it loads them; it trains none."""

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
