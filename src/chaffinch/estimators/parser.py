"""The parser: trees for sentences, by any recipe, as a scikit-learn estimator."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chaffinch import modelfile
from chaffinch.corpus.brackets import bracketed, parse, stripped
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.inputs import SampleWeight, counting, sample_weights
from chaffinch.estimators.persistent import Calibrated
from chaffinch.evaluate.trees import score_trees
from chaffinch.model.evidence import Question
from chaffinch.model.parsing import Parse, ParsingModel, Sentence, SpanChance
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.parsers import DEFAULT_PARSER, PARSERS
from chaffinch.recipes.training import ParsingTask
from chaffinch.recipes.tree_calibration import LEAST, calibrate_parser
from chaffinch.text.binary_trees import nodes
from chaffinch.text.document import Document, Tree
from chaffinch.trust.explain import explain
from chaffinch.trust.explanation import Explanation

Trees = Sequence[Tree | str | Document]
Words = Sequence[Sequence[str] | Sequence[tuple[str, str]]]


class Parser(Calibrated[ParsingModel]):
    """Trees for sentences.

    recipe:  a recipe's name, or its config with knobs set: ``Parser("pcfg")``, ``Parser(SpanParser(epochs=3))``
    folds:   number of models for calibrating the probabilities of phrases on held-out trees; None: five or three for
             small treebanks, one for large; 0: no calibration
    seed:    seed of the order of examples, for recipes that shuffle them
    threads: 0 for all cores; the result does not depend on it

    A tree is a :class:`Tree`, a bracketed string, or a document that has one. Traces and function tags are removed.
    Words are strings, or pairs of a word and its part of speech.

    >>> trees = ["(S (NP (DT the) (NN fox)) (VP (VBZ sleeps)))", "(S (NP (DT a) (NN hen)) (VP (VBZ eats)))"]
    >>> parser = Parser("pcfg").fit(trees)
    >>> parser.brackets([["a", "fox", "eats"]])
    ['(S (NP (DT a) (NN fox)) (VP (VBZ eats)))']
    """

    task = "parser"
    recipes = PARSERS

    def __init__(
        self,
        recipe: Any = DEFAULT_PARSER,
        *,
        folds: int | None = None,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        super().__init__(recipe, seed=seed, threads=threads)
        self.folds = folds

    # -- learning ---------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Trees | None = None,
        *,
        sample_weight: SampleWeight = None,
        dev: Trees | None = None,
        on_epoch: Listener = keep_going,
    ) -> "Parser":
        """Learn from trees, given as ``y`` or alone; if both are given, X must hold the words of the trees.

        sample_weight: weight of the loss of each tree; a grammar counts trees, so weights must be whole numbers
        dev:           held-out trees: the best pass on them is kept, and training stops after three passes
                       without improvement
        """
        trees = trees_of(X if y is None else y)
        if y is not None:
            _same_words(sentences_of(X), trees)
        if not trees:
            raise DataError("expected at least one tree to train on, got none")
        config = self._config()
        weight = sample_weights(sample_weight, len(trees), "trees")
        if weight is not None and (kept := counting(weight)) is not None:
            trees, weight = [trees[n] for n in kept.tolist()], weight[kept]
        held_out = None if dev is None else trees_of(dev)
        task = ParsingTask(trees, self.seed, self.threads, on_epoch, held_out, weight)
        trained = PARSERS.train(task, config)
        self.model_ = trained.model
        self.confidence_ = calibrate_parser(
            task, PARSERS.by_config(config), config, trained.model, self.folds
        )
        self.config_ = config
        self.history_ = trained.history
        self.fingerprint_ = modelfile.fingerprint([bracketed(tree) for tree in trees])
        return self

    # -- answering --------------------------------------------------------------------------------------------

    @property
    def labels_(self) -> tuple[str, ...]:
        """The labels of the trees, including parts of speech."""
        return self._fitted().labels

    def predict(self, X: Words) -> list[Tree]:
        """The tree of each sentence."""
        return [parses[0].tree for parses in self._parses(X, 1)]

    def predict_kbest(self, X: Words, k: int) -> list[list[tuple[float, Tree]]]:
        """The k best trees of each sentence with the logarithms of their scores, best first."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        return [[(parse.score, parse.tree) for parse in parses] for parses in self._parses(X, k)]

    def predict_marginals(self, X: Words, *, least: float = 0.01) -> list[list[SpanChance]]:
        """The phrases of each sentence with at least this probability, calibrated on held-out trees, by start.

        Of the phrases with one start, the longest is first.

        >>> trees = ["(S (NP (DT the) (NN fox)) (VP (VBZ sleeps)))", "(S (NP (DT a) (NN hen)) (VP (VBZ eats)))"]
        >>> phrases = Parser("pcfg").fit(trees).predict_marginals([["a", "fox", "eats"]])[0]
        >>> [(one.start, one.end, one.label) for one in phrases]
        [(0, 3, 'S'), (0, 2, 'NP'), (2, 3, 'VP')]
        """
        sentences, known = sentences_of(X), self.confidence_
        if known is None:
            return self._fitted().chances(sentences, least, self.threads)
        found = self._fitted().chances(sentences, min(least, LEAST), self.threads)
        made = []
        for phrases in found:
            sure = known.to_honest.few([one.p for one in phrases])
            honest = [replace(one, p=p) for one, p in zip(phrases, sure, strict=True) if p >= least]
            made.append(sorted(honest, key=lambda one: (one.start, -one.end, -one.p)))
        return made

    def explain(self, words: Sequence[Any]) -> Explanation:
        """An explanation of a tree against the runner-up: named contributions that add up to the model's scores.

        >>> trees = ["(S (NP (DT the) (NN fox)) (VP (VBZ sleeps)))", "(S (NP (DT a) (NN hen)) (VP (VBZ eats)))"]
        >>> why = Parser("pcfg").fit(trees).explain(["a", "fox", "eats"]).decisions[0]
        >>> why.answer
        '(S (NP (DT a) (NN fox)) (VP (VBZ eats)))'
        """
        (sentence,) = sentences_of([words])
        examples = self._fitted().examples(sentence, self.threads)
        decisions = tuple(one for x in examples for one in explain(x, Question()))
        recipe, shown = PARSERS.by_config(self.config_).name, tuple(sentence.words)
        answer = decisions[0].answer if decisions else self.brackets([words])[0]
        return Explanation(recipe, " ".join(shown), shown, answer, decisions)

    def brackets(self, X: Words) -> list[str]:
        """The trees as bracketed strings."""
        return [bracketed(tree) for tree in self.predict(X)]

    def score(self, X: Any, y: Trees | None = None) -> float:
        """The F1 of brackets, as evalb counts them; trees may be given alone."""
        gold = trees_of(X if y is None else y)
        words = [Sentence(words_of(tree)) for tree in gold] if y is None else sentences_of(X)
        return score_trees(gold, [found[0].tree for found in self._answers(words, 1)]).bracket.f1

    # -- scikit-learn's interface -----------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    # -- inside -------------------------------------------------------------------------------------------------

    def _header_labels(self) -> tuple[str, ...]:
        return self.labels_

    def _parses(self, X: Words, k: int) -> list[list[Parse]]:
        return self._answers(sentences_of(X), k)

    def _answers(self, sentences: list[Sentence], k: int) -> list[list[Parse]]:
        return self._fitted().parses(sentences, k, self.threads)


def trees_of(given: Trees) -> list[Tree]:
    """Trees without traces and function tags, however they were given."""
    found = []
    for n, one in enumerate(given, start=1):
        tree = (
            one.tree
            if isinstance(one, Document)
            else parse(one, f"tree {n}")
            if isinstance(one, str)
            else one
        )
        if not isinstance(tree, Tree):
            raise DataError(f"tree {n}: expected a tree or a bracketed string, found {type(tree).__name__}")
        plain = stripped(tree)
        if plain is None:
            raise DataError(f"tree {n}: expected words, found only traces")
        found.append(plain)
    return found


def sentences_of(given: Words) -> list[Sentence]:
    """Sentences of words, or of words with their parts of speech."""
    found = []
    for n, one in enumerate(given, start=1):
        if isinstance(one, str):
            raise DataError(f"sentence {n}: expected a list of words, found the string {one[:40]!r}")
        words = list(one)
        if not words:
            raise DataError(f"sentence {n}: has no words")
        pairs = [isinstance(word, tuple) for word in words]
        if all(pairs):
            found.append(Sentence([word[0] for word in words], [word[1] for word in words]))
        elif any(pairs):
            raise DataError(f"sentence {n}: expected parts of speech for all words or for none")
        else:
            found.append(Sentence([str(word) for word in words]))
    return found


def words_of(tree: Tree) -> list[str]:
    """The words of a tree."""
    return [node.word for node in nodes(tree) if node.word is not None]


def _same_words(sentences: list[Sentence], trees: list[Tree]) -> None:
    if len(sentences) != len(trees):
        raise DataError(f"expected a tree for each of {len(sentences)} sentences, got {len(trees)}")
    for n, (sentence, tree) in enumerate(zip(sentences, trees, strict=True), start=1):
        if sentence.words != words_of(tree):
            raise DataError(f"sentence {n}: expected the words of its tree, found other words")
