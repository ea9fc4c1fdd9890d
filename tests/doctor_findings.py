"""What the doctor finds in files written on the spot."""

import json
from pathlib import Path

from chaffinch.doctor import Finding, examine

CLEAN = "Ann B-PER\nLee I-PER\nleft O\n\nto O\nOslo B-LOC\n\nBo B-PER\nsaw O\nOslo B-LOC\n\n"

CELLS = "_\tNOUN\t_\t_\t0\troot\t_\t_"  # of a row of CoNLL-U after its word


def found(
    check: str, *contents: str, folder: Path, ending: str = ".conll", **options: object
) -> list[Finding]:
    paths = []
    for i, content in enumerate(contents):
        paths.append(folder / f"{i}{ending}")
        paths[-1].write_text(content)
    return examine(paths, checks=[check], **options).of(check)


def lines(findings: list[Finding]) -> list[tuple[str, int | None, str]]:
    return [(Path(f.file).name, f.line, f.severity) for f in findings]


def span_row(text: str, *spans: tuple[int, int, str]) -> str:
    return (
        json.dumps({"text": text, "spans": [{"start": a, "end": b, "label": y} for a, b, y in spans]}) + "\n"
    )
