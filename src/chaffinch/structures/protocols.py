"""The protocols of structures and scorers. Learners and search depend on nothing else."""

from typing import Any, Protocol, TypeVar, runtime_checkable

from chaffinch.errors import ConfigError
from chaffinch.structures.parts import Parts, Shape

X_contra = TypeVar("X_contra", contravariant=True)
Y = TypeVar("Y")
Y_contra = TypeVar("Y_contra", contravariant=True)


@runtime_checkable
class Structure(Protocol[Y_contra]):
    """Defines the answers y; independent of weights, features and learning."""

    def parts(self, shape: Shape, y: Y_contra) -> Parts:
        """The indicator of y: score(x, y) = potentials(x) . parts(y)."""
        ...

    def cost(self, shape: Shape, y: Y_contra) -> Parts:
        """The loss against gold y as parts: additive and zero on y, so it can be added to potentials."""
        ...


@runtime_checkable
class MaxOracle(Structure[Y], Protocol[Y]):
    """A structure that finds the best y."""

    def argmax(self, potentials: Parts) -> Y:
        """The y with the highest score; the structure states how ties are broken."""
        ...


@runtime_checkable
class SumOracle(Structure[Y_contra], Protocol[Y_contra]):
    """A structure that computes the sum over all y."""

    def logsum(self, potentials: Parts) -> tuple[float, Parts]:
        """log Z = log of the sum over all y of exp(score), and its gradient, the marginals."""
        ...


@runtime_checkable
class KBestOracle(MaxOracle[Y], Protocol[Y]):
    """A structure that lists the k best y."""

    def kbest(self, potentials: Parts, k: int) -> list[tuple[float, Y]]:
        """The k best y with their scores, best first; fewer if fewer exist. The first is that of argmax."""
        ...


class Scorer(Protocol[X_contra]):
    """Stores w and computes w . phi; independent of y and of learning."""

    def shape(self, x: X_contra) -> Shape:
        """The size of the parts of example x."""
        ...

    def potentials(self, x: X_contra) -> Parts:
        """w . phi(x, p) for every part p."""
        ...

    def update(self, x: X_contra, delta: Parts, step: float = 1.0) -> None:
        """w += step * sum over parts p of delta(p) phi(x, p)."""
        ...

    def sq_norm(self, x: X_contra, delta: Parts) -> float:
        """|sum over parts p of delta(p) phi(x, p)|^2: the squared length of an update of step 1."""
        ...


_ORACLES: dict[str, Any] = {"argmax": MaxOracle, "logsum": SumOracle, "kbest": KBestOracle}
_GIVES = {"argmax": "a best answer", "logsum": "marginals", "kbest": "k-best lists"}


def oracles(structure: object) -> list[str]:
    """The oracles that a structure has: argmax, logsum and kbest.

    >>> from chaffinch.structures import Choice
    >>> oracles(Choice(3))
    ['argmax', 'logsum', 'kbest']
    """
    return [name for name, protocol in _ORACLES.items() if isinstance(structure, protocol)]


def require(learner: object, oracle: str, structure: object, alternatives: tuple[str, ...] = ()) -> None:
    """Raise ConfigError if a structure lacks the oracle that a learner needs, and name suitable learners.

    >>> class Matching:
    ...     def parts(self, shape, y): ...
    ...     def cost(self, shape, y): ...
    ...     def argmax(self, potentials): ...
    >>> require("ExponentiatedGradient", "logsum", Matching(), ("Perceptron", "Mira", "FrankWolfe"))
    Traceback (most recent call last):
    chaffinch.errors.ConfigError: ExponentiatedGradient needs marginals; Matching offers argmax. Use Perceptron,
    Mira or FrankWolfe.
    """
    offered = oracles(structure)
    if oracle in offered:
        return
    name = learner if isinstance(learner, str) else type(learner).__name__
    use = f" Use {_listed(alternatives, 'or')}." if alternatives else ""
    offers = f"{type(structure).__name__} offers {_listed(offered, 'and') or 'no oracle'}"
    raise ConfigError(f"{name} needs {_GIVES[oracle]}; {offers}.{use}")


def _listed(names: list[str] | tuple[str, ...], word: str) -> str:
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else "".join(names)
