"""Models of CRF++, as crf_learn writes them (binary) and with -t (text).

    binary  u32 version, i32 type, f64 cost factor, u32 maxid, u32 xsize, u32 bytes of the double array,
            u32 n and labels, each ended by NUL, u32 n and templates likewise, double array {i32 base, u32 check}[],
            f32 weights[maxid]
    text    "version: 100", "cost-factor: 1", "maxid: 9", "xsize: 2", a blank line, labels, a blank line, templates, a
            blank line, "id string" lines, a blank line, weights

A string of a template U has the weights id .. id + L - 1, one for each label; one of a template B has L * L, by the
previous label and the label. The cost factor is not used: crf_test takes its own, 1. Weights are summed as float32.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus.column_names import default_names
from chaffinch.errors import ConfigError
from chaffinch.features.string_pieces import PAIR
from chaffinch.features.string_templates import StringDictionary, StringTemplateEncoder
from chaffinch.model.foreign_chain import ForeignChain, ForeignWeights, OrderedRows, StringFeatures
from chaffinch.rescue.byte_reader import ByteReader
from chaffinch.rescue.chains import check_labels, tagger
from chaffinch.rescue.foreign import ForeignFile, ForeignFormat, Rescued

VERSION = 100
LONGEST_KEY = 4096  # bytes of a string in the double array
MOST_COLUMNS = 1024


@dataclass(frozen=True)
class _Parsed:
    """The contents of both formats; keys: in the order of ids."""

    labels: list[str]
    templates: list[str]
    xsize: int
    keys: list[bytes]
    ids: NDArray[np.int64]
    weights: NDArray[np.float32]


def read_binary(file: ForeignFile) -> Rescued:
    """The tagger of a binary model."""
    reader = ByteReader(file)
    if (version := reader.u32("the version")) != VERSION:
        raise reader.fault(f"version {VERSION}", version, at=0)
    reader.i32("the type", least=0, most=3)
    reader.f64("the cost factor")
    most = len(file.content) // 4
    maxid = reader.u32("the number of weights", most=most)
    xsize = reader.u32("the number of columns", most=MOST_COLUMNS)
    size = reader.u32("the size of the double array", most=len(file.content))
    labels, at = _strings(reader, "labels")
    templates, _ = _strings(reader, "templates")
    templates = [t for t in templates if t]  # padding
    if size % 8:
        raise reader.fault("a double array of whole units of 8 bytes", size)
    begin = reader.at
    units = reader.array(np.uint32, size // 4, "the double array").reshape(-1, 2)
    weights = reader.array(np.float32, maxid, "weights")
    reader.end()
    check_labels(file, at, labels)
    keys, ids = _keys(file, begin, units)
    return _tagger(file, "binary", _Parsed(labels, templates, xsize, keys, ids, weights))


def read_text(file: ForeignFile) -> Rescued:
    """The tagger of a text model."""
    lines = _Lines(file)
    version = lines.header("version")
    if version != str(VERSION):
        raise lines.fault(f"version {VERSION}", version)
    lines.header("cost-factor")
    maxid = lines.count("maxid", len(file.content))
    xsize = lines.count("xsize", MOST_COLUMNS)
    lines.blank()
    labels = [file.text(raw, at, "a label") for raw, at in lines.block()]
    check_labels(file, lines.offset, labels)
    templates = [file.text(raw, at, "a template") for raw, at in lines.block()]
    keys, ids = [], []
    for raw, at in lines.block():
        number, _, key = raw.partition(b" ")
        if not number.isdigit() or len(number) > 10 or not key:
            raise file.fault(at, "a number, a space and a string", raw)
        keys.append(key)
        ids.append(int(number))
    weights = np.zeros(maxid, np.float32)
    for k in range(maxid):
        raw, at = lines.next("a weight")
        try:
            weights[k] = np.float32(float(raw))
        except ValueError:
            raise file.fault(at, "a weight", raw) from None
        if not np.isfinite(weights[k]):
            raise file.fault(at, "a finite weight", raw)
    lines.end()
    return _tagger(file, "text", _Parsed(labels, templates, xsize, keys, np.array(ids, np.int64), weights))


def _tagger(file: ForeignFile, kind: str, parsed: _Parsed) -> Rescued:
    """Check that ids fit the weights, and make the model."""
    L, K = len(parsed.labels), len(parsed.keys)
    columns = default_names(max(parsed.xsize, 1))
    order = np.argsort(parsed.ids, kind="stable")
    keys, ids = [parsed.keys[k] for k in order.tolist()], parsed.ids[order]
    if len(set(keys)) < K:
        raise file.refusal("expected distinct strings, found a duplicate")
    pairs = np.array([key[:1] == b"B" for key in keys], bool)
    if wrong := next((key for key in keys if key[:1] not in (b"U", b"B")), None):
        raise file.refusal(f"expected strings that begin with U or B, found {wrong[:32]!r}")
    ends = ids + np.where(pairs, L * L, L)
    if K and (ids[0] < 0 or ends[-1] > len(parsed.weights) or (ids[1:] < ends[:-1]).any()):
        raise file.refusal(
            f"expected weights of strings that do not overlap and end at {len(parsed.weights)}, "
            "found some that overlap or lie outside"
        )
    try:
        encoder = StringTemplateEncoder(
            "crf++", parsed.templates, StringDictionary.of(keys), columns, file.encoding
        )
    except ConfigError as e:
        raise file.refusal(str(e)) from None
    w = parsed.weights
    unary = _rows(w, ids, np.flatnonzero(~pairs), L, K)
    pair, by_pair = np.zeros((L, L)), None
    constants = [t for t in encoder.parsed if t.kind == PAIR and t.constant]
    if len(constants) == sum(t.kind == PAIR for t in encoder.parsed):
        place = {key: k for k, key in enumerate(keys)}
        total = np.zeros(L * L, np.float32)
        for template in constants:
            k = place.get(template.beginning.encode(file.encoding))
            if k is not None:
                total += w[ids[k] : ids[k] + L * L]
        pair = total.astype(np.float64).reshape(L, L)
    else:
        by_pair = _rows(w, ids, np.flatnonzero(pairs), L * L, K)
    weights = ForeignWeights(L, unary, pair, by_pair)
    told = f"a CRF++ model ({kind}): {L} labels, {len(parsed.templates)} templates, {K:,} strings"
    return tagger(
        told,
        f"CRF++ ({kind})",
        parsed.labels,
        StringFeatures(encoder),
        ForeignChain(weights, "each"),
        columns,
    )


def _rows(
    w: NDArray[np.float32], ids: NDArray[np.int64], chosen: NDArray[np.int64], width: int, K: int
) -> OrderedRows:
    """The weights of some strings, as rows of all K."""
    cells = (ids[chosen][:, None] + np.arange(width)).ravel()
    rows = np.repeat(chosen, width)
    return OrderedRows.of(rows, np.tile(np.arange(width), len(chosen)), w[cells], K)


def _strings(reader: ByteReader, what: str) -> tuple[list[str], int]:
    n = reader.u32(f"the size of the {what}")
    at = reader.at
    raw = reader.take(n, what)
    if raw and raw[-1:] != b"\0":
        raise reader.fault(f"{what} that end in NUL", raw[-1:], at=reader.at - 1)
    return [reader.file.text(s, at, what) for s in raw.split(b"\0")[:-1]], at


def _keys(file: ForeignFile, begin: int, units: NDArray[np.uint32]) -> tuple[list[bytes], NDArray[np.int64]]:
    """The strings of a double array and their numbers.

    A node with base b > 0 has its children at b + 1 + c, one for each byte c, and its number at b; all of these have
    check b, and no other node has base b. So every unit has one parent, and the trie is walked down from the root.
    """
    n = len(units)
    base, check = units[:, 0].astype(np.int32).astype(np.int64), units[:, 1].astype(np.int64)
    if n == 0:
        return [], np.zeros(0, np.int64)
    inner = np.flatnonzero((base > 0) & ((check > 0) | (np.arange(n) == 0)))
    owner = np.full(n + 1, -1, np.int64)
    far = inner[base[inner] >= n]
    inner = inner[base[inner] < n]
    owner[base[inner]] = inner
    if (owner[base[inner]] != inner).any():
        bad = int(inner[owner[base[inner]] != inner][0])
        raise file.fault(begin + 8 * bad, "nodes with bases of their own", f"base {base[bad]} twice")
    if len(far):
        bad = int(far[0])
        raise file.fault(begin + 8 * bad, f"a base below {n}", base[bad])
    used = np.flatnonzero((check > 0) & (check < n))
    byte = used - check[used] - 1
    there = (owner[check[used]] >= 0) & (byte >= -1) & (byte < 256)
    used, byte = used[there], byte[there]
    parent = np.full(n, -1, np.int64)
    parent[used] = owner[check[used]]
    letter = np.zeros(n, np.int64)
    letter[used] = byte
    # Level by level from the root; unreached units belong to no string.
    order = used[np.argsort(parent[used], kind="stable")]
    starts = np.searchsorted(parent[order], np.arange(n + 1))
    depth = np.full(n, -1, np.int64)
    depth[0] = 0
    level, leaves = np.zeros(1, np.int64), []
    while len(level):
        if depth[level[0]] > LONGEST_KEY:
            raise file.fault(
                begin, f"strings of at most {LONGEST_KEY} bytes in the double array", "longer ones"
            )
        sizes = starts[level + 1] - starts[level]
        offsets = np.repeat(starts[level] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
        below = order[offsets + np.arange(int(sizes.sum()))]
        below = below[depth[below] < 0]
        depth[below] = depth[parent[below]] + 1
        leaf = letter[below] == -1
        leaves.append(below[leaf])
        level = below[~leaf]
    ends = np.concatenate(leaves) if leaves else np.zeros(0, np.int64)
    ends = ends[base[ends] < 0]
    lengths = depth[ends] - 1
    if int(lengths.sum()) > 256 * n + (1 << 20):
        raise file.fault(begin, "strings as long as their double array allows", f"{int(lengths.sum())} bytes")
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    text = np.zeros(int(bounds[-1]), np.uint8)
    node, at = parent[ends], bounds[1:] - 1
    while len(node):
        node, at = node[node > 0], at[node > 0]
        text[at] = letter[node]
        node, at = parent[node], at - 1
    whole = text.tobytes()
    keys = [whole[a:b] for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]
    return keys, -base[ends] - 1


class _Lines:
    """The lines of a text model, with their offsets."""

    def __init__(self, file: ForeignFile) -> None:
        self.file = file
        self.offset = 0
        self._at = 0

    def next(self, what: str) -> tuple[bytes, int]:
        """The next line and its offset."""
        content, self.offset = self.file.content, self._at
        if self._at >= len(content):
            raise self.file.fault(self._at, what, "the end of the file")
        end = content.find(b"\n", self._at)
        end = len(content) if end < 0 else end
        line, self._at = content[self._at : end], end + 1
        return line.removesuffix(b"\r"), self.offset

    def fault(self, expected: str, found: object) -> Exception:
        """The error for the line that was read last."""
        return self.file.fault(self.offset, expected, found)

    def header(self, name: str) -> str:
        """The value of a line "name: value"."""
        raw, at = self.next(f"'{name}: ...'")
        key, _, value = raw.partition(b": ")
        if key != name.encode() or not value:
            raise self.file.fault(at, f"'{name}: ...'", raw)
        return value.decode("ascii", "replace").strip()

    def count(self, name: str, most: int) -> int:
        """A number of a header."""
        value = self.header(name)
        if not value.isdecimal() or not value.isascii() or len(value) > 12 or int(value) > most:
            raise self.fault(f"{name}, a number up to {most}", value)
        return int(value)

    def blank(self) -> None:
        """An empty line."""
        raw, at = self.next("a blank line")
        if raw:
            raise self.file.fault(at, "a blank line", raw)

    def block(self) -> Sequence[tuple[bytes, int]]:
        """The lines up to a blank one."""
        found: list[tuple[bytes, int]] = []
        while True:
            line, at = self.next("a blank line after this block")
            if not line:
                return found
            found.append((line, at))

    def end(self) -> None:
        """Check that only blank lines follow."""
        rest = self.file.content[self._at :]
        if rest.strip():
            raise self.file.fault(self._at, "the end of the file", rest)


def _holds_text(start: bytes) -> bool:
    return start.startswith(b"version: ") and b"cost-factor: " in start[:200]


def _holds_binary(start: bytes) -> bool:
    return start[:4] == VERSION.to_bytes(4, "little") and start[5:8] == bytes(3) and start[4:5] < b"\x04"


TEXT = ForeignFormat("crf++-text", _holds_text, read_text)
BINARY = ForeignFormat("crf++", _holds_binary, read_binary)
