"""Corpora in memory: a table of tokens, or lists of equal length; their size, subsets, joins and fingerprints."""

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Self, TypeAlias

import numpy as np

from chaffinch import modelfile
from chaffinch.errors import DataError
from chaffinch.recipes.fingerprints import table_fingerprint
from chaffinch.text.table import TokenTable, concatenated

EVERY = 10  # every tenth example is held out if no held-out data is named


class ExampleLists(ABC):
    """A frozen dataclass whose fields are lists with one entry per example, dicts of such lists, or None."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]

    def taken(self, chosen: Sequence[int]) -> Self:
        """The chosen examples, in this order."""
        made = {f.name: _picked(getattr(self, f.name), chosen) for f in fields(self)}  # type: ignore[arg-type]
        return replace(self, **made)  # type: ignore[type-var]

    def joined(self, others: Sequence[Self]) -> Self:
        """These examples followed by those of the others."""
        made = {
            f.name: _chained([getattr(one, f.name) for one in (self, *others)])
            for f in fields(self)  # type: ignore[arg-type]
        }
        return replace(self, **made)  # type: ignore[type-var]

    @abstractmethod
    def content(self) -> list[Any]:
        """Lists of strings and arrays that identify the corpus, for its fingerprint."""


Corpus: TypeAlias = TokenTable | ExampleLists


def size(corpus: Corpus) -> int:
    """The number of sentences, documents, trees ..."""
    return corpus.n_sentences if isinstance(corpus, TokenTable) else len(corpus)


def joined(corpora: Sequence[Corpus]) -> Corpus:
    """Corpora of one kind, joined."""
    first, *rest = corpora
    if not rest:
        return first
    if len({type(one) for one in corpora}) > 1:
        raise DataError("corpora of different kinds cannot be joined into one dataset")
    if isinstance(first, TokenTable):
        return concatenated([one for one in corpora if isinstance(one, TokenTable)])
    return first.joined(rest)  # type: ignore[arg-type]


def taken(corpus: Corpus, chosen: Sequence[int]) -> Any:
    """The chosen examples, in that order, as if they alone had been read.

    >>> table = TokenTable.from_lists({"w": [["a", "b"], ["c"], ["b", "c"]]})
    >>> taken(table, [2, 1]).columns["w"].types
    ['b', 'c']
    """
    return corpus.taken(chosen)


def shuffled(corpus: Corpus, seed: int) -> list[int]:
    """The numbers of all examples in an order that depends only on the seed, on every machine."""
    order, chance = list(range(size(corpus))), random.Random(seed)
    for i in range(len(order) - 1, 0, -1):  # Fisher and Yates, from random() alone, which never changes
        j = int(chance.random() * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order


def held_out(corpus: Corpus, share: float, seed: int) -> tuple[Any, Any]:
    """The training examples and the held-out share; both keep their order."""
    count = max(1, round(share * size(corpus)))
    if count >= size(corpus):
        raise DataError(f"holding out {share:.0%} of {size(corpus)} examples leaves none to train on")
    away = set(shuffled(corpus, seed)[:count])
    kept = [n for n in range(size(corpus)) if n not in away]
    return taken(corpus, kept), taken(corpus, sorted(away))


def tenth_held_out(corpus: Corpus, plural: str) -> tuple[Any, Any]:
    """All examples but every tenth, and every tenth.

    plural: the name of the examples in the error if they are too few

    >>> table = TokenTable.from_lists({"w": [[str(n)] for n in range(20)]})
    >>> rest, tenth = tenth_held_out(table, "sentences")
    >>> rest.n_sentences, tenth.lists("w")
    (18, [['9'], ['19']])
    """
    N = size(corpus)
    tenth = np.arange(N) % EVERY == EVERY - 1
    if not tenth.any():
        raise DataError(f"{N} {plural} are too few to hold out a tenth: give held-out data with --dev")
    if isinstance(corpus, TokenTable):
        return corpus.of_sentences(~tenth), corpus.of_sentences(tenth)
    return corpus.taken(np.flatnonzero(~tenth).tolist()), corpus.taken(np.flatnonzero(tenth).tolist())


def fingerprint(corpus: Corpus) -> str:
    """A fingerprint of the content of a corpus."""
    if isinstance(corpus, ExampleLists):
        return modelfile.fingerprint(*corpus.content())
    return table_fingerprint(corpus)


def _picked(values: Any, chosen: Sequence[int]) -> Any:
    if isinstance(values, Mapping):
        return {name: _picked(inner, chosen) for name, inner in values.items()}
    return None if values is None else [values[n] for n in chosen]


def _chained(values: Sequence[Any]) -> Any:
    if any(one is None for one in values):
        return None
    if isinstance(values[0], Mapping):
        return {name: _chained([one[name] for one in values]) for name in values[0]}
    return [entry for one in values for entry in one]
