"""Output of tagged sentences: spans of characters, CoNLL-U, or decisions."""

import inspect
import json as json_text
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from chaffinch.corpus import Format, conllu, write
from chaffinch.corpus.conllu import CELLS, NOTHING, labelled, misc
from chaffinch.corpus.registry import TABLES, named, with_extension, written_as
from chaffinch.errors import ConfigError
from chaffinch.estimators import Tagger
from chaffinch.files import writing_text
from chaffinch.kinds.tags.decisions import beside, decisions, page
from chaffinch.kinds.tags.prediction import decided_probabilities
from chaffinch.text.document import LABEL, WORD, Document, Span
from chaffinch.text.schemes import TokenSpan, scheme_of, spans
from chaffinch.text.table import TokenTable

SURENESS = "Probability"  # the attribute in the last column of CoNLL-U


def format_of_spans(output: Path, format: str | None = None, given: Format | None = None) -> Format | None:
    """The named format, or that of the output's name, if it holds texts with spans or tags; None for files of columns.

    given: the format of the input; the output keeps it if it holds tags and the output's name allows it
    Other names are refused: the output could not be read again.
    """
    suggested = with_extension(output) if format is None else [named(format)]
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
    """Whether a format of texts holds tags of tokens as well."""
    return {"text", "columns"} <= format.carries


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
