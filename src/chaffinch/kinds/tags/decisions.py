"""The order of an incremental tagger's decisions, with their scores and confidence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from chaffinch.errors import ConfigError
from chaffinch.estimators import Tagger
from chaffinch.model.incremental import IncrementalModel
from chaffinch.report import Html, Page, join, paragraph, tag
from chaffinch.text.document import WORD
from chaffinch.text.table import TokenTable

LINE_BREAK = Html("<br>")
LEGEND = (
    "Each card shows the step of the decision, the word, the label, its score at that step and the confidence "
    "(calibrated, unless calibration was switched off in training). Darker cards were decided earlier."
)


@dataclass(frozen=True)
class TokenDecision:
    """The decision on one token: the step at which it was labelled (from 1), its score and confidence.

    confidence: the softmax of the scores when it was decided, at this label
    calibrated: the calibrated confidence: nine in ten labels with 0.9 are right; None if the tagger was not
                calibrated
    rival:      the next best label
    """

    step: int
    word: str
    label: str
    score: float
    confidence: float
    calibrated: float | None
    rival: str

    @property
    def calibrated_text(self) -> str:
        """The calibrated confidence in words; empty if there is none."""
        return "" if self.calibrated is None else f"calibrated {self.calibrated:.4f}  "


@dataclass(frozen=True)
class SentenceDecisions:
    """The decisions on one sentence, token by token. Notebooks show it as a strip of cards."""

    search: str
    tokens: tuple[TokenDecision, ...]

    def in_order(self) -> list[TokenDecision]:
        """The decisions in the order in which they were made."""
        return sorted(self.tokens, key=lambda d: d.step)

    def text(self) -> str:
        """A line for each decision, in order."""
        width = max((len(d.word) for d in self.tokens), default=0)
        broad = max((len(d.label) for d in self.tokens), default=0)
        rows = [
            f"{d.step:>4}  {d.word:<{width}}  {d.label:<{broad}}  score {d.score:>9.2f}  "
            f"confidence {d.confidence:.4f}  {d.calibrated_text}ahead of {d.rival}"
            for d in self.in_order()
        ]
        return "\n".join([f"{self.search}:", *rows])

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> Html:
        """The sentence as cards; the darker a card, the earlier it was decided."""
        T = max(1, len(self.tokens))
        cards = []
        for d in self.tokens:
            shade = 0.08 + 0.62 * (1 - (d.step - 1) / T)
            style = (
                f"display:inline-block;margin:2px;padding:4px 7px;border-radius:5px;text-align:center;"
                f"background:rgba(46,125,90,{shade:.2f})"
            )
            cards.append(
                tag(
                    "span",
                    tag("b", d.step),
                    LINE_BREAK,
                    d.word,
                    LINE_BREAK,
                    tag("code", d.label),
                    LINE_BREAK,
                    tag("small", f"{d.score:.1f}, {100 * (d.calibrated or d.confidence):.1f}%"),
                    style=style,
                    title=f"step {d.step}: {d.label} ahead of {d.rival}; score {d.score:.3f}, confidence "
                    f"{d.confidence:.4f} {d.calibrated_text}".rstrip(),
                )
            )
        return tag("div", tag("small", self.search), tag("div", *cards))


def decisions(tagger: Tagger, table: TokenTable) -> list[SentenceDecisions]:
    """The decisions on every sentence, by a greedy or easiest-first tagger.

    >>> tagger = Tagger("easiest-first").fit([["the", "dog"], ["a", "cat"]] * 3, [["DET", "NOUN"]] * 6)
    >>> made = decisions(tagger, TokenTable.from_lists({"w": [["the", "cat"]]}))[0]
    >>> [(d.word, d.label) for d in made.tokens], sorted(d.step for d in made.tokens)
    ([('the', 'DET'), ('cat', 'NOUN')], [1, 2])
    """
    model = tagger.answering()
    if not isinstance(model, IncrementalModel):
        raise ConfigError(
            "only greedy and easiest-first taggers decide step by step; this model decodes the whole sentence"
        )
    steps = model.steps(table, tagger.threads)
    outer, outer_of = model.labels.outer, model.labels.outer_of
    rows = np.arange(len(steps.labels))
    best, calibrated = steps.scores[rows, steps.labels], steps.p[rows, steps.labels]
    fitted = tagger.confidence_ is not None or model.temperature != 1.0
    sure = 1 / np.exp(steps.scores - best[:, None]).sum(axis=1)
    others = steps.scores.copy()
    others[rows, steps.labels] = -np.inf
    rivals = others.argmax(axis=1) if others.shape[1] > 1 else steps.labels
    columns = (
        (steps.order + 1).tolist(),
        table.columns[WORD].strings(),
        [outer[i] for i in outer_of[steps.labels].tolist()],
        best.tolist(),
        sure.tolist(),
        calibrated.tolist() if fitted else [None] * len(rows),
        [outer[i] for i in outer_of[rivals].tolist()],
    )
    all_tokens = [TokenDecision(*row) for row in zip(*columns, strict=True)]
    return [
        SentenceDecisions(model.search.kind, tuple(all_tokens[a:b])) for a, b in pairwise(table.ptr.tolist())
    ]


def beside(made: Sequence[Sequence[SentenceDecisions]]) -> Iterator[tuple[SentenceDecisions, ...]]:
    """The decisions of several taggers on the same sentences, sentence by sentence."""
    return zip(*made, strict=True)


def page(made: Sequence[Sequence[SentenceDecisions]], title: str) -> Page:
    """Every sentence as each tagger decided it, one below the other."""
    report = Page("The order of decisions", title)
    report.add("How to read this", paragraph(LEGEND))
    for number, views in enumerate(beside(made), 1):
        words = " ".join(d.word for d in views[0].tokens)
        differ = len({tuple(d.label for d in v.tokens) for v in views}) > 1
        note = paragraph(tag("b", "The taggers disagree.")) if differ else Html("")
        report.add(f"{number}. {words[:70]}", join(*(view.html() for view in views)), note)
    return report
