"""From a tagging task to the CRF's problem: the layout of weights, trainable weights, weights of sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import padded
from chaffinch.corpus.lines import lines, shown
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.rows import FeatureRows
from chaffinch.files import display_name
from chaffinch.learners.costs import LabelCosts
from chaffinch.learners.examples import CrfExamples
from chaffinch.learners.problem import Problem
from chaffinch.model import LabelSet
from chaffinch.model.chain_weights import ChainWeights, Legal
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.recipes.encoding import OUTSIDE, InnerLabels
from chaffinch.scorers import Layout, Linear
from chaffinch.structures import Chain


@dataclass(frozen=True)
class CrfLayout:
    """The layout of a problem's flat array of weights: unary rows first, then the chain, then bigram rows.

    observations: the number of rows of each template that observes the input on a label pair
    """

    F: int
    Y: int
    order: int = 1
    observations: tuple[int, ...] = ()

    @property
    def S(self) -> int:
        """The length of a row: Y rounded up to whole vectors."""
        return padded(self.Y)

    @property
    def chain_end(self) -> int:
        """Where the bigram rows begin."""
        second = self.Y**3 + 2 * self.Y**2 if self.order == 2 else 0
        return padded((self.F + self.Y + 2) * self.S + second)

    @property
    def layout(self) -> Layout:
        """The layout of a scorer."""
        return Layout.packed_chain(self.F, self.Y, self.order, sum(self.observations))

    def dual_bytes(self, rows: FeatureRows) -> int:
        """Memory in bytes that dual ascent over these rows needs besides the weights."""
        return 4 * self.S * (rows.n_tokens + (len(rows.sentences) - 1) * self.Y)

    @property
    def size(self) -> int:
        """All weights, padding included."""
        return self.chain_end + sum(self.observations) * padded(self.Y**2)

    def split(
        self, w: NDArray[np.float32], legal: Legal | None = None, *, view: bool = False
    ) -> ChainWeights:
        """The weights by block; transitions that ``legal`` forbids are minus infinity.

        view: unary weights are those of ``w`` itself, not a copy
        """
        F, Y, S = self.F, self.Y, self.S
        rows = w[: (F + Y + 2) * S].reshape(-1, S)[:, :Y]
        pair, start, end = rows[F : F + Y].copy(), rows[F + Y].copy(), rows[F + Y + 1].copy()
        if legal is not None:
            follows, starts, ends = legal
            pair[~follows], start[~starts], end[~ends] = -np.inf, -np.inf, -np.inf
        second: dict[str, Any] = {}
        if self.order == 2:
            at = (F + Y + 2) * S
            triple, first, last = np.split(w[at : at + Y**3 + 2 * Y**2], [Y**3, Y**3 + Y**2])
            second = {
                "triple": triple.reshape(Y, Y, Y).copy(),
                "first": first.reshape(Y, Y).copy(),
                "last": last.reshape(Y, Y).copy(),
            }
        return ChainWeights(rows[:F] if view else np.ascontiguousarray(rows[:F]), start, end, pair, **second)

    def bigrams(self, w: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        """The rows [observations, Y, Y] of each bigram template."""
        Y, stride = self.Y, padded(self.Y**2)
        rows = w[self.chain_end :].reshape(-1, stride)[:, : Y * Y].reshape(-1, Y, Y)
        return tuple(
            np.ascontiguousarray(block) for block in np.split(rows, np.cumsum(self.observations)[:-1])
        )

    def joined(self, weights: ChainWeights, place: NDArray[np.int64]) -> NDArray[np.float32]:
        """The flat array of weights by block; place: the ids of their labels here. Other weights are zero."""
        F, Y, S = self.F, self.Y, self.S
        w = np.zeros(self.size, np.float32)
        rows = w[: (F + Y + 2) * S].reshape(-1, S)
        unary = weights.dense
        rows[: len(unary), place] = unary
        for at, block in ((F + Y, weights.start), (F + Y + 1, weights.end)):
            rows[at, place] = _finite(block)
        rows[F + place[:, None], place[None, :]] = _finite(weights.pair)
        if self.order == 2 and weights.triple is not None:
            at = (F + Y + 2) * S
            w[at : at + Y**3].reshape(Y, Y, Y)[np.ix_(place, place, place)] = _finite(weights.triple)
            for k, edge in enumerate((weights.first, weights.last)):
                begin = at + Y**3 + k * Y**2
                if edge is not None:
                    w[begin : begin + Y**2].reshape(Y, Y)[np.ix_(place, place)] = _finite(edge)
        return w

    def observed(self, rows: FeatureRows, y: NDArray[np.int32]) -> NDArray[np.uint8]:
        """1 for each (feature, label) pair, transition, first and last label that occurs in training."""
        F, Y, S = self.F, self.Y, self.S
        if self.order == 2 or self.observations:
            raise ConfigError("Crf.states 'observed' needs order 1 and no templates with y[-1]")
        seen = np.zeros((F + Y + 2, S), np.uint8)
        seen[rows.ids, np.repeat(y, np.diff(rows.ptr))] = 1
        filled = np.flatnonzero(np.diff(rows.sentences))
        starts, ends = rows.sentences[filled], rows.sentences[filled + 1] - 1
        seen[F + Y, y[starts]] = 1
        seen[F + Y + 1, y[ends]] = 1
        inside = np.ones(len(y), bool)
        inside[starts] = False
        after = np.flatnonzero(inside)
        seen[F + y[after - 1], y[after]] = 1
        flat = np.zeros(self.size, np.uint8)
        flat[: seen.size] = seen.ravel()
        return flat


@dataclass(frozen=True)
class FixedWeights:
    """Fixed weights of (feature, label) pairs, which are not trained."""

    features: NDArray[np.int64]
    labels: NDArray[np.int64]
    values: NDArray[np.float32]

    @classmethod
    def read(cls, path: str, encoder: TemplateEncoder, labels: LabelSet) -> "FixedWeights":
        """Lines of feature, label and weight, separated by tabs, such as ``w[0]=the``, ``DET``, ``5``."""
        ids = {name: f for f, name in enumerate(encoder.features.names(range(encoder.n_features)))}
        inner: dict[str, list[int]] = {}
        for i, o in enumerate(labels.outer_of.tolist()):
            inner.setdefault(labels.outer[o], []).append(i)
        found: list[tuple[int, int, float]] = []
        for number, line in lines(path):
            if not line.strip():
                continue
            where = f"{display_name(path)}:{number}"
            fields = line.split("\t")
            if len(fields) != 3:
                raise DataError(f"{where}: expected a feature, a label and a weight, found {shown(line)}")
            feature, label, text = fields
            if feature not in ids:
                raise DataError(f"{where}: training has no feature {feature!r}")
            if label not in inner:
                raise DataError(f"{where}: training has no label {label!r}")
            try:
                value = float(text)
            except ValueError:
                value = nan
            if not isfinite(value):
                raise DataError(f"{where}: expected a number, found {shown(text)}")
            found += [(ids[feature], i, value) for i in inner[label]]
        features, places, values = zip(*found, strict=True) if found else ((), (), ())
        return cls(np.array(features, np.int64), np.array(places, np.int64), np.array(values, np.float32))

    def offset(self, rows: FeatureRows, Y: int) -> NDArray[np.float32]:
        """The sum of the fixed weights of each token: float32 [tokens, Y]."""
        table = np.zeros((int(rows.ids.max(initial=0)) + 1, Y), np.float32)
        table[self.features, self.labels] = self.values
        token = np.repeat(np.arange(rows.n_tokens), np.diff(rows.ptr))
        used = np.isin(rows.ids, self.features)
        offset = np.zeros((rows.n_tokens, Y), np.float32)
        added = table[rows.ids[used]]
        np.add.at(offset, token[used], added if rows.values is None else rows.values[used, None] * added)
        return offset


def sentence_weights(
    ptr: NDArray[np.int64], labels: LabelSet, y: NDArray[np.int32], class_weight: str | None
) -> NDArray[np.float32] | None:
    """The weight of each sentence: the mean weight of its labels.

    balanced: a label's weight is tokens / (labels * tokens with it); otherwise a list such as ``B-PER=3, O=0.5``, in
    which missing labels have weight 1.
    """
    if class_weight is None:
        return None
    outer = labels.outer_of[y]
    weight = np.ones(len(labels.outer))
    if class_weight == "balanced":
        count = np.bincount(outer, minlength=len(weight))
        weight = len(outer) / (np.count_nonzero(count) * np.maximum(count, 1))
    else:
        for entry in class_weight.split(","):
            name, sign, text = entry.strip().rpartition("=")
            try:
                value = float(text)
            except ValueError:
                value = -1.0
            if not sign or name not in labels.outer or not 0 < value < inf:
                raise ConfigError(
                    f"class_weight must be 'balanced' or a list such as '{labels.outer[0]}=2', got {entry.strip()!r}"
                )
            weight[labels.outer.index(name)] = value
    sums = np.concatenate([[0.0], np.cumsum(weight[outer])])
    lengths = np.maximum(np.diff(ptr), 1)
    means = (sums[ptr[1:]] - sums[ptr[:-1]]) / lengths
    return np.where(np.diff(ptr) > 0, means, 1.0).astype(np.float32)


def margin_costs(labels: LabelSet, margin: float, recall: float) -> NDArray[np.float32]:
    """The cost of each answer by gold label: float32 [Y, Y].

    A wrong label costs ``margin``, and ``recall`` times as much if it is O and the gold label is not.

    >>> margin_costs(LabelSet.plain(["B-PER", "O"]), 2.0, 1.5).tolist()
    [[0.0, 3.0], [2.0, 0.0]]
    """
    Y = len(labels.inner)
    cost = np.full((Y, Y), margin, np.float32)
    if OUTSIDE in labels.inner:
        cost[:, labels.inner.index(OUTSIDE)] *= recall
    np.fill_diagonal(cost, 0)
    return cost


def bigram_observations(encoder: TemplateEncoder, order: int) -> tuple[int, ...]:
    """The rows of each template that observes the input on y[-1] and y[0]."""
    templates = encoder.features.label_templates
    for template in templates:
        if template.offsets != (-1,) or order == 2:
            raise ConfigError(
                f"template {template.text!r}: a chain of order 1 can read y[-1] beside the input, but no other label"
            )
    return tuple(template.n_observations for template in templates)


def soft_rows(names: Sequence[str], p: NDArray[np.float32], labels: LabelSet) -> NDArray[np.float32]:
    """Soft labels [tokens, names] in the order of the inner labels."""
    soft = np.zeros((len(p), len(labels.inner)), np.float32)
    soft[:, labels.ids(names)] = p
    return soft


def crf_problem(
    shape: CrfLayout,
    rows: FeatureRows,
    inner: InnerLabels,
    *,
    seed: int = 0,
    observed_only: bool = False,
    fixed: FixedWeights | None = None,
    weight: NDArray[np.float32] | None = None,
    soft: NDArray[np.float32] | None = None,
    cost: NDArray[np.float32] | None = None,
    chain: Any = None,
    start: NDArray[np.float32] | None = None,
) -> Problem:
    """The problem that the learners of the likelihood read.

    chain: the structure; None: a chain without constraints     start: initial weights
    """
    trainable = shape.observed(rows, inner.y) if observed_only else None
    offset = None
    if fixed is not None:
        offset = fixed.offset(rows, shape.Y)
        trainable = np.ones(shape.size, np.uint8) if trainable is None else trainable
        trainable[fixed.features * shape.S + fixed.labels] = 0
    examples = CrfExamples(
        rows.sentences,
        rows.ptr,
        rows.ids,
        inner.y,
        soft=soft,
        allowed=None if inner.allowed is None else inner.allowed.astype(np.uint8),
        offset=offset,
        observed=rows.observations if shape.observations else None,
        observations=shape.observations,
        trainable=trainable,
        values=rows.values,
    )
    chain = Chain(shape.Y, order=shape.order) if chain is None else chain
    costs = None if cost is None else LabelCosts(cost)
    return Problem(chain, Linear(shape.layout, start), examples, weight, costs, seed)


def _finite(block: NDArray[np.float32]) -> NDArray[np.float32]:
    """The block with 0 for minus infinity, which is a constraint, not an initial weight."""
    return np.where(np.isfinite(block), block, np.float32(0))
