"""Agreement: how often a rescued model and its original give the same answer, and how far apart their scores are."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from chaffinch.errors import ConfigError, DataError

Scores = Mapping[str, float]


class Answer(NamedTuple):
    """A model's answer to one text.

    labels: a label, or those of the tokens of a sentence
    scores: by label, of the text or of each token; None: the model gives none
    """

    labels: str | Sequence[str]
    scores: Scores | Sequence[Scores] | None = None


@dataclass(frozen=True)
class ModelAgreement:
    """The comparison of two models on some texts.

    texts, same:   the number of texts, and of texts with the same answer
    tokens, tokens_same: the same for single labels
    largest:       the largest absolute difference of two scores; None: no scores were compared
    first:         the index of the first text with different answers; None: there is none
    """

    texts: int
    same: int
    tokens: int
    tokens_same: int
    largest: float | None = None
    first: int | None = None

    @property
    def identical(self) -> bool:
        """Whether every answer is the same."""
        return self.same == self.texts

    def __str__(self) -> str:
        scores = "" if self.largest is None else f"; scores differ by at most {self.largest:.2g}"
        answers = f"{self.same:,} of {self.texts:,} answers"
        return f"{answers} and {self.tokens_same:,} of {self.tokens:,} labels are the same{scores}"


def verify(model: Any, original: Any, texts: Iterable[Any]) -> ModelAgreement:
    """Compare the answers of two models to the same texts.

    model:    one of our estimators
    original: an object of the other tool (a ``pycrfsuite.Tagger``, a ``sklearn_crfsuite.CRF``, an NLTK tagger), or any
              function from a text to an :class:`Answer`

    >>> ours = {"a": Answer("X", {"X": 0.75}), "b": Answer("Y", {"X": 0.5})}
    >>> theirs = {"a": Answer("X", {"X": 0.5}), "b": Answer("X", {"X": 0.5})}
    >>> print(verify(ours.get, theirs.get, ["a", "b"]))
    1 of 2 answers and 1 of 2 labels are the same; scores differ by at most 0.25
    """
    model, original = answering(model), answering(original)
    count = same = tokens = tokens_same = 0
    largest: float | None = None
    first = None
    for n, text in enumerate(texts):
        mine, theirs = model(text), original(text)
        a, b = _listed(mine.labels), _listed(theirs.labels)
        if len(a) != len(b):
            raise DataError(f"text {n + 1}: our model gives {len(a)} labels, the original {len(b)}")
        right = sum(x == y for x, y in zip(a, b, strict=True))
        count, tokens, tokens_same = count + 1, tokens + len(a), tokens_same + right
        if right == len(a):
            same += 1
        elif first is None:
            first = n
        if mine.scores is not None and theirs.scores is not None:
            largest = max(largest or 0.0, _difference(mine.scores, theirs.scores))
    return ModelAgreement(count, same, tokens, tokens_same, largest, first)


def answering(model: Any) -> Callable[[Any], Answer]:
    """A function from a text to the answer of a model."""
    for methods, made in _ANSWERS:
        if all(hasattr(model, name) for name in methods):
            return lambda text: made(model, text)
    if callable(model):
        found: Callable[[Any], Answer] = model
        return found
    raise ConfigError(f"expected a model or a function from a text to an Answer, got {type(model).__name__}")


def _of_tagger(model: Any, text: Any) -> Answer:
    labels = model.classes_.tolist()
    scores = [dict(zip(labels, row.tolist(), strict=True)) for row in model.predict_marginals([text])[0]]
    return Answer(model.predict([text])[0], scores)


def _of_classifier(model: Any, text: Any) -> Answer:
    p = model.predict_proba([text])[0]
    return Answer(model.predict([text])[0], dict(zip(model.classes_.tolist(), p.tolist(), strict=True)))


def _of_pycrfsuite(model: Any, text: Any) -> Answer:
    found, labels = model.tag(text), model.labels()
    return Answer(found, [{y: model.marginal(y, t) for y in labels} for t in range(len(found))])


def _of_sklearn_crfsuite(model: Any, text: Any) -> Answer:
    return Answer(model.predict_single(text), model.predict_marginals_single(text))


def _of_nltk(model: Any, text: Any) -> Answer:
    return Answer([tag for _, tag in model.tag(text)])


# The methods that identify a model, and how it is asked; the first match counts.
_ANSWERS: tuple[tuple[tuple[str, ...], Callable[[Any, Any], Answer]], ...] = (
    (("predict_single", "predict_marginals_single"), _of_sklearn_crfsuite),
    (("tag", "marginal", "labels"), _of_pycrfsuite),
    (("tag", "tagdict"), _of_nltk),
    (("predict", "predict_marginals", "classes_"), _of_tagger),
    (("predict", "predict_proba", "classes_"), _of_classifier),
)


def _listed(labels: str | Sequence[str]) -> list[str]:
    return [labels] if isinstance(labels, str) else list(labels)


def _difference(a: Scores | Sequence[Scores], b: Scores | Sequence[Scores]) -> float:
    """The largest difference of the scores that the original gives."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return max((abs(a.get(label, 0.0) - score) for label, score in b.items()), default=0.0)
    assert not isinstance(a, Mapping)
    assert not isinstance(b, Mapping)
    return max((_difference(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
