"""Span parsers: a linear model of trees over features of spans, trained by likelihood, margin or perceptron.

The model follows Hall, Durrett and Klein 2014, "Less grammar, more features": surface features of the words at a
span's ends and beside it replace most annotations of a grammar. Here a span also sees the label above it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.adagrad import AdaGrad
from chaffinch.learners.examples import TreeExamples
from chaffinch.learners.likelihood import Lbfgs, Sdca
from chaffinch.learners.problem import Problem
from chaffinch.model import TaggingModel
from chaffinch.model.span_parser import SpanParserModel, form_of, numbered
from chaffinch.model.span_weights import Columns, SpanWeights, WordNumbers, span_features
from chaffinch.model.tree_labels import TreeLabels
from chaffinch.model.tree_labels import numbered as numbered_nodes
from chaffinch.modelfile import ModelFile
from chaffinch.recipes import crf
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained
from chaffinch.recipes.training import ParsingTask, train_parser
from chaffinch.scorers import Layout, Linear
from chaffinch.structures import SpanTree
from chaffinch.structures.tree import span_row
from chaffinch.text.binary_trees import binary, is_part, labels, nodes
from chaffinch.text.document import LABEL, WORD, Tree
from chaffinch.text.table import TokenTable


@dataclass(frozen=True, kw_only=True)
class SpanParser(AdaGrad):
    """Trees scored by features of their spans; a separate CRF predicts the parts of speech."""

    epochs: int = knob(4, "passes over the training data", low=1)
    dropout: float = knob(
        0.3, "share of a sentence's features dropped at random in each pass", low=0.0, high=0.9
    )
    expected: bool = knob(
        True,
        "likelihood: return the tree with the highest expected number of right brackets, not the best tree",
    )
    toll: float = knob(
        0.45, "probability that a bracket must exceed to raise the score, with --expected", low=0.0
    )
    prune: float = knob(
        0.001, "prune spans with a lower probability under the coarse model", low=0.0, high=0.5
    )
    min_count: int = knob(3, "minimum number of spans with a feature; rarer features are dropped", low=1)
    rare: int = knob(5, "words that occur fewer times are represented by their form", low=1)
    folds: int = knob(5, "folds for out-of-fold tags of the training data", low=2)


def train(task: ParsingTask, config: SpanParser) -> Trained:
    """Tag the words, prune spans by a coarse model, then learn the parser."""
    if task.weight is not None and config.loss == "perceptron":
        raise ConfigError(
            "the perceptron minimises no loss that weights of trees could scale; use the loss likelihood or hinge"
        )
    words = [[leaf.word or "" for leaf in nodes(tree) if leaf.word is not None] for tree in task.trees]
    gold_tags = [[leaf.label for leaf in nodes(tree) if leaf.word is not None] for tree in task.trees]
    tagger = _tagger(task, words, gold_tags, task.weight)
    tags = _cross_tagged(task, words, gold_tags, config.folds)
    numbers = _numbers(words, gold_tags, config.rare)
    bounds = np.cumsum([0, *map(len, words)], dtype=np.int64)
    columns = numbers.columns([w for one in words for w in one], [t for one in tags for t in one], form_of)
    trees = _symbol_trees(task.trees)
    symbols, gold = trees.symbols, np.concatenate(trees.nodes)

    single = gold[:, 1] - gold[:, 0] == 1
    plain = np.column_stack([gold[:, :2], ~single]).astype(np.int32)
    small = _SpanProblem.of(COARSE, columns, bounds, plain, None, _two_labels(), 1, task.weight)
    coarse = small.weights(COARSE_LEARNER.fit(small.problem))
    open_ = None
    if config.prune > 0:
        open_ = coarse.native.open(columns, bounds, config.prune, task.threads)
        open_[_rows(bounds, gold)] = 1
    learner = AdaGrad(**{name: getattr(config, name) for name in AdaGrad.__dataclass_fields__})
    fine = _SpanProblem.of(
        FINE, columns, bounds, gold, open_, trees.structure(), config.min_count, task.weight
    )
    expected = config.expected and config.loss == "likelihood"

    def model(scorer: Linear) -> SpanParserModel:
        return SpanParserModel(
            tagger=tagger,
            numbers=numbers,
            symbols=symbols,
            coarse=coarse,
            fine=fine.weights(scorer),
            toll=config.toll if expected else None,
            prune=config.prune,
        )

    return train_parser(task, replace(learner, seed=task.seed), fine.problem, model)


def load(file: ModelFile) -> SpanParserModel:
    """The model of a file."""
    return SpanParserModel.loaded(file)


# The coarse model only tells whether a span is a node. It has few features and trains fast.
COARSE_LEARNER = AdaGrad(epochs=2, rate=0.2)
# Only the best tags are used, so calibration does not matter; settings were chosen by tagging held-out sentences.
TAGGER_CONFIG = crf.Crf(learner=Sdca(finish=Lbfgs()), c2=0.3, margin=3.0)


@dataclass(frozen=True)
class _SymbolTrees:
    """Trees as nodes of numbered symbols, words without their tags."""

    symbols: TreeLabels
    nodes: list[NDArray[np.int32]]

    def structure(self) -> SpanTree:
        """The structure, with the symbols allowed at the root, at words, at phrases and under each phrase."""
        names = self.symbols.symbols
        root = np.zeros(len(names), np.bool_)
        root[[tree[0, 2] for tree in self.nodes]] = True
        every = np.concatenate(self.nodes)
        phrase = np.zeros(len(names), np.bool_)
        phrase[every[every[:, 1] - every[:, 0] > 1, 2]] = True
        last = [labels(name)[-1] for name in names]
        under = np.array([[not is_part(b) or last[n] == a for a in last] for n, b in enumerate(names)])
        return SpanTree(len(names), root, self.symbols.of_words, phrase, under, under)


def _symbol_trees(trees: Sequence[Tree]) -> _SymbolTrees:
    made = [_untagged(binary(tree)) for tree in trees]
    counts = Counter(node.label for tree in made for node in nodes(tree))
    names = [name for name, n in counts.items() if n > 1] or list(counts)
    number = {name: y for y, name in enumerate(names)}
    number |= {name: number[_likest(name, counts, number)] for name in counts if name not in number}
    arrays = [numbered_nodes(tree, number) for tree in made]
    of_words = np.zeros(len(names), np.bool_)
    every = np.concatenate(arrays)
    of_words[every[every[:, 1] - every[:, 0] == 1, 2]] = True
    return _SymbolTrees(TreeLabels(tuple(names), of_words, tagged=False), arrays)


def _untagged(tree: Tree) -> Tree:
    """The binary tree with words' symbols cut off at their tags: a bare word has the empty symbol."""
    done: list[Tree] = []
    for node in reversed(list(nodes(tree))):
        if node.word is not None:
            done.append(Tree(" ".join(labels(node.label)[:-1]), (), node.word))
        else:
            left = done.pop()
            done.append(Tree(node.label, (left, done.pop())))
    return done[0]


def _likest(name: str, counts: Counter[str], number: dict[str, int]) -> str:
    """The symbol that replaces one seen only once: its chain without a label, otherwise the most frequent symbol."""
    chain = name.split(" ")
    shorter = [" ".join(chain[:n] + chain[n + 1 :]) for n in range(len(chain))] if len(chain) > 1 else []
    same = [other for other in number if is_part(other) == is_part(name) and other]
    return max([s for s in shorter if s in number] or same or list(number), key=lambda other: counts[other])


def _two_labels() -> SpanTree:
    """Label 0: a word; label 1: a longer span."""
    word, longer = np.array([True, False]), np.array([False, True])
    return SpanTree(2, None, word, longer)


@dataclass(frozen=True)
class _SpanProblem:
    """A problem of trees over features of spans; it makes a model's weights from a scorer."""

    templates: Sequence[str]
    features: Any
    problem: Problem

    @classmethod
    def of(
        cls,
        templates: Sequence[str],
        columns: Columns,
        bounds: NDArray[np.int64],
        gold: NDArray[np.int32],
        open_: NDArray[np.uint8] | None,
        tree: SpanTree,
        least: int,
        weight: NDArray[np.float32] | None,
    ) -> "_SpanProblem":
        """Features of all open spans; features with fewer than ``least`` gold spans are dropped."""
        features = span_features(templates)
        features.fit(columns, bounds, gold, least)
        ptr, ids = features.extract(columns, bounds, open_)
        layout = Layout.of(
            {"span": (len(features), 3 * tree.Y), "left": (tree.Y, tree.Y), "right": (tree.Y, tree.Y)}
        )
        examples = TreeExamples(bounds, ptr, ids, gold, open_)
        return cls(templates, features, Problem(tree, Linear(layout), examples, weight))

    def weights(self, scorer: Linear) -> SpanWeights:
        """The weights of a model."""
        return SpanWeights.of(self.templates, self.features, self.problem.structure, scorer)


def _rows(bounds: NDArray[np.int64], gold: NDArray[np.int32]) -> NDArray[np.int64]:
    """The rows of gold nodes among the spans of all sentences."""
    T = np.diff(bounds)
    first = np.concatenate([[0], np.cumsum(T * (T + 1) // 2)[:-1]])
    size = 2 * T - 1
    return np.asarray(
        np.repeat(first, size) + span_row(np.repeat(T, size), gold[:, 0].astype(np.int64), gold[:, 1])
    )


def _numbers(words: Sequence[Sequence[str]], tags: Sequence[Sequence[str]], rare: int) -> WordNumbers:
    counts = Counter(word for one in words for word in one)
    frequent = sorted(word for word, n in counts.items() if n >= rare)
    forms = sorted({form_of(word) for word in counts} - {*frequent})
    return WordNumbers(numbered([*frequent, *forms]), numbered(sorted({t for one in tags for t in one})))


def _tagger(
    task: ParsingTask, words: list[list[str]], tags: list[list[str]], weight: NDArray[np.float32] | None
) -> TaggingModel:
    table = TokenTable.from_lists({WORD: words, LABEL: tags})
    tagging = TaggingTask(table, (WORD,), seed=task.seed, threads=task.threads, weight=weight)
    return crf.train(tagging, TAGGER_CONFIG).model


def _cross_tagged(
    task: ParsingTask, words: list[list[str]], tags: list[list[str]], folds: int
) -> list[list[str]]:
    """Out-of-fold tags of the sentences, so that training sees the tagging errors that parsing will see."""
    if len(words) < folds:
        return tags
    found: list[list[str]] = [[] for _ in words]
    for fold in range(folds):
        rest = [n for n in range(len(words)) if n * folds // len(words) != fold]
        held = [n for n in range(len(words)) if n * folds // len(words) == fold]
        weight = None if task.weight is None else task.weight[rest]
        tagger = _tagger(task, [words[n] for n in rest], [tags[n] for n in rest], weight)
        table = TokenTable.from_lists({WORD: [words[n] for n in held]})
        flat = iter([tagger.labels.outer[y] for y in tagger.decode(table, task.threads).tolist()])
        for n in held:
            found[n] = [next(flat) for _ in words[n]]
    return found


RECIPE = Recipe(
    "parser",
    "trees by features of their spans, tagged by a CRF",
    SpanParser,
    train,
    load,
    options=("weight",),
)


# Templates of span parsers: columns w (the word, or a rare word's form), p (part of speech), s (first sign).

# The words and tags at the ends of a span and beside it, alone, in pairs and with its length; those inside.
FINE = tuple(
    """
    length
    p[first]  p[last]  p[first-1]  p[last+1]
    w[first]  w[last]  w[first-1]  w[last+1]
    p[first]|length  p[last]|length  p[first-1]|length  p[last+1]|length
    p[first]|p[last]  p[first-1]|p[last+1]  p[first]|p[last+1]  p[first-1]|p[last]
    p[first-1]|p[first]  p[last]|p[last+1]
    w[first]|p[last]  p[first]|w[last]  w[first]|w[last]
    w[first-1]|p[first]  p[first-1]|w[first]  w[first-1]|w[first]
    w[last]|p[last+1]  p[last]|w[last+1]  w[last]|w[last+1]
    w[first-1]|w[last+1]  w[first]|p[last+1]  p[first]|w[last+1]  w[first-1]|p[last]
    p[first-1]|p[first]|p[last]  p[first]|p[last]|p[last+1]  p[first-1]|p[first]|p[last]|p[last+1]
    p[first]|p[first+1]  p[first]|p[first+1]|p[first+2]
    p[last-1]|p[last]  p[last-2]|p[last-1]|p[last]
    p[last+1]|p[last+2]  p[last]|p[last+1]|p[last+2]
    p[first-2]|p[first-1]  p[first-2]|p[first-1]|p[first]
    p[first]|p[last]|length  p[first-1]|p[last+1]|length
    sequence(p,5)  sequence(s,8)  inside(p)
    """.split()
)

# Enough to tell which spans are nodes at all.
COARSE = tuple(
    """
    length
    p[first]|length  p[last]|length  p[first-1]|length  p[last+1]|length
    p[first]|p[last]  p[first-1]|p[last+1]  p[first-1]|p[first]  p[last]|p[last+1]
    p[first-1]|p[first]|p[last]|p[last+1]
    """.split()
)
