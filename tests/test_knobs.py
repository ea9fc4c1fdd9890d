from dataclasses import dataclass

import pytest

from chaffinch import Tagger
from chaffinch.errors import ConfigError
from chaffinch.knobs import check, configured, knob, table
from chaffinch.recipes.crf import Crf
from chaffinch.recipes.hmm import Hmm
from chaffinch.recipes.incremental_search import BeamTagger, Greedy
from chaffinch.recipes.perceptron import MiraTagger


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
        ({"c2": float("inf")}, "run.toml: c2 must lie between -1e+30 and 1e+30, got inf"),
        ({"cap": 2**31}, "run.toml: cap must lie between -2.14748e+09 and 2.14748e+09, got 2147483648"),
        ({"order": "third"}, "run.toml: order must be one of first, second, got 'third'"),
        ({"epoch": 3}, "run.toml: Recipe has no setting 'epoch'; it has c2, cap, epochs, order"),
    ],
)
def test_a_bad_setting_is_named_with_what_was_expected(settings, message):
    with pytest.raises(ConfigError, match=r".*") as caught:
        configured(Recipe, settings, "run.toml")
    assert str(caught.value) == message


# Values at the edge of what knobs take, on models small enough to try them all.
EDGES: list[object] = [
    Hmm(rung_strength=0.0),
    Hmm(word_strength=1e-300),
    BeamTagger(width=10_000, epochs=1),
    Greedy(window=20, epochs=1),
    Greedy(min_weight=1e-30, epochs=1),
    MiraTagger(k=1000, epochs=1),
    Crf(stretch=2**31 - 1, passes=1),
    Crf(min_count=2**31 - 1, passes=1),
]


@pytest.mark.parametrize("edge", EDGES, ids=str)
def test_a_knob_at_its_edge_trains_without_a_warning(edge):
    features = None if isinstance(edge, Hmm) else ["w[0]"]
    tagger = Tagger(edge, features=features, threads=1).fit(
        [["a", "b"], ["b", "c"]], [["X", "Y"], ["Y", "X"]]
    )
    assert {label for labels in tagger.predict([["a", "c"], ["d"]]) for label in labels} <= {"X", "Y"}


def test_an_optional_knob_may_be_none():
    check(Recipe(cap=None))


def test_the_documentation_table_has_a_row_per_knob():
    assert len(table(Recipe).splitlines()) == 6
