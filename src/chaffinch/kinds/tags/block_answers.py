"""The best labels of a block of sentences, put into its bytes by the core: no document is made."""

import re
from collections.abc import Callable, Sequence
from functools import partial

from chaffinch.corpus import Format, columns, conllu, detect, token_lists
from chaffinch.corpus.conllu import TABLE_COLUMNS, learned
from chaffinch.errors import ConfigError
from chaffinch.estimators import Tagger
from chaffinch.estimators.sentences import input_names
from chaffinch.files import reading, writing
from chaffinch.kinds.requests import PredictRequest
from chaffinch.kinds.tags.output import format_of_spans, is_conllu
from chaffinch.kinds.tags.prediction import separator_of
from chaffinch.kinds.tags.reading import check_columns
from chaffinch.kinds.tags.test_set import PLAIN_COLUMNS
from chaffinch.model.encoders import SymbolEncoder, TemplateEncoder
from chaffinch.text.document import WORD
from chaffinch.text.table import Column, SharedTypes, TokenTable

_MARKED_TOKEN = re.compile(rb"\xef\xbb\xbf[0-9]+\t")  # a byte order mark before a token


def relabel_conllu(model: Tagger, asked: PredictRequest) -> bool:
    """Write a block of CoNLL-U with the labels in their column and all else unchanged; False if that does not apply."""
    known = {WORD, *TABLE_COLUMNS}
    if detect(asked.data, asked.from_format) is not conllu.FORMAT or not known.issuperset(
        model.model_.columns
    ):
        return False
    with reading(asked.data) as stream:
        content = stream.read()
    if _MARKED_TOKEN.match(content):  # written without the mark
        return False
    label = learned(model.columns_)
    read = [name for name in model.model_.columns if name != WORD]
    table, places = conllu.read_places(asked.data, read, label, _shared(model, asked)([WORD, *read]))
    made = conllu.relabelled(content, label, _decoded(model, table), places)
    with writing(asked.output) as out:
        out.write(made)
    return True


def label_rows(model: Tagger, asked: PredictRequest) -> bool:
    """Write a block of columns, or of JSON objects of tokens, with its labels; False if that does not apply."""
    given = detect(asked.data, asked.from_format)
    if asked.columns is not None or asked.steps or asked.beside:
        return False
    try:
        format = format_of_spans(asked.output, asked.to_format, given)
    except ConfigError:  # after what is wrong with the input
        return False
    if format not in (None, given) or is_conllu(asked.output, asked.to_format):
        return False
    if given is token_lists.FORMAT:
        return _label_objects(model, asked, format)
    return given.name in PLAIN_COLUMNS and format is None and _label_columns(model, asked)


def _label_columns(model: Tagger, asked: PredictRequest) -> bool:
    """Write a block of columns as columns."""
    read, names = model.model_.columns, partial(input_names, model.columns_)
    with reading(asked.data) as stream:
        content = stream.read()
    found = columns.read_places(asked.data, names, read, _shared(model, asked))
    if found is None:
        return False
    every = names(found.width)
    check_columns(asked.data, model, every, found.width)
    if asked.layout is not None:
        asked.layout.check_columns(tuple(every))
    separator = " " if found.width == 1 else "\t"
    made = found.labelled(content, separator, _decoded(model, found.table))
    with writing(asked.output) as out:
        out.write(made)
    return True


def _label_objects(model: Tagger, asked: PredictRequest, format: Format | None) -> bool:
    """Write a block of JSON objects of tokens as such objects, or, without a format, as columns."""
    read = model.model_.columns
    if format is None:  # all columns are written, and all types would be looked at again
        found = token_lists.read_objects(asked.data)
    else:
        found = token_lists.read_objects(asked.data, read, _shared(model, asked))
    if found is None or not set(read).issubset(found.names):
        return False
    if asked.layout is not None:
        asked.layout.check_columns(found.names)
    labels = _decoded(model, found.table)
    with writing(asked.output) as out:
        out.write(found.lines(labels) if format else found.table.text(separator_of(found.table), labels))
    return True


def _shared(model: Tagger, asked: PredictRequest) -> Callable[[Sequence[str]], Sequence[SharedTypes]]:
    """The types that blocks share of columns with these names; none if the model would look at all of them again."""
    encoder = getattr(model.model_, "encoder", None)
    if asked.layout is None or model.rules_ or not isinstance(encoder, SymbolEncoder | TemplateEncoder):
        return lambda _: ()
    return asked.layout.shared


def _decoded(model: Tagger, table: TokenTable) -> Column:
    """The best labels of tokens."""
    return Column(list(model.classes_), model.answering().decode(table, model.threads))
