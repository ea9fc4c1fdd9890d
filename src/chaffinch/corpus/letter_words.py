"""Letter images as documents: a word is a document, a token an image as hexadecimal digits, column ``y`` its letter."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus import letters
from chaffinch.corpus.format import Format
from chaffinch.corpus.letters import COLUMNS, LETTERS, ROWS, Letters
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import display_name
from chaffinch.knobs import knob
from chaffinch.text.document import LABEL, Document

DIGITS = ROWS * COLUMNS // 4
FOLDS = 10


@dataclass(frozen=True, kw_only=True)
class LetterOptions:
    """Which words are read."""

    folds: str | None = knob(None, "letters: the folds to read, such as 0 or 1-9 or 0,3,5")


def read(path: str | Path, folds: str | None = None) -> Iterator[Document]:
    """The words of an archive; their group is their fold."""
    found = letters.read(path)
    tokens = image_tokens(found.pixels)
    wanted = None if folds is None else _folds(folds)
    bounds = found.word_offsets.tolist()
    if wanted is not None and not np.isin(found.fold, list(wanted)).any():
        raise DataError(f"{display_name(path)}: has no word in fold {folds}")
    for w, fold in enumerate(found.fold.tolist()):
        if wanted is not None and fold not in wanted:
            continue
        document = Document.from_words(tokens[bounds[w] : bounds[w + 1]], **{LABEL: list(found.word(w))})
        document.group = str(fold)
        document.images = True
        yield document


def write(documents: Iterable[Document], path: str | Path) -> None:
    """Documents whose tokens are images and whose labels are letters a to z."""
    pixels, labels, lengths, folds = [], [], [], []
    for n, document in enumerate(documents):
        where = f"{display_name(path)}: document {n + 1}"
        for token in document.words():
            pixels.append(_image(token, where))
        for label in document.columns.get(LABEL, []):
            if len(label) != 1 or not 0 <= ord(label) - ord("a") < LETTERS:
                raise DataError(f"{where}: expected labels a to z, found {label!r}")
            labels.append(ord(label) - ord("a"))
        lengths.append(len(document.tokens))
        group = document.group or str(n % FOLDS)
        folds.append(int(group) if group.isdecimal() and int(group) < 256 else n % FOLDS)
    letters.write(
        Letters(
            pixels=np.array(pixels, np.uint8).reshape(-1, ROWS * COLUMNS),
            labels=np.array(labels, np.uint8),
            word_offsets=np.cumsum([0, *lengths], dtype=np.int32),
            fold=np.array(folds, np.uint8),
        ),
        path,
    )


def image_tokens(pixels: NDArray[np.uint8]) -> list[str]:
    """Each image, row by row, as hexadecimal digits.

    >>> image_tokens(np.eye(1, 128, 3, dtype=np.uint8))
    ['10000000000000000000000000000000']
    """
    digits = np.packbits(pixels, axis=1).tobytes().hex()
    return [digits[i : i + DIGITS] for i in range(0, len(digits), DIGITS)]


def _image(token: str, where: str) -> NDArray[np.uint8]:
    try:
        if len(token) != DIGITS:
            raise ValueError
        return np.unpackbits(np.frombuffer(bytes.fromhex(token), dtype=np.uint8))
    except ValueError:
        raise DataError(
            f"{where}: expected images as {DIGITS} hexadecimal digits, found {token[:40]!r}"
        ) from None


def _folds(text: str) -> set[int]:
    """The folds that a list of numbers and ranges names."""
    wanted: set[int] = set()
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        if not first.strip().isdecimal() or (last and not last.strip().isdecimal()):
            raise ConfigError(f"folds: expected numbers and ranges such as 0 or 1-9, found {text!r}")
        wanted |= set(range(int(first), int(last or first) + 1))
    return wanted


FORMAT = Format(
    name="letters",
    extensions=(".npz",),
    read=read,
    write=write,
    carries=frozenset({"tokens", "columns", "group"}),
    looks_like=lambda name, start: name.endswith(".npz") and start.startswith(b"PK"),
    columns=(LABEL,),
    options=LetterOptions,
    images=True,
)
