"""Engines: every engine gives every result, and the shards of a worker that dies are done by others."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from chaffinch.engines import InProcess, Processes, engine_named, processes
from chaffinch.engines.engine import EngineError
from chaffinch.errors import ConfigError, DataError
from engine_jobs import Meeting, Parent, Squares

BEFORE = set(os.environ)


def test_every_engine_gives_every_result():
    for engine in (InProcess(), Processes(2)):
        assert dict(engine.map(Squares(), range(5))) == {n: n * n for n in range(5)}
        assert list(engine.map(Squares(), [])) == []
        with pytest.raises(DataError, match="not negative"):
            list(engine.map(Squares(), [1, -1]))


def test_shards_that_others_have_begun_are_finished_if_one_fails(tmp_path):
    """Otherwise a second run would do them again, although their answers are there."""
    results = Processes(2).map(Meeting(tmp_path), [-1, 1])
    assert next(results) == (1, 1)
    with pytest.raises(DataError, match="not negative"):
        next(results)


def test_the_shards_of_a_process_that_dies_are_done_by_others(tmp_path):
    (tmp_path / "once").touch()
    assert dict(Processes(2).map(Squares(3, tmp_path / "once"), range(6))) == {n: n * n for n in range(6)}


def test_workers_are_new_interpreters_if_the_system_cannot_fork_safely(monkeypatch):
    monkeypatch.setattr(processes, "sys", SimpleNamespace(platform="darwin"))
    ((_, (_, parent)),) = Processes(1).map(Parent(), [0])
    assert parent == os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers are new interpreters")
def test_workers_are_forked_by_a_server_without_threads():
    engine = Processes(1)
    results = engine.map(Parent(), [0, 1])
    _, (_, server) = next(results)
    assert server != os.getpid()
    assert len(os.listdir(f"/proc/{server}/task")) == 1
    assert len(list(results)) == 1
    assert not {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} & (set(os.environ) - BEFORE)


DRIVER = """
import os, signal
from chaffinch.engines import Processes
from engine_jobs import Parent

if __name__ == "__main__":
    for _, (worker, _) in Processes(2).map(Parent(), range(50)):
        print(worker, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_end_if_their_driver_is_killed(tmp_path):
    (tmp_path / "driver.py").write_text(DRIVER)
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    with (tmp_path / "told").open("w") as told:  # a file: workers that live on would keep a pipe open
        ended = subprocess.run(
            [sys.executable, str(tmp_path / "driver.py")], check=False, stdout=told, stderr=told, env=env
        )
    assert ended.returncode == -9, (tmp_path / "told").read_text()
    worker = int((tmp_path / "told").read_text().split()[0])
    end = time.monotonic() + 60
    while Path(f"/proc/{worker}").exists():
        assert time.monotonic() < end, "the worker waits for ever"
        time.sleep(0.05)


def test_processes_that_always_die_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("chaffinch.engines.processes.RESTARTS", 0)
    (tmp_path / "once").touch()
    with pytest.raises(EngineError, match=r"of 1 shards are left.*too little memory.*__main__"):
        list(Processes(1).map(Squares(3, tmp_path / "once"), [3]))


def test_an_unknown_engine_is_refused():
    with pytest.raises(ConfigError, match="threads, processes, ray"):
        engine_named("spark")
