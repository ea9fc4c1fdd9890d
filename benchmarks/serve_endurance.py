"""Endurance of the server: kill -9 at random moments, thousands of idle connections, requests made from the schema.

    python -m benchmarks.serve_endurance [--moments 50] [--idle 10000] [--examples 25]

The other cases (bad tokens, oversized bodies, slow and half-closed clients) is in tests/page/test_server_security.py.
"""

import argparse
import random
import resource
import socket
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.serve_bars import Row, printed

SPARE = 500  # descriptors beside those of idle connections


def killed_at(folder: Path, moments: int) -> list[Row]:
    """Corrections lost and journals damaged by kill -9."""
    from page.serving import tagger
    from page.test_server_journal import killed

    model = tagger(folder / "names.chaff")
    lost = acknowledged = 0
    for moment in range(moments):
        gone, number = killed(model, folder / f"{moment}.jsonl", random.Random(moment))
        lost, acknowledged = lost + len(gone), acknowledged + number
    return [
        (f"acknowledged corrections in {moments} runs ended by kill -9", acknowledged, "", lambda _: True),
        ("of these lost", lost, "0", lambda v: v == 0),
    ]


def memory(pid: int) -> float:
    """Resident megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def idle(folder: Path, connections: int) -> list[Row]:
    """Connections that send nothing, and their effect on other requests."""
    from page.serving import Process, tagger

    with Process(tagger(folder / "idle.chaff"), "--journal", folder / "idle") as server:
        before = memory(server.process.pid)
        made, took, errors = [], [], 0
        for n in range(connections):
            made.append(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            if n % 250 == 249:
                begun = time.perf_counter()
                errors += server.ask("/predict", {"text": "Ann left Rome"})[0] != 200
                took.append(time.perf_counter() - begun)
        lines = server.ask("/metrics")[1].decode().splitlines()
        kept = next(float(line.split()[1]) for line in lines if line.startswith("chaffinch_connections "))
        grown = memory(server.process.pid) - before
        for one in made:
            one.close()
    return [
        (f"connections kept of {connections:,} idle ones", kept, "<= 1,000", lambda v: v <= 1000),
        ("failed requests meanwhile", errors, "0", lambda v: v == 0),
        ("longest of these requests, ms", 1000 * max(took), "", lambda _: True),
        ("memory that the connections took, MB", grown, "", lambda _: True),
    ]


def by_schema(folder: Path, examples: int) -> list[Row]:
    """Requests that fit the server's description, and others."""
    import page.test_server_schema as schema
    from page.serving import Forked, classifier, name_sentences, tagger, write_columns

    schema.EXAMPLES = examples
    pool = write_columns(folder / "pool.conll", *name_sentences(30))
    models = tagger(folder / "schema.chaff"), classifier(folder / "stars.chaff")
    with Forked(*models, data=[pool]) as server:
        seen: Counter[int] = schema.asked_everything(server)
    return [
        ("requests made from the schema", sum(seen.values()), "", lambda _: True),
        ("answered by 5xx", sum(n for status, n in seen.items() if status >= 500), "0", lambda v: v == 0),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument("--examples", type=int, default=25)
    given = parser.parse_args()
    sys.path.insert(0, "tests")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most < given.idle + SPARE:
        sys.exit(
            f"{given.idle:,} connections need {given.idle + SPARE:,} open files, and {most:,} are allowed: ulimit -n"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        printed(killed_at(folder, given.moments))
        printed(idle(folder, given.idle))
        printed(by_schema(folder, given.examples))


if __name__ == "__main__":
    main()
