"""Every allocation of the native core fails once, in every recipe: `make oom`.

    python tests/allocation_failures.py [--places N] [--only WORDS]

A process with the failing allocator preloaded forks one child for each place: the child trains and uses one recipe
while one allocation fails. It must end in MemoryError, in one of Chaffinch's errors, or with the answer of an
undisturbed run; a signal, another exception or another answer is a fault.
"""

import argparse
import ctypes
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("failing_allocator.c")
REFUSED, FAULT = 10, 11  # how a child ends: with an error that is meant, with one that is not
SECONDS = 60  # a child that takes longer hangs


def library(folder: Path) -> Path | None:
    """The allocator, compiled; None if there is no compiler or no system that it is written for."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    made = folder / "failing_allocator.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", made, SOURCE], check=True)
    return made


def faults(
    folder: Path, places: int | None = None, only: str = "", quiet: bool = False
) -> tuple[list[str], int]:
    """What went wrong, and how many allocations failed; runs itself with the allocator preloaded."""
    allocator = library(folder)
    assert allocator is not None
    command = [sys.executable, __file__, "--child", "--only", only]
    command += ["--places", str(places)] if places else []
    environment = {
        **os.environ,
        "LD_PRELOAD": str(allocator),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    found, tried = [], 0
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            kind, _, text = line.rstrip("\n").partition("\t")
            if kind == "fault":
                found.append(text)
            elif kind == "tried":
                tried += int(text)
            if not quiet:
                print(text if kind != "tried" else "", end="\n" if kind != "tried" else "", flush=True)
    if run.returncode:
        found.append(f"the run itself ended with {run.returncode}")
    return found, tried


class Allocator:
    """The preloaded library, for allocations of the native module and of the C++ library."""

    def __init__(self) -> None:
        self._calls = ctypes.CDLL(None)
        self._calls.failing_allocator_count.restype = ctypes.c_long
        for line in Path("/proc/self/maps").read_text().splitlines():
            bounds, rights, *_, path = line.split(None, 5) if line.count(" ") >= 5 else (line, "", "")
            if "x" in rights and ("_core." in path or "libstdc++" in path):
                low, high = (int(bound, 16) for bound in bounds.split("-"))
                self._calls.failing_allocator_range(ctypes.c_size_t(low), ctypes.c_size_t(high))

    def arm(self, place: int) -> None:
        self._calls.failing_allocator_arm(ctypes.c_long(place))

    def count(self) -> int:
        return int(self._calls.failing_allocator_count())


def _in_child(work: Callable[[], bytes]) -> tuple[int, bytes]:
    """How a forked child that does this work ends (as by os.waitstatus_to_exitcode), and what it gives."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(SECONDS)
        code = FAULT
        try:
            os.write(write, work())
            code = 0
        except BaseException:
            os.write(write, traceback.format_exc().encode()[-60_000:])
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        given = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), given


def _answer(train: Callable[[], Any], use: Callable[[Any], object]) -> bytes:
    return hashlib.sha256(repr(use(train())).encode()).hexdigest().encode()


def main_in_child(places: int | None, only: str) -> None:
    from chaffinch import ChaffinchError
    from recipe_models import models

    allocator, rng = Allocator(), random.Random(1)
    for name, (train, use) in models().items():
        if not any(part in name for part in only.split(",")):
            continue

        def counted(train: Callable[[], Any] = train, use: Callable[[Any], object] = use) -> bytes:
            allocator.arm(0)
            answer = _answer(train, use)
            return b"%d %s" % (allocator.count(), answer)

        code, given = _in_child(counted)
        if code:
            print(f"fault\t{name}: undisturbed it ends with {code}: {given.decode()}", flush=True)
            continue
        total, answer = int(given.split()[0]), given.split()[1]
        chosen = (
            range(1, total + 1)
            if places is None or places >= total
            else rng.sample(range(1, total + 1), places)
        )
        ends: Counter[str] = Counter()
        for place in chosen:

            def disturbed(place: int = place, train: Any = train, use: Any = use) -> bytes:
                allocator.arm(place)
                try:
                    return _answer(train, use)
                except (MemoryError, ChaffinchError):
                    return b"refused"

            code, given = _in_child(disturbed)
            if code == 0:
                end = (
                    "refused" if given == b"refused" else "finished" if given == answer else "another answer"
                )
            else:
                end = signal.Signals(-code).name if code < 0 else "an exception"
            ends[end] += 1
            if end not in ("refused", "finished"):
                last = given.decode(errors="replace").strip().splitlines()[-1:] or [""]
                print(f"fault\t{name}, allocation {place} of {total}: {end} {last[0][:200]}", flush=True)
        print(f"recipe\t{name}: {total} allocations, {dict(ends)}", flush=True)
        print(f"tried\t{len(chosen)}", flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--places", type=int, help="so many places of each recipe; all unless given")
    arguments.add_argument(
        "--only", default="", help="recipes with one of these words in their name, separated by commas"
    )
    arguments.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.child:
        main_in_child(given.places, given.only)
    else:
        with tempfile.TemporaryDirectory() as folder:
            found, tried = faults(Path(folder), given.places, given.only)
        print(f"{tried} allocations failed, {len(found)} faults")
        sys.exit(bool(found))
