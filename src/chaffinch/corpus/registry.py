"""The table of formats, and the choice of one by a file's name and first bytes."""

import inspect
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from chaffinch.corpus import (
    alignment_tsv,
    brackets,
    brat,
    columns,
    conllu,
    crfsuite_text,
    delimited,
    docbin,
    doccano,
    fasttext,
    hmm_layout,
    jsonl,
    label_studio,
    letter_words,
    parquet,
    plain_text,
    prodigy,
    token_lists,
    token_rows,
)
from chaffinch.corpus.annotations import is_predicted
from chaffinch.corpus.annotators import FIRST, MAJORITY, SOFT, Agreement, decided
from chaffinch.corpus.format import Format
from chaffinch.corpus.headers import implied_header
from chaffinch.corpus.lines import empty_file
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.sentences import as_sentences
from chaffinch.corpus.text_table import TableReader
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.files import STDIO, display_name, head, without_packing, writing
from chaffinch.knobs import knobs
from chaffinch.text.document import Document
from chaffinch.text.table import TokenTable

# In the order of detection by content: the most distinctive first.
FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        parquet.FORMAT,
        parquet.DATASETS,
        docbin.FORMAT,
        letter_words.FORMAT,
        brackets.TABLE,
        alignment_tsv.FORMAT,
        fasttext.FORMAT,
        brackets.FORMAT,
        token_lists.FORMAT,
        token_rows.FORMAT,
        label_studio.FORMAT,
        prodigy.FORMAT,
        doccano.FORMAT,
        jsonl.SPANS,
        jsonl.DOCUMENTS,
        conllu.FORMAT,
        hmm_layout.FORMAT,
        crfsuite_text.FORMAT,
        columns.FORMAT,
        delimited.CSV,
        delimited.TSV,
        brat.FORMAT,
        plain_text.FORMAT,
    )
}

# Formats that are read from bytes to a token table without documents.
TABLES = {
    "columns": columns.read_table,
    "conllu": conllu.read_table,
    "hmm": hmm_layout.read_table,
}

# Formats of texts that are read to rows of the core without documents.
TEXT_TABLES: dict[str, TableReader] = {
    "text": plain_text.read_table,
    "csv": partial(delimited.read_table, "csv"),
    "tsv": partial(delimited.read_table, "tsv"),
    "jsonl": jsonl.read_table,
}

# The bytes of a model file after the length of its directory; users sometimes pass one instead of a corpus.
MODEL_START = b'{"__metadata__":{"chaffinch":'

# Layers that decide between formats that share an extension, the rarest first.
WEIGHTIEST = ("tree", "links", "spans", "labels", "columns", "scores")


def read(
    path: str | Path, format: str | None = None, *, annotators: str = FIRST, **options: Any
) -> Iterator[Document]:
    """The documents of a file, in the named or the detected format; options go to its reader.

    annotators: the annotations used of texts with several annotators: first, majority or soft

    A :class:`DataWarning` at the end reports rows that were left out and the agreement of annotators.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "eggs.conll"
    >>> _ = path.write_text("2 QTY\\nlarge SIZE\\neggs NAME\\n\\n")
    >>> [d.text for d in read(path)], next(read(path)).columns
    (['2 large eggs'], {'y': ['QTY', 'SIZE', 'NAME']})
    """
    chosen = detect(path, format)
    losses = None
    if "losses" not in options and "losses" in inspect.signature(chosen.read).parameters:
        losses = options["losses"] = Losses()
    return _telling(chosen.read(path, **options), path, annotators, losses)


def every_document(path: str | Path, format: Format, **options: Any) -> Iterator[Document]:
    """The documents of a file to predict, including those without annotations or rejected by an annotator."""
    if format.options is not None and "unannotated" in {k.name for k in knobs(format.options)}:
        options["unannotated"] = "keep"
    return read(path, format.name, **options)


def read_table(
    path: str | Path, format: str | None = None, *, annotators: str = FIRST, **options: Any
) -> TokenTable:
    """The tokens of a file as a table of ids: for column formats directly from the bytes.

    Text without tokens is cut into words, and spans become BIO tags in the column ``y``.
    """
    chosen = detect(path, format)
    if chosen.name in TABLES:
        return TABLES[chosen.name](path, **options)
    found = read(path, chosen.name, annotators=annotators, **options)
    return TokenTable.from_documents(as_sentences(found, path))


def write(documents: Iterable[Document], path: str | Path, format: str | None = None, **options: Any) -> None:
    """Write documents in the named format, or in that of the path's extension; the file is complete or not written.

    If several formats share the extension, the one that carries most of the first document's layers is used.
    """
    iterator = iter(documents)
    first = list(islice(iterator, 1))
    chosen = written_as(path, present(*first)) if format is None else named(format)
    chosen.write(chain(first, iterator), path, **options)


def holds_nothing(path: str | Path) -> bool:
    """Whether the input is empty: an empty file or pipe, or a file of columns with blank lines only."""
    if Path(path).is_dir():
        return False
    start = head(path)
    if any(f.name in ("parquet", "datasets") for f in with_extension(path)):
        return False  # a Parquet file without rows has a header: an empty file is a damaged one
    blank = len(start) < 1 << 16 and not start.strip() and any(f.name in TABLES for f in with_extension(path))
    return not start or (blank and not plain_text.may_be_text(without_packing(Path(path).name)))


def write_nothing(path: str | Path, format: str | None = None) -> None:
    """Write the prediction of an empty input: an empty file, or one without rows if the format has no empty files."""
    suggested = with_extension(path) if format is None else [named(format)]
    if any(f.name in ("parquet", "label-studio", "brat") for f in suggested):
        (written_as(path, frozenset()) if format is None else suggested[0]).write([], path)
        return
    with writing(path):
        pass


def named(name: str) -> Format:
    """The format of this name; ConfigError lists the known ones."""
    if name not in FORMATS:
        raise ConfigError(f"there is no format {name!r}; there are {', '.join(sorted(FORMATS))}")
    return FORMATS[name]


def detect(path: str | Path, format: str | None = None, *, texts: bool = False) -> Format:
    """The format of a file: the one named; else by its extension if that decides, else by its first 64 KiB.

    texts: in doubt between plain text and columns, choose plain text

    If lines of text and columns cannot be told apart with certainty, a :class:`DataWarning` says which was chosen.
    """
    if format is not None:
        return named(format)
    if Path(path).is_dir():
        for chosen in FORMATS.values():
            if chosen.folder is not None and chosen.folder(Path(path)):
                return chosen
        raise DataError(f"{path}: is a folder, and holds no corpus of a known format")
    candidates = with_extension(path)
    if len(candidates) == 1:
        return candidates[0]
    start = head(path)
    if not start:
        raise empty_file(path)
    if start[8:].startswith(MODEL_START):
        raise DataError(
            f"{display_name(path)}: expected a corpus, found a model; chaffinch predict {path} FILE -o OUT "
            "labels a corpus with it, and chaffinch evaluate FILE OUT scores the labels"
        )
    name = without_packing(Path(path).name)
    for chosen in [*candidates, *FORMATS.values()]:
        if chosen.looks_like is not None and chosen.looks_like(name, start):
            return _told_apart(path, chosen, start, texts) if plain_text.may_be_text(name) else chosen
    raise DataError(
        f"{display_name(path)}: has none of the known formats by its name or its start; chaffinch convert "
        f"{path} OUT --from FORMAT reads it as one of {', '.join(FORMATS)}"
    )


def _told_apart(path: str | Path, chosen: Format, start: bytes, texts: bool) -> Format:
    """The format of a file that may be plain text; an uncertain choice is a warning."""
    if chosen is plain_text.FORMAT and implied_header(start, "tsv"):
        return delimited.TSV
    if chosen not in (columns.FORMAT, plain_text.FORMAT):
        return chosen
    layout = columns.layout(start)
    if texts and not (layout.columns and layout.sure):
        return plain_text.FORMAT
    if not layout.sure:
        taken, other = ("columns, one token a line", "text to read it as plain text")
        if chosen is plain_text.FORMAT:
            taken, other = ("plain text, one sentence a line", "columns to read it as columns")
        warn_about_data(f"{display_name(path)}: read as {taken}; --from {other}")
    return chosen


def _telling(
    found: Iterable[Document], path: str | Path, annotators: str, losses: Losses | None
) -> Iterator[Document]:
    """The documents, one set of annotations each; after the last, warnings of what was left out and of agreement."""
    agreement = Agreement()
    for d in found:
        if annotators == FIRST and not d.annotations:
            yield d
            continue
        agreement.add(d)
        yield decided(d, annotators)
    name = display_name(path)
    for loss in losses or ():
        if loss.rows:
            warn_about_data(f"{name}: {loss}")
    if agreement.documents:
        taken = {
            FIRST: "the first annotation of each is read; --annotators majority or soft reads all",
            MAJORITY: "annotations of more than half of them are read",
            SOFT: "their shares are read",
        }
        warn_about_data(f"{name}: {agreement}; {taken[annotators]}")


def with_extension(path: str | Path) -> list[Format]:
    """The formats that a file name suggests, the longest extension first."""
    name = without_packing(Path(path).name)
    suggested = [f for f in FORMATS.values() if name.endswith(f.extensions) and name != STDIO]
    matches = [(len(e), f) for f in suggested for e in f.extensions if name.endswith(e)]
    longest = max((length for length, _ in matches), default=0)
    return [f for length, f in matches if length == longest]


def written_as(path: str | Path, layers: frozenset[str]) -> Format:
    """The format to write, by the extension and by the layers to carry; in doubt the most general one."""
    candidates = with_extension(path)[::-1]
    if not candidates:
        raise ConfigError(
            f"{display_name(path)}: no format has this extension; name one: {', '.join(FORMATS)}"
        )
    return max(candidates, key=lambda f: tuple(layer in layers & f.carries for layer in WEIGHTIEST))


def present(document: Document | None = None) -> frozenset[str]:
    """The layers of a document that decide on a format; tokens alone need columns too."""
    if document is None:
        return frozenset()
    found = {layer for layer in WEIGHTIEST if layer != "scores" and getattr(document, layer)}
    found |= {"scores"} if is_predicted(document) else set()
    return frozenset(found | {"columns"} if document.tokens else found)
