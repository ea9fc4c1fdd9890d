"""Labels, words and file names that look like markup or escape sequences: shown as they are, in every command."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

from chaffinch import Classifier, Tagger
from chaffinch.cli import COMMANDS
from chaffinch.cli.console import Screen
from chaffinch.cli.terminal import visible
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


LONG = "long" * 2000
WILD = [
    *HOSTILE,
    f"esc{ESCAPE}",
    "tab\\t",
    "\u202eright",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    LONG,
]


@pytest.fixture
def corpora(tmp_path):
    """Sentences, texts and plain text whose labels and words are such; a folder that is a dataset of each."""
    rng = np.random.default_rng(0)
    for kind, ending in (("sentences", "conll"), ("texts", "jsonl")):
        (tmp_path / kind).mkdir()
        for split, size in (("train", 60), ("dev", 20), ("test", 20)):
            lines = []
            for n in rng.integers(0, len(WILD), size).tolist():
                name = WILD[n].replace("\t", " ")
                if ending == "conll":
                    cell = name.replace(" ", "_")
                    lines += [f"{cell}\tB-{cell}", f"w{n}\tO", ""]
                else:
                    lines.append(json.dumps({"text": f"{WILD[n]} good{n} day", "label": WILD[n]}))
            (tmp_path / kind / f"{split}.{ending}").write_text("\n".join(lines) + "\n")
    (tmp_path / f"plain{ESCAPE}.txt").write_text("".join(f"{name} left {name}\n" for name in WILD) * 10)
    return tmp_path


def _laboratory(folder, out) -> dict[str, list[list[object]]]:
    """Commands by name; the last of each is the one that is looked at."""
    tags, texts = folder / "sentences", folder / "texts"
    tagger, classifier = out / "t.chaff", out / "c.chaff"
    quick = [
        "train",
        tags / "train.conll",
        "-o",
        tagger,
        "--recipe",
        "perceptron",
        "--epochs",
        2,
        "--folds",
        0,
    ]
    label = ["train", texts / "train.jsonl", "-o", classifier, "--recipe", "nb"]
    learn = [
        "rerank",
        tags / "train.conll",
        "--base",
        tagger,
        "-o",
        out / "r.chaff",
        "--kbest",
        3,
        "--folds",
        2,
    ]
    setting = ["--recipe", "perceptron", "-p", "epochs", "-v", "1,2"]
    return {
        "predict columns": [quick, ["predict", tagger, tags / "test.conll", "-o", "-"]],
        "predict spans": [
            quick,
            ["predict", tagger, folder / f"plain{ESCAPE}.txt", "-o", out / f"s{ESCAPE}.jsonl"],
        ],
        "predict json": [quick, ["predict", tagger, tags / "test.conll", "-o", out / "o.json", "--json"]],
        "predict labels": [label, ["predict", classifier, texts / "test.jsonl", "-o", out / "o.jsonl"]],
        "predict tasks": [label, ["predict", classifier, texts / "test.jsonl", "-o", out / "o.json"]],
        "convert tags": [["convert", tags / "train.conll", out / "o.jsonl"]],
        "convert labels": [["convert", texts / "train.jsonl", out / "o.csv"]],
        "convert to tasks": [["convert", texts / "train.jsonl", out / "o.json", "--to", "label-studio"]],
        "convert to fasttext": [["convert", texts / "train.jsonl", out / "o.ft", "--to", "fasttext"]],
        "rerank": [quick, [*learn, "--dev", tags / "dev.conll"]],
        "rerank with": [
            quick,
            learn,
            [
                "rerank",
                tags / "test.conll",
                "--base",
                tagger,
                "--with",
                out / "r.chaff",
                "-o",
                out / "chosen.conll",
            ],
        ],
        "tune": [
            [
                "tune",
                tags / "train.conll",
                "--dev",
                tags / "dev.conll",
                *setting,
                "--trials",
                2,
                "-o",
                out / "p.toml",
            ]
        ],
        "ablation": [["ablation", "-d", tags, *setting, "--seeds", 1, "-o", out / "table"]],
        "ablation of texts": [
            ["ablation", "-d", texts, "--recipe", "nb", "-p", "alpha", "-v", "0.1,1", "--seeds", 1]
        ],
        "experiment": [
            ["experiment", "-d", tags, "--recipe", "perceptron", "-e", 1, "--record", out / "notes"]
        ],
        "experiment of texts": [
            ["experiment", "-d", texts, "--recipe", "nb", "-n", f"[/bold]{ESCAPE}", "--record", out / "notes"]
        ],
        "preset": [
            ["experiment", "-d", tags, "--recipe", "perceptron", "-e", 1, "-j", out / "p.json"],
            ["preset", out / "p.json"],
        ],
        "preset that is none": [["preset", texts / "train.jsonl"]],
        "cluster": [
            [
                "cluster",
                folder / f"plain{ESCAPE}.txt",
                "--classes",
                3,
                "--min-count",
                1,
                "-o",
                out / f"c{ESCAPE}.tsv",
            ]
        ],
        "next": [label, ["next", classifier, texts / "test.jsonl", "-o", out / f"queue{ESCAPE}.jsonl"]],
        "next of sentences": [quick, ["next", tagger, tags / "test.conll", "-o", out / "queue.conll"]],
        "samples": [["samples", f"[/bold]{ESCAPE}"]],
        "samples in a folder": [["samples", "posts", "--out", out / f"[red]{ESCAPE}", "--size", 5]],
    }


@pytest.mark.parametrize("name", _laboratory(Path(), Path()))
def test_hostile_corpora_are_worked_on_and_shown_as_they_are(
    corpora,
    tmp_path_factory,
    monkeypatch,
    run: Runner,  # noqa: F811
    name,
):
    out = tmp_path_factory.mktemp("out")
    monkeypatch.chdir(out)
    *before, asked = _laboratory(corpora, out)[name]
    for command in before:
        done = run(*command)
        assert done.code == 0, done.err
    done = run(*asked)
    _check(done) if name != "predict columns" else None
    assert "Traceback" not in done.err
    refused = name in ("preset that is none", "samples") or (name == "convert to fasttext" and done.code == 2)
    assert done.code == (2 if refused else 0), done.err


BROKEN = {
    "half a surrogate pair": (b"\xed\xa0\x80\tB-X\n\n", b'{"text": "\\ud800", "label": "a"}\n'),
    "no UTF-8": (b"\xff\xfe\tB-X\n\n", b'{"text": "\xff", "label": "a"}\n'),
    "a NUL": (b"a\x00b\tB-X\n\n", b'{"text": "a\\u0000", "label": "a"}\n'),
    "an empty label": (b"a\t\n\n", b'{"text": "a", "label": ""}\n'),
    "an empty word": (b"\tB-X\n\n", b'{"text": "", "label": "a"}\n'),
    "a cut object": (b"a\n\n", b'{"text": "a", "label": \n'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_bytes_and_empty_strings_end_in_a_result_or_a_sentence(
    corpora,
    tmp_path_factory,
    monkeypatch,
    run: Runner,  # noqa: F811
    name,
):
    out = tmp_path_factory.mktemp("out")
    monkeypatch.chdir(out)
    tags, texts = corpora / "sentences", corpora / "texts"
    commands = _laboratory(corpora, out)
    assert run(*commands["predict columns"][0]).code == 0
    assert run(*commands["predict labels"][0]).code == 0
    for file, more in ((tags / "train.conll", BROKEN[name][0]), (texts / "train.jsonl", BROKEN[name][1])):
        file.write_bytes(file.read_bytes() + more)
    plain = corpora / f"plain{ESCAPE}.txt"
    plain.write_bytes(plain.read_bytes() + BROKEN[name][0])
    tried = [
        ["predict", out / "t.chaff", tags / "train.conll", "-o", out / "p.conll"],
        ["predict", out / "t.chaff", plain, "-o", out / "p.jsonl"],
        ["predict", out / "c.chaff", texts / "train.jsonl", "-o", out / "q.jsonl"],
        ["convert", tags / "train.conll", out / "converted.jsonl"],
        ["convert", texts / "train.jsonl", out / "converted.csv"],
        *(commands[one][-1] for one in ("rerank", "tune", "ablation", "ablation of texts", "experiment")),
        *(commands[one][-1] for one in ("experiment of texts", "cluster")),
    ]
    for command in tried:
        done = run(*command)
        _check(done)
        assert done.code in (0, 2), done.err


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


SEEDED = {
    "train": ["texts.csv", "-o", "m.chaff"],
    "evaluate": ["out.tsv", "out.tsv"],
    "compare": ["texts.chaff", "texts.chaff", "texts.csv"],
    "doctor": ["out.tsv"],
    "rerank": ["out.tsv", "--base", "texts.chaff", "-o", "r.chaff"],
    "experiment": ["-d", "reviews"],
    "tune": ["out.tsv", "--dev", "out.tsv", "-o", "p.toml"],
    "samples": ["posts"],
    "next": ["texts.chaff", "texts.csv", "-o", "queue.jsonl"],
    "simulate": ["texts.csv"],
}


def test_every_command_with_a_seed_is_tried(run: Runner):  # noqa: F811
    helped = {command: run(command, "--help").out for command in COMMANDS}
    assert {command for command, shown in helped.items() if re.search(r"--seed\s", shown)} == set(SEEDED)


@pytest.mark.parametrize("command", SEEDED)
@pytest.mark.parametrize("seed", ["99999999999999999999999", "-99999999999999999999999", "2147483648"])
def test_a_seed_beyond_all_bounds_is_refused(folder, run: Runner, command, seed, monkeypatch):  # noqa: F811
    monkeypatch.chdir(folder)
    refused = run(command, *SEEDED[command], "--seed", seed)
    assert refused.code == 2
    assert "Traceback" not in refused.err
    assert "--seed" in refused.err


def test_more_features_than_anyone_reads_are_refused_at_once(folder, run: Runner):  # noqa: F811
    began = time.process_time()
    refused = run("inspect", folder / "texts.chaff", "--top", "1000000000")
    assert refused.code == 2
    assert "--top accepts up to 1,000" in refused.err
    assert run("inspect", folder / "texts.chaff", "--top", "1000000000", "--json").code == 0
    assert time.process_time() - began < 10
