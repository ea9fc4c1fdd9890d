"""Checkpoints: where a long run of passes is, written after each, so that it can go on after an interruption."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.errors import ConfigError

KIND = "checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """A file of arrays that belongs to one training: the same data, settings and seed.

    asked: the fingerprint of all that the training depends on
    """

    path: str
    asked: str

    def load(self) -> Mapping[str, NDArray[Any]] | None:
        """What was saved last; None if nothing was. Another training's checkpoint is refused."""
        if not Path(self.path).exists():
            return None
        file = modelfile.read(self.path)
        if file.header.recipe != KIND or file.header.data != self.asked:
            raise ConfigError(
                f"{self.path}: is not a checkpoint of this training (its data, settings or seed differ); "
                "remove it, or name another file"
            )
        return file.arrays

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the file anew; an interruption leaves the one before."""
        modelfile.write(self.path, modelfile.Header(recipe=KIND, data=self.asked), arrays, {})

    def remove(self) -> None:
        """The training is done."""
        Path(self.path).unlink(missing_ok=True)
