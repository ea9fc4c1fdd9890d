"""Learning curves, ablations beside each other, short options, lemmas that are not there, and columns of tags."""

import importlib.util
import json
import re

import numpy as np
import pytest

from chaffinch import load
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.lab.baseline import LETTERS, Baseline, start
from chaffinch.text.words import word_tokens
from commandline import run  # noqa: F401


@pytest.fixture
def tagged(tmp_path):
    """Names in capitals after titles, with a column of parts of speech."""
    rng = np.random.default_rng(0)
    for name, n in (("train.tsv", 60), ("dev.tsv", 30)):
        rows = []
        for _ in range(n):
            first = f"Name{rng.integers(30)}"
            rows += [f"{rng.choice(['a', 'the'])}\tDET\tO", f"{first}\tPROPN\tB-PER", "sings\tVERB\tO", ""]
        (tmp_path / name).write_text("\n".join(rows) + "\n")
    return tmp_path


def curve(page):
    """The splits of a page's learning curve, and how many passes its table has."""
    part = page[page.index("Learning curve") :]
    cells = re.findall(r"<th[^>]*>(.*?)</th>", part)
    return [c for c in cells[:3] if c], "Accuracy by" in part


def test_a_report_of_train_draws_accuracy_on_training_and_held_out_data_by_pass(tagged, run):  # noqa: F811
    report = tagged / "curve.html"
    made = run(
        "train", tagged / "train.tsv", "--dev", tagged / "dev.tsv", "-o", tagged / "m.chaff", "--recipe", "greedy",
        "--epochs", 3, "--folds", 0, "--report", report,
    )  # fmt: skip
    assert made.code == 0
    heads, drawn = curve(report.read_text())
    assert heads[1:] == ["train", "dev"]
    assert drawn


def test_a_report_of_an_experiment_draws_accuracy_on_training_and_test_data_by_epoch(tmp_path, run):  # noqa: F811
    report = tmp_path / "curve.html"
    made = run("experiment", "-d", "reviews", "-e", 3, "--no-lemmatize", "--report", report, "--json")
    assert made.code == 0
    heads, drawn = curve(report.read_text())
    assert heads[1:] == ["train", "test"]
    assert drawn
    last = json.loads(made.out)["epochs"][-1]
    assert f"{100 * last['test']:.2f}" in report.read_text()


def test_a_second_ablation_of_the_same_parameter_leaves_the_first_one_alone(tmp_path, monkeypatch, run):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    first = ("ablation", "-d", "reviews", "-e", 1, "--no-lemmatize", "-p", "rate", "--seeds", 1, "-v")
    assert run(*first, "0.01,0.1").code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "evaluation").iterdir()}
    assert "ablation-reviews-rate.svg" in before
    assert run(*first, "0.2,0.3").code == 0
    after = {path.name: path.read_bytes() for path in (tmp_path / "evaluation").iterdir()}
    assert before.items() <= after.items()
    assert "ablation-reviews-rate-2.svg" in after
    assert run(*first, "0.01,0.1").code == 0  # the first one again: its own files
    assert len(list((tmp_path / "evaluation").iterdir())) == len(after)


def test_the_baseline_goes_without_lemmas_where_the_extra_is_missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match="does not lemmatise: its lemmas need the extra lemma"):
        assert start({})["lemmatize"] is False
    assert start({"lemmatize": True})["lemmatize"] is Baseline().lemmatize
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert start({})["lemmatize"] is True

    def refused(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib.util, "find_spec", refused)
    with pytest.warns(UserWarning, match="does not lemmatise"):
        assert start({})["lemmatize"] is False


def test_the_help_of_train_shows_the_short_options(run):  # noqa: F811
    shown = run("train", "--help").out
    for letter in LETTERS.values():
        assert re.search(rf"{letter}\b", shown), letter
    for name in ("trigram", "stopwords", "lemmatize", "penalty", "feature-pick", "feature-drop"):
        assert f"--{name}" in shown


def test_the_help_of_train_shows_no_default_of_an_experiment(run):  # noqa: F811
    short = run("train", "--help").out.split("Settings by their short names")[1].split("Knobs of a recipe")[0]
    assert "recipe's" in short
    assert "[default" not in short
    of_recipe = run("train", "--recipe", "loglinear", "--help").out.split("short names")[1]
    epochs = of_recipe.split("--epochs")[1].split("--batch")[0]
    assert re.search(r"\[default:\s+[│\s]*10\b", epochs)
    assert "by kind" not in epochs
    crf = run("train", "--recipe", "crf", "--help").out.split("short names")[1]
    assert "default" not in crf.split("--epochs")[1].split("--batch")[0]


def test_the_help_of_train_says_where_the_letters_of_an_experiment_are(run):  # noqa: F811
    shown = " ".join(run("train", "--help").out.split())
    assert "-d, -n and -j belong to chaffinch experiment" in shown
    experiment = run("experiment", "--help").out
    assert all(re.search(rf"{letter}\b", experiment) for letter in ("-d", "-n", "-j"))


def test_short_options_of_train_turn_the_knobs_of_the_recipe(tmp_path, run):  # noqa: F811
    path = tmp_path / "data.csv"
    path.write_text("text,label\n" + "so good,yes\nvery bad,no\n" * 6)
    made = run(
        "train", path, "-o", tmp_path / "m.chaff", "--recipe", "loglinear", "-e", 3, "-l", 0.5, "-r", "--penalty", 0.1,
        "--trigram",
    )  # fmt: skip
    assert made.code == 0
    config = load(tmp_path / "m.chaff").config_
    assert (config.epochs, config.rate, config.schedule, config.l2) == (3, 0.5, "random", 0.1)


def test_the_default_dataset_of_an_experiment_is_that_of_an_ablation(run):  # noqa: F811
    shown = run("experiment", "--help").out
    assert "sst5" in shown
    assert "required" not in shown.lower().split("--dataset")[1][:200]


def test_a_column_of_parts_of_speech_is_read_by_the_features_of_names(tagged, run):  # noqa: F811
    # Mostly outside, so that the preset for names is chosen.
    made = run("train", tagged / "train.tsv", "-o", tagged / "m.chaff", "--folds", 0)
    assert made.code == 0
    model = load(tagged / "m.chaff")
    assert "pos" in model.model_.columns
    assert any("pos[0]" in t for t in model.model_.encoder.features.templates)


def test_a_tagger_that_runs_first_gives_the_features_of_names_its_column(tagged, run):  # noqa: F811
    words = [line.split("\t") for line in (tagged / "train.tsv").read_text().split("\n")]
    for name, places in (("pos.tsv", (0, 1)), ("names.tsv", (0, 2))):
        text = "\n".join("\t".join(row[k] for k in places) if len(row) > 1 else "" for row in words)
        (tagged / name).write_text(text)
    assert run("train", tagged / "pos.tsv", "-o", tagged / "pos.chaff", "--folds", 0).code == 0
    made = run("predict", tagged / "pos.chaff", tagged / "names.tsv", "-o", tagged / "both.tsv")
    assert made.code == 0
    made = run("train", tagged / "both.tsv", "-o", tagged / "m.chaff", "--folds", 0, "--columns", "w,y,pos")
    assert made.code == 0
    assert "pos" in load(tagged / "m.chaff").model_.columns


def test_a_column_that_no_feature_reads_is_said(tagged, run):  # noqa: F811
    made = run(
        "train", tagged / "train.tsv", "-o", tagged / "m.chaff", "--folds", 0, "--columns", "w,colour,y",
        "--features", "ner",
    )  # fmt: skip
    assert made.code == 0
    assert "no feature reads the column colour" in made.err


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The dog's here; isn't it?", ["The", "dog", "'s", "here", "is", "n't", "it", "?"]),
        (
            "I can't, we'll (or they've) go!",
            ["I", "ca", "n't", ",", "we", "'ll", "(", "or", "they", "'ve", ")", "go", "!"],
        ),
        ("rock 'n' roll at five o'clock...", ["rock", "'n'", "roll", "at", "five", "o'clock"]),
        ("ISN'T he'd", ["IS", "N'T", "he", "'d"]),
        ("", []),
    ],
)
def test_kims_rule_sets_contractions_and_punctuation_apart(text, tokens):
    found = word_tokens(text, "kim")
    assert [t.text for t in found] == tokens
    assert all(text[t.start : t.end] == t.text for t in found)


def test_features_of_text_follow_kims_rule():
    vectorizer = TextVectorizer(tokens="kim", ngram_high=1)
    vectorizer.fit(["It isn't the dog's."])
    assert sorted(vectorizer.names()) == ["'s", "dog", "is", "it", "n't", "the"]
