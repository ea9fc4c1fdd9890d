"""N-gram features written the slow and obvious way, for the native ones to be held against."""

import re
from collections import Counter
from itertools import pairwise

RULES = {
    "words": re.compile(r"\w+"),
    "long-words": re.compile(r"(?u)\b\w\w+\b"),
    "marks": re.compile(r"\w+|[^\w\s]"),
    "spaces": re.compile(r"\S+"),
}


def words(text, rule="words", lower=True):
    return RULES[rule].findall(text.lower() if lower else text)


def word_ngrams(tokens, low, high, stops=frozenset()):
    grams = [tuple(tokens[i : i + n]) for n in range(low, high + 1) for i in range(len(tokens) - n + 1)]
    return [" ".join(gram) for gram in grams if not set(gram) <= stops]


def char_ngrams(text, low, high):
    text = re.sub(r"\s\s+", " ", text)
    return [text[i : i + n] for n in range(low, high + 1) for i in range(len(text) - n + 1)]


def char_wb_ngrams(text, low, high):
    grams = []
    for word in text.split():
        padded = f" {word} "
        if len(padded) < low:
            grams.append(padded)
        grams += char_ngrams(padded, low, high)
    return grams


def rows(documents, least=1, most=None):
    """One Counter of kept features per list of n-grams."""
    df = Counter(gram for grams in documents for gram in set(grams))
    most = len(documents) if most is None else most
    kept = {gram for gram, n in df.items() if least <= n <= most}
    return [Counter(gram for gram in grams if gram in kept) for grams in documents]


def named_rows(vectorizer, rows):
    """Rows of a vectoriser as one dict from name to value per document."""
    names = vectorizer.names()
    assert len(set(names)) == len(names) == rows.columns
    bounds, ids, values = rows.ptr.tolist(), rows.ids.tolist(), rows.weights().tolist()
    out = []
    for a, b in pairwise(bounds):
        assert ids[a:b] == sorted(set(ids[a:b]))
        out.append({names[i]: v for i, v in zip(ids[a:b], values[a:b], strict=True)})
    return out
