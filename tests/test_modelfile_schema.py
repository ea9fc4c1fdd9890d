"""Schemas of model files: what a dataclass declares is packed, loaded and checked."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chaffinch
from chaffinch.errors import ModelFileError
from chaffinch.modelfile import (
    ModelFile,
    Packed,
    Requirements,
    Saved,
    array,
    fact,
    given,
    inside,
    listed_strings,
    nested,
    strings,
)


@dataclass(frozen=True, eq=False)
class Table(Saved):
    rows: Any = array("int64", "rows", bounds="cells")
    cells: Any = array("int32", "cells", below="Y", stored=("uint8", "int32"))


@dataclass(frozen=True, eq=False)
class Example(Saved):
    names: tuple[str, ...] = strings("Y", distinct=True)
    weights: Any = array("float32", "2*Y+1", "Y", potential=True)
    native: Any = given()
    left: Table = nested(Table, "left.")
    right: Table = nested(Table, "right.")
    scale: float = fact(float, check=lambda x: x > 0, expected="a number above 0", default=1.0)
    extra: Any = array("float32", "Y", optional=True, finite=True)


def example(**changes: Any) -> Example:
    left = Table(np.array([0, 2]), np.array([0, 1], np.int32))
    right = Table(np.array([0, 1, 1]), np.array([1], np.int32))
    weights = np.full((5, 2), -np.inf, np.float32)
    return replace(Example(("a", "b"), weights, "native", left, right), **changes)


def loaded(packed: Packed, **arrays: Any) -> Example:
    there = {name: a for name, a in {**packed.arrays, **arrays}.items() if a is not None}
    return Example.loaded(Requirements(replace(packed, arrays=there).file("x.chaff")), native="native")


def test_what_is_packed_is_loaded():
    one = example(extra=np.ones(2, np.float32), scale=2.0)
    again = loaded(one.packed())
    assert (again.names, again.native, again.scale) == (one.names, "native", 2.0)
    for name in ("weights", "extra"):
        np.testing.assert_array_equal(getattr(again, name), getattr(one, name))
    for side in ("left", "right"):
        np.testing.assert_array_equal(getattr(again, side).rows, getattr(one, side).rows)
        np.testing.assert_array_equal(getattr(again, side).cells, getattr(one, side).cells)
        assert getattr(again, side).cells.dtype == np.int32


def test_whole_numbers_are_stored_in_the_narrowest_type_that_holds_them():
    many = Table(np.array([0, 1]), np.array([300], np.int32))
    assert example().packed().arrays["left.cells"].dtype == np.uint8
    assert example(left=many).packed().arrays["left.cells"].dtype == np.int32


def test_optional_arrays_and_facts_may_be_missing():
    packed = replace(example().packed(), details={})
    assert "extra" not in packed.arrays
    assert (loaded(packed).extra, loaded(packed).scale) == (None, 1.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weights": None}, "has no array 'weights'"),
        ({"weights": np.zeros((5, 2))}, "array 'weights' is float64, expected float32"),
        ({"weights": np.zeros((4, 2), np.float32)}, "array 'weights' has the size 4, expected 5"),
        ({"weights": np.full((5, 2), np.inf, np.float32)}, r"array 'weights' holds NaN or \+infinity"),
        ({"extra": np.array([1, np.nan], np.float32)}, "array 'extra' holds nan, expected finite numbers"),
        ({"left.cells": np.array([0, 2], np.int32)}, "array 'left.cells' holds 2, expected numbers from 0"),
        (
            {"left.rows": np.array([0, 1])},
            "array 'left.rows' must hold row bounds that rise from 0 to left.cells = 2",
        ),
        ({"right.cells": np.array([1], np.int16)}, "array 'right.cells' is int16, expected int32"),
    ],
)
def test_damaged_sections_are_refused(change, said):
    with pytest.raises(ModelFileError, match=f"^x.chaff: {said}"):
        loaded(example().packed(), **change)


@pytest.mark.parametrize("value", [0.0, -1, "1", None, True])
def test_facts_are_checked(value):
    packed = replace(example().packed(), details={"scale": value})
    with pytest.raises(ModelFileError, match=r"its header gives 'scale' as .*, expected a number above 0"):
        loaded(packed)


def test_strings_are_checked():
    with pytest.raises(ModelFileError, match="string list 'names' holds a string twice"):
        loaded(example(names=("a", "a")).packed())


@dataclass(frozen=True)
class Sized(Saved):
    """A count in the header gives an array its size, and a list may be absent."""

    count: int = fact(int, size="n")
    numbers: np.ndarray = array("float32", "n")
    words: tuple[str, ...] | None = strings("w", optional=True)


def test_a_count_of_the_header_is_the_size_of_arrays():
    packed = Sized(2, np.zeros(2, np.float32)).packed()
    assert "words" not in packed.strings
    assert Sized.loaded(Requirements(packed.file())).words is None
    with pytest.raises(ModelFileError, match="array 'numbers' has the size 2, expected n = 3"):
        Sized.loaded(Requirements(replace(packed, details={"count": 3}).file()))
    with_words = Sized(2, np.zeros(2, np.float32), ("a",)).packed()
    assert Sized.loaded(Requirements(with_words.file())).words == ("a",)


@dataclass(frozen=True, eq=False)
class Grouped(Saved):
    outer: tuple[str, ...] = fact(
        list, check=listed_strings, expected="a list of labels", made=tuple, size="outer"
    )
    of: Any = array("int32", "Y", below="outer")
    threshold: float = fact(float, group="pruning")
    most: int = fact(int, group="pruning")
    table: Table = nested(Table, "table.", rows="outer+1")


def grouped(packed: Packed) -> Grouped:
    return Grouped.loaded(Requirements(packed.file("x.chaff"), Y=3))


def test_facts_of_a_group_lie_in_one_object_of_the_header_and_lists_bind_a_size():
    table = Table(np.array([0, 1, 1]), np.array([2], np.int32))
    packed = Grouped(("a", "b"), np.array([0, 1, 1], np.int32), 0.5, 4, table).packed()
    assert packed.details == {"outer": ["a", "b"], "pruning": {"threshold": 0.5, "most": 4}}
    again = grouped(packed)
    assert (again.outer, again.threshold, again.most) == (("a", "b"), 0.5, 4)
    for change, said in [
        ({"pruning": 3}, "its header gives 'pruning' as 3, expected an object"),
        ({"pruning": {"threshold": 0.5}}, "its header gives 'most' as None, expected int"),
        ({"outer": ["a", 1]}, r"its header gives 'outer' as \['a', 1\], expected a list of labels"),
        ({"outer": ["a"]}, "array 'table.rows' has the size 3, expected table.rows = 2"),
    ]:
        with pytest.raises(ModelFileError, match=said):
            grouped(replace(packed, details={**packed.details, **change}))
    high = replace(packed, arrays={**packed.arrays, "of": np.array([0, 1, 2], np.int32)})
    with pytest.raises(
        ModelFileError, match="array 'of' holds 2, expected numbers from 0 to below outer = 2"
    ):
        grouped(high)


@dataclass(frozen=True, eq=False)
class Sparse(Saved):
    counts: Any = array("uint8", "rows", sums="cells")
    columns: Any = array("uint8", "cells", below="width")


@dataclass(frozen=True, eq=False)
class Series(Saved):
    lists: list[str] = fact(list, check=listed_strings)
    phrases: Any = strings("phrases", each="lists", made=list)
    values: Any = strings("types", each="C", made=list)
    bounds: Any = array("int64", "n+1", bounds="total")
    flat: Any = array("int32", "total")
    late: Sparse = nested(Sparse, "late.", rows="n", width="3*n")
    scale: float = array("float32", 1, made=lambda a: float(a[0]))
    blocks: Any = array("float32", "size", 2, each="B", finite=True)
    maybe: Any = nested(Sparse, "maybe.", optional=True, rows="n", width="n")
    temperature: float = fact(float, default=1.0, omit=True)


def series(**changes: Any) -> Series:
    late = Sparse(np.array([1, 0], np.uint8), np.array([5], np.uint8))
    blocks = (np.zeros((3, 2), np.float32), np.ones((1, 2), np.float32))
    plain = Series(
        ["x", "y"],
        {"x": ["a"], "y": ["b", "c"]},
        (["p"], []),
        np.array([0, 1, 4]),
        np.zeros(4, np.int32),
        late,
        0.5,
        blocks,
    )
    return replace(plain, **changes)


def read_series(packed: Packed, C: int = 2, B: int = 2, **sizes: int) -> Series:
    return Series.loaded(Requirements(packed.file("x.chaff"), C=C, B=B, **sizes))


def test_a_field_may_be_a_series_of_sections_numbered_or_named():
    packed = series().packed()
    assert {"phrases.x", "phrases.y", "values.0", "values.1"} == set(packed.strings)
    assert {"blocks.0", "blocks.1"} <= set(packed.arrays)
    again = read_series(packed, **{"blocks.0.size": 3, "blocks.1.size": 1})
    assert (again.phrases, again.values, again.scale) == ({"x": ["a"], "y": ["b", "c"]}, (["p"], []), 0.5)
    assert [block.tolist() for block in again.blocks] == [[[0, 0]] * 3, [[1, 1]]]


def test_a_series_that_is_too_short_or_of_other_sizes_is_refused():
    packed = series().packed()
    with pytest.raises(ModelFileError, match=r"no array 'blocks\.2'"):
        read_series(packed, B=3)
    with pytest.raises(ModelFileError, match=r"no string list 'values\.2'"):
        read_series(packed, C=3)
    with pytest.raises(ModelFileError, match=r"'blocks\.1' has the size 1, expected .* = 2"):
        read_series(packed, **{"blocks.1.size": 2})


def test_bounds_bind_the_number_of_rows_and_sections_inside_may_wait_for_it():
    assert read_series(series().packed()).late.columns.tolist() == [5]
    wide = Sparse(np.array([1, 0], np.uint8), np.array([6], np.uint8))
    with pytest.raises(ModelFileError, match=r"'late\.columns' holds 6, expected .* below late\.width = 6"):
        read_series(series(late=wide).packed())
    with pytest.raises(ModelFileError, match=r"'late\.counts' has the size 3, expected late\.rows = 2"):
        read_series(series(late=Sparse(np.array([1, 0, 0], np.uint8), wide.columns)).packed())


def test_counts_add_up_to_the_cells():
    short = Sparse(np.array([1, 1], np.uint8), np.array([5], np.uint8))
    with pytest.raises(ModelFileError, match=r"'late\.counts' adds up to 2, expected late\.cells = 1"):
        read_series(series(late=short).packed())


def test_an_optional_part_and_a_fact_with_its_default_are_not_written():
    packed = series().packed()
    assert "temperature" not in packed.details
    assert not any(name.startswith("maybe.") for name in packed.arrays)
    assert (read_series(packed).maybe, read_series(packed).temperature) == (None, 1.0)
    part = Sparse(np.array([1, 0], np.uint8), np.array([1], np.uint8))
    more = series(maybe=part, temperature=2.0).packed()
    assert more.details["temperature"] == 2.0
    assert read_series(more).maybe.columns.tolist() == [1]
    damaged = replace(more, arrays={name: a for name, a in more.arrays.items() if name != "maybe.columns"})
    with pytest.raises(ModelFileError, match=r"no array 'maybe\.columns'"):
        read_series(damaged)


def test_a_schema_is_absent_if_the_file_has_none_of_its_sections():
    assert Series.absent(Requirements(Packed().file()))
    assert not Series.absent(Requirements(Packed(details={"lists": []}).file()))
    assert not Sparse.absent(Requirements(Packed(arrays={"counts": np.zeros(0)}).file()))


class Encoder:
    """A part with content of its own, which is no ``Saved``."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names, self.n_features = names, len(names)

    def packed(self) -> Packed:
        return Packed(details={"language": "none"}, strings={"names": list(self.names)})

    @classmethod
    def loaded(cls, file: ModelFile) -> "Encoder":
        assert file.header.details == {"language": "none"}
        return cls(tuple(Requirements(file).strings("names", "n")))


@dataclass(frozen=True, eq=False)
class Votes(Saved):
    k: int = fact(int)
    votes: Any = array("int32", "F", "Y")


@dataclass(frozen=True, eq=False)
class Whole(Saved):
    machine: str = fact(str)
    encoder: Encoder = inside(Encoder, "features.", F="n_features")
    own: Any = inside({"votes": Votes, "table": Table}, "machine.", by="machine")
    views: tuple[Encoder, ...] = inside(Encoder, "view.", each=True)
    weights: Any = array("float32", "F+1", "Y")
    other: Any = inside(ModelFile, "other.", facts="second", optional=True)


def whole(**changes: Any) -> Whole:
    votes = Votes(3, np.zeros((2, 2), np.int32))
    views = (Encoder(("x",)), Encoder(("y", "z")))
    made = Whole("votes", Encoder(("a", "b")), votes, views, weights=np.zeros((3, 2), np.float32))
    return replace(made, **changes)


def read_whole(packed: Packed) -> Whole:
    return Whole.loaded(Requirements(packed.file("x.chaff"), Y=2))


def test_a_part_with_content_of_its_own_has_a_prefix_and_an_object_of_the_header():
    packed = whole().packed()
    assert packed.details == {
        "machine": "votes",
        "encoder": {"language": "none"},
        "own": {"k": 3},
        "views": [{"language": "none"}, {"language": "none"}],
    }
    assert {*packed.arrays, *packed.strings} == {
        *("weights", "machine.votes", "features.names", "view.0.names", "view.1.names")
    }
    again = read_whole(packed)
    assert (again.encoder.names, again.own.k, [v.names for v in again.views], again.other) == (
        ("a", "b"),
        3,
        [("x",), ("y", "z")],
        None,
    )
    other = read_whole(whole(other=Encoder(("q",))).packed()).other
    assert (other.header.details, list(other.strings["names"])) == ({"language": "none"}, ["q"])


def test_a_part_binds_sizes_and_its_sections_count_as_requested():
    need = Requirements(whole().packed().file("x.chaff"), Y=2)
    Whole.loaded(need)
    need.nothing_else()
    with pytest.raises(ModelFileError, match=r"array 'votes' has the size 2, expected F = 1"):
        read_whole(replace(whole().packed(), strings={**whole().packed().strings, "features.names": ["a"]}))
    wide = whole(own=Votes(3, np.zeros((5, 2), np.int32)))
    with pytest.raises(ModelFileError, match=r"array 'votes' has the size 5, expected F = 2"):
        read_whole(wide.packed())


@pytest.mark.parametrize(
    ("name", "value"), [("encoder", None), ("encoder", 3), ("views", {}), ("own", []), ("views", [3])]
)
def test_the_object_of_a_part_is_checked(name, value):
    packed = whole().packed()
    with pytest.raises(ModelFileError, match=r"x\.chaff: its header"):
        read_whole(replace(packed, details={**packed.details, name: value}))


def test_sections_of_a_part_may_be_coded():
    @dataclass(frozen=True, eq=False)
    class Coded(Saved):
        table: Table = inside(
            Table,
            "t.",
            coded=(
                lambda packed: replace(packed, arrays={n: a + 1 for n, a in packed.arrays.items()}),
                lambda file: replace(file, arrays={n: a - 1 for n, a in file.arrays.items()}),
            ),
        )

    packed = Coded(Table(np.array([0, 2]), np.array([0, 1], np.int32))).packed()
    assert packed.arrays["t.rows"].tolist() == [1, 3]
    again = Coded.loaded(Requirements(packed.file(), Y=2))
    assert again.table.rows.tolist() == [0, 2]


def test_no_module_requests_a_section_or_a_fact_without_a_declaration():
    """Outside of the package that implements schemas, sections and facts of a model are fields of a ``Saved``."""
    by_hand = re.compile(
        r"need\.(array|strings|has|begins)\(|\.header\.details|Requirements\([^()]*\)\.(array|strings)\("
        r"|file\.(arrays|strings)\[|Packed\((\{|details=|arrays=|strings=)"
    )
    folder = Path(chaffinch.__file__).parent
    found = [
        f"{path.relative_to(folder)}: {line.strip()}"
        for path in sorted(folder.rglob("*.py"))
        if path.parent.name != "modelfile"
        for line in path.read_text(encoding="utf-8").splitlines()
        if by_hand.search(line)
    ]
    assert found == []
