"""The engine of Ray on a real cluster of several nodes in this machine, one of which is killed."""

import random
import signal
import time
from itertools import pairwise
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from chaffinch import Classifier, Tagger
from chaffinch.engines import InProcess
from chaffinch.engines.engine import EngineError
from chaffinch.engines.prediction import FilePrediction, digest_of, predict_files
from chaffinch.engines.ray_engine import RayEngine
from chaffinch.errors import DataError
from chaffinch.kinds.requests import PredictRequest
from chaffinch.lab import Source, bench, tune
from chaffinch.lab.tuning import space_of
from chaffinch.learners.shards import Sharding

ray = pytest.importorskip("ray", reason="needs the packages of locks/cluster.txt")
from ray._private import services  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS = [["Ann", "went", "home"], ["Bob", "saw", "Ann", "."], ["the", "dog", "barks"]]
TAGS = [["B-PER", "O", "O"], ["B-PER", "O", "B-PER", "O"], ["O", "O", "O"]]


STARTED = 120  # seconds for a node to start
ENDED = 300  # seconds for a test


@pytest.fixture(scope="module")
def unhurried():
    """Ray gives up a node that is not known to its head after 30 s, which a busy machine may need, but leaves its
    processes: an attempt that fails would become one node too many.
    """
    known = services.get_node

    def known_in_time(*given):
        end = time.monotonic() + STARTED
        while True:
            try:
                return known(*given)
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(services, "get_node", known_in_time)
        patched.setenv("RAY_gcs_server_port_wait_time_s", str(STARTED))
        patched.setenv("RAY_raylet_start_wait_time_s", str(STARTED))
        yield


@pytest.fixture(autouse=True)
def ending():
    """A test that hangs fails: Ray looks for signals while it waits."""

    def fail(*_):
        raise TimeoutError(f"the test has not ended within {ENDED} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(ENDED)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def wait_until(holds, seconds=90):
    """A busy machine notices a dead node late: wait for what is to come, not for a time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "the cluster did not get there"
        time.sleep(0.1)


def wait_for_cores(n):
    wait_until(lambda: ray.cluster_resources().get("CPU", 0) == n)
    wait_until(lambda: ray.available_resources().get("CPU", 0) == n)


@pytest.fixture(scope="module")
def running(unhurried):
    """A head without cores and a node of one."""
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made.add_node(num_cpus=1)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def cluster(running):
    """The same with one free core: the nodes killed before are known to be dead, and all earlier work has ended."""
    wait_for_cores(1)
    return running


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "tags.chaff"
    Tagger("crf", folds=0, features=["w[0]", "w[-1]"]).fit(WORDS * 3, TAGS * 3).save(path)
    return path


class Slow:
    """Waits a little, so that a node can be killed at work; each shard leaves a trace of each time it began."""

    def __init__(self, folder, seconds):
        self.folder, self.seconds = folder, seconds

    def __repr__(self):
        return f"Slow({self.folder})"

    def open(self):
        return None

    def run(self, _, shard):
        (Path(self.folder) / f"{shard}-{time.time_ns()}").touch()
        time.sleep(self.seconds)
        if shard < 0:
            raise DataError("shards are not negative")
        return shard * shard


def test_files_are_answered_by_the_cluster(cluster, model, tmp_path):
    pairs = []
    for n in range(3):
        (tmp_path / f"in{n}.conll").write_text(
            "".join("".join(f"{w}\n" for w in s) + "\n" for s in WORDS * (n + 1))
        )
        pairs.append((tmp_path / f"in{n}.conll", tmp_path / f"out{n}.conll"))
    request = PredictRequest(data=pairs[0][0], output=pairs[0][1], threads=1)
    job = FilePrediction(model, digest_of(model), request)
    assert sum(not known for _, known in predict_files(job, pairs, RayEngine())) == 3
    assert (tmp_path / "out1.conll").read_text().count("Ann B-PER") == 4
    assert all(known for _, known in predict_files(job, pairs, RayEngine()))


def test_errors_come_back_as_they_were(cluster, tmp_path):
    with pytest.raises(DataError, match="not negative"):
        list(RayEngine().map(Slow(str(tmp_path), 0.0), [1, -2]))


def test_the_work_of_a_killed_node_is_done_by_others(cluster, tmp_path):
    victim = cluster.add_node(num_cpus=1)
    wait_for_cores(2)
    found, times = {}, []
    for n, result in RayEngine().map(Slow(str(tmp_path), 1.0), range(8)):
        found[n] = result
        if not times:
            cluster.remove_node(victim, allow_graceful=False)
        times.append(time.monotonic())
    assert found == {n: n * n for n in range(8)}
    stalls = [b - a for a, b in pairwise(times)]
    assert max(stalls) < 60  # it goes on; the benchmark of engines says after how long
    begun = [path.name.split("-")[0] for path in tmp_path.iterdir()]
    assert len(begun) >= 8


def sentences(n):
    chance = random.Random(0)
    words = [[chance.choice("abcdefgh") for _ in range(chance.randint(2, 9))] for _ in range(n)]
    return words, [[chance.choice("XY") if w in "ab" else w.upper() for w in s] for s in words]


def trained(engine, folder, on_epoch=lambda _: True):
    X, y = sentences(300)
    tagger = Tagger("crf", folds=0, features=["w[0]", "w[-1]"], threads=1)
    tagger.sharding = Sharding(engine, folder, 4)
    tagger.fit(X, y, on_epoch=on_epoch).save(folder.with_suffix(".chaff"))
    return folder.with_suffix(".chaff").read_bytes()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The model of this process."""
    return trained(InProcess(1), tmp_path_factory.mktemp("alone"))


def test_one_node_trains_the_same_bytes(cluster, alone, tmp_path):
    engine = RayEngine()
    assert trained(engine, tmp_path / "a") == alone
    assert len(engine._actors) == 1
    engine.close()


def test_trials_of_a_search_run_on_the_cluster(cluster):
    laid = bench(Source(name="ingredients"), recipe="hmm", dev_needed=True)
    spaces = [space_of("hmm", laid.kind.settings_of("hmm"))]
    runs = [tune([laid.experiment], spaces, laid.splits, trials=3, engine=one) for one in (None, RayEngine())]
    told = [[(t.number, t.settings, t.share, t.score) for t in found.trials] for found in runs]
    assert told[0] == told[1]
    assert runs[0].preset == runs[1].preset


def test_four_nodes_one_killed_in_training_give_the_same_bytes_and_no_long_stall(cluster, alone, tmp_path):
    victim, *others = (cluster.add_node(wait=False, num_cpus=1) for _ in range(3))
    wait_for_cores(4)
    engine, times, sizes = RayEngine(), [], []

    def watch(progress):
        times.append(time.monotonic())
        sizes.append(len(engine._actors))
        if progress.done == 2:
            cluster.remove_node(victim, allow_graceful=False)
        return True

    assert trained(engine, tmp_path / "a", watch) == alone
    engine.close()
    for node in others:
        cluster.remove_node(node)
    assert sizes[0] == 4
    assert sizes[-1] == 3
    stalls = [b - a for a, b in pairwise(times)]
    assert max(stalls) < 60  # it goes on; the benchmark of engines says after how long


def test_too_few_resources_are_an_error(cluster, tmp_path):
    begun, over = tmp_path / "begun", tmp_path / "over"

    @ray.remote(num_cpus=1)
    def hold():
        begun.touch()
        while not over.exists():
            time.sleep(0.05)

    holding = hold.remote()
    wait_until(begun.exists)
    with pytest.raises(EngineError, match="no worker could start within 2 s: a task needs 1 CPU"):
        list(RayEngine(patience=2.0).map(Slow(str(tmp_path), 0.0), [1]))
    with pytest.raises(EngineError, match="no worker could start within 2 s: a task needs 1 CPU"):
        trained(RayEngine(patience=2.0), tmp_path / "a")
    over.touch()
    ray.get(holding)


def test_the_documented_recipe_of_dask_gives_the_answers_of_the_model(tmp_path, monkeypatch):
    dask = pytest.importorskip("dask")
    pytest.importorskip("dask.dataframe")
    texts = ["good food", "very good", "bad soup", "awful"] * 4
    trained = Classifier("ridge", choose=False, calibrate=False).fit(texts, ["+", "+", "-", "-"] * 4)
    trained.save(tmp_path / "stars.chaff")
    (tmp_path / "in").mkdir()
    for n in range(2):
        parquet.write_table(
            pyarrow.table({"id": [0, 1, 2], "text": texts[n : n + 3]}), tmp_path / f"in/{n}.parquet"
        )
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    recipe = page.partition("# Dask\n")[2].partition("# Spark\n")[0]
    monkeypatch.chdir(tmp_path)
    made = {}
    exec(recipe, made)
    with dask.config.set(scheduler="processes"):
        found = made["answered"].compute()
    assert list(found.columns) == ["id", "text", "prediction"]
    assert found["text"].tolist() == texts[:3] + texts[1:4]
    assert found["prediction"].tolist() == [str(y) for y in trained.predict(found["text"].tolist())]
