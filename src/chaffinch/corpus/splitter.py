"""A column file through the native splitter: block by block for documents, at once for tables."""

from collections.abc import Iterator
from dataclasses import dataclass
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
from chaffinch.errors import DataError
from chaffinch.files import display_name


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How lines become rows; the native ColumnRules says what each field means.

    expected: what a message says after "expected 3 columns", such as "as on line 1"
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
    expected: str


@dataclass(frozen=True)
class Block:
    """Whole sentences: distinct strings and ids per kept column, and where each sentence is.

    ptr: int64 [N+1]   lines: int64 [N], of the first token   groups: int32 [N], 0 before the first group
    remarks: comment and group lines before each sentence [N]
    """

    columns: list[tuple[list[str], NDArray[np.int32]]]
    ptr: NDArray[np.int64]
    lines: NDArray[np.int64]
    groups: NDArray[np.int32]
    remarks: list[list[str]]


def blocks(ahead: Lookahead, rules: Rules) -> Iterator[Block]:
    """The sentences in blocks, memory bounded by a chunk and the longest sentence."""
    text = _column_text(rules, ahead.number)
    found = False
    for chunk in ahead.chunks():
        sound = text.feed(chunk)
        block = Block(*text.take())
        if len(block.lines):
            found = True
            yield block
        if not sound:
            raise _error(ahead.path, text, rules)
    if not text.finish():
        raise _error(ahead.path, text, rules)
    block = Block(*text.take())
    if len(block.lines):
        yield block
    elif not found:
        raise no_sentence(ahead.path)


def whole(ahead: Lookahead, rules: Rules) -> Block:
    """All sentences in one block."""
    text = _column_text(rules, ahead.number)
    if not (all(text.feed(chunk) for chunk in ahead.chunks()) and text.finish()):
        raise _error(ahead.path, text, rules)
    block = Block(*text.take())
    if not len(block.lines):
        raise no_sentence(ahead.path)
    return block


def no_sentence(path: str | Path) -> DataError:
    """The error for a file with blank lines and remarks only."""
    return DataError(f"{display_name(path)}: holds no sentence")


def _column_text(rules: Rules, line: int) -> ColumnText:
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
    )


def _error(path: str | Path, text: ColumnText, rules: Rules) -> DataError:
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
