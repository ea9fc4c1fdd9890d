"""The harness: contenders run in turn on one input, A B A B, until each has the requested number of runs."""

import json
import pkgutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.benchmark import Benchmark, Clock
from benchmarks.corpora import missing
from benchmarks.measure import Measurement, measured
from benchmarks.ratio import Ratio, paired_ratio

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Result:
    """The result of a benchmark: the measurements of each contender in order of rounds, or why it was skipped."""

    benchmark: Benchmark
    seed: int
    runs: Mapping[str, list[Measurement]]
    skipped: str | None = None

    def sound(self, contender: str) -> list[Measurement]:
        """The measurements of a contender that never failed; none if it failed once."""
        runs = self.runs.get(contender, [])
        return [] if any(m.error for m in runs) else runs

    def error(self, contender: str) -> str | None:
        """How a contender failed, if it did."""
        return next((m.error for m in self.runs.get(contender, []) if m.error), None)

    def median(self, contender: str, quantity: str) -> float | None:
        """The median of wall_s, cpu_s, start_mb or peak_mb."""
        runs = self.sound(contender)
        return statistics.median(getattr(m, quantity) for m in runs) if runs else None

    def ratio(self, rival: str, clock: Clock) -> Ratio | None:
        """How many times faster ours is than a rival; None if either failed."""
        ours, theirs = self.sound(self.benchmark.ours.name), self.sound(rival)
        if not ours or not theirs:
            return None
        quantity = f"{clock}_s"
        return paired_ratio(
            [getattr(m, quantity) for m in ours], [getattr(m, quantity) for m in theirs], self.seed
        )

    def met(self) -> bool | None:
        """Whether the bar was met against every rival; None if there is no bar, or a contender failed."""
        b = self.benchmark
        ratios = [self.ratio(rival.name, b.clock) for rival in b.rivals]
        if b.bar is None or self.skipped or any(r is None for r in ratios):
            return None
        return all(r.median >= b.bar for r in ratios if r is not None)

    def failed(self) -> bool:
        """Whether any contender failed."""
        return any(self.error(c.name) for c in self.benchmark.contenders)


def declared() -> tuple[dict[str, Benchmark], dict[str, str]]:
    """The benchmarks found in this folder by name, and the modules that could not be imported with the reason."""
    found, broken = {}, {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name.startswith("__"):
            continue
        try:
            benchmark = getattr(import_module(f"benchmarks.{module.name}"), "BENCHMARK", None)
        except Exception as e:
            broken[module.name] = f"{type(e).__name__}: {e}"
            continue
        if isinstance(benchmark, Benchmark):
            if benchmark.name != module.name:
                broken[module.name] = (
                    f"its benchmark is called {benchmark.name!r}, expected the name of its file"
                )
                continue
            found[benchmark.name] = benchmark
    return found, broken


def run(
    benchmark: Benchmark,
    *,
    seed: int = 1,
    repeats: int | None = None,
    on_run: Callable[[str, int, Measurement], None] = lambda *_: None,
) -> Result:
    """Run a benchmark; ``on_run`` is called with (contender, round, measurement)."""
    skipped = missing(benchmark.needs)
    if skipped:
        return Result(benchmark, seed, {}, skipped)
    rounds = repeats or benchmark.repeats
    runs: dict[str, list[Measurement]] = {c.name: [] for c in benchmark.contenders}
    given = None if benchmark.fresh else benchmark.input(seed)
    if not benchmark.fresh:
        for contender in benchmark.contenders:
            measured(benchmark, contender, given)
    for r in range(rounds):
        for contender in benchmark.contenders:
            if any(m.error for m in runs[contender.name]):
                continue
            if benchmark.fresh:
                m = in_fresh_process(benchmark, contender.name, seed)
            else:
                m = measured(benchmark, contender, given)
            runs[contender.name].append(m)
            on_run(contender.name, r, m)
    return Result(benchmark, seed, runs)


def in_fresh_process(benchmark: Benchmark, contender: str, seed: int) -> Measurement:
    """One run in a new interpreter; if that dies, the measurement has the error."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "measurement.json"
        command = [
            sys.executable,
            "-m",
            "benchmarks.measure",
            benchmark.name,
            contender,
            str(seed),
            str(target),
        ]
        try:
            child = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=benchmark.timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return Measurement(error=f"took more than {benchmark.timeout:g} s")
        if child.returncode != 0 or not target.exists():
            last = (child.stderr.strip().splitlines() or ["no message"])[-1]
            return Measurement(error=f"ended with code {child.returncode}: {last[:300]}")
        return Measurement(**json.loads(target.read_text()))
