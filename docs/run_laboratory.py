"""Run the commands of laboratory.md in an empty folder and write their output into the page."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

PAGE = Path(__file__).parent / "laboratory.md"


def main() -> None:
    """Rewrite the page."""
    written_anew(PAGE)


def written_anew(page: Path, answers: Collection[int] = (0,)) -> None:
    """Rewrite every console block of a page; commands may end with these exit codes."""
    with tempfile.TemporaryDirectory() as folder:
        text = re.sub(
            r"(?s)~~~console\n(.*?)~~~",
            lambda m: _block(m[1], folder, answers),
            page.read_text(encoding="utf-8"),
        )
    page.write_text(text, encoding="utf-8")


def _block(content: str, folder: str, answers: Collection[int]) -> str:
    commands = re.findall(r"(?m)^\$ (.*)$", content)
    return "~~~console\n" + "".join(f"$ {c}\n{_printed(c, folder, answers)}" for c in commands) + "~~~"


def _printed(command: str, folder: str, answers: Collection[int]) -> str:
    bin_first = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"COLUMNS": "100", "PATH": bin_first}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, check=False, capture_output=True, text=True
    )
    if done.returncode not in answers:
        raise SystemExit(f"{command}: exit code {done.returncode}\n{done.stderr}")
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


if __name__ == "__main__":
    main()
