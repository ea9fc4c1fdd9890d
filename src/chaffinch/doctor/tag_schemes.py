"""Tag schemes: illegal tags, tags of no scheme, files in two schemes."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from chaffinch.doctor.corpus_file import CorpusFile
from chaffinch.doctor.finding import ERROR, WARNING, Finding
from chaffinch.text.document import LABEL
from chaffinch.text.schemes import (
    OUTSIDE,
    SCHEMES,
    Scheme,
    detect_column,
    repair_column,
    scheme_doubt,
    validate_column,
)
from chaffinch.text.table import Column

CHECK = "tags"

_SPAN_TAG = re.compile(r"[BIESLU]-.+")
# Minimum share of tagged tokens with tags that mark spans; otherwise the labels are of another kind.
MOSTLY = 0.5


def tag_schemes(files: Sequence[CorpusFile]) -> Iterator[Finding]:
    """Every tag that the scheme of its file does not allow, and files in another scheme than the first."""
    first: tuple[Scheme, str] | None = None
    for file in files:
        if not file.has_tags:
            continue
        if not spells_spans(file.tag_column):
            yield from _doubt(file)
            continue
        ptr = file.tags.ptr
        stray = _strays(file.tag_column)
        column = _without(file.tag_column, stray)
        # If the tags fit several schemes, that of the first file is used.
        fits = first is not None and not validate_column(column, ptr, first[0])
        scheme = first[0] if first is not None and fits else detect_column(column, ptr)
        yield from _stray_tags(file, stray)
        if scheme is None:
            yield _mixture(file, column)
            continue
        first = first or (scheme, file.name)
        yield from _illegal_tags(file, column, scheme)
        if scheme is not first[0]:
            yield Finding(
                check=CHECK,
                severity=ERROR,
                file=file.name,
                what=f"uses the tag scheme {scheme}, but {first[1]} uses {first[0]}",
                suggestion=f"chaffinch convert {file.name} OUT --scheme {first[0]}",
                weight=1e6,
            )


def spells_spans(column: Column) -> bool:
    """Whether most tagged tokens have a tag such as B-PER."""
    counts = np.bincount(column.ids, minlength=len(column.types)).tolist()
    inside = sum(n for tag, n in zip(column.types, counts, strict=True) if tag != OUTSIDE)
    like = sum(n for tag, n in zip(column.types, counts, strict=True) if _SPAN_TAG.fullmatch(tag))
    return like > MOSTLY * inside


def _doubt(file: CorpusFile) -> Iterator[Finding]:
    """A finding if the tags mark spans in a spelling of no scheme, such as b_per."""
    doubt = scheme_doubt(file.tag_column.types)
    if doubt is not None:
        yield Finding(check=CHECK, severity=WARNING, file=file.name, what=doubt, weight=1e6)


def _strays(column: Column) -> set[str]:
    """Tags that do not have the form of a scheme."""
    return {tag for tag in column.types if tag != OUTSIDE and not _SPAN_TAG.fullmatch(tag)}


def _without(column: Column, stray: set[str]) -> Column:
    """The column with stray tags read as O, so that the others can be checked."""
    kept = list(dict.fromkeys(OUTSIDE if tag in stray else tag for tag in column.types))
    index = {tag: i for i, tag in enumerate(kept)}
    renumbered = [index[OUTSIDE if tag in stray else tag] for tag in column.types]
    return Column(kept, np.array(renumbered, dtype=np.int32)[column.ids])


def _stray_tags(file: CorpusFile, stray: set[str]) -> Iterator[Finding]:
    if not stray:
        return
    types = {tag.partition("-")[2] for tag in file.tag_column.types}
    for n, d in enumerate(file.documents):
        for t, tag in enumerate(d.columns.get(LABEL, [])):
            if tag in stray:
                what = f"{d.tokens[t].text!r} has the tag {tag!r}, which does not mark a span"
                advice = (
                    f"B-{tag} or I-{tag}?" if tag in types else "O, or a letter with a type, such as B-PER"
                )
                yield file.finding(CHECK, ERROR, n, what, advice, token=t)


def _illegal_tags(file: CorpusFile, column: Column, scheme: Scheme) -> Iterator[Finding]:
    faults = validate_column(column, file.tags.ptr, scheme)
    if not faults:
        return
    repaired = repair_column(column, file.tags.ptr, scheme)
    for fault in faults:
        at = int(file.tags.ptr[fault.sentence]) + fault.token
        mended = repaired.types[repaired.ids[at]]
        word = file.documents[fault.sentence].tokens[fault.token].text
        yield file.finding(
            CHECK,
            ERROR,
            fault.sentence,
            f"{word!r}: the tag {fault.tag!r} {fault.why}",
            f"{mended}?" if mended != fault.tag else "",
            token=fault.token,
        )


def _mixture(file: CorpusFile, column: Column) -> Finding:
    letters = Counter(tag.partition("-")[0] for tag in column.types if tag != OUTSIDE)
    return Finding(
        check=CHECK,
        severity=ERROR,
        file=file.name,
        what=f"mixes tag schemes: none of {', '.join(SCHEMES)} has all the letters {', '.join(sorted(letters))}",
        suggestion="find the tags with the rarest letter and write them in the scheme of the others",
        weight=1e6,
    )
