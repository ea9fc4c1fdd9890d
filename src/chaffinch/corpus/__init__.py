"""Corpora: readers and writers for every format, chosen by name or detected from the file."""

from chaffinch.corpus.format import Format
from chaffinch.corpus.registry import FORMATS, detect, named, read, read_table, write

__all__ = ["FORMATS", "Format", "detect", "named", "read", "read_table", "write"]
