"""The ingredient sentences, in the split they come with."""

from pathlib import Path
from typing import Any

from benchmarks.corpora import corpus

NEEDS = ("ingredients/train.tsv.gz", "ingredients/test.tsv.gz")


def table(part: str) -> Any:
    """One part as a token table."""
    from chaffinch.corpus import read_table

    path: Path = corpus(f"ingredients/{part}.tsv.gz")
    return read_table(path)
