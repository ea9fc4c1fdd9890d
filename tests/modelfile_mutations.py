"""Ways to damage a model file: each takes the bytes of a sound file and a generator, and returns others."""

import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

ITEM_BYTES = {"BOOL": 1, "U8": 1, "I8": 1, "F16": 2, "I32": 4, "F32": 4, "I64": 8, "U64": 8}
NASTY = (-1, -(2**63), 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 10**19, 10**30, 0.5, 1e308, 7, 1, 0)
NASTY += (None, True, "8", "", [], {}, [0], [[]])
NASTY_TEXT = (
    "NaN",
    "Infinity",
    "1e999",
    "-0",
    "1" * 5000,
    "\\ud800",
    "\x00",
    "[" * 3000,
    '{"a":' * 3000,
    "}",
    "é",
)


def bits_flipped(sound: bytes, rng: random.Random) -> bytes:
    out = bytearray(sound)
    for _ in range(rng.choice((1, 1, 1, 2, 8, 64))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def bytes_replaced(sound: bytes, rng: random.Random) -> bytes:
    out = bytearray(sound)
    at, n = rng.randrange(len(out)), rng.choice((1, 2, 4, 8, 100))
    out[at : at + n] = rng.choice((rng.randbytes(n), b"\xff" * n, b"\x00" * n))[: len(out) - at]
    return bytes(out)


def cut_short(sound: bytes, rng: random.Random) -> bytes:
    return sound[
        : rng.choice((rng.randrange(len(sound)), rng.randrange(24), len(sound) - rng.randrange(1, 9)))
    ]


def bytes_appended(sound: bytes, rng: random.Random) -> bytes:
    return sound + rng.randbytes(rng.choice((1, 7, 8, 4096)))


def block_moved(sound: bytes, rng: random.Random) -> bytes:
    a, b, c = sorted(rng.randrange(len(sound)) for _ in range(3))
    return rng.choice(
        (
            sound[:a] + sound[b:],
            sound[:b] + sound[a:],
            sound[:a] + sound[b:c] + sound[a:b] + sound[c:],
            rng.randbytes(c),
        )
    )


def length_changed(sound: bytes, rng: random.Random) -> bytes:
    n = int.from_bytes(sound[:8], "little")
    new = rng.choice((0, 1, 2, n - 8, n + 8, n - 1, n + 1, len(sound), 2**27, 2**32, 2**63, 2**64 - 1))
    return rng.choice((new, rng.getrandbits(64))).to_bytes(8, "little") + sound[8:]


def directory_numbers(sound: bytes, rng: random.Random) -> bytes:
    """Shapes, offsets and types of one array replaced by something that does not belong there."""
    directory, data = parts(sound)
    entry = directory[rng.choice([name for name in directory if name != "__metadata__"])]
    field = rng.choice(("shape", "data_offsets", "dtype"))
    if field == "dtype" or rng.random() < 0.2:
        entry[field] = rng.choice((*NASTY, *ITEM_BYTES, "F64", "BF16", "f32"))
    elif entry[field]:
        values = list(entry[field])
        values[rng.randrange(len(values))] = rng.choice((*NASTY, rng.randrange(300), -rng.randrange(300)))
        entry[field] = rng.choice((values, values, [*values, 1], values[::-1], values * 5))
    return joined(directory, data)


def directory_offsets(sound: bytes, rng: random.Random) -> bytes:
    """Offsets swapped between arrays, shifted, or made to overlap."""
    directory, data = parts(sound)
    a, b = rng.sample([name for name in directory if name != "__metadata__"], 2)
    one, two = directory[a]["data_offsets"], directory[b]["data_offsets"]
    kind = rng.randrange(4)
    if kind == 0:
        directory[a]["data_offsets"], directory[b]["data_offsets"] = two, one
    elif kind == 1:
        directory[a]["data_offsets"] = list(two)
    elif kind == 2:
        shift = rng.choice((-8, -1, 1, 8))
        directory[a]["data_offsets"] = [one[0] + shift, one[1] + shift]
    else:
        directory[a], directory[b] = directory[b], directory[a]
    return joined(directory, data)


def directory_entries(sound: bytes, rng: random.Random) -> bytes:
    """Entries removed, renamed, added, doubled, given other keys."""
    directory, data = parts(sound)
    name = rng.choice(list(directory))
    kind = rng.randrange(6)
    if kind == 0:
        del directory[name]
    elif kind == 1:
        directory[rng.choice(("", "x", "__metadata__", "a b", "words:ptr", "w:x", "é", "n" * 5000))] = (
            directory.pop(name)
        )
    elif kind == 2:
        directory["extra"] = rng.choice(
            (*NASTY, {"dtype": "F32", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]})
        )
    elif kind == 3:
        directory[name]["more"] = rng.choice(("x", 1))
    elif kind == 4:
        directory[name] = rng.choice(NASTY)
    else:
        text = json.dumps(directory, ensure_ascii=False)
        again = json.dumps({name: directory[name]}, ensure_ascii=False)[1:-1]
        return framed(f"{text[:-1]}, {again}}}".encode(), data)
    return joined(directory, data)


def directory_text(sound: bytes, rng: random.Random) -> bytes:
    """Text spliced into the directory: odd constants, endless digits, deep nesting, bad UTF-8."""
    n = int.from_bytes(sound[:8], "little")
    text, data = sound[8 : 8 + n], sound[8 + n :]
    at = rng.randrange(len(text))
    piece = rng.choice((*(t.encode() for t in NASTY_TEXT), b"\xff", b"\xc3", b"\xed\xa0\x80", b"," * 300_000))
    return framed(text[:at] + piece + text[at + rng.choice((0, 1, 4)) :], data)


def directory_spacing(sound: bytes, rng: random.Random) -> bytes:
    """The same directory in another order, with other spacing."""
    directory, data = parts(sound)
    items = list(directory.items())
    rng.shuffle(items)
    text = json.dumps(dict(items), ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1))).encode()
    return framed(text + b" " * rng.choice((0, 3, 8, 800)), data)


def header_fields(sound: bytes, rng: random.Random) -> bytes:
    """Fields of the header replaced, removed or added; formats of the future."""
    directory, data = parts(sound)
    metadata = directory["__metadata__"]
    header = json.loads(metadata["chaffinch"])
    field = rng.choice(list(header))
    kind = rng.randrange(5)
    if kind == 0:
        del header[field]
    elif kind == 1:
        header["unknown"] = 1
    elif kind == 2:
        header["format"] = rng.choice((0, 2, 99, 2**70, "1", 1.0, True))
    else:
        header[field] = rng.choice((*NASTY, ["x"], ["x", "x"], {"a": 1}, {"a": None}, "x" * 10_000))
    metadata["chaffinch"] = json.dumps(header)
    return joined(directory, data)


def header_text(sound: bytes, rng: random.Random) -> bytes:
    """Text spliced into the header, inside its JSON string."""
    directory, data = parts(sound)
    text = directory["__metadata__"]["chaffinch"]
    at = rng.randrange(len(text))
    directory["__metadata__"]["chaffinch"] = (
        text[:at] + rng.choice(NASTY_TEXT) + text[at + rng.randrange(5) :]
    )
    if rng.random() < 0.1:
        directory["__metadata__"][rng.choice(("more", "sha256"))] = rng.choice(NASTY)
    return joined(directory, data)


def values_changed(sound: bytes, rng: random.Random) -> bytes:
    """One number of one array replaced by an extreme one: NaN, an index out of range, a bad bound."""
    directory, data = parts(sound)
    filled = [
        n for n, e in directory.items() if n != "__metadata__" and e["data_offsets"][0] < e["data_offsets"][1]
    ]
    entry = directory[rng.choice(filled)]
    width = ITEM_BYTES[entry["dtype"]]
    begin, end = entry["data_offsets"]
    at = begin + width * rng.randrange((end - begin) // width)
    extremes = (b"\xff" * width, b"\x00" * width, b"\x00" * (width - 1) + b"\x80", rng.randbytes(width))
    small = rng.randrange(12).to_bytes(1, "little") + b"\x00" * (width - 1)
    return joined(directory, data[:at] + rng.choice((*extremes, small)) + data[at + width :])


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    bits_flipped,
    bytes_replaced,
    cut_short,
    bytes_appended,
    block_moved,
    length_changed,
    directory_numbers,
    directory_offsets,
    directory_entries,
    directory_text,
    directory_spacing,
    header_fields,
    header_text,
    values_changed,
)


def parts(file: bytes) -> tuple[dict[str, Any], bytes]:
    n = int.from_bytes(file[:8], "little")
    return json.loads(file[8 : 8 + n]), file[8 + n :]


def joined(directory: Any, data: bytes) -> bytes:
    return framed(json.dumps(directory, ensure_ascii=False).encode("utf-8", "surrogatepass"), data)


def framed(text: bytes, data: bytes) -> bytes:
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def forge(file: bytes) -> bytes | None:
    """The file with its checksum made right, computed from docs/model-file.md; None if it cannot be."""
    try:
        directory, data = parts(file)
        metadata = directory["__metadata__"]
        digest = hashlib.sha256(metadata["chaffinch"].encode() + b"\n")
        for name in sorted(name for name in directory if name != "__metadata__"):
            entry = directory[name]
            shape = ",".join(str(int(d)) for d in entry["shape"])
            begin, end = entry["data_offsets"]
            digest.update(f"{name} {entry['dtype']} [{shape}]\n".encode() + data[begin:end])
        metadata["sha256"] = digest.hexdigest()
        return joined(directory, data)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
