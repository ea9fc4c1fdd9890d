"""Several labels, shares of labels, weights and numbers of documents, from the command line to the scores."""

import csv
import json
from itertools import chain

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

import chaffinch
from chaffinch import Classifier, ConfigError, DataError, Tagger, lab, samples
from chaffinch.corpus import read, write
from chaffinch.errors import DataWarning
from chaffinch.evaluate import LabelSets, score_label_sets
from chaffinch.lab import Source, bench
from chaffinch.learners.choice_gradient import ChoiceSgd
from chaffinch.recipes.document_task import label_weights
from chaffinch.text.document import Document
from commandline import Runner, run  # noqa: F401

COLOURS = ("red", "blue", "green", "white")


def rows(count: int, seed: int) -> list[list[str]]:
    chance = np.random.default_rng(seed)
    return [[c for c in COLOURS if chance.random() < 0.4] for _ in range(count)]


@pytest.fixture
def several(tmp_path):
    """Texts that name their labels among other words; some have none."""
    for split, seed in (("train", 0), ("dev", 1), ("test", 2)):
        made = [Document(text=" ".join([*labels, "thing"]), labels=labels) for labels in rows(120, seed)]
        write(made, tmp_path / f"{split}.csv", label_separator="|")
    return tmp_path


def test_several_labels_go_from_files_to_scores_by_threshold(run: Runner, several):  # noqa: F811
    model, out = several / "m.chaff", several / "out.csv"
    flags = ["--recipe", "svm", "--C", "10", "--label-separator", "|", "--threshold", "0.45"]
    made = run("train", several / "train.csv", "-o", model, "--dev", several / "test.csv", *flags, "--json")
    assert made.code == 0, made.err
    scores = json.loads(made.out)["dev"]
    assert scores["micro_f1"] > 0.95
    assert chaffinch.load(model).model_.threshold == 0.45
    assert run("predict", model, several / "test.csv", "-o", out).code == 0
    found = run("evaluate", out, "--label-separator", "|", "--json")
    assert found.code == 0, found.err
    told = json.loads(found.out)
    assert {key: told[key] for key in scores} == pytest.approx(scores)
    assert told["label.red.f1"] > 0.9
    assert told["intervals"]["micro_f1"][0] <= told["micro_f1"]
    assert run("predict", model, several / "test.csv", "-o", out, "--threshold", "0").code == 0
    with out.open(encoding="utf-8", newline="") as stream:
        assert {row["prediction"] for row in csv.DictReader(stream)} == {"blue|green|red|white"}


def test_several_labels_are_an_experiment_like_any_other(run: Runner, several, monkeypatch):  # noqa: F811
    monkeypatch.chdir(several)
    made = run(
        *"train -d . --label-separator | --recipe loglinear --loss labels --rate 1 -e 4 -j p --json".split()
    )
    assert made.code == 0, made.err
    told = json.loads(made.out)
    assert told["epochs"][-1]["test"] == pytest.approx(told["test"]["accuracy"])
    assert next(iter(told["test"])) == "micro_f1"
    assert run("preset", "p").code == 0


def test_scores_of_label_sets_are_those_of_scikit_learn():
    gold, given = rows(80, 3), rows(80, 4)
    scores, sets = score_label_sets(gold, given), LabelSets.from_lists(gold, given)
    assert scores.accuracy == pytest.approx(accuracy_score(sets.y, sets.y_hat))
    assert scores.micro_f1 == pytest.approx(f1_score(sets.y, sets.y_hat, average="micro"))
    assert scores.macro_f1 == pytest.approx(f1_score(sets.y, sets.y_hat, average="macro"))
    by_label = [scores.labels[name].f1 for name in sets.labels]
    assert by_label == pytest.approx(f1_score(sets.y, sets.y_hat, average=None).tolist())


def test_shares_of_labels_are_learnt_from_json_lines(run: Runner, tmp_path):  # noqa: F811
    documents = [
        Document(text="tea", labels=["yes"], shares={"yes": 0.8, "no": 0.2}),
        Document(text="cake", labels=["no"], shares={"yes": 0.1, "no": 0.9}),
    ] * 40
    write(documents, tmp_path / "soft.jsonl")
    assert [d.shares for d in read(tmp_path / "soft.jsonl")][:2] == [d.shares for d in documents[:2]]
    model = tmp_path / "m.chaff"
    flags = ["--recipe", "logistic", "--C", "100", "--tolerance", "1e-5"]
    made = run("train", tmp_path / "soft.jsonl", "-o", model, *flags)
    assert made.code == 0, made.err
    p = chaffinch.load(model).predict_proba(["tea", "cake"])
    np.testing.assert_allclose(p[:, 1], [0.8, 0.1], atol=0.02)
    made = run("train", "-d", tmp_path / "soft.jsonl", *flags, "--json")
    assert json.loads(made.out)["train"]["accuracy"] == 1.0
    (tmp_path / "bad.jsonl").write_text('{"text": "tea", "labels": {"yes": 0.8, "no": 0.8}}\n')
    assert "bad.jsonl:1: labels: expected shares" in run("train", tmp_path / "bad.jsonl", "-o", model).err


@pytest.fixture(scope="module")
def reviews():
    parts = [samples.load("reviews", split, n=400) for split in ("train", "dev")]
    return [one for part in parts for one in ([d.text for d in part], [d.labels[0] for d in part])]


@pytest.mark.parametrize(
    "config",
    [ChoiceSgd(rate=1.0, epochs=30), ChoiceSgd(rate=1.0, epochs=30, average=True), "ridge", "maxent"],
)
def test_the_best_pass_on_held_out_documents_is_kept(config, reviews):
    texts, y, new, gold = reviews
    classifier = Classifier(config, smallest=0.0).fit(texts, y, dev=(new, gold))
    told = [p.scores["dev"] for p in classifier.history_]
    assert classifier.score(new, gold) == pytest.approx(max(told))
    best = told.index(max(told))
    assert len(told) in (best + 4, classifier.history_[0].total) or config in ("ridge", "maxent")


def test_what_learns_at_once_is_scored_on_held_out_documents_too(reviews):
    texts, y, new, gold = reviews
    assert "dev" in Classifier("nb").fit(texts, y, dev=(new, gold)).history_[-1].scores
    with pytest.raises(DataError, match="no held-out document has a label"):
        Classifier().fit(texts, y, dev=(new, ["strange"] * len(new)))


def test_an_experiment_stops_on_the_dev_part_and_repeats():
    laid = bench(
        Source(name="reviews"), settings={"epoch": 12, "lr": 1.0, "lemmatize": False}, stop_on_dev=True
    )
    outcome = lab.run(laid.experiment, laid.splits, scored=("dev",))
    told = [p.scores["dev"] for p in outcome.estimator.history_]
    assert outcome.scores["dev"]["accuracy"] == pytest.approx(max(told), abs=0.01)
    again = lab.run(laid.experiment, laid.splits, scored=("dev",), watched=("train",))
    assert again.model_digest() == outcome.model_digest()


def test_recipes_for_documents_are_compared_and_the_best_is_kept(run: Runner, reviews, tmp_path):  # noqa: F811
    texts, y, new, gold = reviews
    for name, (t, labels) in {"train": (texts, y), "dev": (new, gold)}.items():
        write(
            (Document(text=a, labels=[b]) for a, b in zip(t, labels, strict=True)), tmp_path / f"{name}.csv"
        )
    model, page = tmp_path / "m.chaff", tmp_path / "page.html"
    data = [tmp_path / "train.csv", "--dev", tmp_path / "dev.csv", "-o", model, "--report", page]
    made = run("train", *data, "--compare", "nb,ridge,loglinear", "--epochs", "4", "--min-df", "1", "--json")
    assert made.code == 0, made.err
    told = json.loads(made.out)
    accuracies = {row["recipe"]: row["scores"]["accuracy"] for row in told["recipes"]}
    assert told["best"] == max(accuracies, key=lambda name: accuracies[name])
    kept = chaffinch.load(model)
    assert kept.score(new, gold) == pytest.approx(accuracies[told["best"]])
    assert "Learning curves" in page.read_text(encoding="utf-8")
    made = run("train", *data, "--recipe", "loglinear", "--stop-on-dev", "--rate", "1")
    assert made.code == 0, made.err
    assert ">dev<" in page.read_text(encoding="utf-8")


def test_weights_and_numbers_are_columns_of_the_file(run: Runner, tmp_path):  # noqa: F811
    documents = [
        Document(text="same", labels=[str(n % 2)], fields={"x": str(n % 2), "w": "1"}) for n in range(60)
    ]
    write(documents, tmp_path / "train.csv")
    model, out = tmp_path / "m.chaff", tmp_path / "out.csv"
    made = run("train", tmp_path / "train.csv", "-o", model, "--numbers", "x", "--weight", "w", "--json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["train"]["accuracy"] == 1.0
    assert chaffinch.load(model).model_.encoder.names()[-1] == "x"
    assert run("predict", model, tmp_path / "train.csv", "-o", out).code == 0
    assert {d.fields["prediction"] == d.labels[0] for d in read(out)} == {True}
    write([Document(text="same", labels=["0"])], tmp_path / "new.csv")
    assert "no column 'x'" in run("predict", model, tmp_path / "new.csv", "-o", out).err
    for d in documents:
        d.fields["w"] = "3" if d.labels[0] == "1" else "1"
    write(documents, tmp_path / "train.csv")
    run("train", tmp_path / "train.csv", "-o", model, "--weight", "w")
    assert chaffinch.load(model).predict(["same"]).tolist() == ["1"]
    documents[3].fields["w"] = "much"
    write(documents, tmp_path / "train.csv")
    assert (
        "train.csv:5: expected a weight in 'w', a number of at least 0, found 'much'"
        in run("train", tmp_path / "train.csv", "-o", model, "--weight", "w").err
    )


def test_columns_beside_the_text_are_found_by_name():
    x, z = [float(n % 2) for n in range(40)], [0.5] * 40
    classifier = Classifier("svm").fit(["same"] * 40, [n % 2 for n in range(40)], beside={"z": z, "x": x})
    assert classifier.predict(["same"] * 2, beside={"x": [0.0, 1.0], "z": [0.5, 0.5]}).tolist() == [0, 1]
    with pytest.raises(DataError, match="expected the columns z, x"):
        classifier.predict(["same"], beside={"x": [0.0]})


def test_hashed_features_get_their_names_back_on_demand(run: Runner, tmp_path):  # noqa: F811
    documents = [Document(text=t, labels=[y]) for t, y in [("fine tea", "+"), ("bad tea", "-")] * 20]
    write(documents, tmp_path / "train.csv")
    model = tmp_path / "m.chaff"
    flags = ["--features", "counts", "--min-df", "1", "--hash-bits", "12"]
    assert run("train", tmp_path / "train.csv", "-o", model, *flags).code == 0
    bare = json.loads(run("inspect", model, "--json", "--top", "2").out)["top"]
    assert all(one["feature"].startswith("#") for one in chain(*bare.values()))
    named = json.loads(
        run("inspect", model, "--json", "--top", "2", "--names-from", tmp_path / "train.csv").out
    )
    assert {one["feature"] for one in named["top"]["+"]} == {"fine", "fine tea"}


@pytest.mark.parametrize("written", ["spam", "spam=x", "=2", "spam=-1", "spam=inf", "spam=nan"])
def test_class_weights_that_make_no_sense_are_refused(written):
    with pytest.raises(ConfigError, match="class_weight must be"):
        label_weights(written)


def test_class_weights_are_a_setting_of_experiments(run: Runner):  # noqa: F811
    plain, heavy = (
        json.loads(run(*f"train -d reviews --recipe nb --json {flags}".split()).out)["test"]["macro_f1"]
        for flags in ("", "--class-weight 0=50")
    )
    assert plain != heavy


def test_a_number_among_strings_and_an_empty_label_are_named_by_row() -> None:
    texts = ["good film", "bad film", "nice", "awful"] * 3
    with pytest.warns(
        DataWarning, match="documents 2, 4, 6 and 3 more: expected a string .* found 1, .* read as '1'"
    ):
        model = Classifier("perceptron").fit(texts, ["x", 1] * 6)
    assert model.classes_.tolist() == ["1", "x"]
    with pytest.warns(DataWarning, match="document 12: the label is the empty string"):
        Classifier("perceptron").fit(texts, [*["x", "y"] * 5, "x", ""])
    with pytest.warns(DataWarning, match="sentences 2, 3: a label is the empty string"):
        Tagger("perceptron").fit([["a", "b"], ["b", "a"], ["a"]], [["X", "Y"], ["", "X"], [""]])
