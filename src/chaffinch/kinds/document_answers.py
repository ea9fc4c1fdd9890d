"""Answers of classifiers: a test set of texts, columns of numbers beside them, and the files that hold predictions."""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import CellTypes
from chaffinch.corpus import delimited, jsonl, write
from chaffinch.corpus.annotations import CONFIDENCE, PREDICTION
from chaffinch.corpus.json_records import compact
from chaffinch.corpus.registry import named, with_extension
from chaffinch.corpus.text_table import FurtherCells, ObjectTable, TextTable
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.classifier import Classifier
from chaffinch.evaluate.documents import LabelOutputs
from chaffinch.evaluate.label_sets import LabelSetOutputs
from chaffinch.evaluate.mistakes import Pieces
from chaffinch.evaluate.outputs import (
    SEPARATOR,
    DocumentOutputs,
    predicted_label,
    predicted_labels,
    row_place,
)
from chaffinch.kinds.kind import Confusion, TestSet, missed_and_invented
from chaffinch.kinds.requests import PredictRequest, rows_of
from chaffinch.text.document import Document

# Formats that hold any field of a row; those of them that are text; those that are separated cells.
WITH_FIELDS = ("csv", "tsv", "jsonl", "parquet")
ON_SCREEN, DELIMITED = WITH_FIELDS[:3], WITH_FIELDS[:2]
TOOLS = ("label-studio", "doccano", "prodigy")  # tools with predictions in their tasks
ABLE = (*WITH_FIELDS, *TOOLS)  # formats that can carry predictions


class LabelTestSet(TestSet):
    """Texts and their labels, one each or several."""

    unit = "documents"

    def __init__(self, path: Path, models: Sequence[Classifier], told: Mapping[str, str]) -> None:
        self.path = path
        self.documents = rows_of(path, told)
        several = [bool(m.model_.several) for m in models]
        if len(set(several)) > 1:
            raise ConfigError("cannot compare a model that predicts one label with one that predicts several")
        self.several = several[0] if several else any(len(d.labels) > 1 for d in self.documents)
        self.labelled = any(d.labels for d in self.documents)
        if self.labelled and not self.several:
            for n, d in enumerate(self.documents):
                if len(d.labels) != 1:
                    raise DataError(f"{row_place(path, n, d)}: expected one label, found {len(d.labels)}")
        self.gold = [d.labels for d in self.documents] if self.labelled else []
        self.units = len(self.documents)

    def ask(self, model: Classifier) -> list[list[str]]:
        """The labels of each text."""
        given = model.predict([d.text for d in self.documents], numbers_beside(model, self.documents))
        return [[str(label) for label in one] if isinstance(one, list) else [str(one)] for one in given]

    def answers_of(self, found: DocumentOutputs) -> list[list[str]]:
        """The labels of an output, in its column of predictions or as its labels."""
        if self.several:
            return [predicted_labels(d) for d in found.outputs[0]]
        return [[predicted_label(d)] for d in found.outputs[0]]

    def outputs(self, names: tuple[str, ...], answers: Sequence[list[list[str]]]) -> DocumentOutputs:
        """Each output as documents."""
        plain = [replace(d, fields={}) for d in self.documents]
        made = tuple(
            [replace(d, labels=labels) for d, labels in zip(plain, answer, strict=True)] for answer in answers
        )
        task = LabelSetOutputs if self.several else LabelOutputs
        return task(names, self.documents, made)

    def pieces(self, outputs: Sequence[Sequence[list[str]]], rows: Sequence[int]) -> list[list[Pieces]]:
        """The labels in order."""
        return [[[(label, 0, 1) for label in sorted(answers[n])] for n in rows] for answers in outputs]

    def mistakes(self, row: int, right: Pieces, given: Pieces) -> Counter[Confusion]:
        """Confusions of labels; with several labels, missed and spurious ones."""
        if self.several:
            return missed_and_invented(right, given)
        return Counter((a[0], b[0]) for a, b in zip(right, given, strict=True) if a != b)

    def piece(self, row: int, piece: tuple[str, int, int]) -> str:
        """The label."""
        return piece[0]

    def plain(self, answer: list[str]) -> Any:
        """A label, or the list of them."""
        return answer if self.several else answer[0]

    def unknown_labels(self, known: Any) -> list[str]:
        """Labels of the data that no model predicts."""
        return sorted({label for labels in self.gold for label in labels} - set(known))


# Cells that stand for a missing number.
MISSING = ("", None, "NA", "NaN", "null")


def number_columns(documents: Sequence[Document], names: str | None) -> dict[str, list[float]] | None:
    """Columns of numbers by name; each must exist and hold numbers."""
    if not names:
        return None
    found: dict[str, list[float]] = {}
    for name in [piece.strip() for piece in names.split(",")]:
        cells = []
        for n, d in enumerate(documents):
            if name not in d.fields:
                raise DataError(
                    f"document {n + 1} has no column {name!r}; it has {', '.join(d.fields) or 'none'}"
                )
            try:
                cells.append(float("nan" if d.fields[name] in MISSING else d.fields[name]))
            except (TypeError, ValueError):
                raise DataError(
                    f"document {n + 1}: expected a number in column {name!r}, found {d.fields[name]!r}"
                ) from None
        found[name] = cells
    return found


def numbers_beside(model: Classifier, documents: Sequence[Document]) -> dict[str, list[float]] | None:
    """The columns of numbers that a model reads beside the text."""
    return number_columns(documents, numbers_of(model))


def numbers_of(model: Classifier) -> str | None:
    """The names of these columns; None without any."""
    union = model.model_.encoder.union
    return ",".join(union.beside_names) or None if union else None


def predict_table(
    model: Classifier, table: TextTable | ObjectTable, asked: PredictRequest, written: str
) -> bool:
    """Write the rows of a block back with a prediction and a confidence each; False if they must be documents."""
    as_objects = written not in DELIMITED
    rows = table if as_objects or isinstance(table, TextTable) else table.as_cells()
    if rows is None or (as_objects and isinstance(rows, TextTable) and not jsonl.fits_objects(rows)):
        return False
    texts = rows.texts()
    found = model.places_of_answers(texts) if asked.precision is None else None
    p, labels = model.answers(texts.strings()) if found is None else (found[0], [])
    if asked.precision is not None:
        labels = certain_labels(model, p, [one if isinstance(one, list) else [one] for one in labels], asked)
    lists = asked.precision is not None or model.model_.several
    sure = np.ascontiguousarray(p.T).max(axis=0)  # the same as p.max(axis=1), in a fifth of the time
    if found is None:
        joined = [SEPARATOR.join(map(str, one)) if lists else str(one) for one in labels]
        names = list(dict.fromkeys(joined))
        place = {name: i for i, name in enumerate(names)}
        chosen = np.array([place[name] for name in joined], np.int32)
    else:
        names, chosen = [str(label) for label in model.classes_.tolist()], found[1]
    if isinstance(rows, TextTable) and not as_objects:
        beside: dict[str, FurtherCells] = {
            PREDICTION: (CellTypes(names), chosen),
            CONFIDENCE: four_decimals(sure),
        }
        delimited.write_table(rows, beside, asked.output, written, header_above(asked, written))
    else:
        values = {} if model.model_.several else label_values(model)
        spelt = CellTypes([compact(values.get(name, name)) for name in names])
        jsonl.write_table(
            rows, {PREDICTION: (spelt, chosen), CONFIDENCE: shortest_decimals(sure)}, asked.output
        )
    return True


def label_values(model: Classifier) -> dict[str, Any]:
    """The labels that are no text, by their text."""
    own = {str(y): y for y in model.classes_.tolist() if not isinstance(y, str)}
    return own | {**model.label_values_}


def header_above(asked: PredictRequest, written: str) -> list[str]:
    """The names of the columns of the blocks before; none without any."""
    above = b"" if asked.layout is None else asked.layout.header
    return next(csv.reader([above.decode()], delimiter="\t" if written == "tsv" else ","), [])


def four_decimals(p: NDArray[np.float64]) -> FurtherCells:
    """Probabilities as text.

    >>> from chaffinch.corpus.text_table import strings_of
    >>> strings_of(four_decimals(np.array([0.0, 0.12345, 2 / 3, 1.0])))
    ['0.0000', '0.1235', '0.6667', '1.0000']
    """
    return _rounded(p, "{:.4f}")


def shortest_decimals(p: NDArray[np.float64]) -> FurtherCells:
    """Probabilities of four decimals as JSON.

    >>> from chaffinch.corpus.text_table import strings_of
    >>> strings_of(shortest_decimals(np.array([0.0, 0.12345, 2 / 3, 0.5])))
    ['0.0', '0.1235', '0.6667', '0.5']
    """
    return _rounded(p, "{!r}")


def _rounded(p: NDArray[np.float64], form: str) -> FurtherCells:
    scaled = p * 10_000
    nearest = np.rint(scaled)
    ids = nearest.astype(np.int32)
    doubtful = np.flatnonzero(np.abs(scaled - nearest) > 0.499_999)  # the product is rounded, too
    ids[doubtful] = [round(round(one, 4) * 10_000) for one in p[doubtful].tolist()]
    return _ten_thousandths(form), ids


@cache
def _ten_thousandths(form: str) -> CellTypes:
    return CellTypes([form.format(n / 10_000) for n in range(10_001)])


def certain_labels(
    model: Classifier, p: NDArray[np.float64], given: list[list[Any]], asked: PredictRequest
) -> list[list[Any]]:
    """The labels whose probability reaches the threshold for a precision."""
    least = model.threshold_for(precision=asked.precision or 0.0)
    place = {str(label): i for i, label in enumerate(model.classes_.tolist())}
    kept = [
        [name for name in names if row[place[str(name)]] >= least]
        for names, row in zip(given, p, strict=True)
    ]
    assert model.confidence_ is not None
    unit = model.confidence_.unit
    before, after = (sum(map(len, side)) for side in (given, kept))
    asked.remark(
        f"{{count}} of {{of}} {unit} held back: their probability is below {least:.4f}, the lowest "
        f"threshold at which held-out {unit} have a precision of {asked.precision:g}",
        before - after,
        before,
        always=True,
    )
    return kept


def write_for_tools(
    documents: list[Document], given: list[list[Any]], sure: list[float], output: Path, format: str
) -> None:
    """The documents with the predicted labels instead of their own; with scores if the format holds them."""
    made = []
    for d, names, confidence in zip(documents, given, sure, strict=True):
        has_place = "scores" in named(format).carries
        fields = d.fields if has_place else d.fields | {CONFIDENCE: confidence}
        score = confidence if has_place else None
        labels = [str(name) for name in names]
        made.append(
            replace(d, labels=labels, shares={}, spans=[], annotations=[], fields=fields, score=score)
        )
    options: dict[str, Any] = {} if format == "doccano" else {"predicted": True}
    write(made, output, format=format, **options)


def can_hold_answers(output: Path) -> bool:
    """Whether a format of this file name can carry predictions."""
    return any(format.name in ABLE for format in with_extension(output))


def format_of_answers(output: Path, of_input: str, wanted: str | None) -> str:
    """The format of predictions: the named one, that of the output's name, that of the input, else CSV.

    A format that cannot carry the predictions is refused.
    """
    suggested = [named(wanted).name] if wanted is not None else [f.name for f in with_extension(output)]
    if not suggested:
        return of_input if of_input in ON_SCREEN else ON_SCREEN[0]
    first = [] if of_input in TOOLS and wanted is None and "jsonl" in suggested else [of_input]
    fit = [name for name in (*first, *ABLE) if name in ABLE and name in suggested]
    if not fit:
        raise ConfigError(
            f"{output}: the format {suggested[-1]} cannot hold predictions; "
            "name a .csv, .tsv, .jsonl, .json or .parquet file"
        )
    return fit[0]
