"""Features of a corpus that is read block by block: columns of a word type are computed once for all blocks."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.features.files import feature_set
from chaffinch.features.plan import Plan
from chaffinch.features.rows import FeatureRows
from chaffinch.text.stretch import STRETCH, document_groups, natural_stretch
from chaffinch.text.table import TokenTable

HIGHEST = 64  # the largest count of a feature that may be dropped to save memory

Blocks = Callable[[], Iterator[TokenTable]]


class BlockEncoder:
    """A fitted :class:`FeatureEncoder` for tables that share one vocabulary.

    >>> table = TokenTable.from_lists({"w": [["the", "dog"], ["the", "cat"]]})
    >>> blocks = [table.of_sentences(np.array(which)) for which in ((True, False), (False, True))]
    >>> encoder = FeatureEncoder(["w[0]", "w[-1]|w[0]"])
    >>> by_block = BlockEncoder.fitted(encoder, lambda: iter(blocks))
    >>> np.concatenate([by_block.rows(block).ids for block in blocks]).tolist()
    [0, 1, 2, 4, 0, 1, 3, 5]
    >>> FeatureEncoder(["w[0]", "w[-1]|w[0]"]).fit(table).ids.tolist()
    [0, 1, 2, 4, 0, 1, 3, 5]
    """

    def __init__(self, encoder: FeatureEncoder, vocabulary: _core.Vocabulary) -> None:
        self.encoder, self._vocabulary = encoder, vocabulary

    @classmethod
    def fitted(
        cls,
        encoder: FeatureEncoder,
        blocks: Blocks,
        *,
        sample: TokenTable | None = None,
        most: int | None = None,
        watch: Callable[[TokenTable], None] = lambda _: None,
    ) -> "BlockEncoder":
        """Fit an encoder block by block; the index is the same as that of ``encoder.fit`` on all blocks at once.

        blocks: called for each pass; all blocks have the same vocabulary, in the same order
        sample: sentences from which to tell whether they are in the order of running text; default: the first block
        most:   maximum number of features; the minimum count is raised until they fit
        watch:  called after each counted block
        """
        first = next(blocks())
        columns = list(first.columns)
        chosen = feature_set(encoder.features, columns, encoder.clusters, encoder.gazetteers)
        plan = Plan.of(chosen, columns, encoder.language, encoder.clusters, encoder.gazetteers)
        if plan.computed:
            raise ConfigError(
                f"your own function computes column {next(iter(plan.computed))!r} from whole sentences, which needs "
                "training in memory"
            )
        encoder._open(plan)
        engine = plan.engine()
        encoder._engine = engine
        if encoder.stretch is None:
            shown = first if sample is None else sample
            encoder.stretch = natural_stretch(shown) if plan.looks_elsewhere else STRETCH
        vocabulary = engine.described(_types(first, plan), plan.external, True)
        made = cls(encoder, vocabulary)
        if engine.reads_runs:
            for block in blocks():
                engine.see_runs(vocabulary, block.ptr, made._ids(block))
        engine.open()
        for block in blocks():
            engine.tally(vocabulary, block.ptr, made._ids(block), made._groups(block), encoder.threads)
            watch(block)
        if most is not None:
            encoder.min_count = raised_count(engine.rare(HIGHEST), encoder.min_count, most)
        engine.close(encoder.min_count)
        _core.give_back_memory()  # of the tables of counts
        return made

    @classmethod
    def known(cls, encoder: FeatureEncoder, block: TokenTable) -> "BlockEncoder":
        """The block encoder of a fitted encoder; ``block`` has the vocabulary of all blocks."""
        engine, plan = encoder._fitted()
        return cls(encoder, engine.described(_types(block, plan), plan.external, False))

    @property
    def most(self) -> int:
        """The most features of a token."""
        return self.encoder._fitted()[0].slots

    def rows(self, block: TokenTable, threads: int | None = None) -> FeatureRows:
        """The rows of a block."""
        engine, _ = self.encoder._fitted()
        threads = self.encoder.threads if threads is None else threads
        made = engine.find_block(self._vocabulary, block.ptr, self._ids(block), self._groups(block), threads)
        return FeatureRows(*made, sentences=block.ptr)

    def _ids(self, block: TokenTable) -> list[NDArray[np.int32]]:
        plan = self.encoder._plan
        assert plan is not None
        return [block.columns[name].ids for name in plan.sources]

    def _groups(self, block: TokenTable) -> NDArray[np.int32]:
        return document_groups(block, self.encoder.stretch or STRETCH)


def raised_count(counted: Sequence[int] | NDArray[np.int64], least: int, most: int) -> int:
    """The smallest minimum count, from ``least`` on, that leaves at most ``most`` features.

    counted: counted[c] features occur c times; counted[0] features occur more often than the largest c

    >>> raised_count([5, 100, 10, 2], 1, 50), raised_count([5, 100, 10, 2], 1, 6)
    (2, 4)
    """
    left = int(np.sum(counted))
    for c in range(1, len(counted)):
        if c >= least and left <= most:
            return c
        left -= int(counted[c])
    return max(least, len(counted))


def _types(block: TokenTable, plan: Plan) -> list[Any]:
    missing = [name for name in plan.sources if name not in block.columns]
    if missing:
        raise ConfigError(f"the features need column {missing[0]!r}; there are {', '.join(block.columns)}")
    return [block.columns[name].types for name in plan.sources]
