"""Classifiers of texts that choose their features, recipe and penalty by themselves."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import chaffinch
from chaffinch import Classifier, ConfigError, DataError, samples
from chaffinch.defaults import documents
from chaffinch.defaults.documents import PENALTIES, SINGLE, Measured, choose
from chaffinch.learners.dual import DualCrammerSinger
from chaffinch.recipes import document_task
from chaffinch.recipes.document_task import fold_scores
from chaffinch.recipes.text_features import TextFeatures
from commandline import Runner, run  # noqa: F401


@pytest.fixture(scope="module")
def reviews():
    found = []
    for split, n in (("train", 800), ("test", 400)):
        documents = samples.load("reviews", split, n=n)
        found += [[d.text for d in documents], [d.labels[0] for d in documents]]
    return found


def shapes(n, seed=0):
    """Made-up names of two kinds that differ in their letters alone: no word occurs twice."""
    rng = np.random.RandomState(seed)
    texts, labels = [], []
    for i in range(n):
        ends = ["ella", "ina", "etta"] if i % 2 else ["ork", "ug", "arn"]
        texts.append("".join(rng.choice(list("bcdfglmnprst"), 4)) + ends[rng.randint(3)])
        labels.append("soft" if i % 2 else "hard")
    return texts, labels


def test_what_is_chosen_beats_the_plain_default(reviews):
    texts, y, new, gold = reviews
    chosen = Classifier().fit(texts, y)
    plain = Classifier("ridge").fit(texts, y)
    assert chosen.score(new, gold) > plain.score(new, gold) + 0.01
    assert chosen.choice_["features"] == "sentences"
    assert plain.choice_ is None


def test_single_characters_count_if_no_string_of_them_occurs_twice():
    rng = np.random.RandomState(0)
    texts = ["".join(map(chr, 0x4E00 + 300 * (i % 2) + rng.randint(0, 300, 12))) for i in range(600)]
    y = ["first" if i % 2 else "second" for i in range(600)]
    chosen = Classifier().fit(texts[:400], y[:400])
    assert chosen.choice_["features"] == "characters"
    assert chosen.score(texts[400:], y[400:]) > 0.95


def test_characters_are_chosen_if_words_say_nothing():
    texts, y = shapes(300)
    chosen = Classifier().fit(texts, y)
    assert chosen.choice_["features"] != "tf-idf"
    assert chosen.score(*shapes(200, seed=1)) > 0.95


def test_characters_compete_for_long_texts_as_far_as_they_are_affordable():
    names, kinds = shapes(60 * 40)
    texts = [" ".join(names[n % 2 :: 2][40 * (n // 2) : 40 * (n // 2) + 40]) for n in range(60)]
    y = kinds[:60]
    assert np.mean([len(text) for text in texts]) > documents.SHORT
    chosen = Classifier(threads=1).fit(texts, y)
    assert chosen.choice_["features"] == "characters"
    few = documents.FEW_CHARACTERS // len(texts[0])
    assert "characters" in documents.suited_kinds(texts[:1] * (few - 1))
    assert "characters" not in documents.suited_kinds(texts[:1] * (few + 1))


def test_the_scores_of_the_choice_are_those_that_calibration_would_compute(monkeypatch):
    texts, y = shapes(1100)  # two folds are scored to judge small weights, five are known
    seen = []

    def spy(task, encoder, problem, learner):
        alone = replace(task, ready=None, held_out=None, scored=None)
        quick = replace(learner, epochs=document_task.TRIAL_PASSES)
        seen.append((task, fold_scores(alone, encoder, problem, quick)))
        return fold_scores(task, encoder, problem, learner)

    monkeypatch.setattr(document_task, "fold_scores", spy)
    chosen = Classifier(threads=1).fit(texts, y)
    ((task, alone),) = seen
    assert len(alone.held) == len(task.scored.held) == chosen.confidence_.decisions
    assert np.array_equal(alone.held, task.scored.held)
    assert np.array_equal(alone.scores, task.scored.scores)
    assert chosen.confidence_.folds == 5


def test_the_same_is_chosen_for_any_number_of_threads_and_the_bytes_are_the_same(reviews, tmp_path):
    texts, y, _, _ = reviews
    files = []
    for threads in (1, 2):
        Classifier(threads=threads).fit(texts[:300], y[:300]).save(tmp_path / f"{threads}.chaff")
        files.append((tmp_path / f"{threads}.chaff").read_bytes())
    assert files[0] == files[1]


def test_what_is_given_is_kept(reviews):
    texts, y, _, _ = reviews
    fixed = Classifier(features="tf-idf", settings={"C": 0.7}).fit(texts[:300], y[:300])
    assert fixed.config_.C == 0.7
    assert fixed.choice_["recipe"] in SINGLE
    assert fixed.model_.encoder.union.vectorizers[0].sublinear
    named = Classifier("crammer-singer", choose=True).fit(texts[:300], y[:300])
    assert isinstance(named.config_, DualCrammerSinger)
    assert named.config_.C in PENALTIES["crammer-singer"]
    kept = Classifier(DualCrammerSinger(C=0.5), choose=True).fit(texts[:300], y[:300])
    assert kept.config_.C == 0.5
    plain = Classifier(choose=False).fit(texts[:300], y[:300])
    assert plain.choice_ is None
    with pytest.raises(ConfigError, match="alpha"):
        Classifier(settings={"alpha": 1.0}).fit(texts[:300], y[:300])


@pytest.mark.parametrize("n", [2, 5, 19, 25])
def test_a_handful_of_texts_and_labels_of_one_text_do_no_harm(n):
    texts = [f"word{i} tea" for i in range(n)]
    y = [f"label{i}" if i % 3 == 0 else "common" for i in range(n)]
    chosen = Classifier().fit(texts, y)
    assert chosen.predict(["word1 tea"]).tolist() == ["common"]


def test_texts_that_are_empty_or_all_alike_do_no_harm():
    with pytest.raises(DataError, match="they are empty"):
        Classifier().fit([""] * 40, ["a", "b", "b", "b"] * 10)
    assert Classifier().fit(["same"] * 40, ["a", "b", "b", "b"] * 10).predict(["same"]).tolist() == ["b"]


def test_several_labels_and_shares_are_chosen_for_too(reviews):
    texts, y, _, _ = reviews
    several = Classifier().fit(texts[:200], [["x", label] if label > "2" else [label] for label in y[:200]])
    assert several.choice_["recipe"] in ("ridge", "svm")
    soft = Classifier().fit(texts[:200], [{label: 0.9, "other": 0.1} for label in y[:200]])
    assert soft.choice_["recipe"] == "logistic"


def test_numbers_beside_texts_take_part_in_the_choice(reviews):
    texts, y, _, _ = reviews
    beside = {"stars": [float(label) for label in y[:300]]}
    chosen = Classifier().fit(texts[:300], y[:300], beside=beside)
    assert chosen.choice_["accuracy"] > 0.7


def test_numbers_alone_keep_ridge():
    X = np.random.RandomState(0).normal(size=(60, 3))
    classifier = Classifier().fit(X, X[:, 0] > 0)
    assert classifier.choice_ is None
    assert Classifier.recipes.by_config(classifier.config_).name == "ridge"


def test_a_classifier_that_chooses_is_cloned_and_cross_validated(reviews):
    texts, y, _, _ = reviews
    classifier = Classifier(seed=2)
    assert clone(classifier).get_params() == classifier.get_params()
    assert cross_val_score(classifier, texts[:150], y[:150], cv=2).mean() > 0.3


def test_the_choice_is_told_saved_and_shown(run: Runner, reviews, tmp_path):  # noqa: F811
    texts, y, _, _ = reviews
    data, model = tmp_path / "train.jsonl", tmp_path / "m.chaff"
    data.write_text(
        "".join(json.dumps({"text": t, "label": l}) + "\n" for t, l in zip(texts[:300], y, strict=False))
    )
    made = run("train", data, "-o", model)
    assert made.code == 0, made.err
    assert "chose " in made.out
    assert "folds of the training data" in " ".join(made.out.split())
    assert chaffinch.load(model).choice_["told"].startswith("chose ")
    assert "chose " in run("inspect", model).out
    told = json.loads(run("train", data, "-o", model, "--C", "0.7", "--json").out)
    assert told["choice"]["settings"] == {}
    assert chaffinch.load(model).config_.C == 0.7
    plain = json.loads(run("train", data, "-o", model, "--no-choose", "--json").out)
    assert "choice" not in plain
    assert plain["recipe"] == "ridge"
    named = json.loads(run("train", data, "-o", model, "--recipe", "svm", "--json").out)
    assert "choice" not in named


def test_a_choice_costs_a_bounded_number_of_trainings(reviews, monkeypatch):
    """Counted work, not time: values of rows that learners pass over."""
    from chaffinch.defaults import documents

    texts, y, _, _ = reviews
    work = []

    def counted(task, held_out, candidate, settings, folds, known=None):
        work.append(0.8 * len(folds) * documents._cost(len(held_out.rows.ids), len(task.labels.classes)))
        return measured(task, held_out, candidate, settings, folds, known)

    measured = documents._measured
    monkeypatch.setattr(documents, "_measured", counted)
    classifier = Classifier(threads=1)
    task = classifier._task(texts, y, None, None, lambda _: True)
    task, _, _ = choose(task, None, {}, False)
    stored = len(task.ready[1].ids)
    one = documents._cost(stored, 5) + documents.ENCODING * stored
    assert sum(work) < max(10 * one, 2 * documents.LEAST)


def of_hits(candidate, hits):
    """A candidate whose documents are right or wrong; with several labels, kinds are compared by these alone."""
    none, nowhere = np.zeros((0, 2), np.float32), np.zeros(0, np.int64)
    return Measured(candidate, hits, none, none, True, nowhere, 3, nowhere, np.zeros(len(hits)))


def of_scores(margin, unread=0):
    """A candidate that is right in 3 of 4 documents by this margin, wrong in the others by 1, and cannot read some."""
    K = 200 - unread
    wrong = np.arange(K) % 4 == 3
    gold = np.zeros((K, 2), np.float32)
    gold[np.arange(K), np.arange(K) % 2] = 1
    sign = np.where(np.arange(K) % 2 == 0, 1.0, -1.0) * np.where(wrong, -1.0, margin)
    scores = np.stack([sign, -sign], axis=1).astype(np.float32) / 2
    read = np.arange(K)
    right = np.concatenate([~wrong, np.arange(unread) % 2 == 0]).astype(np.float64)
    return Measured(None, right, scores, gold, False, read, 3, read, np.full(200, np.log(2)))


def test_of_kinds_that_are_equally_often_right_the_one_with_better_probabilities_is_ahead():
    plain, sure = of_scores(1.0), of_scores(6.0)
    assert plain.accuracy == sure.accuracy
    assert sure.surprise() < plain.surprise() - 0.1
    assert documents._close({"sentences": plain, "questions": sure}, 1.0) == ["questions"]


def test_a_kind_of_features_that_few_documents_have_is_not_ahead_on_these():
    few, all_ = of_scores(6.0, unread=180), of_scores(1.0)
    assert few.surprises[:20].mean() < all_.surprises[:20].mean()
    np.testing.assert_allclose(few.surprises[20:], np.log(2))
    assert documents._close({"words": few, "sentences": all_}, 1.0) == ["sentences"]


@pytest.mark.parametrize(("ahead", "expected"), [(8, "questions"), (2, "sentences")])
def test_the_preferred_kind_of_features_gives_way_to_one_that_is_clearly_ahead(
    monkeypatch, reviews, ahead, expected
):
    texts, y = reviews[0][:200], reviews[1][:200]
    rng = np.random.RandomState(0)
    sentences = (rng.rand(200) < 0.6).astype(float)
    questions = sentences.copy()
    moved = rng.permutation(200)[:100]
    questions[moved] = 1 - questions[moved]  # a difference with a standard error of 5 documents in 100
    lead = questions.sum() - sentences.sum()
    wrong = np.flatnonzero((questions == 0) & (sentences == 0))
    right = np.flatnonzero((questions == 1) & (sentences == 1))
    change = int(ahead - lead)
    questions[(wrong if change > 0 else right)[: abs(change)]] = float(change > 0)
    assert questions.sum() - sentences.sum() == ahead
    hits_by_kind = {"sentences": sentences, "questions": questions}

    def measured(task, held_out, candidate, settings, folds, known=None):
        hits = hits_by_kind.get(candidate.features, np.zeros(200))
        return of_hits(candidate, hits)

    monkeypatch.setattr(documents, "_measured", measured)
    tasks = []
    monkeypatch.setattr(documents, "_second_round", lambda kinds, left, names, sample: tasks.append(names))
    Classifier(calibrate=False).fit(texts, y)
    assert tasks == [[expected]]


@pytest.mark.parametrize(
    ("ahead", "documents_used", "expected"),
    [(8, 200, "questions"), (1, 200, "sentences"), (3, 200, "questions"), (3, 150, "sentences")],
)
def test_the_second_round_keeps_the_preferred_of_two_kinds_that_are_close(
    monkeypatch, reviews, ahead, documents_used, expected
):
    texts, y = reviews[0][:200], reviews[1][:200]
    sentences = (np.arange(200) % 2).astype(float)
    questions = sentences.copy()
    questions[np.flatnonzero(sentences == 1)[:20]] = 0
    questions[np.flatnonzero(sentences == 0)[: 20 + 2 * ahead]] = (
        1  # ahead by points; a standard error is above 3
    )
    hits_by_kind = {"sentences": sentences, "questions": questions}

    def measured(task, held_out, candidate, settings, folds, known=None):
        hits = hits_by_kind.get(candidate.features, np.zeros(200))
        if len(task.X) == 100:  # the sample cannot tell the two apart
            hits = hits_by_kind["sentences"] if candidate.features in hits_by_kind else np.zeros(200)
        return of_hits(candidate, hits)

    class Ended(Exception):
        pass

    left = []

    def last_round(found):
        left.extend({one.candidate.features for one in found})
        raise Ended

    monkeypatch.setattr(documents, "_measured", measured)
    monkeypatch.setattr(documents, "SAMPLE", 100)
    monkeypatch.setattr(documents, "_affordable", lambda kinds, left, names: documents_used)
    monkeypatch.setattr(documents, "_last_round", last_round)
    with pytest.raises(Ended):
        Classifier(calibrate=False).fit(texts, y)
    assert left == [expected]


@pytest.mark.parametrize(
    ("documents_used", "expected"), [(150, ["sentences", "questions"]), (99, ["questions"])]
)
def test_of_two_close_kinds_that_the_second_round_cannot_compare_the_better_is_kept(
    monkeypatch, reviews, documents_used, expected
):
    tried = []

    def measured(task, held_out, candidate, settings, folds, known=None):
        if candidate.features not in tried:
            tried.append(candidate.features)

    monkeypatch.setattr(documents, "_measured", measured)
    monkeypatch.setattr(documents, "_affordable", lambda kinds, left, names: documents_used)
    task = Classifier(threads=1)._task(reviews[0][:200], reviews[1][:200], None, None, lambda _: True)
    left = documents._left(task, None, {}, False)
    kinds = documents.EncodedDocuments(task, left.features)
    documents._second_round(kinds, left, ["questions", "sentences"], 100)
    assert tried == expected


def test_a_kind_of_features_that_the_second_round_cannot_compare_is_not_encoded_again(monkeypatch, reviews):
    encoded = []

    def spy(task, shared=None):
        encoded.append((len(task.X), task.features))
        return whole(task, shared)

    whole = document_task.DocumentTask.encoded
    monkeypatch.setattr(document_task.DocumentTask, "encoded", spy)
    monkeypatch.setattr(documents, "SAMPLE", 150)
    monkeypatch.setattr(documents, "_close", lambda best, errors: ["questions", "sentences"][: len(best)])
    monkeypatch.setattr(documents, "LEAST", 0.0)
    monkeypatch.setattr(documents, "TIMES", 1.0)  # fewer than 150 documents are affordable
    Classifier(calibrate=False, threads=1).fit(reviews[0][:200], reviews[1][:200])
    assert [size for size, _ in encoded] == [150] * 5 + [200, 200]  # the last: ready
    asked = TextFeatures.named("questions")
    assert all(features == asked for size, features in encoded if size == 200)
