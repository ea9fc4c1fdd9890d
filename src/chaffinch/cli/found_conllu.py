"""What a tagger found, as CoNLL-U: the labels in the column that it learned, all else as it came."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from chaffinch.corpus import conllu, write
from chaffinch.corpus.conllu_text import CELLS, NOTHING, labelled
from chaffinch.corpus.conllu_writer import misc
from chaffinch.corpus.registry import with_extension
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.table import TokenTable

SURENESS = "Probability"  # the attribute in the last column


def is_conllu(path: Path, format: str | None = None) -> bool:
    """Whether a file is CoNLL-U, by the format that was named or else by its name."""
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
    """The documents with the reading in the column of a label, or in the two of one such as ``upos|feats``.

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
