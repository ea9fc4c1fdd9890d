"""Handwritten words: letters read one by one and as chains, with linear and polynomial kernels, side by side."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chaffinch.corpus.letters import COLUMNS, ROWS
from chaffinch.estimators import Tagger
from chaffinch.recipes.crf import Crf
from chaffinch.recipes.margin import MaxMarginMarkovNetwork, StructuredSvm
from chaffinch.recipes.perceptron import StructuredPerceptron
from chaffinch.report.html import Html, join, tag
from chaffinch.text.document import LABEL, WORD
from chaffinch.text.table import TokenTable


@dataclass(frozen=True)
class Reader:
    """One way to read words. chain: neighbouring letters count; otherwise every letter is a word of its own."""

    name: str
    config: Any
    chain: bool = True


@dataclass(frozen=True)
class Read:
    """The result of a reader: accuracy of letters and words, CPU seconds, and its readings."""

    reader: Reader
    letters: float
    words: float
    train_s: float
    predict_s: float
    predicted: list[list[str]]


LINEAR = (
    Reader("multiclass SVM", MaxMarginMarkovNetwork(), chain=False),
    Reader("perceptron chain", StructuredPerceptron(margin=0.0)),
    Reader("CRF", Crf()),
    Reader("structured SVM", StructuredSvm()),
    Reader("M3N, linear", MaxMarginMarkovNetwork()),
)
QUADRATIC = (
    Reader("multiclass SVM, quadratic", MaxMarginMarkovNetwork(kernel="polynomial"), chain=False),
    Reader("M3N, quadratic", MaxMarginMarkovNetwork(kernel="polynomial")),
)
CUBIC = (
    Reader(
        "multiclass SVM, cubic", MaxMarginMarkovNetwork(kernel="polynomial", degree=3, passes=10), chain=False
    ),
    Reader("M3N, cubic", MaxMarginMarkovNetwork(kernel="polynomial", degree=3, passes=10)),
)


def read_by(
    readers: Sequence[Reader], train: TokenTable, test: TokenTable, *, seed: int = 0, threads: int = 1
) -> Iterator[Read]:
    """Train each reader and apply it to the test words.

    >>> from chaffinch import samples
    >>> words = TokenTable.from_documents(samples.load("letters", "train", n=40))
    >>> [found.reader.name for found in read_by(LINEAR[-1:], words, words)]
    ['M3N, linear']
    """
    gold = test.lists(LABEL)
    for reader in readers:
        seen, unseen = (train, test) if reader.chain else (alone(train), alone(test))
        began = time.process_time()
        tagger = Tagger(reader.config, folds=0, seed=seed, threads=threads).fit(seen)
        trained = time.process_time()
        found = tagger.predict(unseen)
        took = time.process_time() - trained
        if not reader.chain:
            letters = iter(found)
            found = [[next(letters)[0] for _ in word] for word in gold]
        right = [[a == b for a, b in zip(g, f, strict=True)] for g, f in zip(gold, found, strict=True)]
        yield Read(
            reader,
            letters=float(np.mean([r for word in right for r in word])),
            words=float(np.mean([all(word) for word in right])),
            train_s=trained - began,
            predict_s=took,
            predicted=found,
        )


def alone(table: TokenTable) -> TokenTable:
    """Every letter as a word of its own."""
    return replace(table, ptr=np.arange(table.n_tokens + 1, dtype=np.int64), groups=None)


def picture(
    table: TokenTable, predicted: Mapping[str, Sequence[Sequence[str]]], words: Sequence[int]
) -> Html:
    """The images of words, and below them each reader's reading; wrong letters are highlighted."""
    cell, gap, line = 3.0, 6.0, 20.0
    images, gold = table.lists(WORD), table.lists(LABEL)
    wide = COLUMNS * cell + gap
    left, high = 150.0, ROWS * cell + line * (len(predicted) + 1)
    longest = max(len(images[w]) for w in words)
    marks: list[Html] = []
    for row, w in enumerate(words):
        top = row * (high + 18.0)
        marks.append(
            tag("text", "".join(gold[w]), x=0, y=top + ROWS * cell / 2, class_="label", font_size=14)
        )
        for t, image in enumerate(images[w]):
            marks.append(
                tag("path", d=_ink(image, left + t * wide, top, cell), class_="mark", fill="currentColor")
            )
        for k, (name, found) in enumerate(predicted.items(), 1):
            y = top + ROWS * cell + line * k
            marks.append(tag("text", name, x=0, y=y, class_="soft", font_size=12))
            for t, letter in enumerate(found[w]):
                wrong = letter != gold[w][t]
                style = "fill:var(--bad);font-weight:bold" if wrong else None
                x = left + t * wide + COLUMNS * cell / 2
                marks.append(tag("text", letter, x=x, y=y, text_anchor="middle", font_size=14, style=style))
    width, height = left + longest * wide, len(words) * (high + 18.0)
    return tag(
        "svg",
        join(*marks),
        viewBox=f"0 -4 {width:g} {height:g}",
        width=f"{width:g}",
        role="img",
        aria_label="handwritten words and their readings",
        xmlns="http://www.w3.org/2000/svg",
        font_family="sans-serif",
    )


def telling(
    table: TokenTable, worse: Sequence[Sequence[str]], better: Sequence[Sequence[str]], n: int
) -> list[int]:
    """The words on which one reader gains most letters over another, each spelling once."""
    gold = table.lists(LABEL)
    gains = [
        sum(x == g for x, g in zip(b, y, strict=True)) - sum(x == g for x, g in zip(a, y, strict=True))
        for a, b, y in zip(worse, better, gold, strict=True)
    ]
    chosen: dict[str, int] = {}
    for w in sorted(range(len(gold)), key=lambda w: -gains[w]):
        chosen.setdefault("".join(gold[w]), w)
    return list(chosen.values())[:n]


def _ink(image: str, x: float, y: float, cell: float) -> str:
    """A path around the black pixels of an image in hexadecimal digits: a rectangle for each run in a row."""
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(image), np.uint8)).reshape(ROWS, COLUMNS)
    path = []
    for r, row in enumerate(bits):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row, [0]])))
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            path.append(
                f"M{x + a * cell:g} {y + r * cell:g}h{(b - a) * cell:g}v{cell:g}h{-(b - a) * cell:g}z"
            )
    return "".join(path)
