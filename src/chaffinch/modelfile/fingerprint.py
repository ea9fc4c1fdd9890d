"""Fingerprints: a short name for the data that a model was trained on."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.modelfile.container import little_endian, raw
from chaffinch.modelfile.strings import StringList


def fingerprint(*parts: "NDArray[Any] | Iterable[str]") -> str:
    """SHA-256 over arrays and lists of strings, in order, each preceded by its type and size.

    >>> fingerprint(["a", "b"], np.array([0, 1, 0], np.int32))[:23]
    'sha256:2d686537f1961aae'
    >>> fingerprint(["ab"]) == fingerprint(["a", "b"])
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            _add(digest, part)
        else:
            strings = part if isinstance(part, StringList) else StringList.of(part)
            _add(digest, strings.ptr)
            _add(digest, strings.utf8)
    return f"sha256:{digest.hexdigest()}"


def _add(digest: Any, array: NDArray[Any]) -> None:
    array = little_endian(array)
    digest.update(f"{array.dtype.str} {list(array.shape)}\n".encode())
    digest.update(raw(array))
