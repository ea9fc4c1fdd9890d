"""Learning on of classifiers: corrections and further texts beside what was learnt before, which stays learnt."""

from dataclasses import replace

import numpy as np
import pytest

import chaffinch
from chaffinch import Classifier, samples
from chaffinch.errors import ConfigError, DataError, DataWarning
from chaffinch.learners.dual import DualCrammerSinger, DualLogistic, DualRest, DualRidge
from chaffinch.learners.examples import DocumentExamples
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.recipes.document_step import corrected, takes_steps
from chaffinch.recipes.partial_fit import Increment


def topics(start: int, end: int) -> tuple[list[str], list[str]]:
    documents = samples.load("topics")[start:end]
    return [d.text for d in documents], [d.labels[0] for d in documents]


@pytest.mark.parametrize("recipe", ["ridge", "svm", "logistic", "loglinear"])
def test_a_classifier_learns_on_as_if_it_had_had_all_documents(recipe):
    (X, y), (more, targets), (held_out, gold) = topics(0, 300), topics(300, 400), topics(400, 700)
    whole = Classifier(recipe, threads=1).fit(X + more, y + targets)
    parts = Classifier(recipe, threads=1).fit(X, y).partial_fit(more, targets)
    assert parts.predict(held_out).tolist() == whole.predict(held_out).tolist()
    score = parts.score(held_out, gold)
    wrong = np.flatnonzero(parts.predict(held_out) != np.array(gold))[0]
    for _ in range(10):
        parts.partial_fit([held_out[wrong]], [gold[wrong]])
    assert parts.predict([held_out[wrong]]).tolist() == [gold[wrong]]
    assert parts.score(held_out, gold) > score - 0.01  # three of 300 documents
    model = parts.model_
    assert parts.partial_fit([held_out[wrong]], [gold[wrong]]).model_ is model
    assert parts.forget([held_out[wrong]]).predict(held_out).tolist() == whole.predict(held_out).tolist()
    strange = ["zyzzyva one", "zyzzyva two", "zyzzyva three"]
    for _ in range(3):
        parts.partial_fit(strange, ["new"] * 3)
    assert parts.predict(strange).tolist() == ["new"] * 3


@pytest.mark.parametrize("recipe", ["ridge", "crammer-singer", "logistic"])
def test_a_correction_of_a_text_keeps_features_and_calibration_and_touches_little_else(recipe, monkeypatch):
    (X, y), (held_out, gold) = topics(0, 600), topics(600, 1200)
    classifier = Classifier(recipe, threads=1).fit(X, y)
    before, calibration = classifier.predict(held_out), classifier.model_.calibration
    confidence, wrong = classifier.confidence_, np.flatnonzero(before != np.array(gold))[:3].tolist()
    encoded = []
    fitted_rows = DocumentEncoder.fitted_rows
    monkeypatch.setattr(
        DocumentEncoder, "fitted_rows", lambda *a, **k: encoded.append(1) or fitted_rows(*a, **k)
    )
    for n in wrong:
        classifier.partial_fit([held_out[n]], [gold[n]])
        assert not encoded
        assert classifier.model_.calibration == calibration
        assert classifier.confidence_ is confidence
        assert classifier.predict([held_out[n]]).tolist() == [gold[n]]
    changed = sum(a != b for a, b in zip(before, classifier.predict(held_out), strict=True))
    assert changed <= len(wrong) * (1 + 0.01 * len(before))
    plain = Classifier(recipe, threads=1).fit(X, y).forget([X[0]])
    assert (
        plain.predict(held_out).tolist()
        == Classifier(recipe, threads=1).fit(X[1:], y[1:]).predict(held_out).tolist()
    )


def test_a_classifier_that_was_loaded_cannot_forget_and_learns_numbers_only_by_some_recipes(tmp_path):
    X, y = topics(0, 60)
    Classifier("ridge", threads=1).fit(X, y).save(tmp_path / "m.chaff")
    with pytest.raises(ConfigError, match="can forget"):
        chaffinch.load(tmp_path / "m.chaff").forget(X[:1])
    Classifier("ridge", threads=1).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]).save(tmp_path / "n.chaff")
    with pytest.raises(AttributeError, match="no partial_fit unless fit trained it on texts with one label"):
        _ = chaffinch.load(tmp_path / "n.chaff").partial_fit


LINEAR = [r.name for r in Classifier.recipes if Increment.possible(r.config()) or takes_steps(r.config())]


@pytest.mark.parametrize("recipe", LINEAR)
def test_a_correction_of_a_linear_classifier_taught_ten_times_is_right_and_harms_nothing(recipe, tmp_path):
    (X, y), (held_out, gold) = topics(0, 400), topics(400, 1400)
    fitted = Classifier(recipe, threads=1, calibrate=False).fit(X, y)
    before = fitted.predict(held_out)
    for n in np.flatnonzero(before != np.array(gold))[:3].tolist():
        classifier = Classifier(recipe, threads=1, calibrate=False).fit(X, y)
        for _ in range(10):
            classifier.partial_fit([held_out[n]], [gold[n]])
        after = classifier.predict(held_out)
        assert after[n] == gold[n]
        assert np.mean(after == np.array(gold)) > np.mean(before == np.array(gold)) - 0.0015
        assert np.mean(after != before) < 0.02
        model = classifier.model_
        assert classifier.partial_fit([held_out[n]], [gold[n]]).model_ is model
    classifier.save(tmp_path / "m.chaff")
    loaded = chaffinch.load(tmp_path / "m.chaff")
    assert np.array_equal(loaded.predict_proba(held_out), classifier.predict_proba(held_out))


@pytest.mark.parametrize("recipe", LINEAR)
def test_a_correction_of_a_text_changes_few_other_answers_and_is_right_at_once(recipe):
    documents = samples.load("questions")
    order = np.random.default_rng(0).permutation(len(documents)).tolist()
    X, y = [documents[n].text for n in order], [documents[n].labels[0] for n in order]
    fitted = Classifier(recipe, threads=1, calibrate=False).fit(X[:600], y[:600])
    held_out, gold = X[600:1600], np.array(y[600:1600])
    before, changed = fitted.predict(held_out), []
    wrong = np.flatnonzero(before != gold)
    for n in [int(wrong[len(wrong) * k // 12]) for k in range(12)]:
        classifier = object.__new__(Classifier)
        vars(classifier).update(vars(fitted))
        after = classifier.partial_fit([held_out[n]], [gold[n]]).predict(held_out)
        assert after[n] == gold[n]
        changed.append(np.count_nonzero(after != before) - 1)
    assert max(changed) <= 0.012 * len(gold)  # texts that differ in one unknown word follow
    assert np.mean(changed) <= 0.004 * len(gold)


@pytest.mark.parametrize("recipe", ["nb", "complement-nb", "crammer-singer", "perceptron"])
def test_a_correction_harms_nothing_if_many_texts_are_alike(recipe):
    documents = samples.load("questions")
    X, y = [d.text for d in documents], [d.labels[0] for d in documents]
    fitted = Classifier(recipe, threads=1, calibrate=False).fit(X[:600], y[:600])
    before, gold = fitted.predict(X[600:]), np.array(y[600:])
    falls = []
    for n in np.flatnonzero(before != gold)[:40:8].tolist():
        classifier = Classifier(recipe, threads=1, calibrate=False).fit(X[:600], y[:600])
        for _ in range(10):
            classifier.partial_fit([X[600 + n]], [y[600 + n]])
        after = classifier.predict(X[600:])
        assert after[n] == gold[n]
        falls.append(np.mean(before == gold) - np.mean(after == gold))
    assert np.mean(falls) < 0.0015  # the sample has wrong labels: texts like these follow


@pytest.mark.parametrize("recipe", ["nb", "complement-nb"])
def test_naive_bayes_learns_ten_parts_as_well_as_all_at_once(recipe):
    (X, y), (held_out, gold) = topics(0, 600), topics(600, 1200)
    whole = Classifier(recipe, threads=1).fit(X, y)
    parts = Classifier(recipe, threads=1).fit(X[:60], y[:60])
    for k in range(60, 600, 60):
        parts.partial_fit(X[k : k + 60], y[k : k + 60])
    assert parts.score(held_out, gold) > whole.score(held_out, gold) - 0.005


@pytest.mark.parametrize("recipe", ["nb", "loglinear", "perceptron"])
def test_texts_that_are_counted_batch_by_batch_count_once(recipe):
    X, y = topics(0, 300)
    classifier = Classifier(recipe, threads=1).partial_fit(X, y, classes=sorted(set(y)))
    right = np.flatnonzero(classifier.predict(X) == np.array(y))[:5].tolist()
    model = classifier.model_
    assert classifier.partial_fit([X[n] for n in right], [y[n] for n in right]).model_ is model
    assert classifier.partial_fit(["a new text"], [y[0]]).model_ is not model


def test_the_last_of_two_labels_of_a_text_in_one_lesson_is_learnt_and_this_is_said():
    X, y = topics(0, 300)
    classifier = Classifier("ridge", threads=1, calibrate=False).fit(X, y)
    a, b = classifier.classes_[:2].tolist()
    same = r"documents 1 and 3 of this lesson are the same with different labels: the last of them is learnt"
    text = topics(300, 301)[0][0]
    with pytest.warns(DataWarning, match=same):
        classifier.partial_fit([text, X[0], text], [a, y[0], b])
    assert classifier.predict([text]).tolist() == [b]
    assert classifier._lessons.texts.count(text) == 1


def test_a_text_that_is_still_wrong_after_its_correction_is_named():
    X, y = topics(0, 300)
    classifier = Classifier("ridge", threads=1, calibrate=False).fit(X, y)
    said = r"1 of 2 documents of this lesson is still wrong after learning it \(number 2\): its words are too rare"
    with pytest.warns(DataWarning, match=said):
        classifier.partial_fit([X[0], "?!"], [y[0], "new"])


@pytest.mark.parametrize(
    ("X", "y", "weight", "said"),
    [
        ([], [], None, "expected at least one document to learn, got none"),
        (["a", "b"], ["baking"], None, "expected 2 labels, one for each document, got 1"),
        (["a"], ["baking", "bees"], None, "expected 1 labels, one for each document, got 2"),
        (["a"], "baking", None, "expected 1 labels, one for each document, got one string"),
        (["a", None], ["baking", "bees"], None, "document 2 is missing, expected str"),
        (["a", "b"], ["baking", None], None, "the label of document 2 is None"),
        (["a"], [["baking", "bees"]], None, "one label for each document, got .* for document 1"),
        (["a"], ["baking"], [1, 2], r"sample_weight has the shape \(2,\)"),
        ("tea for two", "baking", None, "expected a list of texts, got one text"),
    ],
)
@pytest.mark.parametrize("recipe", ["ridge", "nb"])
def test_a_lesson_that_cannot_be_read_is_refused_by_its_fault(recipe, X, y, weight, said):
    classifier = Classifier(recipe, threads=1, calibrate=False).fit(*topics(0, 60))
    with pytest.raises(DataError, match=said):
        classifier.partial_fit(X, y, sample_weight=weight)


def test_a_kernel_machine_says_which_recipes_learn_on():
    X, y = topics(0, 60)
    with pytest.raises(AttributeError, match="these recipes have it: ridge, svm"):
        Classifier("kernel-svm", threads=1).fit(X, y).partial_fit(X[:1], y[:1])


@pytest.mark.parametrize(
    "learner",
    [DualRidge(), DualRest(loss="hinge"), DualRest(), DualCrammerSinger(), DualLogistic(C=3.0)],
    ids=lambda one: f"{type(one).__name__} {getattr(one, 'loss', '')}",
)
def test_the_duals_of_one_document_are_the_optimum_of_its_own_objective(learner):
    rng = np.random.default_rng(0)
    Y, y, C, square = 4, 2, learner.C, 0.8
    scores = rng.normal(size=Y)
    data = DocumentExamples(
        ptr=np.array([0, 1]),
        ids=np.zeros(1, np.int32),
        values=np.full(1, np.sqrt(square), np.float32),
        F=1,
        label_ptr=np.array([0, 1]),
        labels=np.array([y], np.int32),
        Y=Y,
    )
    t = np.where(np.arange(Y) == y, 1.0, -1.0)

    def objective(b):  # |b x|^2 / 2 + C loss(s + b |x|^2)
        s = scores + b * square
        short = np.maximum(0, 1 - t * s)
        match learner:
            case DualRidge():
                loss = np.square(1 - t * s).sum()
            case DualRest():
                loss = (short if learner.loss == "hinge" else short**2).sum()
            case DualCrammerSinger():
                loss = max(0.0, np.max(s + (np.arange(Y) != y)) - s[y])
            case _:
                loss = np.log(np.exp(s).sum()) - s[y]
        return square * (b @ b) / 2 + C * loss

    duals, _ = learner.solve(data, 0, scores, np.zeros(Y), square, C)
    best = learner.as_weights(data, 0, duals)
    least = objective(best)
    for size in (1e-3, 1e-2, 0.3):
        for _ in range(200):
            assert objective(best + size * rng.normal(size=Y)) >= least - 1e-9
    again, missed = learner.solve(data, 0, scores + best * square, duals, square, C)
    assert np.allclose(again, duals, atol=1e-6)
    assert missed < 1e-6


def test_a_step_changes_the_weights_of_the_documents_own_features_alone():
    X, y = topics(0, 300)
    classifier = Classifier("ridge", threads=1, calibrate=False).fit(X, y)
    model = classifier.model_
    wrong = next(k for k, name in enumerate(model.classes.tolist()) if name != y[0])
    rows = model.encoder.rows([X[0]], None, 1)
    learnt = model.encoder.rows(X, None, 1)
    made = corrected(model, rows, np.array([wrong], np.int32), learnt)
    changed = np.flatnonzero((made.w != model.w).any(axis=1))
    assert set(changed.tolist()) <= set(rows.ids.tolist())
    assert made.scores_of_rows(rows, 1).argmax() == wrong
    none = model.encoder.rows(["zyzzyva"], None, 1)
    assert corrected(model, none, np.array([wrong], np.int32), learnt) is None


def test_a_text_whose_scores_are_tied_by_rounding_can_be_corrected():
    X, y = topics(0, 100)
    model = Classifier("ridge", threads=1, calibrate=False).fit(X, y).model_
    rows = model.encoder.rows(X[:1], None, 1)
    w = model.w.copy()
    w[:, 0] = w[:, 1] = w[:, int(model.scores_of_rows(rows, 1).argmax())]
    least = rows.ids[np.abs(w[rows.ids, 1]).argmin()]
    w[least, 1] = np.nextafter(w[least, 1], np.float32(np.inf))  # ahead by less than scores can show
    tied = replace(model, w=w, eight=None)
    assert tied.scores_of_rows(rows, 1).argmax() == 0
    made = corrected(tied, rows, np.array([1], np.int32), model.encoder.rows(X, None, 1))
    assert made.scores_of_rows(rows, 1).argmax() == 1


def test_a_correction_that_changes_many_other_answers_is_said_to_do_so(recwarn):
    texts = [f"what is a thing{n} ?" for n in range(120)]  # no word of its own occurs twice, or is a feature
    others = [f"how far is place{n} ?" for n in range(120)]
    fitted = Classifier("ridge", features="words", threads=1)
    fitted.fit(texts + others, ["thing"] * 120 + ["number"] * 120)
    before = fitted.predict(texts + others)
    fitted.partial_fit(["what is a zork ?"], ["number"])  # the new word alone gets weights
    assert fitted.predict(["what is a zork ?"]).tolist() == ["number"]
    assert fitted.predict(texts + others).tolist() == before.tolist()
    assert not [w for w in recwarn if issubclass(w.category, DataWarning)]
    with pytest.warns(
        DataWarning, match=r"changed the answers to \d+\.\d % of 24\d learnt texts: no feature"
    ):
        fitted.partial_fit(["what is a ?"], ["number"])
    assert fitted.predict(["what is a ?"]).tolist() == ["number"]
