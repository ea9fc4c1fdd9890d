"""File formats: a name, a reader, a writer, and the layers that they carry."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chaffinch.text.document import Document

# The layers of a document that a format may carry.
LAYERS = frozenset(
    {
        "text",
        "tokens",
        "columns",
        "spans",
        "scores",
        "labels",
        "shares",
        "tree",
        "links",
        "id",
        "group",
        "fields",
    }
)


@dataclass(frozen=True)
class Format:
    """One file format, a row of the table in the registry.

    extensions: the endings that suggest it (``.conll``), without ``.gz``; several formats may share one
    read:       ``read(path, **options) -> Iterator[Document]``
    write:      ``write(documents, path, **options)``
    carries:    which of LAYERS survive a round trip
    looks_like: whether a file of this name that starts with these bytes (unpacked, at most 64 KiB) has this
                format; called if the extension does not decide; None: never detected by content
    columns:    the columns that it can hold; None: any
    blank:      whether it can hold a document without text and labels
    folder:     whether a folder is a corpus of this format; None: the format is a file
    images:     its tokens are images, not words
    options:    a dataclass of knobs with the reader's options, from which commands derive their flags
    """

    name: str
    extensions: tuple[str, ...]
    read: Callable[..., Iterator[Document]]
    write: Callable[..., None]
    carries: frozenset[str]
    looks_like: Callable[[str, bytes], bool] | None = None
    options: type | None = None
    columns: tuple[str, ...] | None = None
    blank: bool = True
    folder: Callable[[Path], bool] | None = None
    images: bool = False

    def __post_init__(self) -> None:
        unknown = self.carries - LAYERS
        assert not unknown, f"{self.name} carries {unknown}, which no document has"
