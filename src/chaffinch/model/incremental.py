"""Greedy, easiest-first and beam taggers: one decision after the other, with earlier labels as context."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, ModelFileError
from chaffinch.features.reduction import reduced
from chaffinch.features.rows import FeatureRows
from chaffinch.model.dictionary import LabelDictionary
from chaffinch.model.encoders import TemplateEncoder, token_features
from chaffinch.model.evidence import Named, Question, TaggedSentence
from chaffinch.model.incremental_evidence import BeamExample, Path, StepScores, TokenRows, step_sentence
from chaffinch.model.label_observations import (
    Contexts,
    context_names,
    native_templates,
    observed,
    used_observations,
)
from chaffinch.model.labels import LabelSet
from chaffinch.model.needs import SavedNeeds, loaded_needs
from chaffinch.model.protocols import Packed, Reading
from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.model.temperature import loaded_temperature, packed_temperature
from chaffinch.modelfile import ModelFile, Requirements, Saved, array, fact, nested
from chaffinch.search import Beam, EasiestFirst, IncrementalSearch, LeftToRight, Legality
from chaffinch.text.table import TokenTable

SEARCHES: dict[str, type[LeftToRight] | type[EasiestFirst] | type[Beam]] = {
    search.kind: search for search in (LeftToRight, EasiestFirst, Beam)
}


@dataclass(frozen=True)
class IncrementalWeights:
    """unary [F, Y] float32 by feature; context [C, Y] float32 by context of labels.

    template: number of the label template   key: its observation and labels in one number
    """

    unary: NDArray[np.float32]
    template: NDArray[np.int32]
    key: NDArray[np.uint64]
    context: NDArray[np.float32]


@dataclass(frozen=True)
class Steps:
    """The decisions for all tokens.

    labels: int32 [T]   order: int32 [T], the step within the sentence, from 0
    scores: float32 [T, Y] and p: float32 [T, Y], of every inner label at that step
    """

    labels: NDArray[np.int32]
    order: NDArray[np.int32]
    scores: NDArray[np.float32]
    p: NDArray[np.float32]


@dataclass(frozen=True)
class IncrementalModel:
    """score(t, y) = sum of unary[features at t][y] + sum of context[contexts of labels at t][y].

    dictionary:  words that get their label without search
    temperature: scores are divided by it before the softmax that gives a decision's confidence; 1 is raw
    bits:        number of bits of stored weights; None: float32
    """

    encoder: TemplateEncoder
    weights: IncrementalWeights
    labels: LabelSet
    search: IncrementalSearch
    legality: Legality
    dictionary: LabelDictionary = field(default_factory=LabelDictionary)
    temperature: float = 1.0
    bits: int | None = None

    def __post_init__(self) -> None:
        w = self.weights
        kernel = _core.IncrementalTagger(
            w.unary,
            native_templates(self.encoder),
            w.template,
            w.key,
            w.context,
            **self._rules(),
        )
        object.__setattr__(self, "_kernel", kernel)
        object.__setattr__(self, "_observed", list(observed(self.encoder).values()))

    def _rules(self) -> dict[str, Any]:
        """The legal labels, as arguments for the core."""
        return self.legality.native(self.labels.inner)

    def _barred(self, ptr: NDArray[np.int64]) -> NDArray[np.uint8] | None:
        """The labels that are forbidden at each token [tokens, Y]; None: none."""
        return None

    def _known(self, table: TokenTable) -> NDArray[np.int32] | None:
        """The labels of words that need no search."""
        return self.dictionary.known(table)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the encoder reads."""
        return self.encoder.columns

    def names(self, rows: NDArray[np.int32]) -> list[str]:
        """The names of rows of weights: features of the input, then contexts of labels."""
        F = len(self.weights.unary)
        seen = rows[rows >= F] - F
        contexts = iter(
            context_names(
                self.encoder, self.labels.inner, self.weights.template[seen], self.weights.key[seen]
            )
        )
        features = iter(self.encoder.names(rows[rows < F]))
        return [next(features if row < F else contexts) for row in rows.tolist()]

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The labels that the search decides on."""
        return self.labels.outer_of[self._inner(table, threads)]

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The k best of the beam; a search that keeps one labelling has one reading."""
        if not isinstance(self.search, Beam):
            if k > 1:
                raise ConfigError(
                    f"{self.search.kind} search keeps one labelling, so it cannot list the {k} best; "
                    "use beam or perceptron"
                )
            steps = self.steps(table, threads)
            chosen = steps.scores[np.arange(len(steps.labels)), steps.labels].astype(np.float64)
            return [
                [Reading(self.labels.outer_of[steps.labels[a:b]], float(chosen[a:b].sum()))]
                for a, b in _bounds(table)
            ]
        labels, scores, found = self._beam(table, threads, self._known(table), k=k)
        readings = []
        for n, (a, b) in enumerate(_bounds(table)):
            paths = labels[k * a : k * b].reshape(k, b - a)
            readings.append(
                [
                    Reading(self.labels.outer_of[paths[i]], float(scores[n * k + i]))
                    for i in range(int(found[n]))
                ]
            )
        return readings

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """The confidence of each decision: the softmax over its labels when it was made."""
        return self.labels.collapsed(self.steps(table, threads).p)

    def posterior(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """The decided labels: confidences are conditional on earlier decisions, so they give no other labelling."""
        return self.labels.outer_of[self.steps(table, threads).labels]

    def steps(self, table: TokenTable, threads: int) -> Steps:
        """Every decision with its place in the order, its scores and its probabilities."""
        if isinstance(self.search, Beam):
            raise ConfigError(
                "beam search compares prefixes of labellings, so it has no confidence for each label; "
                "use greedy, easiest-first or crf"
            )
        labels, order, scores, p = self._tagged(table, threads, self._known(table), details=True)
        Y = len(self.labels.inner)
        return Steps(labels, order, scores.reshape(-1, Y), p.reshape(-1, Y))

    def examples(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> Iterator[TaggedSentence]:
        """Features, and contexts of labels decided before."""
        known, rows = self.dictionary.known(table), self.encoder.rows(table, threads)
        for found in token_features(self.encoder, rows, table, which):
            seen = found.observations[:, self._observed]  # type: ignore[attr-defined, index]
            listed = None if known is None else known[found.tokens]
            yield self._tagged_sentence(
                TokenRows(found.words, found.ids, seen, listed, found.names, found.values), question
            )

    def _tagged_sentence(self, x: TokenRows, question: Question) -> TaggedSentence:
        if not x.words or not isinstance(self.search, Beam):
            return step_sentence(self, x, question)
        beam = BeamExample(self, x, self._beam_paths, self.reach, x.words, self.labels)
        return TaggedSentence(beam.spelt(beam.answer), [beam])

    def steps_of(self, x: TokenRows) -> StepScores:
        """The decisions of a search that makes one after the other."""
        labels, order, scores, p = self._run(x, details=True)
        Y = len(self.labels.inner)
        return StepScores(order, labels, scores.reshape(-1, Y), self.labels.collapsed(p.reshape(-1, Y)))

    def unary(self, ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """Weights [n, Y] of features."""
        return self.weights.unary[ids].astype(np.float64)

    @property
    def reach(self) -> int:
        """The number of labels back that contexts read."""
        return max((-o for t in self.encoder.features.label_templates for o in t.offsets), default=0)

    def contexts(
        self, x: TokenRows, t: int, decided: Sequence[int]
    ) -> tuple[list[Named], NDArray[np.float64]]:
        """The contexts that have weights, given the labels decided so far (-1: not yet): names and weights [n, Y]."""
        rows = self._contexts.rows(x.observations[t], t, decided)
        return self._contexts.names(rows), self.weights.context[rows].astype(np.float64)

    def _beam_paths(self, x: TokenRows, k: int) -> list[Path]:
        """The k best labellings that a beam finds."""
        labels, scores, found = self._run(x, k=k)
        paths = labels.reshape(k, len(x.ids))
        return [Path(float(scores[i]), paths[i]) for i in range(int(found[0]))]

    @cached_property
    def _contexts(self) -> Contexts:
        return Contexts(self.encoder, self.labels.inner, self.weights.template, self.weights.key)

    def _run(self, x: TokenRows, *, details: bool = False, k: int = 1) -> Any:
        """The search on one sentence."""
        ptr = np.cumsum([0, *map(len, x.ids)], dtype=np.int64)
        ids = np.ascontiguousarray(np.concatenate(x.ids), np.int32)
        given = (np.array([0, len(x.ids)], np.int64), ptr, ids, np.ascontiguousarray(x.observations))
        values = None if x.values is None else np.ascontiguousarray(np.concatenate(x.values), np.float32)
        if isinstance(self.search, Beam):
            width = max(k, self.search.width)
            return self._native().beam(*given, width=width, k=k, threads=1, known=x.known, values=values)
        return self._native().tag(
            *given,
            direction=self.search.kind,
            ease=self.search.ease if isinstance(self.search, EasiestFirst) else "score",
            temperature=self.temperature,
            details=details,
            threads=1,
            known=x.known,
            values=values,
        )

    def with_temperature(self, temperature: float) -> "IncrementalModel":
        """The same model with calibrated confidence."""
        made = copy(self)  # the kernel does not depend on the temperature
        object.__setattr__(made, "temperature", temperature)
        return made

    def packed(self) -> Packed:
        """The encoder's sections, the weights without their zeros, and the search."""
        w, legal = self.weights, self.legality
        own = _Sections(
            search={"kind": self.search.kind, **asdict(self.search)},
            bits=self.bits,
            unary=SparseWeights.of(w.unary, self.bits),
            template=w.template,
            key=w.key,
            context=SparseWeights.of(w.context, self.bits),
            legal=_Masks(legal.follows, legal.starts, legal.ends),
        )
        facts = packed_temperature(self.temperature) | SavedNeeds.of(legal.needs).packed()
        return self.encoder.packed() | own.packed() | facts | self.dictionary.packed()

    widths = (8, 6)

    def magnitudes(self) -> NDArray[np.float32]:
        """The absolute values of all weights."""
        return np.abs(np.concatenate([self.weights.unary.ravel(), self.weights.context.ravel()]))

    def shrunk(self, threshold: float, bits: int) -> "IncrementalModel":
        """The same model without weights below the threshold, the others rounded, features without weights removed."""
        return self.pruned(threshold, bits).reduced()

    def reduced(self) -> "IncrementalModel":
        """The same model without the features, contexts and strings that have no weights."""
        w = self.weights
        base = len(self.labels.inner) + 3
        templates = self.encoder.features.label_templates
        powers = np.array([base ** len(t.offsets) for t in templates], np.uint64)
        kept = w.context.any(axis=1)
        template, key, context = w.template[kept], w.key[kept], w.context[kept]
        seen = (key // powers[template]).astype(np.int64) if len(key) else np.zeros(0, np.int64)
        used = used_observations(self.encoder, template, seen)
        smaller = reduced(self.encoder.features, np.any(w.unary != 0, axis=1), used)
        renumbered = [np.cumsum(mask) - 1 for mask in used]
        moved = np.array([renumbered[t][o] for t, o in zip(template, seen, strict=True)], np.uint64)
        key = (key % powers[template] + moved * powers[template]) if len(key) else key
        order = np.lexsort((key, template))
        weights = IncrementalWeights(
            np.ascontiguousarray(w.unary[smaller.order]),
            np.ascontiguousarray(template[order]),
            np.ascontiguousarray(key[order].astype(np.uint64)),
            np.ascontiguousarray(context[order]),
        )
        return replace(self, encoder=TemplateEncoder(smaller.encoder), weights=weights)

    def pruned(self, threshold: float, bits: int | None) -> "IncrementalModel":
        """The same model without weights below the threshold, the others rounded to ``bits``."""
        w = self.weights

        def cut(a: NDArray[np.float32]) -> NDArray[np.float32]:
            large = np.where(np.abs(a) < threshold, np.float32(0), a)
            return large if bits is None else SparseWeights.of(large, bits).dense(a.shape[1])

        return replace(self, weights=replace(w, unary=cut(w.unary), context=cut(w.context)), bits=bits)

    @classmethod
    def loaded(cls, file: ModelFile) -> "IncrementalModel":
        """The model of a file, every size and index checked."""
        encoder = TemplateEncoder.loaded(file)
        Y = len(file.header.labels)
        need = Requirements(file, F=encoder.n_features, Y=Y)
        labels = LabelSet.loaded(need, inner=file.header.labels)
        found = _Sections.loaded(need)
        masks = {name: mask.astype(bool) for name, mask in vars(found.legal).items() if mask is not None}
        settings = {name: value for name, value in found.search.items() if name != "kind"}
        needs, temperature = loaded_needs(need), loaded_temperature(file)
        dictionary = LabelDictionary.loaded(need)
        try:
            return cls(
                encoder,
                IncrementalWeights(found.unary.dense(Y), found.template, found.key, found.context.dense(Y)),
                labels,
                SEARCHES[found.search["kind"]](**settings),
                Legality(**masks, needs=needs),
                dictionary,
                temperature,
                found.bits,
            )
        except (TypeError, ValueError, KeyError, ConfigError) as e:
            raise ModelFileError(f"{file.source}: its tagger is damaged: {e}") from None

    def _inner(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        return self._searched(table, threads, self._known(table))

    def _searched(
        self, table: TokenTable, threads: int, known: NDArray[np.int32] | None
    ) -> NDArray[np.int32]:
        """The inner labels that the search decides on, given those of known words."""
        run = self._beam if isinstance(self.search, Beam) else self._tagged
        labels: NDArray[np.int32] = run(table, threads, known)[0]
        return labels

    def _tagged(
        self, table: TokenTable, threads: int, known: NDArray[np.int32] | None, *, details: bool = False
    ) -> Any:
        rows = self.encoder.rows(table, threads)
        ease = self.search.ease if isinstance(self.search, EasiestFirst) else "score"
        return self._native().tag(
            table.ptr,
            rows.ptr,
            rows.ids,
            self._observations(rows),
            direction=self.search.kind,
            ease=ease,
            temperature=self.temperature,
            details=details,
            threads=threads,
            known=known,
            barred=self._barred(table.ptr),
            values=rows.values,
        )

    def _beam(self, table: TokenTable, threads: int, known: NDArray[np.int32] | None, *, k: int = 1) -> Any:
        assert isinstance(self.search, Beam)
        rows = self.encoder.rows(table, threads)
        width = max(k, self.search.width)
        return self._native().beam(
            table.ptr,
            rows.ptr,
            rows.ids,
            self._observations(rows),
            width=width,
            k=k,
            threads=threads,
            known=known,
            barred=self._barred(table.ptr),
            values=rows.values,
        )

    def _observations(self, rows: FeatureRows) -> NDArray[np.int32]:
        wanted: list[int] = self._observed  # type: ignore[attr-defined]
        return np.ascontiguousarray(rows.observations[:, wanted])

    def _native(self) -> Any:
        return self._kernel  # type: ignore[attr-defined]


LEGAL = "legal."  # prefix of the masks


@dataclass(frozen=True, eq=False)
class _Masks(Saved):
    """The sections of the masks of legality, as bytes."""

    follows: NDArray[Any] | None = array("uint8", "Y", "Y", optional=True)
    starts: NDArray[Any] | None = array("uint8", "Y", optional=True)
    ends: NDArray[Any] | None = array("uint8", "Y", optional=True)


def _is_search(header: Any) -> bool:
    return header.get("kind") in SEARCHES


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of an incremental tagger besides its encoder's."""

    search: dict[str, Any] = fact(dict, check=_is_search, expected=f"a search: {', '.join(SEARCHES)}")
    unary: SparseWeights = nested(SparseWeights, "unary.", rows="F", width="Y")
    template: NDArray[np.int32] = array(
        "int32", "C", stored=("uint8", "int32"), low=0, below=2**31 - 1, name="context.template"
    )
    key: NDArray[np.uint64] = array("uint64", "C", stored=("uint32", "uint64"), name="context.key")
    context: SparseWeights = nested(SparseWeights, "context.", rows="C", width="Y")
    legal: _Masks = nested(_Masks, LEGAL)
    bits: int | None = fact((int, type(None)), default=None)


def _bounds(table: TokenTable) -> Iterator[tuple[int, int]]:
    return pairwise(table.ptr.tolist())
