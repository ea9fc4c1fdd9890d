"""Parts of a dataset: sentences with tags or texts with labels; counted, cut and named by a fingerprint."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.errors import DataError
from chaffinch.text.document import LABEL, Document
from chaffinch.text.table import Column, TokenTable, concatenated


@dataclass(frozen=True)
class Texts:
    """Documents to classify.

    labels: one label per text; or a list of them where texts may have several; or a dict of labels and their shares
    """

    texts: list[str]
    labels: list[Any]


Part: TypeAlias = TokenTable | Texts


def part_of(documents: Iterable[Document], where: str) -> Part:
    """Documents as a part: tagged tokens make sentences, labels make texts."""
    all_of_them = list(documents)
    if not all_of_them:
        raise DataError(f"{where}: holds no document")
    first = all_of_them[0]
    if LABEL in first.columns:
        return TokenTable.from_documents(all_of_them)
    if not any(d.labels for d in all_of_them):
        raise DataError(f"{where}: has neither tags nor labels to learn; is another column the label?")
    return Texts([d.text for d in all_of_them], targets(all_of_them, where))


def targets(documents: Sequence[Document], where: str) -> list[Any]:
    """What documents teach: shares of labels where any has those, lists where any has several, else one label."""
    if any(d.shares for d in documents):
        lone = next((n for n, d in enumerate(documents) if not d.labels), None)
        if lone is not None:
            raise DataError(f"{where}: document {lone + 1} has no label")
        return [d.shares or {d.labels[0]: 1.0} for d in documents]
    several = any(len(d.labels) != 1 for d in documents)
    return [d.labels if several else d.labels[0] for d in documents]


def size(part: Part) -> int:
    """How many sentences or texts there are."""
    return len(part.texts) if isinstance(part, Texts) else part.n_sentences


def joined(parts: Sequence[Part]) -> Part:
    """Parts of one kind, one after the other."""
    if len(parts) == 1:
        return parts[0]
    tables = [p for p in parts if isinstance(p, TokenTable)]
    texts = [p for p in parts if isinstance(p, Texts)]
    if tables and texts:
        raise DataError("sentences with tags and texts with labels cannot be joined to one dataset")
    if tables:
        return concatenated(tables)
    return Texts([t for p in texts for t in p.texts], [y for p in texts for y in p.labels])


def taken(part: Part, chosen: Sequence[int]) -> Part:
    """The chosen sentences or texts, in that order, as if they alone had been read.

    >>> table = TokenTable.from_lists({"w": [["a", "b"], ["c"], ["b", "c"]]})
    >>> taken(table, [2, 1]).columns["w"].types
    ['b', 'c']
    """
    if isinstance(part, Texts):
        return Texts([part.texts[n] for n in chosen], [part.labels[n] for n in chosen])
    at = np.asarray(chosen, dtype=np.int64)
    lengths = np.diff(part.ptr)[at]
    ptr = np.zeros(len(at) + 1, dtype=np.int64)
    np.cumsum(lengths, out=ptr[1:])
    tokens = np.repeat(part.ptr[at] - ptr[:-1], lengths) + np.arange(ptr[-1])
    columns = {name: _compact(column, tokens) for name, column in part.columns.items()}
    return TokenTable(ptr, columns, None if part.groups is None else part.groups[at])


def shuffled(part: Part, seed: int) -> list[int]:
    """The numbers of all sentences or texts in an order that the seed decides, the same on every machine."""
    order, chance = list(range(size(part))), random.Random(seed)
    for i in range(len(order) - 1, 0, -1):  # Fisher and Yates, from random() alone, which never changes
        j = int(chance.random() * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order


def held_out(part: Part, share: float, seed: int) -> tuple[Part, Part]:
    """What is left to learn from, and the share that is held out; both keep the order they had."""
    count = max(1, round(share * size(part)))
    if count >= size(part):
        raise DataError(f"holding out {share:.0%} of {size(part)} examples leaves none to learn from")
    away = set(shuffled(part, seed)[:count])
    kept = [n for n in range(size(part)) if n not in away]
    return taken(part, kept), taken(part, sorted(away))


def fingerprint(part: Part) -> str:
    """A short name for the content of a part."""
    if isinstance(part, Texts):
        labels = [_names(y) for y in part.labels]
        counts = np.array([len(y) for y in labels], dtype=np.int64)
        return modelfile.fingerprint(part.texts, list(chain.from_iterable(labels)), counts)
    columns = [piece for column in part.columns.values() for piece in (column.types, column.ids)]
    return modelfile.fingerprint(list(part.columns), part.ptr, *columns)


def _names(y: Any) -> list[str]:
    """A text's target as strings."""
    if isinstance(y, dict):
        return [f"{name}={share!r}" for name, share in y.items()]
    return [y] if isinstance(y, str) else y


def _compact(column: Column, tokens: NDArray[np.int64]) -> Column:
    """A column of some of the tokens, its types numbered by first sight."""
    ids = column.ids[tokens]
    met, first = np.unique(ids, return_index=True)
    order = np.argsort(first)
    known = [int(met[i]) for i in order if met[i] >= 0]
    number = np.full(len(column.types) + 1, -1, dtype=np.int32)  # the last place is for -1, an unknown string
    number[known] = np.arange(len(known), dtype=np.int32)
    return Column([column.types[i] for i in known], number[ids])
