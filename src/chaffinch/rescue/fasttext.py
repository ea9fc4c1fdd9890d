"""Classifiers of fastText: ``.bin`` and quantised ``.ftz`` files.

    i32 magic, i32 version (11, 12);  12 x i32 settings, f64 t
    i32 tokens, i32 words, i32 labels, i64 occurrences, i64 kept buckets (-1: all)
    tokens x { bytes, NUL, i64 count, i8 0 word or 1 label };  kept buckets x { i32 bucket, i32 row }
    u8 quantised, input matrix, u8 output quantised, output matrix

Everything is little-endian. The prefix of labels is not stored: it is ``__label__`` if all labels begin with it.
"""

import struct

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.fasttext import FastTextModel, FastTextSections, Vectors, token_bytes
from chaffinch.recipes.rescued import Imported
from chaffinch.rescue.byte_reader import ByteReader
from chaffinch.rescue.foreign import ForeignFile, ForeignFormat, Rescued

MAGIC = (793712314).to_bytes(4, "little")
VERSIONS = (11, 12)
SUPERVISED = 3
LOSSES = {
    1: ("hierarchical softmax", "tree"),
    2: ("negative sampling", "sigmoid"),
    3: ("softmax", "softmax"),
    4: ("one-vs-all", "sigmoid"),
}
PREFIX = "__label__"
CENTROIDS = 256
LEAST_ENTRY = 10  # bytes of a word or label: a NUL, a count, a type


def read(file: ForeignFile) -> Rescued:
    """The classifier of a file."""
    reader = ByteReader(file)
    reader.magic(MAGIC)
    version = reader.i32("version 11 or 12", least=VERSIONS[0], most=VERSIONS[-1])
    settings = [reader.i32("a setting") for _ in range(12)]
    reader.f64("the sampling threshold")
    dim, _, _, _, _, word_ngrams, loss, kind, bucket, shortest, longest, _ = settings
    if kind != SUPERVISED:
        raise file.refusal(
            "holds word vectors, not a classifier; only supervised models of fastText are read"
        )
    if loss not in LOSSES:
        raise file.refusal(f"has the unknown loss {loss}")
    if dim < 1 or bucket < 0 or word_ngrams < 0:
        raise file.refusal("has settings below zero")
    if version == VERSIONS[0]:  # character n-grams of classifiers were stored and not used
        longest = 0
    name, output = LOSSES[loss]
    tokens, counts, words, pruned = _dictionary(reader)
    kept = reader.array(np.int32, 2 * max(pruned, 0), "kept buckets").reshape(-1, 2)
    quantised = _truth(reader)
    vectors, input_part = _matrix(reader, dim, quantised)
    output_quantised = _truth(reader)
    labels, output_part = _matrix(reader, dim, quantised and output_quantised)
    reader.end()
    if pruned >= 0 and not quantised:
        raise file.refusal("is pruned but not quantised, which fastText does not read either")
    text, ptr = token_bytes(tokens)
    sections = FastTextSections(
        fasttext=version,
        output=output,
        words=words,
        shortest=max(shortest, 0),
        longest=max(longest, 0),
        word_ngrams=word_ngrams,
        bucket_count=bucket,
        pruned=pruned >= 0,
        input_part=input_part,
        output_part=output_part,
        prefix=PREFIX if all(one.startswith(PREFIX.encode()) for one in tokens[words:]) else "",
        text=text,
        ptr=ptr,
        counts=counts,
        buckets=np.ascontiguousarray(kept[:, 0]),
        bucket_rows=np.ascontiguousarray(kept[:, 1]),
        input=vectors,
        labels=labels,
    )
    try:
        model = FastTextModel.of(sections)
    except UnicodeDecodeError:
        raise file.refusal("has a label that is not UTF-8") from None
    except ValueError as error:
        raise file.refusal(str(error)) from None
    ngrams = f", n-grams in {bucket:,} buckets" if bucket and (longest > 0 or word_ngrams > 1) else ""
    told = (
        f"a fastText model: {len(model.classes):,} labels, {words:,} words, {dim} dimensions{ngrams}, {name}"
        + (", quantised" if quantised else "")
    )
    return Rescued(told, "classifier", model, Imported(tool="fastText", method=name))


def _dictionary(reader: ByteReader) -> tuple[list[bytes], NDArray[np.int64], int, int]:
    """Words and labels, their counts, the number of words, the number of kept buckets or -1."""
    most = reader.left // LEAST_ENTRY
    size = reader.i32("the number of words and labels", least=1, most=most)
    words = reader.i32("the number of words", least=0, most=size - 1)
    reader.i32("the number of labels, the rest", least=size - words, most=size - words)
    reader.i64("the number of tokens")
    pruned = reader.i64("the number of kept buckets", least=-1, most=reader.left // 8)
    content = reader.file.content
    tokens: list[bytes] = []
    counts = np.empty(size, np.int64)
    for i in range(size):
        end = content.find(b"\0", reader.at)
        if end < 0:
            raise reader.fault("a word that ends in NUL", "none")
        tokens.append(reader.take(end - reader.at, "a word"))
        _, counts[i], kind = struct.unpack("<bqb", reader.take(LEAST_ENTRY, "a word's count and type"))
        if counts[i] < 0 or kind != (i >= words):
            wanted = "a label" if i >= words else "a word"
            raise reader.fault(f"the count and type of {wanted}", f"{counts[i]}, {kind}", at=reader.at - 9)
    return tokens, counts, words, pruned


def _truth(reader: ByteReader) -> bool:
    found = reader.take(1, "0 or 1")[0]
    if found > 1:
        raise reader.fault("0 or 1", found, at=reader.at - 1)
    return bool(found)


def _matrix(reader: ByteReader, dim: int, quantised: bool) -> tuple[Vectors, int]:
    """A matrix, and the length of the parts of its quantised vectors."""
    normed = quantised and _truth(reader)
    rows = reader.i64("the rows of a matrix", least=1, most=reader.left)
    reader.i64("the columns of a matrix", least=dim, most=dim)
    if not quantised:
        return Vectors(dense=reader.array(np.float32, rows * dim, "a matrix").reshape(rows, dim)), 1
    size = reader.i32("the number of codes", least=rows, most=reader.left)
    if size % rows:
        raise reader.fault(f"a multiple of {rows} codes", size, at=reader.at - 4)
    codes = reader.array(np.uint8, size, "codes").reshape(rows, size // rows)
    centroids, part = _centroids(reader, dim, size // rows)
    if not normed:
        return Vectors(codes=codes, centroids=centroids), part
    norm_codes = reader.array(np.uint8, rows, "codes of norms")
    norms, _ = _centroids(reader, 1, 1)
    return Vectors(codes=codes, centroids=centroids, norm_codes=norm_codes, norms=norms), part


def _centroids(reader: ByteReader, dim: int, parts: int) -> tuple[NDArray[np.float32], int]:
    reader.i32("the length of vectors", least=dim, most=dim)
    reader.i32("the number of their parts", least=parts, most=parts)
    part = reader.i32("the length of a part", least=1, most=dim)
    last = dim - (parts - 1) * part
    if not 0 < last <= part:
        raise reader.fault(f"{parts} parts of vectors of {dim} numbers", f"parts of {part}", at=reader.at - 4)
    reader.i32("the length of the last part", least=last, most=last)
    return reader.array(np.float32, dim * CENTROIDS, "centroids"), part


def _holds(start: bytes) -> bool:
    return start.startswith(MAGIC)


FASTTEXT = ForeignFormat("fasttext", _holds, read)
