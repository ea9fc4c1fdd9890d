"""The laboratory with texts: the baseline under its short names, its presets, ablation and tuning."""

import json
import math
from pathlib import Path

import pytest

from chaffinch import lab
from chaffinch.engines import InProcess
from chaffinch.errors import ConfigError, DataError
from chaffinch.kinds import DOCUMENTS, kind_of_corpus
from chaffinch.kinds.texts import Texts
from chaffinch.lab import Axis, Source, ablate, bench, presets, tune
from chaffinch.lab.tuning import Among, space_of
from commandline import Runner, run  # noqa: F401

REVIEWS = Source(name="reviews")


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_without_a_recipe_texts_get_the_baseline():
    laid = bench(REVIEWS)
    assert (laid.experiment.recipe, laid.experiment.features) == ("loglinear", "top-20000")
    expected = {
        "epochs": 10,
        "batch": 500,
        "iterations": 1,
        "rate": 0.01,
        "schedule": "fixed",
        "l2": 0.0,
        "ngram_high": 2,
        "stopwords": "english",
        "stemming": "lemma",
        "feature_size": 20000,
        "feature_pick": "top",
        "feature_drop": 0.0,
        "cleaning": "none",
    }
    assert laid.experiment.settings == expected


def test_every_short_flag_turns_its_knob(run: Runner):  # noqa: F811
    flags = "-e 2 -b 100 -i 2 -f 500 -r -l 0.1 --trigram --no-stopword --no-lemmatize --penalty 0.001"
    made = run(*f"train -d reviews {flags} --feature_pick freq --feature_drop 0.1 --json".split())
    assert made.code == 0, made.err
    settings = json.loads(made.out)["settings"]
    expected = {
        "epochs": 2,
        "batch": 100,
        "iterations": 2,
        "rate": 0.1,
        "schedule": "random",
        "l2": 0.001,
        "ngram_high": 3,
        "stopwords": "none",
        "stemming": "none",
        "feature_size": 500,
        "feature_pick": "sample",
        "feature_drop": 0.1,
    }
    assert {name: settings[name] for name in expected} == expected


@pytest.mark.parametrize("penalty", [0.0, 0.01])
def test_watching_a_classifier_changes_nothing(penalty):
    laid = bench(REVIEWS, settings={"epoch": 3, "penalty": penalty, "lemmatize": False})
    watched = lab.run(laid.experiment, laid.splits, watched=("train", "test"))
    blind = lab.run(laid.experiment, laid.splits)
    assert len(watched.epochs) == 3
    assert watched.model_digest() == blind.model_digest()
    assert watched.epochs[-1]["test"] == pytest.approx(watched.scores["test"]["accuracy"], abs=0.01)


def test_a_classifiers_preset_runs_to_the_same_bytes(run: Runner):  # noqa: F811
    made = run(*"train -d questions -e 2 --no-lemmatize -n base -o base -j base --save a.chaff".split())
    assert made.code == 0, made.err
    again = run(*"preset base --save b.chaff --threads 1".split())
    assert again.code == 0, again.err
    assert Path("a.chaff").read_bytes() == Path("b.chaff").read_bytes()
    assert "epoch  2, train_acc" in Path("records/base.md").read_text()


def test_cells_of_texts_equal_single_runs():
    laid = bench(REVIEWS, settings={"epoch": 2, "lemmatize": False})
    axes = [Axis("lr", ("0.01", "0.1"))]
    found = ablate(laid.experiment, axes, laid.splits, laid.kind, seeds=range(2), split="test")
    single = bench(REVIEWS, settings={"epoch": 2, "lemmatize": False, "lr": 0.1}, seed=1)
    assert found.rows[1].runs[1].scores == lab.run(single.experiment, single.splits).scores["test"]
    assert found.rows[1].runs[0].scores != found.rows[1].runs[1].scores  # seeds matter to SGD


def test_tuning_texts_draws_features_too_and_repeats():
    laid = bench(REVIEWS, recipe="svm", dev_needed=True, from_baseline=False)
    spaces = [space_of("svm", laid.kind.settings_of("svm"))]
    assert {"features", "C"} <= set(spaces[0])
    found = tune([laid.experiment], spaces, laid.splits, trials=2)
    again = lab.run(found.preset.experiment, laid.splits, scored=("dev",))
    assert again.scores["dev"]["accuracy"] == found.best.score
    assert again.model_digest()[0] == found.preset.model


@pytest.mark.parametrize("engine", [None, InProcess()])
def test_a_setting_that_leaves_no_ngram_is_a_failed_trial_and_the_search_goes_on(engine):
    laid = bench(REVIEWS, recipe="nb", dev_needed=True, from_baseline=False)
    spaces = [{"min_df": Among((2, 10**6))}]
    found = tune([laid.experiment], spaces, laid.splits, trials=2, engine=engine)
    failed = [trial for trial in found.trials if trial.error]
    assert {trial.settings["min_df"] for trial in failed} == {10**6}
    assert all("n-gram" in trial.error and trial.score == -math.inf for trial in failed)
    assert any(trial.settings == {"min_df": 2} and trial.score > 0.2 for trial in found.trials)
    assert not found.best.error
    impossible = laid.experiment.with_settings({"min_df": 10**6})
    with pytest.raises(DataError, match="n-gram"):
        tune([impossible], [{"alpha": Among((0.1, 1.0))}], laid.splits, trials=2, engine=engine)


def test_failed_trials_are_shown_with_their_sentence(run: Runner):  # noqa: F811
    made = run(*"tune -d reviews --recipe nb -p min_df -v 2,1000000 --trials 2".split())
    assert made.code == 0, made.err
    assert " failed " in made.out
    assert "of them failed; trial" in " ".join(made.out.split())
    assert "n-gram" in made.out
    told = json.loads(
        run(*"tune -d reviews --recipe nb -p min_df -v 2,1000000 --trials 2 --json".split()).out
    )
    assert any(trial["score"] is None and "n-gram" in trial["error"] for trial in told["trials"])


class Talking(InProcess):
    """An engine that prints while it works, as Ray does if a worker dies."""

    def map(self, job, shards):
        print("(raylet) A worker died")
        yield from super().map(job, shards)


def test_what_an_engine_prints_is_not_part_of_the_result(run: Runner, monkeypatch):  # noqa: F811
    monkeypatch.setattr("chaffinch.cli.tune.engine_named", lambda *_: Talking())
    made = run(*"tune -d reviews --recipe nb -p alpha -v 0.1,1 --trials 1 --json --engine ray".split())
    assert json.loads(made.out)["recipe"] == "nb"
    assert "A worker died" in made.err


@pytest.mark.parametrize("suffix", presets.SUFFIXES)
def test_settings_of_features_come_back_from_a_preset_to_the_same_bytes(suffix):
    settings = {"min_df": 1, "feature_size": 300, "sublinear": True}
    laid = bench(Source(name="questions"), recipe="ridge", settings=settings, features="words+characters")
    made = presets.Preset.of(lab.run(laid.experiment, laid.splits), laid.splits, "n")
    presets.write(made, Path(f"p{suffix}"))
    experiment = presets.read(Path(f"p{suffix}")).experiment
    assert lab.run(experiment, laid.splits).model_digest()[0] == made.model


def test_settings_of_features_are_checked():
    with pytest.raises(ConfigError, match="feature_pick must be one of"):
        bench(REVIEWS, settings={"feature_pick": "magic"})
    with pytest.raises(ConfigError, match="no knob for 'colour'"):
        bench(REVIEWS, settings={"colour": 1})


def test_a_model_of_one_label_per_text_is_not_scored_on_texts_with_several():
    one, several = Texts(["a", "b"] * 4, ["x", "y"] * 4), Texts(["a", "b"], [["x", "y"], ["x"]])
    kind = kind_of_corpus(one)
    classifier = kind.made("ridge", {}, None, 0, 1)
    kind.fit(classifier, one, None, lambda _: True)
    with pytest.raises(DataError, match="document 1: expected one label"):
        kind.tally(classifier, several)


def test_every_recipe_for_texts_runs_in_the_laboratory():
    for recipe in DOCUMENTS.recipes:
        settings = {"epochs": 4} if recipe.name in ("kernel-perceptron", "kernel-eg") else {}
        laid = bench(Source(name="questions"), recipe=recipe.name, settings=settings)
        assert lab.run(laid.experiment, laid.splits).scores["test"]["accuracy"] > 0.5


@pytest.mark.data
def test_the_baseline_lands_where_reports_say_on_sst5(data: Path):
    laid = bench(Source(name="sst5"), data)
    outcome = lab.run(laid.experiment, laid.splits, scored=("test",))
    assert 0.35 < outcome.scores["test"]["accuracy"] < 0.43
