"""Inputs of taggers: texts and tokens as rows, and rows as the table that a model reads."""

from collections.abc import Sequence

from chaffinch.errors import DataError
from chaffinch.estimators import Tagger
from chaffinch.serve.answers import InputRow
from chaffinch.serve.messages import Token
from chaffinch.text.document import WORD
from chaffinch.text.table import TokenTable
from chaffinch.text.tokens import token_bounds

NO_CELL = "_"  # fills a column that was not given and that no feature reads


def row_of_text(model: Tagger, text: str) -> InputRow:
    """A text, cut into words; DataError if the model reads further columns."""
    if model.model_.columns != (WORD,):
        raise DataError(
            f"this model reads the columns {', '.join(model.model_.columns)}, and a text has words alone: send tokens, "
            f"each a list of {', '.join(model.columns_)}"
        )
    offsets = token_bounds(text)
    words = [text[a:b] for a, b in offsets]
    return InputRow(text, row_key(model, words, None), words, None, offsets)


def row_of_tokens(model: Tagger, sentence: Sequence[Token]) -> InputRow:
    """A sentence of words, or of lists of a word and its further columns."""
    width = len(model.columns_)
    columns: list[tuple[str, ...]] | None = None
    if all(isinstance(token, str) for token in sentence):
        if model.model_.columns != (WORD,):
            raise DataError(
                f"this model reads the columns {', '.join(model.model_.columns)}: send tokens as lists of "
                f"{', '.join(model.columns_)}"
            )
        words = [str(token) for token in sentence]
    else:
        for t, token in enumerate(sentence):
            if isinstance(token, str) or len(token) != width:
                raise DataError(f"token {t}: expected a list of {width} ({', '.join(model.columns_)})")
        columns = [tuple(token) for token in sentence]
        words = [cells[0] for cells in columns]
    offsets, start = [], 0
    for word in words:
        offsets.append((start, start + len(word)))
        start += len(word) + 1
    return InputRow(" ".join(words), row_key(model, words, columns), words, columns, offsets)


def row_key(model: Tagger, words: Sequence[str], columns: Sequence[tuple[str, ...]] | None) -> str:
    """What the model reads of the tokens."""
    if columns is None or model.model_.columns == (WORD,):
        return "\x1e".join(words)
    return "\x1f".join("\x1e".join(cells) for cells in zip(*columns, strict=True))


def table_of(model: Tagger, rows: Sequence[InputRow]) -> TokenTable:
    """Sentences as the model takes them."""
    if model.model_.columns == (WORD,):
        return TokenTable.over_lists({WORD: [row.words for row in rows]})
    for row in rows:
        if row.columns is None:
            raise DataError(f"this model reads the columns {', '.join(model.model_.columns)}")
    names = model.columns_
    lists = {
        name: [[cells[c] for cells in row.columns or ()] for row in rows] for c, name in enumerate(names)
    }
    return TokenTable.over_lists(lists)


def further_columns(model: Tagger, row: InputRow) -> dict[str, list[str]]:
    """The columns of the training data beside the words; one that was not given is not read by any feature."""
    return {
        name: [NO_CELL] * len(row.words) if row.columns is None else [cells[c] for cells in row.columns]
        for c, name in enumerate(model.columns_)
        if name != WORD
    }
