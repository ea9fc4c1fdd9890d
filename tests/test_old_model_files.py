"""Model files that an earlier version wrote: each loads, and its model answers as it did then."""

import json
from pathlib import Path
from typing import Any

import pytest

import old_models
import recipe_models
from chaffinch import load

FILES = sorted(old_models.FOLDER.glob("*.chaff"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_model_of_an_earlier_version_answers_as_it_did(path: Path) -> None:
    then = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert _differences(old_models.answers(load(path), path.stem), then) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_model_of_an_earlier_version_is_saved_and_answers_as_it_did(path: Path, tmp_path: Path) -> None:
    then = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    again = tmp_path / "again.chaff"
    load(path).save(again)
    assert _differences(old_models.answers(load(again), path.stem), then) == []


def test_every_recipe_of_every_kind_has_a_file() -> None:
    names = {name.replace(" ", "-") for name in recipe_models.models()}
    assert names <= {path.stem for path in FILES}


def test_a_different_answer_is_seen() -> None:
    assert _differences({"a": [1.0, "x"]}, {"a": [1.0 + 1e-7, "x"]}) == []
    assert _differences({"a": [1.0, "x"]}, {"a": [1.001, "y"]}) == [
        "/a/0: 1.0 was 1.001",
        "/a/1: 'x' was 'y'",
    ]


def _differences(now: Any, then: Any, at: str = "") -> list[str]:
    """What differs: strings and lengths at all, numbers by more than a millionth."""
    if isinstance(then, dict) and isinstance(now, dict) and now.keys() == then.keys():
        return [d for key in then for d in _differences(now[key], then[key], f"{at}/{key}")]
    if isinstance(then, list) and isinstance(now, list) and len(now) == len(then):
        return [
            d for i, (a, b) in enumerate(zip(now, then, strict=True)) for d in _differences(a, b, f"{at}/{i}")
        ]
    if isinstance(then, float) and isinstance(now, float):
        return [] if abs(now - then) <= 1e-6 * max(1.0, abs(then)) else [f"{at}: {now!r} was {then!r}"]
    return [] if now == then else [f"{at}: {now!r} was {then!r}"]
