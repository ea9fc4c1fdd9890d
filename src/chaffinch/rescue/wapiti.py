"""Models of Wapiti, read from its text files.

    #mdl#type#n             type: 0 maximum entropy, 1 MEMM, 2 CRF; n weights that are not zero
    #rdr#patterns/columns/autouni, then the patterns as netstrings (length:text,)
    #qrk#n and n labels, #qrk#n and n observations, as netstrings
    index=weight            n lines; weights are hexadecimal floats

Weights are numbered by observation: one for each label if it begins with u or *, then one for each pair of labels if it
begins with b or *. Sums are float64; the sum of a label is first added to the sum of its pair.
"""

import re

import numpy as np

from chaffinch.corpus.column_names import default_names
from chaffinch.errors import ConfigError
from chaffinch.features.string_pieces import PAIR
from chaffinch.features.string_templates import StringDictionary, StringTemplateEncoder
from chaffinch.features.wapiti_patterns import KINDS
from chaffinch.model.foreign_chain import ForeignChain, ForeignWeights, OrderedRows, StringFeatures
from chaffinch.rescue.chains import check_labels, tagger
from chaffinch.rescue.foreign import ForeignFile, ForeignFormat, Rescued

MAXIMUM_ENTROPY, MEMM, CRF = 0, 1, 2
MOST_COLUMNS = 1024
_FLOAT = re.compile(rb"-?(0x)?[0-9a-fA-F]*\.?[0-9a-fA-F]*([pe][+-]?\d{1,5})?")


def read(file: ForeignFile) -> Rescued:
    """The tagger of a model."""
    lines = _Sections(file)
    head, at = lines.match(rb"#mdl#(?:(\d{1,9})#)?(\d{1,15})\n", "#mdl#type#weights")
    kind, active = head
    if kind not in (MAXIMUM_ENTROPY, CRF):
        what = "a MEMM" if kind == MEMM else f"a model of type {kind}"
        raise file.refusal(f"is {what} of Wapiti; only CRFs are read")
    (n_patterns, n_columns, autouni), at = lines.match(
        rb"#rdr#(\d{1,9})/(\d{1,9})(?:/(-?\d{1,9}))?\n", "#rdr#patterns/columns/autouni"
    )
    if autouni:
        raise file.refusal(
            "reads ready-made features of single tokens (autouni), which is not reproduced here"
        )
    if n_patterns == 0:
        raise file.refusal("has no patterns: its input is ready-made features, which are not reproduced here")
    if n_columns >= MOST_COLUMNS:
        raise file.fault(at, f"fewer than {MOST_COLUMNS} columns", n_columns)
    patterns = [file.text(raw, k, "a pattern") for raw, k in lines.netstrings(n_patterns, "a pattern")]
    labels = [file.text(raw, k, "a label") for raw, k in lines.listed("labels")]
    check_labels(file, at, labels)
    observations = [raw for raw, _ in lines.listed("observations")]
    if len(set(observations)) < len(observations):
        raise file.refusal("expected distinct observations, found the same one twice")
    L, columns = len(labels), default_names(n_columns + 1)
    try:
        encoder = StringTemplateEncoder(
            "wapiti", patterns, StringDictionary.of(observations), columns, file.encoding
        )
    except ConfigError as e:
        raise file.refusal(str(e)) from None
    if wrong := next((o for o in observations if chr(o[0]) not in KINDS), None):
        raise file.refusal(f"expected observations that begin with u, b or *, found {wrong[:32]!r}")
    index, weights = lines.weights(active)
    kinds = np.array([KINDS[chr(o[0])] for o in observations], np.int64)
    has_unary = (kinds & 1) * L
    starts = np.concatenate([[0], np.cumsum(has_unary + (kinds >> 1) * L * L)])
    if len(index) and int(index.max()) >= starts[-1]:
        raise file.refusal(f"expected weights numbered below {starts[-1]}, found {int(index.max())}")
    last = {int(f): k for k, f in enumerate(index.tolist())}  # the last of equal numbers counts
    chosen = np.fromiter(last.values(), np.int64, len(last))
    index, weights = index[chosen], weights[chosen]
    row = np.searchsorted(starts, index, side="right") - 1
    cell = index - starts[row]
    of_label = cell < has_unary[row]
    K = len(observations)
    unary = OrderedRows.of(row[of_label], cell[of_label], weights[of_label], K)
    pairs = OrderedRows.of(row[~of_label], (cell - has_unary[row])[~of_label], weights[~of_label], K)
    of_pairs = [t for t in encoder.parsed if t.kind & PAIR]
    pair, by_pair = np.zeros((L, L)), None
    if all(t.constant for t in of_pairs):  # the same at every token
        place = {o: k for k, o in enumerate(observations)}
        for pattern in of_pairs:
            k = place.get(pattern.beginning.encode(file.encoding))
            pair += 0.0 if k is None else pairs.dense(np.array([k], np.int32), L * L).reshape(L, L)
    else:
        by_pair = pairs
    chain = ForeignChain(ForeignWeights(L, unary, pair, by_pair), "joined")
    told = f"a Wapiti model: {L} labels, {len(patterns)} patterns, {K:,} observations"
    return tagger(told, "Wapiti", labels, StringFeatures(encoder), chain, columns)


class _Sections:
    """The sections of a model, one after the other."""

    def __init__(self, file: ForeignFile) -> None:
        self.file = file
        self.at = 0

    def match(self, expression: bytes, what: str) -> tuple[list[int], int]:
        """The numbers of a line, 0 for missing ones, and its offset."""
        found = re.compile(expression).match(self.file.content, self.at)
        if found is None:
            raise self.file.fault(self.at, what, self.file.content[self.at : self.at + 40])
        begin, self.at = self.at, found.end()
        return [int(number or 0) for number in found.groups()], begin

    def listed(self, what: str) -> list[tuple[bytes, int]]:
        """A list of strings, which begins with its length."""
        (count,), _ = self.match(rb"#qrk#(\d{1,15})\n", f"#qrk# and the number of {what}")
        return self.netstrings(count, f"one of the {what}")

    def netstrings(self, count: int, what: str) -> list[tuple[bytes, int]]:
        """Netstrings (length, colon, text, comma) and their offsets."""
        content, found = self.file.content, []
        if count > len(content) - self.at:
            raise self.file.fault(self.at, f"{count} strings", f"{len(content) - self.at} bytes to the end")
        for _ in range(count):
            colon = content.find(b":", self.at, self.at + 12)
            size = content[self.at : colon] if colon > 0 else b""
            if not size.isdigit():
                raise self.file.fault(self.at, f"{what} (length:text,)", content[self.at : self.at + 20])
            end = colon + 1 + int(size)
            if content[end : end + 2] != b",\n":
                raise self.file.fault(end, f"a comma after {what}", content[end : end + 2])
            text = content[colon + 1 : end]
            if not text or b"\0" in text:
                raise self.file.fault(colon + 1, f"{what} without NUL", text)
            found.append((text, colon + 1))
            self.at = end + 2
        return found

    def weights(self, count: int) -> "tuple[np.ndarray, np.ndarray]":
        """The numbers and values of the weights."""
        lines = self.file.content[self.at :].split(b"\n")
        while lines and not lines[-1].strip():
            lines.pop()
        if len(lines) != count:
            raise self.file.fault(self.at, f"{count} weights", f"{len(lines)} lines")
        index, values = np.zeros(count, np.int64), np.zeros(count)
        at = self.at
        for k, line in enumerate(lines):
            number, _, value = line.partition(b"=")
            if not number.isdigit() or len(number) > 18 or not value or not _FLOAT.fullmatch(value):
                raise self.file.fault(at, "number=weight", line)
            try:
                text = value.decode()
                values[k] = float.fromhex(text) if "0x" in text else float(text)
            except (ValueError, OverflowError):
                raise self.file.fault(at, "number=weight", line) from None
            index[k] = int(number)
            at += len(line) + 1
        return index, values


def _holds(start: bytes) -> bool:
    return start.startswith(b"#mdl#")


FORMAT = ForeignFormat("wapiti", _holds, read)
