"""Engines: the same answers by every engine, each file whole or absent, and a second run does what is missing."""

import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow
import pytest
from pyarrow import parquet

from chaffinch import Classifier, Tagger
from chaffinch.engines import InProcess, Processes, engine_named, prediction, processes, ray_engine, ray_head
from chaffinch.engines.arrow import ArrowPredictor
from chaffinch.engines.engine import EngineError
from chaffinch.errors import ConfigError, DataError
from chaffinch.kinds.requests import PredictRequest
from commandline import run  # noqa: F401
from engine_jobs import Meeting, Parent, Squares

BEFORE = set(os.environ)
WORDS = [["Ann", "went", "home"], ["Bob", "saw", "Ann", "."], ["the", "dog", "barks"]]
TAGS = [["B-PER", "O", "O"], ["B-PER", "O", "B-PER", "O"], ["O", "O", "O"]]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "tags.chaff"
    Tagger("crf", folds=0, features=["w[0]", "w[-1]"]).fit(WORDS * 3, TAGS * 3).save(path)
    return path


def corpus(folder, files=4):
    for n in range(files):
        text = "".join("".join(f"{w}\n" for w in s) + "\n" for s in WORDS * (n + 1))
        (folder / f"part{n}.conll").write_text(text)
    (folder / "out").mkdir()
    return str(folder / "part*.conll"), folder / "out"


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


def test_a_job_that_cannot_be_opened_fails_with_its_own_error(model, tmp_path):
    request = PredictRequest(data=tmp_path / "a.conll", output=tmp_path / "b.conll", threads=1)
    job = prediction.FilePrediction(model, "of another file", request)
    for engine in (InProcess(), Processes(1)):
        with pytest.raises(DataError, match=r"tags\.chaff: has changed since the work began"):
            list(engine.map(job, [(tmp_path / "a.conll", tmp_path / "b.conll")]))


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


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_files_are_answered_as_without_an_engine(model, tmp_path, run, engine):  # noqa: F811
    pattern, out = corpus(tmp_path, 2)
    (tmp_path / "plain").mkdir()
    run("predict", str(model), pattern, "-o", str(tmp_path / "plain"))
    outcome = run("predict", str(model), pattern, "-o", str(out), "--engine", engine, "--workers", "2")
    assert outcome.code == 0, outcome.err
    for path in (tmp_path / "plain").iterdir():
        assert (out / path.name).read_bytes() == path.read_bytes()


def test_a_second_run_does_what_is_missing(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path)
    ask = ["predict", str(model), pattern, "-o", str(out), "--engine", "threads"]
    assert run(*ask).err == ""
    times = {path.name: path.stat().st_mtime_ns for path in out.glob("*.conll")}
    answers = (out / "part1.conll").read_bytes()
    (out / "part1.conll").unlink()
    os.utime(tmp_path / "part2.conll", ns=(1, 1))  # changed since
    assert "2 of 4 files were predicted before" in run(*ask).err
    assert (out / "part1.conll").read_bytes() == answers
    again = {path.name: path.stat().st_mtime_ns for path in out.glob("*.conll")}
    assert {name for name in times if times[name] == again[name]} == {"part0.conll", "part3.conll"}
    assert run(*ask, "--marginals").err.count("predicted before") == 0  # another question


def test_a_manifest_that_cannot_be_trusted_is_told_and_not_used(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path, 1)
    manifest = out / "manifest.json"
    ask = ["predict", str(model), pattern, "-o", str(out), "--engine", "threads"]
    assert run(*ask).err == ""
    whole, answers = manifest.read_text(), (out / "part0.conll").read_bytes()
    for text, told in (
        (whole[:-9], "manifest.json: is damaged ("),
        (
            whole.replace('"version": 1', '"version": 2'),
            "expected version 1, found 2, so every file is predicted",
        ),
    ):
        manifest.write_text(text)
        (out / "part0.conll").write_bytes(b"?" * (out / "part0.conll").stat().st_size)
        said = run(*ask).err
        assert told in said
        assert "predicted before" not in said
        assert (out / "part0.conll").read_bytes() == answers
        assert manifest.read_text() == whole
    manifest.write_text(whole.replace(' "version": 1\n', ' "other": 1\n'))  # as before manifests had versions
    assert "1 of 1 files were predicted before" in run(*ask).err
    manifest.write_text('{"name": "of another program"}')
    refused = run(*ask)
    assert refused.code == 2
    assert "is not the record of predictions that --engine writes" in refused.err
    assert manifest.read_text() == '{"name": "of another program"}'


def test_answers_of_earlier_runs_beside_those_of_this_run_are_told(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path, 3)
    ask = ["predict", str(model), pattern, "-o", str(out), "--engine", "threads"]
    assert run(*ask).err == ""
    (tmp_path / "part2.conll").unlink()
    assert f"1 file of earlier runs in {out} holds answers to inputs that are gone" in run(*ask).err
    (tmp_path / "part1.conll").unlink()
    for _ in range(2):  # a second run does not forget them
        told = run(*ask, "--marginals").err
        assert f"2 files of earlier runs in {out} hold answers of another model or other settings" in told
        assert "such as part1.conll" in told
    (out / "part1.conll").unlink()
    (out / "part2.conll").unlink()
    assert "earlier runs" not in run(*ask, "--marginals").err


def test_files_are_predicted_again_if_the_model_or_the_rules_have_changed(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path, 1)
    rules, other = tmp_path / "rules.toml", tmp_path / "other.chaff"
    other.write_bytes(model.read_bytes())
    ask = ["predict", str(other), pattern, "-o", str(out), "--engine", "threads"]
    assert run(*ask).err == ""
    assert b"B-PER" in (out / "part0.conll").read_bytes()
    Tagger("hmm", folds=0).fit(WORDS, [["O"] * len(s) for s in WORDS]).save(other)
    assert run(*ask).err == ""
    assert b"B-PER" not in (out / "part0.conll").read_bytes()
    ask[1] = str(model)
    rules.write_text('never = [["PER", "PER"]]\n')
    assert run(*ask, "--rules", str(rules)).err == ""
    assert (out / "part0.conll").read_bytes().count(b"B-PER") == 4
    assert "1 of 1 files were predicted before" in run(*ask, "--rules", str(rules)).err
    rules.write_text('once = ["PER"]\n')
    assert run(*ask, "--rules", str(rules)).err == ""
    assert (out / "part0.conll").read_bytes().count(b"B-PER") == 3
    gone = run(*ask, "--rules", str(tmp_path / "none.toml"))
    assert gone.code == 2
    assert "none.toml: cannot be read: No such file" in gone.err


def test_inputs_of_one_name_do_not_replace_each_other_silently(model, tmp_path, run):  # noqa: F811
    for n, name in enumerate("ab"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.conll").write_text("".join(f"{w}\n" for w in WORDS[n]) + "\n")
    ask = ["predict", str(model), str(tmp_path / "?" / "same.conll"), "-o", str(tmp_path / "out")]
    together = run(*ask, "--engine", "threads")  # the pattern is that of the folders
    assert together.code == 2
    assert "needs input files of different names" in together.err
    ask[2] = str(tmp_path / "a" / "same.conll")
    assert run(*ask, "--engine", "threads").err == ""
    assert "another input" not in run(*ask, "--engine", "threads", "--marginals").err  # by other options
    ask[2] = str(tmp_path / "b" / "same.conll")
    told = run(*ask, "--engine", "threads").err
    assert f"1 file in {tmp_path / 'out'} held the answers to another input" in told
    assert str(tmp_path / "a" / "same.conll") in told


def test_an_engine_does_not_replace_its_input_by_the_answers(model, tmp_path, run):  # noqa: F811
    corpus(tmp_path, 1)
    before = (tmp_path / "part0.conll").read_bytes()
    outcome = run("predict", str(model), tmp_path / "part0.conll", "-o", tmp_path, "--engine", "threads")
    assert outcome.code == 2
    assert "part0.conll: is an input too; name another folder" in outcome.err
    assert (tmp_path / "part0.conll").read_bytes() == before


def test_an_empty_file_is_no_parquet(stars, tmp_path, run):  # noqa: F811
    """An upload that was cut off: answers without rows would pass for those of a table without rows."""
    (tmp_path / "a.parquet").touch()
    outcome = run("predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 2
    assert "a.parquet: is not a readable Parquet file" in outcome.err
    assert not (tmp_path / "out" / "a.parquet").exists()


def test_an_engine_needs_a_folder(model, tmp_path, run):  # noqa: F811
    pattern, _ = corpus(tmp_path)
    outcome = run("predict", str(model), pattern, "-o", str(tmp_path / "one.conll"), "--engine", "threads")
    assert outcome.code == 2
    assert "--engine needs a folder as -o" in outcome.err
    outcome = run("predict", str(model), str(tmp_path / "part0.conll"), "-o", "-", "--engine", "threads")
    assert "--engine needs input files and, as -o, a folder" in outcome.err
    assert (
        run("predict", str(model), pattern, "-o", str(tmp_path / "a" / "b"), "--engine", "threads").code == 0
    )
    assert (tmp_path / "a" / "b" / "part3.conll").is_file()


def test_a_predictor_of_batches_travels(model, tmp_path):
    table = pyarrow.table({"id": [1, 2], "tokens": WORDS[:2]})
    predictor = pickle.loads(pickle.dumps(ArrowPredictor(str(model), "tokens", "tags")))
    found = predictor(table)
    assert found.column_names == ["id", "tokens", "tags"]
    assert found.column("tags").to_pylist() == TAGS[:2]
    batch = predictor(table.to_batches()[0])
    assert isinstance(batch, pyarrow.RecordBatch)
    assert batch.column("tags").to_pylist() == TAGS[:2]
    with pytest.raises(DataError, match="expected a column 'tokens', found id"):
        predictor(table.select(["id"]))
    texts = ["good food", "very good", "bad soup", "awful"] * 4
    Classifier("ridge", choose=False).fit(texts, ["+", "+", "-", "-"] * 4).save(tmp_path / "t.chaff")
    read = ArrowPredictor(str(tmp_path / "t.chaff"), confidence="p")(
        pyarrow.table({"text": ["good", "bad soup"]})
    )
    assert read.column("prediction").to_pylist() == ["+", "-"]
    assert all(0.5 <= p <= 1 for p in read.column("p").to_pylist())


def test_two_runs_do_not_write_to_the_same_folder(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path, 2)
    ask = ["predict", str(model), pattern, "-o", str(out), "--engine", "threads"]
    with prediction._alone_in(out):
        outcome = run(*ask)
    assert outcome.code == 2
    assert "another run is writing here" in outcome.err
    assert not list(out.iterdir())
    assert run(*ask).code == 0


def test_what_a_killed_run_has_left_unfinished_is_removed(model, tmp_path, run):  # noqa: F811
    pattern, out = corpus(tmp_path, 2)
    for name in (".part0.conll.12.partx1", ".manifest.json.12.parta1", ".part9.conll.12.partx1", "notes.txt"):
        (out / name).touch()
    assert run("predict", str(model), pattern, "-o", str(out), "--engine", "threads").code == 0
    found = {path.name for path in out.iterdir()}
    assert found == {"part0.conll", "part1.conll", ".part9.conll.12.partx1", "notes.txt", "manifest.json"}


class Losing(InProcess):
    """An engine that loses a worker at the first file; another one predicts it."""

    def map(self, job, shards):
        _, output = shards[0]
        (output.parent / f".{output.name}.12.partx1").touch()
        yield from super().map(job, shards)


def test_what_a_killed_worker_has_left_unfinished_is_removed(model, tmp_path):
    _, out = corpus(tmp_path, 1)
    pairs = [(tmp_path / "part0.conll", out / "part0.conll")]
    request = PredictRequest(data=pairs[0][0], output=pairs[0][1], threads=1)
    job = prediction.FilePrediction(model, prediction.digest_of(model), request)
    assert len(list(prediction.predict_files(job, pairs, Losing()))) == 1
    assert {path.name for path in out.iterdir()} == {"part0.conll", "manifest.json"}


class Cut:
    """An engine that is killed after its first answers were written, before they are recorded."""

    def map(self, job, shards):
        _, output = shards[0]
        output.write_bytes(b"?" * output.stat().st_size)
        raise KeyboardInterrupt
        yield


def test_answers_of_another_model_do_not_pass_for_those_of_the_first(model, tmp_path):
    _, out = corpus(tmp_path, 2)
    pairs = [(tmp_path / f"part{n}.conll", out / f"part{n}.conll") for n in range(2)]
    request = PredictRequest(data=pairs[0][0], output=pairs[0][1], threads=1)
    job = prediction.FilePrediction(model, prediction.digest_of(model), request)
    list(prediction.predict_files(job, pairs, InProcess()))
    expected = pairs[0][1].read_bytes()
    with pytest.raises(KeyboardInterrupt):
        list(prediction.predict_files(replace(job, digest="of another"), pairs, Cut()))
    assert not any(known for _, known in prediction.predict_files(job, pairs, InProcess()))
    assert pairs[0][1].read_bytes() == expected


@pytest.fixture(scope="module")
def stars(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "t.chaff"
    texts = ["good food", "very good", "bad soup", "awful"] * 4
    Classifier("ridge", choose=False, calibrate=False).fit(texts, ["+", "+", "-", "-"] * 4).save(path)
    return path


TABLES = {
    "dictionary": pyarrow.array(["good", "bad"]).dictionary_encode(),
    "large": pyarrow.array(["good", "bad"], pyarrow.large_string()),
    "none": pyarrow.array([], pyarrow.string()),
    "null": pyarrow.array(["good", None, "bad"]),
    "bytes": pyarrow.array([b"good"]),
    "lists": pyarrow.array([["good"], ["bad"]]),
}


@pytest.mark.parametrize(
    ("name", "answers"),
    [("dictionary", ["+", "-"]), ("large", ["+", "-"]), ("none", [])],
)
def test_tables_of_every_kind_of_string_are_answered(stars, tmp_path, run, name, answers):  # noqa: F811
    parquet.write_table(pyarrow.table({"text": TABLES[name]}), tmp_path / "a.parquet")
    outcome = run("predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 0, outcome.err
    rows = parquet.read_table(tmp_path / "out" / "a.parquet").to_pylist()
    assert [row["prediction"] for row in rows] == answers


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("null", "row 2: expected 'text' to be a string, found null"),
        ("bytes", "row 1: expected 'text' to be a string, found \"b'good'\""),
        ("lists", "row 1: expected 'text' to be a string, found [\"good\"]"),
    ],
)
def test_cells_that_are_no_text_are_refused_with_their_row(stars, tmp_path, run, name, message):  # noqa: F811
    parquet.write_table(pyarrow.table({"text": TABLES[name]}), tmp_path / "a.parquet")
    outcome = run("predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 2
    assert f"a.parquet: {message}" in outcome.err
    assert not (tmp_path / "out" / "a.parquet").exists()


def test_a_table_without_a_column_of_texts_is_refused_by_its_name(stars, tmp_path, run):  # noqa: F811
    parquet.write_table(pyarrow.table({"author": ["Ann"], "n": [1]}), tmp_path / "a.parquet")
    outcome = run("predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 2
    told = "a.parquet: none of the columns 'author', 'n' is known to hold the text; name it with --text"
    assert outcome.err.strip().endswith(told)


def test_a_row_without_tokens_is_not_an_empty_sentence(model, tmp_path, run):  # noqa: F811
    parquet.write_table(pyarrow.table({"tokens": [WORDS[0], None]}), tmp_path / "a.parquet")
    outcome = run("predict", model, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 2
    assert "row 2: expected 'tokens' to be a list of words, found null" in outcome.err


def test_labels_of_a_table_may_be_dates(stars, tmp_path, run):  # noqa: F811
    cells = {"text": ["good", "bad"], "label": pyarrow.array([0, 1], pyarrow.date32())}
    parquet.write_table(pyarrow.table(cells), tmp_path / "a.parquet")
    outcome = run("predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--engine", "threads")
    assert outcome.code == 0, outcome.err
    rows = parquet.read_table(tmp_path / "out" / "a.parquet").to_pylist()
    assert [row["labels"] for row in rows] == [["1970-01-01"], ["1970-01-02"]]


def test_what_workers_have_to_say_is_said_by_the_command(stars, tmp_path, run):  # noqa: F811
    parquet.write_table(pyarrow.table({"text": TABLES["null"]}), tmp_path / "a.parquet")
    ask = ["predict", stars, tmp_path / "a.parquet", "-o", tmp_path / "out", "--on-error", "skip"]
    for engine in ("threads", "processes"):
        outcome = run(*ask, "--engine", engine)
        assert outcome.err.startswith("chaffinch: 1 row could not be read and was left out"), engine
        (tmp_path / "out" / "manifest.json").unlink()
