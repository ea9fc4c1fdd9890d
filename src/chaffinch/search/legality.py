"""Which labellings are legal: transitions, first and last labels, and labels that need an earlier one."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.structures.ruled import LabelStates

Mask = NDArray[np.bool_]

LEGAL = ("none", "scheme", "seen")
MOST_NEEDS = 8
START, END = "<s>", "</s>"

_NEED = re.compile(r"\s*(\S+)\s+needs\s+(\S+?)(?:\s+since\s+(\S+))?\s*")
_PAIR = re.compile(r"\s*(\S+?)\s*->\s*(\S+)\s*")
_FIXED = re.compile(r"\s*(\S+?)\s*->\s*(\S+?)(?:\s*=\s*(\S+))?\s*")
EVERY = "*"


@dataclass(frozen=True)
class Need:
    """``label`` is legal only after an earlier ``needs``, with no ``since`` in between."""

    label: str
    needs: str
    since: str | None = None

    def __str__(self) -> str:
        return f"{self.label} needs {self.needs}" + (f" since {self.since}" if self.since else "")


@dataclass(frozen=True, eq=False)
class Legality:
    """The labels that incremental search may choose, given decided labels on either side.

    A label is offered only if the undecided positions can still be labelled legally. A sentence too short for any
    legal labelling is labelled as if every labelling were legal.

    follows: bool [Y, Y] (row: before, column: after)   starts, ends: bool [Y]   needs: at most 8
    """

    follows: Mask | None = None
    starts: Mask | None = None
    ends: Mask | None = None
    needs: tuple[Need, ...] = ()

    def __bool__(self) -> bool:
        return self.follows is not None or bool(self.needs)

    def native(self, labels: Sequence[str]) -> dict[str, Any]:
        """Arguments for the core."""
        place = {label: i for i, label in enumerate(labels)}
        return {
            "transitions": _bytes(self.follows),
            "start": _bytes(self.starts),
            "end": _bytes(self.ends),
            "needs": [
                (place[n.label], place[n.needs], -1 if n.since is None else place[n.since])
                for n in self.needs
            ],
        }

    @classmethod
    def of(
        cls,
        labels: Sequence[str],
        *,
        scheme: tuple[Mask, Mask, Mask] | None = None,
        seen: tuple[Mask, Mask, Mask] | None = None,
        forbid: str = "",
        need: str = "",
        lenient: bool = False,
    ) -> "Legality":
        """The intersection of the masks, and rules parsed from text.

        lenient: skip rules that name an unknown label
        forbid: pairs such as ``NAME->NAME, <s>->PREP, QTY-></s>``; need: ``I needs B since SEP, ...``

        >>> legality = Legality.of(["B", "I", "O"], forbid="O->I, <s>->I", need="I needs B since O")
        >>> legality.follows.astype(int).tolist(), legality.starts.astype(int).tolist()
        ([[1, 1, 1], [1, 1, 1], [1, 0, 1]], [1, 0, 1])
        """
        Y = len(labels)
        follows, starts, ends = np.ones((Y, Y), bool), np.ones(Y, bool), np.ones(Y, bool)
        for masks in (scheme, seen):
            if masks is not None:
                follows, starts, ends = follows & masks[0], starts & masks[1], ends & masks[2]
        known = {*labels, START, END}
        for before, after in parsed_pairs(forbid):
            if lenient and not {before, after} <= known:
                continue
            _forbid(labels, before, after, follows, starts, ends)
        needs = parsed_needs(need)
        if lenient:
            needs = tuple(n for n in needs if {n.label, n.needs, n.since or n.label} <= known)
        for rule in needs:
            for label in (rule.label, rule.needs, rule.since):
                if label is not None:
                    _place(labels, label, f"need {rule}")
        if follows.all() and starts.all() and ends.all():
            return cls(needs=needs)
        return cls(follows, starts, ends, needs)


State = tuple[int, int]  # the last label (-1 at the start), and a bit for each need that is met


class LegalStates:
    """The automaton of legal labellings: the labels of a position that are legal, given those decided on both sides.

    F[t] are the states that some filling of the positions before t reaches, B[t] those from which some filling of the
    positions from t on can end. Label y may stand at t if some q in F[t] has next(q, y) in B[t+1].
    """

    def __init__(self, labels: Sequence[str], legality: Legality) -> None:
        Y = len(labels)
        self.Y = Y
        self.follows = np.ones((Y, Y), bool) if legality.follows is None else legality.follows
        self.starts = np.ones(Y, bool) if legality.starts is None else legality.starts
        self.ends = np.ones(Y, bool) if legality.ends is None else legality.ends
        self.needs: list[tuple[int, int, int]] = legality.native(labels)["needs"]
        met = range(1 << len(self.needs))
        self.every: list[State] = [(-1, 0), *((y, m) for y in range(Y) for m in met)]

    def next(self, state: State, y: int) -> State | None:
        """The state after y; None if y is not legal there."""
        last, met = state
        if not (self.starts[y] if last < 0 else self.follows[last, y]):
            return None
        then = met
        for bit, (label, needed, since) in enumerate(self.needs):
            if label == y and not met >> bit & 1:
                return None
            if since == y:
                then &= ~(1 << bit)
            if needed == y:
                then |= 1 << bit
        return y, then

    def forced(self, y: int) -> State:
        """The state after a label that no legal path leads to: every need counts as met."""
        return y, (1 << len(self.needs)) - 1

    def ending(self, labels: Sequence[int], *, lenient: bool = True) -> set[State]:
        """The states from which these positions can be filled (-1: any label) so that the sentence may end.

        lenient: all states if there is none
        """
        found = {q for q in self.every if q[0] < 0 or self.ends[q[0]]}
        for label in reversed(labels):
            choices = range(self.Y) if label < 0 else (label,)
            found = {q for q in self.every if any(self.next(q, y) in found for y in choices)}
            if lenient and not found:
                found = set(self.every)
        return found

    def offered(self, decided: Sequence[int], t: int) -> NDArray[np.bool_]:
        """Which labels position t may get, bool [Y]; all if none may. decided: a label or -1 for each position."""
        before: set[State] = {(-1, 0)}
        for label in decided[:t]:
            choices = range(self.Y) if label < 0 else (label,)
            after = {to for q in before for y in choices if (to := self.next(q, y)) is not None}
            before = after if after or label < 0 else {self.forced(label)}
        later = self.ending(decided[t + 1 :])
        legal = np.array([any(self.next(q, y) in later for q in before) for y in range(self.Y)])
        return legal if legal.any() else ~legal


def seen_pairs(y: NDArray[np.int32], ptr: NDArray[np.int64], Y: int) -> tuple[Mask, Mask, Mask]:
    """The transitions, first labels and last labels that occur in training."""
    follows, starts, ends = np.zeros((Y, Y), bool), np.zeros(Y, bool), np.zeros(Y, bool)
    filled = np.flatnonzero(np.diff(ptr))
    first, last = ptr[filled], ptr[filled + 1] - 1
    starts[y[first]] = True
    ends[y[last]] = True
    inside = np.ones(len(y), bool)
    inside[first] = False
    after = np.flatnonzero(inside)
    follows[y[after - 1], y[after]] = True
    return follows, starts, ends


def parsed_pairs(text: str) -> list[tuple[str, str]]:
    """The pairs of ``A->B, C->D``; ``<s>`` and ``</s>`` are the ends of the sentence."""
    return [_matched(_PAIR, pair, "A->B") for pair in text.split(",") if pair.strip()]


def parsed_needs(text: str) -> tuple[Need, ...]:
    """The needs of ``I needs B since SEP, X needs Y``."""
    parts = [part for part in text.split(",") if part.strip()]
    if len(parts) > MOST_NEEDS:
        raise ConfigError(f"expected at most {MOST_NEEDS} needs, got {len(parts)}")
    return tuple(Need(*_matched(_NEED, part, "A needs B since C")) for part in parts)


def parsed_fixed(
    text: str, labels: Sequence[str], *, lenient: bool = False
) -> list[tuple[list[int] | None, list[int] | None, float]]:
    """The transitions of ``A->B=2.0, *->C``: the numbers of labels before and after, None at an end of the sentence.

    >>> parsed_fixed("A->B = 2.0, <s>->*", ["A", "B"])
    [([0], [1], 2.0), (None, [0, 1], 0.0)]
    """
    found = []
    for part in text.split(","):
        if not part.strip():
            continue
        before, after, value = _matched(_FIXED, part, "A->B=2.0")
        where = f"fixed {part.strip()}"
        if lenient and not {before, after} <= {*labels, START, END, EVERY}:
            continue
        try:
            number = 0.0 if value is None else float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ConfigError(
                f"{where}: expected a finite number, got {value!r}; use --forbid to rule a transition out"
            )
        ends = (before == START) + (after == END)
        if ends == 2 or after == START or before == END:
            raise ConfigError(f"{where}: expected a transition between labels, from {START} or to {END}")
        every = list(range(len(labels)))
        found.append(
            (
                None if before == START else every if before == EVERY else [_place(labels, before, where)],
                None if after == END else every if after == EVERY else [_place(labels, after, where)],
                number,
            )
        )
    return found


def label_states(needs: Sequence[Need], labels: Any) -> LabelStates:
    """The inner labels, split by the set of needs (of outer labels) that are met."""
    outer = list(labels.outer)

    def mask(label: str | None) -> NDArray[np.bool_]:
        if label is None:
            return np.zeros(len(labels.inner), bool)
        return np.asarray(labels.outer_of == outer.index(label))

    return LabelStates.of(len(labels.inner), [(mask(n.label), mask(n.needs), mask(n.since)) for n in needs])


def _forbid(labels: Sequence[str], before: str, after: str, follows: Mask, starts: Mask, ends: Mask) -> None:
    where = f"forbid {before}->{after}"
    if before == START:
        starts[_place(labels, after, where)] = False
    elif after == END:
        ends[_place(labels, before, where)] = False
    else:
        follows[_place(labels, before, where), _place(labels, after, where)] = False


def _place(labels: Sequence[str], label: str, where: str) -> int:
    if label not in labels:
        raise ConfigError(f"{where}: there is no label {label!r}; there are {', '.join(labels)}")
    return list(labels).index(label)


def _matched(pattern: re.Pattern[str], text: str, form: str) -> Any:
    found = pattern.fullmatch(text)
    if not found:
        raise ConfigError(f"expected {form!r}, got {text.strip()!r}")
    return found.groups()


def _bytes(mask: Mask | None) -> NDArray[np.uint8] | None:
    return None if mask is None else np.ascontiguousarray(mask, np.uint8)
