"""Compressed sections: all arrays and strings of a model as one section, for small files.

The section is LZMA over a line of JSON (names, types, shapes, string lists) followed by the arrays.
Integer arrays are stored as differences. The bytes of every array are shuffled: all lowest bytes come first.
"""

import json
import lzma
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ModelFileError
from chaffinch.modelfile.file import ModelFile
from chaffinch.modelfile.file import read as read_sections
from chaffinch.modelfile.schema import Packed
from chaffinch.modelfile.strings import StringList

SECTION = "squeezed"
MOST_BYTES = 1 << 30
TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64")

_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 0, "pb": 0}]


def compressed(packed: Packed) -> Packed:
    """The same content in one section."""
    front: dict[str, Any] = {"arrays": [], "strings": dict(packed.strings)}
    body = []
    for name, a in packed.arrays.items():
        stepped = a.dtype.kind in "iu" and a.ndim == 1 and a.dtype.itemsize > 1
        front["arrays"].append([name, str(a.dtype), list(a.shape), stepped])
        body.append(_bytes(np.diff(a, prepend=a.dtype.type(0)) if stepped else a))
    text = json.dumps(front, ensure_ascii=False, separators=(",", ":")).encode()
    whole = b"".join([text, b"\n", *body])
    made = lzma.compress(whole, format=lzma.FORMAT_RAW, filters=_FILTERS)
    return replace(packed, arrays={SECTION: np.frombuffer(made, np.uint8)}, strings={}, droppable=())


def read(path: str | Path) -> ModelFile:
    """Read a model file and decompress its sections."""
    return decompressed(read_sections(path))


def decompressed(file: ModelFile) -> ModelFile:
    """The file with its sections decompressed; a file without a compressed section is returned unchanged."""
    section = file.arrays.get(SECTION)
    if section is None:
        return file
    try:
        whole = _decompressed(section.tobytes())
        text, _, rest = whole.partition(b"\n")
        front = json.loads(text)
        arrays, at = {}, 0
        for name, kind, shape, stepped in front["arrays"]:
            if kind not in TYPES or not all(isinstance(n, int) and n >= 0 for n in shape):
                raise ValueError(f"array {name!r} has an impossible type or shape")
            dtype = np.dtype(kind)
            size = int(np.prod(shape, dtype=np.float64)) * dtype.itemsize
            if at + size > len(rest):
                raise ValueError(f"array {name!r} ends too early")
            a = _array(rest[at : at + size], dtype, shape)
            arrays[name] = np.cumsum(a, dtype=dtype) if stepped else a
            at += size
        strings = {name: StringList.of([str(s) for s in values]) for name, values in front["strings"].items()}
    except (lzma.LZMAError, ValueError, KeyError, TypeError, AttributeError) as e:
        raise ModelFileError(f"{file.source}: its compressed section is damaged: {e}") from None
    return replace(file, arrays={**file.arrays, **arrays}, strings={**file.strings, **strings})


def _decompressed(data: bytes) -> bytes:
    machine = lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=_FILTERS)
    whole = machine.decompress(data, MOST_BYTES)
    if not machine.needs_input and not machine.eof:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
    return whole


def _bytes(a: NDArray[Any]) -> bytes:
    flat = np.ascontiguousarray(a).reshape(-1)
    return np.ascontiguousarray(flat.view(np.uint8).reshape(len(flat), a.dtype.itemsize).T).tobytes()


def _array(data: bytes, dtype: np.dtype[Any], shape: list[int]) -> NDArray[Any]:
    planes = np.frombuffer(data, np.uint8).reshape(dtype.itemsize, len(data) // dtype.itemsize)
    return np.ascontiguousarray(planes.T).reshape(-1).view(dtype).reshape(shape)
