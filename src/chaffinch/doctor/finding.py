"""A finding: what is wrong with one row of a corpus, where, how bad, and what to do about it."""

from dataclasses import dataclass
from typing import Any

# Certainly wrong; probably wrong, or harmful; worth a look.
ERROR, WARNING, HINT = "error", "warning", "hint"
SEVERITIES = (ERROR, WARNING, HINT)

_TIMES = {1: "once", 2: "twice"}
_SHOWN = 60  # characters of a text that a finding repeats


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One fault of one row.

    line:   in the file, if the format has lines; row: the number of the document, from 1; None: the whole file
    weight: larger is worse, among findings of the same check and severity
    """

    check: str
    severity: str
    file: str
    what: str
    suggestion: str = ""
    line: int | None = None
    row: int | None = None
    weight: float = 0.0

    @property
    def where(self) -> str:
        """``file:line``, or the file with the number of the item, or the file.

        >>> Finding(check="spans", severity=ERROR, file="a.jsonl", line=7, what="").where
        'a.jsonl:7'
        """
        if self.line is not None:
            return f"{self.file}:{self.line}"
        return self.file if self.row is None else f"{self.file}, item {self.row}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = ("file", "line", "row", "check", "severity", "what", "suggestion")
        return {name: getattr(self, name) for name in names}


def quoted(text: str) -> str:
    """A text as findings repeat it: on one line, cut if it is long.

    >>> quoted("two  eggs\\n"), len(quoted("x" * 1000))
    ("'two eggs'", 62)
    """
    plain = " ".join(text.split())
    return repr(plain if len(plain) <= _SHOWN else plain[: _SHOWN - 3] + "...")


def times(count: int) -> str:
    """A count of times, in words.

    >>> times(1), times(2000)
    ('once', '2,000 times')
    """
    return _TIMES.get(count, f"{count:,} times")
