"""Every verb on every kind for which it means something: trees, pairs and lists beside sentences and documents."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from chaffinch import Classifier, kinds, load
from chaffinch.active import simulate
from chaffinch.corpus import FORMATS, token_rows
from chaffinch.doctor import corpus_file
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.aligner import Aligner
from chaffinch.kinds import DOCUMENTS, KINDS, LINKS, LISTS, kind_of_corpus, kind_of_file, kind_of_model
from chaffinch.kinds.corpora import fingerprint, joined, size, taken
from chaffinch.kinds.links import LinkKind
from chaffinch.kinds.lists import ListKind, choice_tally
from chaffinch.kinds.tags.output import format_of_spans
from chaffinch.model.candidates import CandidateList
from chaffinch.serve.answers import PlainAnswering, answering_of
from chaffinch.serve.messages import Asked, Input
from chaffinch.serve.served import served_models
from chaffinch.text.document import Document
from commandline import Runner, run  # noqa: F401


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small file of every kind, by its plural."""
    folder = tmp_path_factory.mktemp("kinds")
    return {kind.plural: kind.write_example(folder) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_a_file_a_corpus_and_a_model_are_known_for_their_kind(kind, files, tmp_path: Path, run: Runner):  # noqa: F811
    path, model = files[kind.plural], tmp_path / "model.chaff"
    assert kind_of_file(path) is kind
    assert kind_of_corpus(kind.read(path, {})) is kind
    trained = run("train", path, "-o", model, "--recipe", kind.quickest, "--dev", path, "--json")
    assert trained.code == 0, trained.err
    record = json.loads(trained.out)
    assert record["train"] == record["dev"]
    assert record["train"].keys() <= set(kind.scores)
    assert kind_of_model(load(model)) is kind
    for verb in (("inspect", model, "--json"), ("explain", model, path, "--number", 1, "--json")):
        shown = run(*verb)
        assert shown.code == 0, shown.err
        assert json.loads(shown.out)
    out = tmp_path / f"out{path.suffix}"
    assert run("predict", model, path, "-o", out).code == 0
    assert out.stat().st_size > 0
    scored = run("evaluate", path, out)
    assert scored.code == 0, scored.err
    assert re.match(r"\d+ \w+", scored.out), "the number of scored sentences, documents ..."
    same = run("compare", model, model, path, "--json")
    assert same.code == 0, same.err
    if kind.served:
        pool = served_models([model], [path], [], [])["model"].pool(None)
        assert len(pool) == size(kind.read(path, {}))
        pool.find_suspects()
        assert pool.suspects is not None
    examined = run("doctor", path, "--quick")
    assert kind.detected or f"holds {kind.plural}" in examined.err
    assert not kind.detected or examined.code in (0, 1), examined.err


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_a_corpus_is_cut_joined_and_named_by_its_content(kind, files):
    corpus = kind.read(files[kind.plural], {})
    N = size(corpus)
    halves = [taken(corpus, range(N // 2)), taken(corpus, range(N // 2, N))]
    assert fingerprint(joined(halves)) == fingerprint(corpus) != fingerprint(halves[0])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_recipes_of_every_kind_are_compared_and_the_best_is_kept(kind, files, tmp_path: Path, run: Runner):  # noqa: F811
    names = [
        kind.quickest,
        next(r.name for r in kind.recipes if r.name not in (kind.quickest, "crf")),
    ]
    path, page = tmp_path / "best.chaff", tmp_path / "page.html"
    made = run(
        "train", files[kind.plural], "-o", path, "--compare", ",".join(names), "--report", page, "--json"
    )
    assert made.code == 0, made.err
    record = json.loads(made.out)
    assert [entry["recipe"] for entry in record["recipes"]] == names
    main = next(key for key in kind.scores if key in record["recipes"][0]["scores"])
    best = max(record["recipes"], key=lambda entry: entry["scores"][main])
    kept = next(entry for entry in record["recipes"] if entry["recipe"] == record["best"])
    assert kept["scores"][main] == best["scores"][main]
    assert kind_of_model(load(path)) is kind
    assert "Recipes compared" in page.read_text()


def test_a_parser_and_an_aligner_are_tuned_and_ablated(files, tmp_path: Path, run: Runner, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    tuned = run(
        "tune", files["trees"], "--recipe", "pcfg", "-p", "vertical", "-v", "1,2", "--trials", 2, "--json"
    )
    assert tuned.code == 0, tuned.err
    assert json.loads(tuned.out)["score"] == "bracket.f1"
    pairs = f"{files['sentence pairs']},{files['sentence pairs']}"
    varied = run(
        "ablation", "-d", pairs, "--recipe", "aligner-perceptron", "-p", "epochs", "-v", "1,3", "--seeds", 1, "--json"
    )  # fmt: skip
    assert varied.code == 0, varied.err
    assert json.loads(varied.out)["score"] == "link.f1"
    refused = run("tune", files["sentence pairs"], "--recipe", "aligner-perceptron", "--score", "aer")
    assert "lower is better" in refused.err


def test_a_reranker_learns_what_the_lists_say(files):
    corpus = LISTS.read(files["lists of candidates"], {})
    reranker = LISTS.made("likelihood", {}, None, 0, 1)
    LISTS.fit(reranker, corpus, None, lambda _: True)
    scores = LISTS.scores_of(LISTS.tally(reranker, corpus))
    assert scores == {"best_chosen": 1.0, "loss": 0.0, "loss.base": 0.5, "loss.oracle": 0.0}


def test_losses_of_any_size_are_tallied_as_they_are():
    losses = [np.array([1e7, 3.25, -2.0]), np.array([0.125, 1e8, 7.0])]
    lists = [CandidateList(None, ["a", "b", "c"], np.zeros(3), one) for one in losses]
    tally = choice_tally(lists, [1, 0])
    scores = {key: float(value) for key, value in tally.score(tally.sums()).items()}
    assert scores["loss"] == pytest.approx((3.25 + 0.125) / 2, abs=0.05)
    assert scores["loss.base"] == pytest.approx((1e7 + 0.125) / 2, rel=1e-6)
    assert scores["best_chosen"] == 0.5


def test_two_rerankers_are_compared_and_their_choices_evaluated(files, tmp_path: Path, run: Runner):  # noqa: F811
    lists = files["lists of candidates"]
    old, new = tmp_path / "old.chaff", tmp_path / "new.chaff"
    few = tmp_path / "few.jsonl"
    few.write_text("".join(lists.read_text().splitlines(keepends=True)[::2]))
    assert run("train", few, "-o", old).code == 0  # the first is always right here
    assert run("train", lists, "-o", new).code == 0
    found = run("compare", old, new, lists, "--json")
    assert found.code == 0, found.err
    record = json.loads(found.out)
    assert (record["task"], record["changes"]["fixed"], record["changes"]["broken"]) == ("lists", 20, 0)
    assert record["scores"]["best_chosen"]["new"] == 1.0
    for name, model in (("old", old), ("new", new)):
        assert run("predict", model, lists, "-o", tmp_path / f"{name}.jsonl").code == 0
    scored = run("evaluate", lists, tmp_path / "new.jsonl", "--against", tmp_path / "old.jsonl", "--json")
    assert scored.code == 0, scored.err
    evaluation = json.loads(scored.out)
    assert (evaluation["task"], evaluation["loss"], evaluation["loss.base"]) == ("lists", 0.0, 0.5)
    assert evaluation["comparison"]["loss"]["other"] == 0.5
    alone = json.loads(run("evaluate", tmp_path / "old.jsonl", "--json").out)
    assert alone["best_chosen"] == 0.5
    assert "expected the place of a candidate" in run("evaluate", lists).err
    worse = run("compare", new, old, lists)
    assert (worse.code, "Regression" in worse.out) == (1, True)


class CommaKind(ListKind):
    """Lists in files of their own, with an ending that no format has."""

    plural = "comma lists"
    served = True

    def holds(self, path: Path, format: str | None = None) -> bool:
        return path.suffix == ".commas"


def test_data_files_of_a_kind_without_a_format_are_served_and_not_examined(
    files,
    tmp_path: Path,
    run: Runner,  # noqa: F811
    monkeypatch,
):
    path, model = tmp_path / "lists.commas", tmp_path / "m.chaff"
    path.write_bytes(files["lists of candidates"].read_bytes())
    assert run("train", files["lists of candidates"], "-o", model, "--recipe", LISTS.quickest).code == 0
    for table in (kinds, corpus_file):
        monkeypatch.setattr(table, "KINDS", (CommaKind(), *KINDS))
    pool = served_models([model], [path], [], [])["m"].pool(None)
    assert len(pool) == size(LISTS.read(path, {}))
    refused = run("doctor", path)
    assert (refused.code, "holds comma lists, which the doctor cannot examine" in refused.err) == (2, True)


class Shouter(Aligner):
    """An estimator of one's own, whose files name its task."""

    task = "shouter"


class Shouting(LinkKind):
    """A kind of one's own: pairs in files that end in .shout."""

    plural = "shouted pairs"
    estimator = Shouter

    def holds(self, path: Path, format: str | None = None) -> bool:
        return path.suffix == ".shout"


def test_a_new_kind_is_one_class_and_one_entry_of_the_table(files, tmp_path: Path, run: Runner, monkeypatch):  # noqa: F811
    mine = Shouting()
    monkeypatch.setattr(kinds, "KINDS", (*KINDS, mine))
    path = tmp_path / "pairs.shout"
    path.write_bytes(files["sentence pairs"].read_bytes())
    assert kind_of_file(path) is mine
    model, how = tmp_path / "m.chaff", ("--from", "alignment")
    made = run("train", path, "-o", model, "--recipe", "aligner-perceptron", *how)
    assert made.code == 0, made.err
    assert type(load(model)) is Shouter
    assert kind_of_model(load(model)) is mine
    assert run("predict", model, path, *how, "-o", tmp_path / "out.tsv").code == 0


class Echo(ListKind):
    """A kind without a class in the server, whose answers depend on the text and not only on its words."""

    plural = "echoed texts"
    explains = ("against",)

    def answer(self, model, documents):
        return [f"{d.text} {d.words()}" for d in documents]

    def explain(self, model, asked):
        return DOCUMENTS.explain(model, asked)


def test_a_kind_without_a_class_in_the_server_gets_the_text_as_it_was_sent():
    answering, text = answering_of(Echo()), "so-so,  it's"
    assert type(answering) is PlainAnswering
    sent = answering.rows(None, Input(text=text))
    read = [answering.row_of(None, Document(text)), answering.row_of(None, Document.from_words(["so", "it"]))]
    found = answering.answers(None, [*sent, *read], Asked())
    assert [one["answer"] for one in found] == [
        f"{text} {sent[0].words}",
        f"{text} {sent[0].words}",
        "so it ['so', 'it']",
    ]


class Rewriting(Echo):
    """A kind whose models read another text, made of the one that was sent."""

    def explain(self, model, asked):
        return DOCUMENTS.explain(model, replace(asked, words=f"tea , {asked.words}"))


def test_places_in_a_text_that_was_not_sent_are_left_out_of_its_explanation():
    model = Classifier("ridge", calibrate=False).fit(["good tea", "bad tea"] * 3, ["+", "-"] * 3)
    for kind, placed in ((Echo(), True), (Rewriting(), False)):
        answering = answering_of(kind)
        (row,) = answering.rows(model, Input(text="good cake"))
        words = [group for group in answering.explained(model, row, None, None)["groups"] if group["word"]]
        assert [row.text[g["start"] : g["end"]] == g["word"] for g in words if "start" in g] == (
            [True] * len(words) if placed else []
        )
        assert words
        assert all((group["at"] is not None) == placed for group in words)


def test_a_kind_without_a_class_in_the_server_is_explained_by_its_own_explanation():
    texts, labels = ["good tea", "fine tea", "bad tea", "awful cake"], ["+", "+", "-", "-"]
    model, answering = Classifier("ridge", calibrate=False).fit(texts, labels), answering_of(Echo())
    (row,) = answering.rows(model, Input(text="good cake"))
    found = answering.explained(model, row, None, "-")
    assert (found["answer"], found["instead"]) == ("+", "-")
    assert {group["word"] for group in found["groups"]} >= {"good", "cake"}
    total = sum(group["value"] for group in found["groups"]) + found["others"]
    assert total == pytest.approx(model.explain("good cake").decisions[0].margin)
    with pytest.raises(DataError, match="position does not apply to echoed texts"):
        answering.explained(model, row, 0, None)
    (row,) = answering.rows(model, Input(tokens=["good cake"]))
    with pytest.raises(DataError, match="give the text to explain"):
        answering.explained(model, row, None, None)


def test_a_simulation_says_first_that_rows_of_a_kind_cannot_be_chosen(files):
    corpus = LINKS.read(files["sentence pairs"], {})
    with pytest.raises(ConfigError, match="choosing rows to label is for sentences and documents, not for"):
        simulate(LINKS, corpus, corpus, ["doubt"], start=10_000)


def test_two_estimators_cannot_have_one_task():
    with pytest.raises(TypeError, match="task is 'aligner', which is that of Aligner"):

        class Other(Aligner):
            """Its files would be loaded as those of the first."""

            task = "aligner"


def test_a_flag_for_knobs_of_different_types_is_converted_by_the_chosen_recipe(files, tmp_path, run: Runner):  # noqa: F811
    asked = ("train", files["trees"], "-o", tmp_path / "m.chaff", "--recipe", "parser", "--epochs", 1)
    made = run(*asked, "--start", "0.5")
    assert made.code == 0, made.err
    assert load(tmp_path / "m.chaff").config_.start == 0.5
    assert "start must be a number, got 'much'" in run(*asked, "--start", "much").err


def test_tags_are_written_in_a_format_of_tokens_that_keeps_no_text(monkeypatch):
    mine = replace(
        token_rows.FORMAT, name="mine", extensions=(".mine",), carries=frozenset({"tokens", "columns"})
    )
    monkeypatch.setitem(FORMATS, "mine", mine)
    assert format_of_spans(Path("out.mine")) is mine
    monkeypatch.setitem(FORMATS, "mine", replace(mine, columns=("pos",)))
    with pytest.raises(ConfigError, match="the format mine cannot hold tags"):
        format_of_spans(Path("out.mine"))
