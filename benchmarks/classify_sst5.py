"""Movie reviews, five classes: sentence labels alone, and with the labels of phrases as valences."""

import math
from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus
from benchmarks.labelled import SST5, Split, accuracy, texts

THREADS = 2
# Decay of a label's share per step on the scale, chosen by cross-validation on the training and dev split.
SOFTNESS = 0.7


class Ordinal:
    """A classifier of labels on a scale: neighbours of the gold label get a share of it."""

    def __init__(self, seed: int) -> None:
        from chaffinch import Classifier
        from chaffinch.learners.dual import DualLogistic

        self.inner = Classifier(
            DualLogistic(C=1.0, epochs=8), features="sentences", calibrate=False, seed=seed, threads=THREADS
        )

    def fit(self, documents: list[str], labels: list[str]) -> "Ordinal":
        self.inner.fit(documents, [_shares(int(label)) for label in labels])
        return self

    def predict(self, documents: list[str]) -> Any:
        return self.inner.predict(documents)


def with_phrases(given: tuple[Split, Split, int]) -> tuple[Any, Split]:
    """Logistic regression over n-grams and the valences that labels of phrases give them."""
    from chaffinch import Classifier
    from chaffinch.learners.dual import DualLogistic
    from chaffinch.recipes.text_features import TextFeatures

    features = TextFeatures.named("sentences").with_phrases(corpus(SST5[2]))
    learner = DualLogistic(C=0.16, epochs=8, tolerance=1e-4)
    return Classifier(learner, features=features, calibrate=False, seed=given[2], threads=THREADS), given[0]


def reviews(seed: int) -> tuple[Split, Split, int]:
    return texts(SST5[0]), texts(SST5[1]), seed


def sklearn_svm(given: tuple[Split, Split, int]) -> tuple[Any, Split]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
    characters = TfidfVectorizer(analyzer="char", ngram_range=(2, 6), sublinear_tf=True)
    union = make_union(words, characters)
    return make_pipeline(union, LinearSVC(C=0.1, random_state=given[2])), given[0]


def prepared(kind: Any) -> Any:
    return lambda given: (kind(given[2]), given[0])


def fit(given: tuple[Any, Split]) -> Any:
    model, (documents, labels) = given
    return model.fit(documents, labels)


def scores(given: tuple[Split, Split, int], model: Any) -> dict[str, float]:
    documents, labels = given[1]
    return {"accuracy": accuracy(model.predict(documents), labels)}


def _shares(gold: int) -> dict[str, float]:
    weights = {str(y): math.exp(-abs(y - gold) / SOFTNESS) for y in range(5)}
    total = sum(weights.values())
    return {label: weight / total for label, weight in weights.items()}


BENCHMARK = Benchmark(
    name="classify_sst5",
    question="How accurately are five degrees of opinion classified, with labels of sentences alone and of phrases?",
    input=reviews,
    work=lambda given: (float(len(given[0][0])), "sentences"),
    ours=Contender(name="sentences", prepare=prepared(Ordinal), run=fit),
    rivals=(
        Contender(name="scikit-learn SVM", prepare=sklearn_svm, run=fit, package="scikit-learn"),
        Contender(name="with phrases", prepare=with_phrases, run=fit),
    ),
    scores=scores,
    clock="wall",
    needs=SST5,
    repeats=3,
)
