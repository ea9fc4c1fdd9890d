"""Taggers that choose their features and their recipe by themselves."""

import json
import time

import numpy as np
import pytest
from sklearn.base import clone

import chaffinch
from chaffinch import Tagger, samples
from chaffinch.defaults import tags
from chaffinch.defaults.tags import FEWEST, FOLDS, MeasuredTagger, TagCandidate, choose
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.model.incremental import IncrementalModel
from chaffinch.recipes import calibration
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.encoding import inner_labels, suggested_preset
from chaffinch.recipes.recipe import TaggingTask
from chaffinch.text.table import TokenTable
from commandline import Runner, run  # noqa: F401


def sentences(sample, split, n):
    found = samples.load(sample, split, n=n)
    return [d.words() for d in found], [d.columns["y"] for d in found]


def questions(n, seed=0):
    """Sentences whose last label is decided by the first, two labels that are always the same before it."""
    rng = np.random.RandomState(seed)
    X, y = [], []
    for _ in range(n):
        kind = str(rng.choice(["ask", "tell"]))
        X.append([kind, *(str(w) for w in rng.choice(list("abcdefgh"), 2)), "x"])
        y.append([kind.upper(), "S", "S", "P" if kind == "ask" else "Q"])
    return X, y


@pytest.fixture(scope="module")
def lines():
    return sentences("ingredients", "train", 150)


@pytest.fixture(scope="module")
def chosen(lines):
    return Tagger(threads=1).fit(*lines)


def test_a_tagger_with_no_setting_says_what_it_chose_and_keeps_it_in_its_file(chosen, lines, tmp_path):
    told = chosen.choice_["told"]
    assert told.startswith(f"chose {chosen.choice_['features']}, {chosen.choice_['recipe']}")
    assert f"in {FOLDS} folds of the training data" in told
    assert chosen.choice_["sentences"] == 150
    chosen.save(tmp_path / "model.chaff")
    again = chaffinch.load(tmp_path / "model.chaff")
    assert again.choice_ == json.loads(json.dumps(chosen.choice_))
    assert again.predict(lines[0]) == chosen.predict(lines[0])


def test_the_same_is_chosen_for_any_number_of_threads_and_the_bytes_are_the_same(chosen, lines, tmp_path):
    chosen.save(tmp_path / "1.chaff")
    Tagger(threads=2).fit(*lines).save(tmp_path / "2.chaff")
    assert (tmp_path / "1.chaff").read_bytes() == (tmp_path / "2.chaff").read_bytes()


def test_the_folds_that_chose_calibrate_as_well(chosen, lines):
    assert chosen.confidence_.folds == FOLDS
    assert Tagger(folds=0, threads=1).fit(*lines).confidence_ is None


def test_what_is_given_is_not_chosen(lines):
    named = Tagger("crf").fit(*lines)
    assert named.choice_ is None
    assert named.config_ == Crf()
    plain = Tagger(choose=False, folds=0).fit(*lines)
    assert plain.choice_ is None
    given = Tagger(features=["w[0]"], folds=0).fit(*lines)
    assert given.choice_["features"] == "given features"
    assert {t.split("[")[0] for t in given.model_.encoder.features.names(range(3))} == {"w"}
    config = Crf(c2=0.3)
    both = Tagger(config, choose=True, folds=0).fit(*lines)
    assert both.config_ == config
    assert both.choice_["recipe"] == "crf"
    neither = Tagger(config, features=["w[0]"], choose=True, folds=0).fit(*lines)
    assert neither.choice_ is None


def test_recipes_that_remember_decided_labels_are_chosen_if_the_chain_cannot():
    X, y = questions(160)
    tagger = Tagger(features=["w[0]"], folds=0).fit(X, y)
    plain = Tagger("crf", features=["w[0]"], folds=0).fit(X, y)
    assert tagger.choice_["recipe"] != "crf"
    new, gold = questions(100, seed=1)
    assert tagger.score(new, gold) > plain.score(new, gold) + 0.02


def test_a_challenger_that_is_no_better_does_not_win(monkeypatch):
    X, y = questions(120)
    table = TokenTable.from_lists({"w": X, "y": y})
    task = TaggingTask(table=table, columns=("w",), features=["w[0]"], threads=1)
    monkeypatch.setattr(tags, "CHALLENGERS", (("crf", {"margin": 4.0, "c2": 1.0}, 0.0),))
    assert choose(task).choice.settings == {}


def test_a_challenger_that_is_not_ahead_after_a_fold_is_dropped(monkeypatch):
    X, y = questions(120)
    table = TokenTable.from_lists({"w": X, "y": y})
    task = TaggingTask(table=table, columns=("w",), features=["w[0]"], threads=1)
    monkeypatch.setattr(tags, "CHALLENGERS", (("crf", {"c2": 1e4, "margin": 0.0}, 0.0),))
    trained, folds = tags.TAGGERS.trained, []

    def counted(part, config):
        folds.append(config.c2)
        return trained(part, config)

    monkeypatch.setattr(type(tags.TAGGERS), "trained", staticmethod(counted))
    assert choose(task).choice.settings == {}
    assert folds == [None] * FOLDS + [1e4]


def test_the_l1_penalty_is_tried_only_if_the_wide_margin_is_ahead_after_a_fold(monkeypatch):
    X, y = questions(120)
    table = TokenTable.from_lists({"w": X, "y": y})
    task = TaggingTask(table=table, columns=("w",), features=["w[0]"], threads=1)
    worse = {"c2": 1e4, "margin": 0.0}
    monkeypatch.setattr(tags, "WIDE_MARGIN", worse)
    monkeypatch.setattr(tags, "CHALLENGERS", (("crf", worse, 0.5), ("crf", tags.ELASTIC_NET, 1.0)))
    trained, penalties = tags.TAGGERS.trained, []

    def counted(part, config):
        penalties.append((config.c1, config.c2))
        return trained(part, config)

    monkeypatch.setattr(type(tags.TAGGERS), "trained", staticmethod(counted))
    assert choose(task).choice.settings == {}
    assert penalties == [(0.0, None)] * FOLDS + [(0.0, 1e4)]


def test_a_challenger_whose_lead_will_fall_short_is_dropped(monkeypatch, lines):
    X, y = lines
    table = TokenTable.from_lists({"w": X, "y": y})
    race = tags._Race(TaggingTask(table=table, columns=("w",), threads=1), None)
    best = race.begin()
    better = np.minimum(best.right + (np.arange(len(best.right)) % 20 == 0), best.of)
    counts = iter(np.array_split(better, FOLDS))
    monkeypatch.setattr(race, "_counts", lambda model, held: ((right := next(counts)), best.of[: len(right)]))
    assert race._measured(TagCandidate(best.candidate.features, "greedy"), best, 50.0) is None
    assert len(list(counts)) == FOLDS - 2


def test_rare_spans_are_calibrated_on_more_folds_than_large_data_need(monkeypatch, lines):
    monkeypatch.setattr(calibration, "FOLDS_UP_TO", ())
    assert Tagger("crf", threads=1).fit(*sentences("posts", "train", 300)).confidence_.folds == 3
    assert Tagger("crf", threads=1).fit(*lines).confidence_.folds == 1


def test_calibration_encodes_held_out_sentences_once(monkeypatch, lines):
    encoded = []
    transform = FeatureEncoder.transform
    monkeypatch.setattr(FeatureEncoder, "transform", lambda *a, **k: encoded.append(1) or transform(*a, **k))
    Tagger("greedy", folds=3, threads=1).fit(*lines)
    assert 0 < len(encoded) <= 4  # once by fold, and one sentence


def test_calibration_searches_held_out_sentences_a_few_times(monkeypatch, lines):
    searched = []
    tagged = IncrementalModel._tagged
    monkeypatch.setattr(IncrementalModel, "_tagged", lambda *a, **k: searched.append(1) or tagged(*a, **k))
    Tagger("greedy", folds=3, threads=1).fit(*lines)
    assert 0 < len(searched) <= 10  # for the temperature, with it and without, and one sentence


def test_fewer_tokens_are_used_to_choose_with_many_labels(monkeypatch):
    monkeypatch.setattr(tags, "SAMPLE", 2000)
    monkeypatch.setattr(tags, "LEAST_SAMPLE", 600)

    def used(labels):
        X = [["a", "b", "c", "d"]] * 600
        y = [[f"L{(4 * n + t) % labels}" for t in range(4)] for n in range(600)]
        table = TokenTable.from_lists({"w": X, "y": y})
        return tags._sampled(TaggingTask(table=table, columns=("w",))).table.n_tokens

    assert used(8) == 2000
    assert used(48) == 1000
    assert used(200) == 600


def test_few_sentences_many_tokens_and_uncertain_labels_keep_the_fixed_rule(monkeypatch, lines):
    X, y = lines
    assert Tagger(folds=0).fit(X[: FEWEST - 1], y[: FEWEST - 1]).choice_ is None
    unsure = [[None, *labels[1:]] for labels in y]
    assert Tagger(folds=0).fit(X, unsure).choice_ is None
    assert Tagger(folds=0).fit(X, [["A"] * len(words) for words in X]).choice_ is None
    monkeypatch.setattr(tags, "MOST", 100)
    assert Tagger(folds=0).fit(X, y).choice_ is None


def test_a_sample_is_used_to_choose_if_there_are_many_tokens(monkeypatch, lines):
    monkeypatch.setattr(tags, "SAMPLE", 500)
    tagger = Tagger().fit(*lines)
    assert FEWEST <= tagger.choice_["sentences"] < 150
    assert tagger.confidence_.folds == 5  # models of a sample calibrate nothing


def test_what_was_chosen_learns_on(chosen, lines):
    tagger = Tagger(threads=1).fit(*lines)
    X, y = [["one", "quixotic", "gherkin"]], [["QTY", "COMMENT", "NAME"]]
    before = tagger.config_
    tagger.partial_fit(X, y).partial_fit(X, y).partial_fit(X, y)
    assert tagger.config_ == before
    new = sentences("ingredients", "test", 100)
    assert abs(tagger.score(*new) - chosen.score(*new)) < 0.02


def test_tiny_data_cost_no_time():
    X, y = [["the", "dog"], ["a", "cat"]] * 3, [["D", "N"]] * 6
    Tagger().fit(X, y)
    start = time.process_time()
    Tagger("crf").fit(X, y)
    middle = time.process_time()
    Tagger().fit(X, y)
    assert time.process_time() - middle < (middle - start) + 0.05


def test_parameters_are_those_of_the_constructor():
    tagger = Tagger(choose=False, seed=4)
    assert clone(tagger).get_params(deep=False) == tagger.get_params(deep=False)
    assert repr(Tagger()) == "Tagger()"
    assert tagger.get_params()["recipe__order"] == 1


def test_leads_are_measured_in_standard_errors_of_the_difference():
    of = np.full(100, 10.0)
    rng = np.random.RandomState(0)
    a = rng.randint(5, 11, 100).astype(float)
    b = np.minimum(a + (rng.rand(100) < 0.2), 10.0)
    one, other = (MeasuredTagger(TagCandidate("pos", "crf"), right, of) for right in (b, a))
    difference = (b - a) / of.sum()
    se = np.sqrt(np.square(difference - difference.mean()).sum())
    assert one.lead(other) == pytest.approx(difference.sum() / se)
    assert one.lead(one) == 0
    p = a.sum() / of.sum()
    assert other.score == p


def preset_of(X, y):
    task = TaggingTask(table=TokenTable.from_lists({"w": X, "y": y}), columns=("w",))
    return suggested_preset(task, inner_labels(task, "auto"))


def test_spans_in_lower_case_are_not_read_as_news():
    y = [["O", "O", "O", "B-CITY"]] * 5
    assert preset_of([["fly", "me", "to", "oslo"]] * 5, y) == "pos"
    assert preset_of([["Fly", "me", "to", "Oslo"]] * 5, y) == "ner"
    assert preset_of([["飞", "到", "了", "北京"]] * 5, y) == "ner"  # a script without capitals


def test_train_prints_the_choice_and_flags_turn_it_off(run: Runner, tmp_path, lines):  # noqa: F811
    path = tmp_path / "train.tsv"
    pairs = zip(*lines, strict=True)
    path.write_text(
        "\n\n".join(
            "\n".join(f"{w}\t{t}" for w, t in zip(words, labels, strict=True)) for words, labels in pairs
        )
        + "\n"
    )
    model = tmp_path / "model.chaff"
    assert "chose " in run("train", path, "-o", model, "--folds", "0").out
    for flags in (("--no-choose",), ("--recipe", "crf"), ("--c2", "0.5")):
        assert "chose " not in run("train", path, "-o", model, "--folds", "0", *flags).out
    told = json.loads(run("train", path, "-o", model, "--folds", "0", "--features", "pos", "--json").out)
    assert told["choice"]["features"] == "given features"
