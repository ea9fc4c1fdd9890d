"""Learning on: corrections and further sentences beside what was learnt before, which stays learnt."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import chaffinch
from chaffinch import Classifier, Tagger, _core, samples
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.learners.dual import DualCrammerSinger, DualLogistic, DualRest, DualRidge
from chaffinch.learners.examples import DocumentExamples
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.recipes import TAGGERS, crf_memory
from chaffinch.recipes.crf import Crf
from chaffinch.recipes.crf_memory import CrfMemory
from chaffinch.recipes.crf_problem import margin_costs
from chaffinch.recipes.document_step import corrected, takes_steps
from chaffinch.recipes.latent import LatentPerceptronTagger, LatentSvmTagger
from chaffinch.recipes.partial_fit import Increment
from chaffinch.recipes.quiet_direction import quiet_direction
from chaffinch.recipes.token_step import with_features_of
from chaffinch.text.table import TokenTable, concatenated

N, HELD_OUT = 600, 600


sample = cache(samples.load)


def part(start: int, end: int, name: str = "ingredients") -> TokenTable:
    return TokenTable.from_documents(sample(name)[start:end])


@pytest.fixture(scope="module")
def held_out() -> TokenTable:
    return part(N, N + HELD_OUT)


def trained(end: int = N, recipe="crf", start: int = 0) -> Tagger:
    return Tagger(recipe, seed=1, threads=1).fit(part(start, end))


def answers(tagger: Tagger, table: TokenTable) -> list[list[str]]:
    return tagger.predict(table)


def mistakes(tagger: Tagger, table: TokenTable) -> list[int]:
    pairs = zip(answers(tagger, table), table.lists("y"), strict=True)
    return [n for n, (found, gold) in enumerate(pairs) if found != gold]


def sentence(table: TokenTable, n: int) -> TokenTable:
    return table.of_sentences(np.arange(table.n_sentences) == n)


def twin(tagger: Tagger) -> Tagger:
    made = object.__new__(Tagger)
    vars(made).update(vars(tagger))
    return made


def refusal_of(tagger: Tagger, lesson: TokenTable) -> str | None:
    try:
        tagger.partial_fit(lesson)
    except ConfigError as e:
        return str(e)
    return None


def reloaded(tagger: Tagger, path) -> Tagger:
    tagger.save(path)
    made = chaffinch.load(path)
    made.threads = 1
    return made


# Every recipe but crf, whose tests follow; those with hidden labels in a small form, since they are slow.
OTHERS = {
    **{recipe.name: recipe.name for recipe in TAGGERS if recipe.name != "crf"},
    "latent-perceptron": LatentPerceptronTagger(restarts=1, epochs=3),
    "latent-ssvm": LatentSvmTagger(restarts=1, rounds=1, passes=1),
}


@pytest.mark.parametrize("recipe", OTHERS)
def test_a_correction_of_any_recipe_taught_ten_times_is_right_and_harms_nothing_or_is_refused(recipe):
    corpus, size = ("posts", 300) if recipe == "semi-crf" else ("ingredients", 300)
    train, held_out = part(0, size, corpus), part(N, N + HELD_OUT, corpus)
    fitted = Tagger(OTHERS[recipe], folds=0, threads=1).fit(train)
    before, score, falls, refused = answers(fitted, held_out), fitted.score(held_out), [], 0
    for n in mistakes(fitted, held_out)[:40:10]:
        tagger, lesson = twin(fitted), sentence(held_out, n)
        if (refusal := refusal_of(tagger, lesson)) is not None:
            assert recipe in ("hmm", "emission")
            assert "These recipes can: crf, memm, semi-crf" in refusal
            assert tagger.model_ is fitted.model_
            refused += 1
            continue
        model = tagger.model_
        for _ in range(9):
            assert tagger.partial_fit(lesson).model_ is model
        assert n not in mistakes(tagger, held_out)
        changed = sum(a != b for a, b in zip(before, answers(tagger, held_out), strict=True)) - 1
        assert changed <= 0.02 * HELD_OUT
        falls.append(score - tagger.score(held_out))
    assert refused <= 3
    assert max(falls) < 0.001
    assert np.mean(falls) < 0.0005


@pytest.mark.parametrize("recipe", ["perceptron", "ssvm"])
def test_a_correction_of_names_changes_at_most_one_in_a_hundred_other_answers(recipe):
    held_out = part(N, N + 1000, "posts")
    fitted = Tagger(recipe, folds=0, seed=1, threads=1).fit(part(0, N, "posts"))
    before, score, changed = answers(fitted, held_out), fitted.score(held_out), []
    wrong = mistakes(fitted, held_out)
    for n in [wrong[len(wrong) * k // 12] for k in range(12)]:
        tagger = twin(fitted).partial_fit(sentence(held_out, n))
        after = answers(tagger, held_out)
        assert after[n] == held_out.lists("y")[n]
        assert tagger.score(held_out) > score - 0.001
        changed.append(sum(a != b for a, b in zip(before, after, strict=True)) - 1)
    assert max(changed) <= 0.01 * held_out.n_sentences
    assert np.mean(changed) <= 0.003 * held_out.n_sentences


@pytest.mark.parametrize("recipe", ["perceptron", "memm", "greedy", "easiest-first", "beam"])
def test_weights_for_the_new_features_of_a_lesson_change_no_answer(recipe, held_out):
    model = Tagger(recipe, folds=0, threads=1).fit(part(0, 200)).model_
    grown, _ = with_features_of(model, part(200, 400), 1)
    assert grown.encoder.n_features > model.encoder.n_features
    np.testing.assert_array_equal(grown.decode(held_out, 1), model.decode(held_out, 1))


def test_a_correction_of_a_new_word_is_kept_to_that_word():
    words = ["salt", "flour", "sugar", "pepper", "thyme", "paprika"]
    lines = [[str(k + 2), "g", word] for word in words for k in range(3)]
    tagger = Tagger("perceptron", features=["w[0]", "w[-1]", "shape[0]"], folds=0, threads=1)
    tagger.fit([*lines, ["diced"]], [*[["QTY", "UNIT", "NAME"]] * len(lines), ["PREP"]])
    tagger.partial_fit([["3", "g", "papika"]], [["QTY", "UNIT", "PREP"]])
    assert tagger.predict([["3", "g", "papika"]]) == [["QTY", "UNIT", "PREP"]]
    assert tagger.predict(lines) == [["QTY", "UNIT", "NAME"]] * len(lines)
    assert tagger.predict([["3", "g", "saffron"]]) == [["QTY", "UNIT", "NAME"]]


@pytest.mark.parametrize(("N", "k"), [(40, 3), (4, 9), (0, 2)])
def test_a_step_moves_the_scores_of_learnt_examples_least(N, k):
    rng = np.random.default_rng(0)
    learnt = (rng.random((N, k)) < 0.4).astype(float)
    x = rng.random(k) + 0.1
    examples, features = np.nonzero(learnt)
    d = quiet_direction(x, (examples, features, np.ones(len(features))))

    def harm(d):
        return np.square(learnt @ d).sum() + np.mean(x * x) * (d @ d)

    assert np.isclose(x @ d, x @ x)
    for size in (1e-3, 0.1, 1.0):
        for _ in range(200):
            other = d + size * rng.normal(size=k)
            assert harm(other * (x @ x) / (x @ other)) >= harm(d) - 1e-9


@pytest.mark.parametrize("recipe", ["greedy", "beam", "memm"])
def test_other_labels_of_a_known_sentence_are_learnt_near_the_weights(recipe, held_out):
    train = part(0, 300)
    fitted = Tagger(recipe, folds=0, threads=1).fit(train)
    before = answers(fitted, held_out)
    words, labels = train.lists("w")[7], train.lists("y")[7]
    other = next(label for label in fitted.classes_ if label != labels[0])
    given = [list(zip(words, train.lists("pos")[7], strict=True))]
    fitted.partial_fit(given, [[other, *labels[1:]]])
    assert fitted.predict(given) == [[other, *labels[1:]]]
    changed = sum(a != b for a, b in zip(before, answers(fitted, held_out), strict=True))
    assert changed <= 0.02 * HELD_OUT


@pytest.mark.parametrize(
    "config", [Crf(c1=0.3, c2=0.3, margin=8.0), Crf(c1=0.1, c2=0.01)], ids=["wide", "plain"]
)
def test_a_crf_with_an_l1_penalty_learns_on_from_its_file(config, held_out, tmp_path):
    fitted = Tagger(config, folds=0, threads=1).fit(part(0, 300))
    score = fitted.score(held_out)
    for n in mistakes(fitted, held_out)[:40:10]:
        tagger = reloaded(fitted, tmp_path / "m.chaff")
        for _ in range(10):
            tagger.partial_fit(sentence(held_out, n))
        assert n not in mistakes(tagger, held_out)
        assert tagger.score(held_out) > score - 0.002


def test_a_sparse_crf_from_its_file_keeps_its_answers_to_other_names(tmp_path):
    held_out = part(N, N + 500, "posts")
    fitted = Tagger(Crf(c1=0.1, c2=0.01), folds=0, threads=1).fit(part(0, N, "posts"))
    before, changed, wrong = answers(fitted, held_out), [], mistakes(fitted, held_out)
    for n in [wrong[len(wrong) * k // 6] for k in range(6)]:
        tagger = reloaded(fitted, tmp_path / "m.chaff")
        for _ in range(10):
            tagger.partial_fit(sentence(held_out, n))
        after = answers(tagger, held_out)
        assert after[n] == held_out.lists("y")[n]
        changed.append(sum(a != b for a, b in zip(before, after, strict=True)) - 1)
    assert np.mean(changed) <= 0.012 * held_out.n_sentences


def test_a_few_corrections_are_learnt_near_the_weights_and_more_by_training_on_all(held_out, monkeypatch):
    tagger = Tagger("ssvm", folds=0, threads=1).fit(part(0, 300))
    trainings = []
    train = TAGGERS.trained
    monkeypatch.setattr(type(TAGGERS), "trained", lambda self, *a, **k: trainings.append(1) or train(*a, **k))
    for n in mistakes(tagger, held_out)[:3]:
        tagger.partial_fit(sentence(held_out, n))
    assert not trainings
    before = tagger.model_
    tagger.partial_fit(sentence(held_out, mistakes(tagger, held_out)[0]))
    assert trainings
    assert tagger.model_ is not before


@pytest.mark.parametrize("source", ["memory", "file"])
def test_a_correction_taught_ten_times_is_right_and_harms_nothing(held_out, tmp_path, source):
    tagger = trained()
    if source == "file":
        tagger = reloaded(tagger, tmp_path / "m.chaff")
    before, score = answers(tagger, held_out), tagger.score(held_out)
    for n in mistakes(tagger, held_out)[:3]:
        for _ in range(10):
            tagger.partial_fit(sentence(held_out, n))
        assert n not in mistakes(tagger, held_out)
        assert tagger.score(held_out) > score - 0.001
    changed = sum(a != b for a, b in zip(before, answers(tagger, held_out), strict=True))
    assert changed <= 3 + 0.02 * HELD_OUT


def test_the_gap_after_a_correction_is_no_less_than_the_true_distance_from_the_optimum(held_out, monkeypatch):
    solved = []
    solve = CrfMemory.solve

    def watched(memory):
        solved.append((memory, *solve(memory)[1:]))
        return solve(memory)

    monkeypatch.setattr(CrfMemory, "solve", watched)
    tagger = trained()
    for n in mistakes(tagger, held_out)[:5]:
        tagger.partial_fit(sentence(held_out, n))
    monkeypatch.setattr(crf_memory, "GAP", 1e-7)
    for memory, w, gap in solved:
        found, best = (objective(memory, weights) for weights in (w, solve(memory)[1]))
        assert found / best - 1 <= gap <= 0.001


def objective(memory: CrfMemory, w) -> float:
    """sum of k loss + c2 |w|^2, by the exact objective."""
    cost = margin_costs(memory.labels, memory.chosen.margin, memory.chosen.recall)
    rows, shape = memory.rows, memory.shape
    problem = _core.CrfProblem(
        rows.sentences,
        rows.ptr,
        rows.ids,
        memory.y,
        shape.F,
        shape.Y,
        weight=memory.weight,
        cost=cost if memory.chosen.margin else None,
    )
    return _core.CrfObjective64(problem, memory.chosen.c2, 1)(w.astype(np.float64), np.zeros(len(w)))


def test_what_is_known_and_right_changes_nothing_when_it_is_taught_again(held_out):
    tagger = trained()
    n = mistakes(tagger, held_out)[0]
    gold = sentence(held_out, n)
    for _ in range(6):  # a sentence that is still wrong counts twice as much each time
        model = tagger.partial_fit(gold).model_
        if tagger.predict(gold) == gold.lists("y"):
            break
    assert tagger.predict(gold) == gold.lists("y")
    assert tagger.partial_fit(gold).model_ is model


def test_a_correction_is_taken_back(held_out):
    tagger = trained()
    before = answers(tagger, held_out)
    n = mistakes(tagger, held_out)[0]
    tagger.partial_fit(sentence(held_out, n))
    assert answers(tagger, held_out) != before
    tagger.forget(sentence(held_out, n))
    changed = sum(a != b for a, b in zip(before, answers(tagger, held_out), strict=True))
    assert changed <= 0.01 * len(before)  # the optimum is found again to within the gap
    with pytest.raises(DataError, match="nothing to forget"):
        tagger.forget(sentence(held_out, n))


def test_other_labels_of_a_known_sentence_take_the_place_of_the_old_ones():
    X, y = [["a", "b"], ["c", "b"]], [["A", "B"], ["A", "B"]]
    tagger = Tagger(Crf(c2=0.1), features=["w[0]", "w[-1]"]).fit(X, y)
    tagger.partial_fit([["a", "b"]], [["B", "A"]])
    assert tagger.predict([["a", "b"]]) == [["B", "A"]]
    same = Tagger(Crf(c2=0.1, tolerance=1e-4), features=["w[0]", "w[-1]"])
    same.fit([["c", "b"], ["a", "b"]], [["A", "B"], ["B", "A"]])
    near = [np.concatenate(t.predict_marginals([["a", "b"], ["c", "b"]])) for t in (tagger, same)]
    np.testing.assert_allclose(*near, atol=0.02)


@pytest.mark.parametrize("source", ["memory", "file"])
def test_ten_parts_one_after_the_other_are_as_good_as_all_at_once(held_out, tmp_path, source):
    tagger = trained(N // 10)
    for k in range(1, 10):
        if source == "file":
            tagger = reloaded(tagger, tmp_path / "m.chaff")
        tagger.partial_fit(part(k * N // 10, (k + 1) * N // 10))
    assert tagger.score(held_out) > trained().score(held_out) - 0.005


def test_a_new_label_and_new_words_are_learnt_without_harm(held_out):
    tagger = trained()
    score = tagger.score(held_out)
    words = [("quixotic", "JJ"), ("zyzzyva", "NN")]
    tagger.partial_fit([words], [["STRANGE", "STRANGE"]])
    assert tagger.predict([words]) == [["STRANGE", "STRANGE"]]
    assert "STRANGE" in tagger.classes_
    assert tagger.score(held_out) > score - 0.001


def test_names_in_bio_learn_on_in_their_scheme(tmp_path):
    train, more = part(0, 300, "posts"), part(300, 330, "posts")
    tagger = reloaded(Tagger(seed=1, threads=1).fit(train), tmp_path / "m.chaff")
    tagger.partial_fit(more)
    assert set(tagger.classes_) <= {*train.columns["y"].types, *more.columns["y"].types}
    before = set()
    for labels in tagger.predict(part(330, 430, "posts")):
        before |= {b for a, b in zip(["O", *labels], labels, strict=False) if b[0] == "I" and a[2:] != b[2:]}
    assert not before


@pytest.mark.parametrize("recipe", ["perceptron", "hmm", "greedy"])
def test_a_recipe_without_duals_trains_anew_on_all_data_or_says_that_it_cannot(recipe, held_out, tmp_path):
    first, more = part(0, 200), part(200, 300)
    known = {tuple(words) for words in first.lists("w")}
    more = more.of_sentences(np.array([tuple(words) not in known for words in more.lists("w")]))
    tagger = Tagger(recipe, seed=1, threads=1).fit(first).partial_fit(more)
    anew = Tagger(recipe, seed=1, threads=1).fit(concatenated([first, more]))
    assert answers(tagger, held_out) == answers(anew, held_out)
    with pytest.raises(ConfigError, match="cannot continue training without its training data"):
        reloaded(tagger, tmp_path / "m.chaff").partial_fit(part(300, 310))


@pytest.mark.parametrize(
    "features",
    [
        "chunking",
        "ingredients",
        "ner",
        ["w[0]", "any(w,-3..3)", "w[-2]|w[-1]|w[0]|w[1]|pos[-2]|pos[-1]|pos[0]|shape[0]"],
    ],
    ids=str,
)
def test_a_grown_encoder_is_one_that_saw_all_text_and_keeps_its_ids(features):
    first, more, both = (
        TokenTable(t.ptr, {k: t.columns[k] for k in ("w", "pos")})
        for t in (part(0, 100), part(100, 160), part(0, 160))
    )
    encoder = FeatureEncoder(features, threads=1, stretch=10)
    rows = encoder.fit(first)
    grown, further = encoder.grown(more)
    whole = FeatureEncoder(features, threads=1, stretch=10)
    expected = whole.fit(both)
    assert grown.names(range(encoder.n_features)) == encoder.names(range(encoder.n_features))
    np.testing.assert_array_equal(grown.transform(first).ids, rows.ids)
    np.testing.assert_array_equal(grown.transform(more).ids, further.ids)
    assert sorted(grown.names(range(grown.n_features))) == sorted(whole.names(range(whole.n_features)))
    assert grown.names(further.ids) == whole.names(expected.ids[expected.ptr[first.n_tokens] :])
    again = grown.pruned(np.ones(grown.n_features, bool))
    np.testing.assert_array_equal(again.transform(more).ids, further.ids)


# -- documents ------------------------------------------------------------------------------------------------------


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


def test_a_classifier_that_was_loaded_says_that_it_cannot_learn_on(tmp_path):
    X, y = topics(0, 60)
    Classifier("ridge", threads=1).fit(X, y).save(tmp_path / "m.chaff")
    loaded = chaffinch.load(tmp_path / "m.chaff")
    with pytest.raises(AttributeError, match="no partial_fit unless fit trained it on texts"):
        loaded.partial_fit(X[:1], y[:1])
    with pytest.raises(ConfigError, match="can forget"):
        loaded.forget(X[:1])


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


def test_a_kernel_machine_says_which_recipes_learn_on():
    X, y = topics(0, 60)
    with pytest.raises(AttributeError, match="these recipes have: ridge, svm"):
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
