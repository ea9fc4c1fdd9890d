from dataclasses import dataclass

import pytest

from chaffinch.errors import ConfigError
from chaffinch.knobs import check, configured, knob, table


@dataclass(frozen=True, kw_only=True)
class Recipe:
    epochs: int = knob(10, "passes over the data", low=1)
    c2: float = knob(1.0, "L2 penalty", low=0.0)
    order: str = knob("first", "chain order", choices=("first", "second"))
    cap: int | None = knob(None, "largest number of features", low=1)


def test_settings_become_a_checked_config():
    assert configured(Recipe, {"epochs": 3, "c2": 2}) == Recipe(epochs=3, c2=2.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "run.toml: epochs must be >= 1, got 0"),
        ({"epochs": True}, "run.toml: epochs must be a whole number, got True"),
        ({"c2": float("nan")}, "run.toml: c2 must be a number, got nan"),
        ({"order": "third"}, "run.toml: order must be one of first, second, got 'third'"),
        ({"epoch": 3}, "run.toml: Recipe has no setting 'epoch'; it has c2, cap, epochs, order"),
    ],
)
def test_a_bad_setting_is_named_with_what_was_expected(settings, message):
    with pytest.raises(ConfigError, match=r".*") as caught:
        configured(Recipe, settings, "run.toml")
    assert str(caught.value) == message


def test_an_optional_knob_may_be_none():
    check(Recipe(cap=None))


def test_the_documentation_table_has_a_row_per_knob():
    assert len(table(Recipe).splitlines()) == 6
