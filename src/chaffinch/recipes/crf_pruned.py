"""The CRF of hundreds of labels: trained by SGD on lattices of the labels that are likely at each token."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import CrfProblem, PrunedSgd
from chaffinch.learners.likelihood import Journal, Pass
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.potentials import Pruned, Pruning
from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.model.template_encoder import TemplateEncoder
from chaffinch.recipes.encoding import InnerLabels

# Rows of labels (ptr [F+1], labels [nnz], weights [nnz]), then pair, start and end in one.
PrunedWeights: TypeAlias = tuple[
    NDArray[np.int64], NDArray[np.uint16], NDArray[np.float32], NDArray[np.float32]
]
WEIGHTS = ("ptr", "labels", "unary", "chain")


class PrunedLearner:
    """Passes of SGD over a problem.

    all_pairs: after the first pass features get weights for labels found likely at their tokens, besides the
               labels that they occur with
    """

    def __init__(
        self,
        problem: CrfProblem,
        pruning: Pruning,
        *,
        c2: float,
        rate: float,
        epochs: int,
        seed: int,
        all_pairs: bool,
    ) -> None:
        self._core = PrunedSgd(problem, c2, rate, epochs, pruning.threshold, pruning.most, seed)
        self._c2, self._epochs, self._all_pairs = c2, epochs, all_pairs

    def passes(self, journal: Journal | None = None) -> Iterator[Pass]:
        """Run to the end; with a journal that holds a state, go on from that."""
        done = 0
        if journal is not None and (saved := journal.load()) is not None:
            ptr, labels, unary, chain = (saved[name] for name in WEIGHTS)
            self._core.load(ptr, labels, unary, chain)
            self._core.restore(saved["state"])
            done = int(saved["done"][0])
        for number in range(done + 1, self._epochs + 1):
            loss = self._core.run()
            if number == 1 and self._all_pairs:
                self._core.widen()
            _, _, unary, chain = weights = self.weights()
            if journal is not None:
                named: dict[str, NDArray[Any]] = dict(zip(WEIGHTS, weights, strict=True))
                journal.save({**named, "state": self._core.state(), "done": np.array([number])})
            yield Pass(number, loss + self._c2 * float(np.vdot(unary, unary) + np.vdot(chain, chain)))

    def weights(self) -> PrunedWeights:
        """A copy of the weights as they are now."""
        return self._core.weights()


@dataclass(frozen=True)
class PrunedModels:
    """What makes models of a learner's weights: all that does not change while it learns."""

    encoder: TemplateEncoder
    inner: InnerLabels
    pruning: Pruning
    constraints: bool

    def model(self, weights: PrunedWeights) -> ChainModel:
        """A model of these weights."""
        ptr, columns, unary, chain = weights
        Y = len(self.inner.labels.inner)
        pair, start, end = np.split(chain.copy(), [Y * Y, Y * Y + Y])
        pair = pair.reshape(Y, Y)
        if self.constraints and self.inner.legal is not None:
            follows, starts, ends = self.inner.legal
            pair[~follows], start[~starts], end[~ends] = -np.inf, -np.inf, -np.inf
        sparse = SparseWeights(np.diff(ptr).astype(np.uint16), columns, unary)
        source = Pruned(ChainWeights(sparse, start, end, pair), self.pruning)
        return ChainModel(self.encoder, source, self.inner.labels)

    def smaller(self, weights: PrunedWeights, min_weight: float, bits: int | None) -> ChainModel:
        """The same without small weights and without features that have none left, rounded to ``bits``."""
        ptr, columns, unary, _ = weights
        row = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        scale = 1.0
        values: NDArray[Any] = unary
        if bits is not None:
            scale = float(np.abs(unary).max(initial=1e-9)) / (2 ** (bits - 1) - 1)
            values = np.rint(unary / np.float32(scale)).astype(np.int8 if bits <= 8 else np.int16)
        kept = (np.abs(unary) >= min_weight) & (values != 0)
        counts = np.bincount(row[kept], minlength=len(ptr) - 1)
        sparse = SparseWeights(counts[counts > 0].astype(np.uint16), columns[kept], values[kept], scale)
        full = replace(self.model(weights).weights, unary=sparse)
        return ChainModel(self.encoder.pruned(counts > 0), Pruned(full, self.pruning), self.inner.labels)
