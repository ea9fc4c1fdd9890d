"""Rules over the spans of a sentence that decoding obeys: once, before, never, must and others.

Whether a label breaks ``once``, ``contiguous``, ``before``, ``needs_earlier`` or ``never`` depends on the label before
it and on the types of spans that have occurred. So these rules are a finite automaton: a state is a label and the set
of types that have occurred. The best labelling under the rules is the best path through the product of chain and
automaton.

``must`` and ``forbid`` are about given tokens of one sentence: they rule out labels there.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ChaffinchError, ConfigError, DataError
from chaffinch.search.legality import Legality
from chaffinch.structures.ruled import LabelStates, need_steps
from chaffinch.text.schemes import TokenSpan, scheme_of, tags_of
from chaffinch.text.schemes.legality import joined_pairs, signs

MOST_STATES = 4096

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Rule:
    """A rule by its name: ``once(QTY)``, ``before(QTY, UNIT)``, ``must(1:0-2, PER)``.

    labels:   the types of spans, or labels, that it is about
    sentence, start, end: of must and forbid: tokens start to end - 1 of a sentence, both counted from 0
    """

    name: str
    labels: tuple[str, ...]
    sentence: int = 0
    start: int = -1
    end: int = -1

    def __str__(self) -> str:
        if self.name in OF_TOKENS:
            return f"{self.name}({self.sentence + 1}:{self.start}-{self.end}, {self.labels[0]})"
        return f"{self.name}({', '.join(self.labels)})"


# Number of labels that each rule names.
OF_TYPES = {"once": 1, "contiguous": 1, "before": 2, "needs_earlier": 2, "never": 2}
OF_TOKENS = ("must", "forbid")


def once(label: str) -> Rule:
    """At most one span of this type in a sentence; of labels that mark no spans, one run."""
    return Rule("once", (label,))


def contiguous(label: str) -> Rule:
    """The tokens of this type are adjacent, in one span or several."""
    return Rule("contiguous", (label,))


def before(first: str, second: str) -> Rule:
    """No span of the first type comes after one of the second."""
    return Rule("before", (first, second))


def needs_earlier(label: str, earlier: str) -> Rule:
    """A span of the type ``label`` must come after one of the type ``earlier``, at any distance."""
    return Rule("needs_earlier", (label, earlier))


def never(label: str, following: str) -> Rule:
    """``following`` never comes directly after ``label``; both are labels, or types of spans."""
    return Rule("never", (label, following))


def must(span: tuple[int, int], label: str, *, sentence: int = 0) -> Rule:
    """Tokens start to end - 1 of a sentence are a span of this type; if labels mark no spans, they have this label."""
    return Rule("must", (label,), sentence, *span)


def forbid(span: tuple[int, int], label: str, *, sentence: int = 0) -> Rule:
    """None of the tokens start to end - 1 of a sentence belongs to a span of this type."""
    return Rule("forbid", (label,), sentence, *span)


class Infeasible(DataError):
    """No labelling of a sentence obeys the rules.

    sentence: its number, counted from 0   rules: a smallest set of rules that cannot be obeyed together
    """

    def __init__(self, sentence: int, rules: Sequence[Rule]) -> None:
        named = " and ".join(map(str, rules)) or "the rules of the model"
        super().__init__(
            f"sentence {sentence + 1}: no labelling obeys {named}"
            + (" with the tag scheme and the rules of the model; remove one of them" if rules else "")
        )
        self.sentence, self.rules = sentence, tuple(rules)


class TooManyStates(ChaffinchError):
    """The automaton of the rules is too large for exact search by product."""


# -- reading and writing


def read_rules(path: str | Path) -> tuple[Rule, ...]:
    """The rules of a TOML file::

    once = ["QTY"]
    before = [["QTY", "UNIT"]]
    must = [{sentence = 1, start = 0, end = 2, label = "PER"}]   # sentences count from 1, tokens from 0
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        found = tomllib.loads(text)
    except OSError as e:
        raise DataError(f"{path}: {e.strerror or e}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise DataError(f"{path}: expected rules in TOML: {e}") from None
    try:
        return rules_of(found)
    except ConfigError as e:
        raise ConfigError(f"{path}: {e}") from None


def rules_of(found: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Rules by name, as in a TOML file or in JSON.

    >>> [str(rule) for rule in rules_of({"once": ["A"], "before": [["A", "B"]]})]
    ['once(A)', 'before(A, B)']
    """
    made: list[Rule] = []
    for name, given in found.items():
        if name not in (*OF_TYPES, *OF_TOKENS):
            raise ConfigError(f"there is no rule {name!r}; there are {', '.join([*OF_TYPES, *OF_TOKENS])}")
        if not isinstance(given, list):
            raise ConfigError(f"{name}: expected a list, got {given!r}")
        made += [_rule(name, one) for one in given]
    return tuple(made)


def rules_as_data(rules: Iterable[Rule]) -> dict[str, list[Any]]:
    """The inverse of :func:`rules_of`."""
    made: dict[str, list[Any]] = {}
    for rule in rules:
        entry: Any = list(rule.labels)
        if rule.name in OF_TOKENS:
            entry = {
                "sentence": rule.sentence + 1,
                "start": rule.start,
                "end": rule.end,
                "label": rule.labels[0],
            }
        made.setdefault(rule.name, []).append(entry)
    return made


def _rule(name: str, given: Any) -> Rule:
    if name in OF_TYPES:
        labels = [given] if isinstance(given, str) else given
        count = OF_TYPES[name]
        if (
            not isinstance(labels, list)
            or len(labels) != count
            or not all(isinstance(x, str) for x in labels)
        ):
            raise ConfigError(f"{name}: expected {'a label' if count == 1 else 'two labels'}, got {given!r}")
        return Rule(name, tuple(labels))
    wanted = {"sentence": 1, **given} if isinstance(given, dict) else {}
    numbers = [wanted.get(key) for key in ("sentence", "start", "end")]
    if set(wanted) != {"sentence", "start", "end", "label"} or not all(type(n) is int for n in numbers):
        raise ConfigError(
            f'{name}: expected {{sentence = 1, start = 0, end = 2, label = "X"}}, got {given!r}'
        )
    sentence, start, end = (int(n) for n in numbers if n is not None)
    return Rule(name, (str(wanted["label"]),), sentence - 1, start, end)


# -- the automaton


@dataclass(frozen=True, eq=False)
class RuleBook:
    """Rules over the labels of a model.

    outer: the labels as users see them   inner: as the model scores them   outer_of: int32 [inner]
    """

    rules: tuple[Rule, ...]
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    outer_of: NDArray[np.int32]

    def __post_init__(self) -> None:
        for rule in self.rules:
            known = {*self.kinds, *self.outer} if rule.name == "never" else self.kinds
            for label in rule.labels:
                if label not in known:
                    raise ConfigError(f"{rule}: there is no {label!r}; there are {', '.join(sorted(known))}")
            if rule.name in ("before", "needs_earlier") and len(set(rule.labels)) == 1:
                raise ConfigError(f"{rule}: expected two different types")
            if rule.name in OF_TOKENS and not (rule.sentence >= 0 and 0 <= rule.start < rule.end):
                raise ConfigError(f"{rule}: expected a sentence counted from 1 and tokens start < end")

    @property
    def kinds(self) -> dict[str, int]:
        """The types of spans, or the labels if they mark no spans."""
        scheme = scheme_of(self.outer)
        names = list(self.outer) if scheme is None else signs(self.outer, scheme).names
        return {name: i for i, name in enumerate(names)}

    @property
    def of_types(self) -> tuple[Rule, ...]:
        """The rules that hold in every sentence."""
        return tuple(rule for rule in self.rules if rule.name in OF_TYPES)

    @property
    def of_tokens(self) -> tuple[Rule, ...]:
        """The rules about tokens of one sentence."""
        return tuple(rule for rule in self.rules if rule.name in OF_TOKENS)

    def states(self, legality: Legality | None = None) -> LabelStates:
        """The inner labels, split by the set of types that have occurred; arcs that break a rule are left out.

        legality: masks and needs that the states obey too
        """
        step = _Steps(self.of_types, self)
        legality = legality or Legality()
        place = {label: i for i, label in enumerate(self.outer)}

        def mask(label: str | None) -> Mask:
            return np.asarray(self.outer_of == (-1 if label is None else place[label]))

        needed = need_steps([(mask(n.label), mask(n.needs), mask(n.since)) for n in legality.needs])
        follows, starts = legality.follows, legality.starts

        def both(last: int, memory: Any, y: int) -> Any:
            met, seen = memory
            if last < 0 and starts is not None and not starts[y]:
                return None
            if last >= 0 and follows is not None and not follows[last, y]:
                return None
            met, seen = needed(last, met, y), step(last, seen, y)
            return None if met is None or seen is None else (met, seen)

        found = LabelStates.reached(len(self.inner), (0, 0), both, MOST_STATES)
        if found is None:
            raise TooManyStates(
                f"{len(self.of_types)} rules over {len(self.inner)} labels need more than {MOST_STATES} states"
            )
        return found

    def barred(self, ptr: NDArray[np.int64]) -> Mask | None:
        """The inner labels that ``must`` and ``forbid`` rule out: bool [tokens, inner]; None without such rules."""
        rules = self.of_tokens
        if not rules:
            return None
        inner_scheme, outer_scheme = scheme_of(self.inner), scheme_of(self.outer)
        spelled = list(self.inner) if inner_scheme else [self.outer[y] for y in self.outer_of]
        scheme = inner_scheme or outer_scheme
        bars = np.zeros((int(ptr[-1]), len(self.inner)), bool)
        kind = self._kind_of_inner()
        joins = None if scheme is None else joined_pairs(spelled, scheme)
        for rule in rules:
            if rule.sentence >= len(ptr) - 1:
                raise DataError(f"{rule}: the input ends with sentence {len(ptr) - 1}")
            a, b = int(ptr[rule.sentence]), int(ptr[rule.sentence + 1])
            if rule.end > b - a:
                raise DataError(f"{rule}: the sentence has only {b - a} tokens")
            here, of = slice(a + rule.start, a + rule.end), kind == self.kinds[rule.labels[0]]
            if rule.name == "forbid":
                bars[here] |= of
            elif scheme is None or joins is None:
                bars[here] |= ~of
            else:
                tags = tags_of([TokenSpan(rule.labels[0], rule.start, rule.end)], b - a, scheme)
                wanted = [
                    np.array([label == tags[t] for label in spelled]) for t in range(rule.start, rule.end)
                ]
                for t, one in enumerate(wanted):
                    bars[a + rule.start + t] |= ~one
                if a + rule.end < b:
                    bars[a + rule.end] |= joins[wanted[-1]].any(axis=0)
                if rule.start > 0:
                    bars[a + rule.start - 1] |= joins[:, wanted[0]].any(axis=1)
        return bars

    def broken(self, y: Sequence[int]) -> Rule | None:
        """The first rule over types that outer labels break; None: they obey all."""
        return next(self.all_broken(y), None)

    def all_broken(self, y: Sequence[int]) -> Iterator[Rule]:
        """The rules over types that outer labels break."""
        for rule in self.of_types:
            step, last, seen = _Steps([rule], self, outer=True), -1, 0
            for label in y:
                then = step(last, seen, label)
                if then is None:
                    yield rule
                    break
                last, seen = label, then

    def only(self, rules: Iterable[Rule]) -> "RuleBook":
        """Other rules over the same labels."""
        return RuleBook(tuple(rules), self.outer, self.inner, self.outer_of)

    def _kind_of_inner(self) -> NDArray[np.int64]:
        return self._kind_of_outer()[self.outer_of]

    def _kind_of_outer(self) -> NDArray[np.int64]:
        """The type of each outer label, -1 for none."""
        scheme = scheme_of(self.outer)
        if scheme is None:
            return np.arange(len(self.outer))
        return signs(self.outer, scheme).kinds.astype(np.int64)

    def _joined(self) -> Mask:
        """bool [outer, outer]: the second continues the span of the first."""
        scheme = scheme_of(self.outer)
        return np.eye(len(self.outer), dtype=bool) if scheme is None else joined_pairs(self.outer, scheme)


class _Steps:
    """One step of the automaton: the set of types that have occurred, as bits; None if the label breaks a rule."""

    def __init__(self, rules: Iterable[Rule], book: RuleBook, *, outer: bool = False) -> None:
        outer_of = np.arange(len(book.outer)) if outer else book.outer_of
        kinds = book.kinds
        self.kind = book._kind_of_outer()[outer_of].tolist()
        self.joined = book._joined()[np.ix_(outer_of, outer_of)].tolist()
        names = [book.outer[y] for y in outer_of]
        self.once: set[int] = set()
        self.contiguous: set[int] = set()
        self.unless: dict[int, int] = {}  # a type and the bits that must not be set before it
        self.only_if: dict[int, int] = {}  # a type and the bits that must be set before it
        self.never = np.zeros((len(names), len(names)), bool)
        tracked: dict[int, int] = {}

        def bit(label: str) -> int:
            return 1 << tracked.setdefault(kinds[label], len(tracked))

        for rule in rules:
            x = kinds.get(rule.labels[0], -1)
            match rule.name:
                case "once":
                    bit(rule.labels[0])
                    self.once.add(x)
                case "contiguous":
                    bit(rule.labels[0])
                    self.contiguous.add(x)
                case "before":
                    self.unless[x] = self.unless.get(x, 0) | bit(rule.labels[1])
                case "needs_earlier":
                    self.only_if[x] = self.only_if.get(x, 0) | bit(rule.labels[1])
                case "never":
                    self.never |= self._pairs(rule, names, kinds)
        self.bits = {k: 1 << place for k, place in tracked.items()}

    def _pairs(self, rule: Rule, names: Sequence[str], kinds: Mapping[str, int]) -> Mask:
        """The pairs of labels that a rule ``never`` rules out; pairs within one span of a type stay legal."""
        sides = []
        for label in rule.labels:
            exact = np.array([name == label for name in names])
            sides.append(exact if exact.any() else np.array(self.kind) == kinds[label])
        pairs = sides[0][:, None] & sides[1][None, :]
        return pairs if all(label in names for label in rule.labels) else pairs & ~np.array(self.joined)

    def __call__(self, last: int, seen: int, y: int) -> int | None:
        if last >= 0 and self.never[last, y]:
            return None
        k = self.kind[y]
        if k < 0:
            return seen
        bit = self.bits.get(k, 0)
        if seen & bit:
            if k in self.once and not (last >= 0 and self.joined[last][y]):
                return None
            if k in self.contiguous and not (last >= 0 and self.kind[last] == k):
                return None
        if seen & self.unless.get(k, 0) or ~seen & self.only_if.get(k, 0):
            return None
        return seen | bit
