"""Kernel SVMs beside libsvm: reading 47,535 letters with thousands of support vectors."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.kernel_svm import LETTERS, Letters, fit_libsvm, fit_ours, letters


def prepared(fit: Any) -> Any:
    return lambda given: (fit(given), given.test)


def read(machine: Any) -> Any:
    predict, X = machine
    return predict(X)


def scores(given: Letters, found: Any) -> dict[str, float]:
    return {"accuracy": 100 * float((found == given.gold).mean())}


BENCHMARK = Benchmark(
    name="kernel_svm_predict",
    question="How fast does an SVM with an RBF kernel read 47,535 letters on one thread?",
    input=letters,
    work=lambda given: (float(len(given.gold)), "letters"),
    ours=Contender(name="chaffinch", prepare=prepared(fit_ours), run=read),
    rivals=(Contender(name="libsvm", prepare=prepared(fit_libsvm), run=read, package="scikit-learn"),),
    scores=scores,
    bar=10.0,
    needs=(LETTERS,),
    repeats=2,
)
