"""A trained kernel machine: an encoder or raw objects, support examples, and a calibration."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError, ModelFileError
from chaffinch.features.rows import SparseRows
from chaffinch.kernels import DenseRows, Kernel
from chaffinch.kernels.description import described, restored
from chaffinch.model.choice_evidence import DOCUMENT, ListExample, rival_label, shares_example
from chaffinch.model.classifier import KINDS, kind_of, labels_as, positive
from chaffinch.model.confidence import RAW, Calibration, Prior
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.evidence import CONSTANT, EXAMPLE, Decision, Question
from chaffinch.model.objects import read_back, shown, written
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, array, fact, inside, nested, strings
from chaffinch.modelfile.schema import AS_STORED
from chaffinch.scorers.dual import Dual, Share
from chaffinch.scorers.neighbours import Neighbours
from chaffinch.scorers.pairwise import Pairwise
from chaffinch.scorers.voted import Voted

LINKS = ("softmax", "shares", "votes")
DENSE_FROM = 0.03  # share of non-zero cells from which dense rows are faster
WIDEST = 4096


@dataclass(frozen=True)
class ObjectEncoder:
    """Objects that the kernel reads unchanged; an encoder without features."""

    reads = "objects"
    union = None
    columns = 0
    n_features = 0

    def rows(self, X: Any, beside: Any, threads: int) -> list[Any]:
        """The objects."""
        if beside is not None:
            raise DataError(
                "a kernel of texts, trees or other objects cannot use numbers beside the documents"
            )
        return list(X)

    def forms(self, text: str) -> dict[str, set[str]]:
        """Empty: a kernel of raw texts has no names of words."""
        return {}

    def names(self) -> list[str]:
        """There are no features to name."""
        return []


@dataclass(frozen=True, eq=False)
class KernelModel:
    """s_y from support examples;  p = softmax(s / temperature), or s itself if scores are shares of votes.

    link:    softmax of scores; shares of votes; votes of pairs of labels, plus their margins
    scorer:  the trained scorer (:class:`Pairwise`, :class:`Dual`, :class:`Voted`, :class:`Neighbours`)
    support: the support examples as they were given: rows of features, or a list of objects
    dense:   whether rows are dense for the kernel
    """

    encoder: DocumentEncoder | ObjectEncoder
    kernel: Kernel
    scorer: Any
    support: SparseRows | list[Any]
    classes: NDArray[Any]
    link: str = "softmax"
    calibration: Calibration = RAW
    dense: bool = False
    several: bool = False
    indicator: bool = False
    threshold: float = 0.5
    prior: Prior | None = None

    def scores(self, X: Any, beside: Any, threads: int) -> NDArray[np.float64]:
        """s [N, Y]."""
        return self.scores_of_rows(self.encoder.rows(X, beside, threads), threads)

    def scores_of_rows(self, rows: Any, threads: int) -> NDArray[np.float64]:
        """s [N, Y] of rows of features, or of objects."""
        found: NDArray[np.float64] = self.scorer.scores(kernel_objects(rows, self.dense), threads)
        if self.prior is not None:
            self.prior.put_into(found, rows.ptr)
        return found

    def logits(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores that are calibrated [N, Y]: the logs of shares of votes, the margins beside votes of pairs."""
        if self.link == "shares":
            return vote_scores(scores)
        return with_margins(scores) if self.link == "votes" else scores

    def probabilities(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """p(y|x) [N, Y]."""
        s = np.asarray(scores, np.float64)
        if self.link == "shares" and self.calibration == Calibration():
            p = s.copy()
        else:
            p = self.calibration.softmax(self.logits(s))
        if self.prior is not None:
            p[self.prior.marked(s)] = self.prior.shares
        return p

    def examples(self, X: Any, beside: Any, question: Question, threads: int) -> list[ListExample]:
        """Support examples, votes or neighbours, for the one object in X."""
        rows = self.encoder.rows(X, beside, threads)
        x = kernel_objects(rows, self.dense)
        scores = np.asarray(self.scores_of_rows(rows, threads))
        labels = [str(label) for label in self.classes.tolist()]
        question.checked(labels)
        given = int(scores[0].argmax())
        rival = rival_label(scores[0], given, labels, question.against)
        if rival is None:
            raise ConfigError(
                f"this model has only the label {labels[0]}, so there is nothing to compare it with"
            )
        p = dict(zip(labels, self.probabilities(scores)[0].tolist(), strict=True))
        if self.prior is not None and self.prior.marked(scores)[0]:
            s = scores[0].tolist()
            known = ("prior", s[given], s[rival], 1.0, CONSTANT)
            note = "The model knows no feature of this text."
            pair = [labels[given], labels[rival]]
            return [shares_example(Decision(DOCUMENT), pair, (s[given], s[rival]), [known], p, note)]
        names = self.encoder.names()
        return [
            shares_example(
                Decision(DOCUMENT if n == 0 else what),
                [labels[given], labels[rival]],
                (score, other),
                [self._share(share, names) for share in shares],
                p if n == 0 else None,
                "" if n else f"The contributions are {what}.",
            )
            for n, (what, score, other, shares) in enumerate(
                self.scorer.shares(x, given, rival, labels, threads)
            )
        ]

    def _share(self, share: Share, names: Sequence[str]) -> tuple[str, float, float, float, str]:
        """Name, weights for the answer and its rival, value and kind of each contribution."""
        name, kind = share.name, CONSTANT
        if share.example is not None:
            name, kind = f"{share.name} {self._shown(share.example, names)}".strip(), EXAMPLE
        return name, share.weight, share.rival, share.value, kind

    def strongest(self, top: int, label: str | None) -> tuple[str, dict[str, list[tuple[str, float]]]]:
        """The support vectors with the largest coefficients for each label."""
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

    widths = (32,)

    def magnitudes(self) -> NDArray[np.float64]:
        """The largest coefficient of each support example; of equals, the earlier of each label first."""
        coefficients = np.abs(coefficients_of(self.scorer))
        largest, label = coefficients.max(axis=1, initial=0), coefficients.argmax(axis=1)
        rank = np.zeros(len(label))
        for y in np.unique(label):
            rank[label == y] = np.arange(np.count_nonzero(label == y))
        found: NDArray[np.float64] = largest * (1 - 1e-6 * (rank + 1) / (len(label) + 1))
        return found

    def shrunk(self, threshold: float, bits: int) -> "KernelModel":
        """The same model without the support examples below the threshold; their coefficients are not rounded."""
        kept = np.flatnonzero(self.magnitudes() >= threshold)
        support = (
            self.support.taken(kept)
            if isinstance(self.support, SparseRows)
            else [self.support[i] for i in kept.tolist()]
        )
        prepared = self.kernel.prepared(kernel_objects(support, self.dense))
        machine = MACHINES[machine_of(self.scorer)].of(self.scorer).taken(kept, len(self.support))
        return replace(self, support=support, scorer=machine.made(self.kernel, prepared, len(self.classes)))

    def packed(self) -> Packed:
        """The content for a model file; ConfigError if the kernel or the objects cannot be saved."""
        own = _Sections(
            kernel=described(self.kernel),
            kind=kind_of(self.classes),
            link=self.link,
            **self.calibration.sections(),
            prior=None if self.prior is None else self.prior.shares,
            dense=self.dense,
            reads=self.encoder.reads,
        ).packed()
        name = machine_of(self.scorer)
        own |= _Machine(name, MACHINES[name].of(self.scorer)).packed()
        rows = self.support
        if not isinstance(rows, SparseRows):
            return own | _Objects({}, [written(thing) for thing in rows]).packed()
        assert isinstance(self.encoder, DocumentEncoder)
        return own | _Rows(self.encoder, _Support(rows.ptr, rows.ids, rows.weights())).packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "KernelModel":
        """The model of a file, checked."""
        need = Requirements(file, Y=len(file.header.labels))
        found = _Sections.loaded(need)
        support: SparseRows | list[Any]
        encoder: DocumentEncoder | ObjectEncoder
        try:
            kernel = restored(found.kernel)
            if found.reads == "objects":
                encoder = ObjectEncoder()
                support = [read_back(text) for text in _Objects.loaded(need).objects]
            else:
                read = _Rows.loaded(need)
                encoder, rows = read.encoder, read.support
                support = SparseRows(rows.ptr, rows.ids, rows.values, encoder.n_features)
            machine = _Machine.loaded(need).facts
            prepared = kernel.prepared(kernel_objects(support, found.dense))
            scorer = machine.made(kernel, prepared, len(file.header.labels))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            if isinstance(error, ModelFileError):
                said = str(error)
                raise error if said.startswith(file.source) else need.fault(said) from None
            raise need.fault(f"its kernel machine is damaged: {type(error).__name__} {error}") from None
        classes = labels_as(found.kind, file)
        calibration = Calibration.of_sections(found, need)
        prior = None if found.prior is None else Prior(found.prior)
        return cls(
            encoder, kernel, scorer, support, classes, found.link, calibration, found.dense, prior=prior
        )

    @staticmethod
    def absent(file: ModelFile) -> bool:
        """Whether a file holds no such model."""
        return _Sections.absent(Requirements(file))

    def _shown(self, n: int, names: Sequence[str]) -> str:
        """A short description of a support example; names: of all features, if it is a row of features."""
        if not isinstance(self.support, SparseRows):
            return f"#{n + 1} {shown(self.support[n])}"
        row = self.support.taken(np.array([n]))
        order = np.argsort(-np.abs(row.weights()), kind="stable")[:6]
        return f"#{n + 1} " + " ".join(dict.fromkeys(names[f] for f in row.ids[order].tolist()))


def vote_scores(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of votes as scores: their logs, at least that of a twentieth of a vote."""
    return np.asarray(np.log(np.maximum(shares, 0.0) + 0.05))


def with_margins(s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Votes plus the sum of margins, from the scores of pairwise machines; the best label stays best.

        s = v + m / (3 (|m| + 1))   ->   v + m

    >>> with_margins(np.array([[2 + 0.5 / 4.5, 1 - 0.25 / 3.75]])).round(6).tolist()
    [[2.5, 0.75]]
    """
    votes = np.round(s)
    rest = np.clip(3 * (s - votes), -0.99999, 0.99999)
    found = np.asarray(votes + rest / (1 - np.abs(rest)), np.float64)
    rows, top = np.arange(len(s)), s.argmax(axis=1)
    found[rows, top] = found.max(axis=1, initial=-np.inf) + 1e-9
    return found


def kernel_objects(rows: Any, dense: bool) -> Any:
    """The objects in the form that the kernel reads."""
    return DenseRows(rows.dense()) if dense and isinstance(rows, SparseRows) else rows


def better_dense(rows: SparseRows) -> bool:
    """Whether the kernel is faster on dense rows."""
    return rows.columns <= WIDEST and len(rows.ids) >= DENSE_FROM * len(rows) * rows.columns


def coefficients_of(scorer: Any) -> NDArray[np.float64]:
    """The coefficient of each support example for each label: float64 [support, Y]."""
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


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The facts of a kernel machine's file; kind: the type of labels, such as ``int``."""

    kernel: dict[str, Any] = fact(dict, expected="a kernel")
    kind: str = fact(str, check=KINDS.__contains__, expected=f"one of {', '.join(KINDS)}")
    link: str = fact(str, check=LINKS.__contains__, expected=" or ".join(LINKS))
    temperature: float = fact(float, check=positive, expected="a number above 0")
    dense: bool = fact(bool)
    reads: str = fact(str)
    slope: float = fact(float, check=positive, expected="a number above 0", default=1.0)
    offset: float = fact(float, check=math.isfinite, expected="a finite number", default=0.0)
    curve: NDArray[np.float64] | None = array("float64", "knots", 2, optional=True, finite=True)
    prior: NDArray[np.float32] | None = array("float32", "Y", optional=True, finite=True)


@dataclass(frozen=True, eq=False)
class _Support(Saved):
    """Support examples that are rows of features."""

    ptr: NDArray[np.int64] = array("int64", "S+1", bounds="nnz")
    ids: NDArray[np.int32] = array("int32", "nnz", below="F")
    values: NDArray[np.float32] = array("float32", "nnz", finite=True)


@dataclass(frozen=True, eq=False)
class _Rows(Saved):
    """An encoder, and support examples that are rows of its features."""

    encoder: DocumentEncoder = inside(DocumentEncoder, F="n_features")
    support: _Support = nested(_Support, "support.")


@dataclass(frozen=True, eq=False)
class _Objects(Saved):
    """Support examples that are objects, as text; the header has an object for the encoder, which is empty."""

    encoder: dict[str, Any] = fact(dict)
    objects: list[str] = strings("S", made=list, name="support.objects")


FLOATS = ("float32", "float64")


@dataclass(frozen=True, eq=False)
class _SavedPairwise(Saved):
    labels: NDArray[np.integer[Any]] = array("int32", "S", below="Y")
    alpha: NDArray[Any] = array(AS_STORED, "S", "Y", stored=FLOATS, finite=True)
    intercepts: NDArray[Any] = array(AS_STORED, "Y", "Y", stored=FLOATS, finite=True)

    @classmethod
    def of(cls, scorer: Pairwise) -> "_SavedPairwise":
        return cls(scorer.labels, scorer.alpha, scorer.intercepts)

    def taken(self, kept: NDArray[np.int64], _: int) -> "_SavedPairwise":
        return replace(self, labels=self.labels[kept], alpha=self.alpha[kept])

    def made(self, kernel: Kernel, support: Any, Y: int) -> Pairwise:
        return Pairwise(kernel, support, self.labels, self.alpha, self.intercepts)


@dataclass(frozen=True, eq=False)
class _SavedDual(Saved):
    alpha: NDArray[Any] = array(AS_STORED, "S", "Y", stored=FLOATS, finite=True)
    intercepts: NDArray[Any] = array(AS_STORED, "Y", stored=FLOATS, finite=True)

    @classmethod
    def of(cls, scorer: Dual) -> "_SavedDual":
        return cls(scorer.alpha, scorer.intercepts)

    def taken(self, kept: NDArray[np.int64], _: int) -> "_SavedDual":
        return replace(self, alpha=self.alpha[kept])

    def made(self, kernel: Kernel, support: Any, Y: int) -> Dual:
        return Dual(kernel, support, self.alpha, self.intercepts)


@dataclass(frozen=True, eq=False)
class _SavedVoted(Saved):
    mistakes: NDArray[np.integer[Any]] = array("int32", "M", 3)
    survived: NDArray[Any] = array(AS_STORED, "M+1", stored=FLOATS, finite=True)

    @classmethod
    def of(cls, scorer: Voted) -> "_SavedVoted":
        return cls(scorer.mistakes, scorer.survived)

    def taken(self, kept: NDArray[np.int64], S: int) -> "_SavedVoted":
        """Merge hypotheses that differ by a mistake on a dropped example, and add up what they survived."""
        place = np.full(S, -1)
        place[kept] = np.arange(len(kept))
        left = np.flatnonzero(place[self.mistakes[:, 0]] >= 0)
        mistakes = self.mistakes[left].copy()
        mistakes[:, 0] = place[mistakes[:, 0]]
        survived = np.add.reduceat(self.survived, np.append(0, left + 1))
        return _SavedVoted(mistakes, survived)

    def made(self, kernel: Kernel, support: Any, Y: int) -> Voted:
        return Voted(kernel, support, self.mistakes, self.survived, Y)


@dataclass(frozen=True, eq=False)
class _SavedNeighbours(Saved):
    labels: NDArray[np.integer[Any]] = array("int32", "S", below="Y")
    importance: NDArray[Any] = array(AS_STORED, "S", stored=FLOATS, finite=True)
    k: int = fact(int, check=lambda k: k >= 1, expected="a count")
    weighted: bool = fact(bool)

    @classmethod
    def of(cls, scorer: Neighbours) -> "_SavedNeighbours":
        return cls(scorer.labels, scorer.importance, scorer.k, scorer.weighted)

    def taken(self, kept: NDArray[np.int64], _: int) -> "_SavedNeighbours":
        return replace(self, labels=self.labels[kept], importance=self.importance[kept])

    def made(self, kernel: Kernel, support: Any, Y: int) -> Neighbours:
        counted = {"importance": self.importance}
        return Neighbours(kernel, support, self.labels, Y, k=self.k, weighted=self.weighted, **counted)


# The scorers of kernel machines and their sections in a file.
SCORERS = {"pairwise": Pairwise, "dual": Dual, "voted": Voted, "neighbours": Neighbours}
MACHINES: dict[str, Any] = {
    "pairwise": _SavedPairwise,
    "dual": _SavedDual,
    "voted": _SavedVoted,
    "neighbours": _SavedNeighbours,
}


@dataclass(frozen=True, eq=False)
class _Machine(Saved):
    """The scorer by name, and its sections; the header calls their facts ``facts``."""

    machine: str = fact(str, check=MACHINES.__contains__, expected="a kernel machine")
    facts: Any = inside(MACHINES, "machine.", by="machine")


def machine_of(scorer: Any) -> str:
    """The name of a scorer in a file."""
    for name, kind in SCORERS.items():
        if isinstance(scorer, kind):
            return name
    raise ConfigError(f"{type(scorer).__name__} cannot be saved")
