"""Why classifiers gave their labels: features, support examples and votes that add up to the model's own scores."""

import numpy as np
import pytest

from chaffinch import Classifier, ConfigError
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.learners.kernel_perceptron import KernelPerceptron
from chaffinch.learners.nearest import NearestNeighbours
from chaffinch.model.evidence import Evidence
from chaffinch.recipes.classifiers import CLASSIFIERS

GRAMS = ["good", "bad", "tea", "cake", "so", "very", "not", "at all"]


def documents(n, seed, kinds=3):
    chance = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = [GRAMS[i] for i in chance.integers(0, len(GRAMS), chance.integers(2, 8))]
        value = words.count("good") - words.count("bad") + chance.normal(0, 0.3)
        X.append(" ".join(words))
        y.append("+" if value > 0.5 else "-" if value < -0.5 or kinds == 2 else "0")
    return X, y


MACHINES = {recipe.name: (recipe.name, {}) for recipe in CLASSIFIERS} | {
    "voted perceptron": (KernelPerceptron(hypothesis="votes"), {}),
    "weighted neighbours": (NearestNeighbours(weighted=True), {}),
    "hashed svm": ("svm", {"features": TextVectorizer(hash_bits=8)}),
    "ridge in 32 bits": ("ridge", {"bits": 32}),
}


@pytest.fixture(scope="module", params=[f"{name}, {kinds} labels" for name in MACHINES for kinds in (2, 3)])
def classifier(request):
    name, kinds = request.param.removesuffix(" labels").rsplit(", ", 1)
    recipe, options = MACHINES[name]
    return Classifier(recipe, seed=1, threads=1, **options).fit(*documents(60, 0, int(kinds)))


def added_up(one: Evidence) -> tuple[float, float]:
    return (
        one.shared + sum(c.value * c.weight for c in one.contributions),
        one.shared + sum(c.value * c.rival for c in one.contributions),
    )


def test_contributions_add_up_to_the_scores_of_a_classifier(classifier):
    for text in documents(20, 1)[0]:
        first, *further = classifier.explain(text).decisions
        scores = dict(zip(classifier.classes_, classifier._scores([text], None)[0], strict=True))
        order = sorted(scores.values(), reverse=True)
        assert first.answer == classifier.predict([text])[0]
        assert first.score == pytest.approx(scores[first.answer], abs=1e-4)
        assert first.rival_score == pytest.approx(scores[first.rival], abs=1e-4)
        assert first.rival_score == pytest.approx(order[1], abs=1e-4)
        p = dict(zip(classifier.classes_, classifier.predict_proba([text])[0], strict=True))
        assert (first.probability, first.rival_probability) == pytest.approx(
            (p[first.answer], p[first.rival])
        )
        for one in (first, *further):
            assert added_up(one) == pytest.approx((one.score, one.rival_score), abs=1e-4)


def test_a_classifier_says_why_it_did_not_give_a_certain_label(classifier):
    text = documents(1, 5)[0][0]
    answer = classifier.predict([text])[0]
    for label in classifier.classes_:
        if label == answer:
            with pytest.raises(ConfigError, match="name another label"):
                classifier.explain(text, against=label)
        else:
            one = classifier.explain(text, against=label).decisions[0]
            assert (one.answer, one.rival) == (answer, label)
            assert added_up(one) == pytest.approx((one.score, one.rival_score), abs=1e-4)
    with pytest.raises(ConfigError, match="the model has no label"):
        classifier.explain(text, against="no such")


def test_without_the_features_that_are_named_the_label_is_another(classifier):
    model = classifier.model_
    for text in documents(20, 2)[0]:
        one = classifier.explain(text).decisions[0]
        if one.without is None:
            continue
        rows = model.encoder.rows([text], None, 1)
        names = model.encoder.names_of(rows.ids, [text])
        gone = [c.name for c in one.without.features]
        keep = np.array([name not in gone for name in names])
        scores = rows.weights()[keep].astype(np.float64) @ model.w[rows.ids[keep]] + model.w[-1]
        assert model.classes[scores[: len(model.classes)].argmax()] == one.without.answer != one.answer


def test_hashed_features_are_called_by_the_words_of_the_document():
    classifier = Classifier("svm", features=TextVectorizer(hash_bits=10)).fit(*documents(60, 0))
    names = {c.name for c in classifier.explain("very good cake").decisions[0].contributions}
    assert names <= {"very", "good", "cake", "very good", "good cake", "intercept"}
    assert "good" in names


def test_each_of_several_labels_is_explained_by_itself():
    X, y = documents(80, 0)
    sets = [[label, *(["tea"] if "tea" in text else [])] for text, label in zip(X, y, strict=True)]
    classifier = Classifier("svm").fit(X, sets)
    for text in documents(20, 1)[0]:
        given = classifier.predict([text])[0]
        decisions = classifier.explain(text).decisions
        assert [one.answer for one in decisions] == given or not given
        for label in classifier.classes_:
            (one,) = classifier.explain(text, against=label).decisions
            sides = [str(label), f"not {label}"]
            assert [one.answer, one.rival] == (sides if label in given else sides[::-1])
            assert added_up(one) == pytest.approx((one.score, one.rival_score), abs=1e-4)
            assert one.margin >= 0
            p = classifier.predict_proba([text])[0][classifier.classes_.tolist().index(label)]
            assert one.probability == pytest.approx(p if label in given else 1 - p)


def test_numbers_and_what_stands_beside_texts_are_named():
    X, y = documents(40, 0)
    beside = {"stars": [float(text.count("good")) for text in X]}
    classifier = Classifier("ridge").fit(X, y, beside=beside)
    (one,) = classifier.explain("tea", beside={"stars": [3.0]}).decisions
    assert "stars" in {c.name for c in one.contributions}
    numbers = Classifier("ridge").fit(np.array([[0.0, 1.0], [1.0, 0.0]] * 5), ["a", "b"] * 5)
    (one,) = numbers.explain([0.2, 0.8]).decisions
    assert one.answer == "a"
    assert {c.name for c in one.contributions} <= {"x0", "x1", "intercept"}
