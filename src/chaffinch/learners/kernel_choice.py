"""Kernel machines: their examples (objects and a kernel), the choice of the kernel, and nearest neighbours."""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.kernels import GramRows, Kernel
from chaffinch.kernels.kernel import NAMED
from chaffinch.knobs import knob
from chaffinch.learners.learner import CountLearner
from chaffinch.learners.problem import Problem
from chaffinch.scorers.neighbours import Neighbours
from chaffinch.structures import Choice


@dataclass(frozen=True)
class GramExamples:
    """N objects and a kernel; x is the number of an object.

    objects:    prepared by the kernel
    y:          int32 [N], of Y labels
    megabytes:  memory for rows of the Gram matrix
    """

    kernel: Kernel
    objects: Any
    y: NDArray[np.int32]
    Y: int
    threads: int = 0
    megabytes: float = 1024.0

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, n: int) -> tuple[int, int]:
        return n, int(self.y[n])

    @cached_property
    def rows(self) -> GramRows:
        """The Gram matrix of the objects, row by row."""
        return GramRows(self.kernel, self.objects, megabytes=self.megabytes, threads=self.threads)

    def two_labels(self, learner: str) -> None:
        """DataError if fewer than two labels occur."""
        if len(np.unique(self.y)) < 2:
            raise DataError(
                f"{learner} needs at least two classes, and all {len(self)} objects are of one class"
            )


def kernel_problem(
    kernel: Kernel,
    objects: Any,
    y: NDArray[np.int32],
    Y: int,
    importance: NDArray[np.floating],
    *,
    seed: int = 0,
    threads: int = 0,
    megabytes: float = 1024.0,
) -> Problem:
    """Objects and a kernel as a problem; kernel machines make their own scorers.

    importance: the weight of each object, float [N], above 0
    """
    examples = GramExamples(kernel, objects, y, Y, threads, megabytes)
    return Problem(Choice(Y), None, examples, importance, seed=seed)


def taken(problem: Problem, which: NDArray[np.int64]) -> Problem:
    """The problem of some of the objects; their Gram matrix is a slice of the whole matrix, if that is in memory."""
    data: GramExamples = problem.examples
    part = replace(data, objects=data.objects.taken(which), y=data.y[which])
    if data.rows.fits:
        part.rows.store(data.rows.whole()[np.ix_(which, which)])
    assert problem.weight is not None
    return replace(problem, examples=part, weight=problem.weight[which])


@dataclass
class KernelMachine:
    """The result of a learner: a scorer of new objects, and its support, the training objects that it uses.

    link: ``margin``, with a scale to be fitted, or ``shares``, which are probabilities already
    """

    scorer: Any
    support: NDArray[np.int64]
    link: str


# The objects of the named kernels, in words.
OBJECTS = {"features": "of the features of documents", "text": "of their text", "trees": "of bracketed trees"}


def _names(of: str) -> str:
    return ", ".join(name for name, kernel in NAMED.items() if kernel.of == of)


@dataclass(frozen=True, kw_only=True)
class KernelChoice:
    """The kernel of a recipe, by name, with its settings; settings that the kernel lacks are ignored."""

    kernel: str = knob(
        "rbf",
        "; ".join(f"{what}: {_names(of)}" for of, what in OBJECTS.items()),
        choices=tuple(NAMED),
    )
    gamma: float | None = knob(
        None,
        "rbf, polynomial, sigmoid: factor of the inner product or squared distance; by default the kernel's own",
        low=1e-12,
    )
    degree: int = knob(2, "polynomial: the power", low=1, high=20)
    offset: float = knob(1.0, "polynomial, sigmoid: constant added to the inner product", low=0.0)
    length: int | None = knob(
        None,
        "string kernels: (longest) length of the n-grams or subsequences; by default the kernel's own",
        low=1,
        high=8,
    )
    decay: float | None = knob(
        None, "subsequences and trees: decay factor for size; by default the kernel's own", low=1e-3, high=1.0
    )
    normalise: bool | None = knob(
        None, "divide by the norms of both objects; by default for strings and trees"
    )
    megabytes: float = knob(1024.0, "memory for rows of the Gram matrix", low=1.0, high=1e6)

    def chosen_kernel(self) -> Kernel:
        """The kernel of these settings."""
        named = NAMED[self.kernel]
        made = named.kind.chosen(asdict(self))
        normalise = named.of != "features" if self.normalise is None else self.normalise
        return made.normalised() if normalise else made


@dataclass(frozen=True, kw_only=True)
class MarginChoice(KernelChoice):
    """The kernel of a machine with scores that need calibration."""

    folds: int = knob(
        3,
        "folds for out-of-fold calibration of probabilities; 0: scores are used as log-odds",
        low=0,
        high=100,
    )


@dataclass(frozen=True, kw_only=True)
class NearestNeighbours(KernelChoice, CountLearner):
    """The most frequent label among the k nearest training objects.

    d(x, x_i)^2 = k(x, x) + k(x_i, x_i) - 2 k(x, x_i):  the distance of phi(x) and phi(x_i)

    >>> from chaffinch.kernels import LinearKernel
    >>> x, y = np.array([[0.0], [1.0], [9.0]]), np.array([0, 0, 1], np.int32)
    >>> kernel = LinearKernel()
    >>> machine = NearestNeighbours(k=1).fit(kernel_problem(kernel, kernel.prepared(x), y, 2, np.ones(3)))
    >>> machine.scorer.scores([[7.0], [0.4]]).argmax(axis=1)
    array([1, 0])
    """

    k: int = knob(5, "number of neighbours that vote", low=1)
    weighted: bool = knob(False, "weight neighbours by one over the squared distance")

    def check(self, problem: Problem) -> None:
        """Refuse data with a single label."""
        problem.examples.two_labels("a vote of neighbours")

    def count(self, problem: Problem) -> KernelMachine:
        """Keep all objects."""
        data: GramExamples = problem.examples
        assert problem.weight is not None
        scorer = Neighbours(
            data.kernel,
            data.objects,
            data.y,
            data.Y,
            k=self.k,
            weighted=self.weighted,
            importance=problem.weight.astype(np.float64),
        )
        return KernelMachine(scorer, np.arange(len(data)), "shares")
