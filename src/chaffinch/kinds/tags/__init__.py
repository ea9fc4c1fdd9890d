"""Sentences with tags."""

from chaffinch.kinds.tags.kind import TAGS, TagKind

__all__ = ["TAGS", "TagKind"]
