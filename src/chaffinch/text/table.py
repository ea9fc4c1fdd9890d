"""The token table: sentences as columns of ids, each distinct string stored once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Interner, joined_columns
from chaffinch.errors import DataError
from chaffinch.text import attributes as own
from chaffinch.text.attributes import ATTRIBUTES, Attributes
from chaffinch.text.document import WORD, Document


@dataclass(frozen=True)
class Column:
    """One string per token, held as an id into the distinct ones.

    types: the distinct strings, in order of first occurrence
    ids:   int32 [tokens], -1 if the string is none of the types
    """

    types: list[str]
    ids: NDArray[np.int32]

    def strings(self) -> list[str]:
        """One string per token."""
        types = up_to_date(self.types)
        return [types[i] for i in self.ids.tolist()]


class SharedTypes(list[str]):
    """The types of a column that the tables of many blocks share: they grow, and encoders keep what they know of them.

    interner: the same strings, by which the core numbers those of further blocks; :func:`up_to_date` makes strings of
              them, if they are needed
    kept:     what an encoder knows, by the id of the object that it is held for, and that object

    >>> types = SharedTypes()
    >>> _ = types.interner.intern_nested([["a", "tea"]])
    >>> types.grow()
    >>> def lengths(words, first): return np.array([len(word) for word in words.strings(first)], np.int32)
    >>> types.of_each(lengths, lengths).tolist()
    [1, 3]
    """

    def __init__(self) -> None:
        super().__init__()
        self.interner = Interner()
        self.kept: dict[int, tuple[object, Any]] = {}

    def grow(self) -> None:
        """Make strings of what the core has numbered since the last call."""
        self.extend(self.interner.strings(len(self)))

    def of_each(
        self, owner: object, found: Callable[[Interner, int], NDArray[np.int32]]
    ) -> NDArray[np.int32]:
        """What a function finds for each type: int32 [types]; it is asked for types from an id on, which are new."""
        known = self.kept.get(id(owner), (owner, np.zeros(0, np.int32)))[1]
        if len(known) < len(self.interner):
            known = np.concatenate([known, found(self.interner, len(known))])
            self.kept[id(owner)] = owner, known
        return np.asarray(known)


def up_to_date(types: list[str]) -> list[str]:
    """The types of a column, if they are shared with all that the core has numbered."""
    if isinstance(types, SharedTypes):
        types.grow()
    return types


_ROW_TYPES = frozenset((list, tuple))  # types of sentences with a length


class ListColumns(Mapping[str, Column]):
    """Columns given as lists of strings; each is converted to ids on first use.

    lists: the sentences of each column     first: the number of the first sentence in messages
    """

    def __init__(self, lists: Mapping[str, Sequence[Sequence[str]]], first: int = 1) -> None:
        self._first = first
        self.lists = {name: rows if isinstance(rows, list) else list(rows) for name, rows in lists.items()}
        self._made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self._made:
            interner = Interner()
            try:
                _, ids = interner.intern_nested(self.lists[name])
            except TypeError as e:
                found = _strange_cell(self.lists[name], self._first) or f": {e}"
                raise DataError(f"expected sentences of strings{found}") from None
            self._made[name] = Column(interner.strings(), ids)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.lists)

    def __len__(self) -> int:
        return len(self.lists)

    def __contains__(self, name: object) -> bool:
        return name in self.lists


class ShownWords(Mapping[str, Column]):
    """The word column of tokens that have only features of their own: made on first use, for display."""

    def __init__(self, attributes: Attributes, ptr: NDArray[np.int64]) -> None:
        self._attributes, self._ptr = attributes, ptr
        self._made: Column | None = None

    def __getitem__(self, name: str) -> Column:
        if name != WORD:
            raise KeyError(name)
        if self._made is None:
            interner = Interner()
            _, ids = interner.intern_nested(self._attributes.words(self._ptr))
            self._made = Column(interner.strings(), ids)
        return self._made

    def __iter__(self) -> Iterator[str]:
        return iter((WORD,))

    def __len__(self) -> int:
        return 1


@dataclass(frozen=True)
class TokenTable:
    """Sentences of tokens with named columns, all of one length.

    ptr:    int64 [N+1], sentence n is the tokens ptr[n] .. ptr[n+1]
    groups: int32 [N], the larger document that each sentence belongs to; None if unknown
    images: tokens are images in the notation of the letters format
    weight: float32 [N], weight of each sentence in training; None: all equal
    attributes: the features that were given with the tokens; None: there are only columns

    >>> table = TokenTable.from_lists({"w": [["a", "b", "a"], ["b"]]})
    >>> table.columns["w"].types, table.columns["w"].ids.tolist(), table.ptr.tolist()
    (['a', 'b'], [0, 1, 0, 1], [0, 3, 4])
    >>> table.lists("w")
    [['a', 'b', 'a'], ['b']]
    """

    ptr: NDArray[np.int64]
    columns: Mapping[str, Column]
    groups: NDArray[np.int32] | None = None
    images: bool = False
    weight: NDArray[np.float32] | None = None
    attributes: Attributes | None = None

    @classmethod
    def from_lists(cls, columns: Mapping[str, Sequence[Sequence[str]]]) -> "TokenTable":
        """A table from one list of lists of strings per column; all must have the same shape."""
        ptr: NDArray[np.int64] | None = None
        made = {}
        first = ""
        for name, rows in columns.items():
            interner = Interner()
            bounds, ids = interner.intern_nested(rows if isinstance(rows, list) else list(rows))
            if ptr is None:
                ptr, first = bounds, name
            elif not np.array_equal(ptr, bounds):
                raise DataError(_shape_difference(first, ptr, name, bounds))
            made[name] = Column(interner.strings(), ids)
        if ptr is None:
            raise DataError("a token table needs at least one column")
        return cls(ptr, made)

    @classmethod
    def over_lists(cls, columns: Mapping[str, Sequence[Sequence[str]]], first: int = 1) -> "TokenTable":
        """The same table, but each column is converted to ids on first use; ``attributes`` holds own features.

        first: the number of the first sentence in messages

        >>> TokenTable.over_lists({"w": [["a", "b", "a"], ["b"]]}).columns["w"].types
        ['a', 'b']
        """
        if ATTRIBUTES in columns:
            return cls._with_attributes(columns)
        given = ListColumns(columns, first)
        lengths: list[int] | None = None
        for rows in given.lists.values():
            here = list(map(len, rows)) if _ROW_TYPES.issuperset(map(type, rows)) else None
            if here is None or (lengths is not None and here != lengths):
                return cls.from_lists(columns)  # raises the error
            lengths = here
        if lengths is None:
            return cls.from_lists(columns)
        return cls(np.array([0, *accumulate(lengths)], np.int64), given)

    @classmethod
    def _with_attributes(cls, columns: Mapping[str, Sequence[Sequence[Any]]]) -> "TokenTable":
        rows = columns[ATTRIBUTES]
        given = [row if isinstance(row, list | tuple) else list(row) for row in rows]
        ptr = np.array([0, *accumulate(map(len, given))], np.int64)
        words = {name: cells for name, cells in columns.items() if name != ATTRIBUTES}
        made = Attributes(WORD not in words, given)
        if not words:
            return cls(ptr, ShownWords(made, ptr), attributes=made)
        table = cls.over_lists(words)
        if not np.array_equal(table.ptr, ptr):
            raise DataError(_shape_difference(next(iter(words)), table.ptr, ATTRIBUTES, ptr))
        if made.alone:
            return replace(table, columns={**ShownWords(made, ptr), **table.columns}, attributes=made)
        return replace(table, attributes=made)

    @classmethod
    def from_documents(
        cls, documents: Iterable[Document], columns: Sequence[str] | None = None
    ) -> "TokenTable":
        """A table of the documents' tokens; ``columns`` defaults to ``w`` and those of the first document.

        >>> table = TokenTable.from_documents([Document.from_words(["2", "eggs"], y=["QTY", "NAME"])])
        >>> list(table.columns), table.lists("y")
        (['w', 'y'], [['QTY', 'NAME']])
        """
        names = None if columns is None else list(columns)
        rows: dict[str, list[list[str]]] = {}
        groups: list[str | None] = []
        images = True
        for number, document in enumerate(documents, 1):
            images = images and document.images
            if names is None:
                shown = ATTRIBUTES in document.columns  # its words come from the features, for display only
                names = [*([] if shown else [WORD]), *document.columns]
            for name in names:
                if name != WORD and name not in document.columns:
                    known = ", ".join([WORD, *document.columns])
                    raise DataError(f"sentence {number}: has no column {name!r}; it has {known}")
                cells = document.words() if name == WORD else document.columns[name]
                rows.setdefault(name, []).append(cells)
            groups.append(document.group)
        if names is None:
            raise DataError("a token table needs at least one document")
        table = cls.over_lists(rows) if ATTRIBUTES in rows else cls.from_lists(rows)
        return replace(table, groups=_group_ids(groups), images=images)

    @property
    def n_sentences(self) -> int:
        """N."""
        return len(self.ptr) - 1

    @property
    def n_tokens(self) -> int:
        """Tokens of all sentences."""
        return int(self.ptr[-1])

    @property
    def names(self) -> list[str]:
        """The given columns; ``attributes`` is the last.

        >>> TokenTable.over_lists({"w": [["a"]], "attributes": [[{"cap": True}]]}).names
        ['w', 'attributes']
        """
        if self.attributes is None:
            return list(self.columns)
        shown = WORD if self.attributes.alone else None
        return [*(name for name in self.columns if name != shown), ATTRIBUTES]

    def of_sentences(self, chosen: NDArray[np.bool_]) -> "TokenTable":
        """The selected sentences: bool [N].

        >>> table = TokenTable.from_lists({"w": [["a", "b"], ["c"]]})
        >>> table.of_sentences(np.array([False, True])).lists("w")
        [['c']]
        """
        lengths = np.diff(self.ptr)
        tokens = np.repeat(chosen, lengths)
        columns = {
            name: Column(c.types, np.ascontiguousarray(c.ids[tokens])) for name, c in self.columns.items()
        }
        ptr = np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.int64)
        return replace(
            self,
            ptr=ptr,
            columns=columns,
            groups=None if self.groups is None else self.groups[chosen],
            weight=None if self.weight is None else self.weight[chosen],
            attributes=self._attributes_of(np.flatnonzero(chosen)),
        )

    def taken(self, chosen: Sequence[int] | NDArray[np.integer]) -> "TokenTable":
        """The chosen sentences in this order, as if only they had been read: strings in none of them are dropped.

        >>> table = TokenTable.from_lists({"w": [["a", "b"], ["c"], ["b", "c"]]})
        >>> table.taken([2, 1]).columns["w"].types
        ['b', 'c']
        """
        at = np.asarray(chosen, dtype=np.int64)
        lengths = np.diff(self.ptr)[at]
        ptr = np.zeros(len(at) + 1, dtype=np.int64)
        np.cumsum(lengths, out=ptr[1:])
        tokens = np.repeat(self.ptr[at] - ptr[:-1], lengths) + np.arange(ptr[-1])
        return replace(
            self,
            ptr=ptr,
            columns={name: _compact(column, tokens) for name, column in self.columns.items()},
            groups=None if self.groups is None else self.groups[at],
            weight=None if self.weight is None else self.weight[at],
            attributes=self._attributes_of(at),
        )

    def text(self, separator: str, *further: Column) -> bytes:
        """A line per token with its cells, those of further columns last, and a blank line after each sentence.

        >>> TokenTable.from_lists({"w": [["a", "b"], ["c"]]}).text(" ", Column(["X"], np.zeros(3, np.int32)))
        b'a X\\nb X\\n\\nc X\\n\\n'
        """
        columns = [*self.columns.values(), *further]
        types = [up_to_date(c.types) for c in columns]
        return joined_columns(self.ptr, types, [c.ids for c in columns], separator)

    def _attributes_of(self, sentences: NDArray[np.int64]) -> Attributes | None:
        return None if self.attributes is None else self.attributes.of_sentences(sentences, self.ptr)

    def lists(self, name: str) -> list[list[str]]:
        """One column as a list of strings per sentence; ``attributes`` as CRFsuite's text."""
        if name == ATTRIBUTES and self.attributes is not None:
            return self.attributes.lists(self.ptr)
        flat = self.columns[name].strings()
        bounds = self.ptr.tolist()
        return [flat[a:b] for a, b in pairwise(bounds)]


def _group_ids(groups: list[str | None]) -> NDArray[np.int32] | None:
    """Numbers that grow by one at every change of group; 0 before the first."""
    if all(group is None for group in groups):
        return None
    changed = [group != before for before, group in pairwise([None, *groups])]
    return np.cumsum(changed, dtype=np.int32)


def _strange_cell(rows: Sequence[Any], first: int) -> str | None:
    """The end of an error that names the first token that is no string; None if all are strings."""
    for n, row in enumerate(rows, first):
        for number, cell in enumerate(row, 1):
            if not isinstance(cell, str):
                return f", found {cell!r:.40} (token {number} of sentence {n:,})"
    return None


def _shape_difference(first: str, ptr: NDArray[np.int64], name: str, bounds: NDArray[np.int64]) -> str:
    if len(ptr) != len(bounds):
        return f"column {first!r} has {len(ptr) - 1} sentences, column {name!r} has {len(bounds) - 1}"
    n = int(np.flatnonzero(np.diff(ptr) != np.diff(bounds))[0])
    a, b = int(np.diff(ptr)[n]), int(np.diff(bounds)[n])
    return f"sentence {n + 1}: column {first!r} has {a} tokens, column {name!r} has {b}"


def concatenated(tables: Sequence[TokenTable]) -> TokenTable:
    """Several tables with the same columns as one; groups of different tables stay distinct.

    >>> a, b = (TokenTable.from_lists({"w": [[word]]}) for word in "xy")
    >>> concatenated([a, b]).lists("w")
    [['x'], ['y']]
    """
    if len(tables) == 1:
        return tables[0]
    names = list(tables[0].columns)
    for number, table in enumerate(tables[1:], 2):
        if list(table.columns) != names:
            raise DataError(
                f"expected the columns {', '.join(names)} of file 1 in file {number}, found {', '.join(table.columns)}"
            )
    columns = {}
    for name in names:
        interner = Interner()
        renumbered = []
        for table in tables:
            column = table.columns[name]
            _, ids = interner.intern_nested([column.types])
            renumbered.append(np.append(ids, np.int32(-1))[column.ids])  # -1 stays -1
        columns[name] = Column(interner.strings(), np.concatenate(renumbered))
    starts = np.cumsum([0, *(table.n_tokens for table in tables[:-1])])
    bounds = [[0], *(t.ptr[1:] + s for t, s in zip(tables, starts, strict=True))]
    images = all(table.images for table in tables)
    weight = None
    if any(table.weight is not None for table in tables):
        weight = np.concatenate([np.ones(t.n_sentences) if t.weight is None else t.weight for t in tables])
        weight = weight.astype(np.float32)
    ptr = np.concatenate(bounds).astype(np.int64)
    given = [table.attributes for table in tables if table.attributes is not None]
    if given and len(given) < len(tables):
        raise DataError("expected features of your own in every file or in none, found them in some")
    attributes = own.concatenated(given) if given else None
    return TokenTable(ptr, columns, _groups_apart(tables), images, weight, attributes)


def _groups_apart(tables: Sequence[TokenTable]) -> NDArray[np.int32] | None:
    if all(table.groups is None for table in tables):
        return None
    groups, above = [], 0
    for table in tables:
        own = np.zeros(table.n_sentences, np.int32) if table.groups is None else table.groups
        groups.append(own + above)
        above += int(own.max(initial=-1)) + 1
    return np.concatenate(groups).astype(np.int32)


def _compact(column: Column, tokens: NDArray[np.int64]) -> Column:
    """A column of some of the tokens; types are numbered by first occurrence."""
    ids = column.ids[tokens]
    met, first = np.unique(ids, return_index=True)
    order = np.argsort(first)
    known = [int(met[i]) for i in order if met[i] >= 0]
    number = np.full(len(column.types) + 1, -1, dtype=np.int32)  # the last place is for -1, an unknown string
    number[known] = np.arange(len(known), dtype=np.int32)
    return Column([column.types[i] for i in known], number[ids])
