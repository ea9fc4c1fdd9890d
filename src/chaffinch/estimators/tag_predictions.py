"""The answers of a trained tagger: labels, spans, probabilities, k best labellings, explanations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.documents import texts_of
from chaffinch.estimators.inputs import is_text_column, words_of
from chaffinch.estimators.persistent import Calibrated
from chaffinch.estimators.sentences import (
    UNKNOWN,
    Sentences,
    given_labels,
    labelled,
    sentences_of,
    table_of,
)
from chaffinch.model import LabelSet, TaggingModel
from chaffinch.model.distribution import SentenceDistribution, distributions
from chaffinch.model.evidence import Question
from chaffinch.model.protocols import LatticeModel, Tempered
from chaffinch.model.ruled import under_rules
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.calibration import decision_probabilities
from chaffinch.search.label_rules import Rule
from chaffinch.text.document import LABEL, WORD
from chaffinch.text.table import TokenTable
from chaffinch.text.tokens import tokens
from chaffinch.trust.confidence import SPANS, TOKENS, Confidence, with_decisions
from chaffinch.trust.explain import Evidence, explain
from chaffinch.trust.explanation import Explanation


class FoundSpan(NamedTuple):
    """Tokens start to end - 1 of a sentence, their label, and the probability that it is right."""

    start: int
    end: int
    label: str
    probability: float


class TextSpan(NamedTuple):
    """Characters start to end - 1 of a text, their label, the text itself, and the probability that it is right."""

    start: int
    end: int
    label: str
    text: str
    probability: float


class SentenceList(list[Any]):
    """A list with an entry per sentence; NumPy makes an array of objects of it, which scikit-learn can join."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.object_]:
        found = np.empty(len(self), dtype=object)
        for n, entry in enumerate(self):
            found[n] = entry
        return found


class TagPredictions(Calibrated[TaggingModel]):
    """The answers of a trained tagger, under its rules."""

    recipes = TAGGERS

    columns_: tuple[str, ...]  # of its input
    rules: Sequence[Rule]  # as given
    rules_: tuple[Rule, ...] = ()  # in force
    _ruled: tuple[TaggingModel, TaggingModel] | None = None  # a model, and the same model under the rules
    _memory: Any = None  # of a recipe that learns incrementally; it is changed in place
    _before: Any = None  # the tagger before its last lesson, so that the lesson can be taken back

    def with_rules(self, rules: Iterable[Rule]) -> Self:
        """The same tagger with answers that obey these rules; a saved file keeps the rules that name no tokens.

        >>> from chaffinch import Tagger
        >>> from chaffinch.rules import once
        >>> X, y = [["2", "eggs", "and", "1", "onion"]] * 2, [["QTY", "NAME", "O", "QTY", "NAME"]] * 2
        >>> tagger = Tagger("crf", folds=0).fit(X, y)
        >>> tagger.with_rules([once("QTY")]).predict(X[:1])
        [['NAME', 'NAME', 'O', 'QTY', 'NAME']]
        """
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        made._memory = made._before = None
        made.rules = made.rules_ = tuple(rules)
        made._ruled = (self._fitted(), under_rules(self._fitted(), made.rules_))
        return made

    def answering(self) -> TaggingModel:
        """The model under the rules; ``model_`` if there are none."""
        model = self._fitted()
        if not self.rules_:
            return model
        if self._ruled is None or self._ruled[0] is not model:
            self._ruled = (model, under_rules(model, self.rules_))
        return self._ruled[1]

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The labels, in the order of ``predict_marginals``'s columns."""
        return np.array(self.answering().labels.outer)

    def predict(self, X: "Sentences | str", *, k: int | None = None) -> list[list[Any]]:
        """The best labels of each sentence; one text, or each text of a column, is tokenised as one sentence.

        k: give each sentence its k best labellings instead, best first; ``predict_kbest`` has their scores
        """
        if k is not None:
            return SentenceList([labels for _, labels in found] for found in self.predict_kbest(X, k))
        model, table = self.answering(), self._table(X)
        return SentenceList(_labels_by_sentence(model.labels, model.decode(table, self.threads), table.ptr))

    def spans(self, text: str) -> list[TextSpan]:
        """The spans in plain text, tokenised as in training, with their character offsets.

        >>> from chaffinch import Tagger
        >>> X, y = [["Ann", "left"], ["Bob", "left"]], [["B-PER", "O"], ["B-PER", "O"]]
        >>> [(s.start, s.end, s.label, s.text) for s in Tagger(folds=0).fit(X, y).spans("Ann left")]
        [(0, 3, 'PER', 'Ann')]
        """
        read = self.answering().columns
        if read != (WORD,):
            raise DataError(
                f"this tagger reads the columns {', '.join(read)}, and plain text has only words: add the other "
                f"columns, and give predict_spans sentences of tuples ({', '.join(self.columns_)})"
            )
        cut = tokens(text)
        if not cut:
            return []
        made = []
        for found in self.predict_spans([[token.text for token in cut]])[0]:
            start, end = cut[found.start].start, cut[found.end - 1].end
            made.append(TextSpan(start, end, found.label, text[start:end], found.probability))
        return made

    def predict_kbest(self, X: Sentences, k: int) -> list[list[tuple[float, list[str]]]]:
        """The k best labellings of each sentence with their scores, best first."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        model, table = self.answering(), self._table(X)
        outer = model.labels.outer
        return [
            [(reading.score, [outer[i] for i in reading.labels.tolist()]) for reading in readings]
            for readings in model.kbest(table, k, self.threads)
        ]

    def predict_marginals(self, X: Sentences) -> list[NDArray[np.float32]]:
        """p(label|sentence) of each token: for each sentence an array [T, labels], columns as ``classes_``.

        These are the marginals of ``distributions``, at the model's temperature; ``label_probabilities`` adds the
        calibration of tokens.
        """
        model, table = self.answering(), self._table(X)
        return _by_sentence(model.marginals(table, self.threads), table)

    def label_probabilities(self, X: Sentences) -> list[NDArray[np.floating]]:
        """The probabilities that ``predict --marginals``, ``explain`` and the server give: [T, labels] by sentence.

        If tokens were calibrated (labels that mark no spans), the predicted label has the probability of
        ``predict_spans``, and the other labels share the rest in proportion to their marginals. Otherwise these are the
        marginals: the calibration of spans applies to whole spans, not to tokens.

        >>> from chaffinch import Tagger
        >>> tagger = Tagger("hmm").fit([["a", "dog"], ["a", "cat"], ["dogs"]], [["D", "N"], ["D", "N"], ["N"]])
        >>> p = tagger.label_probabilities([["a", "dog"]])[0]
        >>> tagger.classes_[p.argmax(axis=1)].tolist()
        ['D', 'N']
        """
        model, table, known = self.answering(), self._table(X), self.confidence_
        p = model.marginals(table, self.threads)
        if known is None or known.unit != TOKENS:
            return _by_sentence(p, table)
        decided = model.decode(table, self.threads)
        sure = known.to_honest(p[np.arange(len(decided)), decided])
        return _by_sentence(with_decisions(p, decided, sure), table)

    def predict_posterior(self, X: Sentences) -> list[list[str]]:
        """The labels with the highest expected accuracy: the most probable ones within the constraints of the model."""
        model, table = self.answering(), self._table(X)
        found, outer = model.posterior(table, self.threads).tolist(), model.labels.outer
        return [[outer[i] for i in found[a:b]] for a, b in pairwise(table.ptr.tolist())]

    @property
    def has_distributions(self) -> bool:
        """Whether the model has a distribution over labellings; recipes that decide label by label have none."""
        return isinstance(self.answering(), LatticeModel)

    def distributions(self, X: Sentences) -> list[SentenceDistribution]:
        """The distribution over labellings of each sentence: probabilities of labels, pairs, spans; samples."""
        model, table = self.answering(), self._table(X)
        if not isinstance(model, LatticeModel):
            raise ConfigError(
                f"recipe {TAGGERS.by_config(self.config_).name} has no distribution over labellings"
            )
        known = self.confidence_
        to_honest = None if known is None or known.unit != SPANS else known.to_honest
        return list(distributions(model, table, self.threads, to_honest))

    def predict_spans(self, X: Sentences) -> list[list[FoundSpan]]:
        """The spans of each sentence with the probability that each is right; each token if labels mark no spans.

        >>> from chaffinch import Tagger
        >>> X, y = [["Ann", "left"], ["Bob", "left"]], [["B-PER", "O"], ["B-PER", "O"]]
        >>> Tagger(folds=0).fit(X, y).predict_spans([["Ann", "left"]])[0][0].label
        'PER'
        """
        model, table = self.answering(), self._table(X)
        if not isinstance(model, Tempered):
            raise ConfigError(f"recipe {TAGGERS.by_config(self.config_).name} has no probabilities")
        found = decision_probabilities(model, table, self.threads)
        flat = np.array([d[3] for made in found for d in made], np.float64)
        honest = iter((flat if self.confidence_ is None else self.confidence_.to_honest(flat)).tolist())
        return [[FoundSpan(a, b, label, next(honest)) for a, b, label, _ in made] for made in found]

    def threshold(self, *, precision: float, risk: float = 0.1) -> float:
        """The lowest probability at which decisions of ``predict_spans`` have at least this precision.

        With a probability of 1 - ``risk`` over the training data, decisions at or above it have this precision on data
        of the same distribution (learn-then-test on out-of-fold decisions). ConfigError if the data cannot certify
        that.
        """
        remedy = ", so no threshold can be certified: train it with folds > 0 or with dev data"
        return self._certified(precision, risk, remedy)

    def explain(
        self, sentence: Sequence[Any], *, token: int | None = None, against: str | None = None
    ) -> Explanation:
        """Explanations of the labels of one sentence: named contributions that add up to the model's scores.

        token:   which token, counted from 0; None: each
        against: the label to compare with ("why B and not A"); None: the best other one

        >>> from chaffinch import Tagger
        >>> tagger = Tagger("hmm").fit([["a", "dog"], ["a", "cat"], ["dogs"]], [["D", "N"], ["D", "N"], ["N"]])
        >>> why = tagger.explain(["a", "dog"], token=0).decisions[0]
        >>> why.answer, why.rival, round(sum(c.difference for c in why.contributions) - why.margin, 6)
        ('D', 'N', 0.0)
        """
        return self.explanations([sentence], token=token, against=against)[0]

    def explanations(
        self,
        X: Sentences,
        *,
        token: int | None = None,
        against: str | None = None,
        which: Iterable[int] | None = None,
    ) -> list[Explanation]:
        """The explanation of each sentence, or of those in ``which``; all sentences are encoded together."""
        model, table = self.answering(), self._table(X)
        recipe, question = TAGGERS.by_config(self.config_).name, Question(token, against)
        every = table.lists(WORD)
        asked = list(range(len(every)) if which is None else which)
        found = []
        for n, tagged in zip(asked, model.examples(table, asked, question, self.threads), strict=True):
            words, decisions = every[n], (one for x in tagged.examples for one in explain(x, question))
            if self.confidence_ is not None and self.confidence_.unit == TOKENS:
                decisions = (_calibrated(one, self.confidence_) for one in decisions)
            answer = " ".join(f"{word}/{label}" for word, label in zip(words, tagged.labels, strict=True))
            found.append(Explanation(recipe, " ".join(words), tuple(words), answer, tuple(decisions)))
        return found

    def score(self, X: Sentences, y: Sequence[Sequence[str]] | None = None) -> float:
        """Token accuracy over the tokens with a known label."""
        X = X if isinstance(X, TokenTable | Mapping) else sentences_of(X)
        gold = labelled(X, None if y is None else given_labels(y).y)
        model = self.answering()
        self._table(gold)
        place = {label: i for i, label in enumerate(model.labels.outer)}
        column = gold.columns[LABEL]
        wanted = np.array([place.get(t, -1) for t in column.types], dtype=np.int32)[column.ids]
        hidden = {UNKNOWN, self.hidden_label_}
        known = np.array([t not in hidden for t in column.types], dtype=np.bool_)[column.ids]
        if not known.any():
            raise DataError("expected at least one token with a known label to score, got none")
        return float((model.decode(gold, self.threads) == wanted)[known].mean())

    @property
    def hidden_label_(self) -> str | None:
        """The recipe's marker of unknown labels, if any."""
        recipe = TAGGERS.by_config(self.config_)
        return self.config_.unknown if "unknown" in recipe.options else None

    def _table(self, X: "Sentences | str") -> TokenTable:
        if isinstance(X, str):
            X = [words_of(X)]
        elif is_text_column(X):
            X = [words_of(text) for text in texts_of(X)]
        return table_of(X, self.columns_, self._fitted().columns)


def _by_sentence(p: NDArray[np.floating], table: TokenTable) -> list[NDArray[Any]]:
    """The rows of each sentence."""
    return [p[a:b] for a, b in pairwise(table.ptr.tolist())]


def _calibrated(decision: Evidence, known: Confidence) -> Evidence:
    """The explanation of a token's label with the probabilities of ``label_probabilities``."""
    p, other = decision.probability, decision.rival_probability
    if p is None:
        return decision
    (sure,) = known.to_honest.few([p])
    if other is not None:
        other = min(other * (1 - sure) / (1 - p), 1 - sure) if p < 1 else 0.0
    return replace(decision, probability=sure, rival_probability=other)


def _labels_by_sentence(labels: LabelSet, ids: NDArray[np.int32], ptr: NDArray[np.int64]) -> list[list[str]]:
    flat = list(map(labels.outer.__getitem__, ids.tolist()))
    bounds = ptr.tolist()
    return [flat[a:b] for a, b in pairwise(bounds)]
