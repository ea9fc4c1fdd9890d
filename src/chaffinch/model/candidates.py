"""K-best lists, and the features of their candidates."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.evaluate.trees import PUNCTUATION, brackets
from chaffinch.features.tag_lists import KeyedRows, tag_list_features, tag_list_names
from chaffinch.features.tree_lists import tree_list_features, tree_list_names
from chaffinch.scorers import Rows
from chaffinch.text.binary_trees import nodes
from chaffinch.text.document import Tree

FeatureFunction = Callable[[Any, Any], "Mapping[str, float] | Iterable[str]"]


@dataclass(frozen=True, eq=False)
class CandidateList:
    """The candidates of a base model for one input, best first.

    x:          the input, in the form that the features read
    candidates: the answers
    scores:     float64 [n], the base model's
    losses:     float64 [n], the loss of each; None if it is not known
    others:     float64 [n, m], scores by m other models; None if there are none
    """

    x: Any
    candidates: Sequence[Any]
    scores: NDArray[np.float64]
    losses: NDArray[np.float64] | None = None
    others: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if not len(self.candidates):
            raise DataError("expected at least one candidate in every list, found an empty list")
        if len(self.scores) != len(self.candidates) or not np.isfinite(self.scores).all():
            raise DataError("expected a finite score of the base model for every candidate")
        if self.losses is not None and len(self.losses) != len(self.candidates):
            raise DataError(
                f"expected a loss for each of {len(self.candidates)} candidates, found {len(self.losses)}"
            )
        if self.others is not None and (
            self.others.ndim != 2
            or len(self.others) != len(self.candidates)
            or not np.isfinite(self.others).all()
        ):
            raise DataError("expected a finite score of every other model for every candidate")


class CandidateFeatures(Protocol):
    """Features of candidates: fitted once, then frozen."""

    @property
    def F(self) -> int:
        """The number of features."""
        ...

    def fit(self, lists: Sequence[CandidateList]) -> Rows:
        """Learn the features of these lists; one row per candidate."""
        ...

    def rows(self, lists: Sequence[CandidateList]) -> Rows:
        """One row per candidate; unknown features are left out."""
        ...


@runtime_checkable
class NamingFeatures(Protocol):
    """Features of candidates that have names."""

    def named(self, ids: NDArray[np.int32], one: CandidateList) -> list[str]:
        """The names of columns that candidates of this list have."""
        ...


class NamedCandidates:
    """Features named by a function of the input and one candidate; strings count their occurrences.

    Features that all candidates of a list share make no difference and are left out.

    >>> features = NamedCandidates(lambda x, y: [f"ends in {y[-1]}", "is there"], min_count=1)
    >>> rows = features.fit([CandidateList("", ["ab", "cd"], np.zeros(2))])
    >>> features.names
    ['ends in b', 'ends in d']
    """

    def __init__(self, function: FeatureFunction, *, min_count: int = 1, names: Sequence[str] = ()) -> None:
        self.function, self.min_count = function, min_count
        self._ids = {name: i for i, name in enumerate(names)}

    @property
    def names(self) -> list[str]:
        """The names, in the order of their columns."""
        return list(self._ids)

    @property
    def F(self) -> int:
        """The number of names."""
        return len(self._ids)

    def fit(self, lists: Sequence[CandidateList]) -> Rows:
        """Names that occur in at least ``min_count`` lists become columns."""
        found = [self._named(one) for one in lists]
        counts: dict[str, int] = {}
        for candidates in found:
            for name in dict.fromkeys(name for named in candidates for name in named):
                counts[name] = counts.get(name, 0) + 1
        kept = (name for name, count in counts.items() if count >= self.min_count)
        self._ids = {name: i for i, name in enumerate(kept)}
        return self._encoded(found)

    def rows(self, lists: Sequence[CandidateList]) -> Rows:
        """One row per candidate."""
        return self._encoded([self._named(one) for one in lists])

    def named(self, ids: NDArray[np.int32], one: CandidateList) -> list[str]:
        """The names."""
        names = self.names
        return [names[i] for i in ids.tolist()]

    def _named(self, one: CandidateList) -> list[dict[str, float]]:
        """Names and values of each candidate, without those that all candidates share."""
        every: list[dict[str, float]] = []
        for y in one.candidates:
            found = self.function(one.x, y)
            if isinstance(found, Mapping):
                every.append({name: float(value) for name, value in found.items()})
            else:
                named: dict[str, float] = {}
                for name in found:
                    named[name] = named.get(name, 0.0) + 1.0
                every.append(named)
        first = every[0]
        alike = {n for n, value in first.items() if all(named.get(n) == value for named in every)}
        return [{n: value for n, value in named.items() if n not in alike} for named in every]

    def _encoded(self, found: list[list[dict[str, float]]]) -> Rows:
        ids, sizes = self._ids, []
        columns: list[int] = []
        values: list[float] = []
        for candidates in found:
            for named in candidates:
                kept = [(ids[name], value) for name, value in named.items() if name in ids]
                sizes.append(len(kept))
                columns += (i for i, _ in kept)
                values += (value for _, value in kept)
        return Rows(
            np.cumsum([0, *sizes], dtype=np.int64),
            np.array(columns, np.int32),
            np.array(values, np.float32),
        )


class TagCandidates:
    """The ready-made features of labellings; x is a sentence of words, or of words and one more column.

    keys: uint64 [F], ascending
    """

    def __init__(
        self, *, min_count: int = 1, keys: NDArray[np.uint64] | None = None, threads: int = 0
    ) -> None:
        self.min_count, self.threads = min_count, threads
        self.keys = np.zeros(0, np.uint64) if keys is None else keys

    @property
    def F(self) -> int:
        """The number of keys."""
        return len(self.keys)

    def fit(self, lists: Sequence[CandidateList]) -> Rows:
        """Keys that at least ``min_count`` candidates have become columns."""
        found = self._found(lists)
        keys, counts = np.unique(found.keys, return_counts=True)
        self.keys = keys[counts >= self.min_count]
        return self._kept(found)

    def rows(self, lists: Sequence[CandidateList]) -> Rows:
        """One row per candidate."""
        return self._kept(self._found(lists))

    def named(self, ids: NDArray[np.int32], one: CandidateList) -> list[str]:
        """Names of keys, recomputed from the candidates."""
        known = self._names(one)
        return [known.get(int(self.keys[i]), f"#{i}") for i in ids.tolist()]

    def _names(self, one: CandidateList) -> dict[int, str]:
        plain = all(isinstance(token, str) for token in one.x)
        words = one.x if plain else [token[0] for token in one.x]
        extra = None if plain else [token[1] for token in one.x]
        return {
            key: name
            for labels in one.candidates
            for key, name in tag_list_names(words, labels, extra).items()
        }

    def _found(self, lists: Sequence[CandidateList]) -> KeyedRows:
        sentences = [one.x for one in lists]
        plain = all(isinstance(token, str) for sentence in sentences for token in sentence[:1])
        words = sentences if plain else [[token[0] for token in sentence] for sentence in sentences]
        extra = None if plain else [[token[1] for token in sentence] for sentence in sentences]
        for n, one in enumerate(lists):
            if any(len(labels) != len(words[n]) for labels in one.candidates):
                raise DataError(
                    f"list {n + 1}: expected one label for each of {len(words[n])} words in every candidate"
                )
        return tag_list_features(words, [one.candidates for one in lists], extra, self.threads)

    def _kept(self, found: KeyedRows) -> Rows:
        place = np.searchsorted(self.keys, found.keys)
        place[place == len(self.keys)] = 0
        known = self.keys[place] == found.keys if len(self.keys) else np.zeros(len(place), bool)
        bounds = np.concatenate([[0], np.cumsum(known)])[found.ptr]
        return Rows(bounds.astype(np.int64), place[known].astype(np.int32), found.values[known])


class TreeCandidates(TagCandidates):
    """The ready-made features of trees.

    keys: uint64 [F], ascending
    """

    def _names(self, one: CandidateList) -> dict[int, str]:
        return tree_list_names(one.candidates)

    def _found(self, lists: Sequence[CandidateList]) -> KeyedRows:
        return tree_list_features([one.candidates for one in lists], [one.scores for one in lists])


def tree_losses(gold: Tree, candidates: Sequence[Tree]) -> NDArray[np.float64]:
    """1 - F1 of each candidate's brackets, as evalb counts them."""
    deleted = [node.label in PUNCTUATION for node in nodes(gold) if node.word is not None]
    right = Counter(brackets(gold, deleted))
    losses = []
    for candidate in candidates:
        found = Counter(brackets(candidate, deleted))
        total = right.total() + found.total()
        losses.append(1 - 2 * (right & found).total() / total if total else 0.0)
    return np.array(losses)
