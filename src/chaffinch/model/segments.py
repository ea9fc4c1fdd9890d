"""A trained semi-Markov tagger: features of tokens and of spans, their weights, and tags from segments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.features.rows import FeatureRows
from chaffinch.features.spans import SpanRows, names_of_span, span_features
from chaffinch.model.encoders import TemplateEncoder, TokenFeatures, token_features
from chaffinch.model.evidence import Question, TaggedSentence
from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import Packed, Reading
from chaffinch.model.segment_evidence import SegmentExample
from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.model.temperature import loaded_temperature, packed_temperature, tempered
from chaffinch.modelfile import ModelFile, Requirements, Saved, array, fact, strings
from chaffinch.scorers.segments import SegmentScorer, places
from chaffinch.structures import Chain, Parts
from chaffinch.structures.segments import Segment
from chaffinch.text.document import WORD
from chaffinch.text.gazetteers import Gazetteers
from chaffinch.text.schemes import (
    IO,
    OUTSIDE,
    SCHEMES,
    Scheme,
    TokenSpan,
    legal_transitions,
    tag_set,
    tags_of,
)
from chaffinch.text.schemes.table import spelled, tag
from chaffinch.text.table import TokenTable


@dataclass(frozen=True)
class SpanIndex:
    """The features of spans that have weights.

    keys: uint64 [G], ascending
    """

    keys: NDArray[np.uint64]
    gazetteers: Gazetteers | None = None

    @classmethod
    def fitted(
        cls,
        table: TokenTable,
        L: int,
        gold: NDArray[np.int64],
        least: int,
        gazetteers: Gazetteers | None,
    ) -> "SpanIndex":
        """The features that occur in at least ``least`` of the spans in rows ``gold``."""
        rows = span_features(table.lists(WORD), L, gazetteers)
        sizes = rows.ptr[gold + 1] - rows.ptr[gold]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        keys, counts = np.unique(rows.keys[np.repeat(rows.ptr[gold], sizes) + within], return_counts=True)
        return cls(keys[counts >= least], gazetteers)

    def found(self, table: TokenTable, L: int) -> SpanRows:
        """The features of each span, known or not."""
        return span_features(table.lists(WORD), L, self.gazetteers)

    def known(self, found: SpanRows) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Bounds [tokens * L + 1] and numbers of the known features of each span."""
        place = np.searchsorted(self.keys, found.keys)
        place[place == len(self.keys)] = 0
        known = self.keys[place] == found.keys if len(self.keys) else np.zeros(len(place), bool)
        ptr = np.concatenate([[0], np.cumsum(known)])[found.ptr].astype(np.int64)
        return ptr, place[known].astype(np.int32)

    def named(
        self, found: SpanRows, tokens: slice, words: Sequence[str], L: int, w: NDArray[np.float64]
    ) -> dict[int, tuple[list[str], NDArray[np.float64]]]:
        """The known features of the spans of a sentence: row t L + length - 1 -> their names and rows of w."""
        named = {}
        ptr = found.ptr[tokens.start * L : tokens.stop * L + 1]
        for row in np.flatnonzero(np.diff(ptr)).tolist():
            keys = found.keys[ptr[row] : ptr[row + 1]]
            places = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
            known = np.flatnonzero(self.keys[places] == keys) if len(self.keys) else np.zeros(0, np.int64)
            if len(known):
                names = names_of_span(words, row // L, row % L + 1, self.gazetteers)
                named[row] = [names[k] for k in known.tolist()], w[places[known]]
        return named


@dataclass(frozen=True)
class SegmentModel:
    """types: the labels of segments, the first for tokens outside any span   scheme: the tag scheme of the output."""

    encoder: TemplateEncoder
    spans: SpanIndex
    weights: SegmentScorer
    types: tuple[str, ...]
    scheme: Scheme
    labels: LabelSet
    temperature: float = 1.0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that it reads."""
        return self.encoder.columns

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The tags of the best segmentation: int32 [tokens]."""
        problem = self._problem(self._spans(table), self.encoder.rows(table, threads))
        answers = self._best(problem, threads)
        lengths = np.diff(table.ptr).tolist()
        found = [self._tags(y, T) for y, T in zip(answers, lengths, strict=True)]
        return np.concatenate(found) if found else np.zeros(0, np.int32)

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best segmentations of each sentence."""
        structure = self.weights.structure
        return [
            [Reading(self._tags(y, T), score) for score, y in structure.kbest(potentials, k)]
            for potentials, T in self._potentials(table, threads)
        ]

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """p(tag) of each token: the probabilities of the segments that give it."""
        every = [
            self._marginals(tempered(potentials, self.temperature), T)
            for potentials, T in self._potentials(table, threads)
        ]
        return np.concatenate(every) if every else np.zeros((0, len(self.labels.outer)), np.float32)

    def posterior(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The tags with the highest sum of marginals of all that the tag scheme allows."""
        p = self.marginals(table, threads).astype(np.float64)
        chain = Chain(len(self.labels.outer), *legal_transitions(self.labels.outer, self.scheme))
        bounds = pairwise(table.ptr.tolist())
        return np.concatenate(
            [np.zeros(0, np.int32), *(chain.argmax(Parts(unary=p[a:b])) for a, b in bounds)]
        )

    def with_temperature(self, temperature: float) -> "SegmentModel":
        """The same model at this temperature; below 1 its probabilities are sharper."""
        return replace(self, temperature=temperature)

    def transitions(self) -> NDArray[np.float64]:
        """Potentials of pairs of segments [types, types]."""
        return self.weights.blocks()["pair"].astype(np.float64)

    def examples(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> Iterator[TaggedSentence]:
        """Features of tokens by their place, features of spans, and neighbouring segments."""
        rows = self.encoder.rows(table, threads)
        spans = self._spans(table)
        problem = self._problem(spans, rows)
        answers = self._best(problem, threads)
        for n, found in zip(which, token_features(self.encoder, rows, table, which), strict=True):
            T = len(found.words)
            p = self._marginals(self._scores(problem, n, T), T)
            made = [self._example(found, spans, answers[n], p)] if T else []
            yield TaggedSentence([self.labels.outer[i] for i in self._tags(answers[n], T).tolist()], made)

    def _example(
        self, features: TokenFeatures, spans: SpanRows, answer: Sequence[Segment], p: NDArray[np.float32]
    ) -> SegmentExample:
        words = features.words
        blocks = {name: block.astype(np.float64) for name, block in self.weights.blocks().items()}

        def tag_of(segment: Segment, t: int) -> str:
            if segment.label == 0:
                return OUTSIDE
            letter = spelled(self.scheme, t == segment.start, t == segment.end - 1, False, False)
            return tag(letter, self.types[segment.label], self.scheme)

        return SegmentExample(
            given=answer,
            structure=self.weights.structure,
            types=self.types,
            words=words,
            tokens=features.times_values([blocks["token"][ids] for ids in features.ids]),
            names=features.names,
            spans=self.spans.named(spans, features.tokens, words, self.weights.L, blocks["span"]),
            pair=blocks["pair"],
            start=blocks["start"][0],
            end=blocks["end"][0],
            labels=self.labels,
            p=p,
            read=lambda y: [self.labels.outer[i] for i in self._tags(y, len(words)).tolist()],
            tag=tag_of,
        )

    widths = (8, 6)

    def magnitudes(self) -> NDArray[np.float32]:
        """The absolute values of the weights of features; transitions are always kept."""
        blocks = self.weights.blocks()
        return np.abs(np.concatenate([blocks["token"].ravel(), blocks["span"].ravel()]))

    def shrunk(self, threshold: float, bits: int) -> "SegmentModel":
        """The same model without weights below the threshold, the others rounded, features without weights removed."""
        own = self.weights
        blocks = own.blocks()
        cut = {
            name: SparseWeights.of(
                np.where(np.abs(blocks[name]) < threshold, np.float32(0), blocks[name]), bits
            )
            for name in ("token", "span")
        }
        encoder, order = self.encoder.reduced(cut["token"].counts > 0)
        known = np.flatnonzero(cut["span"].counts)
        made = SegmentScorer.zeros(len(order), len(known), own.longest)
        for name, block in made.blocks().items():
            rows = {"token": order, "span": known}.get(name)
            block[...] = blocks[name] if rows is None else cut[name].dense(block.shape[1])[rows]
        spans = replace(self.spans, keys=self.spans.keys[known])
        return replace(self, encoder=encoder, spans=spans, weights=made)

    def packed(self) -> Packed:
        """The content for a model file."""
        lists = {} if self.spans.gazetteers is None else self.spans.gazetteers.lists
        own = _Sections(
            keys=self.spans.keys,
            longest=self.weights.longest,
            types=list(self.types),
            scheme=self.scheme.name,
            lists=list(lists),
            phrases={name: [" ".join(p) for p in phrases] for name, phrases in lists.items()},
            **self.weights.blocks(),
        )
        return self.encoder.packed() | own.packed() | packed_temperature(self.temperature)

    @classmethod
    def loaded(cls, file: ModelFile) -> "SegmentModel":
        """The model of a file, every index checked."""
        encoder = TemplateEncoder.loaded(file)
        need = Requirements(file, F=encoder.n_features)
        found = _Sections.loaded(need)
        if found.types[:1] != [OUTSIDE] or len(set(found.types)) != len(found.types):
            raise need.fault("its header does not list the types of its segments")
        need.bind("array 'token'", places(len(found.types)), found.token.shape[1])
        if found.longest[0] != 1:
            raise need.fault(
                "the model is damaged: array 'longest' must hold a length for every type of segment"
            )
        weights = SegmentScorer.zeros(encoder.n_features, len(found.keys), found.longest)
        for name, block in weights.blocks().items():
            block[...] = getattr(found, name)
        spans = SpanIndex(found.keys, Gazetteers.from_lists(found.phrases) if found.phrases else None)
        labels = LabelSet.plain(file.header.labels)
        return cls(
            encoder,
            spans,
            weights,
            tuple(found.types),
            SCHEMES[found.scheme],
            labels,
            loaded_temperature(file),
        )

    def _spans(self, table: TokenTable) -> SpanRows:
        return self.spans.found(table, self.weights.L)

    def _problem(self, found: SpanRows, rows: FeatureRows) -> Any:
        return sentences_of(self.spans, found, rows, self.weights.F, self.weights.longest)

    def _best(self, problem: Any, threads: int) -> list[list[Segment]]:
        """The best segmentation of each sentence."""
        flat, counts = problem.best(self.weights.w, threads)
        rows, ends = flat.reshape(-1, 3).tolist(), np.cumsum(counts).tolist()
        return [
            [Segment(t, t + length, y) for t, length, y in rows[a:b]]
            for a, b in zip([0, *ends], ends, strict=False)
        ]

    def _potentials(self, table: TokenTable, threads: int) -> list[tuple[Parts, int]]:
        problem = self._problem(self._spans(table), self.encoder.rows(table, threads))
        return [(self._scores(problem, n, T), T) for n, T in enumerate(np.diff(table.ptr).tolist())]

    def _scores(self, problem: Any, n: int, T: int) -> Parts:
        """The potentials of sentence n."""
        Y, L = len(self.types), self.weights.L
        segment, pair, start, end = problem.scores(self.weights.w, n)
        return Parts(segment=segment.reshape(T * L, Y), pair=pair.reshape(Y, Y), start=start, end=end)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels.outer)}

    def _tags(self, y: Sequence[Segment], T: int) -> NDArray[np.int32]:
        spans: list[TokenSpan] = []
        for span in (TokenSpan(self.types[label], start, end) for start, end, label in y if label):
            before = spans[-1] if spans else None
            if self.scheme is IO and before and (before.label, before.end) == (span.label, span.start):
                spans[-1] = TokenSpan(span.label, before.start, span.end)  # tags cannot separate them
            else:
                spans.append(span)
        return self.labels.ids(tags_of(spans, T, self.scheme))

    def _marginals(self, potentials: Parts, T: int) -> NDArray[np.float32]:
        L = self.weights.L
        p = np.zeros((T, len(self.labels.outer)), np.float32)
        if not T:
            return p
        found = self.weights.structure.logsum(potentials)[1]["segment"].reshape(T, L, -1)
        p[:, self._place[OUTSIDE]] = found[:, 0, 0]
        for length in range(1, min(L, T) + 1):
            for offset in range(length):
                letter = spelled(self.scheme, offset == 0, offset == length - 1, False, False)
                for label, kind in enumerate(self.types[1:], 1):
                    inside = found[: T - length + 1, length - 1, label]
                    p[offset : offset + len(inside), self._place[tag(letter, kind, self.scheme)]] += inside
        return p


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of a semi-Markov tagger besides its encoder's; token has a column for each place in a segment."""

    keys: NDArray[np.uint64] = array("uint64", "G", ascending=True)
    longest: NDArray[np.int32] = array("int32", "Y", low=1, below=1001)
    types: list[str] = fact(list, check=_are_texts, expected="a list of labels", size="Y")
    scheme: str = fact(str, check=SCHEMES.__contains__, expected="a tag scheme")
    lists: list[str] = fact(list, check=_are_texts, expected="names of lists")
    phrases: dict[str, list[str]] = strings("phrases", each="lists", made=list)
    token: NDArray[np.float32] = array("float32", "F", "P", finite=True)
    span: NDArray[np.float32] = array("float32", "G", "Y", finite=True)
    pair: NDArray[np.float32] = array("float32", "Y", "Y", finite=True)
    start: NDArray[np.float32] = array("float32", 1, "Y", finite=True)
    end: NDArray[np.float32] = array("float32", 1, "Y", finite=True)


def sentences_of(
    spans: SpanIndex, found: SpanRows, rows: FeatureRows, F: int, longest: NDArray[np.int32]
) -> Any:
    """Sentences with the features of their tokens and spans, for the core."""
    span_ptr, span_ids = spans.known(found)
    return _core.SegmentProblem(
        rows.sentences,
        rows.ptr,
        rows.ids,
        span_ptr,
        span_ids,
        F,
        len(spans.keys),
        longest,
        values=rows.values,
    )


def labels_of(types: Sequence[str], scheme: Scheme, seen: Sequence[str]) -> LabelSet:
    """Every tag that segments of these types can produce."""
    return LabelSet.plain([*tag_set(list(types[1:]), scheme), *seen])
