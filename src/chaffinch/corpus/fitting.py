"""Documents fitted to a format: tags become spans, or spans tags, if the format carries only the other."""

import re
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus.format import Format
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.survey import Survey
from chaffinch.errors import ConfigError, DataError
from chaffinch.text.alignment import CHOICES, MISALIGNED, NESTED, Choice, Misfit, spans_of, tagged
from chaffinch.text.document import LABEL, WORD, Document, Token
from chaffinch.text.schemes import BIO, Scheme, convert_column, detect_column, scheme_named, validate_column
from chaffinch.text.table import Column
from chaffinch.text.tokens import tokens

Tokeniser = Literal["words", "spaces"]


def _pieces(text: str) -> list[Token]:
    """The pieces between spaces."""
    return [Token(m[0], m.start(), m.end()) for m in re.finditer(r"\S+", text)]


TOKENISERS = {"words": tokens, "spaces": _pieces}


class Fitting:
    """Converts the documents of one corpus to one format, in the order of the survey.

    scheme:     of the tags that are written; None keeps tags as they are, and writes spans as BIO
    misaligned: treatment of spans that do not fit token boundaries
    tokeniser:  the tokeniser of text without tokens
    """

    def __init__(
        self,
        found: Survey,
        target: Format,
        scheme: str | None,
        misaligned: Choice,
        tokeniser: Tokeniser,
        losses: Losses,
    ) -> None:
        if misaligned not in CHOICES:
            raise ConfigError(f"misaligned must be one of {', '.join(CHOICES)}, got {misaligned!r}")
        self.found, self.target, self.losses = found, target, losses
        self.scheme: Scheme | None = None if scheme is None else scheme_named(scheme)
        self.misaligned = misaligned
        if tokeniser not in TOKENISERS:
            raise ConfigError(f"tokeniser must be one of {', '.join(TOKENISERS)}, got {tokeniser!r}")
        self.tokeniser = TOKENISERS[tokeniser]
        self._misfits: list[Misfit] = []

    def carries(self, layers: Collection[str], target: Format | None = None) -> bool:
        """Whether the target (or another) carries any of these layers, or could after converting tags or spans."""
        into = target or self.target
        if "spans" in layers and ("spans" in into.carries or self._spans_become_tags(into)):
            return True
        if "columns" in layers and any(self.carries_column(name, into) for name in self.found.columns):
            return True
        return any(layer in into.carries for layer in ("tree", "links", "labels") if layer in layers)

    def carries_column(self, name: str, target: Format | None = None) -> bool:
        """Whether the target (or another) carries this column of the corpus; tags may go as spans."""
        into = target or self.target
        if "columns" in into.carries:
            return into.columns is None or name in into.columns
        return name == LABEL and self._tags_become_spans(into)

    @property
    def columns(self) -> list[str]:
        """The columns to write: the word first, the tag to learn last."""
        names = [name for name in self.found.columns if name != LABEL and self.carries_column(name)]
        is_tagged = LABEL in self.found.columns or self._spans_become_tags(self.target)
        return [WORD, *names, *([LABEL] if is_tagged else [])]

    def check(self) -> None:
        """Raise if a scheme was named and there are no tags to convert; count tags that break their scheme."""
        writes_tags = "columns" in self.target.carries and LABEL in self.columns
        if self.scheme is not None and not writes_tags:
            raise ConfigError(
                f"a tag scheme was named, but {self.target.name} gets no tags from this corpus; leave it out"
            )
        if self.scheme is not None and LABEL in self.found.columns and self.source_scheme is None:
            raise ConfigError(
                f"the tags follow no known scheme, so they cannot be converted to {self.scheme}"
            )
        if self._tags_become_spans(self.target) and self.source_scheme is not None:
            faults = validate_column(*self._tags, self.source_scheme)
            if faults:
                self.losses.add(
                    f"tags that {self.source_scheme} does not allow were read as the start of a span",
                    f"sentence {faults[0].sentence + 1}",
                    len(faults),
                )

    def fitted(self, d: Document, number: int) -> Document | None:
        """Document ``number`` (from 1) as the target takes it, or None if nothing of it is left."""
        texts = "labels" in self.target.carries and not (self.found.columns or self.found.counts["spans"])
        if "columns" in self.target.carries and not texts:
            return self._as_columns(d, number)
        if not self.target.blank and not d.text.strip() and not d.labels:
            self.losses.add(
                f"documents without text are not carried by {self.target.name}", f"document {number}"
            )
            return None
        if self._tags_become_spans(self.target) and LABEL in d.columns and self.source_scheme is not None:
            d = replace(d, spans=spans_of(d, self.source_scheme))
        if "tokens" not in self.target.carries and d.tokens and d.text.split() != d.words():
            what = f"token boundaries are not carried by {self.target.name}, documents"
            self.losses.add(what, f"document {number}")
        return d

    def finish(self) -> None:
        """Raise if spans did not fit and misaligned is "error"."""
        if self._misfits:
            raise DataError(
                f"{len(self._misfits)} of {self.found.totals['spans']} spans do not fit the tokens: "
                f"{replace(self._misfits[0], remedy='')}; --misaligned drop leaves them out, widen takes whole tokens"
            )

    @cached_property
    def source_scheme(self) -> Scheme | None:
        """The scheme of the corpus's tags; None if they mark no spans."""
        return detect_column(*self._tags) if LABEL in self.found.columns else None

    @cached_property
    def _tags(self) -> tuple[Column, NDArray[np.int64]]:
        return self.found.tags()

    @cached_property
    def _recoded(self) -> tuple[Column, list[int]]:
        """All tags, converted to the named scheme if possible, and the bounds of the documents."""
        column, ptr = self._tags
        if self.scheme is not None and self.source_scheme is not None:
            column = convert_column(column, ptr, self.source_scheme, self.scheme)
        return column, ptr.tolist()

    def _spans_become_tags(self, into: Format) -> bool:
        takes_tags = "columns" in into.carries and self.carries_column(LABEL, into)
        has_only_spans = bool(self.found.counts["spans"]) and LABEL not in self.found.columns
        return takes_tags and has_only_spans and "spans" not in into.carries

    def _tags_become_spans(self, into: Format) -> bool:
        return "spans" in into.carries and not self.found.counts["spans"] and self.source_scheme is not None

    def _as_columns(self, d: Document, number: int) -> Document | None:
        where = f"document {number}"
        if not d.tokens:
            d = replace(d, tokens=self.tokeniser(d.text))
        if not d.tokens:
            self.losses.add(f"documents without a token are not carried by {self.target.name}", where)
            return None
        if "text" not in self.target.carries and d.text != " ".join(d.words()):
            what = f"spacing between the tokens is not carried by {self.target.name}, documents"
            self.losses.add(what, where)
        if self._spans_become_tags(self.target):
            return self._with_tags(d, number)
        if self.scheme is not None and LABEL in d.columns:
            column, bounds = self._recoded
            ids = column.ids[bounds[number - 1] : bounds[number]].tolist()
            return replace(d, columns=d.columns | {LABEL: [column.types[i] for i in ids]})
        return d

    def _with_tags(self, d: Document, number: int) -> Document:
        """The document with tags for its spans; those that did not fit are counted."""
        scheme = self.scheme or BIO
        forgiving: Choice = "widen" if self.misaligned == "widen" else "drop"
        try:
            [made], misfits = tagged([d], scheme, misaligned=forgiving, overlapping="drop")
        except DataError as e:
            raise DataError(f"document {number}: {e}") from None
        for misfit in (replace(m, row=number - 1) for m in misfits):
            if misfit.kind != MISALIGNED:
                why = "are nested in others" if misfit.kind == NESTED else "overlap"
                self.losses.add(
                    f"spans: not representable as {scheme} tags because they {why}", f"document {number}"
                )
            elif self.misaligned == "error":
                self._misfits.append(misfit)
            else:
                done = "widened to whole tokens" if misfit.remedy.startswith("widened") else "dropped"
                self.losses.add(f"spans that do not fit the tokens were {done}", str(misfit))
        return made
