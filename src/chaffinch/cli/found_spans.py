"""What a tagger found, as spans of characters: sentences go back to the formats of annotation tools."""

import inspect
from dataclasses import replace
from pathlib import Path

from chaffinch.corpus import Format, write
from chaffinch.corpus.registry import TABLES, named, with_extension, written_as
from chaffinch.errors import ConfigError
from chaffinch.estimators import Tagger
from chaffinch.text.document import Document, Span
from chaffinch.text.schemes import TokenSpan, scheme_of, spans
from chaffinch.text.table import TokenTable


def format_of_spans(output: Path, format: str | None = None) -> Format | None:
    """The format that was named, or that the output's name asks for, if it holds spans; None for columns.

    A name of neither is refused: what was written there could not be read again.
    """
    suggested = with_extension(output) if format is None else [named(format)]
    if not suggested or any(one.name in TABLES for one in suggested):
        return None
    chosen = written_as(output, frozenset({"spans"})) if format is None else suggested[0]
    if "spans" not in chosen.carries:
        told = "by its name of the format" if format is None else "asked for in the format"
        raise ConfigError(
            f"{output}: {told} {chosen.name}, which holds no tags; name a file of columns "
            "(tagged.conll), of CoNLL-U (tagged.conllu) or of spans (found.jsonl)"
        )
    return chosen


def write_spans(
    tagger: Tagger,
    table: TokenTable,
    documents: list[Document],
    readings: list[list[str]],
    scored: bool,
    output: Path,
    format: Format,
) -> None:
    """The documents with the spans that the readings spell in place of their own.

    scored: with the probability of each
    """
    scheme = scheme_of(tagger.classes_.tolist())
    if scheme is None:
        raise ConfigError(
            f"{output}: a file of spans, and the labels of this model spell none; "
            "name a file of columns, such as tagged.conll"
        )
    found = [spans(labels, scheme) for labels in readings]
    sure: list[list[float | None]] = [[None] * len(of_one) for of_one in found]
    if scored:
        sure = [
            [d.span_probability(s.start, s.end, s.label) for s in of_one]
            for d, of_one in zip(tagger.distributions(table), found, strict=True)
        ]
    made = (
        replace(d, spans=_in_characters(d, of_one, p), columns={})
        for d, of_one, p in zip(documents, found, sure, strict=True)
    )
    marked = {"predicted": True} if "predicted" in inspect.signature(format.write).parameters else {}
    write(made, output, format=format.name, **marked)


def _in_characters(d: Document, found: list[TokenSpan], sure: list[float | None]) -> list[Span]:
    return [
        Span(s.label, d.tokens[s.start].start, d.tokens[s.end - 1].end, p)
        for s, p in zip(found, sure, strict=True)
    ]
