"""``chaffinch train --cache``: the estimate, the cache that is kept or dropped, and runs that are killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaffinch import load
from chaffinch.errors import DataError
from chaffinch.kinds import kind_of_file
from chaffinch.kinds.caching import cache_folder, corpus_blocks, estimate, source_of
from chaffinch.kinds.needs import Growth, Needs
from chaffinch.kinds.tags.cached import needs_of_sentences
from chaffinch.text.table import TokenTable, concatenated
from commandline import Runner, run
from forked import Forked

__all__ = ["run"]

# Small blocks, one in memory at a time, and a checkpoint after each; every checkpoint takes a moment, to be killed in.
SLOW = """
import time
import chaffinch.learners.training as training
import chaffinch.cache.sentences as sentences
import chaffinch.cache.documents as documents
import chaffinch.recipes.document_blocks as recipe
import chaffinch.recipes.crf_blocks as blocks
training.CHECKPOINT_SECONDS, training.CHECKPOINT_SHARE, blocks.MIXED = -1, 0, 1
sentences.CacheWriter.__init__.__kwdefaults__["tokens"] = 700
documents.ITEMS = documents.TEXT_BYTES = 700
recipe.MIXED = 1
save = training.Checkpoint.save
def slowly(self, arrays):
    save(self, arrays)
    time.sleep(0.02)
training.Checkpoint.save = slowly
from chaffinch.cli import main
main()
"""


PEAK = """
import sys
from pathlib import Path
from chaffinch.cli import main
sys.argv = ["chaffinch", *sys.argv[1:]]
try:
    main()
finally:
    print(Path("/proc/self/status").read_text())
"""


def peak_of(arguments: list[str], before: str = "") -> int:
    """The largest number of resident bytes of a command. before: code that runs first."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", before + PEAK, *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return 1024 * int(ran.stdout.split("VmHWM:")[1].split()[0])


FLAGS = {
    "perceptron": ["--recipe", "perceptron", "--epochs", "3"],
    "characters": ["--features", "characters", "--recipe", "perceptron"],
}


def column_file(path: Path, n: int = 900, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, n)
    kinds, numbers = (iter(rng.integers(0, high, lengths.sum()).tolist()) for high in (3, 50))
    lines = []
    for length in lengths.tolist():
        for kind, number in islice(zip(kinds, numbers, strict=True), length):
            lines.append(f"{('the', 'Name', 'word')[kind]}{number}\t{('D', 'N', 'V')[kind]}\t{'XYZ'[kind]}")
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def document_file(path: Path, n: int = 500) -> Path:
    rng = np.random.default_rng(0)
    rows = ["label,text"]
    for label in rng.integers(0, 3, n).tolist():
        rows.append(
            f"L{label},"
            + " ".join(f"w{rng.integers(4) + 4 * label if t % 3 else rng.integers(99)}" for t in range(9))
        )
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def arguments(data: Path, model: Path, cache: Path, kind: str = "") -> list[str]:
    return [
        "train",
        str(data),
        "-o",
        str(model),
        "--cache",
        str(cache),
        "--threads",
        "1",
        *FLAGS.get(kind, ["--passes", "3"] if data.suffix == ".tsv" else ["--features", "words"]),
    ]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sentences", "documents", "perceptron", "characters"])
def test_a_run_that_is_killed_at_any_moment_ends_with_the_same_bytes(tmp_path: Path, kind: str) -> None:
    held = "documents" if kind in ("documents", "characters") else "sentences"
    data = document_file(tmp_path / "d.csv") if held == "documents" else column_file(tmp_path / "d.tsv")
    folder, model = tmp_path / "cache", tmp_path / "m.chaff"
    assert Forked(SLOW, *arguments(data, tmp_path / "whole.chaff", folder, kind)).wait() == 0
    wanted = (tmp_path / "whole.chaff").read_bytes()
    assert not folder.exists()

    def saved() -> float:
        point = folder / "checkpoint"
        return point.stat().st_mtime_ns if point.exists() else 0.0

    moments: list[Callable[[set[float]], bool]] = [
        lambda _: any(folder.glob(".*part*")),
        lambda _: (folder / f"{held}.cache").exists(),
        lambda seen: len(seen) >= 2,
        lambda seen: len(seen) >= 6,
    ]
    for now in moments:
        started = Forked(SLOW, *arguments(data, model, folder, kind))
        seen: set[float] = set()
        while started.poll() is None and not now(seen - {0.0}):
            seen.add(saved())
            time.sleep(0.0005)
        assert started.poll() is None
        started.send_signal(signal.SIGKILL)
        assert started.wait() == -signal.SIGKILL
        assert not model.exists()
    assert saved() > 0
    assert Forked(SLOW, *arguments(data, model, folder, kind)).wait() == 0
    assert model.read_bytes() == wanted
    assert (
        list(folder.iterdir()) == []
    )  # the first run made the folder, and this one leaves it as it found it


def test_a_cache_is_kept_and_used_again_and_refused_if_stale(run: Runner, tmp_path: Path) -> None:
    data, folder = column_file(tmp_path / "d.tsv", 100), tmp_path / "c"
    first = run("train", data, "-o", tmp_path / "a.chaff", "--cache", folder, "--keep-cache")
    assert "bytes a token" in first.err
    kept = (folder / "sentences.cache").stat().st_mtime_ns
    run("train", data, "-o", tmp_path / "b.chaff", "--cache", folder, "--keep-cache")
    assert (folder / "sentences.cache").stat().st_mtime_ns == kept
    assert (tmp_path / "a.chaff").read_bytes() == (tmp_path / "b.chaff").read_bytes()
    column_file(data, 100, seed=1)
    stale = run("train", data, "-o", tmp_path / "c.chaff", "--cache", folder)
    assert "was made from other data" in stale.err
    assert not (tmp_path / "c.chaff").exists()
    (folder / "sentences.cache").write_bytes(b"CHAFFBLK")
    damaged = run("train", data, "-o", tmp_path / "c.chaff", "--cache", folder)
    assert "is not a cache" in damaged.err
    assert "Traceback" not in damaged.err


@pytest.mark.parametrize("flags", [["--compare", "crf,hmm"], ["--recipe", "hmm"], ["--max-size", "1MB"]])
def test_what_needs_all_data_is_refused_with_a_cache(run: Runner, tmp_path: Path, flags: list[str]) -> None:
    data = column_file(tmp_path / "d.tsv", 20)
    found = run("train", data, "-o", tmp_path / "m.chaff", "--cache", tmp_path / "c", *flags)
    assert "cache" in found.err
    assert "--keep-cache needs" in run("train", data, "-o", tmp_path / "m", "--keep-cache").err


def test_a_file_is_read_block_by_block_as_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaffinch.corpus.record_blocks.SIZE", 3000)
    data = column_file(tmp_path / "d.tsv")
    kind = kind_of_file(data)
    told: dict[str, str] = {}
    found = list(corpus_blocks(kind, [data, data], told, print))
    assert len(found) > 4
    whole = kind.read(data, told)
    assert concatenated(found).lists("w") == whole.lists("w") * 2
    assert concatenated(found).lists("y") == whole.lists("y") * 2
    one = source_of(kind, [data], told)
    assert one != source_of(kind, [data, data], told)
    assert one != source_of(kind, [data], {"label": "2"})


def test_an_estimate_is_told_before_a_large_file_is_trained_on(tmp_path: Path) -> None:
    data = column_file(tmp_path / "d.tsv", 60_000)
    kind = kind_of_file(data)
    assert estimate(kind, [data], {}) is None
    found = estimate(kind, [data], {}, least=1)
    assert found is not None
    assert 0.1e9 < found.cached <= found.memory < 2e9
    assert found.seconds > 0
    assert "--cache DIR uses" in found.told(None)


def test_the_estimate_of_parquet_is_that_of_the_same_rows_in_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import csv, parquet

    data = document_file(tmp_path / "d.csv", 4000)
    parquet.write_table(csv.read_csv(data), tmp_path / "d.parquet")
    monkeypatch.setattr("chaffinch.corpus.parquet.BATCH", 200)
    monkeypatch.setattr("chaffinch.corpus.record_blocks.SIZE", data.stat().st_size // 20)
    rows, table = (
        estimate(kind_of_file(path), [path], {}, least=1, features="words")
        for path in (data, tmp_path / "d.parquet")
    )
    assert rows is not None
    assert table is not None
    assert table.memory == pytest.approx(rows.memory, rel=0.1)
    assert table.cached == pytest.approx(rows.cached, rel=0.1)


def test_a_recipe_that_needs_one_pass_has_an_estimate() -> None:
    tables = [TokenTable.from_lists({"w": [["a", "b"]] * 200, "y": [["A", "B"]] * 200}) for _ in range(4)]
    needs = needs_of_sentences(tables, "perceptron")
    assert needs is not None
    assert needs.seconds(1.0) > 0


def test_the_estimate_leaves_out_rare_features_as_training_does() -> None:
    few, many = Growth(8, 0.5), Growth(20, 0.5)
    needs = Needs(memory=0, growth=few, weight_bytes=100, most=1_000, blocks=0, as_blocks=0, index_bytes=0)
    assert needs.cached_bytes(1) == 800
    assert replace(needs, growth=many).cached_bytes(1) == 1_000
    # Half of the features occur twice or more, three eighths three times or more.
    assert replace(needs, growth=many, most_dropped=64).cached_bytes(1) == 1_000
    assert replace(needs, growth=many, most_dropped=64, most=999).cached_bytes(1) == 880  # of counting
    assert replace(needs, growth=many, most_dropped=1, most=999).cached_bytes(1) == 999


@pytest.mark.parametrize("words", [3_000, 300_000])
def test_the_growth_of_features_is_that_of_more_data(words: int) -> None:
    rng = np.random.default_rng(0)
    drawn = (words ** rng.random(1 << 21)).astype(np.int64)  # words by Zipf's law
    pairs = drawn[:-1] * words + drawn[1:]
    sizes = [1 << k for k in (13, 14, 15)]
    found = Growth.of(sizes, [len(np.unique(pairs[:n])) for n in sizes])
    counts = np.unique(pairs, return_counts=True)[1]
    times = len(pairs) / sizes[-1]
    assert found.at(times) == pytest.approx(len(counts), rel=0.25)
    for least in (2, 3):
        assert found.repeated(times, least) == pytest.approx(np.mean(counts >= least), abs=0.04)


def test_held_out_data_threads_and_passes_are_part_of_the_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaffinch.corpus.record_blocks.SIZE", 20_000)
    data = column_file(tmp_path / "d.tsv", 3_000)
    alone, beside, more = (
        estimate(kind_of_file(data), [data], {}, 1, **flags)  # type: ignore[arg-type]
        for flags in ({}, {"dev": data}, {"passes": 50})
    )
    assert alone is not None
    assert beside is not None
    assert more is not None
    tokens = concatenated(list(corpus_blocks(kind_of_file(data), [data], {}, print))).n_tokens
    assert beside.cached - alone.cached > 100 * tokens
    assert more.seconds > 3 * alone.seconds
    needs = Needs(
        memory=0, growth=Growth(1, 0.5), weight_bytes=1, most=9, blocks=500, ahead=300, as_blocks=900
    )
    assert needs.cached_bytes(1, threads=2) - needs.cached_bytes(1, threads=1) == 300


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the peak of a process")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="sanitizers take memory of their own")
@pytest.mark.parametrize(
    ("kind", "flags"),
    [
        ("sentences", {}),
        ("sentences", {"dev": "d.tsv"}),
        ("sentences", {"recipe": "perceptron"}),
        ("documents", {"features": "words"}),
        ("documents", {"features": "sentences"}),
        ("documents", {}),
    ],
)
def test_the_memory_that_is_told_is_the_memory_that_is_used(
    tmp_path: Path, kind: str, flags: dict[str, str]
) -> None:
    rng = np.random.default_rng(0)

    def word() -> str:
        return f"w{int(30_000 ** rng.random())}"

    if kind == "sentences":
        data = tmp_path / "d.tsv"
        rows = ("".join(f"{word()}\t{'XYZ'[k % 3]}\n" for k in range(12)) + "\n" for _ in range(12_000))
    else:
        data = tmp_path / "d.csv"
        rows = (f"L{n % 5},{' '.join(word() for _ in range(12))}\n" for n in range(20_000))
        data.write_text("label,text\n", encoding="utf-8")
    with data.open("a", encoding="utf-8") as out:
        out.writelines(rows)
    asked: dict[str, Any] = {k: tmp_path / v if k == "dev" else v for k, v in flags.items()}
    told = estimate(kind_of_file(data), [data], {}, 1, **asked)
    assert told is not None
    arguments = [
        "train",
        str(data),
        "-o",
        str(tmp_path / "m"),
        "--cache",
        str(tmp_path / "c"),
        "--threads",
        "1",
    ]
    for name, value in asked.items():
        arguments += [f"--{name}", str(value)]
    peak = peak_of(arguments)
    assert told.cached == pytest.approx(peak, rel=0.25)
    if kind == "documents" and not flags:  # words are chosen, but n-grams of characters were compared
        assert told.larger is not None
        assert told.larger > 1.5 * told.cached


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the peak of a process")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="sanitizers take memory of their own")
def test_the_memory_of_characters_is_told_if_settings_are_chosen_on_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"CHOSEN_ON": 500, "CHOSEN_ON_ALL": 2_000, "TRIED_FEATURES": (30_000, 100_000)}
    for name, size in sizes.items():
        monkeypatch.setattr(f"chaffinch.kinds.cached_documents.{name}", size)
    sampled = "".join(
        f"import chaffinch.recipes.document_blocks as b; b.{n} = {s}\n" for n, s in sizes.items()
    )
    rng = np.random.default_rng(0)
    data = tmp_path / "d.csv"
    words = [[f"w{int(30_000**u)}" for u in rng.random(12)] for _ in range(20_000)]
    rows = "".join(f"L{n % 5},{' '.join(some)}\n" for n, some in enumerate(words))
    data.write_text(f"label,text\n{rows}", encoding="utf-8")
    told = estimate(kind_of_file(data), [data], {}, 1, features="characters")
    assert told is not None
    arguments = ["train", data, "-o", tmp_path / "m", "--cache", tmp_path / "c", "--threads", "1"]
    peak = peak_of([*map(str, arguments), "--features", "characters"], sampled)
    assert told.cached == pytest.approx(peak, rel=0.25)


def test_the_files_of_a_training_that_failed_stay(tmp_path: Path) -> None:
    folder = tmp_path / "c"

    def fails() -> None:
        with cache_folder(folder, keep=False) as made:
            (made / "sentences.cache").write_bytes(b"")
            raise DataError("no")

    with pytest.raises(DataError):
        fails()
    assert (folder / "sentences.cache").exists()
    (folder / f".x.{2**22 + 1}.part").write_bytes(b"")  # of a process that is gone
    killed = "import os, sys\nfrom chaffinch.files import writing\nwith writing(sys.argv[1]): os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", killed, str(folder / "checkpoint")], check=False, timeout=60)
    assert len(list(folder.glob(".checkpoint.*"))) == 1
    with cache_folder(folder, keep=False):
        assert not list(folder.glob(".*part*"))
    assert not (folder / "sentences.cache").exists()


def test_the_model_of_a_cache_answers_as_any_other(run: Runner, tmp_path: Path) -> None:
    data = column_file(tmp_path / "d.tsv", 200)
    run("train", data, "-o", tmp_path / "m.chaff", "--cache", tmp_path / "c", "--dev", data)
    assert load(tmp_path / "m.chaff").predict([[("Name3", "N"), ("word1", "V")]]) == [["Y", "Z"]]
