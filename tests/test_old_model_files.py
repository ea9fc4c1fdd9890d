"""Model files that an earlier version wrote: each loads, and its model answers as it did then."""

import json
from pathlib import Path

import pytest

import old_models
import recipe_models
from chaffinch import load

FILES = sorted(old_models.FOLDER.glob("*.chaff"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_model_of_an_earlier_version_answers_as_it_did(path: Path) -> None:
    then = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert old_models.differences(old_models.answers(load(path), path.stem), then) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_model_of_an_earlier_version_is_saved_and_answers_as_it_did(path: Path, tmp_path: Path) -> None:
    then = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    again = tmp_path / "again.chaff"
    load(path).save(again)
    assert old_models.differences(old_models.answers(load(again), path.stem), then) == []


def test_every_recipe_of_every_kind_has_a_file() -> None:
    names = {name.replace(" ", "-") for name in recipe_models.models()}
    assert names <= {path.stem for path in FILES}


def test_a_different_answer_is_seen() -> None:
    assert old_models.differences({"a": [1.0, "x"]}, {"a": [1.0 + 1e-7, "x"]}) == []
    assert old_models.differences({"a": [1.0, "x"]}, {"a": [1.001, "y"]}) == [
        "/a/0: 1.0 was 1.001",
        "/a/1: 'x' was 'y'",
    ]
