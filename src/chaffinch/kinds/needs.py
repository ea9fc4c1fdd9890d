"""The memory and time of training from a cache, extrapolated from a sample of the data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

COUNTING = 44  # bytes of a feature while features are counted
INDEXED = 24  # bytes of a feature in an index of n-grams
LEAST_DECAY = 0.9


@dataclass(frozen=True)
class Growth:
    """The number of features by the size of the data: Heaps' law with an exponent that falls with each doubling.

        F(2^m n) = F(n) 2^(b d + b d^2 + ... + b d^m)

    features: F(n), of the sample
    exponent: b, of the last doubling up to the sample     decay: d

    Heaps' law with a constant exponent (d = 1) tells too many: words of a language are found again sooner or later.
    """

    features: float
    exponent: float
    decay: float = 1.0

    @classmethod
    def of(cls, sizes: Sequence[float], features: Sequence[float]) -> "Growth":
        """From nested samples of rising sizes: the last two give the exponent, the first three its decay.

        >>> Growth.of([1, 2, 4], [10, 20, 36])
        Growth(features=36, exponent=0.8479969065549501, decay=0.9)
        """
        steps = [
            math.log(max(g, 2) / max(f, 1)) / math.log(max(m, 2) / max(n, 1))
            for n, m, f, g in zip(sizes, sizes[1:], features, features[1:], strict=False)
            if m > n
        ]
        if not steps:
            return cls(features[-1], 1.0)
        exponent = min(max(steps[-1], 0.0), 1.0)
        decay = 1.0 if len(steps) < 2 or steps[-2] <= 0 else min(max(steps[-1] / steps[-2], LEAST_DECAY), 1.0)
        return cls(features[-1], exponent, decay)

    def at(self, times: float) -> float:
        """The number of features in a multiple of the sample's data.

        >>> [round(Growth(100, 0.5).at(t)) for t in (1, 4, 16)], round(Growth(100, 0.5, 0.9).at(16))
        ([100, 200, 400], 292)
        """
        m, d = math.log2(max(times, 1.0)), self.decay
        doublings = m if d == 1 else d * (1 - d**m) / (1 - d)
        return self.features * 2 ** (self.exponent * doublings)

    def repeated(self, times: float, least: int) -> float:
        """The share of the features that occur at least ``least`` times, in a multiple of the sample's data.

        Under Heaps' law with exponent b a share b occurs once, b (1 - b) / 2 twice, and of the features that occur c
        times, (c - b) / (c + 1) as many occur once more.

        >>> [round(Growth(100, 0.5).repeated(1, c), 4) for c in (1, 2, 3, 4)]
        [1.0, 0.5, 0.375, 0.3125]
        """
        b = self.exponent * self.decay ** math.log2(max(times, 1.0))
        share, left = b, 1.0
        for c in range(1, least):
            left -= share
            share *= (c - b) / (c + 1)
        return left


@dataclass(frozen=True)
class Needs:
    """The memory and time that training on a sample needs.

    memory:       bytes in memory that grow with the data, besides the weights
    growth:       the number of features, by the size of the data
    counted:      maximum multiple of the sample on which features are counted
    weight_bytes: bytes per feature     most: maximum bytes of weights in training from a cache
    index_bytes:  bytes per feature of the index
    in_memory:    bytes per feature of training in memory; None: three times weight_bytes
    most_dropped: if the weights are too many for a cache, features that occur up to this often may be left out
    blocks:       maximum bytes of the blocks that training from a cache holds in memory at a time
    ahead:        bytes of the blocks that a second thread prepares, at most
    as_blocks:    bytes of the sample as such blocks
    once:         CPU seconds of a training on the sample, apart from its passes
    each_pass:    CPU seconds of a pass     passes: their number
    each:         bytes in training from a cache that grow with the data without limit: dual variables of documents
    rows:         bytes of the counted documents' features, held while settings are tried
    tried:        bytes of the trials on the sample     most_tried: maximum bytes of trials
    chosen:       bytes of choosing settings on the sample as in memory; done up to chosen_up_to times the sample
    first:        bytes of comparing kinds of features on a sample
    held_out:     bytes of the sample as held-out data
    larger:       the same with character n-grams, if these may be chosen
    """

    memory: float
    growth: Growth
    weight_bytes: int
    most: int
    blocks: int
    as_blocks: float
    ahead: int = 0
    once: float = 0.0
    each_pass: float = 0.0
    passes: int = 1
    counted: float = math.inf
    each: float = 0.0
    rows: float = 0.0
    tried: float = 0.0
    most_tried: float = 0.0
    chosen: float = 0.0
    chosen_up_to: float = 0.0
    first: float = 0.0
    held_out: float = 0.0
    larger: "Needs | None" = field(default=None, repr=False)
    index_bytes: int = INDEXED
    in_memory: float | None = None
    most_dropped: int = 0

    def in_memory_bytes(self, times: float) -> float:
        """Bytes that training in memory needs on a multiple of the sample's data."""
        each = 3 * self.weight_bytes if self.in_memory is None else self.in_memory
        return self.first + self.memory * times + each * self._features(times)

    def cached_bytes(self, times: float, *, threads: int = 1) -> float:
        """Bytes that training from a cache needs on a multiple of the sample's data.

        Features are counted first; then memory holds their index, their weights and the blocks.
        """
        features = self._features(times)
        weights = features * self.weight_bytes
        if weights > self.most:
            shares = (self.growth.repeated(times, c + 1) for c in range(1, self.most_dropped + 1))
            fewer = (weights * share for share in shares)
            weights = next((size for size in fewer if size <= self.most), self.most)
        counted = min(times, self.counted)
        at_a_time = self.blocks + (0 if threads == 1 else self.ahead)
        blocks = max(
            min(at_a_time, self.as_blocks * times),
            self.rows * counted + min(self.tried * counted, self.most_tried),
            self.chosen * times if times <= self.chosen_up_to else 0.0,
        )
        held = weights + self.index_bytes * weights / self.weight_bytes + self.each * times
        return self.first + max(COUNTING * features, blocks + held)

    def seconds(self, times: float, passes: int | None = None) -> float:
        """CPU seconds of a training on a multiple of the sample's data; passes: the requested number of passes."""
        return times * (self.once + (passes or self.passes) * self.each_pass)

    def _features(self, times: float) -> float:
        return self.growth.at(min(times, self.counted))
