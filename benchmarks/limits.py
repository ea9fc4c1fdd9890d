"""How near are the hot paths to what the machine can do? Bytes, operations, the limit, and the fraction reached.

    python -m benchmarks limits            the fractions, recorded as those of other benchmarks
    python docs/run_limits.py              docs/limits.md and its plots

The limit of a path is the time in which the machine, in the same run and on one core, could move the bytes and do the
operations that the definition of the path requires:

    limit    = max(memory, arithmetic)
    memory   = rows read or written / rows per second + other bytes / bytes per second
    arithmetic = additions and multiplications / per second + exponentials / per second

Rows per second come from reading the same rows of a table of the same size in the same order. If a hash of strings or
pairs leads to a row, neighbours by number lie apart: those rows are shuffled once. All times are CPU time.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.benchmark import Benchmark, Contender

LANES = 8  # rows of weights are padded to a multiple of this


@dataclass(frozen=True)
class Sizes:
    """Sizes of the generated data; features are drawn with Zipf's frequencies."""

    sentences: int = 1000  # N
    length: int = 24  # T
    labels: int = 22  # Y
    features: int = 60_000  # F
    each: int = 19  # features of a token
    documents: int = 800
    seed: int = 1

    @property
    def tokens(self) -> int:
        return self.sentences * self.length


@dataclass(frozen=True)
class Machine:
    """What one core does in a second.

    copied, cached: bytes read and written by a copy beyond the caches, and within the first one
    operations:     additions, products or maxima in float32: half the rate of a product of matrices, which fuses two
                    into one instruction; the core fuses none, so that every machine gives the same bytes
    exponentials:   in float32
    """

    copied: float
    cached: float
    operations: float
    exponentials: float


@dataclass(frozen=True)
class Reached:
    """One hot path: its bytes and operations, the time that the machine needs for them, and the time taken.

    chain: operations that wait for one another, in the order in which the core does them
    """

    path: str
    unit: str
    units: float
    bytes: float
    operations: float
    limit_s: float
    taken_s: float
    bound: str  # memory or arithmetic
    chain: float = 0.0

    @property
    def fraction(self) -> float:
        return self.limit_s / self.taken_s


def cpu_seconds(work: Callable[[], Any], rounds: int = 3, least: float = 0.02) -> float:
    """The least CPU time of a call over some rounds; a round repeats quick work until the clock can see it."""
    work()
    calls, best, done = 1, math.inf, 0
    while done < rounds:
        start = time.process_time()
        for _ in range(calls):
            work()
        spent = time.process_time() - start
        if spent < least:
            calls *= 2
        else:
            best, done = min(best, spent / calls), done + 1
    return best


# -- the machine ------------------------------------------------------------------------------------------------------


def measured_machine(megabytes: int = 64, side: int = 64) -> Machine:
    """Copies, a product of matrices (small enough for one thread) and exponentials."""
    far, near = (np.ones(size, np.float32) for size in (megabytes * 2**18, 4096))
    m = np.ones((side, side), np.float32)
    product = np.empty_like(m)
    x = np.linspace(-20, 0, 4096, dtype=np.float32)
    y = np.empty_like(x)

    def copied(a: NDArray[np.float32]) -> float:
        b = np.empty_like(a)
        return 2 * a.nbytes / cpu_seconds(lambda: np.copyto(b, a))

    return Machine(
        copied(far),
        copied(near),
        side**3 / cpu_seconds(lambda: np.matmul(m, m, out=product)),
        len(x) / cpu_seconds(lambda: np.exp(x, out=y)),
    )


def seconds_per_row(
    machine: Machine, ids: NDArray[np.integer], rows: int, width: int, chunk: int = 4096
) -> float:
    """The time to read one row of ``width`` floats out of a table of ``rows`` rows, in the order of ``ids``.

    The first 32 bytes are fetched in that order; the others of a row follow at the speed of the cache.
    """
    pieces = max(1, -(-width // 8))
    table = np.ones(max(rows, 1) * pieces * 8, np.float32).view("V32")
    out = np.empty(chunk, "V32")
    parts = (np.resize(ids, max(chunk, min(len(ids), 50 * chunk) // chunk * chunk)) * pieces).reshape(
        -1, chunk
    )
    parts = parts.astype(np.intp)

    def read() -> None:
        for part in parts:
            np.take(table, part, out=out, mode="clip")

    return cpu_seconds(read) / parts.size + max(0, 4 * width - 32) / machine.cached


# -- the data ---------------------------------------------------------------------------------------------------------


def drawn_ids(sizes: Sizes, count: int, high: int) -> NDArray[np.int32]:
    """Feature ids below ``high`` with frequencies that fall as one over the rank."""
    u = np.random.default_rng(sizes.seed).random(count)
    return np.minimum(np.exp(u * math.log(high + 1)) - 1, high - 1).astype(np.int32)


def chain_problem(sizes: Sizes, *, packed: bool) -> Any:
    """Sentences of random features and labels; packed: the layout of weights that likelihoods use."""
    from chaffinch.learners.examples import SentenceExamples
    from chaffinch.learners.problem import Problem
    from chaffinch.scorers import Layout, Linear
    from chaffinch.structures import Chain

    rng = np.random.default_rng(sizes.seed)
    sentences = np.arange(sizes.sentences + 1, dtype=np.int64) * sizes.length
    ptr = np.arange(sizes.tokens + 1, dtype=np.int64) * sizes.each
    ids = drawn_ids(sizes, sizes.tokens * sizes.each, sizes.features)
    y = rng.integers(0, sizes.labels, sizes.tokens).astype(np.int32)
    F, Y = sizes.features, sizes.labels
    layout = Layout.packed_chain(F, Y, 1) if packed else Layout.chain(F, Y)
    return Problem(Chain(Y), Linear(layout), SentenceExamples(sentences, ptr, ids, y), seed=1)


def words(sizes: Sizes) -> list[list[str]]:
    """Sentences of generated words, Zipf-distributed."""
    ids = drawn_ids(sizes, sizes.tokens, 20_000).reshape(sizes.sentences, sizes.length)
    return [[f"w{n:x}{'sdgy'[n % 4]}" for n in row] for row in ids.tolist()]


def texts(sizes: Sizes) -> list[str]:
    """Documents of 200 generated words."""
    ids = drawn_ids(sizes, sizes.documents * 200, 30_000).reshape(sizes.documents, 200)
    return [" ".join(f"w{n:x}{'sdgy'[n % 4]}" for n in row) for row in ids.tolist()]


def padded(Y: int) -> int:
    return -(-Y // LANES) * LANES


# -- the hot paths ----------------------------------------------------------------------------------------------------
#
# Each function returns the work to be timed, units, bytes, operations, exponentials, and the rows that are read out of
# a table: (ids, rows of the table, floats of a row, how many rows). Bytes are those of rows and of what is streamed.


@dataclass(frozen=True)
class Path:
    """A hot path on data of some size, and the work that its definition requires."""

    name: str
    unit: str
    work: Callable[[], Any]
    units: float
    ids: NDArray[np.integer]  # in the order in which rows are read
    table: tuple[int, int]  # rows, floats of a row
    rows: float  # read or written
    streamed: float  # bytes
    operations: float
    exponentials: float = 0.0
    chain: float = 0.0  # operations that wait for one another
    set_up: Callable[[], Any] | None = None  # the part of the work that is not part of the path
    hashed: bool = False  # rows lie where a hash puts them

    @property
    def bytes(self) -> float:
        return self.rows * self.table[1] * 4 + self.streamed


def crf_pass(sizes: Sizes, threads: int = 1) -> Path:
    """log Z, marginals and the gradient of all sentences.

    For each feature of a token a row of weights is read, and a row of differences of expectations is added to the
    gradient. Forward, backward and pair marginals take 2, 2 and 3 operations for each pair of labels.
    """
    from chaffinch import _core
    from chaffinch.learners.native_likelihood import crf_problem

    problem = chain_problem(sizes, packed=True)
    objective = _core.CrfObjective(crf_problem(problem), 1.0, threads)
    w = problem.scorer.w
    w[:] = np.random.default_rng(2).normal(0, 0.1, len(w)).astype(np.float32)
    gradient = np.empty_like(w)
    n, k, Y, S = sizes.tokens, sizes.each, sizes.labels, padded(sizes.labels)
    return Path(
        "CRF pass (log Z and gradient)", "token", lambda: objective(w, gradient), n,
        problem.examples.ids, (sizes.features, S), 2 * n * k, n * (8 * k + 12 * S) + 3 * w.nbytes,
        n * (2 * k * Y + 7 * Y * Y), n * Y,
    )  # fmt: skip


def viterbi(sizes: Sizes, threads: int = 1) -> Path:
    """The best labels of sentences with given label scores: an addition and a maximum for each pair of labels.

    Some of these wait for one another: forwards the maxima over the labels before, backwards the comparisons that trace
    the path. Forwards the core has two maxima of Y / 2 sources side by side, then the maximum over the row for the
    scale; backwards, a maximum and a minimum of packs and across a pack (three steps). Up to 32 labels it works on two
    sentences at once, which wait at the same time: half as many for each token.
    """
    from chaffinch.structures import Chain, Parts

    rng = np.random.default_rng(sizes.seed)
    n, Y = sizes.tokens, sizes.labels
    parts = Parts(
        unary=rng.normal(size=(n, Y)).astype(np.float32), pair=rng.normal(size=(Y, Y)).astype(np.float32)
    )
    bounds = np.arange(sizes.sentences + 1, dtype=np.int64) * sizes.length
    chain = Chain(Y)
    return Path(
        "Viterbi", "token", lambda: chain.viterbi_batch(parts, bounds, threads=threads), n,
        np.arange(n), (n, Y), n, n * (4 * padded(Y) + 4), 2 * n * Y * Y,
        chain=n * (Y / 2 + 3 + 3 * (padded(Y) / LANES + 3)) / (2 if Y <= 32 else 1),
    )  # fmt: skip


def perceptron_epoch(sizes: Sizes, _threads: int = 1) -> Path:
    """One epoch: a row for each feature, Viterbi, and an update of two labels for each feature of a wrong token.

    Labels are random, so that most tokens are wrong. An update changes a row of weights, which was just read, and the
    row of the sums that become their average. The set-up of the trainer, which clears both tables, is timed alone and
    taken off.
    """
    from chaffinch.learners.native_chain import chain_trainer
    from chaffinch.learners.online import Perceptron
    from chaffinch.learners.problem import example_order

    problem = chain_problem(sizes, packed=False)
    n, k, Y = sizes.tokens, sizes.each, sizes.labels
    order = example_order(sizes.sentences, 0, 1)
    set_up = lambda: chain_trainer(Perceptron(), problem)  # noqa: E731
    return Path(
        "perceptron epoch", "token", lambda: set_up().epoch(order), n,
        problem.examples.ids, (sizes.features, padded(Y)), 3 * n * k, n * 4 * k,
        n * (k * Y + 2 * Y * Y + 4 * k), set_up=set_up,
    )  # fmt: skip


def feature_extraction(sizes: Sizes, threads: int = 1, described: bool = False) -> Path:
    """Strings to feature ids by a frozen index: one cache line of the index for each feature, four bytes out.

    Each distinct word is looked up once in each of its columns (the word and two suffixes): a cache line for each.

    described: from ids of words whose values are known, as training from a cache does it in every pass
    """
    from chaffinch.features.blocks import BlockEncoder
    from chaffinch.features.encoder import FeatureEncoder
    from chaffinch.text.table import TokenTable

    templates = [f"w[{d}]" for d in (-2, -1, 0, 1, 2)] + [
        "w[-1]|w[0]",
        "w[0]|w[1]",
        "suffix2[0]",
        "suffix3[0]",
    ]
    given = words(sizes)
    table = TokenTable.from_lists({"w": given})
    looked_up = 0 if described else 3 * len({word for sentence in given for word in sentence})
    encoder = FeatureEncoder(templates, threads=threads)
    encoder.fit(table)
    rows = encoder.transform(table)
    n, found = sizes.tokens, len(rows.ids)
    work: Callable[[], Any] = lambda: encoder.transform(table)  # noqa: E731
    if described:
        by_block = BlockEncoder.known(encoder, table)
        work = lambda: by_block.rows(table, threads)  # noqa: E731
    return Path(
        "features of known words" if described else "feature extraction", "token", work, n,
        rows.ids, (encoder.n_features, 16), n * len(templates) + looked_up, 4 * found + 8 * n,
        8 * n * len(templates),
    )  # fmt: skip


def features_of_known_words(sizes: Sizes, threads: int = 1) -> Path:
    """Feature extraction without its strings."""
    return feature_extraction(sizes, threads, described=True)


def vectorising(sizes: Sizes, threads: int = 1) -> Path:
    """Texts to counts of words and word pairs: every byte once, a cache line for each, eight bytes a cell."""
    from chaffinch.features.ngrams import TextVectorizer

    given = texts(sizes)
    vectorizer = TextVectorizer(ngram_high=2, threads=threads)
    rows = vectorizer.fit_transform(given)
    read = sum(map(len, given))
    grams = sizes.documents * 399
    return Path(
        "vectorising", "byte of text", lambda: vectorizer.transform(given), read,
        rows.ids, (rows.columns, 16), grams, read + 8 * len(rows.ids), 2 * read + 8 * grams, hashed=True,
    )  # fmt: skip


def dual_pass(sizes: Sizes, threads: int = 1) -> Path:
    """The first pass of dual coordinate descent, one class against the rest: a row is read for the score, then changed.

    Later passes leave out documents that are at a bound.
    """
    from chaffinch.learners.choice import document_problem
    from chaffinch.learners.dual import DualRest
    from chaffinch.learners.examples import DocumentExamples

    N, k, Y, F = sizes.documents, 120, 16, sizes.features
    ids = np.sort(drawn_ids(sizes, N * k, F).reshape(N, k), axis=1).reshape(-1)
    rng = np.random.default_rng(sizes.seed)
    examples = DocumentExamples(
        ptr=np.arange(N + 1, dtype=np.int64) * k, ids=ids, values=rng.random(N * k).astype(np.float32), F=F,
        label_ptr=np.arange(N + 1, dtype=np.int64), labels=rng.integers(0, Y, N).astype(np.int32), Y=Y,
    )  # fmt: skip
    problem = document_problem(examples, np.ones(N, np.float32))
    learner = DualRest(epochs=1, tolerance=0.0, folds=0)
    return Path(
        "dual pass", "document", lambda: list(learner.passes(problem, threads)), N,
        ids, (F, Y), 3 * N * k, N * k * 8, 4 * N * k * Y,
    )  # fmt: skip


PATHS: tuple[Callable[..., Path], ...] = (
    feature_extraction, features_of_known_words, crf_pass, viterbi, perceptron_epoch, vectorising, dual_pass,
)  # fmt: skip


def reached(path: Path, machine: Machine) -> Reached:
    """The limit and the time of a path."""
    taken = _taken(path)
    memory = (
        path.rows * seconds_per_row(machine, read_ids(path), *path.table) + path.streamed / machine.copied
    )
    arithmetic = path.operations / machine.operations + path.exponentials / machine.exponentials
    return Reached(
        path.name, path.unit, path.units, path.bytes, path.operations, max(memory, arithmetic), taken,
        "memory" if memory > arithmetic else "arithmetic", path.chain,
    )  # fmt: skip


def read_ids(path: Path) -> NDArray[np.integer]:
    """The rows of a path in the order in which they are read; those of a hash table are shuffled."""
    if not path.hashed:
        return path.ids
    places: NDArray[np.integer] = np.random.default_rng(0).permutation(path.table[0])
    return places[path.ids]


def _taken(path: Path) -> float:
    """CPU time of a path without its set-up; of tiny data, more than nothing."""
    spent = cpu_seconds(path.work)
    return spent if path.set_up is None else max(spent - cpu_seconds(path.set_up), 1e-3 * spent)


def all_reached(sizes: Sizes) -> tuple[Machine, list[Reached]]:
    """The machine and every hot path, measured in one sitting."""
    machine = measured_machine()
    return machine, [reached(path(sizes), machine) for path in PATHS]


# -- scaling ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """The time of a path over sizes of one kind, and the exponent of the power law that fits it best."""

    path: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def exponent(self) -> float:
        x, y = np.log(self.sizes), np.log(self.seconds)
        return float(np.polyfit(x, y, 1)[0])


SCALED: tuple[Callable[..., Path], ...] = (crf_pass, viterbi, perceptron_epoch)
KINDS = ("sentences", "length", "labels", "features")


def curves(kind: str, base: Sizes, steps: int = 5) -> list[Curve]:
    """CPU time while one size doubles and the others stay: from a quarter of the base upwards."""
    values = tuple(max(2, getattr(base, kind) // 4) * 2**k for k in range(steps))
    return [
        Curve(
            path(replace(base, **{kind: values[0]})).name,
            values,
            tuple(_taken(path(replace(base, **{kind: v}))) for v in values),
        )
        for path in SCALED
    ]


def thread_curves(base: Sizes, most: int) -> list[Curve]:
    """Wall time over threads, of the paths that use more than one."""
    values = tuple(range(1, most + 1))
    made = []
    for path in (crf_pass, viterbi, feature_extraction):
        taken = []
        for threads in values:
            run = path(base, threads)
            run.work()
            rounds = []
            for _ in range(5):
                start = time.perf_counter()
                run.work()
                rounds.append(time.perf_counter() - start)
            taken.append(min(rounds))
        made.append(Curve(run.name, values, tuple(taken)))
    return made


def fractions(_sizes: Sizes, found: tuple[Machine, list[Reached]]) -> dict[str, float]:
    return {one.path: round(one.fraction, 3) for one in found[1]}


BENCHMARK = Benchmark(
    name="limits",
    question="What fraction of the machine's limit does each hot path reach, one thread?",
    input=lambda seed: Sizes(seed=seed),
    work=lambda sizes: (float(sizes.tokens), "tokens"),
    ours=Contender(name="chaffinch", run=all_reached),
    rivals=(),
    scores=fractions,
    repeats=1,
)
