"""Likely label errors: labels that cross-validated models disagree with, and their suggestions."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from chaffinch.doctor.corpus_file import CorpusFile, normalised
from chaffinch.doctor.finding import HINT, WARNING, Finding, quoted
from chaffinch.doctor.out_of_fold import FOLDS, OutOfFold, out_of_fold
from chaffinch.kinds import KINDS, kind_of_corpus
from chaffinch.kinds.corpora import Corpus
from chaffinch.kinds.texts import HAS
from chaffinch.kinds.unit_labels import Doubt, UnitLabels
from chaffinch.progress import Listener, keep_going
from chaffinch.text.document import Document

CHECK = "suspects"

ODDS = 10.0  # chosen on the embedded samples, whose label errors are known: docs/retraining.md
MOST_SPOKEN = 1000  # largest odds that findings report
TRUSTED = 0.5  # share of a label's tokens that the models must find; otherwise their doubts are only hints
FEWEST_ROWS = 30  # minimum number of distinct texts to train a model
FEWEST_GROUPS = 2 * FOLDS  # minimum number of documents, if folds keep documents whole

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
    """Every label with at least these odds against it under out-of-fold models.

    Large odds against labels that are rarely doubted come first. A label that the models rarely predict (a
    rare type of name, say) is doubted nearly everywhere, mostly wrongly: such doubts are hints, the others
    warnings.
    """
    corpus, places = judged_corpus(files)
    if corpus is None:
        return
    kind, groups = kind_of_corpus(corpus), _groups(files, places)
    assert isinstance(kind, UnitLabels)
    for asked, each in kind.questions(corpus):
        found = out_of_fold(each, groups, folds=folds, seed=seed, threads=threads, on_fold=on_fold)
        judged = Judgement(found, odds)
        for doubt in kind.doubts(each, found.doubtful(odds)):
            given, other = found.given[doubt.units], found.other[doubt.units]
            f, n = places[doubt.row]
            d = files[f].documents[n]
            against = float(judged.odds[doubt.units].min())
            was, now = (" ".join(found.labels[i] for i in ids.tolist()) for ids in (given, other))
            what, advice = _told(d, doubt, asked, was, now, _spoken(against))
            yield files[f].finding(
                CHECK,
                judged.severity(given),
                n,
                f"{what}: {quoted(d.text)}",
                advice,
                token=doubt.token or 0,
                weight=judged.weight(against, given),
            )


def judged_corpus(files: Sequence[CorpusFile]) -> tuple[Corpus | None, list[Place]]:
    """All rows whose labels can be judged, with their places; None if there are none, or too few."""
    for kind in KINDS:
        if not isinstance(kind, UnitLabels):
            continue
        found = kind.labelled_rows([file.documents for file in files])
        if found is None:
            continue
        corpus, places = found
        texts = {normalised(files[f].documents[n].text) for f, n in places}
        return (corpus, places) if len(texts) >= FEWEST_ROWS else (None, [])
    return None, []


def _told(d: Document, doubt: Doubt, asked: str | None, given: str, other: str, odds: str) -> tuple[str, str]:
    """The doubted label, and the suggestion."""
    if asked is not None:
        has = given == HAS
        what = f"{given} the label {asked}, {odds} {'against' if has else 'for'} it"
        return what, f"remove {asked}?" if has else f"{asked}?"
    if doubt.token is None:
        return f"labelled {given}, {odds} for {other}", f"{other}?"
    words = " ".join(token.text for token in d.tokens[doubt.token : doubt.token + len(doubt.units)])
    return f"{words!r} is {given}, {odds} for {other}", f"{other}?"


def _groups(files: Sequence[CorpusFile], places: Sequence[Place]) -> list[str]:
    """The group of each row, which stays in one fold: its document, or its text if there are few documents."""
    rows = [(f, files[f].documents[n]) for f, n in places]
    if len({(f, d.group) for f, d in rows if d.group is not None}) >= FEWEST_GROUPS:
        return [f"{f} {normalised(d.text) if d.group is None else d.group}" for f, d in rows]
    return [normalised(d.text) for _, d in rows]


class Judgement:
    """The weight of a doubt: larger for larger odds and for labels that are rarely doubted."""

    def __init__(self, found: OutOfFold, odds: float) -> None:
        self.odds = found.odds
        self.trust = found.trust
        self.share = found.share_doubted(odds)

    def severity(self, given: Any) -> str:
        """The severity of a doubt about one label, or about several together."""
        return WARNING if np.all(self.trust[given] >= TRUSTED) else HINT

    def weight(self, against: float, given: Any) -> float:
        """Odds divided by the share of doubted tokens of the label; of several labels the largest share."""
        return against / float(np.max(self.share[given]))


def _spoken(odds: float) -> str:
    return f"{odds:.0f} to 1" if odds < MOST_SPOKEN else f"over {MOST_SPOKEN:,} to 1"
