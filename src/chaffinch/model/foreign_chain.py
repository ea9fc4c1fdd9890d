"""Chains of other tools: their weights unchanged, and sums with the same rounding.

    score(x, y) = sum over t of  unary(x, t)[y_t]  +  sum over t >= 1 of  (pair + pairs(x, t))[y_{t-1}, y_t]

Weights are kept in the precision of the tool and summed in its order, so that equal scores stay equal and the same
labels win; the chain is decoded in float64.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.string_templates import StringRows, StringTemplateEncoder
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_evidence import ChainScores, chain_terms, summing
from chaffinch.model.encoders import CsrRows, Encoder, IdRows, TokenFeatures
from chaffinch.model.evidence import Seen, Term, Without
from chaffinch.model.labels import LabelSet
from chaffinch.model.potentials import CELLS, Block, inside_sentences, sentence_blocks
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, array, fact, inside, nested, strings
from chaffinch.modelfile.schema import AS_STORED
from chaffinch.structures import Chain, Parts
from chaffinch.text.attributes import ATTRIBUTES
from chaffinch.text.table import TokenTable

ADDITIONS = {"after": 0, "each": 1, "joined": 2}

Floats = NDArray[Any]  # float32 or float64


@dataclass(frozen=True)
class SavedAddition(Saved):
    """How a tool adds its weights of label pairs, in the header of a model file."""

    addition: str = fact(str, check=ADDITIONS.__contains__, expected=f"one of {', '.join(ADDITIONS)}")


@dataclass(frozen=True, eq=False)
class OrderedRows(Saved):
    """Sparse rows of weights: row f has weights[bounds[f]:bounds[f + 1]] in these columns."""

    bounds: NDArray[np.int64] = array("int64", "F+1", bounds="n")
    columns: NDArray[np.int32] = array("int32", "n", stored=("uint8", "uint16", "int32"), below="width")
    weights: Floats = array(AS_STORED, "n", stored=("float32", "float64"), finite=True)

    @classmethod
    def of(cls, rows: NDArray[Any], columns: NDArray[Any], weights: Floats, n_rows: int) -> "OrderedRows":
        """The weights of cells (row, column), in any order; zeros are left out."""
        kept = np.flatnonzero(weights)
        order = kept[np.lexsort((columns[kept], rows[kept]))]
        counts = np.bincount(rows[order], minlength=n_rows)
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(bounds, columns[order].astype(np.int32), np.ascontiguousarray(weights[order]))

    def dense(self, ids: NDArray[np.int32], width: int) -> NDArray[np.float64]:
        """Some rows with their zeros: float64 [ids, width]."""
        made = np.zeros((len(ids), width))
        for n, f in enumerate(ids.tolist()):
            a, b = self.bounds[f], self.bounds[f + 1]
            made[n, self.columns[a:b]] = self.weights[a:b]
        return made

    def native(self, width: int) -> "_core.OrderedSums32 | _core.OrderedSums64":
        """The rows in the core."""
        kind: Any = _core.OrderedSums32 if self.weights.dtype == np.float32 else _core.OrderedSums64
        columns = np.ascontiguousarray(self.columns, np.int32)
        made: _core.OrderedSums32 | _core.OrderedSums64 = kind(
            np.ascontiguousarray(self.bounds), columns, np.ascontiguousarray(self.weights), width
        )
        return made


@dataclass(frozen=True, eq=False)
class ForeignWeights(Saved):
    """The weights of a chain of another tool.

    unary: rows of features, columns are labels           pair: float64 [Y, Y], the same at every token
    pairs: rows of features, columns are cells y' * Y + y; None: no feature is of a pair of labels
    """

    Y: int
    unary: OrderedRows = nested(OrderedRows, "unary.", width="Y")
    pair: NDArray[np.float64] = array("float64", "Y", "Y", finite=True)
    pairs: OrderedRows | None = nested(OrderedRows, "pairs.", optional=True, width="Y*Y")

    order = 1
    triple = None
    bigrams = ()

    @property
    def start(self) -> NDArray[np.float64]:
        """Zeros."""
        return np.zeros(self.Y)

    @property
    def end(self) -> NDArray[np.float64]:
        """Zeros."""
        return np.zeros(self.Y)

    def shared(self) -> dict[str, NDArray[np.float64]]:
        """The weights that are the same at every position."""
        return {"pair": self.pair}

    def of_features(self, ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """The weights of some features: float64 [ids, Y]."""
        return self.unary.dense(ids, self.Y)

    def of_label(self, y: int) -> tuple[NDArray[np.int32], Floats]:
        """The features that have a weight for label y, and the weights."""
        here = np.flatnonzero(self.unary.columns == y)
        rows = np.searchsorted(self.unary.bounds, here, side="right") - 1
        return rows.astype(np.int32), self.unary.weights[here]


@dataclass(frozen=True)
class ForeignChain:
    """The potentials of a chain of another tool.

    addition: the order in which Viterbi adds the score of a label to those of its pair and of the labels before, a name
              of ADDITIONS: ``after`` the best pair was found (CRFsuite), to ``each`` pair (CRF++), or ``joined`` with
              the pair before all else (Wapiti)
    """

    weights: Any
    addition: str

    native = None

    def blocks(self, rows: IdRows, ptr: NDArray[np.int64], threads: int) -> Iterator[Block]:
        """Sums of float64, block by block."""
        w: ForeignWeights = self.weights
        by_pair = self._sums[1] is not None
        for a, b, bounds in sentence_blocks(ptr, max(1, CELLS // w.Y ** (2 if by_pair else 1))):
            unary = np.zeros((b - a, w.Y))
            self._sums[0].sum(
                np.ascontiguousarray(rows.ptr[a : b + 1]), rows.ids, _values(rows), unary, threads
            )
            if not by_pair:
                yield Parts(unary=unary, pair=w.pair), bounds
                continue
            inside = inside_sentences(bounds)
            yield Parts(unary=unary, pair=self._pairs(rows, a, b, inside, threads)), bounds

    def decode(self, rows: Any, ptr: NDArray[np.int64], threads: int) -> NDArray[np.int32]:
        """The labels that the tool gives, with its ties and its rounding."""
        w: ForeignWeights = self.weights
        unary, pairs = self._sums
        by_pair = (None, None) if pairs is None else (rows.pair_ptr, rows.pair_ids)
        found: NDArray[np.int32] = unary.viterbi(
            pairs, w.pair, ADDITIONS[self.addition], ptr, rows.ptr, rows.ids, _values(rows), *by_pair, threads
        )
        return found

    def sentence(self, found: TokenFeatures, labels: LabelSet) -> ChainScores:
        """Features of labels and of pairs of labels, each with its name."""
        w: ForeignWeights = self.weights
        every = found.ids
        weights = found.times_values([w.of_features(ids) for ids in every])
        sums = summing(weights)
        names, shared = labels.inner, w.shared()
        terms = chain_terms(names, shared, len(weights))
        chain = Chain(w.Y)
        if self._sums[1] is None or not isinstance(found.rows, StringRows):
            return ChainScores(
                chain,
                weights,
                found.names,
                lambda without, tokens: Parts(unary=sums(without, tokens), **shared),
                terms,
            )
        rows, a, b = found.rows, found.tokens.start, found.tokens.stop
        inside = np.arange(b - a) > 0
        pair = self._pairs(rows, a, b, inside, 1)
        pairs = w.pairs
        assert pairs is not None

        def potentials(without: Without, tokens: slice) -> Parts:
            return Parts(
                unary=sums(without, tokens), pair=pair[tokens.start : max(tokens.stop - 1, tokens.start)]
            )

        def with_pairs(y: Sequence[int], t: int) -> list[Term]:
            listed = terms(y, t)
            if t == 0:
                return listed
            ids = rows.pair_ids[rows.pair_ptr[a + t] : rows.pair_ptr[a + t + 1]]
            cell = y[t - 1] * w.Y + y[t]
            for name, seen, k in zip(found.encoder.names(ids), found.encoder.seen(ids), ids, strict=True):
                weight = float(pairs.dense(np.array([k], np.int32), w.Y**2)[0, cell])
                if weight:
                    called = f"{names[y[t - 1]]} → {names[y[t]]}|{name}"
                    listed.append(Term(called, weight, t, offsets=seen.offsets))
            return listed

        return ChainScores(chain, weights, found.names, potentials, with_pairs)

    def names(self, encoder: Encoder, rows: NDArray[np.int32]) -> list[str]:
        """The names of the features."""
        return encoder.names(rows)

    def with_weights(self, weights: Any) -> "ForeignChain":
        """Refused: a model of another tool keeps its weights."""
        raise ConfigError("a model of another tool keeps its weights")

    def facts(self) -> Packed:
        """The order in which potentials are summed."""
        return SavedAddition(self.addition).packed()

    @cached_property
    def _sums(self) -> tuple[Any, Any]:
        w: ForeignWeights = self.weights
        return w.unary.native(w.Y), None if w.pairs is None else w.pairs.native(w.Y**2)

    def _pairs(
        self, rows: Any, a: int, b: int, inside: NDArray[np.bool_], threads: int
    ) -> NDArray[np.float64]:
        """Pair potentials [tokens after another, Y, Y] of the tokens a to b."""
        w: ForeignWeights = self.weights
        pair = np.zeros((int(inside.sum()), w.Y**2))
        if self._sums[1] is not None:
            begins = rows.pair_ptr[a:b][inside]  # rows of first tokens are empty
            bounds = np.ascontiguousarray(np.append(begins, rows.pair_ptr[b]))
            self._sums[1].sum(bounds, rows.pair_ids, None, pair, threads)
        pair += w.pair.reshape(-1)
        return pair.reshape(-1, w.Y, w.Y)


@dataclass(frozen=True)
class ForeignChainModel(ChainModel):
    """A chain model of another tool: decoded as the tool decodes."""

    def decode_rows(self, ptr: NDArray[np.int64], rows: IdRows, threads: int) -> NDArray[np.int32]:
        """The labels of all tokens; ptr: the bounds of sentences."""
        source: Any = self.source
        return self.labels.outer_of[source.decode(rows, ptr, threads)]

    def transitions(self) -> NDArray[np.float64]:
        """The weights of label pairs that are the same at every token [Y, Y]."""
        w: Any = self.weights
        pair = w.pair.copy()
        if w.pairs is not None and isinstance(self.encoder, StringFeatures):
            for k in self.encoder.constants():
                pair += w.pairs.dense(np.array([k], np.int32), w.Y**2).reshape(w.Y, w.Y)
        return pair


class StringFeatures:
    """A :class:`StringTemplateEncoder` as a model's encoder."""

    def __init__(self, templates: StringTemplateEncoder) -> None:
        self.templates = templates

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input."""
        return self.templates.columns

    @property
    def n_features(self) -> int:
        """F."""
        return self.templates.n_features

    def rows(self, table: Any, threads: int) -> StringRows:
        """The features of every token of the table."""
        return self.templates.rows(table, threads)

    def names(self, ids: NDArray[np.int32]) -> list[str]:
        """The strings of features."""
        return self.templates.names(ids)

    def seen(self, ids: NDArray[np.int32]) -> list[Seen]:
        """The template of each feature, and the tokens that it looks at."""
        made = [
            Seen(t, p.offsets) for t, p in zip(self.templates.templates, self.templates.parsed, strict=True)
        ]
        return [made[k] for k in self.templates.templates_of(ids)]

    def constants(self) -> list[int]:
        """The features that every token has, by their templates."""
        wanted = {t.beginning.encode(self.templates.encoding) for t in self.templates.parsed if t.constant}
        keys = self.templates.keys
        return [k for k in range(len(keys)) if keys[k] in wanted]

    def packed(self) -> Packed:
        """The templates and the dictionary."""
        return replace(_Strings(self.templates).packed(), templates=self.templates.templates)

    @classmethod
    def loaded(cls, file: ModelFile) -> "StringFeatures":
        """The encoder of a model file."""
        return cls(_Strings.loaded(Requirements(file)).string_templates)

    @staticmethod
    def absent(file: ModelFile) -> bool:
        """Whether a model file has no such encoder."""
        return _Strings.absent(Requirements(file))


@dataclass(frozen=True, eq=False)
class _Strings(Saved):
    """The sections of templates of strings."""

    string_templates: StringTemplateEncoder = inside(StringTemplateEncoder, "strings.")


def _values(rows: Any) -> NDArray[np.float64] | None:
    """The values of features as float64; None: all are 1."""
    values = getattr(rows, "values", None)
    return None if values is None else np.ascontiguousarray(values, np.float64)


class AttributeFeatures:
    """The attributes of tokens, as CRFsuite reads them, as a model's encoder.

    >>> from chaffinch.text.table import TokenTable
    >>> encoder = AttributeFeatures(["w:a", "bias"])
    >>> rows = encoder.rows(TokenTable.over_lists({"attributes": [[{"w": "a", "bias": 0.5, "new": 1}]]}), 1)
    >>> rows.ids.tolist(), rows.values.tolist(), encoder.columns
    ([0, 1], [1.0, 0.5], ('attributes',))
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.index = _core.AttributeIndex(list(names))

    columns = (ATTRIBUTES,)

    @property
    def n_features(self) -> int:
        """F."""
        return len(self.index)

    def rows(self, table: TokenTable, threads: int) -> CsrRows:
        """The attributes of every token that have weights; reading Python objects takes one thread."""
        del threads
        own = table.attributes
        if own is None:
            raise DataError(
                "this model reads features of your own: give tokens as dicts or lists of strings, or a file in "
                "CRFsuite's text format"
            )
        if own.given is None:
            return CsrRows(*own.into(self.index, growing=False))
        try:
            return CsrRows(*self.index.read(own.given, False, True)[1:])
        except (TypeError, ValueError) as e:
            raise DataError(str(e)) from None

    def names(self, ids: NDArray[np.int32]) -> list[str]:
        """The names of attributes."""
        return self.index.names(np.ascontiguousarray(ids, np.int32))

    def seen(self, ids: NDArray[np.int32]) -> list[Seen]:
        """The name before the colon or the equals sign, which is what python-crfsuite's users call a feature."""
        return [Seen(name.partition(":")[0].partition("=")[0]) for name in self.names(ids)]

    def packed(self) -> Packed:
        """The names."""
        names = self.names(np.arange(self.n_features, dtype=np.int32))
        return _Attributes(len(names), names).packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "AttributeFeatures":
        """The encoder of a model file."""
        return cls(_Attributes.loaded(Requirements(file)).attribute_names)

    @staticmethod
    def absent(file: ModelFile) -> bool:
        """Whether a model file has no such encoder."""
        return _Attributes.absent(Requirements(file))


@dataclass(frozen=True, eq=False)
class _Attributes(Saved):
    """The sections of attributes."""

    attributes: int = fact(int, size="F")
    attribute_names: list[str] = strings("F", distinct=True, made=list)
