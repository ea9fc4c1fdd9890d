"""A training on many machines, simulated: bytes moved, time and cost, from rates that are measured first.

    python -m benchmarks.cluster_plan                                1 billion tokens, 64 workers
    python -m benchmarks.cluster_plan --tokens 1e8 --workers 1 8 64  other sizes

Measured, by the CPU time of one core: tokens a second of a gradient and of a pass of dual ascent on a shard, and bytes
a second that the driver adds up. Assumed, and printed: the number of weights, the network, the price of a core. The
simulation draws the time of every worker in every pass (they differ by a tenth), waits for the slowest as the engine
does, sends the weights through the driver's network card, and loses one node in the middle of the run.
"""

import argparse
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import generated

LABELS, STRIDE = 9, 16  # of the sentences that are measured: labels, and floats in a row of weights
FEATURES = 5_000_000  # that are left after rare ones were cut (--min-count)
ROUNDS, LOCAL_PASSES, STEPS = 5, 3, 45  # of CoCoA+, passes in each, evaluations of L-BFGS after them
NETWORK = 10e9 / 8  # bytes a second of a network card
LATENCY = 0.01  # seconds of a call
SPREAD = 0.1  # standard deviation of a worker's time, as a share
FOUND_LOST = 15.0  # seconds until a lost node is noticed
PRICE = 0.04  # of a core for an hour, in dollars
ROW_BYTES = 100  # of a token's features in memory


@dataclass(frozen=True)
class Rates:
    """What one core does in a second: tokens of a gradient, of dual ascent, and read from a shard; bytes added."""

    gradient: float
    ascent: float
    read: float
    added: float


def measured(sentences: int = 400) -> Rates:
    """The rates of this machine, by CPU time."""
    from chaffinch import Tagger
    from chaffinch.engines import InProcess
    from chaffinch.learners.sharded_likelihood import Ascent, Gradient
    from chaffinch.learners.shards import Sharding

    spent: dict[str, float] = {}
    calls: dict[str, int] = {}

    class Timed(InProcess):
        """Adds up the time of each kind of work."""

        def reduce(self, work: Any, shards: Any, given: Any = ()) -> Any:
            begun = time.process_time()
            found = super().reduce(work, shards, given)
            name = type(work).__name__
            if calls.setdefault(name, 0):  # the first reads the shards
                spent[name] = spent.get(name, 0.0) + time.process_time() - begun
            else:
                spent.setdefault("first", time.process_time() - begun)
            calls[name] += 1
            return found

    X, y = generated(sentences)
    tokens = sum(map(len, X))
    with tempfile.TemporaryDirectory() as folder:
        tagger = Tagger("crf", folds=0, threads=1)
        tagger.sharding = Sharding(Timed(1), Path(folder), 1)
        tagger.fit(X, y)
    once = {name: spent[name] / (calls[name] - 1) for name in (Gradient.__name__, Ascent.__name__)}
    a, b = np.ones(1 << 24, np.float32), np.ones(1 << 24, np.float32)
    begun = time.process_time()
    for _ in range(10):
        np.add(a, b, out=a)
    added = 10 * a.nbytes / (time.process_time() - begun)
    return Rates(
        gradient=tokens / once["Gradient"],
        ascent=LOCAL_PASSES * tokens / once["Ascent"],
        read=tokens / max(spent["first"] - once["Gradient"], 1e-3),
        added=added,
    )


@dataclass
class Plan:
    """Time and traffic of a run. lost: seconds that the loss of a node costs."""

    workers: int
    seconds: float
    bytes_per_pass: float
    passes: int
    lost: float
    weights: float

    def row(self) -> str:
        """A row of the table."""
        hours = self.seconds / 3600
        cost = hours * (self.workers + 1) * PRICE
        return (
            f"| {self.workers} | {self.weights / 1e9:.2f} GB | {self.bytes_per_pass / 1e9:.1f} GB | {self.passes} | "
            f"{self.seconds / self.passes:.0f} s | {hours:.1f} h | {self.lost:.0f} s | {cost:.2f} $ |"
        )


def simulated(tokens: float, workers: int, features: float, rates: Rates, seed: int = 0) -> Plan:
    """A run, pass by pass."""
    chance = random.Random(seed)
    weights = features * STRIDE * 4
    own = tokens / workers
    remote = workers > 1
    # Every worker gets the weights and gives a sum of its size; both go through the card of the driver.
    transfer = workers * weights / NETWORK if remote else 0.0
    adding = workers * weights / rates.added

    def slowest(rate: float, times: float = 1.0, gone: int = 0) -> float:
        share = own * workers / (workers - gone)
        return max(times * share / rate * max(0.5, chance.gauss(1, SPREAD)) for _ in range(workers - gone))

    seconds = own / rates.read
    passes = ROUNDS * (LOCAL_PASSES + 1) + STEPS
    lost = 0.0
    for round_ in range(ROUNDS + STEPS):
        step = transfer + LATENCY + transfer + adding
        if round_ < ROUNDS:
            step += slowest(rates.ascent, LOCAL_PASSES) + transfer + adding + transfer
        step += slowest(rates.gradient)
        if remote and round_ == (ROUNDS + STEPS) // 2:
            # A node of up to 8 workers: noticed, its shards read again by the others, its part of the pass repeated.
            gone = min(8, max(1, workers // 4))
            again = gone * own / rates.read / (workers - gone)
            lost = FOUND_LOST + again + slowest(rates.gradient, gone / workers, gone)
            step += lost
        seconds += step
    return Plan(workers, seconds, 2 * workers * weights if remote else 0.0, passes, lost, weights)


def main() -> None:
    """Print the rates, what is assumed, and the table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--tokens", type=float, default=1e9)
    asked.add_argument("--workers", type=int, nargs="+", default=[1, 8, 16, 64, 128])
    asked.add_argument("--features", type=float, default=FEATURES)
    given = asked.parse_args()
    rates = measured()
    print(
        f"measured: gradient {rates.gradient / 1e3:,.0f} thousand tokens/s, dual ascent "
        f"{rates.ascent / 1e3:,.0f} thousand tokens/s, reading {rates.read / 1e3:,.0f} thousand tokens/s, adding "
        f"{rates.added / 1e9:.1f} GB/s"
    )
    print(
        f"assumed: {given.features / 1e6:g} million features, {LABELS} labels, {8 * NETWORK / 1e9:g} Gbit/s, "
        f"{PRICE} $ a core hour, {ROW_BYTES} bytes of features a token: {given.tokens * ROW_BYTES / 1e9:.0f} GB in all"
    )
    print("| workers | weights | moved per pass | passes | per pass | in all | a lost node | cost |")
    print("|---|---|---|---|---|---|---|---|")
    for workers in given.workers:
        print(simulated(given.tokens, workers, given.features, rates).row())


if __name__ == "__main__":
    main()
