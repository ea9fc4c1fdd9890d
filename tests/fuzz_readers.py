"""Files of every format with something changed in them: what reading makes of each.

    python tests/fuzz_readers.py [FILES] [SEED]

Each is a sound file with bytes, lines or whole stretches changed. Either it is read, and what was read can be written
again or is refused, or it is refused: DataError, in one line that begins with the file.
"""

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from chaffinch import corpus, samples
from chaffinch.corpus.registry import TABLES
from chaffinch.errors import ChaffinchError, DataError
from chaffinch.text.document import Document, Span
from fuzz_modelfile import alarm

MOST_SECONDS = 10
PIECES = (
    b"\n", b"\n\n", b"\r\n", b"\t", b" ", b",", b'"', b"'", b"|", b"_", b"#", b"-", b"(", b")", b"{", b"}", b"[", b"]",
    b":", b"\\", b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode(), "\U0001f426".encode(),
    b"null", b"true", b"-1", b"0", b"99999999999999999999", b"1e999", b"NaN", b"\\ud800", b"1-2", b"1.1", b"-DOCSTART-",
    b"__label__", b"# text = x", b"T1\tA 0 1\tx", b'"text": 5', b'"start": -1', b"()" * 50, b"[" * 2000, b"(a " * 2000,
)  # fmt: skip


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


def changed(sound: bytes, rng: random.Random) -> bytes:
    """The bytes of a file with one to three things done to them."""
    out = bytearray(sound)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at, n = rng.randrange(len(out) + 1), rng.choice((0, 0, 1, 2, 5, 40))
        kind = rng.randrange(7)
        if kind == 0 and out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del out[at:]
        elif kind == 2:
            out[at : at + n] = rng.choice(PIECES)
        elif kind == 3:
            lines = bytes(out).split(b"\n")
            a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[a], lines[b] = lines[b], rng.choice((lines[a], b"", lines[b]))
            out = bytearray(b"\n".join(lines))
        elif kind == 4:
            out[at:at] = bytes(out[at : at + 60])
        elif kind == 5:
            out[at : at + n] = rng.randbytes(n)
        else:
            del out[at : at + rng.choice((1, 2, 5, 40))]
    return bytes(out)


def run(files: int, seed: int, folder: Path, formats: list[str] | None = None) -> Counter[tuple[str, str]]:
    """Counts by (format, outcome); AssertionError at the first failure."""
    counts: Counter[tuple[str, str]] = Counter()
    for format in formats or FILES:
        name, documents = FILES[format]
        path = folder / format / name
        path.parent.mkdir()
        corpus.write(documents(), path, format=format)
        places = sorted(path.iterdir()) if path.is_dir() else [path]
        sound = {place: place.read_bytes() for place in places}
        for i in range(files):
            rng = random.Random(f"{seed}/{format}/{i}")
            place = rng.choice(places)
            place.write_bytes(changed(sound[place], rng))
            try:
                with alarm(MOST_SECONDS):
                    counts[format, _outcome(path, format, folder)] += 1
            except Exception as e:
                raise AssertionError(f"{format}, file {i} of seed {seed}: {e!r}") from e
            place.write_bytes(sound[place])
    return counts


def _outcome(path: Path, format: str, folder: Path) -> str:
    said = ""
    try:
        read = list(corpus.read(path, format))
        if format in TABLES:
            corpus.read_table(path, format)
    except DataError as e:
        said = str(e)
    if said:
        assert said.startswith(str(path)), f"does not begin with the file: {said}"
        assert "\n" not in said, f"more than a line: {said}"
        assert len(said) < len(str(path)) + 600, f"too long: {said}"
        return "refused"
    try:
        corpus.write(read, Path(tempfile.mkdtemp(dir=folder)) / "again", format=format)
    except ChaffinchError:
        return "read, not to be written"
    return "read"


def main(files: int = 300, seed: int = 1, *formats: str) -> None:
    """Print how many files of each format were read."""
    with tempfile.TemporaryDirectory() as folder:
        counts = run(files, seed, Path(folder), list(formats))
    for format in dict.fromkeys(format for format, _ in counts):
        print(
            f"{format:16}", *(f"{outcome}: {n}" for (whose, outcome), n in counts.items() if whose == format)
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
