"""Regular expressions in linear time: no expression in a model file can hang its reader.

Python's own engine backtracks and may need twice the time for every further letter. Here all paths
are followed at once (Thompson 1968), as a deterministic automaton whose states are created on first use.
`search` finds the same text as `re.search`: the leftmost start, and there the path that the expression prefers.
(The end may differ only if a repeated piece can match nothing, as in `((\\b|.){2})*`.)

Syntax and classes of characters are those of `re`, read by its own parser. Look-around, references to groups, atomic
groups and possessive repeats are not regular and are refused.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # private, but unchanged for decades
from typing import Any

MOST_NODES = 2_000  # of one expression: a{1000}{1000} would have a million
MOST_STATES = 2_000  # of one automaton in memory

_REFUSED = {
    "ASSERT": "look-around",
    "ASSERT_NOT": "look-around",
    "GROUPREF": "references to groups",
    "GROUPREF_EXISTS": "references to groups",
    "ATOMIC_GROUP": "atomic groups",
    "POSSESSIVE_REPEAT": "possessive repeats",
}

# Properties of a position between two characters, as bits.
_STRING_START, _LINE_START, _STRING_END, _LAST_LINE_END, _LINE_END = 1, 2, 4, 8, 16
_EDGE, _INSIDE, _ASCII_EDGE, _ASCII_INSIDE = 32, 64, 128, 256
_INSIDE_NOTHING = re.search(r"\B", "") is not None  # differs between versions of Python

State = tuple[int, ...]


class LinearPattern:
    """A compiled expression, which reads a text at most twice.

    >>> LinearPattern(r"(\\w|\\w\\w)+!$").test("a" * 5000)
    False
    >>> LinearPattern("[0-9]+|[a-z]+?x").search("go 12 abxx")
    '12'
    """

    def __init__(self, regex: str) -> None:
        parsed = _parser.parse(regex)
        graph = _Graph()
        start = graph.sequence(parsed, 0, parsed.state.flags)
        self._asked = graph.asked
        self._symbols = _Symbols(graph.tests)
        self._forward = _Forward(graph, start, self._symbols)
        self._backward = _Backward(graph, start, self._symbols)

    def test(self, text: str) -> bool:
        """Whether the expression is found anywhere in the text."""
        return self._first(text) >= 0

    def search(self, text: str) -> str | None:
        """The matched text, None if there is no match."""
        start = self._first(text)
        if start < 0:
            return None
        state, last = self._forward.initial(), start
        for at in range(start, len(text) + 1):
            symbol = self._symbols.of(text[at]) if at < len(text) else -1
            ends, state = self._forward.step(state, self._position(text, at), symbol)
            if ends:
                last = at
            if state < 0:
                break
        return text[start:last]

    def _first(self, text: str) -> int:
        """The start of the leftmost match, -1 if there is none; the text is read from its end."""
        state, first = self._backward.initial(), -1
        for at in range(len(text), -1, -1):
            symbol = self._symbols.of(text[at - 1]) if at else -1
            starts, state = self._backward.step(state, self._position(text, at), symbol)
            if starts:
                first = at
        return first

    def _position(self, text: str, at: int) -> int:
        return _position(text, at) & self._asked if self._asked else 0


class _Graph:
    """Nodes that read a character which passes a test, or ask about the position, or branch. Node 0 is the end.

    after[n]: where n leads, the preferred way first; test[n]: the number of a test, -1 for none; asks[n]: one bit, or 0
    """

    def __init__(self) -> None:
        self.after: list[list[int]] = [[]]
        self.test: list[int] = [-1]
        self.asks: list[int] = [0]
        self.tests: list[Callable[[str], object]] = []
        self.asked = 0
        self.leave: dict[int, int] = {}  # where a repeat continues after an iteration that read nothing

    def sequence(self, parsed: Any, to: int, flags: int) -> int:
        """The first node of a sequence that leads to node `to`; built from its end."""
        for op, argument in reversed(list(parsed)):
            to = self._piece(str(op), op, argument, to, flags)
        return to

    def _add(self, after: Iterable[int], test: int = -1, asks: int = 0) -> int:
        if len(self.after) == MOST_NODES:
            raise ValueError(f"it has more than {MOST_NODES:,} steps after its repeats are expanded")
        self.after.append(list(after))
        self.test.append(test)
        self.asks.append(asks)
        self.asked |= asks
        return len(self.after) - 1

    def _piece(self, name: str, op: Any, argument: Any, to: int, flags: int) -> int:
        if name in _REFUSED:
            raise ValueError(f"{_REFUSED[name]} cannot be matched in linear time")
        if name == "FAILURE":
            return self._add([])
        if name == "BRANCH":
            return self._add([self.sequence(branch, to, flags) for branch in argument[1]])
        if name == "SUBPATTERN":
            _, on, off, inside = argument
            return self.sequence(inside, to, _compiler._combine_flags(flags, on, off))
        if name == "AT":
            return self._add([to], asks=_asked_by(str(argument), flags))
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, inside = argument
            most = None if high is _constants.MAXREPEAT else int(high)
            return self._repeat(inside, int(low), most, name == "MIN_REPEAT", to, flags)
        state = _parser.State()
        state.flags = flags
        self.tests.append(_compiler.compile(_parser.SubPattern(state, [(op, argument)]), flags).match)
        return self._add([to], test=len(self.tests) - 1)

    def _repeat(self, inside: Any, low: int, high: int | None, lazy: bool, to: int, flags: int) -> int:
        def ways(more: int, on: int) -> list[int]:
            return [on, more] if lazy else [more, on]

        if high is None:  # unbounded; an iteration that reads nothing is the last, as in `re`
            turn = self._add([])
            once = self.sequence(inside, turn, flags)
            self.after[turn], self.leave[turn] = ways(once, to), to
            to = once if low else self._add(ways(once, to))
            low -= 1
        else:
            end = to
            for _ in range(high - low):
                to = self._add(ways(self.sequence(inside, to, flags), end))
        for _ in range(low):
            to = self.sequence(inside, to, flags)
        return to


class _Symbols:
    """Classes of characters that pass the same tests; the automata distinguish only these."""

    def __init__(self, tests: list[Callable[[str], object]]) -> None:
        self._tests = tests
        self._numbers: dict[str, int] = {}
        self._by_passed: dict[frozenset[int], int] = {}
        self.passed: list[frozenset[int]] = []

    def of(self, character: str) -> int:
        found = self._numbers.get(character)
        if found is None:
            passed = frozenset(n for n, test in enumerate(self._tests) if test(character))
            found = self._by_passed.setdefault(passed, len(self.passed))
            if found == len(self.passed):
                self.passed.append(passed)
            self._numbers[character] = found
        return found


class _Automaton(ABC):
    """Sets of nodes as states, created on first use; -1 is the empty one."""

    def __init__(self, graph: _Graph, start: int, symbols: _Symbols) -> None:
        self._graph, self._start, self._symbols = graph, start, symbols
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[State, int] = {}
        self._states: list[State] = []
        self._steps: dict[tuple[int, int, int], tuple[bool, int]] = {}

    def _number(self, state: State) -> int:
        if not state:
            return -1
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def step(self, state: int, position: int, symbol: int) -> tuple[bool, int]:
        """Whether there is a match here, and the state after this character."""
        key = (state, position, symbol)
        found = self._steps.get(key)
        if found is None:
            matches, after = self._made(self._states[state], position, symbol)
            if len(self._states) >= MOST_STATES:
                self._forget()
                return matches, self._number(after)
            found = self._steps[key] = matches, self._number(after)
        return found

    def _passes(self, symbol: int) -> frozenset[int]:
        return self._symbols.passed[symbol] if symbol >= 0 else frozenset()

    @abstractmethod
    def _made(self, state: State, position: int, symbol: int) -> tuple[bool, State]:
        """Whether there is a match here, and the state after this character."""


class _Forward(_Automaton):
    """From a given start: nodes in order of preference, so nodes after a match are dropped."""

    def initial(self) -> int:
        return self._number((self._start,))

    def _made(self, state: State, position: int, symbol: int) -> tuple[bool, State]:
        graph, passes = self._graph, self._passes(symbol)
        met: set[int] = set()
        read: dict[int, None] = {}
        waiting = list(reversed(state))
        while waiting:
            node = waiting.pop()
            if node in met:
                if node in graph.leave:
                    waiting.append(graph.leave[node])
                continue
            met.add(node)
            if node == 0:
                return True, tuple(read)
            if graph.test[node] >= 0:
                if graph.test[node] in passes:
                    read[graph.after[node][0]] = None
            elif graph.asks[node] & position == graph.asks[node]:
                waiting.extend(reversed(graph.after[node]))
        return False, tuple(read)


class _Backward(_Automaton):
    """From the text's end: the nodes from which a match can continue here."""

    def __init__(self, graph: _Graph, start: int, symbols: _Symbols) -> None:
        super().__init__(graph, start, symbols)
        self._before: list[list[int]] = [[] for _ in graph.after]
        for node, after in enumerate(graph.after):
            for other in after:
                self._before[other].append(node)

    def initial(self) -> int:
        return self._number((0,))

    def _made(self, state: State, position: int, symbol: int) -> tuple[bool, State]:
        graph, passes = self._graph, self._passes(symbol)
        met = set(state)
        read = {0}
        waiting = list(state)
        while waiting:
            for node in self._before[waiting.pop()]:
                if graph.test[node] >= 0:
                    if graph.test[node] in passes:
                        read.add(node)
                elif node not in met and graph.asks[node] & position == graph.asks[node]:
                    met.add(node)
                    waiting.append(node)
        return self._start in met, tuple(sorted(read))


def _asked_by(name: str, flags: int) -> int:
    lines, ascii_only = flags & re.MULTILINE, flags & re.ASCII
    return {
        "AT_BEGINNING": _LINE_START if lines else _STRING_START,
        "AT_BEGINNING_STRING": _STRING_START,
        "AT_END": _LINE_END if lines else _LAST_LINE_END,
        "AT_END_STRING": _STRING_END,
        "AT_BOUNDARY": _ASCII_EDGE if ascii_only else _EDGE,
        "AT_NON_BOUNDARY": _ASCII_INSIDE if ascii_only else _INSIDE,
    }[name]


def _position(text: str, at: int) -> int:
    before, behind = text[at - 1 : at] if at else "", text[at : at + 1]
    bits = 0
    if not before:
        bits |= _STRING_START
    if not before or before == "\n":
        bits |= _LINE_START
    if not behind:
        bits |= _STRING_END
    if not behind or (behind == "\n" and at + 1 == len(text)):
        bits |= _LAST_LINE_END
    if not behind or behind == "\n":
        bits |= _LINE_END
    if text or _INSIDE_NOTHING:
        bits |= _EDGE if _in_word(before) != _in_word(behind) else _INSIDE
        bits |= _ASCII_EDGE if _in_ascii_word(before) != _in_ascii_word(behind) else _ASCII_INSIDE
    return bits


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _in_ascii_word(character: str) -> bool:
    return character.isascii() and _in_word(character)
