"""Types of columns that blocks share: the same answers as with types of their own, and nothing is described twice."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import Tagger, _core
from chaffinch.corpus import record_blocks as blocks_module
from chaffinch.corpus.splitter import RowRules, _column_text, with_shared
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.features.symbols import Symbols
from chaffinch.kinds import requests
from chaffinch.kinds.requests import BlockLayout
from chaffinch.kinds.tags import block_answers
from chaffinch.text.table import Column, SharedTypes, TokenTable, up_to_date
from commandline import run  # noqa: F401

WORD = st.text(st.sampled_from("aBé1-"), min_size=1, max_size=3)
BLOCKS = st.lists(
    st.lists(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=3), min_size=1, max_size=3),
    min_size=1,
    max_size=4,
)


def shared_tables(blocks):
    """The sentences of each block as a table whose columns share their types."""
    types = [SharedTypes(), SharedTypes()]
    for block in blocks:
        content = "".join("".join(f"{w}\t{p}\n" for w, p in sentence) + "\n" for sentence in block)
        text = _column_text(RowRules(columns=2, kept=(0, 1), expected=""), 1, shared=types)
        assert text.feed(content.encode())
        assert text.finish()
        columns, ptr, *_ = text.take()
        made = [Column(*column) for column in with_shared(columns, types)]
        yield TokenTable(ptr, dict(zip(("w", "pos"), made, strict=True)))


def own_table(block):
    cells = [[[cell[c] for cell in sentence] for sentence in block] for c in (0, 1)]
    return TokenTable.from_lists(dict(zip(("w", "pos"), cells, strict=True)))


@given(BLOCKS)
def test_shared_types_number_the_same_strings(blocks):
    for block, table in zip(blocks, shared_tables(blocks), strict=True):
        own = own_table(block)
        for name in ("w", "pos"):
            assert table.lists(name) == own.lists(name)
            assert len(set(table.columns[name].types)) == len(table.columns[name].types)


@given(BLOCKS)
def test_features_of_blocks_with_shared_types_are_those_of_tables_of_their_own(blocks):
    encoder = FeatureEncoder(["w[0]", "w[-1]|pos[0]", "suffix2[0]", "shape[1]", "lower[0]", "stem[0]"])
    encoder.fit(own_table([[("aB", "é"), ("1-", "a")], [("a", "B")]]))
    for block, table in zip(blocks, shared_tables(blocks), strict=True):
        found, wanted = encoder.transform(table), encoder.transform(own_table(block))
        assert found.ptr.tolist() == wanted.ptr.tolist()
        assert found.ids.tolist() == wanted.ids.tolist()


def test_words_are_described_once():
    asked = []

    def lengths(words, first):
        asked.append(words.strings(first))
        return np.array([len(word) for word in asked[-1]], np.int32)

    types = SharedTypes()
    for new, wanted in ((["a"], [1]), ([], [1]), (["bc", "d"], [1, 2, 1])):
        types.interner.intern_nested([new])
        assert types.of_each(lengths, lengths).tolist() == wanted
    assert asked == [["a"], ["bc", "d"]]
    assert types == []  # nobody has asked for strings
    assert up_to_date(types) == ["a", "bc", "d"]


def test_many_types_begin_anew(monkeypatch):
    monkeypatch.setattr(requests, "MOST_TYPES", 2)
    layout = BlockLayout()
    (first,) = layout.shared(["w"])
    first.interner.intern_nested([["a", "b"]])
    assert layout.shared(["w"])[0] is first
    first.interner.intern("c")
    assert len(layout.shared(["w"])[0].interner) == 0


def test_a_table_of_types_is_needed_for_each_column():
    with pytest.raises(ValueError, match="a table of types per kept column"):
        _column_text(RowRules(columns=2, kept=(0, 1), expected=""), 1, shared=[SharedTypes()])
    two = [_core.Interner(), _core.Interner()]
    with pytest.raises(ValueError, match="a table of types per kept list"):
        _core.token_objects(b'{"tokens": ["a"]}', "tokens", [], "", [0], two)


def test_ids_stay_those_of_the_table_after_a_fault():
    types = SharedTypes()
    broken = _column_text(RowRules(columns=1, kept=(0,), split="spaces", expected=""), 1, shared=[types])
    assert not broken.feed(b"early\n\ntoo many\n\n")
    text = _column_text(RowRules(columns=1, kept=(0,), split="spaces", expected=""), 1, shared=[types])
    assert text.feed(b"late\nearly\n\n")
    columns, ptr, *_ = text.take()
    (column,) = with_shared(columns, [types])
    assert TokenTable(ptr, {"w": Column(*column)}).lists("w") == [["late", "early"]]


@given(st.lists(st.text(max_size=20), max_size=40), st.integers(0, 40))
def test_symbols_of_words_in_the_core_are_those_of_strings(words, first):
    symbols = Symbols(words=["the", "zoë"], rungs=["*", "x", "Xx", "Xx g", "x-ing", "= été"], ladder="suffix")
    interner = _core.Interner()
    for word in words:
        interner.intern(word)
    first = min(first, len(interner))
    assert symbols.of_interned(interner, first).tolist() == symbols.of(interner.strings(first)).tolist()


@pytest.mark.parametrize("first", [-1, 2])
def test_ids_beyond_a_table_are_refused(first):
    interner = _core.Interner()
    interner.intern("a")
    with pytest.raises(ValueError, match="an id of the types"):
        Symbols([], ["*"], "one").of_interned(interner, first)


WORDS = [["Ann", "went", "home"], ["Bob", "saw", "Ann", "."], ["home"], ["the", "dog", "barks", "at", "Zoë"]]
TAGS = [["B-P", "O", "O"], ["B-P", "O", "B-P", "O"], ["O"], ["O", "O", "O", "O", "B-P"]]
ROWS = {
    "in.jsonl": [json.dumps({"tokens": w}) + "\n" for w in WORDS],
    "in.conll": ["".join(f"{w}\n" for w in s) + "\n" for s in WORDS],
    "in.conllu": ["".join(f"{i}\t{w}" + "\t_" * 8 + "\n" for i, w in enumerate(s, 1)) + "\n" for s in WORDS],
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("recipe", ["hmm", "crf", "greedy", "semi-crf"])
@pytest.mark.parametrize("most", [1 << 17, 3])
def test_answers_of_blocks_do_not_depend_on_shared_types(name, recipe, most, tmp_path, run, monkeypatch):  # noqa: F811
    model, source, out = tmp_path / "m.chaff", tmp_path / name, tmp_path / f"out{name[2:]}"
    Tagger(recipe, folds=0).fit(WORDS * 3, TAGS * 3).save(model)
    source.write_text("".join(ROWS[name] * 5))
    monkeypatch.setattr(blocks_module, "SIZE", 30)
    monkeypatch.setattr(requests, "MOST_TYPES", most)
    made = []
    for shared in (block_answers._shared, lambda *_: lambda _: ()):
        monkeypatch.setattr(block_answers, "_shared", shared)
        assert run("predict", model, source, "-o", out).code == 0
        made.append(out.read_bytes())
    assert made[0] == made[1]
