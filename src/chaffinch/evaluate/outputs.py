"""Outputs to score: gold and the predictions of one or two systems, checked to have the same text."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus import Format, detect, read
from chaffinch.corpus.annotations import CONFIDENCE, PREDICTION
from chaffinch.corpus.json_records import as_text
from chaffinch.errors import ConfigError, DataError
from chaffinch.evaluate.mistakes import ErrorType
from chaffinch.evaluate.rates import Rates
from chaffinch.evaluate.reliability import Confidences
from chaffinch.evaluate.tally import Tally
from chaffinch.files import display_name
from chaffinch.knobs import knobs
from chaffinch.text.alignment import spans_of
from chaffinch.text.document import LABEL, Document
from chaffinch.text.schemes import scheme_of

# The separator of several labels in a cell of predictions.
SEPARATOR = "|"


class Scores(Protocol):
    """The interface of the scores of every task."""

    def as_dict(self) -> dict[str, float]:
        """Every score under its stable key."""


@dataclass(frozen=True)
class Rules:
    """The rules by which tags are scored; ``auto`` and None: inferred from the tags."""

    convention: str = "auto"
    scheme: str | None = None


@dataclass(frozen=True)
class Classes:
    """The rates of each class (type, label or tag) by name; the keys of their intervals are ``key.NAME.f1``."""

    what: str
    key: str
    rates: dict[str, Rates]


@dataclass(frozen=True)
class Confusions:
    """Confusions: names, and int64 [names, names] with gold in rows.

    mistakes: kinds of error with example sentences    pairs: gold, predicted, count, an example
    """

    what: str
    names: list[str]
    counts: NDArray[np.int64] = field(repr=False)
    note: str = ""
    mistakes: list[ErrorType] = field(default_factory=list)
    pairs: list[tuple[str, str, str, str]] | None = None


class Outputs(ABC):
    """Gold and one or two outputs for the same text, of one task.

    task:     its name                        headline: the keys of the scores at the top of a report, in order
    sizes:    the keys of the scores that count the scored data: sentences, tokens
    names:    the names of gold and outputs in messages
    remark:   a sentence below the scores in a report
    """

    task: ClassVar[str]
    headline: ClassVar[tuple[str, ...]]
    sizes: ClassVar[tuple[str, ...]]
    remark: ClassVar[str | None] = None
    names: tuple[str, ...]

    @classmethod
    def reads(cls, path: str | Path, format: str | None) -> bool:
        """Whether ``of_files`` reads this file; otherwise it is read as documents."""
        return False

    detected: ClassVar[bool] = True  # whether format detection recognises its files

    @classmethod
    def of_files(
        cls, paths: Sequence[str | Path], formats: Sequence[str], told: Sequence[dict[str, Any]]
    ) -> "Outputs":
        """Gold and outputs from files; a single file must hold both."""
        raise TypeError(f"{cls.__name__} is read from documents, not from files of its own")

    @classmethod
    def holds(cls, documents: Sequence[Document]) -> bool:
        """Whether the documents have annotations of this task."""
        return False

    @abstractmethod
    def scored(self, rules: Rules) -> tuple[Scores, list[Tally]]:
        """The scores of the first output, and the tally of each output."""

    def convention(self, rules: Rules) -> str | None:
        """The name of the scoring rules in a report."""
        return None

    def classes(self, scores: Any) -> Classes | None:
        """The classes and their rates."""
        return None

    def confusions(self, scores: Any, rules: Rules) -> Confusions | None:
        """The confusions."""
        return None

    def confidences(self) -> Confidences | None:
        """The probabilities of the first output's answers, and which answers are correct."""
        return None

    def seen(self, train: str | Path) -> dict[str, float] | None:
        """Scores of the words that occur in a training file, and of those that do not."""
        return None


@dataclass(frozen=True)
class DocumentOutputs(Outputs):
    """Documents with gold annotation, and the same documents with the annotation of one or two systems."""

    names: tuple[str, ...]
    gold: list[Document]
    outputs: tuple[list[Document], ...]

    same_text: ClassVar[bool] = True  # whether gold and outputs must have the same text
    in_one_file: ClassVar[bool] = False  # whether predictions may be in a column of the gold file

    @classmethod
    def check(cls, path: str | Path, documents: Sequence[Document], predicted: bool) -> None:
        """Raise if the documents of a file lack the annotation that the task needs."""


def read_outputs(
    paths: Sequence[str | Path],
    format: str | None,
    options: dict[str, Any],
    known: Sequence[type[Outputs]],
) -> Outputs:
    """Gold and outputs from files; a single file must hold both. Tags in columns are compared with spans as spans.

    options: passed to the reader of gold, and of outputs of the same format
    known:   the possible tasks; the first that fits is used
    """
    own = next((task for task in known if task.reads(paths[0], format)), None)
    if own is not None and format is None and not own.detected:
        return own.of_files(paths, [], [])
    chosen = detect(paths[0], format)
    if format is None and has_tags(chosen) and any(map(_has_spans, paths[1:])):
        return _of_documents(paths, [_with_spans(path, options) for path in paths], known)
    formats = [chosen.name, *(chosen.name if format else _format_like(chosen, path) for path in paths[1:])]
    there = [] if chosen.options is None else [k.name for k in knobs(chosen.options)]
    for name in options:
        if name not in there:
            listed = ", ".join(there) or "none"
            raise ConfigError(f"reading {chosen.name} takes no option {name!r}; there are: {listed}")
    told = [options if one == chosen.name else {} for one in formats]
    if own is not None:
        return own.of_files(paths, formats, told)
    files = [list(read(path, f, **more)) for path, f, more in zip(paths, formats, told, strict=True)]
    return _of_documents(paths, files, known)


def has_tags(format: Format) -> bool:
    """Whether a format has tags in columns."""
    return "columns" in format.carries and "tree" not in format.carries


def predicted_labels(d: Document) -> list[str]:
    """The predicted labels: from the column of predictions, or the document's own labels."""
    if PREDICTION not in d.fields:
        return d.labels
    if isinstance(d.fields[PREDICTION], list):
        return [as_text(name) for name in d.fields[PREDICTION]]
    return [name for name in as_text(d.fields[PREDICTION]).split(SEPARATOR) if name]


def predicted_label(d: Document) -> str:
    """The predicted label: from the column of predictions, or the document's own label."""
    return as_text(d.fields[PREDICTION]) if PREDICTION in d.fields else d.labels[0]


def predicted_probability(d: Document, label: str) -> float | None:
    """The predicted probability of a label; None if the output has none.

    >>> predicted_probability(Document(text="", fields={PREDICTION: "a", CONFIDENCE: "0.8"}), "a")
    0.8
    """
    if label in d.shares:
        return probability(d.shares[label])
    if CONFIDENCE in d.fields:
        return probability(d.fields[CONFIDENCE])
    return None if d.score is None else probability(d.score)


def probability(cell: Any) -> float | None:
    """The number from 0 to 1 in a cell; None if the cell has none."""
    try:
        found = float(cell)
    except (TypeError, ValueError):
        return None
    return found if 0.0 <= found <= 1.0 else None


def _format_like(gold: Format, path: str | Path) -> str:
    """The format of an output: its own if it can be detected and has the same kind of annotation as gold."""
    try:
        seen = detect(path)
    except DataError:
        return gold.name
    if has_tags(seen) and "spans" in gold.carries:
        raise DataError(
            f"{display_name(path)}: has tags in columns, but the gold file has the format {gold.name}; "
            f"convert it to that format: chaffinch convert {path} OUT --to {gold.name}"
        )
    return seen.name if has_tags(seen) == has_tags(gold) else gold.name


def _has_spans(path: str | Path) -> bool:
    """Whether a file has texts with spans, not tags in columns."""
    try:
        format = detect(path)
    except DataError:
        return False
    return "spans" in format.carries and not has_tags(format)


def _with_spans(path: str | Path, options: dict[str, Any]) -> list[Document]:
    """The documents of a file with their spans, or with those that their tags mark."""
    format = detect(path)
    if not has_tags(format):
        return list(read(path, format.name))
    documents = list(read(path, format.name, **options))
    scheme = scheme_of(sorted({tag for d in documents for tag in d.columns.get(LABEL, ())}))
    if scheme is None:
        raise DataError(
            f"{display_name(path)}: its tags mark no spans, and another file has spans; name files of columns"
        )
    return [replace(d, spans=spans_of(d, scheme)) for d in documents]


def _of_documents(
    paths: Sequence[str | Path], files: list[list[Document]], known: Sequence[type[Outputs]]
) -> Outputs:
    gold = files[0]
    task = next((one for one in known if issubclass(one, DocumentOutputs) and one.holds(gold)), None)
    if task is None:
        columns = ", ".join(dict.fromkeys(name for d in gold[:1] for name in d.fields))
        advice = f"; if one of the columns {columns} has the labels, name it with --label" if columns else ""
        raise DataError(
            f"{display_name(paths[0])}: has nothing to score: no tags, labels, spans, trees or links{advice}"
        )
    assert issubclass(task, DocumentOutputs)
    if len(paths) == 1:
        if not task.in_one_file or not all(PREDICTION in d.fields for d in gold):
            raise DataError(
                f"{display_name(paths[0])}: a single file needs a column '{PREDICTION}' besides the labels, or "
                "name a second file with the predictions"
            )
        files.append(gold)
    places = [*paths, *paths] if len(paths) == 1 else paths
    for i, (path, documents) in enumerate(zip(places, files, strict=True)):
        if i > 0:
            _check_same_documents(paths[0], gold, path, documents, task.same_text)
        task.check(path, documents, predicted=i > 0)
    return task(tuple(map(display_name, paths)), gold, tuple(files[1:]))


def _check_same_documents(
    a: str | Path, gold: Sequence[Document], b: str | Path, other: Sequence[Document], same_text: bool
) -> None:
    for n, (x, y) in enumerate(zip_longest(gold, other)):
        if x is None or y is None:
            longer, shorter = (row_place(a, n, x), b) if y is None else (row_place(b, n, y), a)
            raise DataError(f"{longer}: item {n + 1} begins here, but {display_name(shorter)} ends after {n}")
        if same_text and x.text != y.text:
            at = next((i for i, (p, q) in enumerate(zip(x.text, y.text, strict=False)) if p != q), 0)
            shown = [repr(d.text[max(0, at - 10) : at + 20]) for d in (x, y)]
            raise DataError(
                f"{row_place(b, n, y)}: the text differs from {row_place(a, n, x)}: {shown[1]}, expected {shown[0]}"
            )


def row_place(path: str | Path, n: int, d: Document | None) -> str:
    """``file:line`` if the format has a line or a row per item; otherwise the number of the item."""
    known = None if d is None else d.line
    return f"{display_name(path)}, item {n + 1}" if known is None else f"{display_name(path)}:{known}"
