"""How fast does CKY find the best tree? The same grammar, the same probabilities, one thread each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

TREES = "ptb_sample/trees.tsv.gz"
LONGEST = 10  # words: the rival needs seconds for such a sentence, and minutes for a long one
SENTENCES = 6


@dataclass(frozen=True)
class Given:
    """A grammar as productions with counts, and sentences of words that it knows."""

    rules: dict[tuple[str, str, str], int]
    words: dict[tuple[str, str], int]
    sentences: list[list[str]]

    def totals(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for (symbol, *_), n in [*self.rules.items(), *self.words.items()]:
            found[symbol] = found.get(symbol, 0) + n
        return found


def grammar(_seed: int) -> Given:
    """Binary trees of the training split, one sibling remembered, rules and words counted; the root is called TOP."""
    from chaffinch.corpus import read
    from chaffinch.text.binary_trees import binary, nodes

    rules: dict[tuple[str, str, str], int] = {}
    words: dict[tuple[str, str], int] = {}
    sentences = []
    for d in read(corpus(TREES), strip=True):
        assert d.group is not None
        assert d.tree is not None
        number = int(d.group[4:8])
        if number <= 159 and len(d.tokens) > 1:
            tree = binary(d.tree, horizontal=1)
            for node in nodes(tree):
                symbol = "TOP" if node is tree else node.label
                if node.word is not None:
                    words[symbol, node.word] = words.get((symbol, node.word), 0) + 1
                else:
                    rule = (symbol, node.children[0].label, node.children[1].label)
                    rules[rule] = rules.get(rule, 0) + 1
        elif number >= 180:
            sentences.append(d.words())
    known = {word for _, word in words}
    fit = [s for s in sentences if 5 <= len(s) <= LONGEST and known.issuperset(s)]
    return Given(rules, words, fit[:SENTENCES])


def ours(given: Given) -> Callable[[], list[float]]:
    from chaffinch.structures import Derivation, Parts

    totals = given.totals()
    number = {
        symbol: y for y, symbol in enumerate(sorted({s for rule in given.rules for s in rule} | {*totals}))
    }
    root = np.zeros(len(number), np.bool_)
    root[number["TOP"]] = True
    structure = Derivation(
        len(number), np.array([[number[s] for s in rule] for rule in given.rules], np.int32), root
    )
    rule = np.log([n / totals[r[0]] for r, n in given.rules.items()])
    lexicon: dict[str, list[tuple[int, float]]] = {}
    for (symbol, word), n in given.words.items():
        lexicon.setdefault(word, []).append((number[symbol], np.log(n / totals[symbol])))

    def parse() -> list[float]:
        found = []
        for sentence in given.sentences:
            leaf = np.full((len(sentence), len(number)), -np.inf)
            for t, word in enumerate(sentence):
                for y, weight in lexicon[word]:
                    leaf[t, y] = weight
            potentials = Parts(leaf=leaf, rule=rule)
            y_hat = structure.argmax(potentials)
            found.append(potentials.dot(structure.parts(potentials.shape, y_hat)))
        return found

    return parse


def nltk(given: Given) -> Callable[[], list[float]]:
    from nltk import PCFG, Nonterminal, ProbabilisticProduction
    from nltk.parse import ViterbiParser

    totals = given.totals()
    productions: list[Any] = [
        ProbabilisticProduction(Nonterminal(a), (Nonterminal(b), Nonterminal(c)), prob=n / totals[a])
        for (a, b, c), n in given.rules.items()
    ]
    productions += [
        ProbabilisticProduction(Nonterminal(a), (word,), prob=n / totals[a])
        for (a, word), n in given.words.items()
    ]
    parser = ViterbiParser(PCFG(Nonterminal("TOP"), productions), max_time=None)
    return lambda: [float(np.log(next(iter(parser.parse(s))).prob())) for s in given.sentences]


def scores(_given: Given, found: list[float]) -> dict[str, float]:
    return {"log p of all trees": sum(found)}


BENCHMARK = Benchmark(
    name="parse_speed",
    question="How fast is the best tree of a sentence found, on the same grammar of the treebank?",
    input=grammar,
    work=lambda given: (float(len(given.sentences)), "sentences"),
    ours=Contender(name="chaffinch Derivation", prepare=ours, run=lambda parse: parse()),
    rivals=(Contender(name="nltk ViterbiParser", prepare=nltk, run=lambda parse: parse(), package="nltk"),),
    scores=scores,
    bar=100.0,
    needs=(TREES,),
    repeats=1,
    timeout=1200.0,
)
