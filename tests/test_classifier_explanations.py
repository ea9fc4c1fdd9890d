"""Why classifiers gave their labels: features, support examples and votes that add up to the model's own scores."""

from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import Classifier, ConfigError
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.kernels import Spectrum
from chaffinch.learners.kernel_choice import NearestNeighbours
from chaffinch.learners.kernel_perceptron import KernelPerceptron
from chaffinch.model.choice_evidence import ScoredDocument
from chaffinch.model.evidence import Question, Seen
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.trust.explain import Evidence, explain

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
    for text in documents(10, 1)[0]:
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
    for text in documents(10, 1)[0]:
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


def test_a_row_of_a_sparse_matrix_is_a_document():
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.csr_matrix(np.array([[0.0, 1.0], [1.0, 0.0]] * 5))
    classifier = Classifier("ridge").fit(X, ["a", "b"] * 5)
    assert classifier.explain(X[1]).answer == "b"


def test_texts_that_a_kernel_compares_as_they_are_show_its_support():
    classifier = Classifier("kernel-svm", kernel=Spectrum(low=2, high=3).normalised()).fit(*documents(40, 0))
    (first, alone) = classifier.explain("good good tea").decisions
    assert alone.subject == f"{first.answer} against {first.rival} alone"
    assert all(c.kind in ("example", "constant") for c in alone.contributions)
    assert added_up(alone) == pytest.approx((alone.score, alone.rival_score), abs=1e-4)


def test_votes_that_both_labels_have_tell_nothing():
    chance = np.random.default_rng(0)
    centres = chance.normal(size=(6, 2)) * 3
    y = np.arange(240) % 6
    classifier = Classifier("kernel-svm").fit(centres[y] + chance.normal(size=(240, 2)), [f"c{k}" for k in y])
    for x in chance.normal(size=(20, 2)) * 3:
        votes = classifier.explain(x).decisions[0]
        assert added_up(votes) == pytest.approx((votes.score, votes.rival_score))
        for c in votes.contributions:
            if c.name.startswith("both beat"):
                assert c.difference == 0
            elif " beats " in c.name:
                assert c.difference == (1 if c.name.startswith(f"{votes.answer} beats") else -1)
        between = [c for c in votes.contributions if {votes.answer, votes.rival} <= set(c.name.split()[:3])]
        assert len(between) == 1


numbers = st.integers(-16, 16).map(lambda n: n / 8)


@st.composite
def choices(draw):
    """Features of a document: values, weights and intercepts that add up exactly."""
    n, Y = draw(st.integers(0, 6)), draw(st.integers(2, 4))

    def array(*shape):
        size = int(np.prod(shape))
        return np.array(draw(st.lists(numbers, min_size=size, max_size=size))).reshape(shape)

    return array(n), array(n, Y), array(Y)


@given(choices(), numbers)
def test_what_has_to_go_is_enough_and_one_less_is_not(choice, bar):
    values, weights, intercepts = choice
    names, labels = [(f"f{k}", Seen()) for k in range(len(values))], [f"y{k}" for k in range(len(intercepts))]
    scores = values @ weights + intercepts
    p = np.full(len(labels), 0.5)
    x = ScoredDocument(names, values, weights, intercepts, scores, p, labels)
    (one,) = explain(x.choice(Question()), Question())
    assert added_up(one) == pytest.approx((one.score, one.rival_score))
    if one.without is not None:
        gone = [int(c.name[1:]) for c in one.without.features]
        answers = [
            labels[(np.delete(values, gone[:k]) @ np.delete(weights, gone[:k], axis=0) + intercepts).argmax()]
            for k in range(len(gone) + 1)
        ]
        assert answers[-1] == one.without.answer
        assert set(answers[:-1]) == {one.answer}
    for label in labels:
        (asked,) = x.several(Question(against=label), bar)
        (one,) = explain(asked, Question())
        assert added_up(one) == pytest.approx((one.score, one.rival_score))
        y = labels.index(label)
        assert one.answer == (label if scores[y] >= bar else f"not {label}")
        if one.without is not None:
            gone = [int(c.name[1:]) for c in one.without.features]
            assert set(one.without.features) <= set(one.contributions)
            left = np.delete(values, gone) @ np.delete(weights[:, y], gone) + intercepts[y]
            assert (left >= bar) != (scores[y] >= bar)


def test_words_that_features_see_as_stems_are_coloured():
    texts, labels = ["happily singing", "sang happily", "crying badly", "cries"] * 3, ["+", "+", "-", "-"] * 3
    classifier = Classifier("svm", features=TextVectorizer(stemming="stem", ngram_high=1)).fit(texts, labels)
    page = str(classifier.explain("Happily crying").html())
    assert [word in page for word in (">Happily</span>", ">crying</span>")] == [True, True]


def test_a_page_of_a_long_text_is_made_at_once():
    words = [f"w{n % 997}" for n in range(20_000)]
    classifier = Classifier("nb").fit([" ".join(words[:900]), "other words"], ["+", "-"])
    started = process_time()
    page = str(classifier.explain(" ".join(words)).html())
    assert process_time() - started < 5
    assert page.count("color-mix") > 900
