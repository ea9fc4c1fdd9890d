"""Documents as sentences to tag: text without tokens is cut into words, spans of characters become tags."""

from collections.abc import Iterable
from pathlib import Path

from chaffinch.errors import DataError
from chaffinch.files import display_name
from chaffinch.text.alignment import tagged
from chaffinch.text.document import LABEL, Document
from chaffinch.text.schemes import BIO
from chaffinch.text.tokens import tokenised


def as_sentences(documents: Iterable[Document], path: str | Path) -> list[Document]:
    """The documents of a file, each with tokens, and with BIO tags in ``y`` if any of them has spans.

    A span that does not match token bounds, or overlaps another, is refused; the message names the remedy.
    """
    cut = [tokenised(d) for d in documents]
    if not cut:
        raise DataError(f"{display_name(path)}: has no document")
    if not any(d.spans for d in cut) or any(LABEL in d.columns for d in cut):
        return cut
    try:
        made, _ = tagged(cut, BIO)
    except DataError as e:
        raise DataError(
            f"{display_name(path)}: {e}: chaffinch convert {path} tags.conll --misaligned widen keeps the outer and "
            "earlier spans, widened to whole tokens, and counts the others"
        ) from None
    return made
