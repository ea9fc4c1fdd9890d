"""A chain under rules: transitions held at given values, and labels that need an earlier label."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.structures.chain import Chain, Labels, Mask, local_sums
from chaffinch.structures.parts import Parts, Shape

# A need as masks [Y]: the labels that have it, the labels that meet it, and the labels that cancel it.
LabelNeed = tuple[Mask, Mask, Mask]


# One step of an automaton: from the label before (-1: none), the memory and the label to the new memory.
# None: the label is not legal there.
Step = Callable[[int, Any, int], Any]


def need_steps(needs: Sequence[LabelNeed]) -> Step:
    """The automaton of needs: a bit for each, set while the need is met."""
    bits = range(len(needs))

    def step(_: int, met: int, y: int) -> int | None:
        if any(needs[r][0][y] and not met >> r & 1 for r in bits):
            return None
        for r in bits:
            if needs[r][2][y]:
                met &= ~(1 << r)
            if needs[r][1][y]:
                met |= 1 << r
        return met

    return step


@dataclass(frozen=True, eq=False)
class LabelStates:
    """Labels, split by the set of needs that are met after them. A labelling that meets all needs is a path of states.

    label: int32 [Q]   follows: bool [Q, Q]   starts: bool [Q]   Y: number of labels

    >>> i, b, o = np.eye(3, dtype=bool)
    >>> states = LabelStates.of(3, [(i, b, o)])  # label 0 needs 1, with no 2 in between
    >>> states.label.tolist(), states.starts.tolist()
    ([1, 2, 0], [True, True, False])
    """

    label: NDArray[np.int32]
    follows: Mask
    starts: Mask
    Y: int

    @classmethod
    def of(cls, Y: int, needs: Sequence[LabelNeed]) -> "LabelStates":
        """The states that can be reached from the beginning of a sentence."""
        found = cls.reached(Y, 0, need_steps(needs))
        assert found is not None
        return found

    @classmethod
    def reached(cls, Y: int, memory: Any, step: "Step", most: int | None = None) -> "LabelStates | None":
        """The states of an automaton that can be reached from its first memory; None: more than ``most``."""
        number: dict[tuple[int, Any], int] = {}
        found: list[tuple[int, Any]] = []
        arcs: list[tuple[int, int]] = []

        def after(last: int, memory: Any) -> list[int]:
            there = []
            for y in range(Y):
                if (then := step(last, memory, y)) is None:
                    continue
                if (y, then) not in number:
                    number[y, then] = len(found)
                    found.append((y, then))
                there.append(number[y, then])
            return there

        first = after(-1, memory)
        for q, (last, kept) in enumerate(found):  # the list grows in the loop
            if most is not None and len(found) > most:
                return None
            arcs += [(q, to) for to in after(last, kept)]
        Q = len(found)
        follows, starts = np.zeros((Q, Q), bool), np.zeros(Q, bool)
        starts[first] = True
        if arcs:
            follows[tuple(np.array(arcs).T)] = True
        return cls(np.array([y for y, _ in found], np.int32), follows, starts, Y)

    @cached_property
    def onto(self) -> NDArray[np.float64]:
        """The label of each state as an indicator: float64 [Q, Y]."""
        return np.eye(self.Y)[self.label]


@dataclass(frozen=True, eq=False)
class Held:
    """The values of transitions that are not learnt; NaN for transitions that are.

    pair: float32 [Y, Y]   start, end: float32 [Y]
    """

    pair: NDArray[np.float32]
    start: NDArray[np.float32]
    end: NDArray[np.float32]

    @classmethod
    def none(cls, Y: int) -> "Held":
        """All transitions are learnt."""
        return cls(*(np.full(size, np.nan, np.float32) for size in ((Y, Y), Y, Y)))

    def __bool__(self) -> bool:
        return any(np.isfinite(values).any() for values in vars(self).values())

    def mask(self, name: str, ndim: int) -> Any:
        """An index of the cells of a block that are not learnt; None if all are learnt."""
        pair, end = np.isfinite(self.pair), np.isfinite(self.end)
        if name == "triple":
            return np.broadcast_to(pair, (len(pair), *pair.shape))
        if name == "pair" and ndim == 3:
            return np.s_[:, pair]
        found = {"pair": pair, "start": np.isfinite(self.start), "end": end, "first": pair}
        return np.broadcast_to(end, pair.shape) if name == "last" else found.get(name)

    def put_into(self, name: str, block: NDArray[Any]) -> NDArray[Any]:
        """A copy of a block with held transitions at their values, and zero for longer parts that end in them."""
        made = block.copy()
        if (at := self.mask(name, block.ndim)) is not None:
            values = getattr(self, name, None)
            made[at] = 0 if values is None else values[np.isfinite(values)]
        return made


@dataclass(frozen=True, eq=False)
class RuledChain:
    """A chain whose labellings obey rules: the masks of a :class:`Chain`, ``states`` and values that are ``held``.

    The score of a labelling is that of its potentials plus a constant, the values of its held transitions. Held
    transitions have no parts, so no learner changes them.

    >>> held = Held.none(2)
    >>> held.pair[0, 1] = 5.0
    >>> chain = RuledChain(Chain(2), held)
    >>> chain.argmax(Parts(unary=np.array([[1.0, 0.0], [1.0, 0.0]]), pair=np.zeros((2, 2))))
    array([0, 1], dtype=int32)
    >>> chain.constant(np.array([0, 1])), chain.parts(chain.shape(2), np.array([0, 1]))["pair"].tolist()
    (5.0, [[0.0, 0.0], [0.0, 0.0]])
    """

    chain: Chain
    held: Held | None = None
    states: LabelStates | None = field(default=None)

    @property
    def Y(self) -> int:
        """The number of labels."""
        return self.chain.Y

    @property
    def order(self) -> int:
        """The order of the chain."""
        return self.chain.order

    def shape(self, T: int) -> dict[str, tuple[int, ...]]:
        """The shape of the chain's parts."""
        return self.chain.shape(T)

    def parts(self, shape: Shape, y: Labels) -> Parts:
        """How often y uses each part that is learnt."""
        return self._learnt(self.chain.parts(shape, y))

    def cost(self, shape: Shape, y: Labels) -> Parts:
        """The Hamming loss."""
        return self.chain.cost(shape, y)

    def constant(self, y: Labels) -> float:
        """The sum of the values of the held transitions of y."""
        if self.held is None or not len(y):
            return 0.0
        used = [*self.held.pair[y[:-1], y[1:]], self.held.start[y[0]], self.held.end[y[-1]]]
        return float(np.nansum(used))

    def argmax(self, potentials: Parts) -> Labels:
        """The best labelling."""
        found = self._search.argmax(self._given(potentials))
        return found if self.states is None else self.states.label[found]

    def kbest(self, potentials: Parts, k: int) -> list[tuple[float, Labels]]:
        """The k best labellings."""
        found = self._search.kbest(self._given(potentials), k)
        return found if self.states is None else [(score, self.states.label[y]) for score, y in found]

    def logsum(self, potentials: Parts) -> tuple[float, Parts]:
        """log Z and its gradient with respect to the learnt parts."""
        log_z, expected = self._search.logsum(self._given(potentials))
        if self.states is not None:
            onto = self.states.onto
            blocks = {}
            for name, block in expected.items():
                summed = block
                for axis in _label_axes(name, block):
                    summed = np.moveaxis(np.tensordot(summed, onto, (axis, 0)), -1, axis)
                blocks[name] = summed.astype(potentials[name].dtype)
            expected = Parts(**blocks)
        return log_z, self._learnt(expected)

    @cached_property
    def _search(self) -> Chain:
        """The chain of states, or of labels if there are no states."""
        chain, states = self.chain, self.states
        if states is None:
            return chain
        label, follows, starts = states.label, states.follows, states.starts
        end = None if chain.end is None else chain.end[label]
        if chain.transitions is not None:
            follows = follows & chain.transitions[np.ix_(label, label)]
        if chain.start is not None:
            starts = starts & chain.start[label]
        return Chain(len(label), follows, starts, end, chain.order)

    def _given(self, potentials: Parts) -> Parts:
        """Potentials with held transitions at their values, by state."""
        blocks = dict(potentials.items())
        if self.held is not None:
            blocks = {name: self.held.put_into(name, block) for name, block in blocks.items()}
        if self.states is not None:
            blocks = {name: by_state(name, block, self.states.label) for name, block in blocks.items()}
        return Parts(**blocks)

    def _learnt(self, parts: Parts) -> Parts:
        """The parts with held transitions set to zero."""
        if self.held is None:
            return parts
        for name, block in parts.items():
            if (at := self.held.mask(name, block.ndim)) is not None:
                block[at] = 0
        return parts


class RuledLocalChain(RuledChain):
    """A ruled chain that is normalised at each position, over the labels that are legal after the gold labels."""

    def logsum_given(self, potentials: Parts, y: Labels) -> tuple[float, Parts]:
        """The sum over t of log Z_t given the gold labels, and its gradient."""
        blocks = {n: b.astype(np.float64) for n, b in potentials.items()}
        if self.held is not None:
            blocks = {name: self.held.put_into(name, block) for name, block in blocks.items()}
        chain = self.chain
        if chain.transitions is not None:
            blocks["pair"] = np.where(chain.transitions, blocks["pair"], -np.inf)
        if chain.start is not None:
            blocks["start"] = np.where(chain.start, blocks["start"], -np.inf)
        if self.states is not None:
            blocks["unary"] = blocks["unary"] + unmet(self.states, y, self.Y)
        log_z, expected = local_sums(Parts(**blocks), y)
        return log_z, self._learnt(expected)

    def parts(self, shape: Shape, y: Labels) -> Parts:
        """How often y uses each part that is learnt; there is no ``end`` part."""
        found = super().parts(shape, y)
        if "end" in found:
            found["end"][...] = 0
        return found


def unmet(states: LabelStates, y: Labels, Y: int) -> NDArray[np.float32]:
    """Minus infinity for labels whose needs the preceding gold labels do not meet, else 0: float32 [T, Y]."""
    out = np.full((len(y), Y), -np.inf, np.float32)
    at = states.starts
    for t, label in enumerate(y.tolist()):
        out[t, states.label[at]] = 0
        state = np.flatnonzero(at & (states.label == label))
        at = states.follows[state[0]] if len(state) else np.zeros(len(states.label), bool)
    return out


def by_state(name: str, block: NDArray[Any], label: NDArray[np.int32]) -> NDArray[Any]:
    """A block over labels, expanded to states."""
    for axis in _label_axes(name, block):
        block = np.take(block, label, axis)
    return block


def _label_axes(name: str, block: NDArray[Any]) -> range:
    by_position = name == "unary" or (name == "pair" and block.ndim == 3)
    return range(1 if by_position else 0, block.ndim)
