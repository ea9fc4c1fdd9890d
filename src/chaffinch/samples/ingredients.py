"""Ingredient lines: quantity, unit, size, name, preparation, comment, purpose and punctuation."""

from functools import partial

from chaffinch.samples import pantry
from chaffinch.samples.chance import SEED, Chance, misspelt, phrases, vocabulary
from chaffinch.text.document import Document

LABELS = ("QTY", "UNIT", "SIZE", "NAME", "PREP", "COMMENT", "PURPOSE", "PUNC")

MISSPELT = 0.02
MISLABELLED = 0.015
MISTAGGED = 0.02

# The wrong labels of a careless annotator.
CONFUSED = {
    "NAME": "PREP",
    "PREP": "COMMENT",
    "COMMENT": "PREP",
    "SIZE": "NAME",
    "UNIT": "NAME",
    "PURPOSE": "COMMENT",
}
MISTAKEN_TAG = {"NN": "JJ", "JJ": "NN", "VBN": "VBD", "NNS": "VBZ", "CD": "NN", "RB": "JJ", "MD": "NN"}

Word = tuple[str, str, str]  # the word, its part of speech, its label


def ingredients(
    n: int = 3000, seed: int = SEED, split: str = "train", careful: bool = False
) -> list[Document]:
    """``n`` ingredient lines with labels in column ``y`` and parts of speech in column ``pos``.

    The same word has different labels in different contexts: "clove" in "a clove of garlic" and "four cloves", "can" in
    "a can" and "if you can find it", "ground" in "ground cloves" and "pepper, freshly ground".

    >>> line = ingredients(1)[0]
    >>> sorted(line.columns), len(line.columns["y"]) == len(line.tokens)
    (['pos', 'y'], True)
    """
    kitchen = _Kitchen(Chance(seed, "ingredients", split, careful=careful), split)
    return [kitchen.document() for _ in range(n)]


class _Kitchen:
    """Generates lines from the words that its split may use."""

    def __init__(self, chance: Chance, split: str) -> None:
        self.chance = chance
        self.counted = vocabulary(pantry.COUNTED, split)
        self.measured = {
            "dry": vocabulary(pantry.DRY, split),
            "liquid": vocabulary(pantry.LIQUID, split),
            "rich": vocabulary(pantry.RICH, split),
        }
        self.spices = vocabulary(pantry.SPICES, split)
        self.herbs = vocabulary(pantry.HERBS, split)
        self.tinned = vocabulary(pantry.TINNED, split)
        self.either = vocabulary(pantry.EITHER, split)
        self.pieces = vocabulary(pantry.PIECES, split)
        self.preps = {
            kind: vocabulary(preps, split)
            for kind, preps in (
                ("counted", pantry.PREPS_COUNTED),
                ("dry", pantry.PREPS_DRY),
                ("liquid", pantry.PREPS_LIQUID),
                ("rich", pantry.PREPS_RICH),
                ("herb", pantry.PREPS_HERB),
                ("spice", pantry.PREPS_SPICE),
                ("tinned", pantry.PREPS_TINNED),
            )
        }
        self.comments = vocabulary(pantry.COMMENTS, split)
        self.purposes = vocabulary(pantry.PURPOSES, split)

    def document(self) -> Document:
        """One line, with errors of spelling, labelling and tagging."""
        kind, written_by = self.chance.weighted(_LINES)
        line = written_by(self, kind) + self.tail(kind)
        words, tags, labels = [], [], []
        for i, (word, tag, label) in enumerate(line):
            slips = label in ("NAME", "PREP", "COMMENT", "UNIT") and self.chance.happens(MISSPELT)
            spelling = misspelt(word, self.chance) if slips else word
            words.append(spelling.capitalize() if i == 0 and self.chance.happens(0.5) else spelling)
            tags.append(MISTAKEN_TAG.get(tag, tag) if self.chance.happens(MISTAGGED) else tag)
            labels.append(self.chance.slip(MISLABELLED, label, partial(_confused, label)))
        return Document.from_words(words, pos=tags, y=labels)

    # The lines.

    def counted_line(self, kind: str) -> list[Word]:
        """2 large eggs."""
        count = self.chance.weighted(((5, 1), (4, 2), (3, 3), (2, 4), (1, 6), (1, 12)))
        quantity = self.count(count)
        size = _said(self.chance.favour(pantry.SIZES), "JJ", "SIZE") if self.chance.happens(0.35) else []
        if not size and self.chance.happens(0.08):
            return quantity + self.prep_first(kind) + self.counted_name(count)
        return quantity + size + self.counted_name(count)

    def measured_line(self, kind: str) -> list[Word]:
        """200 g / 7 oz plain flour."""
        amount = self.measure(kind) + (_mark("/") + self.measure(kind) if self.chance.happens(0.12) else [])
        of = _said("of", "IN", "COMMENT") if self.chance.happens(0.06) else []
        adjective = self.prep_first(kind) if self.chance.happens(0.08) else []
        return amount + of + adjective + _name(self.chance.favour(self.measured[kind]))

    def spice_line(self, _: str) -> list[Word]:
        """A pinch of ground cloves, or just salt."""
        name = _name(self.chance.favour(self.spices))
        if self.chance.happens(0.15):
            return name
        size = _said("heaped", "JJ", "SIZE") if self.chance.happens(0.1) else []
        spoon = _said(self.chance.favour(pantry.SPOONS), "NN", "UNIT")
        quantity = _said("a", "DT", "QTY") if self.chance.happens(0.2) else self.fraction()
        of = _said("of", "IN", "COMMENT") if quantity[0][0] == "a" else []
        return quantity + size + spoon + of + name

    def herb_line(self, kind: str) -> list[Word]:
        """A large handful of chopped mint: here chopped is a preparation, and large a size."""
        herb = _name(self.chance.favour(self.herbs))
        fresh = [("fresh", "JJ", "NAME")] if self.chance.happens(0.3) else []
        chopped = self.prep_first(kind) if self.chance.happens(0.45) else []
        if self.chance.happens(0.4):
            return self.fraction() + _said("tbsp", "NN", "UNIT") + chopped + fresh + herb
        *size, bunch = self.chance.favour(pantry.BUNCHES).split()
        unit: list[Word] = [*((s, "JJ", "SIZE") for s in size), (bunch, "NN", "UNIT")]
        return self.count(1) + unit + fresh + herb

    def tinned_line(self, kind: str) -> list[Word]:
        """1 can (400 g) chopped tomatoes: here chopped is part of the name."""
        count = self.chance.between(1, 2)
        pack = self.chance.favour(pantry.PACKS)
        unit: list[Word] = [(_plural(pack) if count > 1 else pack, "NN" if count == 1 else "NNS", "UNIT")]
        weight = self.measure(kind)
        how = self.chance.below(4)
        large = _said("large", "JJ", "SIZE") if self.chance.happens(0.2) else []
        name = _name(self.chance.favour(self.tinned))
        if how == 0:
            return self.count(count) + _mark("x") + weight + unit + name
        if how == 1:
            return self.count(count) + large + unit + _mark("(") + weight + _mark(")") + name
        return self.count(count) + large + unit + name

    def piece_line(self, _: str) -> list[Word]:
        """3 cloves garlic, or 3 garlic cloves."""
        unit, name = self.chance.favour(self.pieces)
        count = self.chance.between(1, 4)
        size = _said("large", "JJ", "SIZE") if self.chance.happens(0.2) else []
        word = _plural(unit) if count > 1 else unit
        tag = "NNS" if count > 1 else "NN"
        if unit == "clove" and self.chance.happens(0.4):
            return self.count(count) + size + _name(name) + [(word, tag, "UNIT")]
        of = _said("of", "IN", "COMMENT") if self.chance.happens(0.25) else []
        return self.count(count) + size + [(word, tag, "UNIT")] + of + _name(name)

    def either_line(self, kind: str) -> list[Word]:
        """125 g butter or margarine."""
        first, second = self.chance.favour(self.either)
        return self.measure(kind) + _name(first) + _said("or", "CC", "NAME") + _name(second)

    def juice_line(self, _: str) -> list[Word]:
        """Juice of half a lemon."""
        what = self.chance.pick(("juice", "zest", "grated zest"))
        fruit = self.chance.pick(("lemon", "lime", "orange"))
        prep = _said(f"{what} of", "VBN NN IN" if " " in what else "NN IN", "PREP")
        if self.chance.happens(0.4):
            article = "an" if fruit == "orange" else "a"
            return prep + _said(f"half {article}", "NN DT", "QTY") + _name(fruit)
        count = self.chance.between(1, 3)
        return prep + self.count(count) + _name(_plural(fruit) if count > 1 else fruit)

    # What may follow.

    def tail(self, kind: str) -> list[Word]:
        """, finely chopped ( optional ) for the sauce."""
        tail: list[Word] = []
        if self.chance.happens(0.42):
            tail += _mark(",") + _tagged(self.chance.favour(self.preps[kind]), "PREP")
        if self.chance.happens(0.2):
            comment = _tagged(self.chance.favour(self.comments), "COMMENT")
            bracketed = self.chance.happens(0.5)
            tail += _mark("(") + comment + _mark(")") if bracketed else _mark(",") + comment
        if self.chance.happens(0.14):
            if self.chance.happens(0.4):
                tail += _mark(",") + _said("plus extra", "CC JJ", "COMMENT")
            elif self.chance.happens(0.5):
                tail += _mark(",")
            tail += _tagged(self.chance.favour(self.purposes), "PURPOSE")
        return tail

    # The parts.

    def counted_name(self, count: int) -> list[Word]:
        """Eggs, or red onions."""
        name = self.chance.favour(self.counted)
        return _name(_plural(name) if count > 1 else name)

    def prep_first(self, kind: str) -> list[Word]:
        """A preparation before the name: 2 tbsp chopped mint."""
        single = [p for p in self.preps[kind] if p.count("/") <= 2 and p.endswith("VBN")]
        return _tagged(self.chance.favour(single), "PREP")

    def measure(self, kind: str) -> list[Word]:
        """250 g, or 1 1/2 cups."""
        unit = self.chance.favour(pantry.UNITS[kind])
        if unit in ("g", "ml"):
            quantity: list[Word] = [(str(25 * self.chance.between(1, 20)), "CD", "QTY")]
        else:
            quantity = self.fraction()
        several = quantity[0][0] not in ("1", "1/2", "1/4", "3/4", "1/3") or len(quantity) > 1
        words = unit.split()
        if several and unit in _SPELT_UNITS and self.chance.happens(0.9):
            words[-1] = _plural(words[-1])
        if len(quantity) == 1 and unit in ("g", "ml", "kg") and self.chance.happens(0.1):
            return [*self.count(2), *_mark("x"), *quantity, (words[0], "NN", "UNIT")]
        return quantity + [(w, "NNS" if w.endswith("s") else "NN", "UNIT") for w in words]

    def fraction(self) -> list[Word]:
        """1, 1/2, 2-3, 1 1/2."""
        amount = self.chance.weighted(
            (
                (5, "1"),
                (4, "2"),
                (3, "1/2"),
                (2, "3"),
                (2, "1 1/2"),
                (1, "1/4"),
                (1, "3/4"),
                (1, "2-3"),
                (1, "half"),
            )
        )
        return _said(amount, " ".join("NN" if a == "half" else "CD" for a in amount.split()), "QTY")

    def count(self, count: int) -> list[Word]:
        """2, two, 1 or 2, about 2."""
        word = _NUMBERS[count] if count in _NUMBERS and self.chance.happens(0.12) else str(count)
        number: list[Word] = [(word, "CD", "QTY")]
        if self.chance.happens(0.05):
            return [*number, ("or", "CC", "QTY"), (str(count + 1), "CD", "QTY")]
        if self.chance.happens(0.04):
            return [("about", "IN", "COMMENT"), *number]
        return number


_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 6: "six", 12: "twelve"}

_SPELT_UNITS = ("cup", "litre", "pint", "quart", "knob", "handful", "glass")

_LINES = (
    (22, ("counted", _Kitchen.counted_line)),
    (10, ("dry", _Kitchen.measured_line)),
    (9, ("liquid", _Kitchen.measured_line)),
    (7, ("rich", _Kitchen.measured_line)),
    (14, ("spice", _Kitchen.spice_line)),
    (12, ("herb", _Kitchen.herb_line)),
    (10, ("tinned", _Kitchen.tinned_line)),
    (10, ("counted", _Kitchen.piece_line)),
    (5, ("rich", _Kitchen.either_line)),
    (3, ("liquid", _Kitchen.juice_line)),
)

_ADJECTIVES = frozenset(
    phrases("""
        plain, brown, dark, white, black, red, green, sweet, strong, dry, sour, cold, double, whole, golden,
        sea, cherry, flat-leaf, self-raising, fresh, cayenne, bamboo, quail, puff, spring, wild, salted""")
)
_PARTICIPLES = frozenset(phrases("ground, chopped, sliced, crushed, evaporated, dried, smoked, clarified"))


def _name(phrase: str) -> list[Word]:
    return [(word, _noun_tag(word), "NAME") for word in phrase.split()]


def _noun_tag(word: str) -> str:
    if word in _PARTICIPLES:
        return "VBN"
    if word in _ADJECTIVES:
        return "JJ"
    if word == "of":
        return "IN"
    return "NNS" if word.endswith("s") and not word.endswith("ss") else "NN"


def _said(phrase: str, tags: str, label: str) -> list[Word]:
    return [(word, tag, label) for word, tag in zip(phrase.split(), tags.split(), strict=True)]


def _tagged(phrase: str, label: str) -> list[Word]:
    """``finely/RB chopped/VBN`` under one label."""
    pairs = (token.rsplit("/", 1) for token in phrase.split())
    return [(word, tag, label) for word, tag in pairs]


def _mark(sign: str) -> list[Word]:
    return [(sign, {"(": "-LRB-", ")": "-RRB-", "x": "SYM", "/": "SYM"}.get(sign, sign), "PUNC")]


def _plural(name: str) -> str:
    if name in pantry.PLURALS:
        return pantry.PLURALS[name]
    return name + ("es" if name.endswith(("ch", "sh", "ss", "x")) else "s")


def _confused(label: str) -> str:
    return CONFUSED.get(label, label)
