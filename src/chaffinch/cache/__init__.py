"""Corpora on disk as blocks of varint ids, for training that does not fit in memory."""

from chaffinch.cache.sentences import Cache, CacheWriter

__all__ = ["Cache", "CacheWriter"]
