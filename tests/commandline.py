"""The command line called in this process: exit code, standard output and standard error."""

import io
import re
import sys
from dataclasses import dataclass

import pytest

from chaffinch import files
from chaffinch.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


class Runner:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: object, stdin: bytes = b"") -> Outcome:
        with self.monkeypatch.context() as m:
            m.setattr(files, "_waiting", {})  # what an earlier command looked into and left
            m.setattr(sys, "argv", ["chaffinch", *map(str, arguments)])
            m.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
            self.capsys.readouterr()
            try:
                main()
                code = 0
            except SystemExit as e:
                code = e.code if isinstance(e.code, int) else int(e.code is not None)
        shown = self.capsys.readouterr()
        return Outcome(code, shown.out, shown.err)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(monkeypatch, capsys)


def console_blocks(page: str) -> list[tuple[str, str]]:
    """Commands and what they print, from the console blocks of a page of the documentation."""
    found = []
    for block in re.findall(r"~~~console\n(.*?)~~~", page, re.DOTALL):
        for piece in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, shown = piece.partition("\n")
            found.append((command, shown))
    return found
