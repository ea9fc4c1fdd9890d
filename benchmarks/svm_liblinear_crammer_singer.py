"""Crammer and Singer's margin beside LIBLINEAR's."""

from benchmarks.labelled import NEWS
from benchmarks.svm_liblinear import benchmark

BENCHMARK = benchmark(
    "svm_liblinear_crammer_singer",
    NEWS,
    "label",
    "crammer-singer",
    "How fast is Crammer and Singer's margin of 20 newsgroups trained to within a thousandth of the optimum?",
    3.0,
)
