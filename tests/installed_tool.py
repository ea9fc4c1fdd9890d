"""A web application of others for tests: started in a process of its own, asked, and ended."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STARTED_WITHIN = 300.0


def free_port() -> int:
    """A port of the loopback address that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class InstalledTool:
    """A program that serves HTTP on a port of the loopback address.

    token: of its API, sent with every request
    alive: a path that is answered as soon as it is up
    """

    def __init__(
        self, command: Sequence[str | Path], port: int, folder: Path, settings: Mapping[str, str], alive: str
    ) -> None:
        self.port, self.token = port, ""
        self._log = (folder / "log").open("w+")
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **settings},
            cwd=folder,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            self._wait(alive)
        except BaseException:
            print(self.stop())
            raise

    def _wait(self, alive: str) -> None:
        end = time.monotonic() + STARTED_WITHIN
        while time.monotonic() < end and self._process.poll() is None:
            try:
                self.ask(alive)
            except OSError:
                time.sleep(0.25)
            else:
                return
        raise AssertionError("the program did not start")

    def ask(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """The answer to a request: what its JSON says, or nothing."""
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"Token {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                content, kind = answer.read(), answer.headers.get_content_type()
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{path}: {e.code} {e.read().decode()}") from None
        return json.loads(content) if kind == "application/json" and content else None

    def stop(self) -> str:
        """End it and its children; returns the end of what it said."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._log.seek(0)
        said = self._log.read()[-4000:]
        self._log.close()
        return said
