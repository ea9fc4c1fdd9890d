"""Where the real corpora are, and the rule that a run which was promised them skips nothing."""

import gc
import importlib
import os
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from chaffinch.samples.catalogue import SAMPLES
from chaffinch.text.document import Document

# How long a draw takes is the machine's affair: on a busy one it says nothing about the test.
# Every run draws anew, so many runs see more cases than a long one; pytest --hypothesis-profile=thorough draws more.
_any_pace = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("suite", _any_pace, max_examples=50)
settings.register_profile("thorough", _any_pace, max_examples=1000)
settings.load_profile("suite")

# A console keeps the width that COLUMNS asks for when it is made: it is made before any test sets that.
os.environ.pop("COLUMNS", None)
importlib.import_module("chaffinch.cli.console")

Drawn = Callable[[int, int, str, bool], list[Document]]


def _remembered(documents: Drawn) -> Drawn:
    """The same documents, drawn once; every caller has a copy of its own."""
    drawn = lru_cache(maxsize=6)(documents)

    def remembered(n: int, seed: int, split: str, careful: bool) -> list[Document]:
        copies = [copy(document) for document in drawn(n, seed, split, careful)]
        for document in copies:
            document.fields = dict(document.fields)
        return copies

    return remembered


# A sample takes up to half a second to draw, and hundreds of tests ask for the same ones.
SAMPLES |= {
    name: replace(sample, documents=_remembered(sample.documents)) for name, sample in SAMPLES.items()
}

ENVIRONMENT = "CHAFFINCH_DATA"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"

_skipped: list[str] = []


def data_folder() -> Path | None:
    """The folder of real corpora: named by the environment, else beside the project, else none."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named)
    return BESIDE if BESIDE.is_dir() else None


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real corpora; tests that ask for it skip where there is none."""
    folder = data_folder()
    if folder is None:
        pytest.skip(f"needs the real corpora: set {ENVIRONMENT}")
    return folder


def pytest_collection_finish() -> None:
    """Spare every test what grows with the suite and the machine.

    The garbage collector no longer walks through the modules and tests that live to the end: a full collection took
    0.3 s. NumPy and SciPy get one thread for linear algebra: on small matrices more threads wait for each other.
    Processes that tests start keep their own number of threads, and so do the threads of the core.
    """
    gc.collect()
    gc.freeze()
    threadpool_limits(1)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With the corpora promised, a skipped test is a failed run."""
    if os.environ.get(ENVIRONMENT) and _skipped and session.exitstatus == 0:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if os.environ.get(ENVIRONMENT) and _skipped:
        terminalreporter.section("skipped although CHAFFINCH_DATA is set: this fails the run")
        for name in _skipped:
            terminalreporter.line(name)
