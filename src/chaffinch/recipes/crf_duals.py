"""What a CRF keeps between changes: the duals of its sentences, and the weights that they sum to."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chaffinch.recipes.crf_problem import CrfLayout

# Marginals that need more bytes than this are not kept, nor are weights beside them. Weights are summed from the
# marginals again after MOST_CHANGES changes, so that rounding does not add up.
MOST_KEPT_BYTES = 1 << 29
MOST_CHANGES = 32

SdcaState = tuple[
    NDArray[np.float32],
    NDArray[np.float32],
    NDArray[np.float32],
    NDArray[np.float32],
    NDArray[np.float32],
    NDArray[np.int64],
    NDArray[np.int64],
    float,
]
"""The result of :meth:`CrfSdca.state`."""


@dataclass(frozen=True)
class Duals:
    """The state of dual ascent for each sentence.

    nodes, pairs:          float32 [T, S] and [N, Y, S], the marginals
    change, loss, smaller: float32 [N], of the last visit
    met:                   uint8 [N], 1 if the sentence was visited
    """

    nodes: NDArray[np.float32]
    pairs: NDArray[np.float32]
    change: NDArray[np.float32]
    loss: NDArray[np.float32]
    smaller: NDArray[np.float32]
    met: NDArray[np.uint8]

    @classmethod
    def of(cls, state: SdcaState, Y: int, S: int) -> "Duals":
        """From the state of a :class:`CrfSdca`."""
        nodes, pairs, change, loss, smaller, _, counts, _ = state
        return cls(
            nodes.reshape(-1, S),
            pairs.reshape(-1, Y, S),
            change,
            loss,
            smaller,
            (counts[:-2] >= 0).astype(np.uint8),
        )

    @classmethod
    def at_gold(cls, sentences: NDArray[np.int64], y: NDArray[np.int32], Y: int, S: int) -> "Duals":
        """The duals of sentences that were never visited."""
        T, N = len(y), len(sentences) - 1
        nodes, pairs = np.zeros((T, S), np.float32), np.zeros((N, Y, S), np.float32)
        nodes[np.arange(T), y] = 1
        inside = np.ones(T, bool)
        inside[sentences[:-1][np.diff(sentences) > 0]] = False
        after = np.flatnonzero(inside)
        np.add.at(pairs, (np.repeat(np.arange(N), np.diff(sentences))[after], y[after - 1], y[after]), 1)
        zeros = np.zeros(N, np.float32)
        return cls(nodes, pairs, zeros, zeros, np.ones(N, np.float32), np.zeros(N, np.uint8))

    def of_sentences(self, chosen: NDArray[np.bool_], sentences: NDArray[np.int64]) -> "Duals":
        """The duals of the chosen sentences."""
        tokens = np.repeat(chosen, np.diff(sentences))
        return Duals(
            self.nodes[tokens],
            self.pairs[chosen],
            self.change[chosen],
            self.loss[chosen],
            self.smaller[chosen],
            self.met[chosen],
        )

    def followed_by(self, other: "Duals") -> "Duals":
        """These duals followed by others."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Duals(*(np.concatenate([a, b]) for a, b in pairs))

    def relabelled(self, place: NDArray[np.int32], Y: int, S: int) -> "Duals":
        """The duals after labels were renumbered: their new ids are ``place``."""
        old = len(place)
        nodes = np.zeros((len(self.nodes), S), np.float32)
        nodes[:, place] = self.nodes[:, :old]
        pairs = np.zeros((len(self.pairs), Y, S), np.float32)
        pairs[:, place[:, None], place[None, :]] = self.pairs[:, :, :old]
        return replace(self, nodes=nodes, pairs=pairs)


@dataclass(frozen=True)
class Summed:
    """The weights of the duals after a change, kept so that the next change need not sum them.

    w:       as flat array
    F:       its number of features
    changes: the number of changes since they were summed
    """

    w: NDArray[np.float32]
    F: int
    changes: int

    @classmethod
    def kept(cls, w: NDArray[np.float32], F: int, changes: int) -> "Summed | None":
        """None if they are too large, or if so many changes have rounded them that the sum is due."""
        return cls(w, F, changes) if changes < MOST_CHANGES and w.nbytes <= MOST_KEPT_BYTES else None

    def grown(self, shape: CrfLayout) -> NDArray[np.float32]:
        """A copy with the zero weights of further features."""
        old, new = self.F * shape.S, shape.F * shape.S
        w = np.empty(shape.size, np.float32)
        w[:old], w[old:new] = self.w[:old], 0
        chain = (shape.Y + 2) * shape.S
        w[new : new + chain], w[new + chain :] = self.w[old : old + chain], 0
        return w
