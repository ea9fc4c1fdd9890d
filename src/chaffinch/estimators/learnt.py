"""The training examples of a tagger or a classifier, and how a further lesson changes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import joined_columns
from chaffinch.errors import DataError
from chaffinch.estimators.inputs import listed, refuse_missing, sample_weights
from chaffinch.recipes.recipe import Change, doubled
from chaffinch.text.attributes import ATTRIBUTES
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable, concatenated

_TOKEN, _COLUMN = "\n", "\x1f"


@dataclass(frozen=True)
class Places:
    """The positions of each text among the learnt examples."""

    of_text: dict[str, list[int]]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Places":
        """The positions of these texts."""
        found: dict[str, list[int]] = {}
        for n, text in enumerate(texts):
            found.setdefault(text, []).append(n)
        return cls(found)

    def followed_by(self, texts: Sequence[str], first: int) -> "Places":
        """The same with the positions of further texts, from ``first`` on."""
        found = dict(self.of_text)
        for n, text in enumerate(texts, first):
            found[text] = [*found.get(text, ()), n]
        return Places(found)

    def lesson(
        self,
        golds: Sequence[Any],
        weight: NDArray[Any],
        texts: Sequence[str],
        given: Sequence[Any],
        right: NDArray[np.bool_],
    ) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[np.bool_]]:
        """Which known examples a lesson replaces, the new weights of all known ones, and which of its own are new.

        golds, weight: answers and weights of the known examples   texts, given: the lesson and its answers
        right:         whether the model already gives each answer; if not, the weight of a known example doubles
        """
        dropped, counts = np.zeros(len(weight), bool), weight.copy()
        fresh = np.ones(len(texts), bool)
        for n, (text, gold) in enumerate(zip(texts, given, strict=True)):
            known = self.of_text.get(text, [])
            same = [k for k in known if golds[k] == gold]
            dropped[[k for k in known if golds[k] != gold]] = True
            if same:
                fresh[n] = False
                if not right[n]:
                    counts[same] = doubled(counts[same])
        return dropped, counts, fresh


def contradicted(texts: Sequence[str], golds: Sequence[Any]) -> dict[int, int]:
    """The rows of a lesson whose text follows again with another answer, and the last row of that text.

    >>> contradicted(["a", "b", "a", "b"], [1, 2, 3, 2])
    {0: 2}
    """
    last = {text: n for n, text in enumerate(texts)}
    return {n: last[text] for n, text in enumerate(texts) if golds[n] != golds[last[text]]}


def contradiction_remark(found: dict[int, int], examples: str) -> str:
    """A warning about rows of a lesson with two answers. examples: "sentences" or "documents"

    >>> contradiction_remark({0: 2}, "sentences")
    'sentences 1 and 3 of this lesson are the same with different labels: the last of them is learnt'
    """
    first, last = next(iter(found.items()))
    which = f"{examples} {first + 1} and {last + 1}"
    if len(found) == 1:
        return f"{which} of this lesson are the same with different labels: the last of them is learnt"
    return (
        f"{len(found):,} {examples} of this lesson follow again with different labels, such as {which}: "
        "the last of each is learnt"
    )


def mistakes_remark(wrong: Sequence[int], taught: int, examples: str, remedy: str) -> str:
    """A warning about corrections that are still wrong after they were learnt. wrong: their rows

    >>> mistakes_remark([0], 1, "sentences", "forget others")
    '1 of 1 sentences of this lesson is still wrong after learning it (number 1): forget others'
    """
    shown = ", ".join(str(n + 1) for n in wrong[:5]) + (", ..." if len(wrong) > 5 else "")
    are, them = ("is", "it") if len(wrong) == 1 else ("are", "them")
    numbers = "number" if len(wrong) == 1 else "numbers"
    return (
        f"{len(wrong):,} of {taught:,} {examples} of this lesson {are} still wrong after learning {them} "
        f"({numbers} {shown}): {remedy}"
    )


@dataclass(frozen=True)
class Learnt:
    """Sentences in the order in which they were learnt.

    texts, golds: each sentence's input columns and labels as one string
    table:        the sentences; None if only their strings are kept
    weight:       float32 [N], the weight of each
    """

    texts: tuple[str, ...] = ()
    golds: tuple[str, ...] = ()
    weight: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    table: TokenTable | None = None

    @classmethod
    def of(cls, table: TokenTable, columns: Sequence[str], weight: NDArray[np.float32] | None) -> "Learnt":
        """The sentences of one training."""
        counts = np.ones(table.n_sentences, np.float32) if weight is None else weight
        return cls(sentence_strings(table, columns), sentence_strings(table, [LABEL]), counts, table)

    @cached_property
    def _place(self) -> "Places":
        return Places.of(self.texts)

    def taught(
        self,
        table: TokenTable,
        columns: Sequence[str],
        weight: NDArray[np.float32] | None,
        right: NDArray[np.bool_],
    ) -> tuple[Change | None, "Learnt"]:
        """The change that a lesson makes (None: no change), and the sentences after it.

        A sentence that is known with the same labels is not added again; if the tagger still gets it wrong (``right``,
        bool [sentences of the lesson]), its weight doubles. A sentence that is known with other labels replaces the
        earlier one.
        """
        texts, golds = sentence_strings(table, columns), sentence_strings(table, [LABEL])
        given = np.ones(len(texts), np.float32) if weight is None else weight
        dropped, counts, fresh = self._place.lesson(self.golds, self.weight, texts, golds, right)
        if not fresh.any() and not dropped.any() and np.array_equal(counts, self.weight):
            return None, self
        added = table.of_sentences(fresh)
        change = Change(dropped, counts, added, given[fresh])
        return change, self._after(change, _chosen(texts, fresh), _chosen(golds, fresh))

    def weighing(self, weight: NDArray[np.float32]) -> "Learnt":
        """The same sentences with other weights."""
        if np.array_equal(weight, self.weight):
            return self
        made = replace(self, weight=weight)
        vars(made)["_place"] = self._place
        return made

    def forgotten(self, texts: Sequence[str], golds: Sequence[str] | None) -> tuple[Change | None, "Learnt"]:
        """The change that forgetting sentences makes; with labels, only sentences with these labels."""
        dropped = np.zeros(len(self.texts), bool)
        for n, text in enumerate(texts):
            dropped[
                [k for k in self._place.of_text.get(text, ()) if golds is None or self.golds[k] == golds[n]]
            ] = True
        if not dropped.any():
            return None, self
        change = Change(dropped, self.weight)
        return change, self._after(change, (), ())

    def _after(self, change: Change, texts: tuple[str, ...], golds: tuple[str, ...]) -> "Learnt":
        kept, all_kept = ~change.dropped, not change.dropped.any()
        weight = change.weight[kept]
        if change.fresh_weight is not None:
            weight = np.concatenate([weight, change.fresh_weight])
        table = self.table
        if table is not None:
            table = table if all_kept else table.of_sentences(kept)
            if change.fresh is not None and change.fresh.n_sentences:
                names = list(table.columns)
                fresh = replace(change.fresh, columns={name: change.fresh.columns[name] for name in names})
                table = concatenated([table, fresh])
        if not all_kept:
            return Learnt(_chosen(self.texts, kept) + texts, _chosen(self.golds, kept) + golds, weight, table)
        made = Learnt(self.texts + texts, self.golds + golds, weight, table)
        vars(made)["_place"] = self._place.followed_by(texts, len(self.texts))  # saves computing it again
        return made


def sentence_strings(table: TokenTable, columns: Sequence[str]) -> tuple[str, ...]:
    """Each sentence's columns as one string, a line per token.

    >>> sentence_strings(TokenTable.from_lists({"w": [["a", "b"], ["a\\nb"]]}), ["w"])
    ('a\\nb', "[('a\\\\nb',)]")
    """
    if ATTRIBUTES not in columns and table.n_sentences and np.diff(table.ptr).all():
        given = [table.columns[name] for name in columns]
        if not any(_TOKEN in cell for column in given for cell in column.types):
            lines = joined_columns(table.ptr, [c.types for c in given], [c.ids for c in given], _COLUMN)
            return tuple(lines.decode().split(2 * _TOKEN)[:-1])
    by_column = [table.lists(name) for name in columns]
    return tuple(_sentence_string(list(zip(*cells, strict=True))) for cells in zip(*by_column, strict=True))


def _sentence_string(tokens: list[tuple[str, ...]]) -> str:
    if any(_TOKEN in cell for cells in tokens for cell in cells):
        return repr(tokens)
    return _TOKEN.join(map(_COLUMN.join, tokens))


def _chosen(strings: tuple[str, ...], which: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(s for s, w in zip(strings, which.tolist(), strict=True) if w)


# -- texts of a classifier ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lessons:
    """Texts with one label each, in the order in which they were learnt, and their weights."""

    texts: list[str]
    labels: list[Any]
    weight: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, X: Sequence[str], y: Any, sample_weight: Any) -> "Lessons":
        """The documents of one training."""
        texts, y = list(X), listed(y)
        weight = np.ones(len(texts)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        return cls(texts, np.asarray(y).tolist(), weight)

    @classmethod
    def checked(cls, X: Sequence[str], y: Any, sample_weight: Any) -> "Lessons":
        """The documents of a lesson: at least one, each with one label and a weight."""
        if not X:
            raise DataError("expected at least one document to learn, got none")
        labels = listed(y)
        if labels is None or isinstance(labels, str) or len(labels) != len(X):
            found = "none" if labels is None else "one string" if isinstance(labels, str) else len(labels)
            raise DataError(f"expected {len(X)} labels, one for each document, got {found}")
        refuse_missing(labels)
        for n, label in enumerate(labels, 1):
            if isinstance(label, Mapping | list | tuple | set | frozenset | np.ndarray):
                raise DataError(
                    f"partial_fit needs one label for each document, got {label!r} for document {n}"
                )
        return cls.of(X, labels, sample_weights(sample_weight, len(X), "documents"))

    def taken(self, which: Sequence[int]) -> "Lessons":
        """Some of the documents."""
        return Lessons(
            [self.texts[k] for k in which], [self.labels[k] for k in which], self.weight[list(which)]
        )

    @cached_property
    def _place(self) -> "Places":
        return Places.of(self.texts)

    def taught(
        self, more: "Lessons", right: NDArray[np.bool_]
    ) -> "tuple[Lessons, NDArray[np.bool_], NDArray[np.bool_]] | None":
        """The documents after a lesson, which old ones stay and which new ones are added; None if nothing changes.

        A text that is known with the same label is not added again; if the classifier still gets it wrong (``right``,
        bool [texts of the lesson]), its weight doubles. A text that is known with another label replaces the earlier
        one.
        """
        gone, weight, fresh = self._place.lesson(self.labels, self.weight, more.texts, more.labels, right)
        kept = ~gone
        if kept.all() and not fresh.any() and np.array_equal(weight, self.weight):
            return None
        old, new = np.flatnonzero(kept).tolist(), np.flatnonzero(fresh).tolist()
        made = Lessons(
            [self.texts[k] for k in old] + [more.texts[k] for k in new],
            [self.labels[k] for k in old] + [more.labels[k] for k in new],
            np.concatenate([weight[kept], more.weight[fresh]]),
        )
        return made, kept, fresh

    def without(self, texts: Sequence[str]) -> "Lessons | None":
        """The documents without these; None if none of them was learnt."""
        gone = {k for text in texts for k in self._place.of_text.get(text, ())}
        if not gone:
            return None
        kept = [k for k in range(len(self.texts)) if k not in gone]
        return Lessons([self.texts[k] for k in kept], [self.labels[k] for k in kept], self.weight[kept])
