"""Likely label errors: labels that a model of the other rows is sure are wrong, with what it would write instead."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from chaffinch.doctor.corpus_file import CorpusFile, normalised, with_tags
from chaffinch.doctor.finding import HINT, WARNING, Finding, quoted
from chaffinch.doctor.opinions import FOLDS, Opinions, held_out_opinions
from chaffinch.kinds.documents import Texts
from chaffinch.progress import Listener, keep_going
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.table import TokenTable

CHECK = "suspects"

ODDS = 10.0  # chosen on the embedded samples, whose slips are known: docs/retraining.md
MOST_SPOKEN = 1000  # odds that findings tell
TRUSTED = 0.5  # of a label's places are found by the models, or their doubts are only worth a look
FEWEST_ROWS = 30  # of different text, of which a model can learn anything
FEWEST_GROUPS = 2 * FOLDS  # documents, to be dealt out to the folds as a whole

FEWEST_TIMES = 10  # of several labels: texts with it, and texts without
HAS, LACKS = "has", "lacks"

Place = tuple[int, int]  # file and document


def label_errors(
    files: Sequence[CorpusFile],
    *,
    odds: float = ODDS,
    folds: int = FOLDS,
    seed: int = 0,
    threads: int = 0,
    on_fold: Listener = keep_going,
) -> Iterator[Finding]:
    """Every label against which held-out models give at least these odds.

    First come great odds against labels that are seldom doubted. A label that the models seldom find themselves (a
    rare kind of name, say) is doubted nearly everywhere, and mostly without reason: such doubts are hints, the others
    warnings.
    """
    part, places = judged_part(files)
    if part is None:
        return
    groups = _groups(files, places)
    for what, each in _questions(part):
        found = held_out_opinions(each, groups, folds=folds, seed=seed, threads=threads, on_fold=on_fold)
        if not isinstance(each, Texts):
            yield from _tokens(files, places, each, found, odds)
        elif what is None:
            yield from _texts(files, places, found, odds)
        else:
            yield from _one_of_several(files, places, what, found, odds)


def judged_part(files: Sequence[CorpusFile]) -> tuple[TokenTable | Texts | None, list[Place]]:
    """All rows whose labels can be judged, with their places; None where there are none, or too few."""
    rows = [(place, made) for place, d in _rows(files) if (made := with_tags(files[place[0]], d)) is not None]
    tags = bool(rows)
    if not tags:
        several = any(len(d.labels) > 1 for _, d in _rows(files))
        rows = [(place, d) for place, d in _rows(files) if (d.labels or several) and d.text.strip()]
    if len({normalised(d.text) for _, d in rows}) < FEWEST_ROWS:
        return None, []
    places, documents = [place for place, _ in rows], [d for _, d in rows]
    if not tags:
        return Texts(
            [d.text for d in documents], [d.labels if several else d.labels[0] for d in documents]
        ), places
    common = [name for name in documents[0].columns if all(name in d.columns for d in documents)]
    names = [WORD, *(name for name in common if name not in (WORD, LABEL)), LABEL]
    return TokenTable.from_documents(documents, names), places


def _questions(part: TokenTable | Texts) -> Iterator[tuple[str | None, TokenTable | Texts]]:
    """The part itself; where texts may have several labels, for each label whether they have it."""
    if not isinstance(part, Texts) or not isinstance(part.labels[0], list):
        yield None, part
        return
    times = Counter(label for labels in part.labels for label in set(labels))
    for label, count in sorted(times.items()):
        if FEWEST_TIMES <= count <= len(part.labels) - FEWEST_TIMES:
            yield label, Texts(part.texts, [HAS if label in labels else LACKS for labels in part.labels])


def _rows(files: Sequence[CorpusFile]) -> Iterator[tuple[Place, Document]]:
    for f, file in enumerate(files):
        for n, d in enumerate(file.documents):
            yield (f, n), d


def _groups(files: Sequence[CorpusFile], places: Sequence[Place]) -> list[str]:
    """Which rows are judged together: those of one document, or with few documents those of one text."""
    rows = [(f, files[f].documents[n]) for f, n in places]
    if len({(f, d.group) for f, d in rows if d.group is not None}) >= FEWEST_GROUPS:
        return [f"{f} {normalised(d.text) if d.group is None else d.group}" for f, d in rows]
    return [normalised(d.text) for _, d in rows]


class Judgement:
    """How much a doubt weighs: the more, the greater the odds and the less often that label is doubted at all."""

    def __init__(self, found: Opinions, odds: float) -> None:
        self.odds = found.odds
        self.trust = found.trust
        self.share = found.share_doubted(odds)

    def severity(self, given: Any) -> str:
        """Of a doubt about one label, or about several together."""
        return WARNING if np.all(self.trust[given] >= TRUSTED) else HINT

    def weight(self, against: float, given: Any) -> float:
        """Odds, by the share of the label's places that are doubted; of several labels the greatest share."""
        return against / float(np.max(self.share[given]))


def _texts(
    files: Sequence[CorpusFile], places: Sequence[Place], found: Opinions, odds: float
) -> Iterator[Finding]:
    judged = Judgement(found, odds)
    for i in found.doubtful(odds).tolist():
        f, n = places[i]
        other = found.labels[found.other[i]]
        against = float(judged.odds[i])
        what = f"labelled {found.labels[found.given[i]]}, {_spoken(against)} for {other}: "
        yield files[f].finding(
            CHECK,
            judged.severity(found.given[i]),
            n,
            what + quoted(files[f].documents[n].text),
            f"{other}?",
            weight=judged.weight(against, found.given[i]),
        )


def _one_of_several(
    files: Sequence[CorpusFile], places: Sequence[Place], label: str, found: Opinions, odds: float
) -> Iterator[Finding]:
    judged = Judgement(found, odds)
    for i in found.doubtful(odds).tolist():
        f, n = places[i]
        has = found.labels[found.given[i]] == HAS
        against = float(judged.odds[i])
        what = f"{'has' if has else 'lacks'} the label {label}, {_spoken(against)} {'against' if has else 'for'} it: "
        advice = f"take {label} away?" if has else f"{label}?"
        text = quoted(files[f].documents[n].text)
        severity = judged.severity(found.given[i])
        yield files[f].finding(
            CHECK, severity, n, what + text, advice, weight=judged.weight(against, found.given[i])
        )


def _tokens(
    files: Sequence[CorpusFile], places: Sequence[Place], table: TokenTable, found: Opinions, odds: float
) -> Iterator[Finding]:
    """Neighbouring tokens of one sentence are one finding."""
    judged = Judgement(found, odds)
    chosen = np.sort(found.doubtful(odds))
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
        against = float(judged.odds[run].min())
        what = f"{words!r} is {given}, {_spoken(against)} for {other}: {quoted(d.text)}"
        severity = judged.severity(found.given[run])
        yield files[f].finding(
            CHECK,
            severity,
            n,
            what,
            f"{other}?",
            token=first,
            weight=judged.weight(against, found.given[run]),
        )


def _spoken(odds: float) -> str:
    return f"{odds:.0f} to 1" if odds < MOST_SPOKEN else f"over {MOST_SPOKEN:,} to 1"
