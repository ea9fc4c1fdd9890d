"""Kernel SVMs beside libsvm: training on a tenth of the OCR letters, each letter alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

LETTERS = "ocr_letters/letters.npz"
Predict = Callable[[Any], Any]


@dataclass(frozen=True)
class Letters:
    """Letters to learn from, letters to be read, and the machine's settings; without gamma, the kernel's own."""

    X: Any
    y: Any
    test: Any
    gold: Any
    C: float = 5.0
    gamma: float | None = None


def letters(_seed: int) -> Letters:
    """Fold 0 to learn from, the other nine to be read."""
    (X, y), (test, gold) = first_fold_and_others()
    return Letters(X, y, test, gold)


def first_fold_and_others() -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Pixels and letters of fold 0, and those of the others."""
    held = np.load(corpus(LETTERS))
    pixels, y = held["pixels"].astype(np.float32), held["labels"].astype(np.int32)
    first = np.repeat(held["fold"], np.diff(held["word_offsets"])) == 0
    return (pixels[first], y[first]), (pixels[~first], y[~first])


def fit_ours(given: Letters) -> Predict:
    from chaffinch.kernels import Rbf
    from chaffinch.learners.kernel_choice import kernel_problem
    from chaffinch.learners.kernel_svm import KernelSvm

    kernel = Rbf(gamma=given.gamma)
    problem = kernel_problem(kernel, kernel.prepared(given.X), given.y, 26, np.ones(len(given.y)), threads=1)
    machine = KernelSvm(C=given.C).fit(problem)
    return lambda X: machine.scorer.scores(X, 1).argmax(axis=1)


def fit_libsvm(given: Letters) -> Predict:
    from sklearn.svm import SVC

    gamma = "scale" if given.gamma is None else given.gamma
    return SVC(C=given.C, gamma=gamma, cache_size=1024).fit(given.X, given.y).predict


def imported(module: str) -> Callable[[Letters], Letters]:
    """Set-up that is not timed."""

    def prepare(given: Letters) -> Letters:
        __import__(module)
        return given

    return prepare


def few(given: Letters, predict: Predict) -> dict[str, float]:
    """Accuracy on every sixteenth letter: libsvm reads slowly."""
    return {"accuracy": 100 * float((predict(given.test[::16]) == given.gold[::16]).mean())}


BENCHMARK = Benchmark(
    name="kernel_svm",
    question="How fast is an SVM with an RBF kernel trained on 4,617 letters of 26 kinds?",
    input=letters,
    work=lambda given: (float(len(given.y)), "letters"),
    ours=Contender(name="chaffinch SMO", prepare=imported("chaffinch.learners.kernel_svm"), run=fit_ours),
    rivals=(
        Contender(name="libsvm", prepare=imported("sklearn.svm"), run=fit_libsvm, package="scikit-learn"),
    ),
    scores=few,
    bar=1.0,
    needs=(LETTERS,),
    repeats=3,
)
