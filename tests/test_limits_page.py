"""The page of limits: its generator runs, its bounds follow from sizes, and exponents are those of the power law."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from benchmarks import limits
from benchmarks.machine import machine

ROOT = Path(__file__).resolve().parents[1]
TINY = limits.Sizes(sentences=8, length=5, labels=4, features=60, each=3, documents=6)


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_limits", ROOT / "docs" / "run_limits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call of each path is enough here: the times are not looked at."""
    monkeypatch.setattr(limits, "cpu_seconds", lambda work, rounds=3, least=0.02: (work(), 1e-3)[1])


def test_the_page_has_every_path_and_every_curve(generator: ModuleType, tmp_path: Path) -> None:
    generator.main(tmp_path, TINY, steps=2)
    page = (tmp_path / "limits.md").read_text("utf-8")
    assert f"## On {machine()['architecture']}" in page
    for name in ("feature extraction", "CRF pass", "Viterbi", "perceptron epoch", "vectorising", "dual pass"):
        assert f"| {name}" in page
    for kind in (*limits.KINDS, "threads"):
        assert f"(limits-{kind}.svg)" in page
        assert (tmp_path / f"limits-{kind}.svg").read_text("utf-8").startswith("<svg")


def test_a_run_keeps_the_measurements_of_other_architectures(generator: ModuleType, tmp_path: Path) -> None:
    path = {"path": "Viterbi", "unit": "token", "bytes": 188, "operations": 968, "bound": "arithmetic"}
    times = {"limit_ns": 20.0, "taken_ns": 80.0, "chain": 16.0}
    rates = {"copied": 10.0, "cached": 20.0, "operations": 30.0, "exponentials": 1.0}
    other = {"another": {"cpu": "Some Processor", **rates, "paths": [{**path, **times}]}}
    (tmp_path / "limits.json").write_text(json.dumps(other), "utf-8")
    generator.main(tmp_path, TINY, steps=2)
    kept = json.loads((tmp_path / "limits.json").read_text("utf-8"))
    assert kept["another"] == other["another"]
    assert set(kept) == {"another", machine()["architecture"]}
    page = (tmp_path / "limits.md").read_text("utf-8")
    assert "| Viterbi | token | 188 | 968 | arithmetic | 20.0 | 80.0 | 0.25 |" in page
    assert "another): latency" in page


def test_bytes_and_operations_follow_from_the_sizes() -> None:
    path = limits.viterbi(TINY)
    assert path.units == 40
    assert path.operations == 40 * 2 * 4 * 4
    twice = limits.viterbi(limits.Sizes(**{**TINY.__dict__, "sentences": 16}))
    assert (twice.operations, twice.bytes) == (2 * path.operations, 2 * path.bytes)


def test_the_limit_is_the_longer_of_memory_and_arithmetic() -> None:
    path = limits.viterbi(TINY)
    slow_sums = limits.Machine(copied=1e12, cached=1e12, operations=1e3, exponentials=1e9)
    found = limits.reached(path, slow_sums)
    assert found.bound == "arithmetic"
    assert found.limit_s == pytest.approx(path.operations / 1e3)
    slow_copies = limits.Machine(copied=1e2, cached=1e12, operations=1e12, exponentials=1e9)
    assert limits.reached(path, slow_copies).bound == "memory"


def test_rows_of_a_hash_table_are_the_same_rows_elsewhere() -> None:
    path = limits.vectorising(TINY)
    read = limits.read_ids(path)
    assert sorted(np.bincount(read)[np.unique(read)]) == sorted(np.bincount(path.ids)[np.unique(path.ids)])
    assert read.max() < path.table[0]
    assert not np.array_equal(read, path.ids)
    plain = limits.viterbi(TINY)
    assert limits.read_ids(plain) is plain.ids


def test_every_distinct_word_is_looked_up_once_a_column_unless_it_is_described() -> None:
    types = len({word for sentence in limits.words(TINY) for word in sentence})
    strings, known = limits.feature_extraction(TINY), limits.features_of_known_words(TINY)
    assert strings.rows - known.rows == 3 * types


def test_the_exponent_of_a_power_law_is_found() -> None:
    sizes = (10, 20, 40, 80)
    times = tuple(3e-6 * np.array(sizes) ** 1.7)
    assert limits.Curve("", sizes, times).exponent == pytest.approx(1.7)


def test_the_shipped_page_names_its_machine_and_shows_its_plots() -> None:
    page = (ROOT / "docs" / "limits.md").read_text("utf-8")
    for architecture in json.loads((ROOT / "docs" / "limits.json").read_text("utf-8")):
        assert f"## On {architecture}\n\nMachine: " in page
    for kind in (*limits.KINDS, "threads"):
        assert (ROOT / "docs" / f"limits-{kind}.svg").exists()
