"""Features of k-best trees from the list itself and from other models: few, dense features.

p(c) = exp(t score(c)) / Z,   p(b) = sum of p(c) over the trees c that have bracket b
brackets expected right of c = sum of p(b) over c's brackets;   expected F1 of c = sum over d of p(d) F1(c, d)
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.evaluate.trees import PUNCTUATION, brackets
from chaffinch.model.candidates import CandidateList
from chaffinch.model.head_grammar import HeadGrammar
from chaffinch.scorers import Rows
from chaffinch.text.binary_trees import nodes
from chaffinch.text.document import Tree

TEMPERATURES = (0.5, 1.0)  # factors of the scores: below 1, trees further down the list count more


class TreeConsensus:
    """Dense features of trees: agreement with the rest of the list, size, and scores of other models.

    For each temperature the brackets expected right and the expected F1; the number of brackets; then the columns of
    the lists' ``others``. All are distances from the first tree of the list, in units of their root mean square
    over the lists for training, times TRUST.

    grammar: gives the ``others`` of lists that have none
    scale:   float64 [F]
    """

    def __init__(
        self, *, grammar: HeadGrammar | None = None, scale: NDArray[np.float64] | None = None
    ) -> None:
        self.grammar = grammar
        self.scale = np.zeros(0) if scale is None else scale

    @property
    def F(self) -> int:
        """The number of features."""
        return len(self.scale)

    def fit(self, lists: Sequence[CandidateList]) -> Rows:
        """Estimate the scales on these lists; one row per candidate."""
        found = self._found(lists)
        self.scale = np.sqrt((found**2).mean(axis=0)) / TRUST + LEAST
        return self._scaled(found)

    def rows(self, lists: Sequence[CandidateList]) -> Rows:
        """One row per candidate."""
        found = self._found(lists)
        if found.shape[1] != self.F:
            raise DataError(
                f"expected lists with {self.F} features, as in training, found {found.shape[1]}: "
                "were they made with the same other models?"
            )
        return self._scaled(found)

    def named(self, ids: NDArray[np.int32], one: CandidateList) -> list[str]:
        """The names of the features."""
        own = [
            f"{what} at temperature {temperature:g}"
            for temperature in TEMPERATURES
            for what in ("brackets expected right", "expected F1")
        ]
        own.append("number of brackets")
        others = self.F - len(own)
        asked = "grammar with heads" if self.grammar is not None and one.others is None else "other model"
        own += [asked if others == 1 else f"{asked} {n + 1}" for n in range(others)]
        return [own[i] for i in ids.tolist()]

    def _found(self, lists: Sequence[CandidateList]) -> NDArray[np.float64]:
        every = []
        for one in lists:
            found = consensus(one.candidates, one.scores)
            others = one.others
            if others is None and self.grammar is not None:
                others = self.grammar.scores(one.candidates)
            if others is not None:
                found = np.concatenate([found, others], axis=1)
            every.append(found - found[0])
        if len({found.shape[1] for found in every}) > 1:
            raise DataError("some lists have scores of other models, and some have none")
        return np.concatenate(every)

    def _scaled(self, found: NDArray[np.float64]) -> Rows:
        n, width = found.shape
        return Rows(
            np.arange(n + 1, dtype=np.int64) * width,
            np.tile(np.arange(width, dtype=np.int32), n),
            (found / self.scale).astype(np.float32).reshape(-1),
        )


TRUST = 17.0  # scale of the features, so that small weights suffice
LEAST = 1e-9  # scales below this are of features that never differ


def consensus(candidates: Sequence[Tree], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each temperature the brackets expected right and the expected F1, then the size: float64 [n, 2T+1].

    >>> trees = [Tree("A", (Tree("X", word="a"),)), Tree("B", (Tree("X", word="a"),))]
    >>> consensus(trees, np.array([0.0, -100.0])).round(2)[:, :2]
    array([[1., 1.],
           [0., 0.]])
    """
    has = _membership(candidates)
    size, common = has.sum(axis=1), has @ has.T
    f1 = 2 * common / np.maximum(size[:, None] + size[None, :], 1)
    columns = []
    for temperature in TEMPERATURES:
        p = np.exp(temperature * (scores - scores.max()))
        p /= p.sum()
        columns += [common @ p, f1 @ p]
    return np.stack([*columns, size], axis=1)


def _membership(candidates: Sequence[Tree]) -> NDArray[np.float64]:
    """Which tree has which bracket; repeated brackets count separately. The first tree's tags define punctuation."""
    deleted = [node.label in PUNCTUATION for node in nodes(candidates[0]) if node.word is not None]
    place: dict[tuple[object, int], int] = {}
    rows = []
    for tree in candidates:
        counted = Counter(brackets(tree, deleted)).items()
        rows.append([place.setdefault((b, i), len(place)) for b, times in counted for i in range(times)])
    has = np.zeros((len(rows), len(place)))
    for n, row in enumerate(rows):
        has[n, row] = 1
    return has
