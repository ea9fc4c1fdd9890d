"""The protocols of trained taggers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.evidence import Question, TaggedSentence
from chaffinch.model.labels import LabelSet
from chaffinch.modelfile import Packed
from chaffinch.structures import Chain, Parts
from chaffinch.text.table import TokenTable

__all__ = ["LatticeModel", "Packed", "Reading", "TaggingModel"]


@dataclass(frozen=True)
class Reading:
    """One of the k best labellings of a sentence: outer label ids and the log of its score."""

    labels: NDArray[np.int32]
    score: float


class TaggingModel(Protocol):
    """A trained tagger. Tokens of all sentences lie end to end; label ids are those of ``labels.outer``."""

    @property
    def labels(self) -> LabelSet:
        """The labels."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that it reads, the word first."""
        ...

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The best labelling: int32 [tokens]."""
        ...

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best labellings of each sentence, best first; fewer if there are fewer."""
        ...

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """p(y_t|x) of each token: float32 [tokens, labels]."""
        ...

    def posterior(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The labelling with the most expected correct labels of all that the rules allow: int32 [tokens]."""
        ...

    def examples(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> Iterable[TaggedSentence]:
        """Some sentences of a table with the evidence for their labels."""
        ...

    def packed(self) -> Packed:
        """The content for a model file."""
        ...


@runtime_checkable
class LatticeModel(Protocol):
    """A trained tagger that scores whole labellings: each sentence is a chain with potentials."""

    @property
    def labels(self) -> LabelSet:
        """The labels."""
        ...

    @property
    def temperature(self) -> float:
        """The temperature of the probabilities."""
        ...

    @property
    def lattice_labels(self) -> LabelSet:
        """The inner labels of the lattices."""
        ...

    def lattices(self, table: TokenTable, threads: int) -> Iterator[tuple[Chain, Parts]]:
        """The chain over inner labels and its potentials, sentence by sentence."""
        ...


@runtime_checkable
class Tempered(TaggingModel, Protocol):
    """A trained tagger with a temperature, which changes its probabilities but not its answers."""

    def with_temperature(self, temperature: float) -> "Tempered":
        """The same model with another temperature."""
        ...


@runtime_checkable
class Shrinkable(Protocol):
    """A trained model whose small weights can be dropped.

    widths: numbers of bits in which its weights can be stored
    """

    @property
    def widths(self) -> tuple[int, ...]:
        """The numbers of bits, the largest first."""
        ...

    def magnitudes(self) -> NDArray[np.float32]:
        """The largest change of a score by each weight or feature."""
        ...

    def shrunk(self, threshold: float, bits: int) -> Any:
        """A model without weights below the threshold, the others rounded to ``bits``."""
        ...
