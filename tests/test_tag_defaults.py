"""Taggers that choose their features and their recipe by themselves."""

import json
import time

import numpy as np
import pytest
from sklearn.base import clone

import chaffinch
from chaffinch import Tagger, samples
from chaffinch.defaults import tags
from chaffinch.defaults.tags import (
    CALIBRATION_FOLDS,
    FEWEST,
    FOLDS,
    Challenger,
    MeasuredTagger,
    TagCandidate,
    choose,
)
from chaffinch.evaluate import score_tags
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


def test_the_folds_that_chose_calibrate_unless_the_choice_was_cheap(monkeypatch, lines):
    monkeypatch.setattr(tags, "CHEAP", 0.0)
    assert Tagger(threads=1).fit(*lines).confidence_.folds == FOLDS
    assert Tagger(folds=0, threads=1).fit(*lines).confidence_ is None
    assert Tagger(folds=4, threads=1).fit(*lines).confidence_.folds == 4
    monkeypatch.setattr(tags, "CHEAP", 100.0)
    assert Tagger(threads=1).fit(*lines).confidence_.folds == CALIBRATION_FOLDS


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


def doubtful_names(n, share, seed=0):
    """Sentences of which one word may be a name: nothing but the word before it tells so, in a share of all cases."""
    rng = np.random.RandomState(seed)
    X, y = [], []
    for k in range(n):
        filling = [str(w) for w in rng.choice(list("abcdefgh"), 6)]
        X.append([*filling, "at", f"w{seed}x{k}", "."])
        y.append(["O"] * 7 + ["B-PLACE" if rng.rand() < share else "O", "O"])
    return X, y


def test_names_that_are_rarely_certain_are_found_by_a_crf_that_pays_more_for_missing_them(monkeypatch):
    monkeypatch.setattr(tags, "CHALLENGERS", (tags.WIDE,))
    tagger = Tagger(folds=0).fit(*doubtful_names(300, 0.38))
    new, gold = doubtful_names(300, 0.38, seed=1)
    plain = Tagger("crf", folds=0).fit(*doubtful_names(300, 0.38))
    assert tagger.choice_["settings"]["recall"] == tags.MORE_NAMES["recall"]
    f1 = [score_tags(gold, model.predict(new)).span.micro.f1 for model in (tagger, plain)]
    assert f1[0] > f1[1] + 0.1


def test_what_wins_for_names_is_kept_by_the_challengers_after_it(monkeypatch, trained_configs):
    monkeypatch.setattr(tags, "CHALLENGERS", (tags.WIDE,))
    Tagger(folds=0).fit(*doubtful_names(300, 0.38))
    assert {config.recall for config in trained_configs if config.margin == 8.0} == {2.0}


def test_certain_names_and_labels_of_all_tokens_keep_the_usual_cost(monkeypatch, trained_configs):
    monkeypatch.setattr(tags, "CHALLENGERS", ())
    assert Tagger(folds=0).fit(*doubtful_names(300, 1.0)).choice_["settings"] == {}
    trained_configs.clear()
    Tagger(folds=0).fit(*questions(160))
    assert {config.recall for config in trained_configs} == {None}


def of_questions(n=120):
    X, y = questions(n)
    table = TokenTable.from_lists({"w": X, "y": y})
    return TaggingTask(table=table, columns=("w",), features=["w[0]"], threads=1)


@pytest.fixture
def trained_configs(monkeypatch):
    """The configs of all models that are trained from here on."""
    trained, configs = tags.TAGGERS.train, []

    def counted(part, config):
        configs.append(config)
        return trained(part, config)

    monkeypatch.setattr(type(tags.TAGGERS), "train", staticmethod(counted))
    return configs


WORSE = {"c2": 1e4, "margin": 0.0}


def test_a_challenger_that_is_no_better_does_not_win(monkeypatch):
    monkeypatch.setattr(tags, "CHALLENGERS", (Challenger("crf", {"margin": 4.0, "c2": 1.0}, 0.0),))
    assert choose(of_questions()).choice.settings == {}


def test_a_challenger_that_is_behind_after_a_fold_is_dropped(monkeypatch, trained_configs):
    monkeypatch.setattr(tags, "CHALLENGERS", (Challenger("crf", WORSE, 0.0),))
    assert choose(of_questions()).choice.settings == {}
    assert [config.c2 for config in trained_configs] == [None, 1e4] + [None] * (FOLDS - 1)


def test_variants_are_tried_only_if_what_they_vary_is_ahead_after_a_fold(monkeypatch, trained_configs):
    wide = Challenger("crf", WORSE, 0.5)
    monkeypatch.setattr(
        tags, "CHALLENGERS", (wide, Challenger("crf", tags.ELASTIC_NET, after=wide), Challenger("greedy"))
    )
    choose(of_questions())
    assert {getattr(config, "c1", None) for config in trained_configs} == {0.0, None}


def counted_race(monkeypatch, task, right):
    """A race in which candidates label the given numbers of tokens correctly, and the candidate of each fold."""
    race, folds = tags._Race(task, None, task.table.n_tokens), []
    of = np.full(task.table.n_sentences, 10.0)

    def trained(candidate, k):
        folds.append((candidate.recipe, k))
        halves = np.array_split(right[candidate.recipe], FOLDS), np.array_split(of, FOLDS)
        return tags._Fold(halves[0][k], halves[1][k], (None, None))

    monkeypatch.setattr(race, "_train_fold", trained)
    return race, folds


def test_one_fold_decides_if_the_lead_is_large_and_two_if_it_is_not(monkeypatch):
    task = of_questions(200)
    crf = np.random.RandomState(0).randint(5, 9, 200).astype(float)
    far = {"crf": crf, "greedy": crf + (np.arange(200) % 2)}
    race, folds = counted_race(monkeypatch, task, far)
    race.meet(TagCandidate(race.best.features, "greedy"), 1.0)
    assert race.best.recipe == "greedy"
    assert folds == [("greedy", 0), ("crf", 0)]
    near = {"crf": crf, "greedy": crf + (np.arange(200) % 50 == 0)}
    race, folds = counted_race(monkeypatch, task, near)
    race.meet(TagCandidate(race.best.features, "greedy"), 1.0)
    assert race.best.recipe == "greedy"
    assert [k for _, k in folds] == [0, 0, 1, 1]


def test_a_challenger_whose_lead_will_fall_short_is_dropped(monkeypatch):
    crf = np.random.RandomState(0).randint(5, 9, 200).astype(float)
    race, folds = counted_race(
        monkeypatch, of_questions(200), {"crf": crf, "greedy": crf + (np.arange(200) % 50 == 0)}
    )
    race.meet(TagCandidate(race.best.features, "greedy"), 50.0)
    assert race.best.recipe == "crf"
    assert [k for _, k in folds] == [0, 0]


def test_a_preset_that_is_a_little_behind_after_one_fold_may_still_win(monkeypatch):
    crf = np.full(200, 7.0)
    other = crf.copy()
    other[:100:10] -= 1.0
    other[:100:20] += 1.5  # behind by 0.8 standard errors in the first half, ahead in the second
    other[100::2] += 1.0
    race, folds = counted_race(monkeypatch, of_questions(200), {"crf": crf, "greedy": other})
    race.meet(TagCandidate(race.best.features, "greedy"), 1.0)
    assert race.best.recipe == "crf"
    race, folds = counted_race(monkeypatch, of_questions(200), {"crf": crf, "greedy": other})
    first = race.meet(TagCandidate(race.best.features, "greedy"), tags.PRESET_LEAD, tags.PRESET_PATIENCE)
    assert -1.2 < first < tags.BEHIND
    assert race.best.recipe == "greedy"
    assert [k for _, k in folds] == [0, 0, 1, 1]


def test_a_preset_needs_half_the_lead_of_another_recipe(monkeypatch):
    crf = np.full(200, 7.0)
    other = crf.copy()
    other[::20] += 1.0  # ahead by 0.7 standard errors
    other[3::29] -= 1.0
    right = {"crf": crf, "greedy": other}
    race, _ = counted_race(monkeypatch, of_questions(200), right)
    greedy = TagCandidate(race.best.features, "greedy")
    ours, theirs = race.measure(greedy, FOLDS), race.measure(race.best, FOLDS)
    assert 0.5 < ours.lead(theirs) < 1.0
    race.meet(greedy, tags.GREEDY.needed, tags.PRESET_PATIENCE)
    assert race.best.recipe == "crf"
    race.meet(greedy, tags.PRESET_LEAD, tags.PRESET_PATIENCE)
    assert race.best.recipe == "greedy"


def test_a_wider_margin_wins_if_it_is_ahead_at_all(monkeypatch):
    crf = np.full(200, 7.0)
    other = crf.copy()
    other[::20] += 1.0  # ahead by less than half a standard error
    other[3::25] -= 1.0
    race, _ = counted_race(monkeypatch, of_questions(200), {"crf": crf, "greedy": other})
    rival = TagCandidate(race.best.features, "greedy")
    assert 0.1 < race.measure(rival, FOLDS).lead(race.measure(race.best, FOLDS)) < tags.NAMES_LEAD
    race.meet(rival, tags.WIDE.needed, tags.PRESET_PATIENCE)
    assert race.best.recipe == "greedy"
    race, _ = counted_race(monkeypatch, of_questions(200), {"crf": other, "greedy": crf})
    race.meet(rival, tags.WIDE.needed, tags.PRESET_PATIENCE)
    assert race.best.recipe == "crf"


@pytest.mark.parametrize("sample", ["ingredients", "posts"])
def test_the_choice_costs_at_most_its_budget_of_counted_work(monkeypatch, sample):
    made, init = [], tags._Race.__init__

    def kept(race, *given):
        init(race, *given)
        made.append(race)

    monkeypatch.setattr(tags._Race, "__init__", kept)
    X, y = sentences(sample, "train", 300)
    table = TokenTable.from_lists({"w": X, "y": y})
    task = TaggingTask(table=table, columns=("w",), threads=1)
    chosen = choose(task).choice
    full = made[0].spent
    assert 0 < full <= tags.BUDGET * made[0].work(chosen.recipe, table.n_tokens)
    monkeypatch.setattr(tags, "BUDGET", 1.0)
    chosen = choose(task).choice
    assert made[1].spent < full
    # The last fold of the winner is trained in any case.
    assert made[1].spent <= 2 * made[1].work(chosen.recipe, table.n_tokens)


def test_folds_of_one_preset_are_encoded_once(monkeypatch, lines):
    fitted, fit = [], FeatureEncoder.fit

    def counted(encoder, table):
        fitted.append((str(encoder.features), table.n_sentences, table.columns["w"].ids[:20].tobytes()))
        return fit(encoder, table)

    monkeypatch.setattr(FeatureEncoder, "fit", counted)
    table = TokenTable.from_lists({"w": lines[0], "y": lines[1]})
    choose(TaggingTask(table=table, columns=("w",), threads=1))
    assert len(fitted) == len(set(fitted))


def test_training_of_folds_stops_after_the_passes_that_rank(monkeypatch, lines):
    monkeypatch.setattr(tags, "MOST_PASSES", {"crf": 3})
    table = TokenTable.from_lists({"w": lines[0], "y": lines[1]})
    race = tags._Race(TaggingTask(table=table, columns=("w",), threads=1), None, table.n_tokens)
    race.measure(race.best, 1)
    passes = race.spent / race.parts[0][0].n_tokens - tags.ENCODING
    step, by_label, _ = tags.WORK["crf"]
    assert passes / (step + by_label * race.labels) == pytest.approx(3)


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


def test_calibration_searches_held_out_sentences_once(monkeypatch, lines):
    searched = []
    tagged = IncrementalModel._tagged
    monkeypatch.setattr(IncrementalModel, "_tagged", lambda *a, **k: searched.append(1) or tagged(*a, **k))
    Tagger("greedy", folds=3, threads=1).fit(*lines)
    assert 0 < len(searched) <= 4  # once by fold, and one sentence


@pytest.mark.parametrize("recipe", ["greedy", "easiest-first"])
def test_probabilities_of_decisions_are_the_same_if_they_are_searched_once(lines, recipe):
    X, y = lines
    table = TokenTable.from_lists({"w": X[:50], "y": y[:50]})
    model = Tagger(recipe, folds=0, threads=1).fit(*lines).model_
    read = calibration.encoded_once(model, table, 1)
    for temperature in (1.0, 3.0):
        tempered = model.with_temperature(temperature)
        found = calibration.decision_probabilities(read.with_temperature(temperature), table, 1)
        decided, p = tempered.decode(table, 1), tempered.marginals(table, 1)
        given = [one for sentence in found for one in sentence]
        assert [one[2] for one in given] == [model.labels.outer[i] for i in decided]
        assert np.allclose([one[3] for one in given], p[np.arange(len(p)), decided], atol=1e-5)


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


def test_a_sample_to_choose_on_keeps_neighbouring_sentences_together(monkeypatch):
    monkeypatch.setattr(tags, "SAMPLE", 2400)
    monkeypatch.setattr(tags, "LEAST_SAMPLE", 2400)
    X = [[f"w{n}", "a", "b", "c"] for n in range(3000)]
    table = TokenTable.from_lists({"w": X, "y": [["A", "B", "C", "D"]] * 3000})
    sample = tags._sampled(TaggingTask(table=table, columns=("w",))).table
    which = np.array([int(words[0][1:]) for words in sample.lists("w")])
    assert len(which) == 600
    starts = which[np.flatnonzero(np.diff(which, prepend=-2) > 1)]
    assert starts.tolist() == list(range(0, 3000, 250))
    assert set(np.diff(np.append(np.searchsorted(which, starts), 600))) == {tags.RUN}


def test_few_sentences_many_tokens_and_uncertain_labels_keep_the_fixed_rule(monkeypatch, lines):
    X, y = lines
    assert Tagger(folds=0).fit(X[: FEWEST - 1], y[: FEWEST - 1]).choice_ is None
    unsure = [[None, *labels[1:]] for labels in y]
    assert Tagger(folds=0).fit(X, unsure).choice_ is None
    assert Tagger(folds=0).fit(X, [["A"] * len(words) for words in X]).choice_ is None
    monkeypatch.setattr(tags, "MOST", 100)
    assert Tagger(folds=0).fit(X, y).choice_ is None


def test_settings_are_chosen_up_to_a_hundred_thousand_tokens():
    def is_open(tokens):
        X, y = [["a"] * 100] * (tokens // 100), [["A", "B"] * 50] * (tokens // 100)
        table = TokenTable.from_lists({"w": X, "y": y})
        return tags._is_open(TaggingTask(table=table, columns=("w",)), Crf())

    assert is_open(100_000)
    assert not is_open(100_100)


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
