"""MessagePack: values to bytes and back, limited to JSON's types and bytes.

https://github.com/msgpack/msgpack/blob/master/spec.md. Extension types and time stamps are refused.
"""

import struct
from typing import Any

DEEPEST = 64  # nested lists and maps

_NUMBERS = {
    0xCA: ">f", 0xCB: ">d",
    0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_BYTES = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}
_STRINGS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_ARRAYS = {0xDC: ">H", 0xDD: ">I"}
_MAPS = {0xDE: ">H", 0xDF: ">I"}


def unpacked(content: bytes) -> Any:
    """The value of the bytes; ValueError if they are not exactly one value.

    >>> unpacked(packed({"a": [1, -2.5, None, True, b"b", "\\u00e9"]}))
    {'a': [1, -2.5, None, True, b'b', 'é']}
    """
    reader = _Reader(content)
    value = reader.value(0)
    if reader.at != len(content):
        raise ValueError(f"{len(content) - reader.at} bytes follow the value")
    return value


def packed(value: Any) -> bytes:
    """The bytes of a value: None, truth values, numbers, strings, bytes, lists and dicts of these."""
    out = bytearray()
    _write(value, out)
    return bytes(out)


class _Reader:
    """Reads values one after another; every length is checked against the bytes that are left."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError(f"values are nested deeper than {DEEPEST}")
        kind = self.taken(1)[0]
        if kind < 0x80:
            return kind
        if kind >= 0xE0:
            return kind - 0x100
        if kind < 0x90:
            return self.map(kind & 0x0F, depth)
        if kind < 0xA0:
            return self.array(kind & 0x0F, depth)
        if kind < 0xC0:
            return str(self.taken(kind & 0x1F), "utf-8")
        if kind in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[kind]
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind in _BYTES:
            return self.taken(self.number(_BYTES[kind]))
        if kind in _STRINGS:
            return str(self.taken(self.number(_STRINGS[kind])), "utf-8")
        if kind in _ARRAYS:
            return self.array(self.number(_ARRAYS[kind]), depth)
        if kind in _MAPS:
            return self.map(self.number(_MAPS[kind]), depth)
        raise ValueError(f"a value of the unknown kind {kind:#x}")

    def array(self, length: int, depth: int) -> list[Any]:
        self.check(length)
        return [self.value(depth + 1) for _ in range(length)]

    def map(self, length: int, depth: int) -> dict[Any, Any]:
        self.check(2 * length)
        made = {}
        for _ in range(length):
            key = self.value(depth + 1)
            if not isinstance(key, str | bytes | int):
                raise ValueError(f"a key is a {type(key).__name__}")
            made[key] = self.value(depth + 1)
        return made

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.taken(struct.calcsize(form)))[0]

    def taken(self, length: int) -> bytes:
        self.check(length)
        self.at += length
        return self.content[self.at - length : self.at]

    def check(self, length: int) -> None:
        """Refuse a length beyond the bytes that are left, so that a false length cannot claim memory."""
        if length > len(self.content) - self.at:
            raise ValueError(f"{length} more bytes expected, {len(self.content) - self.at} are left")


def _write(value: Any, out: bytearray) -> None:
    if value is None:
        out.append(0xC0)
    elif isinstance(value, bool):
        out.append(0xC3 if value else 0xC2)
    elif isinstance(value, int):
        _write_integer(value, out)
    elif isinstance(value, float):
        out += b"\xcb" + struct.pack(">d", value)
    elif isinstance(value, str):
        content = value.encode()
        _write_length(len(content), out, 32, 0xA0, (0xD9, 0xDA, 0xDB))
        out += content
    elif isinstance(value, bytes):
        _write_length(len(value), out, 0, 0, (0xC4, 0xC5, 0xC6))
        out += value
    elif isinstance(value, list):
        _write_length(len(value), out, 16, 0x90, (None, 0xDC, 0xDD))
        for item in value:
            _write(item, out)
    elif isinstance(value, dict):
        _write_length(len(value), out, 16, 0x80, (None, 0xDE, 0xDF))
        for key, item in value.items():
            _write(key, out)
            _write(item, out)
    else:
        raise ValueError(f"a {type(value).__name__} has no form in MessagePack")


def _write_integer(value: int, out: bytearray) -> None:
    if -32 <= value < 128:
        out += struct.pack(">b", value)
    elif 0 <= value < 2**64:
        out += b"\xcf" + struct.pack(">Q", value)
    elif -(2**63) <= value < 0:
        out += b"\xd3" + struct.pack(">q", value)
    else:
        raise ValueError(f"{value} has more than 64 bits")


def _write_length(
    length: int, out: bytearray, short: int, mark: int, kinds: tuple[int | None, int, int]
) -> None:
    """The length in its shortest form: within the mark, or in one, two or four bytes after a kind."""
    if length < short:
        out.append(mark | length)
    elif length < 256 and kinds[0] is not None:
        out += bytes([kinds[0], length])
    elif length < 65536:
        out += bytes([kinds[1]]) + struct.pack(">H", length)
    elif length < 2**32:
        out += bytes([kinds[2]]) + struct.pack(">I", length)
    else:
        raise ValueError(f"{length} is too long for MessagePack")
