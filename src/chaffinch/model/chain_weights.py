"""The weights of a linear chain, in one layout for all chain models."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.modelfile import Packed, Requirements, Saved, array, nested
from chaffinch.scorers import Linear
from chaffinch.structures import LabelStates

Legal = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]
"""Which label may follow which [Y, Y], begin [Y] and end [Y]."""

UNARY = "unary"
SHARED = ("start", "end", "pair", "triple", "first", "last")  # the same at every position

# Unary weights are stored without their zeros if more than this share are zero.
SPARSE = 0.5


@dataclass(frozen=True)
class ChainWeights(Saved):
    """Weights by block, float32; minus infinity means forbidden.

    unary   [F, Y], dense or without its zeros
    start   [Y], end [Y], pair [Y, Y]
    triple  [Y, Y, Y], first [Y, Y], last [Y, Y]: second order only
    bigrams [observations, Y, Y] for each template with y[-1]: added to ``pair`` if the template observes them
    bits    unary weights are multiples of a scale, stored as integers with this number of bits
    """

    unary: NDArray[np.float32] | SparseWeights
    start: NDArray[np.float32] = array("float32", "Y", potential=True)
    end: NDArray[np.float32] = array("float32", "Y", potential=True)
    pair: NDArray[np.float32] = array("float32", "Y", "Y", potential=True)
    triple: NDArray[np.float32] | None = array("float32", "Y", "Y", "Y", potential=True, optional=True)
    first: NDArray[np.float32] | None = array("float32", "Y", "Y", potential=True, optional=True)
    last: NDArray[np.float32] | None = array("float32", "Y", "Y", potential=True, optional=True)
    bigrams: tuple[NDArray[np.float32], ...] = array(
        "float32", "observations", "Y", "Y", each="bigrams", finite=True
    )
    bits: int | None = None

    @classmethod
    def of(cls, scorer: Linear, legal: Legal | None) -> "ChainWeights":
        """A copy of the weights of a first-order scorer; transitions that are not legal get minus infinity."""
        unary, pair, start, end = (scorer.block(name).copy() for name in (UNARY, "pair", "start", "end"))
        if legal is not None:
            follows, starts, ends = legal
            pair[~follows], start[0, ~starts], end[0, ~ends] = -np.inf, -np.inf, -np.inf
        return cls(unary, start[0], end[0], pair)

    @property
    def Y(self) -> int:
        """The number of inner labels."""
        return len(self.start)

    @property
    def order(self) -> int:
        """1, or 2 if there are weights of three labels in a row."""
        return 1 if self.triple is None else 2

    @property
    def dense(self) -> NDArray[np.float32]:
        """The unary weights with their zeros: float32 [F, Y]."""
        return self.unary.dense(self.Y) if isinstance(self.unary, SparseWeights) else self.unary

    def of_features(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """The unary weights of some features: float32 [ids, Y]."""
        if isinstance(self.unary, SparseWeights):
            return self.unary.of_rows(ids).dense(self.Y)
        return self.unary[ids]

    def of_label(self, y: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The features that have a weight for label y, and the weights."""
        if isinstance(self.unary, SparseWeights):
            return self.unary.column(y)
        return np.arange(len(self.unary), dtype=np.int32), self.unary[:, y]

    def by_state(self, states: LabelStates) -> "ChainWeights":
        """The weights of states, each those of its label; minus infinity if a state may not follow or begin."""
        label = states.label
        unary = np.ascontiguousarray(self.dense[:, label])
        blocks: dict[str, Any] = {
            name: block[np.ix_(*(label,) * block.ndim)] for name, block in self.shared().items()
        }
        blocks["pair"][~states.follows], blocks["start"][~states.starts] = -np.inf, -np.inf
        bigrams = tuple(np.ascontiguousarray(b[:, label][:, :, label]) for b in self.bigrams)
        return ChainWeights(unary, bigrams=bigrams, **blocks)

    def shared(self) -> dict[str, NDArray[np.float32]]:
        """The blocks that are the same at every position, by name: all but unary and bigrams."""
        blocks = {name: getattr(self, name) for name in SHARED}
        return {name: block for name, block in blocks.items() if block is not None}

    def packed(self, prefix: str = "") -> Packed:
        """The sections of a model file; unary weights without zeros if most are zero, or with ``bits``."""
        packed, unary = super().packed(prefix), self.unary
        if not isinstance(unary, SparseWeights):
            zeros = unary.size - np.count_nonzero(unary)
            if self.bits is None and zeros <= SPARSE * unary.size:
                return packed | _Unary(dense=unary).packed(prefix)
            unary = SparseWeights.of(unary, self.bits)
        return packed | _Unary(sparse=unary).packed(prefix)

    @classmethod
    def restored(cls, need: Requirements, observations: tuple[int, ...], *, sparse: bool) -> "ChainWeights":
        """The weights of a file, every size checked; the sizes F and Y are known.

        observations: number of observations of each template with y[-1]
        sparse:       the unary weights stay without their zeros
        """
        need.bind("its templates", "bigrams", len(observations))
        for l, n in enumerate(observations):
            need.bind("its templates", f"bigrams.{l}.observations", n)
        found = _Unary.loaded(need)
        unary: NDArray[np.float32] | SparseWeights | None = found.dense
        bits = None
        if found.sparse is not None:
            unary = found.sparse if sparse else found.sparse.dense(need.size("Y"))
            bits = found.sparse.bits
        if unary is None or (sparse and found.sparse is None):
            raise need.fault(f"has no array {f'{UNARY}.counts' if sparse else UNARY!r}")
        made = cls.loaded(need, unary=unary, bits=bits)
        if len({block is None for block in (made.triple, made.first, made.last)}) > 1:
            raise need.fault("has weights of order 2, but not all of triple, first and last")
        if made.bigrams and made.triple is not None:
            raise need.fault("has templates with y[-1] and weights of order 2")
        return made


@dataclass(frozen=True, eq=False)
class _Unary(Saved):
    """The unary weights in a file, in one of two forms."""

    dense: NDArray[np.float32] | None = array("float32", "F", "Y", potential=True, optional=True, name=UNARY)
    sparse: SparseWeights | None = nested(SparseWeights, f"{UNARY}.", optional=True, rows="F", width="Y")
