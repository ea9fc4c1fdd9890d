"""Sequences of items, each with its features."""

from collections.abc import Iterable, Iterator
from typing import Any


class ItemSequence:
    """A sequence whose features are flattened as python-crfsuite does.

    >>> ItemSequence([{"w": "tea", "size": 0.5, "near": {"next": ["a", "b"]}}, ["hot"]]).items()
    [{'w:tea': 1.0, 'size': 0.5, 'near:next:a': 1.0, 'near:next:b': 1.0}, {'hot': 1.0}]
    """

    def __init__(self, pyseq: Iterable[Any]) -> None:
        self.given = [item if isinstance(item, dict | list | set) else list(item) for item in pyseq]

    def items(self) -> list[dict[str, float]]:
        """The features of each item with their values."""
        return [dict(flattened(item)) for item in self.given]

    def __len__(self) -> int:
        return len(self.given)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def given_items(x: Any) -> list[Any]:
    """The items of a sequence."""
    return (x if isinstance(x, ItemSequence) else ItemSequence(x)).given


def flattened(item: Any, before: str = "") -> Iterator[tuple[str, float]]:
    """The names of features and their values; names of nested ones are joined with a colon."""
    for key in item:
        name = before + _text(key)
        value = item[key] if isinstance(item, dict) else 1.0
        if isinstance(value, dict | list | set):
            yield from flattened(value, name + ":")
        elif isinstance(value, str | bytes):
            yield f"{name}:{_text(value)}", 1.0
        else:
            yield name, float(value)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
