"""CoNLL-style columns: a token per line, a blank line between sentences, ``-DOCSTART-`` between documents."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.corpus.column_names import Picked, picked
from chaffinch.corpus.format import Format
from chaffinch.corpus.lines import BOM, Lookahead, decoded, shown
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.plain_text import may_be_text
from chaffinch.corpus.splitter import RowRules, SentenceBlock, blocks, no_sentence, whole
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.files import display_name, reading, writing
from chaffinch.knobs import configured, knob
from chaffinch.text.document import WORD, Document
from chaffinch.text.table import Column, SharedTypes, TokenTable

SEEN = 200  # rows that the detection reads
_TAG = re.compile(rb"[BIOESLUM]-\S+|[^a-z]*[A-Z][^a-z]*|[^\w\s]+")  # B-PER, NN, PRP$, a sign

WORD_HEADERS = frozenset({"word", "words", "token", "tokens", "form"})
TAG_HEADERS = frozenset(
    "label labels tag tags ner ner_tag ner_tags entity iob bio slot pos pos_tag pos_tags upos xpos chunk chunk_tag "
    "chunk_tags lemma feats".split()
)
SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "spaces": "spaces"}


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The layout of a column file, if it is not the usual one."""

    separator: str | None = knob(
        None, "separator of columns: tab, space, spaces (any run) or a string; by default detected"
    )
    columns: str | None = knob(None, "names (w,pos,y), numbers to pick (1,4) or both (w=2,y=4)")
    header: bool = knob(False, "the first line names the columns")
    word: str = knob("1", "column of the words: number or name")
    label: str = knob("-1", "column to learn: number (-1 is the last) or name; '' if there is none")
    comments: str | None = knob(None, "prefix of comment lines, such as '# '")


def read(path: str | Path, *, losses: Losses | None = None, **settings: Any) -> Iterator[Document]:
    """The sentences of a column file as documents; settings as in :class:`ColumnOptions`.

    The word becomes the token and column ``w``, the last column (or the one that ``label`` names) ``y``; a
    single column between them is ``pos``, several are ``x1``, ``x2`` and so on.

    A line that starts with ``#`` is an ordinary token, unless ``comments`` says otherwise or it comes before
    a sentence, starts with ``# `` and has a different number of columns.
    """
    with _opened(path, _options(settings)) as (ahead, rules, columns):
        yield from documents(blocks(ahead, rules, losses), columns.names)


def read_table(path: str | Path, **settings: Any) -> TokenTable:
    """The whole file as a token table, directly from its bytes; settings as for :func:`read`."""
    with _opened(path, _options(settings)) as (ahead, rules, columns):
        return table(whole(ahead, rules), columns.names)


@dataclass(frozen=True)
class PlacedColumns:
    """Sentences of a file, and where their cells are in its bytes.

    table:   the columns that were asked for, the word first   width: the number of all columns
    places:  int64 [tokens * width * 2], where each cell begins and ends after the first ``skipped`` bytes
    """

    table: TokenTable
    width: int
    places: NDArray[np.int64]
    skipped: int

    def labelled(self, content: bytes, separator: str, labels: Column) -> bytes:
        """The lines that :meth:`TokenTable.text` gives of all columns and labels. content: the file's bytes"""
        spelt, ids = [str(label) for label in labels.types], labels.ids
        return _core.labelled_rows(
            content, self.skipped, self.table.ptr, self.places, self.width, separator, spelt, ids
        )


def read_places(
    path: str | Path,
    names: Callable[[int], Sequence[str]],
    wanted: Sequence[str],
    shared: Callable[[Sequence[str]], Sequence[SharedTypes]],
) -> PlacedColumns | None:
    """A file without labels, whose columns are words and others; None if the first column is not the word.

    names: of so many columns   wanted: columns of the table, beside the word   shared: the types of columns, if any
    """
    with _opened(path, _options({"label": ""})) as (ahead, rules, columns):
        width = len(columns.indices)
        every = names(width)
        kept = [name for name in every if name == WORD or name in wanted]
        if columns.indices != tuple(range(width)) or columns.names[0] != WORD or every[0] != WORD:
            return None
        indices = tuple(every.index(name) for name in kept)
        skipped = ahead.dropped
        block = whole(ahead, replace(rules, kept=indices, marked=columns.indices), shared(kept))
        return PlacedColumns(table(block, tuple(kept)), width, block.places, skipped)


def table(block: SentenceBlock, names: tuple[str, ...]) -> TokenTable:
    """A block as a table; the word comes first."""
    columns = {name: Column(types, ids) for name, (types, ids) in zip(names, block.columns, strict=True)}
    columns = {WORD: columns[WORD]} | columns
    return TokenTable(block.ptr, columns, block.groups if block.groups[-1] else None)


def documents(parsed: Iterable[SentenceBlock], names: tuple[str, ...]) -> Iterator[Document]:
    """The sentences of the blocks; a group has the name in its line, ``-DOCSTART- (name)``, or its number."""
    group, group_name = 0, ""
    for block in parsed:
        columns = {
            name: (types, ids.tolist()) for name, (types, ids) in zip(names, block.columns, strict=True)
        }
        words, word_ids = columns.pop(WORD)
        bounds, groups, lines = block.ptr.tolist(), block.groups.tolist(), block.lines.tolist()
        for n, remarks in enumerate(block.remarks):
            start, end = bounds[n], bounds[n + 1]
            document = Document.from_words([words[i] for i in word_ids[start:end]])
            document.columns = {
                name: [types[i] for i in ids[start:end]] for name, (types, ids) in columns.items()
            }
            if groups[n] != group:
                group = groups[n]
                group_name = _group_name(remarks) or str(group)
            document.group, document.line = group_name or None, lines[n]
            yield document


def looks_like(name: str, head: bytes) -> bool:
    """Blank lines between runs of lines with the same number of cells; if it may be text, one cell must be a tag."""
    if may_be_text(name):
        return layout(head).columns
    rows = [row for run in _runs(head) for row in run][:SEEN]
    return _has_blank_line(head) and len({len(row) for row in rows}) == 1


@dataclass(frozen=True)
class LayoutGuess:
    """Whether the start of a file looks like columns, and whether plain text is excluded."""

    columns: bool
    sure: bool


def layout(head: bytes) -> LayoutGuess:
    """Whether lines are tokens with a column of tags, or sentences that happen to be equally long.

    Columns have blank lines between runs of rows with the same number of cells. Rows with tabs are columns; so are rows
    of one word if several are adjacent. Rows of words between spaces are columns if a cell after the first looks
    like a tag: by the form of all of them (``B-PER``, ``NN``), or because few distinct cells occur.

    >>> layout(b"Ann NNP\\nleft VBD\\n\\nshe PRP\\n"), layout(b"Ann left\\n\\nshe stayed\\n").columns
    (LayoutGuess(columns=True, sure=True), False)
    """
    found = _runs(head)
    rows = [row for run in found for row in run][:SEEN]
    if not rows or len({len(row) for row in rows}) != 1:
        return LayoutGuess(columns=False, sure=True)
    width, apart = len(rows[0]), len(found) > 1 or _has_blank_line(head)
    if b"\t" in head:
        return LayoutGuess(columns=apart, sure=True)
    signs = any(all(_TAG.fullmatch(row[c]) for row in rows) for c in range(1, width))
    few = any(4 * len({row[c] for row in rows}) <= len(rows) for c in range(1, width)) and len(rows) >= 20
    together = any(len(run) > 1 for run in found)
    capitals = all(_TAG.fullmatch(row[0]) for row in rows)  # then the form of tags is not informative
    if not apart:
        return LayoutGuess(columns=False, sure=not (signs and len(rows) > 1))
    if width == 1:
        return LayoutGuess(columns=together, sure=False)
    return LayoutGuess(columns=signs or (together and few), sure=signs and not capitals)


def _runs(head: bytes) -> list[list[list[bytes]]]:
    """The cells of the whole lines, in runs between blank lines; comments are left out."""
    start = head.removeprefix(BOM)
    lines = start.split(b"\n")
    lines = lines[:-1] if len(lines) > 1 else lines
    separator = b"\t" if b"\t" in start else None
    runs: list[list[list[bytes]]] = [[]]
    for line in lines:
        if not line.strip():
            runs.append([])
        elif not line.startswith((b"#", DOCSTART.encode())):
            runs[-1].append(line.rstrip(b"\r").split(separator))
    return [run for run in runs if run]


def _has_blank_line(head: bytes) -> bool:
    return b"\n\n" in head or b"\n\r\n" in head


def _options(settings: dict[str, Any]) -> ColumnOptions:
    """The options, with numbers and lists accepted as well as the command line's strings."""
    plain = dict(settings)
    for name in ("word", "label"):
        if isinstance(plain.get(name), int):
            plain[name] = str(plain[name])
    if isinstance(plain.get("columns"), list | tuple):
        plain["columns"] = ",".join(str(c) for c in plain["columns"])
    options: ColumnOptions = configured(ColumnOptions, plain, "columns")
    if options.separator is not None and (not options.separator or "\n" in options.separator):
        raise ConfigError(f"the separator must be a string within a line, got {options.separator!r}")
    return options


@contextmanager
def _opened(path: str | Path, options: ColumnOptions) -> Iterator[tuple[Lookahead, RowRules, Picked]]:
    """The opened file with its layout; the next line is the first after the header."""
    with reading(path) as stream:
        ahead = Lookahead(path, stream)
        header = (
            decoded(path, 1, ahead.next_line()) if options.header or _has_header(ahead, options) else None
        )
        model, number = _model_line(ahead, options.comments)
        separator = SEPARATORS.get(options.separator or "", options.separator)
        if separator is None:
            separator = "\t" if "\t" in (model if header is None else header) else "spaces"
        if header is None:
            names, count, expected = None, len(_cells(model, separator)), f"as on line {number}"
        else:
            names = tuple(_cells(header, separator))
            count, expected = len(names), "as in the header"
        columns = picked(path, count, names, options.columns, options.word, options.label)
        if columns.named_all:
            count, expected = len(columns.indices), f"({', '.join(columns.names)})"
        yield ahead, _rules(options, separator, count, expected, columns), columns


def _has_header(ahead: Lookahead, options: ColumnOptions) -> bool:
    """Whether the first line is a header without the option: all of its cells are usual names of columns.

    The last of them must not be the tag of another token. A warning says that the line is read as a header.
    """
    if ahead.number != 1 or options.columns is not None:
        return False
    rows = ((number, line.split()) for number, line in islice(ahead.lines(), SEEN))
    _, first = next(rows, (1, []))
    names = [cell.decode("utf-8", "replace").lower() for cell in first]
    if len(names) < 2 or names[0] not in WORD_HEADERS or not TAG_HEADERS.issuperset(names[1:]):
        return False
    if any(row and row[-1] == first[-1] for _, row in rows):
        return False
    warn_about_data(f"{display_name(ahead.path)}:1: is read as a header: {', '.join(names)}")
    return True


def _rules(options: ColumnOptions, separator: str, count: int, expected: str, columns: Picked) -> RowRules:
    return RowRules(
        split="spaces" if separator == "spaces" else "separator",
        separator=" " if separator == "spaces" else separator,
        columns=count,
        kept=columns.indices,
        word=columns.indices[columns.names.index(WORD)],
        comment=options.comments or "",
        group=DOCSTART,
        stray_comments=options.comments is None,
        expected=expected,
    )


def _model_line(ahead: Lookahead, comment: str | None) -> tuple[str, int]:
    """The first line that is certainly a row, and its number: the first that does not begin with ``#``, if any."""
    skipped = (DOCSTART.encode(), comment.encode()) if comment else (DOCSTART.encode(),)
    doubtful = None
    for number, line in ahead.lines():
        if not line.strip(b" \t\r") or line.startswith(skipped):
            continue
        if comment is not None or not line.startswith(b"#"):
            return decoded(ahead.path, number, line), number
        doubtful = doubtful or (number, line)
    if doubtful is None:
        raise no_sentence(ahead.path)
    number, line = doubtful
    return decoded(ahead.path, number, line), number


def _cells(line: str, separator: str) -> list[str]:
    return (
        [c for c in line.replace("\t", " ").split(" ") if c]
        if separator == "spaces"
        else line.split(separator)
    )


def _group_name(remarks: list[str]) -> str | None:
    """The name in the last ``-DOCSTART- (name)`` of the remarks."""
    for remark in reversed(remarks):
        if remark.startswith(DOCSTART):
            rest = remark[len(DOCSTART) :].strip(" \t")
            return rest[1:-1] if rest.startswith("(") and rest.endswith(")") else None
    return None


# -- writing; a value that a cell cannot hold is an error that names the sentence and the token ------------------------

DOCSTART = "-DOCSTART-"
_BOM = "\ufeff"


def write(
    documents: Iterable[Document],
    path: str | Path,
    *,
    columns: Iterable[str] | None = None,
    separator: str = "\t",
    header: bool = False,
) -> None:
    """Write sentences as a column file.

    columns: names in the order to write; by default ``w``, then the columns of the first document. Every
             document must have them all.
    A ``-DOCSTART-`` line marks a change of group, with the group's name unless it is its number.
    """
    if not separator or "\n" in separator or "\r" in separator or "\0" in separator:
        raise ConfigError(f"the separator must be a string within a line, got {separator!r}")
    names = None if columns is None else list(columns)
    strict = columns is None
    group, groups, text = None, 0, ""
    with writing(path) as stream:
        for number, document in enumerate(documents, 1):
            if names is None:
                names = [WORD, *document.columns]
            rows = _rows(document, number, names, strict)
            if number == 1 and header:
                text = separator.join(names) + "\n"
            if document.group != group:
                group, groups = document.group, groups + 1
                text += _group_line(group, groups, number, len(names), separator)
            for t, cells in enumerate(rows, 1):
                line = separator.join(cells)
                why = _unfit(line, cells, separator, names)
                if why:
                    raise DataError(
                        f"sentence {number}, token {t} {shown(document.tokens[t - 1].text)}: {why}"
                    )
                text += line + "\n"
            if number == 1 and text.startswith(_BOM):
                text = _BOM + text  # the reader removes one
            stream.write(encoded(text + "\n", number))
            text = ""


def encoded(text: str, number: int) -> bytes:
    """The text as UTF-8; DataError for half a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError as e:
        raise DataError(f"sentence {number}: {text[e.start]!r} cannot be written in UTF-8") from None


def _rows(document: Document, number: int, names: list[str], strict: bool) -> list[tuple[str, ...]]:
    if not document.tokens:
        raise DataError(
            f"sentence {number}: has no tokens, and a column file has one per line: {shown(document.text)}"
        )
    by_name = document.columns | {WORD: document.words()}
    for name in names:
        if name not in by_name:
            raise DataError(f"sentence {number}: has no column {name!r}; it has {', '.join(by_name)}")
        if len(by_name[name]) != len(document.tokens):
            count, T = len(by_name[name]), len(document.tokens)
            raise DataError(f"sentence {number}: column {name!r} has {count} cells for {T} tokens")
    extra = [name for name in by_name if name not in names]
    if strict and extra:
        raise DataError(f"sentence {number}: has a column {extra[0]!r} that sentence 1 lacks")
    return list(zip(*(by_name[name] for name in names), strict=True))


def _group_line(group: str | None, ordinal: int, number: int, columns: int, separator: str) -> str:
    if group is None:
        raise DataError(f"sentence {number}: belongs to no document, but follows one that does")
    if group == str(ordinal):
        return separator.join([DOCSTART, *["-X-"] * (columns - 2), *["O"] * (columns > 1)]) + "\n\n"
    if not group or any(sign in group for sign in "\n\r\0"):
        raise DataError(f"sentence {number}: its document's name {shown(group)} does not fit on a line")
    return f"{DOCSTART} ({group})\n\n"


def _unfit(line: str, cells: tuple[str, ...], separator: str, names: list[str]) -> str | None:
    """Why these cells could not be read back, or None."""
    for name, cell in zip(names, cells, strict=True):
        for sign, spoken in (
            ("\n", "a line end"),
            ("\r", "a carriage return"),
            ("\0", "a NUL"),
            (separator, f"the separator {separator!r}"),
        ):
            if sign in cell:
                return f"column {name!r} holds {spoken}: {shown(cell)}"
        if not cell and (name == WORD or separator == " "):
            return f"column {name!r} is empty"
        if separator == " " and "\t" in cell:
            return f"column {name!r} holds a tab: {shown(cell)}"
    if line.split(separator) != list(cells):
        return f"the cells run into the separator {separator!r}: {shown(line)}"
    if len(cells) == 1 and (" " in line or "\t" in line):
        return f"a file of one column cannot hold spaces: {shown(line)}"
    if not line.strip(" \t"):
        return "its line would be blank"
    if (
        line.startswith(DOCSTART) and line[len(DOCSTART) :].startswith((" ", "\t", separator))
    ) or line == DOCSTART:
        return f"its line would start a document: {shown(line)}"
    return None


FORMAT = Format(
    name="columns",
    extensions=(".conll", ".iob", ".bio", ".tsv", ".txt", ".in", ".out"),
    read=read,
    write=write,
    carries=frozenset({"tokens", "columns", "group"}),
    looks_like=looks_like,
    options=ColumnOptions,
)
