"""Texts with labels: the corpus, and its labels as units that out-of-fold models judge."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.estimators.classifier import Classifier
from chaffinch.kinds.corpora import Corpus, ExampleLists
from chaffinch.kinds.unit_labels import UnitLabels
from chaffinch.learners.dual import DualLogistic
from chaffinch.text.document import Document

# More strongly regularised than a model for prediction, so that it does not fit the label errors that it should find.
QUICK = DualLogistic(C=3.0)
HAS, LACKS = "has", "lacks"
FEWEST_TIMES = 10  # minimum number of texts with a label, and without, for a model to judge it


@dataclass(frozen=True)
class Texts(ExampleLists):
    """Documents to classify.

    labels:  one label per text; or a list of them if texts may have several; or a dict of labels and their shares
    numbers: columns of numbers used with the text, by name     weight: the weight of each text
    """

    texts: list[str]
    labels: list[Any]
    numbers: dict[str, list[float]] | None = None
    weight: list[float] | None = None

    def joined(self, others: Sequence["Texts"]) -> "Texts":
        """All texts; if some have shares or several labels, all targets take that form."""
        made = super().joined(others)
        if any(isinstance(y, dict) for y in made.labels):
            return replace(made, labels=[{y: 1.0} if isinstance(y, str) else y for y in made.labels])
        if any(isinstance(y, list) for y in made.labels):
            return replace(made, labels=[[y] if isinstance(y, str) else y for y in made.labels])
        return made

    def content(self) -> list[Any]:
        """Texts, labels, numbers and weights."""
        labels = [as_strings(y) for y in self.labels]
        counts = np.array([len(y) for y in labels], dtype=np.int64)
        beside = [
            piece for name, column in (self.numbers or {}).items() for piece in ([name], np.array(column))
        ]
        weight = [] if self.weight is None else [np.array(self.weight)]
        return [self.texts, list(chain.from_iterable(labels)), counts, *beside, *weight]


class TextLabels(UnitLabels):
    """A unit is a text; if texts may have several labels, each label is a question of its own."""

    def labelled_rows(
        self, files: Sequence[Sequence[Document]]
    ) -> tuple[Corpus, list[tuple[int, int]]] | None:
        """Texts with labels; if any has several, also those with none."""
        rows = [((f, n), d) for f, file in enumerate(files) for n, d in enumerate(file) if d.text.strip()]
        several = any(len(d.labels) > 1 for _, d in rows)
        rows = [(at, d) for at, d in rows if d.labels or several]
        if not rows:
            return None
        labels = [d.labels if several else d.labels[0] for _, d in rows]
        return Texts([d.text for _, d in rows], labels), [at for at, _ in rows]

    def questions(self, corpus: Texts) -> Iterator[tuple[str | None, Texts]]:
        """If texts may have several labels, one question for each frequent label."""
        if not isinstance(corpus.labels[0], list):
            yield None, corpus
            return
        times = Counter(label for labels in corpus.labels for label in set(labels))
        for label, count in sorted(times.items()):
            if FEWEST_TIMES <= count <= len(corpus) - FEWEST_TIMES:
                yield label, Texts(corpus.texts, [HAS if label in y else LACKS for y in corpus.labels])

    def unit_labels(self, corpus: Texts) -> tuple[list[str], NDArray[np.int32]]:
        """One label per text."""
        names = sorted(set(corpus.labels))
        index = {name: i for i, name in enumerate(names)}
        return names, np.array([index[label] for label in corpus.labels], np.int32)

    def unit_probabilities(
        self, train: Texts, asked: Texts, seed: int, threads: int
    ) -> tuple[list[str], NDArray[np.float32]]:
        """The probabilities of logistic regression."""
        if len(set(train.labels)) < 2:
            return sorted(set(train.labels)), np.ones((len(asked), 1), np.float32)
        model = Classifier(QUICK, calibrate=False, seed=seed, threads=threads).fit(train.texts, train.labels)
        return [str(c) for c in model.classes_], np.array(model.predict_proba(asked.texts), np.float32)


def as_strings(y: Any) -> list[str]:
    """A text's target as strings."""
    if isinstance(y, dict):
        return [f"{name}={share!r}" for name, share in y.items()]
    return [y] if isinstance(y, str) else y
