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


# -- Wapiti ------------------------------------------------------------------------------------------------------------


@dataclass
class WapitiModel:
    """labels in order; patterns; weights: by observation, float64 [L], [L * L] or [L + L * L]."""

    labels: list[str]
    patterns: list[str]
    columns: int
    weights: dict[str, Any] = field(default_factory=dict)

    def text(self) -> bytes:
        def strings(listed: Sequence[str]) -> str:
            return "".join(f"{len(s.encode())}:{s},\n" for s in listed)

        every = np.concatenate([np.zeros(0), *self.weights.values()])
        active = [f"{f}={float(every[f]).hex()}\n" for f in np.flatnonzero(every)]
        head = (
            f"#mdl#2#{len(active)}\n#rdr#{len(self.patterns)}/{self.columns - 1}/0\n{strings(self.patterns)}"
        )
        lists = "".join(f"#qrk#{len(s)}\n{strings(s)}" for s in (self.labels, list(self.weights)))
        return (head + lists + "".join(active)).encode()

    def observation(self, pattern: str, columns: Sequence[Sequence[str]], t: int) -> str:
        """The pattern's observation at token t, cut at the first NUL as C strings are."""
        made, rest, T = b"", pattern.encode(), len(columns)
        while b"%" in rest:
            before, _, rest = rest.partition(b"%")
            command = rest[:1]
            arguments, _, after = rest[2:].partition(b'"')
            if command.lower() == b"x":
                arguments, _, rest = rest[2:].partition(b"]")
                expression = b""
            else:
                expression, _, rest = after.partition(b'"]')
            offset, column = arguments.rstrip(b",").split(b",")[:2]
            at = t + int(offset) if not offset.startswith(b"@") else int(offset[1:])
            if offset.startswith(b"@"):
                at = at + T if at < 0 else at - 1
            if at < 0:
                value = (b"_x-1", b"_x-2", b"_x-3", b"_x-4", b"_x-#")[min(-at - 1, 4)]
            elif at >= T:
                value = (b"_x+1", b"_x+2", b"_x+3", b"_x+4", b"_x+#")[min(at - T, 4)]
            else:
                value = columns[at][int(column)].encode()
            if command.lower() == b"t":
                value = b"false" if wapiti_match(expression, value) is None else b"true"
            elif command.lower() == b"m":
                found = wapiti_match(expression, value)
                value = b"" if found is None else (value + b"\0")[found[0] : found[0] + found[1]]
            made += before + (value.lower() if command.isupper() else value)
            if b"\0" in made:
                return made.split(b"\0")[0].decode("latin-1")
        return (made + rest).decode("latin-1")

    def tag(self, columns: Sequence[Sequence[str]]) -> list[str]:
        """Viterbi in float64: unary and pair are added first."""
        T, L = len(columns), len(self.labels)
        known = {key.encode().decode("latin-1"): w for key, w in self.weights.items()}
        psi = np.zeros((T, L, L))
        for t in range(T):
            unary, pair = np.zeros(L), np.zeros(L * L)
            for pattern in self.patterns:
                w = known.get(self.observation(pattern, columns, t))
                if w is not None:
                    unary += w[:L] if pattern[0] in "u*" else 0
                    pair += w[-L * L :] if pattern[0] in "b*" and t else 0
            psi[t] = unary + pair.reshape(L, L)
        best, back = psi[0][0], []
        for t in range(1, T):
            scores = best[:, None] + psi[t]
            back.append(scores.argmax(axis=0))
            best = scores.max(axis=0)
        y = [int(best.argmax())]
        for rows in reversed(back):
            y.append(int(rows[y[-1]]))
        return [self.labels[k] for k in reversed(y)]


def wapiti_match(expression: bytes, text: bytes) -> tuple[int, int] | None:
    """Where an expression of Wapiti first matches, and the length as Wapiti counts it."""
    count = 0

    def one(char: bytes, at: int) -> bool:
        if at >= len(text):
            return False
        c = text[at : at + 1]
        classes = {
            b"a": c.isalpha(), b"d": c.isdigit(), b"l": c.islower(), b"u": c.isupper(), b"w": c.isalnum(),
            b"s": c.isspace(), b"p": 32 < c[0] < 127 and not c.isalnum(),
        }  # fmt: skip
        if char[:1] == b"\\":
            name = char[1:]
            if name.lower() in classes:
                return classes[name.lower()] == name.islower()
            return name == c
        return char in (b".", c)

    def here(rest: bytes, at: int) -> bool:
        nonlocal count
        if not rest:
            return True
        if rest == b"$":
            return at == len(text)
        n = 2 if rest[:1] == b"\\" else 1
        char, after = rest[:n], rest[n:]
        if after[:1] == b"*":
            while True:
                before = count
                if here(after[1:], at):
                    return True
                count = before + 1
                if not one(char, at):
                    return False
                at += 1
        if after[:1] == b"?":
            if one(char, at):
                count += 1
                if here(after[1:], at + 1):
                    return True
                count -= 1
            return here(after[1:], at)
        count += 1
        return one(char, at) and here(after, at + 1)

    if expression[:1] == b"^":
        return (0, count) if here(expression[1:], 0) else None
    for at in range(len(text) + 1):
        count = 0
        if here(expression, at):
            return at, count
    return None


PATTERNS = (
    "u:%x[0,0]",
    "u:%X[-1,0]",
    "u2:%x[-1,0]/%x[0,0]%x[-6,0]",
    'u:t%t[0,0,"^\\u"]',
    'u:m%m[0,0,".?.?.$"]|',
    'u:o%m[0,0,"^\\u?\\l?\\d?x"]z',
    "u:a%x[@1,0]%x[@-1,0]",
    'u:n%M[1,0,"\\a*$"]%T[0,0,"\\W"]',
    "*:%x[0,0]",
    'b:%m[-1,0,"^."]',
    "b",
    "u:c",
)


def random_wapiti(rng: random.Random, *, whole: bool = False) -> WapitiModel:
    """A model of some patterns; whole: integer weights, so that there are many ties."""
    model = WapitiModel(["N", "A", "B"][: rng.choice((2, 3))], rng.sample(PATTERNS, 6), 1)
    L = len(model.labels)
    sizes = {"u": L, "b": L * L, "*": L + L * L}
    draw = (lambda: float(rng.randint(-2, 2))) if whole else (lambda: rng.gauss(0, 1))
    for _ in range(30):
        columns = random_words(rng)
        for t in range(len(columns)):
            for pattern in model.patterns:
                raw = model.observation(pattern, columns, t).encode("latin-1")
                try:
                    key = raw.decode()
                except UnicodeDecodeError:
                    continue  # half a character
                if rng.random() < 0.7:
                    n = sizes[pattern[0]]
                    model.weights.setdefault(key, np.array([draw() for _ in range(n)]))
    return model


def random_words(rng: random.Random) -> list[list[str]]:
    words = ["Ab1x", "ab", "C", "dé.", "9x", "Abx", "xY-z", "ÉA"]
    return [[rng.choice(words)] for _ in range(rng.randint(1, 7))]
