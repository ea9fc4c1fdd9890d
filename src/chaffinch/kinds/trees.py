"""Parse trees: treebanks, and the output of parsers."""

import json as json_text
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch.corpus import detect, read, read_table
from chaffinch.corpus.brackets import bracketed, stripped
from chaffinch.corpus.sentences import as_sentences
from chaffinch.errors import DataError, warn_about_data
from chaffinch.estimators import load
from chaffinch.estimators.candidate_lists import cross_validated_tree_lists, tree_lists
from chaffinch.estimators.parser import Parser, trees_of, words_of
from chaffinch.evaluate import Tally
from chaffinch.evaluate.intervals import compare
from chaffinch.evaluate.mistakes import Pieces
from chaffinch.evaluate.trees import TreeOutputs, brackets, score_trees, tree_tally
from chaffinch.files import display_name, writing_text
from chaffinch.kinds.corpora import Corpus, ExampleLists
from chaffinch.kinds.kind import (
    Confusion,
    Contents,
    Kind,
    Scores,
    TestSet,
    holds_layer,
    missed_and_invented,
    refuse_other_format,
)
from chaffinch.kinds.requests import ExplainRequest, PredictRequest, rows_of
from chaffinch.kinds.weights import weights_of
from chaffinch.model.candidates import CandidateList
from chaffinch.model.head_grammar import HeadGrammar
from chaffinch.model.parsing import ParsingModel, Sentence, SpanChance
from chaffinch.model.pcfg import PcfgModel
from chaffinch.model.reranker_file import CONSENSUS
from chaffinch.model.reranker_file import TREES as TREE_FEATURES
from chaffinch.model.span_parser import SpanParserModel
from chaffinch.model.tree_consensus import TreeConsensus
from chaffinch.progress import Listener
from chaffinch.recipes.parsers import DEFAULT_PARSER
from chaffinch.recipes.tree_calibration import TreeOptions
from chaffinch.text.binary_trees import nodes
from chaffinch.text.document import Document, Tree
from chaffinch.trust.explanation import Explanation

MAIN = "bracket.f1"


@dataclass(frozen=True)
class Treebank(ExampleLists):
    """Training trees; weight: the weight of each."""

    trees: list[Tree]
    weight: list[float] | None = None

    def content(self) -> list[Any]:
        """The trees as brackets."""
        weight = [] if self.weight is None else [np.array(self.weight)]
        return [[bracketed(tree) for tree in self.trees], *weight]


class TreeKind(Kind):
    """Trees for sentences."""

    plural = "trees"
    estimator = Parser
    default = DEFAULT_PARSER
    quickest = "pcfg"
    example = "trees.mrg"
    corpus = Treebank
    unit = "words"
    scores = (MAIN, "exact_match", "tag_accuracy")
    takes = ("kbest", "nth", "marginals")
    outputs = (TreeOutputs,)
    knobs = (("probabilities", TreeOptions),)
    experimental = {"folds": 0}  # noqa: RUF012

    # -- files

    def holds(self, path: Path, format: str | None = None) -> bool:
        """A file of bracketed trees."""
        return "tree" in detect(path, format).carries

    def read(self, path: Path, told: Mapping[str, str]) -> Treebank:
        """The trees of a file."""
        found = [d for d in read(path, told.get("from_format")) if d.tree is not None]
        if not found:
            raise DataError(f"{display_name(path)}: has no tree")
        weight = weights_of(path, found, told["weight"]) if "weight" in told else None
        return Treebank([d.tree for d in found if d.tree is not None], weight)

    def of_documents(self, documents: Sequence[Document], where: str) -> Corpus | None:
        """Documents with trees."""
        found = [d.tree for d in documents if d.tree is not None]
        return Treebank(found) if found else None

    # -- learning and scoring

    def build(
        self, config: Any, further: Sequence[Mapping[str, Any]], features: Any, seed: int, threads: int
    ) -> Parser:
        """A parser."""
        return self.estimator(config, seed=seed, threads=threads, **further[0])

    def fit(self, estimator: Parser, train: Treebank, dev: Treebank | None, on_epoch: Listener) -> None:
        """Train it."""
        held_out = None if dev is None else dev.trees
        estimator.fit(train.trees, sample_weight=train.weight, dev=held_out, on_epoch=on_epoch)

    def tally(self, estimator: Parser, corpus: Treebank) -> Tally:
        """Counts by tree."""
        return tree_tally(corpus.trees, estimator.predict([_leaves(tree) for tree in corpus.trees]))[0]

    def watcher(self, corpus: Treebank, threads: int) -> Callable[[ParsingModel], float]:
        """The F1 of brackets."""
        sentences = [Sentence(_leaves(tree)) for tree in corpus.trees]

        def f1(model: ParsingModel) -> float:
            found = [parses[0].tree for parses in model.parses(sentences, 1, threads)]
            return score_trees(corpus.trees, found).bracket.f1

        return f1

    def units(self, corpus: Treebank) -> int:
        """Words."""
        return sum(len(_leaves(tree)) for tree in corpus.trees)

    def facts(self, estimator: Parser, corpus: Treebank) -> dict[str, int]:
        """Trees and labels."""
        return {"trees": len(corpus), "labels": len(estimator.labels_)}

    # -- answering

    def ending(self, model: Parser, asked: PredictRequest) -> str | None:
        """Trees are lines of brackets; lines of several trees, or of phrases, are text."""
        if asked.kbest is not None or asked.marginals:
            return ".txt"
        return None if holds_layer(asked.output, "tree") else ".mrg"

    def predict(self, model: Parser, asked: PredictRequest) -> None:
        """Write one tree per line; --kbest: K lines of score, tab and tree for each sentence, then an empty line.

        --marginals: a line of start, end, label and probability for each likely phrase, then an empty line.
        """
        model.threads = asked.threads
        if not (asked.json or asked.marginals or asked.kbest is not None):
            refuse_other_format(asked.output, "tree", "a .mrg or .txt file")
        sentences = words_to_parse(asked.data, asked.from_format)
        if asked.marginals:
            if model.confidence_ is None:
                warn_about_data("these probabilities of phrases are not calibrated")
            _write_chances(sentences, model.predict_marginals(sentences), asked)
            return
        with writing_text(asked.output) as out:
            if asked.kbest is None and asked.nth is None:
                for words, tree in zip(sentences, model.predict(sentences), strict=True):
                    line = _record(words, [(None, tree)]) if asked.json else bracketed(tree)
                    out.write(line + "\n")
                return
            wanted = asked.kbest or asked.nth or 1
            for words, parses in zip(sentences, model.predict_kbest(sentences, wanted), strict=True):
                shown = parses if asked.kbest is not None else parses[-1:]
                if asked.json:
                    out.write(_record(words, shown) + "\n")
                elif asked.kbest is None:
                    out.write(bracketed(shown[0][1]) + "\n")
                else:
                    out.writelines(f"{score:.6f}\t{bracketed(tree)}\n" for score, tree in shown)
                    out.write("\n")

    def inspect(self, model: Parser, top: int, label: str | None) -> Contents:
        """The most probable rules of each label of a grammar; the strongest parent-child pairs of a span parser."""
        held: Any = model.model_
        rows: dict[str, list[tuple[str, float]]] = {}
        names = held.symbols.symbols
        if isinstance(held, PcfgModel):
            for (a, b, c), weight in zip(held.structure.rules.tolist(), held.weights.tolist(), strict=True):
                rows.setdefault(names[a], []).append((f"{names[b]}  {names[c]}", weight))
            title = "most probable rules (log-probability)"
        else:
            assert isinstance(held, SpanParserModel)
            for side, table in (("left", held.fine.left), ("right", held.fine.right)):
                for child, parent in zip(*table.nonzero(), strict=True):
                    entry = (f"{names[child] or 'a word'} on the {side}", float(table[child, parent]))
                    rows.setdefault(names[parent] or "a word", []).append(entry)
            title = "strongest children of each label"
        kept = {
            name: sorted(entries, key=lambda entry: -entry[1])[:top]
            for name, entries in sorted(rows.items())
            if label is None or name == label
        }
        return Contents(model.labels_, title, kept)

    def explain(self, model: Parser, asked: ExplainRequest) -> list[Explanation]:
        """Explanations of trees."""
        model.threads = asked.threads
        return [model.explain(words) for words in asked.chosen(_asked_words(asked))]

    def test_set(self, path: Path, models: Sequence[Parser], told: Mapping[str, str]) -> "TreeTestSet":
        """Sentences to parse."""
        return TreeTestSet(path)

    # -- lists of trees

    list_features = (CONSENSUS, TREE_FEATURES)

    def candidates(self, model: Parser, asked: Any, k: int, *, gold: bool = False) -> list[CandidateList]:
        """The k best trees of each sentence."""
        if gold:
            trees = trees_of(self.read(asked, {}).trees)
            return tree_lists(model, [words_of(tree) for tree in trees], k, trees)
        words = _asked_words(asked) if isinstance(asked, ExplainRequest) else words_to_parse(asked)
        return tree_lists(model, words, k)

    def candidates_to_learn(
        self, model: Path, data: Path, k: int, folds: int, features: str, wrong: float | None, threads: int
    ) -> list[CandidateList]:
        """Out-of-fold trees by parsers with the settings of the model file."""
        like: Parser = load(model)

        def anew() -> Parser:
            return Parser(like.recipe, folds=0, seed=like.seed, threads=threads)

        trees = trees_of(self.read(data, {}).trees)
        return cross_validated_tree_lists(anew, trees, k, folds, grammar=features == CONSENSUS)

    def candidate_features(self, name: str, data: Path) -> Any:
        """The features of whole trees; a grammar that they need is counted from the training trees."""
        if name != CONSENSUS:
            return name
        return TreeConsensus(grammar=HeadGrammar.counted(trees_of(self.read(data, {}).trees)))

    def candidate_gain(self, data: Path, answers: Mapping[str, Sequence[Tree]]) -> Scores:
        """Bracket F1 of each, and the gain with its interval."""
        gold = trees_of(self.read(data, {}).trees)
        found = {f"{MAIN}.{name}": score_trees(gold, trees).bracket.f1 for name, trees in answers.items()}
        both = ("reranked", "base")
        labels = sorted({label for name in both for label in tree_tally(gold, answers[name])[1]})
        ours, other = (tree_tally(gold, answers[name], also=labels)[0] for name in both)
        gain = compare(ours, other)[MAIN]
        return found | {
            f"{MAIN}.gain": gain.difference,
            f"{MAIN}.gain.low": gain.low,
            f"{MAIN}.gain.high": gain.high,
        }

    def write_chosen(self, data: Path, chosen: Sequence[Tree], output: Path) -> None:
        """One tree per line."""
        with writing_text(output) as stream:
            stream.writelines(bracketed(tree) + "\n" for tree in chosen)


TREES = TreeKind()


class TreeTestSet(TestSet):
    """Sentences and their parse trees, with evalb's constituents; parts of speech count too."""

    unit = "words"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.labelled = "tree" in detect(path).carries
        self.gold: list[Tree] = []
        if self.labelled:
            self.documents = [d for d in rows_of(path, {}) if d.tree is not None and stripped(d.tree)]
            self.gold = [stripped(d.tree) or d.tree for d in self.documents if d.tree is not None]
            self.sentences: list[Any] = [words_of(tree) for tree in self.gold]
        else:
            self.sentences = words_to_parse(path)
            self.documents = [Document.from_words(_plain(words)) for words in self.sentences]
        if not self.documents:
            raise DataError(f"{display_name(path)}: has no tree")
        self.units = sum(map(len, self.sentences))

    def ask(self, model: Parser) -> list[Tree]:
        """A tree each."""
        return model.predict(self.sentences)

    def answers_of(self, found: TreeOutputs) -> list[Tree]:
        """The trees of an output."""
        return [stripped(d.tree) or d.tree for d in found.outputs[0] if d.tree is not None]

    def outputs(self, names: tuple[str, ...], answers: Sequence[list[Tree]]) -> TreeOutputs:
        """Each output as documents."""
        gold = [replace(d, tree=tree) for d, tree in zip(self.documents, self.gold, strict=True)]
        made = tuple([replace(d, tree=t) for d, t in zip(gold, trees, strict=True)] for trees in answers)
        return TreeOutputs(names, gold, made)

    def pieces(self, outputs: Sequence[Sequence[Tree]], rows: Sequence[int]) -> list[list[Pieces]]:
        """Constituents, then parts of speech."""
        return [[_constituents(trees[n]) for n in rows] for trees in outputs]

    def mistakes(self, row: int, right: Pieces, given: Pieces) -> Counter[Confusion]:
        """Confusions of constituents and parts of speech over the same words."""
        words = len(self.sentences[row])
        above = missed_and_invented(right[:-words], given[:-words])
        return above + missed_and_invented(right[-words:], given[-words:])

    def piece(self, row: int, piece: tuple[str, int, int]) -> str:
        """The label and its words."""
        label, begin, end = piece
        return f"({label} {' '.join(_plain(self.sentences[row])[begin:end])})"

    def plain(self, answer: Tree) -> str:
        """Brackets."""
        return bracketed(answer)


def words_to_parse(path: Path, format: str | None = None) -> list[Any]:
    """Words to parse: the leaves of trees, a column of words, or columns of words and parts of speech.

    Brackets are written as in treebanks, -LRB- and -RRB-, because a tree cannot hold them otherwise.
    """
    chosen = detect(path, format)
    if "tree" in chosen.carries:
        return [d.words() for d in read(path, chosen.name, strip=True)]
    plain = chosen.name in ("columns", "hmm")
    table = read_table(path, format="columns", label="") if plain else read_table(path, chosen.name)
    names = [name for name in ("w", "pos", "xpos") if name in table.columns] or list(table.columns)[:1]
    if plain:
        names = list(table.columns)[:2]
    columns = [[[_as_in_trees(cell) for cell in row] for row in table.lists(name)] for name in names[:2]]
    if len(columns) == 1:
        return columns[0]
    return [list(zip(words, tags, strict=True)) for words, tags in zip(*columns, strict=True)]


def _asked_words(asked: ExplainRequest) -> list[Any]:
    """The sentences of a file, or of a typed text."""
    if asked.data is not None:
        return words_to_parse(asked.data)
    return [d.words() for d in as_sentences([Document(text=asked.words or "")], asked.source)]


def _as_in_trees(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def _constituents(tree: Tree) -> Pieces:
    leaves = [node for node in nodes(tree) if node.word is not None]
    tags = [(leaf.label, t, t + 1) for t, leaf in enumerate(leaves)]
    return [*sorted(brackets(tree, [False] * len(leaves))), *tags]


def _leaves(tree: Tree) -> list[str]:
    plain = stripped(tree)
    return [] if plain is None else words_of(plain)


def _write_chances(
    sentences: Sequence[Any], found: Sequence[Sequence[SpanChance]], asked: PredictRequest
) -> None:
    with writing_text(asked.output) as out:
        for words, chances in zip(sentences, found, strict=True):
            if asked.json:
                row = {"w": _plain(words), "spans": [asdict(one) for one in chances]}
                out.write(json_text.dumps(row, ensure_ascii=False) + "\n")
            else:
                out.writelines(f"{one.start}\t{one.end}\t{one.label}\t{one.p:.4f}\n" for one in chances)
                out.write("\n")


def _record(words: Any, parses: Sequence[tuple[float | None, Tree]]) -> str:
    row = {
        "w": _plain(words),
        "trees": [bracketed(tree) for _, tree in parses],
        "scores": [score for score, _ in parses if score is not None],
    }
    return json_text.dumps(row, ensure_ascii=False)


def _plain(words: Any) -> list[str]:
    """The words of a sentence without parts of speech."""
    return [word[0] if isinstance(word, tuple) else word for word in words]
