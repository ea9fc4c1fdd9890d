"""Counting a grammar: probabilities of rules and of words, smoothed.

    p(A -> B C | A under P) = (c(A under P -> B C) + k p(A -> B C | A)) / (c(A under P) + k)
    p(A | w)                = (c(A, w) + k p(tag A | w) p(A | tag A)) / (c(w) + k)
    p(tag | w)              = (c(tag, w) + k' p(tag | form of w)) / (c(w) + k')

So a rule seen under one parent is possible under every other. A word's weight is log p(A|w) - log p(A), which is
log p(w|A) up to a constant of the sentence. Unknown words have the probabilities of rare words of their form.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from chaffinch.knobs import knob
from chaffinch.learners.learner import CountLearner
from chaffinch.learners.problem import Problem
from chaffinch.text.binary_trees import ABOVE, is_part, labels, nodes
from chaffinch.text.document import Tree
from chaffinch.text.words import signature

Rule = tuple[str, str, str]
Weights = dict[str, float]


@dataclass(frozen=True)
class CountedGrammar:
    """Logarithms of probabilities.

    rules: of each rule   top: of each label of a whole tree
    words: of the symbols of each known word   forms: of each form of unknown words   unknown: of any other word
    """

    rules: dict[Rule, float]
    top: Weights
    words: dict[str, Weights]
    forms: dict[str, Weights]
    unknown: Weights


@dataclass(frozen=True, kw_only=True)
class GrammarCounts(CountLearner):
    """The smoothing of a counted grammar."""

    rule_smoothing: float = knob(
        1.0, "smoothing weight of a rule's probability without its parent's label", low=0.0
    )
    word_smoothing: float = knob(3.0, "smoothing weight of the distribution of a word's form", low=0.0)
    rare: int = knob(
        5, "maximum frequency of the words that the model of unknown words is estimated from", low=1
    )
    sure: int = knob(30, "minimum frequency from which a word may only have labels seen with it", low=1)

    def count(self, problem: Problem) -> CountedGrammar:
        """Count binary trees, which are the problem's examples."""
        trees: Iterable[Tree] = problem.examples
        rules: Counter[Rule] = Counter()
        top: Counter[str] = Counter()
        words: dict[str, Counter[str]] = defaultdict(Counter)
        for tree in trees:
            top[tree.label] += 1
            for node in nodes(tree):
                if node.word is not None:
                    words[node.word][node.label] += 1
                else:
                    rules[node.label, node.children[0].label, node.children[1].label] += 1
        total = sum(top.values())
        known, forms, unknown = self._words(words)
        return CountedGrammar(
            rules=self._rules(rules),
            top={symbol: math.log(n / total) for symbol, n in top.items()},
            words=known,
            forms=forms,
            unknown=unknown,
        )

    def _rules(self, counts: Mapping[Rule, int]) -> dict[Rule, float]:
        k = self.rule_smoothing
        plain: Counter[Rule] = Counter()
        of_plain: Counter[str] = Counter()
        of_symbol: Counter[str] = Counter()
        notes: dict[str, set[str]] = defaultdict(set)
        for (a, b, c), n in counts.items():
            bare, note = _without_parents(a)
            plain[bare, _relative(b, note), _relative(c, note)] += n
            of_plain[bare] += n
            of_symbol[a] += n
            notes[bare].add(note)
        found = {}
        for (bare, b, c), n in plain.items():
            for note in notes[bare]:
                rule = (_under(bare, note), _absolute(b, note), _absolute(c, note))
                share = counts.get(rule, 0) + k * n / of_plain[bare]
                if share > 0:
                    found[rule] = math.log(share / (of_symbol[rule[0]] + k))
        return found

    def _words(
        self, words: Mapping[str, Counter[str]]
    ) -> tuple[dict[str, Weights], dict[str, Weights], Weights]:
        k = self.word_smoothing
        symbols: Counter[str] = Counter()
        for seen in words.values():
            symbols.update(seen)
        of_tag: Counter[str] = Counter()
        for symbol, n in symbols.items():
            of_tag[_tag(symbol)] += n
        total = sum(symbols.values())

        rare: Counter[str] = Counter()
        by_form: dict[str, Counter[str]] = defaultdict(Counter)
        for word, seen in words.items():
            if seen.total() <= self.rare:
                tags = _tags(seen)
                rare.update(tags)
                by_form[signature(word)].update(tags)
        if not rare:
            rare.update(of_tag)
        any_tag = {tag: n / rare.total() for tag, n in rare.items()}
        form_tags = {form: _mixed(tags, any_tag, 1.0) for form, tags in by_form.items()}

        by_tag: dict[str, list[str]] = defaultdict(list)
        for symbol in symbols:
            by_tag[_tag(symbol)].append(symbol)

        def weights(tags: Mapping[str, float], seen: Counter[str], k: float) -> Weights:
            found = {}
            for tag, share in tags.items():
                for symbol in by_tag[tag]:
                    n = symbols[symbol]
                    p = (seen[symbol] + k * share * n / of_tag[tag]) / (seen.total() + k)
                    if p > LEAST:
                        found[symbol] = math.log(p * total / n)
            return found

        known = {}
        for word, seen in words.items():
            back_off = form_tags.get(signature(word), any_tag)
            if seen.total() >= self.sure:
                back_off = {tag: n / seen.total() for tag, n in _tags(seen).items()}
            known[word] = weights(_mixed(_tags(seen), back_off, k), seen, k)
        nothing: Counter[str] = Counter()
        forms = {form: weights(tags, nothing, 1.0) for form, tags in form_tags.items()}
        return known, forms, weights(any_tag, nothing, 1.0)


LEAST = 1e-6  # labels less likely than this for a word are left out


def _mixed(counts: Mapping[str, float], back_off: Mapping[str, float], k: float) -> dict[str, float]:
    """(c + k p') / (sum of c + k)"""
    total = sum(counts.values()) + k
    return {
        x: (counts.get(x, 0) + k * back_off.get(x, 0.0)) / total
        for x in sorted({*counts, *(back_off if k > 0 else ())})
    }


def _tag(symbol: str) -> str:
    return labels(symbol)[-1]


def _tags(symbols: Mapping[str, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for symbol, n in symbols.items():
        found[_tag(symbol)] += n
    return found


def _without_parents(symbol: str) -> tuple[str, str]:
    """A symbol without the labels above it, and those labels."""
    name, _, note = symbol.partition("(")
    kept, mark, parents = note.partition(ABOVE)
    bare = f"{name}({kept.strip()}" if kept.strip() else name
    return bare, parents if mark else ""


def _under(bare: str, parents: str) -> str:
    """The symbol with the labels above it."""
    if not parents:
        return bare
    return f"{bare} {ABOVE}{parents}" if is_part(bare) else f"{bare}({ABOVE}{parents}"


def _relative(child: str, parents: str) -> str:
    """A child's symbol relative to its parent: a partial phrase has the same labels above it."""
    bare, note = _without_parents(child)
    return bare if is_part(child) and note == parents else child


def _absolute(child: str, parents: str) -> str:
    return _under(child, parents) if is_part(child) and ABOVE not in child else child
