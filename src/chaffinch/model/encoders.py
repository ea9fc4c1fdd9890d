"""Encoders: from a token table to rows of feature ids, one row per token."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.encoder import FeatureEncoder
from chaffinch.features.reduction import reduced
from chaffinch.features.rows import FeatureRows
from chaffinch.features.symbols import LADDERS, Symbols
from chaffinch.model.evidence import Named, Offsets, Seen
from chaffinch.model.protocols import Packed
from chaffinch.modelfile import ModelFile, Requirements, Saved, fact, inside, strings
from chaffinch.text.document import WORD
from chaffinch.text.table import ListColumns, SharedTypes, TokenTable


class IdRows(Protocol):
    """Feature ids in CSR: row t is ids[ptr[t]:ptr[t+1]], with values beside them if they are not all 1."""

    @property
    def ptr(self) -> NDArray[np.int64]:
        """int64 [T+1]."""
        ...

    @property
    def ids(self) -> NDArray[np.int32]:
        """int32 [nnz]."""
        ...

    @property
    def values(self) -> NDArray[np.float32] | None:
        """float32 [nnz]; None: all are 1."""
        ...


class Encoder(Protocol):
    """Turns tokens into the features of a trained model."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, the word first."""
        ...

    @property
    def n_features(self) -> int:
        """F: ids are below it."""
        ...

    def rows(self, table: TokenTable, threads: int) -> IdRows:
        """The features of every token of the table."""
        ...

    def names(self, ids: NDArray[np.int32]) -> list[str]:
        """The names of features."""
        ...

    def seen(self, ids: NDArray[np.int32]) -> list[Seen]:
        """The inputs that features read."""
        ...

    def packed(self) -> Packed:
        """The content for a model file."""
        ...


@dataclass(frozen=True, eq=False)
class TokenFeatures:
    """The features of one sentence's tokens.

    tokens: their slice of the table   rows: all rows of the table
    """

    encoder: Encoder
    rows: IdRows
    tokens: slice
    words: list[str]

    @property
    def ids(self) -> list[NDArray[np.int32]]:
        """The feature ids of each token."""
        bounds = self.rows.ptr[self.tokens.start : self.tokens.stop + 1].tolist()
        return [self.rows.ids[a:b] for a, b in pairwise(bounds)]

    @property
    def values(self) -> list[NDArray[np.float32]] | None:
        """The values of each token's features; None: all are 1."""
        if (values := self.rows.values) is None:
            return None
        bounds = self.rows.ptr[self.tokens.start : self.tokens.stop + 1].tolist()
        return [values[a:b] for a, b in pairwise(bounds)]

    def times_values(self, weights: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """The contributions of features: their weights [n, Y] of each token times their values."""
        if (values := self.values) is None:
            return list(weights)
        return [w * v[:, None] for w, v in zip(weights, values, strict=True)]

    @property
    def observations(self) -> NDArray[np.int32]:
        """The observations of label templates at each token [T, templates]; none without templates."""
        if isinstance(self.rows, FeatureRows):
            return self.rows.observations[self.tokens]
        return np.zeros((len(self.words), 0), np.int32)

    def observation_name(self, label_template: int, observation: int) -> str:
        """The observation of a label template, such as ``stem[0]=chop``."""
        encoder: Any = self.encoder
        name: str = encoder.features.observation_name(label_template, observation)
        return name

    def observation_offsets(self, label_template: int) -> Offsets:
        """The offsets of the tokens that a label template observes."""
        return self._observed[label_template]

    def names(self, t: int, places: NDArray[np.int64]) -> list[Named]:
        """The names of the features of token t at these places, and their inputs."""
        begin, first = (int(self.rows.ptr[self.tokens.start + u]) for u in (0, t))
        called = self.encoder.names(np.ascontiguousarray(self.rows.ids[first + places]))
        at = (first - begin + places).tolist()
        return [(name, self._seen[k]) for name, k in zip(called, at, strict=True)]

    @cached_property
    def _seen(self) -> list[Seen]:
        """The inputs of all features of the sentence."""
        first, last = (int(self.rows.ptr[t]) for t in (self.tokens.start, self.tokens.stop))
        return self.encoder.seen(self.rows.ids[first:last])

    @cached_property
    def _observed(self) -> list[Offsets]:
        encoder: Any = self.encoder
        found: list[Offsets] = encoder.features.observation_offsets()
        return found


def token_features(
    encoder: Encoder, rows: IdRows, table: TokenTable, which: Sequence[int]
) -> list[TokenFeatures]:
    """The features of some sentences of a table; rows: those of all its tokens."""
    words = table.lists(WORD)
    return [
        TokenFeatures(encoder, rows, slice(int(table.ptr[n]), int(table.ptr[n + 1])), words[n]) for n in which
    ]


class CsrRows(NamedTuple):
    """Rows of feature ids: row t is ids[ptr[t]:ptr[t+1]]."""

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class OnePerToken:
    """Rows with exactly one feature each."""

    ids: NDArray[np.int32]
    values: None = None

    @property
    def ptr(self) -> NDArray[np.int64]:
        """int64 [T+1]."""
        return np.arange(len(self.ids) + 1, dtype=np.int64)


@dataclass(frozen=True)
class SymbolEncoder:
    """The HMM's encoder: the one feature of a token is its emission symbol."""

    symbols: Symbols

    @property
    def columns(self) -> tuple[str, ...]:
        """The word alone."""
        return (WORD,)

    @property
    def n_features(self) -> int:
        """Words and rungs."""
        return len(self.symbols)

    def rows(self, table: TokenTable, threads: int) -> OnePerToken:
        """One symbol per token: looked up once per word type, then gathered."""
        words = table.columns[WORD]
        types, symbols = words.types, self.symbols
        if isinstance(types, SharedTypes):
            return OnePerToken(types.of_each(symbols, symbols.of_interned)[words.ids])
        return OnePerToken(symbols.of(types)[words.ids])

    def names(self, ids: NDArray[np.int32]) -> list[str]:
        """Words unchanged, rungs in angle brackets."""
        words, rungs = self.symbols.words, self.symbols.rungs
        V = len(words)
        return [words[i] if i < V else f"<{rungs[i - V]}>" for i in ids.tolist()]

    def seen(self, ids: NDArray[np.int32]) -> list[Seen]:
        """The word itself."""
        return [Seen("w[0]")] * len(ids)

    def packed(self) -> Packed:
        """Words, rungs and the ladder's name."""
        s = self.symbols
        return _Sections(tuple(s.words), tuple(s.rungs), s.ladder).packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "SymbolEncoder":
        """The encoder of a model file, checked."""
        need = Requirements(file)
        found = _Sections.loaded(need)
        if "*" not in found.rungs:
            raise need.fault("the model is damaged: its rungs lack '*', the widest one")
        return cls(Symbols(list(found.words), list(found.rungs), found.ladder))


@dataclass(frozen=True)
class _Sections(Saved):
    """The sections of an HMM's encoder."""

    words: tuple[str, ...] = strings("V", distinct=True)
    rungs: tuple[str, ...] = strings("R", distinct=True)
    ladder: str = fact(str, check=LADDERS.__contains__, expected=f"one of {', '.join(LADDERS)}")


# -- templates over columns, as the feature engine fitted them ------------------------------------------------------


@dataclass(frozen=True)
class EncodedTable:
    """An encoder that has the rows of one table, for models that answer the same sentences many times.

    table: that table; other tables are encoded. None: the model reads no other table
    made:  results that the model has cached for these rows
    """

    encoder: Any
    known: IdRows
    table: TokenTable | None = None
    made: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.encoder, name)

    def rows(self, table: TokenTable, threads: int) -> IdRows:
        """The rows of the table."""
        if self.table is None or table is self.table:
            return self.known
        rows: IdRows = self.encoder.rows(table, threads)
        return rows


@dataclass(frozen=True)
class TemplateEncoder:
    """A fitted :class:`FeatureEncoder` as a model's encoder.

    >>> table = TokenTable.from_lists({"w": [["the", "dog"]]})
    >>> encoder = FeatureEncoder(["w[0]"])
    >>> _ = encoder.fit(table)
    >>> adapted = TemplateEncoder(encoder)
    >>> adapted.columns, adapted.n_features, adapted.rows(table, 1).ids.tolist()
    (('w',), 2, [0, 1])
    """

    features: FeatureEncoder

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that some template reads, the word first."""
        return self.features.sources

    @property
    def n_features(self) -> int:
        """F."""
        return self.features.n_features

    def rows(self, table: TokenTable, threads: int) -> FeatureRows:
        """The features of every token of the table."""
        given = table.columns
        tokens = given.lists if isinstance(given, ListColumns) else table
        return self.features.transform(tokens, threads=threads, attributes=table.attributes, missing=False)

    def pruned(self, keep: NDArray[np.bool_]) -> "TemplateEncoder":
        """A new encoder with the features in ``keep`` (bool [F]); this one does not change."""
        return TemplateEncoder(self.features.pruned(keep))

    def reduced(self, keep: NDArray[np.bool_]) -> "tuple[TemplateEncoder, NDArray[np.int64]]":
        """A new encoder with the features in ``keep`` (bool [F]) and their strings, and the old number of each."""
        every = [np.ones(t.n_observations, bool) for t in self.features.label_templates]
        smaller = reduced(self.features, keep, every)
        return TemplateEncoder(smaller.encoder), smaller.order

    def names(self, ids: NDArray[np.int32]) -> list[str]:
        """The names of features, such as ``w[-1]=the|w[0]=dog``."""
        return self.features.names(ids)

    def seen(self, ids: NDArray[np.int32]) -> list[Seen]:
        """The template of each feature, and the tokens that it looks at."""
        templates = [Seen(*template) for template in self.features.template_offsets()]
        return [templates[k] for k in self.features.templates_of(ids)]

    def packed(self) -> Packed:
        """The feature index, the strings it stands for, and the templates."""
        return replace(_Features(self.features).packed(), templates=self.features.templates)

    @classmethod
    def loaded(cls, file: ModelFile) -> "TemplateEncoder":
        """The encoder of a model file; the feature engine checks every index."""
        return cls(_Features.loaded(Requirements(file)).features)


@dataclass(frozen=True, eq=False)
class _Features(Saved):
    """The sections of a feature encoder in a model's file."""

    features: FeatureEncoder = inside(FeatureEncoder, "features.")
