"""A linear SVM of short questions beside LIBLINEAR's."""

from benchmarks.labelled import TREC
from benchmarks.svm_liblinear import benchmark

BENCHMARK = benchmark(
    "svm_liblinear_trec",
    TREC,
    "coarse",
    "squared-hinge",
    "How fast is a linear SVM of TREC questions trained to an objective within a thousandth of the optimum?",
    3.0,
    repeats=15,
    fresh=False,
)
