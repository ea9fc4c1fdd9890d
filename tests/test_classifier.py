"""The classifier as users hold it: texts, numbers, several labels, instalments, files, scikit-learn."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

import chaffinch
from chaffinch import Classifier, ConfigError, DataError, ModelFileError, samples
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.learners.choice_gradient import ChoiceSgd
from chaffinch.learners.dual import DualRest
from chaffinch.learners.kernel_perceptron import KernelPerceptron
from chaffinch.recipes.classifiers import CLASSIFIERS


@pytest.fixture(scope="module")
def reviews():
    parts = [samples.load("reviews", split, n=500) for split in ("train", "test")]
    return [one for part in parts for one in ([d.text for d in part], [d.labels[0] for d in part])]


RECIPES = [r.name for r in CLASSIFIERS]
QUICK = {
    "kernel-perceptron": KernelPerceptron(epochs=4)
}  # whose default takes seconds in tests that train it often


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_learns_reviews_and_survives_its_file(recipe, reviews, tmp_path):
    texts, y, new, gold = reviews
    config = ChoiceSgd(rate=0.5, epochs=20) if recipe == "loglinear" else recipe
    classifier = Classifier(config).fit(texts, y)
    most = max(gold.count(label) for label in set(gold)) / len(gold)
    assert classifier.score(new, gold) > most + 0.05
    p = classifier.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (classifier.classes_[p.argmax(axis=1)] == classifier.predict(new)).all()
    classifier.save(tmp_path / "m.chaff")
    again = chaffinch.load(tmp_path / "m.chaff")
    np.testing.assert_array_equal(again.decision_function(new), classifier.decision_function(new))
    np.testing.assert_array_equal(again.predict_proba(new), p)
    assert again.classes_.tolist() == classifier.classes_.tolist()


@pytest.mark.parametrize("recipe", ["ridge", "svm", "crammer-singer", "logistic", "nb"])
def test_the_order_of_classes_in_the_data_does_not_matter_much(recipe, reviews):
    texts, y, new, gold = reviews
    by_class = sorted(range(len(y)), key=lambda n: y[n])
    shuffled = Classifier(recipe).fit(texts, y).score(new, gold)
    in_order = Classifier(recipe).fit([texts[n] for n in by_class], [y[n] for n in by_class]).score(new, gold)
    assert in_order == pytest.approx(shuffled, abs=0.03)


def test_the_file_has_the_same_bytes_for_any_number_of_threads(reviews, tmp_path):
    texts, y, _, _ = reviews
    for threads in (1, 2, 3):
        Classifier(threads=threads).fit(texts, y).save(tmp_path / f"{threads}.chaff")
    first, *others = [(tmp_path / f"{t}.chaff").read_bytes() for t in (1, 2, 3)]
    assert all(first == other for other in others)


def test_a_fitted_classifier_can_be_pickled(reviews):
    texts, y, new, _ = reviews
    classifier = Classifier().fit(texts, y)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict_proba(new), classifier.predict_proba(new))


def test_instalments_of_naive_bayes_add_up_to_the_whole(reviews):
    texts, y, new, _ = reviews
    features = TextVectorizer(hash_bits=14)
    whole = Classifier("nb", features=features).fit(texts, y)
    parts = Classifier("nb", features=features)
    for start in range(0, len(texts), 50):
        parts.partial_fit(texts[start : start + 50], y[start : start + 50], classes=sorted(set(y)))
    np.testing.assert_allclose(
        parts.decision_function(new), whole.decision_function(new), rtol=1e-4, atol=1e-3
    )


def test_instalments_of_gradient_steps_go_on_from_where_they_were(reviews):
    texts, y, *_ = reviews
    classifier = Classifier(ChoiceSgd(rate=0.5))
    with pytest.raises(DataError, match="classes must be passed"):
        classifier.partial_fit(texts, y)
    scores = [classifier.partial_fit(texts, y, classes=sorted(set(y))).score(texts, y) for _ in range(8)]
    assert scores[-1] > scores[0]
    assert not hasattr(Classifier("svm"), "partial_fit")


def test_several_labels_per_document_are_given_by_threshold(tmp_path):
    texts = ["red", "blue", "red blue", "green", "green red", "blue green"] * 20
    y = [t.split() for t in texts]
    for config in (DualRest(C=10.0), ChoiceSgd(loss="labels", rate=1.0, epochs=50)):
        classifier = Classifier(config).fit(texts, y)
        assert classifier.predict(["blue green", "red"]) == [["blue", "green"], ["red"]]
        assert classifier.score(texts, y) == 1.0
        classifier.save(tmp_path / "m.chaff")
        assert chaffinch.load(tmp_path / "m.chaff").predict(["blue"]) == [["blue"]]
    with pytest.raises(ConfigError, match="one label per document"):
        Classifier("crammer-singer").fit(texts, y)


def test_soft_targets_are_learnt_as_probabilities():
    texts = ["tea"] * 100 + ["cake"] * 100
    y = [{"yes": 0.8, "no": 0.2}] * 100 + [{"yes": 0.1, "no": 0.9}] * 100
    classifier = Classifier(replace(CLASSIFIERS.by_name("logistic").config(), C=100.0, tolerance=1e-5)).fit(
        texts, y
    )
    np.testing.assert_allclose(classifier.predict_proba(["tea", "cake"])[:, 1], [0.8, 0.1], atol=0.02)


def test_numbers_beside_the_text_are_features_too():
    texts, numbers = ["same words"] * 40, [[float(n % 2)] for n in range(40)]
    classifier = Classifier("svm").fit(texts, [n % 2 for n in range(40)], beside=np.array(numbers))
    assert classifier.predict(["same words"] * 2, beside=np.array([[0.0], [1.0]])).tolist() == [0, 1]
    with pytest.raises(DataError, match="columns beside the text"):
        classifier.predict(texts)


@pytest.mark.parametrize("weight", [np.inf, np.nan, -1.0, 1e300])
def test_class_weights_that_are_no_weights_are_refused(weight):
    with pytest.raises(ConfigError, match="finite and not negative"):
        Classifier("logistic", class_weight={"a": weight}).fit(["x", "y"], ["a", "b"])


def test_class_weights_move_decisions_towards_the_heavier_class():
    texts = ["x a"] * 9 + ["x b"]
    y = ["many"] * 9 + ["few"]
    plain = Classifier("logistic").fit(texts, y).predict_proba(["x"])[0, 0]
    heavy = Classifier("logistic", class_weight="balanced").fit(texts, y).predict_proba(["x"])[0, 0]
    assert heavy > plain


def test_probabilities_of_margins_are_honest(reviews):
    texts, y, new, gold = reviews
    for recipe in ("ridge", "crammer-singer"):
        classifier = Classifier(recipe).fit(texts, y)
        sure = classifier.predict_proba(new).max(axis=1).mean()
        assert sure == pytest.approx(classifier.score(new, gold), abs=0.15)


def test_labels_keep_their_kind_through_a_file(tmp_path):
    for y in ([3, 5] * 5, ["a", "b"] * 5, [True, False] * 5):
        Classifier().fit(["p", "q"] * 5, y).save(tmp_path / "m.chaff")
        assert chaffinch.load(tmp_path / "m.chaff").predict(["p", "q"]).tolist() == y[:2]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (["a"], ["x", "y"], "each of 1 documents, got 2"),
        (["a", 3], ["x", "y"], "document 2 is int"),
        (["a", "b"], [0.5, 1.5], "Unknown label type"),
        ([[1.0], [2.0]], None, "requires y"),
        ([1.0, 2.0], ["x", "y"], "2D array"),
        (["a", "b"], [{"x": 0.5}, {"x": 1.0}], "document 1: the shares"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused_with_a_reason(X, y, message):
    with pytest.raises(DataError, match=message):
        Classifier().fit(X, y)


def test_a_damaged_table_of_weights_is_refused(tmp_path):
    classifier = Classifier(bits=32).fit(["a", "b"] * 5, ["x", "y"] * 5)
    model = classifier.model_
    object.__setattr__(model, "w", model.w[:-1])
    classifier.save(tmp_path / "m.chaff")
    with pytest.raises(ModelFileError, match="weights"):
        chaffinch.load(tmp_path / "m.chaff")


# A thousand for one class and a ten-thousandth for the others: steps of one document at a time get there, but not
# in the few passes that are the default.
SLOW = {"check_class_weight_classifiers": "class weights seven orders of magnitude apart"}
# Two checks give negative numbers to an estimator whose tag says that it takes none.
COUNTS = {
    "check_class_weight_classifiers": "negative numbers",
    "check_decision_proba_consistency": "negative numbers",
}
EXPECTED = {"logistic": SLOW, "loglinear": SLOW, "perceptron": SLOW, "nb": COUNTS, "complement-nb": COUNTS}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Estimator Classifier does not inherit")
@pytest.mark.parametrize("recipe", RECIPES)
def test_scikit_learns_checks_hold(recipe):
    classifier = Classifier(QUICK.get(recipe, recipe))
    expected = EXPECTED.get(recipe, {})
    for found in check_estimator(classifier, on_fail=None, on_skip=None, expected_failed_checks=expected):
        if found["check_name"] not in expected:
            assert found["status"] in ("passed", "skipped"), (found["check_name"], found["exception"])


def test_texts_go_through_pipelines_searches_and_calibration(reviews):
    texts, y, new, gold = reviews
    search = GridSearchCV(
        Pipeline([("classifier", Classifier())]), {"classifier__recipe__C": [0.1, 1.0]}, cv=2
    ).fit(texts, y)
    assert search.best_params_["classifier__recipe__C"] in (0.1, 1.0)
    calibrated = CalibratedClassifierCV(Classifier(), cv=2).fit(texts, y)
    assert (calibrated.predict(new) == np.array(gold)).mean() > 0.4


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_is_searched_piped_and_cloned_over_texts(recipe, reviews):
    texts, y, new, gold = reviews
    config = QUICK.get(recipe, recipe)
    pipeline = Pipeline([("classifier", Classifier(config, features="tf-idf"))])
    search = GridSearchCV(pipeline, {"classifier__features": ["counts", "tf-idf"]}, cv=2).fit(texts, y)
    assert search.best_params_["classifier__features"] in ("counts", "tf-idf")
    assert search.score(new, gold) == pytest.approx((search.predict(new) == np.array(gold)).mean())
    assert clone(pipeline).get_params()["classifier__recipe"] == config
    calibrated = CalibratedClassifierCV(Classifier(config), cv=2).fit(texts, y)
    np.testing.assert_allclose(calibrated.predict_proba(new).sum(axis=1), 1.0)


def test_features_that_hardly_weigh_can_be_dropped(reviews, tmp_path):
    texts, y, new, gold = reviews
    whole, small = Classifier(bits=32, smallest=0.0).fit(texts, y), Classifier(smallest=0.05).fit(texts, y)
    assert small.model_.encoder.n_features < whole.model_.encoder.n_features
    assert small.score(new, gold) == pytest.approx(whole.score(new, gold), abs=0.03)
    whole.save(tmp_path / "whole.chaff")
    small.save(tmp_path / "small.chaff")
    assert (tmp_path / "small.chaff").stat().st_size < 0.7 * (tmp_path / "whole.chaff").stat().st_size


@pytest.mark.parametrize("recipe", ["ridge", "svm", "crammer-singer", "logistic", "loglinear", "perceptron"])
def test_documents_sorted_by_label_are_learnt_as_well_as_shuffled_ones(recipe):
    train, test = (samples.load("reviews", split, n=400) for split in ("train", "test"))
    in_order = sorted(train, key=lambda d: d.labels[0])
    right = [
        Classifier(recipe)
        .fit([d.text for d in given], [d.labels[0] for d in given])
        .score([d.text for d in test], [d.labels[0] for d in test])
        for given in (train, in_order)
    ]
    assert right[1] > right[0] - 0.05
