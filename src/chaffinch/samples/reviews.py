"""Short reviews with grades 0 to 4: negation, contrast, intensifiers, and some disagreement between readers."""

from chaffinch.samples.chance import SEED, Chance, misspelt, phrases, vocabulary
from chaffinch.text.document import Document

LABELS = ("0", "1", "2", "3", "4")

MISSPELT = 0.015
MISGRADED = 0.1  # fraction of the reviews whose grade is off by one

# The reviewed things, and the aspects that may be praised or criticised.
SUBJECTS = {
    "this film": phrases("plot, acting, ending, soundtrack, villain, dialogue, first half, dog"),
    "the hotel": phrases("bed, breakfast, view, staff, shower, lift, wallpaper, pool"),
    "this book": phrases("heroine, prose, last chapter, mystery, cover, footnotes, love story, map"),
    "the restaurant": phrases("soup, waiter, bread, wine list, music, dessert, bill, fish"),
    "this toaster": phrases("lever, crumb tray, design, cord, browning, manual, warranty, chrome"),
    "the play": phrases("lighting, lead, second act, set, costumes, chorus, interval, script"),
    "this game": phrases("puzzles, graphics, controls, story, final boss, camera, menus, horse"),
    "the concert": phrases("singer, sound, drummer, support act, crowd, encore, hall, cellist"),
    "this umbrella": phrases("handle, fabric, spokes, button, colour, sleeve, stitching, wind test"),
    "the museum": phrases("guide, dinosaur, cafe, audio tour, gift shop, garden, queue, mummy"),
}

# Adjectives by strength, from awful to wonderful.
ADJECTIVES = {
    -2: phrases("""
        awful, terrible, dreadful, horrible, atrocious, unbearable, abysmal, insulting, wretched,
        ghastly, vile"""),
    -1: phrases("""
        dull, bland, slow, clumsy, disappointing, weak, forgettable, tired, messy, flat, shallow, stale,
        limp"""),
    0: phrases("""
        average, ordinary, fine, okay, acceptable, passable, predictable, adequate, so-so, unremarkable"""),
    1: phrases("""
        good, pleasant, charming, solid, enjoyable, clever, warm, neat, funny, likeable, tasty, snug,
        bright"""),
    2: phrases("""
        wonderful, brilliant, superb, perfect, dazzling, unforgettable, magnificent, sublime, flawless,
        glorious"""),
}
BOOST = phrases("really, very, truly, thoroughly, remarkably, deeply, terribly, wickedly, painfully, awfully")
SOFTEN = phrases("a bit, slightly, somewhat, rather, a little, mildly, vaguely")
BUT = phrases("but, yet, although in the end, and still, all the same")
ASIDES = phrases("""
    i went with my sister, it rained all evening, we paid full price, my expectations were low,
    the bus was late, i had read all the reviews, it was a birthday present, i am usually easy to please,
    the neighbours recommended it, we came back on sunday, my brother fell asleep,
    everyone around us was talking, i know the author's aunt""")

# Whole verdicts whose words suggest another grade or none.
VERDICTS = {
    0: phrases("""
        i want those hours back, nobody should have to go through this, even the plants looked sad,
        never again"""),
    1: phrases("""
        not for me, i have had more fun at the dentist, save your money, it never takes off,
        once was enough"""),
    2: phrases("""
        it does the job, neither here nor there, you could do worse and you could do better,
        i have no strong feelings"""),
    3: phrases("""
        i would go again, not a minute too long, better than i feared, my mother smiled twice,
        worth the trip"""),
    4: phrases("""
        i cried with joy, drop everything and go, i can not fault a thing, nothing comes close,
        i did not want it to end"""),
}


def reviews(n: int = 3000, seed: int = SEED, split: str = "train", careful: bool = False) -> list[Document]:
    """``n`` reviews; the label is the grade, ``0`` (dreadful) to ``4`` (wonderful).

    >>> one = reviews(1)[0]
    >>> one.labels[0] in LABELS, one.text.endswith(".")
    (True, True)
    """
    critic = _Critic(Chance(seed, "reviews", split, careful=careful), split)
    return [critic.document() for _ in range(n)]


class _Critic:
    """Generates reviews from the words that its split may use."""

    def __init__(self, chance: Chance, split: str) -> None:
        self.chance = chance
        self.adjectives = {strength: vocabulary(words, split) for strength, words in ADJECTIVES.items()}
        self.asides = vocabulary(ASIDES, split)
        self.boost, self.soften = vocabulary(BOOST, split), vocabulary(SOFTEN, split)
        self.subject = ""

    def document(self) -> Document:
        """One review: clauses that express the grade, a clause against it, an aside."""
        self.subject = self.chance.pick(tuple(SUBJECTS))
        grade = self.chance.weighted(((14, 0), (24, 1), (20, 2), (26, 3), (16, 4)))
        sentences = [self.opinion(grade)]
        if self.chance.happens(0.35):
            sentences.append(self.opinion(grade))
        if self.chance.happens(0.3):
            sentences.insert(self.chance.below(len(sentences) + 1), self.chance.pick(self.asides))
        if self.chance.happens(0.3):
            sentences.append(self.chance.pick(VERDICTS[grade]))
        words = [*" . ".join(sentences).split(), "."]
        text = " ".join(misspelt(w, self.chance) if self.chance.happens(MISSPELT) else w for w in words)
        given = self.chance.slip(MISGRADED, grade, lambda: min(4, max(0, grade + self.chance.pick((-1, 1)))))
        return Document(text=text, labels=[str(given)])

    def opinion(self, grade: int) -> str:
        """A sentence that expresses this grade."""
        strength = grade - 2
        if strength == 0:
            how = self.chance.below(3)
            if how == 0:
                return self.clause(0)
            size = self.chance.pick((1, 1, 2))
            first = self.chance.pick((-size, size))
            return f"{self.clause(first)} {self.chance.pick(('but', 'and', 'yet'))} {self.clause(-first)}"
        if self.chance.happens(0.3):
            against = -1 if strength > 0 else 1
            return f"{self.clause(against)} {self.chance.pick(BUT)} {self.clause(strength, self.subject)}"
        return self.clause(strength)

    def clause(self, strength: int, about: str | None = None) -> str:
        """The soup was not terrible: a clause about one thing, of the requested strength."""
        about = about or self.chance.pick(
            (self.subject, *(f"the {aspect}" for aspect in SUBJECTS[self.subject]))
        )
        verb = "were" if about.endswith("s") and not about.endswith(("boss", "chorus")) else "was"
        return f"{about} {verb} {self.judgement(strength)}"

    def judgement(self, strength: int) -> str:
        """Very good, a bit dull, not bad, anything but dull."""
        sign = 1 if strength > 0 else -1
        way = self.chance.below(10)
        if strength == 0:
            if way < 6:
                return self.word(0)
            return f"neither {self.word(1)} nor {self.word(-1)}" if way < 8 else f"not exactly {self.word(2)}"
        if abs(strength) == 2:
            if way < 6:
                return self.word(2 * sign)
            if way < 9:
                return f"{self.chance.favour(self.boost)} {self.word(sign)}"
            return f"anything but {self.word(-sign)} , simply {self.word(2 * sign)}"
        if way < 4:
            return self.word(sign)
        if way < 6:
            return f"{self.chance.favour(self.soften)} {self.word(sign)}"
        if way < 8:
            return f"not {self.word(-sign)}"
        if way < 9:
            return f"nothing that i or anyone i know would call {self.word(-sign)}"
        return f"far from {self.word(-2 * sign)}"

    def word(self, strength: int) -> str:
        """An adjective of this strength."""
        return self.chance.favour(self.adjectives[strength])
