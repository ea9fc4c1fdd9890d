"""Texts to classify, as a question sheet."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Classifier
from chaffinch.evaluate.mistakes import Reading
from chaffinch.evaluate.sources import (
    DOCUMENTS,
    LABEL_SETS,
    DocumentSource,
    predicted_label,
    predicted_labels,
)
from chaffinch.lab.input_columns import number_columns
from chaffinch.lab.sheets.sheet import Confusion, Source, missed_and_invented, place, rows_of


class LabelSheet:
    """Texts and their labels, one each or several."""

    unit = "documents"

    def __init__(
        self,
        path: Path,
        models: Sequence[Classifier],
        label: str | None = None,
        text: str | None = None,
        label_separator: str | None = None,
    ) -> None:
        self.path = path
        told = {"label": label, "text": text, "label_separator": label_separator}
        self.documents = rows_of(path, {k: v for k, v in told.items() if v is not None})
        several = [bool(m.model_.several) for m in models]
        if len(set(several)) > 1:
            raise ConfigError("one model gives one label each, the other several: they cannot be compared")
        self.several = several[0] if several else any(len(d.labels) > 1 for d in self.documents)
        self.labelled = any(d.labels for d in self.documents)
        if self.labelled and not self.several:
            for n, d in enumerate(self.documents):
                if len(d.labels) != 1:
                    raise DataError(f"{place(path, n, d)}: expected one label, found {len(d.labels)}")
        self.gold = [d.labels for d in self.documents] if self.labelled else []
        self.units = len(self.documents)

    def ask(self, model: Classifier) -> list[list[str]]:
        """The labels of each text."""
        union = model.model_.encoder.union
        beside = number_columns(self.documents, ",".join(union.beside_names) if union else None)
        given = model.predict([d.text for d in self.documents], beside)
        return [[str(label) for label in one] if isinstance(one, list) else [str(one)] for one in given]

    def in_source(self, found: Source) -> list[list[str]]:
        """The labels of an output, in its column of predictions or as its labels."""
        assert isinstance(found, DocumentSource)
        if self.several:
            return [predicted_labels(d) for d in found.outputs[0]]
        return [[predicted_label(d)] for d in found.outputs[0]]

    def source(self, names: tuple[str, ...], outputs: Sequence[list[list[str]]]) -> DocumentSource:
        """Each output as documents."""
        plain = [replace(d, fields={}) for d in self.documents]
        made = tuple(
            [replace(d, labels=labels) for d, labels in zip(plain, output, strict=True)] for output in outputs
        )
        return DocumentSource(LABEL_SETS if self.several else DOCUMENTS, names, self.documents, made)

    def readings(self, outputs: Sequence[Sequence[list[str]]], rows: Sequence[int]) -> list[list[Reading]]:
        """The labels in order."""
        return [[[(label, 0, 1) for label in sorted(answers[n])] for n in rows] for answers in outputs]

    def mistakes(self, row: int, right: Reading, given: Reading) -> Counter[Confusion]:
        """One label taken for another; of several, those missed and those invented."""
        if self.several:
            return missed_and_invented(right, given)
        return Counter((a[0], b[0]) for a, b in zip(right, given, strict=True) if a != b)

    def piece(self, row: int, piece: tuple[str, int, int]) -> str:
        """The label."""
        return piece[0]

    def plain(self, answer: list[str]) -> Any:
        """A label, or the list of them."""
        return answer if self.several else answer[0]
