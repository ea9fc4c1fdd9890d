"""docs/laboratory.md: every command on it is run in order, and shows what the page says it shows."""

import re
import shlex
from pathlib import Path

import pytest

from commandline import Runner, console_blocks, run  # noqa: F401

PAGE = (Path(__file__).parents[1] / "docs" / "laboratory.md").read_text(encoding="utf-8")


def timeless(text: str) -> list[str]:
    """Lines without what differs from run to run: times, and how wide a column of times is."""
    text = re.sub(r"\d+\.\d+ s\b", "TIME", text)
    text = re.sub(r"\([\d,]+ bytes\)", "(SIZE)", text)
    text = re.sub(r"(?m)( %| to \d+\.\d+|one seed) +\d+\.\d\d\b", r"\1 TIME", text)
    text = re.sub(r"## (.*), \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", r"## \1, WHEN", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def numberless(line: str) -> str:
    """A line without scores, which another processor may round otherwise."""
    return re.sub(r"\d+\.\d+", "SCORE", line)


def numbers(text: str) -> list[float]:
    """The scores in a text."""
    return [float(n) for line in timeless(text) for n in re.findall(r"\d+\.\d+", line)]


def test_the_page_shows_what_its_commands_print(
    run: Runner,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    found_on_page = console_blocks(PAGE)
    assert len(found_on_page) >= 6
    for command, shown in found_on_page:
        program, *arguments = shlex.split(command)
        if program == "cat":
            printed = Path(arguments[0]).read_text()
        else:
            found = run(*arguments)
            assert found.code == 0, f"{command}\n{found.err}"
            printed = found.out
        assert [numberless(line) for line in timeless(printed)] == [
            numberless(line) for line in timeless(shown)
        ], command
        assert numbers(printed) == pytest.approx(numbers(shown), abs=1.0), command
