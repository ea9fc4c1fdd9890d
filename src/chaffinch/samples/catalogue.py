"""The catalogue: every sample with its task, its sizes and its documents."""

from collections.abc import Callable
from dataclasses import dataclass

from chaffinch.errors import ConfigError
from chaffinch.samples.chance import SEED, SPLITS
from chaffinch.samples.ingredients import ingredients
from chaffinch.samples.letters import letters
from chaffinch.samples.pairs import pairs
from chaffinch.samples.posts import posts
from chaffinch.samples.questions import questions
from chaffinch.samples.quotations import quotations
from chaffinch.samples.reviews import reviews
from chaffinch.samples.topics import topics
from chaffinch.samples.trees import trees
from chaffinch.text.document import Document


@dataclass(frozen=True)
class Sample:
    """One row of the catalogue.

    about:     a description in one line
    task:      the task that it is for
    formats:   the extensions of the files that it is written to
    sizes:     default number of documents of each split
    documents: ``documents(n, seed, split, careful)`` gives the documents of a split
    """

    about: str
    task: str
    formats: tuple[str, ...]
    sizes: dict[str, int]
    documents: Callable[[int, int, str, bool], list[Document]]

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of its splits."""
        return tuple(self.sizes)


def _letter_documents(n: int, seed: int, split: str, careful: bool) -> list[Document]:
    documents: list[Document] = letters(n, seed, split, careful)[0]
    for document in documents:
        document.images = True
    return documents


def _sizes(train: int, other: int) -> dict[str, int]:
    return dict(zip(SPLITS, (train, other, other), strict=True))


SAMPLES: dict[str, Sample] = {
    "ingredients": Sample(
        "ingredient lines: quantity, unit, size, name, preparation, comment, purpose; with parts of speech",
        "tag tokens",
        (".conll",),
        _sizes(3000, 600),
        ingredients,
    ),
    "posts": Sample(
        "short posts with entities and their sentiment; the clue may be far away, negated or ironic",
        "tag spans",
        (".conll", ".in", ".out"),
        _sizes(2500, 500),
        posts,
    ),
    "reviews": Sample(
        "short reviews with grades 0 to 4: negation, contrast, intensifiers",
        "classify texts",
        (".csv",),
        _sizes(3000, 600),
        reviews,
    ),
    "topics": Sample(
        "club notices of several paragraphs on twenty topics, with misleading headers and quotes",
        "classify texts",
        (".csv",),
        _sizes(1600, 400),
        topics,
    ),
    "questions": Sample(
        "questions with the type of their answer: six coarse types, each with finer ones",
        "classify texts",
        (".csv",),
        _sizes(2000, 400),
        questions,
    ),
    "trees": Sample(
        "parse trees of sentences in which words decide where a phrase attaches",
        "parse",
        (".mrg",),
        _sizes(1500, 300),
        trees,
    ),
    "pairs": Sample(
        "English sentences with their translation into Pipit, with sure and possible word links",
        "align words",
        (".tsv",),
        _sizes(1500, 300),
        pairs,
    ),
    "quotations": Sample(
        "words inside and outside quotation marks, for models with hidden states",
        "tag tokens",
        (".conll",),
        _sizes(300, 100),
        quotations,
    ),
    "letters": Sample(
        "words as rows of noisy 16 x 8 letter images",
        "tag images",
        (".npz",),
        _sizes(1500, 300),
        _letter_documents,
    ),
}


def load(
    name: str, split: str = "train", *, seed: int = SEED, n: int | None = None, careful: bool = False
) -> list[Document]:
    """The first ``n`` documents of a split of a sample, or its default number.

    The same seed gives the same documents on every machine; a larger ``n`` only adds to them. Some labels are wrong,
    to simulate annotation errors; ``careful`` gives the same texts with the correct labels.

    >>> load("reviews", "test", n=1) == load("reviews", "test", n=2)[:1]
    True
    >>> load("haiku", "train")
    Traceback (most recent call last):
    chaffinch.errors.ConfigError: there is no sample 'haiku'; there are ingredients, posts, reviews, ...
    """
    chosen = sample(name)
    if split not in chosen.splits:
        raise ConfigError(f"sample {name!r} has no split {split!r}; it has {', '.join(chosen.splits)}")
    if n is not None and n < 0:
        raise ConfigError(f"the number of documents must be >= 0, got {n}")
    return chosen.documents(chosen.sizes[split] if n is None else n, seed, split, careful)


def preview(name: str, n: int = 3) -> list[Document]:
    """A few documents to look at."""
    return load(name, "train", n=n)


def sample(name: str) -> Sample:
    """The row of this name; ConfigError lists the known ones."""
    if name not in SAMPLES:
        raise ConfigError(f"there is no sample {name!r}; there are {', '.join(SAMPLES)}")
    return SAMPLES[name]
