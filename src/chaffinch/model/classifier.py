"""A trained document classifier: an encoder, a table of weights, labels, and a calibration."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import choice_scores
from chaffinch.errors import ModelFileError
from chaffinch.features.rows import SparseRows
from chaffinch.model.choice_evidence import ListExample, ScoredDocument
from chaffinch.model.confidence import RAW, Calibration, Prior
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.evidence import Question
from chaffinch.model.quantised import full_scales, quantised, restored, short_scales, with_lanes
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, array, fact, inside
from chaffinch.modelfile.schema import AS_STORED

LINKS = ("softmax", "sigmoid", "rest", "clipped")
KINDS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: text == "True",
}


Link = Callable[[Calibration, NDArray[np.float32]], NDArray[np.float64]]


def _shared(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows divided by their sums; a row of zeros becomes equal shares."""
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])


def _clipped(_calibration: Calibration, s: NDArray[np.float32]) -> NDArray[np.float64]:
    """Zadrozny and Elkan 2002 for the modified Huber loss; with two labels, the second's score decides both."""
    wide = s.astype(np.float64)
    if s.shape[1] == 2:
        p = (np.clip(wide[:, 1] - wide[:, 0], -1.0, 1.0) + 1.0) / 2.0
        return np.stack([1.0 - p, p], axis=1)
    return _shared(np.asarray((np.clip(wide, -1.0, 1.0) + 1.0) / 2.0, np.float64))


LINKED: dict[str, Link] = {
    "softmax": Calibration.softmax,
    "sigmoid": Calibration.sigmoid,
    "rest": lambda calibration, s: _shared(calibration.sigmoid(s)),
    "clipped": _clipped,
}


def positive(number: float) -> bool:
    """Whether a number is finite and above 0."""
    return 0 < number < np.inf


@dataclass(frozen=True, eq=False)
class ClassifierModel:
    """s_y = w_y.x + b_y;  p = softmax(s / temperature), or a sigmoid of each if labels are independent.

    link:        ``softmax`` or ``sigmoid``; for models of other tools also ``rest``: sigmoids divided by their sum, and
                 ``clipped``: scores clipped to [-1, 1], moved to [0, 1] and divided by their sum
    calibration: how scores become probabilities
    prior:       the answer for texts without a known feature; None in older files: the intercepts decide
    w:           float32 [F+1, S], the last row the intercepts, columns beyond the labels zero
    classes:     the labels as they were given: strings, whole numbers, truth values
    several:     a document may have any number of labels: those whose probability reaches the threshold
    eight:       the same weights in eight bits, as (int8 [F+1, Y], float32 [F+1]), if w was made from those
    """

    encoder: DocumentEncoder
    w: NDArray[np.float32]
    classes: NDArray[Any]
    link: str = "softmax"
    calibration: Calibration = RAW
    several: bool = False
    indicator: bool = False
    threshold: float = 0.5
    eight: tuple[NDArray[np.int8], NDArray[np.float32]] | None = None
    prior: Prior | None = None

    def scores(self, X: Any, beside: Any, threads: int) -> NDArray[np.float32]:
        """s [N, Y]."""
        return self.scores_of_rows(self.encoder.rows(X, beside, threads), threads)

    def scores_of_rows(self, rows: SparseRows, threads: int) -> NDArray[np.float32]:
        """s [N, Y] of rows of features."""
        out = np.zeros((len(rows), len(self.classes)), dtype=np.float32)
        choice_scores(rows.native(1.0), self.w, threads, out)
        if self.prior is not None:
            self.prior.put_into(out, rows.ptr)
        return out

    def logits(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """The scores that are calibrated [N, Y]."""
        return scores

    def probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """p [N, Y]; rows sum to one under the softmax."""
        p = LINKED[self.link](self.calibration, scores)
        if self.prior is not None:
            p[self.prior.marked(scores)] = self.prior.shares
        return p

    def given(self, scores: NDArray[np.float32]) -> NDArray[np.bool_]:
        """The predicted labels if documents may have several: bool [N, Y]; none if no feature of a text is known."""
        found = np.asarray(self.probabilities(scores) >= self.threshold)
        if self.prior is not None:
            found[self.prior.marked(scores)] = False
        return found

    def examples(self, X: Any, beside: Any, question: Question, threads: int) -> list[ListExample]:
        """Features and intercepts, of the one document in X."""
        rows = self.encoder.rows(X, beside, threads)
        scores = self.scores_of_rows(rows, threads)
        weights = self.w[:, : len(self.classes)]
        x = ScoredDocument(
            self.encoder.named(rows.ids, X),
            rows.weights(),
            weights[rows.ids],
            weights[-1] if self.prior is None or len(rows.ids) else self.prior.scores,
            scores[0],
            self.probabilities(scores)[0],
            [str(label) for label in self.classes.tolist()],
        )
        if not self.several:
            return [x.choice(question)]
        return x.several(question, bar=self.calibration.bar(self.threshold))

    def strongest(self, top: int, label: str | None) -> tuple[str, dict[str, list[tuple[str, float]]]]:
        """The features with the greatest weights for each label, and a title for the table."""
        names = self.encoder.names()
        rows = {}
        for y, name in enumerate(self.classes.tolist()):
            if label is None or str(name) == label:
                weights = self.w[: len(names), y]
                order = np.argsort(-weights, kind="stable")[:top]
                rows[str(name)] = [(names[f], float(weights[f])) for f in order.tolist()]
        return "strongest features", rows

    widths = (8,)

    def magnitudes(self) -> NDArray[np.float32]:
        """The largest change of a score difference, or of a single score, by each feature."""
        w = self.w[:-1, : len(self.classes)]
        if self.link == "sigmoid":
            return np.abs(w).max(axis=1, initial=0.0)
        return w.max(axis=1, initial=-np.inf) - w.min(axis=1, initial=np.inf)

    def shrunk(self, threshold: float, bits: int) -> "ClassifierModel":
        """The same model without the features below the threshold; weights in eight bits stay in eight."""
        keep = self.magnitudes() >= threshold
        encoder = self.encoder.restricted(keep)  # sets keep for features that cannot be dropped
        w = np.ascontiguousarray(self.w[np.append(np.flatnonzero(keep), len(keep))])
        eight = None if self.eight is None else quantised(w, len(self.classes))
        return replace(self, encoder=encoder, w=w, eight=eight)

    def packed(self) -> Packed:
        """The content for a model file."""
        return _Sections(
            encoder=self.encoder,
            weights=self.w[:, : len(self.classes)] if self.eight is None else self.eight[0],
            scale=None if self.eight is None else short_scales(self.eight[1]),
            kind=kind_of(self.classes),
            link=self.link,
            **self.calibration.sections(),
            prior=None if self.prior is None else self.prior.shares,
            several=self.several,
            indicator=self.indicator,
            threshold=self.threshold,
            bits=32 if self.eight is None else 8,
        ).packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "ClassifierModel":
        """The model of a file, checked."""
        need = Requirements(file, Y=len(file.header.labels))
        found = _Sections.loaded(need)
        eight = None
        if found.bits == 8:
            if found.scale is None or found.weights.dtype != np.int8:
                raise need.fault("lacks the weights in eight bits or their scales")
            eight = found.weights, full_scales(found.scale)
        w = restored(*eight) if eight is not None else found.weights.astype(np.float32)
        if not np.isfinite(w).all():
            raise need.fault("its weights are not finite")
        return cls(
            found.encoder,
            with_lanes(w),
            labels_as(found.kind, file),
            found.link,
            Calibration.of_sections(found, need),
            found.several,
            found.indicator,
            found.threshold,
            eight,
            None if found.prior is None else Prior(found.prior, found.link == "sigmoid"),
        )


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of a classifier; kind: the type of labels, such as ``int``."""

    encoder: DocumentEncoder = inside(DocumentEncoder, F="n_features")
    weights: NDArray[Any] = array(AS_STORED, "F+1", "Y", stored=("int8", "float32"), finite=True)
    kind: str = fact(str, check=KINDS.__contains__, expected=f"one of {', '.join(KINDS)}")
    link: str = fact(str, check=LINKS.__contains__, expected=" or ".join(LINKS))
    temperature: float = fact(float, check=positive, expected="a number above 0")
    several: bool = fact(bool)
    indicator: bool = fact(bool)
    threshold: float = fact(float)
    bits: int = fact(int, check=(8, 32).__contains__, expected="8 or 32")
    scale: NDArray[Any] | None = array(
        AS_STORED, "F+1", stored=("uint16", "float32"), optional=True, name="weights.scale"
    )
    slope: float = fact(float, check=positive, expected="a number above 0", default=1.0)
    offset: float = fact(float, check=math.isfinite, expected="a finite number", default=0.0)
    curve: NDArray[np.float64] | None = array("float64", "knots", 2, optional=True, finite=True)
    prior: NDArray[np.float32] | None = array("float32", "Y", optional=True, finite=True)


def labels_as(kind: str, file: ModelFile) -> NDArray[Any]:
    """The labels of a file in their original type: strings, numbers or truth values."""
    try:
        return np.array([KINDS[kind](label) for label in file.header.labels])
    except ValueError:
        raise ModelFileError(f"{file.source}: its labels are not of the kind {kind!r}") from None


def kind_of(classes: NDArray[Any]) -> str:
    """The type of labels, by its name in a model file."""
    kinds = {"b": "bool", "i": "int", "u": "int", "f": "float"}
    return kinds.get(classes.dtype.kind, "str")
