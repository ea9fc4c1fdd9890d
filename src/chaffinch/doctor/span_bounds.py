"""Offsets of spans: spaces at an end, bounds within a word, overlaps, duplicates."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from chaffinch.doctor.corpus_file import CorpusFile
from chaffinch.doctor.finding import ERROR, Finding, quoted
from chaffinch.text.alignment import tagged
from chaffinch.text.document import Document, Span
from chaffinch.text.schemes import BIO

CHECK = "spans"


def span_bounds(files: Sequence[CorpusFile]) -> Iterator[Finding]:
    """Every span that is not a run of whole words, or that overlaps or repeats another."""
    for file in files:
        for n, d in enumerate(file.documents):
            if d.spans:
                yield from _spans(file, n, d)


def _spans(file: CorpusFile, n: int, d: Document) -> Iterator[Finding]:
    met: set[tuple[str, int, int]] = set()
    padded: set[Span] = set()
    for s in d.spans:
        covered = d.text[s.start : s.end]
        shown = f"{s.label} {s.start}-{s.end} {quoted(covered)}"
        if (s.label, s.start, s.end) in met:
            yield file.finding(CHECK, ERROR, n, f"{shown} occurs twice", "remove one")
        met.add((s.label, s.start, s.end))
        if covered != covered.strip():
            padded.add(s)
            start = s.start + len(covered) - len(covered.lstrip())
            end = s.end - len(covered) + len(covered.rstrip())
            which = "starts" if start > s.start else "ends"
            advice = f"{start}-{end}" if start < end else "remove it: it covers nothing else"
            yield file.finding(
                CHECK, ERROR, n, f"{s.label} {s.start}-{s.end} {covered!r} {which} with a space", advice
            )
    unique = list(dict.fromkeys(s for s in d.spans if s not in padded))
    [_], misfits = tagged(
        [Document(d.text, d.tokens, spans=unique)], BIO, misaligned="drop", overlapping="drop"
    )
    for misfit in misfits:
        s = misfit.span
        advice = _widened(d, s) if "within" in misfit.why else ""
        yield file.finding(
            CHECK, ERROR, n, f"{s.label} {s.start}-{s.end} {quoted(misfit.text)} {misfit.why}", advice
        )


def _widened(d: Document, s: Span) -> str:
    """The span widened to whole words."""
    first = bisect_right(d.tokens, s.start, key=lambda token: token.end)
    last = bisect_left(d.tokens, s.end, key=lambda token: token.start) - 1
    start, end = d.tokens[first].start, d.tokens[last].end
    return f"{start}-{end} {quoted(d.text[start:end])}?"
