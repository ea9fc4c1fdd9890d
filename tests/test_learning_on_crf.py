"""Learning on, the CRF: corrections move its marginals, and those of all that was learnt before stay beside them."""

import gc
import weakref

import numpy as np
import pytest

from chaffinch import Tagger, _core
from chaffinch.corpus import read_table
from chaffinch.errors import DataError, DataWarning
from chaffinch.learners.likelihood import Lbfgs, Sdca
from chaffinch.recipes import crf_duals, crf_memory
from chaffinch.recipes.crf import Crf
from chaffinch.recipes.crf_memory import CrfMemory
from chaffinch.recipes.crf_problem import margin_costs
from chaffinch.text.table import TokenTable
from lessons import (
    HELD_OUT,
    N,
    answers,
    fitted_once,
    mistakes,
    part,
    reloaded,
    sentence,
    trained,
    twin,
    uncalibrated,
)


@pytest.fixture(scope="module")
def held_out() -> TokenTable:
    return part(N, N + HELD_OUT)


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


@pytest.mark.parametrize(("end", "corrections"), [(N, 5), (150, 12)])
def test_the_gap_after_a_correction_is_no_less_than_the_true_distance_from_the_optimum(
    end, corrections, held_out, monkeypatch
):
    solved = []
    solve = CrfMemory.solve

    def watched(memory):
        solved.append((memory, *solve(memory)[1:]))
        return solve(memory)

    monkeypatch.setattr(CrfMemory, "solve", watched)
    tagger = trained(end)
    for n in mistakes(tagger, held_out)[:corrections]:
        tagger.partial_fit(sentence(held_out, n))
    monkeypatch.setattr(crf_memory, "GAP", 1e-7)
    for memory, w, gap in solved:
        found, best = (objective(memory, weights) for weights in (w, solve(memory)[1]))
        assert found / best - 1 <= gap <= 0.001


def test_a_correction_beside_lines_that_resemble_each_other_takes_few_passes(data, monkeypatch):
    table = read_table(data / "ingredients" / "train.tsv.gz")
    at, size = np.arange(table.n_sentences), 9000
    tagger = Tagger("crf", folds=0, seed=1, threads=1).fit(table.of_sentences(at < size))
    rest = table.of_sentences((at >= size) & (at < size + 300))
    visits = []

    class Counted(_core.CrfSdca):
        def run(self, w):
            met = super().run(w)
            visits[-1] += met.visited
            return met

        def settle_loudest(self, count, w):
            met = super().settle_loudest(count, w)
            visits[-1] += met.visited
            return met

    monkeypatch.setattr(crf_memory, "CrfSdca", Counted)
    for n in mistakes(tagger, rest)[:2]:
        visits.append(0)
        twin(tagger).partial_fit(sentence(rest, n))
    assert np.mean(visits) < 4 * size


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


@pytest.mark.parametrize("source", ["memory", "file"])
def test_the_last_correction_is_taken_back_exactly(held_out, tmp_path, source):
    tagger = trained() if source == "memory" else reloaded(trained(), tmp_path / "m.chaff")
    first, second = (sentence(held_out, n) for n in mistakes(tagger, held_out)[:2])
    tagger.partial_fit(first)
    tagger.save(tmp_path / "before.chaff")
    tagger.partial_fit(second)
    tagger.save(tmp_path / "taught.chaff")
    tagger.forget(second)
    tagger.save(tmp_path / "after.chaff")
    assert (tmp_path / "after.chaff").read_bytes() == (tmp_path / "before.chaff").read_bytes()
    assert (tmp_path / "taught.chaff").read_bytes() != (tmp_path / "before.chaff").read_bytes()
    again = [tagger.partial_fit(second).model_, tagger.forget(second).partial_fit(second).model_]
    for weights in ("unary", "pair"):
        np.testing.assert_array_equal(*(getattr(model.weights, weights) for model in again))


def test_a_loaded_tagger_learns_on_after_there_was_nothing_to_forget(held_out, tmp_path):
    tagger = reloaded(trained(), tmp_path / "m.chaff")
    lesson = sentence(held_out, mistakes(tagger, held_out)[0])
    with pytest.raises(DataError, match="nothing to forget"):
        tagger.forget(lesson)
    before = answers(tagger, held_out)
    assert tagger.partial_fit(lesson).predict(lesson) == lesson.lists("y")
    assert answers(tagger.forget(lesson), held_out) == before


def test_forgetting_an_earlier_correction_keeps_the_later_one(held_out):
    tagger = trained()
    first, second = (sentence(held_out, n) for n in mistakes(tagger, held_out)[:2])
    tagger.partial_fit(first).partial_fit(second).forget(first)
    with pytest.raises(DataError, match="nothing to forget"):
        tagger.forget(first)
    tagger.forget(second)
    assert tagger._memory.n_sentences == N


def test_a_correction_leaves_the_memory_before_it_as_it_was(held_out):
    tagger = trained()
    lesson = sentence(held_out, mistakes(tagger, held_out)[0])
    tagger.partial_fit(sentence(held_out, mistakes(tagger, held_out)[1]))
    memory = tagger._memory
    arrays = [*vars(memory.duals).values(), memory.summed.w]
    copies = [array.copy() for array in arrays]
    models = [twin(tagger).partial_fit(lesson).model_ for _ in range(2)]
    for array, copied in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copied)
    np.testing.assert_array_equal(*(model.weights.unary for model in models))


def test_weights_kept_between_corrections_are_those_of_the_marginals(held_out, monkeypatch):
    never = np.zeros(1, bool)  # no weight doubles: weights are not summed again
    monkeypatch.setattr(CrfMemory, "mistakes", lambda memory, *_: np.resize(never, memory.n_sentences))
    tagger, wrong = trained(), mistakes(trained(), held_out)
    for n in wrong[:4]:
        tagger.partial_fit(sentence(held_out, n))
    memory = tagger._memory
    kept, gold = memory.summed.w, np.eye(memory.shape.S, dtype=np.float32)[memory.y]
    rows, w = memory.rows, np.zeros((memory.shape.F, memory.shape.S))
    share = np.repeat(memory.weight, np.diff(rows.sentences))[:, None] * (gold - memory.duals.nodes)
    np.add.at(w, rows.ids, np.repeat(share, np.diff(rows.ptr), axis=0) / (2 * memory.chosen.c2))
    np.testing.assert_allclose(kept[: w.size].reshape(w.shape), w, atol=1e-4)
    assert memory.summed.changes == 4
    monkeypatch.setattr(crf_duals, "MOST_CHANGES", 5)
    assert tagger.partial_fit(sentence(held_out, wrong[4]))._memory.summed is None


def test_the_models_before_a_lesson_are_freed_when_nothing_holds_them(held_out):
    tagger = Tagger("crf", folds=0, seed=1, threads=1).fit(part(0, 300))
    wrong = mistakes(tagger, held_out)
    gc.collect()
    gc.disable()
    try:
        model = weakref.ref(tagger.model_)
        for n in wrong[:2]:  # the last lesson can be taken back, so it keeps the model before it
            tagger.partial_fit(sentence(held_out, n))
        assert model() is None
    finally:
        gc.enable()


def test_sentences_below_the_threshold_are_measured_but_do_not_move():
    memory = trained()._memory
    for quiet, moves in ((0.0, True), (np.inf, False)):
        duals, w = memory._all_duals(), memory.summed.w.copy()
        nodes = duals.nodes.copy()
        rows, shape = memory.rows, memory.shape
        problem = _core.CrfProblem(rows.sentences, rows.ptr, rows.ids, memory.y, shape.F, shape.Y)
        learner = _core.CrfSdca(
            problem, memory.chosen.c2, quiet=quiet, nodes=duals.nodes.ravel(), pairs=duals.pairs.ravel()
        )
        learner.resume(duals.change, duals.loss, duals.smaller, duals.met)
        moved = learner.run(w).moved
        assert moved > 0
        assert np.isclose(learner.visits()[0].sum() / 2, moved)
        assert np.array_equal(duals.nodes, nodes) != moves
        assert np.array_equal(w, memory.summed.w) != moves


def test_other_labels_of_a_known_sentence_take_the_place_of_the_old_ones():
    X, y = [["a", "b"], ["c", "b"]], [["A", "B"], ["A", "B"]]
    tagger = Tagger(Crf(c2=0.1), features=["w[0]", "w[-1]"]).fit(X, y)
    tagger.partial_fit([["a", "b"]], [["B", "A"]])
    assert tagger.predict([["a", "b"]]) == [["B", "A"]]
    same = Tagger(Crf(c2=0.1, tolerance=1e-4), features=["w[0]", "w[-1]"])
    same.fit([["c", "b"], ["a", "b"]], [["A", "B"], ["B", "A"]])
    near = [np.concatenate(t.predict_marginals([["a", "b"], ["c", "b"]])) for t in (tagger, same)]
    np.testing.assert_allclose(*near, atol=0.02)


@pytest.mark.parametrize("size", [300, 600])  # without and with marginals
def test_a_correction_of_a_crf_that_contradicts_its_training_data_is_right_at_once(size, held_out):
    train, fitted = part(0, size), uncalibrated(size)
    score = fitted.score(held_out)
    for n in (6, 36):
        given = [list(zip(train.lists("w")[n], train.lists("pos")[n], strict=True))]
        labels = train.lists("y")[n]
        other = [["NAME" if labels[0] == "COMMENT" else "COMMENT", *labels[1:]]]
        tagger = twin(fitted).partial_fit(given, other)
        assert tagger.predict(given) == other
        assert tagger._learnt.weight.tolist() == tagger._memory.weight.tolist()
        assert tagger._learnt.weight.max() > 1
        assert tagger.score(held_out) > score - 0.003
        model = tagger.model_
        assert tagger.partial_fit(given, other).model_ is model


def test_a_correction_that_no_weight_makes_right_is_named():
    X, y = [[("a", "x")], [("b", "x")], [("c", "x")]] * 40, [["A"], ["B"], ["C"]] * 40
    with pytest.warns(DataWarning, match="parts of speech|no feature reads the column pos"):
        tagger = Tagger("crf", features=["w[0]"], folds=0, seed=1, threads=1).fit(X, y)
    lesson = (
        [[("a", "x")], [("d", "x")], [("d", "y")]],
        [["A"], ["B"], ["C"]],
    )  # d and d have the same features
    said = (
        r"1 of 3 sentences of this lesson is still wrong after learning it \(number [23]\): other sentences"
    )
    with pytest.warns(DataWarning, match=said):
        tagger.partial_fit(*lesson)
    assert tagger._learnt.weight.max() == 32
    model = tagger.model_
    with pytest.warns(DataWarning, match=said):  # again, though nothing changes
        tagger.partial_fit(*lesson)
    assert tagger.model_ is model
    assert tagger.predict([[("a", "x")], [("c", "x")]]) == [["A"], ["C"]]


def test_the_weights_of_classes_stay_when_a_crf_learns_on():
    tagger = Tagger(Crf(class_weight="QTY=2, NAME=0.5", c2=2.0, margin=0.0), folds=0, seed=1, threads=1).fit(
        part(0, N)
    )
    before = tagger._memory.weight
    assert len(set(before.tolist())) > 1
    tagger.partial_fit([[("2", "CD"), ("zyzzyva", "NN")]], [["QTY", "NAME"]])
    np.testing.assert_array_equal(tagger._memory.weight[:N], before)


def test_lessons_without_tokens_or_with_missing_parts_are_refused_by_what_is_missing():
    tagger = twin(fitted_once(N))
    with pytest.raises(DataError, match="expected at least one token to train on, got none"):
        tagger.partial_fit([[]], [[]])
    assert tagger.predict([[]]) == [[]]
    with pytest.raises(DataError, match="sentence 2 is missing: expected a list of tokens"):
        tagger.partial_fit([[("2", "CD")], None], [["QTY"], ["QTY"]])
    with pytest.raises(DataError, match="sentence 1 is missing: expected a list of labels"):
        tagger.partial_fit([[("2", "CD")]], [None])
    assert tagger.model_ is fitted_once(N).model_


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


@pytest.mark.parametrize("source", ["memory", "file"])
def test_a_known_line_whose_every_word_gets_a_new_label_harms_no_other(held_out, tmp_path, source):
    fitted = trained()
    score, before = fitted.score(held_out), answers(fitted, held_out)
    for n in (5, 77, 300):
        tagger = twin(fitted) if source == "memory" else reloaded(fitted, tmp_path / "m.chaff")
        columns = {name: sentence(held_out, n).lists(name) for name in held_out.names}
        columns["y"] = [["STRANGE"] * len(columns["y"][0])]
        tagger.partial_fit(TokenTable.from_lists(columns))
        after = answers(tagger, held_out)
        assert set(after[n]) == {"STRANGE"}
        assert tagger.score(held_out) > score - 0.01
        changed = sum(a != b for a, b in zip(before, after, strict=True))
        assert changed <= 1 + 0.03 * HELD_OUT


def test_a_crf_that_lbfgs_finished_learns_on_beside_all_its_sentences(held_out):
    config = Crf(c2=0.5, margin=8.0, learner=Sdca(epochs=3, tolerance=0.001, finish=Lbfgs()))
    tagger = Tagger(config, folds=0, seed=1, threads=1).fit(part(0, N))
    assert len(tagger.history_) > 3
    assert tagger._memory is not None
    assert tagger._memory.n_sentences == N
    score, before = tagger.score(held_out), answers(tagger, held_out)
    n = mistakes(tagger, held_out)[0]
    tagger.partial_fit(sentence(held_out, n))
    assert n not in mistakes(tagger, held_out)
    assert tagger.score(held_out) > score - 0.001
    changed = sum(a != b for a, b in zip(before, answers(tagger, held_out), strict=True))
    assert changed <= 1 + 0.01 * HELD_OUT


@pytest.mark.long
def test_at_the_optimum_the_marginals_under_the_weights_are_their_duals():
    memory = trained()._memory.solve()[0]
    rows, shape = memory.rows, memory.shape
    cost = margin_costs(memory.labels, memory.chosen.margin, memory.chosen.recall)
    given = (rows.sentences, rows.ptr, rows.ids, memory.y, shape.F, shape.Y)
    problem = _core.CrfProblem(*given, weight=memory.weight, cost=cost)
    c2, w = memory.chosen.c2, np.zeros(problem.size, np.float32)
    batch = _core.CrfBatch(problem, 0.0, c2, w, fisher=True)
    for _ in range(200):
        batch.run(w)
    learner = _core.CrfSdca(problem, c2)
    learner.start_at(w)
    assert learner.measure(w).moved < 1e-3
    summed = np.zeros_like(w)
    learner.add_weights(summed)
    assert np.linalg.norm(summed - w) < 0.01 * np.linalg.norm(w)
    nodes, pairs, *_ = learner.state()
    inside = np.diff(rows.sentences).clip(1) - 1
    np.testing.assert_allclose(nodes.reshape(-1, shape.S).sum(axis=1), 1, atol=1e-4)
    np.testing.assert_allclose(pairs.reshape(len(inside), -1).sum(axis=1), inside, atol=1e-3)


def test_names_in_bio_learn_on_in_their_scheme(tmp_path):
    train, more = part(0, 300, "posts"), part(300, 330, "posts")
    tagger = reloaded(Tagger(seed=1, threads=1).fit(train), tmp_path / "m.chaff")
    tagger.partial_fit(more)
    assert set(tagger.classes_) <= {*train.columns["y"].types, *more.columns["y"].types}
    before = set()
    for labels in tagger.predict(part(330, 430, "posts")):
        before |= {b for a, b in zip(["O", *labels], labels, strict=False) if b[0] == "I" and a[2:] != b[2:]}
    assert not before
