import numpy as np
import pytest

from chaffinch.errors import DataError
from chaffinch.text.document import Document
from chaffinch.text.table import Column, TokenTable, concatenated


def test_documents_become_a_table_with_groups() -> None:
    documents = [Document.from_words([w], y=["X"]) for w in "abcd"]
    for document, group in zip(documents, (None, "g", "g", "h"), strict=True):
        document.group = group
    table = TokenTable.from_documents(documents)
    assert table.lists("w") == [["a"], ["b"], ["c"], ["d"]]
    assert table.groups is not None
    assert table.groups.tolist() == [0, 1, 1, 2]
    assert list(TokenTable.from_documents(documents, ["y"]).columns) == ["y"]


def test_documents_without_groups_have_none_in_the_table() -> None:
    assert TokenTable.from_documents([Document.from_words(["a"])]).groups is None


def test_a_missing_column_is_named() -> None:
    documents = [Document.from_words(["a"], y=["X"]), Document.from_words(["b"])]
    with pytest.raises(DataError, match="sentence 2: has no column 'y'; it has w"):
        TokenTable.from_documents(documents)
    with pytest.raises(DataError, match="at least one document"):
        TokenTable.from_documents([])


def test_tables_join_end_to_end_and_unknown_strings_stay_unknown() -> None:
    a = TokenTable.from_lists({"w": [["a", "b"], ["c"]]})
    b = TokenTable(np.array([0, 2], dtype=np.int64), {"w": Column(["b"], np.array([0, -1], dtype=np.int32))})
    joined = concatenated([a, b])
    assert joined.columns["w"].types == ["a", "b", "c"]
    assert joined.columns["w"].ids.tolist() == [0, 1, 2, 1, -1]
    assert joined.columns["w"].ids.dtype == np.int32
    assert joined.ptr.tolist() == [0, 2, 3, 5]
