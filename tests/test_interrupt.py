"""Ctrl-C during a long call of the native core: it answers at once, and nothing half done is left.

A timer of processor time interrupts the call, so that a busy machine does not matter. Every call here would take far
longer than the bound, or the timer would find it done.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaffinch import Tagger, _core
from chaffinch.features.ngrams import TextVectorizer
from forked import forked

BEFORE, BOUND = 0.1, 1.0  # seconds of processor time: until the signal comes, until it must be answered

rng = np.random.default_rng(1)
N, T, F, Y = 200, 20, 500, 40
S = _core.padded(Y)
SENTENCES = np.arange(N + 1, dtype=np.int64) * T
PTR = np.arange(N * T + 1, dtype=np.int64) * 8
IDS = rng.integers(0, F, N * T * 8).astype(np.int32)
GOLD = rng.integers(0, Y, N * T).astype(np.int32)
ORDER = np.tile(np.arange(N, dtype=np.int64), 20_000)  # the pass of a large corpus
CHAIN = {
    "F": F,
    "Y": Y,
    "pair": F * S,
    "start": (F + Y) * S,
    "end": (F + Y + 1) * S,
    "cells": (F + Y + 2) * S,
}
MANY = 200_000  # tokens

# A process started in the background inherits that it ignores SIGINT; one at a terminal does not.
HEEDING = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from chaffinch.__main__ import main; main()"
)

Long = Callable[[], object]


class Interrupted(Exception):
    """What the signal's handler raises."""


@contextmanager
def interrupted() -> Iterator[None]:
    """A signal after some processor time; what it raises must come within the bound."""

    def stop(*_: object) -> None:
        raise Interrupted

    handler = signal.signal(signal.SIGPROF, stop)
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, BEFORE)
        with pytest.raises(Interrupted):
            yield
        assert time.process_time() - began < BEFORE + BOUND
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)


def crf_problem(tokens: int = MANY, labels: int = Y, length: int = T) -> Any:
    sentences = np.arange(tokens // length + 1, dtype=np.int64) * length
    ptr = np.arange(tokens + 1, dtype=np.int64) * 8
    ids = rng.integers(0, F, tokens * 8).astype(np.int32)
    return _core.CrfProblem(sentences, ptr, ids, rng.integers(0, labels, tokens).astype(np.int32), F, labels)


def crf_sdca() -> Long:
    problem = crf_problem(600_000, length=200)
    learner = _core.CrfSdca(problem, 1.0)
    return lambda: learner.run(np.zeros(problem.size, np.float32))


def crf_sgd(threads: int) -> Long:
    problem = crf_problem(1_000_000)
    learner = _core.CrfSgd(problem, 1.0)
    return lambda: learner.run(np.zeros(problem.size, np.float32), threads)


def crf_batch(threads: int) -> Long:
    problem = crf_problem(600_000)
    return lambda: _core.CrfBatch(problem, 0.0, 1.0, np.zeros(problem.size, np.float32), threads=threads)


def crf_of_one_sentence() -> Long:
    problem = crf_problem(50_000, 200, 50_000)
    learner = _core.CrfSgd(problem, 1.0)
    return lambda: learner.run(np.zeros(problem.size, np.float32))


def pruned_crf() -> Long:
    problem = crf_problem()
    learner = _core.PrunedSgd(problem, 1.0, 0.2, 5, 0.001, 20)
    return lambda: [learner.run() for _ in range(3)]


def perceptron(k: int) -> Long:
    learner = _core.ChainTrainer(
        SENTENCES, PTR, IDS, GOLD, rule="perceptron" if k == 1 else "mira", k=k, **CHAIN
    )
    return lambda: learner.epoch(ORDER)


def frank_wolfe() -> Long:
    learner = _core.ChainFrankWolfe(SENTENCES, PTR, IDS, None, GOLD, C=np.ones(N), average=True, **CHAIN)
    return lambda: learner.run(ORDER)


def incremental(search: str) -> Long:
    learner = _core.IncrementalTrainer(
        SENTENCES,
        PTR,
        IDS,
        np.zeros((N * T, 0), np.int32),
        GOLD,
        F=F,
        Y=Y,
        templates=[([-1], 1, -1)],
        search=search,
    )
    return lambda: learner.epoch(ORDER)


def documents(labels: int = 20) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    ptr = np.arange(2001, dtype=np.int64) * 50
    ids = np.concatenate([np.sort(rng.choice(5000, 50, replace=False)) for _ in range(2000)]).astype(np.int32)
    rows = _core.DocumentRows(
        ptr, ids, np.ones(len(ids), np.float32), 5000, 1.0, np.ones(0, np.float32), np.ones(0, np.float32)
    )
    y = rng.integers(0, labels, 2000).astype(np.int32)
    return rows, y, np.eye(labels, dtype=np.float32)[y], np.tile(np.arange(2000, dtype=np.int64), 10_000)


def dual(threads: int) -> Long:
    rows, y, _, order = documents()
    C = np.ones(2000, np.float32)
    learner = _core.DualRest(rows, np.arange(2001, dtype=np.int64), y, C, 20, _core.MarginLoss.squared, False)
    return lambda: learner.run(order, threads, np.zeros(20, np.float32))


def crammer_singer() -> Long:
    rows, y, _, order = documents()
    learner = _core.DualCrammerSinger(rows, y, np.ones(2000, np.float32), 20, _core.MarginLoss.hinge, False)
    return lambda: learner.run(order)


def logistic() -> Long:
    rows, _, q, order = documents()
    learner = _core.DualLogistic(rows, q, np.ones(2000, np.float32))
    return lambda: learner.run(order)


def choice_sgd(batch: int) -> Long:
    rows, _, q, order = documents()
    learner = _core.ChoiceSgd(5000, 20, _core.ChoiceLoss.softmax, False, False, 0.0, 0.0)
    rates = np.full(-(-len(order) // batch), 0.01, np.float32)
    w = np.zeros((5001, _core.padded(20)), np.float32)
    return lambda: learner.run(rows, q, np.ones(2000, np.float32), order, batch, rates, 2, w)


def svm() -> Long:
    x = rng.standard_normal((3000, 20)).astype(np.float32)
    K = np.exp(-((x[:, None, :3] - x[None, :, :3]) ** 2).sum(2)).astype(np.float32)
    t = np.sign(rng.standard_normal(3000)).astype(np.float32)
    ptr, members = np.array([0, 3000], np.int64), np.arange(3000, dtype=np.int64)
    alpha, objectives = np.zeros(3000), np.zeros((1, 3))
    return lambda: _core.solve_svms(
        K, ptr, members, t, np.full(3000, 1e6), 1e-9, 0.0, 10**9, 1, alpha, objectives
    )


def exponentiated_gradient() -> Long:
    y, which = rng.integers(0, 200, 4000).astype(np.int32), np.arange(4000, dtype=np.int64)
    rows = rng.standard_normal((4000, 4000)).astype(np.float32)
    mu, beta = np.full((4000, 200), 0.005), np.zeros((4000, 200))
    return lambda: _core.eg_steps(which, rows, y, np.ones(4000), np.ones(4000), 200, mu, beta, np.ones(4000))


def gram() -> Long:
    x = rng.standard_normal((8000, 500)).astype(np.float32)
    kernel = _core.VectorKernel(_core.VectorKernelKind.polynomial, 3, 1.0, 1.0)
    out, packed = np.zeros((8000, 8000), np.float32), _core.PackedRows(x, False)
    return lambda: _core.dense_gram(kernel, x, packed, 2, out)


def string_kernel() -> Long:
    ptr = np.arange(401, dtype=np.int64) * 400
    bank = _core.SequenceBank(ptr, rng.integers(0, 20, 400 * 400).astype(np.uint64))
    which = np.arange(400, dtype=np.int64)
    return lambda: _core.subsequence_gram(bank, which, bank, which, 1, 5, 0.5, 2, np.zeros((400, 400)))


def word_classes() -> Long:
    ptr = np.arange(20_001, dtype=np.int64) * 20
    ids = (rng.zipf(1.3, 400_000) % 20_000).astype(np.int32)
    classes = _core.WordClasses(ptr, ids, 20_000, 500)
    return classes.improve


def class_tree() -> Long:
    ptr = np.arange(1001, dtype=np.int64) * 20
    classes = _core.WordClasses(ptr, rng.integers(0, 900, 20_000).astype(np.int32), 900, 800)
    classes.improve()
    return classes.paths


def tagging(what: str) -> Long:
    chain = _core.LinearChain(
        rng.standard_normal((F, 200)).astype(np.float32),
        np.zeros(200, np.float32),
        np.zeros(200, np.float32),
        rng.standard_normal((200, 200)).astype(np.float32),
        None,
        None,
        None,
    )
    N = 20_000 if what == "tag" else 5_000  # Viterbi alone takes about 50 microseconds for a sentence
    sentences = np.arange(N + 1, dtype=np.int64) * T
    ptr = np.arange(N * T + 1, dtype=np.int64) * 8
    ids = rng.integers(0, F, N * T * 8).astype(np.int32)
    more = (3,) if what == "kbest" else ()
    return lambda: getattr(chain, what)(sentences, ptr, ids, *more, 1)


def parsing() -> Long:
    sentence = _core.TreeSentence32(rng.standard_normal((400 * 401 // 2, 30)).astype(np.float32), 400, 30)
    return lambda: [sentence.argmax() for _ in range(50)]


def vectorising(unit: str) -> Long:
    words = [f"word{n}" for n in range(5000)]
    texts = [
        " ".join(words[k] for k in rng.integers(0, 5000, 400))
        for _ in range(4000 if unit == "word" else 1000)
    ]
    return lambda: [TextVectorizer(unit=unit, ngram_high=4, threads=2).fit_transform(texts) for _ in range(9)]


def translation() -> Long:
    ptr = np.arange(5001, dtype=np.int64) * 20
    e, f = (rng.integers(0, 3000, 100_000).astype(np.int32) for _ in "ef")
    table = _core.TranslationTable(ptr, e, 3000, ptr, f, 3000)
    return lambda: table.train(1000, 2)


CALLS: dict[str, Callable[[], Long]] = {
    "crf by sdca": crf_sdca,
    "crf by sgd": lambda: crf_sgd(1),
    "crf by sgd on two threads": lambda: crf_sgd(2),
    "crf by l-bfgs": lambda: crf_batch(1),
    "crf by l-bfgs on two threads": lambda: crf_batch(2),
    "crf of one long sentence": crf_of_one_sentence,
    "crf of many labels": pruned_crf,
    "perceptron": lambda: perceptron(1),
    "mira": lambda: perceptron(3),
    "frank-wolfe": frank_wolfe,
    "greedy": lambda: incremental("left-to-right"),
    "easiest first": lambda: incremental("easiest-first"),
    "beam": lambda: incremental("beam"),
    "dual of one against the rest": lambda: dual(1),
    "dual of one against the rest on two threads": lambda: dual(2),
    "crammer and singer": crammer_singer,
    "dual of logistic regression": logistic,
    "sgd": lambda: choice_sgd(1),
    "sgd in batches": lambda: choice_sgd(256),
    "smo": svm,
    "exponentiated gradient": exponentiated_gradient,
    "gram matrix": gram,
    "string kernel": string_kernel,
    "word classes": word_classes,
    "tree of word classes": class_tree,
    "tagging": lambda: tagging("tag"),
    "k best": lambda: tagging("kbest"),
    "marginals": lambda: tagging("marginals"),
    "parsing": parsing,
    "n-grams of words": lambda: vectorising("word"),
    "n-grams of characters": lambda: vectorising("char"),
    "translation table": translation,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_signal_ends_a_long_call(name):
    call = CALLS[name]()
    with interrupted():
        call()


def test_a_call_in_another_thread_goes_on():
    problem = crf_problem(100_000)
    learner, done, heard = _core.CrfSgd(problem, 1.0), [], threading.Event()
    w = np.zeros(problem.size, np.float32)

    def work():
        while not heard.is_set():
            done.append(learner.run(w, 2))

    thread = threading.Thread(target=work, daemon=True)
    with interrupted():
        thread.start()
        while thread.is_alive():
            time.sleep(0.001)
    before = len(done)
    heard.set()
    thread.join()
    assert len(done) > before  # the call that the signal found is complete


def test_a_call_after_an_interrupted_one_gives_what_it_always_gives():
    words, tags = [["a", "b", "c"]] * 4, [["x", "y", "x"]] * 4
    tagger = Tagger("crf").fit(words, tags)
    before = tagger.predict_marginals(words)
    call = crf_sgd(2)
    with interrupted():
        call()
    after = tagger.predict_marginals(words)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("recipe", ["crf", "perceptron", "greedy"])
def test_ctrl_c_ends_training_with_code_130_and_no_file(tmp_path, recipe):
    corpus = tmp_path / "train.tsv"
    rows = [f"w{n % 997}\tL{n % 61}\n" + ("\n" if n % 1500 == 0 else "") for n in range(150_000)]
    corpus.write_text("".join(rows))
    before = set(os.listdir(tmp_path))
    command = [
        sys.executable,
        "-c",
        HEEDING,
        "train",
        str(corpus),
        "-o",
        str(tmp_path / "m.chaffinch"),
        "--recipe",
        recipe,
        *(() if recipe == "crf" else ("--epochs", "200")),
    ]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as run:
        try:
            _wait_for_training(run.pid)
            assert run.poll() is None, "too short to be interrupted"
            run.send_signal(signal.SIGINT)
            _, said = run.communicate(timeout=60)
        finally:
            run.kill()
    assert run.returncode == 130, said.decode()[-500:]
    told = f"{tmp_path / 'm.chaffinch'} was not written", "nothing was begun"  # the second: a slow start
    assert said.decode() in [f"chaffinch: interrupted: {one}\n" for one in told]
    assert set(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("flags.RecipeCommand.parse_args", "nothing was begun"),
        ("train.refuse_unwritable", "nothing was begun"),
        ("train.TrainRequest", "nothing was begun"),
        ("train.kind_of_file", "m.chaffinch was not written"),
        ("train.refuse_strange_flags", "m.chaffinch was not written"),
        ("train._train", "m.chaffinch was not written"),
    ],
)
def test_ctrl_c_at_any_step_of_train_says_what_became_of_the_model(tmp_path, monkeypatch, step, told):
    (tmp_path / "train.tsv").write_text("a\tX\n\n")
    monkeypatch.chdir(tmp_path)
    code = (
        "import chaffinch.cli.train as train, chaffinch.cli.flags as flags\n"
        "def stop(*_, **__): raise KeyboardInterrupt\n"
        f"{step} = stop\n"
        "from chaffinch.__main__ import main; main()"
    )
    run = forked(code, "train", "train.tsv", "-o", "m.chaffinch")
    assert (run.returncode, run.stderr.decode()) == (130, f"chaffinch: interrupted: {told}\n")


@pytest.mark.parametrize("module", ["chaffinch.cli", "chaffinch.errors", "typer", "typer.core"])
def test_ctrl_c_while_the_command_line_is_imported_is_one_sentence(module):
    code = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from chaffinch.__main__ import main; main()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (130, "chaffinch: interrupted: nothing was begun\n")


def test_the_command_starts_by_importing_nothing_of_its_own():
    code = (
        "import sys; before = set(sys.modules); import chaffinch.__main__; print(*set(sys.modules) - before)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name for name in run.stdout.split() if "chaffinch" in name} == {"chaffinch", "chaffinch.__main__"}


def _wait_for_training(pid: int) -> None:
    """Until the process has used more time than it needs to start and to read its file, or three seconds."""
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # no such files here
            fields = ["0"] * 14
        if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 1.5:
            return
        time.sleep(0.02)
