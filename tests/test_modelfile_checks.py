"""What a recipe may require of its file, string lists, and the JSON we take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import ModelFileError, modelfile
from chaffinch.modelfile import Header, Requirements, StringList
from chaffinch.modelfile.strict_json import parsed

some_strings = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=8)


def needs(**numbers):
    model = modelfile.ModelFile(
        Header(recipe="r"), numbers, {"s": StringList.of(["a", "b", "a"])}, "m.chaff", ""
    )
    return Requirements(model, Y=2)


@pytest.mark.parametrize(
    ("a", "rules", "message"),
    [
        (np.zeros((3, 2), np.float64), {}, "is float64, expected float32"),
        (np.zeros(3, np.float32), {}, "has 1 dimensions, expected 2"),
        (np.zeros((3, 4), np.float32), {}, "has the size 4, expected Y = 2"),
        (np.array([[1, np.inf]], np.float32), {"finite": True}, "holds inf, expected finite numbers"),
    ],
)
def test_a_requirement_that_is_not_met_says_which(a, rules, message):
    with pytest.raises(ModelFileError, match=f"m.chaff: array 'w' {message}"):
        needs(w=a).array("w", np.float32, ("F", "Y"), **rules)


@pytest.mark.parametrize(
    ("values", "rules", "message"),
    [
        ([0, 1, 2], {"below": "Y"}, "holds 2, expected numbers from 0 to below Y = 2"),
        ([0, -1, 1], {"below": "Y"}, "holds -1, expected"),
        ([0, -2, 1], {"below": "Y", "low": -1}, "holds -2, expected numbers from -1"),
        ([0, 3], {"bounds": "Y"}, "must hold row bounds that rise from 0 to Y = 2"),
        ([1, 2], {"bounds": "Y"}, "must hold row bounds that rise"),
        ([0, 3, 2], {"bounds": "Y"}, "must hold row bounds that rise"),
        ([], {"bounds": 0}, "must hold row bounds that rise"),
        ([1, 3, 3], {"ascending": True}, "is not ascending: 3 follows 3"),
    ],
)
def test_an_index_that_leads_outside_is_refused(values, rules, message):
    with pytest.raises(ModelFileError, match=message):
        needs(ids=np.array(values, np.int64)).array("ids", np.int64, ("K",), **rules)


def test_indices_that_fit_are_accepted():
    need = needs(ids=np.array([-1, 0, 1]), ptr=np.array([0, 0, 3]))
    need.array("ids", np.int64, ("K",), below="Y", low=-1, ascending=True)
    need.array("ptr", np.int64, ("N+1",), bounds="K")
    assert need.size("K") == 3
    assert need.strings("s", "K") == ["a", "b", "a"]
    need.nothing_else()


def test_missing_doubled_and_unknown_sections_are_refused():
    with pytest.raises(ModelFileError, match="has no array 'w'"):
        needs().array("w", np.float32, ())
    with pytest.raises(ModelFileError, match="has no string list 't'"):
        needs().strings("t", "K")
    with pytest.raises(ModelFileError, match="holds a string twice"):
        needs().strings("s", "K", distinct=True)
    with pytest.raises(ModelFileError, match="has the unknown section 's'"):
        needs().nothing_else()


@given(some_strings)
def test_a_string_list_behaves_as_a_list(listed):
    packed = StringList.of(listed)
    assert len(packed) == len(listed)
    assert [packed[i] for i in range(len(listed))] == listed == list(packed)
    assert packed[1:-1] == listed[1:-1]
    assert packed == listed
    assert packed == StringList.of(listed)
    assert packed != [*listed, "more"]


@pytest.mark.parametrize(
    ("utf8", "ptr"),
    [
        (b"abc", [0, 2]),
        (b"abc", [1, 3]),
        (b"abc", [0, 3, 2, 3]),
        (b"abc", [0, -5, 3]),
        (b"abc", [0, 9, 3]),
        (b"abc", []),
        (b"\xff", [0, 1]),
        (b"\xc3", [0, 1]),
        ("é".encode(), [0, 1, 2]),
        ("é".encode(), [0, 2, 2, 1, 2]),
        (b"\xed\xa0\x80", [0, 3]),
    ],
)
def test_a_broken_string_list_is_refused(utf8, ptr):
    with pytest.raises(ModelFileError):
        StringList(np.frombuffer(utf8, np.uint8), np.array(ptr, np.int64))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "has the key 'a' twice"),
        ('{"a": {"b": 1, "b": 1}}', "has the key 'b' twice"),
        ('{"a": NaN}', "has NaN, which is not JSON"),
        ('{"a": -Infinity}', "has -Infinity, which is not JSON"),
        ('{"a": 1e999}', "has the number inf, expected a finite one"),
        ('{"a": 18446744073709551616}', "beyond 64 bits"),
        ('{"a": -9223372036854775809}', "beyond 64 bits"),
        ('{"a": ' + "9" * 5000 + "}", "beyond 64 bits"),
        ('{"a": "\\ud800"}', "half a character"),
        ('{"\\udc00": 1}', "half a character"),
        ("[" * 40 + "]" * 40, "nested deeper than 32 levels"),
        ("[" * 100_000, "nested deeper than 32 levels"),
        ('{"a": 1', "is not JSON: .* at character 7"),
        (b'{"\xff": 1}', "is not UTF-8: byte 2 is 255"),
    ],
)
def test_json_that_readers_disagree_about_is_refused(text, message):
    with pytest.raises(ModelFileError, match=f"^it .*{message}"):
        parsed(text, "it")
