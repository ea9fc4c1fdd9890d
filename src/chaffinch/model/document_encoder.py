"""The encoder of document classifiers: n-grams of text, numbers beside them, or numbers alone."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import thin_rows
from chaffinch.errors import DataError
from chaffinch.features.encoder_file import ClusterSections
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.ranks import counts_by_rank
from chaffinch.features.rows import SparseRows, joined
from chaffinch.features.shared_counts import SharedCounts
from chaffinch.features.union import FeatureUnion
from chaffinch.features.views import View
from chaffinch.model.evidence import Grams, Named, Seen
from chaffinch.model.valences import Valences
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, fact, inside, nested
from chaffinch.text.clusters import Clusters
from chaffinch.text.words import stems, word_tokens

RENORMALISED = {"l1": 1, "l2": 2}  # norms that are restored after features are dropped


@dataclass(frozen=True)
class DocumentEncoder:
    """Documents to rows of features.

    union:   the vectorisers, with their columns in order; None: documents are rows of numbers
    scales:  factor of each vectoriser's values, so that none dominates
    views:   the view of the text that each vectoriser reads
    columns: number of numeric columns of each document, beside the text or instead of it
    valences: features learnt from labelled phrases, as further columns; or None
    added:   whether the last vectoriser reads words that were added after training; files do not tell

    >>> encoder = DocumentEncoder.of([TextVectorizer(ngram_high=1)], [2.0])
    >>> encoder.fitted_rows(["tea", "no tea"], None, None).dense().tolist()
    [[2.0, 0.0], [2.0, 2.0]]
    """

    union: FeatureUnion | None
    scales: tuple[float, ...] = ()
    columns: int = 0
    views: tuple[View, ...] = ()
    clusters: Clusters | None = None
    valences: Valences | None = None
    added: bool = False

    @classmethod
    def of(
        cls,
        vectorizers: Sequence[TextVectorizer],
        scales: Sequence[float],
        views: Sequence[View] | None = None,
        clusters: Clusters | None = None,
    ) -> "DocumentEncoder":
        """An unfitted encoder of text."""
        seen = (View(),) * len(vectorizers) if views is None else tuple(views)
        return cls(FeatureUnion(tuple(vectorizers), scaled=True), tuple(scales), 0, seen, clusters)

    @property
    def reads(self) -> str:
        """The input: ``texts`` or ``numbers``."""
        return "numbers" if self.union is None else "texts"

    @property
    def n_features(self) -> int:
        """F."""
        if self.union is None:
            return self.columns
        return self.union.offsets()[-1] + (0 if self.valences is None else self.valences.columns)

    def fitted_rows(
        self,
        texts: list[str],
        labels: Sequence[Any] | None,
        beside: Any,
        shared: SharedCounts | None = None,
    ) -> SparseRows:
        """Learn the features of texts, and return their rows.

        shared: counts of the same texts that other encoders read too
        """
        if self.union is None:
            raise DataError("this encoder reads numbers, not texts")
        extra = self.union.first_beside(beside)
        vectorizers = zip(self.union.vectorizers, self.views, self.scales, strict=True)
        blocks = [
            vectorizer.fit_transform(
                view.of(texts, self.clusters), labels, shared=shared if view.whole else None
            ).times(scale)
            for vectorizer, view, scale in vectorizers
        ]
        return joined(blocks + extra)

    def counts_wanted(self) -> list[tuple[Hashable, bool]]:
        """The counts of whole texts that vectorisers need: their settings, and whether presence is enough."""
        found = zip(() if self.union is None else self.union.vectorizers, self.views, strict=False)
        return [(one.counting, one.binary) for one, view in found if view.whole and one.counting is not None]

    def rows(self, X: Any, beside: Any, threads: int) -> SparseRows:
        """The rows of new documents."""
        if self.union is None:
            return SparseRows.of(X)
        extra = self.union.more_beside(beside)
        blocks = []
        for vectorizer, view, scale in zip(self.union.vectorizers, self.views, self.scales, strict=True):
            blocks.append(vectorizer.transform(view.of(X, self.clusters), threads=threads).times(scale))
        if self.valences is not None:
            extra.append(SparseRows.of(self.valences.features(X, threads)))
        return joined(blocks + extra)

    @property
    def reads_bytes(self) -> bool:
        """Whether :meth:`rows` takes texts of the core."""
        if self.union is None or self.valences is not None or not all(view.whole for view in self.views):
            return False
        return all(vectorizer.reads_bytes for vectorizer in self.union.vectorizers)

    @cached_property
    def _word_vectorizer(self) -> TextVectorizer | None:
        """The first vectoriser of words in whole texts with an exact index, if words can be added after it."""
        if self.union is None or self.union.beside_columns or self.valences is not None:
            return None
        readers = zip(self.union.vectorizers, self.views, strict=True)
        found = [one for one, view in readers if view.whole and one.unit == "word" and not one.hash_bits]
        return found[0] if found else None

    def new_words(self, texts: list[str]) -> list[str]:
        """The words of texts that are part of no n-gram of words; none if the encoder does not read words.

        >>> encoder = DocumentEncoder.of([TextVectorizer(ngram_low=2)], [1.0])
        >>> _ = encoder.fitted_rows(["no tea", "tea time"], None, None)
        >>> encoder.new_words(["No time for tea"]), encoder.with_words(["for"], 1.0).new_words(["for you"])
        (['for'], ['you'])
        """
        like = self._word_vectorizer
        if like is None or self.union is None:
            return []
        known = set(like.symbols())
        if self.added:
            known.update(self.union.vectorizers[-1].symbols())
        return [word for word in like.words_of(texts) if word not in known]

    @property
    def has_common_words(self) -> bool:
        """Whether a word that is part of no n-gram is rare: no n-gram was left out for being common.

        Single words may have been dropped for their small weights; n-grams with them remain.
        """
        like = self._word_vectorizer
        return like is not None and like.ngram_high > 1 and like.max_df == 1.0 and like.feature_size is None

    def likely_counts(self, ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """How many texts of the training likely had each of some features: float64 [len(ids)].

        Vectorisers number n-grams by falling frequency. Hashed features, numbers and words that were added later: 0.
        """
        counts = np.zeros(len(ids))
        vectorizers = () if self.union is None else self.union.vectorizers
        bounds = [0] if self.union is None else self.union.offsets()
        for k, vectorizer in enumerate(vectorizers[:-1] if self.added else vectorizers):
            if not vectorizer.hash_bits:
                here = (ids >= bounds[k]) & (ids < bounds[k + 1])
                counts[here] = counts_by_rank(ids[here] - bounds[k], bounds[k + 1] - bounds[k])
        return counts

    def with_words(self, words: list[str], value: float) -> "DocumentEncoder":
        """The encoder with a column for each of these words, after all others; value: of such a feature.

        Words that were added before keep the value they have.
        """
        like = self._word_vectorizer
        if like is None or self.union is None:
            raise DataError("this encoder does not read words: none can be added")
        vectorizers = self.union.vectorizers
        added = vectorizers[-1].names() if self.added else []
        reader = like.of_words([*added, *words])
        if self.added:
            return replace(self, union=replace(self.union, vectorizers=(*vectorizers[:-1], reader)))
        return replace(
            self,
            union=replace(self.union, vectorizers=(*vectorizers, reader)),
            scales=(*self.scales, value),
            views=(*self.views, View()),
            added=True,
        )

    def restricted(self, keep: NDArray[np.bool_]) -> "DocumentEncoder":
        """The encoder of some of the columns; numbers and hashed n-grams are always kept.

        keep: bool [F], set to true for columns that cannot be dropped
        """
        if self.union is None:
            keep[:] = True
            return self
        vectorizers, bounds = [], self.union.offsets()
        for i, vectorizer in enumerate(self.union.vectorizers):
            here = keep[bounds[i] : bounds[i + 1]]
            if vectorizer.hash_bits:
                here[:] = True
            vectorizers.append(vectorizer if here.all() else vectorizer.restricted(here))
        keep[bounds[len(self.union.vectorizers)] :] = True
        return replace(self, union=replace(self.union, vectorizers=tuple(vectorizers)))

    def thinned(self, rows: SparseRows, keep: NDArray[np.bool_]) -> SparseRows:
        """Rows without the features that ``restricted(keep)`` drops, as its encoder gives them, columns not renumbered.

        A kind of features with unit norm is normalised again.

        keep: bool [F], set to true for columns that cannot be dropped
        """
        if self.union is None:
            return rows
        bounds, vectorizers = self.union.offsets(), self.union.vectorizers
        keep[bounds[len(vectorizers)] :] = True
        for k, vectorizer in enumerate(vectorizers):
            if vectorizer.hash_bits:
                keep[bounds[k] : bounds[k + 1]] = True
        norms = np.array([RENORMALISED.get(vectorizer.norm, 0) for vectorizer in vectorizers], np.int32)
        ends = np.array(bounds[1 : len(vectorizers) + 1], np.int32)
        ptr, ids, values = (
            np.empty_like(rows.ptr),
            np.empty_like(rows.ids),
            np.empty(len(rows.ids), np.float32),
        )
        left = thin_rows(
            rows.ptr, rows.ids, rows.weights(), keep.view(np.uint8), ends, norms, ptr, ids, values
        )
        return SparseRows(ptr, ids[:left], values[:left], rows.columns)

    def names(self) -> list[str]:
        """The name of every column."""
        if self.union is None:
            return [f"x{i}" for i in range(self.columns)]
        valences = 0 if self.valences is None else self.valences.columns
        return self.union.names() + [f"valence[{i}]" for i in range(valences)]

    def names_of(self, ids: NDArray[np.int32], texts: list[str]) -> list[str]:
        """The names of some columns, with the view they belong to; hashed ones are looked up in the texts.

        >>> encoder = DocumentEncoder.of([TextVectorizer(ngram_high=1, hash_bits=4)], [1.0])
        >>> rows = encoder.fitted_rows(["no tea"], None, None)
        >>> sorted(encoder.names_of(rows.ids, ["no tea"]))
        ['no', 'tea']
        """
        return [name for name, _ in self.named(ids, texts)]

    def named(self, ids: NDArray[np.int32], texts: list[str]) -> list[Named]:
        """The names of some columns with the n-grams that each counts."""
        if self.union is None:
            return [(f"x{i}", Seen("numbers")) for i in ids.tolist()]
        bounds = self.union.offsets()
        found: dict[int, Named] = {}
        for k, (vectorizer, view) in enumerate(zip(self.union.vectorizers, self.views, strict=True)):
            here = ids[(ids >= bounds[k]) & (ids < bounds[k + 1])]
            if not len(here):
                continue
            characters = vectorizer.unit != "word"
            prefix = view.title + ("characters " if characters else "")
            family = (
                (view.title + ("characters" if characters else "words"))
                if not view.bits
                else view.title.strip()
            )
            hashed = vectorizer.hashed_names(view.of(texts, self.clusters)) if vectorizer.hash_bits else {}
            for i in here.tolist():
                n = i - bounds[k]
                grams = hashed.get(n, []) if vectorizer.hash_bits else [self._names[k][n]]
                name = " / ".join(grams or [f"#{n}"])
                seen = None if view.bits else Grams(tuple(grams), characters)
                found[i] = f"{prefix}{name!r}" if prefix else name, Seen(family, grams=seen)
        first = bounds[len(self.union.vectorizers)]
        behind = self.names()[first:] if len(found) < len(set(ids.tolist())) else []
        return [found[i] if i in found else (behind[i - first], Seen("numbers")) for i in ids.tolist()]

    def forms(self, text: str) -> dict[str, set[str]]:
        """The forms of a text's words in feature names: their stems, if n-grams are of stems.

        >>> DocumentEncoder.of([TextVectorizer(stemming="stem")], [1.0]).forms("Happily so")["happily"]
        {'happili'}
        """
        found: dict[str, set[str]] = {}
        for vectorizer in () if self.union is None else self.union.vectorizers:
            if vectorizer.stemming != "none":
                words = sorted(
                    {token.text for token in word_tokens(text, vectorizer.tokens, lower=vectorizer.lower)}
                )
                for word, stem in zip(
                    words, stems(words, vectorizer.stemming, vectorizer.language), strict=True
                ):
                    found.setdefault(word.lower(), set()).add(stem.lower())
        return found

    @cached_property
    def _names(self) -> list[list[str]]:
        """The n-grams of each vectoriser that stores them."""
        vectorizers = () if self.union is None else self.union.vectorizers
        return [[] if vectorizer.hash_bits else vectorizer.names() for vectorizer in vectorizers]

    def learn_hashed_names(self, texts: list[str]) -> None:
        """Find the n-grams behind hashed features in texts, for each vectoriser in its view."""
        if self.union is not None:
            for vectorizer, view in zip(self.union.vectorizers, self.views, strict=True):
                if vectorizer.hash_bits:
                    vectorizer.learn_hashed_names(view.of(texts, self.clusters))

    def packed(self) -> Packed:
        """The content for a model file."""
        if self.union is None:
            return _Sections(columns=self.columns).packed()
        return _Sections(
            union=self.union,
            scales=self.scales,
            views=tuple([view.opening, view.bits, int(view.head)] for view in self.views),
            clusters=None if self.clusters is None else ClusterSections.of(self.clusters),
            valences=self.valences,
        ).packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "DocumentEncoder":
        """The encoder of a file whose details are the encoder's, every index checked."""
        need = Requirements(file)
        found = _Sections.loaded(need)
        if found.union is None:
            if found.columns is None:
                raise need.fault("its encoder of documents needs a number of columns")
            return cls(None, (), found.columns)
        scales = tuple(float(scale) for scale in found.scales)
        views = tuple(View(v[0], v[1], bool(v[2]) if len(v) > 2 else False) for v in found.views)
        if not len(scales) == len(views) == len(found.union.vectorizers):
            raise need.fault("its encoder of documents needs a scale and a view for each kind of features")
        if any(view.bits for view in views) and found.clusters is None:
            raise need.fault("its encoder of documents reads word clusters but has none")
        clusters = None if found.clusters is None else found.clusters.clusters()
        return cls(found.union, scales, 0, views, clusters, found.valences)


def _are_numbers(scales: list[Any]) -> bool:
    return all(type(scale) in (int, float) for scale in scales)


def _are_views(views: list[Any]) -> bool:
    """Whether each is a list of an opening, bits and perhaps whether it is the head."""
    return all(
        isinstance(v, list) and len(v) in (2, 3) and all(type(n) in (int, bool) for n in v) for v in views
    )


def _is_width(n: int) -> bool:
    return n >= 1


def _narrowed(packed: Packed) -> Packed:
    return replace(packed, arrays={name: narrow(a) for name, a in packed.arrays.items()})


def _widened(file: ModelFile) -> ModelFile:
    return replace(file, arrays={name: widened(name, a) for name, a in file.arrays.items()})


CODED = _narrowed, _widened


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of an encoder: the columns of numbers, or the features of texts with scales and views."""

    columns: int | None = fact(int, check=_is_width, expected="a number of columns", default=None, omit=True)
    union: FeatureUnion | None = inside(FeatureUnion, "features.", optional=True, coded=CODED)
    scales: Sequence[float] = fact(list, check=_are_numbers, expected="scales", default=(), omit=True)
    views: Sequence[Any] = fact(list, check=_are_views, expected="views", default=(), omit=True)
    valences: Valences | None = inside(Valences, "valences.", optional=True, coded=CODED)
    clusters: ClusterSections | None = nested(ClusterSections, "clusters.", optional=True)


def narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Floats in 32 bits, and whole numbers in 16 bits if they fit."""
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int32 and len(array) and array.min() >= -1 and array.max() < 2**16 - 1:
        return (array + 1).astype(np.uint16)
    return array


def widened(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The inverse of ``narrow``."""
    if array.dtype == np.uint16:
        return array.astype(np.int32) - 1
    return array.astype(np.float64) if name.endswith(".scale") and array.dtype == np.float32 else array
