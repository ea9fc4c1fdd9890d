"""Run the commands of laboratory.md in an empty folder and write what they print into the page."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parent / "laboratory.md"


def main() -> None:
    """Every console block anew."""
    with tempfile.TemporaryDirectory() as folder:
        text = re.sub(
            r"(?s)~~~console\n(.*?)~~~", lambda m: _block(m[1], folder), PAGE.read_text(encoding="utf-8")
        )
    PAGE.write_text(text, encoding="utf-8")


def _block(content: str, folder: str) -> str:
    commands = re.findall(r"(?m)^\$ (.*)$", content)
    return "~~~console\n" + "".join(f"$ {c}\n{_printed(c, folder)}" for c in commands) + "~~~"


def _printed(command: str, folder: str) -> str:
    bin_first = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"COLUMNS": "100", "PATH": bin_first}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


if __name__ == "__main__":
    main()
