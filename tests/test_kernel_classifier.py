"""Kernel machines as classifiers: texts, numbers, trees and other objects; files; probabilities; bad input."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from chaffinch import Classifier, load, modelfile, samples
from chaffinch.corpus.brackets import parse
from chaffinch.errors import ConfigError, DataError, ModelFileError
from chaffinch.evaluate.reliability import reliability
from chaffinch.kernels import (
    Component,
    FunctionKernel,
    LinearKernel,
    Rbf,
    Spectrum,
    SubsetTreeKernel,
    WordSequence,
)
from chaffinch.learners.kernel_choice import NearestNeighbours
from chaffinch.learners.kernel_perceptron import KernelPerceptron
from chaffinch.learners.kernel_svm import KernelSvm
from commandline import Runner, run

__all__ = ["run"]

KERNEL_RECIPES = ["kernel-svm", "kernel-perceptron", "kernel-eg", "knn"]
TREES = ["(S (N Ann) (V left))", "(S (N Bob) (V left))", "(Q (W who) (V left))", "(Q (W who) (V ran))"]
KINDS = ["told", "told", "asked", "asked"]


def questions(part="train", n=120):
    documents = samples.load("questions", part)[:n]
    return [d.text for d in documents], [d.labels[0].split(":")[0] for d in documents]


@pytest.mark.parametrize("recipe", KERNEL_RECIPES)
@pytest.mark.parametrize("kernel", [Spectrum(low=1, high=4).normalised(), WordSequence().normalised(), None])
def test_machines_of_texts_learn_and_are_the_same_after_saving(recipe, kernel, tmp_path):
    X, y = questions()
    classifier = Classifier(recipe, kernel=kernel).fit(X, y)
    test = questions("test", 60)
    assert classifier.score(*test) > 0.5
    p = classifier.predict_proba(test[0])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    classifier.save(tmp_path / "m.chaff")
    again = load(tmp_path / "m.chaff")
    np.testing.assert_array_equal(again.predict_proba(test[0]), p)
    assert (again.predict(test[0]) == classifier.predict(test[0])).all()


@pytest.mark.parametrize("recipe", KERNEL_RECIPES)
def test_machines_of_numbers_learn_and_are_the_same_after_saving(recipe, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    X = rng.normal(size=(90, 5)) + 2 * np.eye(5)[y]
    classifier = Classifier(recipe).fit(X, y)
    assert classifier.score(X, y) > 0.75
    assert classifier.n_features_in_ == 5
    classifier.save(tmp_path / "m.chaff")
    np.testing.assert_array_equal(
        load(tmp_path / "m.chaff").decision_function(X), classifier.decision_function(X)
    )


def test_predictions_on_numbers_are_scikit_learns():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 200)
    X = rng.normal(size=(200, 6)) + 1.5 * np.eye(6)[y]
    ours = Classifier(KernelSvm(C=2.0, tolerance=1e-4, folds=0)).fit(X, y)
    theirs = SVC(C=2.0, tol=1e-4).fit(X, y)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99


def test_trees_are_classified_by_their_fragments(tmp_path):
    for X in (TREES, [parse(tree) for tree in TREES]):
        classifier = Classifier("kernel-svm", kernel=SubsetTreeKernel().normalised()).fit(X, KINDS)
        assert classifier.predict(["(S (N Eve) (V ran))", "(Q (W what) (V left))"]).tolist() == [
            "told",
            "asked",
        ]
        classifier.save(tmp_path / "m.chaff")
        assert load(tmp_path / "m.chaff").predict(X).tolist() == KINDS


def test_objects_of_several_parts_are_saved_too(tmp_path):
    X = [(tree, [float(n)]) for n, tree in enumerate(TREES)]
    kernel = Component(SubsetTreeKernel(), 0) + Component(Rbf(gamma=0.1), 1)
    classifier = Classifier("kernel-perceptron", kernel=kernel).fit(X, KINDS)
    classifier.save(tmp_path / "m.chaff")
    np.testing.assert_array_equal(load(tmp_path / "m.chaff").predict_proba(X), classifier.predict_proba(X))


def test_a_python_function_is_a_kernel_that_cannot_be_saved(tmp_path):
    same = FunctionKernel(lambda a, b: float(a[0] == b[0]))
    classifier = Classifier(
        NearestNeighbours(k=1),
        kernel=same,
    ).fit([("x", 1), ("y", 2)], ["a", "b"])
    assert classifier.predict([("y", 5)]).tolist() == ["b"]
    with pytest.raises(ConfigError, match="a kernel that is a Python function cannot be saved"):
        classifier.save(tmp_path / "m.chaff")
    assert not (tmp_path / "m.chaff").exists()


def test_probabilities_are_calibrated_on_held_out_folds():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 1200)
    X = rng.normal(size=(1200, 4)) + 0.6 * np.eye(4)[y]
    surprise, error = {}, {}
    for folds in (0, 3):
        classifier = Classifier(KernelSvm(C=5.0, folds=folds)).fit(X[:400], y[:400])
        p = classifier.predict_proba(X[400:])
        surprise[folds] = -np.log(p[np.arange(800), y[400:]]).mean()
        error[folds] = reliability(p.max(axis=1), p.argmax(axis=1) == y[400:]).error
    assert surprise[3] < surprise[0]
    assert error[3] < 0.1


def test_parameters_clone_and_reach_the_knobs():
    classifier = Classifier(KernelSvm(C=3.0), kernel=Rbf(gamma=0.5))
    twin = clone(classifier).set_params(recipe__C=4.0)
    assert twin.recipe == KernelSvm(C=4.0)
    assert twin.kernel == Rbf(gamma=0.5)


def test_bad_input_is_refused_in_one_sentence():
    X, y = questions(n=30)
    with pytest.raises(ConfigError, match=r"KernelSvm\.C must be <= 1e\+12, got inf"):
        Classifier(KernelSvm(C=float("inf"))).fit(X, y)
    with pytest.raises(DataError, match="needs at least two classes"):
        Classifier("kernel-svm").fit(X, ["one"] * 30)
    with pytest.raises(DataError, match="is nan: a kernel must be a finite number"):
        Classifier("kernel-svm", kernel=FunctionKernel(lambda a, b: float("nan"))).fit(X, y)
    with pytest.raises(ConfigError, match="recipe ridge takes no kernel; kernel-svm"):
        Classifier(kernel=Rbf()).fit(X, y)
    with pytest.raises(ConfigError, match="expected a kernel such as Rbf"):
        Classifier("knn", kernel="rbf").fit(X, y)
    with pytest.raises(ConfigError, match="a kernel machine needs one label per document"):
        Classifier("kernel-svm").fit(X, [[label, "also"] for label in y])
    with pytest.raises(DataError, match="object 1: expected a tree to begin with"):
        Classifier(KernelSvm(kernel="subset-tree")).fit(X, y)
    with pytest.raises(ConfigError, match=r"DualRest\.C must be <= .*got inf"):
        Classifier(type(Classifier("svm")._config())(C=float("inf"))).fit(X, y)


def test_empty_documents_and_opposite_labels_are_no_trouble():
    texts = ["", "tea cup", "tea pot", "", "oak tree", "oak leaf", "tea cup"]
    labels = ["drink", "drink", "drink", "wood", "wood", "wood", "wood"]
    for recipe in KERNEL_RECIPES:
        for kernel in (None, WordSequence().normalised()):
            p = Classifier(recipe, kernel=kernel).fit(texts, labels).predict_proba(["", "tea", "oak"])
            assert np.isfinite(p).all()


def test_a_damaged_file_is_refused(tmp_path):
    X, y = questions(n=40)
    Classifier(KernelSvm(kernel="spectrum")).fit(X, y).save(tmp_path / "m.chaff")
    file = modelfile.read(tmp_path / "m.chaff")
    from chaffinch.recipes.classifiers import unpacked

    def refused(details=None, arrays=None, strings=None):
        with pytest.raises(ModelFileError, match="damaged"):
            unpacked(
                file.header.labels,
                {**file.header.details, **(details or {})},
                {**file.arrays, **(arrays or {})},
                {**file.strings, **(strings or {})},
            )

    refused(details={"kernel": {"kernel": "exec", "of": "code"}})
    refused(details={"kernel": {"kernel": "spectrum", "low": -3}})
    refused(details={"kernel": 5})
    refused(details={"machine": "pickle"})
    refused(details={"temperature": float("nan")})
    refused(details={"link": "none"})
    refused(arrays={"machine.labels": file.arrays["machine.labels"] + 100})
    refused(arrays={"machine.alpha": file.arrays["machine.alpha"][:-1]})
    refused(arrays={"machine.alpha": file.arrays["machine.alpha"] * np.float32("nan")})
    refused(strings={"support.objects": list(file.strings["support.objects"])[:-1]})
    refused(strings={"support.objects": ["{"] * len(list(file.strings["support.objects"]))})


def test_a_damaged_file_of_support_vectors_is_refused(tmp_path):
    X, y = questions(n=40)
    Classifier("knn").fit(X, y).save(tmp_path / "m.chaff")
    file = modelfile.read(tmp_path / "m.chaff")
    from chaffinch.recipes.classifiers import unpacked

    for name, array in {
        "support.ids": file.arrays["support.ids"] + 10**6,
        "support.ptr": file.arrays["support.ptr"][::-1],
        "support.values": file.arrays["support.values"][:-1],
        "machine.labels": file.arrays["machine.labels"] - 5,
    }.items():
        with pytest.raises(ModelFileError, match="damaged"):
            unpacked(file.header.labels, file.header.details, {**file.arrays, name: array}, file.strings)


def test_the_command_line_trains_predicts_and_lists_support_vectors(run: Runner, tmp_path):
    X, y = questions(n=60)
    rows = "\n".join(json.dumps({"text": t, "label": label}) for t, label in zip(X, y, strict=True))
    (tmp_path / "train.jsonl").write_text(rows + "\n")
    model = tmp_path / "m.chaff"
    for recipe in KERNEL_RECIPES:
        made = run(
            "train", tmp_path / "train.jsonl", "-o", model, "--recipe", recipe, "--kernel", "word-sequence"
        )
        assert made.code == 0, made.err
        assert "support vectors" in made.out
        assert ("of the optimum" in made.out) == (recipe in ("kernel-svm", "kernel-eg"))
        assert "0 features" not in made.out
    made = run("train", tmp_path / "train.jsonl", "-o", model, "--recipe", "kernel-svm", "--C", "5")
    assert made.code == 0, made.err
    assert run("predict", model, tmp_path / "train.jsonl", "-o", tmp_path / "out.jsonl").code == 0
    shown = run("inspect", model)
    assert "support vectors (" in shown.out
    assert run("inspect", model, "--json").code == 0
    bad = run(
        "train", tmp_path / "train.jsonl", "-o", tmp_path / "n.chaff", "--recipe", "kernel-svm", "--C", "inf"
    )
    assert bad.code == 2
    assert "C must be <= 1e+12, got inf" in bad.err
    assert not (tmp_path / "n.chaff").exists()


def test_support_vectors_are_shown_with_their_words():
    classifier = Classifier(KernelPerceptron(kernel="word-sequence")).fit(*questions(n=40))
    title, rows = classifier.model_.strongest(3, None)
    assert title.startswith("support vectors (")
    assert all(name.startswith("#") and weight > 0 for found in rows.values() for name, weight in found)
    near = Classifier(NearestNeighbours(k=1, kernel="linear")).fit(*questions(n=40))
    assert near.model_.strongest(1, None)[0] == "support vectors (40)"


def test_a_linear_kernel_machine_takes_sparse_and_dense_numbers_alike():
    import scipy.sparse

    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 60)
    X = (rng.random((60, 300)) < 0.02) * 1.0
    X[np.arange(60), y] = 1
    kernel = LinearKernel()
    dense = Classifier("kernel-svm", kernel=kernel).fit(X, y).decision_function(X)
    sparse = Classifier("kernel-svm", kernel=kernel).fit(scipy.sparse.csr_array(X), y).decision_function(X)
    np.testing.assert_array_equal(dense, sparse)
