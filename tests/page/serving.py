"""A server for tests: small models, in a process of its own or inside the test."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from chaffinch import Classifier, Tagger

NAMES = (
    "Ann Bob Cleo Dan Eve Finn Gus Hal Ida Jon Kit Lea Max Ned Oda Pia".split(),
    "Rome Oslo Lima Bern Cork Riga".split(),
)


def name_sentences(n: int) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences with people and places, the same for every run."""
    X, y = [], []
    people, places = NAMES
    for i in range(n):
        who, other, where = people[i % 16], people[(i * 7 + 3) % 16], places[i % 6]
        made = (
            ([who, "lives", "in", where], ["B-PER", "O", "O", "B-LOC"]),
            ([who, other, "left", where, "."], ["B-PER", "I-PER", "O", "B-LOC", "O"]),
            (["the", "road", "to", where], ["O", "O", "O", "B-LOC"]),
            ([where, "is", "cold"], ["B-LOC", "O", "O"]),
        )[i % 4]
        X.append(made[0])
        y.append(made[1])
    return X, y


def write_columns(path: Path, X: list[list[str]], y: list[list[str]]) -> Path:
    rows = (
        "".join(f"{w}\t{t}\n" for w, t in zip(*one, strict=True)) + "\n" for one in zip(X, y, strict=True)
    )
    path.write_text("".join(rows))
    return path


def tagger(path: Path, n: int = 60) -> Path:
    Tagger("crf", folds=0, threads=1).fit(*name_sentences(n)).save(path)
    return path


def classifier(path: Path, recipe: str = "loglinear") -> Path:
    texts = [f"{a} {b}" for a in ("good", "fine", "lovely", "nice") for b in ("tea", "cake", "day")]
    others = [f"{a} {b}" for a in ("bad", "awful", "poor", "vile") for b in ("tea", "cake", "day")]
    Classifier(recipe, threads=1).fit(texts + others, ["+"] * 12 + ["-"] * 12).save(path)
    return path


class Client:
    """Asks a server."""

    host, port, token = "127.0.0.1", 0, None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def ask(
        self, path: str, body: Any = None, *, method: str | None = None, headers: Any = None
    ) -> tuple[int, Any]:
        """Status and answer."""
        given = {"content-type": "application/json", **(headers or {})}
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                content, status = answer.read(), answer.status
        except urllib.error.HTTPError as e:
            content, status = e.read(), e.code
        try:
            return status, json.loads(content)
        except ValueError:
            return status, content

    def _listen(self, lines: Any) -> str:
        """Read until the server says where it is."""
        said = ""
        for line in lines:
            said += line
            if found := re.search(r"http://(\S+?):(\d+)/(?:#token=(\S+))?", said):
                self.host, self.port, self.token = found[1], int(found[2]), found[3]
                return said
        raise AssertionError(said)


class Process(Client):
    """``chaffinch serve`` as a user starts it, on a free port."""

    def __init__(self, *arguments: Any) -> None:
        command = [sys.executable, "-m", "chaffinch", "serve", "--port", "0", *map(str, arguments)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self._listen(self.process.stderr)

    def stop(self) -> str:
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=60)
        return said

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()


class Forked(Client):
    """The same server in a copy of this process, which starts at once; it can be killed like any other."""

    def __init__(self, *models: Path, **options: Any) -> None:
        from chaffinch.serve.run import Options, run

        given = Options(models=list(models), **{"data": [], "train": [], "port": 0, **options})
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(reading)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                run(given, lambda address: os.write(writing, f"{address}\n".encode()))
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as lines:
            self._listen(lines)

    def kill(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def __enter__(self) -> "Forked":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
