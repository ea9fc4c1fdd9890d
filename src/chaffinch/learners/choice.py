"""What learners of document classifiers are given: rows of weighted features and what each row is labelled."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import DocumentRows, choice_scores
from chaffinch.errors import ConfigError, DataError
from chaffinch.progress import Listener, Progress, keep_going

LANES = 8


@dataclass(frozen=True)
class ChoiceProblem:
    """Documents over F features and Y labels.

    ptr, ids, values: rows as CSR, int64 [N+1], int32 [nnz], float32 [nnz] or None where every value is 1
    factors:    instead of values, float32 [F] and [N]: each is that of its feature times that of its row; or None
    label_ptr, labels: the labels of each document as CSR; one each, unless there are several
    soft:       target distributions float32 [N, Y] that count instead of the labels; or None
    importance: how much each document counts, float32 [N], above 0
    """

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32] | None
    F: int
    label_ptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    Y: int
    importance: NDArray[np.float32]
    soft: NDArray[np.float32] | None = None
    seed: int = 0
    threads: int = 0
    on_epoch: Listener = keep_going
    factors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None

    @property
    def N(self) -> int:
        """How many documents."""
        return len(self.ptr) - 1

    @property
    def S(self) -> int:
        """The width of a row of weights: Y rounded up to whole vectors."""
        return padded(self.Y)

    @property
    def single(self) -> bool:
        """Every document has exactly one label."""
        return bool(np.array_equal(self.label_ptr, np.arange(self.N + 1)))

    def rows(self, bias: float) -> DocumentRows:
        """The rows as the native learners read them; ``bias`` is the value of a feature that all have."""
        none = np.zeros(0, np.float32)
        values = none if self.values is None else self.values
        return DocumentRows(self.ptr, self.ids, values, self.F, bias, *(self.factors or (none, none)))

    def weights(self) -> NDArray[np.float32]:
        """The values, spelt out: float32 [nnz]."""
        if self.values is not None:
            return self.values
        if self.factors is None:
            return np.ones(len(self.ids), dtype=np.float32)
        return self.factors[0][self.ids] * np.repeat(self.factors[1], np.diff(self.ptr))

    def scores(self, which: NDArray[np.int64], w: NDArray[np.float32], bias: float) -> NDArray[np.float32]:
        """The scores of some documents under w: float32 [which, Y]."""
        sizes = np.diff(self.ptr)[which]
        ptr = np.zeros(len(which) + 1, dtype=np.int64)
        np.cumsum(sizes, out=ptr[1:])
        at = np.repeat(self.ptr[which] - ptr[:-1], sizes) + np.arange(ptr[-1])
        none = np.zeros(0, np.float32)
        values = none if self.values is None else self.values[at]
        factors = (none, none) if self.factors is None else (self.factors[0], self.factors[1][which])
        out = np.zeros((len(which), self.Y), dtype=np.float32)
        choice_scores(DocumentRows(ptr, self.ids[at], values, self.F, bias, *factors), w, self.threads, out)
        return out

    def targets(self) -> NDArray[np.float32]:
        """q [N, Y]: the soft targets, or one where a document has a label."""
        if self.soft is not None:
            return self.soft
        q = np.zeros((self.N, self.Y), dtype=np.float32)
        q[np.repeat(np.arange(self.N), np.diff(self.label_ptr)), self.labels] = 1.0
        return q

    def two_labels(self, learner: str) -> None:
        """DataError where every document has the same single label."""
        if self.single and (self.labels == self.labels[:1]).all():
            raise DataError(
                f"{learner} needs at least two classes, and all {self.N} documents are of one class"
            )

    def one_label_each(self, learner: str) -> NDArray[np.int32]:
        """y [N]; ConfigError where documents have soft targets, several labels or none."""
        if self.soft is not None:
            raise ConfigError(
                f"{learner} learns from labels, not from soft targets; a logistic recipe takes them"
            )
        if not self.single:
            raise ConfigError(f"{learner} needs one label per document; one-vs-rest recipes take several")
        return self.labels


@dataclass
class ChoiceWeights:
    """What a learner made: w [F+1, S], the last row the intercepts.

    link:     how scores become probabilities: ``softmax``; ``sigmoid``, each label by itself; ``margin``, whose scale
              has to be fitted; ``counts``, a softmax of logs that must not be rounded
    held:     documents that were held out, and ``held_scores`` [held, Y], theirs by weights that had not met them
    """

    w: NDArray[np.float32]
    link: str
    history: list[Progress] = field(default_factory=list)
    held: NDArray[np.int64] | None = None
    held_scores: NDArray[np.float32] | None = None


def padded(Y: int) -> int:
    """Y rounded up to whole vectors, as the native code lays out a row of weights."""
    return -(-Y // LANES) * LANES


def with_intercepts(made: ChoiceWeights, bias: float) -> ChoiceWeights:
    """The weights with the bias feature's value multiplied in, so that its row holds the intercepts."""
    made.w[-1] *= bias
    return made
