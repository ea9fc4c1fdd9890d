"""Tagging with models of the trainer and with CRFsuite's own files."""

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.compat.pycrfsuite.items import given_items
from chaffinch.estimators.tagger import Tagger as Estimator
from chaffinch.model.encoders import CsrRows
from chaffinch.model.foreign_chain import AttributeFeatures, ForeignChainModel
from chaffinch.rescue import crfsuite
from chaffinch.rescue.foreign import ForeignFile
from chaffinch.structures import Chain

CRFSUITE = b"lCRF"


@dataclass
class ParsedDump:
    """The contents of a model: weights by name, rounded to 6 digits; ids of labels and attributes."""

    header: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    transitions: dict[tuple[str, str], float] = field(default_factory=dict)
    state_features: dict[tuple[str, str], float] = field(default_factory=dict)


class Tagger:
    """Labels, probabilities and weights by a model file.

    Values of features are read as 32-bit floats.
    """

    _model: ForeignChainModel | None
    _content: tuple[bool, int]  # whether the file is CRFsuite's, and its size
    _rows: CsrRows | None  # the sequence that was set
    _sums: tuple[Any, Any, float] | None

    def __init__(self) -> None:
        self.close()

    def open(self, name: str) -> "contextlib.closing[Tagger]":
        """Open a model file: of the trainer, or of CRFsuite."""
        content = Path(name).read_bytes()  # OSError if there is none
        self._take(_model(str(name), content, name), content)
        return contextlib.closing(self)

    def open_inmemory(self, value: bytes) -> "contextlib.closing[Tagger]":
        """Open the bytes of a model file."""
        if not isinstance(value, bytes):
            raise TypeError(f"expected bytes, got {type(value).__name__}")
        self._take(_model("the model", value, None), value)
        return contextlib.closing(self)

    def _take(self, model: ForeignChainModel, content: bytes) -> None:
        self.close()
        self._model, self._content = model, (content[:4] == CRFSUITE, len(content))

    def close(self) -> None:
        """Forget the model."""
        self._model, self._content = None, (False, 0)
        self._rows = self._sums = None

    def labels(self) -> list[str]:
        """The labels, in the order of the model."""
        return list(self._opened().labels.inner)

    def tag(self, xseq: Any = None) -> list[str]:
        """The best labels of a sequence; None: of the one that was ``set``."""
        if xseq is not None:
            self.set(xseq)
        model = self._opened()
        if self._rows is None or len(self._rows.ptr) < 2:
            return []
        found = model.decode_rows(np.array([0, len(self._rows.ptr) - 1], np.int64), self._rows, 1)
        return [model.labels.outer[i] for i in found.tolist()]

    def tag_all(self, sequences: Any) -> list[list[str]]:
        """The best labels of each sequence, decoded together; the sequence that was ``set`` stays."""
        model = self._opened()
        encoder: Any = model.encoder
        bounds, ptr, ids, values = encoder.index.read([given_items(x) for x in sequences], False, True)
        found = model.decode_rows(bounds, CsrRows(ptr, ids, values), 1).tolist()
        names = [model.labels.outer[i] for i in found]
        return [names[a:b] for a, b in pairwise(bounds.tolist())]

    def set(self, xseq: Any) -> None:
        """Set the sequence for ``tag``, ``probability`` and ``marginal``."""
        encoder: Any = self._opened().encoder
        _, ptr, ids, values = encoder.index.read([given_items(xseq)], False, True)
        self._rows, self._sums = CsrRows(ptr, ids, values), None

    def probability(self, yseq: Sequence[str]) -> float:
        """p(labels | the sequence that was set); 0 if there is none."""
        y = [self._label(label) for label in yseq]
        if self._rows is None or len(self._rows.ptr) < 2:
            return 0.0
        T = len(self._rows.ptr) - 1
        if len(y) != T:
            raise ValueError(f"The numbers of items and labels differ: |x| = {T}, |y| = {len(y)}")
        parts, _, log_z = self._summed()
        score = parts["unary"][np.arange(T), y].sum() + parts["pair"][y[:-1], y[1:]].sum()
        return float(np.exp(score - log_z))

    def marginal(self, y: str, pos: int) -> float:
        """p(label at a position | the sequence that was set)."""
        label = self._label(y)
        if self._rows is None or len(self._rows.ptr) < 2:
            return 0.0
        if not 0 <= pos < len(self._rows.ptr) - 1:
            raise ValueError(f"The position {pos} is out of range of {len(self._rows.ptr) - 1}")
        return float(self._summed()[1][pos, label])

    def marginals(self) -> NDArray[np.float64]:
        """p(label | the sequence that was set) [items, labels]."""
        if self._rows is None or len(self._rows.ptr) < 2:
            return np.zeros((0, len(self.labels())))
        found: NDArray[np.float64] = self._summed()[1]
        return found

    def _label(self, name: str) -> int:
        names = self._opened().labels.inner
        if name not in names:
            raise RuntimeError(f"Failed to convert into label identifier: {name}")
        return names.index(name)

    def _summed(self) -> tuple[Any, Any, float]:
        """The potentials of the sequence, the marginals and log Z."""
        if self._sums is None:
            model, rows = self._opened(), self._rows
            assert rows is not None
            parts, bounds = next(
                iter(model.source.blocks(rows, np.array([0, len(rows.ptr) - 1], np.int64), 1))
            )
            log_z, expected = Chain(len(model.labels.inner)).marginals_batch(parts, bounds)
            self._sums = (parts, expected["unary"], float(log_z[0]))
        return self._sums

    def _opened(self) -> ForeignChainModel:
        if self._model is None:
            raise ValueError("The tagger is not opened")
        return self._model

    # -- the model ------------------------------------------------------------------------------------------------

    def info(self) -> ParsedDump:
        """The weights by name."""
        if self._model is None:
            raise RuntimeError("Tagger is closed")
        labels, weights = self._model.labels.inner, self._model.weights
        encoder: Any = self._model.encoder
        names = encoder.names(np.arange(encoder.n_features, dtype=np.int32))
        theirs, size = self._content
        found = ParsedDump(
            {
                "magic": CRFSUITE.decode() if theirs else "chaffinch",
                "size": str(size),
                "type": "FOMC",
                "version": str(crfsuite.VERSION),
                "num_features": "0",
                "num_labels": str(len(labels)),
                "num_attrs": str(len(names)),
            },
            {label: str(i) for i, label in enumerate(labels)},
            {name: str(i) for i, name in enumerate(names)},
        )
        for i, j in np.argwhere(weights.pair).tolist():
            found.transitions[labels[i], labels[j]] = round(float(weights.pair[i, j]), 6)
        unary: Any = weights.unary
        rows = np.repeat(np.arange(len(names)), np.diff(unary.bounds))
        for a, y, w in zip(rows.tolist(), unary.columns.tolist(), unary.weights.tolist(), strict=True):
            found.state_features[names[a], labels[y]] = round(w, 6)
        return found

    def dump(self, filename: str | None = None) -> None:
        """Write the weights as CRFsuite's text, to a file or to standard output."""
        text = "\n".join(_dumped(self.info())) + "\n"
        if filename is None:
            sys.stdout.write(text)
        else:
            Path(filename).write_text(text, encoding="utf-8")


def _dumped(info: ParsedDump) -> Iterator[str]:
    blocks: dict[str, list[str]] = {
        "FILEHEADER": [f"  {name}: {value}" for name, value in info.header.items()],
        "LABELS": [f"  {number:>5}: {name}" for name, number in info.labels.items()],
        "ATTRIBUTES": [f"  {number:>5}: {name}" for name, number in info.attributes.items()],
        "TRANSITIONS": [f"  (1) {a} --> {b}: {w:.6f}" for (a, b), w in info.transitions.items()],
        "STATE_FEATURES": [f"  (0) {a} --> {b}: {w:.6f}" for (a, b), w in info.state_features.items()],
    }
    for name, lines in blocks.items():
        yield from (f"{name} = {{", *lines, "}", "")


def _model(source: str, content: bytes, path: str | None) -> ForeignChainModel:
    """The model of a file; ValueError if it is not a model, or has another recipe."""
    if content[:4] == CRFSUITE:
        model: Any = crfsuite.read(ForeignFile(source, content)).model
    elif path is not None:
        model = Estimator.loaded(modelfile.read(path)).model_
    else:
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / "model.chaff"
            written.write_bytes(content)
            model = Estimator.loaded(modelfile.read(written)).model_
    if not isinstance(model, ForeignChainModel) or not isinstance(model.encoder, AttributeFeatures):
        raise ValueError(f"{source}: is a model of another recipe; chaffinch.load reads it")
    return model
