"""docs/retraining.md: its commands run in order, and its tables know every check and every flag."""

import re
import shlex
from pathlib import Path

import pytest

from chaffinch.doctor import CHECKS
from commandline import Runner, console_blocks, run  # noqa: F401

PAGE = (Path(__file__).parents[1] / "docs" / "retraining.md").read_text(encoding="utf-8")


def test_every_command_of_the_page_runs_and_prints_the_headings_that_the_page_shows(
    run: Runner,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    on_page = console_blocks(PAGE)
    assert len(on_page) >= 6
    for command, shown in on_page:
        outcome = run(*shlex.split(command)[1:])
        assert outcome.code in (0, 1), outcome.err
        headings = {line.split()[0] for line in shown.splitlines() if line[:1].isalpha()}
        assert headings == {line.split()[0] for line in outcome.out.splitlines() if line[:1].isalpha()}, (
            command
        )


def test_the_page_has_a_row_for_every_check() -> None:
    for check in CHECKS:
        assert f"\n| `{check.name}` |" in PAGE


def test_the_flags_of_the_page_are_flags_of_the_commands(run: Runner) -> None:  # noqa: F811
    known = run("compare", "--help").out + run("doctor", "--help").out + run("samples", "--help").out
    for flag in set(re.findall(r"`(--[a-z-]+)", PAGE)):
        assert flag in known
