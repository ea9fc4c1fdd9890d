"""Probabilities of taggers mean what they say: calibrated out of fold, for every recipe that gives any."""

import numpy as np
import pytest

from chaffinch import ConfigError, Tagger, load, samples
from chaffinch.evaluate.reliability import reliability
from chaffinch.kinds.tags.prediction import sureness
from chaffinch.recipes import TAGGERS, calibration
from chaffinch.recipes.calibration import decision_probabilities
from chaffinch.recipes.crf import Crf
from chaffinch.recipes.hmm import Hmm
from chaffinch.serve.tag_probabilities import honest_marginals
from chaffinch.text.document import LABEL
from chaffinch.text.schemes import spans
from chaffinch.text.table import TokenTable
from chaffinch.trust.confidence import with_decisions


def table(name, part, n):
    return TokenTable.from_documents(samples.load(name, part, n=n))


@pytest.fixture(scope="module")
def posts():
    return table("posts", "train", 1500), table("posts", "test", 2500)


@pytest.fixture(scope="module")
def honest(posts):
    """The default tagger, calibrated."""
    return Tagger().fit(posts[0])


@pytest.fixture(scope="module")
def honest_spans(posts, honest):
    """What the default tagger finds in the test part."""
    return honest.predict_spans(posts[1])


def judged(predicted, test):
    """Confidence of each predicted span, and whether gold has it."""
    p, right = [], []
    for found, gold in zip(predicted, test.lists(LABEL), strict=True):
        true = {(s.start, s.end, s.label) for s in spans(gold, "BIO")}
        p += [s.probability for s in found]
        right += [(s.start, s.end, s.label) in true for s in found]
    return np.array(p), np.array(right)


def test_spans_of_the_default_tagger_are_as_often_right_as_it_says(posts, honest, honest_spans):
    train, test = posts
    raw = Tagger(folds=0).fit(train)
    assert honest.predict(test) == raw.predict(test)  # calibration changes no answer
    before, after = (
        reliability(*judged(predicted, test)).error for predicted in (raw.predict_spans(test), honest_spans)
    )
    assert before > 0.2
    assert after < 0.05


@pytest.mark.long
@pytest.mark.parametrize(
    "recipe", ["crf", "hmm", "memm", "perceptron", "mira", "ssvm", "greedy", "easiest-first", "semi-crf"]
)
def test_every_recipe_with_probabilities_has_calibrated_ones(recipe, posts):
    train, test = posts
    train = train.of_sentences(np.arange(train.n_sentences) < 500)
    tagger = Tagger(recipe).fit(train)
    assert tagger.confidence_.decisions > 100
    assert reliability(*judged(tagger.predict_spans(test), test)).error < 0.1


@pytest.fixture(scope="module")
def tokens():
    """A tagger of labels that mark no spans, and a test part."""
    return Tagger("perceptron").fit(table("ingredients", "train", 300)), table("ingredients", "test", 500)


def test_tokens_are_calibrated_where_labels_spell_no_spans(tokens):
    tagger, test = tokens
    p = np.concatenate(tagger.label_probabilities(test))
    labels = tagger.classes_[p.argmax(axis=1)]
    right = labels == np.array([y for row in test.lists(LABEL) for y in row])
    assert reliability(p.max(axis=1), right).error < 0.03


def test_columns_spans_explanations_and_the_server_give_a_label_one_probability(tokens):
    tagger, test = tokens
    test = test.of_sentences(np.arange(test.n_sentences) < 40)
    assert tagger.confidence_.unit == "tokens"
    place = {label: i for i, label in enumerate(tagger.classes_.tolist())}
    raw = tagger.model_.marginals(test, 1)
    decided = tagger.model_.decode(test, 1)
    served = honest_marginals(tagger, raw, decided)
    found = np.concatenate(tagger.label_probabilities(test))
    np.testing.assert_allclose(found, served, atol=2e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-5)
    assert np.abs(found - raw).max() > 0.01  # the map changes something
    written = [float(p) for own in sureness(tagger, test, tagger.predict(test)) for p in own]
    np.testing.assert_allclose(written, found[np.arange(len(found)), decided], atol=5.1e-5)
    said = [(place[s.label], s.probability) for own in tagger.predict_spans(test) for s in own]
    why = [d for one in tagger.explanations(test) for d in one.decisions]
    for p, (label, sure), one in zip(found, said, why, strict=True):
        assert p[label] == pytest.approx(sure, abs=1e-6)
        assert one.probability == pytest.approx(sure, abs=1e-4)
        assert one.rival_probability == pytest.approx(p[place[one.rival]], abs=1e-3)


def test_calibrated_probabilities_of_a_token_are_at_most_one_if_the_model_is_certain():
    p = np.array([[1.0, 1e-8, 0.0], [1.0, 0.0, 0.0]], np.float32)
    made = with_decisions(p, np.array([0, 0]), np.array([0.99, 0.99]))
    np.testing.assert_allclose(made, [[0.99, 0.01, 0.0], [0.99, 0.0, 0.0]], atol=1e-12)


def test_the_file_keeps_the_calibration(posts, honest, honest_spans, tmp_path):
    _, test = posts
    honest.save(tmp_path / "m.chaff")
    again = load(tmp_path / "m.chaff")
    assert again.predict_spans(test) == honest_spans
    assert again.confidence_.packed().details == honest.confidence_.packed().details
    assert again.threshold(precision=0.8) == honest.threshold(precision=0.8)


def test_dev_data_serve_instead_of_folds(posts):
    train, test = posts
    tagger = Tagger(Crf(passes=3)).fit(train, dev=test)
    assert tagger.confidence_.folds == 0
    assert tagger.confidence_.decisions > 0


@pytest.mark.long
@pytest.mark.parametrize(
    "recipe", [Crf(passes=3), "greedy", "perceptron"], ids=["crf", "greedy", "perceptron"]
)
def test_a_tagger_can_be_calibrated_again_and_gives_the_same_answers(posts, recipe):
    train, test = posts
    with_dev = Tagger(recipe).fit(train, dev=test)
    again = Tagger(recipe, folds=0).fit(train, dev=test)
    assert again.confidence_ is None
    answers = again.predict(test)
    again.model_ = again.model_.with_temperature(3.0)  # a former calibration counts for nothing
    again.recalibrate(test)
    assert again.predict(test) == answers
    assert again.model_.temperature == with_dev.model_.temperature
    assert again.confidence_.as_dict() == with_dev.confidence_.as_dict()
    X, y = test.lists("w"), test.lists("y")
    assert again.recalibrate(X, y).confidence_.as_dict() == with_dev.confidence_.as_dict()


def test_too_few_sentences_leave_the_calibration_as_it_was(posts, honest):
    few = posts[1].of_sentences(np.arange(posts[1].n_sentences) < 5)
    before = honest.confidence_
    with pytest.warns(UserWarning, match="stay as they were: 5 sentences are too few"):
        honest.recalibrate(few)
    assert honest.confidence_ is before


def test_training_from_a_cache_is_calibrated_on_dev_data(posts, tmp_path):
    train, test = posts
    tagger = Tagger(Crf()).fit(train, dev=test, cache=tmp_path / "cache")
    assert tagger.confidence_.folds == 0
    p, right = judged(tagger.predict_spans(test), test)
    assert abs(p.mean() - right.mean()) < 0.05
    assert Tagger(Crf(), folds=0).fit(train, dev=test, cache=tmp_path / "other").confidence_ is None
    assert Tagger(Crf()).fit(train, cache=tmp_path / "third").confidence_ is None


def test_the_work_of_calibrating_is_bounded_by_labels_and_order(posts, monkeypatch):
    train, _ = posts
    monkeypatch.setattr(calibration, "FEWEST_SPANS", 30)
    monkeypatch.setattr(calibration, "MOST_SPAN_CELLS", 100 * 7**2)
    counts = {order: Tagger(Hmm(order=order)).fit(train).confidence_.decisions for order in (1, 2)}
    assert 30 <= counts[1] <= 110
    assert 15 <= counts[2] <= 40


def test_answers_above_the_threshold_have_the_precision_asked_for(posts, honest, honest_spans):
    p, right = judged(honest_spans, posts[1])
    given = p >= honest.threshold(precision=0.7)
    assert given.sum() > 20
    assert (
        right[given].mean() >= 0.65
    )  # a sample of the test split may fall a little short of the certified mean


def test_a_precision_that_cannot_be_certified_is_refused(honest):
    with pytest.raises(ConfigError, match="cannot be certified"):
        honest.threshold(precision=0.9999)


def test_without_folds_there_is_no_threshold(posts):
    with pytest.raises(ConfigError, match="was not calibrated"):
        Tagger("hmm", folds=0).fit(posts[0]).threshold(precision=0.9)


@pytest.mark.long
def test_decisions_of_all_recipes_are_those_that_they_decode(posts):
    train = posts[0].of_sentences(np.arange(posts[0].n_sentences) < 60)
    for recipe in TAGGERS:
        model = Tagger(recipe.name, folds=0).fit(train).model_
        if not hasattr(model, "with_temperature"):
            continue
        try:
            found = decision_probabilities(model, train, 1)
        except ConfigError:  # beam search has no probability for a label
            continue
        labels = [model.labels.outer[i] for i in model.decode(train, 1).tolist()]
        first = spans(labels[: train.ptr[1]], "BIO")
        assert [d[:3] for d in found[0]] == [(s.start, s.end, s.label) for s in first]
