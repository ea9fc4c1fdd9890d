"""Words and characters on 20 newsgroups: accuracy and cost; and with every feature kept."""

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.classify_20news import fit, ours, posts, scores
from benchmarks.labelled import NEWS

BENCHMARK = Benchmark(
    name="classify_20news_characters",
    question="What do characters beside words add on 20 newsgroups, and what does leaving out small weights cost?",
    input=posts,
    work=lambda given: (float(len(given[0][0])), "posts"),
    ours=Contender(name="words", prepare=ours("words"), run=fit),
    rivals=(
        Contender(name="words, every feature", prepare=ours("words", smallest=0.0), run=fit),
        Contender(name="more-words", prepare=ours("more-words"), run=fit),
        Contender(name="mail", prepare=ours("mail"), run=fit),
        Contender(name="mail+characters", prepare=ours("mail+characters"), run=fit),
    ),
    scores=scores,
    clock="wall",
    needs=NEWS,
    repeats=1,
)
