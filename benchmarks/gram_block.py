"""Timing a block of a Gram matrix on one core, for the benchmarks of kernels."""

from collections.abc import Callable
from typing import Any

from benchmarks.benchmark import Contender


def gram_block(title: str, name: str, **settings: Any) -> Contender:
    """The kernel of that name on all pairs of objects, one side prepared like new objects."""

    def prepare(given: list[Any]) -> Callable[[], Any]:
        from chaffinch import kernels

        kernel = getattr(kernels, name)(**settings)
        once, again = kernel.prepared(given), kernel.prepared(given)
        return lambda: kernel.gram(once, again, threads=1)

    return Contender(name=title, prepare=prepare, run=lambda block: block())


def sizes(_given: list[Any], K: Any) -> dict[str, float]:
    """The number of pairs and the mean value; tests compare the values with explicit features."""
    return {"pairs": float(K.size), "mean": float(K.mean())}
