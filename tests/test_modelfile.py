"""The model file: what is written comes back, the same content is the same bytes, faults are one sentence."""

import dataclasses
import hashlib
import json
import os
import string
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import fuzz_modelfile
import modelfile_mutations
from chaffinch import ModelFileError, modelfile
from chaffinch.modelfile import Header, StringList
from chaffinch.modelfile.container import DTYPES

OLD = Path(__file__).parent / "files" / "format-1.chaff"

names = st.text(string.ascii_letters + string.digits + "_.-", min_size=1, max_size=12).map("a".__add__)
dtypes = st.sampled_from(sorted(DTYPES)).map(DTYPES.__getitem__)
some_arrays = dtypes.flatmap(
    lambda d: arrays(d, array_shapes(min_dims=0, min_side=0, max_dims=4, max_side=4))
)
some_strings = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=8)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('aé\n"\\', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.chaff"


@given(
    st.dictionaries(names, some_arrays, max_size=4),
    st.dictionaries(names.map("s".__add__), some_strings, max_size=3),
    st.dictionaries(st.text("aé", max_size=4), json_values, max_size=3),
)
@settings(max_examples=100, deadline=None)
def test_what_is_written_comes_back(tmp_path_factory, numbers, strings, details):
    path = tmp_path_factory.mktemp("m") / "model.chaff"
    header = Header(recipe="r", labels=("a", "b"), seed=2**63, scores={"f1": 0.1, "n": 3}, details=details)
    modelfile.write(path, header, numbers, strings)
    model = modelfile.read(path)
    assert model.header == header
    assert model.arrays.keys() == numbers.keys()
    for name, a in numbers.items():
        back = model.arrays[name]
        assert (back.dtype, back.shape, back.tobytes()) == (a.dtype, a.shape, a.tobytes())
        assert back.flags.aligned
        assert not back.flags.writeable
    assert {name: list(s) for name, s in model.strings.items()} == strings


def test_the_same_content_is_the_same_bytes_in_whatever_order_it_is_given(tmp_path):
    header, numbers, strings = fuzz_modelfile.sound_content()
    modelfile.write(tmp_path / "a.chaff", header, numbers, strings)
    turned = dataclasses.replace(header, settings=dict(reversed(header.settings.items())))
    modelfile.write(
        tmp_path / "b.chaff",
        turned,
        {name: np.asfortranarray(a) for name, a in reversed(numbers.items())},
        {name: StringList.of(s) for name, s in reversed(strings.items())},
    )
    assert (tmp_path / "a.chaff").read_bytes() == (tmp_path / "b.chaff").read_bytes()


def test_big_endian_arrays_are_stored_little_endian(path):
    modelfile.write(path, Header(recipe="r"), {"w": np.array([1, 2, 3], ">i4")})
    assert modelfile.read(path).arrays["w"].tolist() == [1, 2, 3]
    assert path.read_bytes()[-12:] == np.array([1, 2, 3], "<i4").tobytes()


def test_a_file_of_format_1_loads_as_it_did_when_it_was_written():
    model = fuzz_modelfile.load(OLD)
    header, numbers, strings = fuzz_modelfile.sound_content()
    assert model.header == dataclasses.replace(header, library="0.1.0")
    assert {name: list(s) for name, s in model.strings.items()} == strings
    assert model.arrays.keys() == numbers.keys()
    for name, a in numbers.items():
        np.testing.assert_array_equal(model.arrays[name], a, strict=True)


def test_the_writer_still_writes_format_1_to_the_byte(path):
    header, numbers, strings = fuzz_modelfile.sound_content()
    modelfile.write(path, dataclasses.replace(header, library="0.1.0"), numbers, strings)
    assert path.read_bytes() == OLD.read_bytes()


def test_the_safetensors_package_reads_our_files(path):
    header, numbers, strings = fuzz_modelfile.sound_content()
    modelfile.write(path, header, numbers, strings)
    theirs = safetensors.numpy.load_file(path)
    for name, a in numbers.items():
        np.testing.assert_array_equal(theirs[name], a, strict=True)
    assert theirs["words:utf8"].tobytes() == "".join(strings["words"]).encode()
    with safetensors.safe_open(path, "numpy") as opened:
        assert json.loads(opened.metadata()["chaffinch"])["recipe"] == "crf"


def test_a_file_rewritten_by_the_safetensors_package_still_loads(path):
    header, numbers, strings = fuzz_modelfile.sound_content()
    modelfile.write(path, header, numbers, strings)
    before = modelfile.read(path)
    with safetensors.safe_open(path, "numpy") as opened:
        metadata = opened.metadata()
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    safetensors.numpy.save_file(tensors, path, metadata)
    after = modelfile.read(path)
    assert fuzz_modelfile.content(after) == fuzz_modelfile.content(before)
    assert after.digest == before.digest


def test_dropping_the_names_keeps_everything_else_and_says_so(path, tmp_path):
    lean = tmp_path / "lean.chaff"
    header, numbers, strings = fuzz_modelfile.sound_content()
    modelfile.write(path, header, numbers, strings)
    assert [s.name for s in modelfile.drop_names(path, lean)] == ["names", "counts"]
    assert lean.stat().st_size < path.stat().st_size
    model = fuzz_modelfile.load(lean)
    assert model.header == dataclasses.replace(header, droppable=(), dropped=("counts", "names"))
    assert model.arrays.keys() == numbers.keys() - {"counts"}
    assert model.strings.keys() == strings.keys() - {"names"}
    assert modelfile.drop_names(lean, lean) == []
    assert fuzz_modelfile.content(modelfile.read(lean)) == fuzz_modelfile.content(model)


def test_sections_add_up_to_the_data_of_the_file(path):
    modelfile.write(path, *fuzz_modelfile.sound_content())
    listed = modelfile.sections(modelfile.read(path))
    _, stored = modelfile_mutations.parts(path.read_bytes())
    assert sum(s.bytes for s in listed) == len(stored)
    assert [s.bytes for s in listed] == sorted((s.bytes for s in listed), reverse=True)
    assert {s.name for s in listed if s.droppable} == {"names", "counts"}


def test_the_json_dump_shows_every_value(path):
    header, numbers, strings = fuzz_modelfile.sound_content()
    numbers["odd"] = np.array([np.nan, np.inf, -np.inf, 0.1], np.float32)
    modelfile.write(path, header, numbers, strings)
    dump = json.loads(modelfile.as_json(modelfile.read(path)))
    assert dump["header"]["labels"] == ["B-É", "I", "O"]
    assert dump["strings"]["words"] == strings["words"]
    assert dump["arrays"]["odd"]["values"] == ["nan", "inf", "-inf", 0.1]
    np.testing.assert_array_equal(np.array(dump["arrays"]["unary"]["values"], np.float32), numbers["unary"])


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path):
    modelfile.write(path, Header(recipe="r"))
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match=r"cannot be written: arrays of complex128 cannot be stored"):
        modelfile.write(path, Header(recipe="r"), {"w": np.zeros(3, complex)})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    ("header", "numbers", "strings", "message"),
    [
        (Header(recipe="r", labels=("a", "a")), {}, {}, "as labels, expected distinct strings"),
        (
            Header(recipe="r", scores={"f1": float("nan")}),
            {},
            {},
            "has the number nan, expected a finite one",
        ),
        (Header(recipe="r", settings={"n": 2**64}), {}, {}, "beyond 64 bits"),
        (Header(recipe="r", settings={"n": {1: 2}}), {}, {}, "has the key 1, expected a string"),
        (Header(recipe="r", settings={"n": {1, 2}}), {}, {}, "which JSON cannot represent"),
        (Header(recipe="\ud800"), {}, {}, "half a character"),
        (Header(recipe="r", seed=-1), {}, {}, "as seed"),
        (Header(recipe="r", droppable=("x",)), {}, {}, "calls 'x' droppable, but there is no such section"),
        (
            Header(recipe="r", labels=tuple(map(str, range(300_000)))),
            {},
            {},
            "long lists belong in string lists",
        ),
        (Header(recipe="r"), {"a b": np.zeros(1)}, {}, "'a b' is not a valid name of an array"),
        (Header(recipe="r"), {"w:ptr": np.zeros(1)}, {}, "cannot name an array"),
        (Header(recipe="r"), {"w": np.zeros(1)}, {"w": []}, "names a string list too"),
        (Header(recipe="r"), {}, {"s": ["\udc80"]}, "string list 's': .* half a character"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(path, header, numbers, strings, message):
    with pytest.raises(ModelFileError, match=message):
        modelfile.write(path, header, numbers, strings)
    assert not path.exists()


def test_a_newer_format_is_named_with_the_way_out(path):
    modelfile.write(path, Header(recipe="r"), {"w": np.zeros(3)})
    directory, stored = modelfile_mutations.parts(path.read_bytes())
    header = json.loads(directory["__metadata__"]["chaffinch"])
    directory["__metadata__"]["chaffinch"] = json.dumps(header | {"format": 2, "novelty": 1})
    directory["w"]["dtype"] = "F4"
    path.write_bytes(modelfile_mutations.joined(directory, stored))
    with pytest.raises(
        ModelFileError, match=r"has format 2, but this version .* reads formats up to 1: install a newer"
    ):
        modelfile.read(path)


def test_damage_anywhere_in_the_data_is_noticed(path):
    modelfile.write(path, Header(recipe="r"), {"w": np.arange(4.0)})
    sound = path.read_bytes()
    for at in range(len(sound) - 32, len(sound)):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        with pytest.raises(ModelFileError, match=r"damaged: its content does not match its SHA-256 checksum"):
            modelfile.read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has only 0 bytes"),
        (b"w the 1\nw dog 2\n", "is not a model file, or is cut short"),
        ((2).to_bytes(8, "little") + b"{}", "is not a model file of Chaffinch"),
        ((2).to_bytes(8, "little") + b"[]", "does not start with '{'"),
    ],
)
def test_a_foreign_file_is_called_so(path, content, message):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        modelfile.read(path)


def test_a_safetensors_file_of_others_is_called_so(path):
    safetensors.numpy.save_file({"w": np.zeros(3)}, path, {"format": "np"})
    with pytest.raises(ModelFileError, match=r"but not a model of Chaffinch"):
        modelfile.read(path)


def test_what_is_not_a_file_is_refused_without_waiting_for_it(tmp_path):
    fifo = tmp_path / "pipe.chaff"
    os.mkfifo(fifo)
    for odd, message in (
        (fifo, "is not a file"),
        (tmp_path, "is a directory"),
        (tmp_path / "x", "no such file"),
    ):
        with pytest.raises(ModelFileError, match=f"{odd}: {message}"):
            modelfile.read(odd)


def test_opening_a_large_model_costs_little_more_than_its_checksum(path):
    modelfile.write(path, Header(recipe="r"), {"w": np.ones(7_500_000, np.float32)})
    stored = path.read_bytes()
    checksum = min(cpu_seconds(lambda: hashlib.sha256(stored).digest()) for _ in range(3))
    assert min(cpu_seconds(lambda: modelfile.read(path)) for _ in range(3)) < 3 * checksum + 0.01


def cpu_seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def test_the_fingerprint_depends_on_content_alone():
    ids = np.arange(5, dtype=np.int32)
    assert modelfile.fingerprint(["a", "b"], ids) == modelfile.fingerprint(
        StringList.of("ab"), ids.astype(">i4")
    )
    assert modelfile.fingerprint(["a", "b"]) != modelfile.fingerprint(["ab"])
    assert modelfile.fingerprint(ids) != modelfile.fingerprint(ids.astype(np.int64))
    assert modelfile.fingerprint(["a"], ["b"]) != modelfile.fingerprint(["a", "b"])


def renamed(directory):
    directory["a b"] = directory.pop("unary")


def crowded(directory):
    directory["unary"]["shape"] = [[]] * 300_000


def overweight(directory):
    directory["x" * 5_000_000] = 1


def half_a_list(directory):
    directory["words:rest"] = directory.pop("letters")


def shadowed(directory):
    directory["words"] = directory.pop("letters")


def wrongly_dropped(directory):
    header = json.loads(directory["__metadata__"]["chaffinch"])
    directory["__metadata__"]["chaffinch"] = json.dumps(header | {"dropped": ["unary"]})


def wrongly_droppable(directory):
    header = json.loads(directory["__metadata__"]["chaffinch"])
    directory["__metadata__"]["chaffinch"] = json.dumps(header | {"droppable": ["unheard"]})


def more_metadata(directory):
    directory["__metadata__"]["more"] = "x"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (renamed, "'a b' is not a valid name of an array"),
        (crowded, "at most 4194304 bytes and 262144 values are allowed"),
        (overweight, "at most 4194304 are read"),
        (half_a_list, "'words:rest' is neither a plain array nor half of a string list"),
        (shadowed, "is neither a plain array nor half of a string list"),
        (wrongly_dropped, "calls 'unary' dropped, but the section is there"),
        (wrongly_droppable, "calls 'unheard' droppable, but there is no such section"),
        (more_metadata, "its metadata are .*, expected chaffinch and sha256"),
    ],
)
def test_a_file_with_a_right_checksum_is_still_checked(path, change, message):
    modelfile.write(path, *fuzz_modelfile.sound_content())
    directory, stored = modelfile_mutations.parts(path.read_bytes())
    change(directory)
    whole = modelfile_mutations.joined(directory, stored)
    path.write_bytes(modelfile_mutations.forge(whole) or whole)
    with pytest.raises(ModelFileError, match=message):
        modelfile.read(path)


def test_types_that_the_platform_has_twice_are_one(path):
    modelfile.write(path, Header(recipe="r"), {"a": np.zeros(2, np.longlong), "b": np.zeros(2, np.int_)})
    assert {a.dtype for a in modelfile.read(path).arrays.values()} == {np.dtype(np.int64)}
