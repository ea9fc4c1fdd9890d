"""What ``inspect`` shows of a tagger: features with their weights, whichever recipe made it."""

import json
from pathlib import Path

import pytest

from chaffinch.recipes import TAGGERS
from commandline import Runner, run

__all__ = ["run"]

SENTENCES = "Ann B-PER\nLee I-PER\nleft O\nRome B-LOC\n\nin O\nParis B-LOC\nBob B-PER\nsang O\n\n" * 6


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "a.conll").write_text(SENTENCES)
    return tmp_path / "a.conll"


@pytest.mark.parametrize("recipe", [r.name for r in TAGGERS])
def test_every_tagger_shows_its_strongest_features(recipe: str, corpus: Path, run: Runner) -> None:
    model = corpus.with_suffix(".chaff")
    assert run("train", corpus, "-o", model, "--recipe", recipe).code == 0
    held = json.loads(run("inspect", model, "--json", "--top", "3").out)
    found = {name: rows for name, rows in held["top"].items() if rows}
    assert {"LOC", "PER"} <= {name.rpartition("-")[2].partition("#")[0] for name in found}
    assert all(f["feature"] and f["weight"] is not None for rows in found.values() for f in rows)
    shown = run("inspect", model, "--label", next(iter(found)))
    assert shown.code == 0, shown.err
    assert "strongest features" in shown.out


def test_features_of_segments_have_a_place_in_them_and_lengths_have_weights(
    corpus: Path, run: Runner
) -> None:
    model = corpus.with_suffix(".chaff")
    assert run("train", corpus, "-o", model, "--recipe", "semi-crf").code == 0
    held = json.loads(run("inspect", model, "--json", "--top", "500").out)
    assert held["labels"] == ["O", "LOC", "PER"]
    names = [f["feature"] for f in held["top"]["PER"]]
    assert {"(alone)", "(first)", "(last)"} <= {name.rpartition(" ")[2] for name in names}
    assert "length=2" in names
    assert len(held["transitions"]) == 3


def test_a_pruned_lattice_shows_the_labels_that_features_have_weights_for(
    tmp_path: Path, run: Runner
) -> None:
    labels = [f"T{i}" for i in range(150)]
    (tmp_path / "a.conll").write_text("".join(f"word{y} {y}\nand O\n\n" for y in labels) * 2)
    model = tmp_path / "m.chaff"
    assert run("train", tmp_path / "a.conll", "-o", model, "--recipe", "crf").code == 0
    held = json.loads(run("inspect", model, "--json", "--top", "1", "--label", "T7").out)
    assert "wordT7" in held["top"]["T7"][0]["feature"]
    assert held["top"]["T7"][0]["weight"] > 0
