"""chaffinch train and predict on documents."""

import csv
import json

import pytest

from chaffinch import samples
from chaffinch.corpus import write
from commandline import Runner, run  # noqa: F401


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviews")
    for split in ("train", "test"):
        write(samples.load("reviews", split, n=400), folder / f"{split}.csv")
    return folder


def test_documents_are_seen_from_the_file_and_train_a_classifier(run: Runner, corpus, tmp_path):  # noqa: F811
    model, out = tmp_path / "m.chaff", tmp_path / "out.csv"
    done = run("train", corpus / "train.csv", "-o", model, "--dev", corpus / "test.csv", "--json")
    assert done.code == 0, done.err
    record = json.loads(done.out)
    assert record["recipe"] == "ridge"
    assert record["dev"]["accuracy"] > 0.4
    assert record["model_bytes"] == model.stat().st_size
    assert run("predict", model, corpus / "test.csv", "-o", out).code == 0
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {"text", "label", "prediction", "confidence"} <= rows[0].keys()
    right = sum(row["label"] == row["prediction"] for row in rows) / len(rows)
    assert right == pytest.approx(record["dev"]["accuracy"])
    assert all(0 < float(row["confidence"]) <= 1 for row in rows)


def test_knobs_of_recipes_and_of_text_features_are_flags(run: Runner, corpus, tmp_path):  # noqa: F811
    done = run(
        "train", corpus / "train.csv", "-o", tmp_path / "m.chaff", "--recipe", "nb", "--alpha", "0.5",
        "--features", "counts", "--ngram-high", "1", "--stopwords", "english",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "nb: 400 documents" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--recipe", "hmm"], "recipe hmm is for sentences"),
        (["--order", "2"], "no knob --order"),
        (["--text", "body"], "body"),
        (["--features", "nonsense"], "there are no text features"),
    ],
)
def test_what_does_not_fit_is_one_sentence(run: Runner, corpus, tmp_path, arguments, message):  # noqa: F811
    done = run("train", corpus / "train.csv", "-o", tmp_path / "m.chaff", *arguments)
    assert (done.code, message in done.err) == (2, True), done.err
    assert not (tmp_path / "m.chaff").exists()


def test_texts_alone_are_labelled_as_json(run: Runner, corpus, tmp_path):  # noqa: F811
    model = tmp_path / "m.chaff"
    run("train", corpus / "train.csv", "-o", model)
    (tmp_path / "new.csv").write_text("text\nA wonderful film .\n", encoding="utf-8")
    done = run("predict", model, tmp_path / "new.csv", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert sum(found["labels"].values()) == pytest.approx(1.0, abs=1e-4)


def test_inspect_shows_the_strongest_features_of_a_classifier(run: Runner, corpus, tmp_path):  # noqa: F811
    run("train", corpus / "train.csv", "-o", tmp_path / "m.chaff")
    held = json.loads(run("inspect", tmp_path / "m.chaff", "--json", "--top", "3").out)
    assert set(held["top"]) == set(held["labels"])
    for found in held["top"].values():
        weights = [entry["weight"] for entry in found]
        assert len(weights) == 3
        assert weights == sorted(weights, reverse=True)
        assert weights[0] > 0
    strange = run("inspect", tmp_path / "m.chaff", "--label", "none of them")
    assert (strange.code, "has no label 'none of them'" in strange.err) == (2, True)


def test_a_flag_of_another_task_is_refused(run: Runner, corpus, tmp_path):  # noqa: F811
    run("train", corpus / "train.csv", "-o", tmp_path / "m.chaff")
    done = run("predict", tmp_path / "m.chaff", corpus / "train.csv", "--kbest", "2")
    assert (done.code, done.err) == (2, "chaffinch: --kbest does not apply to documents; leave it out\n")


def test_texts_without_labels_come_back_without_a_column_of_labels(run: Runner, corpus, tmp_path):  # noqa: F811
    run("train", corpus / "train.csv", "-o", tmp_path / "m.chaff")
    outcome = run("predict", tmp_path / "m.chaff", "-", stdin=b"so good\nso bad\n")
    assert outcome.out.split("\n")[0] == "text,prediction,confidence"


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.jsonl", "out.parquet", "out.csv.gz"])
@pytest.mark.parametrize("given", ["new.csv", "new.jsonl"])
def test_the_output_has_the_format_of_its_name_and_is_scored(name, given, run: Runner, corpus, tmp_path):  # noqa: F811
    run("train", corpus / "train.csv", "-o", tmp_path / "m.chaff")
    assert run("convert", corpus / "train.csv", tmp_path / given).code == 0
    outcome = run("predict", tmp_path / "m.chaff", tmp_path / given, "-o", tmp_path / name)
    assert outcome.code == 0, outcome.err
    scored = run("evaluate", tmp_path / name, "--json")
    assert scored.code == 0, scored.err
    assert run("evaluate", corpus / "train.csv", tmp_path / name).code == 0


def test_a_name_with_no_place_for_predictions_is_refused(run: Runner, corpus, tmp_path):  # noqa: F811
    run("train", corpus / "train.csv", "-o", tmp_path / "m.chaff")
    outcome = run("predict", tmp_path / "m.chaff", corpus / "train.csv", "-o", tmp_path / "out.conll")
    assert outcome.code == 2
    assert "cannot hold predictions; name a .csv" in outcome.err


def test_a_single_label_is_said(run: Runner, tmp_path):  # noqa: F811
    (tmp_path / "a.csv").write_text("text,label\nowls,bird\njays,bird\n")
    told = run("train", tmp_path / "a.csv", "-o", tmp_path / "m.chaff").err
    assert "the training data has one label, 'bird'; the model can answer nothing else" in told
    assert "1 label," in run("train", tmp_path / "a.csv", "-o", tmp_path / "m.chaff").out


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text,label\n", "a.csv: has no document"),
        ("a.jsonl", "\n\n", "a.jsonl: has no document"),
        (
            "a.csv",
            "text,label\nowls,a\njays,\n",
            "a.csv:3: the document has no label, others have one; label it or remove it",
        ),
        ("a.csv", "text,kind\nowls,a\n", "a.csv:2: the document has no label; name its column with --label"),
        ("a.csv", "sentence,label\n1,a\n2,b\n", "a.csv: all texts are numbers, such as '1'; name the column"),
        (
            "a.csv",
            "good,owls sing\nbad,jays\n",
            "if this line is a document, add a line above it, such as label,text",
        ),
        ("a.ft", "no label here\n", "a.ft:1: the document has no label\n"),
    ],
)
def test_documents_that_teach_nothing_are_refused_with_their_place(
    run: Runner,  # noqa: F811
    name,
    content,
    message,
    tmp_path,
):
    (tmp_path / name).write_text(content)
    outcome = run("train", tmp_path / name, "-o", tmp_path / "m.chaff")
    assert outcome.code == 2
    assert message in outcome.err


def test_documents_are_held_back_below_a_certified_threshold_and_training_tells_its_calibration(
    run: Runner,  # noqa: F811
    tmp_path,
):
    for split in ("train", "test"):
        write(samples.load("topics", split), tmp_path / f"{split}.csv")
    model, out, page = tmp_path / "m.chaff", tmp_path / "out.csv", tmp_path / "report.html"
    done = run("train", tmp_path / "train.csv", "-o", model, "--recipe", "ridge", "--report", page)
    assert done.code == 0, done.err
    assert "probabilities of documents calibrated on" in " ".join(done.out.split())
    assert 'aria-label="Reliability of the probabilities of documents"' in page.read_text(encoding="utf-8")
    done = run("predict", model, tmp_path / "test.csv", "-o", out, "--precision", "0.95")
    assert done.code == 0, done.err
    assert "documents held back" in " ".join(done.err.split())
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    given = [row for row in rows if row["prediction"]]
    assert 0 < len(given) < len(rows)
    assert sum(row["label"] == row["prediction"] for row in given) / len(given) > 0.92
    least = min(float(row["confidence"]) for row in given)
    assert all(float(row["confidence"]) <= least for row in rows if not row["prediction"])
    lines = run("predict", model, tmp_path / "test.csv", "--json", "--precision", "0.95").out.splitlines()
    assert sum(json.loads(line)["prediction"] is None for line in lines) == len(rows) - len(given)


def test_probabilities_that_no_decision_could_check_are_not_called_calibrated(
    run: Runner,  # noqa: F811
    tmp_path,
):
    path = tmp_path / "few.csv"
    path.write_text(
        "text,labels\ngood tea,a|b\nbad tea,b\nfine cake,a\npoor cake,c\nred soup,a|c\nnew soup,b\n"
    )
    done = run(
        "train", path, "--label", "labels", "--text", "text", "--label-separator", "|", "-o", tmp_path / "m"
    )
    told = " ".join(done.out.split())
    assert "probabilities of labels could not be checked: there was no decision on held-out data" in told
    assert "calibration error" not in told
