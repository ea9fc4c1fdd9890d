"""Learning valences of n-grams from labelled phrases; a text's features are the valences of its n-grams."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import permutation
from chaffinch.corpus.phrases import LabelledPhrases
from chaffinch.errors import DataError
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.rows import SparseRows, joined
from chaffinch.knobs import knob
from chaffinch.learners.choice import document_problem
from chaffinch.learners.dual import DualLogistic, DualRidge
from chaffinch.learners.examples import DocumentExamples
from chaffinch.model.valences import Valences, WordKinds

# Factors of the n-grams of words, of characters and of kinds of words.
SCALES = (1.0, 0.4, 0.3)
# With fewer phrases than this, no n-gram is left out as rare.
MANY = 1000


@dataclass(frozen=True, kw_only=True)
class PhraseValences:
    """Labelled phrases give valences of n-grams; a text's features are sums of the valences of its n-grams.

    Ridge regression of each label's presence on the n-grams of a phrase gives w_fy, logistic regression a second
    set; :class:`Valences` describes their use. A training text never gets weights learnt from its own
    phrases: they come from the other folds, because otherwise the features would be optimistic in training.

    >>> phrases = LabelledPhrases(["good", "bad", "good tea", "bad tea"], ["+", "-", "+", "-"])
    >>> texts = ["good tea", "bad tea", "good tea now", "bad tea now"]
    >>> valences, features = PhraseValences(folds=2).learnt(texts, phrases, ["-", "+"])
    >>> features.shape, bool(np.diff(valences.features(["good"], 1)[0, :2])[0] > 0)
    ((4, 81), True)
    """

    C: float = knob(0.06, "weight of a phrase's loss against |w|^2 / 2", low=1e-9)
    folds: int = knob(8, "number of folds of the texts", low=2)
    passes: int = knob(6, "passes over the phrases", low=1)
    common: float = knob(
        0.007, "minimum share of texts with a word for it to have a kind of its own", low=0.0
    )
    scale: float = knob(0.4, "factor of every feature", low=0.0)
    seed: int = knob(0, "seed of the folds and of the order of phrases", low=0)
    threads: int = knob(0, "threads to use; 0 for all cores", low=0)

    def learnt(
        self, texts: list[str], phrases: LabelledPhrases, classes: list[str]
    ) -> tuple[Valences, NDArray[np.float32]]:
        """The valences from all phrases, and the out-of-fold features of the texts.

        classes: the labels of texts; phrases have no others
        """
        place = {label: y for y, label in enumerate(classes)}
        strange = next((label for label in phrases.labels if label not in place), None)
        if strange is not None:
            raise DataError(
                f"expected phrases with the labels of the texts ({', '.join(classes)}), found {strange!r}"
            )
        which, owner = phrases.places(texts)
        if len(which) == 0:
            raise DataError("expected phrases that occur in the texts, found none")
        number: dict[str, int] = {}
        name = np.array([number.setdefault(phrases.texts[p], len(number)) for p in which.tolist()])
        first = np.unique(name, return_index=True)[
            1
        ]  # each phrase counts once: otherwise frequent short words would dominate
        y = np.array([place[phrases.labels[p]] for p in which[first].tolist()], dtype=np.int32)
        return self._crossed(texts, list(number), y, name, owner, len(classes))

    def _crossed(
        self,
        texts: list[str],
        phrases: list[str],
        y: NDArray[np.int32],
        name: NDArray[np.int64],
        owner: NDArray[np.int64],
        Y: int,
    ) -> tuple[Valences, NDArray[np.float32]]:
        kinds, twice = self._kinds(texts, phrases, y)
        vectorizers = self._vectorizers(len(phrases))
        unlearnt = Valences(vectorizers, SCALES, twice, np.zeros((1, 2 * Y), np.float32), self.scale)
        seen = zip(vectorizers, SCALES, unlearnt.views(phrases), strict=True)
        rows = joined([vectorizer.fit_transform(view).times(scale) for vectorizer, scale, view in seen])
        fold = np.empty(len(texts), dtype=np.int64)
        fold[np.asarray(permutation(len(texts), self.seed))] = np.arange(len(texts)) % self.folds
        block = np.zeros((len(texts), unlearnt.columns), dtype=np.float32)
        for k in range(self.folds):
            own = np.flatnonzero(fold == k)
            others = np.unique(name[fold[owner] != k])
            if len(own) and len(others):
                learnt = replace(unlearnt, w=self._weights(rows.taken(others), y[others], Y))
                block[own] = learnt.features([texts[n] for n in own.tolist()], self.threads)
        return replace(unlearnt, kinds=kinds, w=self._weights(rows, y, Y)), block

    def _vectorizers(self, phrases: int) -> tuple[TextVectorizer, ...]:
        words, others = (2, 5) if phrases >= MANY else (1, 1)
        shared: dict[str, Any] = {"binary": True, "threads": self.threads}
        return (
            TextVectorizer(tokens="marks", ngram_high=3, min_df=words, **shared),
            TextVectorizer(unit="char_wb", ngram_low=3, ngram_high=5, min_df=others, **shared),
            TextVectorizer(tokens="spaces", ngram_high=4, min_df=others, **shared),
        )

    def _kinds(
        self, texts: list[str], phrases: list[str], y: NDArray[np.int32]
    ) -> tuple[WordKinds, WordKinds]:
        """The kinds of words that are phrases by themselves; and of those among them that at least two texts hold, so
        that they are not known from one text's own phrases."""
        holding = Counter(word for text in texts for word in set(text.lower().split()))
        own = {phrase.lower(): int(label) for phrase, label in zip(phrases, y.tolist(), strict=True)}
        kinds = {
            word: f"{word if holding[word] >= self.common * len(texts) else ''}/{label}"
            for word, label in own.items()
            if len(word.split()) == 1
        }
        return WordKinds(kinds), WordKinds({w: kind for w, kind in kinds.items() if holding[w] >= 2})

    def _weights(self, rows: SparseRows, y: NDArray[np.int32], Y: int) -> NDArray[np.float32]:
        """float32 [F+1, 2Y], rounded as in a model file."""
        examples = DocumentExamples.of_rows(rows, y, Y)
        problem = document_problem(examples, np.ones(len(y), dtype=np.float32), self.seed)
        learners = (
            DualRidge(C=self.C, epochs=self.passes, tolerance=1e-3, bias=1.0),
            DualLogistic(C=5 * self.C, epochs=self.passes, tolerance=1e-4, bias=1.0),
        )
        tables = [learner.fit(problem, threads=self.threads).w[:, :Y] for learner in learners]
        return np.hstack(tables).astype(np.float16).astype(np.float32)
