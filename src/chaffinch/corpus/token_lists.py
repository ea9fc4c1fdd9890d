"""Sentences as lists: an object per sentence with its words, and lists of tags of the same length.

    {"tokens": ["Ann", "left"], "ner_tags": ["B-PER", "O"], "pos_tags": ["NNP", "VBD"]}

One object per line, or one array of them. Tables of Hugging Face's datasets have the same columns.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaffinch import _core
from chaffinch.corpus.format import Format
from chaffinch.corpus.headers import TEXT_NAMES
from chaffinch.corpus.json_records import (
    Record,
    as_text,
    compact,
    first_object,
    records,
    shown,
    writing_json,
)
from chaffinch.corpus.lines import BOM, LONGEST_LINE, is_sound, listed
from chaffinch.corpus.losses import Losses, accepted
from chaffinch.corpus.splitter import with_shared
from chaffinch.errors import DataError
from chaffinch.files import first_line, reading, writing_text
from chaffinch.knobs import knob
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.table import Column, SharedTypes, TokenTable

TOKEN_NAMES = ("tokens", "words")  # lists of words
TAG_NAMES = ("ner_tags", "tags", "labels", "pos_tags", "upos", "chunk_tags")  # lists of tags, to learn


@dataclass(frozen=True, kw_only=True)
class TokenListOptions:
    """Which list is learnt, if there are several."""

    label: str | None = knob(None, "key of the list of tags to learn")


Lists = tuple[str, str | None, list[str]]
"""The names of the list of words, of the list of tags to learn, and of further lists of tags."""


def token_lists(
    where: str, lists: Sequence[str], others: Iterable[str], label: str | None, tags: Iterable[str] = ()
) -> Lists | None:
    """Which lists hold words and tags; None if the lists do not describe the words of a sentence.

    lists: names of the values that are lists   others: names of all other values   tags: lists known to be tags

    >>> token_lists("f", ["tokens", "pos_tags", "ner_tags"], ["id"], None)
    ('tokens', 'ner_tags', ['pos_tags'])
    """
    words = next((key for key in TOKEN_NAMES if key in lists), None)
    if words is None:
        return None
    rest = [key for key in lists if key not in (words, "spans")]
    if label is not None and label not in rest:
        if label in others:  # a label of the whole text
            return None
        raise DataError(f"{where}: there is no column {label!r} of tags; there is {listed(rest) or 'none'}")
    learnt = label or next((key for key in TAG_NAMES if key in rest), None)
    learnt = learnt or next((key for key in rest if key.endswith("_tags")), None)
    if learnt is None and any(key in TEXT_NAMES for key in others):
        return None
    further = [key for key in rest if key.endswith("_tags") or (key in tags and key != "labels")]
    return words, learnt, [key for key in further if key != learnt]


def tagged(where: str, row: dict[str, Any], found: Lists) -> Document:
    """A sentence with its tags; further lists of tags become columns of the same names."""
    words, tags, others = found
    given = row.get(words)
    if not isinstance(given, list) or not all(isinstance(word, str) and word for word in given):
        raise DataError(f"{where}: expected {words!r} to be a list of words, found {shown(given)}")
    columns: dict[str, list[str]] = {}
    for name, key in [*((other, other) for other in others), *([] if tags is None else [(LABEL, tags)])]:
        cells = row.get(key) or []
        if not isinstance(cells, list):
            raise DataError(f"{where}: expected {key!r} to be a list of tags, found {shown(cells)}")
        if len(cells) != len(given):
            raise DataError(f"{where}: {len(given)} tokens, but {key!r} has {len(cells)}")
        missing = next((n for n, cell in enumerate(cells, 1) if cell is None or cell == ""), None)
        if missing is not None:
            raise DataError(f"{where}: token {missing} has no value in {key!r}")
        columns[name] = [as_text(cell) for cell in cells]
    d = Document.from_words([str(word) for word in given], **columns)
    d.id = Record(where, row).identifier("id")
    kept = (words, tags, "id", *others)
    d.fields = {key: value for key, value in row.items() if key not in kept}
    return d


def read(path: str | Path, *, label: str | None = None, losses: Losses | None = None) -> Iterator[Document]:
    """The sentences of a file; the lists of its first object decide which one is learnt."""
    found: Lists | None = None

    def made(record: Record) -> Document:
        nonlocal found
        if found is None:
            lists = [key for key, value in record.value.items() if isinstance(value, list)]
            found = token_lists(record.where, lists, set(record.value) - set(lists), label)
        if found is None:
            raise DataError(
                f"{record.where}: expected a list of words, 'tokens', found {listed(record.value)}"
            )
        d = tagged(record.where, record.value, found)
        d.line = record.line
        return d

    return accepted(records(path, losses), made, losses)


@dataclass(frozen=True)
class SentenceObjects:
    """The sentences of lines as objects of the core.

    names: the columns of the sentences   table: the columns of them that were asked for
    """

    rows: _core.TokenObjects
    names: tuple[str, ...]
    table: TokenTable

    def lines(self, labels: Column) -> bytes:
        """As :func:`write` writes these sentences with other tags."""
        return self.rows.lines([compact(str(label)) for label in labels.types], labels.ids)


def read_objects(
    path: str | Path,
    columns: Sequence[str] | None = None,
    shared: Callable[[Sequence[str]], Sequence[SharedTypes]] = lambda _: (),
) -> SentenceObjects | None:
    """All lines of a file as objects of the core; None if one is not plain: :func:`read` reads it.

    columns: those of the table beside the words; None: all   shared: the types of columns with these names, if any
    """
    with reading(path) as stream:
        content = stream.read()
    content = content.removeprefix(BOM) if first_line(path) == 1 else content
    if len(content) > LONGEST_LINE or not is_sound(content):
        return None
    first = first_object(content)
    lists = [key for key, value in first.items() if isinstance(value, list)]
    found = token_lists("", lists, set(first) - set(lists), None)
    if found is None:
        return None
    words, tags, others = found
    names = (WORD, *others, *(() if tags is None else (LABEL,)))
    kept = [i for i, name in enumerate(names) if columns is None or name == WORD or name in columns]
    types = shared([names[i] for i in kept])
    interners = [one.interner for one in types]
    rows = _core.token_objects(content, words, others, tags or "", kept, interners)
    if rows is None or not len(rows):
        return None
    ptr, made = rows.columns()
    made = with_shared(made, types) if types else made
    table = TokenTable(ptr, {names[i]: Column(*column) for i, column in zip(kept, made, strict=True)})
    return SentenceObjects(rows, names, table)


def write(documents: Iterable[Document], path: str | Path) -> None:
    """``tokens``, ``tags`` and the further columns."""
    with writing_text(path) as out, writing_json(out, path) as put:
        for n, d in enumerate(documents, 1):
            made: dict[str, Any] = {} if d.id is None else {"id": d.id}
            made["tokens"] = d.words()
            for name, cells in d.columns.items():
                made["tags" if name == LABEL else name] = cells
            for key, value in d.fields.items():
                if key in made:
                    raise DataError(f"document {n}: a field is called {key!r}, which is the name of a list")
                made[key] = value
            put(made)


def _looks_like(_name: str, head: bytes) -> bool:
    """The first object has a list of words and no text."""
    first = first_object(head) or _first_of_array(head)
    has_words = any(isinstance(first.get(key), list) for key in TOKEN_NAMES)
    return has_words and not any(isinstance(first.get(key), str) for key in TEXT_NAMES)


def _first_of_array(head: bytes) -> dict[str, Any]:
    """The first object of an array with this start; empty if there is none, or if it is cut off."""
    start = head.removeprefix(BOM).decode("utf-8", "replace").lstrip()
    if not start.startswith("["):
        return {}
    try:
        value, _ = json.JSONDecoder().raw_decode(start[1:].lstrip())
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


FORMAT = Format(
    name="jsonl-tokens",
    extensions=(".jsonl", ".ndjson", ".json"),
    read=read,
    write=write,
    carries=frozenset({"text", "tokens", "columns", "id", "fields"}),
    looks_like=_looks_like,
    options=TokenListOptions,
)
