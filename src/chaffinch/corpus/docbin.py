"""spaCy's DocBin (``.spacy``): docs with entities, span groups, tags and categories, read and written without spaCy.

    zlib of MessagePack {version, attrs, tokens: uint64 [T, attrs], spaces: bool [T], lengths: int32 [N], strings, cats,
                         flags, span_groups}

Strings are stored as 64-bit numbers (:mod:`chaffinch.corpus.spacy_strings`); ``strings`` lists their texts. White
space tokens become part of the text, not tokens. A doc with sentences and without categories is read as one document
per sentence, with the doc's number as their group; sentences of one group are written as one doc, with a space between.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus.format import Format
from chaffinch.corpus.lines import cut, listed
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.msgpack import packed, unpacked
from chaffinch.corpus.spacy_strings import string_number, symbols
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import display_name, reading, writing
from chaffinch.knobs import configured, knob
from chaffinch.text.alignment import spans_of, tagged
from chaffinch.text.document import LABEL, Document, Span, Token
from chaffinch.text.schemes import BIO, scheme_of
from chaffinch.text.tokens import tokenised

ENTITIES = "ents"
# The columns of tokens: their names in CoNLL-U, and spaCy's attributes.
COLUMNS = {"xpos": "TAG", "upos": "POS", "lemma": "LEMMA", "feats": "MORPH"}
NOTHING = "_"  # in a column, a token without a value
GROUP = "sc"  # the span group that spaCy's span categorizer uses
BEGIN, INSIDE, OUTSIDE, UNKNOWN = 3, 1, 2, 0  # values of ENT_IOB
_SPAN = struct.Struct(">QQQllll")  # id, kb_id, label, start, end in tokens, start, end in characters
UNIVERSAL = frozenset(list(symbols())[symbols()["ADJ"] : symbols()["SPACE"] + 1])


@dataclass(frozen=True, kw_only=True)
class DocBinOptions:
    """Which annotation to learn."""

    label: str | None = knob(
        None,
        "annotation to learn: ents, the name of a span group, xpos, upos, lemma, feats, or '' for none; by default the "
        "first that the file has of ents, the span group sc, xpos and upos",
    )


def read(path: str | Path, *, losses: Losses | None = None, **settings: Any) -> Iterator[Document]:
    """The docs of a file, or their sentences."""
    options: DocBinOptions = configured(DocBinOptions, settings, "docbin")
    name = display_name(path)
    with reading(path) as stream:
        content = stream.read()
    tally = losses if losses is not None else Losses()
    try:
        found = _Docs.of(unpacked(zlib.decompress(content)))
        label = found.chosen(options.label)
        for number in range(len(found.lengths)):
            try:
                made = found.documents(number, label, tally, f"{name}: doc {number + 1}")
            except _FAULTS as e:
                raise ValueError(f"doc {number + 1}: {e}") from None
            yield from made
    except zlib.error:
        raise DataError(f"{name}: is not a DocBin: it is not compressed by zlib, or is truncated") from None
    except ConfigError as e:
        raise ConfigError(f"{name}: {e}") from None
    except _FAULTS as e:
        raise DataError(f"{name}: is not a valid DocBin: {cut(str(e))}") from None


def write(documents: Iterable[Document], path: str | Path) -> None:
    """Docs with the annotations that the documents have; spans that overlap in any of them go to the group ``sc``."""
    given = [tokenised(d) for d in documents]
    every = {label for d in given for label in d.columns.get(LABEL, ())}
    scheme = scheme_of(sorted(every)) if every else None
    spans = any(d.spans for d in given)
    if scheme is not None and not spans:
        given = [replace(d, spans=spans_of(d, scheme)) if LABEL in d.columns else d for d in given]
        spans = True
    named = "upos" if every and every <= UNIVERSAL else "xpos"
    if every and scheme is None:
        given = [_renamed(d, named) for d in given]
    given, misfits = tagged(given, BIO, overlapping="drop", column=ENTITIES)
    columns = [name for name in COLUMNS if any(name in d.columns for d in given)]
    made = _Made(columns, ents=spans and not misfits, groups=bool(misfits) or _scored(given))
    numbered = ((n if d.group is None else d.group, d) for n, d in enumerate(given))
    for _, some in groupby(numbered, key=lambda one: one[0]):
        made.add([d for _, d in some])
    with writing(path) as out:
        out.write(zlib.compress(packed(made.content())))


_FAULTS = (ValueError, TypeError, LookupError, AttributeError, OverflowError, struct.error)


@dataclass(frozen=True)
class _Docs:
    """The content of a file, its sizes checked.

    values: uint64 [T] for each attribute
    texts:  each number's string
    """

    values: Mapping[str, NDArray[np.uint64]]
    spaces: NDArray[np.bool_]
    lengths: list[int]
    starts: list[int]
    texts: Mapping[int, str]
    cats: list[Any]
    flags: list[Any]
    groups: list[dict[str, Any]]

    @classmethod
    def of(cls, content: Any) -> "_Docs":
        names = {number: name for name, number in symbols().items()}
        attributes = [names[number] for number in content["attrs"]]
        tokens = np.frombuffer(content["tokens"], "<u8")
        spaces = np.frombuffer(content["spaces"], np.bool_)
        lengths = np.frombuffer(content["lengths"], "<i4").astype(np.int64)
        T, N = int(lengths.sum()), len(lengths)
        if "ORTH" not in attributes or len(set(attributes)) < len(attributes):
            raise ValueError("ORTH is missing from its attributes, or an attribute is listed twice")
        if (lengths < 0).any() or len(tokens) != T * len(attributes) or len(spaces) != T:
            raise ValueError(
                f"{N} docs of {T} tokens do not fit {len(tokens)} values and {len(spaces)} spaces"
            )
        table = tokens.reshape(T, len(attributes))
        texts = dict(enumerate(symbols()))
        for string in content["strings"]:
            if "\0" in string:
                raise ValueError("a string holds a NUL character")
            texts[string_number(string)] = string
        cats = content["cats"]
        flags = content.get("flags", [{}] * N)
        groups = content.get("span_groups", [b""] * N)
        if not len(cats) == len(flags) == len(groups) == N:
            raise ValueError(
                f"{N} docs, but {len(cats)} cats, {len(flags)} flags and {len(groups)} span groups"
            )
        starts = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        values = {name: table[:, c] for c, name in enumerate(attributes)}
        return cls(values, spaces, lengths.tolist(), starts, texts, cats, flags, [_groups(g) for g in groups])

    @cached_property
    def annotations(self) -> list[str]:
        """The entities, span groups and columns that the file has."""
        iob = self.values.get("ENT_IOB", np.zeros(0))
        entities = [ENTITIES] if np.isin(iob, (BEGIN, INSIDE)).any() else []
        groups = sorted({key for one in self.groups for key in one})
        columns = [
            name for name, attribute in COLUMNS.items() if self.values.get(attribute, np.zeros(0)).any()
        ]
        return [*entities, *groups, *columns]

    def chosen(self, label: str | None) -> str:
        """The annotation to learn: the given one, or the first that the file has."""
        have = self.annotations
        if label is None:
            return next((name for name in (ENTITIES, GROUP, "xpos", "upos") if name in have), "")
        if label and label not in have:
            raise ConfigError(
                f"there is no annotation {label!r} to learn; the file has {listed(have) or 'none'}"
            )
        return label

    def documents(self, number: int, label: str, losses: Losses, where: str) -> Iterable[Document]:
        """A doc as one document, or as one for each of its sentences."""
        a, b = self.starts[number], self.starts[number + 1]
        words = self.strings("ORTH", a, b)
        after = self.spaces[a:b].tolist()
        unknown = bool(self.flags[number].get("has_unknown_spaces"))
        pieces, offsets, at = [], [], 0
        for word, space in zip(words, after, strict=True):
            if not word:
                raise ValueError("a token has no text")
            offsets.append(at)
            pieces.append(word + " " if space or unknown else word)
            at += len(pieces[-1])
        text = "".join(pieces).rstrip(" ") if unknown else "".join(pieces)
        shown = [t for t, word in enumerate(words) if not word.isspace()]
        tokens = [Token(words[t], offsets[t], offsets[t] + len(words[t])) for t in shown]
        d = Document(text=text, tokens=tokens, line=number + 1)
        for name, attribute in COLUMNS.items():
            if name in self.annotations:
                cells = self.strings(attribute, a, b)
                d.columns[LABEL if name == label else name] = [cells[t] or NOTHING for t in shown]
        runs = self.runs(number, label, losses, where)
        d.spans = [
            Span(kind, offsets[start], offsets[end - 1] + len(words[end - 1]), score)
            for kind, start, end, score in runs
        ]
        _set_categories(d, self.cats[number], losses, where)
        if self.values.get("DEP", np.zeros(0))[a:b].any():
            losses.add("dependencies are not carried", where)
        if d.labels or "SENT_START" not in self.values:
            return [d]
        begins = np.flatnonzero(self.values["SENT_START"][a:b] == 1).tolist()
        inside = {t for _, start, end, _ in runs for t in range(start + 1, end)}
        return _sentences(d, [offsets[t] for t in begins if t not in inside], str(number + 1))

    def strings(self, attribute: str, a: int, b: int) -> list[str]:
        texts, found = self.texts, self.values[attribute][a:b].tolist()
        missing = next((value for value in found if value not in texts), None)
        if missing is not None:
            raise ValueError(f"{attribute} has the value {missing}, which is not among the file's strings")
        return [texts[value] for value in found]

    def runs(
        self, number: int, label: str, losses: Losses, where: str
    ) -> list[tuple[str, int, int, float | None]]:
        """The spans to learn as runs of tokens; entities get the scores of a group with the same spans."""
        grouped = {
            key: self.grouped(group, self.lengths[number]) for key, group in self.groups[number].items()
        }
        if label in COLUMNS and ENTITIES in self.annotations:
            label = ENTITIES
        runs = self.entities(number, losses, where) if label == ENTITIES else grouped.get(label, [])
        scores = {run[:3]: run[3] for run in grouped.get(GROUP, [])}
        if label == ENTITIES and {run[:3] for run in runs} == set(scores):
            runs = [(*run[:3], scores[run[:3]]) for run in grouped.pop(GROUP, runs)]
        grouped.pop(label, None)
        losses.add("spans of other span groups are not carried", where, sum(map(len, grouped.values())))
        return runs

    def entities(self, number: int, losses: Losses, where: str) -> list[tuple[str, int, int, float | None]]:
        a, b = self.starts[number], self.starts[number + 1]
        iob = self.values["ENT_IOB"][a:b].tolist()
        kinds = self.strings("ENT_TYPE", a, b) if "ENT_TYPE" in self.values else [""] * (b - a)
        found: list[tuple[str, int, int, float | None]] = []
        for t, sign in enumerate(iob):
            if sign not in (BEGIN, INSIDE, OUTSIDE, UNKNOWN):
                raise ValueError(f"token {t + 1} has the value {sign} for ENT_IOB")
            if sign == BEGIN or (sign == INSIDE and not (found and found[-1][2] == t)):
                if not kinds[t]:
                    if sign == BEGIN:  # spaCy's sign for "no entity may be here"
                        continue
                    raise ValueError(f"token {t + 1} is inside an entity without a type")
                found.append((kinds[t], t, t + 1, None))
            elif sign == INSIDE:
                found[-1] = (found[-1][0], found[-1][1], t + 1, None)
        losses.add("tokens with unknown entities are read as outside", where, iob.count(UNKNOWN))
        return found

    def grouped(self, group: Any, T: int) -> list[tuple[str, int, int, float | None]]:
        spans = [_SPAN.unpack(span) for span in group["spans"]]
        scores = _numbers(group.get("attrs", {}).get("scores"))
        found: list[tuple[str, int, int, float | None]] = []
        for i, (_, _, label, start, end, _, _) in enumerate(spans):
            if not 0 <= start < end <= T:
                raise ValueError(f"a span runs from token {start} to {end}, but the doc has {T} tokens")
            if label not in self.texts:
                raise ValueError(f"a span has the label {label}, which is not among the file's strings")
            score = scores[i] if scores is not None and len(scores) == len(spans) else None
            found.append((self.texts[label], start, end, score))
        return found


class _Made:
    """Collects the content of a file to write.

    columns: the columns to write   ents: write spans as entities   groups: write spans to the span group ``sc``
    """

    def __init__(self, columns: Sequence[str], ents: bool, groups: bool) -> None:
        self.columns, self.ents, self.groups = columns, ents, groups
        self.rows: list[list[str | int]] = []
        self.spaces: list[bool] = []
        self.lengths: list[int] = []
        self.cats: list[dict[str, float]] = []
        self.span_groups: list[bytes] = []
        self.strings: set[str] = {""}

    def add(self, sentences: Sequence[Document]) -> None:
        """Add one doc: a document, or the sentences of one group."""
        first = len(self.rows)
        spans: list[list[Any]] = []
        for n, d in enumerate(sentences):
            if n and self.rows and len(self.rows) > first:
                self.spaces[-1] = True
            self._add_sentence(d, len(self.rows) - first, spans, starts=len(sentences) > 1)
        self.lengths.append(len(self.rows) - first)
        self.cats.append(_categories_of(sentences))
        self.span_groups.append(self._group(spans) if self.groups else b"\x90")

    def content(self) -> dict[str, Any]:
        """The value to pack."""
        numbers = {string: string_number(string) for string in self.strings}
        attributes = ["ORTH", *(COLUMNS[name] for name in self.columns)]
        attributes += ["ENT_IOB", "ENT_TYPE"] if self.ents else []
        attributes.append("SENT_START")
        flat = [numbers[cell] if isinstance(cell, str) else cell for row in self.rows for cell in row]
        return {
            "version": "0.1",
            "attrs": [symbols()[name] for name in attributes],
            "tokens": np.array(flat, "<u8").tobytes(),
            "spaces": np.array(self.spaces, np.bool_).tobytes(),
            "lengths": np.array(self.lengths, "<i4").tobytes(),
            "strings": sorted(self.strings),
            "cats": self.cats,
            "flags": [{"has_unknown_spaces": False}] * len(self.lengths),
            "span_groups": self.span_groups,
        }

    def _add_sentence(self, d: Document, first: int, spans: list[list[Any]], *, starts: bool) -> None:
        at, begun = 0, False
        places: list[int] = []  # the row of each token
        for t, token in enumerate(d.tokens):
            self._add_space(d, at, token.start, first + len(places) > 0 or bool(at))
            places.append(len(self.rows))
            cells: list[str | int] = [token.text]
            cells += [_cell(d.columns[name][t]) if name in d.columns else "" for name in self.columns]
            if self.ents:
                tag = d.columns[ENTITIES][t]
                cells += [{"B": BEGIN, "I": INSIDE, "O": OUTSIDE}[tag[0]], tag[2:]]
            cells.append(1 if starts and not begun else 0)
            begun = True
            self._append(cells)
            at = token.end
        self._add_space(d, at, len(d.text), bool(at))
        ends = {token.end: t for t, token in enumerate(d.tokens)}
        begins = {token.start: t for t, token in enumerate(d.tokens)}
        origin = sum(self.lengths)
        for s in d.spans if self.groups else ():
            a, b = places[begins[s.start]] - origin, places[ends[s.end]] + 1 - origin
            self.strings.add(s.label)
            spans.append([_SPAN.pack(0, 0, string_number(s.label), a, b, s.start, s.end), s.score])

    def _add_space(self, d: Document, start: int, end: int, follows: bool) -> None:
        """Add the white space between two tokens: one space belongs to the token before, the rest is a token."""
        gap = d.text[start:end]
        if gap and not gap.isspace():
            raise DataError(f"the text {cut(gap)!r} is in none of the tokens, so a DocBin cannot carry it")
        if gap.startswith(" ") and follows:
            self.spaces[-1] = True
            gap = gap[1:]
        if gap:
            outside: list[str | int] = [OUTSIDE, ""] if self.ents else []
            self._append([gap, *([""] * len(self.columns)), *outside, 0])

    def _append(self, cells: list[str | int]) -> None:
        self.strings.update(cell for cell in cells if isinstance(cell, str))
        self.rows.append(cells)
        self.spaces.append(False)

    def _group(self, spans: list[list[Any]]) -> bytes:
        scores = [score for _, score in spans]
        attrs: dict[str, Any] = {}
        if scores and all(score is not None for score in scores):
            data = np.array(scores, "<f8").tobytes()
            attrs["scores"] = {
                b"nd": True,
                b"type": "<f8",
                b"kind": b"",
                b"shape": [len(scores)],
                b"data": data,
            }
        group = packed({"name": GROUP, "attrs": attrs, "spans": [span for span, _ in spans]})
        return packed({group: [GROUP]})


def _groups(content: bytes) -> dict[str, Any]:
    """The span groups of a doc by their names; older files hold a list."""
    if not content:
        return {}
    found = unpacked(content)
    if isinstance(found, list):
        groups = [unpacked(one) for one in found]
        return {str(group["name"]): group for group in groups}
    return {str(key): unpacked(group) for group, keys in found.items() for key in keys}


def _numbers(value: Any) -> list[float] | None:
    """The scores of a span group: a list, or an array as msgpack-numpy writes it."""
    if isinstance(value, dict) and value.get(b"nd") is True and value.get(b"type") in ("<f4", "<f8"):
        return np.frombuffer(value[b"data"], value[b"type"]).astype(np.float64).tolist()
    if isinstance(value, list) and all(isinstance(one, float) for one in value):
        return value
    return None


def _set_categories(d: Document, cats: Any, losses: Losses, where: str) -> None:
    values = {str(label): float(value) for label, value in cats.items()}
    if not all(0 <= value <= 1 for value in values.values()):
        raise ValueError(f"its cats are not between 0 and 1: {cut(str(values))}")
    d.labels = [label for label, value in values.items() if value >= 0.5]
    if set(values.values()) <= {0.0, 1.0}:
        return
    if abs(sum(values.values()) - 1) < 1e-3:
        d.shares = values
        d.labels = [max(values, key=lambda label: values[label])]
    else:
        losses.add("values of cats that do not add up to 1 are read as labels if they are 0.5 or more", where)


def _categories_of(sentences: Sequence[Document]) -> dict[str, float]:
    if len(sentences) == 1 and sentences[0].shares:
        return dict(sentences[0].shares)
    return {label: 1.0 for d in sentences for label in d.labels}


def _sentences(d: Document, begins: list[int], group: str) -> Iterable[Document]:
    """The sentences of a doc; ``begins`` holds the character offsets of their beginnings."""
    bounds = sorted({0, *begins})
    if len(bounds) == 1:
        return [d]
    made = []
    for a, b in zip(bounds, [*bounds[1:], len(d.text)], strict=True):
        shown = [t for t, token in enumerate(d.tokens) if a <= token.start < b]
        if not shown:
            continue
        left, right = d.tokens[shown[0]].start, d.tokens[shown[-1]].end
        made.append(
            Document(
                text=d.text[left:right],
                tokens=[
                    Token(x.text, x.start - left, x.end - left) for x in map(d.tokens.__getitem__, shown)
                ],
                columns={name: [cells[t] for t in shown] for name, cells in d.columns.items()},
                spans=[
                    replace(s, start=s.start - left, end=s.end - left)
                    for s in d.spans
                    if left <= s.start < right
                ],
                group=group,
                line=d.line,
            )
        )
    return made


def _renamed(d: Document, name: str) -> Document:
    """The document with its tags in the column of this name, replacing any column of that name."""
    if LABEL not in d.columns:
        return d
    others = {key: cells for key, cells in d.columns.items() if key not in (LABEL, name)}
    return replace(d, columns={**others, name: d.columns[LABEL]})


def _cell(value: str) -> str:
    return "" if value == NOTHING else value


def _scored(given: Sequence[Document]) -> bool:
    return any(s.score is not None for d in given for s in d.spans)


def _looks_like(_name: str, head: bytes) -> bool:
    try:
        start = zlib.decompressobj().decompress(head, 64)
    except zlib.error:
        return False
    return b"\xa7version" in start and b"\xa5attrs" in start


FORMAT = Format(
    name="docbin",
    extensions=(".spacy",),
    read=read,
    write=write,
    carries=frozenset({"text", "tokens", "columns", "spans", "scores", "labels", "shares", "group"}),
    looks_like=_looks_like,
    options=DocBinOptions,
    columns=(LABEL, *COLUMNS),
)
