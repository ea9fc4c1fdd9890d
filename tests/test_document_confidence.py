"""What classifiers of texts answer where little is known, and how honest their probabilities are."""

from dataclasses import replace

import numpy as np
import pytest

import chaffinch
from chaffinch import Classifier
from chaffinch.errors import ConfigError, DataError, ModelFileError
from chaffinch.evaluate.reliability import reliability
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.rows import SparseRows
from chaffinch.features.union import NumberScaling
from chaffinch.learners.choice import document_problem
from chaffinch.learners.choice_gradient import ChoiceBatch, ChoiceSgd
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.native_choice import weights_of_parts
from chaffinch.model.confidence import Calibration
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.document_task import without_own_folds
from chaffinch.recipes.out_of_fold import (
    FoldScores,
    HeldOut,
    affordable_share,
    blocked,
    each_fold,
    part_of,
    text_folds,
)
from chaffinch.trust import calibration
from chaffinch.trust.calibration import fitted_calibration, fitted_label_calibration

ALL = [recipe.name for recipe in CLASSIFIERS]


def small_corpus(n=60):
    """Texts of three labels, the alphabetically first of them the rarest."""
    words = {"z": "tea cup leaf pot", "m": "rain wind snow sun", "a": "bolt nut gear axle"}
    labels = (["z"] * 6 + ["m"] * 3 + ["a"]) * (n // 10)
    rng = np.random.RandomState(0)
    texts = [" ".join(rng.choice(words[y].split(), 3)) for y in labels]
    return texts, labels


@pytest.mark.parametrize("recipe", ALL)
def test_a_text_of_which_nothing_is_known_gets_the_prior(recipe, tmp_path):
    texts, y = small_corpus()
    classifier = Classifier(recipe).fit(texts, y)
    for model in (classifier, _reloaded(classifier, tmp_path)):
        assert model.predict(["qqq", ""]).tolist() == ["z", "z"]
        np.testing.assert_allclose(model.predict_proba(["qqq"])[0], [0.1, 0.3, 0.6], atol=1e-6)
    assert classifier.predict(["bolt gear"]).tolist() == ["a"]
    (decision,) = classifier.explain("qqq").decisions
    assert decision.answer == "z"
    assert decision.probability == pytest.approx(0.6)


@pytest.mark.parametrize(
    "recipe", ["ridge", "svm", ChoiceBatch(each=True), ChoiceSgd(loss="labels", rate=0.5)]
)
def test_of_several_labels_an_unknown_text_gets_none(recipe, tmp_path):
    texts = ["tea rain", "tea", "rain", "tea rain", "tea", "tea rain"] * 5
    y = [text.split() for text in texts]
    classifier = Classifier(recipe).fit(texts, y)
    for model in (classifier, _reloaded(classifier, tmp_path)):
        assert model.predict(["qqq", "tea"]) == [[], ["tea"]]
        np.testing.assert_allclose(model.predict_proba(["qqq"])[0], [4 / 6, 5 / 6], atol=1e-6)


def test_the_prior_follows_the_documents_that_partial_fit_sees():
    texts, y = small_corpus()
    classifier = Classifier("perceptron").partial_fit(texts[:10], y[:10], classes=["a", "m", "z"])
    classifier.partial_fit(["gear nut"] * 30, ["a"] * 30)
    np.testing.assert_allclose(classifier.predict_proba(["qqq"])[0], [31 / 40, 3 / 40, 6 / 40], atol=1e-6)


# -- numbers beside texts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ["ridge", "svm", "logistic", "crammer-singer", "perceptron"])
def test_a_large_number_beside_a_text_does_not_drown_it(recipe):
    texts, y = small_corpus(200)
    rng = np.random.RandomState(1)
    noise = np.column_stack([rng.normal(1e6, 1e5, 200), np.exp(rng.normal(0, 5, 200))])
    classifier = Classifier(recipe).fit(texts, y, beside=noise)
    assert classifier.score(texts, y, beside=np.column_stack([noise[::-1, 0], noise[::-1, 1]])) > 0.95


def test_scaled_numbers_still_tell_labels_apart(tmp_path):
    y = [n % 2 for n in range(80)]
    amounts = {"price": [2e6 + 1000.0 * label for label in y], "constant": [7.0] * 80}
    classifier = Classifier("ridge").fit(["same words"] * 80, y, beside=amounts)
    new = {"price": [2e6, 2e6 + 1000.0, 1e30], "constant": [7.0, -5.0, 7.0]}
    for model in (classifier, _reloaded(classifier, tmp_path)):
        assert model.predict(["same words"] * 3, beside=new).tolist() == [0, 1, 1]


def test_missing_numbers_count_as_the_median_and_are_marked(tmp_path):
    y = [n % 2 for n in range(80)]
    numbers = np.array([[np.nan if label else 3.0 + n % 5] for n, label in enumerate(y)])
    classifier = Classifier("ridge").fit(["same words"] * 80, y, beside=numbers)
    assert classifier.model_.encoder.names()[-2:] == ["beside[0]", "beside[0] missing"]
    for model in (classifier, _reloaded(classifier, tmp_path)):
        assert model.predict(["same words"] * 2, beside=np.array([[np.nan], [4.0]])).tolist() == [1, 0]


def test_sparse_and_dense_numbers_are_scaled_alike():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    matrix = scipy_sparse.csr_matrix([[0.0, 200.0], [3.0, 0.0], [0.0, 400.0], [9.0, 0.0]])
    scaling = NumberScaling.of(matrix)
    np.testing.assert_allclose(scaling.rows(matrix).dense(), scaling.rows(matrix.toarray()).dense())
    assert np.abs(scaling.rows(matrix).dense()).max() < 1.0


def test_infinity_beside_a_text_is_refused_with_its_row():
    with pytest.raises(DataError, match="document 2: column 1 beside the text holds infinity"):
        Classifier("ridge").fit(["a", "b"], [0, 1], beside=np.array([[1.0], [np.inf]]))


# -- calibration ----------------------------------------------------------------------------------------------------


def test_calibrated_confidence_is_the_accuracy_of_what_was_held_out():
    rng = np.random.RandomState(0)
    y = rng.randint(0, 4, 2000)
    scores = rng.normal(0, 1, (2000, 4)) + 1.5 * np.eye(4)[y] * rng.uniform(0, 2, (2000, 1))
    p = fitted_calibration(3.0 * scores, y).softmax(3.0 * scores)
    assert p.max(axis=1).mean() == pytest.approx((p.argmax(axis=1) == y).mean(), abs=0.01)
    assert (p.argmax(axis=1) == scores.argmax(axis=1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_the_approximate_loss_of_each_decision_left_out_is_close_to_the_exact_one():
    rng = np.random.RandomState(0)
    x = rng.normal(1, 1.5, 300)
    right = rng.uniform(size=300) < 1 / (1 + np.exp(-(0.6 * x + 0.4)))

    def loss(line, x, right):
        z = line[0] * x + line[1]
        return np.mean(np.logaddexp(0, z) - right * z)

    for pull in (1.0, 30.0):
        line = calibration._logistic_line(x, right, pull)
        exact = np.mean(
            [
                loss(calibration._logistic_line(np.delete(x, n), np.delete(right, n), pull), x[n], right[n])
                for n in range(300)
            ]
        )
        optimism = exact - loss(line, x, right)
        assert optimism > 0
        assert abs(calibration._left_out_loss(x, right, line, pull) - exact) < 0.1 * optimism


def test_a_line_that_fits_noise_is_not_kept_and_one_that_is_needed_is():
    rng = np.random.RandomState(0)
    scores = rng.normal(size=(1500, 3)) * 2
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(3, p=one) for one in p])
    line = fitted_calibration(scores, y)
    free = calibration._logistic_line(calibration.top_odds(scores), scores.argmax(axis=1) == y)
    assert abs(line.slope - 1) + abs(line.offset) < 0.3 * (abs(free[0] - 1) + abs(free[1]))
    top = scores.argmax(axis=1)
    lucky = np.where(rng.uniform(size=1500) < 0.5, top, y)  # right more often than any temperature says
    sure = fitted_calibration(scores, lucky).softmax(scores).max(axis=1).mean()
    assert abs(sure - (lucky == top).mean()) < 0.005


def test_labels_by_themselves_are_calibrated_together():
    rng = np.random.RandomState(0)
    odds = rng.normal(-1, 2, (1000, 3))
    given = rng.uniform(size=odds.shape) < 1 / (1 + np.exp(-odds))
    p = fitted_label_calibration(0.2 * odds + 0.5, given).sigmoid(0.2 * odds + 0.5)
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-odds)), atol=0.06)


def saturating(seed, n):
    """Scores of four labels, and gold labels that are wrong one time in five, however high the score."""
    rng = np.random.RandomState(seed)
    s = rng.normal(0, 1, (n, 4))
    s[np.arange(n), rng.randint(0, 4, n)] += rng.choice([0.0, 6.0], n)
    p = np.exp(2 * s) / np.exp(2 * s).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(4, p=one) for one in p])
    return s, np.where(rng.uniform(size=n) < 0.2, rng.randint(0, 4, n), y)


def test_a_curve_calibrates_where_accuracy_stops_rising_with_the_score():
    fitted = fitted_calibration(*saturating(0, 4000))
    s, y = saturating(1, 4000)
    top, errors = s.argmax(axis=1), []
    for one in (fitted, replace(fitted, curve=())):
        p = one.softmax(s)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert (p.argmax(axis=1) == top).all()
        errors.append(reliability(p.max(axis=1), top == y).error)
    assert errors[0] < 0.03
    assert errors[1] > 0.05


def test_where_a_line_fits_there_is_no_curve():
    for seed in range(5):
        rng = np.random.RandomState(seed)
        s = rng.normal(0, 2, (3000, 4))
        y = np.array([rng.choice(4, p=np.exp(one) / np.exp(one).sum()) for one in s])
        assert fitted_calibration(3 * s, y).curve == ()
    assert fitted_calibration(*saturating(0, 900)).curve == ()  # too few decisions


def noisy_texts(n):
    rng = np.random.RandomState(0)
    y = rng.randint(0, 3, n)
    words = ["tea cup leaf pot", "rain wind snow sun", "bolt nut gear axle"]
    texts = [" ".join(rng.choice(words[t].split(), rng.randint(1, 6))) + f" n{rng.randint(9)}" for t in y]
    return texts, np.where(rng.uniform(size=n) < 0.2, rng.randint(0, 3, n), y)


@pytest.mark.parametrize("recipe", ["svm", "kernel-svm"])
def test_a_curve_is_saved_with_its_model_and_checked(tmp_path, recipe):
    model = Classifier(recipe).fit(*noisy_texts(120))
    curve = ((-2.0, -1.0), (0.0, 0.5), (3.0, 1.5))
    model.model_ = replace(model.model_, calibration=replace(model.model_.calibration, curve=curve))
    model.save(tmp_path / "m.chaff")
    loaded = chaffinch.load(tmp_path / "m.chaff")
    assert loaded.model_.calibration == model.model_.calibration
    texts = ["tea pot", "rain n1", "gear"]
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    for bad in (((0.0, 0.5), (0.0, 1.0)), ((0.0, 0.5), (1.0, 0.4))):
        model.model_ = replace(model.model_, calibration=replace(model.model_.calibration, curve=bad))
        model.save(tmp_path / "bad.chaff")
        with pytest.raises(ModelFileError, match="calibration curve does not rise"):
            chaffinch.load(tmp_path / "bad.chaff")


def test_the_top_label_stays_on_top_whatever_the_offset():
    s = np.random.RandomState(0).normal(0, 1, (200, 5))
    for offset in (-30.0, 0.0, 30.0):
        assert (Calibration(0.5, 0.3, offset).softmax(s).argmax(axis=1) == s.argmax(axis=1)).all()


def test_a_few_decisions_all_of_them_right_make_nothing_certain():
    p = fitted_calibration(np.eye(3)[[0, 1, 2] * 3], np.array([0, 1, 2] * 3)).softmax(np.eye(3))
    assert 0.7 < p.max() < 0.99


@pytest.mark.parametrize(
    "recipe", ["ridge", "svm", "crammer-singer", "logistic", "maxent", "perceptron", "nb"]
)
def test_texts_are_scored_by_models_of_other_folds(recipe):
    rng = np.random.RandomState(2)
    y = rng.randint(0, 2, 600)
    words = np.array(["tea rain cup snow pot wind".split(), "sun axle nut gear bolt leaf".split()])
    texts = [
        " ".join(words[rng.choice([t, 1 - t], p=[0.7, 0.3]), rng.randint(6)] for _ in range(3)) for t in y
    ]
    p = Classifier(recipe).fit(texts[:400], y[:400]).predict_proba(texts[400:])
    right = (p.argmax(axis=1) == y[400:]).mean()
    assert abs(p.max(axis=1).mean() - right) < 0.08
    plain = Classifier(recipe, calibrate=False).fit(texts[:400], y[:400])
    assert plain.model_.calibration.slope == 1.0


@pytest.mark.parametrize("recipe", ["ridge", "svm", "crammer-singer", "logistic"])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_one_solver_of_all_folds_learns_what_a_training_without_each_fold_learns(recipe, bias):
    rng = np.random.RandomState(0)
    x = (rng.uniform(size=(120, 60)) < 0.1) * rng.uniform(
        0.5, 1, size=(120, 60)
    )  # some features are in one row only
    rows, y = SparseRows.of(x), rng.randint(0, 5, 120).astype(np.int32)
    examples = DocumentExamples.of_rows(rows, y, 5)
    problem = document_problem(examples, rng.uniform(0.5, 2, 120).astype(np.float32), seed=3)
    settings = {"C": 0.7, "epochs": 4, "bias": bias}
    learner = without_own_folds(CLASSIFIERS.by_name(recipe).configured(settings), True)
    parts = [np.flatnonzero(np.arange(120) % 3 != k) for k in range(3)]
    tables = [w.copy() for w in weights_of_parts(learner, problem, parts, 1)]
    for which, found in zip(parts, tables, strict=True):
        expected = learner.fit(part_of(problem, rows.taken(which), which), threads=1).w
        np.testing.assert_allclose(found[:, :5], expected[:, :5], atol=2e-5)
    assert abs(tables[0] - tables[1]).max() > 0.1


def test_a_fold_whose_other_folds_have_one_label_is_not_scored():
    rows = SparseRows.of(np.eye(6, 3)[[0, 1, 2, 0, 1, 2]])
    y = np.array([0, 0, 0, 0, 1, 1], np.int32)
    problem = document_problem(DocumentExamples.of_rows(rows, y, 2), np.ones(6, np.float32))
    learner = without_own_folds(CLASSIFIERS.by_name("crammer-singer").configured({}), True)
    held_out = HeldOut(rows, np.array([0, 0, 1, 1, 2, 2]), None)
    found = list(each_fold(problem, learner, held_out, [2, 0], 1))
    assert found[0] is None
    assert found[1] is not None
    assert found[1].held.tolist() == [0, 1]


def test_folds_are_runs_of_each_label():
    y = np.array([0] * 10 + [1] * 10 + [2])
    assert blocked(y, 5).tolist()[:20] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4] * 2


def test_duplicates_share_a_fold_and_distinct_texts_fill_the_folds_evenly():
    texts = ["a"] * 40 + [f"text {n}" for n in range(24)] + ["a", "text 3", "text 23"]
    fold = text_folds(texts, np.zeros(len(texts), np.int64), 5)
    assert fold[:40].tolist() == [0] * 40
    assert np.bincount(fold[39:64]).tolist() == [5] * 5
    assert fold[64:].tolist() == [0, fold[43], fold[63]]
    y = np.random.RandomState(0).randint(0, 3, 200)
    assert np.array_equal(text_folds([f"text {n}" for n in range(200)], y, 5), blocked(y, 5))


def labelled_at_random(seed, n=120, copies=4):
    """Texts whose labels follow from nothing, each several times, in random order."""
    rng = np.random.RandomState(seed)
    texts = [" ".join(f"w{w}" for w in rng.randint(0, 300, 6)) for _ in range(n)]
    labels = [f"label {y}" for y in rng.randint(0, 2, n)]
    order = rng.permutation(n * copies) % n
    return [texts[i] for i in order], [labels[i] for i in order]


@pytest.mark.parametrize("recipe", [None, "ridge", "logistic", "kernel-svm", "knn"])
def test_duplicates_do_not_raise_the_accuracy_that_is_told_nor_the_probabilities(recipe):
    classifier = Classifier(recipe).fit(*labelled_at_random(0))
    if recipe is None:
        assert classifier.choice_["accuracy"] < 0.65
    new = labelled_at_random(1)[0]
    assert classifier.predict_proba(new).max(axis=1).mean() < 0.65


def test_dropping_is_smaller_if_it_costs_accuracy():
    gold = np.eye(2, dtype=np.float32)[[0, 1, 0]]
    right, wrong = gold.copy(), gold[:, ::-1].copy()
    found = FoldScores(np.arange(3), right, {0.02: wrong, 0.01: right, 0.005: right})
    assert affordable_share(found, gold) == 0.01
    assert affordable_share(FoldScores(np.arange(3), right, {0.02: wrong}), gold) == 0.0


def test_scores_of_further_folds_grow_as_those_of_models_without_small_weights():
    rng = np.random.RandomState(0)
    scores = rng.normal(size=(6, 3)).astype(np.float32)
    few = FoldScores(np.arange(6), scores, {0.02: 1.25 * scores, 0.01: scores}, folds=2)
    assert np.array_equal(few.calibrating(0.02).scores, few.dropped[0.02])
    assert np.array_equal(few.calibrating(0.0).scores, scores)
    order = rng.permutation(9)
    fewer_passes = np.concatenate([0.5 * scores, rng.normal(size=(3, 3)).astype(np.float32)])[order]
    both = replace(few, every=FoldScores(order, fewer_passes, folds=5))
    assert np.allclose(both.calibrating(0.02).scores, 2.5 * fewer_passes)
    assert np.allclose(both.calibrating(0.01).scores, 2.0 * fewer_passes)
    assert both.calibrating(0.02).folds == 5
    assert both.calibrating(0.02).held.tolist() == order.tolist()
    nothing = replace(both, every=replace(both.every, scores=np.zeros_like(fewer_passes)))
    assert not nothing.calibrating(0.02).scores.any()


def hinted(seed, n):
    """Texts with two words that hint at the label, among ten of noise."""
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 2, n)
    hints = np.where((rng.rand(n, 2) < 0.62) == (y[:, None] == 1), "good", "bad")
    words = rng.randint(0, 150, (n, 10))
    texts = [" ".join([*h, *(f"word{k}" for k in w)]) for h, w in zip(hints, words, strict=True)]
    return texts, [str(label) for label in y]


@pytest.mark.parametrize("recipe", ["ridge", "logistic", "svm"])
def test_probabilities_are_those_of_the_weights_that_are_kept(recipe):
    classifier = Classifier(recipe, features="words", smallest=0.4).fit(*hinted(0, 1500))
    texts, labels = hinted(1, 3000)
    accuracy = np.mean(classifier.predict(texts) == np.array(labels))
    assert abs(classifier.predict_proba(texts).max(axis=1).mean() - accuracy) < 0.05


@pytest.mark.parametrize("recipe", ["ridge", "logistic", "nb", "kernel-svm", "knn"])
def test_a_classifier_can_be_calibrated_again_on_documents_that_it_has_not_seen(recipe, tmp_path):
    classifier = Classifier(recipe, features="words", calibrate=False).fit(*hinted(0, 300))
    assert classifier.confidence_ is None
    texts, labels = hinted(1, 2000)
    answers = classifier.predict(texts)
    assert classifier.recalibrate(texts[:1000], labels[:1000]) is classifier
    assert classifier.predict(texts).tolist() == answers.tolist()
    accuracy = np.mean(answers[1000:] == np.array(labels[1000:]))
    confidence = classifier.predict_proba(texts[1000:]).max(axis=1).mean()
    assert abs(confidence - accuracy) < 0.05
    assert classifier.confidence_.folds == 0
    classifier.save(tmp_path / "m.chaff")
    assert np.array_equal(
        chaffinch.load(tmp_path / "m.chaff").predict_proba(texts), classifier.predict_proba(texts)
    )
    with pytest.raises(DataError, match="no held-out document has a label"):
        classifier.recalibrate(["good"], ["other"])
    before = classifier.confidence_
    with pytest.warns(UserWarning, match="probabilities stay as they were"):
        classifier.recalibrate(["zzz"], ["1"])
    assert classifier.confidence_ is before


def test_documents_from_a_cache_are_calibrated_on_dev_data(tmp_path):
    dev = hinted(1, 1000)
    classifier = Classifier("logistic", features="words").fit(*hinted(0, 600), dev=dev, cache=tmp_path / "a")
    assert classifier.confidence_.folds == 0
    confidence = classifier.predict_proba(dev[0]).max(axis=1).mean()
    assert abs(confidence - np.mean(classifier.predict(dev[0]) == np.array(dev[1]))) < 0.03
    off = Classifier("logistic", features="words", calibrate=False)
    assert off.fit(*hinted(0, 600), dev=dev, cache=tmp_path / "b").confidence_ is None


def test_thinned_rows_are_those_of_the_smaller_encoder():
    texts = ["a fine film", "fine acting indeed", "a dull film", "awful acting", "a fine evening"]
    parts = [
        TextVectorizer(idf=True, norm="l2"),
        TextVectorizer(unit="char", ngram_low=2, ngram_high=3, norm="l1"),
        TextVectorizer(ngram_high=1),
    ]
    encoder = DocumentEncoder.of(parts, [1.0, 0.5, 2.0])
    rows = encoder.fitted_rows(texts, None, None)
    keep = np.random.RandomState(0).uniform(size=encoder.n_features) < 0.6
    expected = encoder.restricted(keep.copy()).rows(texts, None, 1).dense()
    np.testing.assert_allclose(encoder.thinned(rows, keep).dense()[:, keep], expected, atol=1e-6)


def test_held_out_rows_lack_what_is_too_rare_elsewhere():
    texts = ["tea cup", "tea leaf", "tea cup pot", "rain leaf", "rain cup sun", "rain sun"]
    encoder = DocumentEncoder.of([TextVectorizer(ngram_high=1, min_df=2, norm="l2")], [1.0])
    rows = encoder.fitted_rows(texts, None, None)
    fold = np.array([0, 0, 1, 1, 2, 2])
    held, part = HeldOut(rows, fold, encoder).of(2)
    assert held.tolist() == [4]  # what is left of the last text is nothing: rain and sun are rare elsewhere
    names = encoder.names()
    assert [names[i] for i in part.ids.tolist()] == ["cup"]
    assert part.weights().tolist() == [1.0]
    assert (
        HeldOut(rows, fold, None).of(2)[1].dense().tolist() == rows.taken(np.array([4, 5])).dense().tolist()
    )


@pytest.mark.parametrize("recipe", [name for name in ALL if name not in ("nb", "complement-nb")])
def test_rows_of_numbers_are_calibrated_too(recipe):
    rng = np.random.RandomState(0)
    y = rng.randint(0, 3, 900)
    X = rng.normal(0, 1, (900, 6)) + 1.5 * np.eye(3)[y].repeat(2, axis=1)
    classifier = Classifier(recipe, threads=1).fit(X[:400], y[:400])
    p = classifier.predict_proba(X[400:])
    right = p.argmax(axis=1) == y[400:]
    assert abs(p.max(axis=1).mean() - right.mean()) < 0.06
    assert reliability(p.max(axis=1), right).error < 0.08
    assert classifier.confidence_.decisions == 400


def test_pairwise_votes_are_calibrated_with_their_margins():
    rng = np.random.RandomState(1)
    y = rng.randint(0, 4, 1600)
    X = rng.normal(0, 1, (1600, 4)) + 1.3 * np.eye(4)[y]
    model = Classifier("kernel-svm", threads=1).fit(X[:600], y[:600])
    p = model.predict_proba(X[600:])
    assert (p.argmax(axis=1) == model.predict(X[600:])).all()
    right = p.argmax(axis=1) == y[600:]
    unsure = p.max(axis=1) < np.median(p.max(axis=1))
    assert right[~unsure].mean() > right[unsure].mean() + 0.15
    assert reliability(p.max(axis=1), right).error < 0.06


def test_a_classifier_tells_from_which_probability_on_it_has_a_precision(tmp_path):
    texts, y = noisy_corpus(1500)
    classifier = Classifier("ridge", threads=1).fit(texts[:900], y[:900])
    least = classifier.threshold_for(precision=0.85)
    p = classifier.predict_proba(texts[900:])
    right = classifier.classes_[p.argmax(axis=1)] == np.array(y[900:])
    assert right.mean() < 0.8
    assert right[p.max(axis=1) >= least].mean() > 0.82
    again = _reloaded(classifier, tmp_path)
    assert again.threshold_for(precision=0.85) == least
    assert again.confidence_.packed().details == classifier.confidence_.packed().details
    with pytest.raises(ConfigError, match="cannot be certified"):
        classifier.threshold_for(precision=0.9999)
    with pytest.raises(ConfigError, match="not calibrated"):
        Classifier("ridge", calibrate=False).fit(texts, y).threshold_for(precision=0.9)


def test_labels_of_several_are_certified_one_by_one():
    rng = np.random.RandomState(0)
    y = [sorted(set(rng.choice(["tea", "rain", "bolt"], rng.randint(1, 3)))) for _ in range(600)]
    texts = [" ".join(word if rng.rand() > 0.15 else "nut" for word in row for _ in range(2)) for row in y]
    classifier = Classifier("ridge", threads=1).fit(texts, y)
    assert classifier.confidence_.unit == "labels"
    assert 0.0 <= classifier.threshold_for(precision=0.8) <= 1.0


def noisy_corpus(n):
    """Texts of two labels, some of them hard to tell."""
    rng = np.random.RandomState(0)
    words = np.array([list("abcdef"), list("ghijkl")])
    y = rng.randint(0, 2, n)
    share = rng.choice([0.5, 0.95], n)
    texts = [
        " ".join(f"{words[t if rng.rand() < s else 1 - t, rng.randint(6)]}word" for _ in range(12))
        for t, s in zip(y, share, strict=True)
    ]
    return texts, [f"label {t}" for t in y]


def _reloaded(classifier, tmp_path):
    classifier.save(tmp_path / "model.chaff")
    return chaffinch.load(tmp_path / "model.chaff")
