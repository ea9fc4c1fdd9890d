"""Conditional probabilities of a chain's labels, for many sentences at once: of spans, and entropies.

A first-order chain is a Markov chain: given its label at t, the label at t + 1 does not depend on what came before,

    q_t(y'|y) = E[y][y'] ub_{t+1}[y'] / b_t[y]        E = exp(pair),  ub_t = exp(unary_t) b_t
    b_t[y]    = sum_y' E[y][y'] ub_{t+1}[y']          b_{T-1} = exp(end)

so the probability of any stretch of labels is that of its first label times a q for each further one. All sentences of
a block go backwards together, a position at a time; the scale of each ub_t cancels in q.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import LinearChain
from chaffinch.model.chain import ChainModel
from chaffinch.model.labels import LabelSet
from chaffinch.model.potentials import CELLS, Additive, sentence_blocks, sums_of_rows
from chaffinch.text.table import TokenTable

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


def is_markov(model: object) -> bool:
    """Whether conditionals can be had: a chain of first order whose pairs are the same at all tokens."""
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

    def q(self, t: Ids, y: Ids, after: Ids) -> Floats:
        """The probability of label ``after`` at t + 1 given y at t; arrays of one shape."""
        down, follow = self.b[t, y], self.ub[np.minimum(t + 1, len(self.b) - 1), after]
        return np.where(down > 0, self.E[y, after] * follow / np.where(down > 0, down, 1.0), 0.0)

    def marginals(self) -> Floats:
        """p(y_t|x) [tokens, Y], by going forwards."""
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

    def spans(self, p: NDArray[np.floating], begin: Ids, end: Ids, tags: Sequence[tuple[str, str]]) -> Floats:
        """The probability that tokens begin .. end-1 have the tags (first, further) and no ``further`` follows.

        p: marginals [tokens, Y] of inner labels   begin, end: tokens of the block, within one sentence each
        """
        kinds = {pair: k for k, pair in enumerate(dict.fromkeys(tags))}
        which = np.array([kinds[pair] for pair in tags], np.int64)
        opens, goes = (self._inner([pair[side] for pair in kinds]) for side in (0, 1))
        ends = np.zeros(len(self.b) + 1, bool)
        ends[self.ptr] = True
        found = np.zeros(len(begin))
        with np.errstate(under="ignore"):
            labels = opens[which]  # [spans, K]
            mass = np.where(labels >= 0, p[begin[:, None], labels], 0.0)
            at, left = begin.copy(), np.arange(len(begin))
            while len(left):
                further = goes[which[left]]
                valid = (further >= 0)[:, None, :] & (labels >= 0)[:, :, None]
                closing = ends[at + 1]  # the sentence ends after it: nothing can follow
                q = self.q(at[:, None, None], labels[:, :, None], further[:, None, :])
                q = np.where(valid & ~closing[:, None, None], q, 0.0)
                done = at + 1 == end[left]
                stays = (mass * np.maximum(0.0, 1.0 - q.sum(axis=2))).sum(axis=1)
                found[left[done]] = stays[done]
                on = ~done
                mass = (mass[:, :, None] * q).sum(axis=1)[on]
                labels, left, at = further[on], left[on], at[on] + 1
        return np.minimum(found, 1.0)

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

    def _inner(self, tags: Sequence[str]) -> Ids:
        """The inner labels of outer ones: int64 [tags, K], filled up with -1."""
        outer = [self.labels.outer.index(tag) if tag in self.labels.outer else -1 for tag in tags]
        lists = [np.flatnonzero(self.labels.outer_of == o).tolist() if o >= 0 else [] for o in outer]
        K = max([1, *map(len, lists)])
        return np.array([[*own, *([-1] * (K - len(own)))] for own in lists], np.int64).reshape(len(lists), K)


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
        p, log_z = native.marginals_at(*given, model.temperature, threads)
        if not np.isfinite(log_z).all():
            return None
        ids = model.labels.outer_of[native.tag(*given, threads)]
        return cls(ids, p.reshape(-1, model.weights.Y), rows)


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
    model: ChainModel,
    table: TokenTable,
    spans: Sequence[Sequence[tuple[str, int, int]]],
    threads: int,
    known: Decided | None = None,
) -> list[list[float]]:
    """The probability of spans (label, start, end) of each sentence, marked by B- and I-."""
    made: list[list[float]] = []
    n = at = 0
    for c in conditionals(model, table, threads, None if known is None else known.rows):
        own = spans[n : n + len(c.ptr) - 1]
        pairs = list(zip(c.ptr.tolist(), own, strict=False))
        tags = [(f"B-{label}", f"I-{label}") for found in own for label, _, _ in found]
        if tags:
            begin = np.array([a + s for a, found in pairs for _, s, _ in found], np.int64)
            end = np.array([a + e for a, found in pairs for _, _, e in found], np.int64)
            p = c.marginals() if known is None else known.p[at : at + len(c.b)]
            chances = iter(c.spans(p, begin, end, tags).tolist())
            made += [[next(chances) for _ in found] for found in own]
        else:
            made += [[] for _ in own]
        n, at = n + len(own), at + len(c.b)
    return made
