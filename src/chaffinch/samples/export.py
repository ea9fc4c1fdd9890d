"""Samples as ordinary files, written by the same writers as any corpus."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from chaffinch.corpus import alignment_tsv, brackets, columns, delimited
from chaffinch.corpus import letters as letter_images
from chaffinch.errors import ConfigError, DataError
from chaffinch.samples.catalogue import load, sample
from chaffinch.samples.chance import SEED, SPLITS
from chaffinch.samples.letters import image
from chaffinch.text.document import LABEL, WORD, Document

FOLDS = 10

Writer = Callable[[list[Document], Path], None]


def export(
    name: str,
    folder: str | Path,
    *,
    seed: int = SEED,
    size: int | None = None,
    careful: bool = False,
    force: bool = False,
) -> dict[Path, int]:
    """Write a sample to a folder, which is created if needed; returns the files and their numbers of documents.

    size:  documents of the training split; dev and test keep their proportion to it
    careful: write the correct labels, without simulated annotation errors
    force: overwrite existing files

    >>> from tempfile import mkdtemp
    >>> [(path.name, n) for path, n in export("reviews", mkdtemp(), size=50).items()]
    [('train.csv', 50), ('dev.csv', 10), ('test.csv', 10)]
    """
    sizes = _sizes(name, size)
    folder = Path(folder)
    targets = [(split, folder / file, write) for split, file, write in _files(name)]
    _check_free(targets, force)
    documents = {split: load(name, split, seed=seed, n=sizes[split], careful=careful) for split in SPLITS}
    _make(folder)
    for split, path, write in targets:
        write(documents[split], path)
    return {path: sizes[split] for split, path, _ in targets}


def _sizes(name: str, size: int | None) -> dict[str, int]:
    usual = sample(name).sizes
    if size is None:
        return usual
    if size < 1:
        raise ConfigError(f"the size must be >= 1, got {size}")
    return {split: max(1, round(size * n / usual["train"])) for split, n in usual.items()}


def _files(name: str) -> list[tuple[str, str, Writer]]:
    """(split, file name, writer) of every file."""
    ending, write = _WRITERS[name]
    files = [(split, f"{split}{ending}", write) for split in SPLITS]
    return files + _COURSE if name == "posts" else files


def _check_free(targets: list[tuple[str, Path, Writer]], force: bool) -> None:
    there = [path for _, path, _ in targets if path.exists()]
    if there and not force:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise DataError(f"{there[0]}{more}: already exists; choose another folder, or overwrite with --force")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise DataError(f"{folder}: is a file, expected a folder") from None
    except OSError as e:
        raise DataError(f"{folder}: cannot be created: {e.strerror}") from None


def _write_letters(documents: list[Document], path: Path) -> None:
    tokens = [token.text for d in documents for token in d.tokens]
    labels = [ord(letter) - ord("a") for d in documents for letter in d.columns[LABEL]]
    archive = letter_images.Letters(
        pixels=np.stack([image(token) for token in tokens]).reshape(len(tokens), -1),
        labels=np.array(labels, dtype=np.uint8),
        word_offsets=np.cumsum([0, *(len(d.tokens) for d in documents)], dtype=np.int32),
        fold=(np.arange(len(documents)) % FOLDS).astype(np.uint8),
    )
    letter_images.write(archive, path)


_TAGGED = partial(columns.write, columns=(WORD, LABEL), separator=" ")
_WORDS = partial(columns.write, columns=(WORD,))

_WRITERS: dict[str, tuple[str, Writer]] = {
    "ingredients": (".conll", partial(columns.write, columns=(WORD, "pos", LABEL))),
    "posts": (".conll", partial(columns.write, columns=(WORD, LABEL))),
    "reviews": (".csv", delimited.write_csv),
    "topics": (".csv", delimited.write_csv),
    "questions": (".csv", delimited.write_csv),
    "trees": (".mrg", brackets.write),
    "pairs": (".tsv", alignment_tsv.write),
    "letters": (".npz", _write_letters),
    "quotations": (".conll", partial(columns.write, columns=(WORD, LABEL))),
}

# The layout of a course on hidden Markov models: token and tag separated by one space; .in files have no tags.
_COURSE: list[tuple[str, str, Writer]] = [
    ("train", "train", _TAGGED),
    ("dev", "dev.in", _WORDS),
    ("dev", "dev.out", _TAGGED),
    ("test", "test.in", _WORDS),
    ("test", "test.out", _TAGGED),
]
