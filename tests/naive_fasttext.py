"""A model of fastText as its files hold it, written byte by byte, and its answers by the definition."""

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

HS, NS, SOFTMAX, OVA = 1, 2, 3, 4
END = "</s>"


@dataclass
class NaiveFastText:
    """words: with </s>; labels: with their prefix; kept: bucket -> row after the words, None: all buckets."""

    words: list[str]
    labels: list[str]
    counts: list[int]
    loss: int = SOFTMAX
    shortest: int = 0
    longest: int = 0
    word_ngrams: int = 1
    buckets: int = 0
    kept: dict[int, int] | None = None
    quantised: bool = False
    normed: bool = False
    part: int = 2
    dim: int = 5
    version: int = 12
    seed: int = 0
    input: NDArray[np.float32] = field(init=False)
    output: NDArray[np.float32] = field(init=False)
    pieces: list[bytes] = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        hashed = self.buckets if self.kept is None else len(self.kept)
        self.pieces = []
        self.input = self._matrix(len(self.words) + hashed, rng)
        self.output = rng.normal(size=(len(self.labels), self.dim)).astype(np.float32)

    def _matrix(self, rows: int, rng: Any) -> NDArray[np.float32]:
        if not self.quantised:
            dense = rng.normal(size=(rows, self.dim)).astype(np.float32)
            self.pieces.append(struct.pack("<2q", rows, self.dim) + dense.tobytes())
            return np.asarray(dense)
        parts = -(-self.dim // self.part)
        last = self.dim - (parts - 1) * self.part
        codes = rng.integers(0, 256, size=(rows, parts)).astype(np.uint8)
        blocks = [
            rng.normal(size=(256, last if p == parts - 1 else self.part)).astype(np.float32)
            for p in range(parts)
        ]
        centroids = b"".join(block.tobytes() for block in blocks)
        piece = struct.pack("<B2qi", self.normed, rows, self.dim, codes.size) + codes.tobytes()
        piece += struct.pack("<4i", self.dim, parts, self.part, last) + centroids
        dense = np.concatenate([block[codes[:, p]] for p, block in enumerate(blocks)], axis=1)
        if self.normed:
            norm_codes = rng.integers(0, 256, size=rows).astype(np.uint8)
            norms = rng.uniform(0.5, 2, size=256).astype(np.float32)
            piece += norm_codes.tobytes() + struct.pack("<4i", 1, 1, 1, 1) + norms.tobytes()
            dense = dense * norms[norm_codes][:, None]
        self.pieces.append(piece)
        return dense.astype(np.float32)

    def file(self) -> bytes:
        """The bytes of its file."""
        out = struct.pack("<2i", 793712314, self.version)
        settings = (
            self.dim,
            5,
            5,
            1,
            5,
            self.word_ngrams,
            self.loss,
            3,
            self.buckets,
            self.shortest,
            self.longest,
            100,
        )
        out += struct.pack("<12id", *settings, 1e-4)
        pruned = -1 if self.kept is None else len(self.kept)
        out += struct.pack(
            "<3i2q", len(self.words) + len(self.labels), len(self.words), len(self.labels), 99, pruned
        )
        for word in self.words:
            out += word.encode() + b"\0" + struct.pack("<qb", 3, 0)
        for label, count in zip(self.labels, self.counts, strict=True):
            out += label.encode() + b"\0" + struct.pack("<qb", count, 1)
        for bucket, row in (self.kept or {}).items():
            out += struct.pack("<2i", bucket, row)
        dense = struct.pack("<2q", len(self.labels), self.dim) + self.output.tobytes()
        return out + struct.pack("<B", self.quantised) + self.pieces[0] + b"\0" + dense

    def rows(self, text: str) -> list[int]:
        """The rows of a text."""
        found: list[int] = []
        hashes: list[int] = []
        for token in [*text.replace("\0", " ").split(), END]:
            known = self.words.index(token) if token in self.words else None
            if token in self.labels or (known is None and token.startswith("__label__")):
                continue
            hashes.append(fnv(token.encode()))
            found += [] if known is None else [known]
            if self.longest and self.version > 11 and token != END:
                found += self._subwords(f"<{token}>")
            if token == END:
                break
        for i, first in enumerate(hashes):
            h = signed(first)
            for other in hashes[i + 1 : i + self.word_ngrams]:
                h = (h * 116049371 + signed(other)) % 2**64
                found += self._bucket(h % self.buckets)
        return found

    def _subwords(self, word: str) -> list[int]:
        found: list[int] = []
        for i in range(len(word)):
            for n in range(1, self.longest + 1):
                if i + n > len(word) or n < self.shortest or (n == 1 and (i == 0 or i + n == len(word))):
                    continue
                found += self._bucket(fnv(word[i : i + n].encode()) % self.buckets)
        return found

    def _bucket(self, bucket: int) -> list[int]:
        if self.kept is None:
            return [len(self.words) + bucket]
        return [len(self.words) + self.kept[bucket]] if bucket in self.kept else []

    def logs(self, text: str) -> NDArray[np.float64]:
        """log(p + 1e-5) of every label; of the tree the sum along the path."""
        rows = self.rows(text)
        h = self.input[rows].astype(np.float64).mean(axis=0)
        z = self.output.astype(np.float64) @ h
        if self.loss == SOFTMAX:
            p = np.exp(z - z.max())
            return np.asarray(np.log(p / p.sum() + 1e-5))
        if self.loss in (OVA, NS):
            steps = np.floor((np.clip(z, -8, 8) + 8) * 32)
            p = np.where(z < -8, 0.0, np.where(z > 8, 1.0, 1 / (1 + np.exp(8 - steps / 32))))
            return np.asarray(np.log(p + 1e-5))
        f = 1 / (1 + np.exp(-z))
        out = np.zeros(len(self.labels))
        for y, path in enumerate(self.paths()):
            out[y] = sum(np.log((f[node] if right else 1 - f[node]) + 1e-5) for node, right in path)
        return out

    def paths(self) -> list[list[tuple[int, bool]]]:
        """Huffman's tree: the inner nodes above each label, and whether the label is to their right."""
        Y = len(self.labels)
        paths: list[list[tuple[int, bool]]] = [[] for _ in range(Y)]
        below = {y: [y] for y in range(Y)}
        made: list[tuple[int, int]] = []
        leaves = sorted(range(Y), key=lambda y: (self.counts[y], -y))
        for node in range(Y - 1):
            two = []
            for _ in range(2):
                if leaves and (not made or self.counts[leaves[0]] < made[0][0]):
                    y = leaves.pop(0)
                    two.append((self.counts[y], y))
                else:
                    two.append(made.pop(0))
            for right, (_, one) in enumerate(two):
                for y in below[one]:
                    paths[y].append((node, bool(right)))
            below[Y + node] = below[two[0][1]] + below[two[1][1]]
            made.append((two[0][0] + two[1][0], Y + node))
        return paths


def fnv(raw: bytes) -> int:
    """FNV-1a over signed bytes."""
    h = 2166136261
    for b in raw:
        h = ((h ^ (b | 0xFFFFFF00 if b > 127 else b)) * 16777619) % 2**32
    return h


def signed(h: int) -> int:
    """A 32-bit number with its sign extended to 64 bits."""
    return (h - 2**32 if h >= 2**31 else h) % 2**64


WORDS = [END, "the", "tea", "is", "good", "bad", "naïve", "日本"]
LABELS = ["__label__good", "__label__bad", "__label__so-so", "__label__none"]
KEPT = {3: 1, 17: 0, 40: 3, 8: 2, 21: 4}

# Models of every kind that a file can hold.
MODELS: dict[str, NaiveFastText] = {
    "softmax": NaiveFastText(WORDS, LABELS, [9, 5, 5, 1]),
    "ova": NaiveFastText(WORDS, LABELS, [9, 5, 5, 1], loss=OVA),
    "ns": NaiveFastText(WORDS, LABELS, [9, 5, 5, 1], loss=NS, seed=1),
    "hs": NaiveFastText(WORDS, LABELS, [9, 5, 5, 1], loss=HS, seed=2),
    "subwords": NaiveFastText(WORDS, LABELS, [9, 5, 5, 1], shortest=1, longest=3, buckets=50, seed=3),
    "bigrams": NaiveFastText(WORDS, LABELS, [9, 5, 5, 1], word_ngrams=3, buckets=47, seed=4),
    "both": NaiveFastText(
        WORDS, LABELS, [9, 5, 5, 1], loss=HS, shortest=2, longest=4, word_ngrams=2, buckets=50, seed=5
    ),
    "quantised": NaiveFastText(WORDS, LABELS, [9, 5, 5, 1], quantised=True, seed=6),
    "normed": NaiveFastText(
        WORDS, LABELS, [9, 5, 5, 1], quantised=True, normed=True, part=3, word_ngrams=2, buckets=30, seed=7
    ),
    "pruned": NaiveFastText(
        WORDS,
        LABELS,
        [9, 5, 5, 1],
        quantised=True,
        shortest=2,
        longest=3,
        word_ngrams=2,
        buckets=50,
        kept=KEPT,
        seed=8,
    ),
    "pruned of all": NaiveFastText(
        WORDS, LABELS, [9, 5, 5, 1], quantised=True, shortest=2, longest=3, buckets=50, kept={}, seed=9
    ),
    "version 11": NaiveFastText(
        WORDS, LABELS, [9, 5, 5, 1], shortest=2, longest=3, buckets=50, version=11, seed=10
    ),
    "one label": NaiveFastText(WORDS, LABELS[:1], [3], loss=HS, seed=11),
}
