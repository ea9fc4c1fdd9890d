"""The hinge loss on short questions beside LIBLINEAR's."""

from benchmarks.labelled import TREC
from benchmarks.svm_liblinear import benchmark

BENCHMARK = benchmark(
    "svm_liblinear_trec_hinge",
    TREC,
    "coarse",
    "hinge",
    "How fast is a linear SVM of TREC questions with the hinge loss trained to within a thousandth of the optimum?",
    3.0,
    repeats=15,
    fresh=False,
)
