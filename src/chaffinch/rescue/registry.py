"""The formats and objects of other tools that are read, and how they are recognised."""

from pathlib import Path
from typing import Any

from chaffinch.errors import ChaffinchError, ConfigError, ModelFileError
from chaffinch.rescue import crfpp, crfsuite, fasttext, liblinear, nltk_tagger, scikit, wapiti
from chaffinch.rescue.foreign import ForeignFile, ForeignFormat, ForeignObject, Rescued

SNIFFED = 1 << 16  # bytes from which a format is recognised

FORMATS: tuple[ForeignFormat, ...] = (
    crfsuite.FORMAT,
    crfpp.TEXT,
    crfpp.BINARY,
    wapiti.FORMAT,
    nltk_tagger.FORMAT,
    fasttext.FASTTEXT,
    liblinear.LIBLINEAR,
)

OBJECTS: tuple[ForeignObject, ...] = (*crfsuite.OBJECTS, nltk_tagger.OBJECT, scikit.PIPELINE)

# Errors of an inconsistent file that its reader does not check for.
FAULTS = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, MemoryError, OverflowError)


def format_of(path: str | Path, name: str | None = None) -> ForeignFormat | None:
    """The format of this name, or the one recognised by the first bytes; None: not a known model format."""
    if name is not None:
        found = next((format for format in FORMATS if format.name == name), None)
        if found is None:
            raise ConfigError(f"there is no model format {name!r}; there are {', '.join(sorted(names()))}")
        return found
    place = Path(path)
    if place.is_dir():
        return next((f for f in FORMATS if f.holds_folder is not None and f.holds_folder(place)), None)
    if not place.is_file():  # reading a pipe would block
        return None
    with place.open("rb") as stream:
        start = stream.read(SNIFFED)
    return next((format for format in FORMATS if format.holds(start)), None)


def names() -> list[str]:
    """The names of the formats."""
    return [format.name for format in FORMATS]


def rescued(path: str | Path, format: ForeignFormat, encoding: str = "utf-8") -> Rescued:
    """The model of a file; an error is one sentence that begins with the file."""
    place = Path(path)
    try:
        content = place.read_bytes() if place.is_file() else b""
    except OSError as e:
        raise ModelFileError(f"{path}: cannot be read: {e.strerror}") from None
    try:
        return format.read(ForeignFile(str(path), content, place, encoding))
    except ChaffinchError as e:
        said = str(e)
        raise ModelFileError(said if said.startswith(f"{path}: ") else f"{path}: {said}") from None
    except FAULTS as e:
        said = next(iter(str(e).splitlines()), "")
        raise ModelFileError(f"{path}: is damaged: {type(e).__name__} {said}".rstrip()) from None


def rescued_object(original: Any) -> Rescued:
    """The model of an object in memory: a trained model of another package."""
    classes = [(c.__module__, c.__name__) for c in type(original).__mro__]
    for row in OBJECTS:
        for module, name in classes:
            if name == row.name and (module == row.module or module.startswith(f"{row.module}.")):
                return row.read(original)
    known = ", ".join(f"{row.module}.{row.name}" for row in OBJECTS)
    raise ConfigError(
        f"expected the path of a model or a trained object of another package ({known or 'none is known'}), "
        f"got {type(original).__name__}"
    )
