"""chaffinch samples: what is listed, shown and written, and that the ordinary readers read it back."""

import io
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from rich.console import Console

from chaffinch import corpus, samples
from chaffinch.cli import main
from chaffinch.cli.samples import picture
from chaffinch.corpus import alignment_tsv, brackets, delimited
from chaffinch.corpus import letters as letter_images
from chaffinch.errors import ConfigError, DataError
from chaffinch.samples.letters import image
from chaffinch.text.document import Document

NAMES = list(samples.SAMPLES)


class Outcome(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(monkeypatch, capsys):
    """The command as a shell would call it."""

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["chaffinch", "samples", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        return Outcome(stopped.value.code or 0, *capsys.readouterr())

    return call


# Files.


@pytest.mark.parametrize("name", NAMES)
def test_the_files_of_a_sample_are_named_by_split_and_format(name, tmp_path):
    written = samples.export(name, tmp_path / "new" / name, size=20)
    assert all(path.is_file() for path in written)
    assert {path.stem for path in written} == {"train", "dev", "test"}
    assert {path.suffix for path in written} - {""} == set(samples.SAMPLES[name].formats)
    assert sorted((tmp_path / "new" / name).iterdir()) == sorted(written)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_gives_the_same_bytes_and_another_seed_others(name, tmp_path):
    def bytes_of(folder, seed):
        return [path.read_bytes() for path in samples.export(name, tmp_path / folder, seed=seed, size=20)]

    first = bytes_of("a", 1)
    assert first == bytes_of("b", 1)
    assert first != bytes_of("c", 2)


def test_ingredients_are_read_back_as_columns(tmp_path):
    samples.export("ingredients", tmp_path, size=200)
    read = list(corpus.read(tmp_path / "train.conll"))
    wanted = samples.load("ingredients", n=200)
    assert [d.words() for d in read] == [d.words() for d in wanted]
    assert [d.columns["y"] for d in read] == [d.columns["y"] for d in wanted]
    lines = (tmp_path / "train.conll").read_text(encoding="utf-8").splitlines()
    assert {line.count("\t") for line in lines if line} == {2}


@pytest.mark.parametrize("file", ["train", "train.conll"])
def test_posts_are_read_back_though_tokens_start_with_a_hash(file, tmp_path):
    samples.export("posts", tmp_path, size=300)
    read = list(corpus.read(tmp_path / file, "columns"))
    wanted = samples.load("posts", n=300)
    assert [(d.words(), d.columns["y"]) for d in read] == [(d.words(), d.columns["y"]) for d in wanted]


def test_the_in_files_of_posts_hold_the_words_of_the_out_files(tmp_path):
    samples.export("posts", tmp_path, size=50)
    for split in ("dev", "test"):
        words = (tmp_path / f"{split}.in").read_text(encoding="utf-8").splitlines()
        tagged = (tmp_path / f"{split}.out").read_text(encoding="utf-8").splitlines()
        assert words == [line.rpartition(" ")[0] for line in tagged]


@pytest.mark.parametrize("name", ["reviews", "topics", "questions"])
def test_labelled_texts_are_read_back_from_csv(name, tmp_path):
    samples.export(name, tmp_path, size=60)
    assert (tmp_path / "train.csv").read_text(encoding="utf-8").startswith("label,text")
    read = list(delimited.read_csv(tmp_path / "train.csv"))
    wanted = samples.load(name, n=60)
    assert [(d.text, d.labels, d.fields) for d in read] == [(d.text, d.labels, d.fields) for d in wanted]


def test_trees_are_read_back_from_brackets(tmp_path):
    samples.export("trees", tmp_path, size=100)
    assert [d.tree for d in brackets.read(tmp_path / "train.mrg")] == [
        d.tree for d in samples.load("trees", n=100)
    ]


def test_pairs_are_read_back_with_their_links(tmp_path):
    samples.export("pairs", tmp_path, size=100)
    read, wanted = list(alignment_tsv.read(tmp_path / "train.tsv")), samples.load("pairs", n=100)
    assert [(d.words(), d.links) for d in read] == [(d.words(), d.links) for d in wanted]


def test_letters_are_read_back_as_images(tmp_path):
    samples.export("letters", tmp_path, size=30)
    read = letter_images.read(tmp_path / "train.npz")
    wanted = samples.load("letters", n=30)
    assert [read.word(w) for w in range(30)] == ["".join(d.columns["y"]) for d in wanted]
    for w, d in enumerate(wanted):
        assert np.array_equal(read.images(w), np.stack([image(t.text) for t in d.tokens]))


def test_only_documents_of_the_letters_format_are_drawn_as_images():
    def shown(document):
        console = Console(width=120, record=True, file=io.StringIO())
        console.print(picture(document, 120))
        return console.export_text()

    letters = samples.load("letters", n=1)[0]
    hashes = Document.from_words([token.text for token in letters.tokens], y=letters.columns["y"])
    assert letters.tokens[0].text not in shown(letters)
    assert hashes.tokens[0].text in shown(hashes)


def test_files_already_there_are_kept_unless_forced(tmp_path):
    (tmp_path / "dev.csv").write_text("mine")
    with pytest.raises(DataError, match="already exists; choose another folder, or overwrite with --force"):
        samples.export("reviews", tmp_path, size=5)
    assert [path.name for path in tmp_path.iterdir()] == ["dev.csv"]
    assert (tmp_path / "dev.csv").read_text() == "mine"
    samples.export("reviews", tmp_path, size=5, force=True)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_file_in_the_place_of_the_folder_is_one_sentence(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(DataError, match="taken: is a file, expected a folder"):
        samples.export("reviews", tmp_path / "taken", size=5)


def test_a_size_below_one_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="the size must be >= 1, got 0"):
        samples.export("reviews", tmp_path, size=0)


# The command.


def test_without_a_name_every_sample_is_listed(run):
    shown = run()
    assert shown.returncode == 0
    assert all(name in shown.stdout for name in NAMES)
    assert list(json.loads(run("--json").stdout)["samples"]) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_name_alone_shows_a_few_documents(name):
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        for document in samples.preview(name):
            console.print(picture(document, 80))
    assert captured.get().strip()
    first = samples.preview(name)[0]
    shown = captured.get().split()
    if name == "letters":
        assert first.columns["y"] == [word for word in shown if word.isalpha()][: len(first.tokens)]
    elif name == "trees":
        assert {f"{w}/{tag}" for w, tag in zip(first.words(), first.columns["pos"], strict=True)} <= set(
            shown
        )
    else:
        assert set(first.text.split()) <= set(shown)


def test_json_examples_carry_their_annotation(run):
    told = json.loads(run("pairs", "--json").stdout)
    assert told["name"] == "pairs"
    assert {"text", "target", "sure", "possible"} <= set(told["examples"][0])


def test_out_writes_and_says_what(run, tmp_path):
    told = json.loads(run("questions", "--out", str(tmp_path / "q"), "--size", "10", "--json").stdout)
    assert [(Path(f["path"]).name, f["documents"]) for f in told["files"]] == [
        ("train.csv", 10),
        ("dev.csv", 2),
        ("test.csv", 2),
    ]
    assert all(Path(f["path"]).stat().st_size == f["bytes"] for f in told["files"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["haiku"], "chaffinch: there is no sample 'haiku'; there are ingredients, posts, reviews, "),
        (
            ["posts", "--size", "5"],
            "chaffinch: --size applies to written files: name a folder with --folder DIR",
        ),
        (["--out", "somewhere"], "chaffinch: name the sample to write to somewhere: ingredients, "),
    ],
)
def test_a_wrong_call_is_one_sentence_and_exit_code_2(run, arguments, message):
    refused = run(*arguments)
    assert refused.returncode == 2
    assert refused.stderr.startswith(message)
    assert refused.stderr.count("\n") == 1
    assert refused.stdout == ""
