"""Shared by every reader of another tool's model: its input, its result, its row in the registry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaffinch.errors import ModelFileError


@dataclass(frozen=True)
class ForeignFile:
    """A file of another tool, in memory.

    source:   its name in messages
    content:  its bytes
    path:     its location, for formats of several files; None: it is not on disk
    encoding: encoding of its strings; tools that store bytes do not record it
    """

    source: str
    content: bytes
    path: Path | None = None
    encoding: str = "utf-8"

    def fault(self, offset: int, expected: str, found: object) -> ModelFileError:
        """The error to raise: the place, the expected content and the actual content."""
        return ModelFileError(f"{self.source}: byte {offset}: expected {expected}, found {shown(found)}")

    def refusal(self, sentence: str) -> ModelFileError:
        """The error for a valid model that this package cannot reproduce."""
        return ModelFileError(f"{self.source}: {sentence}")

    def text(self, raw: bytes, offset: int, what: str) -> str:
        """Bytes of the file as a string."""
        try:
            return raw.decode(self.encoding)
        except UnicodeDecodeError as e:
            raise ModelFileError(
                f"{self.source}: byte {offset + e.start}: expected {what} in {self.encoding}, found {shown(raw)}; "
                "name the encoding of the training data (--encoding)"
            ) from None
        except LookupError:
            raise ModelFileError(f"{self.source}: there is no encoding {self.encoding!r}") from None


@dataclass(frozen=True)
class Rescued:
    """A model of another tool as one of ours, with what its estimator needs.

    told:       description of the model for the user: "a CRFsuite model: 9 labels, 12,001 attributes"
    task:       task of the estimator; None: a tagger
    model:      ``model_`` of the estimator
    config:     ``config_``: the config of the recipe that loads the saved model
    attributes: further attributes of the estimator, by name
    """

    told: str
    task: str | None
    model: Any
    config: Any
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ForeignFormat:
    """A row of the registry.

    name:  its name for ``--from``
    holds: whether a file is of this format, by its first bytes
    read:  the model of a file; every offset, count, index and number is checked before it is used
    holds_folder: whether a folder is of this format; None: a model is one file
    """

    name: str
    holds: Callable[[bytes], bool]
    read: Callable[[ForeignFile], Rescued]
    holds_folder: Callable[[Path], bool] | None = None


@dataclass(frozen=True)
class ForeignObject:
    """A row of the registry of objects in memory: the module and name of their class or of a base class."""

    module: str
    name: str
    read: Callable[[Any], Rescued]


def shown(value: object) -> str:
    """A value in a message, shortened.

    >>> shown(b"abc" * 40), shown(7)
    ("b'abcabcabcabcabcabcabcabcabcabcab'...", '7')
    """
    if isinstance(value, bytes):
        return repr(value[:32]) + ("..." if len(value) > 32 else "")
    return f"{value}"[:80]
