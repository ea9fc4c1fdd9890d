"""Templates that expand to strings, as CRF++ and Wapiti write them, and the dictionary of strings that have weights.

    U05:%x[-1,0]/%x[0,0]      CRF++: the text of column 0 of the token before, a slash, that of the token itself
    u:suf=%m[0,0,"..?$"]      Wapiti: the text that a regular expression matches

A feature is the whole expanded string. Columns are encoded as the tool's files are, and compared byte by byte.
"""

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.features import wapiti_patterns
from chaffinch.features.string_pieces import (
    PAIR,
    UNARY,
    Change,
    Dialect,
    Piece,
    StringTemplate,
    Texts,
    texts_of,
)
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, array, fact, listed_strings
from chaffinch.text.table import Column, TokenTable

# -- CRF++: U or B, then text with %x[row,column] ------------------------------------------------------------------

FARTHEST = 8  # rows before and after the token that may be read
_MACRO = re.compile(r"%(?:x\[(-?\d*),(\d*)\])?", re.ASCII)


def parse_crfpp(text: str) -> StringTemplate:
    """One template.

    >>> parse_crfpp("U05:%x[-1,0]/%x[0,1]").pieces
    (Piece(text='U05:', ...), Piece(text=None, column=0, offset=-1, ...), Piece(text='/', ...), Piece(...))
    >>> parse_crfpp("U01:%m[0,0]")
    Traceback (most recent call last):
    chaffinch.errors.ConfigError: the template 'U01:%m[0,0]' has a % that does not begin %x[row,column]
    """
    if text[:1] not in ("U", "B"):
        raise ConfigError(f"the template {text[:40]!r} begins with neither U nor B")
    pieces: list[Piece] = []
    at = 0
    for macro in _MACRO.finditer(text):
        if macro[0] == "%":
            raise ConfigError(f"the template {text[:40]!r} has a % that does not begin %x[row,column]")
        row, column = int(macro[1] if macro[1] not in ("", "-") else 0), int(macro[2] or 0)
        if abs(row) > FARTHEST:
            raise ConfigError(
                f"the template {text[:40]!r} reads row {row}; CRF++ allows {-FARTHEST} to {FARTHEST}"
            )
        if column > 2**16:
            raise ConfigError(
                f"the template {text[:40]!r} reads column {column}; {2**16} is the largest allowed"
            )
        if macro.start() > at:
            pieces.append(Piece(text[at : macro.start()]))
        pieces.append(Piece(None, column, row))
        at = macro.end()
    if at < len(text):
        pieces.append(Piece(text[at:]))
    return StringTemplate(UNARY if text[0] == "U" else PAIR, tuple(pieces))


def _crfpp_changed(change: Change, encoding: str, texts: Texts) -> Texts:
    """CRF++ reads columns as they are."""
    raise ConfigError(f"CRF++ has no command {change[0]!r} for {len(texts[1]) - 1} texts in {encoding}")


CRFPP = Dialect(
    "crf++",
    tuple(b"_B-%d" % n for n in range(1, FARTHEST + 1)),
    tuple(b"_B+%d" % n for n in range(1, FARTHEST + 1)),
    parse_crfpp,
    _crfpp_changed,
)

DIALECTS: Mapping[str, Dialect] = {d.name: d for d in (CRFPP, wapiti_patterns.DIALECT)}

PLACES = {"relative": 1, "start": 2, "end": 3}


@dataclass(frozen=True)
class StringRows:
    """The features of every token: for its label, and for its label and the one before.

    ptr, ids:           features of labels, as compressed rows
    pair_ptr, pair_ids: features of pairs of labels; the first token of a sentence has none
    """

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    pair_ptr: NDArray[np.int64]
    pair_ids: NDArray[np.int32]

    values: None = None


@dataclass(frozen=True, eq=False)
class StringDictionary(Saved):
    """Distinct strings of bytes: string k is text[bounds[k]:bounds[k + 1]]."""

    text: NDArray[np.uint8] = array("uint8", "B")
    bounds: NDArray[np.int64] = array("int64", "K+1", bounds="B")

    @classmethod
    def of(cls, keys: Sequence[bytes]) -> "StringDictionary":
        """The keys in this order."""
        return cls(*texts_of(keys))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, k: int) -> bytes:
        return self.text[self.bounds[k] : self.bounds[k + 1]].tobytes()


class StringTemplateEncoder:
    """Templates, and the strings that have weights: feature k is string k of the dictionary.

    dialect:  the tool that wrote the templates: a name in DIALECTS
    columns:  names for the columns that templates number, the word first
    encoding: of the training data

    >>> keys = StringDictionary.of([b"U0:the", b"U1:_B-1/the", b"B"])
    >>> encoder = StringTemplateEncoder("crf++", ["U0:%x[0,0]", "U1:%x[-1,0]/%x[0,0]", "B"], keys, ("w",))
    >>> rows = encoder.rows(TokenTable.from_lists({"w": [["the", "the"]]}), 1)
    >>> rows.ptr.tolist(), rows.ids.tolist(), rows.pair_ids.tolist(), encoder.names(rows.ids)[1]
    ([0, 2, 3], [0, 1, 0], [2], 'U1:_B-1/the')
    """

    def __init__(
        self,
        dialect: str,
        templates: Sequence[str],
        keys: StringDictionary,
        columns: tuple[str, ...],
        encoding: str = "utf-8",
    ) -> None:
        if dialect not in DIALECTS:
            raise ConfigError(
                f"there is no dialect {dialect!r} of templates; there are {', '.join(DIALECTS)}"
            )
        self.encoding = _known(encoding)
        self.dialect = DIALECTS[dialect]
        self.templates = tuple(templates)
        self.keys = keys
        self.columns = columns
        self.parsed: list[StringTemplate] = [self.dialect.parse(text) for text in templates]
        most = max((t.most_column for t in self.parsed), default=-1)
        if most >= len(columns):
            raise ConfigError(
                f"a template reads column {most}, but there are only {len(columns)}, numbered from 0"
            )
        self._engine = self._made()

    @property
    def n_features(self) -> int:
        """The number of features, F."""
        return len(self.keys)

    def rows(self, table: TokenTable, threads: int) -> StringRows:
        """The features of every token of the table."""
        given = [self._column(table.columns[name], name) for name in self.columns]
        views = []
        for column, change in self._views:
            texts, ids = given[column]
            if change is not None:
                texts = self.dialect.changed(change, self.encoding, texts)
            views.append((*texts, ids))
        if not views:  # every template is constant
            lengths = np.zeros(2 * len(self.dialect.before) + 2, np.int64)
            views = [(np.zeros(0, np.uint8), lengths, np.zeros(table.n_tokens, np.int32))]
        return StringRows(*self._engine.rows(table.ptr, views, threads))

    def names(self, ids: NDArray[np.int32]) -> list[str]:
        """The strings of features."""
        return [self.keys[k].decode(self.encoding, "backslashreplace") for k in ids.tolist()]

    def templates_of(self, ids: NDArray[np.int32]) -> list[int]:
        """The number of each feature's likely template: the one with the longest matching literal beginning."""
        begins = sorted(
            ((t.beginning.encode(self.encoding), n) for n, t in enumerate(self.parsed)), reverse=True
        )
        begins.sort(key=lambda pair: -len(pair[0]))
        return [next((n for begin, n in begins if self.keys[k].startswith(begin)), 0) for k in ids.tolist()]

    def packed(self) -> Packed:
        """The content for a model file."""
        facts = _Facts(self.dialect.name, list(self.templates), list(self.columns), self.encoding)
        return facts.packed() | self.keys.packed("keys.")

    @classmethod
    def loaded(cls, file: ModelFile) -> "StringTemplateEncoder":
        """The encoder of a model file, checked."""
        need = Requirements(file)
        facts = _Facts.loaded(need)
        keys = StringDictionary.loaded(need, "keys.")
        try:
            return cls(facts.dialect, facts.templates, keys, tuple(facts.columns), facts.encoding)
        except ConfigError as e:
            raise need.fault(f"its templates are damaged: {e}") from None

    @cached_property
    def _views(self) -> dict[tuple[int, Change | None], int]:
        """The numbers of the columns that pieces read, unchanged or changed."""
        keys = dict.fromkeys((p.column, p.change) for t in self.parsed for p in t.pieces if p.text is None)
        return {key: n for n, key in enumerate(keys)}

    def _made(self) -> "_core.StringTemplates":
        literals: dict[bytes, int] = {}
        pieces: list[tuple[int, int, int]] = []
        bounds = [0]
        for template in self.parsed:
            for p in template.pieces:
                if p.text is not None:
                    at = literals.setdefault(p.text.encode(self.encoding), len(literals))
                    pieces.append((0, at, 0))
                else:
                    pieces.append((PLACES[p.place], self._views[p.column, p.change], p.offset))
            bounds.append(len(pieces))
        texts = StringDictionary.of(list(literals))
        return _core.StringTemplates(
            np.ascontiguousarray(self.keys.text),
            np.ascontiguousarray(self.keys.bounds),
            texts.text,
            texts.bounds,
            np.array(pieces, np.int32).reshape(-1, 3),
            np.array(bounds, np.int64),
            np.array([t.kind for t in self.parsed], np.uint8),
            len(self.dialect.before),
        )

    def _column(self, column: Column, name: str) -> tuple[Texts, NDArray[np.int32]]:
        """The strings outside a sentence and those of the column, and the id of each token's string."""
        if len(column.ids) and column.ids.min() < 0:
            raise DataError(f"column {name!r} lacks a value at token {int(column.ids.argmin()) + 1}")
        own = [t.encode(self.encoding, "backslashreplace") for t in column.types]
        return texts_of([*self.dialect.before, *self.dialect.after, *own]), column.ids


@dataclass(frozen=True)
class _Facts(Saved):
    """The facts in the header."""

    dialect: str = fact(str, check=DIALECTS.__contains__, expected=f"one of {', '.join(DIALECTS)}")
    templates: Any = fact(list, check=listed_strings, expected="a list of templates")
    columns: Any = fact(list, check=listed_strings, expected="a list of names")
    encoding: str = fact(str, default="utf-8")


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise ConfigError(f"there is no encoding {encoding!r}") from None
