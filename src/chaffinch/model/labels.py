"""Labels as users see them (outer) and as a model scores them (inner), such as BIO outside and BIOES inside."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.modelfile import Saved, array, fact, given, listed_strings
from chaffinch.text.table import Column


@dataclass(frozen=True)
class LabelSet(Saved):
    """The labels of a tagger, in alphabetical order, which is also the order in which ties are broken.

    outer:    the labels that users give and get
    inner:    the labels that the model scores
    outer_of: int32 [inner labels], the outer label that each inner one stands for

    >>> labels = LabelSet.plain(["VERB", "NOUN"])
    >>> labels.inner, labels.ids(["NOUN", "VERB"]).tolist()
    (('NOUN', 'VERB'), [0, 1])
    """

    outer: tuple[str, ...] = fact(
        list, check=listed_strings, expected="a list of labels", made=tuple, size="outer"
    )
    inner: tuple[str, ...] = given()
    outer_of: NDArray[np.int32] = array("int32", "Y", below="outer")

    @classmethod
    def plain(cls, labels: Sequence[str]) -> "LabelSet":
        """Labels that are the same inside and outside."""
        ordered = tuple(sorted(set(labels)))
        return cls(ordered, ordered, np.arange(len(ordered), dtype=np.int32))

    @classmethod
    def recoded(cls, outer: Sequence[str], inner_to_outer: dict[str, str]) -> "LabelSet":
        """Labels with a richer inner set, given the outer label of each inner one."""
        shown = tuple(sorted({*outer, *inner_to_outer.values()}))
        inner = tuple(sorted(inner_to_outer))
        place = {label: i for i, label in enumerate(shown)}
        return cls(shown, inner, np.array([place[inner_to_outer[i]] for i in inner], dtype=np.int32))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.inner)}

    def ids(self, types: Sequence[str]) -> NDArray[np.int32]:
        """The inner ids of label strings; a label that training never saw is a DataError."""
        try:
            return np.array([self._place[t] for t in types], dtype=np.int32)
        except KeyError as e:
            known = ", ".join(self.inner[:12]) + (", ..." if len(self.inner) > 12 else "")
            raise DataError(
                f"label {e.args[0]!r} is not in the training data, whose labels are {known}"
            ) from None

    def column_ids(self, column: Column) -> NDArray[np.int32]:
        """The inner ids of a column of labels, token by token."""
        return self.ids(column.types)[column.ids]

    def collapsed(self, marginals: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities of outer labels [T, outer] from those of inner ones [T, inner]."""
        if self.outer == self.inner:
            return marginals
        if self._together is None:
            onto = np.zeros((len(self.inner), len(self.outer)), dtype=np.float32)
            onto[np.arange(len(self.inner)), self.outer_of] = 1.0
            return marginals @ onto
        order, first = self._together
        return np.add.reduceat(marginals[:, order], first, axis=1)

    @cached_property
    def _together(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """An order in which the inner labels of an outer one lie together, and where each outer label begins.

        Sums of such columns need no threads of BLAS. None: some outer label has no inner one.
        """
        if len(np.unique(self.outer_of)) < len(self.outer):
            return None
        order = np.argsort(self.outer_of, kind="stable")
        return order, np.searchsorted(self.outer_of[order], np.arange(len(self.outer)))
