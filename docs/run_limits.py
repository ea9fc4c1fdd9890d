"""Writes docs/limits.md and its plots: the bytes and operations of the hot paths, and how near they are to the limit.

Run it from the project's root on a quiet machine: .venv/bin/python docs/run_limits.py

docs/limits.json keeps the last measurement on each architecture; a run replaces that of its own.
"""

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from benchmarks import limits  # noqa: E402
from benchmarks.machine import machine  # noqa: E402

from chaffinch.files import writing_text  # noqa: E402
from chaffinch.report.charts import lines  # noqa: E402
from chaffinch.report.html import svg_file  # noqa: E402

EXPECTED = {"sentences": 1.0, "length": 1.0, "labels": 2.0, "features": 1.0}
SLACK = 0.15  # an exponent above the expected one by more than this is reported

HEAD = """\
# How near the machine's limit

`python docs/run_limits.py` writes this page; `python -m benchmarks limits` measures the fractions alone. The data is
generated: {tokens:,} tokens in {sentences:,} sentences, {labels} labels, {each} of {features:,} features for each
token, drawn with Zipf's frequencies. One thread, CPU time.

The limit of a path is the longer of two times. Memory: the rows of weights (or cache lines of an index) that its
definition reads and writes, fetched in the same order from a table of the same size (shuffled once if a hash of strings
or pairs leads to them, as in vectorising), and the other bytes at the speed of a copy. Arithmetic: its operations and
exponentials at the rates below. It is a lower bound: nothing in it waits for an earlier result, no branch is
mispredicted. Only features of known words may pass it: their templates are looked up one after the other, each for
thousands of tokens, and more of an index stays in the caches than if it is read token by token. `benchmarks/limits.py`
counts the bytes and operations of each path. The rate of operations is half that of a product of matrices, which fuses
two into one instruction; the core fuses none, so that all machines give the same bytes.
"""

TABLE = """
## On {architecture}

Machine: {cpu}. In this run one core copied {copied:.1f} GB/s beyond the caches and
{cached:.0f} GB/s within the first, did {operations:.0f} billion additions, products or maxima a second and
{exponentials:.1f} billion exponentials.

| path | for each | bytes | operations | bound by | limit, ns | taken, ns | fraction |
|---|---|---|---|---|---|---|---|
"""

# Why a path is below a third of its limit: from a profile if the text says so, otherwise inferred from the code.
REASONS = {
    "feature extraction": """\
strings (reading words, interning them, describing word types), which the limit does not count: it has
  one cache line for each feature. The next row of the table is the same without strings: the values of words are
  known, as in training from a cache.""",
    "CRF pass (log Z and gradient)": """\
by a profile (samples of the clock), forward and backward steps are a third, in which every sum over labels
  waits for the one before: its order is fixed, so that all machines give the same bytes. The penalty is an
  eighth: one sum in double over all weights, in order, which the limit counts as bytes alone. Rows of the
  gradient and of scores are an eighth each; these are the rows that the limit counts.""",
    "Viterbi": """\
latency. A sentence is a chain: {chain:.0f} operations for each token of two sentences side by side wait for the
  one before (maxima over the labels, the scale of a row, the trace of the path back), {each} ns each if nothing
  else took time; an operation takes four cycles. By a profile, forward steps are half of the time, the trace a
  fifth, checks of the input in Python another fifth. The limit assumes that nothing waits, which needs more
  sentences side by side than there are registers for.""",
    "vectorising": """\
by a profile, the look-up of pairs of words is a fifth, that of words another fifth, the sort of a document's
  features an eighth, finding the bounds of words a tenth. The limit has one cache line for each n-gram. The look-up
  of a word reads three (slot, bounds of the string, string), that of a pair two (tag, slot); words are looked up in
  batches whose lines are prefetched, and nothing is allocated for a word.""",
}

ARCHITECTURES = """
## Architectures

The inner loops work on packs of eight lanes (`machine/pack.hpp`), without intrinsics. On x86-64 a pack is one vector
of the compiler; with GCC the hot functions are compiled three times (baseline, v3, v4), and the one for the machine
is picked at load time. Elsewhere they are compiled once for the baseline, and a pack is two registers of 16 bytes,
which on aarch64 are those of NEON: GCC would keep a vector of 32 bytes in memory there, with its sums, and compare it
lane by lane. The order of all sums is the same in both. The exponential is the same polynomial on all. Sums are in
float unless a sentence loses precision by that.

In seconds, on the aarch64 machine named above: from the file to a CRF of CoNLL-2000 that is as accurate as CRFsuite's
(`python -m benchmarks crf_conll2000`) takes 1.78 CPU s there, CRFsuite 139.0 in the same run, 78 times as long.

Before such a machine was at hand, instructions were counted for both: GCC 12, QEMU 7.2 in user mode (x86-64: the clone
v3, by QEMU too), the first 200 sentences of CoNLL-2000 with 19 templates, 20 labels and 70,081 features, instructions
for each token and pass, all functions of the pass included.

| | aarch64, one vector | aarch64, two registers | x86-64 |
|---|---|---|---|
| SGD | 12,045 | 6,666 | 5,169 |
| dual ascent | 11,923 | 7,912 | 6,497 |
| gradient for L-BFGS | 16,792 | 12,804 | 13,164 |
| scores and Viterbi | 4,955 | 1,706 | 1,169 |

A gradient by plain loops over labels takes 10,094 on aarch64 and 11,506 on x86-64 (baseline); on so few sentences
half of the gradient for L-BFGS is a loop over all weights. By `llvm-mca -mcpu=neoverse-n1`, which does not count the
wait for what was just stored, the loop over the labels before takes 17 cycles a label in the sum of a forward step
(42 as one vector) and 25 in that of Viterbi (73). Both architectures gave the same bytes: weights after two epochs of
SGD and two passes of dual ascent, the gradient, and the labels of Viterbi.

The solvers of documents and kernels were run in the same way on generated data: 2,000 documents of about 40 features,
instructions for each document and pass, the mean of the second and third; and a step of sequential minimal
optimisation over 1,200 or 700 examples. A pack of floats is two registers on aarch64 and one on x86-64, so up to twice
as many instructions are expected, and no loop takes more. The kernel machine's packs of eight doubles are two registers
in the clone v3, where GCC keeps them on the stack in the search for the worst example.

| | aarch64, two registers | x86-64 |
|---|---|---|
| Crammer-Singer, 5 labels | 1,209 | 815 |
| Crammer-Singer, 20 labels | 3,165 | 1,773 |
| Crammer-Singer, squared, 12 labels | 2,449 | 1,422 |
| logistic regression, 20 labels | 6,599 | 4,963 |
| hinge, one against the rest, 20 labels | 3,260 | 1,708 |
| squared hinge, one against the rest, 5 labels | 1,396 | 847 |
| step of the kernel machine | 16,712 | 21,918 |

Both architectures gave the same bytes in all of these: weights and objectives after four passes (3 to 40 labels), the
multipliers and biases of kernel machines, and the labels, order and scores of greedy, easiest-first and beam taggers
with 8 to 21 labels, with and without rules; x86-64 here is the clone v4.
"""

SCALING = """
## Scaling

CPU time on {architecture} while one size doubles and the others stay. A straight line is a power law; its exponent is
fitted by least squares on logarithms. By definition the exponent is 1 in sentences and length, at most 2 in labels
(pairs of labels), and at most 1 in features (all weights are read once a pass). Exponents below 1 come from work that
does not grow with the size that is varied, such as a pass over all weights: they do not prove linear growth beyond
these sizes.
"""


def main(folder: Path = HERE, sizes: limits.Sizes | None = None, steps: int = 5) -> None:
    """Write the page and the plots into a folder."""
    sizes = sizes or limits.Sizes()
    here = machine()["architecture"]
    kept = folder / "limits.json"
    measured = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    measured[here] = _measurement(sizes)
    with writing_text(kept) as out:
        out.write(json.dumps(measured, indent=1) + "\n")
    text = HEAD.format(
        tokens=sizes.tokens, sentences=sizes.sentences, labels=sizes.labels, each=sizes.each, features=sizes.features,
    )  # fmt: skip
    for architecture, one in sorted(measured.items()):
        text += TABLE.format(architecture=architecture, **one)
        text += "".join(f"| {' | '.join(_cells(path))} |\n" for path in one["paths"])
    slow = dict(_slow(measured))
    if slow:
        text += "\n## Below a third\n\n"
        for path, where in slow.items():
            text += f"- **{path}** ({', '.join(where)}): {_reason(path, measured)}\n"
    text += ARCHITECTURES + SCALING.format(architecture=here)
    base = replace(sizes, sentences=max(2, sizes.sentences // 5))
    for kind in limits.KINDS:
        made = limits.curves(kind, base, steps)
        text += _drawn(folder, kind, made, "CPU s")
        for curve in made:
            above = curve.exponent > EXPECTED[kind] + SLACK
            told = ", above the expected exponent" if above else ""
            text += f"- {curve.path}: exponent {curve.exponent:.2f}{told}\n"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    made = limits.thread_curves(sizes, max(2, cores))
    text += _drawn(folder, "threads", made, "wall s")
    text += f"{_busy(cores)}\n\n"
    for curve in made:
        faster = curve.seconds[0] / curve.seconds[-1]
        text += f"- {curve.path}: {faster:.2f} times as fast on {curve.sizes[-1]} threads\n"
    with writing_text(folder / "limits.md") as out:
        out.write(text)


def _measurement(sizes: limits.Sizes) -> dict[str, Any]:
    """What this machine does in a second, and its paths: bytes, operations and times for each unit."""
    host, found = limits.all_reached(sizes)
    return {
        "cpu": machine()["cpu"],
        **{name: round(value / 1e9, 3) for name, value in vars(host).items()},
        "paths": [
            {
                "path": one.path,
                "unit": one.unit,
                "bytes": round(one.bytes / one.units),
                "operations": round(one.operations / one.units),
                "bound": one.bound,
                "limit_ns": round(1e9 * one.limit_s / one.units, 2),
                "taken_ns": round(1e9 * one.taken_s / one.units, 2),
                "chain": round(one.chain / one.units, 2),
            }
            for one in found
        ],
    }


def _cells(path: Mapping[str, Any]) -> list[str]:
    """The cells of a path in the table."""
    counts = [f"{path[name]:,.0f}" for name in ("bytes", "operations")]
    times = [f"{path[name]:,.1f}" for name in ("limit_ns", "taken_ns")]
    return [path["path"], path["unit"], *counts, path["bound"], *times, f"{_fraction(path):.2f}"]


def _fraction(path: Mapping[str, Any]) -> float:
    return float(path["limit_ns"] / path["taken_ns"])


def _slow(measured: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The paths below a third of their limit, and the architectures on which they are."""
    for name in dict.fromkeys(path["path"] for one in measured.values() for path in one["paths"]):
        below = [
            architecture
            for architecture, one in sorted(measured.items())
            if any(path["path"] == name and _fraction(path) < 1 / 3 for path in one["paths"])
        ]
        if below:
            yield name, below


def _reason(name: str, measured: Mapping[str, Any]) -> str:
    """Why a path is below a third."""
    found = [
        path for one in measured.values() for path in one["paths"] if path["path"] == name and path["chain"]
    ]
    each = " and ".join(f"{path['taken_ns'] / path['chain']:.1f}" for path in found)
    return REASONS.get(name, "not profiled.").format(chain=found[0]["chain"] if found else 0.0, each=each)


def _busy(cores: int) -> str:
    """How busy the machine was: wall time on a busy one says little about threads."""
    if not hasattr(os, "getloadavg"):
        return "The load of the machine is not known."
    load = os.getloadavg()[0]
    verdict = "busy: these times say little" if load > 1.5 * cores else "quiet"
    return f"Wall time, with {load:.1f} processes running or waiting on {cores} cores ({verdict})."


def _drawn(folder: Path, kind: str, made: list[limits.Curve], clock: str) -> str:
    """The plot of one kind of size; the lines of the page that show it."""
    named = {
        f"{c.path}, exponent {c.exponent:.2f}": [
            (math.log2(n), s) for n, s in zip(c.sizes, c.seconds, strict=True)
        ]
        for c in made
    }
    chart = lines(f"Time over {kind}", named, f"log2 of {kind}", clock, log=True)
    with writing_text(folder / f"limits-{kind}.svg") as out:
        out.write(svg_file(chart))
    return f"\n### {kind.capitalize()}\n\n![Time over {kind}](limits-{kind}.svg)\n\n"


if __name__ == "__main__":
    main()
