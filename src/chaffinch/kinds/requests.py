"""Requests of commands to kinds: the arguments of train, predict and explain, and options of readers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from chaffinch.corpus import detect, read
from chaffinch.errors import DataError, warn_about_data
from chaffinch.files import display_name
from chaffinch.knobs import knobs
from chaffinch.text.document import Document
from chaffinch.text.table import SharedTypes

# Options of readers that several commands pass on, by the names of their flags.
COLUMN_FLAGS = ("label", "text", "label_separator")
READER_FLAGS = (*COLUMN_FLAGS, "columns", "annotators", "from_format")

# Types of a column that are kept from block to block: about 25 MB with what encoders know of them.
MOST_TYPES = 1 << 17

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """The arguments of ``chaffinch train``; a flag that was not given is None."""

    data: list[Path]
    model: Path
    from_format: str | None = None
    columns: str | None = None
    annotators: str | None = None
    recipe: str | None = None
    dev: Path | None = None
    features: str | None = None
    label: str | None = None
    text: str | None = None
    label_separator: str | None = None
    stop_on_dev: bool = False
    seed: int = 0
    threads: int = 0
    json: bool = False
    compare: str | None = None
    max_size: str | None = None
    pairs: list[Path] | None = None
    self_train: Path | None = None
    self_train_rounds: int | None = None
    self_train_confidence: float | None = None
    rules: Path | None = None
    report: Path | None = None
    cache: Path | None = None
    keep_cache: bool = False
    engine: str | None = None
    workers: int = 0
    shards: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def of_reader(self) -> dict[str, str]:
        """The options of readers that were given."""
        return {name: getattr(self, name) for name in READER_FLAGS if getattr(self, name) is not None}


class Restart(Exception):
    """Raised if the rows of a file cannot be predicted block by block after all."""


@dataclass
class BlockLayout:
    """Columns, header, remarks and types of columns that all blocks of a file share."""

    columns: tuple[str, ...] = ()
    header: bytes = b""
    remarks: dict[str, tuple[int, int, bool]] = field(default_factory=dict)  # see PredictRequest.remark
    types: dict[str, SharedTypes] = field(default_factory=dict)

    def shared(self, names: Sequence[str]) -> list[SharedTypes]:
        """The types of these columns so far; all begin anew if there are many."""
        if any(len(types.interner) > MOST_TYPES for types in self.types.values()):
            self.types.clear()
        return [self.types.setdefault(name, SharedTypes()) for name in names]

    def check_columns(self, names: tuple[str, ...]) -> None:
        """Raise if a block has other columns than the first."""
        if self.columns and names != self.columns:
            raise Restart
        self.columns = names


@dataclass(frozen=True, kw_only=True)
class PredictRequest:
    """The arguments of ``chaffinch predict``.

    rows:   the rows to predict, in this order; None: all
    notes:  further fields of each of these rows, written if the output can hold them
    layout: of a file that is predicted block by block
    """

    data: Path
    output: Path
    from_format: str | None = None
    to_format: str | None = None
    columns: str | None = None
    kbest: int | None = None
    nth: int | None = None
    marginals: bool = False
    posterior: bool = False
    probabilities: bool = False
    steps: bool = False
    beside: list[Path] | None = None
    json: bool = False
    text: str | None = None
    threshold: float | None = None
    precision: float | None = None
    rules: Path | None = None
    threads: int = 0
    rows: tuple[int, ...] | None = None
    notes: tuple[Mapping[str, Any], ...] = ()
    layout: BlockLayout | None = None

    def remark(self, text: str, count: int, of: int, *, always: bool = False) -> None:
        """Warn about ``{count}`` of ``{of}`` rows, now or once for all blocks. always: even if the count is 0."""
        if self.layout is not None:
            before = self.layout.remarks.get(text, (0, 0, always))
            self.layout.remarks[text] = before[0] + count, before[1] + of, always
        elif count or always:
            warn_about_data(text.format(count=f"{count:,}", of=f"{of:,}"))

    def picked(self, items: list[Item]) -> list[Item]:
        """The requested rows, in that order; without ``rows`` all."""
        return items if self.rows is None else [items[i] for i in self.rows]


@dataclass(frozen=True, kw_only=True)
class ExplainRequest:
    """The arguments of ``chaffinch explain``: a file, or typed words.

    number: of the sentence or document, from 1; None: all   token: from 0
    base, kbest: for a reranker: the base model, and the length of the lists
    """

    data: Path | None = None
    words: str | None = None
    number: int | None = None
    token: int | None = None
    against: str | None = None
    text: str | None = None
    base: Path | None = None
    kbest: int | None = None
    threads: int = 0

    @property
    def source(self) -> str:
        """The name of the input in messages."""
        return "the text" if self.data is None else display_name(self.data)

    def chosen(self, items: Sequence[Item]) -> list[Item]:
        """All items, or the one whose number was given."""
        if not items:
            raise DataError(f"{self.source}: there is nothing to explain")
        if self.number is None:
            return list(items)
        if self.number > len(items):
            raise DataError(f"{self.source}: there is no number {self.number}; the input has {len(items)}")
        return [items[self.number - 1]]


def reader_options(path: Path, format: str | None = None) -> set[str]:
    """The names of the options of a file's reader."""
    options = detect(path, format).options
    return set() if options is None else {k.name for k in knobs(options)}


def rows_of(path: Path, options: Mapping[str, Any]) -> list[Document]:
    """The rows of a file; DataError if there are none."""
    found = list(read(path, **options))
    if not found:
        raise DataError(f"{display_name(path)}: has no document")
    return found
