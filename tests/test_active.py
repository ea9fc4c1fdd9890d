"""What to label next: strategies, the queue with its audit set, the commands, and the simulation."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

import chaffinch
from chaffinch import Tagger, corpus
from chaffinch.active import STRATEGIES, choose, choose_centres, choose_queue, simulate, start_queue
from chaffinch.active.choice import Pool
from chaffinch.active.simulation import Curve, Simulation
from chaffinch.active.vectors import clusters, density, points
from chaffinch.errors import ConfigError, DataError
from chaffinch.kinds import TAGS, kind_of_corpus
from chaffinch.kinds.corpora import taken
from chaffinch.lab import Source, bench
from chaffinch.text.table import TokenTable
from commandline import Runner, run  # noqa: F401

words = st.sampled_from("tea ship dog cat rain old new 7 north".split())
texts = st.lists(st.lists(words, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=40)


def pool_of(some: list[str], doubt: list[float] | None = None) -> Pool:
    return Pool(some, np.array(doubt if doubt is not None else np.arange(len(some)), float), points(some))


@given(texts, st.sampled_from(sorted(STRATEGIES)), st.integers(1, 12), st.integers(0, 3))
def test_every_strategy_gives_different_rows_of_the_pool_the_same_for_a_seed(
    some: list[str], strategy: str, n: int, seed: int
) -> None:
    found = choose(strategy, pool_of(some), n, seed)
    assert len(set(found.rows)) == len(found.rows) <= n
    assert all(0 <= i < len(some) for i in found.rows)
    assert found == choose(strategy, pool_of(some), n, seed)
    assert len(found.rows) + found.collapsed <= len(some)


@given(texts, st.integers(1, 12), st.integers(0, 5))
def test_a_queue_has_an_audit_row_in_five_and_no_row_twice(some: list[str], n: int, audit: int) -> None:
    for queue in (
        choose_queue(some, np.zeros(len(some)), n, "doubt", 1, audit),
        start_queue(some, n, 1, audit),
    ):
        numbers = [row.number for row in queue.rows]
        assert len(set(numbers)) == len(numbers) <= n
        assert len(queue.audit) == (min(len(some), n // audit) if audit else 0)


def test_audit_rows_are_drawn_uniformly() -> None:
    some = [f"word{i} {'tea' * (i % 2)}" for i in range(10)]
    counts = np.zeros(10)
    for seed in range(600):
        queue = choose_queue(some, np.arange(10.0), 5, "doubt", seed)
        counts[[queue.rows[i].number for i in queue.audit]] += 1
    assert counts.sum() == 600
    assert (np.abs(counts - 60) < 4.5 * np.sqrt(60 * 0.9)).all()


def test_the_most_doubted_come_first_and_near_duplicates_once() -> None:
    some = ["call me at 5 pm", "call me at 6 pm", "a ship", "an old dog barks"]
    found = choose("doubt", pool_of(some, [0.9, 0.8, 0.1, 0.7]), 3)
    assert found.rows == [0, 3, 2]
    assert found.collapsed == 1


def test_typical_doubts_take_one_text_of_each_cluster_before_a_second_of_any() -> None:
    some = [f"tea cup number{i}" for i in range(6)] + [f"ship at sea number{i}" for i in range(6)]
    found = choose("typical", pool_of(some, [1.0] * 12), 2, seed=3).rows
    assert {i // 6 for i in found} == {0, 1}
    centres = choose_centres(some, points(some), 2, seed=3).rows
    assert {i // 6 for i in centres} == {0, 1}


def test_k_means_ends_where_every_point_is_with_its_nearest_centre() -> None:
    found = points([f"tea {i % 3} cup {i % 5}" for i in range(60)])
    which, middle = clusters(found, 4, seed=0)
    distance = ((found[:, None, :] - middle[None]) ** 2).sum(axis=2)
    assert np.allclose(distance[np.arange(60), which], distance.min(axis=1), atol=1e-5)


def test_density_is_the_mean_cosine() -> None:
    found = points(["green tea", "black tea", "tea", "an old ship", ""])
    naive = [max(0.0, float(np.mean([a @ b for b in found]))) for a in found]
    assert np.allclose(density(found), naive, atol=1e-6)


def test_projected_angles_are_near_those_of_the_words() -> None:
    same, other = (
        points(["green tea in a cup", "green tea in a cup", "ships sail north"])[[0, 1]],
        points(["green tea in a cup", "ships sail north"]),
    )
    assert float(same[0] @ same[1]) == pytest.approx(1.0, abs=1e-5)
    assert abs(float(other[0] @ other[1])) < 0.5


def test_texts_without_words_are_all_alike() -> None:
    assert len(choose_queue(["...", "!!", "?"], np.zeros(3), 2, "typical", 0).rows) == 2


def test_unknown_strategies_are_refused() -> None:
    with pytest.raises(ConfigError, match="there is no strategy 'best'"):
        choose("best", pool_of(["a"]), 1)


def questions() -> tuple[object, object, object]:
    laid = bench(Source.parsed("questions"), dev_needed=True, from_baseline=False)
    train = laid.splits["train"]
    return kind_of_corpus(train), taken(train, range(120)), taken(laid.splits["dev"], range(100))


def test_a_simulation_scores_every_strategy_on_the_same_start_and_says_what_it_costs() -> None:
    kind, train, test = questions()
    found = simulate(kind, train, test, ["typical"], start=20, batch=20, rounds=2, seeds=(0, 1))
    assert list(found.curves) == ["random", "typical"]
    for curve in found.curves.values():
        assert curve.rows.tolist() == [[20, 40, 60]] * 2
        assert (np.diff(curve.corrections, axis=1) >= 0).all()
        assert ((curve.score >= 0) & (curve.score <= 1)).all()
    again = simulate(kind, train, test, ["typical"], start=20, batch=20, rounds=2, seeds=(0, 1))
    assert np.array_equal(found.curves["typical"].score, again.curves["typical"].score)
    with pytest.raises(DataError, match="too few"):
        simulate(kind, train, test, [], start=100, batch=20, rounds=2)


def test_the_doubt_about_a_sentence_is_the_mean_entropy_of_its_labels() -> None:
    X = [["2", "cups", "rice"], ["1", "large", "onion", "chopped"], ["salt"]]
    y = [["QTY", "UNIT", "NAME"], ["QTY", "SIZE", "NAME", "PREP"], ["NAME"]]
    tagger = Tagger("crf", folds=0, threads=1).fit(X, y)
    asked = [["3", "rice", "cups"], ["pepper"], [], ["1", "onion"]]
    expected = [
        0.0 if not len(p) else float(-(p * np.log(p)).sum(axis=1).mean())
        for p in (np.asarray(m, np.float64) for m in tagger.predict_marginals(asked))
    ]
    found = TAGS.uncertainty(tagger, TokenTable.from_lists({"w": asked}))
    assert found == pytest.approx(expected, abs=1e-5)


def curve(name: str, scores: list[list[float]]) -> Curve:
    score = np.array(scores)
    spent = np.tile(np.arange(score.shape[1]) * 10.0, (len(score), 1))
    return Curve(name, spent, spent * 3, spent / 2, score)


def test_the_verdict_names_what_is_saved_or_that_nothing_is() -> None:
    chance = curve("random", [[0.5, 0.6, 0.7], [0.5, 0.61, 0.71], [0.5, 0.59, 0.69]])
    better = curve("doubt", [[0.5, 0.7, 0.8], [0.5, 0.71, 0.81], [0.5, 0.69, 0.79]])
    same = Simulation({"random": chance, "doubt": chance}, "tokens", "accuracy", 100)
    assert same.gain("doubt").verdict == "level"
    assert "No strategy is better than random" in same.verdict()
    found = Simulation({"random": chance, "doubt": better}, "tokens", "accuracy", 100)
    assert better.cost_of(0.7) == pytest.approx({"rows": 10.0, "units": 30.0, "corrections": 5.0})
    assert "with 50% (50% to 50%) fewer tokens and -50% corrections" in found.verdict()
    uneven = curve("mixed", [[0.5, 0.59, 0.9], [0.5, 0.61, 0.91], [0.5, 0.57, 0.89]])
    found = Simulation({"random": chance, "mixed": uneven}, "tokens", "accuracy", 100)
    tokens, worst = found.worst("mixed")
    assert (tokens, worst.mean) == (30, pytest.approx(-0.01))
    assert worst.verdict == "level"
    assert "-1.00 (-3.48 to +1.48) at its worst budget (30 tokens)" in found.verdict()
    short = Curve("short", chance.rows, chance.units / 2, chance.corrections, chance.score)
    found = Simulation({"random": chance, "short": short}, "tokens", "accuracy", 100)
    assert found.gain("short").mean == pytest.approx(
        (0.1 + 0.0) / 2
    )  # at 30 tokens random's last score, at 60 too
    assert better.cost_of(0.9) is None


def test_the_interval_of_a_saving_is_that_of_a_mean_if_the_saving_is_linear() -> None:
    """Random ends at 0.7 after 60 tokens; the strategy of seed i is at 0.5 + slope_i * tokens, and slopes are alike."""
    chance = curve("random", [[0.5, 0.6, 0.7]] * 4)
    spent = np.array([[0.0, 28.0, 60.0], [0.0, 32.0, 60.0], [0.0, 29.0, 60.0], [0.0, 31.0, 60.0]])
    quick = Curve("doubt", spent, spent, spent, np.array([[0.5, 0.7, 0.8]] * 4))
    found = Simulation({"random": chance, "doubt": quick}, "tokens", "accuracy", 100)
    saved = found.saving("doubt")
    own = 1 - spent[:, 1] / 60
    half = student.ppf(0.975, 3) * own.std(ddof=1) / 2
    assert saved is not None
    assert (saved.mean, saved.low, saved.high) == pytest.approx(
        (own.mean(), own.mean() - half, own.mean() + half)
    )
    one = Simulation(
        {"random": curve("random", [[0.5, 0.7]]), "doubt": curve("doubt", [[0.5, 0.8]])}, "", "", 1
    )
    alone = one.saving("doubt")
    assert alone is not None
    assert alone.low == -np.inf  # one seed has no interval
    worse = Simulation({"random": chance, "doubt": curve("doubt", [[0.5, 0.6, 0.69]] * 4)}, "tokens", "", 1)
    assert worse.saving("doubt") is None


@pytest.fixture
def posts(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:  # noqa: F811
    """The command line in a folder with train.conll and test.conll."""
    monkeypatch.chdir(tmp_path)
    assert run("samples", "posts", "-o", ".", "--size", "200").code == 0
    return run


def test_commands_write_a_queue_for_tools_and_curves(posts: Runner) -> None:
    assert posts("train", "train.conll", "-o", "m.chaff", "--folds", "2").code == 0
    found = posts("next", "m.chaff", "test.conll", "-n", "10", "-o", "q.jsonl")
    assert found.code == 0, found.err
    assert "8 rows chosen, 2 drawn at random" in found.err
    rows = [json.loads(line) for line in Path("q.jsonl").read_text().splitlines()]
    assert [row["chosen"] for row in rows].count("audit") == 2
    assert rows[0]["doubt"] == max(row["doubt"] for row in rows if row["chosen"] == "doubt")
    assert posts("next", "m.chaff", "test.conll", "-n", "4", "-o", "t.json", "--to", "label-studio").code == 0
    assert all("predictions" in task for task in json.loads(Path("t.json").read_text()))
    found = posts("next", "m.chaff", "test.conll", "-n", "10", "-o", "q.conll", "--audit-file", "a.conll")
    assert found.code == 0
    assert Path("a.conll").read_text().count("\n\n") == 2
    assert posts("next", "test.conll", "-n", "5", "-o", "s.jsonl").code == 0
    assert posts("next", "m.chaff", "-", "-n", "5").code == 2
    assert posts("next", "m.chaff", "test.conll", "--strategy", "best", "-o", "x.jsonl").code == 2
    found = posts(
        "simulate", "train.conll", "--start", "10", "--batch", "10", "--rounds", "2", "--seeds", "2"
    )
    assert found.code == 0, found.err
    assert "doubt" in found.out
    told = ["--start", "10", "--batch", "10", "--rounds", "1", "--seeds", "1", "--report", "c.html", "--json"]
    found = posts("simulate", "-d", "questions", *told)
    assert set(json.loads(found.out)["curves"]) == {"random", "doubt", "typical"}
    assert "<svg" in Path("c.html").read_text()


def test_a_tagger_that_decides_label_by_label_has_scored_spans_in_queues_and_predictions(
    posts: Runner,
) -> None:
    assert posts("train", "train.conll", "-o", "m.chaff", "--recipe", "greedy", "--folds", "2").code == 0
    found = posts("next", "m.chaff", "test.conll", "-n", "10", "-o", "q.jsonl")
    assert found.code == 0, found.err
    rows = [json.loads(line) for line in Path("q.jsonl").read_text().splitlines()]
    scores = [s["score"] for row in rows for s in row["spans"]]
    assert scores
    assert all(0 < score <= 1 for score in scores)
    found = posts("predict", "m.chaff", "test.conll", "--json", "--probabilities")
    assert found.code == 0, found.err
    told = [json.loads(line)["spans"] for line in found.out.splitlines()]
    spans = chaffinch.load("m.chaff").predict_spans([d.words() for d in corpus.read("test.conll")])
    assert [[s["probability"] for s in own] for own in told] == [
        [s.probability for s in own] for own in spans
    ]
