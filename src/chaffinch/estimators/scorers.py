"""Scorers for scikit-learn's model selection: functions of an estimator, inputs and gold labels, higher is better."""

from collections.abc import Sequence
from typing import Any

from chaffinch.evaluate import TagScores, score_tags


def span_f1_scorer(tagger: Any, X: Any, y: Sequence[Sequence[str]]) -> float:
    """Micro F1 of spans, as conlleval counts; token accuracy if labels mark no spans.

    >>> from chaffinch import Tagger
    >>> X, y = [["Ann", "left"], ["Bob", "left"]], [["B-PER", "O"], ["B-PER", "O"]]
    >>> span_f1_scorer(Tagger("hmm").fit(X, y), X, y)
    1.0
    """
    found = _scores(tagger, X, y)
    return found.token_accuracy if found.span is None else found.span.micro.f1


def token_accuracy_scorer(tagger: Any, X: Any, y: Sequence[Sequence[str]]) -> float:
    """Token accuracy."""
    return _scores(tagger, X, y).token_accuracy


def sentence_accuracy_scorer(tagger: Any, X: Any, y: Sequence[Sequence[str]]) -> float:
    """Sentence accuracy: the share of sentences with every label right."""
    return _scores(tagger, X, y).sentence_accuracy


def _scores(tagger: Any, X: Any, y: Sequence[Sequence[str]]) -> TagScores:
    return score_tags([list(labels) for labels in y], [list(labels) for labels in tagger.predict(X)])
