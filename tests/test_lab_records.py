"""Experiments, records and presets: the same experiment gives the same bytes."""

import json
import re
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from chaffinch.errors import ConfigError
from chaffinch.evaluate.intervals import student_quantile
from chaffinch.lab import Experiment, Source, bench, presets, records, run
from chaffinch.lab.ablation import SeedScores

WHEN = datetime(2030, 1, 2, 3, 4, 5)


def perceptron(**settings):
    return bench(Source(name="ingredients"), recipe="perceptron", settings={"epochs": 2, **settings})


@pytest.fixture(scope="module")
def finished():
    laid = perceptron()
    watched = ("train", "test")
    return laid, run(laid.experiment, laid.splits, scored=watched, watched=watched)


def test_watching_scores_every_pass_and_changes_nothing(finished):
    laid, watched = finished
    blind = run(laid.experiment, laid.splits)
    assert len(watched.epochs) == 2
    assert blind.epochs == []
    assert watched.model_digest() == blind.model_digest()


def test_the_last_pass_has_the_finished_models_accuracy(finished):
    _, outcome = finished
    assert outcome.epochs[-1]["test"] == pytest.approx(outcome.scores["test"]["token_accuracy"], abs=1e-12)
    assert outcome.epochs[-1]["train"] == pytest.approx(outcome.scores["train"]["token_accuracy"], abs=1e-12)


def test_a_pass_that_was_watched_is_the_model_of_a_shorter_run(finished):
    _, outcome = finished
    short = perceptron(epochs=1)
    assert run(short.experiment, short.splits).scores["test"]["token_accuracy"] == outcome.epochs[0]["test"]


def test_a_record_differs_from_that_of_another_run_in_its_times_only(finished):
    laid, outcome = finished
    again = run(laid.experiment, laid.splits, scored=("train", "test"), watched=("train", "test"))
    first, second = records.record(outcome, "n", WHEN), records.record(again, "n", datetime(2031, 1, 1))
    timeless = [re.sub(r"(?m)^(## .*|Trained in .*)$", "", text) for text in (first, second)]
    assert timeless[0] == timeless[1]
    assert first.startswith("## n, 2030-01-02 03:04:05")


def test_a_record_has_the_settings_every_pass_and_the_best_so_far(finished):
    _, outcome = finished
    text = records.record(outcome, "n", WHEN)
    settings = json.loads(text.split("```json\n")[1].split("\n")[0])
    assert settings["dataset"] == "ingredients"
    assert settings["epochs"] == 2
    best = [float(b) for b in re.findall(r"best \*\*([\d.]+)\*\*", text)]
    seen = [float(a) for a in re.findall(r"test_acc _([\d.]+)_", text)]
    assert best == [max(seen[: i + 1]) for i in range(len(seen))]
    assert len(seen) == 2


def test_records_collect_in_one_file(tmp_path):
    path = tmp_path / "deep" / "r.md"
    records.append(path, "## one\n")
    records.append(path, "## two\n")
    assert path.read_text() == "## one\n\n## two\n"


@pytest.mark.parametrize("suffix", presets.SUFFIXES)
def test_a_preset_comes_back_as_it_was_written(finished, tmp_path, suffix):
    laid, outcome = finished
    made = presets.Preset.of(outcome, laid.splits, "näme")
    made = replace(made, experiment=replace(made.experiment, features="pos", hold_out=0.25, seed=3))
    presets.write(made, tmp_path / f"p{suffix}")
    back = presets.read(tmp_path / f"p{suffix}")
    assert back == made
    presets.write(back, tmp_path / f"q{suffix}")
    assert (tmp_path / f"p{suffix}").read_bytes() == (tmp_path / f"q{suffix}").read_bytes()


def test_a_preset_keeps_files_and_columns(tmp_path):
    source = Source(train=("a.csv", "b.csv"), test=('q"uote.csv',), label="y", text="t")
    made = presets.Preset("n", Experiment(source=source, recipe="hmm"), {}, {}, "sha256:0", 1)
    for suffix in presets.SUFFIXES:
        presets.write(made, tmp_path / f"p{suffix}")
        assert presets.read(tmp_path / f"p{suffix}") == made


def test_a_preset_run_again_has_no_differences_and_another_experiment_has(finished):
    laid, outcome = finished
    made = presets.Preset.of(outcome, laid.splits, "n")
    again = run(laid.experiment, laid.splits, scored=("train", "test"))
    assert made.differences(presets.Preset.of(again, laid.splits, "n")) == []
    other = perceptron(epochs=1)
    changed = run(other.experiment, other.splits, scored=("train", "test"))
    told = made.differences(presets.Preset.of(changed, other.splits, "n"))
    assert any("other bytes" in sentence for sentence in told)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "is not JSON"),
        ("[]", "expected an object"),
        ("{}", "lacks 'dataset'"),
        ('{"dataset": {"train": "a"}}', "expected list"),
        ('{"dataset": {}, "recipe": 3}', "expected str, got 3"),
    ],
)
def test_a_file_that_is_no_preset_is_refused(tmp_path, content, told):
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(ConfigError, match=re.escape(told)):
        presets.read(tmp_path / "p.json")


@given(st.floats(0.5, 0.9999), st.integers(1, 60))
def test_students_quantile_is_scipys(p, freedom):
    assert student_quantile(p, freedom) == pytest.approx(student.ppf(p, freedom), rel=1e-8, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_the_interval_over_seeds_holds_the_mean(scores):
    found = SeedScores.of(scores)
    assert found.low <= found.mean + 1e-12
    assert found.mean <= found.high + 1e-12
