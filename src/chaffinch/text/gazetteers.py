"""Gazetteers: named lists of phrases, matched over token sequences, longest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaffinch.errors import ConfigError, DataError
from chaffinch.files import display_name, reading

MOST_LISTS = 64


@dataclass(frozen=True)
class Gazetteers:
    """Lists of phrases, each phrase a sequence of tokens.

    fold: compare in lower case

    In templates ``gaz`` is the longest phrase of any list (values such as ``B-city`` and ``I-city``, with all
    the lists that the phrase is on), and ``gaz_city`` the longest of that list alone (``B`` and ``I``).

    >>> g = Gazetteers.from_lists({"city": ["New York", "York"]})
    >>> g.lists["city"]
    [('new', 'york'), ('york',)]
    """

    lists: Mapping[str, list[tuple[str, ...]]]
    fold: bool = True

    def __post_init__(self) -> None:
        if len(self.lists) > MOST_LISTS:
            raise ConfigError(f"at most {MOST_LISTS} gazetteers, got {len(self.lists)}")

    @classmethod
    def from_lists(cls, lists: Mapping[str, Sequence[str]], fold: bool = True) -> "Gazetteers":
        """Gazetteers from phrases as text, split at spaces."""
        split = {
            name: list(dict.fromkeys(tuple((p.lower() if fold else p).split()) for p in phrases if p.strip()))
            for name, phrases in lists.items()
        }
        return cls(split, fold)

    @classmethod
    def read(cls, files: Mapping[str, str | Path], fold: bool = True) -> "Gazetteers":
        """Read one phrase per line from each file; empty lines and lines that start with # are skipped."""
        lists = {}
        for name, path in files.items():
            with reading(path) as raw:
                try:
                    lines = raw.read().decode("utf-8").splitlines()
                except UnicodeDecodeError as e:
                    raise DataError(f"{display_name(path)}: is not UTF-8: {e.reason}") from None
            lists[name] = [line for line in lines if line.strip() and not line.startswith("#")]
            if not lists[name]:
                raise DataError(f"{display_name(path)}: has no phrases, expected one per line")
        return cls.from_lists(lists, fold)
