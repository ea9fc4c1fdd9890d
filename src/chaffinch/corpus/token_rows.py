"""A table with a row for each token, and a column that says which sentence it belongs to.

    sentence,word,pos,tag
    1,Ann,NNP,B-PER
    1,left,VBD,O

The sentence cell may be empty after the first token of a sentence.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chaffinch.corpus.delimited import rows
from chaffinch.corpus.format import Format
from chaffinch.corpus.headers import column
from chaffinch.corpus.lines import BOM, listed
from chaffinch.errors import DataError
from chaffinch.files import display_name, head, without_packing, writing_text
from chaffinch.knobs import knob
from chaffinch.text.document import LABEL, WORD, Document

SENTENCE_NAMES = ("sentence", "sentence_id", "sentence #", "sent_id", "sentence_idx", "sent", "sentence id")
WORD_NAMES = ("word", "token", "form", "words", "tokens", "w")
TAG_NAMES = ("tag", "ner_tag", "ner", "label", "tags", "labels", "y")
DELIMITERS = ",;\t|"


@dataclass(frozen=True, kw_only=True)
class TokenRowOptions:
    """The columns of the sentence, the word and the tag, if their names are unusual."""

    sentence: str | None = knob(None, "column that says which sentence a token belongs to")
    word: str | None = knob(None, "column of the words")
    label: str | None = knob(None, "column to learn")


def read(
    path: str | Path, *, sentence: str | None = None, word: str | None = None, label: str | None = None
) -> Iterator[Document]:
    """The sentences of a table; columns beside word and tag keep their names, in lower case."""
    name = display_name(path)
    delimiter = _delimiter(head(path))
    table = rows(path, delimiter, quoted=delimiter != "\t")
    header = next(table)[1]
    at = {
        "sentence": column(name, header, sentence, SENTENCE_NAMES, "sentence"),
        "word": column(name, header, word, WORD_NAMES, "word"),
    }
    for role, found in at.items():
        if found is None:
            raise DataError(
                f"{name}:1: none of the columns {listed(header)} is known to hold the {role}; name it with --{role}"
            )
    at_sentence, at_word = at["sentence"], at["word"]
    assert at_sentence is not None
    assert at_word is not None
    at_tag = column(name, header, label, TAG_NAMES, "tag")
    names = {i: LABEL if i == at_tag else cell.lower() for i, cell in enumerate(header)}
    names = {i: cell for i, cell in names.items() if i not in (at_sentence, at_word)}
    if len({*names.values(), WORD}) < len(names) + 1:
        raise DataError(f"{name}:1: two of the columns {listed(header)} would have the same name; rename one")
    current, begin = "", 0
    cells: list[list[str]] = []
    for number, row in table:
        if (own := row[at_sentence]) and own != current:
            if cells:
                yield _document(cells, at_word, names, current, begin)
            cells, current, begin = [], own, number
        elif not current:
            raise DataError(f"{name}:{number}: the first token has no {header[at_sentence]!r}")
        for i in (at_word, *names):
            if not row[i]:
                raise DataError(f"{name}:{number}: the token has no {header[i]!r}")
        cells.append(row)
    if cells:
        yield _document(cells, at_word, names, current, begin)


def write(documents: Iterable[Document], path: str | Path) -> None:
    """Rows ``sentence,word``, the columns of the first document, and ``tag``; as TSV if the name ends in ``.tsv``."""
    tabs = without_packing(Path(path).name).endswith(".tsv")
    names: list[str] | None = None
    last = None
    with writing_text(path) as out:
        put = csv.writer(out, delimiter="\t" if tabs else ",", quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL,
                         quotechar=None if tabs else '"', lineterminator="\n")  # fmt: skip
        for n, d in enumerate(documents, 1):
            if names is None:
                names = sorted(d.columns, key=lambda name: name == LABEL)
                _check_names(names)
                put.writerow(["sentence", "word", *("tag" if name == LABEL else name for name in names)])
            if not d.tokens or set(d.columns) != set(names):
                raise DataError(f"sentence {n}: expected tokens with the columns {listed(names)}")
            own = str(n if d.id is None else d.id)
            if own == last or not own:
                raise DataError(
                    f"sentence {n}: its id {own!r} is empty or repeats that of the sentence before"
                )
            last = own
            for row in zip(d.words(), *(d.columns[name] for name in names), strict=True):
                try:
                    if not all(row) or (tabs and any("\r" in cell for cell in row)):
                        raise DataError(f"sentence {n}: a cell is empty or has a line break")
                    put.writerow([own, *row])
                except csv.Error:
                    raise DataError(f"sentence {n}: a cell has a tab or a line break; write .csv") from None


def _check_names(names: list[str]) -> None:
    taken = (*SENTENCE_NAMES, *WORD_NAMES, *TAG_NAMES)
    for name in names:
        if name != LABEL and (name in taken or name != name.lower()):
            raise DataError(
                f"the column {name!r} cannot be written: its name is reserved or not in lower case; rename it"
            )


def _document(
    cells: list[list[str]], at_word: int, names: dict[int, str], sentence: str, line: int
) -> Document:
    columns = {name: [row[i] for row in cells] for i, name in names.items()}
    d = Document.from_words([row[at_word] for row in cells], **columns)
    d.id, d.line = sentence, line
    return d


def _delimiter(start: bytes) -> str:
    first = start.removeprefix(BOM).partition(b"\n")[0].decode("utf-8", "replace")
    return max(DELIMITERS, key=first.count)


def _looks_like(_name: str, start: bytes) -> bool:
    """The first line names a column of sentences and a column of words."""
    first = start.removeprefix(BOM).partition(b"\n")[0].decode("utf-8", "replace")
    cells = [cell.strip(' "\r').lower() for cell in first.split(_delimiter(start))]
    return all(any(name in cells for name in names) for names in (SENTENCE_NAMES, WORD_NAMES))


FORMAT = Format(
    name="token-rows",
    extensions=(".csv", ".tsv"),
    read=read,
    write=write,
    carries=frozenset({"text", "tokens", "columns", "id"}),
    looks_like=_looks_like,
    options=TokenRowOptions,
    blank=False,
)
