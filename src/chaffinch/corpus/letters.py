"""Letter images: words as sequences of small binary images, in one NumPy archive without pickles.

Arrays of the archive, L letters in W words:

    pixels        uint8 [L, 128]   0 or 1, 16 rows of 8
    labels        uint8 [L]        0 = a ... 25 = z
    word_offsets  int32 [W+1]      word w is the letters word_offsets[w] .. word_offsets[w+1]
    fold          uint8 [W]        the fold of the word
"""

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus.lines import cut, listed
from chaffinch.errors import DataError
from chaffinch.files import display_name, reading, writing

ROWS, COLUMNS, LETTERS = 16, 8, 26
LARGEST = 2**31  # bytes of one array: a small archive may claim to unpack into any size


@dataclass(frozen=True)
class Letters:
    """Words as letter images; see the module for the shapes."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    word_offsets: NDArray[np.int32]
    fold: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.fold)

    def word(self, w: int) -> str:
        """The letters of word ``w``."""
        return "".join(chr(ord("a") + y) for y in self.labels[self._letters(w)].tolist())

    def images(self, w: int) -> NDArray[np.uint8]:
        """The images of word ``w``: uint8 [letters, 16, 8]."""
        return self.pixels[self._letters(w)].reshape(-1, ROWS, COLUMNS)

    def _letters(self, w: int) -> slice:
        return slice(int(self.word_offsets[w]), int(self.word_offsets[w + 1]))


def read(path: str | Path) -> Letters:
    """The archive, loaded whole; every size and bound is checked."""
    name = display_name(path)
    with reading(path) as file:
        content = io.BytesIO(file.read())
    try:
        with zipfile.ZipFile(content) as archive:
            pixels = _array(name, archive, "pixels", np.uint8, 2)
            labels = _array(name, archive, "labels", np.uint8, 1)
            word_offsets = _array(name, archive, "word_offsets", np.int32, 1)
            fold = _array(name, archive, "fold", np.uint8, 1)
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError, struct.error) as e:
        raise DataError(f"{name}: is not a complete NumPy archive (.npz): {cut(str(e))}") from None
    letters = Letters(pixels, labels, word_offsets, fold)
    check(letters, name)
    return letters


def write(letters: Letters, path: str | Path) -> None:
    """Write a compressed archive; the same letters give the same bytes."""
    check(letters, "letters")
    with writing(path) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("pixels", "labels", "word_offsets", "fold"):
            array = io.BytesIO()
            np.lib.format.write_array(array, np.ascontiguousarray(getattr(letters, name)), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), array.getvalue(), zipfile.ZIP_DEFLATED)


def check(letters: Letters, name: str) -> None:
    """Raise unless the arrays are consistent and every value is in its range."""
    L, W = len(letters.labels), len(letters.fold)
    if letters.pixels.shape != (L, ROWS * COLUMNS):
        raise DataError(
            f"{name}: expected pixels of shape {(L, ROWS * COLUMNS)}, found {letters.pixels.shape}"
        )
    offsets = letters.word_offsets
    if len(offsets) != W + 1:
        raise DataError(f"{name}: expected {W + 1} word_offsets for {W} words, found {len(offsets)}")
    if offsets[0] != 0 or offsets[-1] != L or (np.diff(offsets.astype(np.int64)) <= 0).any():
        raise DataError(f"{name}: word_offsets must increase strictly from 0 to {L}")
    if L and int(letters.pixels.max()) > 1:
        raise DataError(f"{name}: pixels must be 0 or 1, found {int(letters.pixels.max())}")
    if L and int(letters.labels.max()) >= LETTERS:
        raise DataError(f"{name}: labels must be 0 to {LETTERS - 1}, found {int(letters.labels.max())}")


def _array(name: str, archive: zipfile.ZipFile, key: str, dtype: type, ndim: int) -> NDArray[Any]:
    """One array of the archive; its header and its size are checked before it is read."""
    try:
        info = archive.getinfo(f"{key}.npy")
    except KeyError:
        raise DataError(f"{name}: expected an array {key!r}, found {listed(archive.namelist())}") from None
    if info.file_size > LARGEST:
        raise DataError(f"{name}: {key} claims {info.file_size} bytes, more than the limit")
    with archive.open(info) as file:
        try:
            version = np.lib.format.read_magic(file)
            if version not in ((1, 0), (2, 0)):
                raise DataError(f"{name}: {key} is in an unsupported version of NumPy's format: {version}")
            read_header = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, fortran, found = read_header(file)
        except DataError:
            raise
        except (ValueError, SyntaxError, TypeError) as e:
            raise DataError(f"{name}: the header of {key} is damaged: {cut(str(e))}") from None
        if found != np.dtype(dtype) or len(shape) != ndim or fortran:
            raise DataError(
                f"{name}: expected {key} to be {np.dtype(dtype)} with {ndim} axes, found {found} {shape}"
            )
        content = file.read()
    wanted = int(np.dtype(dtype).itemsize)
    for size in shape:
        wanted *= int(size)
    if wanted != len(content):
        raise DataError(f"{name}: {key} of shape {shape} needs {wanted} bytes, found {len(content)}")
    return np.frombuffer(content, dtype=dtype).reshape(shape)
