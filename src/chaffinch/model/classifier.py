"""A trained document classifier: an encoder, a table of weights, labels, and how scores become probabilities."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import choice_scores
from chaffinch.errors import ModelFileError
from chaffinch.features.rows import SparseRows
from chaffinch.model.choice_evidence import ListExample, ScoredDocument
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.evidence import Question
from chaffinch.model.lanes import with_lanes
from chaffinch.model.protocols import Packed
from chaffinch.model.quantised import full_scales, restored, short_scales

LINKS = ("softmax", "sigmoid")
KINDS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: text == "True",
}


@dataclass(frozen=True, eq=False)
class ClassifierModel:
    """s_y = w_y.x + b_y;  p = softmax(s / temperature), or a sigmoid of each where labels stand by themselves.

    w:           float32 [F+1, S], the last row the intercepts, columns beyond the labels zero
    classes:     the labels as they were given: strings, whole numbers, truth values
    several:     a document may have any number of labels: those whose probability reaches the threshold
    eight:       the same weights in eight bits, as (int8 [F+1, Y], float32 [F+1]), where w was made from those
    """

    encoder: DocumentEncoder
    w: NDArray[np.float32]
    classes: NDArray[Any]
    link: str = "softmax"
    temperature: float = 1.0
    several: bool = False
    indicator: bool = False
    threshold: float = 0.5
    eight: tuple[NDArray[np.int8], NDArray[np.float32]] | None = None

    def scores(self, X: Any, beside: Any, threads: int) -> NDArray[np.float32]:
        """s [N, Y]."""
        return self.scores_of_rows(self.encoder.rows(X, beside, threads), threads)

    def scores_of_rows(self, rows: SparseRows, threads: int) -> NDArray[np.float32]:
        """s [N, Y] of rows of features."""
        out = np.zeros((len(rows), len(self.classes)), dtype=np.float32)
        choice_scores(rows.native(1.0), self.w, threads, out)
        return out

    def probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """p [N, Y]; rows sum to one under the softmax."""
        s = scores.astype(np.float64) / self.temperature
        if self.link == "sigmoid":
            e = np.exp(-np.abs(s))
            return np.asarray(np.where(s < 0, e, 1.0) / (1.0 + e))
        return softmax(s)

    def given(self, scores: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Which labels are given, where documents may have several: bool [N, Y]."""
        return np.asarray(self.probabilities(scores) >= self.threshold)

    def examples(self, X: Any, beside: Any, question: Question, threads: int) -> list[ListExample]:
        """Features and intercepts, of the one document in X."""
        rows = self.encoder.rows(X, beside, threads)
        scores = self.scores_of_rows(rows, threads)
        weights = self.w[:, : len(self.classes)]
        x = ScoredDocument(
            self.encoder.names_of(rows.ids, X),
            rows.weights(),
            weights[rows.ids],
            weights[-1],
            scores[0],
            self.probabilities(scores)[0],
            [str(label) for label in self.classes.tolist()],
        )
        if not self.several:
            return [x.choice(question)]
        with np.errstate(divide="ignore"):
            odds = np.log(self.threshold) - np.log1p(-self.threshold)
        return x.several(question, bar=float(odds * self.temperature))

    def strongest(self, top: int, label: str | None) -> tuple[str, dict[str, list[tuple[str, float]]]]:
        """The features that weigh most for each label, with their weights, and what those are called."""
        names = self.encoder.names()
        rows = {}
        for y, name in enumerate(self.classes.tolist()):
            if label is None or str(name) == label:
                weights = self.w[: len(names), y]
                order = np.argsort(-weights, kind="stable")[:top]
                rows[str(name)] = [(names[f], float(weights[f])) for f in order.tolist()]
        return "strongest features", rows

    def packed(self) -> Packed:
        """What a model file keeps."""
        details, arrays, strings = self.encoder.packed()
        Y = len(self.classes)
        if self.eight is not None:
            arrays["weights"], arrays["weights.scale"] = self.eight[0], short_scales(self.eight[1])
        else:
            arrays["weights"] = np.ascontiguousarray(self.w[:, :Y])
        facts = {
            "encoder": details,
            "kind": kind_of(self.classes),
            "link": self.link,
            "temperature": self.temperature,
            "several": self.several,
            "indicator": self.indicator,
            "threshold": self.threshold,
            "bits": 32 if self.eight is None else 8,
        }
        return Packed(details=facts, arrays=arrays, strings=strings)

    @classmethod
    def unpacked(
        cls,
        labels: tuple[str, ...],
        details: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        strings: Mapping[str, Iterable[str]],
    ) -> "ClassifierModel":
        """The model that ``packed`` described, checked."""
        try:
            encoder = DocumentEncoder.unpacked(details["encoder"], arrays, strings)
            bits, kind, link = details["bits"], details["kind"], details["link"]
            eight = (arrays["weights"], full_scales(arrays["weights.scale"])) if bits == 8 else None
            w = restored(*eight) if eight is not None else arrays["weights"].astype(np.float32)
            classes = np.array([KINDS[kind](label) for label in labels])
            temperature, threshold = float(details["temperature"]), float(details["threshold"])
            several, indicator = bool(details["several"]), bool(details["indicator"])
        except (KeyError, TypeError, ValueError) as e:
            if isinstance(e, ModelFileError):
                raise
            raise ModelFileError(f"the classifier is damaged: {type(e).__name__} {e}") from None
        if w.shape != (encoder.n_features + 1, len(classes)) or not np.isfinite(w).all():
            raise ModelFileError(
                f"the classifier is damaged: weights are {list(w.shape)}, expected finite numbers "
                f"[{encoder.n_features + 1}, {len(classes)}]"
            )
        if link not in LINKS or not 0 < temperature < np.inf:
            raise ModelFileError("the classifier is damaged: it has no usable link or temperature")
        return cls(encoder, with_lanes(w), classes, link, temperature, several, indicator, threshold, eight)


def softmax(s: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(s_y) / sum over y' of exp(s_y'), row by row."""
    p = np.exp(s - s.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def kind_of(classes: NDArray[Any]) -> str:
    """What labels are, as a model file says it."""
    kinds = {"b": "bool", "i": "int", "u": "int", "f": "float"}
    return kinds.get(classes.dtype.kind, "str")
