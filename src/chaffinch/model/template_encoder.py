"""The encoder of discriminative taggers: templates over columns, as the feature engine fitted them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.encoder import FeatureEncoder
from chaffinch.features.reduction import reduced
from chaffinch.features.rows import FeatureRows
from chaffinch.model.evidence import Seen
from chaffinch.model.protocols import Packed
from chaffinch.modelfile import ModelFile
from chaffinch.text.table import ListColumns, TokenTable

SECTION = "features."


@dataclass(frozen=True)
class TemplateEncoder:
    """A fitted :class:`FeatureEncoder` as a model's encoder.

    >>> table = TokenTable.from_lists({"w": [["the", "dog"]]})
    >>> encoder = FeatureEncoder(["w[0]"])
    >>> _ = encoder.fit(table)
    >>> adapted = TemplateEncoder(encoder)
    >>> adapted.columns, adapted.n_features, adapted.rows(table, 1).ids.tolist()
    (('w',), 2, [0, 1])
    """

    features: FeatureEncoder

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that some template reads, the word first."""
        return self.features.sources

    @property
    def n_features(self) -> int:
        """F."""
        return self.features.n_features

    def rows(self, table: TokenTable, threads: int) -> FeatureRows:
        """The features of every token of the table."""
        given = table.columns
        tokens = given.lists if isinstance(given, ListColumns) else table
        return self.features.transform(tokens, threads=threads)

    def pruned(self, keep: NDArray[np.bool_]) -> "TemplateEncoder":
        """A new encoder with the features that are kept (bool [F]); this one stays as it is."""
        return TemplateEncoder(self.features.pruned(keep))

    def reduced(self, keep: NDArray[np.bool_]) -> "tuple[TemplateEncoder, NDArray[np.int64]]":
        """A new encoder with the features that are kept (bool [F]) and the strings in them, and which each was."""
        every = [np.ones(t.n_observations, bool) for t in self.features.label_templates]
        smaller = reduced(self.features, keep, every)
        return TemplateEncoder(smaller.encoder), smaller.order

    def names(self, ids: NDArray[np.int32]) -> list[str]:
        """What features are called, such as ``w[-1]=the|w[0]=dog``."""
        return self.features.names(ids)

    def seen(self, ids: NDArray[np.int32]) -> list[Seen]:
        """The template of each feature, and the tokens that it looks at."""
        templates = [Seen(*template) for template in self.features.template_offsets()]
        return [templates[k] for k in self.features.templates_of(ids)]

    def packed(self) -> Packed:
        """The feature index, the strings it stands for, and the templates."""
        own = self.features.packed()
        sections = replace(own, details={"features": own.details}, templates=self.features.templates)
        return sections.under(SECTION)

    @classmethod
    def loaded(cls, file: ModelFile) -> "TemplateEncoder":
        """The encoder of a model file; the feature engine checks every index."""
        return cls(FeatureEncoder.loaded(file.under(SECTION, details=file.header.details.get("features"))))
