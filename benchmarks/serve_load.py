"""The server under load: requests a second, delays, and the cost of a batch beside the library.

    python -m benchmarks.serve_load MODEL TEXTS [--clients 32] [--seconds 30] [--batch 1] [--swaps 0] [--learn 0]

MODEL is served in a process of its own, on a free port of the loopback address; TEXTS has a text on each line. Clients
are sockets of one asyncio loop that send a request, read the answer and send the next. Printed are answered sentences
by the clock and by CPU second of the server, the delays (p50, p99), errors, and the library's own speed in batches of
the same size. ``--swaps`` is the number of version changes meanwhile, ``--learn`` that of corrections learnt.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

TICK = os.sysconf("SC_CLK_TCK")
MOST_CLIENTS, MOST_SECONDS = 64, 60


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def request(path: str, body: Any, port: int) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(content)}\r\n\r\n".encode() + content


class Connection(asyncio.Protocol):
    """A connection that sends one request after another."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.answer: asyncio.Future[tuple[int, bytes]] | None = None
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.buffer[:end]).lower()
        found = re.search(rb"content-length: (\d+)", head)
        size = int(found[1]) if found else 0
        if len(self.buffer) >= end + 4 + size and self.answer is not None:
            body = bytes(self.buffer[end + 4 : end + 4 + size])
            del self.buffer[: end + 4 + size]
            answer, self.answer = self.answer, None
            answer.set_result((int(head.split(b" ", 2)[1]), body))

    def connection_lost(self, exc: Exception | None) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(exc or ConnectionResetError())

    async def ask(self, content: bytes) -> tuple[int, bytes]:
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(content)
        return await self.answer


async def connected(port: int) -> Connection:
    loop = asyncio.get_running_loop()
    _, made = await loop.create_connection(Connection, "127.0.0.1", port)
    return made


async def load(port: int, pid: int, given: argparse.Namespace, texts: list[str]) -> dict[str, Any]:
    batch = given.batch
    bodies = [
        request("/predict", {"text": texts[i]} if batch == 1 else {"texts": texts[i : i + batch]}, port)
        for i in range(0, len(texts) - batch + 1, batch)
    ]
    clients = [await connected(port) for _ in range(given.clients)]
    delays: list[float] = []
    errors: list[str] = []
    stop = time.perf_counter() + given.seconds

    async def run(client: Connection, start: int) -> None:
        for body in cycle(bodies[start:] + bodies[:start]):
            begun = time.perf_counter()
            if begun >= stop:
                return
            try:
                status, answer = await client.ask(body)
            except OSError as e:
                errors.append(repr(e))
                return
            delays.append(time.perf_counter() - begun)
            if status != 200 or b'"results"' not in answer:
                errors.append(f"{status} {answer[:80]!r}")

    async def disturb() -> dict[str, list[float]]:
        """Swap versions and learn, evenly over the time."""
        other, took = await connected(port), {"swap": [], "learn": []}
        works = ["swap"] * given.swaps + ["learn"] * given.learn
        for n, work in enumerate(sorted(works, key=lambda w: hash((w, len(works))))):
            await asyncio.sleep(
                max(0.0, stop - given.seconds + given.seconds * n / len(works) - time.perf_counter())
            )
            begun = time.perf_counter()
            if work == "swap":
                status, answer = await other.ask(
                    request("/versions", {"version": given.versions[n % 2]}, port)
                )
            else:
                one = {"text": texts[n], "tags": given.tags[n]}
                status, answer = await other.ask(request("/corrections", one, port))
                if status == 200:
                    status, answer = await other.ask(request("/learn", {}, port))
            took[work].append(time.perf_counter() - begun)
            if status != 200:
                errors.append(f"{work}: {status} {answer[:200]!r}")
        return took

    begun, cpu = time.perf_counter(), cpu_seconds(pid)
    spread = max(1, len(bodies) // len(clients))
    *_, took = await asyncio.gather(*(run(c, k * spread) for k, c in enumerate(clients)), disturb())
    seconds, used = time.perf_counter() - begun, cpu_seconds(pid) - cpu
    delays.sort()
    done = len(delays) * batch
    return {
        "clients": given.clients,
        "batch": batch,
        "sentences": done,
        "errors": len(errors),
        "error": errors[:3],
        "per_second": round(done / seconds),
        "per_cpu_second": round(done / used),
        "p50_ms": round(1000 * delays[len(delays) // 2], 2),
        "p99_ms": round(1000 * delays[int(len(delays) * 0.99)], 2),
        "swaps": len(took["swap"]),
        "learns": len(took["learn"]),
    }


def library(model: Path, texts: list[str], batch: int) -> float:
    """Sentences a CPU second in the library: tags, and the probability of each."""
    from chaffinch import load as loaded
    from chaffinch.text.tokens import tokens

    tagger = loaded(model)
    tagger.threads = 1
    done, begun = 0, time.process_time()
    while time.process_time() - begun < 2:
        for i in range(0, min(len(texts), 2048) - batch + 1, batch):
            words = [[token.text for token in tokens(text)] for text in texts[i : i + batch]]
            tagger.predict(words)
            tagger.predict_marginals(words)
            done += batch
    return done / (time.process_time() - begun)


def main() -> None:
    from tests.page.serving import Process

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--swaps", type=int, default=0)
    parser.add_argument("--learn", type=int, default=0)
    parser.add_argument(
        "--serve", default="", help="further arguments of chaffinch serve, separated by spaces"
    )
    given = parser.parse_args()
    given.clients, given.seconds = min(given.clients, MOST_CLIENTS), min(given.seconds, MOST_SECONDS)
    texts = [line for line in given.texts.read_text().splitlines() if line.strip()]
    journal = Path(f"{given.model}.load.jsonl")
    journal.unlink(missing_ok=True)
    with Process(given.model, "--journal", journal, *given.serve.split()) as server:
        given.versions = [server.ask("/models")[1]["version"]] * 2
        learning = texts[: given.learn + given.swaps + 1]
        given.tags = [r["tags"] for r in server.ask("/predict", {"texts": learning})[1]["results"]]
        if given.swaps:
            server.ask("/corrections", {"text": learning[0], "tags": given.tags[0]})
            given.versions[1] = server.ask("/learn", {})[1]["version"]
        found = asyncio.run(load(server.port, server.process.pid, given, texts))
    journal.unlink(missing_ok=True)
    own = library(given.model, texts, given.batch)
    print(
        json.dumps(
            {**found, "library_per_cpu_second": round(own), "share": round(found["per_cpu_second"] / own, 3)}
        )
    )


if __name__ == "__main__":
    sys.path.insert(0, ".")
    main()
