"""Fingerprints: a short hash of a model's training data."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.modelfile.container import little_endian, raw
from chaffinch.modelfile.strings import StringList, encoded


def fingerprint(*pieces: "NDArray[Any] | Iterable[str]") -> str:
    """SHA-256 over arrays and lists of strings, in order, each preceded by its type and size.

    >>> fingerprint(["a", "b"], np.array([0, 1, 0], np.int32))[:23]
    'sha256:2d686537f1961aae'
    >>> fingerprint(["ab"]) == fingerprint(["a", "b"])
    False
    """
    digest = hashlib.sha256()
    for piece in pieces:
        if isinstance(piece, np.ndarray):
            _add(digest, piece)
        else:
            _add_strings(digest, piece)
    return f"sha256:{digest.hexdigest()}"


def _add(digest: Any, array: NDArray[Any]) -> None:
    array = little_endian(array)
    _announce(digest, array.dtype, array.shape)
    digest.update(raw(array))


def _add_strings(digest: Any, strings: Iterable[str]) -> None:
    """Hash strings as the two arrays of a string list, without building it: texts may dominate memory."""
    if isinstance(strings, StringList):
        _add(digest, strings.ptr)
        _add(digest, strings.utf8)
        return
    listed = strings if isinstance(strings, Sequence) else list(strings)
    sizes = (len(s) if s.isascii() else len(encoded(s)) for s in listed)
    ptr = np.zeros(len(listed) + 1, np.int64)
    np.cumsum(np.fromiter(sizes, np.int64, len(listed)), out=ptr[1:])
    _add(digest, ptr)
    _announce(digest, np.dtype(np.uint8), (int(ptr[-1]),))
    for s in listed:
        digest.update(encoded(s))


def _announce(digest: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    digest.update(f"{dtype.str} {list(shape)}\n".encode())
