"""How well and how fast are trees of the treebank's sample parsed? Train on files 1-159, test on 180-199."""

from collections.abc import Callable
from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

TREES = "ptb_sample/trees.tsv.gz"


def treebank(seed: int) -> tuple[list[Any], list[Any], int]:
    from chaffinch.corpus import read

    docs = [d for d in read(corpus(TREES), strip=True) if d.group is not None]
    train = [d.tree for d in docs if int(d.group[4:8]) <= 159]
    return train, [d for d in docs if int(d.group[4:8]) >= 180], seed


def trained(*recipe: Any) -> Callable[[Any], Any]:
    """Training is not timed: the question is how long the test sentences take, raw words in, trees out."""

    def prepare(given: tuple[list[Any], list[Any], int]) -> Any:
        from chaffinch import Parser
        from chaffinch.recipes.parsers import PARSERS

        name, settings = recipe
        config = PARSERS.by_name(name).configured(settings)
        return Parser(config, folds=0, seed=given[2], threads=1).fit(given[0]), [d.words() for d in given[1]]

    return prepare


def parsed(ready: Any) -> Any:
    parser, sentences = ready
    return parser.predict(sentences)


def scores(given: tuple[list[Any], list[Any], int], found: Any) -> dict[str, float]:
    from chaffinch.evaluate.trees import score_trees

    score = score_trees([d.tree for d in given[1]], found)
    return {"bracket F1": score.bracket.f1, "exact": score.exact_match, "tags": score.tag_accuracy}


PLAIN = {"vertical": 1, "horizontal": 99, "rule_smoothing": 0.0, "expected": False}

BENCHMARK = Benchmark(
    name="parse_ptb",
    question="How well are new sentences of the treebank's sample parsed, and how fast?",
    input=treebank,
    work=lambda given: (float(len(given[1])), "sentences"),
    ours=Contender(name="parser", prepare=trained("parser", {}), run=parsed),
    rivals=(
        Contender(name="plain pcfg", prepare=trained("pcfg", PLAIN), run=parsed),
        Contender(name="markovised pcfg", prepare=trained("pcfg", {}), run=parsed),
        Contender(name="perceptron", prepare=trained("parser", {"loss": "perceptron"}), run=parsed),
        Contender(name="structured svm", prepare=trained("parser", {"loss": "hinge"}), run=parsed),
    ),
    scores=scores,
    needs=(TREES,),
    repeats=1,
    timeout=1200.0,
)
