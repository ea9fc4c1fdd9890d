"""Fingerprints of the data of a training."""

from typing import Any

import numpy as np

from chaffinch import modelfile
from chaffinch.text.table import TokenTable


def table_fingerprint(table: TokenTable) -> str:
    """The fingerprint of sentences: all columns, and the user's features of tokens."""
    columns: list[Any] = [piece for column in table.columns.values() for piece in (column.types, column.ids)]
    if table.attributes is not None:
        rows = table.attributes.rows
        columns += [rows.names.names(np.arange(len(rows.names), dtype=np.int32)), rows.ptr, rows.ids]
        columns += [] if rows.values is None else [rows.values]
    return modelfile.fingerprint(table.names, table.ptr, *columns)


def documents_fingerprint(documents: Any, labels: Any) -> str:
    """The fingerprint of texts, or of rows of features, with their labels."""
    if isinstance(documents, list):
        texts = [one if isinstance(one, str) else repr(one) for one in documents]
        return modelfile.fingerprint(texts, labels.ptr, labels.ids)
    return modelfile.fingerprint(documents.ptr, documents.ids, documents.weights(), labels.ptr, labels.ids)


def held_out_fingerprint(dev: Any) -> str:
    """The fingerprint of held-out sentences, or of held-out documents with their labels; of none: empty."""
    if dev is None:
        return ""
    if isinstance(dev, TokenTable):
        return table_fingerprint(dev)
    documents, labels, _ = dev
    return modelfile.fingerprint(
        [documents_fingerprint(documents, labels), *map(str, labels.classes.tolist())]
    )
