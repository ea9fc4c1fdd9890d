"""Sentence pairs to link, as a question sheet."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chaffinch.corpus import detect
from chaffinch.corpus.losses import Losses
from chaffinch.errors import DataError
from chaffinch.estimators import Aligner
from chaffinch.evaluate.mistakes import Reading
from chaffinch.evaluate.sources import LINKS, DocumentSource
from chaffinch.knobs import knobs
from chaffinch.lab.sheets.sheet import Confusion, Source, missed_and_invented, place, rows_of
from chaffinch.text.document import Links

Answer = frozenset[tuple[int, int]]


class LinkSheet:
    """Sentence pairs and their word links; of the right ones the sure must be found, the possible may be."""

    unit = "pairs"

    def __init__(self, path: Path) -> None:
        self.path = path
        format = detect(path)
        known = set() if format.options is None else {k.name for k in knobs(format.options)}
        lenient: dict[str, Any] = (
            {"out_of_range": "drop", "losses": Losses()} if "out_of_range" in known else {}
        )
        self.documents = rows_of(path, lenient)
        for n, d in enumerate(self.documents):
            if d.links is None:
                raise DataError(f"{place(path, n, d)}: has no translation to link")
        self.links = [d.links for d in self.documents if d.links is not None]
        self.labelled = any(one.sure or one.possible for one in self.links)
        self.gold = [one.sure for one in self.links] if self.labelled else []
        self.units = len(self.documents)

    def ask(self, model: Aligner) -> list[Answer]:
        """The links of each pair."""
        pairs = [(d.words(), list(one.target)) for d, one in zip(self.documents, self.links, strict=True)]
        return [frozenset(found) for found in model.predict(pairs)]

    def in_source(self, found: Source) -> list[Answer]:
        """The sure links of an output."""
        assert isinstance(found, DocumentSource)
        return [d.links.sure for d in found.outputs[0] if d.links is not None]

    def source(self, names: tuple[str, ...], outputs: Sequence[list[Answer]]) -> DocumentSource:
        """Each output as documents."""
        made = tuple(
            [replace(d, links=Links((), links)) for d, links in zip(self.documents, output, strict=True)]
            for output in outputs
        )
        return DocumentSource(LINKS, names, self.documents, made)

    def readings(self, outputs: Sequence[Sequence[Answer]], rows: Sequence[int]) -> list[list[Reading]]:
        """Each link."""
        return [[[("link", i, j) for i, j in sorted(answers[n])] for n in rows] for answers in outputs]

    def mistakes(self, row: int, right: Reading, given: Reading) -> Counter[Confusion]:
        """Links missed, links invented; those that are possible are neither."""
        possible = self.links[row].possible if self.labelled else frozenset()
        return missed_and_invented(right, [p for p in given if p[1:] not in possible or p in right])

    def piece(self, row: int, piece: tuple[str, int, int]) -> str:
        """The two words."""
        _, i, j = piece
        return f"{self.documents[row].words()[i]}-{self.links[row].target[j]}"

    def plain(self, answer: Answer) -> list[list[int]]:
        """Pairs of word numbers, from 1 as in files."""
        return [[i + 1, j + 1] for i, j in sorted(answer)]
