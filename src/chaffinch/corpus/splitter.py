"""A column file through the native splitter: block by block for documents, at once for tables."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import ColumnText
from chaffinch.corpus.lines import (
    LONGEST_LINE,
    Lookahead,
    broken_utf8,
    carriage_return,
    fault,
    long_line,
    nul_byte,
    shown,
)
from chaffinch.corpus.losses import Losses
from chaffinch.errors import DataError
from chaffinch.files import display_name
from chaffinch.text.table import SharedTypes

_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")


@dataclass(frozen=True, kw_only=True)
class RowRules:
    """The rules by which lines become rows; the core's ColumnRules documents each field.

    expected: the words after "expected 3 columns" in an error, such as "as on line 1"
    """

    split: str = "separator"
    separator: str = "\t"
    columns: int
    kept: tuple[int, ...]
    word: int = 0
    comment: str = ""
    group: str = ""
    stray_comments: bool = False
    number_rows: bool = False
    marked: tuple[int, ...] = ()
    expected: str


@dataclass(frozen=True)
class SentenceBlock:
    """Whole sentences: distinct strings and ids per kept column, and where each sentence is.

    ptr: int64 [N+1]   lines: int64 [N], of the first token   groups: int32 [N], 0 before the first group
    remarks: comment and group lines before each sentence [N]; empty if they are not kept
    places: int64 [tokens * marked * 2], where each marked cell begins and ends in the bytes after a byte order mark
    """

    columns: list[tuple[list[str], NDArray[np.int32]]]
    ptr: NDArray[np.int64]
    lines: NDArray[np.int64]
    groups: NDArray[np.int32]
    remarks: list[list[str]]
    places: NDArray[np.int64]


def blocks(ahead: Lookahead, rules: RowRules, losses: Losses | None = None) -> Iterator[SentenceBlock]:
    """The sentences in blocks, memory bounded by a chunk and the longest sentence.

    A fault goes to the losses; if they accept it, reading continues after the blank line that ends the sentence.
    """
    tally = losses if losses is not None else Losses()
    text = _column_text(rules, ahead.number)
    found = False
    # The bytes to split, the line that they begin in, whether they are skipped up to a blank line.
    rest, line, skipping = b"", ahead.number, False
    for chunk in ahead.chunks():
        rest += chunk
        while rest:
            if skipping:
                rest, line, skipping = _after_blank_line(rest, line)
                if skipping:
                    break
                text = _column_text(rules, line)
            sound = text.feed(rest)
            block = SentenceBlock(*text.take())
            if len(block.lines):
                found = True
                yield block
            if sound:
                rest, line = b"", line + rest.count(b"\n")
                break
            tally.refuse(_error(ahead.path, text, rules))
            rest, line = _from_line(rest, line, text.fault()[1])
            found = skipping = True  # there was a sentence, though a faulty one
    if skipping:
        return
    if not text.finish():
        tally.refuse(_error(ahead.path, text, rules))
        return
    block = SentenceBlock(*text.take())
    if len(block.lines):
        yield block
    elif not found:
        raise no_sentence(ahead.path)


def _from_line(chunk: bytes, line: int, wanted: int) -> tuple[bytes, int]:
    """The part of a chunk, which begins at ``line``, from line ``wanted`` on; all of it if ``wanted`` is earlier."""
    at = 0
    while line < wanted and (end := chunk.find(b"\n", at)) >= 0:
        at, line = end + 1, line + 1
    return chunk[at:], line


def _after_blank_line(chunk: bytes, line: int) -> tuple[bytes, int, bool]:
    """The rest of a chunk after its first blank line, the line that the rest begins in, and whether no line is blank.

    If none is, the rest begins at the last line end, because a blank line may straddle two chunks.
    """
    blank = _BLANK_LINE.search(chunk)
    at = blank.end() if blank is not None else max(chunk.rfind(b"\n"), 0)
    return chunk[at:], line + chunk.count(b"\n", 0, at), blank is None


def whole(ahead: Lookahead, rules: RowRules, shared: Sequence[SharedTypes] = ()) -> SentenceBlock:
    """All sentences in one block, without remarks. shared: the types of each kept column, which may grow"""
    text = _column_text(rules, ahead.number, remarks=False, shared=shared)
    if not (all(text.feed(chunk) for chunk in ahead.chunks()) and text.finish()):
        raise _error(ahead.path, text, rules)
    block = SentenceBlock(*text.take())
    if not len(block.lines):
        raise no_sentence(ahead.path)
    return replace(block, columns=with_shared(block.columns, shared)) if shared else block


def with_shared(
    columns: Sequence[tuple[list[str], NDArray[np.int32]]], shared: Sequence[SharedTypes]
) -> list[tuple[list[str], NDArray[np.int32]]]:
    """Columns whose ids are those of shared types, with these types."""
    return [(types, ids) for types, (_, ids) in zip(shared, columns, strict=True)]


def no_sentence(path: str | Path) -> DataError:
    """The error for a file that has only blank lines and comments."""
    return DataError(f"{display_name(path)}: holds no sentence")


def _column_text(
    rules: RowRules, line: int, *, remarks: bool = True, shared: Sequence[SharedTypes] = ()
) -> ColumnText:
    return ColumnText(
        split=rules.split,
        separator=rules.separator,
        columns=rules.columns,
        kept=rules.kept,
        word=rules.word,
        comment=rules.comment,
        group=rules.group,
        stray_comments=rules.stray_comments,
        number_rows=rules.number_rows,
        longest=LONGEST_LINE,
        line=line,
        remarks=remarks,
        marked=rules.marked,
        shared=[types.interner for types in shared],
    )


def _error(path: str | Path, text: ColumnText, rules: RowRules) -> DataError:
    kind, line, found, content = text.fault()
    if kind == "columns":
        plural = "s" if rules.columns > 1 else ""
        what = f"expected {rules.columns} column{plural} {rules.expected}, found {found}: {shown(content)}"
        return fault(path, line, what)
    if kind == "empty word":
        return fault(path, line, f"no token in column {rules.word + 1}: {shown(content)}")
    if kind == "row number":
        return fault(path, line, f"expected a token number in column 1: {shown(content)}")
    faults = {
        "long line": long_line,
        "nul": nul_byte,
        "utf-8": broken_utf8,
        "carriage return": carriage_return,
    }
    return faults[kind](path, line, content)
