"""The head node of a Ray cluster: whether it answers, and calls that wait for it.

Ray waits a minute for a head that is lost and then ends the driver's process without an exception; a call that needs
the head does not return until then. Here a head that does not answer for a shorter time is an error.
"""

import atexit
import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from chaffinch.engines.engine import EngineError

REACHED = 20.0  # seconds to reach the head node
LOST = 30.0  # seconds without an answer after which it is lost; Ray ends the process after 60
BETWEEN = 2.0  # seconds between two questions whether it answers
ANSWER = 5.0  # seconds for one answer
PAUSE = 0.5  # seconds between two questions if it does not answer
GOODBYE = 5.0  # seconds to leave a cluster whose head is lost
# The first bytes of an HTTP/2 connection (RFC 9113, 3.4): the preface and empty settings. gRPC answers with settings.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
HEADER, SETTINGS = 9, 4  # bytes at the start of a frame, and the type of the frame

Found = TypeVar("Found")


class Head:
    """The head of the cluster to which this process is connected."""

    def __init__(self, address: str | None) -> None:
        self.address = address
        self.lost = False  # it was given up
        self._asked = self._answered = time.monotonic()

    @classmethod
    def of(cls, ray: Any) -> "Head":
        """The head; one without an address, which is not watched, if the cluster is reached through a proxy."""
        if ray.util.client.ray.is_connected():
            return cls(None)
        return cls(ray.get_runtime_context().gcs_address)

    def check(self) -> None:
        """Raise EngineError if the head has not answered for a while. To be called every few seconds."""
        if time.monotonic() - self._asked >= BETWEEN:
            self.answers()

    def answers(self) -> bool:
        """Whether it answers now; EngineError if it has not done so for a while."""
        if self.address is None:
            return True
        now = time.monotonic()
        if now - self._asked > LOST:  # nobody has asked meanwhile
            self._answered = now
        told = silence(self.address, ANSWER)
        self._asked = time.monotonic()
        if told is None:
            self._answered = self._asked
        elif self._asked - self._answered > LOST:
            self.lost = True
            raise EngineError(
                f"the head node of the Ray cluster at {self.address} has not answered for {LOST:g} s: {told}; start "
                "the cluster again, and the same command continues",
                stuck=not _disconnected(),
            )
        return told is None

    def asked(self, call: Callable[[], Found]) -> Found:
        """The result of a call that needs the head, made when it answers; EngineError if the head is lost."""
        while not self.answers():
            time.sleep(PAUSE)
        answer: Future[Found] = Future()

        def wait() -> None:
            try:
                answer.set_result(call())
            except BaseException as e:
                answer.set_exception(e)

        Thread(target=wait, daemon=True).start()
        while True:
            with suppress(NotYet):
                return answer.result(timeout=1.0)
            self.check()


def _disconnected() -> bool:
    """Leave a cluster whose head is lost, as Ray would otherwise end this process; False if that waits for the head."""
    import ray

    leaving = Thread(target=ray.shutdown, daemon=True)
    leaving.start()
    leaving.join(timeout=GOODBYE)
    if leaving.is_alive():
        atexit.unregister(ray.shutdown)
    return not leaving.is_alive()


def refuse_unreachable(address: str | None) -> None:
    """Raise at once if nothing listens at HOST:PORT, or another program, for which Ray would wait several minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():  # this machine, or a name that Ray knows
        return
    told = silence(f"{host}:{port}", REACHED)
    if told is not None:
        raise EngineError(
            f"no Ray cluster answers at {address}: {told}; RAY_ADDRESS names the head node and its port, such as "
            "10.0.0.1:6379"
        )


def remembers_dead_cluster() -> bool:
    """Whether Ray would join the last cluster of this machine, and that one is gone: Ray would wait for it."""
    path = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray" / "ray_current_cluster"
    try:
        address = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return False
    return ":" in address and silence(address, REACHED) is not None


def silence(address: str, seconds: float) -> str | None:
    """What the program at HOST:PORT does instead of speaking HTTP/2, as Ray does; None if it speaks that."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=seconds) as line:
            if os.environ.get("RAY_USE_TLS", "0").lower() not in ("0", "false"):
                return None  # what is said is encrypted
            return _first_words(line, seconds)
    except (OSError, OverflowError) as e:
        return getattr(e, "strerror", None) or str(e)


def _first_words(line: socket.socket, seconds: float) -> str | None:
    said = b""
    line.sendall(PREFACE)
    try:
        while len(said) < HEADER and (more := line.recv(HEADER - len(said))):
            said += more
    except TimeoutError:
        return f"the program that listens there has said nothing for {seconds:g} s"
    if len(said) == HEADER and said[3] == SETTINGS:
        return None
    return f"another program listens there, which answers {said!r}"
