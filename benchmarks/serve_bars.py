"""The server under load in one run, each bar with its measurement; see also serve_learning and serve_endurance.

    python -m benchmarks.serve_bars MODEL TEXTS [--seconds 30]

MODEL is a tagger, TEXTS has a short sentence on each line. The machine must be quiet: two of the bars are by the clock.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.serve_load import connected, library, load, request

CORRECTIONS = 200
SWAPS, LESSONS = 50, 20

Row = tuple[str, float, str, Callable[[float], bool]]  # what, the value, the bar, whether it is met


def printed(rows: list[Row]) -> None:
    """The table."""
    for what, value, bar, met in rows:
        verdict = "" if not bar else "met" if met(value) else "not met"
        shown = f"{value:.5f}" if 0 < abs(value) < 0.05 else f"{value:,.2f}"
        print(f"{what:58} {shown:>10}  {bar:>9}  {verdict}", flush=True)


def p99(delays: list[float]) -> float:
    """In milliseconds."""
    return 1000 * sorted(delays)[int(len(delays) * 0.99)]


def bare_sync(folder: Path) -> float:
    """p99 of an append of 200 bytes that is synchronised with the disk, in milliseconds."""
    delays = []
    file = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for _ in range(CORRECTIONS):
        begun = time.perf_counter()
        os.write(file, b"x" * 200)
        os.fdatasync(file)
        delays.append(time.perf_counter() - begun)
    os.close(file)
    return p99(delays)


async def acknowledged(port: int, texts: list[str], tags: list[list[str]], clients: int) -> float:
    """p99 of the acknowledgement of corrections, in milliseconds."""
    delays: list[float] = []

    async def send(start: int) -> None:
        client = await connected(port)
        for n in range(start, CORRECTIONS, clients):
            one = {"text": texts[n % len(texts)], "tags": tags[n % len(texts)]}
            begun = time.perf_counter()
            status, answer = await client.ask(request("/corrections", one, port))
            delays.append(time.perf_counter() - begun)
            assert status == 200, answer

    await asyncio.gather(*map(send, range(clients)))
    return p99(delays)


def measured(given: argparse.Namespace) -> list[Row]:
    """Rows of the table."""
    from tests.page.serving import Process

    texts = [line for line in given.texts.read_text().splitlines() if line.strip()][:2000]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=given.model.parent) as folder:
        bare = bare_sync(Path(folder))
        journal = ["--journal", Path(folder) / "journal"]
        with Process(given.model, *journal) as server:
            tags = [r["tags"] for r in server.ask("/predict", {"texts": texts[:CORRECTIONS]})[1]["results"]]
            one = {"clients": 32, "seconds": given.seconds, "batch": 1, "swaps": 0, "learn": 0, "tags": tags}
            port, pid = server.port, server.process.pid

            def run(**changed: Any) -> dict[str, Any]:
                return asyncio.run(load(port, pid, argparse.Namespace(**{**one, **changed}), texts))

            plain = run()
            rows += [
                ("sentences a second, batches of one", plain["per_second"], ">= 4,000", lambda v: v >= 4000),
                ("the same by CPU second of the server", plain["per_cpu_second"], "", lambda _: True),
                ("p50, ms", plain["p50_ms"], "", lambda _: True),
                ("p99, ms", plain["p99_ms"], "< 30", lambda v: v < 30),
                ("errors", plain["errors"], "0", lambda v: v == 0),
            ]
            for clients, name in ((1, "one client"), (32, "32 clients")):
                found = asyncio.run(acknowledged(port, texts[:CORRECTIONS], tags, clients))
                rows.append((f"p99 of an acknowledgement, ms, {name}", found, "< 20", lambda v: v < 20))
            rows.append(("p99 of an append and fdatasync alone, ms", bare, "", lambda _: True))
            first = server.ask("/models")[1]["version"]
            second = server.ask("/learn", {})[1]["version"]
            swapped = run(swaps=SWAPS, versions=[first, second])
            rows.append((f"errors through {SWAPS} swaps", swapped["errors"], "0", lambda v: v == 0))
            taught = run(learn=LESSONS, seconds=given.seconds / 2)
            rows += [
                (f"errors while {LESSONS} corrections are learnt", taught["errors"], "0", lambda v: v == 0),
                ("p99 meanwhile, ms", taught["p99_ms"], "", lambda _: True),
            ]
        with Process(given.model, "--journal", Path(folder) / "second") as server:
            port, pid = server.port, server.process.pid
            large = run(batch=64, clients=2, seconds=min(10, given.seconds))
        share = 100 * large["per_cpu_second"] / library(given.model, texts, 64)
        rows.append(("share of the library's speed in batches of 64, %", share, ">= 60", lambda v: v >= 60))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--seconds", type=float, default=30.0)
    printed(measured(parser.parse_args()))


if __name__ == "__main__":
    main()
