"""Kernels of trees against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_kernels
from chaffinch.corpus.brackets import bracketed, parse
from chaffinch.errors import ConfigError, DataError
from chaffinch.kernels import PartialTreeKernel, SubsetTreeKernel, SubtreeKernel, WordSequence
from chaffinch.text.document import Document, Tree

LEAVES = st.builds(Tree, st.sampled_from("DN"), st.just(()), st.sampled_from("xy"))
TREES = st.recursive(
    LEAVES,
    lambda below: st.builds(Tree, st.sampled_from("SN"), st.lists(below, min_size=1, max_size=3).map(tuple)),
    max_leaves=6,
)
SETS = st.lists(TREES, min_size=1, max_size=4)


def table(function, A, B):
    return np.array([[function(a, b) for b in B] for a in A], np.float64)


@settings(max_examples=40)
@given(SETS, SETS, st.sampled_from([0.4, 1.0]))
def test_subset_trees_are_the_shared_fragments(A, B, decay):
    want = table(lambda a, b: naive_kernels.subset_trees(a, b, decay), A, B)
    np.testing.assert_allclose(SubsetTreeKernel(decay=decay).gram(A, B), want, rtol=1e-9)


@settings(max_examples=40)
@given(SETS, SETS, st.sampled_from([0.4, 1.0]))
def test_subtrees_are_the_shared_whole_subtrees(A, B, decay):
    want = table(lambda a, b: naive_kernels.subtrees(a, b, decay), A, B)
    np.testing.assert_allclose(SubtreeKernel(decay=decay).gram(A, B), want, rtol=1e-9)


@settings(max_examples=40)
@given(SETS, SETS, st.sampled_from([0.4, 0.9]), st.sampled_from([0.5, 1.0]))
def test_partial_trees_follow_their_definition(A, B, decay, depth):
    want = table(lambda a, b: naive_kernels.partial_trees(a, b, decay, depth), A, B)
    np.testing.assert_allclose(PartialTreeKernel(decay=decay, depth=depth).gram(A, B), want, rtol=1e-9)


@settings(max_examples=40)
@given(st.lists(TREES, min_size=1, max_size=9))
def test_tree_kernels_are_positive_semi_definite(A):
    for kernel in (SubtreeKernel(), SubsetTreeKernel(), PartialTreeKernel(), SubsetTreeKernel().normalised()):
        K = kernel.gram(A)
        assert np.linalg.eigvalsh(K).min() >= -1e-9 * max(1.0, np.trace(K))
        np.testing.assert_allclose(kernel.diagonal(A), np.diag(K), rtol=1e-12)
        np.testing.assert_array_equal(K, K.T)
        assert K.tobytes() == kernel.gram(A, threads=3).tobytes()
        prepared = kernel.prepared(A)
        np.testing.assert_allclose(kernel.gram(prepared.taken(np.array([0])), prepared), K[:1], rtol=1e-12)


def test_the_example_of_collins_and_duffy_counts_its_fragments():
    apple = parse("(NP (D the) (N apple))")
    assert (
        SubsetTreeKernel(decay=1.0).gram([apple])[0, 0] == 6
    )  # the, apple, and NP with each of D and N open or not


def test_trees_come_as_trees_documents_or_brackets():
    tree = parse("(S (NP (N Ann)) (VP (V left)))")
    document = Document("Ann left", tree=tree)
    K = SubsetTreeKernel().gram([tree, document, bracketed(tree)])
    assert (K[0, 0] == K).all()


def test_a_deep_tree_is_no_trouble():
    deep = Tree("N", (), "x")
    for _ in range(3000):
        deep = Tree("S", (deep,))
    assert SubtreeKernel(decay=1.0).gram([deep])[0, 0] == pytest.approx(3001)


def test_words_are_not_labels():
    assert PartialTreeKernel().gram(["(S N)"], ["(T (N x))"])[0, 0] == 0


def test_a_tree_and_its_words_are_seen_together():
    objects = ["(S (N Ann) (V left))", "(S (N Ann) (V ran))"]
    both = SubsetTreeKernel().normalised() + 0.5 * WordSequence().normalised()
    want = SubsetTreeKernel().normalised().gram(objects) + 0.5 * WordSequence().normalised().gram(objects)
    np.testing.assert_allclose(both.gram(objects), want)


def test_what_is_no_tree_is_refused():
    with pytest.raises(DataError, match="object 2: expected a tree to begin with"):
        SubtreeKernel().gram(["(S (N x))", "no tree"])
    with pytest.raises(DataError, match="object 1 is Document without a tree"):
        SubtreeKernel().gram([Document("x")])
    with pytest.raises(ConfigError, match=r"PartialTreeKernel\.depth must be <= 1, got 2"):
        PartialTreeKernel(depth=2.0).gram(["(S (N x))"])
