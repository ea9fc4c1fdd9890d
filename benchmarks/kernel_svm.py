"""Kernel SVMs beside libsvm: training on a tenth of the OCR letters, each letter alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

LETTERS = "ocr_letters/letters.npz"
C = 5.0
Predict = Callable[[Any], Any]


@dataclass(frozen=True)
class Letters:
    """Fold 0 to learn from, the other nine to be read."""

    X: Any
    y: Any
    test: Any
    gold: Any


def letters(_seed: int) -> Letters:
    held = np.load(corpus(LETTERS))
    pixels, y = held["pixels"].astype(np.float32), held["labels"].astype(np.int32)
    first = np.repeat(held["fold"], np.diff(held["word_offsets"])) == 0
    return Letters(pixels[first], y[first], pixels[~first], y[~first])


def fit_ours(given: Letters) -> Predict:
    from chaffinch.kernels import Rbf
    from chaffinch.learners.kernel_problem import KernelProblem
    from chaffinch.learners.kernel_svm import KernelSvm

    kernel = Rbf().settled(given.X)
    problem = KernelProblem(kernel, kernel.prepared(given.X), given.y, 26, np.ones(len(given.y)), threads=1)
    machine = KernelSvm(C=C).fit(problem)
    return lambda X: machine.scorer.scores(X, 1).argmax(axis=1)


def fit_libsvm(given: Letters) -> Predict:
    from sklearn.svm import SVC

    return SVC(C=C, cache_size=1024).fit(given.X, given.y).predict


def imported(module: str) -> Callable[[Letters], Letters]:
    """Set-up that is not the work."""

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
