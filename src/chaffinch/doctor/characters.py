"""Characters: empty texts, invisible or garbled characters, very long texts."""

import re
import statistics
import unicodedata
from collections.abc import Iterator, Sequence

from chaffinch.doctor.corpus_file import CorpusFile, is_annotated
from chaffinch.doctor.finding import ERROR, HINT, WARNING, Finding, quoted
from chaffinch.text.document import Document

CHECK = "text"

_INVISIBLE = re.compile("[\u200b\u2060\ufeff\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_LOST = re.compile("\ufffd")
_ODD_SPACE = re.compile("[\u00a0\u00ad]")
# UTF-8 read as Windows-1252 or Latin-1: a lead byte of two to four, then its continuation bytes.
_CONTINUED = "".join(chr(b) + bytes([b]).decode("cp1252", "ignore") for b in range(0x80, 0xC0))
_MOJIBAKE = re.compile(f"(?:[\u00c2-\u00f4][{re.escape(_CONTINUED)}]{{1,3}})+")

LAST_LATIN = "\u017f"  # of the letters that European languages add to ASCII

FAR_LONGER, LONG_SENTENCE, LONG_TEXT = 10, 150, 3000  # times the median, and at least this many words


def characters(files: Sequence[CorpusFile]) -> Iterator[Finding]:
    """Empty texts, odd characters, very long texts; one finding of each kind per row."""
    for file in files:
        lengths = [len(d.tokens) or len(d.text.split()) for d in file.documents]
        usual = statistics.median(lengths) if lengths else 0
        for n, (d, length) in enumerate(zip(file.documents, lengths, strict=True)):
            if not d.text.strip():
                severity = ERROR if is_annotated(d) else WARNING
                yield file.finding(CHECK, severity, n, "the text is empty", "remove the row")
                continue
            yield from _odd_characters(file, n, d)
            if length > max(FAR_LONGER * usual, LONG_SENTENCE if d.tokens else LONG_TEXT):
                what = f"has {length:,} words, the median is {usual:,.0f}: {quoted(d.text)}"
                yield file.finding(
                    CHECK, HINT, n, what, "is a sentence end or a line break missing?", weight=length
                )


def _odd_characters(file: CorpusFile, n: int, d: Document) -> Iterator[Finding]:
    text = d.text
    if text.isascii() and text.isprintable():
        return
    for pattern, severity, what, advice in (
        (_INVISIBLE, WARNING, "an invisible character", "remove it"),
        (_CONTROL, WARNING, "a control character", "remove it, or read the file in its own encoding"),
        (_LOST, WARNING, "a character that an earlier conversion lost", "look it up in the source"),
        (
            _ODD_SPACE,
            HINT,
            "a character that looks like a space or is not visible",
            "replace it with a plain space, or remove it?",
        ),
    ):
        found = list(pattern.finditer(text))
        if found:
            sign = found[0][0]
            name = unicodedata.name(sign, "")
            shown = f"U+{ord(sign):04X}{' ' + name if name else ''}"
            times = f", {len(found)} times" if len(found) > 1 else ""
            around = text[max(0, found[0].start() - 12) : found[0].end() + 12]
            yield file.finding(
                CHECK,
                severity,
                n,
                f"{what}, {shown}{times}, at {around!r}",
                advice,
                token=_token_at(d, found[0].start()),
                weight=len(found),
            )
    garbled = [(m, mended) for m in _MOJIBAKE.finditer(text) if (mended := unscrambled(m[0])) is not None]
    if garbled:
        m, mended = garbled[0]
        around = text[max(0, m.start() - 12) : m.end() + 12]
        yield file.finding(
            CHECK,
            WARNING,
            n,
            f"{m[0]!r} looks like UTF-8 read in another encoding, at {around!r}",
            f"{mended!r}?",
            token=_token_at(d, m.start()),
            weight=len(garbled),
        )


def unscrambled(text: str) -> str | None:
    """The original of UTF-8 text that was decoded as Windows-1252 or Latin-1; None if it was not.

    Two characters that would decode to one letter beyond Latin are left unchanged, since such letters do not
    occur alone; an example is the accented capital and the closing quote of CAFÉ’s.

    >>> unscrambled("Ã©"), unscrambled("â€™"), unscrambled("É"), unscrambled("É’")
    ('é', '’', None, None)
    """
    for encoding in ("cp1252", "latin-1"):
        try:
            made = text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        if len(made) < len(text):
            return None if len(text) == 2 and made > LAST_LATIN else made
    return None


def _token_at(d: Document, at: int) -> int:
    return next((t for t, token in enumerate(d.tokens) if at < token.end), 0)
