"""Does reranking the parser's 50 best trees gain? The training lists are out-of-fold."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

TREES = "ptb_sample/trees.tsv.gz"
K, FOLDS = 50, 3


def treebank(seed: int) -> tuple[list[Any], list[Any], int]:
    return files(1, 159), files(180, 199), seed


def files(first: int, last: int) -> list[Any]:
    """The trees of these files of the treebank."""
    from chaffinch.corpus import read

    docs = [d for d in read(corpus(TREES), strip=True) if d.group is not None]
    return [d.tree for d in docs if first <= int(d.group[4:8]) <= last]


def words(trees: list[Any]) -> list[list[str]]:
    from chaffinch.estimators.parser import words_of

    return [words_of(tree) for tree in trees]


def lists(parser: Any, trees: list[Any]) -> list[Any]:
    from chaffinch.estimators.candidate_lists import tree_lists

    return tree_lists(parser, words(trees), K, trees)


def prepared(given: tuple[list[Any], list[Any], int]) -> Any:
    """A parser for each fold, the reranker, and a parser of all trees; not timed."""
    from chaffinch import Parser
    from chaffinch.estimators.candidate_lists import cross_validated_tree_lists
    from chaffinch.estimators.reranker import Reranker
    from chaffinch.model.head_grammar import HeadGrammar
    from chaffinch.model.tree_consensus import TreeConsensus

    train, test, seed = given
    made = cross_validated_tree_lists(
        lambda: Parser(folds=0, seed=seed, threads=1), train, K, FOLDS, grammar=True
    )
    reranker = Reranker("risk", features=TreeConsensus(grammar=HeadGrammar.counted(train))).fit(made)
    parser = Parser(folds=0, seed=seed, threads=1).fit(train)
    also = files(160, 179)  # by which the parser's settings were chosen, and nothing of the reranker
    more = also, reranker.predict(lists(parser, also)), parser.predict(words(also))
    return reranker, parser, test, (made, held_out(made)), more


def held_out(made: list[Any]) -> list[Any]:
    """The trees chosen from the last fold's lists by a reranker trained on the lists of the others."""
    from chaffinch.estimators.reranker import Reranker

    last = next(n for n in range(len(made)) if n * FOLDS // len(made) == FOLDS - 1)
    return Reranker("risk", features="consensus").fit(made[:last]).predict(made[last:])


def scores(given: tuple[list[Any], list[Any], int], output: Any) -> dict[str, float]:
    """The gain over the first of each list with its 95 % interval; the oracle is the best that reranking could do."""
    from chaffinch.estimators.reranker import oracle
    from chaffinch.evaluate.trees import score_trees

    gold = given[1]
    if isinstance(output, list):
        return {"bracket F1": score_trees(gold, output).bracket.f1}
    chosen, made, parsed, (trained, cross), (also, more_chosen, more_parsed) = output
    first = [one.candidates[0] for one in made]
    found = {"bracket F1": score_trees(gold, chosen).bracket.f1}
    found["oracle F1"] = score_trees(gold, oracle(made)).bracket.f1
    rest = len(trained) - len(cross)
    listed = [one.candidates[0] for one in trained[rest:]]
    for name, right, mine, other in (
        ("first of the list", gold, chosen, first),
        ("parser", gold, chosen, parsed),
        ("parser, test and dev", gold + also, chosen + more_chosen, parsed + more_parsed),
        ("first of the list, training sentences held out", given[0][rest:], cross, listed),
    ):
        gain = gained(right, mine, other)
        found |= {
            f"F1 of {name}": gain.other,
            f"gain over {name}": gain.difference,
            f"gain over {name}, low": gain.low,
            f"gain over {name}, high": gain.high,
        }
    return found


def gained(gold: list[Any], chosen: list[Any], other: list[Any]) -> Any:
    from chaffinch.evaluate.intervals import compare
    from chaffinch.evaluate.trees import tree_tally

    every = sorted({label for trees in (chosen, other) for label in tree_tally(gold, trees)[1]})
    ours, theirs = (tree_tally(gold, trees, also=every)[0] for trees in (chosen, other))
    return compare(ours, theirs)["bracket.f1"]


def reranked(ready: Any) -> Any:
    reranker, parser, test, held, more = ready
    made = lists(parser, test)
    return reranker.predict(made), made, parser.predict(words(test)), held, more


def alone(given: tuple[list[Any], list[Any], int]) -> Any:
    from chaffinch import Parser

    return Parser(folds=0, seed=given[2], threads=1).fit(given[0]), words(given[1])


BENCHMARK = Benchmark(
    name="parse_rerank",
    question="How much does reranking the 50 best trees of the parser gain on the treebank's sample?",
    input=treebank,
    work=lambda given: (float(len(given[1])), "sentences"),
    ours=Contender(name="50 best, reranked", prepare=prepared, run=reranked),
    rivals=(Contender(name="parser", prepare=alone, run=lambda ready: ready[0].predict(ready[1])),),
    scores=scores,
    needs=(TREES,),
    repeats=1,
    timeout=3600.0,
)
