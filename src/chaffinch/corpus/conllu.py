"""CoNLL-U: ten columns, multi-word tokens, empty nodes, and comments that carry the text and its ids."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.corpus.columns import encoded
from chaffinch.corpus.format import Format
from chaffinch.corpus.json_records import as_text
from chaffinch.corpus.lines import BOM, Lookahead, fault, shown
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.splitter import RowRules, blocks, whole
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import reading, writing
from chaffinch.knobs import configured, knob
from chaffinch.text.document import LABEL, WORD, Document, Token
from chaffinch.text.table import Column, SharedTypes, TokenTable

# The nine cells after the number; the form is the word.
CELLS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FORM, MISC = CELLS.index("form"), CELLS.index("misc")
# Labels that join two columns.
COMBINED = {"upos|feats": ("upos", "feats"), "xpos|feats": ("xpos", "feats")}
NOTHING = "_"

RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
EMPTY_NODE = re.compile(r"(0|[1-9][0-9]*)\.([1-9][0-9]*)")

# The columns of a table by default: the others have nearly as many values as tokens.
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
                sentence = _SentenceRows(path, lines[n], rows[bounds[n] : bounds[n + 1]], fields)
                try:
                    made = sentence.document(names, options, group)
                except DataError as e:
                    tally.refuse(e)
                    continue
                yield made


def read_table(path: str | Path, **settings: Any) -> TokenTable:
    """The words of the whole file as a token table: ``w``, some columns (TABLE_COLUMNS unless named), ``y``."""
    return _table(path, configured(ConlluOptions, settings, "conllu"))[0]


def read_places(
    path: str | Path, columns: Sequence[str], label: str, shared: Sequence[SharedTypes] = ()
) -> tuple[TokenTable, NDArray[np.int64]]:
    """The words of the whole file and these columns as a token table, and the places of the label for `relabelled`.

    shared: the types of the words and of each column
    """
    options = ConlluOptions(label="", columns=",".join(columns))
    marked = tuple(sorted(1 + CELLS.index(name) for name in label_columns(label)))
    return _table(path, options, marked, shared)


def _table(
    path: str | Path,
    options: ConlluOptions,
    marked: tuple[int, ...] = (),
    shared: Sequence[SharedTypes] = (),
) -> tuple[TokenTable, NDArray[np.int64]]:
    """The table, and the places of the cells of marked columns."""
    names = _kept(options, TABLE_COLUMNS)
    label = label_columns(options.label)
    taken = list(dict.fromkeys(["form", *names, *label]))
    with reading(path) as stream:
        rules = _rules([CELLS.index(name) + 1 for name in taken], number_rows=True)
        ahead = Lookahead(path, stream, at_once=bool(marked))
        block = whole(ahead, replace(rules, marked=marked), shared)
    found = {name: Column(types, ids) for name, (types, ids) in zip(taken, block.columns, strict=True)}
    columns = {WORD: found["form"]} | {name: found[name] for name in names}
    if label:
        columns[LABEL] = found[label[0]] if len(label) == 1 else _joined(found[label[0]], found[label[1]])
    return TokenTable(block.ptr, columns, block.groups if block.groups[-1] else None), block.places


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
class _SentenceRows:
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
                f"'# text' does not match the forms at {shown(tokens)}; "
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

    def _words(self) -> tuple[list[tuple[str, ...]], list["Unit"]]:
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
    """The columns to keep besides the form and the label."""
    names = default if options.columns is None else tuple(c for c in re.split("[, ]", options.columns) if c)
    for name in names:
        if name not in CELLS and name not in (WORD, LABEL):
            raise ConfigError(f"CoNLL-U has no column {name!r}; it has {', '.join(CELLS)}")
    label = label_columns(options.label)
    return tuple(name for name in names if name not in (WORD, LABEL, "form", *label))


def _joined(a: Column, b: Column) -> Column:
    """One column of ``a|b`` strings, in order of first occurrence."""
    keys = a.ids.astype(np.int64) * len(b.types) + b.ids
    distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    types = [f"{a.types[k // len(b.types)]}|{b.types[k % len(b.types)]}" for k in distinct[order].tolist()]
    return Column(types, rank[inverse].astype(np.int32))


def _strings(types: list[str], ids: list[int]) -> list[str]:
    return [types[i] for i in ids]


# -- offsets of the words in the sentence's text --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of the text: one word, or a multi-word token of several."""

    form: str
    words: list[str]
    space_after: bool


def labelled(names: Sequence[str], y: Sequence[str]) -> dict[str, list[str]]:
    """Labels split into the column or the two columns that they come from.

    >>> labelled(("upos", "feats"), ["NOUN|Number=Sing", "X"])
    {'upos': ['NOUN', 'X'], 'feats': ['Number=Sing', '_']}
    """
    if len(names) == 1:
        return {names[0]: list(y)}
    first, second = names
    parts = [label.partition("|") for label in y]
    return {first: [a for a, _, _ in parts], second: [b or NOTHING for _, _, b in parts]}


def space_after(misc: str) -> bool:
    """Whether a misc cell allows a space after the word."""
    return "SpaceAfter=No" not in misc.split("|")


def text_of(units: Sequence[Unit]) -> str:
    """The text of forms and SpaceAfter.

    >>> text_of([Unit("don't", ["do", "n't"], True), Unit("go", ["go"], False), Unit(".", ["."], True)])
    "don't go."
    """
    pieces = [unit.form + " " * unit.space_after for unit in units[:-1]]
    return "".join([*pieces, units[-1].form])


def placed(units: Sequence[Unit], text: str) -> list[Token] | str:
    """The words as tokens of the text, or the first form that the text does not have at its position.

    Only white space may stand between units. If the words of a multi-word token spell it (do + n't), each has its own
    stretch; otherwise each has all of it (de + le, written du).

    >>> placed([Unit("du", ["de", "le"], True), Unit("vin", ["vin"], True)], "du vin")
    [Token(text='de', start=0, end=2), Token(text='le', start=0, end=2), Token(text='vin', start=3, end=6)]
    """
    tokens = []
    at = 0
    for unit in units:
        while not text.startswith(unit.form, at):
            if at >= len(text) or not text[at].isspace():
                return unit.form
            at += 1
        end = at + len(unit.form)
        if "".join(unit.words) == unit.form:
            for word in unit.words:
                tokens.append(Token(word, at, at + len(word)))
                at += len(word)
        else:
            tokens += [Token(word, at, end) for word in unit.words]
            at = end
    return tokens if not text[at:].strip() else text[at:].strip()


# -- writing --------------------------------------------------------------------------------------------------------


_RESERVED = ("sent_id", "text", "newdoc", "newdoc id")


def write(documents: Iterable[Document], path: str | Path) -> None:
    """Write sentences as CoNLL-U.

    The label ``y`` goes to the column that the document lacks: upos, else xpos, else another of the ten;
    ``pos`` to xpos. Without a misc column, SpaceAfter=No comes from the tokens' places.
    """
    group, groups = None, 0
    with writing(path) as stream:
        for number, document in enumerate(documents, 1):
            lines = []
            if document.group != group:
                group, groups = document.group, groups + 1
                if group is None:
                    raise DataError(f"sentence {number}: belongs to no document, but follows one that does")
                lines.append("# newdoc" if group == str(groups) else f"# newdoc id = {group}")
            try:
                lines += _lines(document)
            except _Unfit as e:
                raise DataError(f"sentence {number}{e}") from None
            for line in lines:
                if any(sign in line for sign in "\n\r\0"):
                    raise DataError(f"sentence {number}: a line end or a NUL inside a line: {shown(line)}")
            stream.write(encoded("\n".join(lines) + "\n\n", number))


def relabelled(content: bytes, label: str, labels: Column, places: NDArray[np.int64]) -> bytes:
    r"""The text of a file with other labels and all else unchanged; places: as :func:`read_places` gives them.

    A blank line ends the last sentence, if none does.

    >>> y, places = Column(["DET"], np.zeros(1, np.int32)), np.array([11, 12])
    >>> relabelled(b"# id\n1\ta\t_\tX\t_\t_\t_\t_\t_\t_", "upos", y, places)
    b'# id\n1\ta\t_\tDET\t_\t_\t_\t_\t_\t_\n\n'
    """
    cells = labelled(label_columns(label), labels.types)
    columns = [cells[name] for name in sorted(cells, key=CELLS.index)]
    text = content.removeprefix(BOM)
    end = b"" if text.endswith((b"\n\n", b"\n\r\n")) else b"\n" if text.endswith(b"\n") else b"\n\n"
    made = _core.relabelled(text, places, columns, labels.ids, end)
    return made if text is content else BOM + made


def misc(document: Document) -> list[str]:
    """The last column: the document's own, else SpaceAfter=No if the next token follows without a space.

    >>> from chaffinch.text.document import Token
    >>> misc(Document("no.", [Token("no", 0, 2), Token(".", 2, 3)]))
    ['SpaceAfter=No', '_']
    """
    if "misc" in document.columns:
        return document.columns["misc"]
    joined = [a.end == b.start for a, b in itertools.pairwise(document.tokens)]
    return ["SpaceAfter=No" if j else NOTHING for j in [*joined, False]] if document.tokens else []


class _Unfit(Exception):
    """The reason why CoNLL-U cannot hold a sentence, to follow its number."""


def _lines(document: Document) -> list[str]:
    rows = _rows(document)
    fields = {key: as_text(value) for key, value in document.fields.items()}
    extra = {key: value for key, value in fields.items() if _is_row(key, value)}
    units = _units(rows, extra)
    if placed(units, document.text) != document.tokens:
        raise _Unfit(f": expected a text made of its tokens and white space, found {shown(document.text)}")
    lines = [] if document.id is None else [f"# sent_id = {document.id}"]
    for key, values in fields.items():
        if key in extra:
            continue
        if key in _RESERVED or not key or " = " in key or key != key.strip() or (" =" in key and not values):
            raise _Unfit(f": a field cannot be called {key!r} in a comment")
        lines += [f"# {key} = {value}" if value else f"# {key}" for value in values.split("\n")]
    lines.append(f"# text = {document.text}")
    lines += [f"{key}\t{row}" for key, row in extra.items() if key.startswith("0.")]
    for i, row in enumerate(rows, 1):
        lines += [f"{key}\t{row}" for key, row in extra.items() if key.startswith(f"{i}-")]
        lines.append("\t".join([str(i), *row]))
        lines += [f"{key}\t{row}" for key, row in extra.items() if key.startswith(f"{i}.")]
    return lines


def _rows(document: Document) -> list[tuple[str, ...]]:
    """The nine cells of each word."""
    if not document.tokens:
        raise _Unfit(f": has no tokens: {shown(document.text)}")
    columns = _columns(document)
    rows = list(zip(*(columns[name] for name in CELLS), strict=True))
    for t, row in enumerate(rows, 1):
        for name, cell in zip(CELLS, row, strict=True):
            if not cell or any(sign in cell for sign in "\t\n\r\0"):
                why = "is empty" if not cell else "holds a tab, a line end or a NUL"
                raise _Unfit(f", token {t} {shown(row[FORM])}: column {name!r} {why}: {shown(cell)}")
    return rows


def _columns(document: Document) -> dict[str, list[str]]:
    T = len(document.tokens)
    columns = {"form": document.words()} | document.columns
    y = columns.pop(LABEL, None)
    if "pos" in columns and "xpos" not in columns:
        columns["xpos"] = columns.pop("pos")
    for name in columns:
        if name not in CELLS:
            raise _Unfit(f": CoNLL-U has no column {name!r}; it has {', '.join(CELLS)}")
        if len(columns[name]) != T:
            raise _Unfit(f": column {name!r} has {len(columns[name])} cells for {T} tokens")
    if y is not None:
        _place_labels(columns, y)
    columns["misc"] = misc(document)
    return {name: columns.get(name, [NOTHING] * T) for name in CELLS}


def _place_labels(columns: dict[str, list[str]], y: list[str]) -> None:
    """Into the column or the two columns that are missing."""
    missing = tuple(name for name in CELLS if name not in columns)
    if missing in COMBINED.values() and all("|" in label for label in y):
        columns |= labelled(missing, y)
        return
    for name in ("upos", "xpos", *CELLS[:-1]):
        if name in missing:
            columns[name] = y
            return
    if columns["upos"] != y:
        raise _Unfit(f": no column is free for {LABEL!r}: all ten are used")


def _is_row(key: str, value: str) -> bool:
    """Whether a field is a multi-word token or an empty node of a CoNLL-U file."""
    named = RANGE.fullmatch(key) or EMPTY_NODE.fullmatch(key)
    return named is not None and value.count("\t") == len(CELLS) - 1


def _units(rows: list[tuple[str, ...]], extra: dict[str, str]) -> list[Unit]:
    ranges = {}
    for key, value in extra.items():
        if m := RANGE.fullmatch(key):
            ranges[int(m[1])] = int(m[2]), value.split("\t")
            if not int(m[1]) < int(m[2]) <= len(rows):
                raise _Unfit(f": the range {key} is not within its {len(rows)} tokens")
    units = []
    i = 1
    while i <= len(rows):
        end, cells = ranges.get(i, (i, rows[i - 1]))
        units.append(Unit(cells[FORM], [row[FORM] for row in rows[i - 1 : end]], space_after(cells[MISC])))
        i = end + 1
    return units


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
