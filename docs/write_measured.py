"""Write the tables of measured figures into the page on classifiers, from the records of the benchmarks.

The last record of each benchmark counts: ``make bench ONLY=classify_trec``, then ``python docs/write_measured.py``.
"""

import json
import re
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE / "classifier.md"
RECORDS = HERE.parent / "benchmarks" / "results"
MARK = re.compile(r"(<!-- measured: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Rewrite every marked table; those without a record stay."""
    records = latest()
    text = PAGE.read_text(encoding="utf-8")

    def written(found: re.Match[str]) -> str:
        record = records.get(found[2])
        return found[0] if record is None else f"{found[1]}{table(record)}{found[3]}"

    PAGE.write_text(MARK.sub(written, text), encoding="utf-8")


def latest() -> dict[str, dict[str, Any]]:
    """The last record of each benchmark, by name."""
    found: dict[str, dict[str, Any]] = {}
    for path in RECORDS.glob("*.json"):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record["skipped"] is None and record["time"] >= found.get(record["benchmark"], record)["time"]:
                found[record["benchmark"]] = record
    return found


def table(record: dict[str, Any]) -> str:
    """A row per contender: scores, median times over the runs, peak memory."""
    contenders = [c for c in record["contenders"] if c["error"] is None and c["runs"]]
    names = list(dict.fromkeys(name for c in contenders for name in c["runs"][0]["scores"]))
    head = ["", *(name.replace("_", " ") for name in names), "CPU s", "wall s", "peak MB"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for c in contenders:
        runs = c["runs"]
        scores = [f"{runs[0]['scores'][n]:.2f}" if n in runs[0]["scores"] else "" for n in names]
        times = [f"{median(r[key] for r in runs):.2f}" for key in ("cpu_s", "wall_s")]
        lines.append(
            f"| {' | '.join([c['name'], *scores, *times, str(round(max(r['peak_mb'] for r in runs)))])} |"
        )
    count = len(contenders[0]["runs"])
    machine = record["machine"]
    told = f"{count} run{'s' if count > 1 else ''}, {machine['cores']} cores of {machine['architecture']}"
    return "\n".join(
        [*lines, "", f"`make bench ONLY={record['benchmark']}`, {told}, {record['time'][:10]}.", ""]
    )


if __name__ == "__main__":
    main()
