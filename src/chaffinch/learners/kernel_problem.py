"""What kernel machines learn from: objects behind a kernel, one label each, and which kernel that is."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.kernels import (
    GramRows,
    Kernel,
    LinearKernel,
    Mismatch,
    PartialTreeKernel,
    Polynomial,
    Rbf,
    Sigmoid,
    Spectrum,
    Subsequence,
    SubsetTreeKernel,
    SubtreeKernel,
    WordSequence,
)
from chaffinch.knobs import knob
from chaffinch.progress import Listener, Progress, keep_going


@dataclass(frozen=True)
class KernelProblem:
    """N objects of Y labels.

    objects:    as the kernel prepared them
    y:          int32 [N]
    importance: how much each object counts, float [N], above 0
    megabytes:  memory for rows of the Gram matrix
    """

    kernel: Kernel
    objects: Any
    y: NDArray[np.int32]
    Y: int
    importance: NDArray[np.floating]
    seed: int = 0
    threads: int = 0
    megabytes: float = 1024.0
    on_epoch: Listener = keep_going

    @property
    def N(self) -> int:
        """How many objects."""
        return len(self.y)

    @cached_property
    def rows(self) -> GramRows:
        """The Gram matrix of the objects, row by row."""
        return GramRows(self.kernel, self.objects, megabytes=self.megabytes, threads=self.threads)

    def two_labels(self, learner: str) -> None:
        """DataError where fewer than two labels occur."""
        found = np.unique(self.y)
        if len(found) < 2:
            raise DataError(
                f"{learner} needs at least two classes, and all {self.N} objects are of one class"
            )

    def taken(self, which: NDArray[np.int64]) -> "KernelProblem":
        """The problem of some of the objects; where the whole Gram matrix is at hand, theirs is cut from it."""
        made = replace(
            self,
            objects=self.objects.taken(which),
            y=self.y[which],
            importance=self.importance[which],
            on_epoch=keep_going,
        )
        if self.rows.fits:
            made.rows.given(self.rows.whole()[np.ix_(which, which)])
        return made


@dataclass
class KernelMachine:
    """What a learner made: a scorer of new objects, which training objects it rests on, and the way there.

    link: ``margin``, whose scale has to be fitted, or ``shares``, which are probabilities already
    """

    scorer: Any
    support: NDArray[np.int64]
    link: str
    history: list[Progress] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class KernelChoice:
    """Which kernel a recipe uses, by name, and that kernel's settings; those that it lacks are left alone."""

    kernel: str = knob(
        "rbf",
        "of the features of documents: linear, polynomial, rbf, sigmoid; of their text: spectrum, mismatch, "
        "subsequence, word-sequence; of bracketed trees: subtree, subset-tree, partial-tree",
        choices=(
            "linear",
            "polynomial",
            "rbf",
            "sigmoid",
            "spectrum",
            "mismatch",
            "subsequence",
            "word-sequence",
            "subtree",
            "subset-tree",
            "partial-tree",
        ),
    )
    gamma: float | None = knob(
        None, "rbf, polynomial, sigmoid: what products are multiplied by; else the kernel's own", low=1e-12
    )
    degree: int = knob(2, "polynomial: the power", low=1, high=20)
    offset: float = knob(1.0, "polynomial, sigmoid: what is added to products", low=0.0)
    length: int | None = knob(
        None, "string kernels: the (longest) length of what is counted; else the kernel's own", low=1, high=8
    )
    decay: float | None = knob(
        None, "subsequences and trees: what size costs; else the kernel's own", low=1e-3, high=1.0
    )
    normalise: bool | None = knob(
        None, "divide by the lengths of both objects; if not given, for strings and trees"
    )
    megabytes: float = knob(1024.0, "memory for rows of the Gram matrix", low=1.0, high=1e6)

    def chosen_kernel(self) -> Kernel:
        """The kernel of these settings."""
        made = MADE[self.kernel](self)
        normalise = self.kernel not in OF_FEATURES if self.normalise is None else self.normalise
        return made.normalised() if normalise else made


@dataclass(frozen=True, kw_only=True)
class MarginChoice(KernelChoice):
    """The same for machines whose scores have no scale of their own."""

    folds: int = knob(
        3,
        "parts held out in turn to calibrate probabilities; 0: scores are read as log-odds",
        low=0,
        high=100,
    )


def _set(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


OF_FEATURES = ("linear", "polynomial", "rbf", "sigmoid")

MADE: dict[str, Callable[[KernelChoice], Kernel]] = {
    "linear": lambda _: LinearKernel(),
    "polynomial": lambda c: Polynomial(degree=c.degree, offset=c.offset, **_set(gamma=c.gamma)),
    "rbf": lambda c: Rbf(gamma=c.gamma),
    "sigmoid": lambda c: Sigmoid(offset=c.offset, **_set(gamma=c.gamma)),
    "spectrum": lambda c: Spectrum(low=1, **_set(high=c.length)),
    "mismatch": lambda c: Mismatch(**_set(n=c.length)),
    "subsequence": lambda c: Subsequence(low=1, **_set(high=c.length, decay=c.decay)),
    "word-sequence": lambda c: WordSequence(**_set(high=c.length, decay=c.decay)),
    "subtree": lambda c: SubtreeKernel(**_set(decay=c.decay)),
    "subset-tree": lambda c: SubsetTreeKernel(**_set(decay=c.decay)),
    "partial-tree": lambda c: PartialTreeKernel(**_set(decay=c.decay)),
}
