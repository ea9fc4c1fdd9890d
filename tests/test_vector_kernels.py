"""Kernels of vectors: definitions, blocks, threads, algebra, and the cache of rows."""

import math
from itertools import pairwise as pairs

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import pairwise

from chaffinch.errors import ConfigError, DataError
from chaffinch.kernels import (
    Component,
    FunctionKernel,
    GramRows,
    Kernel,
    LinearKernel,
    Normalised,
    Polynomial,
    Product,
    Rbf,
    Sigmoid,
    Sum,
)
from chaffinch.scorers.dual import Dual

KERNELS = [
    LinearKernel(),
    Polynomial(degree=3, gamma=0.3, offset=0.5),
    Rbf(gamma=0.4),
    Sigmoid(gamma=0.05, offset=0.1),
]
SCALED = [LinearKernel(), Polynomial(), Rbf(gamma=0.4), Polynomial(degree=3, offset=0.0)]


def table(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def trusted(kernel, A, B):
    A, B = A.astype(np.float64), B.astype(np.float64)
    match kernel:
        case LinearKernel():
            return pairwise.linear_kernel(A, B)
        case Polynomial():
            return pairwise.polynomial_kernel(A, B, kernel.degree, kernel.gamma, kernel.offset)
        case Rbf():
            return pairwise.rbf_kernel(A, B, kernel.gamma)
        case Sigmoid():
            return pairwise.sigmoid_kernel(A, B, kernel.gamma, kernel.offset)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(("n", "m", "d"), [(1, 1, 1), (7, 5, 3), (50, 33, 17), (101, 130, 40)])
def test_dense_and_sparse_blocks_equal_scikit_learns_kernels(kernel, n, m, d):
    A, B = table(n, d), table(m, d, 1)
    A[np.abs(A) < 0.7] = 0
    want = trusted(kernel, A, B)
    np.testing.assert_allclose(kernel.gram(A, B), want, rtol=2e-4, atol=2e-4)
    sparse = kernel.gram(scipy.sparse.csr_array(A), scipy.sparse.csr_array(B))
    np.testing.assert_allclose(sparse, want, rtol=2e-4, atol=2e-4)
    mixed = kernel.gram(scipy.sparse.csr_array(A), B)
    np.testing.assert_allclose(mixed, want, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_any_number_of_threads_and_any_cut_of_the_rows_gives_the_same_bytes(kernel):
    A, B = table(130, 20), table(70, 20, 1)
    for X, Y in ((A, B), (scipy.sparse.csr_array(A), scipy.sparse.csr_array(B))):
        one = kernel.gram(X, Y, threads=1)
        assert one.tobytes() == kernel.gram(X, Y, threads=3).tobytes()
        assert one[:9].tobytes() == kernel.gram(X[:9], Y, threads=2).tobytes()
        left, right = kernel.prepared(X), kernel.prepared(Y)  # what is made of the right side is kept
        assert one.tobytes() == b"".join(kernel.gram(left.taken([n]), right).tobytes() for n in range(130))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_diagonal_is_that_of_the_gram_matrix(kernel):
    A = table(20, 6)
    np.testing.assert_allclose(kernel.diagonal(A), np.diag(kernel.gram(A)), rtol=1e-4)
    np.testing.assert_allclose(kernel.diagonal(scipy.sparse.csr_array(A)), np.diag(kernel.gram(A)), rtol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_an_expansion_is_the_block_times_the_coefficients(kernel):
    A, B, w = table(60, 9), table(1100, 9, 1), table(1100, 3, 2)
    want = kernel.gram(A, B).astype(np.float64) @ w
    np.testing.assert_allclose(kernel.expansion(A, B, w), want, rtol=1e-3, atol=1e-2)
    sparse = kernel.expansion(scipy.sparse.csr_array(A), scipy.sparse.csr_array(B), w)
    np.testing.assert_allclose(sparse, want, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_rows_of_zeros_and_ones_are_compared_by_their_bits(kernel):
    rng = np.random.default_rng(0)
    A, B = (rng.random((70, 131)) < 0.3) * 1.0, (rng.random((33, 131)) < 0.3) * 1.0
    small = type(kernel)(**{**vars(kernel), **({"gamma": 0.02} if hasattr(kernel, "gamma") else {})})
    np.testing.assert_allclose(small.gram(A, B), trusted(small, A, B), rtol=1e-5)
    nearly = A.copy()
    nearly[3, 3] = 1.5
    np.testing.assert_allclose(small.gram(nearly, B)[4:], small.gram(A, B)[4:], rtol=2e-5)


def test_expansions_over_groups_are_those_of_each_group():
    A, B, w, bounds = table(60, 9), table(1100, 9, 1), table(1100, 3, 2), np.array([0, 700, 700, 1100])
    for X, Y in ((A, B), (scipy.sparse.csr_array(A), scipy.sparse.csr_array(B))):
        for kernel in (*KERNELS, LinearKernel() + Rbf(gamma=0.1)):
            found = kernel.grouped_expansion(X, Y, bounds, w)
            assert found.shape == (60, 3, 3)
            for g, (a, b) in enumerate(pairs(bounds.tolist())):
                want = kernel.gram(A, B[a:b]).astype(np.float64) @ w[a:b]
                np.testing.assert_allclose(found[:, g], want, rtol=1e-3, atol=1e-2)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 8))
def test_gram_matrices_are_positive_semi_definite(seed, n, d):
    A = table(n, d, seed)
    for kernel in (
        *SCALED,
        Rbf(gamma=0.1) + LinearKernel(),
        Polynomial() * Rbf(gamma=0.2),
        Polynomial().normalised(),
    ):
        K = kernel.gram(A).astype(np.float64)
        assert np.linalg.eigvalsh(K).min() >= -1e-4 * max(1.0, np.trace(K))


def test_distances_far_from_the_origin_keep_their_digits():
    A = table(30, 5) + 3000
    np.testing.assert_allclose(Rbf(gamma=0.5).gram(A), trusted(Rbf(gamma=0.5), A, A), atol=2e-3)


def test_the_quadratic_kernel_is_the_inner_product_of_all_pairs_of_features():
    a, b = table(1, 4)[0], table(1, 4, 1)[0]

    def phi(x):
        root = math.sqrt(2)
        pairs = [root * x[i] * x[j] for i in range(4) for j in range(i)]
        return np.array([1, *(root * x), *(x * x), *pairs])

    assert Polynomial().gram([a], [b])[0, 0] == pytest.approx(phi(a) @ phi(b), rel=1e-4)


def test_kernels_are_summed_multiplied_scaled_and_normalised():
    A, B = table(6, 3), table(4, 3, 1)
    f, g = LinearKernel(), Rbf(gamma=0.3)
    np.testing.assert_allclose((f + g).gram(A, B), f.gram(A, B) + g.gram(A, B), rtol=1e-5)
    np.testing.assert_allclose((f * g).gram(A, B), f.gram(A, B) * g.gram(A, B), rtol=1e-5)
    np.testing.assert_allclose((0.5 * f).gram(A, B), 0.5 * f.gram(A, B), rtol=1e-6)
    cosine = pairwise.cosine_similarity(A, B)
    np.testing.assert_allclose(f.normalised().gram(A, B), cosine, rtol=1e-4, atol=1e-6)
    for kernel in (f + g, f * g, 0.5 * f, f.normalised()):
        np.testing.assert_allclose(kernel.diagonal(A), np.diag(kernel.gram(A)), rtol=1e-5)
        np.testing.assert_allclose(
            kernel.expansion(A, B, table(4, 2)), kernel.gram(A, B) @ table(4, 2), rtol=1e-5
        )
    assert Sum((f, g)) == f + g
    assert Product((f, g)) == f * g


def test_parts_of_objects_have_kernels_of_their_own():
    objects = [([1.0, 2.0], "tea"), ([0.0, 1.0], "cake")]
    same = FunctionKernel(lambda a, b: float(a == b))
    K = (Component(LinearKernel(), 0) + Component(same, 1)).gram(objects)
    assert K.tolist() == [[6.0, 2.0], [2.0, 2.0]]
    with pytest.raises(DataError, match="expected objects with a component 2 each"):
        Component(same, 2).gram(objects)


def test_an_open_gamma_is_that_of_the_objects_compared_with():
    A, B = table(40, 6), table(7, 6, 1)
    gamma = Rbf().fitted(A).gamma
    assert gamma == pytest.approx(1 / (6 * A.var()), rel=1e-5)
    assert Rbf().fitted(scipy.sparse.csr_array(A)).gamma == pytest.approx(gamma, rel=1e-5)
    known, w = Rbf(gamma=gamma), table(40, 2, 2)
    for objects in (A, Rbf().prepared(A), scipy.sparse.csr_array(A)):
        np.testing.assert_allclose(Rbf().gram(objects), known.gram(A), rtol=1e-4)
        np.testing.assert_allclose(Rbf().gram(B, objects), known.gram(B, A), rtol=1e-4)
        np.testing.assert_allclose(
            Rbf().expansion(B, objects, w), known.expansion(B, A, w), rtol=1e-3, atol=1e-4
        )
    made = 0.5 * Rbf().normalised() + Rbf() * LinearKernel()
    whole = 0.5 * known.normalised() + known * LinearKernel()
    np.testing.assert_allclose(made.gram(B, A), whole.gram(B, A), rtol=1e-4)
    np.testing.assert_allclose(made.gram(made.prepared(A)), whole.gram(A), rtol=1e-4)
    np.testing.assert_array_equal(GramRows(Rbf(), A).row(3), known.gram(A)[3])
    assert Dual(Rbf(), A, w).kernel == known


def test_what_is_no_finite_number_is_refused_with_its_place():
    with pytest.raises(DataError, match=r"of object 2 and object 1 is nan: a kernel must be a finite number"):
        FunctionKernel(lambda a, b: math.nan if a == 2 else 1.0).gram([1, 2], [1, 2])
    odd = FunctionKernel(lambda a, b: math.nan if 300 in (a, b) else 1.0)
    with pytest.raises(
        DataError, match="of object 301 and object 1 is nan"
    ):  # rows are computed some at a time
        odd.expansion(range(400), range(3), np.ones((3, 1)))
    with pytest.raises(DataError, match="of object 301 and object 1 is nan"):
        GramRows(odd, range(301), megabytes=0.01).row(300)
    with pytest.raises(DataError, match="of object 301 and object 301 is nan"):
        odd.diagonal(range(400))
    with pytest.raises(DataError, match="must return a number, got 'high' for objects 1 and 1"):
        FunctionKernel(lambda a, b: "high").gram([1])
    with pytest.raises(DataError, match="row 2 holds NaN"):
        LinearKernel().gram([[1.0], [math.nan]])
    with pytest.raises(DataError, match="rows of 2 numbers cannot be compared with rows of 3"):
        LinearKernel().gram([[1.0, 2.0]], [[1.0, 2.0, 3.0]])
    with pytest.raises(DataError, match=r"with itself is -1\.0"):
        Normalised(FunctionKernel(lambda a, b: -1.0)).gram([1])
    with pytest.raises(ConfigError, match=r"Polynomial\.degree must be >= 1, got 0"):
        Polynomial(degree=0).gram([[1.0]])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 19), min_size=1, max_size=40), st.integers(2, 25))
def test_cached_rows_are_the_rows_of_the_gram_matrix_in_bounded_memory(asked, capacity):
    A = table(20, 3)
    K = Polynomial().gram(A)
    rows = GramRows(Polynomial(), A, megabytes=capacity * 20 * 4 / 2**20)
    assert rows.capacity == min(capacity, 20)
    for n in asked:
        assert rows.row(n).tobytes() == K[n].tobytes()
    assert rows.rows(np.array(asked)).tobytes() == K[asked].tobytes()
    if rows.fits:
        assert rows.computed <= len(set(asked))
        assert rows.whole().tobytes() == K.tobytes()


def test_the_whole_matrix_is_in_order_however_its_rows_came():
    A = np.random.default_rng(2).normal(size=(6, 3))
    rows = GramRows(Polynomial(), A)
    for n in (4, 0, 5, 2, 1, 3):
        rows.row(n)
    np.testing.assert_allclose(rows.whole(), Polynomial().gram(A), rtol=1e-6)
    assert rows.computed == 6
    np.testing.assert_array_equal(rows.row(4), rows.whole()[4])


class Cauchy(Rbf):
    """A kernel of one's own that inherits the settings of a native one."""

    def block(self, A, B, threads):
        return 1 / (1 - np.log(super().block(A, B, threads).astype(np.float64)))


class Doubled(Rbf):
    """A kernel of one's own by another kernel of the core."""

    apart = False

    def native(self):
        return LinearKernel().native()


@pytest.mark.parametrize("own", [Cauchy, Doubled])
@pytest.mark.parametrize("made", [np.asarray, scipy.sparse.csr_matrix])
def test_a_kernel_that_overrides_another_does_not_get_its_diagonal_and_expansions(own, made):
    rng = np.random.default_rng(0)
    X, w, kernel = made(rng.normal(size=(5, 3))), rng.normal(size=(5, 2)), own(gamma=0.3)
    K = kernel.gram(X)
    assert not np.allclose(K, Rbf(gamma=0.3).gram(X))
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(K), rtol=1e-5)
    np.testing.assert_allclose(kernel.expansion(X, X, w), K @ w, rtol=1e-4)
    np.testing.assert_allclose(
        kernel.grouped_expansion(X, X, np.array([0, 2, 5]), w)[:, 0], K[:, :2] @ w[:2], rtol=1e-4
    )


def test_two_kernels_cannot_have_one_name():
    with pytest.raises(TypeError, match="there is already a kernel 'rbf', Rbf"):

        class Other(Kernel, name="rbf", of="features"):
            """Another kernel."""


def test_a_kernel_of_features_is_one_of_vectors():
    class Constant(Kernel, of="features"):
        """Every pair is alike."""

    assert Constant.of_vectors
    assert not Kernel.of_vectors
