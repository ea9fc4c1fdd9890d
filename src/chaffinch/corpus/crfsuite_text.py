r"""CRFsuite's attribute files: a line per token with its label and features, separated by tabs; a blank line ends a
sequence.

    label<TAB>attribute[:value]<TAB>attribute[:value] ...

A colon or a backslash inside a name is written with a backslash before it. Tokens have no words: the word of a
document's token is the value of a feature such as ``word`` or ``w[0]``, or its first feature, and is only for display.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from chaffinch._core import attribute_fault
from chaffinch.corpus.format import Format
from chaffinch.corpus.lines import lines, shown
from chaffinch.errors import DataError
from chaffinch.files import display_name, writing_text
from chaffinch.text.attributes import ATTRIBUTES, shown_word
from chaffinch.text.document import LABEL, Document


def read(path: str | Path) -> Iterator[Document]:
    """The sequences of a file: labels in the column ``y``, features as written in the column ``attributes``."""
    name = display_name(path)
    labels: list[str] = []
    cells: list[str] = []
    begin = 0
    for number, line in lines(path):
        if not line:
            if labels:
                yield _document(labels, cells, begin)
            labels, cells = [], []
            continue
        label, _, rest = line.partition("\t")
        if not label:
            raise DataError(
                f"{name}:{number}: expected a label and features, separated by tabs, found {shown(line)}"
            )
        if (bad := attribute_fault(rest)) is not None:
            raise DataError(
                f"{name}:{number}: expected a number after the colon of {shown(bad)}; a colon in a name is written \\:"
            )
        begin = begin if labels else number
        labels.append(label)
        cells.append(rest)
    if labels:
        yield _document(labels, cells, begin)


def write(documents: Iterable[Document], path: str | Path) -> None:
    """Write labels and features; documents without features of their own are refused."""
    with writing_text(path) as stream:
        for number, document in enumerate(documents, 1):
            if not document.tokens:
                raise DataError(f"sentence {number}: has no tokens: {shown(document.text)}")
            for name in (LABEL, ATTRIBUTES):
                if name not in document.columns:
                    raise DataError(f"sentence {number}: has no column {name!r}, which CRFsuite's text needs")
            for label, cell in zip(document.columns[LABEL], document.columns[ATTRIBUTES], strict=True):
                if (
                    not label
                    or any(sign in label for sign in "\t\n\r\0")
                    or any(sign in cell for sign in "\n\r\0")
                ):
                    raise DataError(
                        f"sentence {number}: CRFsuite's text cannot hold the label {shown(label)}"
                    )
                stream.write(f"{label}\t{cell}\n" if cell else f"{label}\n")
            stream.write("\n")


def _document(labels: list[str], cells: list[str], line: int) -> Document:
    made = Document.from_words([shown_word(cell) for cell in cells], y=labels, attributes=cells)
    made.line = line
    return made


FORMAT = Format(
    name="crfsuite",
    extensions=(".crfsuite.txt", ".crfs"),
    read=read,
    write=write,
    carries=frozenset({"columns"}),
    columns=(LABEL, ATTRIBUTES),
    blank=False,
)
