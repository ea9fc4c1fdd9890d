"""Text pipelines of scikit-learn read from memory: their labels, their scores, and refusals by name."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import murmurhash3_32

import chaffinch
from chaffinch import samples
from chaffinch.errors import ConfigError
from chaffinch.features.signed_hash import murmur3, signed_columns

TWO = ("0", "4")
ODD = ["", "?!", "Ünïcode  tea\n\tand ein Über-Wort", "a b c", "the the the", "İstanbul ǅ"]


def data(kind: str) -> tuple[list[str], list[Any]]:
    documents = samples.load("reviews", "train", n=200)
    pairs = [(d.text, d.labels[0]) for d in documents if kind != "two" or d.labels[0] in TWO]
    texts = [text for text, _ in pairs]
    return texts, [int(label) if kind == "numbers" else f"L{label}" for _, label in pairs]


VECTORISERS = {
    "counts": [CountVectorizer()],
    "tf-idf": [TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))],
    "stop words": [TfidfVectorizer(stop_words="english", ngram_range=(1, 3))],
    "own stop words": [CountVectorizer(stop_words=["the", "and"], ngram_range=(2, 2))],
    "single letters": [CountVectorizer(token_pattern=r"(?u)\b\w+\b", lowercase=False)],
    "transformer": [CountVectorizer(binary=True), TfidfTransformer(norm="l1")],
    "without idf": [TfidfVectorizer(use_idf=False)],
    "characters": [TfidfVectorizer(analyzer="char", ngram_range=(1, 4))],
    "characters in words": [CountVectorizer(analyzer="char_wb", ngram_range=(3, 5), max_features=3000)],
    "hashed": [HashingVectorizer(n_features=2**12, ngram_range=(1, 2), stop_words="english")],
    "hashed characters": [
        HashingVectorizer(n_features=2**10, analyzer="char_wb", ngram_range=(2, 3), norm=None)
    ],
}
CLASSIFIERS = {
    "logistic": LogisticRegression(C=10),
    "svm": LinearSVC(),
    "sgd": SGDClassifier(random_state=0, max_iter=20, tol=None),
    "sgd log": SGDClassifier(loss="log_loss", random_state=0, max_iter=20, tol=None),
    "sgd huber": SGDClassifier(loss="modified_huber", random_state=0, max_iter=20, tol=None),
    "ridge": RidgeClassifier(),
    "nb": MultinomialNB(),
    "complement": ComplementNB(),
}


def check(pipeline: Any, texts: list[str], labels: list[Any], tmp_path: Path) -> None:
    pipeline.fit(texts, labels)
    made = chaffinch.load(pipeline)
    asked = [*texts, *ODD]
    expected = pipeline.predict(asked).tolist()
    assert made.predict(asked).tolist() == expected
    last = pipeline.steps[-1][1]
    if hasattr(last, "decision_function"):
        theirs = pipeline.decision_function(asked)
        assert np.allclose(made.decision_function(asked), theirs, atol=1e-4, rtol=1e-4)
    if hasattr(last, "predict_proba"):
        assert np.allclose(made.predict_proba(asked), pipeline.predict_proba(asked), atol=1e-4)
    made.save(tmp_path / "m.chaff")
    loaded = chaffinch.load(tmp_path / "m.chaff")
    for other in (loaded, pickle.loads(pickle.dumps(loaded))):
        assert other.predict(asked).tolist() == expected
        assert other.classes_.tolist() == last.classes_.tolist()


@pytest.mark.parametrize("name", VECTORISERS)
def test_every_vectoriser_gives_the_same_answers(name: str, tmp_path: Path) -> None:
    texts, labels = data("strings")
    check(make_pipeline(*VECTORISERS[name], RidgeClassifier()), texts, labels, tmp_path)


@pytest.mark.parametrize("kind", ["strings", "two", "numbers"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_gives_the_same_answers(name: str, kind: str, tmp_path: Path) -> None:
    texts, labels = data(kind)
    check(make_pipeline(TfidfVectorizer(), CLASSIFIERS[name]), texts, labels, tmp_path)


def test_contributions_add_up_and_have_names() -> None:
    texts, labels = data("strings")
    pipeline = make_pipeline(TfidfVectorizer(stop_words="english", ngram_range=(1, 2)), LinearSVC())
    made = chaffinch.load(pipeline.fit(texts, labels))
    (one,) = made.explain(texts[0]).decisions
    scores = dict(zip(made.classes_, pipeline.decision_function(texts[:1])[0], strict=True))
    total = sum(c.difference for c in one.contributions)
    assert total == pytest.approx(scores[one.answer] - scores[one.rival], abs=1e-4)
    assert {c.name for c in one.contributions} & set(pipeline[0].get_feature_names_out())


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (make_pipeline(CountVectorizer(strip_accents="unicode"), LinearSVC()), "strip_accents='unicode'"),
        (make_pipeline(CountVectorizer(token_pattern=r"[a-z]+"), LinearSVC()), "token_pattern="),
        (make_pipeline(CountVectorizer(tokenizer=str.split, token_pattern=None), LinearSVC()), "tokenizer="),
        (make_pipeline(CountVectorizer(preprocessor=str.upper), LinearSVC()), "preprocessor="),
        (make_pipeline(CountVectorizer(analyzer=str.split), LinearSVC()), "analyzer="),
        (make_pipeline(CountVectorizer(), BernoulliNB()), "the classifier BernoulliNB is not read"),
        (make_pipeline(CountVectorizer(), TruncatedSVD(2), LinearSVC()), "because of TruncatedSVD"),
        (make_pipeline(HashingVectorizer(n_features=1000), LinearSVC()), "n_features=1000"),
    ],
)
def test_what_cannot_be_reproduced_is_refused_by_name(pipeline: Any, message: str) -> None:
    pipeline.fit(["good tea", "bad tea", "fine tea"], ["a", "b", "a"])
    with pytest.raises(ConfigError, match=message):
        chaffinch.load(pipeline)


def test_hashes_and_columns_are_scikit_learns() -> None:
    names = ["", "a", "tea", "teas", "good tea", "Ünï", "日本語のお茶", "x" * 37]
    assert murmur3(names).tolist() == [murmurhash3_32(name.encode(), 0, positive=True) for name in names]
    columns, signs = signed_columns(names, 64)
    for name, column, sign in zip(names, columns.tolist(), signs.tolist(), strict=True):
        row = (
            HashingVectorizer(n_features=64, analyzer=lambda x: [x], norm=None).transform([name]).toarray()[0]
        )
        assert row[column] == sign
