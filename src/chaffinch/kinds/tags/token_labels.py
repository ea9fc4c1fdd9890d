"""The tags of tokens as units that out-of-fold models judge."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from chaffinch.estimators import Tagger
from chaffinch.kinds.corpora import Corpus
from chaffinch.kinds.tags.reading import (
    with_tags,
)
from chaffinch.kinds.unit_labels import Doubt, UnitLabels
from chaffinch.recipes.crf_config import Crf
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.table import TokenTable

QUICK = Crf(optimiser="fast", margin=0.0, inside="as given")


class TokenLabels(UnitLabels):
    """A unit is a token, its label a tag."""

    def labelled_rows(
        self, files: Sequence[Sequence[Document]]
    ) -> tuple[Corpus, list[tuple[int, int]]] | None:
        """Sentences with tags; in a file of spans, all texts with tokens."""
        rows = []
        for f, file in enumerate(files):
            spans_there = any(d.spans for d in file)
            made = [(n, with_tags(d, spans_there)) for n, d in enumerate(file)]
            rows += [((f, n), d) for n, d in made if d is not None]
        if not rows:
            return None
        documents = [d for _, d in rows]
        common = [name for name in documents[0].columns if all(name in d.columns for d in documents)]
        names = [WORD, *(name for name in common if name not in (WORD, LABEL)), LABEL]
        return TokenTable.from_documents(documents, names), [at for at, _ in rows]

    def unit_labels(self, corpus: TokenTable) -> tuple[list[str], NDArray[np.int32]]:
        """The tag of each token."""
        column = corpus.columns[LABEL]
        names = sorted(set(column.types))
        index = {name: i for i, name in enumerate(names)}
        return names, np.array([index[label] for label in column.types], np.int32)[column.ids]

    def units_of(self, corpus: TokenTable, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The tokens of some sentences."""
        lengths = np.diff(corpus.ptr)[rows]
        starts = np.repeat(corpus.ptr[rows] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
        return starts + np.arange(lengths.sum())

    def unit_probabilities(
        self, train: TokenTable, asked: TokenTable, seed: int, threads: int
    ) -> tuple[list[str], NDArray[np.float32]]:
        """The probabilities of a plain CRF."""
        model = Tagger(QUICK, folds=0, seed=seed, threads=threads).fit(train)
        labels = [str(c) for c in model.classes_]
        found = model.predict_marginals(asked)
        return labels, np.concatenate([*found, np.empty((0, len(labels)), np.float32)]).copy()

    def doubts(self, corpus: TokenTable, units: NDArray[np.int64]) -> Iterator[Doubt]:
        """Neighbouring tokens of one sentence are one doubt."""
        chosen = np.sort(units)
        sentence = np.searchsorted(corpus.ptr, chosen, side="right") - 1
        new_run = np.ones(len(chosen), bool)
        new_run[1:] = (np.diff(chosen) > 1) | (np.diff(sentence) > 0)
        for run in np.split(chosen, np.flatnonzero(new_run)[1:]):
            if len(run):
                row = int(np.searchsorted(corpus.ptr, run[0], side="right")) - 1
                yield Doubt(row, run, int(run[0] - corpus.ptr[row]))
