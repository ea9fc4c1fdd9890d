"""Output of tagged sentences: spans of characters, CoNLL-U, or the decisions of an incremental tagger."""

import inspect
import json as json_text
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from chaffinch.corpus import Format, conllu, write
from chaffinch.corpus.conllu import CELLS, NOTHING, labelled, misc
from chaffinch.corpus.registry import TABLES, named, with_extension, written_as
from chaffinch.errors import ConfigError
from chaffinch.estimators import Tagger
from chaffinch.files import writing_text
from chaffinch.kinds.tags.prediction import decided_probabilities
from chaffinch.model.incremental import IncrementalModel
from chaffinch.report import Html, Page, join, paragraph, tag
from chaffinch.text.document import LABEL, WORD, Document, Span
from chaffinch.text.schemes import TokenSpan, scheme_of, spans
from chaffinch.text.table import TokenTable

# -- decisions --------------------------------------------------------------------------------------------------------


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


# -- output -----------------------------------------------------------------------------------------------------------


SURENESS = "Probability"  # the attribute in the last column of CoNLL-U


SPANS = {"jsonl": "jsonl-spans"}  # for formats that hold no spans, the one of the same extension that does


def format_of_spans(output: Path, format: str | None = None, given: Format | None = None) -> Format | None:
    """The named format, or that of the output's name, if it holds texts with spans or tags; None for files of columns.

    given: the format of the input; the output keeps it if it holds tags and the output's name allows it
    Other names are refused: the output could not be read again.
    """
    suggested = with_extension(output) if format is None else [named(SPANS.get(format, format))]
    kept = given is not None and given in suggested and given.name not in TABLES and _holds_tags(given)
    if format is None and kept:
        return given
    if not suggested or any(one.name in TABLES for one in suggested):
        return None
    layers = frozenset({"spans", "scores"})  # of the .json formats, the one that holds scores
    chosen = written_as(output, layers) if format is None else suggested[0]
    if "spans" not in chosen.carries and not _holds_tags(chosen):
        raise ConfigError(
            f"{output}: the format {chosen.name} cannot hold tags; name a file of columns "
            "(tagged.conll), of CoNLL-U (tagged.conllu) or of spans (found.jsonl)"
        )
    return chosen


def can_hold_tags(tagger: Tagger, output: Path, given: Format | None = None) -> bool:
    """Whether a file of this name can hold the tags of this tagger; given: the format of the input, if it is known."""
    try:
        format = format_of_spans(output, given=given)
    except ConfigError:
        return False
    return format is None or _holds_tags(format) or scheme_of(tagger.classes_.tolist()) is not None


def write_spans(
    tagger: Tagger,
    table: TokenTable,
    documents: list[Document],
    readings: list[list[str]],
    scored: bool,
    output: Path,
    format: Format,
) -> None:
    """The documents with the predicted spans instead of their own.

    Tags that mark no spans are written if the format holds tags.

    scored: with the probability of each
    """
    scheme = scheme_of(tagger.classes_.tolist())
    if _holds_tags(format) and (scheme is None or "spans" not in format.carries):
        if scored:
            raise ConfigError(
                f"{output}: {format.name} cannot hold probabilities; name a file of columns (tagged.conll), or "
                "use --json"
            )
        tagged = zip(documents, readings, strict=True)
        made = (replace(d, spans=[], columns=d.columns | {LABEL: labels}) for d, labels in tagged)
        write(made, output, format=format.name)
        return
    if scheme is None:
        raise ConfigError(
            f"{output}: is a file of spans, and the labels of this model mark no spans; "
            "name a file of columns, such as tagged.conll"
        )
    found = [spans(labels, scheme) for labels in readings]
    sure: list[list[float | None]] = [[None] * len(of_one) for of_one in found]
    # For a text without spans, the probability that it has none.
    nothing: list[float | None] = [None] * len(found)
    if scored and tagger.has_distributions:
        for n, d in enumerate(tagger.distributions(table)):
            sure[n] = [d.span_probability(s.start, s.end, s.label) for s in found[n]]
            nothing[n] = None if found[n] else d.probability(readings[n]) if readings[n] else 1.0
    elif scored:
        sure = decided_probabilities(tagger, table, found)
        column = {label: i for i, label in enumerate(tagger.classes_.tolist())}
        decided = zip(tagger.label_probabilities(table), readings, found, strict=True)
        nothing = [
            None if own else math.prod(float(p[t, column[y]]) for t, y in enumerate(labels))
            for p, labels, own in decided
        ]
    made = (
        replace(
            d, spans=_in_characters(d, of_one, p), columns={}, annotations=[], score=score, predicted=True
        )
        for d, of_one, p, score in zip(documents, found, sure, nothing, strict=True)
    )
    marked = {"predicted": True} if "predicted" in inspect.signature(format.write).parameters else {}
    write(made, output, format=format.name, **marked)


def _holds_tags(format: Format) -> bool:
    """Whether a format of texts or of words holds tags."""
    allowed = not format.images and (format.columns is None or LABEL in format.columns)
    return "columns" in format.carries and allowed and not format.carries.isdisjoint({"text", "tokens"})


def is_conllu(path: Path, format: str | None = None) -> bool:
    """Whether a file is CoNLL-U, by the named format or else by its file name."""
    return conllu.FORMAT in with_extension(path) if format is None else format == conllu.FORMAT.name


def conllu_documents(table: TokenTable) -> list[Document]:
    """Sentences of a table, with the columns that CoNLL-U has too."""
    kept = [name for name in table.columns if name in (*CELLS, "pos") and name != "form"]
    columns = {name: table.lists(name) for name in kept}
    return [
        Document.from_words(words, **{name: columns[name][n] for name in kept})
        for n, words in enumerate(table.lists(WORD))
    ]


def write_conllu(
    documents: Sequence[Document],
    label: str,
    reading: Sequence[list[str]],
    sureness: Sequence[list[str]] | None,
    output: Path,
) -> None:
    """The documents with the labelling in the column of a label, or in two for a label such as ``upos|feats``.

    sureness: probabilities as text, which go to the last column as ``Probability=0.9871``
    """
    places = conllu.label_columns(label)
    left = {LABEL, *places, *({"pos"} if "xpos" in places else ())}
    made = []
    for n, d in enumerate(documents):
        columns = {name: cells for name, cells in d.columns.items() if name not in left}
        columns |= labelled(places, reading[n])
        if sureness is not None:
            columns["misc"] = [
                "|".join([*([] if cell == NOTHING else [cell]), f"{SURENESS}={p}"])
                for cell, p in zip(misc(d), sureness[n], strict=True)
            ]
        made.append(replace(d, columns=columns, spans=[]))
    write(made, output, format=conllu.FORMAT.name)


def show_steps(
    taggers: Sequence[Tagger], table: TokenTable, output: Path, source: str, *, json: bool
) -> None:
    """The decisions of each tagger, sentence by sentence: as text, as JSON lines, or as a page if it ends in .html."""
    made = [decisions(tagger, table) for tagger in taggers]
    with writing_text(output) as stream:
        if json:
            for views in beside(made):
                row = [
                    {"search": view.search, "steps": [asdict(d) for d in view.in_order()]} for view in views
                ]
                stream.write(json_text.dumps(row[0] if len(row) == 1 else row, ensure_ascii=False) + "\n")
            return
        if output.suffix == ".html":
            stream.write(page(made, source).render())
            return
        for views in beside(made):
            stream.writelines(view.text() + "\n" for view in views)
            stream.write("\n")


def _in_characters(d: Document, found: list[TokenSpan], sure: list[float | None]) -> list[Span]:
    return [
        Span(s.label, d.tokens[s.start].start, d.tokens[s.end - 1].end, p)
        for s, p in zip(found, sure, strict=True)
    ]
