"""CoNLL-U: ten columns, multi-word tokens, empty nodes, and comments that carry the text and its ids."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch.corpus.conllu_text import (
    CELLS,
    COMBINED,
    EMPTY_NODE,
    FORM,
    MISC,
    RANGE,
    Unit,
    placed,
    space_after,
    text_of,
)
from chaffinch.corpus.conllu_writer import write
from chaffinch.corpus.format import Format
from chaffinch.corpus.lines import BOM, Lookahead, fault, shown
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.splitter import RowRules, blocks, whole
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import reading
from chaffinch.knobs import configured, knob
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.table import Column, TokenTable

# What a table holds unless asked for else: the others are nearly as many as the tokens.
TABLE_COLUMNS = ("lemma", "upos", "xpos", "feats", "deprel")


@dataclass(frozen=True, kw_only=True)
class ConlluOptions:
    """Which columns of the ten to keep, and which one to learn."""

    label: str = knob("upos", "column to learn: upos, xpos, deprel ..., upos|feats, or '' for none")
    columns: str | None = knob(None, "columns to keep, such as lemma,xpos; by default all")
    rebuild_text: bool = knob(False, "take the text from the forms and SpaceAfter, not from '# text'")


def read(path: str | Path, *, losses: Losses | None = None, **settings: Any) -> Iterator[Document]:
    """The sentences of a CoNLL-U file; settings as in :class:`ConlluOptions`.

    The label's column becomes ``y``, the others keep their names. ``# sent_id`` is the id, ``# newdoc`` starts
    a group, ``# text`` is the text. Other comments, multi-word tokens and empty nodes are kept among the
    fields, so that a file is written back as it was.
    """
    options: ConlluOptions = configured(ConlluOptions, settings, "conllu")
    names = _kept(options, CELLS[1:])
    number, group = 0, None
    tally = losses if losses is not None else Losses()
    with reading(path) as stream:
        for block in blocks(Lookahead(path, stream), _rules(range(10), number_rows=False), losses):
            rows = list(zip(*(_strings(types, ids.tolist()) for types, ids in block.columns), strict=True))
            bounds, lines, groups = block.ptr.tolist(), block.lines.tolist(), block.groups.tolist()
            for n, remarks in enumerate(block.remarks):
                fields = _fields(remarks)
                named = fields.pop("newdoc id", None)
                fields.pop("newdoc", None)
                if groups[n] != number:
                    number = groups[n]
                    group = named or str(number)
                sentence = _Sentence(path, lines[n], rows[bounds[n] : bounds[n + 1]], fields)
                try:
                    made = sentence.document(names, options, group)
                except DataError as e:
                    tally.refuse(e)
                    continue
                yield made


def read_table(path: str | Path, **settings: Any) -> TokenTable:
    """The words of the whole file as a token table: ``w``, some columns (TABLE_COLUMNS unless named), ``y``."""
    options: ConlluOptions = configured(ConlluOptions, settings, "conllu")
    names = _kept(options, TABLE_COLUMNS)
    label = label_columns(options.label)
    taken = list(dict.fromkeys(["form", *names, *label]))
    with reading(path) as stream:
        rules = _rules([CELLS.index(name) + 1 for name in taken], number_rows=True)
        block = whole(Lookahead(path, stream), rules)
    found = {name: Column(types, ids) for name, (types, ids) in zip(taken, block.columns, strict=True)}
    columns = {WORD: found["form"]} | {name: found[name] for name in names}
    if label:
        columns[LABEL] = found[label[0]] if len(label) == 1 else _joined(found[label[0]], found[label[1]])
    return TokenTable(block.ptr, columns, block.groups if block.groups[-1] else None)


def label_columns(label: str) -> tuple[str, ...]:
    """The column that a label names, the two of ``upos|feats``, or none."""
    if label in ("", *CELLS):
        return (label,) if label else ()
    if label in COMBINED:
        return COMBINED[label]
    raise ConfigError(f"CoNLL-U has no column {label!r}; it has {', '.join([*CELLS, *COMBINED])}")


def learned(columns: Sequence[str]) -> str:
    """The label that a table with these columns was read with, as :func:`read_table` names them.

    >>> learned(["w", "lemma", "upos", "feats", "deprel", "y"]), learned(["w", "y"])
    ('xpos', 'upos')
    """
    missing = tuple(name for name in TABLE_COLUMNS if name not in columns)
    combined = next((label for label, pair in COMBINED.items() if missing == pair), None)
    return combined or next(
        name for name in ("upos", "xpos", *TABLE_COLUMNS, *CELLS[1:]) if name not in columns
    )


def looks_like(_name: str, head: bytes) -> bool:
    """Comments, then a row of ten cells that is numbered 1 (or starts a range or an empty node)."""
    for line in head.removeprefix(BOM).split(b"\n"):
        if line.strip() and not line.startswith(b"#"):
            return line.count(b"\t") == 9 and re.match(rb"1\t|1-[0-9]+\t|0\.1\t", line) is not None
    return False


@dataclass(frozen=True)
class _Sentence:
    """The rows of one sentence, its comments, and where it begins in its file."""

    path: str | Path
    line: int
    rows: list[tuple[str, ...]]
    fields: dict[str, str]

    def document(self, names: tuple[str, ...], options: ConlluOptions, group: str | None) -> Document:
        words, units = self._words()
        if not words:
            raise fault(self.path, self.line, "a sentence without words")
        written = self.fields.pop("text", None)
        text = text_of(units) if written is None or options.rebuild_text else written
        tokens = placed(units, text)
        if isinstance(tokens, str):
            raise fault(
                self.path,
                self.line,
                f"'# text' does not go with the forms at {shown(tokens)}; "
                "read with rebuild_text to take the text from the forms",
            )
        cells = dict(zip(CELLS, zip(*words, strict=True), strict=True))
        columns = {name: list(cells[name]) for name in names}
        label = label_columns(options.label)
        if label:
            columns[LABEL] = ["|".join(parts) for parts in zip(*(cells[name] for name in label), strict=True)]
        sentence_id = self.fields.pop("sent_id", None)
        return Document(
            text, tokens, columns, id=sentence_id, group=group, fields=self.fields, line=self.line
        )

    def _words(self) -> tuple[list[tuple[str, ...]], list[Unit]]:
        """The cells of the words; the units of the text. Ranges and empty nodes go to the fields."""
        words: list[tuple[str, ...]] = []
        units: list[Unit] = []
        within = 0  # the last word of the range being read
        for r, (number, *cells) in enumerate(self.rows):
            if number == str(len(words) + 1):
                words.append(tuple(cells))
                if len(words) > within:
                    units.append(Unit(cells[FORM], [cells[FORM]], space_after(cells[MISC])))
                else:
                    units[-1].words.append(cells[FORM])
            elif (
                (m := RANGE.fullmatch(number))
                and int(m[1]) == len(words) + 1 > within
                and int(m[1]) < int(m[2])
            ):
                within = int(m[2])
                units.append(Unit(cells[FORM], [], space_after(cells[MISC])))
                self.fields[number] = "\t".join(cells)
            elif (m := EMPTY_NODE.fullmatch(number)) and int(m[1]) == len(words):
                self.fields[number] = "\t".join(cells)
            else:
                what = f"expected token {len(words) + 1}, a range or an empty node, found {shown(number)}"
                raise fault(self.path, self.line + r, what)
        if within > len(words):
            raise fault(self.path, self.line, f"a range ends at token {within}, the sentence at {len(words)}")
        return words, units


def _fields(remarks: list[str]) -> dict[str, str]:
    """``# key = value`` by key; a comment without a value has an empty one, a repeated key several lines."""
    fields: dict[str, str] = {}
    for remark in remarks:
        key, _, value = remark.removeprefix("#").removeprefix(" ").partition(" = ")
        fields[key] = f"{fields[key]}\n{value}" if key in fields else value
    return fields


def _rules(kept: Iterable[int], *, number_rows: bool) -> RowRules:
    return RowRules(
        columns=10,
        kept=tuple(kept),
        word=CELLS.index("form") + 1,
        comment="#",
        group="# newdoc",
        number_rows=number_rows,
        expected="separated by tabs, as CoNLL-U has",
    )


def _kept(options: ConlluOptions, default: tuple[str, ...]) -> tuple[str, ...]:
    """The columns to keep beside the form, the label's own left out."""
    names = default if options.columns is None else tuple(c for c in re.split("[, ]", options.columns) if c)
    for name in names:
        if name not in CELLS and name not in (WORD, LABEL):
            raise ConfigError(f"CoNLL-U has no column {name!r}; it has {', '.join(CELLS)}")
    label = label_columns(options.label)
    return tuple(name for name in names if name not in (WORD, LABEL, "form", *label))


def _joined(a: Column, b: Column) -> Column:
    """One column of ``a|b`` strings, in order of first sight."""
    keys = a.ids.astype(np.int64) * len(b.types) + b.ids
    distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    types = [f"{a.types[k // len(b.types)]}|{b.types[k % len(b.types)]}" for k in distinct[order].tolist()]
    return Column(types, rank[inverse].astype(np.int32))


def _strings(types: list[str], ids: list[int]) -> list[str]:
    return [types[i] for i in ids]


FORMAT = Format(
    name="conllu",
    extensions=(".conllu",),
    read=read,
    write=write,
    carries=frozenset({"text", "tokens", "columns", "id", "group", "fields"}),
    looks_like=looks_like,
    options=ConlluOptions,
    columns=(*CELLS, "pos", LABEL),
)
