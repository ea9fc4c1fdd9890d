"""Commands in processes of their own that are forked from one which has imported the package.

The interpreter and the imports of a command take a second. A test that needs a real process (its signals, its exit
code, its streams) but not their start forks one: ``Forked`` as ``subprocess.Popen``, ``forked`` as ``subprocess.run``.
"""

import atexit
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from typing import IO

COMMAND = "from chaffinch.cli import main; main()"
NUMBER = struct.Struct("i")


class Forked:
    """This code with these arguments; streams are files or their numbers, by default empty and unread."""

    def __init__(
        self,
        code: str,
        *arguments: object,
        stdin: IO[bytes] | int | None = None,
        stdout: IO[bytes] | int | None = None,
        stderr: IO[bytes] | int | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        report, ends = os.pipe()
        request = {
            "code": code,
            "argv": ["chaffinch", *map(str, arguments)],
            "env": dict(os.environ if env is None else env),
            "cwd": os.getcwd(),
        }
        with open(os.devnull, "r+b") as nothing:
            streams = [nothing if s is None else s for s in (stdin, stdout, stderr)]
            numbers = [s if isinstance(s, int) else s.fileno() for s in streams]
            socket.send_fds(_server(), [json.dumps(request).encode()], [*numbers, ends])
        os.close(ends)
        self._report = open(report, "rb", buffering=0)  # noqa: SIM115 - until the command ends
        (self.pid,) = NUMBER.unpack(self._report.read(NUMBER.size))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float = 300) -> int:
        code = self._ended(timeout)
        if code is None:
            self.send_signal(signal.SIGKILL)
            raise subprocess.TimeoutExpired("a forked command", timeout)
        return code

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def _ended(self, timeout: float) -> int | None:
        if self.returncode is None and select.select([self._report], [], [], timeout)[0]:
            (self.returncode,) = NUMBER.unpack(self._report.read(NUMBER.size))
            self._report.close()
        return self.returncode


def forked(
    code: str,
    *arguments: object,
    input: bytes = b"",
    stdout: int | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """What this code with these arguments writes, and its exit code; input comes through a pipe."""
    read_end, write_end = os.pipe()
    os.write(write_end, input)
    os.close(write_end)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = Forked(
            code, *arguments, stdin=read_end, stdout=out if stdout is None else stdout, stderr=err, env=env
        )
        os.close(read_end)
        returncode = process.wait()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, returncode, out.read(), err.read())


@cache
def _server() -> socket.socket:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen([sys.executable, __file__, str(there.fileno())], pass_fds=[there.fileno()])
    there.close()

    def end() -> None:
        here.close()
        process.wait(60)

    atexit.register(end)
    return here


def serve(requests: socket.socket) -> None:
    """Fork for every request, until there are no more; returns in the process of a command."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, streams, _, _ = socket.recv_fds(requests, 1 << 18, 4)
        if not message:
            sys.exit()
        if os.fork() == 0:
            break
        for stream in streams:
            os.close(stream)
    requests.close()
    report = streams.pop()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child:  # this process reports how the command ends
        for stream in streams:
            os.close(stream)
        os.write(report, NUMBER.pack(child))
        os.write(report, NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
        os._exit(0)
    os.close(report)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    asked = json.loads(message)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.argv = asked["argv"]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for the rest of the process
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    exec(asked["code"], {"__name__": "__main__"})


if __name__ == "__main__":
    # Everything of a command but its console, which looks at the terminal and the environment when it is made.
    for name in (
        "chaffinch.estimators.tagger",
        "chaffinch.estimators.classifier",
        "chaffinch.engines.prediction",
        "chaffinch.kinds.caching",
        "chaffinch.kinds.streaming",
        "chaffinch.lab.tuning",
        "pydantic.type_adapter",
        "rich.progress",
        "typer",
    ):
        importlib.import_module(name)
    serve(socket.socket(fileno=int(sys.argv[1])))
