"""Write a generated corpus of any size: sentences with parts of speech and phrases, or documents with labels.

    python benchmarks/generate_corpus.py sentences 20000000 /tmp/large.tsv
    python benchmarks/generate_corpus.py documents 5000000 /tmp/large.csv

The same arguments always write the same bytes. Words follow Zipf's law within each part of speech or topic, so that a
larger corpus has more words and more pairs of words; one word in ten is noise, so that no model is always right.
"""

import sys
from pathlib import Path

import numpy as np

CHUNK = 200_000  # tokens or documents that are generated together
TAGS = ("DT", "JJ", "NN", "VB", "IN", "RB")
# The next part of speech by the last one: rows sum to one.
NEXT = np.array(
    [
        [0.00, 0.40, 0.55, 0.00, 0.00, 0.05],
        [0.00, 0.20, 0.75, 0.00, 0.05, 0.00],
        [0.05, 0.00, 0.20, 0.40, 0.30, 0.05],
        [0.45, 0.10, 0.15, 0.05, 0.15, 0.10],
        [0.60, 0.15, 0.25, 0.00, 0.00, 0.00],
        [0.10, 0.20, 0.10, 0.45, 0.10, 0.05],
    ]
)
PHRASE = ("NP", "NP", "NP", "VP", "PP", "ADVP")
TYPES = (12, 8_000, 40_000, 10_000, 40, 1_500)  # words by part of speech
LABELS = tuple(f"topic{k}" for k in range(10))
WORDS, OWN = 60_000, 3_000  # words that all topics share, and those of each
LONGEST = 24


def zipf(rng: np.random.Generator, size: int, n: int) -> np.ndarray:
    """Numbers from 0 to n - 1, number k about as often as 1 / (k + 1)."""
    return np.minimum((n ** rng.random(size)).astype(np.int64) - 1, n - 1)


def sentences(tokens: int, path: Path) -> None:
    """Columns of word, part of speech and phrase."""
    names = [[f"{tag.lower()}{k}" for k in range(n)] for tag, n in zip(TAGS, TYPES, strict=True)]
    above = NEXT.cumsum(axis=1)
    with path.open("w", encoding="utf-8") as out:
        for chunk, start in enumerate(range(0, tokens, CHUNK)):
            rng = np.random.default_rng(chunk)
            n = min(CHUNK, tokens - start)
            draw, noise, keep = rng.random(n), rng.random(n), rng.random(n)
            words = [zipf(rng, n, count).tolist() for count in TYPES]
            ends = rng.integers(4, LONGEST, n).tolist()
            tag, left, before, lines = 0, ends[0], "", []
            moves = [above[t].searchsorted(draw).clip(0, 5).tolist() for t in range(6)]
            for t in range(n):
                tag = moves[tag][t]
                phrase = PHRASE[tag]
                inside = before == phrase and tag != 0 and keep[t] < 0.9
                shown = TAGS[tag] if noise[t] > 0.1 else TAGS[int(60 * noise[t])]
                lines.append(f"{names[tag][words[tag][t]]}\t{shown}\t{'I' if inside else 'B'}-{phrase}\n")
                before = phrase
                left -= 1
                if left == 0:
                    lines.append("\n")
                    tag, left, before = 0, ends[t], ""
            out.write("".join(lines))
            out.write("\n")


def documents(count: int, path: Path) -> None:
    """Rows of label and text."""
    # Names say nothing of the topic, whose words are spread over all numbers.
    number = np.random.default_rng(0).permutation(WORDS + OWN * len(LABELS)).tolist()
    shared = [f"w{number[k]}" for k in range(WORDS)]
    own = [[f"w{number[WORDS + y * OWN + k]}" for k in range(OWN)] for y in range(len(LABELS))]
    with path.open("w", encoding="utf-8") as out:
        out.write("label,text\n")
        for chunk, start in enumerate(range(0, count, CHUNK)):
            rng = np.random.default_rng(chunk)
            n = min(CHUNK, count - start)
            labels = rng.integers(0, len(LABELS), n).tolist()
            told = np.where(rng.random(n) < 0.05, rng.integers(0, len(LABELS), n), labels).tolist()
            lengths = rng.integers(6, 18, n)
            mine = (rng.random(int(lengths.sum())) < 0.15).tolist()
            common, special = zipf(rng, len(mine), WORDS).tolist(), zipf(rng, len(mine), OWN).tolist()
            lines, at = [], 0
            for label, shown, length in zip(labels, told, lengths.tolist(), strict=True):
                words = [
                    own[label][special[t]] if mine[t] else shared[common[t]] for t in range(at, at + length)
                ]
                lines.append(f"{LABELS[shown]},{' '.join(words)}\n")
                at += length
            out.write("".join(lines))


def main() -> None:
    """Write one corpus."""
    kinds = {"sentences": sentences, "documents": documents}
    if len(sys.argv) != 4 or sys.argv[1] not in kinds:
        sys.exit("usage: generate_corpus.py sentences|documents COUNT FILE")
    kinds[sys.argv[1]](int(sys.argv[2]), Path(sys.argv[3]))


if __name__ == "__main__":
    main()
