"""Crammer and Singer's margin of short questions beside LIBLINEAR's."""

from benchmarks.labelled import TREC
from benchmarks.svm_liblinear import benchmark

BENCHMARK = benchmark(
    "svm_liblinear_trec_crammer_singer",
    TREC,
    "coarse",
    "crammer-singer",
    "How fast is Crammer and Singer's margin of TREC questions trained to within a thousandth of the optimum?",
    3.0,
    repeats=15,
    fresh=False,
)
