"""The aligner: links between the words of two sentences, as a scikit-learn estimator."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

from chaffinch import modelfile
from chaffinch.errors import DataError
from chaffinch.estimators.inputs import SampleWeight, counting, sample_weights
from chaffinch.estimators.persistent import Persistent
from chaffinch.evaluate import score_alignments
from chaffinch.model.aligner import AlignerModel
from chaffinch.model.associations import Pair
from chaffinch.model.evidence import Question
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.aligners import ALIGNERS, DEFAULT_ALIGNER, AlignmentTask
from chaffinch.structures.matching import Link, Links
from chaffinch.trust.explain import explain
from chaffinch.trust.explanation import Explanation


class Aligner(Persistent[AlignerModel]):
    """Links between the words of sentence pairs.

    recipe:  ``aligner``, ``aligner-mira`` or ``aligner-perceptron``, or a config with knobs set
    seed:    seed of the order of examples
    threads: 0 for all cores; the result does not depend on it

    A pair is two lists of words; links are pairs of positions, counted from 0.

    >>> pairs = [(["the", "house"], ["la", "maison"]), (["the", "book"], ["le", "livre"])] * 3
    >>> aligner = Aligner().fit(pairs, [{(0, 0), (1, 1)}] * 6)
    >>> [sorted(links) for links in aligner.predict([(["the", "book"], ["le", "livre"])])]
    [[(0, 0), (1, 1)]]
    """

    task = "aligner"
    recipes = ALIGNERS

    def __init__(self, recipe: Any = DEFAULT_ALIGNER, *, seed: int = 0, threads: int = 0) -> None:
        super().__init__(recipe, seed=seed, threads=threads)

    def fit(
        self,
        X: Sequence[Pair],
        y: Sequence[Collection[Link]],
        *,
        possible: Sequence[Collection[Link]] | None = None,
        sample_weight: SampleWeight = None,
        text: Sequence[Pair] = (),
        dev: tuple[Sequence[Pair], Sequence[Collection[Link]], Sequence[Collection[Link]]] | None = None,
        on_epoch: Listener = keep_going,
    ) -> "Aligner":
        """Learn from pairs and their sure links.

        possible:      links that are allowed but not required
        sample_weight: weight of the loss of each pair; word associations and the lexicon are counted without it
        text:          further pairs without links, for the associations
        dev:           held-out pairs, their sure and their possible links: the best pass on them is kept,
                       and training stops after three passes without improvement
        """
        config = self._config()
        maybe = [frozenset()] * len(y) if possible is None else possible
        if not len(X) == len(y) == len(maybe):
            raise DataError(f"expected a set of links for each of {len(X)} sentence pairs, got {len(y)}")
        sure, also = _links(y), _links(maybe)
        _check(X, sure, also)
        weight = sample_weights(sample_weight, len(X), "sentence pairs")
        if weight is not None and (kept := counting(weight)) is not None:
            X, sure, also = ([one[n] for n in kept.tolist()] for one in (X, sure, also))
            weight = weight[kept]
        held_out = None
        if dev is not None:
            held_out = dev[0], _links(dev[1]), _links(dev[2])
            _check(*held_out)
        task = AlignmentTask(X, sure, also, text, self.threads, on_epoch, held_out, weight)
        trained = ALIGNERS.train(task, config)
        self.model_ = trained.model
        self.history_ = trained.history
        self.config_ = config
        words = [w for pair in X for side in pair for w in side]
        self.fingerprint_ = modelfile.fingerprint(
            words, [f"{i}-{j}" for links in sure for i, j in sorted(links)]
        )
        return self

    def predict(self, X: Sequence[Pair]) -> list[Links]:
        """The links of each pair."""
        return self._fitted().align(X)

    def predict_kbest(self, X: Sequence[Pair], k: int) -> list[list[tuple[float, Links]]]:
        """The k best sets of links of each pair with their scores, best first."""
        return self._fitted().kbest(X, k)

    def explain(self, pair: Pair, *, link: Link | None = None) -> Explanation:
        """Explanations of the links of a pair: named contributions that add up to the model's scores.

        link: the link in question, predicted or not, as positions counted from 0; None: each predicted link

        >>> pairs = [(["the", "house"], ["la", "maison"]), (["the", "book"], ["le", "livre"])] * 3
        >>> aligner = Aligner().fit(pairs, [{(0, 0), (1, 1)}] * 6)
        >>> [(one.subject, one.answer) for one in aligner.explain(pairs[0], link=(1, 1)).decisions]
        [('house 2-2 maison', 'linked')]
        """
        _check([pair])
        x = self._fitted().example(pair, link)
        decisions = tuple(explain(x, Question()))
        source = f"{' '.join(pair[0])} | {' '.join(pair[1])}"
        answer = " ".join(x.spelt(x.answer))
        return Explanation(ALIGNERS.by_config(self.config_).name, source, (), answer, decisions)

    def score(
        self,
        X: Sequence[Pair],
        y: Sequence[Collection[Link]],
        possible: Sequence[Collection[Link]] | None = None,
    ) -> float:
        """One minus the alignment error rate."""
        maybe = [frozenset()] * len(y) if possible is None else possible
        return 1 - score_alignments(y, maybe, self.predict(X)).aer

    def _config(self) -> Any:
        config = super()._config()
        return dataclasses.replace(config, seed=self.seed) if self.seed else config


def _links(given: Sequence[Collection[Link]]) -> list[Links]:
    return [frozenset((int(i), int(j)) for i, j in links) for links in given]


def _check(X: Sequence[Pair], *links: Sequence[Links]) -> None:
    for number, (pair, *found) in enumerate(zip(X, *links, strict=True), 1):
        if len(pair) != 2 or any(isinstance(side, str) for side in pair):
            raise DataError(f"pair {number}: expected two lists of words, got {pair!r:.60}")
        for i, j in frozenset().union(*found):
            if not (0 <= i < len(pair[0]) and 0 <= j < len(pair[1])):
                raise DataError(
                    f"pair {number}: expected links within {len(pair[0])} and {len(pair[1])} words, found {i}-{j}"
                )
