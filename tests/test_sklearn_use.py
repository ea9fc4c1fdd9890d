"""Estimators in the hands of scikit-learn's users: pickles, processes, model selection, coefficients, plain text."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict, cross_validate

from chaffinch import Classifier, DataError, Tagger, samples, span_f1_scorer
from chaffinch.recipes.hmm import Hmm
from recipe_models import models


@pytest.fixture(scope="module")
def posts():
    documents = samples.load("posts", "train", n=60)
    return [d.words() for d in documents], [d.columns["y"] for d in documents]


@pytest.mark.parametrize("name", models())
def test_a_fitted_estimator_of_every_recipe_pickles_and_copies_as_its_file(name):
    train, use = models()[name]
    estimator = train()
    for again in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
        assert repr(again) == repr(estimator)
        assert str(use(again)) == str(use(estimator))


def test_a_pickle_holds_a_model_file_and_no_object_of_ours_but_the_estimator(posts):
    content = pickle.dumps(Tagger("hmm").fit(*posts))
    assert b"ChainModel" not in content
    assert b"TemplateEncoder" not in content


@pytest.mark.long
def test_taggers_cross_validate_in_processes_and_predict_out_of_fold(posts):
    X, y = posts
    found = cross_validate(Tagger("hmm"), X, y, cv=3, scoring=span_f1_scorer, n_jobs=2, return_estimator=True)
    assert len(found["estimator"]) == 3
    assert all(0 <= score <= 1 for score in found["test_score"])
    predicted = cross_val_predict(Tagger("hmm"), X, y, cv=3)
    assert [len(labels) for labels in predicted] == [len(words) for words in X]


def test_nothing_in_gives_nothing_out_whatever_the_columns(posts):
    tagger = Tagger("hmm").fit(*posts)
    assert tagger.predict([]) == []
    two = Tagger("crf", features=["w[0]", "pos[0]"]).fit(
        {"w": [["a", "b"]], "pos": [["x", "y"]]}, [["A", "B"]]
    )
    assert two.predict([]) == []


def test_a_repr_shows_what_differs_from_the_defaults():
    assert repr(Tagger()) == "Tagger()"
    assert repr(Tagger("hmm", seed=3)) == "Tagger('hmm', seed=3)"
    assert repr(Tagger(Hmm(order=1))) == "Tagger(Hmm(order=1))"
    assert repr(clone(Tagger(Hmm(order=1), threads=2))) == "Tagger(Hmm(order=1), threads=2)"


def test_k_asks_for_the_k_best(posts):
    X, y = posts
    tagger = Tagger("hmm").fit(X, y)
    three = tagger.predict(X[:2], k=3)
    assert [found[0] for found in three] == tagger.predict(X[:2])
    assert [len(found) for found in three] == [3, 3]
    classifier = Classifier("nb").fit(["a b", "c d", "e f"], ["x", "y", "z"])
    two = classifier.predict(["a", "f"], k=2)
    assert two.shape == (2, 2)
    assert two[:, 0].tolist() == classifier.predict(["a", "f"]).tolist()


@pytest.mark.parametrize("labels", [["x", "y"], ["x", "y", "z"]])
def test_coefficients_are_those_that_decide(labels):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)).astype(np.float32), [labels[i % len(labels)] for i in range(60)]
    classifier = Classifier("logistic").fit(X, y)
    assert classifier.coef_.shape == (1 if len(labels) == 2 else len(labels), 4)
    scores = classifier.decision_function(X)
    ours = X @ classifier.coef_.T + classifier.intercept_
    np.testing.assert_allclose(ours.reshape(scores.shape), scores, atol=1e-4)
    assert classifier.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]


def test_plain_text_goes_in_and_spans_with_character_offsets_come_out(posts):
    tagger = Tagger().fit(*posts)
    text = " ".join(posts[0][0])
    for found in tagger.spans(text):
        assert text[found.start : found.end] == found.text
        assert 0 <= found.probability <= 1
    assert tagger.spans("") == []


def test_a_tagger_of_further_columns_says_what_plain_text_lacks():
    tagger = Tagger("crf", features=["w[0]", "pos[0]"]).fit(
        {"w": [["a", "b"]], "pos": [["x", "y"]]}, [["A", "B"]]
    )
    with pytest.raises(DataError, match="plain text has only words"):
        tagger.spans("a b")
