"""The memory of a CRF for incremental learning: its sentences and their marginals, the duals of its weights.

    w = w_0 + (1 / 2 c2) sum_n k_n F_n(gold_n - m_n)          minimises  sum_n k_n loss_n(w) + c2 |w - w_0|^2

A further sentence starts at m_n = gold_n, so w does not change until dual ascent visits the sentence and those that it
affects; removing a sentence removes its share of w. w_0 is zero if the memory holds all training sentences. For a
model without its training data w_0 is its weights, which only the penalty holds, more strongly the more frequent a
feature is: the same problem with values of features divided by s, the square root of their penalty, and weights s w.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import CrfProblem, CrfSdca
from chaffinch.errors import ChaffinchError, ConfigError
from chaffinch.features.ranks import counts_by_rank
from chaffinch.features.rows import FeatureRows
from chaffinch.model import LabelSet
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.model.potentials import Additive
from chaffinch.recipes.crf_config import Crf, CrfObjective, has_margin, suited_objective
from chaffinch.recipes.crf_duals import Duals, SdcaState, Summed
from chaffinch.recipes.crf_problem import CrfLayout, margin_costs
from chaffinch.recipes.encoding import InnerLabels
from chaffinch.text.document import LABEL, WORD
from chaffinch.text.schemes import (
    BIO,
    BIOES,
    SCHEMES,
    Scheme,
    convert_column,
    legal_transitions,
    repair_column,
)
from chaffinch.text.table import Column, TokenTable

# Dual ascent after a change stops at this gap, or after PASSES passes; tokens whose marginals change by less than STILL
# are not updated. The sum over tokens counts labels that change together more than once, at least TOGETHER times:
# divided by it, with the slack below, it was 1.04 to 7 times the true distance from the optimum.
GAP = 0.001
PASSES = 60
STILL = 0.001
TOGETHER = 2.0

# Steps are shorter than in training (there 2): sentences that resemble each other are visited in turn, and longer steps
# overshoot, so that rounds raise the gap again.
FACTOR = 3.0

# After a pass over at least FEW sentences, the share LOUDEST that moved most is visited again, at most ROUNDS times.
# Below MANY tokens a pass is quick, and each sentence affects all others: the sum is then computed once more without
# moving anything. SLACK and, for that last sum, SMALL_SLACK cover what the sums leave out: the effect of visits on
# other sentences, and label pairs that change while their tokens do not.
FEW = 200
MANY = 20_000
LOUDEST = 0.05
ROUNDS = 20
SLACK, SMALL_SLACK = 1.2, 1.8

# Sentences do not move if their part of the gap is below this share of the mean part that the gap allows.
QUIET = 0.25

# New sentences are visited this many times before the first pass, unless they are more than a share of all.
FIRST_VISITS = 20
MOST_FRESH = 0.1

# If only the weights of a model are known, this share of its features, the most frequent ones, is frozen.
HELD = 0.02
HELD_SPARSE = 0.2  # with an L1 penalty, which leaves few features that are rare


@dataclass(frozen=True)
class CrfMemory:
    """Sentences, their marginals, and the weights to stay near; immutable.

    encoder: with every feature of the sentences
    duals:   of the first sentences; those beyond them start at their gold labels
    base:    w_0 as flat array; None: zero
    summed:  the weights of the duals; None: to be summed
    known, known_features: the initial labels and number of features
    """

    config: Crf
    chosen: CrfObjective
    encoder: TemplateEncoder
    labels: LabelSet
    scheme: Scheme | None
    rows: FeatureRows
    y: NDArray[np.int32]
    weight: NDArray[np.float32]
    duals: Duals
    base: NDArray[np.float32] | None
    seed: int
    known: LabelSet
    known_features: int
    summed: "Summed | None" = None

    @classmethod
    def of(
        cls,
        config: Crf,
        chosen: CrfObjective,
        encoder: TemplateEncoder,
        inner: InnerLabels,
        rows: FeatureRows,
        weight: NDArray[np.float32] | None,
        state: SdcaState,
        w: NDArray[np.float32],
        seed: int,
    ) -> "CrfMemory":
        """The memory of all training sentences after dual ascent."""
        labels, N = inner.labels, len(rows.sentences) - 1
        shape = CrfLayout(encoder.n_features, len(labels.inner))
        counts = np.ones(N, np.float32) if weight is None else weight
        duals = Duals.of(state, shape.Y, shape.S)
        return cls(
            config,
            chosen,
            encoder,
            labels,
            inner.scheme,
            rows,
            inner.y,
            counts,
            duals,
            None,
            seed,
            labels,
            shape.F,
            Summed.kept(w, shape.F, 0),
        )

    @classmethod
    def around(cls, model: ChainModel, config: Crf, seed: int) -> "CrfMemory":
        """A memory without sentences: only the weights of a model are known."""
        encoder = model.encoder
        if not can_learn_on(model, config) or not isinstance(encoder, TemplateEncoder):
            raise ConfigError(CANNOT)
        scheme = _scheme_of(model)
        names = scheme is not None and any("elsewhere" in t for t in encoder.features.templates)
        # The L2 penalty beside an L1 penalty is too weak to keep weights near those of the model.
        objective = config if config.c1 == 0 else replace(config, c1=0.0, c2=8.0, margin=1.0, recall=1.0)
        chosen = suited_objective(
            objective,
            rate=None,
            names=names,
            certain=True,
            features_per_token=40,
            with_margin=has_margin(objective, len(model.labels.inner)),
        )
        if chosen.c2 == 0:
            raise ConfigError(
                "a crf with c2 = 0 cannot learn further sentences: no penalty keeps its weights near the old ones; "
                "set c2 > 0"
            )
        shape = CrfLayout(encoder.n_features, len(model.labels.inner))
        empty = np.zeros(1, np.int64)
        rows = FeatureRows(empty, np.zeros(0, np.int32), np.zeros((0, 0), np.int32), empty)
        y = np.zeros(0, np.int32)
        duals = Duals.at_gold(empty, y, shape.Y, shape.S)
        place = np.arange(shape.Y, dtype=np.int64)
        base = shape.joined(model.weights, place)
        none = np.zeros(0, np.float32)
        return cls(
            config,
            chosen,
            encoder,
            model.labels,
            scheme,
            rows,
            y,
            none,
            duals,
            base,
            seed,
            model.labels,
            shape.F,
        )

    @property
    def n_sentences(self) -> int:
        """N."""
        return len(self.weight)

    @cached_property
    def shape(self) -> CrfLayout:
        """The layout of the weights."""
        return CrfLayout(self.encoder.n_features, len(self.labels.inner))

    def without(self, dropped: NDArray[np.bool_]) -> "CrfMemory":
        """The same without some sentences: bool [N]."""
        if not dropped.any():
            return self
        kept, lengths, counts = ~dropped, np.diff(self.rows.sentences), np.diff(self.rows.ptr)
        tokens = np.repeat(kept, lengths)
        rows = FeatureRows(
            _bounds(counts[tokens]),
            np.ascontiguousarray(self.rows.ids[np.repeat(tokens, counts)]),
            self.rows.observations[tokens],
            _bounds(lengths[kept]),
            None
            if self.rows.values is None
            else np.ascontiguousarray(self.rows.values[np.repeat(tokens, counts)]),
        )
        n = len(self.duals.met)
        duals = self.duals.of_sentences(kept[:n], self.rows.sentences[: n + 1])
        return replace(self, rows=rows, y=self.y[tokens], weight=self.weight[kept], duals=duals, summed=None)

    def with_sentences(self, table: TokenTable, weight: NDArray[np.float32], threads: int) -> "CrfMemory":
        """The same with further sentences at their gold labels; new features and labels are added."""
        if table.n_sentences == 0:
            return self
        features, more = self.encoder.features.grown(
            TokenTable(
                table.ptr,
                {k: c for k, c in table.columns.items() if k in (WORD, *self.encoder.columns)},
                table.groups,
                attributes=table.attributes,
            ),
            threads=threads,
        )
        grown = replace(self, encoder=TemplateEncoder(features))
        inner = self._inner(table.columns[LABEL], table.ptr)
        place = inner.labels.ids(self.labels.inner)
        shape = CrfLayout(features.n_features, len(inner.labels.inner))
        duals, y, summed = self.duals, place[self.y] if len(self.y) else self.y, self.summed
        if inner.labels.inner != self.labels.inner:
            duals, summed = duals.relabelled(place, shape.Y, shape.S), None
        base = None
        if self.base is not None:
            base = shape.joined(self.shape.split(self.base), place.astype(np.int64))
        rows = FeatureRows(
            np.concatenate([self.rows.ptr, more.ptr[1:] + self.rows.ptr[-1]]),
            np.concatenate([self.rows.ids, more.ids]),
            np.zeros((len(y) + len(inner.y), 0), np.int32),
            np.concatenate([self.rows.sentences, more.sentences[1:] + self.rows.sentences[-1]]),
            _joined_values(self.rows, more),
        )
        return replace(
            grown,
            labels=inner.labels,
            rows=rows,
            y=np.concatenate([y, inner.y]).astype(np.int32),
            weight=np.concatenate([self.weight, weight]).astype(np.float32),
            duals=duals,
            base=base,
            summed=summed,
        )

    def weighing(self, weight: NDArray[np.float32]) -> "CrfMemory":
        """A copy with new sentence weights: float32 [N]."""
        return self if np.array_equal(weight, self.weight) else replace(self, weight=weight, summed=None)

    def solve(self) -> "tuple[CrfMemory, NDArray[np.float32], float]":
        """The memory at the optimum, its weights as flat array, and the gap left as a share of the objective."""
        if self.n_sentences == 0:
            return self, self._first_weights(), 0.0
        c2 = self.chosen.c2
        margin, recall = self.chosen.margin, self.chosen.recall
        stiff = self._stiffness()
        problem = CrfProblem(
            self.rows.sentences,
            self.rows.ptr,
            self.rows.ids,
            self.y,
            self.shape.F,
            self.shape.Y,
            weight=self.weight,
            cost=margin_costs(self.labels, margin, recall) if margin else None,
            trainable=self._trainable(),
            values=self.rows.values if stiff is None else self._divided(stiff),
        )
        duals = self._all_duals()
        w = self._first_weights() if self.summed is None else self.summed.grown(self.shape)
        if stiff is not None:
            self._unary(w)[...] *= stiff[:, None]
        first = None if stiff is None else w.copy()
        objective = float(duals.loss.sum())  # at least: weights to be summed have a penalty too
        if self.summed is not None:
            objective += c2 * float(np.vdot(w, w))
        learner = CrfSdca(
            problem,
            c2,
            still=STILL * min(1.0, c2),
            skip_quiet=False,
            seed=self.seed + 1,
            factor=FACTOR,
            quiet=QUIET * 2 * TOGETHER * GAP * objective / self.n_sentences,
            nodes=duals.nodes.ravel(),
            pairs=duals.pairs.ravel(),
        )
        learner.resume(duals.change, duals.loss, duals.smaller, duals.met)
        changes = 0 if self.summed is None else self.summed.changes + 1
        if self.summed is None:
            learner.add_weights(w)
        fresh = np.flatnonzero(duals.met == 0)
        if len(fresh) <= max(1, MOST_FRESH * self.n_sentences):
            learner.settle(fresh, FIRST_VISITS, w)
        gap = np.inf
        for _ in range(PASSES):
            met = learner.run(w)
            penalty = met.penalty if first is None else c2 * float(np.sum(np.square(w - first)))
            gap = _share(met.moved, met.loss + penalty)
            for _ in range(ROUNDS if self.n_sentences >= FEW else 0):
                if gap < GAP:
                    break
                met = learner.settle_loudest(math.ceil(LOUDEST * self.n_sentences), w)
                gap = SLACK * _share(met.moved, met.loss + penalty)
            if gap < GAP and len(self.y) < MANY:
                met = learner.measure(w)
                gap = SMALL_SLACK * _share(met.moved, met.loss + penalty)
            if gap < GAP:
                break
        if stiff is not None:
            self._unary(w)[...] /= stiff[:, None]
        duals = Duals(duals.nodes, duals.pairs, *learner.visits())
        summed = None if self.base is not None else Summed.kept(w, self.shape.F, changes)
        return replace(self, duals=duals, summed=summed), w, gap

    def _first_weights(self) -> NDArray[np.float32]:
        """w_0."""
        return np.zeros(self.shape.size, np.float32) if self.base is None else self.base.copy()

    def _all_duals(self) -> Duals:
        """A copy of the duals of all sentences."""
        n = len(self.duals.met)
        bounds = self.rows.sentences[n:]
        further = Duals.at_gold(bounds - bounds[0], self.y[bounds[0] :], self.shape.Y, self.shape.S)
        return self.duals.followed_by(further)

    def _stiffness(self) -> NDArray[np.float32] | None:
        """For a model without its data: the square roots of the penalties of its features, float32 [F]; None: all 1.

        The penalty grows with the square root of a feature's frequency, by its rank: more of the model's sentences
        contributed to the weights of frequent features. New features have penalty 1.
        """
        if self.base is None:
            return None
        counts = counts_by_rank(np.arange(self.shape.F), self.known_features)
        return np.maximum(1.0, counts).astype(np.float32) ** np.float32(0.25)

    def _divided(self, stiff: NDArray[np.float32]) -> NDArray[np.float32]:
        """The values of features, divided by their stiffness."""
        values = np.float32(1) / stiff[self.rows.ids]
        return values if self.rows.values is None else values * self.rows.values

    def _unary(self, w: NDArray[Any]) -> NDArray[Any]:
        """A view of the weights of features, or of what is beside them: [F, S]."""
        return w[: self.shape.F * self.shape.S].reshape(self.shape.F, self.shape.S)

    def _trainable(self) -> NDArray[np.uint8] | None:
        """For a model without its data: 0 for weights that most of its sentences contributed to.

        Those are pairs of labels and the most frequent features, which come first. A new sentence must not move them,
        nor give a new label weights that do not depend on the words: it would be predicted everywhere.
        """
        if self.base is None:
            return None
        F = self.shape.F
        flags = np.ones(self.shape.size, np.uint8)
        flags[F * self.shape.S :] = 0
        old = self.labels.ids(self.known.inner)
        held = HELD if self.config.c1 == 0 else HELD_SPARSE
        self._unary(flags)[: int(held * self.known_features), old] = 0
        return flags

    def weights(self, w: NDArray[np.float32]) -> ChainWeights:
        """Flat weights by block; unary ones are a view."""
        legal = InnerLabels(self.labels, self.y, self.scheme).legal if self.config.constraints else None
        return self.shape.split(w, legal, view=True)

    def mistakes(self, w: NDArray[np.float32], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of the sentences ``which`` get another answer than their labels: bool [N]."""
        asked, weights = self.without(~which), self.weights(w)
        touched, place = np.unique(asked.rows.ids, return_inverse=True)
        unary = weights.dense[touched]
        unary[np.abs(unary) < self.config.min_weight] = 0  # as the model has them
        chain = Additive(replace(weights, unary=unary)).native
        assert chain is not None
        rows = asked.rows
        found = chain.tag(rows.sentences, rows.ptr, place.astype(np.int32), 1, rows.values)
        outer = self.labels.outer_of
        wrong = np.flatnonzero(outer[found] != outer[asked.y])
        made = np.zeros(self.n_sentences, bool)
        made[np.flatnonzero(which)[np.searchsorted(rows.sentences, wrong, side="right") - 1]] = True
        return made

    def _inner(self, column: Column, ptr: NDArray[np.int64]) -> InnerLabels:
        """The labels of further sentences, in the scheme of the earlier ones."""
        recoded = self.labels.outer != self.labels.inner
        if recoded:
            column = repair_column(column, ptr, BIO)
            column = convert_column(column, ptr, BIO, BIOES)
            named = {tag: {"E": "I", "S": "B"}.get(tag[0], tag[0]) + tag[1:] for tag in column.types}
            labels = LabelSet.recoded([], named)
        else:
            labels = LabelSet.plain(column.types)
        return InnerLabels(labels, labels.column_ids(column), self.scheme).with_labels_of(self.labels)


def _share(moved: float, objective: float) -> float:
    """The gap as a share of the objective."""
    return moved / TOGETHER / max(objective, 1e-12)


CANNOT = (
    "this crf cannot learn further sentences from its weights alone: it has order 2, templates with y[-1], pruned "
    "lattices, fixed weights or two passes; train it on all data"
)


def can_learn_on(model: object, config: Crf) -> bool:
    """Whether a model can learn further sentences while its weights are held."""
    ruled = config.forbid.strip() or config.need.strip() or config.legal == "seen"
    plain = config.order == 1 and not config.second_pass and config.fixed is None and not ruled
    return (
        plain
        and isinstance(model, ChainModel)
        and isinstance(model.source, Additive)
        and isinstance(model.encoder, TemplateEncoder)
        and model.weights.order == 1
        and not model.weights.bigrams
    )


def _scheme_of(model: ChainModel) -> Scheme | None:
    """The scheme that forbids the transitions that the model forbids."""
    allowed = np.isfinite(model.weights.pair)
    if allowed.all():
        return None
    for scheme in SCHEMES.values():
        try:
            follows, _, _ = legal_transitions(model.labels.inner, scheme)
        except ChaffinchError:
            continue
        if np.array_equal(follows, allowed):
            return scheme
    return None


def _joined_values(first: FeatureRows, second: FeatureRows) -> NDArray[np.float32] | None:
    """The values of the rows of both; None if all are 1."""
    if first.values is None and second.values is None:
        return None
    return np.concatenate(
        [
            np.ones(len(rows.ids), np.float32) if rows.values is None else rows.values
            for rows in (first, second)
        ]
    )


def _bounds(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
