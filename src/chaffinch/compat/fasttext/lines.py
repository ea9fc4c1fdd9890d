"""Lines as fastText reads them: tokens separated by white space; tokens with the prefix are labels."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chaffinch.errors import DataError
from chaffinch.files import display_name

EOS, BOW, EOW = "</s>", "<", ">"
PREFIX = "__label__"
SPACE = re.compile(r"[ \r\t\v\f\0]+")


@dataclass(frozen=True)
class Line:
    """The words of a line, up to ``</s>`` if it is written there, and its labels without their prefix."""

    words: list[str]
    labels: list[str]

    @property
    def text(self) -> str:
        """The words, as a document."""
        return " ".join(self.words)


def tokens_of(line: str) -> list[str]:
    """The tokens of one line; what follows ``</s>`` is not read."""
    found = [token for token in SPACE.split(line) if token]
    return found[: found.index(EOS)] if EOS in found else found


def parsed(line: str, prefix: str = PREFIX) -> Line:
    """A line.

    >>> parsed("__label__a no tea __label__b")
    Line(words=['no', 'tea'], labels=['a', 'b'])
    """
    tokens = tokens_of(line)
    words = [token for token in tokens if not token.startswith(prefix)]
    return Line(words, [token[len(prefix) :] for token in tokens if token.startswith(prefix)])


def read_lines(path: str | Path, prefix: str, purpose: str) -> Iterator[Line]:
    """The lines of a file; purpose: why it is opened, for fastText's error message."""
    try:
        with Path(path).open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                try:
                    line = raw.decode().rstrip("\n")
                except UnicodeDecodeError as error:
                    raise DataError(f"{display_name(path)}:{number}: is not UTF-8: {error.reason}") from None
                yield parsed(line, prefix)
    except OSError as error:
        raise DataError(f"{path} cannot be opened for {purpose}! {error.strerror}") from None


def tokenize(text: str) -> list[str]:
    """The tokens of a text; a line break is the token ``</s>``.

    >>> tokenize("no tea\\n")
    ['no', 'tea', '</s>']
    """
    found: list[str] = []
    for k, line in enumerate(text.split("\n")):
        found += ([EOS] if k else []) + [token for token in SPACE.split(line) if token]
    return found
