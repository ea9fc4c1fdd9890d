"""Features of tokens and contexts of decided labels: the weights of taggers that decide label by label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch.scorers.linear import Example, Layout, Linear


class ContextTemplate(NamedTuple):
    """The context of a label template: labels at ``offsets``, and one of ``observations`` in a column (-1: none)."""

    offsets: Sequence[int]
    observations: int
    column: int


class ContextFeatures(NamedTuple):
    """One sentence: the features of its tokens, the observations of label templates, and labels that need no search.

    observations: int32 [T, columns], -1 if unknown   known: int32 [T], -1 for a token to be searched; or None
    """

    tokens: Example
    observations: NDArray[np.int32]
    known: NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False)
class ContextScorer:
    """score(t, y) = sum of unary[f, y] over the features f of t + sum of context[c, y] over the contexts c at t.

    unary: float32 [F, Y]   context: float32 [C, Y]; row c is the context ``key[c]`` of the template ``template[c]``.
    The weights of all other contexts are zero.
    """

    templates: Sequence[ContextTemplate]
    unary: NDArray[np.float32]
    template: NDArray[np.int32]
    key: NDArray[np.uint64]
    context: NDArray[np.float32]

    @classmethod
    def zeros(cls, F: int, Y: int, templates: Sequence[ContextTemplate]) -> "ContextScorer":
        """Weights of zero."""
        none = np.zeros((0, Y), np.float32)
        return cls(
            templates, np.zeros((F, Y), np.float32), np.zeros(0, np.int32), np.zeros(0, np.uint64), none
        )

    @property
    def F(self) -> int:
        """The number of features of tokens."""
        return len(self.unary)

    @property
    def Y(self) -> int:
        """The number of labels."""
        return int(self.unary.shape[1])

    @property
    def first(self) -> list[int]:
        """The row of the first context of each template if every context has one, and the number of rows."""
        bounds = [self.F]
        for offsets, observations, _ in self.templates:
            bounds.append(bounds[-1] + observations * (self.Y + 3) ** len(offsets))
        return bounds

    def rows(self, x: ContextFeatures, t: int, decided: Sequence[int]) -> list[int]:
        """The rows of w that score position t, given the labels decided so far (-1: not decided)."""
        ptr, ids = x.tokens.ptr, x.tokens.ids
        seen = context_keys(self.templates, self.Y, x.observations[t], t, decided)
        first = self.first
        return [*ids[ptr[t] : ptr[t + 1]].tolist(), *(first[l] + key for l, key in seen)]

    def linear(self) -> Linear:
        """The same weights with a row for every possible context."""
        made = Linear(Layout.of({"unary": (self.first[-1], self.Y)}))
        w, starts = made.block("unary"), np.array(self.first[:-1], np.int64)
        w[: self.F] = self.unary
        w[starts[self.template] + self.key.astype(np.int64)] = self.context
        return made

    def with_linear(self, linear: Linear) -> "ContextScorer":
        """The inverse of :meth:`linear`; contexts without weights are dropped."""
        w, first = linear.block("unary"), np.array(self.first, np.int64)
        rows = self.F + np.flatnonzero(w[self.F :].any(axis=1))
        template = np.searchsorted(first, rows, side="right") - 1
        key = (rows - first[template]).astype(np.uint64)
        return ContextScorer(self.templates, w[: self.F].copy(), template.astype(np.int32), key, w[rows])


def context_keys(
    templates: Sequence[ContextTemplate],
    Y: int,
    observed: NDArray[np.int32],
    t: int,
    decided: Sequence[int],
) -> list[tuple[int, int]]:
    """The templates that have a context at t, each with its key.

        key = o B^k + sum_j c_j B^(j-1),    B = Y + 3

    o is the observation, c_j the label at the j-th of the template's k offsets; Y is before the start, Y + 1 after the
    end, Y + 2 not decided.

    >>> context_keys([ContextTemplate([-1], 1, -1), ContextTemplate([-1, 1], 5, 0)], 2, np.array([4]), 1, [1, -1, -1])
    [(0, 1), (1, 121)]
    """
    found = []
    for l, (offsets, _, column) in enumerate(templates):
        key = int(observed[column]) if column >= 0 else 0
        if key < 0:
            continue
        for offset in reversed(offsets):
            at = t + offset
            code = (
                Y if at < 0 else Y + 1 if at >= len(decided) else decided[at] if decided[at] >= 0 else Y + 2
            )
            key = key * (Y + 3) + code
        found.append((l, key))
    return found
