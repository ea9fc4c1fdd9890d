"""An examination: every check over every file, its findings in order of urgency, as a report."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaffinch.doctor import (
    characters,
    conflicts,
    label_errors,
    label_names,
    span_bounds,
    tag_schemes,
)
from chaffinch.doctor.corpus_file import READING, CorpusFile, is_annotated, read_corpus
from chaffinch.doctor.finding import ERROR, HINT, SEVERITIES, WARNING, Finding
from chaffinch.errors import ConfigError
from chaffinch.progress import Listener, keep_going
from chaffinch.report import Html, Page, cards, paragraph, table, tag

CheckFiles = Callable[[Sequence[CorpusFile]], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """One row of the table of checks: its name, what it looks for, and its function; None: out-of-fold models."""

    name: str
    about: str
    find: CheckFiles | None


def _refused(files: Sequence[CorpusFile]) -> Iterable[Finding]:
    return (finding for file in files for finding in file.refused)


CHECKS = (
    Check(READING, "unreadable records, offsets out of range", _refused),
    Check(characters.CHECK, "empty, odd characters, far too long", characters.characters),
    Check(conflicts.DUPLICATES, "duplicate texts, in one file or in two", conflicts.duplicates),
    Check(conflicts.CHECK, "the same text or words labelled differently", conflicts.conflicts),
    Check(tag_schemes.CHECK, "illegal tags, mixed schemes", tag_schemes.tag_schemes),
    Check(label_names.CHECK, "rare, unseen in training, look-alikes", label_names.label_names),
    Check(span_bounds.CHECK, "with spaces, within words, overlapping", span_bounds.span_bounds),
    Check(label_errors.CHECK, "labels that cross-validated models disagree with", None),
)
NAMES = tuple(check.name for check in CHECKS)


@dataclass(frozen=True)
class Examination:
    """The findings in the files.

    checked: the names of the checks that were run
    """

    files: list[CorpusFile] = field(repr=False)
    findings: list[Finding]
    checked: tuple[str, ...]
    notes: list[str] = field(default_factory=list)

    @property
    def faulty(self) -> bool:
        """Whether there is an error."""
        return any(f.severity == ERROR for f in self.findings)

    @property
    def doubtful(self) -> bool:
        """Whether there is an error or a warning."""
        return any(f.severity in (ERROR, WARNING) for f in self.findings)

    def of(self, check: str) -> list[Finding]:
        """The findings of one check: errors before warnings before hints, the worst of each first."""
        chosen = [f for f in self.findings if f.check == check]
        return sorted(chosen, key=lambda f: (SEVERITIES.index(f.severity), -f.weight))

    def counts(self, check: str) -> dict[str, int]:
        """The number of findings of a check by severity."""
        found = [f.severity for f in self.findings if f.check == check]
        return {severity: found.count(severity) for severity in SEVERITIES}

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """Everything, ready for JSON; ``top`` findings of each check, or all."""
        return {
            "files": [
                {"file": file.name, "format": file.format, "rows": len(file.documents)} for file in self.files
            ],
            "faulty": self.faulty,
            "checks": {name: self.counts(name) for name in self.checked},
            "findings": [f.as_dict() for name in self.checked for f in self.of(name)[:top]],
            "notes": self.notes,
        }


def examine(
    paths: Sequence[str | Path],
    *,
    checks: Sequence[str] | None = None,
    quick: bool = False,
    odds: float = label_errors.ODDS,
    label: str | None = None,
    text: str | None = None,
    label_separator: str | None = None,
    seed: int = 0,
    threads: int = 0,
    on_fold: Listener = keep_going,
) -> Examination:
    """Examine the files of one corpus; the first is the training data, the others are held out.

    checks: names of the checks to run; by default all   quick: all but the one that trains models
    odds:   minimum odds of another label against the given one, under out-of-fold models

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "tags.conll"
    >>> _ = path.write_text("Ann B-PER\\nLee I-PER\\n\\nto O\\nOslo I-LOC\\n\\n")
    >>> for finding in examine([path], quick=True).of("tags"):
    ...     print(finding.line, finding.what, finding.suggestion)
    5 'Oslo': the tag 'I-LOC' must continue a span of its type, but follows 'O' B-LOC?
    """
    for name in checks or ():
        if name not in NAMES:
            raise ConfigError(f"there is no check {name!r}; there are {', '.join(NAMES)}")
    if odds < 1:
        raise ConfigError(f"expected odds of at least 1, got {odds:g}")
    told = {"label": label, "text": text, "label_separator": label_separator}
    files = [read_corpus(path, told) for path in paths]
    wanted = [c for c in CHECKS if (checks is None or c.name in checks) and not (quick and c.find is None)]
    findings: list[Finding] = []
    notes = [_unlabelled(file) for file in files if not any(map(is_annotated, file.documents))]
    for check in wanted:
        if check.find is not None:
            findings += check.find(files)
            continue
        if label_errors.judged_corpus(files)[0] is None:
            notes.append(
                "The labels were not checked with cross-validated models: that needs tags or labels on at least "
                f"{label_errors.FEWEST_ROWS} different rows."
            )
        else:
            findings += label_errors.label_errors(
                files, odds=odds, seed=seed, threads=threads, on_fold=on_fold
            )
    return Examination(files, findings, tuple(check.name for check in wanted), notes)


def _unlabelled(file: CorpusFile) -> str:
    """A note that a file has no labels, and the columns that might hold them."""
    others = list(file.documents[0].fields) if file.documents else []
    advice = f"; if one of the columns {', '.join(others)} holds them, name it with --label" if others else ""
    return f"{file.name}: no labels were found{advice}."


COLOURS = {ERROR: "bad", WARNING: "", HINT: "soft"}


def examination_page(examination: Examination, top: int = 200) -> Page:
    """A summary, then the worst findings of each check."""
    page = Page("Examination", ", ".join(file.name for file in examination.files))
    totals = {s: sum(examination.counts(name)[s] for name in examination.checked) for s in SEVERITIES}
    rows = sum(len(file.documents) for file in examination.files)
    boxes = [(f"{severity}s", f"{count:,}", "") for severity, count in totals.items()]
    about = {check.name: check.about for check in CHECKS}
    summary = [
        (name, about[name], *(f"{n:,}" for n in examination.counts(name).values()))
        for name in examination.checked
    ]
    page.add(
        "Summary",
        cards(
            [
                (
                    "rows",
                    f"{rows:,}",
                    "1 file" if len(examination.files) == 1 else f"{len(examination.files)} files",
                ),
                *boxes,
            ]
        ),
        table(("check", "looks for", "errors", "warnings", "hints"), summary),
        *(paragraph(note) for note in examination.notes),
    )
    for name in examination.checked:
        found = examination.of(name)
        if found:
            cut = paragraph(f"The worst {top} of {len(found):,}.") if len(found) > top else ""
            page.add(name.capitalize(), cut, _findings(found[:top]))
    return page


def _findings(found: list[Finding]) -> str:
    return table(
        ("", "finding"),
        [(tag("span", f.severity, class_=COLOURS[f.severity] or None), _told(f)) for f in found],
    )


def _told(f: Finding) -> Html:
    """The place and the finding, and the suggestion below."""
    advice = [tag("div", f"→ {f.suggestion}", class_="soft")] if f.suggestion else []
    return tag("div", tag("div", f.where, class_="where"), tag("div", f.what), *advice, class_="finding")
