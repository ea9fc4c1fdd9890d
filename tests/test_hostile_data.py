"""Labels, words and file names that look like markup or escape sequences: shown as they are, in every command."""

import time
from pathlib import Path

import pytest

from chaffinch import Classifier, Tagger
from chaffinch.cli.console import Screen
from chaffinch.cli.visible import visible
from commandline import Outcome, Runner, run  # noqa: F401

HOSTILE = ["[/bold]", "[red]x", "[/]", ":smile:", "[link=file:///]y", "[bold"]
ESCAPE = "\x1b[31m\x07\x9b2J"


@pytest.fixture
def folder(tmp_path):
    """A tagged corpus, an output, documents and models of both, all with such names."""
    rows, texts = [], []
    for _ in range(12):
        for n, name in enumerate(HOSTILE):
            rows += [f"{name}Ann\tB-{name}", f"left{n}\tO", f"{name}\tB-{HOSTILE[n - 1]}", ""]
            texts.append((f"{name} good{n} day", name))
    gold = "\n".join(rows) + "\n"
    (tmp_path / f"gold{ESCAPE}[bold].tsv").write_text(gold)
    (tmp_path / "out.tsv").write_text(gold.replace("B-[red]x", "O"))
    (tmp_path / "texts.csv").write_text("text,label\n" + "".join(f'"{t}","{y}"\n' for t, y in texts))
    words = [[row.split("\t")[0] for row in s.split("\n")] for s in gold.strip().split("\n\n")]
    tags = [[row.split("\t")[1] for row in s.split("\n")] for s in gold.strip().split("\n\n")]
    Tagger("perceptron").fit(words, tags).save(tmp_path / f"tags{ESCAPE}.chaff")
    Classifier("nb").fit([t for t, _ in texts], [y for _, y in texts]).save(tmp_path / "texts.chaff")
    return tmp_path


def _commands(folder) -> dict[str, list[object]]:
    gold, tags = folder / f"gold{ESCAPE}[bold].tsv", folder / f"tags{ESCAPE}.chaff"
    out, texts, model = folder / "out.tsv", folder / "texts.csv", folder / "texts.chaff"
    return {
        "train": ["train", gold, "-o", folder / "new.chaff", "--recipe", "perceptron", "--epochs", 2],
        "train of documents": ["train", texts, "-o", folder / "new.chaff", "--recipe", "nb"],
        "evaluate": ["evaluate", gold, out],
        "evaluate with intervals of each label": ["evaluate", gold, out, "--seed", 1],
        "inspect": ["inspect", tags],
        "inspect a classifier": ["inspect", model],
        "explain": ["explain", tags, gold],
        "compare": ["compare", tags, tags, gold],
        "doctor": ["doctor", gold],
        "a file that is not there": ["inspect", folder / f"none{ESCAPE}"],
        "a file that is no model": ["inspect", gold],
        "a label that is not there": ["inspect", model, "--label", f"[/bold]{ESCAPE}"],
    }


def _check(done: Outcome) -> None:
    shown = done.out + done.err
    assert done.code in (0, 1, 2), shown
    assert "Traceback" not in shown
    assert shown == visible(shown)


@pytest.mark.parametrize("name", _commands(Path()))
def test_data_is_shown_as_it_is(folder, run: Runner, name):  # noqa: F811
    _check(run(*_commands(folder)[name]))


def test_labels_that_look_like_markup_are_in_the_tables(folder, run: Runner):  # noqa: F811
    gold = folder / f"gold{ESCAPE}[bold].tsv"
    scores = run("evaluate", gold, folder / "out.tsv")
    assert scores.code == 0, scores.err
    inspected = run("inspect", folder / "texts.chaff")
    assert inspected.code == 0, inspected.err
    for label in HOSTILE:
        assert label in inspected.out


def test_control_characters_of_a_file_name_are_written_out(folder, run: Runner):  # noqa: F811
    refused = run("inspect", folder / f"none{ESCAPE}")
    assert refused.code == 2
    assert r"none\x1b[31m\x07\x9b2J" in refused.err


def test_no_renderable_brings_control_characters_to_the_terminal(capsys):
    from rich.table import Table
    from rich.text import Text

    screen, table = Screen(), Table(title=ESCAPE)
    table.add_column(ESCAPE)
    table.add_row(ESCAPE)
    table.add_row(Text(ESCAPE))
    screen.print(table, Text(ESCAPE), ESCAPE, "[bold]a[/bold]", style=None)
    shown = capsys.readouterr().out
    assert shown == visible(shown)
    assert "[bold]a[/bold]" in shown


@pytest.mark.parametrize("command", ["train", "evaluate", "compare", "doctor"])
def test_a_seed_beyond_all_bounds_is_refused(folder, run: Runner, command):  # noqa: F811
    arguments = {
        "train": ["texts.csv", "-o", folder / "m.chaff"],
        "evaluate": ["out.tsv", "out.tsv"],
        "compare": ["texts.chaff", "texts.chaff", "texts.csv"],
        "doctor": ["out.tsv"],
    }[command]
    given = [folder / a if str(a).endswith((".csv", ".tsv", ".chaff")) else a for a in arguments]
    refused = run(command, *given, "--seed", "99999999999999999999999")
    assert refused.code == 2
    assert "Traceback" not in refused.err
    assert "--seed" in refused.err


def test_more_features_than_anyone_reads_are_refused_at_once(folder, run: Runner):  # noqa: F811
    began = time.process_time()
    refused = run("inspect", folder / "texts.chaff", "--top", "1000000000")
    assert refused.code == 2
    assert "--top shows up to 1,000" in refused.err
    assert run("inspect", folder / "texts.chaff", "--top", "1000000000", "--json").code == 0
    assert time.process_time() - began < 10
