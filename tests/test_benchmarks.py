"""The harness: ratios of paired runs, complete records, and failures that stay in sight."""

import io
import json
import random
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import corpora, harness, learning_on, record
from benchmarks.benchmark import Benchmark, Contender
from benchmarks.document_draws import best_on_dev, drawn, mean_and_error
from benchmarks.harness import Result, declared, in_fresh_process, run
from benchmarks.measure import Measurement, measured
from benchmarks.ratio import paired_ratio
from benchmarks.report import report
from rich.console import Console

order: list[str] = []


def works(name):
    def work(given):
        order.append(name)
        return sum(range(20_000)) + given

    return work


def breaks(_given):
    raise RuntimeError("no such\nmodel")


def sample(**changes):
    fields = {
        "name": "sample",
        "question": "Which is faster?",
        "input": lambda seed: seed,
        "work": lambda _: (1000.0, "tokens"),
        "ours": Contender(name="ours", run=works("ours")),
        "rivals": (Contender(name="rival", run=works("rival"), package="numpy"),),
        "scores": lambda given, output: {"accuracy": float(output > given)},
        "fresh": False,
    }
    return Benchmark(**(fields | changes))


def timed(*cpu):
    return [Measurement(wall_s=2 * s, cpu_s=s, start_mb=10, peak_mb=20, work=6.0, unit="tokens") for s in cpu]


def shown(result):
    console = Console(width=150, file=io.StringIO())
    with console.capture() as captured:
        console.print(report(result))
    return captured.get()


def test_the_ratio_is_the_median_of_paired_ratios():
    ratio = paired_ratio([1, 2, 4, 1, 1], [2, 6, 16, 5, 1])
    assert (ratio.median, ratio.least, ratio.most, ratio.rounds) == (3, 1, 5, 5)
    assert 1 <= ratio.low <= 3 <= ratio.high <= 5


def test_a_slow_moment_that_hits_both_does_not_move_the_ratio():
    calm, busy = [1.0] * 4, [1.0, 9.0, 1.0, 5.0]
    assert paired_ratio(busy, [3 * s for s in busy]) == paired_ratio(calm, [3 * s for s in calm])


def test_more_rounds_narrow_the_interval():
    spread = [1.0, 2.0, 3.0, 4.0, 5.0]
    few, many = paired_ratio([1.0] * 5, spread), paired_ratio([1.0] * 200, spread * 40)
    assert many.high - many.low < few.high - few.low


def test_the_interval_covers_the_true_median_about_as_often_as_it_says():
    rng = random.Random(3)
    hits = 0
    for trial in range(100):
        ratios = [rng.lognormvariate(0, 0.3) for _ in range(25)]
        ratio = paired_ratio([1.0] * 25, ratios, trial)
        hits += ratio.low <= 1.0 <= ratio.high
    assert 85 <= hits <= 100


def test_unpaired_runs_are_refused():
    with pytest.raises(ValueError, match="got 2 and 1"):
        paired_ratio([1, 2], [1])
    with pytest.raises(ValueError, match="got 0 and 0"):
        paired_ratio([], [])


def test_a_run_below_the_resolution_of_the_clock_is_no_division_by_zero():
    assert paired_ratio([0.0], [1.0]).median == 1e6


def test_contenders_take_turns():
    order.clear()
    run(sample(), repeats=3)
    assert order == ["ours", "rival"] * 4  # one warm-up, three rounds


def test_every_run_is_measured_with_its_quality():
    result = run(sample(), repeats=2, seed=5)
    for name in ("ours", "rival"):
        for m in result.runs[name]:
            assert m.error is None
            assert m.wall_s > 0
            assert m.peak_mb >= m.start_mb > 1
            assert (m.work, m.unit, m.scores) == (1000.0, "tokens", {"accuracy": 1.0})
    assert result.median("ours", "wall_s") == statistics.median(m.wall_s for m in result.runs["ours"])


def test_the_bar_is_held_against_every_rival():
    runs = {"ours": timed(1, 1, 1), "a": timed(3, 3, 3), "b": timed(2, 2, 2)}
    both = (Contender(name="a", run=works("a")), Contender(name="b", run=works("b")))
    assert Result(sample(rivals=both, bar=2), 1, runs).met() is True
    missed = Result(sample(rivals=both, bar=2.5), 1, runs)
    assert missed.met() is False
    assert "required: at least 2.5x on the cpu clock; NOT met" in shown(missed)
    assert Result(sample(rivals=both), 1, runs).met() is None


def test_a_failing_rival_is_reported_and_not_hidden():
    result = run(sample(rivals=(Contender(name="rival", run=breaks),), bar=1), repeats=2)
    assert result.failed()
    assert result.met() is None
    assert result.ratio("rival", "cpu") is None
    assert result.error("rival") == "RuntimeError: no such model"
    assert len(result.runs["ours"]) == 2
    assert "failed: RuntimeError: no such model" in shown(result)
    assert "not decided, because a contender failed" in shown(result)
    entry = record.record(result, "python -m benchmarks")
    assert entry["contenders"][1]["error"] == "RuntimeError: no such model"


def test_a_rival_that_is_not_installed_is_a_failure():
    def prepare(_given):
        import nowhere_to_be_found  # noqa: F401

    absent = Contender(name="rival", prepare=prepare, run=works("rival"))
    assert "nowhere_to_be_found" in (measured(sample(), absent, 1).error or "")


def test_a_benchmark_without_its_corpus_is_skipped_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setenv(corpora.ENVIRONMENT, str(tmp_path))
    result = run(sample(needs=("conll/train.txt",)))
    assert result.runs == {}
    assert not result.failed()
    assert "skipped: conll/train.txt is not in the folder of corpora" in shown(result)
    (tmp_path / "conll").mkdir()
    (tmp_path / "conll" / "train.txt").touch()
    assert corpora.missing(["conll/train.txt"]) is None
    assert corpora.corpus("conll/train.txt") == tmp_path / "conll" / "train.txt"


def test_a_record_has_all_it_takes_to_run_it_again(tmp_path):
    result = run(sample(bar=0.001), repeats=3, seed=7)
    entry = record.record(result, "python -m benchmarks sample --seed 7")
    path = record.append(entry, tmp_path)
    record.append(entry, tmp_path)
    lines = path.read_text().splitlines()
    assert len(lines) == 2
    back = json.loads(lines[0])
    assert path.name == f"{back['time'][:10]}-{back['commit']}.json"
    assert (back["seed"], back["command"]) == (7, "python -m benchmarks sample --seed 7")
    assert isinstance(back["dirty"], bool | None)
    assert {"cpu", "cores", "memory_gb", "system", "architecture"} == back["machine"].keys()
    assert all(back["versions"][name] for name in ("python", "chaffinch", "numpy"))
    assert [c["name"] for c in back["contenders"]] == ["ours", "rival"]
    assert all(len(c["runs"]) == 3 for c in back["contenders"])
    assert {"wall_s", "cpu_s", "peak_mb", "start_mb", "scores"} <= back["contenders"][0]["runs"][0].keys()
    assert [(r["rival"], r["clock"]) for r in back["ratios"]] == [("rival", "cpu"), ("rival", "wall")]
    assert {"median", "low", "high", "least", "most", "rounds"} <= back["ratios"][0].keys()
    assert back["met"] is True


def test_the_benchmarks_of_the_folder_are_found_and_none_is_broken():
    found, broken = declared()
    assert broken == {}
    assert "interning" in found
    assert all(b.name == name and b.question.endswith("?") for name, b in found.items())
    assert [name for name, b in found.items() if not b.rivals] == ["limits"]  # measured against the machine


def test_a_run_in_a_fresh_process_is_measured_there():
    m = in_fresh_process(declared()[0]["interning"], "chaffinch", 1)
    assert m.error is None
    assert m.scores == {"right": 1.0}
    assert m.work == 1_000_000
    assert m.cpu_s > 0.01
    assert m.peak_mb > m.start_mb + 4  # a million int32 ids at the least, wherever the parent's memory stands


def test_a_process_that_dies_or_hangs_is_a_failed_run():
    died = in_fresh_process(sample(name="nowhere"), "ours", 1)
    assert died.error is not None
    assert died.error.startswith("ended with code 1: ModuleNotFoundError")
    hung = in_fresh_process(replace(declared()[0]["interning"], timeout=0.01), "chaffinch", 1)
    assert hung.error == "took more than 0.01 s"


def test_the_history_has_its_columns():
    header = (harness.ROOT / "benchmarks" / "history.csv").read_text().splitlines()[0]
    assert header == "release,accuracy,speed,size"


def test_the_cpu_time_of_a_process_that_nobody_waits_for_is_counted() -> None:
    from benchmarks.engines import timed

    burn = "import time\nwhile time.process_time() < 0.8: pass"
    forgets = (
        "import signal, subprocess, sys\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        f"subprocess.Popen([sys.executable, '-c', {burn!r}], stdin=subprocess.PIPE)\n"
        "sys.stdin.read()"
    )

    def work() -> None:
        with subprocess.Popen([sys.executable, "-c", forgets], stdin=subprocess.PIPE) as parent:
            deadline = time.monotonic() + 60
            children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
            while not children.read_text().strip() and time.monotonic() < deadline:
                time.sleep(0.01)
            while children.read_text().strip() and time.monotonic() < deadline:
                time.sleep(0.01)

    assert timed(work)[1] > 0.5


@pytest.mark.parametrize(
    ("documents", "size", "sizes"),
    [(5000, 60, (36, 12, 2000)), (900, 6000, (540, 180, 180)), (100, 60, (36, 12, 52))],
)
def test_a_draw_is_tested_on_up_to_2000_documents_that_it_does_not_learn_from(documents, size, sizes):
    whole = [f"text {n}" for n in range(documents)], [f"label {n}" for n in range(documents)]
    one, other = (drawn(whole, size, seed) for seed in (1, 2))
    parts = (one.train, one.dev, one.test)
    assert tuple(len(texts) for texts, _ in parts) == sizes
    assert len({text for texts, _ in parts for text in texts}) == sum(sizes)
    assert all(
        label == text.replace("text", "label") for part in parts for text, label in zip(*part, strict=True)
    )
    assert set(one.train[0]) != set(other.train[0])


def test_draws_have_a_mean_with_its_standard_error_and_the_best_is_chosen_on_dev_alone():
    assert mean_and_error([1.0, 3.0]) == (2.0, 1.0)
    assert mean_and_error([2.0, 2.0, 5.0, 3.0])[1] == pytest.approx(statistics.stdev([2, 2, 5, 3]) / 2)
    assert best_on_dev({"a": (70.0, 60.0), "b": (80.0, 50.0), "c": (80.0, 90.0)}) == ("b", 50.0)


def test_learning_on_says_which_arguments_it_needs(capsys):
    with pytest.raises(SystemExit):
        learning_on.arguments([])
    assert "required: corpus, SIZE" in capsys.readouterr().err
    asked = learning_on.arguments(["conll2000", "2000", "8900", "--recipe=crf", "--loaded"])
    assert (asked.corpus, asked.sizes, asked.recipe, asked.loaded) == (
        "conll2000",
        [2000, 8900],
        ["crf"],
        True,
    )
