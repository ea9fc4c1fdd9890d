"""A small model of every recipe of every task, and what is done with it: from the tables, so that none is forgotten."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from chaffinch import Aligner, Classifier, ConfigError, Parser, Reranker, Tagger, samples
from chaffinch.estimators.candidate_lists import tag_lists
from chaffinch.kernels import SubsetTreeKernel
from chaffinch.kinds.tags.contents import tagger_contents
from chaffinch.model.candidates import CandidateList
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.aligners import ALIGNERS
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.hmm import Hmm
from chaffinch.recipes.margin import MaxMarginMarkovNetwork
from chaffinch.recipes.parsers import PARSERS
from chaffinch.recipes.rerankers import RERANKERS
from chaffinch.text.table import TokenTable

SENTENCES = [
    (["Ann", "Lee", "left", "Rome"], ["B-PER", "I-PER", "O", "B-LOC"]),
    (["in", "Paris", "Bob", "sang"], ["O", "B-LOC", "B-PER", "O"]),
    (["Bob", "left"], ["B-PER", "O"]),
] * 3
WORDS, TAGS = [w for w, _ in SENTENCES], [y for _, y in SENTENCES]
TABLE = TokenTable.from_lists({"w": WORDS, "y": TAGS})
MANY = TokenTable.from_lists(
    {"w": [[f"word{i}", "and"] for i in range(140)], "y": [[f"T{i}", "O"] for i in range(140)]}
)
TEXTS, LABELS = ["so good", "very bad", "good owls", "bad jays"] * 3, ["+", "-", "+", "-"] * 3

# Settings that change what a file holds.
VARIANTS = {
    "crf in two passes": Crf(second_pass=True),
    "crf of order 2": Crf(order=2),
    "crf in 8 bits": Crf(bits=8),
    "m3n with a kernel": MaxMarginMarkovNetwork(kernel="polynomial"),
    "hmm of classes": Hmm(unknown="classes", order=1),
}

Use = Callable[[Any], object]


def models() -> dict[str, tuple[Callable[[], Any], Use]]:
    """By name: how it is trained, what is done with it."""
    made: dict[str, tuple[Callable[[], Any], Use]] = {}
    for recipe in TAGGERS:
        made[f"tagger {recipe.name}"] = (lambda name=recipe.name: Tagger(name).fit(WORDS, TAGS)), _tag
    made["tagger crf of many labels"] = (lambda: Tagger("crf").fit(MANY)), _tag
    for what, config in VARIANTS.items():
        made[f"tagger {what}"] = (lambda config=config: Tagger(config).fit(WORDS, TAGS)), _tag
    for recipe in CLASSIFIERS:
        made[f"classifier {recipe.name}"] = (
            (lambda name=recipe.name: Classifier(name).fit(TEXTS, LABELS)),
            _classify,
        )
    for recipe in PARSERS:
        made[f"parser {recipe.name}"] = (lambda name=recipe.name: Parser(name).fit(_trees())), _parse
    for recipe in ALIGNERS:
        made[f"aligner {recipe.name}"] = (lambda name=recipe.name: Aligner(name).fit(*_pairs())), _align
    for recipe in RERANKERS:
        made[f"reranker {recipe.name}"] = (lambda name=recipe.name: Reranker(name).fit(_lists())), _rerank
    by_kernel = Reranker("mira", kernel=SubsetTreeKernel())
    made["reranker by a kernel"] = (lambda: by_kernel.fit(_tree_lists())), _rerank_trees
    return made


def _tag(tagger: Any) -> object:
    found: list[object] = [tagger.predict(WORDS[:3]), tagger_contents(tagger, 3, None)]
    with suppress(ConfigError):  # some give one labelling and no probabilities
        found.append(tagger.predict_kbest(WORDS[:3], 2))
    with suppress(ConfigError):
        found.append(tagger.predict_marginals(WORDS[:3]))
    return found


def _classify(classifier: Any) -> object:
    p = classifier.predict_proba(TEXTS[:2])
    return classifier.predict(TEXTS[:2]), p, classifier.model_.strongest(3, None)


def _parse(parser: Any) -> object:
    words = [[t.text for t in d.tokens] for d in _trees()[:2]]
    return parser.predict(words), parser.predict_kbest(words, 2), parser.predict_marginals(words)


def _align(aligner: Any) -> object:
    pairs, _ = _pairs()
    return aligner.predict(pairs[:3]), aligner.predict_kbest(pairs[:3], 2)


def _rerank(reranker: Any) -> object:
    return reranker.choose(_lists()[:3])


def _rerank_trees(reranker: Any) -> object:
    return reranker.choose(_tree_lists())


@cache
def _trees() -> list[Any]:
    return samples.load("trees", "train", n=12)


@cache
def _pairs() -> tuple[list[Any], list[Any]]:
    documents = samples.load("pairs", "train", n=12)
    return [(d.words(), d.links.target) for d in documents], [d.links.sure for d in documents]


@cache
def _lists() -> list[Any]:
    # Any labelling is a candidate, as in the lists that the stored models were asked about.
    return tag_lists(Tagger(Hmm(legal="none")).fit(WORDS, TAGS), TABLE, 3, gold=TAGS)


@cache
def _tree_lists() -> list[Any]:
    good, bad = "(S (NP a) (VP (V b) (NP c)))", "(S (NP a) (V b) (NP c))"
    scores, losses = np.array([0.0, -0.5]), np.array([1.0, 0.0])
    return [CandidateList(None, [bad.replace("a", w), good.replace("a", w)], scores, losses) for w in "xyz"]
