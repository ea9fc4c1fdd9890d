"""Corpora of labelled texts for the classification benchmarks, and their common scores."""

import csv
import gzip
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.corpora import corpus

NEWS = ("newsgroups20/train.csv.gz", "newsgroups20/test.csv.gz")
SST5 = ("sst5/train.csv", "sst5/test.csv", "sst5/trees_train.txt.gz")
TREC = ("trec_qc/train.csv", "trec_qc/test.csv", "brown_clusters/tweets_6m_paths.tsv.gz")

Split = tuple[list[str], list[str]]


def texts(relative: str, label: str = "label") -> Split:
    """The texts and labels of a CSV file."""
    csv.field_size_limit(10**9)
    path = corpus(relative)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as lines:  # type: ignore[operator]
        rows = list(csv.DictReader(lines))
    return [row["text"] for row in rows], [row[label] for row in rows]


def accuracy(predicted: Any, gold: list[str]) -> float:
    """Per cent right."""
    return 100 * sum(str(a) == b for a, b in zip(predicted, gold, strict=True)) / len(gold)


def saved_mb(model: Any) -> float:
    """The size of a saved model: our file, or a pickle."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        if hasattr(model, "save"):
            model.save(path)
        else:
            path.write_bytes(pickle.dumps(model))
        return os.path.getsize(path) / 1e6
