"""Conversion between formats: layers that the target can carry are written, the others are counted as losses.

The source is read twice, first to survey its contents; standard input is kept in memory for that.
"""

import inspect
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from chaffinch.corpus.delimited import TSV
from chaffinch.corpus.fitting import Fitting, Tokeniser
from chaffinch.corpus.format import Format
from chaffinch.corpus.label_studio import KEEP
from chaffinch.corpus.losses import Loss, Losses
from chaffinch.corpus.registry import FORMATS, detect, named, with_extension, written_as
from chaffinch.corpus.survey import ANNOTATIONS, Survey, survey
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import STDIO, display_name, is_stream, writing
from chaffinch.knobs import knobs
from chaffinch.text.alignment import Choice
from chaffinch.text.document import LABEL, Document
from chaffinch.text.schemes import detect_column

# The names of annotations in reports.
SPOKEN = {
    "tree": "trees",
    "links": "word links",
    "spans": "spans",
    "labels": "labels of documents",
    "columns": "columns of tokens",
}
NAMED = 5  # fields that a report names
MOST_OPTIONS = 200  # maximum number of labels offered as choices


@dataclass(frozen=True)
class Conversion:
    """The result of a conversion, and its losses."""

    source: str
    target: str
    documents: int
    losses: list[Loss]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        losses = [{"what": x.what, "count": x.count, "first": x.first or None} for x in self.losses]
        return {"from": self.source, "to": self.target, "documents": self.documents, "losses": losses}


def convert(
    source: str | Path,
    target: str | Path,
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    scheme: str | None = None,
    misaligned: Choice = "error",
    tokeniser: Tokeniser = "words",
    label_separator: str | None = None,
    force: bool = False,
    **reading: Any,
) -> Conversion:
    """Write ``source`` as ``target``, in the named or detected formats.

    scheme:     the tag scheme to write tags in; by default that of the source, or BIO for spans
    misaligned: spans that do not fit token boundaries: "error", "drop" or "widen"
    tokeniser:  the tokeniser of text without tokens: "words", or "spaces" if it is tokenised already
    force:      replace an existing target
    reading:    options of the source's reader, such as ``text="body"``

    If the target can carry none of the source's annotations, it is refused; the error lists formats that can.
    """
    if Path(target).exists() and not is_stream(target) and not force:
        raise ConfigError(f"{target}: already exists; --force replaces it")
    losses = Losses()
    read_as = named(from_format) if from_format is not None else source_format(source, reading)
    if label_separator is not None and _takes(read_as.read, "label_separator"):
        reading["label_separator"] = label_separator
    _check_options(read_as, reading)
    first, second = _passes(source, partial(_documents, read_as, source, reading))
    found = survey(first(losses))
    if not found.documents and not list(losses):
        raise DataError(f"{display_name(source)}: has no document")
    write_as = named(to_format) if to_format is not None else written_as(target, _wanted(found))
    fitting = Fitting(found, write_as, scheme, misaligned, tokeniser, losses)
    _refuse_incompatible(source, write_as, found, fitting)
    fitting.check()
    _count_losses(found, write_as, fitting, losses)
    written = 0

    def carried() -> Iterator[Document]:
        nonlocal written
        for number, d in enumerate(second(Losses()), start=1):
            made = fitting.fitted(d, number)
            if made is not None:
                written += 1
                yield made
        fitting.finish()

    looked_at = "spans" in read_as.carries and reading.get("unannotated") != KEEP
    annotated = bool(found.annotations) or looked_at
    options = _writer_options(write_as, found, fitting.columns, annotated, label_separator, force, losses)
    _write_whole(write_as, carried(), target, options)
    return Conversion(read_as.name, write_as.name, written, list(losses))


def source_format(source: str | Path, reading: dict[str, Any]) -> Format:
    """The detected format; if a text column is named, tab-separated rows are documents."""
    if "text" in reading and TSV in with_extension(source):
        return TSV
    return detect(source)


def _wanted(found: Survey) -> frozenset[str]:
    """The layers to carry: tokens need columns, and tags that mark spans may be carried as spans too."""
    layers = found.layers | ({"columns"} if found.counts["tokens"] else set())
    return layers | {"spans"} if LABEL in found.columns and detect_column(*found.tags()) else layers


def _check_options(format: Format, options: dict[str, Any]) -> None:
    known = [] if format.options is None else [k.name for k in knobs(format.options)]
    for name in options:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise ConfigError(f"reading {format.name} takes no option {name!r}; {has}")


Pass = Callable[[Losses], Iterable[Document]]


def _passes(source: str | Path, read: Pass) -> tuple[Pass, Pass]:
    """Two passes over the source; standard input or a pipe is kept in memory for the second."""
    if not is_stream(source):
        return read, read
    kept: list[Document] = []

    def keep(losses: Losses) -> Iterator[Document]:
        for d in read(losses):
            kept.append(d)
            yield d

    return keep, lambda _: kept


def _documents(
    format: Format, source: str | Path, options: dict[str, Any], losses: Losses
) -> Iterable[Document]:
    counted = {"losses": losses} if _takes(format.read, "losses") else {}
    return format.read(source, **options, **counted)


def _takes(function: Callable[..., Any], name: str) -> bool:
    return name in inspect.signature(function).parameters


def _refuse_incompatible(source: str | Path, target: Format, found: Survey, fitting: Fitting) -> None:
    """Raise if the target can carry none of the annotations, or needs one that the source lacks."""
    name = display_name(source)
    for layer in ("tree", "links"):
        if layer in target.carries and layer not in found.layers:
            raise ConfigError(f"{target.name} holds {SPOKEN[layer]}, and {name} has none")
    if not found.annotations or fitting.carries(found.annotations):
        return
    has = " and ".join(SPOKEN[layer] for layer in ANNOTATIONS if layer in found.annotations)
    able = sorted(f.name for f in FORMATS.values() if fitting.carries(found.annotations, f))
    raise ConfigError(
        f"{name} has {has}, of which {target.name} can carry nothing; formats that can: {', '.join(able)}"
    )


def _count_losses(found: Survey, target: Format, fitting: Fitting, losses: Losses) -> None:
    """Count the layers of the survey that the target cannot carry."""
    for layer in ANNOTATIONS:
        if layer != "columns" and layer in found.layers and not fitting.carries({layer}):
            count = found.totals[layer] or found.counts[layer]
            losses.add(f"{SPOKEN[layer]} are not carried by {target.name}", count=count)
    for name, count in found.columns.items():
        if not fitting.carries_column(name):
            losses.add(f"column {name} is not carried by {target.name}, documents", count=count)
    if "fields" not in target.carries and found.fields:
        names = ", ".join(list(found.fields)[:NAMED])
        more = f" and {len(found.fields) - NAMED} more" if len(found.fields) > NAMED else ""
        losses.add(
            f"fields ({names}{more}) are not carried by {target.name}, documents",
            count=found.counts["fields"],
        )
    for layer, spoken in (
        ("id", "ids of documents"),
        ("group", "groups of documents"),
        ("shares", "shares of labels"),
    ):
        if layer not in target.carries:
            losses.add(f"{spoken} are not carried by {target.name}", count=found.counts[layer])
    if "scores" not in target.carries:
        losses.add(f"scores of spans are not carried by {target.name}", count=found.totals["scores"])


def _writer_options(
    target: Format,
    found: Survey,
    columns: list[str],
    annotated: bool,
    label_separator: str | None,
    force: bool,
    losses: Losses,
) -> dict[str, Any]:
    """Options of the writer, derived from the survey."""
    labels = sorted(found.labels) if 0 < len(found.labels) <= MOST_OPTIONS else None
    known = {
        "fields": (["id"] if found.counts["id"] else []) + list(found.fields),
        "label_separator": label_separator,
        "options": labels,
        "force": force,
        "losses": losses,
        "columns": columns,
        "annotated": annotated,
        "predicted": True if found.counts["predicted"] else None,
    }
    return {name: value for name, value in known.items() if value is not None and _takes(target.write, name)}


def _write_whole(
    format: Format, documents: Iterable[Document], target: str | Path, options: dict[str, Any]
) -> None:
    """Write the documents; standard output gets them only after all were written without an error."""
    if str(target) != STDIO:
        format.write(documents, target, **options)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        format.write(documents, path, **options)
        if path.is_dir():
            raise DataError(f"{format.name} is a folder of files and cannot be written to standard output")
        with path.open("rb") as made, writing(STDIO) as out:
            shutil.copyfileobj(made, out)
