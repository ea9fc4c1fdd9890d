"""The protocol of trained parsers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from chaffinch.errors import DataError
from chaffinch.model.evidence import Explainable
from chaffinch.model.protocols import Packed
from chaffinch.text.document import Tree


@dataclass(frozen=True)
class Sentence:
    """Words, and their parts of speech if given."""

    words: list[str]
    tags: list[str] | None = None

    def __post_init__(self) -> None:
        if not self.words:
            raise DataError("expected at least one word in every sentence, found an empty sentence")
        if self.tags is not None and len(self.tags) != len(self.words):
            raise DataError(
                f"expected a part of speech for each of {len(self.words)} words, found {len(self.tags)}"
            )


@dataclass(frozen=True)
class Parse:
    """A tree with the logarithm of its score."""

    score: float
    tree: Tree


@dataclass(frozen=True)
class SpanChance:
    """The probability that the words start .. end-1 are a phrase with this label."""

    start: int
    end: int
    label: str
    p: float


class ParsingModel(Protocol):
    """A trained parser."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its trees, those of words included."""
        ...

    def parses(self, sentences: Sequence[Sentence], k: int, threads: int) -> list[list[Parse]]:
        """The k best trees of each sentence, best first; k = 1: the prediction."""
        ...

    def chances(self, sentences: Sequence[Sentence], least: float, threads: int) -> list[list[SpanChance]]:
        """The phrases of each sentence with probability at least ``least``, in order, the longer first."""
        ...

    def examples(self, sentence: Sentence, threads: int) -> Sequence[Explainable[Any, Any]]:
        """Evidence for the predicted tree against the runner-up."""
        ...

    def packed(self) -> Packed:
        """The content for a model file."""
        ...


def distinct(k: int, search: Callable[[int], list[Parse]]) -> list[Parse]:
    """The k best distinct trees: several binary trees may stand for the same tree, and the best of them counts.

    search(n) gives the n best, fewer if there are fewer.
    """
    asked = 2 * k
    while True:
        found = search(asked)
        kept: dict[Tree, Parse] = {}
        for one in found:
            kept.setdefault(one.tree, one)
        if len(kept) >= k or len(found) < asked or asked >= MOST * k:
            return list(kept.values())[:k]
        asked *= 2


MOST = 32  # times k: the search for distinct trees ends here


def flat_tree(words: Sequence[str], tags: Sequence[str]) -> Tree:
    """The fallback tree of a sentence without a derivation."""
    return Tree("FRAG", tuple(Tree(tag, (), word) for tag, word in zip(tags, words, strict=True)))
