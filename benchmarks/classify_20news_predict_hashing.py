"""Raw posts to labels, beside fastText."""

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.classify_20news import ours, posts
from benchmarks.classify_20news_hashing import fasttext
from benchmarks.classify_20news_predict import predict, trained
from benchmarks.labelled import NEWS, accuracy

BENCHMARK = Benchmark(
    name="classify_20news_predict_hashing",
    question="How fast do 7,532 raw posts get their labels, beside fastText?",
    input=posts,
    work=lambda given: (float(len(given[1][0])), "posts"),
    ours=Contender(name="chaffinch", prepare=trained(ours("words")), run=predict),
    rivals=(Contender(name="fastText", prepare=trained(fasttext), run=predict, package="fasttext-wheel"),),
    scores=lambda given, labels: {"accuracy": accuracy(labels, given[1][1])},
    bar=5.0,
    clock="wall",
    needs=NEWS,
    repeats=3,
)
