"""Conditional probabilities of a chain's labels, for many sentences at once: entropies here, spans in the core.

A first-order chain is a Markov chain: given its label at t, the label at t + 1 does not depend on earlier labels,

    q_t(y'|y) = E[y][y'] ub_{t+1}[y'] / b_t[y]        E = exp(pair),  ub_t = exp(unary_t) b_t
    b_t[y]    = sum_y' E[y][y'] ub_{t+1}[y']          b_{T-1} = exp(end)

so the probability of consecutive labels is that of the first times a q for each further one. All sentences of a block
are processed together, backwards, one position at a time; the scale of each ub_t cancels in q.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import LinearChain
from chaffinch.model.chain import ChainModel
from chaffinch.model.labels import LabelSet
from chaffinch.model.potentials import CELLS, Additive, sentence_blocks, sums_of_rows
from chaffinch.text.schemes.legality import SpanArrays
from chaffinch.text.table import TokenTable

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


def is_markov(model: object) -> bool:
    """Whether a model has conditionals: it is a chain of first order whose pairs are the same at all tokens."""
    if not isinstance(model, ChainModel):
        return False
    searched = model.searched
    w = searched.weights
    return isinstance(searched.source, Additive) and w.order == 1 and not w.bigrams


@dataclass(frozen=True, eq=False)
class Conditionals:
    """The conditionals of a block of sentences.

    ptr:   int64 [N+1], bounds of the sentences in its tokens
    first: float64 [N, Y], the probabilities of the first labels
    E:     float64 [Y, Y]   b, ub: float64 [tokens, Y]
    """

    ptr: Ids
    first: Floats
    E: Floats
    b: Floats
    ub: Floats
    labels: LabelSet

    @classmethod
    def of(
        cls, unary: Floats, pair: Floats, start: Floats, end: Floats, ptr: Ids, labels: LabelSet
    ) -> "Conditionals":
        """From potentials at their temperature."""
        with np.errstate(under="ignore"):
            E = np.exp(pair - pair.max())
            u = np.exp(unary - unary.max(axis=1, keepdims=True))
            lengths = np.diff(ptr)
            order = np.argsort(-lengths, kind="stable")
            order = order[lengths[order] > 0]
            last, longest = ptr[1:][order] - 1, int(lengths.max(initial=0))
            alive = len(order) - np.searchsorted(np.sort(lengths[order]), np.arange(longest), side="right")
            b, ub = np.ones_like(u), np.empty_like(u)
            at = last
            b[at] = np.exp(end - end.max())
            for back in range(longest):
                if back:
                    at = last[: alive[back]] - back
                    b[at] = ub[at + 1] @ E.T
                here = u[at] * b[at]
                ub[at] = here / np.maximum(here.sum(axis=1, keepdims=True), 1e-300)
            first = np.zeros((len(lengths), len(end)))
            begun = ub[ptr[:-1][order]] * np.exp(start - start.max())
            first[order] = begun / np.maximum(begun.sum(axis=1, keepdims=True), 1e-300)
        return cls(ptr, first, E, b, ub, labels)

    def marginals(self) -> Floats:
        """p(y_t|x) [tokens, Y], by the forward recursion."""
        found = np.zeros_like(self.b)
        lengths = np.diff(self.ptr)
        order = np.argsort(-lengths, kind="stable")
        order = order[lengths[order] > 0]
        begin, sizes = self.ptr[:-1][order], lengths[order]
        found[begin] = self.first[order]
        with np.errstate(under="ignore", divide="ignore", invalid="ignore"):
            for step in range(1, int(lengths.max(initial=0))):
                at = begin[: int(np.searchsorted(-sizes, -step, side="left"))] + step
                share = np.where(self.b[at - 1] > 0, found[at - 1] / self.b[at - 1], 0.0)
                found[at] = (share @ self.E) * self.ub[at]
        return found

    def entropies(self, p: Floats) -> Floats:
        """- sum_y p(y|x) log p(y|x) of each sentence, over inner labellings; p: marginals [tokens, Y]."""
        with np.errstate(divide="ignore", under="ignore", invalid="ignore"):
            rows = np.zeros(len(self.b))
            first = self.ptr[:-1][np.diff(self.ptr) > 0]
            begun = self.first[np.diff(self.ptr) > 0]
            rows[first] = -np.where(begun > 0, begun * np.log(begun), 0.0).sum(axis=1)
            inside = np.ones(len(self.b), bool)
            inside[first] = False
            log_e = np.where(self.E > 0, np.log(self.E), 0.0)
            after = np.flatnonzero(inside)
            # - sum_y p[y] sum_y' q log q  with  log q = log E + log ub - log b
            down = self.b[after - 1]
            share = np.where(down > 0, p[after - 1] / down, 0.0)
            ub = self.ub[after]
            told = np.where(ub > 0, ub * np.log(ub), 0.0)
            log_b = np.where(down > 0, np.log(down), 0.0)
            rows[after] = -(
                ((share @ (self.E * log_e)) * ub).sum(axis=1)
                + ((share @ self.E) * told).sum(axis=1)
                - (p[after - 1] * log_b).sum(axis=1)
            )
        sums = np.concatenate([[0.0], np.cumsum(rows)])
        return np.maximum(0.0, sums[self.ptr[1:]] - sums[self.ptr[:-1]])


@dataclass(frozen=True, eq=False)
class Decided:
    """The best labels of sentences and the probabilities of all, with features looked up once.

    ids: int32 [tokens], outer labels   p: float32 [tokens, inner labels]   rows: the features
    """

    ids: NDArray[np.int32]
    p: NDArray[np.float32]
    rows: Any

    @classmethod
    def of(cls, model: ChainModel, table: TokenTable, threads: int) -> "Decided | None":
        """None if the chain is not one of the core, or if a sentence has no labelling."""
        native = model.source.native
        if model.needs or not isinstance(native, LinearChain):
            return None
        rows = model.encoder.rows(table, threads)
        given = table.ptr, rows.ptr, rows.ids
        labels, p, log_z = native.decide(*given, model.temperature, threads, rows.values)
        if not np.isfinite(log_z).all():
            return None
        return cls(model.labels.outer_of[labels], p.reshape(-1, model.weights.Y), rows)


def conditionals(
    model: ChainModel, table: TokenTable, threads: int, rows: Any = None
) -> Iterator[Conditionals]:
    """The conditionals of a table's sentences, block by block; rows: their features, if they are known."""
    chain = model.searched
    rows = chain.encoder.rows(table, threads) if rows is None else rows
    w, scale = chain.weights, 1.0 / model.temperature
    pair, start, end = (block.astype(np.float64) * scale for block in (w.pair, w.start, w.end))
    for a, b, bounds in sentence_blocks(table.ptr, max(1, CELLS // w.Y)):
        unary = sums_of_rows(rows, a, b, w.dense).astype(np.float64) * scale
        yield Conditionals.of(unary, pair, start, end, bounds, chain.labels)


def entropies(model: ChainModel, table: TokenTable, threads: int) -> Floats:
    """The entropy of each sentence's distribution over labellings."""
    found = [c.entropies(c.marginals()) for c in conditionals(model, table, threads)]
    return np.concatenate([np.zeros(0), *found])


def span_probabilities(
    model: ChainModel, table: TokenTable, spans: SpanArrays, threads: int, known: Decided | None = None
) -> Floats:
    """The probability of each span (B-, then I-) of a Markov chain: exactly its tokens have its label."""
    chain = model.searched
    native = chain.source.native
    assert isinstance(native, LinearChain)
    rows = chain.encoder.rows(table, threads) if known is None else known.rows
    opens, goes = _labels_of_kinds(spans.names, chain.labels.outer, chain.labels.outer_of.tobytes())
    found: Floats = native.span_probabilities(
        table.ptr,
        rows.ptr,
        rows.ids,
        model.temperature,
        spans.ptr,
        spans.begin,
        spans.end,
        spans.kind,
        opens,
        goes,
        None if known is None else known.p.astype(np.float64),
        threads,
        rows.values,
    )
    return found


@lru_cache(maxsize=64)
def _labels_of_kinds(
    kinds: tuple[str, ...], outer: tuple[str, ...], outer_of: bytes
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The inner labels that begin spans of each kind, and those that continue them: int32 [kinds, K], then -1."""
    inner = np.frombuffer(outer_of, np.int32)
    made = []
    for letter in "BI":
        tags = [f"{letter}-{kind}" for kind in kinds]
        lists = [np.flatnonzero(inner == outer.index(tag)).tolist() if tag in outer else [] for tag in tags]
        K = max([1, *map(len, lists)])
        filled = [[*own, *([-1] * (K - len(own)))] for own in lists]
        made.append(np.array(filled, np.int32).reshape(len(lists), K))
    return made[0], made[1]
