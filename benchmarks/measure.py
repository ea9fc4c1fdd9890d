"""One run of one contender: seconds on both clocks, peak memory, quality.

Started as ``python -m benchmarks.measure BENCHMARK CONTENDER SEED FILE`` it measures in a process of its own and
writes the measurement to FILE as JSON, so that output of a rival does not mix with it.
"""

import ctypes
import dataclasses
import gc
import importlib
import json
import resource
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.benchmark import Benchmark, Contender

_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Measurement:
    """Time, memory and scores of one run, or its error.

    wall_s, cpu_s: seconds of ``run`` alone; cpu_s over all threads and child processes
    start_mb:      resident memory when ``run`` began: interpreter, imports and input
    peak_mb:       peak resident memory until it ended
    work, unit:    amount of work
    error:         one line, if the run failed; then the numbers are 0
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    start_mb: float = 0.0
    peak_mb: float = 0.0
    work: float = 0.0
    unit: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    error: str | None = None


def measured(benchmark: Benchmark, contender: Contender, given: Any) -> Measurement:
    """Run a contender on an input; a failure is recorded in the result and does not end the benchmark."""
    try:
        prepared = contender.prepare(given)
        start_mb = _forget_peak()
        cpu, wall = _cpu_seconds(), time.perf_counter()
        output = contender.run(prepared)
        wall_s, cpu_s = time.perf_counter() - wall, _cpu_seconds() - cpu
        peak_mb = _peak_mb()
        work, unit = benchmark.work(given)
        scores = {name: float(value) for name, value in benchmark.scores(given, output).items()}
        return Measurement(wall_s, cpu_s, start_mb, peak_mb, work, unit, scores)
    except Exception as e:
        return Measurement(error=" ".join(f"{type(e).__name__}: {e}".split())[:300])


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _forget_peak() -> float:
    """Resident memory now; the peak is reset to it if the system can (Linux)."""
    # Memory freed by the input is returned first: if the run reused it, it would not count.
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status_mb("VmRSS")
    except (OSError, LookupError):
        return _peak_mb()


def _peak_mb() -> float:
    """The peak of this process, or of a child if that was larger.

    ru_maxrss survives exec on Linux, so a small process started by a large one would inherit its peak; VmHWM
    belongs to this program alone.
    """
    children = _ru_maxrss_mb(resource.RUSAGE_CHILDREN)
    try:
        return max(_status_mb("VmHWM"), children)
    except (OSError, LookupError):
        return max(_ru_maxrss_mb(resource.RUSAGE_SELF), children)


def _ru_maxrss_mb(who: int) -> float:
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(who).ru_maxrss * unit / 2**20


def _status_mb(key: str) -> float:
    fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(fields[key].split()[0]) / 2**10


def _main(name: str, contender: str, seed: str, target: str) -> None:
    benchmark: Benchmark = importlib.import_module(f"benchmarks.{name}").BENCHMARK
    chosen = next(c for c in benchmark.contenders if c.name == contender)
    result = measured(benchmark, chosen, benchmark.input(int(seed)))
    Path(target).write_text(json.dumps(dataclasses.asdict(result)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
