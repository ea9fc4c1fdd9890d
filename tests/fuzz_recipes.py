"""Model files of every recipe, sound as files and damaged as models: what loading and predicting make of each.

    python tests/fuzz_recipes.py [FILES] [SEED] [NAME ...]

Each file is that of a trained model with one thing in it changed, written anew so that its checksum is right: the
recipe's own checks stand alone. Either the file is refused (ModelFileError, one line that names it), or the model
answers, since no reader can know that a weight was 0.5. Anything else is a failure: another exception, a crash, more
than a few seconds, memory without end.
"""

import dataclasses
import json
import os
import random
import resource
import signal
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch import ModelFileError, load, modelfile
from chaffinch.errors import ChaffinchError
from chaffinch.modelfile import ModelFile
from recipe_models import models

MOST_SECONDS, MOST_BYTES = 5, 3 << 30
NUMBERS = (-1, 0, 1, 2, 7, 200, 2**31 - 1, 2**40, -(2**63), 0.5, -1.5, 1e300)
LEAVES = (*NUMBERS, None, True, "", "x", "O", [], {}, [0], ["w"], {"a": 1})
DTYPES = (
    np.float32,
    np.float64,
    np.float16,
    np.int8,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint64,
    np.bool_,
)

Parts = tuple[dict[str, Any], dict[str, Any], dict[str, list[str]]]  # header, arrays, strings


def one_value(parts: Parts, rng: random.Random) -> None:
    name, a = _array(parts, rng)
    if a.size:
        a.reshape(-1)[rng.randrange(a.size)] = _extreme(a, rng)
    parts[1][name] = a


def all_values(parts: Parts, rng: random.Random) -> None:
    name, a = _array(parts, rng)
    parts[1][name] = np.full_like(a, _extreme(a, rng))


def order_of_values(parts: Parts, rng: random.Random) -> None:
    name, a = _array(parts, rng)
    parts[1][name] = (
        rng.choice((a[::-1], np.roll(a, 1), np.sort(a, axis=None).reshape(a.shape))).copy() if a.ndim else a
    )


def shape(parts: Parts, rng: random.Random) -> None:
    name, a = _array(parts, rng)
    choices = [a[None], a.reshape(-1)]
    if a.ndim:
        choices += [
            a[:-1],
            a[1:],
            a[:0],
            np.concatenate([a, a[-1:]]),
            np.concatenate([a, a]),
            a[..., :-1],
            a.T,
        ]
    parts[1][name] = np.ascontiguousarray(rng.choice(choices))


def kind_of_numbers(parts: Parts, rng: random.Random) -> None:
    name, a = _array(parts, rng)
    parts[1][name] = a.astype(rng.choice(DTYPES))


def sections(parts: Parts, rng: random.Random) -> None:
    held: dict[str, Any] = rng.choice([p for p in parts[1:] if p])
    name, other = rng.choice(sorted(held)), rng.choice(sorted(held))
    if rng.random() < 0.5:
        held[name], held[other] = held[other], held[name]
    else:
        del held[name]


def strings(parts: Parts, rng: random.Random) -> None:
    if not parts[2]:
        return all_values(parts, rng)
    name = rng.choice(sorted(parts[2]))
    parts[2][name] = _other_strings(parts[2][name], rng)
    return None


def labels(parts: Parts, rng: random.Random) -> None:
    field = rng.choice(("labels", "templates"))
    parts[0][field] = tuple(_other_strings(list(parts[0][field]), rng))


def leaf_of_the_header(parts: Parts, rng: random.Random) -> None:
    field = rng.choice(("details", "details", "settings"))
    held = json.loads(json.dumps(parts[0][field]))
    places = list(_leaves(held))
    if places:
        inside, key = rng.choice(places)
        if rng.random() < 0.2:
            del inside[key]
        else:
            inside[key] = rng.choice(LEAVES)
    parts[0][field] = held


DAMAGES = (
    one_value, one_value, one_value, all_values, order_of_values, shape, shape, kind_of_numbers, sections, strings,
    labels, leaf_of_the_header, leaf_of_the_header, leaf_of_the_header,
)  # fmt: skip


def run(files: int, seed: int, folder: Path, names: list[str] | None = None) -> Counter[tuple[str, str]]:
    """Counts by (model, outcome); AssertionError at the first failure. Where it is goes to ``folder``/place."""
    counts: Counter[tuple[str, str]] = Counter()
    path = folder / "damaged.chaff"
    signal.signal(signal.SIGALRM, _ring)
    for name, (train, use) in models().items():
        if names and name not in names:
            continue
        train().save(path)
        sound = modelfile.read(path)
        use(load(path))
        for i in range(files):
            rng = random.Random(f"{seed}/{name}/{i}")
            damage = rng.choice(DAMAGES)
            place = f"{name}, file {i} of seed {seed} ({damage.__name__})"
            (folder / "place").write_text(place)
            if not _written(sound, damage, rng, path):
                counts[name, "cannot be written"] += 1
                continue
            signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
            try:
                counts[name, _outcome(path, use)] += 1
            except BaseException as e:
                raise AssertionError(f"{place}: {e!r}") from e
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    return counts


def _written(sound: ModelFile, damage: Any, rng: random.Random, path: Path) -> bool:
    header = {f.name: getattr(sound.header, f.name) for f in dataclasses.fields(sound.header)}
    arrays = {name: np.array(a) for name, a in sound.arrays.items()}
    parts = header, arrays, {name: list(s) for name, s in sound.strings.items()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        damage(parts, rng)
    try:
        modelfile.write(path, dataclasses.replace(sound.header, **header), arrays, parts[2])
    except ModelFileError:
        return False
    return True


def _outcome(path: Path, use: Any) -> str:
    said = ""
    try:
        model = load(path)
    except ModelFileError as e:
        said = str(e)
    if said:
        assert said.startswith(f"{path}: "), f"does not begin with the file: {said}"
        assert "\n" not in said, f"more than a line: {said}"
        return "refused"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # weights of 1e38 overflow, as they must
            use(model)
    except ChaffinchError:
        return "refused later"
    return "answers"


def _array(parts: Parts, rng: random.Random) -> tuple[str, np.ndarray]:
    name = rng.choice(sorted(parts[1]))
    return name, parts[1][name]


def _extreme(a: np.ndarray, rng: random.Random) -> Any:
    if a.dtype == np.bool_:
        return rng.random() < 0.5
    if a.dtype.kind == "f":
        return rng.choice((np.nan, np.inf, -np.inf, -1.0, 0.0, 1e4, -1e4, 3e38 if a.itemsize > 2 else 6e4))
    about = np.iinfo(a.dtype)
    near = [
        int(a.max(initial=0)) + 1,
        int(a.max(initial=0)),
        int(a.min(initial=0)) - 1,
        0,
        1,
        -1,
        rng.randrange(300),
    ]
    return rng.choice([about.min, about.max, *(n for n in near if about.min <= n <= about.max)])


def _other_strings(listed: list[str], rng: random.Random) -> list[str]:
    another = rng.choice(("", "x", "O", "B-", "I-PER", "w[0]", "w[-9]|y[-1]", "é\n\0", "y" * 300, "1e999"))
    at = rng.randrange(len(listed) + 1)
    return rng.choice(
        (listed[:-1], listed[1:], [*listed, another], [*listed[:at], another, *listed[at + 1 :]], [], listed[::-1],
         [*listed, *listed[:1]])
    )  # fmt: skip


def _leaves(held: Any) -> Any:
    """Every (container, key) of nested JSON."""
    for key in list(held) if isinstance(held, dict) else range(len(held)):
        yield held, key
        if isinstance(held[key], dict | list):
            yield from _leaves(held[key])


def _ring(*_: Any) -> None:
    raise TimeoutError(f"still running after {MOST_SECONDS} s")


def main(files: int = 60, seed: int = 1, *names: str) -> None:
    """Print how many files of each model were refused and how many answer."""
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps addresses by the terabyte
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    with tempfile.TemporaryDirectory() as folder:
        counts = run(files, seed, Path(folder), list(names))
    for name in dict.fromkeys(name for name, _ in counts):
        print(f"{name:32}", *(f"{outcome}: {n}" for (whose, outcome), n in counts.items() if whose == name))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
