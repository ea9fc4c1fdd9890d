"""Words and labels that a trained classifier did not have: room for them changes no answer, learning them few."""

import copy
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch import Classifier, samples
from chaffinch.errors import DataWarning
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.recipes.document_step import takes_steps
from chaffinch.recipes.grown_classifier import with_labels, with_room, with_words
from commandline import Runner, run  # noqa: F401

STEPPING = [r.name for r in Classifier.recipes if takes_steps(r.config())]


def topics(start: int, end: int) -> tuple[list[str], list[str]]:
    documents = samples.load("topics")[start:end]
    return [d.text for d in documents], [d.labels[0] for d in documents]


@pytest.fixture(scope="module")
def fitted():
    return {name: Classifier(name, threads=1).fit(*topics(0, 400)) for name in STEPPING}


def twin(classifier):
    made = object.__new__(Classifier)
    vars(made).update(copy.copy(vars(classifier)))
    return made


def loaded(classifier, tmp_path):
    classifier.save(tmp_path / "m.chaff")
    return chaffinch.load(tmp_path / "m.chaff")


# -- room -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", STEPPING)
def test_room_for_words_and_labels_changes_no_answer_and_a_new_label_is_improbable(recipe, fitted):
    model, (held_out, _) = fitted[recipe].model_, topics(400, 700)
    classes = np.unique([*model.classes.tolist(), "aardvarks", "zebras of the savannah"])
    grown = with_labels(with_words(model, ["zyzzyva", "quux"], 0.3), classes, 400)
    before, after = model.scores(held_out, None, 1), grown.scores(held_out, None, 1)
    assert grown.classes[after.argmax(axis=1)].tolist() == model.classes[before.argmax(axis=1)].tolist()
    old = np.isin(classes, model.classes)
    assert np.allclose(
        after[:, old], before, atol=0.02 * np.abs(before).max()
    )  # intercepts may round differently
    odds = (after[:, ~old] - after.max(axis=1, keepdims=True)) / model.calibration.temperature
    assert np.exp(odds).max() < 1.2 * len(model.classes) / 400
    shares = grown.prior.shares
    assert shares[~old].tolist() == pytest.approx([1 / 402] * 2)
    assert shares.sum() == pytest.approx(1.0)


@given(st.lists(st.sampled_from(["no", "tea", "Cake", "ever", "zork", "of", ""]), min_size=1, max_size=12))
@settings(max_examples=50)
def test_new_words_are_those_without_an_ngram_and_their_features_tell_which_texts_have_them(words):
    encoder = DocumentEncoder.of([TextVectorizer(ngram_high=2, norm="l2")], [1.0])
    learnt = encoder.fitted_rows(["no tea", "tea of no cake"], None, None)
    texts = [" ".join(words), "tea"]
    new = encoder.new_words(texts)
    assert set(new) == {w.lower() for w in words} - {"no", "tea", "cake", "of", ""}
    if not new:
        return
    grown = encoder.with_words(new, 0.5)
    assert grown.new_words(texts) == []
    assert np.array_equal(
        grown.rows(["no tea", "tea of no cake"], None, 1).dense()[:, : learnt.columns], learnt.dense()
    )
    added = grown.rows(texts, None, 1).dense()[:, learnt.columns :]
    assert added.tolist() == [[0.5] * len(new), [0.0] * len(new)]
    again = grown.with_words(["later"], 9.0)
    assert again.rows(["later"], None, 1).dense()[0, learnt.columns :].tolist() == [0.0] * len(new) + [0.5]


def test_counts_are_estimated_from_the_order_of_features():
    texts = [" ".join(f"w{k}" for k in range(60) if n % (k + 1) == 0) for n in range(1200)]
    encoder = DocumentEncoder.of([TextVectorizer(ngram_high=1)], [1.0])
    rows = encoder.fitted_rows(texts, None, None)
    counts = np.bincount(rows.ids, minlength=rows.columns)
    likely = encoder.likely_counts(np.arange(rows.columns, dtype=np.int32))
    assert np.all(np.diff(likely) < 0)
    assert np.corrcoef(np.log(likely), np.log(counts))[0, 1] > 0.99  # the counts are a harmonic series
    grown = encoder.with_words(["zork"], 1.0)
    assert grown.likely_counts(np.array([0, 60], np.int32)).tolist() == [60.0, 0.0]
    hashed = DocumentEncoder.of([TextVectorizer(hash_bits=4)], [1.0])
    hashed.fitted_rows(texts, None, None)
    assert hashed.likely_counts(np.array([3], np.int32)).tolist() == [0.0]


def test_an_encoder_of_characters_numbers_or_hashed_words_gets_no_words():
    for vectorizer in (TextVectorizer(unit="char"), TextVectorizer(hash_bits=6)):
        encoder = DocumentEncoder.of([vectorizer], [1.0])
        encoder.fitted_rows(["no tea"], None, None)
        assert encoder.new_words(["a zork"]) == []
    X, y = topics(0, 60)
    model = Classifier("ridge", features="characters", threads=1).fit(X, y).model_
    assert with_room(model, ["a zork"], model.classes, 60, 1) is model


# -- learning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", STEPPING)
def test_a_text_with_a_new_label_is_right_and_harms_nothing(recipe, fitted):
    held_out, gold = topics(400, 1400)
    before = fitted[recipe].predict(held_out)
    for n in (3, 333, 777):
        classifier = twin(fitted[recipe])
        for _ in range(10):
            classifier.partial_fit([held_out[n]], ["a label that is new"])
        after = classifier.predict(held_out)
        assert after[n] == "a label that is new"
        others = np.arange(len(gold)) != n
        assert np.mean(after[others] != before[others]) < 0.01
        assert classifier.model_.calibration == fitted[recipe].model_.calibration
        p = classifier.predict_proba(held_out)
        assert np.allclose(p.sum(axis=1), 1)
        assert np.median(p[:, classifier.classes_.tolist().index("a label that is new")]) < 0.01


def test_a_label_that_was_taught_often_enough_is_found_in_other_texts():
    X, y = topics(0, 1400)
    new = y[0]
    rest = [n for n in range(700) if y[n] != new]
    classifier = Classifier("ridge", threads=1, calibrate=False).fit(
        [X[n] for n in rest], [y[n] for n in rest]
    )
    taught = [n for n in range(700) if y[n] == new][:16]
    found = [n for n in range(700, 1400) if y[n] == new]
    recall = {}
    for k, n in enumerate(taught, 1):
        classifier.partial_fit([X[n]], [new])
        recall[k] = np.mean(classifier.predict([X[n] for n in found]) == new)
        assert classifier._stepped == 0 or k not in (4, 8, 16)
    whole = Classifier("ridge", threads=1, calibrate=False).fit(
        [X[n] for n in rest + taught], [y[n] for n in rest + taught]
    )
    assert recall[16] >= 0.8 * np.mean(whole.predict([X[n] for n in found]) == new)


def test_words_that_steps_added_stay_when_all_texts_are_trained_on(monkeypatch):
    (X, y), (more, gold) = topics(0, 300), topics(300, 700)
    classifier = Classifier("ridge", threads=1, calibrate=False).fit(X, y)
    wrong = np.flatnonzero(classifier.predict(more) != np.array(gold))[:4].tolist()
    texts = [f"{more[n]} zyzzyva{n}" for n in wrong]
    for text, n in zip(texts, wrong, strict=True):  # more than one text in a hundred: the last trains on all
        classifier.partial_fit([text], [gold[n]])
    assert classifier._stepped == 0
    assert classifier.predict(texts).tolist() == [gold[n] for n in wrong]


@pytest.mark.parametrize("recipe", STEPPING)
def test_a_loaded_classifier_learns_corrections_new_words_and_labels_and_harms_nothing(
    recipe, fitted, tmp_path
):
    held_out, gold = topics(400, 1400)
    before = fitted[recipe].predict(held_out)
    wrong = np.flatnonzero(before != np.array(gold))[:3].tolist()
    for n, label in [*((n, gold[n]) for n in wrong), (5, "a label that is new"), (6, gold[7])]:
        classifier = loaded(fitted[recipe], tmp_path)
        classifier.partial_fit([held_out[n]], [label])
        model = classifier.model_
        assert classifier.partial_fit([held_out[n]], [label]).model_ is model
        after = classifier.predict(held_out)
        assert after[n] == label
        # The texts of the sample share nearly all their words, and 400 of them are few.
        assert np.mean(after != before) < 0.03
        assert np.mean(after == np.array(gold)) > np.mean(before == np.array(gold)) - 0.006
    again = loaded(classifier, tmp_path)
    assert np.array_equal(again.predict_proba(held_out), classifier.predict_proba(held_out))


def test_a_loaded_classifier_learns_a_large_lesson_and_names_texts_that_contradict(fitted, tmp_path):
    (more, targets), (held_out, gold) = topics(400, 700), topics(700, 1400)
    classifier = loaded(fitted["ridge"], tmp_path)
    before = classifier.score(held_out, gold)
    with pytest.warns(
        DataWarning, match=r"300 documents were learnt by small changes of a model of 400 documents"
    ):
        classifier.partial_fit(more, targets)
    assert classifier.score(more, targets) == 1.0
    assert (
        classifier.score(held_out, gold) > before - 0.015
    )  # the sample has wrong labels, which are learnt too
    assert classifier.trained_on_ == {"documents": 700}
    first, second = classifier.classes_[:2].tolist()
    with pytest.warns(DataWarning, match=r"\d of 3 documents of this lesson (is|are) still wrong"):
        classifier.partial_fit(["zork quux", "quux zork", "a frobnitz"], [first, second, first])
    assert classifier.predict(["a frobnitz"]).tolist() == [first]
    assert classifier.score(held_out, gold) > before - 0.015


@pytest.mark.parametrize("loads", [False, True])
@pytest.mark.parametrize(
    ("labels", "new", "learnt", "said"),
    [
        ([1, 0], 7, 7, None),
        ([1, 0], "7", "7", "expected a string as the label, as of other documents"),
        (
            ["a", "b"],
            3,
            "3",
            "expected strings as labels, as those learnt before, found 3, which is read as '3'",
        ),
    ],
)
def test_a_new_label_of_another_type_is_read_as_a_string_and_this_is_said(
    labels, new, learnt, said, loads, tmp_path
):
    texts = ["good tea now", "bad tea here", "fine tea again", "poor tea"]
    classifier = Classifier("ridge", threads=1, calibrate=False).fit(texts, labels * 2)
    classifier = loaded(classifier, tmp_path) if loads else classifier
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        classifier.partial_fit(["the zork"], [new])
    assert classifier.predict(["the zork"]).tolist() == [learnt]
    assert [said in str(one.message) for one in found][:1] == ([] if said is None else [True])


# -- a model file to start from ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--recipe", "nb"], "holds a model of the recipe ridge, not nb"),
        (["--C", "2"], "continues with the settings of .*; leave out --C"),
        (["--cache", "here"], "--cache cannot be combined with --start"),
        (["--start", "t.chaff"], "is not a model for documents"),
        (["--start", "k.chaff"], "recipe knn, which cannot learn further data"),
        (["--start", "none.chaff"], "none.chaff"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_training_further_refuses_what_it_cannot_do(flags, said, fitted, tmp_path, run: Runner, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    fitted["ridge"].save("m.chaff")
    chaffinch.Tagger("hmm").fit([["a", "b"]], [["X", "Y"]]).save("t.chaff")
    Classifier("knn").fit(["a b", "b c"], ["X", "Y"]).save("k.chaff")
    (tmp_path / "more.csv").write_text("label,text\nzorks,the zork of a frobnitz\n")
    given = ["--start", "m.chaff", *flags] if "--start" not in flags else flags
    made = run("train", "more.csv", "-o", "n.chaff", *given)
    assert made.code == 2
    assert re.search(said, " ".join(made.err.split()))
    assert not (tmp_path / "n.chaff").exists()


def test_the_command_continues_from_a_model_of_documents(fitted, tmp_path, run: Runner):  # noqa: F811
    fitted["ridge"].save(tmp_path / "m.chaff")
    (tmp_path / "more.csv").write_text("label,text\nzorks,the zork of a frobnitz\n")
    for number in range(3):
        out = tmp_path / f"m{number}.chaff"
        start = tmp_path / (f"m{number - 1}.chaff" if number else "m.chaff")
        made = run("train", tmp_path / "more.csv", "--start", start, "-o", out)
        assert made.code == 0, made.err
    assert (tmp_path / "m2.chaff").read_bytes() == (tmp_path / "m0.chaff").read_bytes()
    learnt, held_out = chaffinch.load(out), topics(400, 700)[0]
    assert learnt.predict(["the zork of a frobnitz"]).tolist() == ["zorks"]
    assert np.mean(learnt.predict(held_out) != fitted["ridge"].predict(held_out)) < 0.01
