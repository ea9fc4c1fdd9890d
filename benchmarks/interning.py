"""Strings to ids: the first step for every token."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.benchmark import Benchmark, Contender

TOKENS = 1_000_000
TYPES = 50_000

Sentences = list[list[str]]


def sentences(seed: int) -> Sentences:
    """A million tokens in sentences of 20, word frequencies falling as 1/rank."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, TYPES + 1)
    ranks = rng.choice(TYPES, TOKENS, p=weights / weights.sum()).tolist()
    # Each token is a string object of its own, as a reader of files makes them: no cached hashes.
    words = [f"word{rank:x}" for rank in ranks]
    return [words[i : i + 20] for i in range(0, TOKENS, 20)]


def interner(_given: Sentences) -> Any:
    from chaffinch._core import Interner

    return _given, Interner()


def ours(prepared: Any) -> NDArray[np.int32]:
    rows, table = prepared
    _, ids = table.intern_nested(rows)
    return ids


def python_dict(rows: Sentences) -> NDArray[np.int32]:
    table: dict[str, int] = {}
    ids = [table.setdefault(word, len(table)) for row in rows for word in row]
    return np.array(ids, np.int32)


def arrow(rows: Sentences) -> tuple[Sentences, Any]:
    import pyarrow

    return rows, pyarrow


def arrow_dictionary(prepared: tuple[Sentences, Any]) -> NDArray[np.int32]:
    rows, pyarrow = prepared
    flat = pyarrow.array([word for row in rows for word in row], pyarrow.string())
    ids: NDArray[np.int32] = flat.dictionary_encode().indices.to_numpy()
    return ids


def scores(rows: Sentences, ids: NDArray[np.int32]) -> dict[str, float]:
    """The share of tokens with the right id, ids counted in order of first sight."""
    _, first, inverse = np.unique(
        np.array([word for row in rows for word in row]), return_index=True, return_inverse=True
    )
    in_order = np.empty(len(first), np.int64)
    in_order[np.argsort(first)] = np.arange(len(first))
    return {"right": float(np.mean(in_order[inverse] == ids))}


BENCHMARK = Benchmark(
    name="interning",
    question="How fast do the strings of a million tokens become ids?",
    input=sentences,
    work=lambda rows: (float(sum(map(len, rows))), "tokens"),
    ours=Contender(name="chaffinch", prepare=interner, run=ours),
    rivals=(
        Contender(name="dict", run=python_dict),
        Contender(name="pyarrow", prepare=arrow, run=arrow_dictionary, package="pyarrow"),
    ),
    scores=scores,
    bar=1.0,
)
