"""fastText lines: ``__label__positive crisp and sweet``, any number of labels before the text; streamed."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chaffinch.corpus.format import Format
from chaffinch.corpus.lines import BOM, lines
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import writing_text
from chaffinch.knobs import knob
from chaffinch.text.document import Document

PREFIX = "__label__"


@dataclass(frozen=True, kw_only=True)
class FastTextOptions:
    """The marker of labels."""

    prefix: str = knob(PREFIX, "prefix of a label")


def read(path: str | Path, *, prefix: str = PREFIX) -> Iterator[Document]:
    """One document per line; blank lines are skipped."""
    if not prefix:
        raise ConfigError("the prefix of labels must not be empty")
    label = re.compile(rf"{re.escape(prefix)}(\S+)(?:[ \t]|$)")
    for number, line in lines(path):
        if not line.strip():
            continue
        labels, at = [], 0
        while match := label.match(line, at):
            labels.append(match[1])
            at = match.end()
        yield Document(text=line[at:], labels=labels, line=number)


def write(documents: Iterable[Document], path: str | Path, *, prefix: str = PREFIX) -> None:
    """One line per document; a text or label that a line cannot hold is refused."""
    with writing_text(path) as out:
        for number, d in enumerate(documents, start=1):
            for label in d.labels:
                if not label or any(c.isspace() for c in label):
                    raise DataError(
                        f"document {number}: the label {label!r} has a space, which fastText cannot hold"
                    )
            if "\n" in d.text or "\r" in d.text:
                raise DataError(
                    f"document {number}: its text has a line break, which fastText lines cannot hold"
                )
            if d.text.startswith(prefix) or not (d.text.strip() or d.labels):
                raise DataError(
                    f"document {number}: its text is empty or begins with {prefix!r}, which reads as a label"
                )
            out.write(" ".join([*(prefix + label for label in d.labels), d.text]) + "\n")


def _looks_like(_name: str, head: bytes) -> bool:
    return head.removeprefix(BOM).startswith(PREFIX.encode())


FORMAT = Format(
    name="fasttext",
    extensions=(".ft", ".fasttext", ".txt"),
    read=read,
    write=write,
    carries=frozenset({"text", "labels"}),
    looks_like=_looks_like,
    blank=False,
    options=FastTextOptions,
)
