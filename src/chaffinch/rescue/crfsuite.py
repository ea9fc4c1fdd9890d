"""Models of CRFsuite (python-crfsuite, sklearn-crfsuite): files that begin with lCRF.

    header  "lCRF", u32 size of the file, "FOMC", u32 version = 100, u32 0, u32 labels, u32 attributes, then u32 offsets
            of the chunks: features, labels, attributes, references of labels, references of attributes
    FEAT    u32 size, u32 K, K x {u32 type (0 state, 1 transition), u32 source, u32 label, f64 weight}
    CQDB    u32 size, u32 flag, u32 0x62445371, u32 n, u32 offset of n offsets to records {u32 id, u32 length, string,
            NUL}; offsets count from the chunk
    LFRF    u32 size, u32 n, n offsets from the start of the file to {u32 count, u32 features[count]}; AFRF likewise

The source of a state feature is an attribute, that of a transition the previous label. The references repeat the
sources; CRFsuite follows the references, so both must agree.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.model.foreign_chain import AttributeFeatures, ForeignChain, ForeignWeights, OrderedRows
from chaffinch.rescue.byte_reader import ByteReader
from chaffinch.rescue.chains import MOST_LABELS, check_labels, tagger
from chaffinch.rescue.foreign import ForeignFile, ForeignFormat, ForeignObject, Rescued
from chaffinch.text.attributes import ATTRIBUTES

VERSION = 100
BYTE_ORDER = 0x62445371
STATE, TRANSITION = 0, 1
FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])


@dataclass(frozen=True)
class CrfsuiteModel:
    """The contents of a file.

    labels, attributes: by id   weights: rows are attributes
    """

    labels: list[str]
    attributes: list[str]
    weights: ForeignWeights


def parse(file: ForeignFile) -> CrfsuiteModel:
    """The content of a file, every offset, count, index and weight checked."""
    reader, size = ByteReader(file), len(file.content)
    reader.magic(b"lCRF")
    if (stated := reader.u32("the size of the file")) != size:
        raise reader.fault(f"the size of the file, {size}", stated, at=4)
    reader.magic(b"FOMC")
    if (version := reader.u32("the version")) != VERSION:
        raise reader.fault(f"version {VERSION}", version, at=12)
    reader.u32("the number of features")  # 0 in every file
    L = reader.u32("the number of labels", most=MOST_LABELS)
    A = reader.u32("the number of attributes", most=size)
    offsets = [
        reader.u32(f"the offset of {what}", most=size) for what in ("FEAT", "CQDB", "CQDB", "LFRF", "AFRF")
    ]
    features = _features(file, offsets[0], L, A)
    labels = [file.text(s, offsets[1], "a label") for s in _strings(file, offsets[1], L, "labels")]
    check_labels(file, offsets[1], labels)
    attributes = [
        file.text(s, offsets[2], "an attribute") for s in _strings(file, offsets[2], A, "attributes")
    ]
    if len(set(attributes)) < A:
        raise file.fault(offsets[2], "distinct attributes", "the same one twice")
    for chunk, kind, owners, at in (("LFRF", TRANSITION, L, offsets[3]), ("AFRF", STATE, A, offsets[4])):
        _check_references(file, at, chunk, features, kind, owners)
    state, move = (features[features["type"] == kind] for kind in (STATE, TRANSITION))
    unary = OrderedRows.of(
        state["source"].astype(np.int64), state["label"].astype(np.int64), state["weight"].copy(), A
    )
    pair = np.zeros((L, L))
    np.add.at(pair, (move["source"], move["label"]), move["weight"])
    return CrfsuiteModel(labels, attributes, ForeignWeights(L, unary, pair))


def read(file: ForeignFile) -> Rescued:
    """The tagger of a file."""
    found = parse(file)
    L, A, K = len(found.labels), len(found.attributes), len(found.weights.unary.weights)
    told = f"a CRFsuite model: {L} labels, {A:,} attributes, {K:,} weights"
    return tagger(
        told,
        "CRFsuite",
        found.labels,
        AttributeFeatures(found.attributes),
        ForeignChain(found.weights, "after"),
        (ATTRIBUTES,),
    )


def of_estimator(original: Any) -> Rescued:
    """The tagger of a fitted ``sklearn_crfsuite.CRF``: its model file, which lives as long as the object."""
    held = getattr(original, "modelfile", None)
    path = None if held is None else held.name
    if path is None or not Path(path).is_file():
        raise ConfigError(
            "this CRF of sklearn-crfsuite is not fitted, or its model file is gone: fit it first"
        )
    return read(ForeignFile("sklearn_crfsuite.CRF", Path(path).read_bytes()))


def of_tagger(original: Any) -> Rescued:
    """Refuse a ``pycrfsuite.Tagger``: it gives neither its file nor its exact weights."""
    raise ConfigError(
        f"{type(original).__name__} of python-crfsuite gives its weights only rounded to six digits: give the path of "
        "the .crfsuite file that it opened"
    )


def _features(file: ForeignFile, at: int, L: int, A: int) -> NDArray[np.void]:
    reader = ByteReader(file)
    reader.seek(at, "the features")
    reader.magic(b"FEAT")
    size = reader.u32("the size of the features")
    count = reader.u32("the number of features", most=reader.left // FEATURE.itemsize)
    if size != 12 + FEATURE.itemsize * count:
        raise reader.fault(f"a chunk of {12 + FEATURE.itemsize * count} bytes", size, at=at + 4)
    begin = reader.at
    found = np.frombuffer(reader.take(count * FEATURE.itemsize, "features"), FEATURE)
    sources = np.where(found["type"] == STATE, A, L)
    for what, wrong in (
        ("a feature of type 0 or 1", found["type"] > TRANSITION),
        ("the source of a feature below the number of attributes or labels", found["source"] >= sources),
        (f"a label below {L}", found["label"] >= L),
        ("a finite weight", ~np.isfinite(found["weight"])),
    ):
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise file.fault(begin + k * FEATURE.itemsize, what, tuple(found[k].tolist()))
    return found


def _strings(file: ForeignFile, at: int, count: int, what: str) -> list[bytes]:
    """The strings of a database, by id."""
    reader = ByteReader(file)
    reader.seek(at, what)
    reader.magic(b"CQDB")
    reader.u32(f"the size of the {what}", most=len(file.content) - at)
    reader.u32(f"the flag of the {what}")
    if (order := reader.u32("the byte order")) != BYTE_ORDER:
        raise reader.fault(f"the byte order {BYTE_ORDER:#x}", order, at=reader.at - 4)
    n = reader.u32(f"the number of {what}")
    if n != count:
        raise reader.fault(f"{count} {what}", n, at=reader.at - 4)
    back = reader.u32(f"the offset of the list of {what}", most=len(file.content) - at)
    if n == 0:
        return []
    reader.seek(at + back, f"the list of {what}")
    listed = reader.array(np.uint32, n, f"the list of {what}").astype(np.int64) + at
    ids, lengths = _words(file, listed, what), _words(file, listed + 4, what)
    if (ids != np.arange(n)).any():
        k = int(np.flatnonzero(ids != np.arange(n))[0])
        raise file.fault(
            int(listed[k]), f"the record of number {k} of the {what}", f"the record of number {ids[k]}"
        )
    ends = listed + 8 + lengths
    if (lengths < 1).any() or (ends > len(file.content)).any():
        k = int(np.flatnonzero((lengths < 1) | (ends > len(file.content)))[0])
        raise file.fault(int(listed[k]) + 4, "the length of a string inside the file", int(lengths[k]))
    if int(lengths.sum()) > 2 * len(file.content):
        raise file.fault(at, f"{what} that do not overlap", f"{int(lengths.sum())} bytes")
    content, found = file.content, []
    for a, b in zip((listed + 8).tolist(), ends.tolist(), strict=True):
        raw = content[a:b]
        if raw.find(b"\0") != len(raw) - 1:
            raise file.fault(a, "a string that ends at its first NUL", raw)
        found.append(raw[:-1])
    return found


def _words(file: ForeignFile, at: NDArray[np.int64], what: str) -> NDArray[np.int64]:
    """The u32 at each of these offsets, which need not be aligned."""
    if len(at) and int(at.max()) + 4 > len(file.content):
        raise file.fault(int(at.max()), f"a number of the {what}", "an offset past the end of the file")
    bytes_there = np.frombuffer(file.content, np.uint8)
    return np.ascontiguousarray(bytes_there[at[:, None] + np.arange(4)]).view("<u4")[:, 0].astype(np.int64)


def _check_references(
    file: ForeignFile, at: int, chunk: str, features: NDArray[np.void], kind: int, owners: int
) -> None:
    """Check that references list exactly the features of each attribute, or of each previous label."""
    reader = ByteReader(file)
    reader.seek(at, "references")
    reader.magic(chunk.encode())
    reader.u32(f"the size of {chunk}")
    n = reader.u32(f"the number of references of {chunk}", most=reader.left // 4)
    if n < owners:
        raise reader.fault(f"at least {owners} references", n, at=at + 8)
    places = reader.array(np.uint32, owners, "references").astype(np.int64)
    counts = _words(file, places, "references")
    if int(counts.sum()) > len(features):
        raise file.fault(at, f"references to at most {len(features)} features", int(counts.sum()))
    owner = np.repeat(np.arange(owners), counts)
    firsts = np.repeat(places + 4 - 4 * (np.cumsum(counts) - counts), counts)
    ids = _words(file, firsts + 4 * np.arange(len(owner)), "references")
    expected = np.flatnonzero(features["type"] == kind)
    wrong = (ids >= len(features)).any() or len(ids) != len(expected) or (np.sort(ids) != expected).any()
    if wrong or (features["source"][ids] != owner).any():
        raise file.fault(
            at, f"references of {chunk} that agree with the sources of the features", "others that do not"
        )


def _holds(start: bytes) -> bool:
    return start.startswith(b"lCRF")


FORMAT = ForeignFormat("crfsuite", _holds, read)
OBJECTS = (
    ForeignObject("sklearn_crfsuite", "CRF", of_estimator),
    ForeignObject("pycrfsuite", "Tagger", of_tagger),
)
