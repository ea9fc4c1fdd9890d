"""Every kernel that has a name: chosen by settings, written to a file and read back, symmetric, and without negative
squares; a kernel that is added is found here by itself."""

import numpy as np
import pytest

from chaffinch import Classifier, load
from chaffinch.kernels.description import described, restored
from chaffinch.kernels.kernel import NAMED
from chaffinch.learners.kernel_svm import KernelSvm

OBJECTS = {
    "features": [[1.0, 0.0, 2.0], [0.5, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 1.0, 1.0]],
    "text": ["a red fox ran", "the fox sleeps", "red hens sleep", "a hen ran off"],
    "trees": [
        "(S (N Ann) (V left))",
        "(S (N Bob) (V left))",
        "(S (N Ann) (V saw) (N Bob))",
        "(Q (W who) (V left))",
    ],
}
INDEFINITE = ("sigmoid",)


@pytest.mark.parametrize("name", NAMED)
def test_a_named_kernel_is_symmetric_and_positive_semi_definite(name: str) -> None:
    objects = OBJECTS[NAMED[name].of]
    kernel = NAMED[name].kind.chosen({})
    K = kernel.gram(objects).astype(np.float64)
    np.testing.assert_allclose(K, K.T, rtol=1e-6)
    np.testing.assert_allclose(kernel.diagonal(objects), np.diag(K), rtol=1e-5)
    np.testing.assert_allclose(kernel.gram(objects[:2], objects), K[:2], rtol=1e-5)
    w = np.array([[1.0, -2.0], [0.5, 1.0], [-1.0, 0.0], [2.0, 3.0]])
    kernel = kernel.fitted(objects)
    np.testing.assert_allclose(kernel.expansion(objects, objects, w), K @ w, rtol=1e-4, atol=1e-5)
    groups = kernel.grouped_expansion(objects, objects, np.array([0, 1, 4]), w)
    np.testing.assert_allclose(groups[:, 1], K[:, 1:] @ w[1:], rtol=1e-4, atol=1e-5)
    assert name in INDEFINITE or np.linalg.eigvalsh(K).min() > -1e-4 * np.abs(K).max()


@pytest.mark.parametrize("name", NAMED)
def test_a_named_kernel_is_read_back_as_it_was_described(name: str) -> None:
    kernel = (
        NAMED[name].kind.chosen({"decay": 0.25, "length": 2, "gamma": 0.5}).fitted(OBJECTS[NAMED[name].of])
    )
    assert restored(described(kernel)) == kernel


@pytest.mark.parametrize("name", NAMED)
def test_a_machine_learns_with_a_named_kernel_and_is_saved(name: str, tmp_path) -> None:
    objects, labels = OBJECTS[NAMED[name].of], ["x", "y", "y", "x"]
    X = np.array(objects) if NAMED[name].of == "features" else objects
    classifier = Classifier(KernelSvm(kernel=name)).fit(X, labels)
    classifier.save(tmp_path / "m.chaff")
    again = load(tmp_path / "m.chaff")
    np.testing.assert_array_equal(again.decision_function(X), classifier.decision_function(X))
