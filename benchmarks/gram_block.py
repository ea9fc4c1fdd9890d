"""Timing a block of a Gram matrix on one core, for the benchmarks of kernels."""

from collections.abc import Callable
from typing import Any

from benchmarks.benchmark import Contender


def gram_block(title: str, name: str, **settings: Any) -> Contender:
    """The kernel of that name, of all objects with all objects, one side prepared as new ones would be."""

    def prepare(given: list[Any]) -> Callable[[], Any]:
        from chaffinch import kernels

        kernel = getattr(kernels, name)(**settings)
        once, again = kernel.prepared(given), kernel.prepared(given)
        return lambda: kernel.gram(once, again, threads=1)

    return Contender(name=title, prepare=prepare, run=lambda block: block())


def sizes(_given: list[Any], K: Any) -> dict[str, float]:
    """What was compared; that the values are right is for the tests, which spell the features out."""
    return {"pairs": float(K.size), "mean": float(K.mean())}
