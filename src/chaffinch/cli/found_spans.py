"""What a tagger found, as spans of characters: sentences go back to the formats of annotation tools."""

from dataclasses import replace
from pathlib import Path

from chaffinch.corpus import Format, write
from chaffinch.corpus.registry import TABLES, with_extension, written_as
from chaffinch.errors import ConfigError
from chaffinch.estimators import Tagger
from chaffinch.text.document import Document, Span
from chaffinch.text.schemes import TokenSpan, scheme_of, spans
from chaffinch.text.table import TokenTable


def format_of_spans(output: Path) -> Format | None:
    """The format that the output's name asks for, if it is one that holds spans; None for columns.

    A name of neither is refused: what was written there could not be read again.
    """
    suggested = with_extension(output)
    if not suggested or any(format.name in TABLES for format in suggested):
        return None
    chosen = written_as(output, frozenset({"spans"}))
    if "spans" not in chosen.carries:
        raise ConfigError(
            f"{output}: by its name of the format {chosen.name}, which holds no tags; name a file of columns "
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
    write(made, output, format=format.name)


def _in_characters(d: Document, found: list[TokenSpan], sure: list[float | None]) -> list[Span]:
    return [
        Span(s.label, d.tokens[s.start].start, d.tokens[s.end - 1].end, p)
        for s, p in zip(found, sure, strict=True)
    ]
