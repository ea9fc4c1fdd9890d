"""Files of every format with something changed in them: what reading makes of each.

    python tests/fuzz_readers.py [FILES] [SEED] [FORMAT ...]

A file that is read can be written again or is refused then; a file that is not read is refused with DataError.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

from chaffinch import corpus, samples
from chaffinch.corpus.registry import TABLES
from chaffinch.errors import ChaffinchError, DataError, DataWarning
from chaffinch.text.document import Document, Span
from fuzz_files import arguments, changed, damaged_files, main, refused

MOST_SECONDS = 10


def _texts() -> list[Document]:
    return [Document(text=f"so good {i} owls", labels=["+" if i % 2 else "-"]) for i in range(6)]


def _spans() -> list[Document]:
    return [
        Document(text=f"Ann left Rome {i}.", spans=[Span("PER", 0, 3), Span("LOC", 9, 13)]) for i in range(4)
    ]


def _sample(name: str) -> Callable[[], list[Document]]:
    return lambda: samples.load(name, "train", n=5)


def _sentences() -> list[Document]:
    return [Document.from_words(["Ann", "left", "Rome"], y=["B-PER", "O", "B-LOC"]) for _ in range(3)]


def _attributes() -> list[Document]:
    cells = ["w\\:a\tlength:0.5", "bias\tw=b:2", ""]
    return [Document.from_words(["a", "b", ""], y=["A", "B", "C"], attributes=cells) for _ in range(3)]


# A file name and documents for each format.
FILES: dict[str, tuple[str, Callable[[], list[Document]]]] = {
    "parquet": ("f.parquet", _texts),
    "datasets": ("f.arrow", _sentences),
    "docbin": ("f.spacy", _spans),
    "letters": ("f.npz", _sample("letters")),
    "brackets-tsv": ("f.tsv", _sample("trees")),
    "alignment": ("f.tsv", _sample("pairs")),
    "fasttext": ("f.ft", _texts),
    "brackets": ("f.mrg", _sample("trees")),
    "jsonl-tokens": ("f.jsonl", _sentences),
    "token-rows": ("f.csv", _sentences),
    "label-studio": ("f.json", _spans),
    "prodigy": ("f.jsonl", _spans),
    "doccano": ("f.jsonl", _spans),
    "jsonl-spans": ("f.jsonl", _spans),
    "jsonl": ("f.jsonl", _texts),
    "conllu": ("f.conllu", _sentences),
    "crfsuite": ("f.crfs", _attributes),
    "hmm": ("f.out", _sentences),
    "columns": ("f.conll", _sample("ingredients")),
    "csv": ("f.csv", _texts),
    "tsv": ("f.tsv", _texts),
    "brat": ("folder", _spans),
    "text": ("f.txt", lambda: [Document(text="so good"), Document(text="owls")]),
}


def _writer(format: str) -> Callable[[Path], Path]:
    name, documents = FILES[format]

    def write(folder: Path) -> Path:
        corpus.write(documents(), folder / name, format=format)
        return folder / name

    return write


def _outcome(format: str, path: Path) -> str:
    try:
        read = list(corpus.read(path, format))
        if format in TABLES:
            corpus.read_table(path, format)
    except DataError as e:
        return refused(str(e), path)
    except DataWarning as e:  # tests raise warnings
        refused(str(e), path)
        return "read, with a warning"
    try:
        corpus.write(read, Path(tempfile.mkdtemp(dir=path.parent.parent)) / "again", format=format)
    except ChaffinchError:
        return "read, not to be written"
    return "read"


run = damaged_files({format: _writer(format) for format in FILES}, _outcome, changed, MOST_SECONDS)

if __name__ == "__main__":
    main(run, *arguments())  # type: ignore[arg-type]
