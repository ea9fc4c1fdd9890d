"""Sources of potentials: how the weights of a chain and the features of a sentence become scores of labels.

A chain model decodes, lists the best labellings and sums over all of them; what differs between models is here:

    Additive           sums of weights                     CRFs, HMMs, perceptrons, margins, templates with y[-1]
    Pruned             the same over few labels a token    CRFs of hundreds of labels
    PolynomialPotentials         sums over products of features      margins with a quadratic or cubic kernel
    LocallyNormalised  log-softmax given the label before  MEMMs
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import LinearChain, PrunedChain, score_rows
from chaffinch.errors import DataError
from chaffinch.model.chain_evidence import START, ChainScores, chain_terms, summing
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.encoders import CsrRows, Encoder, IdRows, TokenFeatures
from chaffinch.model.evidence import HERE, Named, Seen, Term, Without
from chaffinch.model.labels import LabelSet
from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.modelfile import Packed, Requirements, Saved, fact
from chaffinch.scorers import Layout
from chaffinch.scorers.monomials import Monomials
from chaffinch.structures import Chain, Parts

# Maximum size of a block of potentials, [tokens, Y] or [tokens, Y, Y].
CELLS = 1 << 22

# Tokens of a block of a pruned chain; the weights of the block's features are made dense.
PRUNED = 1024

Block = tuple[Parts, NDArray[np.int64]]
"""Potentials of some whole sentences, and the bounds of the sentences in tokens, from 0."""


class NativeChain(Protocol):
    """A chain of the core that decodes straight from rows of features, without potentials in Python."""

    def tag(
        self,
        sentences: NDArray[np.int64],
        ptr: NDArray[np.int64],
        ids: NDArray[np.int32],
        threads: int,
        values: NDArray[np.float32] | None = None,
    ) -> NDArray[np.int32]:
        """The best labels of all tokens."""
        ...

    def kbest(
        self,
        sentences: NDArray[np.int64],
        ptr: NDArray[np.int64],
        ids: NDArray[np.int32],
        k: int,
        threads: int,
        values: NDArray[np.float32] | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
        """The k best labellings of each sentence, their scores, and their number for each sentence."""
        ...

    def marginals(
        self,
        sentences: NDArray[np.int64],
        ptr: NDArray[np.int64],
        ids: NDArray[np.int32],
        threads: int,
        values: NDArray[np.float32] | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """p(y_t|x) of all tokens, and log Z of each sentence."""
        ...


class Potentials(Protocol):
    """The interface of a source of potentials."""

    @property
    def weights(self) -> ChainWeights:
        """The weights of the potentials."""
        ...

    @property
    def native(self) -> NativeChain | None:
        """The core's chain with these potentials; None: they are computed block by block."""
        ...

    def blocks(self, rows: IdRows, ptr: NDArray[np.int64], threads: int) -> Iterator[Block]:
        """The potentials of all sentences, block by block; ptr: bounds of the sentences."""
        ...

    def sentence(self, found: TokenFeatures, labels: LabelSet) -> ChainScores:
        """One sentence with names for all contributions to its scores, for explanations."""
        ...

    def names(self, encoder: Encoder, rows: NDArray[np.int32]) -> list[str]:
        """The names of rows of the unary weights."""
        ...

    def facts(self) -> Packed:
        """The facts that a model file's header records."""
        ...

    def with_weights(self, weights: ChainWeights) -> "Potentials":
        """The same source with other weights."""
        ...


@dataclass(frozen=True)
class Weighted:
    """A source whose unary weights are those of features; its recipe implies the rest."""

    weights: ChainWeights

    def names(self, encoder: Encoder, rows: NDArray[np.int32]) -> list[str]:
        """The names of the features."""
        return encoder.names(rows)

    def facts(self) -> Packed:
        """No facts."""
        return Packed()

    def with_weights(self, weights: ChainWeights) -> Self:
        """The same source with other weights."""
        return replace(self, weights=weights)


@dataclass(frozen=True)
class Additive(Weighted):
    """The sum of the weights of a token's features; with templates of y[-1], pairs differ from token to token."""

    @cached_property
    def native(self) -> NativeChain | None:
        """The linear chain of the core, unless pairs differ from token to token."""
        w = self.weights
        if w.bigrams:
            return None
        chain: NativeChain = LinearChain(w.dense, w.start, w.end, w.pair, w.triple, w.first, w.last)
        return chain

    def blocks(self, rows: IdRows, ptr: NDArray[np.int64], threads: int) -> Iterator[Block]:
        """Unary potentials are sums; all others are the weights, bigrams added to pairs."""
        w, shared = self.weights, self.weights.shared()
        for a, b, bounds in sentence_blocks(ptr, _tokens(w, by_pair=bool(w.bigrams))):
            if w.bigrams:
                after = a + np.flatnonzero(inside_sentences(bounds))
                shared["pair"] = self._pairs(_observations(rows)[after])
            yield Parts(unary=sums_of_rows(rows, a, b, w.dense), **shared), bounds

    def sentence(self, found: TokenFeatures, labels: LabelSet) -> ChainScores:
        """Features, pairs and triples of labels, and pairs with the observations of templates."""
        weights, shared = found.times_values(_of_tokens(self.weights, found.ids)), _double(self.weights)
        names = labels.inner
        sums, terms = summing(weights), chain_terms(names, shared, len(weights))
        chain, seen = Chain(self.weights.Y, order=self.weights.order), found.observations
        if not self.weights.bigrams:
            return ChainScores(
                chain,
                weights,
                found.names,
                lambda without, tokens: Parts(unary=sums(without, tokens), **shared),
                terms,
            )
        pair = self._pairs(seen[1:]).astype(np.float64)

        def potentials(without: Without, tokens: slice) -> Parts:
            pairs = pair[tokens.start : max(tokens.stop - 1, tokens.start)]
            return Parts(**{**shared, "unary": sums(without, tokens), "pair": pairs})

        def with_bigrams(y: Sequence[int], t: int) -> list[Term]:
            listed = terms(y, t)
            for l, table in enumerate(self.weights.bigrams if t else ()):
                if (o := int(seen[t, l])) >= 0:
                    name = f"{names[y[t - 1]]} → {names[y[t]]}|{found.observation_name(l, o)}"
                    weight, offsets = float(table[o, y[t - 1], y[t]]), found.observation_offsets(l)
                    listed.append(Term(name, weight, t, offsets=offsets))
            return listed

        return ChainScores(chain, weights, found.names, potentials, with_bigrams)

    def _pairs(self, observations: NDArray[np.int32]) -> NDArray[np.float32]:
        """Pair potentials [tokens, Y, Y] of tokens that follow another, given the observations of templates."""
        pair = np.repeat(self.weights.pair[None], len(observations), axis=0)
        for l, table in enumerate(self.weights.bigrams):
            o = observations[:, l]
            pair[o >= 0] += table[o[o >= 0]]
        return pair


PRUNING = "pruning"  # the object of the header that holds it


@dataclass(frozen=True)
class Pruning(Saved):
    """A token keeps the labels with probability at least ``threshold`` by its own features, at most ``most``."""

    threshold: float = fact(float, check=lambda p: 0 <= p <= 1, expected="a probability", group=PRUNING)
    most: int = fact(int, check=lambda n: n >= 1, expected="a number of labels", group=PRUNING)


@dataclass(frozen=True)
class Pruned(Weighted):
    """The scores of :class:`Additive`, over the labels that pruning leaves at each token; sparse unary weights."""

    pruning: Pruning

    @cached_property
    def native(self) -> "_Lattice":
        """The pruned chain of the core."""
        w, unary = self.weights, self.weights.unary
        assert isinstance(unary, SparseWeights)
        ptr = np.concatenate([[0], np.cumsum(unary.counts, dtype=np.int64)])
        values = unary.values.astype(np.float32) * np.float32(unary.scale)
        cut = (self.pruning.threshold, self.pruning.most)
        return _Lattice(ptr, unary.columns, values, w.start, w.end, w.pair, *cut)

    def blocks(self, rows: IdRows, ptr: NDArray[np.int64], threads: int) -> Iterator[Block]:
        """Labels that are not tried at a token have minus infinity there."""
        for a, b, bounds in sentence_blocks(ptr, PRUNED):
            own, ids = rows.ptr[a : b + 1] - rows.ptr[a], rows.ids[rows.ptr[a] : rows.ptr[b]]
            values = _values(rows, a, b)
            used, places = np.unique(ids, return_inverse=True)
            unary = np.zeros((b - a, self.weights.Y), np.float32)
            score_rows(own, places.astype(np.int32), self.weights.of_features(used), unary, values)
            unary[~self._tried(bounds, own, ids, threads, values)] = -np.inf
            yield Parts(unary=unary, **self.weights.shared()), bounds

    def sentence(self, found: TokenFeatures, labels: LabelSet) -> ChainScores:
        """The scores of an additive chain over the labels that pruning keeps."""
        every = found.ids
        weights, blocks = found.times_values(_of_tokens(self.weights, every)), _double(self.weights)
        values = found.values
        sums, terms = summing(weights), chain_terms(labels.inner, blocks, len(weights))
        bounds = np.array([0, len(weights)], np.int64)

        whole = Parts(unary=sums({}, slice(0, len(weights))), **blocks)

        def tried(without: Without, tokens: slice) -> Parts:
            unary = sums(without, tokens)
            left = [np.delete(ids, without[t]) if t in without else ids for t, ids in enumerate(every)]
            ptr = np.cumsum([0, *map(len, left)], dtype=np.int64)
            kept = None
            if values is not None:
                kept = [np.delete(v, without[t]) if t in without else v for t, v in enumerate(values)]
            unary[
                ~self._tried(
                    bounds, ptr, np.concatenate(left), 1, None if kept is None else np.concatenate(kept)
                )
            ] = -np.inf
            return Parts(unary=unary, **blocks)

        return ChainScores(Chain(self.weights.Y), weights, found.names, tried, terms, lambda: whole)

    def facts(self) -> Packed:
        """How labels are pruned."""
        return self.pruning.packed()

    def _tried(
        self,
        bounds: NDArray[np.int64],
        ptr: NDArray[np.int64],
        ids: NDArray[np.int32],
        threads: int,
        values: NDArray[np.float32] | None,
    ) -> NDArray[np.bool_]:
        """Which labels each token tries: bool [tokens, Y]."""
        p, _ = self.native.marginals(bounds, ptr, ids, threads, values)
        return np.asarray(p.reshape(-1, self.weights.Y) != 0)


class _Lattice(PrunedChain):
    """The pruned chain with the interface of the linear one."""

    def tag(
        self,
        sentences: NDArray[np.int64],
        ptr: NDArray[np.int64],
        ids: NDArray[np.int32],
        threads: int,
        values: NDArray[np.float32] | None = None,
    ) -> NDArray[np.int32]:
        """The best labels of all tokens."""
        return self.kbest(sentences, ptr, ids, 1, threads, values)[0]


@dataclass(frozen=True)
class PolynomialPotentials(Weighted):
    """Unary scores through a polynomial kernel, in the primal: weights of products of up to three features.

    The products are enumerated as they are summed; neither they nor a Gram matrix is stored.
    """

    products: Monomials

    @property
    def native(self) -> None:
        """None: the core sums over products, and the chain is decoded from its potentials."""
        return None

    @cached_property
    def _padded(self) -> NDArray[np.float32]:
        """The unary weights in rows of whole vectors."""
        w = self.weights.dense
        block = Layout.choice(*w.shape)["choice"]
        made = np.zeros((block.rows, block.stride), np.float32)
        made[:, : block.columns] = w
        return made

    def blocks(self, rows: IdRows, ptr: NDArray[np.int64], threads: int) -> Iterator[Block]:
        """Unary potentials are the kernel's; all others are the weights."""
        own, ids = sorted_rows(rows, self.products.D)
        for a, b, bounds in sentence_blocks(ptr, _tokens(self.weights)):
            here = np.ascontiguousarray(own[a : b + 1] - own[a])
            unary = self.products.score(here, np.ascontiguousarray(ids[own[a] : own[b]]), self._padded)
            unary = np.ascontiguousarray(unary[:, : self.weights.Y])
            yield Parts(unary=unary, **self.weights.shared()), bounds

    def sentence(self, found: TokenFeatures, labels: LabelSet) -> ChainScores:
        """Products of features, and pairs of labels. A feature is in many products, so features are not removed."""
        ids = found.ids
        ptr = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        listed = CsrRows(ptr, np.concatenate([np.zeros(0, np.int32), *ids]))
        bounds, products = self.products.expanded(*sorted_rows(listed, self.products.D))
        rows = [products[i:j] for i, j in pairwise(bounds.tolist())]
        weights, blocks = _of_tokens(self.weights, rows), _double(self.weights)
        sums = summing(weights)
        return ChainScores(
            Chain(self.weights.Y),
            weights,
            lambda t, places: self._named(found.encoder, rows[t][places]),
            lambda without, tokens: Parts(unary=sums(without, tokens), **blocks),
            chain_terms(labels.inner, blocks, len(weights)),
            fixed=True,
        )

    def names(self, encoder: Encoder, rows: NDArray[np.int32]) -> list[str]:
        """The features that are multiplied, such as ``bit3[0]=1 & bit9[0]=1``; row 0 is the constant."""
        return [name for name, _ in self._named(encoder, rows)]

    def _named(self, encoder: Encoder, rows: NDArray[np.int32]) -> list[Named]:
        """The names, with the inputs of the features."""
        factors = [self.products.factors(row) for row in rows.tolist()]
        single = np.array(sorted({f for product in factors for f in product}), np.int32)
        called = dict(zip(single.tolist(), encoder.names(single), strict=True))
        seen = dict(zip(single.tolist(), encoder.seen(single), strict=True))

        def of(product: Sequence[int]) -> Seen:
            families = " & ".join(seen[f].family for f in product) or "constant"
            return Seen(families, tuple(sorted({o for f in product for o in seen[f].offsets})) or HERE)

        return [(" & ".join(called[f] for f in product) or "constant", of(product)) for product in factors]

    def facts(self) -> Packed:
        """The kernel."""
        map = self.products
        return _Kernel(map.degree, map.gamma, map.offset).packed()

    @classmethod
    def loaded_products(cls, need: Requirements, F: int) -> Monomials | None:
        """The products of F features that the kernel in the header of a file has, checked; None if it has none."""
        if _Kernel.absent(need):
            return None
        kernel = _Kernel.loaded(need)
        return Monomials(F, kernel.degree, kernel.gamma, kernel.offset)


KERNEL = "kernel"  # the object of the header that holds it


def _is_positive(value: float) -> bool:
    return 0 < value < np.inf


@dataclass(frozen=True)
class _Kernel(Saved):
    degree: int = fact(int, check=(1, 2, 3).__contains__, expected="1, 2 or 3", group=KERNEL)
    gamma: float = fact(float, check=_is_positive, expected="a number above 0", group=KERNEL)
    offset: float = fact(float, check=_is_positive, expected="a number above 0", group=KERNEL)


@dataclass(frozen=True)
class LocallyNormalised(Weighted):
    """p(y|x) = product over t of p(y_t | y_{t-1}, x), each proportional to exp(unary_t[y_t] + pair[y_{t-1}][y_t]).

    The score of a labelling is its log-probability. A transition of weight minus infinity has probability zero.
    """

    @property
    def native(self) -> None:
        """None: the chain is decoded from log-probabilities."""
        return None

    def blocks(self, rows: IdRows, ptr: NDArray[np.int64], threads: int) -> Iterator[Block]:
        """log p(y_1|x) as unary of the first token, log p(y_t|y_{t-1}, x) as pairs."""
        w = self.weights
        for a, b, bounds in sentence_blocks(ptr, _tokens(w, by_pair=True)):
            scores, inside = sums_of_rows(rows, a, b, w.dense), inside_sentences(bounds)
            unary = np.zeros_like(scores)
            unary[~inside] = _log_softmax(scores[~inside] + w.start)
            pair = _log_softmax(scores[inside][:, None, :] + w.pair)
            yield Parts(unary=unary, pair=pair, end=w.end), bounds

    def sentence(self, found: TokenFeatures, labels: LabelSet) -> ChainScores:
        """Features, pairs of labels, and the log-normaliser of each decision."""
        weights, blocks = found.times_values(_of_tokens(self.weights, found.ids)), _double(self.weights)
        sums, named = summing(weights), chain_terms(labels.inner, blocks, len(weights))
        start, pair, end = blocks["start"], blocks["pair"], blocks["end"]

        def potentials(without: Without, tokens: slice) -> Parts:
            scores = sums(without, tokens)
            unary = np.zeros_like(scores)
            if tokens.start == 0:
                unary[:1] = _log_softmax(scores[:1] + start)
            return Parts(unary=unary, pair=_log_softmax(scores[1:, None, :] + pair), end=end)

        whole = sums({}, slice(0, len(weights)))

        def terms(y: Sequence[int], t: int) -> list[Term]:
            row = start if t == 0 else pair[y[t - 1]]
            after = START if t == 0 else labels.inner[y[t - 1]]
            normaliser = float(np.logaddexp.reduce(whole[t] + row))
            return [*named(y, t), Term(f"normaliser after {after}", -normaliser, t)]

        return ChainScores(Chain(self.weights.Y), weights, found.names, potentials, terms)


def sentence_blocks(ptr: NDArray[np.int64], tokens: int) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Runs of whole sentences of about ``tokens`` tokens: the first token, the end, and the sentences' bounds from 0.

    >>> [(a, b, bounds.tolist()) for a, b, bounds in sentence_blocks(np.array([0, 2, 3, 7, 8]), 3)]
    [(0, 3, [0, 2, 3]), (3, 7, [0, 4]), (7, 8, [0, 1])]
    """
    first = 0
    for n in range(1, len(ptr)):
        if ptr[n] - ptr[first] >= tokens or n == len(ptr) - 1:
            yield int(ptr[first]), int(ptr[n]), ptr[first : n + 1] - ptr[first]
            first = n


def sorted_rows(rows: IdRows, F: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The same rows with sorted, distinct ids; values other than 1 are refused."""
    if rows.values is not None:
        raise DataError("products of features need features without values, found values other than 1")
    T = len(rows.ptr) - 1
    keys = np.unique(np.repeat(np.arange(T), np.diff(rows.ptr)) * max(F, 1) + rows.ids)
    of, ids = np.divmod(keys, max(F, 1))
    ptr = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=T))]).astype(np.int64)
    return ptr, ids.astype(np.int32)


def _tokens(weights: ChainWeights, *, by_pair: bool = False) -> int:
    """The number of tokens of a block."""
    return max(1, CELLS // weights.Y ** (2 if by_pair else 1))


def inside_sentences(bounds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which tokens follow another in their sentence."""
    inside = np.ones(int(bounds[-1]), bool)
    inside[bounds[:-1][np.diff(bounds) > 0]] = False
    return inside


def sums_of_rows(rows: IdRows, a: int, b: int, w: NDArray[np.float32]) -> NDArray[np.float32]:
    """The sums of the weights of tokens a to b: float32 [b - a, Y]."""
    out = np.zeros((b - a, w.shape[1]), np.float32)
    ids = rows.ids[rows.ptr[a] : rows.ptr[b]]
    score_rows(rows.ptr[a : b + 1] - rows.ptr[a], ids, w, out, _values(rows, a, b))
    return out


def _values(rows: IdRows, a: int, b: int) -> NDArray[np.float32] | None:
    """The values of the features of tokens a to b; None: all are 1."""
    return None if rows.values is None else rows.values[rows.ptr[a] : rows.ptr[b]]


def _observations(rows: Any) -> NDArray[np.int32]:
    found: NDArray[np.int32] = rows.observations
    return found


def _of_tokens(weights: ChainWeights, ids: Sequence[NDArray[np.int32]]) -> list[NDArray[np.float64]]:
    """The unary weights of each token's features, float64 [features, Y]."""
    return [weights.of_features(here).astype(np.float64) for here in ids]


def _double(weights: ChainWeights) -> dict[str, NDArray[np.float64]]:
    return {name: block.astype(np.float64) for name, block in weights.shared().items()}


def _log_softmax(scores: NDArray[Any]) -> NDArray[Any]:
    """Log-softmax along the last axis; a row of -inf stays as it is."""
    top = np.maximum(scores.max(axis=-1, keepdims=True), np.finfo(np.float32).min)
    shifted = scores - top
    with np.errstate(divide="ignore"):
        return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
