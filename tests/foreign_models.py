"""Small models in the layouts of other tools, written from their description, and plain decoders of them."""

import itertools
import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# -- CRF++ -------------------------------------------------------------------------------------------------------------


@dataclass
class CrfppModel:
    """labels in order; templates; weights: by string, float32 [L] or [L * L]."""

    labels: list[str]
    templates: list[str]
    xsize: int
    weights: dict[str, Any] = field(default_factory=dict)

    def ids(self) -> dict[str, int]:
        sizes = [0, *itertools.accumulate(len(w) for w in self.weights.values())]
        return dict(zip(self.weights, sizes, strict=False))

    @property
    def alpha(self) -> np.ndarray:
        return np.concatenate([np.zeros(0, np.float32), *self.weights.values()]).astype(np.float32)

    def text(self, encoding: str = "utf-8") -> bytes:
        keys = "".join(f"{k} {key}\n" for key, k in sorted(self.ids().items()))
        head = f"version: 100\ncost-factor: 1\nmaxid: {len(self.alpha)}\nxsize: {self.xsize}\n\n"
        weights = "".join(f"{w!r}\n" for w in self.alpha.astype(float).tolist())
        listed = ["\n".join(block) + "\n\n" for block in (self.labels, self.templates)]
        return (head + "".join(listed) + keys + "\n" + weights).encode(encoding)

    def binary(self, encoding: str = "utf-8") -> bytes:
        units = double_array({key.encode(encoding): k for key, k in self.ids().items()})
        labels = b"".join(y.encode(encoding) + b"\0" for y in self.labels)
        templates = b"".join(t.encode(encoding) + b"\0" for t in self.templates)
        templates += b"\0" * (-(len(labels) + len(templates)) % 4)
        array = b"".join(struct.pack("<iI", *unit) for unit in units)
        head = struct.pack("<IidIII", 100, 0, 1.0, len(self.alpha), self.xsize, len(array))
        sections = (struct.pack("<I", len(s)) + s for s in (labels, templates))
        return head + b"".join(sections) + array + self.alpha.tobytes()

    def strings(self, columns: Sequence[Sequence[str]], t: int, kind: str) -> list[str]:
        """The strings of the templates U or B at token t; columns: by token."""
        found = []
        for template in self.templates:
            if template[0] != kind:
                continue
            made, rest = "", template
            while "%x[" in rest:
                before, _, rest = rest.partition("%x[")
                inside, _, rest = rest.partition("]")
                row, column = map(int, inside.split(","))
                at, T = t + row, len(columns)
                made += before + (
                    f"_B{at}" if at < 0 else f"_B+{at - T + 1}" if at >= T else columns[at][column]
                )
            found.append(made + rest)
        return found

    def scores(self, columns: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        """Unary [T, L] and pair [T - 1, L, L], each a float32 sum in the order of the templates."""
        T, L = len(columns), len(self.labels)
        unary, pair = np.zeros((T, L), np.float32), np.zeros((max(T - 1, 0), L * L), np.float32)
        for t in range(T):
            for key in self.strings(columns, t, "U"):
                unary[t] += self.weights.get(key, np.zeros(L, np.float32))
            for key in self.strings(columns, t, "B") if t else ():
                pair[t - 1] += self.weights.get(key, np.zeros(L * L, np.float32))
        return unary.astype(float), pair.astype(float).reshape(-1, L, L)

    def tag(self, columns: Sequence[Sequence[str]]) -> list[str]:
        """The first of the best labellings, from the last label to the first."""
        return [self.labels[y] for y in viterbi(*self.scores(columns))]


def double_array(keys: dict[bytes, int]) -> list[tuple[int, int]]:
    """Units (base, check): the children of a node with base b are at b + 1 + byte, its number at b."""
    base, check, taken = [0], [0], set()

    def room(n: int) -> None:
        base.extend([0] * (n - len(base)))
        check.extend([0] * (n - len(check)))

    def place(node: int, listed: list[bytes], depth: int) -> None:
        begins = sorted({key[depth] + 1 if len(key) > depth else 0 for key in listed})
        b = 1
        while b in taken or any(b + c < len(check) and (check[b + c] or b + c == 0) for c in begins):
            b += 1
        taken.add(b)
        room(b + max(begins) + 1)
        base[node] = b
        for c in begins:
            check[b + c] = b
        for c in begins:
            if c == 0:
                base[b] = -keys[next(k for k in listed if len(k) == depth)] - 1
            else:
                place(b + c, [k for k in listed if len(k) > depth and k[depth] + 1 == c], depth + 1)

    place(0, sorted(keys), 0)
    return list(zip(base, check, strict=True))


def viterbi(unary: np.ndarray, pair: np.ndarray) -> list[int]:
    """Ties go to the smaller label."""
    T, _ = unary.shape
    best, back = [unary[0]], []
    for t in range(1, T):
        scores = best[-1][:, None] + pair[t - 1]
        back.append(scores.argmax(axis=0))
        best.append(scores.max(axis=0) + unary[t])
    y = [int(best[-1].argmax())]
    for rows in reversed(back):
        y.append(int(rows[y[-1]]))
    return y[::-1]


def random_crfpp(
    rng: random.Random, *, xsize: int = 2, scale: float = 1.0, whole: bool = False
) -> CrfppModel:
    """A model over the words a to e; whole: integer weights, so that there are many ties."""
    labels = ["A", "B", "C"][: rng.choice((2, 3))]
    templates = ["U00:%x[0,0]", "U01:%x[-1,0]/%x[0,0]", "U02:%x[2,0]", "U03", "U04:x%x[-2,0]%x[8,0]y"]
    if xsize > 1:
        templates.append("U05:%x[0,1]|%x[1,0]")
    templates += rng.choice((["B"], ["B", "B1:%x[0,0]"], ["B1:%x[-1,0]-%x[1,0]"], []))
    model = CrfppModel(labels, templates, xsize)
    L = len(labels)
    draw = (lambda: float(rng.randint(-2, 2))) if whole else (lambda: rng.gauss(0, scale))
    for _ in range(40):
        columns = random_columns(rng, xsize)
        for t in range(len(columns)):
            for kind, n in (("U", L), ("B", L * L)):
                for key in model.strings(columns, t, kind):
                    if rng.random() < 0.7:
                        model.weights.setdefault(key, np.array([draw() for _ in range(n)], np.float32))
    return model


def random_columns(rng: random.Random, xsize: int) -> list[list[str]]:
    words = ["a", "b", "c", "dé", "日本"]
    return [[rng.choice(words) for _ in range(xsize)] for _ in range(rng.randint(1, 7))]
