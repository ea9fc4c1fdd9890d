"""CoNLL-style columns: a token per line, a blank line between sentences, ``-DOCSTART-`` between documents."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaffinch.corpus.column_names import Picked, picked
from chaffinch.corpus.column_writer import DOCSTART, write
from chaffinch.corpus.format import Format
from chaffinch.corpus.lines import BOM, Lookahead, decoded
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.splitter import Block, Rules, blocks, no_sentence, whole
from chaffinch.errors import ConfigError
from chaffinch.files import reading
from chaffinch.knobs import configured, knob
from chaffinch.text.document import WORD, Document
from chaffinch.text.table import Column, TokenTable

SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "spaces": "spaces"}


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """How a column file is laid out, where it is not the usual way."""

    separator: str | None = knob(None, "between columns: tab, space, spaces (any run) or a string; else seen")
    columns: str | None = knob(None, "names (w,pos,y), numbers to pick (1,4) or both (w=2,y=4)")
    header: bool = knob(False, "the first line names the columns")
    word: str = knob("1", "column of the words: number or name")
    label: str = knob("-1", "column to learn: number (-1 is the last) or name; '' if there is none")
    comments: str | None = knob(None, "lines that start so are comments, such as '# '")


def read(path: str | Path, *, losses: Losses | None = None, **settings: Any) -> Iterator[Document]:
    """The sentences of a column file as documents; settings as in :class:`ColumnOptions`.

    The word becomes the token and column ``w``, the last column (or the one that ``label`` names) ``y``; a
    single column between them is ``pos``, several are ``x1``, ``x2`` and so on.

    A line that starts with ``#`` is a token like any other, unless ``comments`` says else or it stands before
    a sentence, starts with ``# `` and has another count of columns than the rest.
    """
    with _opened(path, _options(settings)) as (ahead, rules, columns):
        yield from documents(blocks(ahead, rules, losses), columns.names)


def read_table(path: str | Path, **settings: Any) -> TokenTable:
    """The whole file as a token table, straight from its bytes; settings as for :func:`read`."""
    with _opened(path, _options(settings)) as (ahead, rules, columns):
        return table(whole(ahead, rules), columns.names)


def table(block: Block, names: tuple[str, ...]) -> TokenTable:
    """A block as a table; the word comes first."""
    columns = {name: Column(types, ids) for name, (types, ids) in zip(names, block.columns, strict=True)}
    columns = {WORD: columns[WORD]} | columns
    return TokenTable(block.ptr, columns, block.groups if block.groups[-1] else None)


def documents(parsed: Iterable[Block], names: tuple[str, ...]) -> Iterator[Document]:
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


def looks_like(_name: str, head: bytes) -> bool:
    """Blank lines between runs of lines that all have the same number of cells."""
    if b"\n\n" not in head and b"\n\r\n" not in head:
        return False
    rows = [row for row in head.removeprefix(BOM).split(b"\n")[:-1] if row.strip()]
    rows = [row for row in rows if not row.startswith((b"#", DOCSTART.encode()))][:200]
    separator = b"\t" if rows and b"\t" in rows[0] else None
    return len({len(row.split(separator)) for row in rows}) == 1


def _options(settings: dict[str, Any]) -> ColumnOptions:
    """Numbers and lists are welcome where the command line has strings."""
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
def _opened(path: str | Path, options: ColumnOptions) -> Iterator[tuple[Lookahead, Rules, Picked]]:
    """The file with its layout known; what comes next is the first line after the header."""
    with reading(path) as stream:
        ahead = Lookahead(path, stream)
        header = decoded(path, 1, ahead.next_line()) if options.header else None
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


def _rules(options: ColumnOptions, separator: str, count: int, expected: str, columns: Picked) -> Rules:
    return Rules(
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
    """The first line that is surely a row, and its number.

    That is the first line that is no ``#`` line, or the first of those where there is nothing else.
    """
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


FORMAT = Format(
    name="columns",
    extensions=(".conll", ".iob", ".bio", ".tsv", ".txt", ".in", ".out"),
    read=read,
    write=write,
    carries=frozenset({"tokens", "columns", "group"}),
    looks_like=looks_like,
    options=ColumnOptions,
)
