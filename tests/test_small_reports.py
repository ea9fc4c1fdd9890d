"""What reports say besides: fewer labellings than asked for, steps as JSON, START and STOP, precision and recall."""

import json

import pytest

from chaffinch import samples
from chaffinch.corpus import write
from commandline import run as run  # noqa: PLC0414


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("reports")
    for part in ("train", "test"):
        write(samples.load("ingredients", part, n=60), path / f"{part}.conll", format="columns")
    return path


def trained(run, folder, *flags):
    model = folder / "m.chaff"
    assert run("train", folder / "train.conll", "-o", model, *flags).code == 0
    return model


def test_the_last_labelling_there_is_stands_for_one_that_is_not_and_that_is_said(run, folder, tmp_path):
    (tmp_path / "tiny.conll").write_text("a X\nb Y\n\na X\nb Y\n")
    model = tmp_path / "m.chaff"
    assert run("train", tmp_path / "tiny.conll", "-o", model, "--recipe", "hmm").code == 0
    (tmp_path / "in.txt").write_text("a\n\n")
    found = run("predict", model, tmp_path / "in.txt", "--from", "columns", "--nth", "9")
    assert "_" not in found.out.split()
    assert "fewer than 9 labellings" in found.err


def test_steps_are_json_if_asked_for_and_calibrated_only_if_they_were(run, folder):
    raw = trained(run, folder, "--recipe", "easiest-first", "--epochs", "2", "--folds", "0")
    lines = run("predict", raw, folder / "test.conll", "--steps", "--json").out.splitlines()
    steps = json.loads(lines[0])["steps"]
    assert [d["step"] for d in steps] == sorted(d["step"] for d in steps)
    assert all(d["calibrated"] is None for d in steps)
    assert "calibrated" not in run("predict", raw, folder / "test.conll", "--steps").out
    honest = trained(run, folder, "--recipe", "easiest-first", "--epochs", "2")
    assert "calibrated" in run("predict", honest, folder / "test.conll", "--steps").out


def test_inspect_shows_start_and_stop(run, folder):
    model = trained(run, folder, "--recipe", "hmm")
    shown = run("inspect", model).out
    assert "START" in shown
    assert "STOP" in shown
    record = json.loads(run("inspect", model, "--json").out)
    assert len(record["start"]) == len(record["stop"]) == len(record["labels"])


def test_evaluate_prints_precision_and_recall_of_all_spans(run, folder, tmp_path):
    (tmp_path / "both.conll").write_text("a B-X B-X\nb O B-X\n\n")
    shown = run("evaluate", tmp_path / "both.conll").out
    assert "span precision" in shown
    assert "span recall" in shown


def test_probabilities_that_were_not_calibrated_are_called_so(run, folder):
    raw = trained(run, folder, "--recipe", "hmm", "--folds", "0")
    assert "not calibrated" in run("predict", raw, folder / "test.conll", "--marginals").err
    honest = trained(run, folder, "--recipe", "hmm")
    assert "not calibrated" not in run("predict", honest, folder / "test.conll", "--marginals").err
