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

    line:   in the file, where the format has lines; row: which document of the file, from 1; None: the whole file
    weight: the larger, the worse among those of the same check and severity
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
        """``file:line``, or which item of the file, or the file.

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
    """How often, in words.

    >>> times(1), times(2000)
    ('once', '2,000 times')
    """
    return _TIMES.get(count, f"{count:,} times")
