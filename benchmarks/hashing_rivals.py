"""Vowpal Wabbit and fastText as classifiers of raw text, word pairs included, behind fit and predict.

Both read documents in the given order, so these are shuffled; both get text that is tokenised already.
"""

import random
import re
import tempfile
from pathlib import Path
from typing import Any

WORD = re.compile(r"\w+")


def tokenised(text: str) -> str:
    """Words in small letters, one space between."""
    return " ".join(WORD.findall(text.lower()))


def shuffled(documents: list[str], labels: list[str], seed: int) -> list[tuple[str, str]]:
    """Pairs in another order."""
    pairs = list(zip(documents, labels, strict=True))
    random.Random(seed).shuffle(pairs)
    return pairs


class VowpalWabbit:
    """One pass of logistic one-against-all over hashed words and pairs."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, documents: list[str], labels: list[str]) -> "VowpalWabbit":
        from vowpalwabbit import Workspace

        self.labels = sorted(set(labels))
        place = {label: i + 1 for i, label in enumerate(self.labels)}
        self.model = Workspace(
            f"--oaa {len(self.labels)} --loss_function logistic -b 22 --ngram 2 --quiet", enable_logging=False
        )
        for text, label in shuffled(documents, labels, self.seed):
            self.model.learn(f"{place[label]} | {tokenised(text)}")
        return self

    def predict(self, documents: list[str]) -> list[str]:
        return [self.labels[int(self.model.predict(f"| {tokenised(text)}")) - 1] for text in documents]


class FastText:
    """fastText with settings that work here: 25 passes, a rate of 0.5, ten dimensions, word pairs."""

    def __init__(self, seed: int, threads: int) -> None:
        self.seed, self.threads = seed, threads

    def fit(self, documents: list[str], labels: list[str]) -> "FastText":
        import fasttext

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.txt"
            lines = (f"__label__{y} {tokenised(t)}\n" for t, y in shuffled(documents, labels, self.seed))
            with path.open("w", encoding="utf-8") as stream:
                stream.writelines(lines)
            self.model: Any = fasttext.train_supervised(
                str(path),
                lr=0.5,
                epoch=25,
                wordNgrams=2,
                dim=10,
                bucket=200_000,
                thread=self.threads,
                verbose=0,
            )
        return self

    def predict(self, documents: list[str]) -> list[str]:
        # Its predict fails with this NumPy.
        answers, _ = self.model.f.multilinePredict([tokenised(t) + "\n" for t in documents], 1, 0.0, "strict")
        return [str(one[0]).removeprefix("__label__") for one in answers]
