"""The same with two threads, by the wall clock; python-crfsuite has one."""

from benchmarks.perceptron_tagging import benchmark

BENCHMARK = benchmark(
    "perceptron_tagging_two",
    "Lists of strings to a perceptron's labels, two threads: how fast?",
    2,
    20.0,
    "wall",
)
