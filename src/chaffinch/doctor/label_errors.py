"""Likely label errors: labels that a model of the other rows is sure are wrong, with what it would write instead."""

from collections.abc import Iterator, Sequence

import numpy as np

from chaffinch.doctor.corpus_file import CorpusFile, normalised
from chaffinch.doctor.finding import WARNING, Finding, quoted
from chaffinch.doctor.held_out_opinions import FOLDS, Opinions, held_out_opinions
from chaffinch.lab.parts import Part, Texts
from chaffinch.progress import Listener, keep_going
from chaffinch.text.alignment import tagged
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.schemes import BIO
from chaffinch.text.table import TokenTable

CHECK = "suspects"

SURE = 0.8  # chosen on the embedded samples, whose slips are known: docs/retraining.md
FEWEST_ROWS = 30  # of which a model can learn anything

Place = tuple[int, int]  # file and document


def label_errors(
    files: Sequence[CorpusFile],
    *,
    sure: float = SURE,
    folds: int = FOLDS,
    seed: int = 0,
    threads: int = 0,
    on_fold: Listener = keep_going,
) -> Iterator[Finding]:
    """Every label that held-out models would replace, and are at least so sure of; the surest first."""
    part, places = judged_part(files)
    if part is None:
        return
    groups = [_group(f, files[f].documents[n]) for f, n in places]
    found = held_out_opinions(part, groups, folds=folds, seed=seed, threads=threads, on_fold=on_fold)
    if isinstance(part, Texts):
        yield from _texts(files, places, found, sure)
    else:
        yield from _tokens(files, places, part, found, sure)


def judged_part(files: Sequence[CorpusFile]) -> tuple[Part | None, list[Place]]:
    """All rows whose labels can be judged, with their places; None where there are none, or too few."""
    tagged_rows = [
        (place, made) for place, d in _rows(files) if (made := _with_tags(d)) is not None and made.tokens
    ]
    if tagged_rows:
        documents = [d for _, d in tagged_rows]
        common = [name for name in documents[0].columns if all(name in d.columns for d in documents)]
        if len(documents) < FEWEST_ROWS:
            return None, []
        names = [WORD, *(name for name in common if name not in (WORD, LABEL)), LABEL]
        return TokenTable.from_documents(documents, names), [place for place, _ in tagged_rows]
    labelled = [(place, d) for place, d in _rows(files) if d.labels and d.text.strip()]
    if len(labelled) < FEWEST_ROWS or any(len(d.labels) != 1 for _, d in labelled):
        return None, []
    texts = Texts([d.text for _, d in labelled], [d.labels[0] for _, d in labelled])
    return texts, [place for place, _ in labelled]


def _rows(files: Sequence[CorpusFile]) -> Iterator[tuple[Place, Document]]:
    for f, file in enumerate(files):
        for n, d in enumerate(file.documents):
            yield (f, n), d


def _with_tags(d: Document) -> Document | None:
    """The document with a column of tags; spans that fit no words are left out here and told of elsewhere."""
    if LABEL in d.columns:
        return d
    if not d.spans or not d.tokens:
        return None
    [made], _ = tagged([d], BIO, misaligned="drop", overlapping="drop")
    return made


def _group(f: int, d: Document) -> str:
    return f"text {normalised(d.text)}" if d.group is None else f"group {f} {d.group}"


def _texts(
    files: Sequence[CorpusFile], places: Sequence[Place], found: Opinions, sure: float
) -> Iterator[Finding]:
    for i in found.doubtful(sure).tolist():
        f, n = places[i]
        other = found.labels[found.other[i]]
        what = f"labelled {found.labels[found.given[i]]}, {_percent(found.p_other[i])} sure of {other}: "
        yield files[f].finding(
            CHECK,
            WARNING,
            n,
            what + quoted(files[f].documents[n].text),
            f"{other}?",
            weight=float(found.p_other[i]),
        )


def _tokens(
    files: Sequence[CorpusFile], places: Sequence[Place], table: TokenTable, found: Opinions, sure: float
) -> Iterator[Finding]:
    """Neighbouring tokens of one sentence are one finding."""
    chosen = np.sort(found.doubtful(sure))
    sentence = np.searchsorted(table.ptr, chosen, side="right") - 1
    new_run = np.ones(len(chosen), bool)
    new_run[1:] = (np.diff(chosen) > 1) | (np.diff(sentence) > 0)
    for run in np.split(chosen, np.flatnonzero(new_run)[1:]):
        if len(run) == 0:
            continue
        row = int(np.searchsorted(table.ptr, run[0], side="right")) - 1
        f, n = places[row]
        first = int(run[0] - table.ptr[row])
        d = files[f].documents[n]
        words = " ".join(token.text for token in d.tokens[first : first + len(run)])
        given = " ".join(found.labels[i] for i in found.given[run].tolist())
        other = " ".join(found.labels[i] for i in found.other[run].tolist())
        p = float(found.p_other[run].min())
        what = f"{words!r} is {given}, {_percent(p)} sure of {other}: {quoted(d.text)}"
        yield files[f].finding(CHECK, WARNING, n, what, f"{other}?", token=first, weight=p)


def _percent(p: float) -> str:
    return f"{min(99.9, 100 * p):.1f} %"
