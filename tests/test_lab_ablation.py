"""Ablation: every cell is the single run it stands for, and what was run is not run again."""

import json

import pytest

from chaffinch.errors import ConfigError
from chaffinch.lab import Axis, Experiment, Source, ablate, ablation, bench, run
from chaffinch.lab.plots import charts, page
from chaffinch.report.html import png_file, svg_file


@pytest.fixture(scope="module")
def laid():
    return bench(Source(name="ingredients"), recipe="perceptron", settings={"epochs": 2})


AXES = [Axis("epochs", ("1", "2")), Axis("min_count", ("1", "3"))]


@pytest.fixture(scope="module")
def found(laid):
    return ablate(laid.experiment, AXES, laid.splits, laid.kind, seeds=range(2), split="dev")


def test_a_cell_equals_a_single_run_with_its_settings_and_seed(laid, found):
    assert [row.point for row in found.rows] == [
        {"epochs": e, "min_count": m} for e in ("1", "2") for m in ("1", "3")
    ]
    for row in (found.rows[1], found.rows[2]):
        settings = {name: int(value) for name, value in row.point.items()}
        for seed in range(2):
            single = bench(Source(name="ingredients"), recipe="perceptron", settings=settings, seed=seed)
            scores = run(single.experiment, single.splits, scored=("dev",)).scores["dev"]
            assert row.runs[seed].scores == scores


def test_one_at_a_time_has_the_base_and_each_value_by_itself(laid):
    made = ablation.cells(laid.experiment, AXES, laid.kind, grid=False)
    assert [cell.point for cell in made] == [
        {},
        {"epochs": "1"},
        {"epochs": "2"},
        {"min_count": "1"},
        {"min_count": "3"},
    ]
    assert made[0].experiment == laid.experiment


def test_finished_runs_are_taken_from_the_journal(laid, tmp_path, monkeypatch):
    journal = tmp_path / "runs.jsonl"
    arguments = (laid.experiment, [Axis("epochs", ("1",))], laid.splits, laid.kind)
    first = ablate(*arguments, seeds=range(2), split="dev", journal=journal)
    monkeypatch.setattr(ablation, "run", lambda *_, **__: pytest.fail("it ran again"))
    assert ablate(*arguments, seeds=range(2), split="dev", journal=journal) == first


def test_an_interrupted_ablation_goes_on_where_it_was(laid, tmp_path, monkeypatch):
    journal = tmp_path / "runs.jsonl"
    arguments = (laid.experiment, [Axis("epochs", ("1",))], laid.splits, laid.kind)
    whole = ablate(*arguments, seeds=range(2), split="dev", journal=journal)
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text(lines[0] + lines[1][:20])
    calls = []
    monkeypatch.setattr(ablation, "run", lambda *a, **k: calls.append(a) or run(*a, **k))
    again = ablate(*arguments, seeds=range(2), split="dev", journal=journal)
    assert len(calls) == 1
    assert [r.scores for r in again.rows[0].runs] == [r.scores for r in whole.rows[0].runs]
    assert len([json.loads(line) for line in journal.read_text().splitlines()]) == 2


def test_a_journal_of_other_data_or_settings_is_not_used(laid, tmp_path, monkeypatch):
    journal = tmp_path / "runs.jsonl"
    axes = [Axis("epochs", ("1",))]
    ablate(laid.experiment, axes, laid.splits, laid.kind, seeds=[0], split="dev", journal=journal)
    ablate(laid.experiment, axes, laid.splits, laid.kind, seeds=[0], split="test", journal=journal)
    assert len(journal.read_text().splitlines()) == 2


def test_a_line_that_is_no_run_is_refused(laid, tmp_path):
    (tmp_path / "j").write_text("{}\n")
    with pytest.raises(ConfigError, match="j:1: is not a line"):
        ablate(laid.experiment, AXES, laid.splits, laid.kind, seeds=[0], split="dev", journal=tmp_path / "j")


def test_recipes_may_be_compared(laid):
    made = ablation.cells(laid.experiment, [Axis("recipe", ("hmm", "perceptron"))], laid.kind)
    assert [cell.experiment.recipe for cell in made] == ["hmm", "perceptron"]
    assert made[0].experiment.settings == {}
    assert made[1].experiment.settings == {"epochs": 2}


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        ([], "nothing to vary"),
        ([Axis("epochs", ("1",)), Axis("epochs", ("2",))], "named twice"),
        ([Axis("epochs", ("one",))], "expected a whole number"),
        ([Axis("epochs", ("0",))], "must be >= 1"),
        ([Axis("colour", ("red",))], "has no knob 'colour'"),
        ([Axis("recipe", ("magic",))], "no recipe 'magic'"),
    ],
)
def test_what_cannot_be_varied_is_refused_before_anything_runs(laid, axes, told):
    with pytest.raises(ConfigError, match=told):
        ablation.cells(laid.experiment, axes, laid.kind)


def test_the_charts_show_every_cell_and_stand_alone(found):
    drawn = charts(found)
    assert list(drawn) == ["", "-epochs", "-grid"]
    for row in found.rows:
        assert row.label in drawn[""]
        assert f"{100 * row.over_seeds.mean:.2f} %" in page(found).render()
    for chart in drawn.values():
        assert "var(--" not in svg_file(chart)
        assert png_file(chart, scale=1.0).startswith(b"\x89PNG\r\n")


def test_short_names_turn_the_knobs_they_stand_for():
    base = Experiment(source=Source(name="ingredients"), recipe="crf")
    laid = bench(base.source, recipe="crf", settings={"epoch": 4, "penalty": 0.5})
    assert laid.experiment.settings == {"passes": 4, "c2": 0.5}
    with pytest.raises(ConfigError, match="recipe hmm has no knob for 'epoch'"):
        bench(base.source, recipe="hmm", settings={"epoch": 4})
