"""Chain: a label for each position, scored by labels and by neighbouring labels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures.parts import Parts, Shape, blocked, finite

Labels = NDArray[np.int32]
Mask = NDArray[np.bool_]

EXPECTED = ("unary", "pair", "triple", "first", "last")  # blocks of expected counts, in the order of the core

CELLS: dict[str, Callable[[Labels], tuple[Any, ...]]] = {  # the cells that labels y use, as an index
    "unary": lambda y: (np.arange(len(y)), y),
    "pair": lambda y: (y[:-1], y[1:]),
    "start": lambda y: (y[:1],),
    "end": lambda y: (y[-1:],),
    "triple": lambda y: (y[:-2], y[1:-1], y[2:]),
    "first": lambda y: (y[:-1][:1], y[1:][:1]),
    "last": lambda y: (y[:-1][-1:], y[1:][-1:]),
}
REPEATED = ("pair", "triple")  # y may use a cell of these blocks more than once


@dataclass(frozen=True, eq=False)
class Chain:
    """A label y_t in 0 .. Y-1 for each position t.

        s(y) = sum_t unary[t, y_t] + start[y_0] + end[y_{T-1}] + sum_{t>=1} pair[y_{t-1}, y_t]
             + sum_{t>=2} triple[y_{t-2}, y_{t-1}, y_t]                                           (order 2)

    Blocks of the parts: ``unary`` [T, Y]; ``pair`` [Y, Y] for all positions or [T-1, Y, Y] for each; ``start``
    and ``end`` [Y]; in order 2 also ``triple`` [Y, Y, Y] and, on the first and the last pair alone, ``first``
    and ``last`` [Y, Y]. All but ``unary`` are optional. Potentials are float32 or float64 and the dynamic programme
    runs in the same precision; -inf forbids a part.

    ``transitions`` [Y, Y], ``start`` and ``end`` [Y] are masks of allowed label pairs, first labels and last labels.
    A forbidden part has a marginal of exactly zero. If no labelling is allowed, DataError names the position.

    Ties: among the best labellings, the one that is smallest when read from the last label to the first. ``kbest``
    orders equal scores in the same way, so its first answer is that of argmax.

    >>> chain = Chain(2)
    >>> potentials = Parts(unary=np.array([[1.0, 0.0], [0.0, 0.5]]), pair=np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> chain.argmax(potentials)
    array([0, 0], dtype=int32)
    >>> chain.argmax(potentials, fixed={1: 1})
    array([0, 1], dtype=int32)
    >>> log_z, marginals = chain.logsum(potentials)
    >>> marginals["unary"].round(2)
    array([[0.68, 0.32],
           [0.48, 0.52]])
    """

    Y: int
    transitions: Mask | None = None
    start: Mask | None = None
    end: Mask | None = None
    order: int = 1

    def __post_init__(self) -> None:
        if self.Y < 1:
            raise ConfigError(f"Chain.Y must be >= 1, got {self.Y}")
        if self.order not in (1, 2):
            raise ConfigError(f"Chain.order must be 1 or 2, got {self.order}")
        for name, size in (("transitions", (self.Y, self.Y)), ("start", (self.Y,)), ("end", (self.Y,))):
            mask = getattr(self, name)
            if mask is not None:
                object.__setattr__(self, name, _mask(f"Chain.{name}", mask, size))

    def shape(self, T: int) -> dict[str, tuple[int, ...]]:
        """The shape of the parts of T positions, with shared pair potentials."""
        Y = self.Y
        sizes: dict[str, tuple[int, ...]] = {"unary": (T, Y), "pair": (Y, Y), "start": (Y,), "end": (Y,)}
        return sizes | ({"triple": (Y, Y, Y)} if self.order == 2 else {})

    def parts(self, shape: Shape, y: Labels) -> Parts:
        """How often y uses each part."""
        y = self._labels(shape, y)
        indicator = Parts.zeros(shape, np.float32)
        for name, block in indicator.items():
            used = _used(name, block.ndim, y)
            if name in REPEATED:
                np.add.at(block, used, 1)
            else:
                block[used] = 1
        return indicator

    def cost(self, shape: Shape, y: Labels) -> Parts:
        """One for each position whose label differs from y: the Hamming loss."""
        y = self._labels(shape, y)
        wrong = np.ones(shape["unary"], np.float32)
        wrong[np.arange(len(y)), y] = 0
        return Parts(unary=wrong)

    def argmax(
        self, potentials: Parts, *, allowed: Mask | None = None, fixed: Mapping[int, int] | None = None
    ) -> Labels:
        """The best labelling among those ``allowed`` [T, Y] and with the ``fixed`` labels, if given."""
        if _length(potentials) == 0:
            return np.zeros(0, np.int32)
        with blocked():
            labels: Labels = self._sentence(potentials, allowed, fixed).viterbi()[0]
        return labels

    def logsum(
        self, potentials: Parts, *, allowed: Mask | None = None, fixed: Mapping[int, int] | None = None
    ) -> tuple[float, Parts]:
        """log Z and its gradient: the marginals of labels and the expected counts of pairs (triples)."""
        if _length(potentials) == 0:
            return 0.0, potentials * 0.0
        with blocked():
            log_z, *expected = self._sentence(potentials, allowed, fixed).marginals()
        blocks: dict[str, Any] = dict(zip(EXPECTED, expected, strict=True))
        unary = blocks["unary"].reshape(potentials["unary"].shape)
        blocks |= {"unary": unary, "start": unary[0].copy(), "end": unary[-1].copy()}
        return float(log_z[0]), Parts(
            **{name: blocks[name].reshape(block.shape) for name, block in potentials.items()}
        )

    def kbest(
        self,
        potentials: Parts,
        k: int,
        *,
        allowed: Mask | None = None,
        fixed: Mapping[int, int] | None = None,
    ) -> list[tuple[float, Labels]]:
        """The k best labellings with their scores, best first; fewer if fewer exist. Any k."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        T = _length(potentials)
        if T == 0:
            return [(0.0, np.zeros(0, np.int32))]
        with blocked():
            labels, scores, counts = self._sentence(potentials, allowed, fixed).kbest(
                min(k, _count(self.Y, T))
            )
        paths = labels.reshape(-1, T)
        return [(float(scores[r]), paths[r].copy()) for r in range(int(counts[0]))]

    def sample(
        self,
        potentials: Parts,
        *,
        n: int,
        seed: int,
        allowed: Mask | None = None,
        fixed: Mapping[int, int] | None = None,
    ) -> NDArray[np.int32]:
        """n labellings [n, T] drawn from p(y) = exp(s(y) - log Z)."""
        T = _length(potentials)
        if T == 0:
            return np.zeros((n, 0), np.int32)
        with blocked():
            drawn: NDArray[np.int32] = self._sentence(potentials, allowed, fixed).sample(n, seed)
        return drawn.reshape(n, T)

    def max_marginals(
        self, potentials: Parts, *, allowed: Mask | None = None, fixed: Mapping[int, int] | None = None
    ) -> NDArray[np.floating]:
        """[T, Y]: the score of the best labelling with y at t; -inf if none is allowed."""
        if _length(potentials) == 0:
            return np.zeros((0, self.Y))
        with blocked():
            best: NDArray[np.floating] = self._sentence(potentials, allowed, fixed).max_marginals()
        return best.reshape(-1, self.Y)

    def posterior(
        self,
        potentials: Parts,
        *,
        gains: NDArray[np.floating] | None = None,
        allowed: Mask | None = None,
        fixed: Mapping[int, int] | None = None,
    ) -> Labels:
        """The possible labelling with the highest expected number of correct labels: max sum_t p(y_t).

        A labelling that the masks or a potential of -inf forbid is not possible. If nothing is forbidden, each
        position takes its most probable label.

        gains: [T, Y], the value of each label instead of its probability
        """
        if gains is None:
            gains = self.logsum(potentials, allowed=allowed, fixed=fixed)[1]["unary"]
        blocks = {name: np.where(block > -np.inf, 0.0, -np.inf) for name, block in potentials.items()}
        blocks["unary"] = blocks["unary"] + gains
        return self.argmax(Parts(**blocks), allowed=allowed, fixed=fixed)

    def viterbi_batch(
        self, batch: Parts, bounds: NDArray[np.int64], *, allowed: Mask | None = None, threads: int = 1
    ) -> tuple[Labels, NDArray[np.float64]]:
        """The best labels [total] and scores [N] of sentences whose unary rows are stacked [total, Y].

        Sentence n has rows ``bounds[n]:bounds[n + 1]``; the other blocks are shared (a ``pair`` by position is
        stacked too). ``threads`` = 0 uses every core; the answer does not depend on it.
        """
        with blocked():
            labels, scores = self._native(batch, bounds, allowed).viterbi(threads)
        return labels, scores

    def marginals_batch(
        self, batch: Parts, bounds: NDArray[np.int64], *, allowed: Mask | None = None, threads: int = 1
    ) -> tuple[NDArray[np.float64], Parts]:
        """log Z [N], and expected counts: ``unary`` by row, the shared blocks summed over the sentences."""
        with blocked():
            log_z, *expected = self._native(batch, bounds, allowed).marginals(threads)
        blocks: dict[str, Any] = dict(zip(EXPECTED, expected, strict=True))
        unary = blocks["unary"].reshape(batch["unary"].shape)
        filled = np.diff(bounds) > 0
        blocks |= {"start": unary[bounds[:-1][filled]].sum(0), "end": unary[bounds[1:][filled] - 1].sum(0)}
        return log_z, Parts(**{name: blocks[name].reshape(block.shape) for name, block in batch.items()})

    def kbest_batch(
        self,
        batch: Parts,
        bounds: NDArray[np.int64],
        k: int,
        *,
        allowed: Mask | None = None,
        threads: int = 1,
    ) -> list[list[tuple[float, Labels]]]:
        """The k best labellings of each sentence, as from ``kbest``."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        with blocked():
            labels, scores, counts = self._native(batch, bounds, allowed).kbest(k, threads)
        lists = []
        for n, (a, b) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            paths = labels[k * a : k * b].reshape(k, b - a)
            found = [(float(scores[n * k + r]), paths[r].copy()) for r in range(int(counts[n]))]
            lists.append(found or [(0.0, np.zeros(0, np.int32))])
        return lists

    def constraint(self, T: int, fixed: Mapping[int, int]) -> Mask:
        """The mask [T, Y] that allows only the given label at each of the given positions.

        >>> Chain(2).constraint(2, {0: 1})
        array([[False,  True],
               [ True,  True]])
        """
        allowed = np.ones((T, self.Y), np.bool_)
        for t, y in fixed.items():
            if not 0 <= t < T:
                raise DataError(f"fixed position {t}: expected a position from 0 to {T - 1}")
            if not 0 <= y < self.Y:
                raise DataError(f"position {t}: expected a label from 0 to {self.Y - 1}, found {y}")
            allowed[t] = False
            allowed[t, y] = True
        return allowed

    def _sentence(
        self, potentials: Parts, allowed: Mask | None, fixed: Mapping[int, int] | None
    ) -> "_core.ChainBatch32 | _core.ChainBatch64":
        T = _length(potentials)
        if allowed is not None:
            allowed = _mask("allowed", allowed, (T, self.Y))
        if fixed is not None:
            constraint = self.constraint(T, fixed)
            allowed = constraint if allowed is None else allowed & constraint
        return self._native(potentials, np.array([0, T], np.int64), allowed)

    def _native(
        self, potentials: Parts, bounds: NDArray[np.int64], allowed: Mask | None
    ) -> "_core.ChainBatch32 | _core.ChainBatch64":
        unary = potentials["unary"]
        single = unary.dtype == np.float32
        blocks = {name: finite(name, block, single) for name, block in potentials.items()}
        if unary.ndim != 2 or unary.shape[1] != self.Y:
            raise DataError(f"unary: expected shape [T, {self.Y}], found {list(unary.shape)}")
        if allowed is not None:
            allowed = _mask("allowed", allowed, unary.shape)
        unknown = set(blocks) - set(self.shape(1)) - ({"first", "last"} if self.order == 2 else set())
        if unknown:
            raise DataError(f"a chain of order {self.order} has no parts named {', '.join(sorted(unknown))}")
        if "pair" in blocks and blocks["pair"].ndim == 3:
            blocks["pairs"] = blocks.pop("pair")
        kind: Any = _core.ChainBatch32 if single else _core.ChainBatch64
        try:
            batch: _core.ChainBatch32 | _core.ChainBatch64 = kind(
                bounds=np.ascontiguousarray(bounds, np.int64),
                transitions=_bytes(self.transitions),
                start_allowed=_bytes(self.start),
                end_allowed=_bytes(self.end),
                allowed=_bytes(allowed),
                order=self.order,
                **blocks,
            )
        except ValueError as error:
            raise DataError(f"{error}: {potentials.shape}") from None
        return batch

    def _labels(self, shape: Shape, y: Labels) -> Labels:
        T, Y = shape["unary"]
        y = np.asarray(y)
        if y.shape != (T,) or Y != self.Y:
            raise DataError(f"expected {T} labels of {self.Y}, found an array of shape {y.shape}")
        wrong = np.flatnonzero((y < 0) | (y >= Y))
        if wrong.size:
            t = int(wrong[0])
            raise DataError(f"position {t}: expected a label from 0 to {Y - 1}, found {y[t]}")
        return y.astype(np.int32, copy=False)


class LocalChain(Chain):
    """A locally normalised chain: each label is conditioned on the gold label before it (no ``end`` potentials).

        p(y|x) = product over t of exp(unary[t, y_t] + pair[y_{t-1}, y_t]) / Z_t,    start instead of pair at t = 0

    McCallum, Freitag and Pereira 2000, "Maximum entropy Markov models".
    """

    def logsum_given(self, potentials: Parts, y: Labels) -> tuple[float, Parts]:
        """The sum over t of log Z_t given the gold labels, and its gradient."""
        return local_sums(potentials, self._labels(potentials.shape, y))

    def parts(self, shape: Shape, y: Labels) -> Parts:
        """How often y uses each part; there is no ``end`` part."""
        found = super().parts(shape, y)
        if "end" in found:
            found["end"][...] = 0
        return found


def _used(name: str, ndim: int, y: Labels) -> tuple[Any, ...]:
    """The cells of one block that the labels y use, as an index."""
    if name == "pair" and ndim == 3:
        return np.arange(len(y) - 1), y[:-1], y[1:]
    if name not in CELLS:
        raise DataError(f"a chain has no parts named {name}; it has {', '.join(CELLS)}")
    return CELLS[name](y)


def _length(potentials: Parts) -> int:
    return int(potentials["unary"].shape[0])


def _count(Y: int, T: int) -> int:
    """An upper bound on the number of labellings, itself capped: only small numbers matter."""
    return int(min(float(Y) ** min(T, 64), 2.0**62))


def _mask(name: str, mask: Mask, size: tuple[int, ...]) -> Mask:
    mask = np.asarray(mask)
    if mask.dtype != np.bool_ or mask.shape != size:
        raise ConfigError(
            f"{name} must be a bool array of shape {size}, got {mask.dtype} of shape {mask.shape}"
        )
    return mask


def _bytes(mask: Mask | None) -> NDArray[np.uint8] | None:
    return None if mask is None else np.ascontiguousarray(mask).view(np.uint8)


def local_sums(potentials: Parts, y: Labels) -> tuple[float, Parts]:
    """The sum over t of log Z_t given the labels before, and its gradient."""
    expected = Parts.zeros(potentials.shape)
    total = 0.0
    for t in range(len(y)):
        into = potentials["start"] if t == 0 else potentials["pair"][y[t - 1]]
        scores = potentials["unary"][t].astype(np.float64) + into
        top = scores.max()
        p = np.exp(scores - top)
        total += float(top + np.log(p.sum()))
        p /= p.sum()
        expected["unary"][t] = p
        (expected["start"] if t == 0 else expected["pair"][y[t - 1]])[...] += p
    return total, expected
