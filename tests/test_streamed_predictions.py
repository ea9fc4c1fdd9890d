"""Answers with --nth, --precision and --rules, and of Parquet, come block by block and are those of the whole file."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaffinch import Classifier, Tagger
from chaffinch.corpus import record_blocks as blocks_module
from chaffinch.kinds import KINDS
from chaffinch.kinds import streaming as streaming_module
from chaffinch.kinds.requests import PredictRequest
from chaffinch.progress import Progress
from commandline import Runner, run

__all__ = ["run"]

NAMES = ["Ann", "Bob", "Eve"]


def sentences(n: int = 120) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(0)
    words, tags = [], []
    for _ in range(n):
        row = [NAMES[int(rng.integers(3))] if rng.random() < 0.4 else f"w{rng.integers(9)}" for _ in range(5)]
        words.append(row)
        tags.append([("B-PER" if w in NAMES and rng.random() < 0.9 else "O") for w in row])
    return words, tags


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    words, tags = sentences()
    Tagger("crf", folds=3, features=["w[0]", "w[-1]"]).fit(words, tags).save(made / "tags.chaff")
    texts = [" ".join(row) for row in words]
    labels = ["+" if "Ann" in row else "-" for row in words]
    Classifier("ridge", choose=False).fit(texts, labels).save(made / "texts.chaff")
    (made / "in.conll").write_text("".join("".join(f"{w}\n" for w in row) + "\n" for row in words))
    (made / "in.txt").write_text("".join(text + "\n" for text in texts))
    (made / "rules.toml").write_text('once = ["PER"]\n')
    return made


FLAGS: list[tuple[str, str, list[str]]] = [
    ("tags", "in.conll", ["--nth", "2"]),
    ("tags", "in.conll", ["--nth", "40"]),
    ("tags", "in.conll", ["--precision", "0.8"]),
    ("texts", "in.txt", ["--precision", "0.8"]),
]


@pytest.mark.parametrize(("kind", "name", "flags"), FLAGS)
def test_flags_give_the_answers_of_the_whole(
    folder: Path,
    tmp_path: Path,
    run: Runner,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    name: str,
    flags: list[str],
) -> None:
    out = tmp_path / ("out.conll" if kind == "tags" else "out.csv")
    found = []
    for size in (1 << 20, 40):
        monkeypatch.setattr(blocks_module, "SIZE", size)
        outcome = run("predict", folder / f"{kind}.chaff", folder / name, "-o", out, *flags)
        assert outcome.code == 0, outcome.err
        found.append((out.read_bytes(), outcome.err))
    monkeypatch.setattr(streaming_module, "can_stream", lambda *_: False)
    outcome = run("predict", folder / f"{kind}.chaff", folder / name, "-o", out, *flags)
    found.append((out.read_bytes(), outcome.err))
    assert found[0] == found[1] == found[2]
    assert len(found[0][0]) > 500


def test_rules_are_read_once_for_all_blocks(
    folder: Path, tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.conll"
    arguments = [
        "predict",
        folder / "tags.chaff",
        folder / "in.conll",
        "-o",
        out,
        "--rules",
        folder / "rules.toml",
    ]
    kind: Any = next(k for k in KINDS if k.plural == "sentences")
    read: list[Path] = []
    ruled = type(kind).ruled
    monkeypatch.setattr(type(kind), "ruled", lambda self, m, r: (read.append(r), ruled(self, m, r))[1])
    found = []
    for size in (1 << 20, 40):
        monkeypatch.setattr(blocks_module, "SIZE", size)
        outcome = run(*arguments)
        assert outcome.code == 0, outcome.err
        found.append(out.read_bytes())
    assert found[0] == found[1]
    assert len(read) == 2
    run("predict", folder / "tags.chaff", folder / "in.conll", "-o", out)
    assert out.read_bytes() != found[0]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_parquet_is_answered_batch_by_batch(
    folder: Path, tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = (folder / "in.txt").read_text().splitlines()
    table = arrow.table(
        {"id": list(range(len(texts))), "text": texts, "score": [0.5 * n for n in range(len(texts))]}
    )
    parquet.write_table(table, tmp_path / "in.parquet")
    out = tmp_path / f"out{suffix}"
    asked = PredictRequest(data=tmp_path / "in.parquet", output=out)
    kind = next(k for k in KINDS if k.plural == "documents")
    assert streaming_module.can_stream(kind, _loaded(folder / "texts.chaff"), asked)
    found = []
    for size in (1024, 7):
        monkeypatch.setattr("chaffinch.corpus.parquet.BATCH", size)
        outcome = run("predict", folder / "texts.chaff", tmp_path / "in.parquet", "-o", out)
        assert outcome.code == 0, outcome.err
        found.append(parquet.read_table(out).to_pylist() if suffix == ".parquet" else out.read_text())
    assert found[0] == found[1]
    if suffix == ".parquet":
        assert [row["text"] for row in found[0]] == texts
        assert {row["prediction"] for row in found[0]} == {"+", "-"}


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_blocks_of_parquet_and_arrow_end_at_their_share_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = arrow.table({"text": [f"good food {n}" for n in range(4000)], "n": list(range(4000))})
    parquet.write_table(table, tmp_path / "in.parquet", compression=compression)
    with arrow.ipc.new_file(tmp_path / "in.arrow", table.schema) as out:
        out.write_table(table, max_chunksize=500)
    monkeypatch.setattr("chaffinch.corpus.parquet.BATCH", 500)
    for name in ("in.parquet", "in.arrow"):
        size = (tmp_path / name).stat().st_size
        ends = [block.end for block in blocks_module.record_blocks(tmp_path / name, "parquet")]
        assert ends == pytest.approx([size * (k + 1) / 8 for k in range(8)], abs=size / 8)
        assert ends == sorted(set(ends))
        assert ends[-1] <= size


def test_the_bar_of_predict_counts_bytes_of_parquet_and_files(
    folder: Path, tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [f"good food {n} " + "x" * 2000 for n in range(1500)]
    for name in "ab":
        parquet.write_table(arrow.table({"text": rows}), tmp_path / f"{name}.parquet", compression="none")
    told: list[Progress] = []
    monkeypatch.setattr("chaffinch.cli.predict.progress_bar", lambda: nullcontext(told.append))
    asked = run("predict", folder / "texts.chaff", tmp_path / "?.parquet", "-o", tmp_path / "out.csv")
    assert asked.code == 0, asked.err
    assert [(p.done, p.total) for p in told if p.task == "files"] == [(0, 2), (1, 2)]
    assert [(p.done, p.total) for p in told if p.task == "MB"] == [(1, 2), (2, 2)] * 2


def test_a_row_of_parquet_that_cannot_be_read_is_named_by_its_number(
    folder: Path, tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts: list[str | None] = ["good Ann"] * 20
    texts[13] = None
    parquet.write_table(arrow.table({"text": texts}), tmp_path / "in.parquet")
    monkeypatch.setattr("chaffinch.corpus.parquet.BATCH", 4)
    asked = ["predict", folder / "texts.chaff", tmp_path / "in.parquet", "-o", tmp_path / "out.csv"]
    outcome = run(*asked)
    assert outcome.code == 2
    assert "row 14" in outcome.err
    skipped = run(*asked, "--on-error", "skip")
    assert skipped.code == 0, skipped.err
    assert (tmp_path / "out.csv").read_text().count("Ann") == 19
    assert "--on-error mark" in run(*asked, "--on-error", "mark").err


def _loaded(path: Path) -> Any:
    from chaffinch import load

    return load(path)
