"""Hashing with signs: MurmurHash3 of an n-gram gives its column, and the sign of the hash the sign of its value.

Weinberger et al. 2009, "Feature hashing for large scale multitask learning"; columns are numbered as in scikit-learn's
FeatureHasher.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.rows import SparseRows

U = NDArray[np.uint32]


def signed_columns(names: Sequence[str], columns: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The column of each name, and 1 or -1.

    >>> signed_columns(["tea", "no"], 16)
    (array([12, 14]), array([1, 1]))
    """
    h = murmur3(names).view(np.int32).astype(np.int64)
    # -2^31 has no positive counterpart; its column is that of 2^31 - 1 - (columns - 1).
    column = np.where(h == -(2**31), (2**31 - 1 - (columns - 1)) % columns, np.abs(h) % columns)
    return column, np.where(h >= 0, 1, -1)


def signed_rows(rows: SparseRows, names: Sequence[str], columns: int) -> SparseRows:
    """Counts of named n-grams as signed sums by column; the columns of a row are in ascending order."""
    column, sign = signed_columns(names, columns)
    row = np.repeat(np.arange(len(rows)), np.diff(rows.ptr))
    place, at = np.unique(row * columns + column[rows.ids], return_inverse=True)
    values = np.bincount(at, weights=rows.weights() * sign[rows.ids], minlength=len(place))
    ptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.bincount(place // columns, minlength=len(rows)), out=ptr[1:])
    return SparseRows(ptr, (place % columns).astype(np.int32), values.astype(np.float32), columns)


def murmur3(names: Sequence[str]) -> U:
    """MurmurHash3 (x86, 32 bits, seed 0) of the UTF-8 of each name; names of one length are hashed together."""
    raw = [name.encode() for name in names]
    out = np.zeros(len(raw), np.uint32)
    by_length: dict[int, list[int]] = {}
    for i, one in enumerate(raw):
        by_length.setdefault(len(one), []).append(i)
    for length, which in by_length.items():
        table = np.frombuffer(b"".join(raw[i] for i in which), np.uint8).reshape(len(which), length)
        out[which] = _of_one_length(table, length)
    return out


def _of_one_length(table: NDArray[np.uint8], length: int) -> U:
    """table: uint8 [N, length]."""
    h = np.zeros(len(table), np.uint32)
    whole = length // 4
    blocks = np.ascontiguousarray(table[:, : 4 * whole]).view("<u4").astype(np.uint32)
    for block in blocks.T:
        h = _rotated(h ^ _mixed(block), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    tail = np.zeros(len(table), np.uint32)
    for k in range(4 * whole, length):
        tail |= table[:, k].astype(np.uint32) << np.uint32(8 * (k - 4 * whole))
    if length % 4:
        h ^= _mixed(tail)
    h ^= np.uint32(length)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def _mixed(k: U) -> U:
    return _rotated(k * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)


def _rotated(x: U, by: int) -> U:
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))
