"""Mutated model files: what the loader makes of each.

    python tests/fuzz_modelfile.py [FILES] [SEED]

Every file is a sound one, damaged in one of the ways below. Half of those whose directory can still be read
are *forged*: their checksum is made right again, so that the checks behind it have to stand alone. Loading
means what a recipe does: read the file, then ask for every section. The outcomes:

    equal      it loads, with exactly the content of the sound file (the damage hit padding or order)
    refused    ModelFileError: one line, naming the file
    different  it loads with other content that satisfies every requirement, and survives being written and
               read again; possible for forged files alone, since no reader can know that a weight was 0.5

Anything else is a failure: another exception, a crash, more than two seconds, or memory beyond twice the file
and a constant.
"""

import json
import random
import signal
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch import ModelFileError, modelfile
from chaffinch.modelfile import Header, ModelFile, Requirements
from modelfile_mutations import MUTATIONS, forge

MOST_SECONDS = 2
SPARE_BYTES = 1_000_000


def sound_content() -> tuple[Header, dict[str, np.ndarray], dict[str, list[str]]]:
    rng = np.random.default_rng(5)
    header = Header(
        recipe="crf",
        settings={"epochs": 20, "l2": 0.5, "learner": {"name": "lbfgs", "history": [3, 4]}},
        labels=("B-É", "I", "O"),
        templates=("w[0]", "w[-1]|w[0]"),
        scheme="bio",
        tokeniser="words",
        seed=13,
        data="sha256:00ff",
        scores={"dev.f1": 0.875, "tokens": 120},
        droppable=("names", "counts"),
    )
    arrays = {
        "unary": rng.normal(size=(7, 3)).astype(np.float32),
        "pair": rng.normal(size=(3, 3)).astype(np.float16),
        "ptr": np.array([0, 2, 2, 5, 9], np.int64),
        "ids": rng.integers(0, 7, 9).astype(np.int32),
        "keys": np.sort(rng.integers(0, 2**64, 7, dtype=np.uint64)),
        "quantised": rng.integers(-128, 128, (2, 5)).astype(np.int8),
        "letters": rng.integers(0, 256, 6).astype(np.uint8),
        "allowed": rng.random((3, 3)) < 0.5,
        "counts": rng.integers(0, 99, 7),
        "empty": np.zeros((0, 3), np.float32),
    }
    strings = {
        "words": ["", "the", "naïve", "日本", "🐦", "a\nb\x00c"],
        "names": [f"w[-1]={i}" for i in range(7)],
        "none": [],
    }
    return header, arrays, strings


def load(path: Path) -> ModelFile:
    """What a recipe does with its file."""
    model = modelfile.read(path)
    need = Requirements(model, Y=len(model.header.labels))
    need.array("unary", np.float32, ("F", "Y"), finite=True)
    need.array("pair", np.float16, ("Y", "Y"), finite=True)
    need.array("ids", np.int32, ("K",), below="F")
    need.array("ptr", np.int64, ("N+1",), bounds="K")
    need.array("keys", np.uint64, ("F",), ascending=True)
    need.array("quantised", np.int8, (2, "Q"))
    need.array("letters", np.uint8, ("L",))
    need.array("allowed", np.bool_, ("Y", "Y"))
    need.array("empty", np.float32, (0, "Y"))
    need.strings("words", "V", distinct=True)
    need.strings("none", 0)
    if not need.dropped("names"):
        need.strings("names", "F")
    if not need.dropped("counts"):
        need.array("counts", np.int64, ("F",))
    need.nothing_else()
    return model


def content(model: ModelFile) -> Any:
    """Everything a model file says, in a form that compares by value, bit by bit."""
    arrays = {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in model.arrays.items()}
    return model.header, arrays, {name: list(s) for name, s in model.strings.items()}


def run(files: int, seed: int, folder: Path) -> Counter[tuple[str, str, str]]:
    """Counts by (mutation, raw or forged, outcome); raises AssertionError at the first failure."""
    path = folder / "mutated.chaff"
    modelfile.write(path, *sound_content())
    sound = path.read_bytes()
    original = content(load(path))
    counts: Counter[tuple[str, str, str]] = Counter()
    for i in range(files):
        rng = random.Random(f"{seed}/{i}")
        mutation = MUTATIONS[i % len(MUTATIONS)]
        mutated = mutation(sound, rng)
        forged = forge(mutated) if rng.random() < 0.5 else None
        path.write_bytes(mutated if forged is None else forged)
        kind = "raw" if forged is None else "forged"
        try:
            outcome = outcome_of(path, original, folder)
            assert outcome != "different" or kind == "forged", "damage passed for content"
        except Exception as e:
            raise AssertionError(f"file {i} of seed {seed} ({mutation.__name__}, {kind}): {e!r}") from e
        counts[mutation.__name__, kind, outcome] += 1
    return counts


def outcome_of(path: Path, original: Any, folder: Path) -> str:
    start = time.process_time()
    tracemalloc.start()  # for the load alone: it makes all that runs meanwhile several times as slow
    try:
        with alarm(10 * MOST_SECONDS):
            model = load(path)
    except ModelFileError as e:
        model = None
        message = str(e)
        assert message.startswith(f"{path}: "), message
        assert len(message.splitlines()) == 1, message
        assert len(message) < len(str(path)) + 400, message
    finally:
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    seconds = time.process_time() - start
    assert seconds < MOST_SECONDS, f"took {seconds:.1f} s"
    size = path.stat().st_size
    assert taken <= 2 * size + SPARE_BYTES, f"took {taken} bytes for a file of {size}"
    if model is None:
        return "refused"
    if content(model) == original:
        return "equal"
    again = folder / "again.chaff"
    modelfile.write(again, model.header, model.arrays, model.strings)
    assert content(load(again)) == content(model)
    json.loads(modelfile.as_json(model))
    return "different"


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """A hang becomes an exception."""

    def ring(*_: Any) -> None:
        raise TimeoutError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def table(counts: Counter[tuple[str, str, str]]) -> str:
    outcomes = ("equal", "refused", "different")
    lines = [f"{'mutation':20}{'checksum':10}" + "".join(f"{o:>11}" for o in outcomes)]
    for mutation, kind in sorted({key[:2] for key in counts}):
        row = "".join(f"{counts[mutation, kind, o]:11}" for o in outcomes)
        lines.append(f"{mutation:20}{kind:10}{row}")
    for kind in ("raw", "forged"):
        sums = [sum(n for key, n in counts.items() if key[1:] == (kind, o)) for o in outcomes]
        lines.append(f"{'all':20}{kind:10}" + "".join(f"{n:11}" for n in sums))
    return "\n".join([*lines, f"{counts.total()} files, none crashed, hung or took memory beyond its size"])


if __name__ == "__main__":
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        print(table(run(files, seed, Path(folder))))
