"""Structured SVM and max-margin Markov network as taggers, on text and on letter images."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from chaffinch import Tagger, samples
from chaffinch.corpus import read, read_table, write
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import load
from chaffinch.recipes.margin import MaxMarginMarkovNetwork, StructuredSvm
from chaffinch.text.table import TokenTable
from commandline import Runner, run  # noqa: F401

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def letters(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("letters")
    samples.export("letters", folder, size=250, force=True)
    return folder


@pytest.fixture(scope="module")
def lines():
    return samples.load("ingredients", "train", n=150), samples.load("ingredients", "test", n=60)


def accuracy(tagger, table) -> float:
    gold, found = table.lists("y"), tagger.predict(table)
    return float(
        np.mean([a == b for g, f in zip(gold, found, strict=True) for a, b in zip(g, f, strict=True)])
    )


CONFIGS = {
    "ssvm": StructuredSvm(passes=8, measure=1),
    "ssvm by subgradients": StructuredSvm(learner="subgradient", passes=2, measure=1),
    "m3n": MaxMarginMarkovNetwork(passes=8, measure=1),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_margin_taggers_learn_text_and_report_their_gap(config, lines, tmp_path):
    train, test = lines
    tagger = Tagger(config, threads=1).fit([d.words() for d in train], [d.columns["y"] for d in train])
    words, gold = [d.words() for d in test], [d.columns["y"] for d in test]
    assert tagger.score(words, gold) > 0.85
    assert all(r.scores["gap"] >= 0 and r.scores["primal"] >= r.scores["dual"] for r in tagger.history_)
    assert tagger.history_[-1].scores["gap"] < tagger.history_[0].scores["gap"]
    tagger.save(tmp_path / "m.chaff")
    assert load(tmp_path / "m.chaff").predict(words) == tagger.predict(words)


@pytest.mark.parametrize(("kernel", "degree"), [("linear", None), ("polynomial", 2), ("polynomial", 3)])
def test_letters_are_trained_with_every_kernel_saved_and_read_again(kernel, degree, letters, tmp_path):
    train, test = read_table(letters / "train.npz"), read_table(letters / "test.npz")
    tagger = Tagger(
        MaxMarginMarkovNetwork(kernel=kernel, degree=degree, C=0.5, passes=2 if degree == 3 else 6),
        threads=1,
        folds=0,
    ).fit(train)
    tagger.save(tmp_path / "m.chaff")
    again = load(tmp_path / "m.chaff")
    assert again.predict(test) == tagger.predict(test)
    assert accuracy(tagger, test) > (0.6 if kernel == "linear" else 0.7)
    p = again.predict_marginals(test)
    np.testing.assert_allclose(p[0].sum(axis=1), 1.0, atol=1e-4)
    best = again.predict_kbest(test, 2)
    assert [y for (_, y), *_ in best] == again.predict(test)
    assert all(a[0] >= b[0] for a, b in best)


def test_quadratic_and_cubic_are_former_names_of_polynomial_kernels(letters, tmp_path, run: Runner):  # noqa: F811
    train, test = read_table(letters / "train.npz"), read_table(letters / "test.npz")
    for former, degree in (("quadratic", 2), ("cubic", 3)):
        known = MaxMarginMarkovNetwork(kernel="polynomial", degree=degree, passes=1)
        old = MaxMarginMarkovNetwork(kernel=former, passes=1)
        taggers = [Tagger(config, threads=1, folds=0).fit(train) for config in (known, old)]
        assert taggers[0].predict_kbest(test, 1) == taggers[1].predict_kbest(test, 1)
    assert MaxMarginMarkovNetwork(kernel="polynomial").power == 2
    assert MaxMarginMarkovNetwork().power == 1
    given = (
        "train",
        letters / "train.npz",
        "-o",
        tmp_path / "m.chaff",
        "--recipe",
        "m3n",
        "--passes",
        "1",
        "--folds",
        "0",
    )
    assert run(*given, "--kernel", "quadratic").code == 0
    wrong = run(*given, "--kernel", "quadratic", "--degree", "3")
    assert (wrong.code, "the quadratic kernel has degree 2, got 3; use kernel polynomial" in wrong.err) == (
        2,
        True,
    )
    wrong = run(*given, "--degree", "3")
    assert (wrong.code, "the linear kernel has degree 1, got 3" in wrong.err) == (2, True)
    wrong = run(*given, "--kernel", "octic")
    assert "must be one of linear, polynomial, got 'octic'" in wrong.err


def test_every_chain_recipe_reads_letters(letters):
    train, test = read_table(letters / "train.npz"), read_table(letters / "test.npz")
    for recipe in ("perceptron", "crf", "ssvm"):
        tagger = Tagger(recipe, threads=1).fit(train)
        assert accuracy(tagger, test) > 0.6
        assert tagger.model_.encoder.n_features == 129


def test_the_command_line_trains_predicts_and_draws_the_gap(
    run: Runner,  # noqa: F811
    letters,
    tmp_path,
):
    model, page = tmp_path / "m.chaff", tmp_path / "gap.html"
    made = run(
        "train",
        letters / "train.npz",
        "-o",
        model,
        "--recipe",
        "m3n",
        "--kernel",
        "polynomial",
        "--passes",
        "6",
        "--dev",
        letters / "dev.npz",
        "--report",
        page,
        "--json",
    )
    assert made.code == 0, made.err
    assert json.loads(made.out)["dev"]["token_accuracy"] > 0.65
    shown = page.read_text()
    assert all(word in shown for word in ("primal", "dual", "gap"))
    tagged = tmp_path / "tagged.conll"
    assert run("predict", model, letters / "test.npz", "-o", tagged).code == 0
    scored = run("evaluate", tagged, "--json")
    assert json.loads(scored.out)["token_accuracy"] > 0.65
    inspected = run("inspect", model, "--label", "o", "--top", "40")
    assert inspected.code == 0
    assert re.search(r"bit\d+\[0\]=1 & +\n? *bit\d+\[0\]=1", inspected.out)


@pytest.fixture(scope="module")
def by_frank_wolfe(data):
    """Scanned letters, and the accuracy that Frank-Wolfe reaches on them."""
    table = TokenTable.from_documents(read(data / "ocr_letters/letters.npz", folds="0"))
    tagger = Tagger(StructuredSvm(passes=200, measure=0), folds=0, threads=1).fit(table)
    return table, accuracy(tagger, table)


@pytest.mark.parametrize("learner", ["n-slack", "one-slack"])
def test_cutting_planes_reach_the_optimum_of_letters_and_the_accuracy_of_frank_wolfe(learner, by_frank_wolfe):
    table, wanted = by_frank_wolfe
    tagger = Tagger(StructuredSvm(learner=learner), folds=0, threads=1).fit(table)
    reached = tagger.history_[-1].scores
    assert reached["gap"] <= 0.01 * reached["primal"]
    assert abs(accuracy(tagger, table) - wanted) < 0.01


def test_a_training_that_does_not_converge_says_so_and_its_model_keeps_it(letters, tmp_path, run: Runner):  # noqa: F811
    given = ("train", letters / "train.npz", "-o", tmp_path / "m.chaff", "--recipe", "ssvm", "--folds", "0")
    wide = run(*given, "--C", "1e5")
    assert (wide.code, "training did not converge: the objective may still fall by 100 %" in wide.err) == (
        0,
        True,
    )
    assert "not converged: within 100 %" in " ".join(wide.out.split())
    assert load(tmp_path / "m.chaff").converged_ is False
    closed = run(*given, "--C", "0.1", "--learner", "n-slack", "--json")
    assert (closed.code, closed.err) == (0, "")
    assert json.loads(closed.out)["converged"] is True
    again = load(tmp_path / "m.chaff")
    assert again.converged_ is True
    again.save(tmp_path / "again.chaff")
    assert load(tmp_path / "again.chaff").converged_ is True
    assert run("train", letters / "train.npz", "-o", tmp_path / "m.chaff", "--recipe", "hmm").code == 0
    assert load(tmp_path / "m.chaff").converged_ is None


@pytest.mark.parametrize("learner", ["n-slack", "one-slack"])
def test_slack_rescaling_closes_its_gap_on_letters(learner, letters):
    train, test = read_table(letters / "train.npz"), read_table(letters / "test.npz")
    config = StructuredSvm(learner=learner, rescale="slack", tolerance=0.05)
    tagger = Tagger(config, folds=0, threads=1).fit(train)
    reached = tagger.history_[-1].scores
    assert reached["gap"] <= 0.05 * reached["primal"]
    assert accuracy(tagger, test) > 0.6


@pytest.mark.parametrize("recipe", ["ssvm", "m3n"])
def test_a_margin_over_one_label_is_refused(recipe):
    with pytest.raises(DataError, match="a margin needs at least two labels, and all 3 tokens are 'X'"):
        Tagger(recipe).fit([["a", "b"], ["c"]], [["X", "X"], ["X"]])


def test_kernels_over_too_many_features_are_refused(lines):
    train, _ = lines
    X, y = [d.words() for d in train], [d.columns["y"] for d in train]
    with pytest.raises(ConfigError, match="too many to hold"):
        Tagger(MaxMarginMarkovNetwork(kernel="cubic")).fit(X, y)


def test_letters_come_back_from_their_archive_and_folds_are_chosen(letters, tmp_path):
    documents = list(read(letters / "dev.npz"))
    write(documents, tmp_path / "again.npz")
    assert list(read(tmp_path / "again.npz")) == documents
    chosen = list(read(letters / "dev.npz", folds="1-3,5"))
    assert {d.group for d in chosen} == {"1", "2", "3", "5"}
    with pytest.raises(ConfigError, match="expected numbers and ranges"):
        list(read(letters / "dev.npz", folds="one"))
    with pytest.raises(DataError, match="no word in fold 77"):
        list(read(letters / "dev.npz", folds="77"))
    documents[0].columns["y"][0] = "?"
    with pytest.raises(DataError, match="document 1: expected labels a to z"):
        write(documents, tmp_path / "bad.npz")


def test_a_classifier_that_stops_after_its_default_passes_says_that_instead(tmp_path, run: Runner):  # noqa: F811
    lines = [f"{d.labels[0]}\t{d.text}" for d in samples.load("questions")[:600]]
    (tmp_path / "q.tsv").write_text("\n".join(["label\ttext", *lines, ""]))
    given = ("train", tmp_path / "q.tsv", "-o", tmp_path / "q.chaff", "--label", "label", "--text", "text")
    given = (*given, "--recipe", "crammer-singer")
    told = {passes: " ".join(run(*given, *passes).out.split()) for passes in ((), ("--epochs", "4"))}
    assert re.search(
        r"in [0-9.]+ s, within [0-9.]+ % of the optimum after 8 passes, the default; --epochs allows more",
        told[()],
    )
    assert re.search(r"not converged: within \d+ % of the optimum", told["--epochs", "4"])
    assert load(tmp_path / "q.chaff").converged_ is False
