"""The hinge loss beside LIBLINEAR's."""

from benchmarks.labelled import NEWS
from benchmarks.svm_liblinear import benchmark

BENCHMARK = benchmark(
    "svm_liblinear_hinge",
    NEWS,
    "label",
    "hinge",
    "How fast is a linear SVM with the hinge loss trained to an objective within a thousandth of the optimum?",
    3.0,
)
