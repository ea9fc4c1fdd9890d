"""Write the tables of defaults.md from the benchmarks that measure them.

python docs/run_defaults.py [FOLDER]      FOLDER: saved outputs, NAME.txt for each table; else all are run
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE / "defaults.md"
DRAWN = [
    "trec, 60",
    "trec, 300",
    "sst5, 500",
    "trec fine, 800",
    "names",
    "questions",
    "reviews",
    "posts",
    "websites, 3000",
    "topics",
    "genres, 3000",
    "trec",
    "20news subjects, 4000",
    "tweets, 5000",
    "sst5",
    "trec fine",
]
COMMANDS = {
    "within": [["benchmarks.defaults_documents", "--within", "--draws", "5", *DRAWN]],
    "defaults": [["benchmarks.calibration", "defaults"]],
    "recipes": [["benchmarks.calibration", "recipes"]],
    "learning": [
        ["benchmarks.learning_on", "ingredients", "2000", "9000"],
        ["benchmarks.learning_on", "conll2000", "2000", "8900"],
        ["benchmarks.learning_on", "20news", "2000", "9000"],
    ],
}


def main(folder: Path | None) -> None:
    """Rewrite all tables."""
    text = PAGE.read_text(encoding="utf-8")
    for name, commands in COMMANDS.items():
        if folder is not None:
            lines = (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        else:
            lines = [line for command in commands for line in output(command)]
        rows = [line.strip() for line in lines if line.startswith("|") and "Error:" not in line]
        table = "\n".join(dict.fromkeys(rows)) + "\n"  # a head that several commands print is kept once
        marks = re.compile(rf"(?s)(<!-- {name} -->\n).*?(<!-- end -->)")
        text = marks.sub(lambda m, table=table: f"{m[1]}{table}{m[2]}", text)
    PAGE.write_text(text, encoding="utf-8")


def output(command: list[str]) -> list[str]:
    """The lines that a benchmark prints."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=HERE.parent, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
