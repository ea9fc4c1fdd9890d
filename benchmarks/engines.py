"""What an engine costs: tasks of 30 s, 400,000 rows of Parquet, training in shards, and a node that is killed.

    python -m benchmarks.engines                  all, about 15 minutes
    python -m benchmarks.engines --only parquet   one of: tasks, parquet, training, killed
    python -m benchmarks.engines --seconds 3      shorter tasks

Each part compares an engine with the same work in a bare loop of this process, by the clock: run it on a machine with
nothing else to do. On a busy one read the column of CPU seconds, which counts this process and its children; the
workers of Ray are not its children.
"""

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORKERS = 2
SHARDS = 8
ROWS = 400_000
BARS = {"tasks": 0.15, "parquet processes": 0.20, "parquet ray": 0.50, "killed": 20.0}


@dataclass(frozen=True)
class Row:
    """One measurement. over: share of the bare loop's time; bar: what it may be at most."""

    name: str
    wall_s: float
    cpu_s: float
    over: float | None = None
    bar: float | None = None

    def shown(self) -> str:
        """The row of the table."""
        over = "" if self.over is None else f"{100 * self.over:+7.1f} %"
        bar = "" if self.bar is None else f"at most {100 * self.bar:.0f} %"
        return f"{self.name:32s} {self.wall_s:8.2f} s {self.cpu_s:8.2f} CPU s {over:>10s}  {bar}"


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU seconds of a call, children included."""
    cpu, wall = _cpu(), time.perf_counter()
    work()
    return time.perf_counter() - wall, _cpu() - cpu


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


@dataclass(frozen=True)
class Spin:
    """Tasks that compute for a while: so many multiplications of matrices."""

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
        rows.append(Row(f"tasks, {name}", wall, used, wall / rows[0].wall_s - 1, BARS["tasks"]))
    return rows


def parquet() -> list[Row]:
    """Rows of Parquet answered by a classifier of texts, against a loop over the files with two threads."""
    import pyarrow
    import pyarrow.parquet as pq

    from chaffinch import Classifier
    from chaffinch.engines import FilePrediction, Processes, engine_named, predict_files
    from chaffinch.engines.prediction import digest_of
    from chaffinch.kinds import kind_of_model
    from chaffinch.kinds.requests import PredictRequest
    from chaffinch.kinds.streaming import predict_file

    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        chance = random.Random(0)
        words = [f"word{n}" for n in range(5000)]
        texts = [" ".join(chance.choices(words, k=12)) for _ in range(ROWS // 20)]
        labels = ["+" if "word1" in t else "-" for t in texts]
        model = folder / "m.chaff"
        Classifier("logistic", calibrate=False).fit(texts[:4000], labels[:4000]).save(model)
        inputs = []
        for n in range(20):
            inputs.append(folder / f"part{n:02d}.parquet")
            pq.write_table(pyarrow.table({"text": texts}), inputs[-1])
        request = PredictRequest(data=inputs[0], output=inputs[0], threads=WORKERS)

        def bare(out: Path) -> None:
            from dataclasses import replace

            from chaffinch import load

            loaded = load(model)
            kind = kind_of_model(loaded)
            for path in inputs:
                predict_file(kind, loaded, replace(request, data=path, output=out / path.name), "stop")

        def by(engine: Any, out: Path) -> None:
            from dataclasses import replace

            job = FilePrediction(model, digest_of(model), replace(request, threads=1))
            pairs = [(path, out / path.name) for path in inputs]
            assert len(list(predict_files(job, pairs, engine))) == len(inputs)

        def out(name: str) -> Path:
            (folder / name).mkdir()
            return folder / name

        where = out("bare")
        rows.append(Row(f"{ROWS:,} rows, bare loop", *timed(lambda: bare(where))))
        for name in ("processes", "ray"):
            engine = Processes(WORKERS) if name == "processes" else engine_named("ray", WORKERS)
            if name == "ray":  # warm: its processes run and have the model
                by(engine, out("warming"))
            where = out(name)
            wall, used = timed(lambda engine=engine, where=where: by(engine, where))  # type: ignore[misc]
            bar = BARS[f"parquet {name}"]
            rows.append(Row(f"{ROWS:,} rows, {name}", wall, used, wall / rows[0].wall_s - 1, bar))
    return rows


def training(sentences: int = 1000) -> list[Row]:
    """A CRF in shards: the same shards in this process, in two processes and on two actors, and without shards."""
    from chaffinch import Tagger
    from chaffinch.engines import InProcess, Processes, engine_named
    from chaffinch.learners.shards import Sharding

    X, y = generated(sentences)
    rows, files = [], set()
    engines: dict[str, Any] = {"": None, "threads": InProcess(WORKERS), "processes": Processes(WORKERS)}
    engines["ray"] = engine_named("ray", WORKERS)
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
        base = rows[1].wall_s if len(rows) > 1 else None
        over = None if base is None else wall / base - 1
        passes = len(tagger.history_)
        rows.append(Row(f"crf, {name or 'no shards'}, {passes} passes", wall, used, over))
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


def killed() -> list[Row]:
    """A node that is killed in training: the longest time between two passes."""
    import ray
    from ray.cluster_utils import Cluster

    from chaffinch import Tagger
    from chaffinch.engines.ray_engine import RayEngine
    from chaffinch.learners.shards import Sharding

    if ray.is_initialized():
        ray.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    victim = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    X, y = generated(300)
    times: list[float] = []

    def watch(progress: Any) -> bool:
        times.append(time.perf_counter())
        if progress.done == 3:
            cluster.remove_node(victim, allow_graceful=False)
        return True

    with tempfile.TemporaryDirectory() as folder:
        tagger = Tagger("crf", folds=0, threads=1)
        tagger.sharding = Sharding(RayEngine(), Path(folder), SHARDS)
        tagger.fit(X, y, on_epoch=watch)
    ray.shutdown()
    cluster.shutdown()
    gaps = np.diff(times)
    usual = float(np.median(gaps))
    return [
        Row("a pass, as a rule", usual, 0.0),
        Row(f"the pass of the loss (bar {BARS['killed']:.0f} s)", float(gaps.max()), 0.0),
    ]


def main() -> int:
    """Run the parts that were asked for; 1 if a bar is missed."""
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
    return int(any(r.bar is not None and r.over is not None and r.over > r.bar for r in rows))


if __name__ == "__main__":
    if "OPENBLAS_NUM_THREADS" not in os.environ:  # before NumPy reads it
        os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.engines", *sys.argv[1:]])
    sys.exit(main())
