"""A trained kernel machine: an encoder or objects as they are, support examples, and how scores are read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError, ModelFileError
from chaffinch.features.rows import SparseRows
from chaffinch.kernels import DenseRows, Kernel
from chaffinch.kernels.description import described, restored
from chaffinch.model.choice_evidence import DOCUMENT, ListExample, rival_label, shares_example
from chaffinch.model.classifier import KINDS, kind_of, softmax
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.evidence import CONSTANT, EXAMPLE, Decision, Question
from chaffinch.model.objects import read_back, shown, written
from chaffinch.model.protocols import Packed
from chaffinch.scorers.dual import Dual
from chaffinch.scorers.neighbours import Neighbours
from chaffinch.scorers.pairwise import Pairwise
from chaffinch.scorers.shares import Share
from chaffinch.scorers.voted import Voted

LINKS = ("softmax", "shares")
DENSE_FROM = 0.03  # of the cells: from there on, dense rows are faster
WIDEST = 4096


@dataclass(frozen=True)
class ObjectEncoder:
    """Objects that go to the kernel as they are; the members are those of an encoder without features."""

    reads = "objects"
    union = None
    columns = 0
    n_features = 0

    def rows(self, X: Any, beside: Any, threads: int) -> list[Any]:
        """The objects."""
        if beside is not None:
            raise DataError(
                "numbers beside the documents do not reach a kernel of texts, trees or other objects"
            )
        return list(X)

    def forms(self, text: str) -> dict[str, set[str]]:
        """None: a kernel that compares texts as they are names no words."""
        return {}

    def names(self) -> list[str]:
        """There are no features to name."""
        return []


@dataclass(frozen=True, eq=False)
class KernelModel:
    """s_y from support examples;  p = softmax(s / temperature), or s itself where scores are shares of votes.

    scorer:  what learning left (:class:`Pairwise`, :class:`Dual`, :class:`Voted`, :class:`Neighbours`)
    support: the support examples as they were given: rows of features, or a list of objects
    dense:   whether rows are spelt out for the kernel
    """

    encoder: DocumentEncoder | ObjectEncoder
    kernel: Kernel
    scorer: Any
    support: SparseRows | list[Any]
    classes: NDArray[Any]
    link: str = "softmax"
    temperature: float = 1.0
    dense: bool = False
    several: bool = False
    indicator: bool = False
    threshold: float = 0.5

    def scores(self, X: Any, beside: Any, threads: int) -> NDArray[np.float64]:
        """s [N, Y]."""
        return self.scores_of_rows(self.encoder.rows(X, beside, threads), threads)

    def scores_of_rows(self, rows: Any, threads: int) -> NDArray[np.float64]:
        """s [N, Y] of rows of features, or of objects."""
        found: NDArray[np.float64] = self.scorer.scores(kernel_objects(rows, self.dense), threads)
        return found

    def probabilities(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """p(y|x) [N, Y]."""
        if self.link == "shares":
            return np.asarray(scores, np.float64)
        return softmax(np.asarray(scores, np.float64) / self.temperature)

    def examples(self, X: Any, beside: Any, question: Question, threads: int) -> list[ListExample]:
        """Support examples, votes or neighbours, for the one object in X."""
        x = kernel_objects(self.encoder.rows(X, beside, threads), self.dense)
        scores = np.asarray(self.scorer.scores(x, threads))
        labels = [str(label) for label in self.classes.tolist()]
        question.checked(labels)
        given = int(scores[0].argmax())
        rival = rival_label(scores[0], given, labels, question.against)
        if rival is None:
            raise ConfigError(f"this model knows one label, {labels[0]}: there is nothing to tell it from")
        p = dict(zip(labels, self.probabilities(scores)[0].tolist(), strict=True))
        names = self.encoder.names()
        return [
            shares_example(
                Decision(DOCUMENT if n == 0 else what),
                [labels[given], labels[rival]],
                (score, other),
                [self._share(share, names) for share in shares],
                p if n == 0 else None,
                "" if n else f"What adds up are {what}.",
            )
            for n, (what, score, other, shares) in enumerate(
                self.scorer.shares(x, given, rival, labels, threads)
            )
        ]

    def _share(self, share: Share, names: Sequence[str]) -> tuple[str, float, float, float, str]:
        """Name, weights for the answer and its rival, value and kind of what adds to the scores."""
        name, kind = share.name, CONSTANT
        if share.example is not None:
            name, kind = f"{share.name} {self._shown(share.example, names)}".strip(), EXAMPLE
        return name, share.weight, share.rival, share.value, kind

    def strongest(self, top: int, label: str | None) -> tuple[str, dict[str, list[tuple[str, float]]]]:
        """The support vectors that weigh most for each label, with their coefficients."""
        rows = {}
        coefficients, names = coefficients_of(self.scorer), self.encoder.names()
        for y, name in enumerate(self.classes.tolist()):
            if label is None or str(name) == label:
                order = np.argsort(-coefficients[:, y], kind="stable")[:top].tolist()
                rows[str(name)] = [
                    (self._shown(n, names), float(coefficients[n, y]))
                    for n in order
                    if coefficients[n, y] > 0
                ]
        return f"support vectors ({len(coefficients)})", rows

    def packed(self) -> Packed:
        """What a model file keeps; ConfigError where the kernel or the objects are beyond it."""
        kernel = described(self.kernel)
        details, arrays, strings = (
            ({}, {}, {}) if isinstance(self.encoder, ObjectEncoder) else self.encoder.packed()
        )
        kind, own, facts = packed_scorer(self.scorer)
        arrays |= {f"machine.{name}": array for name, array in own.items()}
        if isinstance(self.support, SparseRows):
            arrays |= {"support.ptr": self.support.ptr, "support.ids": self.support.ids}
            arrays["support.values"] = self.support.weights()
        else:
            strings["support.objects"] = [written(thing) for thing in self.support]
        return Packed(
            details={
                "encoder": details,
                "reads": self.encoder.reads,
                "kernel": kernel,
                "machine": kind,
                "facts": facts,
                "kind": kind_of(self.classes),
                "link": self.link,
                "temperature": self.temperature,
                "dense": self.dense,
            },
            arrays=arrays,
            strings=strings,
        )

    @classmethod
    def unpacked(
        cls,
        labels: tuple[str, ...],
        details: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        strings: Mapping[str, Iterable[str]],
    ) -> "KernelModel":
        """The model that ``packed`` described, checked."""
        try:
            kernel = restored(details["kernel"])
            classes = np.array([KINDS[details["kind"]](label) for label in labels])
            link, temperature, dense = details["link"], float(details["temperature"]), bool(details["dense"])
            support: SparseRows | list[Any]
            encoder: DocumentEncoder | ObjectEncoder
            if details["reads"] == "objects":
                encoder = ObjectEncoder()
                support = [read_back(text) for text in strings["support.objects"]]
            else:
                encoder = DocumentEncoder.unpacked(details["encoder"], arrays, strings)
                support = _checked_rows(arrays, encoder.n_features)
            own = {k.removeprefix("machine."): v for k, v in arrays.items() if k.startswith("machine.")}
            prepared = kernel.prepared(kernel_objects(support, dense))
            scorer = unpacked_scorer(
                details["machine"], kernel, prepared, own, details["facts"], len(classes)
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(f"the kernel machine is damaged: {type(error).__name__} {error}") from None
        if link not in LINKS or not 0 < temperature < np.inf:
            raise ModelFileError("the kernel machine is damaged: it has no usable link or temperature")
        return cls(encoder, kernel, scorer, support, classes, link, temperature, dense)

    def _shown(self, n: int, names: Sequence[str]) -> str:
        """A support example in a few words; names: of all features, where it is a row of them."""
        if not isinstance(self.support, SparseRows):
            return f"#{n + 1} {shown(self.support[n])}"
        row = self.support.taken(np.array([n]))
        order = np.argsort(-np.abs(row.weights()), kind="stable")[:6]
        return f"#{n + 1} " + " ".join(dict.fromkeys(names[f] for f in row.ids[order].tolist()))


def kernel_objects(rows: Any, dense: bool) -> Any:
    """What the kernel reads."""
    return DenseRows(rows.dense()) if dense and isinstance(rows, SparseRows) else rows


def better_dense(rows: SparseRows) -> bool:
    """Whether rows are faster when they are spelt out."""
    return rows.columns <= WIDEST and len(rows.ids) >= DENSE_FROM * len(rows) * rows.columns


def coefficients_of(scorer: Any) -> NDArray[np.float64]:
    """How much each support example speaks for each label: float64 [support, Y]."""
    if isinstance(scorer, Dual):
        return np.asarray(scorer.alpha, np.float64)
    if isinstance(scorer, Voted):
        out = np.zeros((len(scorer.support), scorer.Y))
        np.add.at(out, (scorer.mistakes[:, 0], scorer.mistakes[:, 1]), 1.0)
        np.add.at(out, (scorer.mistakes[:, 0], scorer.mistakes[:, 2]), -1.0)
        return out
    Y = scorer.Y
    weight = np.abs(scorer.alpha).sum(axis=1) if isinstance(scorer, Pairwise) else scorer.importance
    return np.asarray(np.where(np.arange(Y) == scorer.labels[:, None], weight[:, None], 0.0), np.float64)


INDICES = ("labels", "mistakes")  # the arrays of a scorer that count examples and labels


def packed_scorer(scorer: Any) -> tuple[str, dict[str, NDArray[Any]], dict[str, Any]]:
    """A scorer's kind, its arrays and its small facts."""
    named: dict[str, NDArray[Any]]
    match scorer:
        case Pairwise():
            named = {"labels": scorer.labels.astype(np.int32), "alpha": scorer.alpha}
            return "pairwise", named | {"intercepts": scorer.intercepts}, {}
        case Dual():
            return "dual", {"alpha": scorer.alpha, "intercepts": scorer.intercepts}, {}
        case Voted():
            return "voted", {"mistakes": scorer.mistakes.astype(np.int32), "survived": scorer.survived}, {}
        case Neighbours():
            named = {"labels": scorer.labels.astype(np.int32), "importance": scorer.importance}
            return "neighbours", named, {"k": scorer.k, "weighted": scorer.weighted}
    raise ConfigError(f"{type(scorer).__name__} cannot be saved")


def unpacked_scorer(
    kind: Any, kernel: Kernel, support: Any, arrays: Mapping[str, NDArray[Any]], facts: Any, Y: int
) -> Any:
    """The scorer that was packed; every shape and index is checked by its class, every number here."""
    for name, array in arrays.items():
        if array.dtype.kind not in ("iu" if name in INDICES else "fiu") or not np.isfinite(array).all():
            kind_of_numbers = "whole" if name in INDICES else "finite"
            raise ModelFileError(f"the kernel machine is damaged: {name} must be {kind_of_numbers} numbers")
    if kind == "pairwise":
        made: Any = Pairwise(kernel, support, arrays["labels"], arrays["alpha"], arrays["intercepts"])
        labels = made.Y
    elif kind == "dual":
        made = Dual(kernel, support, arrays["alpha"], arrays["intercepts"])
        labels = made.alpha.shape[1]
    elif kind == "voted":
        made = Voted(kernel, support, arrays["mistakes"], arrays["survived"], Y)
        labels = Y
    elif kind == "neighbours" and isinstance(facts, Mapping):
        k = facts["k"]
        if type(k) is not int or k < 1:
            raise ModelFileError("the kernel machine is damaged: k must be a count")
        weighted, importance = bool(facts["weighted"]), arrays["importance"]
        made = Neighbours(kernel, support, arrays["labels"], Y, k=k, weighted=weighted, importance=importance)
        labels = Y
    else:
        raise ModelFileError(f"the kernel machine is damaged: there is no machine {kind!r}")
    if labels != Y:
        raise ModelFileError(f"the kernel machine is damaged: it knows {labels} labels, the file names {Y}")
    return made


def _checked_rows(arrays: Mapping[str, NDArray[Any]], columns: int) -> SparseRows:
    ptr = np.ascontiguousarray(arrays["support.ptr"], np.int64)
    ids = np.ascontiguousarray(arrays["support.ids"], np.int32)
    values = np.ascontiguousarray(arrays["support.values"], np.float32)
    if (
        ptr.ndim != 1
        or len(ptr) < 1
        or ptr[0] != 0
        or (np.diff(ptr) < 0).any()
        or ptr[-1] != len(ids)
        or values.shape != ids.shape
        or (len(ids) and not (ids.min() >= 0 and ids.max() < columns))
        or not np.isfinite(values).all()
    ):
        raise ModelFileError("the kernel machine is damaged: its support vectors do not fit the features")
    return SparseRows(ptr, ids, values, columns)
