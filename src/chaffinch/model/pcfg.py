"""A trained probabilistic grammar: rules, lexicon, and the decision rule."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.learners.grammar import CountedGrammar
from chaffinch.model.choice_evidence import ListExample
from chaffinch.model.confidence import CONFIDENCE
from chaffinch.model.evidence import Term, span_offsets
from chaffinch.model.parsing import Parse, Sentence, SpanChance, distinct, flat_tree
from chaffinch.model.protocols import Packed
from chaffinch.model.tree_evidence import READINGS, tree_examples
from chaffinch.model.tree_labels import TreeLabels
from chaffinch.modelfile import ModelFile, Requirements, Saved, array, fact, nested, strings
from chaffinch.structures import Derivation, Parts
from chaffinch.structures.parts import blocked
from chaffinch.structures.tree import as_bytes, placed, span_row
from chaffinch.text.binary_trees import is_part, labels
from chaffinch.text.words import signature

ANY = "*"  # the row of words whose form is unknown too; no form has this name


@dataclass(frozen=True, eq=False)
class Lexicon(Saved):
    """Rows of (symbol, weight): of words, then of forms of unknown words, then of any other word.

    ptr: int64 [rows+1]   symbols: int32 [n]   weights: float32 [n]
    """

    words: tuple[str, ...] = strings("W", distinct=True)
    forms: tuple[str, ...] = strings("E", distinct=True)
    ptr: NDArray[np.int64] = array("int64", "W+E+1", bounds="L", name="lexicon.ptr")
    symbols: NDArray[np.int32] = array("int32", "L", below="Y", name="lexicon.symbols")
    weights: NDArray[np.float32] = array("float32", "L", finite=True, name="lexicon.weights")

    @cached_property
    def _row(self) -> tuple[dict[str, int], dict[str, int]]:
        words = {word: n for n, word in enumerate(self.words)}
        return words, {form: len(words) + n for n, form in enumerate(self.forms)}

    def row(self, word: str) -> int:
        """The row of a word, or of its form."""
        words, forms = self._row
        found = words.get(word)
        return forms.get(signature(word), forms[ANY]) if found is None else found

    def leaf(self, words: Sequence[str], Y: int) -> NDArray[np.float32]:
        """float32 [T, Y]: the weights of each word's symbols, -inf for the others."""
        leaf = np.full((len(words), Y), -np.inf, np.float32)
        for t, word in enumerate(words):
            n = self.row(word)
            here = slice(self.ptr[n], self.ptr[n + 1])
            leaf[t, self.symbols[here]] = self.weights[here]
        return leaf


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of a grammar; minus infinity is written as ``LOWEST``."""

    symbols: tuple[str, ...] = strings("Y", distinct=True)
    rules: NDArray[np.int32] = array("int32", "R", 3, below="Y")
    rule_weights: NDArray[np.float32] = array("float32", "R", finite=True)
    top: NDArray[np.float32] = array("float32", "Y", finite=True)
    lexicon: Lexicon = nested(Lexicon)
    toll: float | None = fact((float, type(None)))


@dataclass(frozen=True, eq=False)
class PcfgModel:
    """Trees by a grammar of binary rules.

    weights: float32 [R] of the rules   top: float32 [Y] of the root labels
    toll:    probability that a bracket must exceed; None: the most probable tree instead of the most expected brackets
    """

    symbols: TreeLabels
    structure: Derivation
    weights: NDArray[np.float32]
    top: NDArray[np.float32]
    lexicon: Lexicon
    toll: float | None

    @classmethod
    def of(cls, grammar: CountedGrammar, toll: float | None) -> "PcfgModel":
        """The model of a counted grammar."""
        rows = [*grammar.words.values(), *grammar.forms.values(), grammar.unknown]
        of_words = sorted({symbol for row in rows for symbol in row})
        phrases = {symbol for rule in grammar.rules for symbol in rule} - set(of_words)
        names = (*of_words, *sorted({*phrases, *grammar.top} - set(of_words)))
        number = {symbol: y for y, symbol in enumerate(names)}
        rules = sorted(grammar.rules, key=lambda rule: tuple(number[symbol] for symbol in rule))
        top = np.full(len(names), -np.inf, np.float32)
        for symbol, weight in grammar.top.items():
            top[number[symbol]] = weight
        lexicon = Lexicon(
            words=tuple(grammar.words),
            forms=(*grammar.forms, ANY),
            ptr=np.cumsum([0, *map(len, rows)], dtype=np.int64),
            symbols=np.array([number[symbol] for row in rows for symbol in row], np.int32),
            weights=np.array([weight for row in rows for weight in row.values()], np.float32),
        )
        return cls.made(
            names,
            np.array([[number[s] for s in rule] for rule in rules], np.int32).reshape(-1, 3),
            np.array([grammar.rules[rule] for rule in rules], np.float32),
            top,
            lexicon,
            toll,
        )

    @classmethod
    def made(
        cls,
        names: tuple[str, ...],
        rules: NDArray[np.int32],
        weights: NDArray[np.float32],
        top: NDArray[np.float32],
        lexicon: Lexicon,
        toll: float | None,
    ) -> "PcfgModel":
        """The model of its arrays."""
        of_words = np.zeros(len(names), np.bool_)
        of_words[lexicon.symbols] = True
        symbols = TreeLabels(names, of_words, tagged=True)
        return cls(symbols, Derivation(len(names), rules), weights, top, lexicon, toll)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its trees."""
        return tuple(sorted({label for symbol in self.symbols.symbols for label in labels(symbol)}))

    def parses(self, sentences: Sequence[Sentence], k: int, threads: int) -> list[list[Parse]]:
        """The k best trees of each sentence."""
        with ThreadPoolExecutor(threads or None) as pool:
            return list(pool.map(lambda one: self._parses(one, self.potentials(one), k), sentences))

    def chances(self, sentences: Sequence[Sentence], least: float, threads: int) -> list[list[SpanChance]]:
        """The phrases of each sentence with probability at least ``least``; none if there is no derivation."""
        with ThreadPoolExecutor(threads or None) as pool:
            return list(pool.map(lambda one: self._chances(one, self.potentials(one), least), sentences))

    def examples(self, sentence: Sentence, threads: int) -> list[ListExample]:
        """Expected brackets if these decide, and rules and words with their log-probabilities."""
        potentials = self.potentials(sentence)
        (chosen,) = self._parses(sentence, potentials, 1)
        try:
            found = self.structure.kbest(potentials, 2 * READINGS)
        except DataError:
            raise DataError(
                "the grammar has no tree for this sentence, so there is nothing to explain"
            ) from None
        readings = [
            (s, self._parse(s, y, sentence).tree, partial(self._terms, y, potentials, sentence.words))
            for s, y in found
        ]
        return tree_examples(
            chosen.tree, readings, self.toll, lambda: self._chances(sentence, potentials, 0.0)
        )

    def _terms(self, y: NDArray[np.int32], potentials: Parts, words: Sequence[str]) -> list[Term]:
        """The rules and words of a derivation, each with its log-probability."""
        names = self.symbols.shown
        placed_y, parent, _ = placed(len(words), len(names), y)
        children: dict[int, list[int]] = {}
        for n, above in enumerate(parent.tolist()):
            children.setdefault(above, []).append(n)
        number = {tuple(rule): r for r, rule in enumerate(self.structure.rules.tolist())}
        found = [Term(f"the whole is {names[placed_y[0, 2]]}", float(potentials["top"][placed_y[0, 2]]), 0)]
        for n, (start, end, a) in enumerate(placed_y.tolist()):
            if end - start == 1:
                found.append(Term(f"{names[a]}: {words[start]}", float(potentials["leaf"][start, a]), start))
                continue
            b, c = (int(placed_y[child, 2]) for child in children[n])
            rule = float(self.weights[number[a, b, c]])
            found.append(
                Term(f"{names[a]} → {names[b]} {names[c]}", rule, start, offsets=span_offsets(start, end))
            )
        return found

    def potentials(self, sentence: Sentence) -> Parts:
        """The log-probabilities of all parts of a sentence."""
        leaf = self.lexicon.leaf(sentence.words, len(self.symbols.symbols))
        for t, tag in enumerate(sentence.tags or ()):
            if tag in self._tagged:  # a tag that the grammar has never seen is ignored
                allowed = self._tagged[tag]
                leaf[t, ~allowed] = -np.inf
                if leaf[t].max() == -np.inf:
                    leaf[t, allowed] = 0
        return Parts(leaf=leaf, rule=self.weights, top=self.top)

    def packed(self) -> Packed:
        """The content for a model file."""
        top = np.maximum(self.top, LOWEST)
        symbols, rules = self.symbols.symbols, self.structure.rules
        return _Sections(symbols, rules, self.weights, top, self.lexicon, self.toll).packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "PcfgModel":
        """The model of a file, checked."""
        need = Requirements(file.without(CONFIDENCE))
        found = _Sections.loaded(need)
        need.nothing_else()
        if ANY not in found.lexicon.forms:
            raise need.fault("its lexicon lacks a row for unknown words")
        top = np.where(found.top <= LOWEST, np.float32(-np.inf), found.top)
        made = cls.made(found.symbols, found.rules, found.rule_weights, top, found.lexicon, found.toll)
        for symbol in (found.symbols[y] for y in np.flatnonzero(made.symbols.of_words).tolist()):
            if not symbol or is_part(symbol):
                raise need.fault(f"gives words the symbol {symbol!r}, which is not a label")
        return made

    @cached_property
    def _tagged(self) -> dict[str, NDArray[np.bool_]]:
        """The symbols that words of each tag may have."""
        found: dict[str, NDArray[np.bool_]] = {}
        for y in np.flatnonzero(self.symbols.of_words).tolist():
            tag = labels(self.symbols.symbols[y])[-1]
            found.setdefault(tag, np.zeros(len(self.symbols.symbols), np.bool_))[y] = True
        return found

    def _parses(self, sentence: Sentence, potentials: Parts, k: int) -> list[Parse]:
        try:
            if k > 1:
                return distinct(
                    k,
                    lambda n: [self._parse(s, y, sentence) for s, y in self.structure.kbest(potentials, n)],
                )
            if self.toll is None:
                ((score, y),) = self.structure.kbest(potentials, 1)
                return [self._parse(score, y, sentence)]
            with blocked():
                native = self.structure.native(potentials, None)
                log_z, y = native.expected(*self.symbols.brackets, self.toll, as_bytes(self.symbols.of_words))
            return [self._parse(log_z, y.reshape(-1, 3), sentence)]
        except DataError:  # the grammar has no derivation of the sentence
            best = potentials["leaf"].argmax(axis=1).tolist()
            tags = [labels(self.symbols.symbols[y])[-1] for y in best]
            return [Parse(-np.inf, flat_tree(sentence.words, sentence.tags or tags))]

    def _chances(self, sentence: Sentence, potentials: Parts, least: float) -> list[SpanChance]:
        T = len(sentence.words)
        span = np.zeros((T * (T + 1) // 2, len(self.symbols.symbols)), np.float32)
        try:
            p = self.structure.logsum(Parts(**dict(potentials.items()), span=span))[1]
        except DataError:
            return []
        p["span"][span_row(T, np.arange(T), np.arange(T) + 1)] = p["leaf"]
        return self.symbols.chances(p["span"], T, least)

    def _parse(self, score: float, y: NDArray[np.int32], sentence: Sentence) -> Parse:
        return Parse(score, self.symbols.tree(y, sentence.words))


LOWEST = np.float32(-1e30)  # stands for minus infinity in a file
