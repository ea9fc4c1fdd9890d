"""How models of one kind are asked and how they answer, as JSON values: one class for each kind of data.

Each class names its kind; the rest of the server knows no kind by name. A kind without a class of its own gets
:class:`PlainAnswering`.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from chaffinch.errors import ConfigError, DataError
from chaffinch.kinds.kind import Kind
from chaffinch.kinds.requests import ExplainRequest
from chaffinch.serve.explanations import explained
from chaffinch.serve.messages import Asked, CorrectionBody, Input, one_input
from chaffinch.text.document import Document, Token
from chaffinch.text.tokens import tokens

Answer = dict[str, Any]

MOST_WORDS = 200_000  # of one request
MOST_EXPLAINED = 2_000  # words of a text that is explained


@dataclass(slots=True)
class InputRow:
    """One input.

    key:     the same for inputs that a model cannot tell apart
    words:   the words; of a pair of sentences, those of the source
    columns: tokens with all columns, the word first; None if there are only words
    offsets: the bounds of the tokens in the text, in code points
    target:  the words of the translation, if it is a pair
    """

    text: str
    key: str
    words: list[str] = field(default_factory=list)
    columns: list[tuple[str, ...]] | None = None
    offsets: list[tuple[int, int]] = field(default_factory=list)
    target: list[str] = field(default_factory=list)


class Answering(ABC):
    """One kind of model behind the server.

    kind:      the kind that it answers for, and its subclasses
    name:      of the kind in answers of /models
    corrected: whether its answers can be corrected
    gold_labels: whether gold answers are lists of the labels that it gives
    """

    kind: ClassVar[type[Kind] | None] = None
    name: str
    corrected: ClassVar[bool] = False
    gold_labels: ClassVar[bool] = False

    def refusal(self, format: str | None) -> str | None:
        """Why its models cannot use files of a format (None: of a kind without formats); None: they can."""
        return None

    # -- the model

    @abstractmethod
    def labels(self, model: Any) -> list[str]:
        """The labels of its answers."""

    def scheme(self, model: Any) -> str | None:
        """The scheme of its tags, if they mark spans."""
        return None

    def several(self, model: Any) -> bool:
        """Whether an answer may have several labels."""
        return False

    @abstractmethod
    def has_probabilities(self, model: Any) -> bool:
        """Whether it has probabilities."""

    # -- inputs

    @abstractmethod
    def rows(self, model: Any, body: Input) -> list[InputRow]:
        """The inputs of a request."""

    @abstractmethod
    def row_of(self, model: Any, document: Document) -> InputRow:
        """The input of a document of a file."""

    def cost(self, row: InputRow) -> int:
        """The work of an input, in units of about one token."""
        return 1 + len(row.words)

    # -- answers

    @abstractmethod
    def answers(self, model: Any, rows: Sequence[InputRow], asked: Asked) -> list[Answer]:
        """The answers to some inputs, in order."""

    def explained(self, model: Any, row: InputRow, position: int | None, instead: str | None) -> Answer:
        """Why the model gave its answer."""
        raise ConfigError(f"answers of kind {self.name} are not explained here: use chaffinch explain")

    @abstractmethod
    def plain(self, answer: Any) -> Any:
        """An answer of a test set as JSON: tags, a label, labels, brackets, links."""

    def is_answer(self, answer: Answer, correction: Answer) -> bool:
        """Whether an answer says what a correction says; the order of several labels does not matter."""
        return all(_unordered(k, answer.get(k)) == _unordered(k, v) for k, v in correction.items())

    def gold(self, answer: Any) -> Answer:
        """The same under its name: {"tags": ...}, {"label": ...}."""
        return {"answer": self.plain(answer)}

    def rules(self, model: Any) -> Answer:
        """The rules that its answers obey, by name."""
        return {}

    def ruled(self, model: Any, rules: Mapping[str, Any]) -> Any:
        """The model with further rules."""
        raise ConfigError(f"rules are for tags, not for {self.name}")

    # -- corrections

    def correction(self, model: Any, row: InputRow, body: CorrectionBody) -> Answer:
        """The corrected answer of a request: {"tags": ...}, {"label": ...}; checked."""
        raise self._read_only()

    def pinned(self, row: InputRow, correction: Answer) -> Answer:
        """The answer to a corrected input: the correction."""
        raise self._read_only()

    def corrected_document(self, model: Any, row: InputRow, correction: Answer) -> Document:
        """The corrected input, to be exported and to train on."""
        raise self._read_only()

    def _read_only(self) -> ConfigError:
        return ConfigError(f"models of kind {self.name} are served read-only and take no corrections")

    # -- learning

    def learn(self, model: Any, lessons: Sequence[tuple[InputRow, Answer]]) -> None:
        """Teach a model corrections; the model is a copy that the caller made."""
        raise ConfigError(f"models of kind {self.name} do not learn here")

    def can_learn(self, model: Any) -> str | None:
        """None if the model can learn from corrections as it is; else a sentence that says why not."""
        return f"models of kind {self.name} are served read-only"

    def untrained(self, model: Any) -> Any:
        """An estimator with the settings and the features of a model, to be trained from the beginning."""
        raise ConfigError(f"models of kind {self.name} are not trained here")


class PlainAnswering(Answering):
    """Any kind without a class of its own: its answers as JSON, with labelled pieces to show if they have any."""

    def __init__(self, kind: Kind) -> None:
        self._kind, self.name = kind, kind.plural

    def labels(self, model: Any) -> list[str]:
        """The labels, if the model has any."""
        found = getattr(model, "labels_", None)
        return [str(label) for label in (getattr(model, "classes_", ()) if found is None else found)]

    def has_probabilities(self, model: Any) -> bool:
        """Probabilities of other kinds are unknown here."""
        return False

    def rows(self, model: Any, body: Input) -> list[InputRow]:
        """Texts, cut into words, or words."""
        form = one_input(body, "text", "texts", "tokens", "sentences")
        if form in ("text", "texts"):
            return [
                row_of_words(text) for text in ([only_text(body)] if form == "text" else body.texts or [])
            ]
        given = [body.tokens or []] if form == "tokens" else body.sentences or []
        return [row_of_words(sentence) for sentence in given]

    def row_of(self, model: Any, document: Document) -> InputRow:
        """The text and the words of a document; a text without tokens is cut into words."""
        if not document.tokens:
            return row_of_words(document.text)
        words = document.words()
        return InputRow(
            document.text, "\x1e".join(words), words, None, [(t.start, t.end) for t in document.tokens]
        )

    def answers(self, model: Any, rows: Sequence[InputRow], asked: Asked) -> list[Answer]:
        """The answers with their pieces."""
        within_limits(rows, asked, len(self.labels(model)))
        if asked.kbest or asked.probabilities:
            raise ConfigError(f"kbest and probabilities do not work for {self.name}")
        found = self._kind.answer(model, [_document(row) for row in rows])
        return [
            {
                "text": row.text,
                "tokens": row.offsets,
                "answer": self.plain(answer),
                "pieces": _pieces(row, answer),
                "certainty": None,
            }
            for row, answer in zip(rows, found, strict=True)
        ]

    def explained(self, model: Any, row: InputRow, position: int | None, instead: str | None) -> Answer:
        """The first decision in the kind's explanation of the text, or the one about the token at a position."""
        if not 0 < len(row.words) <= MOST_EXPLAINED:
            raise DataError(
                f"expected a text of 1 to {MOST_EXPLAINED:,} words to explain, got {len(row.words):,}"
            )
        if row_of_words(row.text).words != row.words:
            raise DataError("these tokens are not those of their text; give the text to explain")
        for name, given, flag in (("position", position, "token"), ("instead", instead, "against")):
            if given is not None and flag not in self._kind.explains:
                raise DataError(f"{name} does not apply to {self.name}; leave it out")
        asked = ExplainRequest(words=row.text, token=position, against=instead, threads=model.threads)
        found = self._kind.explain(model, asked)[0]
        if not found.decisions:
            raise ConfigError("there is no decision to explain in this text")
        made = explained(found, found.decisions[0])
        if list(found.words or row.words) != row.words or (not found.words and found.source != row.text):
            for group in made["groups"]:  # places in another text, which the kind made of this one
                group["at"] = None
                group.pop("start", None)
                group.pop("end", None)
        return made

    def plain(self, answer: Any) -> Any:
        """Numbers, texts, lists and objects as they are; anything else as text."""
        if answer is None or isinstance(answer, str | int | float):
            return answer
        if isinstance(answer, Mapping):
            return {str(name): self.plain(value) for name, value in answer.items()}
        if isinstance(answer, Sequence):
            return [self.plain(value) for value in answer]
        return sorted(map(self.plain, answer)) if isinstance(answer, set | frozenset) else str(answer)


def _document(row: InputRow) -> Document:
    """The text of an input as it is, with its tokens."""
    places = zip(row.words, row.offsets, strict=True)
    return Document(row.text, [Token(word, start, end) for word, (start, end) in places])


def _pieces(row: InputRow, answer: Any) -> list[Answer]:
    """A label is a piece of the whole text; one label for each word is a piece for each word."""
    if isinstance(answer, str):
        return [{"label": answer, "start": 0, "end": len(row.text)}]
    each = isinstance(answer, Sequence) and len(answer) == len(row.words)
    if not each or not all(isinstance(label, str) for label in answer):
        return []
    return [
        {"label": label, "start": start, "end": end}
        for label, (start, end) in zip(answer, row.offsets, strict=True)
    ]


def row_of_words(given: str | Sequence[Any]) -> InputRow:
    """A text, cut into words, or a sentence of words."""
    if isinstance(given, str):
        cut, text = tokens(given), given
    else:
        for t, word in enumerate(given):
            if not isinstance(word, str) or not word:
                raise DataError(f"token {t}: expected a word, got {word!r}")
        document = Document.from_words(list(given))
        cut, text = document.tokens, document.text
    words = [token.text for token in cut] if isinstance(given, str) else list(given)
    return InputRow(text, "\x1e".join(words), words, None, [(token.start, token.end) for token in cut])


def answering_of(kind: Kind) -> Answering:
    """How models of a kind answer: by the class that names the kind or its nearest base class, or plainly."""
    declared = {made.kind: made for made in Answering.__subclasses__() if made.kind is not None}
    return next((declared[c]() for c in type(kind).__mro__ if c in declared), None) or PlainAnswering(kind)


def _unordered(name: str, value: Any) -> Any:
    return sorted(value) if name == "labels" and value is not None else value


def within_limits(rows: Sequence[InputRow], asked: Asked, labels: int) -> None:
    """Raise if answers would be too large: their size is k-best times words, or words times labels."""
    words = sum(1 + len(row.words) for row in rows)
    if words > MOST_WORDS:
        raise DataError(
            f"the request has {words:,} words, but at most {MOST_WORDS:,} are allowed: send it in parts"
        )
    if asked.kbest * words > 4 * MOST_WORDS:
        raise DataError(
            f"kbest {asked.kbest} for {words:,} words is too much: ask for fewer, or send fewer words"
        )
    if asked.probabilities and labels * words > 20 * MOST_WORDS:
        raise DataError(
            f"the probabilities of {labels:,} labels for {words:,} words are too many: send fewer words"
        )


def only_text(body: Input) -> str:
    """The text of a request for one input."""
    if body.text is None:
        raise DataError("expected a text in the request")
    return body.text


def twin(model: Any) -> Any:
    """A copy of the estimator object: learning replaces models and memories and does not change them."""
    made = object.__new__(type(model))
    vars(made).update(vars(model))
    increment = vars(made).get("_increment")
    if increment is not None:
        made._increment = copy.copy(increment) if increment._run is None else None
    return made
