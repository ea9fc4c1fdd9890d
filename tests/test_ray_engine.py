"""The engine of Ray: clusters that cannot be reached, heads and workers that are lost, tasks that are late."""

import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from chaffinch.engines import engine_named, ray_engine, ray_head
from chaffinch.engines.engine import EngineError
from engine_jobs import Squares


def test_a_cluster_that_does_not_start_is_an_error(monkeypatch):
    def init(**_):
        raise Exception("The current node timed out during startup.\nMore of it.")

    fake = SimpleNamespace(is_initialized=lambda: False, init=init)
    monkeypatch.setitem(sys.modules, "ray", fake)
    with pytest.raises(
        EngineError, match=r"could not be started or reached: The current node timed out during startup\.$"
    ):
        engine_named("ray").broadcast(1)


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_cluster_that_nobody_runs_is_an_error_at_once(monkeypatch, scheme):
    """Ray itself waits for minutes."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, so nobody else has it, and not listening
        address = f"{scheme}127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False))
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(
            EngineError, match=rf"no Ray cluster answers at {address}: .*refused; RAY_ADDRESS names"
        ):
            engine_named("ray").broadcast(1)


@contextmanager
def listening(answer):
    """The address of a program that answers every connection with some bytes, until this ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            while True:
                try:
                    line, _ = server.accept()
                except OSError:  # closed
                    return
                with line:
                    line.recv(100)
                    line.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


SETTINGS_FRAME = bytes(
    [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 127, 255, 255, 255]
)  # what a server of HTTP/2 says first


def test_another_program_at_the_address_of_a_cluster_is_an_error_that_shows_its_answer(monkeypatch):
    """Ray itself waits for minutes, or for ever."""
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False))
    with listening(b"HTTP/1.0 505 Not supported") as address:
        told = rf"no Ray cluster answers at {address}: another program listens there, .* b'HTTP/1.0 '; RAY_ADDRESS"
        with pytest.raises(EngineError, match=told):
            ray_engine.RayEngine(address=address).broadcast(1)
    monkeypatch.setattr(ray_head, "REACHED", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EngineError, match=r"has said nothing for 0\.1 s"):
            ray_head.refuse_unreachable(address)
    with listening(SETTINGS_FRAME) as address:
        ray_head.refuse_unreachable(address)
        ray_head.refuse_unreachable(f"ray://{address}")


THROUGH_A_PROXY = SimpleNamespace(client=SimpleNamespace(ray=SimpleNamespace(is_connected=lambda: True)))


def lost_quickly(monkeypatch, shutdown):
    for name, value in {"LOST": 0.1, "BETWEEN": 0.0, "PAUSE": 0.01, "GOODBYE": 0.05}.items():
        monkeypatch.setattr(ray_head, name, value)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(shutdown=shutdown))


def test_a_lost_head_ends_a_call_that_waits_for_it(monkeypatch):
    left, never = [], threading.Event()
    lost_quickly(monkeypatch, lambda: left.append(True))
    with listening(SETTINGS_FRAME) as address:
        head = ray_head.Head(address)
        assert head.asked(lambda: 3) == 3
        with pytest.raises(KeyError):
            head.asked({}.popitem)
    started = time.monotonic()
    with pytest.raises(
        EngineError, match=rf"head node .* {address} has not answered .*; start the cluster"
    ) as told:
        head.asked(never.wait)
    assert time.monotonic() - started < 10
    assert left == [True]
    assert not told.value.stuck
    never.set()


def keep_checking(head):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        head.check()
        time.sleep(0.01)


def test_a_lost_head_that_ray_cannot_leave_is_said_to_be_stuck(monkeypatch):
    never = threading.Event()
    lost_quickly(monkeypatch, never.wait)
    with listening(SETTINGS_FRAME) as address:
        head = ray_head.Head(address)
        assert head.answers()
    with pytest.raises(EngineError, match="has not answered") as told:
        keep_checking(head)
    assert told.value.stuck
    never.set()


def test_workers_of_a_lost_head_are_not_ended_by_calls_that_would_wait_for_it(monkeypatch):
    lost_quickly(monkeypatch, lambda: None)
    engine, killed = ray_engine.RayEngine(), []
    monkeypatch.setattr(ray_engine, "_end", killed.append)
    engine._actors = ["first"]
    engine.close()
    assert killed == ["first"]
    with listening(SETTINGS_FRAME) as address:
        engine._head, engine._actors = ray_head.Head(address), ["second"]
        assert engine._head.answers()
    with pytest.raises(EngineError, match="has not answered"):
        keep_checking(engine._head)
    engine.close()
    assert (killed, engine._actors) == (["first"], [])


def test_the_command_ends_at_once_if_an_engine_is_stuck(tmp_path):
    """Threads that Ray leaves behind would hang it, or crash it with another exit code."""
    (tmp_path / "command.py").write_text(
        "import atexit\n"
        "from chaffinch import cli\n"
        "from chaffinch.engines.engine import EngineError\n"
        "atexit.register(print, 'not at once')\n"
        "def app(**_): raise EngineError('the head is lost', stuck=True)\n"
        "cli.typer.main.get_command = lambda _: app\n"
        "cli.main()\n"
    )
    ended = subprocess.run(
        [sys.executable, str(tmp_path / "command.py")], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", "chaffinch: the head is lost\n")


@pytest.mark.parametrize("address", [None, "1.2.3.4"])  # without a port: a name that only Ray knows
def test_more_workers_than_cores_are_an_error_that_names_both(monkeypatch, address):
    fake = SimpleNamespace(
        is_initialized=lambda: False,
        init=lambda **_: None,
        cluster_resources=lambda: {"CPU": 2.0},
        util=THROUGH_A_PROXY,
    )
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    engine = ray_engine.RayEngine(64, address, patience=0.3)
    with pytest.raises(
        EngineError, match=r"64 workers need 64 CPU, and the cluster has 2; .*at most 2 workers"
    ):
        engine.broadcast(1)


@pytest.mark.parametrize("last", [None, "", "\xff", "dead"])
def test_the_last_cluster_of_the_machine_is_not_waited_for_if_it_is_gone(monkeypatch, tmp_path, last):
    given = []
    fake = SimpleNamespace(
        is_initialized=lambda: False,
        init=lambda **how: given.append(how["address"]),
        cluster_resources=lambda: {"CPU": 2.0},
        put=lambda value: value,
        util=THROUGH_A_PROXY,
    )
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as free:
        gone = "{}:{}".format(*free.getsockname())
    if last is not None:
        (tmp_path / "ray").mkdir()
        (tmp_path / "ray" / "ray_current_cluster").write_bytes(
            (gone if last == "dead" else last).encode("latin-1")
        )
    ray_engine.RayEngine().broadcast(1)
    assert given == ["local" if last == "dead" else None]


class FakeRay:
    """As much of Ray as ``map`` calls; the first task of the shard ``stuck`` never ends."""

    exceptions = SimpleNamespace(RayTaskError=OSError, RayError=OSError)
    util = THROUGH_A_PROXY

    def __init__(self, stuck):
        self.stuck, self.calls, self.cancelled = stuck, [], []

    def is_initialized(self):
        return True

    def cluster_resources(self):
        return {"CPU": 2}

    def put(self, value):
        return value

    def remote(self, **_):
        def made(call):
            def start(*given):
                self.calls.append(given)
                return len(self.calls) - 1, call, given

            return SimpleNamespace(remote=start)

        return made

    def wait(self, references, timeout):
        first = next((n for n, given in enumerate(self.calls) if given and given[1] == self.stuck), None)
        return [ref for ref in references if ref[0] != first], []

    def get(self, reference):
        _, call, given = reference
        return call(*given)

    def cancel(self, reference):
        self.cancelled.append(reference)


def test_a_late_task_is_given_to_a_second_worker_and_counts_once(monkeypatch):
    fake = FakeRay(stuck=3)
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(ray_engine, "AGAIN", -1.0)
    found = list(ray_engine.RayEngine().map(Squares(), range(6)))
    assert sorted(found) == [(n, n * n) for n in range(6)]
    given = [call[1] for call in fake.calls if call]
    assert given.count(3) == 2
    assert all(given.count(n) <= 2 for n in range(6))
    assert [ref[2][1] for ref in fake.cancelled if ref[2][1] == 3] == [3]


class LosingRay:
    """As much of Ray as the start of actors calls; the first ``lost`` actors are put on a dead node."""

    exceptions = SimpleNamespace(RayError=OSError)

    def __init__(self, lost):
        self.lost, self.started = lost, 0

    def available_resources(self):
        return {"CPU": 2}  # as Ray says until it has noticed the loss

    cluster_resources = available_resources

    def remote(self, **_):
        return lambda kind: SimpleNamespace(remote=self.start)

    def start(self):
        self.started += 1
        number = self.started
        return SimpleNamespace(ready=SimpleNamespace(remote=lambda: number))

    def wait(self, references, timeout):
        return references, []

    def get(self, reference):
        if reference <= self.lost:
            raise OSError("the actor died")

    def kill(self, actor):
        raise AssertionError("nothing is left to be ended")


def test_workers_are_started_again_if_all_were_put_on_a_lost_node(monkeypatch):
    monkeypatch.setattr(ray_engine, "PAUSE", 0.0)
    engine = ray_engine.RayEngine()
    fake = LosingRay(lost=5)
    engine._gather(fake, 2)
    assert fake.started == 6
    assert len(engine._actors) == 1
    with pytest.raises(EngineError, match=r"no worker could start within 0\.1 s: a task needs 1 CPU"):
        ray_engine.RayEngine(patience=0.1)._gather(LosingRay(lost=10**9), 2)
