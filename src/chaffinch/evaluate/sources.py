"""What is scored: a gold file and one or two outputs, checked to be about the same text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus import Format, detect, named, read, read_table
from chaffinch.corpus.json_records import as_text
from chaffinch.corpus.lines import lines
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import STDIO, display_name
from chaffinch.knobs import knobs
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.table import Column, TokenTable

# The field in which predictions come back in a document's row.
PREDICTION = "prediction"

# What separates several labels in a cell of predictions.
SEPARATOR = "|"

TAGS, DOCUMENTS, LABEL_SETS, SPANS, TREES, LINKS = (
    "tags",
    "documents",
    "label-sets",
    "spans",
    "trees",
    "links",
)


@dataclass(frozen=True)
class TagSource:
    """Tokens with gold tags and one or two columns of predicted ones, as ids into one label list."""

    names: tuple[str, ...]
    words: Column
    ptr: NDArray[np.int64]
    labels: list[str]
    y: NDArray[np.int32]
    outputs: tuple[NDArray[np.int32], ...]
    task: str = TAGS

    def sentence(self, n: int) -> list[str]:
        """The words of sentence n."""
        return [self.words.types[i] for i in self.words.ids[self.ptr[n] : self.ptr[n + 1]].tolist()]


@dataclass(frozen=True)
class DocumentSource:
    """Documents with their gold annotation and the same documents as one or two systems annotate them."""

    task: str
    names: tuple[str, ...]
    gold: list[Document]
    outputs: tuple[list[Document], ...]


def source(
    paths: Sequence[str | Path], format: str | None, options: dict[str, Any]
) -> TagSource | DocumentSource:
    """Gold and outputs from files; a single file must hold both.

    options: told to the reader of gold, and of outputs that are of the same format
    """
    chosen = detect(paths[0]) if format is None else named(format)
    formats = [chosen.name, *(chosen.name if format else _format_like(chosen, path) for path in paths[1:])]
    known = [] if chosen.options is None else [k.name for k in knobs(chosen.options)]
    for name in options:
        if name not in known:
            there = ", ".join(known) or "none"
            raise ConfigError(f"reading {chosen.name} takes no option {name!r}; there are: {there}")
    told = [options if one == chosen.name else {} for one in formats]
    if _has_tags(chosen):
        return _tag_source(paths, formats, told)
    return _document_source(paths, formats, told)


def _format_like(gold: Format, path: str | Path) -> str:
    """The format of an output: its own where that can be seen and holds the same kind of thing as gold."""
    try:
        seen = detect(path)
    except DataError:
        return gold.name
    if _has_tags(seen) and "spans" in gold.carries:
        raise DataError(
            f"{display_name(path)}: holds tags in columns, and the gold file is of the format {gold.name}; "
            f"bring both to one format: chaffinch convert {path} OUT --to {gold.name}"
        )
    return seen.name if _has_tags(seen) == _has_tags(gold) else gold.name


def _has_tags(format: Format) -> bool:
    return "columns" in format.carries and "tree" not in format.carries


def _tag_source(
    paths: Sequence[str | Path], formats: Sequence[str], told: Sequence[dict[str, Any]]
) -> TagSource:
    tables = [read_table(path, f, **options) for path, f, options in zip(paths, formats, told, strict=True)]
    names = tuple(map(display_name, paths))
    gold = tables[0]
    for path, table in zip(paths, tables, strict=True):
        if LABEL not in table.columns:
            raise DataError(f"{display_name(path)}: has no column of tags beside the words")
    for path, table in zip(paths[1:], tables[1:], strict=True):
        _check_same_tokens(paths[0], gold, path, table)
    columns = [table.columns[LABEL] for table in tables]
    if len(paths) == 1:
        between = [name for name in gold.columns if name not in (WORD, LABEL)]
        if not between:
            raise DataError(
                f"{names[0]}: has one column of tags; a single file needs two, gold and then predicted, "
                "or name a second file with the predictions"
            )
        columns.insert(0, gold.columns[between[-1]])
    labels = list(dict.fromkeys(tag for column in columns for tag in column.types))
    index = {tag: i for i, tag in enumerate(labels)}
    ids = [np.array([index[t] for t in c.types], dtype=np.int32)[c.ids] for c in columns]
    return TagSource(names, gold.columns[WORD], gold.ptr, labels, ids[0], tuple(ids[1:]))


def _check_same_tokens(a: str | Path, gold: TokenTable, b: str | Path, other: TokenTable) -> None:
    """Raise at the first place where two files are not about the same words."""
    if np.array_equal(gold.ptr, other.ptr):
        first = _first_other_word(gold.columns[WORD], other.columns[WORD])
        if first is None:
            return
        n = int(np.searchsorted(gold.ptr, first, side="right")) - 1
        t = first - int(gold.ptr[n])
        ours, theirs = (c.types[c.ids[first]] for c in (gold.columns[WORD], other.columns[WORD]))
        raise DataError(f"{_place(b, n, t)}: the word is {theirs!r}, but {ours!r} at {_place(a, n, t)}")
    common = min(gold.n_sentences, other.n_sentences)
    lengths = np.diff(gold.ptr)[:common], np.diff(other.ptr)[:common]
    differ = np.flatnonzero(lengths[0] != lengths[1])
    if len(differ):
        n = int(differ[0])
        raise DataError(
            f"{_place(b, n, 0)}: sentence {n + 1} has {lengths[1][n]} tokens, but {lengths[0][n]} "
            f"at {_place(a, n, 0)}"
        )
    longer, shorter = (a, b) if gold.n_sentences > common else (b, a)
    raise DataError(
        f"{_place(longer, common, 0)}: sentence {common + 1} begins here, but {display_name(shorter)} ends "
        f"after {common}"
    )


def _first_other_word(a: Column, b: Column) -> int | None:
    index = {word: i for i, word in enumerate(a.types)}
    same = np.array([index.get(word, -1) for word in b.types], dtype=np.int32)[b.ids] == a.ids
    return None if same.all() else int(np.argmin(same))


def _place(path: str | Path, sentence: int, token: int) -> str:
    """``file:line`` of a token in a column file, found by reading it again."""
    name = display_name(path)
    if str(path) == STDIO:
        return f"{name}, sentence {sentence + 1}, token {token + 1}"
    n, t, inside = -1, 0, False
    cells = None
    for number, line in lines(path):
        if not line.strip() or line.startswith("-DOCSTART-"):
            inside = False
            continue
        count = len(line.split())
        if line.startswith("#") and count != cells:
            continue
        cells = count
        n, t, inside = (n, t + 1, True) if inside else (n + 1, 0, True)
        if (n, t) == (sentence, token):
            return f"{name}:{number}"
    return f"{name}, sentence {sentence + 1}, token {token + 1}"


def _document_source(
    paths: Sequence[str | Path], formats: Sequence[str], told: Sequence[dict[str, Any]]
) -> DocumentSource:
    files = [list(read(path, f, **options)) for path, f, options in zip(paths, formats, told, strict=True)]
    gold = files[0]
    task = _task(gold, paths[0])
    if len(paths) == 1:
        if task not in (DOCUMENTS, LABEL_SETS) or not all(PREDICTION in d.fields for d in gold):
            raise DataError(
                f"{display_name(paths[0])}: a single file needs a column '{PREDICTION}' beside the labels, or "
                "name a second file with the predictions"
            )
        files.append(gold)
    places = [*paths, *paths] if len(paths) == 1 else paths
    for i, (path, documents) in enumerate(zip(places, files, strict=True)):
        if i > 0:
            _check_same_documents(paths[0], gold, path, documents, task)
        if task == DOCUMENTS:
            _check_one_label(path, documents, predicted=i > 0)
    return DocumentSource(task, tuple(map(display_name, paths)), gold, tuple(files[1:]))


def predicted_labels(d: Document) -> list[str]:
    """The labels that a system gave: in the column of predictions, or as the labels themselves."""
    if PREDICTION not in d.fields:
        return d.labels
    return [name for name in as_text(d.fields[PREDICTION]).split(SEPARATOR) if name]


def predicted_label(d: Document) -> str:
    """The label that a system gave: in the column of predictions, or as the label itself."""
    return as_text(d.fields[PREDICTION]) if PREDICTION in d.fields else d.labels[0]


def _task(gold: Sequence[Document], path: str | Path) -> str:
    has: tuple[tuple[str, Callable[[Document], Any]], ...] = (
        (TREES, lambda d: d.tree is not None),
        (LINKS, lambda d: d.links is not None),
        (LABEL_SETS, lambda d: len(d.labels) > 1),
        (DOCUMENTS, lambda d: d.labels),
        (SPANS, lambda d: d.spans),
    )
    for task, holds in has:
        if any(map(holds, gold)):
            return task
    raise DataError(f"{display_name(path)}: holds nothing to score: no tags, labels, spans, trees or links")


def _check_same_documents(
    a: str | Path, gold: Sequence[Document], b: str | Path, other: Sequence[Document], task: str
) -> None:
    for n, (x, y) in enumerate(zip_longest(gold, other)):
        if x is None or y is None:
            longer, shorter = (_row(a, n, x), b) if y is None else (_row(b, n, y), a)
            raise DataError(f"{longer}: item {n + 1} begins here, but {display_name(shorter)} ends after {n}")
        if task != TREES and x.text != y.text:
            at = next((i for i, (p, q) in enumerate(zip(x.text, y.text, strict=False)) if p != q), 0)
            shown = [repr(d.text[max(0, at - 10) : at + 20]) for d in (x, y)]
            raise DataError(
                f"{_row(b, n, y)}: the text is not that of {_row(a, n, x)}: {shown[1]}, but {shown[0]}"
            )


def _check_one_label(path: str | Path, documents: Sequence[Document], predicted: bool) -> None:
    for n, d in enumerate(documents):
        if predicted and PREDICTION in d.fields:
            continue
        if len(d.labels) != 1:
            raise DataError(f"{_row(path, n, d)}: expected one label, found {len(d.labels)}")


def _row(path: str | Path, n: int, d: Document | None) -> str:
    """``file:line`` where the format has a line or a row per item; else which item of the file."""
    known = None if d is None else d.line
    return f"{display_name(path)}, item {n + 1}" if known is None else f"{display_name(path)}:{known}"
