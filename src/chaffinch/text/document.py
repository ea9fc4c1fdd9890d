"""The one document model: text with character offsets, tokens with columns, spans, labels, a tree, links."""

import json
from dataclasses import dataclass, field
from typing import Any

# The standard column names: the word, and the label that a tagger learns.
WORD = "w"
LABEL = "y"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text: ``text[start:end]``, counted in code points, end exclusive."""

    text: str
    start: int
    end: int


class ValueLabel(str):
    """A label that is a number or a truth value in its file: a string in Python, that value in files with types.

    >>> label = ValueLabel(3)
    >>> label == "3", label.value, typed_label(label), typed_label("3")
    (True, 3, 3, '3')
    """

    value: int | float | bool

    def __new__(cls, value: int | float | bool) -> "ValueLabel":
        """The label of a value, in the spelling of JSON."""
        made = super().__new__(cls, json.dumps(value))
        made.value = value
        return made

    def __getnewargs__(self) -> tuple[Any]:
        return (self.value,)


def typed_label(label: str) -> str | int | float | bool:
    """The value of a label in a file with types."""
    return label.value if isinstance(label, ValueLabel) else label


@dataclass(frozen=True, slots=True)
class Span:
    """A labelled stretch of the text, in character offsets, end exclusive."""

    label: str
    start: int
    end: int
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """A bracketed tree: a phrase has children, a leaf has a word and no children."""

    label: str
    children: tuple["Tree", ...] = ()
    word: str | None = None


@dataclass(frozen=True, slots=True)
class Links:
    """Word links from the tokens of a document to those of its translation, 0-based (source, target)."""

    target: tuple[str, ...]
    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Annotation:
    """The annotation of a document by one annotator; ``final``: accepted by a reviewer."""

    annotator: str
    spans: list[Span] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    final: bool = False


@dataclass(slots=True)
class Document:
    """One annotated unit, a sentence or a whole text; readers yield it, writers take it.

    columns: strings per token by column name, each as long as ``tokens``; ``y`` is the tag to learn
    labels:  labels of the whole document (more than one: multi-label)
    shares:  soft labels: shares that sum to one; ``labels`` holds the largest
    group:   the larger document that it belongs to, for features that read beyond the sentence
    fields:  the other columns of its row: strings, or any JSON value from typed formats
    score:   the confidence of the model in the spans and labels, if they are its predictions
    predicted: the spans and labels are a model's predictions, with scores or without
    images:  tokens are images in the notation of the letters format; only that format sets this
    annotations: those of each annotator, if there are several; ``spans`` and ``labels`` are one of them
    line:    its first line in its file (that of its first token, in files of columns), from 1; not part of its content
    """

    text: str
    tokens: list[Token] = field(default_factory=list)
    columns: dict[str, list[str]] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=dict)
    tree: Tree | None = None
    links: Links | None = None
    id: str | int | None = None
    group: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    score: float | None = None
    predicted: bool = False
    images: bool = field(default=False, compare=False, repr=False)
    annotations: list[Annotation] = field(default_factory=list, compare=False, repr=False)
    line: int | None = field(default=None, compare=False, repr=False)

    @classmethod
    def from_words(cls, words: list[str], **columns: list[str]) -> "Document":
        """A document whose text is its words joined by single spaces.

        >>> d = Document.from_words(["2", "large", "eggs"], y=["QTY", "SIZE", "NAME"])
        >>> d.text, d.tokens[1], d.columns["y"]
        ('2 large eggs', Token(text='large', start=2, end=7), ['QTY', 'SIZE', 'NAME'])
        """
        tokens, start = [], 0
        for word in words:
            tokens.append(Token(word, start, start + len(word)))
            start += len(word) + 1
        return cls(text=" ".join(words), tokens=tokens, columns=dict(columns))

    def words(self) -> list[str]:
        """The tokens' own strings."""
        return [token.text for token in self.tokens]
