"""Files with something changed in them: the harness of the fuzzers of readers.

Each is a sound file with bytes, lines or whole stretches changed. Either it is read, or it is refused in one line that
begins with the file. Anything else is a failure: another exception, a crash, a hang.
"""

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from fuzz_modelfile import alarm

PIECES = (
    b"\n", b"\n\n", b"\r\n", b"\t", b" ", b",", b'"', b"'", b"|", b"_", b"#", b"-", b"(", b")", b"{", b"}", b"[", b"]",
    b":", b"\\", b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode(), "\U0001f426".encode(),
    b"null", b"true", b"-1", b"0", b"99999999999999999999", b"1e999", b"NaN", b"\\ud800", b"1-2", b"1.1", b"-DOCSTART-",
    b"__label__", b"# text = x", b"T1\tA 0 1\tx", b'"text": 5', b'"start": -1', b"()" * 50, b"[" * 2000, b"(a " * 2000,
)  # fmt: skip

Write = Callable[[Path], Path]  # a sound file, or a folder of files, into a folder
Outcome = Callable[[str, Path], str]  # what reading a file of a format leads to
Run = Callable[[int, int, Path, list[str] | None], Counter[tuple[str, str]]]


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


def damaged_files(
    writers: Mapping[str, Write],
    outcome: Outcome,
    change: Callable[[bytes, random.Random], bytes],
    seconds: int,
) -> Run:
    """The fuzzer of these formats: counts by (format, outcome); AssertionError at the first failure."""

    def run(
        files: int, seed: int, folder: Path, formats: list[str] | None = None
    ) -> Counter[tuple[str, str]]:
        counts: Counter[tuple[str, str]] = Counter()
        for format in formats or writers:
            (folder / format).mkdir()
            path = writers[format](folder / format)
            assert outcome(format, path) != "refused", f"{format}: the sound file is not read"
            places = sorted(path.iterdir()) if path.is_dir() else [path]
            sound = {place: place.read_bytes() for place in places}
            for i in range(files):
                rng = random.Random(f"{seed}/{format}/{i}")
                place = rng.choice(places)
                place.write_bytes(change(sound[place], rng))
                try:
                    with alarm(seconds):
                        counts[format, outcome(format, path)] += 1
                except Exception as e:
                    raise AssertionError(f"{format}, file {i} of seed {seed}: {e!r}") from e
                place.write_bytes(sound[place])
        return counts

    return run


def refused(said: str, path: Path) -> str:
    """The outcome of a file that is refused with this message, which must be one short line about the file."""
    assert said.startswith(str(path)), f"does not begin with the file: {said}"
    assert "\n" not in said, f"more than a line: {said}"
    assert len(said) < len(str(path)) + 600, f"too long: {said}"
    return "refused"


def main(run: Run, files: int = 300, seed: int = 1, *formats: str) -> None:
    """Print how many files of each format were read."""
    with tempfile.TemporaryDirectory() as folder:
        counts = run(files, seed, Path(folder), list(formats))
    for format in dict.fromkeys(format for format, _ in counts):
        print(f"{format:16}", *(f"{what}: {n}" for (whose, what), n in counts.items() if whose == format))


def arguments() -> tuple[int | str, ...]:
    """FILES SEED FORMAT ... of the command line."""
    return (*map(int, sys.argv[1:3]), *sys.argv[3:])
