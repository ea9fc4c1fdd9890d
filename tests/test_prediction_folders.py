"""The files that predict writes: one for all inputs, or one for each in a folder, named by what it can hold."""

import gzip
from pathlib import Path

import pytest

from chaffinch import Aligner, Classifier, Parser, Tagger
from chaffinch.corpus import detect, read
from commandline import Runner, run  # noqa: F401

TEXTS = ["good food", "very good", "bad soup", "awful , bad"]
TREE = "(S (NP (D the) (N dog)) (VP (V barks)))"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    words = [text.split() for text in TEXTS]
    Classifier("ridge", choose=False).fit(TEXTS * 4, ["+", "+", "-", "-"] * 4).save(folder / "texts.chaff")
    spans = [["O" if w.islower() and w != "food" else "B-X" for w in one] for one in words]
    Tagger("crf", folds=0, features=["w[0]"]).fit(words * 3, spans * 3).save(folder / "spans.chaff")
    plain = [["W" if w.isalpha() else "P" for w in one] for one in words]
    Tagger("crf", folds=0, features=["w[0]"]).fit(words * 3, plain * 3).save(folder / "parts.chaff")
    Parser(folds=0).fit([TREE] * 4).save(folder / "trees.chaff")
    pairs = [(["the", "dog"], ["le", "chien"])] * 4
    Aligner().fit(pairs, [[(0, 0), (1, 1)]] * 4).save(folder / "links.chaff")
    return folder


CONTENTS = {
    "a.txt": "good food\nbad soup\n",
    "a.csv": "text\ngood food\nbad soup\n",
    "a.jsonl": '{"text": "good food"}\n{"text": "bad soup"}\n',
    "a.conll": "good\nfood\n\nbad\nsoup\n\n",
    "a.tokens.jsonl": '{"tokens": ["good", "food"]}\n{"tokens": ["bad", "soup"]}\n',
}

# model, input, flags, name of the answers, their format
NAMES = [
    ("texts", "a.txt", "", "a.csv", "csv"),
    ("texts", "a.conll", "", "a.csv", "csv"),
    ("texts", "a.csv", "", "a.csv", "csv"),
    ("texts", "a.jsonl", "", "a.jsonl", "jsonl"),
    ("texts", "a.txt", "--to tsv", "a.tsv", "tsv"),
    ("texts", "a.csv", "--to jsonl", "a.jsonl", "jsonl"),
    ("texts", "a.csv", "--json", "a.jsonl", "jsonl"),
    ("texts", "a.txt", "--to parquet", "a.parquet", "parquet"),
    ("spans", "a.txt", "--from text", "a.txt", "columns"),
    ("spans", "a.conll", "", "a.conll", "columns"),
    ("spans", "a.csv", "", "a.jsonl", "jsonl-spans"),
    ("spans", "a.jsonl", "", "a.jsonl", "jsonl-spans"),
    ("spans", "a.conll", "--to jsonl", "a.jsonl", "jsonl-spans"),
    ("spans", "a.conll", "--to conllu", "a.conllu", "conllu"),
    ("spans", "a.conll", "--json", "a.jsonl", None),
    ("parts", "a.csv", "", "a.conll", "columns"),
    ("parts", "a.jsonl", "", "a.conll", "columns"),
    ("parts", "a.tokens.jsonl", "", "a.tokens.jsonl", "jsonl-tokens"),
    ("spans", "a.csv", "--kbest 2", "a.conll", None),
    ("spans", "a.jsonl", "--nth 2", "a.conll", None),
    ("spans", "a.conll", "--kbest 2", "a.conll", None),
    ("trees", "a.conll", "--kbest 2", "a.txt", None),
    ("trees", "a.conll", "--marginals", "a.txt", None),
    ("trees", "a.txt", "", "a.txt", "brackets"),
    ("trees", "a.conll", "", "a.mrg", "brackets"),
]


@pytest.mark.parametrize(("model", "name", "flags", "written", "format"), NAMES)
@pytest.mark.parametrize("packing", ["", ".gz"])
def test_a_folder_gets_a_file_that_can_hold_the_answers_and_is_named_by_its_format(
    model: str,
    name: str,
    flags: str,
    written: str,
    format: str | None,
    packing: str,
    models: Path,
    tmp_path: Path,
    run: Runner,  # noqa: F811
) -> None:
    content = CONTENTS[name].encode()
    (tmp_path / (name + packing)).write_bytes(gzip.compress(content) if packing else content)
    path, out = tmp_path / (name + packing), tmp_path / "out"
    outcome = run("predict", models / f"{model}.chaff", path, "-o", f"{out}/", *flags.split())
    assert outcome.code == 0, outcome.err
    made = out / (written + packing)
    assert list(out.iterdir()) == [made]
    if format is not None:
        assert detect(made).name == format
        assert len(list(read(made))) == 2
    again = tmp_path / "again"
    again.mkdir()
    assert run("predict", models / f"{model}.chaff", path, "-o", again, *flags.split()).code == 0
    assert (again / made.name).read_bytes() == made.read_bytes()


def test_pairs_in_columns_of_another_name_are_answered_as_tsv(
    models: Path,
    tmp_path: Path,
    run: Runner,  # noqa: F811
) -> None:
    (tmp_path / "a.txt").write_text("en\tfr\tsure\tpossible\nthe dog\tle chien\t\t\n")
    asked = ("predict", models / "links.chaff", tmp_path / "a.txt", "--from", "alignment")
    outcome = run(*asked, "-o", f"{tmp_path}/out/")
    assert outcome.code == 0, outcome.err
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["a.tsv"]


def test_several_files_go_to_one_output_or_to_a_folder(models: Path, tmp_path: Path, run: Runner) -> None:  # noqa: F811
    for n in range(3):
        (tmp_path / f"in{n}.csv").write_text(f"text\ngood {n}\nbad {n}\n")
    model, pattern, out = models / "texts.chaff", tmp_path / "in*.csv", tmp_path / "out"
    run("predict", model, pattern, "-o", tmp_path / "all.csv")
    rows = (tmp_path / "all.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == [
        "text",
        *(f"{w} {n}" for n in range(3) for w in ("good", "bad")),
    ]
    refused = run("predict", model, pattern, "-o", out)
    assert refused.code == 2
    assert "end it with / to make a folder with a file per input" in refused.err
    assert not out.exists()
    run("predict", model, pattern, "-o", f"{out}/")
    assert sorted(p.name for p in out.iterdir()) == ["in0.csv", "in1.csv", "in2.csv"]
    assert (out / "in1.csv").read_text().count("\n") == 3
    assert run("predict", model, tmp_path / "no*.csv").code == 2
    assert run("predict", model, pattern, "-o", tmp_path).code == 2  # would replace the inputs


def test_answers_that_would_have_one_name_are_refused_before_any_is_written(
    models: Path, tmp_path: Path, run: Runner  # noqa: F811
) -> None:  # fmt: skip
    for name in ("a.txt", "a.csv"):
        (tmp_path / name).write_text(CONTENTS[name])
    outcome = run("predict", models / "texts.chaff", tmp_path / "a.*", "-o", f"{tmp_path}/out/")
    assert outcome.code == 2
    assert f"the answers to {tmp_path / 'a.csv'} and {tmp_path / 'a.txt'} would both be a.csv" in outcome.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", [[], ["--engine", "threads"]])
def test_a_missing_model_leaves_no_folder(engine: list[str], tmp_path: Path, run: Runner) -> None:  # noqa: F811
    (tmp_path / "a.csv").write_text(CONTENTS["a.csv"])
    outcome = run("predict", tmp_path / "no.chaff", tmp_path / "a.csv", "-o", f"{tmp_path}/out/", *engine)
    assert outcome.code == 2
    assert not (tmp_path / "out").exists()


def test_standard_input_has_no_name_for_a_file_in_a_folder(models: Path, tmp_path: Path, run: Runner) -> None:  # noqa: F811
    outcome = run("predict", models / "texts.chaff", "-o", f"{tmp_path}/out/", stdin=b"good\n")
    assert outcome.code == 2
    assert "a folder as output needs input files" in outcome.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", [[], ["--engine", "threads"]])
def test_brat_has_a_folder_per_input(engine: list[str], models: Path, tmp_path: Path, run: Runner) -> None:  # noqa: F811
    for name in ("a.txt", "b.txt.gz"):
        content = CONTENTS["a.txt"].encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    asked = ("predict", models / "spans.chaff", tmp_path / "*.txt*", "--from", "text", "--to", "brat")
    outcome = run(*asked, "-o", tmp_path / "out", *engine)
    assert outcome.code == 0, outcome.err
    for folder in ("a", "b"):
        assert len(list((tmp_path / "out" / folder).glob("*.ann"))) == 2


@pytest.mark.parametrize("engine", [[], ["--engine", "threads"]])
@pytest.mark.parametrize(
    ("name", "why"), [("a.csv", "is an input too"), ("a.txt", "exists in the folder of an input")]
)
def test_nothing_in_the_folder_of_an_input_is_replaced(
    name: str,
    why: str,
    engine: list[str],
    models: Path,
    tmp_path: Path,
    run: Runner,  # noqa: F811
) -> None:
    for one in ("a.csv", "a.txt"):
        (tmp_path / one).write_text(CONTENTS[one])
    outcome = run("predict", models / "texts.chaff", tmp_path / name, "-o", f"{tmp_path}/", *engine)
    assert outcome.code == 2
    assert f"{tmp_path / 'a.csv'}: {why}" in outcome.err
    assert (tmp_path / "a.csv").read_text() == CONTENTS["a.csv"]
    (tmp_path / "a.csv").unlink()
    (tmp_path / "a.txt").write_text(CONTENTS["a.txt"])
    assert run("predict", models / "texts.chaff", tmp_path / "a.txt", "-o", f"{tmp_path}/").code == 0
    assert (tmp_path / "a.csv").read_text().count("\n") == 3


def test_an_input_is_not_replaced_by_the_answers_to_another(
    models: Path,
    tmp_path: Path,
    run: Runner,  # noqa: F811
) -> None:
    for one in ("1/a.txt", "2/a.csv", "2/b.csv"):
        (tmp_path / one).parent.mkdir(exist_ok=True)
        (tmp_path / one).write_text(CONTENTS[f"a.{one[-3:]}"])
    inputs = (tmp_path / "1" / "a.txt", tmp_path / "2" / "b.csv")
    outcome = run("predict", models / "texts.chaff", *inputs, "-o", tmp_path / "2")
    assert outcome.code == 2
    assert f"{tmp_path / '2' / 'a.csv'}: exists in the folder of an input" in outcome.err
    (tmp_path / "3").mkdir()
    (tmp_path / "3" / "a.csv").symlink_to(tmp_path / "2" / "a.csv")
    outcome = run("predict", models / "texts.chaff", tmp_path / "3" / "a.csv", "-o", tmp_path / "2")
    assert outcome.code == 2
    assert "is an input too" in outcome.err
    assert (tmp_path / "2" / "a.csv").read_text() == CONTENTS["a.csv"]
