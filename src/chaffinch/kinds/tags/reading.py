"""Sentences of files and of typed words: with tags from spans, with weights, or to be tagged."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from chaffinch.corpus import conllu, detect, read, read_table
from chaffinch.corpus.conllu import learned
from chaffinch.corpus.registry import TABLES, every_document
from chaffinch.corpus.sentences import as_sentences
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.estimators import Tagger
from chaffinch.estimators.sentences import input_names
from chaffinch.files import display_name, is_stream
from chaffinch.kinds.requests import ExplainRequest, PredictRequest, reader_options
from chaffinch.kinds.tags.test_set import PLAIN_COLUMNS
from chaffinch.kinds.weights import weighted_table, weights_of
from chaffinch.text.alignment import tagged
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.schemes import BIO
from chaffinch.text.table import TokenTable

MANY_LABELS = 10


def with_tags(d: Document, spans: bool) -> Document | None:
    """The document with a column of tags, made from its spans if it has none; None if it has no tokens or no tags.

    spans: whether the file has spans, so that a document without spans counts as annotated with none

    Spans that do not fit the tokens are left out: another check reports them.
    """
    if not d.tokens or LABEL in d.columns:
        return d if d.tokens else None
    if not spans:
        return None
    [made], _ = tagged([d], BIO, misaligned="drop", overlapping="drop")
    return made


def typed_words(asked: ExplainRequest) -> TokenTable:
    """The typed words."""
    return TokenTable.from_documents(as_sentences([Document(text=asked.words or "")], asked.source))


def weighted_sentences(path: Path, told: Mapping[str, str], annotators: str) -> TokenTable:
    """Sentences with the weight of each, from a field of its row, a comment, a column or a file of numbers."""
    format, options, name = detect(path, told.get("from_format")), given_options(path, told), told["weight"]
    if format.name not in TABLES:
        found = as_sentences(read(path, format.name, annotators=annotators, **options), path)
        weight = weights_of(path, found, name)
        return replace(TokenTable.from_documents(found), weight=np.array(weight, np.float32))
    table = read_table(path, format.name, **options)
    if "fields" not in format.carries or name in table.columns or is_stream(path):
        return weighted_table(path, table, name)
    weight = weights_of(path, list(read(path, format.name, **options)), name)
    return replace(table, weight=np.array(weight, np.float32))


def given_options(path: Path, told: Mapping[str, str]) -> dict[str, str]:
    """The options of the reader; names of columns apply to files of columns."""
    if "columns" in told and "columns" not in reader_options(path, told.get("from_format")):
        raise ConfigError(
            f"{display_name(path)}: --columns applies only to files of columns, such as train.conll"
        )
    return {name: told[name] for name in ("label", "columns") if name in told}


def input_table(asked: PredictRequest, tagger: Tagger, *, whole: bool) -> tuple[TokenTable, list[Document]]:
    """The sentences to tag, and their documents if they came as texts.

    whole: with everything that CoNLL-U keeps beside its columns, as documents

    A column file has the columns of the training data, or the first of them; what follows is kept.
    """
    path, known = asked.data, tagger.columns_
    format = detect(path, asked.from_format)
    chosen = format.name
    documents: list[Document] = []
    if asked.columns is not None:
        if chosen not in PLAIN_COLUMNS:
            raise ConfigError(
                f"{display_name(path)}: --columns applies only to files of columns, and this is {chosen}"
            )
        table = read_table(path, format="columns", columns=asked.columns, label="")
    elif chosen in PLAIN_COLUMNS:
        read_as = read_table(path, format="columns", label="")
        names = input_names(known, len(read_as.columns))
        table = TokenTable(
            read_as.ptr, dict(zip(names, read_as.columns.values(), strict=True)), read_as.groups
        )
    elif chosen == conllu.FORMAT.name and not whole:
        table = read_table(path, chosen, label=learned(known))
    elif chosen == conllu.FORMAT.name:
        documents = list(read(path, chosen, label=""))
        table = TokenTable.from_documents(documents)
    else:
        documents = list(every_document(path, format))
        if not documents:
            return TokenTable.from_lists({name: [] for name in known}), []
        documents = as_sentences(documents, path)
        table = TokenTable.from_documents(documents)
    check_columns(path, tagger, table.names, len(table.columns))
    return table, documents


def check_columns(path: Path, tagger: Tagger, names: Sequence[str], count: int) -> None:
    """Raise if a file lacks columns that the model reads.

    names: of its columns   count: of columns of strings
    """
    if any(name not in names for name in tagger.model_.columns):
        raise DataError(
            f"{display_name(path)}: expected the columns of the training data ({', '.join(tagger.columns_)}), "
            f"of which the model reads {', '.join(tagger.model_.columns)}; found {count}"
        )


def warn_of_swapped_columns(path: Path, table: TokenTable) -> None:
    """Warn if there are fewer words than labels: the labels may be in the first column."""
    words, labels = (len(np.unique(table.columns[name].ids)) for name in (WORD, LABEL))
    if words < labels and labels > MANY_LABELS:
        warn_about_data(
            f"{display_name(path)}: {labels} labels for {words} words; if the labels are in the first column, name the "
            "columns: --columns y,w"
        )
