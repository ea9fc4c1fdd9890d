"""Raw posts to a trained classifier: 20 newsgroups by date, headers kept, words and word pairs."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.labelled import NEWS, Split, accuracy, saved_mb, texts

THREADS = 2


def posts(seed: int) -> tuple[Split, Split, int]:
    """Training and test posts, in the order of the file, which is sorted by class."""
    return texts(NEWS[0]), texts(NEWS[1]), seed


def ours(features: str, **options: Any) -> Any:
    """A preparation: our classifier with these features."""

    def prepare(given: tuple[Split, Split, int]) -> tuple[Any, Split]:
        from chaffinch import Classifier

        return Classifier(
            "ridge", features=features, calibrate=False, seed=given[2], threads=THREADS, **options
        ), given[0]

    return prepare


def sklearn_sgd(given: tuple[Split, Split, int]) -> tuple[Any, Split]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    return make_pipeline(vectorizer, SGDClassifier(n_jobs=THREADS, random_state=given[2])), given[0]


def fit(prepared: tuple[Any, Split]) -> Any:
    model, (documents, labels) = prepared
    return model.fit(documents, labels)


def scores(given: tuple[Split, Split, int], model: Any) -> dict[str, float]:
    documents, labels = given[1]
    return {"accuracy": accuracy(model.predict(documents), labels), "model_mb": saved_mb(model)}


BENCHMARK = Benchmark(
    name="classify_20news",
    question="How fast do 11,314 posts become a classifier, and how good and how large is it?",
    input=posts,
    work=lambda given: (float(len(given[0][0])), "posts"),
    ours=Contender(name="chaffinch", prepare=ours("words"), run=fit),
    rivals=(Contender(name="scikit-learn SGD", prepare=sklearn_sgd, run=fit, package="scikit-learn"),),
    scores=scores,
    bar=10.0,
    clock="wall",
    needs=NEWS,
    repeats=3,
)
