"""The container: strings and named arrays as a safetensors file, with every byte of it accounted for.

    bytes 0..8      N, the length of the directory, a little-endian 64-bit number
    bytes 8..8+N    the directory: a JSON object, padded with spaces so that the data start at a multiple of 8
    the rest        the arrays, little-endian, row by row, end to end

The reader trusts nothing: it checks sizes against the length of the file before it allocates anything.
Messages here do not name the file; the caller that opened it adds the name.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ModelFileError
from chaffinch.modelfile.strict_json import parsed, shown

METADATA = "__metadata__"

DTYPES = {
    "BOOL": np.dtype(np.bool_),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I8": np.dtype("i1"),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
    "U16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
}
_CODES = {dtype: code for code, dtype in DTYPES.items()}

PREFIX = 8
ALIGNMENT = 8
MOST_DIRECTORY_BYTES = 4 * 2**20
MOST_JSON_VALUES = 2**18
MOST_DIMENSIONS = 8
MOST_ITEMS = 2**48

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,199}(:[a-z0-9]{1,16})?", re.ASCII)


def code_of(array: NDArray[Any]) -> str:
    """The name of an array's type in the format."""
    code = _CODES.get(array.dtype.newbyteorder("<"))
    if code is None:
        raise ModelFileError(
            f"arrays of {array.dtype} cannot be stored; use one of {', '.join(sorted(DTYPES))}"
        )
    return code


def little_endian(array: NDArray[Any]) -> NDArray[Any]:
    """The array in its stored form; the array itself if it is already contiguous and little-endian."""
    return np.asarray(array, array.dtype.newbyteorder("<"), order="C")


def raw(array: NDArray[Any]) -> memoryview:
    """The bytes of a contiguous little-endian array, without a copy."""
    return array.reshape(-1).view(np.uint8).data


def packed(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """The bytes of a file, in pieces.

    Arrays are sorted by item size, the largest first, then by name. So every array starts at a multiple of its item
    size without a gap, and the same content always gives the same bytes.
    """
    ready = {}
    for name, array in arrays.items():
        _check_name(name)
        ready[name] = little_endian(array)
    order = sorted(ready, key=lambda name: (-ready[name].dtype.itemsize, name))
    directory: dict[str, Any] = {METADATA: dict(sorted(metadata.items()))}
    end = 0
    for name in order:
        a = ready[name]
        begin, end = end, end + a.nbytes
        directory[name] = {"dtype": code_of(a), "shape": list(a.shape), "data_offsets": [begin, end]}
        _check_shape(name, list(a.shape))
    text = json.dumps(directory, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-(PREFIX + len(text)) % ALIGNMENT)
    _check_directory_size(text)
    yield len(text).to_bytes(PREFIX, "little")
    yield text
    for name in order:
        yield raw(ready[name])


def read_directory(stream: BinaryIO, size: int) -> dict[str, Any]:
    """The JSON directory of a file of ``size`` bytes: well-formed and small; its entries are not yet checked."""
    if size < PREFIX + 2:
        raise ModelFileError(f"is not a model file: it has only {size} bytes")
    prefix = _exactly(stream, PREFIX)
    length = int.from_bytes(prefix, "little")
    if length < 2 or length > size - PREFIX:
        raise ModelFileError(
            f"is not a model file, or is cut short: its first bytes announce a directory of {length} bytes, "
            f"and {size - PREFIX} follow"
        )
    if length > MOST_DIRECTORY_BYTES:
        raise ModelFileError(f"has a directory of {length} bytes; at most {MOST_DIRECTORY_BYTES} are read")
    text = _exactly(stream, length)
    if not text.startswith(b"{"):
        raise ModelFileError("is not a model file: its directory does not start with '{'")
    _check_directory_size(text)
    directory = parsed(text, "its directory")
    if not isinstance(directory, dict):
        raise ModelFileError("is not a model file: its directory is not a JSON object")
    return directory


def metadata_of(directory: Mapping[str, Any]) -> dict[str, str]:
    """The strings under ``__metadata__``."""
    metadata = directory.get(METADATA)
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ModelFileError(f"is not a model file of Chaffinch: its {METADATA} is not an object of strings")
    return metadata


def read_arrays(stream: BinaryIO, directory: Mapping[str, Any], size: int) -> dict[str, NDArray[Any]]:
    """The arrays, read-only views of one buffer; ``stream`` is positioned at the start of the data."""
    entries = {name: _entry(name, value) for name, value in directory.items() if name != METADATA}
    room = size - stream.tell()
    _check_tiling(entries, room)
    if (size - room) % ALIGNMENT:
        raise ModelFileError(f"its data start at byte {size - room}, which is not a multiple of {ALIGNMENT}")
    buffer = np.empty(room, np.uint8)
    filled = 0
    while filled < room:
        # The length was read earlier; a file that has shrunk since is caught here.
        got = stream.readinto(buffer[filled:])  # type: ignore[attr-defined]
        if not got:
            raise ModelFileError(f"ended after {filled} of {room} bytes of data")
        filled += got
    buffer.flags.writeable = False
    arrays = {}
    for name, (dtype, shape, begin, end) in entries.items():
        if dtype.kind == "b" and room and np.any(buffer[begin:end] > 1):
            raise ModelFileError(f"array {name!r} of truth values has a byte other than 0 and 1")
        arrays[name] = buffer[begin:end].view(dtype).reshape(shape)
    return arrays


def _entry(name: str, value: Any) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    _check_name(name)
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"array {name!r} must have dtype, shape and data_offsets, got {shown(value)}")
    code, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(code, str) or code not in DTYPES:
        raise ModelFileError(f"array {name!r} has the unknown dtype {shown(code)}")
    _check_shape(name, shape)
    if not _whole(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ModelFileError(f"array {name!r} has the data_offsets {shown(offsets)}, expected [begin, end]")
    begin, end = offsets
    dtype = DTYPES[code]
    needed = math.prod(shape) * dtype.itemsize
    if end - begin != needed:
        raise ModelFileError(
            f"array {name!r} of {code} {shown(shape)} needs {needed} bytes, its offsets hold {end - begin}"
        )
    if begin % dtype.itemsize:
        raise ModelFileError(f"array {name!r} of {code} starts at byte {begin} of the data: not aligned")
    return dtype, tuple(shape), begin, end


def _check_tiling(entries: Mapping[str, tuple[Any, Any, int, int]], room: int) -> None:
    """Raise unless the arrays fill the data exactly, without overlaps, gaps or trailing bytes."""
    at = 0
    for name, (_, _, begin, end) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if begin != at:
            relation = "overlaps the array before it" if begin < at else "leaves a gap before it"
            raise ModelFileError(f"array {name!r} starts at byte {begin} of the data and {relation} ({at})")
        at = end
    if at != room:
        state = "is cut short" if at > room else "has bytes after its end"
        raise ModelFileError(f"{state}: its arrays take {at} bytes, the file holds {room}")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ModelFileError(
            f"{shown(name)} is not a valid name of an array; use letters, digits, '_', '.' and '-'"
        )


def _check_shape(name: str, shape: Any) -> None:
    if not _whole(shape) or len(shape) > MOST_DIMENSIONS:
        raise ModelFileError(
            f"array {name!r} has the shape {shown(shape)}, expected at most {MOST_DIMENSIONS} sizes >= 0"
        )
    # An empty array may still have dimensions whose product overflows in NumPy.
    if math.prod(max(d, 1) for d in shape) > MOST_ITEMS:
        raise ModelFileError(f"array {name!r} has the impossible shape {shown(shape)}")


def _check_directory_size(text: bytes) -> None:
    values = text.count(b",") + text.count(b"[") + text.count(b"{")
    if len(text) > MOST_DIRECTORY_BYTES or values > MOST_JSON_VALUES:
        raise ModelFileError(
            f"has a directory of {len(text)} bytes and about {values} values; at most {MOST_DIRECTORY_BYTES} "
            f"bytes and {MOST_JSON_VALUES} values are allowed: long lists belong in string lists"
        )


def _whole(values: Any) -> bool:
    """Whether this is a JSON list of non-negative integers."""
    return isinstance(values, list) and all(type(v) is int and v >= 0 for v in values)


def _exactly(stream: BinaryIO, n: int) -> bytes:
    got = stream.read(n)
    if len(got) != n:
        raise ModelFileError(f"is cut short: expected {n} bytes, found {len(got)}")
    return got
