"""The temperature of a model: p(y|x) is proportional to exp(score / temperature)."""

from dataclasses import dataclass

import numpy as np

from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, fact
from chaffinch.structures import Parts


def tempered(potentials: Parts, temperature: float) -> Parts:
    """The potentials divided by the temperature; -inf stays -inf."""
    if temperature == 1.0:
        return potentials
    return Parts(**{name: block / np.float32(temperature) for name, block in potentials.items()})


def _is_temperature(value: float) -> bool:
    return 0 < value < np.inf


@dataclass(frozen=True)
class SavedTemperature(Saved):
    """The temperature in the header of a model file, which leaves it out if it is 1."""

    temperature: float = fact(
        float, check=_is_temperature, expected="a number above 0", default=1.0, omit=True
    )


def packed_temperature(temperature: float) -> Packed:
    """The content for a model file."""
    return SavedTemperature(temperature).packed()


def loaded_temperature(file: ModelFile) -> float:
    """The temperature in a model file's header, checked; 1 if there is none."""
    return SavedTemperature.loaded(Requirements(file)).temperature
