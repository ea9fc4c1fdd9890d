"""A chain scored through a kernel: the dual form, support positions with a coefficient for each label."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.kernels import Kernel
from chaffinch.structures.parts import Parts

MOST_BYTES = 2 << 30  # of a Gram matrix


class Observed(NamedTuple):
    """Positions first .. last - 1 of the objects that a :class:`KernelChain` was made for."""

    first: int
    last: int

    @property
    def T(self) -> int:
        """The number of positions."""
        return self.last - self.first


@dataclass(frozen=True)
class Observations:
    """The objects of all positions, a kernel, and its Gram matrix, computed once.

    >>> from chaffinch.kernels import Polynomial
    >>> x = Observations(Polynomial(degree=2), np.eye(3, dtype=np.float32))
    >>> x.gram[0]
    array([4., 1., 1.], dtype=float32)
    """

    kernel: Kernel
    objects: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", self.kernel.fitted(self.objects))
        object.__setattr__(self, "objects", self.kernel.prepared(self.objects))
        n = len(self.objects)
        if 4 * n * n > MOST_BYTES:
            raise ConfigError(
                f"the Gram matrix of {n:,} positions needs {4 * n * n / 2**30:.1f} GB; train on fewer, or expand a "
                "polynomial kernel into its products (Monomials)"
            )
        object.__setattr__(self, "_gram", self.kernel.gram(self.objects))

    @property
    def gram(self) -> NDArray[np.float32]:
        """float32 [n, n]."""
        made: NDArray[np.float32] = self._gram  # type: ignore[attr-defined]
        return made


class KernelChain:
    """unary[t, y] = sum over support positions s of  a[s, y] k(x_t, x_s);   pair, start and end as a linear chain's.

    An update adds to the coefficients of the example's own positions, so that every learner that moves a scorer in part
    space trains it: FrankWolfe, NSlack, ExponentiatedGradient and ChainSmo give the kernelised max-margin Markov
    network (Taskar, Guestrin and Koller 2003). The perceptron's loop cannot train it: it averages a flat w.
    """

    def __init__(self, observations: Observations, Y: int) -> None:
        self.observations = observations
        self.a = np.zeros((len(observations.objects), Y), np.float32)
        self.shared = {
            "pair": np.zeros((Y, Y), np.float32),
            "start": np.zeros(Y, np.float32),
            "end": np.zeros(Y, np.float32),
        }

    def __deepcopy__(self, _: object) -> "KernelChain":
        made = KernelChain(self.observations, self.a.shape[1])
        made.a = self.a.copy()
        made.shared = {name: block.copy() for name, block in self.shared.items()}
        return made

    @property
    def support(self) -> NDArray[np.int64]:
        """The positions that have a coefficient."""
        return np.flatnonzero(self.a.any(axis=1))

    def shape(self, x: Observed) -> dict[str, tuple[int, ...]]:
        """The size of the parts of x."""
        return {"unary": (x.T, self.a.shape[1])} | {name: block.shape for name, block in self.shared.items()}

    def potentials(self, x: Observed) -> Parts:
        """The scores of every part of x."""
        unary = self.observations.gram[x.first : x.last] @ self.a
        return Parts(unary=unary, **{name: block.copy() for name, block in self.shared.items()})

    def scores(self, objects: Any, threads: int = 0) -> NDArray[np.float32]:
        """unary [T, Y] of positions with these objects."""
        s = self.support
        kernel, known = self.observations.kernel, self.observations.objects
        return np.asarray(kernel.expansion(objects, known.taken(s), self.a[s], threads=threads), np.float32)

    def update(self, x: Observed, delta: Parts, step: float = 1.0) -> None:
        """a += step * delta at the positions of x."""
        for name, block in delta.items():
            target = self.a[x.first : x.last] if name == "unary" else self.shared[name]
            target += np.float32(step) * block.astype(np.float32)

    def sq_norm(self, x: Observed, delta: Parts) -> float:
        """The squared length of the change that an update of step 1 makes in the kernel's space."""
        total = sum(
            float(np.sum(block.astype(np.float64) ** 2)) for n, block in delta.items() if n != "unary"
        )
        if "unary" in delta:
            K = self.observations.gram[x.first : x.last, x.first : x.last].astype(np.float64)
            d = delta["unary"].astype(np.float64)
            total += float(np.sum((K @ d) * d))
        return total
