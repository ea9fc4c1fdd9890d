"""The temperature of a model: p(y|x) is proportional to exp(score / temperature)."""

from typing import Any

import numpy as np

from chaffinch.errors import ModelFileError
from chaffinch.modelfile import ModelFile
from chaffinch.structures import Parts

DETAIL = "temperature"


def tempered(potentials: Parts, temperature: float) -> Parts:
    """The potentials divided by the temperature; -inf stays -inf."""
    if temperature == 1.0:
        return potentials
    return Parts(**{name: block / np.float32(temperature) for name, block in potentials.items()})


def packed_temperature(temperature: float) -> dict[str, Any]:
    """The entry in a model file's header: none if it is 1."""
    return {} if temperature == 1.0 else {DETAIL: temperature}


def loaded_temperature(file: ModelFile) -> float:
    """The temperature in a model file's header, checked; 1 if there is none."""
    temperature = file.header.details.get(DETAIL, 1.0)
    if not isinstance(temperature, int | float) or not 0 < temperature < np.inf:
        raise ModelFileError(f"{file.source}: its temperature is {temperature!r}, expected a number above 0")
    return float(temperature)
