"""Files predicted by an engine: each whole or absent, and a second run does what is missing."""

import os
import pickle
from dataclasses import replace

import pyarrow
import pytest
from pyarrow import parquet

from chaffinch import Classifier, Tagger
from chaffinch.engines import InProcess, Processes, prediction
from chaffinch.engines.arrow import ArrowPredictor
from chaffinch.errors import DataError
from chaffinch.kinds.requests import PredictRequest
from commandline import run  # noqa: F401

WORDS = [["Ann", "went", "home"], ["Bob", "saw", "Ann", "."], ["the", "dog", "barks"]]
TAGS = [["B-PER", "O", "O"], ["B-PER", "O", "B-PER", "O"], ["O", "O", "O"]]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "tags.chaff"
    Tagger("crf", folds=0, features=["w[0]", "w[-1]"]).fit(WORDS * 3, TAGS * 3).save(path)
    return path


def corpus(folder, files=4):
    for n in range(files):
        text = "".join("".join(f"{w}\n" for w in s) + "\n" for s in WORDS * (n + 1))
        (folder / f"part{n}.conll").write_text(text)
    (folder / "out").mkdir()
    return str(folder / "part*.conll"), folder / "out"


def test_a_job_that_cannot_be_opened_fails_with_its_own_error(model, tmp_path):
    request = PredictRequest(data=tmp_path / "a.conll", output=tmp_path / "b.conll", threads=1)
    job = prediction.FilePrediction(model, "of another file", request)
    for engine in (InProcess(), Processes(1)):
        with pytest.raises(DataError, match=r"tags\.chaff: has changed since the work began"):
            list(engine.map(job, [(tmp_path / "a.conll", tmp_path / "b.conll")]))


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_files_are_answered_as_without_an_engine(model, tmp_path, run, engine):  # noqa: F811
    pattern, out = corpus(tmp_path, 2)
    (tmp_path / "plain").mkdir()
    run("predict", str(model), pattern, "-o", str(tmp_path / "plain"))
    outcome = run("predict", str(model), pattern, "-o", str(out), "--engine", engine, "--workers", "2")
    assert outcome.code == 0, outcome.err
    for path in (tmp_path / "plain").iterdir():
        assert (out / path.name).read_bytes() == path.read_bytes()


def test_a_second_run_does_what_is_missing(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path)
    ask = ["predict", str(model), pattern, "-o", str(out), "--engine", "threads"]
    assert run(*ask).err == ""
    times = {path.name: path.stat().st_mtime_ns for path in out.glob("*.conll")}
    answers = (out / "part1.conll").read_bytes()
    (out / "part1.conll").unlink()
    os.utime(tmp_path / "part2.conll", ns=(1, 1))  # changed since
    assert "2 of 4 files were predicted before" in run(*ask).err
    assert (out / "part1.conll").read_bytes() == answers
    again = {path.name: path.stat().st_mtime_ns for path in out.glob("*.conll")}
    assert {name for name in times if times[name] == again[name]} == {"part0.conll", "part3.conll"}
    assert run(*ask, "--marginals").err.count("predicted before") == 0  # another question


def test_a_manifest_that_cannot_be_trusted_is_told_and_not_used(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path, 1)
    manifest = out / "manifest.json"
    ask = ["predict", str(model), pattern, "-o", str(out), "--engine", "threads"]
    assert run(*ask).err == ""
    whole, answers = manifest.read_text(), (out / "part0.conll").read_bytes()
    for text, told in (
        (whole[:-9], "manifest.json: is damaged ("),
        (
            whole.replace('"version": 1', '"version": 2'),
            "expected version 1, found 2, so every file is predicted",
        ),
    ):
        manifest.write_text(text)
        (out / "part0.conll").write_bytes(b"?" * (out / "part0.conll").stat().st_size)
        said = run(*ask).err
        assert told in said
        assert "predicted before" not in said
        assert (out / "part0.conll").read_bytes() == answers
        assert manifest.read_text() == whole
    manifest.write_text(whole.replace(' "version": 1\n', ' "other": 1\n'))  # as before manifests had versions
    assert "1 of 1 files were predicted before" in run(*ask).err
    manifest.write_text('{"name": "of another program"}')
    refused = run(*ask)
    assert refused.code == 2
    assert "is not the record of predictions that --engine writes" in refused.err
    assert manifest.read_text() == '{"name": "of another program"}'


def test_answers_of_earlier_runs_beside_those_of_this_run_are_told(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path, 3)
    ask = ["predict", str(model), pattern, "-o", str(out), "--engine", "threads"]
    assert run(*ask).err == ""
    (tmp_path / "part2.conll").unlink()
    assert f"1 file of earlier runs in {out} holds answers to inputs that are gone" in run(*ask).err
    (tmp_path / "part1.conll").unlink()
    for _ in range(2):  # a second run does not forget them
        told = run(*ask, "--marginals").err
        assert f"2 files of earlier runs in {out} hold answers of another model or other settings" in told
        assert "such as part1.conll" in told
    (out / "part1.conll").unlink()
    (out / "part2.conll").unlink()
    assert "earlier runs" not in run(*ask, "--marginals").err


def test_files_are_predicted_again_if_the_model_or_the_rules_have_changed(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path, 1)
    rules, other = tmp_path / "rules.toml", tmp_path / "other.chaff"
    other.write_bytes(model.read_bytes())
    ask = ["predict", str(other), pattern, "-o", str(out), "--engine", "threads"]
    assert run(*ask).err == ""
    assert b"B-PER" in (out / "part0.conll").read_bytes()
    Tagger("hmm", folds=0).fit(WORDS, [["O"] * len(s) for s in WORDS]).save(other)
    assert run(*ask).err == ""
    assert b"B-PER" not in (out / "part0.conll").read_bytes()
    ask[1] = str(model)
    rules.write_text('never = [["PER", "PER"]]\n')
    assert run(*ask, "--rules", str(rules)).err == ""
    assert (out / "part0.conll").read_bytes().count(b"B-PER") == 4
    assert "1 of 1 files were predicted before" in run(*ask, "--rules", str(rules)).err
    rules.write_text('once = ["PER"]\n')
    assert run(*ask, "--rules", str(rules)).err == ""
    assert (out / "part0.conll").read_bytes().count(b"B-PER") == 3
    gone = run(*ask, "--rules", str(tmp_path / "none.toml"))
    assert gone.code == 2
    assert "none.toml: cannot be read: No such file" in gone.err


def test_inputs_of_one_name_do_not_replace_each_other_silently(model, tmp_path, run):  # noqa: F811
    for n, name in enumerate("ab"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.conll").write_text("".join(f"{w}\n" for w in WORDS[n]) + "\n")
    ask = ["predict", str(model), str(tmp_path / "?" / "same.conll"), "-o", str(tmp_path / "out")]
    together = run(*ask, "--engine", "threads")  # the pattern is that of the folders
    assert together.code == 2
    assert "would both be same.conll" in together.err
    ask[2] = str(tmp_path / "a" / "same.conll")
    assert run(*ask, "--engine", "threads").err == ""
    assert "another input" not in run(*ask, "--engine", "threads", "--marginals").err  # by other options
    ask[2] = str(tmp_path / "b" / "same.conll")
    told = run(*ask, "--engine", "threads").err
    assert f"1 file in {tmp_path / 'out'} held the answers to another input" in told
    assert str(tmp_path / "a" / "same.conll") in told


def test_an_engine_does_not_replace_its_input_by_the_answers(model, tmp_path, run):  # noqa: F811
    corpus(tmp_path, 1)
    before = (tmp_path / "part0.conll").read_bytes()
    outcome = run("predict", str(model), tmp_path / "part0.conll", "-o", tmp_path, "--engine", "threads")
    assert outcome.code == 2
    assert "part0.conll: is an input too; name another folder" in outcome.err
    assert (tmp_path / "part0.conll").read_bytes() == before


def test_an_empty_file_is_no_parquet(stars, tmp_path, run):  # noqa: F811
    """An upload that was cut off: answers without rows would pass for those of a table without rows."""
    (tmp_path / "a.parquet").touch()
    outcome = run("predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 2
    assert "a.parquet: is not a readable Parquet file" in outcome.err
    assert not (tmp_path / "out" / "a.parquet").exists()


def test_an_engine_needs_a_folder(model, tmp_path, run):  # noqa: F811
    pattern, _ = corpus(tmp_path)
    outcome = run("predict", str(model), pattern, "-o", str(tmp_path / "one.conll"), "--engine", "threads")
    assert outcome.code == 2
    assert "--engine needs a folder as -o" in outcome.err
    outcome = run("predict", str(model), str(tmp_path / "part0.conll"), "-o", "-", "--engine", "threads")
    assert "--engine needs input files and, as -o, a folder" in outcome.err
    assert (
        run("predict", str(model), pattern, "-o", str(tmp_path / "a" / "b"), "--engine", "threads").code == 0
    )
    assert (tmp_path / "a" / "b" / "part3.conll").is_file()


def test_a_predictor_of_batches_travels(model, tmp_path):
    table = pyarrow.table({"id": [1, 2], "tokens": WORDS[:2]})
    predictor = pickle.loads(pickle.dumps(ArrowPredictor(str(model), "tokens", "tags")))
    found = predictor(table)
    assert found.column_names == ["id", "tokens", "tags"]
    assert found.column("tags").to_pylist() == TAGS[:2]
    batch = predictor(table.to_batches()[0])
    assert isinstance(batch, pyarrow.RecordBatch)
    assert batch.column("tags").to_pylist() == TAGS[:2]
    with pytest.raises(DataError, match="expected a column 'tokens', found id"):
        predictor(table.select(["id"]))
    texts = ["good food", "very good", "bad soup", "awful"] * 4
    Classifier("ridge", choose=False).fit(texts, ["+", "+", "-", "-"] * 4).save(tmp_path / "t.chaff")
    read = ArrowPredictor(str(tmp_path / "t.chaff"), confidence="p")(
        pyarrow.table({"text": ["good", "bad soup"]})
    )
    assert read.column("prediction").to_pylist() == ["+", "-"]
    assert all(0.5 <= p <= 1 for p in read.column("p").to_pylist())


def test_two_runs_do_not_write_to_the_same_folder(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path, 2)
    ask = ["predict", str(model), pattern, "-o", str(out), "--engine", "threads"]
    with prediction._alone_in(out):
        outcome = run(*ask)
    assert outcome.code == 2
    assert "another run is writing here" in outcome.err
    assert not list(out.iterdir())
    assert run(*ask).code == 0


def test_what_a_killed_run_has_left_unfinished_is_removed(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path, 2)
    for name in (".part0.conll.12.partx1", ".manifest.json.12.parta1", ".part9.conll.12.partx1", "notes.txt"):
        (out / name).touch()
    assert run("predict", str(model), pattern, "-o", str(out), "--engine", "threads").code == 0
    found = {path.name for path in out.iterdir()}
    assert found == {"part0.conll", "part1.conll", ".part9.conll.12.partx1", "notes.txt", "manifest.json"}


class Losing(InProcess):
    """An engine that loses a worker at the first file; another one predicts it."""

    def map(self, job, shards):
        _, output = shards[0]
        (output.parent / f".{output.name}.12.partx1").touch()
        yield from super().map(job, shards)


def test_what_a_killed_worker_has_left_unfinished_is_removed(model, tmp_path):
    _, out = corpus(tmp_path, 1)
    pairs = [(tmp_path / "part0.conll", out / "part0.conll")]
    request = PredictRequest(data=pairs[0][0], output=pairs[0][1], threads=1)
    job = prediction.FilePrediction(model, prediction.digest_of(model), request)
    assert len(list(prediction.predict_files(job, pairs, Losing()))) == 1
    assert {path.name for path in out.iterdir()} == {"part0.conll", "manifest.json"}


class Cut:
    """An engine that is killed after its first answers were written, before they are recorded."""

    def map(self, job, shards):
        _, output = shards[0]
        output.write_bytes(b"?" * output.stat().st_size)
        raise KeyboardInterrupt
        yield


def test_answers_of_another_model_do_not_pass_for_those_of_the_first(model, tmp_path):
    _, out = corpus(tmp_path, 2)
    pairs = [(tmp_path / f"part{n}.conll", out / f"part{n}.conll") for n in range(2)]
    request = PredictRequest(data=pairs[0][0], output=pairs[0][1], threads=1)
    job = prediction.FilePrediction(model, prediction.digest_of(model), request)
    list(prediction.predict_files(job, pairs, InProcess()))
    expected = pairs[0][1].read_bytes()
    with pytest.raises(KeyboardInterrupt):
        list(prediction.predict_files(replace(job, digest="of another"), pairs, Cut()))
    assert not any(known for _, known in prediction.predict_files(job, pairs, InProcess()))
    assert pairs[0][1].read_bytes() == expected


@pytest.fixture(scope="module")
def stars(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "t.chaff"
    texts = ["good food", "very good", "bad soup", "awful"] * 4
    Classifier("ridge", choose=False, calibrate=False).fit(texts, ["+", "+", "-", "-"] * 4).save(path)
    return path


TABLES = {
    "dictionary": pyarrow.array(["good", "bad"]).dictionary_encode(),
    "large": pyarrow.array(["good", "bad"], pyarrow.large_string()),
    "none": pyarrow.array([], pyarrow.string()),
    "null": pyarrow.array(["good", None, "bad"]),
    "bytes": pyarrow.array([b"good"]),
    "lists": pyarrow.array([["good"], ["bad"]]),
}


@pytest.mark.parametrize(
    ("name", "answers"),
    [("dictionary", ["+", "-"]), ("large", ["+", "-"]), ("none", [])],
)
def test_tables_of_every_kind_of_string_are_answered(stars, tmp_path, run, name, answers):  # noqa: F811
    parquet.write_table(pyarrow.table({"text": TABLES[name]}), tmp_path / "a.parquet")
    outcome = run("predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 0, outcome.err
    rows = parquet.read_table(tmp_path / "out" / "a.parquet").to_pylist()
    assert [row["prediction"] for row in rows] == answers


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("null", "row 2: expected 'text' to be a string, found null"),
        ("bytes", "row 1: expected 'text' to be a string, found \"b'good'\""),
        ("lists", "row 1: expected 'text' to be a string, found [\"good\"]"),
    ],
)
def test_cells_that_are_no_text_are_refused_with_their_row(stars, tmp_path, run, name, message):  # noqa: F811
    parquet.write_table(pyarrow.table({"text": TABLES[name]}), tmp_path / "a.parquet")
    outcome = run("predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 2
    assert f"a.parquet: {message}" in outcome.err
    assert not (tmp_path / "out" / "a.parquet").exists()


def test_a_table_without_a_column_of_texts_is_refused_by_its_name(stars, tmp_path, run):  # noqa: F811
    parquet.write_table(pyarrow.table({"author": ["Ann"], "n": [1]}), tmp_path / "a.parquet")
    outcome = run("predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 2
    told = "a.parquet: none of the columns 'author', 'n' is known to hold the text; name it with --text"
    assert outcome.err.strip().endswith(told)


def test_a_row_without_tokens_is_not_an_empty_sentence(model, tmp_path, run):  # noqa: F811
    parquet.write_table(pyarrow.table({"tokens": [WORDS[0], None]}), tmp_path / "a.parquet")
    outcome = run("predict", model, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 2
    assert "row 2: expected 'tokens' to be a list of words, found null" in outcome.err


def test_labels_of_a_table_may_be_dates(stars, tmp_path, run):  # noqa: F811
    cells = {"text": ["good", "bad"], "label": pyarrow.array([0, 1], pyarrow.date32())}
    parquet.write_table(pyarrow.table(cells), tmp_path / "a.parquet")
    outcome = run("predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 0, outcome.err
    rows = parquet.read_table(tmp_path / "out" / "a.parquet").to_pylist()
    assert [row["labels"] for row in rows] == [["1970-01-01"], ["1970-01-02"]]


def test_what_workers_have_to_say_is_said_by_the_command(stars, tmp_path, run):  # noqa: F811
    parquet.write_table(pyarrow.table({"text": TABLES["null"]}), tmp_path / "a.parquet")
    ask = ["predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--on-error", "skip"]
    for engine in ("threads", "processes"):
        outcome = run(*ask, "--engine", engine)
        assert outcome.err.startswith("chaffinch: 1 row could not be read and was left out"), engine
        (tmp_path / "out" / "manifest.json").unlink()
