"""Seeds and arithmetic stay: what every recipe learnt before training had one loop, it learns still."""

import json
from pathlib import Path

import pytest

from trained_numbers import NUMBERS, numbers, trained

BEFORE = json.loads(NUMBERS.read_text())


@pytest.mark.long
@pytest.mark.parametrize("name", BEFORE)
def test_a_recipe_learns_what_it_learnt(name: str, tmp_path: Path) -> None:
    found = numbers(trained()[name](), tmp_path / "model.chaff")
    assert found == pytest.approx(BEFORE[name], rel=1e-4), name


def test_every_recipe_is_among_them() -> None:
    assert set(BEFORE) <= set(trained())
