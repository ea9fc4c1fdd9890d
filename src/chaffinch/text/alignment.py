"""Character spans as runs of tokens, and the inverse; spans that do not fit are reported, never moved silently."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from chaffinch.errors import ConfigError, DataError
from chaffinch.text.document import LABEL, Document, Span, Token
from chaffinch.text.schemes import Scheme, TokenSpan, spans, tags_of

Choice = Literal["error", "drop", "widen"]
CHOICES = ("error", "drop", "widen")
MISALIGNED, NESTED, OVERLAPPING = "misaligned", "nested", "overlapping"


@dataclass(frozen=True)
class Misfit:
    """A span that is not a run of whole tokens, or that shares tokens with another; the row counts from 0.

    remedy: "dropped", or "widened to 3-9"; empty if nothing was done
    kind:   NESTED or OVERLAPPING if it shares tokens with a span that was kept; else MISALIGNED
    """

    row: int
    span: Span
    text: str
    why: str
    remedy: str = ""
    kind: str = MISALIGNED

    def __str__(self) -> str:
        what = f"row {self.row + 1}: {self.span.label} {self.span.start}-{self.span.end} {self.text!r} {self.why}"
        return f"{what}: {self.remedy}" if self.remedy else what


def tagged(
    documents: Iterable[Document],
    scheme: str | Scheme,
    *,
    misaligned: Choice = "error",
    overlapping: Choice = "error",
    column: str = LABEL,
) -> tuple[list[Document], list[Misfit]]:
    """Documents with a column of tags made from their spans, and the spans that did not fit.

    misaligned:  a span that starts or ends within a token: "error" (all are counted, the first is shown),
                 "drop", or "widen" to the tokens that it touches; one that touches none can only be dropped
    overlapping: spans that share a token: "error", or "drop" all but the first, the longest of those that
                 start together

    >>> document = Document.from_words(["John", "Smith"])
    >>> document.spans = [Span("PER", 0, 7)]
    >>> [made], [misfit] = tagged([document], "BIO", misaligned="widen")
    >>> made.columns["y"], str(misfit)
    (['B-PER', 'I-PER'], "row 1: PER 0-7 'John Sm' ends within 'Smith': widened to 0-10")
    """
    if misaligned not in CHOICES or overlapping not in ("error", "drop"):
        raise ConfigError(f"misaligned must be one of {', '.join(CHOICES)}, overlapping one of error, drop")
    made: list[Document] = []
    misfits: list[Misfit] = []
    total = 0
    for row, document in enumerate(documents):
        total += len(document.spans)
        placed, unfit = _placed(row, document, misaligned)
        kept, clashes = _apart(row, document, placed)
        misfits += unfit + clashes
        tags = tags_of(kept, len(document.tokens), scheme)
        made.append(replace(document, columns=document.columns | {column: tags}))
    refused = [m for m in misfits if (misaligned if m.kind == MISALIGNED else overlapping) == "error"]
    if refused:
        raise DataError(_refusal(refused, total))
    return made, misfits


def _refusal(refused: list[Misfit], total: int) -> str:
    """The number of misfits of each kind, and the first of each."""
    said = []
    for kind, what, remedy in (
        (MISALIGNED, "do not fit the tokens", "drop them, or widen those that end within a token"),
        (NESTED, "are nested in others, which tags cannot represent", "drop the inner ones"),
        (OVERLAPPING, "overlap others, which tags cannot represent", "drop the later ones"),
    ):
        some = [m for m in refused if m.kind == kind]
        if some:
            said.append(
                f"{len(some)} of {total} spans {what}: {replace(some[0], remedy='')}; choose to {remedy}"
            )
    return "; ".join(said)


def spans_of(document: Document, scheme: str | Scheme, column: str = LABEL) -> list[Span]:
    """The spans of a document's tags, in characters.

    >>> spans_of(Document.from_words(["John", "Smith"], y=["B-PER", "I-PER"]), "BIO")
    [Span(label='PER', start=0, end=10, score=None)]
    """
    tokens = document.tokens
    return [
        Span(label, tokens[start].start, tokens[end - 1].end)
        for label, start, end in spans(document.columns[column], scheme)
    ]


def _placed(
    row: int, document: Document, misaligned: Choice
) -> tuple[list[tuple[TokenSpan, Span]], list[Misfit]]:
    """The spans as runs of tokens, and those that do not fit."""
    tokens = document.tokens
    starts, ends = [token.start for token in tokens], [token.end for token in tokens]
    placed, misfits = [], []
    for span in document.spans:
        first = bisect_right(ends, span.start)  # the first token that ends after the span starts
        last = bisect_left(starts, span.end)  # one beyond the last that starts before the span ends
        why = _misfit(tokens, first, last, span)
        if why is None:
            placed.append((TokenSpan(span.label, first, last), span))
            continue
        remedy = "dropped"
        if misaligned == "widen" and first < last:
            placed.append((TokenSpan(span.label, first, last), span))
            remedy = f"widened to {tokens[first].start}-{tokens[last - 1].end}"
        misfits.append(Misfit(row, span, document.text[span.start : span.end], why, remedy))
    return placed, misfits


def _misfit(tokens: Sequence[Token], first: int, last: int, span: Span) -> str | None:
    """Why the tokens first .. last are not exactly the span, or None."""
    if span.start >= span.end:
        return "is empty"
    if first >= last:
        return "touches no token"
    begin, end = tokens[first], tokens[last - 1]
    if span.start > begin.start:
        return f"starts within {begin.text!r}"
    if span.end < end.end:
        return f"ends within {end.text!r}"
    if span.start < begin.start:
        return f"starts before {begin.text!r}, outside any token"
    if span.end > end.end:
        return f"ends after {end.text!r}, outside any token"
    return None


def _apart(
    row: int, document: Document, placed: list[tuple[TokenSpan, Span]]
) -> tuple[list[TokenSpan], list[Misfit]]:
    """Runs that share no token: the first in the text, the longest of those that start together; the others."""
    kept: list[TokenSpan] = []
    misfits = []
    for run, span in sorted(placed, key=lambda p: (p[0].start, -p[0].end)):
        if kept and run.start < kept[-1].end:
            text, within = document.text[span.start : span.end], run.end <= kept[-1].end
            why = f"is nested in {kept[-1].label}" if within else f"overlaps {kept[-1].label} before it"
            misfits.append(Misfit(row, span, text, why, "dropped", NESTED if within else OVERLAPPING))
        else:
            kept.append(run)
    return kept, misfits
