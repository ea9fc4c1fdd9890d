"""What an engine costs: tasks of 30 s, 400,000 rows of Parquet, training in shards, and a node that is killed.

    python -m benchmarks.engines                  all, about 5 minutes
    python -m benchmarks.engines --only parquet   one of: tasks, parquet, training, killed
    python -m benchmarks.engines --seconds 3      shorter tasks

Each part compares an engine with the same work in this process, by the clock (which the bars are for) and by CPU
seconds. The clock needs a machine with nothing else to do; CPU seconds are those of this process and its descendants,
which include Ray's nodes and workers.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORKERS = 2
SHARDS = 8
ROWS, FILES = 400_000, 20
BARS = {"tasks": 0.15, "parquet processes": 0.20, "parquet ray": 0.50}
STALL = 20.0  # seconds at most, when a node is killed


@dataclass(frozen=True)
class Row:
    """One measurement.

    over:  extra time by the clock, as a share of that of the work in this process; bar: its upper limit
    extra: the same for CPU seconds
    """

    name: str
    wall_s: float
    cpu_s: float | None = None
    over: float | None = None
    extra: float | None = None
    bar: float | None = None
    missed: bool = False

    @classmethod
    def beside(cls, first: "Row", name: str, wall: float, cpu: float, bar: float | None = None) -> "Row":
        """A measurement compared with that of the same work in this process."""
        over = wall / first.wall_s - 1
        assert first.cpu_s is not None
        return cls(name, wall, cpu, over, cpu / first.cpu_s - 1, bar, bar is not None and over > bar)

    @classmethod
    def stall(cls, name: str, seconds: float) -> "Row":
        """The longest wait for a result after a node was killed."""
        return cls(f"{name} (at most {STALL:.0f} s)", seconds, missed=seconds > STALL)

    def shown(self) -> str:
        """The row of the table."""
        cpu = "" if self.cpu_s is None else f"{self.cpu_s:8.2f} CPU s"
        shares = (
            ""
            if self.over is None
            else f"{100 * self.over:+7.1f} % clock {100 * (self.extra or 0):+7.1f} % CPU"
        )
        bar = "" if self.bar is None else f"  at most {100 * self.bar:.0f} %"
        return f"{self.name:44s} {self.wall_s:8.2f} s {cpu} {shares}{bar}{'  MISSED' if self.missed else ''}".rstrip()


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU seconds of a call; CPU of this process and its descendants."""
    with TreeCpu() as cpu:
        wall = time.perf_counter()
        work()
        wall = time.perf_counter() - wall
    return wall, cpu.seconds


class TreeCpu:
    """CPU seconds of this process and of all that descend from it while it is open (Linux).

    Each process is sampled repeatedly, and its last sample counts after it has ended: the operating system adds the
    time of a process to that of its parent only if the parent waits for it, which Ray does not. CPU time after the
    last sample is lost.
    """

    def __init__(self, every: float = 0.1) -> None:
        self.seconds, self._every, self._done = 0.0, every, threading.Event()
        self._first: dict[
            tuple[int, int], int
        ] = {}  # by process and its time of birth: ticks when this began
        self._last: dict[tuple[int, int], int] = {}

    def __enter__(self) -> "TreeCpu":
        self._look()
        self._first = dict(self._last)
        self._watch = threading.Thread(target=self._keep_looking, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watch.join()
        self._look()
        ticks = sum(last - self._first.get(who, 0) for who, last in self._last.items())
        self.seconds = ticks / os.sysconf("SC_CLK_TCK")

    def _keep_looking(self) -> None:
        while not self._done.wait(self._every):
            self._look()

    def _look(self) -> None:
        children: dict[int, list[int]] = {}
        found: dict[int, tuple[int, int]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                facts = path.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            pid = int(path.parent.name)
            children.setdefault(int(facts[1]), []).append(pid)
            found[pid] = int(facts[19]), int(facts[11]) + int(facts[12])  # born; user and system
        todo = [os.getpid(), *(pid for pid, born in self._last if pid in found and found[pid][0] == born)]
        seen: set[int] = set()
        while todo:
            pid = todo.pop()
            if pid not in seen and pid in found:
                seen.add(pid)
                born, ticks = found[pid]
                self._last[pid, born] = ticks
                todo += children.get(pid, [])


@dataclass(frozen=True)
class Spin:
    """Tasks that compute for a while: ``rounds`` matrix products."""

    rounds: int

    def open(self) -> NDArray[np.float64]:
        """A matrix."""
        return np.random.default_rng(0).normal(size=(128, 128))

    def run(self, state: NDArray[np.float64], shard: int) -> float:
        """One task."""
        found = state
        for _ in range(self.rounds):
            found = np.tanh(state @ found)
        return float(found.sum()) + shard


def tasks(seconds: float) -> list[Row]:
    """Two tasks of ``seconds`` each on two workers, against two threads of this process."""
    from concurrent.futures import ThreadPoolExecutor

    from chaffinch.engines import Processes, engine_named

    state = Spin(1).open()
    cpu = time.process_time()
    Spin(500).run(state, 0)
    job = Spin(max(1, int(500 * seconds / max(time.process_time() - cpu, 1e-9))))

    def bare() -> None:
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(lambda shard: job.run(state, shard), range(WORKERS)))

    rows = [Row("tasks, threads of this process", *timed(bare))]
    engines = {"processes": Processes(WORKERS), "ray, warm": engine_named("ray", WORKERS)}
    for name, engine in engines.items():
        if name != "processes":
            list(engine.map(Spin(1), range(WORKERS)))
        wall, used = timed(lambda engine=engine: list(engine.map(job, range(WORKERS))))  # type: ignore[misc]
        rows.append(Row.beside(rows[0], f"tasks, {name}", wall, used, BARS["tasks"]))
    return rows


def parquet() -> list[Row]:
    """Rows of Parquet answered by a classifier of texts, against a loop over the files with two threads."""
    import pyarrow
    import pyarrow.parquet as pq

    from chaffinch import Classifier, load
    from chaffinch.engines import Processes, engine_named
    from chaffinch.engines.prediction import FilePrediction, digest_of, predict_files
    from chaffinch.kinds import kind_of_model
    from chaffinch.kinds.requests import PredictRequest
    from chaffinch.kinds.streaming import predict_file

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        chance = random.Random(0)
        words = [f"word{n}" for n in range(5000)]
        texts = [" ".join(chance.choices(words, k=12)) for _ in range(ROWS // FILES)]
        labels = ["+" if "word1" in t else "-" for t in texts]
        model = folder / "m.chaff"
        Classifier("logistic", calibrate=False).fit(texts[:4000], labels[:4000]).save(model)
        inputs = []
        for n in range(FILES):
            inputs.append(folder / f"part{n:02d}.parquet")
            pq.write_table(pyarrow.table({"text": texts}), inputs[-1])
        request = PredictRequest(data=inputs[0], output=inputs[0], threads=WORKERS)

        def bare(out: Path, files: Sequence[Path] = inputs) -> None:
            loaded = load(model)
            kind = kind_of_model(loaded)
            for path in files:
                predict_file(kind, loaded, replace(request, data=path, output=out / path.name), "stop")

        def by(engine: Any, out: Path, files: Sequence[Path] = inputs) -> None:
            job = FilePrediction(model, digest_of(model), replace(request, threads=1))
            pairs = [(path, out / path.name) for path in files]
            assert len(list(predict_files(job, pairs, engine))) == len(files)

        def out(name: str) -> Path:
            (folder / name).mkdir()
            return folder / name

        bare(out("imports"), inputs[:1])  # imports on first use are not part of the loop
        where = out("bare")
        rows = [Row(f"{ROWS:,} rows, bare loop", *timed(lambda: bare(where)))]
        for name in ("processes", "ray"):
            engine = Processes(WORKERS) if name == "processes" else engine_named("ray", WORKERS)
            if name == "ray":  # warm: its processes run and have the model
                by(engine, out("warming"), inputs[: 2 * WORKERS])
            where = out(name)
            wall, used = timed(lambda engine=engine, where=where: by(engine, where))  # type: ignore[misc]
            rows.append(Row.beside(rows[0], f"{ROWS:,} rows, {name}", wall, used, BARS[f"parquet {name}"]))
    return rows


def training(sentences: int = 1000) -> list[Row]:
    """A CRF in shards: the same shards in this process, in two processes and on two actors, and without shards."""
    from chaffinch import Tagger
    from chaffinch.engines import InProcess, Processes, engine_named
    from chaffinch.learners.shards import Sharding

    X, y = generated(sentences)
    rows: list[Row] = []
    files = set()
    engines: dict[str, Any] = {"": None, "threads": InProcess(WORKERS), "processes": Processes(WORKERS)}
    engines["ray"] = engine_named("ray", WORKERS)
    engines["ray"].broadcast(np.zeros(1))  # its nodes run; workers are started when they are needed
    for name, engine in engines.items():
        with tempfile.TemporaryDirectory() as folder:
            tagger = Tagger("crf", folds=0, threads=WORKERS)
            if engine is not None:
                tagger.sharding = Sharding(engine, Path(folder), SHARDS)
            wall, used = timed(lambda tagger=tagger: tagger.fit(X, y))  # type: ignore[misc]
            if engine is not None:
                engine.close()
                tagger.save(Path(folder) / "m.chaff")
                files.add((Path(folder) / "m.chaff").read_bytes())
        told = f"crf, {name or 'no shards'}, {len(tagger.history_)} passes"
        rows.append(Row(told, wall, used) if len(rows) < 2 else Row.beside(rows[1], told, wall, used))
    assert len(files) == 1, "engines have trained different bytes"
    return rows


def generated(sentences: int) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences whose labels depend on the word and on the label before."""
    chance = random.Random(0)
    X, y = [], []
    for _ in range(sentences):
        words = [f"w{int(chance.paretovariate(0.7)) % 5000}" for _ in range(chance.randint(5, 35))]
        labels: list[str] = []
        for word in words:
            state = (int(word[1:]) + len(labels[-1:] and labels[-1])) % 9
            labels.append(f"L{state}" if chance.random() < 0.9 else f"L{chance.randrange(9)}")
        X.append(words)
        y.append(labels)
    return X, y


@dataclass(frozen=True)
class Pause:
    """Tasks that wait."""

    seconds: float

    def open(self) -> None:
        """No state is needed."""

    def run(self, state: None, shard: int) -> int:
        """One task."""
        time.sleep(self.seconds)
        return shard


def killed() -> list[Row]:
    """A node that is killed in training and in prediction: the longest time between two passes, or two results."""
    import ray
    from ray.cluster_utils import Cluster

    from chaffinch import Tagger
    from chaffinch.engines.ray_engine import RayEngine
    from chaffinch.learners.shards import Sharding

    if ray.is_initialized():
        ray.shutdown()
    head = {"num_cpus": 0, "include_dashboard": False}
    try:
        cluster = Cluster(initialize_head=True, head_node_args=head)
    except Exception:  # a busy machine may need a second attempt; Ray raises no narrower one
        cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(num_cpus=1)
    victims = [cluster.add_node(num_cpus=1)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    X, y = generated(300)
    times: list[float] = []

    def watch(progress: Any) -> bool:
        times.append(time.perf_counter())
        if progress.done == 3:
            cluster.remove_node(victims[0], allow_graceful=False)
        return True

    with tempfile.TemporaryDirectory() as folder:
        tagger = Tagger("crf", folds=0, threads=1)
        engine = RayEngine()
        tagger.sharding = Sharding(engine, Path(folder), SHARDS)
        tagger.fit(X, y, on_epoch=watch)
        engine.close()
    gaps = np.diff(times)
    rows = [
        Row("training, a pass, as a rule", float(np.median(gaps))),
        Row.stall("training, the pass of the loss", float(gaps.max())),
    ]
    victims = [cluster.add_node(num_cpus=1)]
    while ray.available_resources().get("CPU", 0) != 2:
        time.sleep(0.1)
    times = [time.perf_counter()]
    for _ in RayEngine().map(Pause(1.0), range(12)):
        times.append(time.perf_counter())
        if len(times) == 4:
            cluster.remove_node(victims[0], allow_graceful=False)
    ray.shutdown()
    cluster.shutdown()
    return [*rows, Row.stall("prediction, tasks of 1 s, the longest wait", float(np.diff(times)[3:].max()))]


def main() -> int:
    """Run the requested parts; 1 if a bar is missed."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--only", choices=("tasks", "parquet", "training", "killed"))
    asked.add_argument("--seconds", type=float, default=30.0)
    asked.add_argument("--out", type=Path, help="append the measurements as a line of JSON")
    given = asked.parse_args()
    parts = {
        "tasks": lambda: tasks(given.seconds),
        "parquet": parquet,
        "training": training,
        "killed": killed,
    }
    rows: list[Row] = []
    for name, part in parts.items():
        if given.only in (None, name):
            for row in part():
                print(row.shown(), flush=True)
                rows.append(row)
    if given.out is not None:
        with given.out.open("a") as stream:
            stream.write(json.dumps([vars(row) for row in rows]) + "\n")
    return int(any(row.missed for row in rows))


if __name__ == "__main__":
    if "OPENBLAS_NUM_THREADS" not in os.environ:  # before NumPy reads it
        os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.engines", *sys.argv[1:]])
    sys.exit(main())
