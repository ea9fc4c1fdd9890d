"""A corpus file under examination: its documents, their places, and the records that its reader refused."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from chaffinch.corpus.brackets import bracketed
from chaffinch.corpus.conversion import source_format
from chaffinch.corpus.losses import Losses
from chaffinch.doctor.finding import ERROR, HINT, Finding
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import display_name
from chaffinch.kinds import KINDS
from chaffinch.knobs import knobs
from chaffinch.text.document import LABEL, Document
from chaffinch.text.schemes import Scheme, scheme_of
from chaffinch.text.table import Column, TokenTable
from chaffinch.text.tokens import tokenised

READING = "reading"  # the check that readers do

# Formats with one token per line.
TOKEN_LINES = ("columns", "hmm")

# Losses that are faults of the data, not only of the format.
WRONG = ("links outside their sentences were left out",)


@dataclass(frozen=True)
class CorpusFile:
    """One file.

    refused: records that its reader refused or left out
    items:   the number of each document in the file, from 1, if records were refused before it
    """

    path: Path
    format: str
    documents: list[Document]
    refused: list[Finding] = field(default_factory=list)
    items: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the file in findings."""
        return display_name(self.path)

    @cached_property
    def is_folder(self) -> bool:
        """Whether each document has a file of its own."""
        return self.path.is_dir()

    @cached_property
    def has_tags(self) -> bool:
        """Whether its tokens have tags to learn."""
        return any(LABEL in d.columns for d in self.documents)

    @cached_property
    def has_spans(self) -> bool:
        """Whether any document has spans; then one without spans counts as annotated with none."""
        return any(d.spans for d in self.documents)

    @cached_property
    def tags(self) -> TokenTable:
        """The tags of all documents, as the column ``y``."""
        return TokenTable.from_lists({LABEL: [d.columns.get(LABEL, []) for d in self.documents]})

    @cached_property
    def scheme(self) -> Scheme | None:
        """The scheme of the tags, detected from the tags that occur; None if they mark no spans."""
        return scheme_of(self.tag_column.types) if self.has_tags else None

    @property
    def tag_column(self) -> Column:
        """The tags alone."""
        return self.tags.columns[LABEL]

    def finding(
        self,
        check: str,
        severity: str,
        n: int,
        what: str,
        suggestion: str = "",
        *,
        token: int = 0,
        weight: float = 0.0,
    ) -> Finding:
        """A finding about document n (from 0), at one of its tokens if tokens have their own lines."""
        line = self.documents[n].line
        if line is not None and self.format in TOKEN_LINES:
            line += token
        return Finding(
            check=check,
            severity=severity,
            file=self.file_of(n),
            what=what,
            suggestion=suggestion,
            line=line,
            row=None if self.is_folder else self.items[n] if self.items else n + 1,
            weight=weight,
        )

    def file_of(self, n: int) -> str:
        """The file of document n: a corpus that is a folder has one for each."""
        return f"{self.name}/{self.documents[n].id}.ann" if self.is_folder else self.name

    def place(self, n: int) -> str:
        """The place of document n."""
        return self.finding("", "", n, "").where


def read_corpus(path: str | Path, told: Mapping[str, str | None] | None = None) -> CorpusFile:
    """Read a file; records that cannot be read become findings, and the others are still read.

    told: options of the reader (``label``, ``text``, ``label_separator``); refused if it has no such option
    """
    path = Path(path)
    own = next((kind for kind in KINDS if not kind.detected and kind.holds(path)), None)
    if own is not None:
        raise DataError(
            f"{display_name(path)}: holds {own.plural}, which the doctor cannot examine; give it a corpus in one of "
            "the formats of chaffinch convert"
        )
    wanted: dict[str, Any] = {k: v for k, v in (told or {}).items() if v is not None}
    chosen = source_format(path, wanted)
    known = set() if chosen.options is None else {k.name for k in knobs(chosen.options)}
    for name in wanted:
        if name not in known:
            raise ConfigError(f"{path}: format {chosen.name} has no option --{name.replace('_', '-')}")
    losses = _Noted(display_name(path))
    if "out_of_range" in known:
        wanted["out_of_range"] = "drop"
    if "losses" in inspect.signature(chosen.read).parameters:
        wanted["losses"] = losses
    documents: list[Document] = []
    items: list[int] = []
    try:
        for d in chosen.read(path, **wanted):
            documents.append(d)
            items.append(len(documents) + (0 if path.is_dir() else losses.refused))
    except DataError as fault:
        if not documents and not losses.findings:
            raise
        losses.refuse(fault, "the rest of the file was not read: correct this, then check again")
    if not documents and not losses.findings:
        raise DataError(f"{display_name(path)}: has no document")
    file = CorpusFile(path, chosen.name, documents, losses.findings, items)
    if file.has_spans:
        for d in documents:
            tokenised(d)
    return file


def annotation(d: Document) -> tuple[Any, ...]:
    """All annotations of a document, in comparable form."""
    tree = None if d.tree is None else bracketed(d.tree)
    links = None if d.links is None else (d.links.sure, d.links.possible)
    spans = tuple(sorted((s.start, s.end, s.label) for s in d.spans))
    return tuple(d.columns.get(LABEL, ())), spans, tuple(sorted(d.labels)), tree, links


def content(d: Document) -> str:
    """The content of a document: its text, and its translation if it has one."""
    return d.text if d.links is None else f"{d.text} ||| {' '.join(d.links.target)}"


def normalised(text: str) -> str:
    """A text without case and with single spaces.

    >>> normalised("Two  Eggs ")
    'two eggs'
    """
    return " ".join(text.casefold().split())


def is_annotated(d: Document) -> bool:
    """Whether a document has annotations."""
    return bool(LABEL in d.columns or d.spans or d.labels or d.tree is not None or d.links is not None)


class _Noted(Losses):
    """Losses that store every place, and continue after a refused record."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self.file = file
        self.findings: list[Finding] = []
        self.refused = 0

    def add(self, what: str, first: str = "", count: int = 1, *, rows: bool = False) -> None:
        """Store a loss."""
        if count > 0:
            told = what if count == 1 else f"{what}: {count}"
            if what in WRONG:
                self._note(ERROR, first, told, "correct the word numbers")
            else:
                self._note(HINT, first, told)

    def refuse(self, fault: DataError, suggestion: str = "correct it, or remove it") -> None:
        """Store a record that cannot be read."""
        self.refused += 1
        where, _, what = str(fault).partition(": ")
        self._note(ERROR, where, what, suggestion)

    def _note(self, severity: str, where: str, what: str, suggestion: str = "") -> None:
        """``file:12`` has a line; ``file: item 3`` keeps its item in the text."""
        file, _, number = where.rpartition(":")
        line = int(number) if number.isdecimal() else None
        file = self.file if line is None else file
        self.findings.append(
            Finding(check=READING, severity=severity, file=file, what=what, suggestion=suggestion, line=line)
        )
