"""Every command works on a model of another tool, and on the file that it is converted to."""

import json
import random
from pathlib import Path

import pytest

from commandline import Runner, run  # noqa: F401
from foreign_models import CrfppModel, random_columns, random_crfpp

TOLD = "read a CRF++ model (binary): "


@pytest.fixture
def model(tmp_path: Path) -> tuple[Path, CrfppModel]:
    made = random_crfpp(random.Random(11), xsize=2)
    (tmp_path / "m.crfpp").write_bytes(made.binary())
    return tmp_path / "m.crfpp", made


@pytest.fixture
def data(tmp_path: Path, model: tuple[Path, CrfppModel]) -> Path:
    rng = random.Random(5)
    path = tmp_path / "gold.conll"
    blocks = []
    for _ in range(30):
        columns = random_columns(rng, 2)
        labels = model[1].tag(columns)
        blocks.append("".join(f"{w}\t{p}\t{y}\n" for (w, p), y in zip(columns, labels, strict=True)))
    path.write_text("\n".join(blocks), "utf-8")
    return path


def test_a_model_is_converted_and_predicts_the_same(
    model: tuple[Path, CrfppModel],
    data: Path,
    run: Runner,  # noqa: F811
    tmp_path: Path,
) -> None:
    made = run("convert-model", model[0], tmp_path / "m.chaff", "--json")
    assert made.code == 0
    assert json.loads(made.out)["format"] == "crf++"
    bare = "\n".join(line.rpartition("\t")[0] for line in data.read_text("utf-8").splitlines()) + "\n"
    (tmp_path / "bare.conll").write_text(bare, "utf-8")
    for path in (model[0], tmp_path / "m.chaff"):
        outcome = run("predict", path, tmp_path / "bare.conll")
        assert outcome.code == 0
        assert outcome.out.strip() == data.read_text("utf-8").strip()
        assert (TOLD in outcome.err) == (path == model[0])


def test_a_file_that_exists_is_not_overwritten(
    model: tuple[Path, CrfppModel],
    run: Runner,  # noqa: F811
    tmp_path: Path,
) -> None:
    (tmp_path / "m.chaff").write_text("mine")
    outcome = run("convert-model", model[0], tmp_path / "m.chaff")
    assert outcome.code == 2
    assert "give --force" in outcome.err
    assert (tmp_path / "m.chaff").read_text() == "mine"


def test_what_is_no_model_is_named(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "x").write_text("hello")
    outcome = run("convert-model", tmp_path / "x", tmp_path / "m.chaff")
    assert outcome.code == 2
    assert "is not a model of a known format; known are " in outcome.err
    assert "is no such file" in run("convert-model", tmp_path / "y", tmp_path / "m.chaff").err.replace(
        ": no", " is no"
    )


def test_inspect_names_the_tool_and_its_features(model: tuple[Path, CrfppModel], run: Runner) -> None:  # noqa: F811
    outcome = run("inspect", model[0], "--json")
    assert outcome.code == 0
    found = json.loads(outcome.out)
    assert found["settings"] == {"tool": "CRF++ (binary)"}
    strings = {row["feature"] for rows in found["top"].values() for row in rows}
    assert strings
    assert strings <= set(model[1].weights)


def test_explain_compare_and_evaluate(
    model: tuple[Path, CrfppModel],
    data: Path,
    run: Runner,  # noqa: F811
    tmp_path: Path,
) -> None:
    assert run("explain", model[0], data, "--number", "1", "--json").code == 0
    run("convert-model", model[0], tmp_path / "m.chaff")
    outcome = run("compare", model[0], tmp_path / "m.chaff", data, "--json")
    assert outcome.code == 0, outcome.err
    assert '"rows": 30' in outcome.out

    run("predict", model[0], data, "-o", tmp_path / "out.conll")
    assert run("evaluate", data, tmp_path / "out.conll", "--json").code == 0


def test_probabilities_of_a_foreign_model_are_said_to_be_its_own(
    model: tuple[Path, CrfppModel],
    data: Path,
    run: Runner,  # noqa: F811
) -> None:
    outcome = run("predict", model[0], data, "--marginals")
    assert outcome.code == 0
    assert "not calibrated: they are those of the model of CRF++" in outcome.err
    assert "--folds" not in outcome.err
