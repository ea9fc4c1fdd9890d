"""Questions by the kind of answer they ask for: six coarse classes, with and without word clusters."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.classify_sst5 import fit, scores
from benchmarks.corpora import corpus
from benchmarks.labelled import TREC, Split, texts

THREADS = 2


def questions(seed: int) -> tuple[Split, Split, int]:
    return texts(TREC[0], "coarse"), texts(TREC[1], "coarse"), seed


def ours(given: tuple[Split, Split, int]) -> tuple[Any, Split]:
    from chaffinch import Classifier
    from chaffinch.recipes.text_features import TextFeatures

    features = TextFeatures.named("questions").with_clusters(corpus(TREC[2]))
    return Classifier("ridge", features=features, calibrate=False, seed=given[2], threads=THREADS), given[0]


def plain(given: tuple[Split, Split, int]) -> tuple[Any, Split]:
    from chaffinch import Classifier

    return Classifier("ridge", features="questions", calibrate=False, seed=given[2], threads=THREADS), given[
        0
    ]


def sklearn_svm(given: tuple[Split, Split, int]) -> tuple[Any, Split]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
    return make_pipeline(words, LinearSVC(random_state=given[2])), given[0]


BENCHMARK = Benchmark(
    name="classify_trec",
    question="How accurately are questions classified by the kind of answer they ask for?",
    input=questions,
    work=lambda given: (float(len(given[0][0])), "questions"),
    ours=Contender(name="with clusters", prepare=ours, run=fit),
    rivals=(
        Contender(name="without clusters", prepare=plain, run=fit),
        Contender(name="scikit-learn SVM", prepare=sklearn_svm, run=fit, package="scikit-learn"),
    ),
    scores=scores,
    clock="wall",
    needs=TREC,
    repeats=3,
)
