"""Every native row of the table FUSED learns what its learner's generic loop over the protocols learns."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from chaffinch.features.rows import SparseRows
from chaffinch.learners.adagrad import AdaGrad
from chaffinch.learners.block_sgd import BlockSgd
from chaffinch.learners.choice_gradient import ChoiceBatch, ChoicePerceptron, ChoiceSgd
from chaffinch.learners.costs import PlaceCosts, label_costs
from chaffinch.learners.cutting_plane import NSlack, OneSlack
from chaffinch.learners.dual import DualCrammerSinger, DualLogistic, DualRest, DualRidge
from chaffinch.learners.examples import ContextExamples, ListExamples, SegmentExamples
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.incremental import STRETCH, DecisionLearner, PrefixLearner
from chaffinch.learners.learner import FUSED, Learner, native
from chaffinch.learners.likelihood import Lbfgs, PrunedSgd, Sdca, Sgd
from chaffinch.learners.maximum_likelihood import MaximumLikelihood
from chaffinch.learners.online import Arow, MarginPerceptron, Mira, PassiveAggressive, Perceptron
from chaffinch.learners.problem import Problem
from chaffinch.scorers import FeatureScorer, Layout, Linear, Rows
from chaffinch.scorers.contexts import ContextScorer, ContextTemplate
from chaffinch.scorers.segments import SegmentScorer
from chaffinch.search import Beam, EasiestFirst, IncrementalChain, LeftToRight, Legality
from chaffinch.structures import Candidates, Chain, Held, LocalChain, RuledChain, RuledLocalChain
from small_problems import chain_problem, documents
from test_margin_learners import dense, monomial
from test_matching_frank_wolfe import fertile_problem, plain_problem
from test_parser import tiny_problem

Case = tuple[Learner, Callable[[], Problem], float]
"""A learner, a problem, and how far weights may lie apart: after each pass, or at the end if that is below zero."""


def packed(*, order: int = 1, local: bool = False, weighted: bool = False, margin: bool = False) -> Problem:
    made = chain_problem(N=6)
    Y, F = made.structure.Y, made.scorer.layout["unary"].rows
    chain = LocalChain(Y) if local else replace(made.structure, order=order)
    weight = np.linspace(0.5, 2.0, 6).astype(np.float32) if weighted else None
    cost = label_costs([[0, 2, 1], [0.5, 0, 0.5], [1, 1, 0]]) if margin else None
    return Problem(chain, Linear(Layout.packed_chain(F, Y, order)), made.examples, weight, cost, seed=1)


def ruled(*, local: bool = False) -> Problem:
    """A packed problem with two transitions and a first label held at given values."""
    made = packed(weighted=True)
    held = Held.none(made.structure.Y)
    held.pair[0, 1], held.pair[2, 2], held.start[1] = 1.5, -2.0, 0.5
    return replace(made, structure=(RuledLocalChain if local else RuledChain)(Chain(made.structure.Y), held))


def texts(N: int = 30, F: int = 8, Y: int = 3, dense: float = 0.6) -> Problem:
    rng = np.random.default_rng(2)
    X = (rng.normal(size=(N, F)) * (rng.random((N, F)) < dense)).astype(np.float32)
    y = (X @ rng.normal(size=(F, Y)) + rng.gumbel(size=(N, Y))).argmax(axis=1).astype(np.int32)
    rows = SparseRows.of(X)
    given = {"ptr": rows.ptr, "ids": rows.ids, "values": rows.values, "F": F, "Y": Y}
    importance = rng.uniform(0.5, 2.0, N).astype(np.float32)
    return documents(**given, label_ptr=np.arange(N + 1), labels=y, importance=importance, seed=3)


def weighted(problem: Problem) -> Problem:
    """The same problem, with examples that do not count alike."""
    return replace(problem, weight=np.linspace(0.5, 3.0, len(problem.examples)).astype(np.float32))


def valued(problem: Problem) -> Problem:
    """The same problem, with features of real values."""
    values = np.random.default_rng(9).normal(1.0, 0.7, len(problem.examples.ids)).astype(np.float32)
    return replace(problem, examples=replace(problem.examples, values=values))


def sparse_texts() -> Problem:
    """Documents whose words come back after many others: penalties that are due later."""
    return texts(N=60, F=25, dense=0.1)


def lists() -> Problem:
    rng = np.random.default_rng(4)
    sizes = rng.integers(2, 5, 12)
    n = int(sizes.sum())
    ids = np.concatenate([np.sort(rng.choice(6, 3, replace=False)) for _ in range(n)]).astype(np.int32)
    rows = Rows(np.arange(n + 1) * 3, ids, rng.normal(size=3 * n).astype(np.float32))
    examples = ListExamples(np.concatenate([[0], np.cumsum(sizes)]), rows, rng.random(n))
    return Problem(Candidates(), FeatureScorer(6), examples)


def segments(*, margin: bool = False) -> Problem:
    """Sentences of up to five tokens, cut into segments of three labels, with features of tokens and of spans."""
    rng = np.random.default_rng(5)
    longest = np.array([1, 2, 3], np.int32)
    N, F, G, L = 5, 5, 4, 3
    lengths = rng.integers(1, 6, N)
    sentences = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    T = int(sentences[-1])
    within = np.concatenate([n - np.arange(n) for n in lengths])  # how long a span from each token may be
    counts = np.array(
        [rng.integers(0, 3) if length <= room else 0 for room in within for length in range(1, L + 1)]
    )
    gold = []
    for n in lengths.tolist():
        at = 0
        while at < n:
            label = int(rng.integers(0, 3))
            length = int(min(rng.integers(1, longest[label] + 1), n - at))
            gold.append((at, length, label))
            at += length
    firsts = [k for k, (t, _, _) in enumerate(gold) if t == 0]
    examples = SegmentExamples(
        sentences,
        np.arange(T + 1) * 2,
        np.concatenate([rng.choice(F, 2, replace=False) for _ in range(T)]).astype(np.int32),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        rng.integers(0, G, counts.sum()).astype(np.int32),
        np.array(gold, np.int32),
        np.array([*firsts, len(gold)], np.int64),
    )
    scorer = SegmentScorer.zeros(F, G, longest)
    cost = PlaceCosts(1.5, 2.0) if margin else None
    return Problem(scorer.structure, scorer, examples, None, cost, seed=1)


def searched(
    search: Any,
    *,
    legal: bool = False,
    known: bool = False,
    lengths: Sequence[int] = (3, 5, 1, 9, 4, 0, 5, 7, 2, 6),
    share: float = 0.2,
) -> Problem:
    """Short sentences with contexts of labels to the left, on both sides for easiest-first search.

    known: a share of the labels is known
    """
    rng = np.random.default_rng(6)
    F, Y, T = 12, 4, sum(lengths)
    left = [ContextTemplate([-1], 1, -1), ContextTemplate([-2, -1], 1, -1), ContextTemplate([-1], 3, 0)]
    right = [ContextTemplate([1], 1, -1), ContextTemplate([-1, 1], 3, 0), ContextTemplate([2], 1, -1)]
    templates = [*left, *right] if isinstance(search, EasiestFirst) else left
    counts = rng.integers(1, 4, T)
    ids = np.concatenate([np.sort(rng.choice(F, n, replace=False)) for n in counts]).astype(np.int32)
    examples = ContextExamples(
        np.cumsum([0, *lengths]).astype(np.int64),
        np.cumsum([0, *counts]).astype(np.int64),
        ids,
        rng.integers(0, Y, T).astype(np.int32),
        rng.integers(-1, 3, (T, 1)).astype(np.int32),
        np.where(rng.random(T) < share, rng.integers(0, Y, T), -1).astype(np.int32) if known else None,
    )
    names = ["A", "B", "C", "D"]
    rules = Legality.of(names, forbid="A->B, <s>->C, D-></s>", need="D needs A since B")
    if known:  # known labels lead into dead ends
        rules = Legality.of(names, forbid="A->B, B->A, B->B, B->C, B->D", need="D needs A since B")
    chain = IncrementalChain(names, search, rules if legal else Legality())
    return Problem(chain, ContextScorer.zeros(F, Y, templates), examples)


MARGIN = EasiestFirst(ease="margin")
EVERY, END = 2e-5, -1.0  # of online rules, after each pass; of optima, at the end
online = {"epochs": 3, "seed": 4}
wolfe = {"C": 0.5, "epochs": 4, "tolerance": 0.0}

CASES: list[Case] = [
    (Perceptron(**online), lambda: chain_problem(N=12), EVERY),
    (Perceptron(average=False, **online), lambda: chain_problem(N=12), EVERY),
    (MarginPerceptron(margin=4.0, **online), lambda: chain_problem(N=12), EVERY),
    (PassiveAggressive(C=0.3, **online), lambda: chain_problem(N=12), EVERY),
    (Mira(C=0.3, k=3, **online), lambda: chain_problem(N=12), 2e-4),
    (Arow(r=0.7, **online), lambda: chain_problem(N=12), 2e-4),
    (Sdca(c2=0.5, epochs=300, tolerance=1e-7, still=0.0), packed, END),
    (Sdca(c2=0.5, epochs=300, tolerance=1e-7, still=0.0), lambda: packed(weighted=True, margin=True), END),
    (Sgd(c2=0.5, epochs=200, rate=0.1), packed, END),
    (Sgd(c2=0.5, epochs=200, rate=0.1), lambda: packed(weighted=True, margin=True), END),
    (Sgd(c2=0.5, epochs=200, rate=0.1), segments, END),
    (Sgd(c2=0.5, epochs=400, rate=0.1), lambda: weighted(segments(margin=True)), END),
    (Lbfgs(c2=0.5, tolerance=1e-9), packed, END),
    (Lbfgs(c2=0.5, tolerance=1e-9), lambda: packed(order=2, weighted=True), END),
    (PrunedSgd(c2=0.5, epochs=200, rate=0.1, threshold=1e-12, most=3), packed, END),
    (BlockSgd(c2=0.5, epochs=20, rate=0.1, sizes=(2, 1, 3)), packed, 1e-4),
    (BlockSgd(c2=0.5, epochs=20, rate=0.1, sizes=(2, 1, 3)), lambda: packed(margin=True), 1e-4),
    (Sgd(c2=0.5, epochs=200, rate=0.1), lambda: packed(local=True), END),
    (Lbfgs(c2=0.5, tolerance=1e-9), lambda: packed(local=True, weighted=True), END),
    (Sdca(c2=0.5, epochs=300, tolerance=1e-7, still=0.0), ruled, END),
    (Sgd(c2=0.5, epochs=200, rate=0.1), ruled, END),
    (Lbfgs(c2=0.5, tolerance=1e-9), ruled, END),
    (PrunedSgd(c2=0.5, epochs=200, rate=0.1, threshold=1e-12, most=3), ruled, END),
    (Sgd(c2=0.5, epochs=200, rate=0.1), lambda: ruled(local=True), END),
    (Lbfgs(c2=0.5, tolerance=1e-9), lambda: ruled(local=True), END),
    (Perceptron(**online), lambda: valued(chain_problem(N=12)), EVERY),
    (Mira(C=0.3, k=3, **online), lambda: valued(chain_problem(N=12)), 2e-4),
    (Arow(r=0.7, **online), lambda: valued(chain_problem(N=12)), 2e-4),
    (Sdca(c2=0.5, epochs=300, tolerance=1e-7, still=0.0), lambda: valued(packed(weighted=True)), END),
    (Sgd(c2=0.5, epochs=200, rate=0.1), lambda: valued(packed(margin=True)), END),
    (Sgd(c2=0.5, epochs=200, rate=0.1), lambda: valued(segments()), END),
    (Sgd(c2=0.5, epochs=200, rate=0.1), lambda: valued(packed(local=True)), END),
    (Lbfgs(c2=0.5, tolerance=1e-9), lambda: valued(packed(order=2)), END),
    (PrunedSgd(c2=0.5, epochs=200, rate=0.1, threshold=1e-12, most=3), lambda: valued(packed()), END),
    (FrankWolfe(**wolfe), lambda: valued(chain_problem(N=15)), 2e-3),
    (NSlack(C=0.5, epochs=3, tolerance=0.0), lambda: valued(chain_problem(N=15)), 2e-3),
    (OneSlack(C=0.5, epochs=60, tolerance=1e-4), lambda: valued(chain_problem(N=15)), END),
    (DualRest(C=0.7, epochs=4, tolerance=0.0, folds=0), texts, 1e-4),
    (DualRest(C=0.7, epochs=4, tolerance=0.0, folds=0, loss="hinge", bias=1.0), texts, 1e-4),
    (DualRidge(C=0.7, epochs=4, tolerance=0.0, bias=0.5), texts, 1e-4),
    (DualCrammerSinger(C=0.7, epochs=100, tolerance=1e-4, folds=0), lambda: texts(N=15), END),
    (
        DualCrammerSinger(C=0.7, epochs=100, tolerance=1e-4, folds=0, loss="squared-hinge"),
        lambda: texts(N=15),
        END,
    ),
    (DualLogistic(C=2.0, epochs=1000, tolerance=1e-8, bias=1.0), texts, END),
    (ChoiceSgd(epochs=2, rate=0.1, l1=0.01), texts, 1e-4),
    (ChoiceSgd(epochs=2, rate=0.1, l2=0.1), texts, 1e-4),
    (ChoiceSgd(epochs=4, rate=0.3, l1=0.03, l2=0.5), sparse_texts, 2e-6),
    (
        ChoiceSgd(epochs=4, rate=0.3, l1=0.03, l2=0.5, schedule="decaying", batch=3, minibatch=True),
        sparse_texts,
        2e-6,
    ),
    (ChoiceSgd(epochs=4, rate=0.3, l1=0.03, l2=0.5, adaptive=True, schedule="random"), sparse_texts, 1e-5),
    (ChoiceSgd(epochs=2, rate=0.1, batch=7, minibatch=True, adaptive=True, schedule="decaying"), texts, 1e-4),
    (ChoiceSgd(epochs=2, rate=0.1, loss="hinge", average=True, bias=1.0, schedule="random"), texts, 1e-4),
    (ChoiceSgd(epochs=4, rate=0.3, l1=0.03, l2=0.5, average=True), sparse_texts, 2e-6),
    (ChoiceSgd(epochs=4, rate=0.3, l2=0.5, average=True, adaptive=True, bias=1.0), sparse_texts, 1e-5),
    (ChoicePerceptron(epochs=3), texts, 1e-4),
    (ChoiceBatch(l2=0.5, tolerance=1e-10, bias=1.0), texts, END),
    (ChoiceBatch(l2=0.5, tolerance=1e-10, each=True), texts, END),
    (MaximumLikelihood(tolerance=1e-9), lists, END),
    (MaximumLikelihood(tolerance=1e-9), lambda: weighted(lists()), END),
    (FrankWolfe(**wolfe), lambda: chain_problem(N=15), 2e-3),
    (FrankWolfe(average=True, **wolfe), lambda: dense(chain_problem(N=15)), 2e-3),
    (FrankWolfe(**wolfe), lambda: monomial(chain_problem(N=15)), 2e-3),
    (FrankWolfe(**wolfe), lambda: weighted(chain_problem(N=15)), 2e-3),
    (FrankWolfe(average=True, **wolfe), lambda: weighted(dense(chain_problem(N=15))), 2e-3),
    (FrankWolfe(**wolfe), lambda: weighted(monomial(chain_problem(N=15))), 2e-3),
    (FrankWolfe(**wolfe), lambda: weighted(plain_problem()), 1e-9),
    (FrankWolfe(average=True, **wolfe), lambda: weighted(fertile_problem()), 1e-9),
    (Perceptron(epochs=4), lambda: weighted(tiny_problem()), 1e-4),
    (AdaGrad(epochs=3), lambda: weighted(tiny_problem()), 5e-3),
    (AdaGrad(epochs=3, loss="hinge"), lambda: weighted(tiny_problem()), 2e-3),
    (NSlack(C=0.5, epochs=3, tolerance=0.0), lambda: chain_problem(N=15), 2e-3),
    (NSlack(C=0.5, epochs=40, tolerance=1e-6), lambda: dense(chain_problem()), END),
    (NSlack(C=0.5, epochs=40, tolerance=1e-6, rescale="slack"), chain_problem, END),
    (OneSlack(C=0.5, epochs=80, tolerance=1e-5), chain_problem, END),
    (OneSlack(C=0.5, epochs=80, tolerance=1e-5), lambda: dense(chain_problem()), END),
    (OneSlack(C=0.5, epochs=100, tolerance=1e-5, rescale="slack"), lambda: chain_problem(N=4), END),
    (FrankWolfe(**wolfe), plain_problem, 1e-9),
    (FrankWolfe(**wolfe), fertile_problem, 1e-9),
    (Perceptron(epochs=4), tiny_problem, 1e-4),
    (AdaGrad(epochs=3), tiny_problem, 2e-3),
    (DecisionLearner(rule=Perceptron(**online)), lambda: searched(LeftToRight()), EVERY),
    (DecisionLearner(rule=Perceptron(**online)), lambda: valued(searched(LeftToRight())), EVERY),
    (DecisionLearner(rule=Mira(**online), own=0.5), lambda: valued(searched(EasiestFirst())), EVERY),
    (PrefixLearner(rule=Perceptron(**online)), lambda: valued(searched(Beam(width=3))), EVERY),
    (DecisionLearner(rule=Mira(**online), own=0.5), lambda: searched(LeftToRight(), legal=True), EVERY),
    (
        DecisionLearner(rule=Arow(**online), own=0.3),
        lambda: searched(LeftToRight(), legal=True, known=True),
        EVERY,
    ),
    (DecisionLearner(rule=Perceptron(**online), min_updates=3), lambda: searched(LeftToRight()), EVERY),
    (DecisionLearner(rule=Perceptron(average=False, **online)), lambda: searched(EasiestFirst()), EVERY),
    (DecisionLearner(rule=PassiveAggressive(C=0.3, **online), own=0.5), lambda: searched(MARGIN), EVERY),
    (DecisionLearner(rule=Mira(**online), own=0.5), lambda: searched(MARGIN, legal=True, known=True), EVERY),
    (DecisionLearner(rule=Perceptron(**online), anywhere=True), lambda: searched(EasiestFirst()), EVERY),
    (
        DecisionLearner(rule=Perceptron(**online), anywhere=True, own=0.5, tries=3, min_updates=2),
        lambda: searched(MARGIN, legal=True, known=True),
        EVERY,
    ),
    (DecisionLearner(rule=Mira(**online), anywhere=True, own=0.5), lambda: searched(EasiestFirst()), EVERY),
    (PrefixLearner(rule=Perceptron(**online)), lambda: searched(Beam(width=3)), EVERY),
    (PrefixLearner(rule=Perceptron(**online), violation="early"), lambda: searched(Beam(width=2)), EVERY),
    (PrefixLearner(rule=Perceptron(**online), min_updates=3), lambda: searched(Beam(width=3)), EVERY),
    *(
        (PrefixLearner(rule=Perceptron(**online), min_updates=n), lambda: searched(Beam()), EVERY)
        for n in (5, 12)
    ),
    (PrefixLearner(rule=Mira(**online)), lambda: searched(Beam(width=3), legal=True), EVERY),
    (
        PrefixLearner(rule=Perceptron(**online)),
        lambda: searched(Beam(width=3), legal=True, known=True),
        EVERY,
    ),
    (
        PrefixLearner(rule=Arow(**online), violation="early"),
        lambda: searched(Beam(width=4), legal=True, known=True),
        EVERY,
    ),
]


def keys(learner: Learner, problem: Problem) -> tuple[type, type, type]:
    return type(problem.structure), type(problem.scorer), type(learner)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{type(case[0]).__name__}-{case[2]:g}")
def test_a_native_row_learns_what_the_generic_loop_learns(case: Case) -> None:
    learner, made, apart = case
    problem = made()
    assert FUSED[keys(learner, problem)] is native(learner, problem)
    ours, plain = list(learner.passes(problem, 1)), list(learner.generic(problem))
    if apart > 0:
        for one, other in zip(ours, plain, strict=True):
            np.testing.assert_allclose(table(one.model()), table(other.model()), atol=apart)
            assert one.scores.get("wrong") == pytest.approx(other.scores.get("wrong"))
    found, wanted = table(ours[-1].model(), problem), table(plain[-1].model())
    assert np.abs(wanted).max() > 0.01
    np.testing.assert_allclose(found, wanted, atol=apart if apart > 0 else 0.01)


def test_easiest_first_search_learns_a_long_sentence_in_stretches() -> None:
    # Most labels are known, which spares the plain loop; those beside the bound of a stretch are not.
    problem = searched(EasiestFirst(), lengths=[STRETCH + 40], known=True, share=0.8)
    problem.examples.known[STRETCH - 4 : STRETCH + 4] = -1
    learner = DecisionLearner(rule=Perceptron(epochs=1))
    (ours,), (plain,) = list(learner.passes(problem, 1)), list(learner.generic(problem))
    np.testing.assert_allclose(table(ours.model()), table(plain.model()), atol=EVERY)


@pytest.mark.parametrize("learner", [DecisionLearner(), PrefixLearner()])
def test_sentences_of_weight_two_take_steps_of_two(learner: Any) -> None:
    problem = searched(Beam() if isinstance(learner, PrefixLearner) else LeftToRight())
    twice = replace(problem, weight=np.full(len(problem.examples), 2.0))
    assert native(learner, twice) is None
    (*_, plain), (*_, double) = learner.generic(problem), learner.generic(twice)
    np.testing.assert_allclose(table(double.model()), 2 * table(plain.model()), atol=1e-5)


def test_every_native_row_is_held_against_its_generic_loop() -> None:
    assert {keys(learner, made()) for learner, made, _ in CASES} == set(FUSED)


def table(made: Any, problem: Problem | None = None) -> np.ndarray:
    """The weights of a scorer, of contexts, of a classifier or of pruned lattices, in one flat array."""
    if isinstance(made, ContextScorer):
        return made.linear().block("unary").astype(np.float64).ravel()
    if not isinstance(made, tuple):
        return np.asarray(made.w, np.float64).ravel()
    assert problem is not None
    ptr, labels, unary, chain = made
    scorer = problem.scorer.with_weights(np.zeros_like(problem.scorer.w))
    Y = problem.structure.Y
    scorer.block("unary")[np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)), labels] = unary
    pair, start, end = np.split(chain, [Y * Y, Y * Y + Y])
    scorer.block("pair")[...] = pair.reshape(Y, Y)
    scorer.block("start")[...], scorer.block("end")[...] = start, end
    return scorer.w.astype(np.float64)
