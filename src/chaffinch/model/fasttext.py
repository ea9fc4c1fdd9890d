"""A classifier of fastText: means of word vectors times vectors of labels, kept as two factors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import FastText, VectorRows
from chaffinch.errors import DataError
from chaffinch.model.choice_evidence import DOCUMENT, ListExample, ScoredDocument
from chaffinch.model.evidence import Decision, Features, Grams, Named, Question, Seen, Without
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, array, fact, nested

OUTPUTS = ("softmax", "sigmoid", "tree")  # in the order of the core's numbers
FLOOR = 1e-5  # fastText adds it to every probability
NEAR = 1e-6  # less than the distance of two steps of its sigmoid, more than the rounding of a logarithm
END = "</s>"
FAMILIES = ("words", "characters", "word n-grams")
AT_A_TIME = 1 << 14  # words whose scores are computed together

EQUAL = (
    "fastText rounds these scores to 512 steps, and both answers fall on the same step; it gives the label that comes "
    "last in its dictionary."
)


def _counts(value: int) -> bool:
    return value >= 0


@dataclass(frozen=True, eq=False)
class Vectors(Saved):
    """Vectors, dense or product-quantised: a code for each part of a vector, 256 centroids for each part.

    dense: float32 [rows, D]   codes: uint8 [rows, parts]   centroids: float32 [D * 256]
    norm_codes: uint8 [rows], codes of factors   norms: float32 [256]
    """

    dense: NDArray[np.float32] | None = array("float32", "rows", "d", optional=True, finite=True)
    codes: NDArray[np.uint8] | None = array("uint8", "rows", "parts", optional=True)
    centroids: NDArray[np.float32] | None = array("float32", "c", optional=True, finite=True)
    norm_codes: NDArray[np.uint8] | None = array("uint8", "rows", optional=True)
    norms: NDArray[np.float32] | None = array("float32", 256, optional=True, finite=True)

    def native(self, part: int) -> VectorRows:
        """The core's view of them; part: length of a part."""
        return VectorRows(self.dense, self.codes, part, self.centroids, self.norm_codes, self.norms)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""
        if self.dense is not None:
            return self.dense.shape[0], self.dense.shape[1]
        assert self.codes is not None
        assert self.centroids is not None
        return len(self.codes), len(self.centroids) // 256


@dataclass(frozen=True, eq=False)
class FastTextSections(Saved):
    """The sections of a model of fastText.

    text, ptr: the words, then the labels with their prefix, end to end, as bytes
    counts:    int64 [tokens], the count of each in training
    buckets, bucket_rows: the buckets of n-grams that were kept, and the row of each after those of words
    """

    fasttext: int = fact(int, check=(11, 12).__contains__, expected="version 11 or 12")
    output: str = fact(str, check=OUTPUTS.__contains__, expected=f"one of {', '.join(OUTPUTS)}")
    words: int = fact(int, check=_counts, expected="a count")
    shortest: int = fact(int, check=_counts, expected="a count")
    longest: int = fact(int, check=_counts, expected="a count")
    word_ngrams: int = fact(int, check=_counts, expected="a count")
    bucket_count: int = fact(int, check=_counts, expected="a count")
    pruned: bool = fact(bool)
    input_part: int = fact(int, check=_counts, expected="a count")
    output_part: int = fact(int, check=_counts, expected="a count")
    prefix: str = fact(str)
    text: NDArray[np.uint8] = array("uint8", "bytes", name="dictionary.text")
    ptr: NDArray[np.int64] = array("int64", "bounds", bounds="bytes", name="dictionary.ptr")
    counts: NDArray[np.int64] = array("int64", "tokens", low=0, below=2**62, name="dictionary.counts")
    buckets: NDArray[np.int32] = array("int32", "kept")
    bucket_rows: NDArray[np.int32] = array("int32", "kept")
    input: Vectors = nested(Vectors, "input.")
    labels: Vectors = nested(Vectors, "labels.")

    @property
    def tokens(self) -> list[bytes]:
        """The words, then the labels."""
        text, bounds = self.text.tobytes(), self.ptr.tolist()
        return [text[a:b] for a, b in pairwise(bounds)]

    def native(self) -> FastText:
        """The model in the core; ValueError if the sections do not fit together."""
        return FastText(
            self.text,
            self.ptr,
            self.words,
            np.ascontiguousarray(self.counts[self.words :]),
            (self.shortest, self.longest, self.word_ngrams, self.bucket_count),
            self.pruned,
            self.buckets,
            self.bucket_rows,
            OUTPUTS.index(self.output),
            self.input.native(self.input_part),
            self.labels.native(self.output_part),
        )


@dataclass(frozen=True)
class FastTextEncoder:
    """Texts as fastText reads them: tokens between white space, n-grams of their characters, n-grams of words."""

    sections: FastTextSections
    reads = "texts"
    union = None
    columns = 0

    @property
    def n_features(self) -> int:
        """Rows of the input matrix."""
        return self.sections.input.shape[0]

    @cached_property
    def _words(self) -> list[str]:
        return [word.decode("utf-8", "replace") for word in self.sections.tokens[: self.sections.words]]

    def names(self) -> list[str]:
        """The words; buckets of n-grams have no names."""
        return self._words

    def forms(self, text: str) -> dict[str, set[str]]:
        """Empty: words are read as they are."""
        return {}

    def learn_hashed_names(self, texts: list[str]) -> None:
        """Nothing to learn: an explanation finds the names of n-grams in its text."""


@dataclass(frozen=True, eq=False)
class FastTextDocument:
    """A text as the model reads it, once.

    counts [n], names, vectors [n, D]: of the rows of the input that it has   scores: log(p + 1e-5) [Y]   best: a label
    """

    counts: NDArray[np.float64]
    names: Sequence[Named]
    vectors: NDArray[np.float64]
    scores: NDArray[np.float32]
    best: int


@dataclass(frozen=True, eq=False)
class FastTextModel:
    """h = mean of the vectors of a text's words and n-grams;  s_y = U_y.h;  scores are log(p_y + 1e-5).

    several:   a document may have any number of labels: those whose probability reaches the threshold
    """

    sections: FastTextSections
    classes: NDArray[Any]
    several: bool = False
    indicator: bool = False
    threshold: float = 0.5
    core: FastText = field(repr=False, kw_only=True)

    @classmethod
    def of(cls, sections: FastTextSections) -> "FastTextModel":
        """The model of sections that were read from a file of fastText; ValueError if they do not fit together."""
        labels = [label.decode() for label in sections.tokens[sections.words :]]
        names = np.array([label[len(sections.prefix) :] for label in labels])
        return cls(sections, names, core=sections.native())

    @cached_property
    def encoder(self) -> FastTextEncoder:
        """The encoder of its texts."""
        return FastTextEncoder(self.sections)

    @property
    def independent(self) -> bool:
        """Whether each label has a probability of its own, so that a threshold can give several."""
        return self.sections.output == "sigmoid"

    # -- answers

    def scores(self, X: Any, beside: Any, threads: int) -> NDArray[np.float32]:
        """log(p + 1e-5) [N, Y]; for a text without a known word or n-gram, p is the share of the label in training."""
        if beside is not None:
            raise DataError("a model of fastText reads texts alone, without numbers beside them")
        out = np.empty((len(X), len(self.classes)), np.float32)
        self.core.scores(list(X), threads, self._prior, out)
        return out

    def ranked(self, X: Any, k: int, threads: int) -> NDArray[np.int64]:
        """The k best labels of each text [N, k], best first, equal ones in fastText's order."""
        labels, _ = self.best(X, k, 0.0, threads)
        unknown = labels[:, 0] < 0
        labels[unknown] = np.argsort(-self._prior, kind="stable")[: labels.shape[1]]
        rows = np.flatnonzero((labels < 0).any(axis=1))
        for n in rows.tolist():  # fastText does not rank scores that are NaN
            missing = np.setdiff1d(np.arange(len(self.classes)), labels[n])
            labels[n, labels[n] < 0] = missing[: (labels[n] < 0).sum()]
        return labels.astype(np.int64)

    def best(
        self, X: Any, k: int, threshold: float, threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The k best labels whose probability reaches the threshold, and log(p + 1e-5): [N, k]; -1: none."""
        k = min(k, len(self.classes))
        labels, scores = np.empty((len(X), k), np.int32), np.empty((len(X), k), np.float32)
        self.core.best(list(X), k, threshold, threads, labels, scores)
        return labels, scores

    def probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """p [N, Y]; rows sum to one, unless each label has a probability of its own."""
        p = np.exp(scores.astype(np.float64))
        if self.sections.output != "tree":
            p = np.maximum(p - FLOOR, 0.0)
        return np.minimum(p, 1.0) if self.independent else p / p.sum(axis=1, keepdims=True)

    def given(self, scores: NDArray[np.float32]) -> NDArray[np.bool_]:
        """The predicted labels if documents may have several: bool [N, Y]."""
        return np.asarray(self.probabilities(scores) >= self.threshold - NEAR)

    @cached_property
    def _prior(self) -> NDArray[np.float32]:
        counts = self.sections.counts[self.sections.words :].astype(np.float64)
        shares = counts / max(counts.sum(), 1.0)
        return np.log(shares + FLOOR).astype(np.float32)

    # -- evidence

    def examples(self, X: Any, beside: Any, question: Question, threads: int) -> list[ListExample]:
        """Words and n-grams of the one document in X; each adds its share of the mean times the label's vector."""
        labels = [str(label) for label in self.classes.tolist()]
        question.checked(labels)
        text = self._read(X[0])
        counts, names, vectors = text.counts, text.names, text.vectors
        p = self.probabilities(text.scores[None])[0]
        if not len(counts):
            prior = self._prior.astype(np.float64)
            shares = dict(zip(labels, p.tolist(), strict=True))
            by_share = [Features.constant("share of the label in training", prior)]
            return [ListExample(Decision(DOCUMENT), labels, prior, text.best, by_share, p=shares)]
        values = counts / counts.sum()
        if self.sections.output == "tree":
            slopes, constants = self._tree_slopes(values @ vectors)
        else:
            slopes, constants = self._label_vectors, np.zeros(len(labels))
        weights = vectors @ slopes.T
        sums = values @ weights + constants
        if self.several:
            document = ScoredDocument(names, values, weights, constants, sums, p, labels)
            odds = np.log(self.threshold) - np.log1p(-self.threshold)
            return document.several(question, bar=float(odds))
        groups = [Features.listed(names, weights, values)]
        if self.sections.output == "tree":
            groups.append(Features.constant("depth in the tree of labels", constants))

        def rescored(without: Without) -> NDArray[np.float64]:
            left = counts.copy()
            left[without.get(0, np.zeros(0, np.int64))] = 0.0
            return self._sums(left @ vectors / max(left.sum(), 1.0))

        def remark(rival: int | None) -> str:
            tie = rival is not None and self.independent and text.scores[rival] == text.scores[text.best]
            return EQUAL if tie else ""

        return [
            ListExample(
                Decision(DOCUMENT),
                labels,
                sums,
                text.best,
                groups,
                p=dict(zip(labels, p.tolist(), strict=True)),
                rescored=rescored,
                remark=remark,
            )
        ]

    def strongest(self, top: int, label: str | None) -> tuple[str, dict[str, list[tuple[str, float]]]]:
        """The words with the greatest products with each label's vector, and a title for the table."""
        names = self.encoder.names()
        wanted = [y for y, name in enumerate(self.classes.tolist()) if label in (None, str(name))]
        slopes = self._label_vectors[wanted]
        best: list[list[tuple[float, int]]] = [[] for _ in wanted]
        for first in range(0, len(names), AT_A_TIME):
            ids = np.arange(first, min(first + AT_A_TIME, len(names)), dtype=np.int32)
            products = slopes @ self._vectors(ids).T
            for found, row in zip(best, products, strict=True):
                order = np.argsort(-row, kind="stable")[:top]
                found += [(-float(row[i]), first + i) for i in order.tolist()]
                found.sort()
                del found[top:]
        rows = {
            str(self.classes[y]): [(names[i], -minus) for minus, i in found]
            for y, found in zip(wanted, best, strict=True)
        }
        return "strongest words", rows

    def _read(self, text: str) -> "FastTextDocument":
        named = self.core.named_rows(text)
        counts: dict[int, int] = {}
        found: dict[int, dict[tuple[int, str], None]] = {}
        for row, kind, gram in named:
            counts[row] = counts.get(row, 0) + 1
            found.setdefault(row, {})[kind, gram.decode("utf-8", "replace")] = None
        scores, best = self._prior.copy(), int(self._prior.argmax())
        if named:
            rows = np.array([row for row, _, _ in named], np.int32)
            best = max(self.core.answer(rows, scores), 0)  # -1: all scores are NaN
        return FastTextDocument(
            np.array(list(counts.values()), np.float64),
            [_named(list(alternatives)) for alternatives in found.values()],
            self._vectors(np.array(list(counts), np.int32)),
            scores,
            best,
        )

    def _vectors(self, ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """Rows of the input matrix: float64 [n, D]."""
        return _looked_up(self.sections.input, self.sections.input_part, ids)

    @cached_property
    def _outputs(self) -> NDArray[np.float64]:
        """Rows of the output matrix."""
        rows = self.sections.labels.shape[0]
        return _looked_up(self.sections.labels, self.sections.output_part, np.arange(rows, dtype=np.int32))

    @cached_property
    def _paths(self) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """The rows of the output matrix on the way to each label of the tree, and their signs."""
        ptr, rows, signs = self.core.paths()
        bounds = ptr.tolist()
        return [(rows[a:b], signs[a:b].astype(np.float64)) for a, b in pairwise(bounds)]

    @cached_property
    def _label_vectors(self) -> NDArray[np.float64]:
        """A vector for each label [Y, D]; in a tree the sum along its path."""
        if self.sections.output != "tree":
            return self._outputs[: len(self.classes)]
        return np.array([signs @ self._outputs[rows] for rows, signs in self._paths])

    def _sums(self, h: NDArray[np.float64]) -> NDArray[np.float64]:
        """The score of each label [Y] from the mean vector."""
        if self.sections.output != "tree":
            return np.asarray(self._label_vectors @ h)
        return np.array(
            [_log_sigmoid(signs * (self._outputs[rows] @ h)).sum() for rows, signs in self._paths]
        )

    def _tree_slopes(self, h: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Vectors E_y and constants c_y with  score_y = E_y.h + c_y  at this h.

        At each node g(z) = log(sigmoid(z) + 1e-5) and z = +-u.h; a word that adds z_w to z gets the share z_w / z of
        g(z) - g(0), as Aumann and Shapley divide a function of a sum.
        """
        D = len(h)
        slopes, constants = np.zeros((len(self.classes), D)), np.zeros(len(self.classes))
        start = float(_log_sigmoid(np.zeros(1))[0])
        for y, (rows, signs) in enumerate(self._paths):
            u = signs[:, None] * self._outputs[rows]
            z = u @ h
            safe = np.where(np.abs(z) < 1e-9, 1.0, z)
            slope = np.where(np.abs(z) < 1e-9, 0.5, (_log_sigmoid(z) - start) / safe)
            slopes[y], constants[y] = slope @ u, start * len(rows)
        return slopes, constants

    # -- saving

    def packed(self) -> Packed:
        """The content for a model file."""
        return self.sections.packed() | _Facts(self.several, self.threshold).packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "FastTextModel":
        """The model of a file, checked."""
        need = Requirements(file, Y=len(file.header.labels))
        sections = FastTextSections.loaded(need)
        facts = _Facts.loaded(need)
        try:
            model = cls.of(sections)
        except (ValueError, UnicodeDecodeError) as error:
            raise need.fault(str(error)) from None
        if tuple(model.classes.tolist()) != tuple(file.header.labels):
            raise need.fault("the labels of its header are not those of its dictionary")
        return cls(sections, model.classes, facts.several, False, facts.threshold, core=model.core)

    @staticmethod
    def absent(file: ModelFile) -> bool:
        """Whether a file holds no such model."""
        return FastTextSections.absent(Requirements(file))


@dataclass(frozen=True, eq=False)
class _Facts(Saved):
    several: bool = fact(bool)
    threshold: float = fact(float)


def _named(alternatives: Sequence[tuple[int, str]]) -> Named:
    """The name of a row, and its input; a bucket may hold several n-grams."""
    kind = alternatives[0][0]
    plain = [name for _, name in alternatives]
    shown = " / ".join(plain)
    if kind == 1:
        shown = f"characters {' / '.join(map(repr, plain))}"
    if plain == [END]:
        return shown, Seen(FAMILIES[kind])
    characters = kind == 1
    texts = tuple(_padded(name) if characters else name for name in plain)
    return shown, Seen(FAMILIES[kind], grams=Grams(texts, characters))


def _padded(gram: str) -> str:
    """A character n-gram with spaces for the marks of the beginning and the end of a word."""
    start = " " if gram.startswith("<") else ""
    end = " " if gram.endswith(">") and len(gram) > len(start) else ""
    return start + gram[len(start) : len(gram) - len(end)] + end


def _looked_up(vectors: Vectors, part: int, ids: NDArray[np.int32]) -> NDArray[np.float64]:
    out = np.empty((len(ids), vectors.shape[1]), np.float32)
    vectors.native(part).vectors(ids, out)
    return out.astype(np.float64)


def _log_sigmoid(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(sigmoid(z) + 1e-5)."""
    return np.asarray(np.log(1.0 / (1.0 + np.exp(-np.clip(z, -500, 500))) + FLOOR))


def token_bytes(tokens: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Strings end to end, and their bounds."""
    lengths: Iterator[int] = map(len, tokens)
    ptr = np.zeros(len(tokens) + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(tokens)), out=ptr[1:])
    return np.frombuffer(b"".join(tokens), np.uint8).copy(), ptr
