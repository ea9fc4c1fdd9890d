"""The ``train`` / ``dev.in`` / ``dev.out`` layout: ``token TAG`` split at the last space, tokens only in ``.in``."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaffinch.corpus.columns import documents, encoded, table
from chaffinch.corpus.format import Format
from chaffinch.corpus.lines import Lookahead, shown
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.splitter import RowRules, blocks, whole
from chaffinch.errors import DataError
from chaffinch.files import reading, without_packing, writing
from chaffinch.knobs import configured, knob
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.table import TokenTable

TOKENS_ONLY = ".in"


@dataclass(frozen=True, kw_only=True)
class HmmLayoutOptions:
    """Whether the lines have tags, if the file's name does not say."""

    tags: bool | None = knob(None, "whether lines end in a tag; by default they do, except in .in files")


def read(path: str | Path, *, losses: Losses | None = None, **settings: Any) -> Iterator[Document]:
    """The sentences of one file; a token may hold spaces, a tag may not."""
    with _opened(path, settings) as (ahead, rules, names):
        yield from documents(blocks(ahead, rules, losses), names)


def read_table(path: str | Path, **settings: Any) -> TokenTable:
    """The whole file as a token table."""
    with _opened(path, settings) as (ahead, rules, names):
        return table(whole(ahead, rules), names)


def write(sentences: Iterable[Document], path: str | Path, *, tags: bool | None = None) -> None:
    """Write ``token TAG`` lines, or tokens alone to a ``.in`` file."""
    if tags is None:
        tags = not _plain_name(path).endswith(TOKENS_ONLY)
    with writing(path) as stream:
        for number, document in enumerate(sentences, 1):
            if not document.tokens:
                raise DataError(f"sentence {number}: has no tokens: {shown(document.text)}")
            if tags and LABEL not in document.columns:
                raise DataError(f"sentence {number}: has no column {LABEL!r} to write as its tags")
            lines = document.words()
            if tags:
                lines = [f"{w} {y}" for w, y in zip(lines, document.columns[LABEL], strict=True)]
            for t, (line, token) in enumerate(zip(lines, document.tokens, strict=True)):
                why = _unfit(line, token.text, document.columns[LABEL][t] if tags else None)
                if why:
                    raise DataError(f"sentence {number}, token {t + 1} {shown(token.text)}: {why}")
            text = "\n".join(lines) + "\n\n"
            if number == 1 and text.startswith("\ufeff"):
                text = "\ufeff" + text  # the reader removes one byte order mark
            stream.write(encoded(text, number))


def looks_like(name: str, head: bytes) -> bool:
    """Named ``train``, ``*.in`` or ``*.out``, no tabs, and at most a tenth of the lines with more than one space."""
    if name not in ("train", "dev", "test") and not name.endswith((".in", ".out")):
        return False
    rows = [row for row in head.split(b"\n")[:200] if row]
    wide = sum(row.count(b" ") > 1 for row in rows)
    return not any(b"\t" in row for row in rows) and 10 * wide <= len(rows)


@contextmanager
def _opened(
    path: str | Path, settings: dict[str, Any]
) -> Iterator[tuple[Lookahead, RowRules, tuple[str, ...]]]:
    options: HmmLayoutOptions = configured(HmmLayoutOptions, settings, "hmm")
    tags = options.tags
    if tags is None:
        tags = not _plain_name(path).endswith(TOKENS_ONLY)
    if tags:
        rules = RowRules(split="last", separator=" ", columns=2, kept=(0, 1), expected="(token TAG)")
    else:
        rules = RowRules(split="whole", columns=1, kept=(0,), expected="(token)")
    with reading(path) as stream:
        yield Lookahead(path, stream), rules, (WORD, LABEL)[: rules.columns]


def _plain_name(path: str | Path) -> str:
    return without_packing(Path(path).name)


def _unfit(line: str, word: str, tag: str | None) -> str | None:
    """Why this line could not be read back, or None."""
    if any(sign in line for sign in "\n\r\0"):
        return "holds a line end or a NUL"
    if not word:
        return "is empty"
    if tag is not None and " " in tag:
        return f"its tag holds a space: {shown(tag)}"
    if not line.strip(" \t"):
        return "its line would be blank"
    return None


FORMAT = Format(
    name="hmm",
    extensions=(".in", ".out"),
    read=read,
    write=write,
    carries=frozenset({"tokens", "columns"}),
    looks_like=looks_like,
    options=HmmLayoutOptions,
    columns=(LABEL,),
)
