"""Records: results in readable Markdown, appended to a file."""

import json
from datetime import datetime
from pathlib import Path

from chaffinch.errors import DataError
from chaffinch.files import writing_text
from chaffinch.lab.experiment import Outcome

FOLDER = Path("records")


def record_path(named: str) -> Path:
    """The path of a record: a bare name means a file in the folder ``records``.

    >>> record_path("baseline").as_posix(), record_path("notes/a.md").as_posix()
    ('records/baseline.md', 'notes/a.md')
    """
    return FOLDER / f"{named}.md" if is_bare(named) else Path(named)


def is_bare(named: str) -> bool:
    """Whether a name has no folder and no ending; "lr-0.01" has none."""
    path = Path(named)
    return len(path.parts) == 1 and (not path.suffix or path.suffix[1:].isdigit())


def record(outcome: Outcome, name: str, when: datetime) -> str:
    """Heading, settings, accuracy after each pass with the best so far, and the finished model's scores.

    If the same experiment is run again, only the heading and the line of times differ.
    """
    e = outcome.experiment
    settings = {"dataset": str(e.source), "recipe": e.recipe, "seed": e.seed, **outcome.settings}
    if e.features is not None:
        settings["features"] = e.features
    lines = [f"## {name}, {when:%Y-%m-%d %H:%M:%S}", "", "```json", json.dumps(settings), "```", ""]
    lines += epoch_lines(outcome.epochs)
    lines += ["", *_table(outcome.scores), ""]
    lines += [f"Trained in {outcome.wall_s:.3f} s ({outcome.cpu_s:.3f} s of CPU).", ""]
    return "\n".join(lines)


def epoch_lines(epochs: list[dict[str, float]]) -> list[str]:
    """One line per pass: accuracy on the training split, on the watched split, and the best so far.

    >>> epoch_lines([{"train": 0.5, "test": 0.25}, {"train": 0.75, "test": 0.5}])[1]
    'epoch  2, train_acc 75.0000, test_acc _50.0000_, best **50.0000** at epoch 2  '
    """
    lines: list[str] = []
    best, best_at = -1.0, 0
    for number, scores in enumerate(epochs, start=1):
        train = f"train_acc {100 * scores['train']:.4f}" if "train" in scores else ""
        others = [split for split in scores if split != "train"]
        pieces = [f"epoch {number:2}", train]
        if others:
            value = scores[others[0]]
            if value > best:
                best, best_at = value, number
            pieces.append(f"{others[0]}_acc _{100 * value:.4f}_")
            pieces.append(f"best **{100 * best:.4f}** at epoch {best_at}")
        lines.append(", ".join(filter(None, pieces)) + "  ")  # two spaces: a line break in Markdown
    return lines


def append(path: Path, text: str) -> None:
    """Append a record to a file, which is created if needed; the file is replaced atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as e:
        raise DataError(f"{path}: a record cannot be added to it: {e}") from None
    with writing_text(path) as stream:
        stream.write(before + ("\n" if before else "") + text)


def _table(scores: dict[str, dict[str, float]]) -> list[str]:
    keys = list(dict.fromkeys(key for found in scores.values() for key in found))
    rows = ["| scored on | " + " | ".join(keys) + " |", "|---|" + "---:|" * len(keys)]
    for split, found in scores.items():
        cells = [f"{100 * found[key]:.4f} %" if key in found else "" for key in keys]
        rows.append(f"| {split} | " + " | ".join(cells) + " |")
    return rows
