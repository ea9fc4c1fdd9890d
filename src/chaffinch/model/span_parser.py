"""A trained span parser: a tagger, a coarse model that prunes spans, and the model of trees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.features.span_templates import span_feature_names
from chaffinch.model.chain import ChainModel
from chaffinch.model.choice_evidence import ListExample
from chaffinch.model.confidence import CONFIDENCE
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.model.evidence import FEATURE, Term, span_offsets
from chaffinch.model.labels import LabelSet
from chaffinch.model.parsing import Parse, Sentence, SpanChance, distinct, flat_tree
from chaffinch.model.protocols import Packed, TaggingModel
from chaffinch.model.span_weights import COLUMNS, Columns, SpanWeights, WordNumbers
from chaffinch.model.tree_evidence import READINGS, phrase, tree_examples
from chaffinch.model.tree_labels import TreeLabels
from chaffinch.modelfile import ModelFile, Requirements, Saved, array, fact, inside, listed_strings, strings
from chaffinch.structures.tree import placed, span_row
from chaffinch.text.binary_trees import labels
from chaffinch.text.document import WORD
from chaffinch.text.table import TokenTable
from chaffinch.text.words import signature

UNKNOWN = "?"  # begins the name of a form among the words


@dataclass(frozen=True, eq=False)
class SpanParserModel:
    """Trees by span features: words are tagged, improbable spans pruned, the others scored.

    toll:  probability that a bracket must exceed; None: the best tree instead of the most expected brackets
    prune: spans less probable than this under the coarse model are pruned; 0: none
    """

    tagger: TaggingModel
    numbers: WordNumbers
    symbols: TreeLabels
    coarse: SpanWeights
    fine: SpanWeights
    toll: float | None
    prune: float

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its trees."""
        phrases = {label for symbol in self.symbols.symbols if symbol for label in labels(symbol)}
        return tuple(sorted(phrases | {*self.tagger.labels.outer}))

    def parses(self, sentences: Sequence[Sentence], k: int, threads: int) -> list[list[Parse]]:
        """The k best trees of each sentence."""
        if not sentences:
            return []
        tags = self.tags(sentences, threads)
        columns, bounds = self.columns([s.words for s in sentences], tags)
        open_ = self._open(columns, bounds, threads)
        if k == 1:
            return self._trees(sentences, tags, columns, bounds, open_, self._decoding, threads)
        found = self._trees(sentences, tags, columns, bounds, open_, 2 * k, threads)
        every = zip(sentences, tags, found, strict=True)
        return [distinct(k, partial(self._again, one, tagged, first, k)) for one, tagged, first in every]

    def chances(self, sentences: Sequence[Sentence], least: float, threads: int) -> list[list[SpanChance]]:
        """The phrases of each sentence with at least this probability."""
        if not sentences:
            return []
        columns, bounds = self.columns([s.words for s in sentences], self.tags(sentences, threads))
        return self._chances(columns, bounds, self._open(columns, bounds, threads), least, threads)

    def _chances(
        self,
        columns: Columns,
        bounds: NDArray[np.int64],
        open_: NDArray[np.uint8] | None,
        least: float,
        threads: int,
    ) -> list[list[SpanChance]]:
        p = self.fine.native.marginals(columns, bounds, open_, threads).reshape(-1, self.fine.tree.Y)
        found, at = [], 0
        for T in np.diff(bounds).tolist():
            rows = T * (T + 1) // 2
            found.append(self.symbols.chances(p[at : at + rows], T, least))
            at += rows
        return found

    def examples(self, sentence: Sentence, threads: int) -> list[ListExample]:
        """Expected brackets if these decide, and the features of spans with their weights."""
        (tags,) = self.tags([sentence], threads)
        columns, bounds = self.columns([sentence.words], [tags])
        open_ = self._open(columns, bounds, threads)
        ((chosen,),) = self._trees([sentence], [tags], columns, bounds, open_, self._decoding, threads)
        _, scores, nodes = self.fine.native.parse(
            columns, bounds, open_, 2 * READINGS, *self.symbols.brackets, 0.0, threads
        )
        features = self.fine.features.extract(columns, bounds, open_)
        readings = [
            (
                float(score),
                self.symbols.tree(y, sentence.words, tags),
                partial(self._terms, y, features, columns, sentence.words, tags),
            )
            for score, y in zip(scores, nodes.reshape(-1, 2 * len(sentence.words) - 1, 3), strict=True)
        ]
        if not readings:
            raise DataError(
                f"the parser has no tree for {' '.join(sentence.words)[:60]!r}, so there is nothing to explain"
            )
        return tree_examples(
            chosen.tree,
            readings,
            self.toll,
            lambda: self._chances(columns, bounds, open_, 0.0, threads)[0],
        )

    def _terms(
        self,
        y: NDArray[np.int32],
        features: tuple[NDArray[np.int64], NDArray[np.int32]],
        columns: Columns,
        words: Sequence[str],
        tags: Sequence[str],
    ) -> list[Term]:
        """The features of a tree's nodes, by label and by the label above, and pairs of parent and child."""
        (ptr, ids), T, Y = features, len(words), self.fine.tree.Y
        nodes, parent, left = placed(T, Y, y)
        names = self.symbols.shown
        keys = self.fine.features.keys()
        shown = [list(words), list(tags), [word[0] for word in words]]
        found = []
        for n, (start, end, label) in enumerate(nodes.tolist()):
            row = span_row(T, start, end)
            here = ids[ptr[row] : ptr[row + 1]]
            w = self.fine.span.of_rows(here).dense(3 * Y).astype(np.float64)
            above = int(parent[n])
            total = w[:, label].copy()
            what = f"{names[label]} over {phrase(words, start, end)}"
            if above >= 0:
                higher = int(nodes[above, 2])
                total += w[:, (Y if left[n] else 2 * Y) + higher]
                side, table = ("left", self.fine.left) if left[n] else ("right", self.fine.right)
                what += f", {side} under {names[higher]}"
                found.append(Term(what, float(table[label, higher]), start, offsets=span_offsets(start, end)))
            called = span_feature_names(self.fine.templates, COLUMNS, columns, shown, start, end)
            for f, weight in zip(here.tolist(), total.tolist(), strict=True):
                name = f"{what}: {called[int(keys[f])]}"
                found.append(Term(name, weight, start, FEATURE, span_offsets(start, end)))
        return found

    def tags(self, sentences: Sequence[Sentence], threads: int) -> list[list[str]]:
        """The parts of speech of each sentence: those given, else the tagger's."""
        todo = [s.words for s in sentences if s.tags is None]
        found = iter(self._tagged(todo, threads))
        return [next(found) if s.tags is None else s.tags for s in sentences]

    def columns(
        self, words: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]
    ) -> tuple[Columns, NDArray[np.int64]]:
        """Columns of numbers, sentences end to end, and their bounds."""
        bounds = np.cumsum([0, *map(len, words)], dtype=np.int64)
        every = [word for one in words for word in one]
        return self.numbers.columns(every, [tag for one in tags for tag in one], form_of), bounds

    def packed(self) -> Packed:
        """The content for a model file; the tagger's sections have their own prefix."""
        labels, tagger = self.tagger.labels, self.tagger.packed()
        own = _Sections(
            symbols=self.symbols.symbols,
            words=tuple(self.numbers.words),
            tags=tuple(self.numbers.tags),
            toll=self.toll,
            prune=self.prune,
            coarse=self.coarse.templates,
            tagger=_Tagger(labels.inner, labels.outer, tagger.templates, self.tagger, labels.outer_of),
        ).packed()
        weights = self.coarse.packed("coarse.") | self.fine.packed("fine.")
        return replace(own | weights, templates=self.fine.templates)

    @classmethod
    def loaded(cls, file: ModelFile) -> "SpanParserModel":
        """The model of a file, every size and index checked."""
        need = Requirements(file.without(CONFIDENCE))
        found = _Sections.loaded(need)
        fine = SpanWeights.loaded(need, "fine.", file.header.templates, need.size("Y"))
        coarse = SpanWeights.loaded(need, "coarse.", found.coarse, 2)
        need.nothing_else()
        own = found.tagger
        tagger = ChainModel.loaded(
            own.details,
            TemplateEncoder.loaded(own.details),
            labels=LabelSet(own.outer, own.inner, own.outer_of),
        )
        assert fine.tree.leaf is not None
        return cls(
            tagger=tagger,
            numbers=WordNumbers(numbered(found.words), numbered(found.tags)),
            symbols=TreeLabels(found.symbols, fine.tree.leaf, tagged=False),
            coarse=coarse,
            fine=fine,
            toll=found.toll,
            prune=found.prune,
        )

    def _again(self, sentence: Sentence, tags: list[str], first: list[Parse], k: int, n: int) -> list[Parse]:
        """The n best trees of one sentence; the first 2k are known."""
        if n == 2 * k:
            return first
        columns, bounds = self.columns([sentence.words], [tags])
        open_ = self._open(columns, bounds, 1)
        return self._trees([sentence], [tags], columns, bounds, open_, n, 1)[0]

    def _open(self, columns: Columns, bounds: NDArray[np.int64], threads: int) -> NDArray[np.uint8] | None:
        """The spans that the coarse model keeps; None: all."""
        return self.coarse.native.open(columns, bounds, self.prune, threads) if self.prune > 0 else None

    @property
    def _decoding(self) -> int:
        """What ``_trees`` calls the predicted tree."""
        return 0 if self.toll is not None else 1

    def _trees(
        self,
        sentences: Sequence[Sentence],
        tags: Sequence[list[str]],
        columns: Columns,
        bounds: NDArray[np.int64],
        open_: NDArray[np.uint8] | None,
        k: int,
        threads: int,
    ) -> list[list[Parse]]:
        """The k best binary trees of each sentence, restored; k = 0: the one with the most expected brackets."""
        counts, scores, nodes = self.fine.native.parse(
            columns, bounds, open_, k, *self.symbols.brackets, self.toll or 0.0, threads
        )
        nodes = nodes.reshape(-1, 3)
        found, at, row = [], 0, 0
        for sentence, tagged, count in zip(sentences, tags, counts.tolist(), strict=True):
            parses = []
            for _ in range(count):
                end = at + 2 * len(sentence.words) - 1
                tree = self.symbols.tree(nodes[at:end], sentence.words, tagged)
                parses.append(Parse(float(scores[row]), tree))
                at, row = end, row + 1
            found.append(parses or [Parse(-np.inf, flat_tree(sentence.words, tagged))])
        return found

    def _tagged(self, sentences: Sequence[Sequence[str]], threads: int) -> list[list[str]]:
        if not sentences:
            return []
        table = TokenTable.from_lists({WORD: [list(words) for words in sentences]})
        names = self._outer
        flat = [names[y] for y in self.tagger.decode(table, threads).tolist()]
        return [flat[a:b] for a, b in pairwise(table.ptr.tolist())]

    @cached_property
    def _outer(self) -> Sequence[str]:
        return self.tagger.labels.outer


def _names(**how: Any) -> Any:
    return fact(list, check=listed_strings, expected="a list of strings", made=tuple, **how)


@dataclass(frozen=True, eq=False)
class _Tagger(Saved):
    """The labels and templates of the tagger; details: the tagger itself, loaded as a file."""

    inner: tuple[str, ...] = _names(size="inner")
    outer: tuple[str, ...] = _names(size="outer")
    templates: tuple[str, ...] = _names()
    details: Any = inside(ModelFile)
    outer_of: NDArray[np.int32] = array("int32", "inner", below="outer")


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections besides the weights; the header has an object for the tagger."""

    symbols: tuple[str, ...] = strings("Y", distinct=True)
    words: tuple[str, ...] = strings("W", distinct=True)
    tags: tuple[str, ...] = strings("P", distinct=True)
    toll: float | None = fact((float, type(None)))
    prune: float = fact(float)
    coarse: tuple[str, ...] = _names()
    tagger: _Tagger = inside(_Tagger, "tagger.")


def form_of(word: str) -> str:
    """The name of a rare word's form."""
    return f"{UNKNOWN}{signature(word)}"


def numbered(names: Sequence[str]) -> Mapping[str, int]:
    """Names by number."""
    return {name: n for n, name in enumerate(names)}
