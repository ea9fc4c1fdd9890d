"""The history of a model: one row of a CSV file for every comparison, so that a score can be followed over releases."""

import csv
import io
from datetime import datetime
from pathlib import Path

from chaffinch.errors import DataError
from chaffinch.files import writing_text
from chaffinch.lab.model_difference import BOTH_WRONG, BROKEN, FIXED, ModelDifference
from chaffinch.lab.regression import Verdict

COLUMNS = (
    "time",
    "data",
    "old",
    "new",
    "recipe",
    "score",
    "old_value",
    "new_value",
    "low",
    "high",
    "fixed",
    "broken",
    "both_wrong",
    "bytes",
    "per_second",
    "regression",
)


def add_to_history(path: str | Path, difference: ModelDifference, verdict: Verdict, when: datetime) -> None:
    """Append a comparison to a history, which is begun if there is none; the file is written whole or not at all."""
    if difference.evaluation is None or difference.evaluation.comparison is None:
        raise DataError("a history is one of scores, and the data has no right answers")
    c = difference.evaluation.comparison[verdict.score]
    row = (
        f"{when:%Y-%m-%d %H:%M:%S}",
        difference.test_set.path,
        difference.old.name,
        difference.new.name,
        difference.new.recipe or "",
        verdict.score,
        *(f"{value:.6f}" for value in (c.other, c.ours, c.low, c.high)),
        *(len(difference.of_kind(kind)) for kind in (FIXED, BROKEN, BOTH_WRONG)),
        "" if difference.new.model_bytes is None else difference.new.model_bytes,
        "" if difference.new.speed is None else round(difference.new.speed),
        "yes" if verdict.regression else "no",
    )
    before = _history(Path(path))
    with writing_text(path) as out:
        out.write(before + _line(row))


def _history(path: Path) -> str:
    """What the file holds so far, or the line of column names."""
    head = _line(COLUMNS)
    if not path.exists():
        return head
    text = path.read_text(encoding="utf-8")
    if not text.startswith(head):
        raise DataError(f"{path}:1: is no history of comparisons: expected the columns {', '.join(COLUMNS)}")
    return text if text.endswith("\n") else text + "\n"


def _line(cells: tuple[object, ...]) -> str:
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerow(cells)
    return made.getvalue()
