"""Two taggers in sequence: the second reads the labels that the first gave to the same word in the document."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.model.chain import ChainModel
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.model.evidence import Question, TaggedSentence
from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import LatticeModel, Packed, Reading, Shrinkable, TaggingModel, Tempered
from chaffinch.modelfile import ModelFile, Requirements, Saved, fact, inside
from chaffinch.structures import Chain, Parts
from chaffinch.text.first_pass import FIRST, MAJORITY, with_first_pass
from chaffinch.text.schemes.table import BIO, letter_and_type
from chaffinch.text.stretch import STRETCH, document_groups
from chaffinch.text.table import TokenTable


@dataclass(frozen=True)
class TwoPassModel:
    """``second`` decides; its features may read the columns ``first`` and ``majority``, made from the first's labels.

    stretch: consecutive sentences that count as one document if the input marks no documents
    """

    first: TaggingModel
    second: TaggingModel
    stretch: int = STRETCH

    @property
    def labels(self) -> LabelSet:
        """The same for both."""
        return self.second.labels

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that either model reads."""
        both = dict.fromkeys([*self.first.columns, *self.second.columns])
        return tuple(name for name in both if name not in (FIRST, MAJORITY))

    def read(self, table: TokenTable, threads: int) -> TokenTable:
        """The table as the second reads it."""
        return after_first_pass(table, self.first.decode(table, threads), self.first.labels, self.stretch)

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The best labelling of the second model."""
        return self.second.decode(self.read(table, threads), threads)

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best labellings of the second model."""
        return self.second.kbest(self.read(table, threads), k, threads)

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """The marginals of the second model."""
        return self.second.marginals(self.read(table, threads), threads)

    def posterior(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The posterior labelling of the second model."""
        return self.second.posterior(self.read(table, threads), threads)

    @property
    def temperature(self) -> float:
        """The temperature of the second model."""
        return self.second.temperature if isinstance(self.second, LatticeModel) else 1.0

    def with_temperature(self, temperature: float) -> "TwoPassModel":
        """The same two, the second at this temperature."""
        assert isinstance(self.second, Tempered)
        return replace(self, second=self.second.with_temperature(temperature))

    @property
    def lattice_labels(self) -> LabelSet:
        """The lattice labels of the second model."""
        return self.second.lattice_labels if isinstance(self.second, LatticeModel) else self.labels

    def lattices(self, table: TokenTable, threads: int) -> Iterator[tuple[Chain, Parts]]:
        """The lattices of the second model."""
        if not isinstance(self.second, LatticeModel):
            raise ConfigError("the second model has no distribution over labellings")
        return self.second.lattices(self.read(table, threads), threads)

    def examples(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> Iterable[TaggedSentence]:
        """The second model's; its features name the labels of the first."""
        return self.second.examples(self.read(table, threads), which, question, threads)

    @property
    def widths(self) -> tuple[int, ...]:
        """The numbers of bits, the same for both models."""
        return self.second.widths if isinstance(self.second, Shrinkable) else ()

    def magnitudes(self) -> NDArray[np.float32]:
        """The magnitudes of both models."""
        assert isinstance(self.first, Shrinkable)
        assert isinstance(self.second, Shrinkable)
        return np.concatenate([self.first.magnitudes(), self.second.magnitudes()])

    def shrunk(self, threshold: float, bits: int) -> "TwoPassModel":
        """Both models without small weights."""
        assert isinstance(self.first, Shrinkable)
        assert isinstance(self.second, Shrinkable)
        return replace(
            self, first=self.first.shrunk(threshold, bits), second=self.second.shrunk(threshold, bits)
        )

    def packed(self) -> Packed:
        """Both; the first's sections have names that begin with ``first.``."""
        return self.second.packed() | _Sections(self.first, self.stretch).packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "TwoPassModel":
        """Two chain models with the same labels, checked."""
        need = Requirements(file, Y=len(file.header.labels))
        found, labels = _Sections.loaded(need), LabelSet.loaded(need, inner=file.header.labels)
        first, second = (
            ChainModel.loaded(one, TemplateEncoder.loaded(one), labels=labels) for one in (found.first, file)
        )
        return cls(first, second, found.stretch)

    @staticmethod
    def absent(file: ModelFile) -> bool:
        """Whether a file holds one model."""
        return _Sections.absent(Requirements(file))


def after_first_pass(
    table: TokenTable, found: NDArray[np.int32], labels: LabelSet, stretch: int
) -> TokenTable:
    """The table with the columns ``first`` and ``majority``; a label with a type counts as its type."""
    spans = "O" in labels.outer and all(letter_and_type(label, BIO) for label in labels.outer)
    kinds = [(label.partition("-")[2] or label) if spans else label for label in labels.outer]
    return with_first_pass(table, found, kinds, document_groups(table, stretch))


def _is_stretch(n: int) -> bool:
    return n >= 1


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of a file of two models besides the second's; first: the first model, loaded as a file."""

    first: Any = inside(ModelFile, "first.")
    stretch: int = fact(int, check=_is_stretch, expected="a whole number above 0", default=STRETCH)
