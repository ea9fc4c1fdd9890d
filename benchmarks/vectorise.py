"""Text to uni- and bigram counts: the largest part of training a linear text classifier."""

import csv
import gzip
from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

TRAIN = "newsgroups20/train.csv.gz"
THREADS = 2


def posts(_seed: int) -> list[str]:
    """The 11,314 training posts of 20 newsgroups, headers kept: 22 MB."""
    csv.field_size_limit(10**9)
    with gzip.open(corpus(TRAIN), "rt", encoding="utf-8", newline="") as lines:
        return [row["text"] for row in csv.DictReader(lines)]


def our_vectorizer(texts: list[str]) -> tuple[Any, list[str]]:
    from chaffinch.features.ngrams import TextVectorizer

    return TextVectorizer(tokens="long-words", min_df=2, threads=THREADS), texts


def sklearn_vectorizer(texts: list[str]) -> tuple[Any, list[str]]:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(ngram_range=(1, 2), min_df=2), texts


def fit_transform(prepared: tuple[Any, list[str]]) -> Any:
    vectorizer, texts = prepared
    return vectorizer.fit_transform(texts)


def size(_texts: list[str], rows: Any) -> dict[str, float]:
    """Features, filled cells and their sum, which must agree; tests check the values."""
    values = rows.data if hasattr(rows, "data") else rows.values
    return {"features": rows.shape[1], "cells": len(values), "sum": float(values.sum(dtype="float64"))}


BENCHMARK = Benchmark(
    name="vectorise",
    question="How fast do 22 MB of posts become exact uni- and bigram counts (in two documents or more)?",
    input=posts,
    work=lambda texts: (sum(map(len, texts)) / 1e6, "MB"),
    ours=Contender(name="chaffinch", prepare=our_vectorizer, run=fit_transform),
    rivals=(
        Contender(name="scikit-learn", prepare=sklearn_vectorizer, run=fit_transform, package="scikit-learn"),
    ),
    scores=size,
    bar=15.0,
    clock="wall",
    needs=(TRAIN,),
    repeats=3,
)
