"""A trained semi-Markov tagger: features of spans, weights for each type, segments put back into tags."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ModelFileError
from chaffinch.features.spans import SpanRows, span_features
from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import Packed, Reading
from chaffinch.modelfile import ModelFile, Requirements
from chaffinch.scorers import Example, Layout, Linear
from chaffinch.structures.segments import Segmentation, Segments
from chaffinch.text.gazetteers import Gazetteers
from chaffinch.text.schemes import OUTSIDE, SCHEMES, Scheme, TokenSpan, tag_set, tags_of
from chaffinch.text.schemes.table import spelled, tag
from chaffinch.text.table import TokenTable

BLOCKS = ("segment", "pair", "start", "end")


@dataclass(frozen=True)
class SpanEncoder:
    """Sentences as examples: a row of feature ids for each span.

    columns: the word's, and perhaps one more   keys: uint64 [F], ascending
    """

    columns: tuple[str, ...]
    L: int
    keys: NDArray[np.uint64]
    gazetteers: Gazetteers | None = None

    @staticmethod
    def found(table: TokenTable, columns: tuple[str, ...], L: int, gazetteers: Gazetteers | None) -> SpanRows:
        """All features of all spans."""
        extra = table.lists(columns[1]) if len(columns) > 1 else None
        return span_features(table.lists(columns[0]), L, gazetteers, extra)

    def examples(self, table: TokenTable, found: SpanRows | None = None) -> list[Example]:
        """One example per sentence."""
        rows = self.found(table, self.columns, self.L, self.gazetteers) if found is None else found
        place = np.searchsorted(self.keys, rows.keys)
        place[place == len(self.keys)] = 0
        known = self.keys[place] == rows.keys if len(self.keys) else np.zeros(len(place), bool)
        ptr = np.concatenate([[0], np.cumsum(known)])[rows.ptr].astype(np.int64)
        ids = place[known].astype(np.int32)
        made = []
        for a, b in zip((table.ptr[:-1] * self.L).tolist(), (table.ptr[1:] * self.L).tolist(), strict=True):
            bounds = ptr[a : b + 1]
            made.append(Example(bounds - bounds[0], ids[bounds[0] : bounds[-1]]))
        return made


@dataclass(frozen=True)
class SegmentModel:
    """types: the label of each segment, the first for what is outside   scheme: how segments are spelled as tags."""

    encoder: SpanEncoder
    scorer: Linear
    structure: Segments
    types: tuple[str, ...]
    scheme: Scheme
    labels: LabelSet

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that it reads."""
        return self.encoder.columns

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The tags of the best segmentation: int32 [tokens]."""
        found = [
            self._tags(self.structure.argmax(self.scorer.potentials(x)), x.T // self.encoder.L)
            for x in self.encoder.examples(table)
        ]
        return np.concatenate(found) if found else np.zeros(0, np.int32)

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best segmentations of each sentence."""
        return [
            [
                Reading(self._tags(y, x.T // self.encoder.L), score)
                for score, y in self.structure.kbest(self.scorer.potentials(x), k)
            ]
            for x in self.encoder.examples(table)
        ]

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """p(tag) of each token: the probabilities of the segments that give it."""
        every = [self._marginals(x) for x in self.encoder.examples(table)]
        return np.concatenate(every) if every else np.zeros((0, len(self.labels.outer)), np.float32)

    def segmentations(self, table: TokenTable) -> list[list[TokenSpan]]:
        """The spans of each sentence."""
        found = (self.structure.argmax(self.scorer.potentials(x)) for x in self.encoder.examples(table))
        return [self._spans(y) for y in found]

    def packed(self) -> Packed:
        """What a model file keeps."""
        arrays = {name: self.scorer.block(name).copy() for name in BLOCKS}
        strings: dict[str, list[str]] = {}
        if self.encoder.gazetteers is not None:
            for name, phrases in self.encoder.gazetteers.lists.items():
                strings[f"phrases.{name}"] = [" ".join(phrase) for phrase in phrases]
        details = {
            "L": self.encoder.L,
            "types": list(self.types),
            "scheme": self.scheme.name,
            "reads": list(self.columns),
            "lists": [] if self.encoder.gazetteers is None else list(self.encoder.gazetteers.lists),
        }
        return Packed(details, {"keys": self.encoder.keys, **arrays}, strings)

    @classmethod
    def loaded(cls, file: ModelFile) -> "SegmentModel":
        """The model of a file, every index checked."""
        details = file.header.details
        L, scheme = details.get("L"), SCHEMES.get(str(details.get("scheme")))
        types, reads, lists = (_texts(details.get(key)) for key in ("types", "reads", "lists"))
        if not isinstance(L, int) or not 1 <= L <= 1000 or not 1 <= len(reads) <= 2:
            raise ModelFileError(
                f"{file.source}: its header does not say how long segments are and what they read"
            )
        if scheme is None or types[:1] != [OUTSIDE] or len(set(types)) != len(types):
            raise ModelFileError(f"{file.source}: its header does not describe segments")
        need = Requirements(file, Y=len(types))
        keys = need.array("keys", np.uint64, ("F",), ascending=True)
        Y = len(types)
        scorer = Linear(Layout.of({"segment": (len(keys), Y), "pair": (Y, Y), "start": (Y,), "end": (Y,)}))
        for name, shape in (
            ("segment", ("F", "Y")),
            ("pair", ("Y", "Y")),
            ("start", (1, "Y")),
            ("end", (1, "Y")),
        ):
            scorer.block(name)[...] = need.array(name, np.float32, shape, finite=True)
        phrases = {name: list(need.strings(f"phrases.{name}", f"phrases {name}")) for name in lists}
        outer = tuple(file.header.labels)
        need.array("outer_of", np.int32, (len(outer),), below=len(outer))
        need.nothing_else()
        gazetteers = Gazetteers.from_lists(phrases) if lists else None
        encoder = SpanEncoder(tuple(reads), L, keys, gazetteers)
        return cls(encoder, scorer, structure_of(Y, L), tuple(types), scheme, LabelSet.plain(outer))

    def _spans(self, y: Segmentation) -> list[TokenSpan]:
        return [TokenSpan(self.types[label], start, end) for start, end, label in y if label]

    def _tags(self, y: Segmentation, T: int) -> NDArray[np.int32]:
        return self.labels.ids(tags_of(self._spans(y), T, self.scheme))

    def _marginals(self, x: Example) -> NDArray[np.float32]:
        L, T = self.encoder.L, x.T // self.encoder.L
        p = np.zeros((T, len(self.labels.outer)), np.float32)
        if not T:
            return p
        found = self.structure.logsum(self.scorer.potentials(x))[1]["segment"].reshape(T, L, -1)
        place = {label: i for i, label in enumerate(self.labels.outer)}
        p[:, place[OUTSIDE]] = found[:, 0, 0]
        for length in range(1, min(L, T) + 1):
            for offset in range(length):
                letter = spelled(self.scheme, offset == 0, offset == length - 1, False, False)
                for label, kind in enumerate(self.types[1:], 1):
                    inside = found[: T - length + 1, length - 1, label]
                    p[offset : offset + len(inside), place[tag(letter, kind, self.scheme)]] += inside
        return p


def _texts(value: object) -> list[str]:
    return list(value) if isinstance(value, list) and all(isinstance(v, str) for v in value) else []


def structure_of(Y: int, L: int) -> Segments:
    """Segments whose first label is for words outside, one at a time."""
    return Segments(Y, L, longest=(1, *[L] * (Y - 1)))


def labels_of(types: Sequence[str], scheme: Scheme, seen: Sequence[str]) -> LabelSet:
    """Every tag that segments of these types may be spelled with."""
    return LabelSet.plain([*tag_set(list(types[1:]), scheme), *seen])
