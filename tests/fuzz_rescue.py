"""Models of other tools with something changed in them: what their readers make of each.

    python tests/fuzz_rescue.py [FILES] [SEED] [FORMAT ...]

A model that is read predicts and can be saved; one that is not read is refused with ModelFileError. Memory far beyond
the file is a failure too.
"""

import random
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pycrfsuite

from chaffinch.errors import ChaffinchError, ModelFileError
from chaffinch.estimators.loading import estimator_of
from chaffinch.rescue import format_of, rescued
from foreign_models import random_crfpp, random_wapiti
from fuzz_files import arguments, changed, damaged_files, main, refused

MOST_SECONDS = 20
SPARE_BYTES = 40_000_000
NUMBERS = (0, 1, 2, 7, 8, 48, 100, 255, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
JSON = {
    "weights": b'{"bias": {"A": 0.5, "B": -1}, "i word x": {"B": 0.25}, "i-1 tag+i word A x": {"A": 2}, '
    b'"i tag+i-2 tag A B": {"A": 1}}',
    "tagdict": b'{"d": "A", "e": "C"}',
    "classes": b'["A", "B"]',
}


def _crfsuite(folder: Path) -> Path:
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    rng = random.Random(4)
    for _ in range(12):
        T = rng.randint(1, 5)
        trainer.append(
            [[rng.choice("abcdé") for _ in range(3)] for _ in range(T)], [rng.choice("XYZ") for _ in range(T)]
        )
    trainer.train(str(folder / "m.crfsuite"))
    return folder / "m.crfsuite"


def _written(name: str, content: Callable[[], bytes]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content())
        return folder / name

    return write


def _nltk(folder: Path) -> Path:
    (folder / "nltk").mkdir()
    for part, content in JSON.items():
        (folder / "nltk" / f"t.{part}.json").write_bytes(content)
    return folder / "nltk"


WORDS = [["x", "Ab1x", "d"], ["日本", "", "a"], ["q"]]
ATTRIBUTES = [[["a", "b"], {"c": 0.5, "x": "y"}], [["é"]]]
COLUMNS = [[("a", "b"), ("日本", "c")], [("dé", "a")]]

# By format: writes a sound model into a folder; sentences that its models tag.
FILES: dict[str, tuple[Callable[[Path], Path], Any]] = {
    "crfsuite": (_crfsuite, ATTRIBUTES),
    "crf++": (_written("m.crfpp", lambda: random_crfpp(random.Random(2)).binary()), COLUMNS),
    "crf++-text": (_written("m.txt", lambda: random_crfpp(random.Random(3)).text()), COLUMNS),
    "wapiti": (_written("m.wapiti", lambda: random_wapiti(random.Random(8)).text()), WORDS),
    "nltk": (_nltk, WORDS),
}


def damaged(sound: bytes, rng: random.Random) -> bytes:
    """The bytes with one to three things done to them; numbers are changed as well as text."""
    if rng.random() < 0.5:
        return changed(sound, rng)
    out = bytearray(sound)
    for _ in range(rng.choice((1, 1, 2))):
        near = rng.random() < 0.5 and len(out) > 80  # headers decide most
        at = rng.randrange(0, 80 if near else max(len(out) - 3, 1), 1 if rng.random() < 0.3 else 4)
        out[at : at + 4] = struct.pack(
            "<I", rng.choice((*NUMBERS, len(out), len(out) - 4, rng.randrange(len(out))))
        )
    return bytes(out)


def outcome(name: str, path: Path) -> str:
    """What reading a file leads to."""
    said, estimator = "", None
    tracemalloc.start()
    try:
        format = format_of(path, name)
        assert format is not None
        estimator = estimator_of(rescued(path, format))
    except ModelFileError as e:
        said = str(e)
    finally:
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert memory < SPARE_BYTES, f"too much memory: {said}"
    if estimator is None:
        return refused(said, path)
    try:
        estimator.predict(FILES[name][1])
        estimator.save(path.parent.parent / "again.chaff")
    except ChaffinchError:
        return "read, not to be used"
    return "read"


run = damaged_files({name: write for name, (write, _) in FILES.items()}, outcome, damaged, MOST_SECONDS)

if __name__ == "__main__":
    main(run, *arguments())  # type: ignore[arg-type]
