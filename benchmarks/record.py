"""Records: one line of JSON per benchmark run, with everything needed to run it again."""

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from benchmarks.benchmark import Clock
from benchmarks.harness import Result
from benchmarks.machine import commit, machine, versions

RESULTS = Path(__file__).parent / "results"


def record(result: Result, command: str) -> dict[str, Any]:
    """Everything about a result, as plain JSON values."""
    b = result.benchmark
    head, dirty = commit()
    packages = [c.package for c in b.contenders if c.package]
    return {
        "benchmark": b.name,
        "question": b.question,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "seed": result.seed,
        "commit": head,
        "dirty": dirty,
        "machine": machine(),
        "versions": versions(packages),
        "fresh": b.fresh,
        "skipped": result.skipped,
        "contenders": [
            {
                "name": c.name,
                "package": c.package,
                "error": result.error(c.name),
                "runs": [dataclasses.asdict(m) for m in result.runs.get(c.name, [])],
            }
            for c in b.contenders
        ],
        "ratios": [
            {"rival": rival.name, "clock": clock, **dataclasses.asdict(ratio)}
            for rival in b.rivals
            for clock in get_args(Clock)
            if (ratio := result.ratio(rival.name, clock)) is not None
        ],
        "bar": b.bar,
        "clock": b.clock,
        "met": result.met(),
    }


def append(entry: dict[str, Any], folder: Path = RESULTS) -> Path:
    """Append a record to the file of its day and commit."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{entry['time'][:10]}-{entry['commit']}.json"
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n")
    return path
