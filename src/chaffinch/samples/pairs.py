"""Sentence pairs: English and Pipit, a small invented language, with sure and possible word links.

Pipit puts the verb last and the adjective after its noun, has no articles (a definite noun ends in -a), says
*not* with two words around the verb, drops pronouns, and turns prepositions into postpositions.
"""

from dataclasses import dataclass, field
from functools import cache

from chaffinch.samples.chance import SEED, Chance, misspelt, phrases, vocabulary
from chaffinch.text.document import Document, Links

MISSPELT = 0.01
MISLINKED = 0.015  # fraction of the sure links that the annotator marked as possible or overlooked
REPHRASED = 0.05  # fraction of the content words that the translator replaced by another word

BEINGS = phrases("""
    fisherman, cat, teacher, sister, horse, king, thief, goat, painter, widow, tailor, parrot, ghost,
    uncle, giant, baker, wolf, dancer, owl, shepherd, aunt""")
THINGS = phrases("""
    garden, letter, bridge, river, lamp, boat, soup, mountain, window, song, bread, hat, ladder, bell,
    island, mirror, road, apple, storm, drum, forest, spoon, moon, knife, barrel, feather, cellar,
    turnip, kettle, orchard, violin, oven, cloud, tower, egg""")
DOUBLE_NOUNS = {
    "umbrella": ("mizu", "tako"),
    "lighthouse": ("luma", "domo"),
    "teapot": ("cha", "keto"),
    "sunset": ("sol", "veni"),
}
VERBS = tuple(
    tuple(pair.split())
    for pair in phrases("""
        saw see, found find, sold sell, painted paint, lost lose, carried carry, loved love,
        followed follow, heard hear, stole steal, bought buy, washed wash, hid hide, feared fear,
        remembered remember, borrowed borrow, broke break, fed feed, chased chase, forgot forget,
        admired admire""")
)
ADJECTIVES = phrases("""
    old, small, red, happy, quiet, broken, tall, hungry, strange, golden, lazy, cold, young, crooked,
    blue, tired, brave, famous, wet, empty, clever""")
NAMES = phrases("Anna, Bruno, Clara, Dario, Elsa, Felix, Greta, Hugo, Irma, Jonas, Karla, Leo, Mira, Nils")
PREPOSITIONS = phrases("in, under, near, behind, on, beside, over")
PRONOUNS = {"she": "lu", "he": "lu", "we": "nos", "they": "tilu", "I": "mi", "you": "vu"}
TIMES = {
    "every morning": "matuli",
    "at night": "nokte",
    "once again": "repa",
    "in spring": "verilo",
    "on Sunday": "soldi",
    "yesterday": "hiru",
    "last year": "anpasi",
}
PAST_TIMES = ("yesterday", "last year")
IDIOMS = {
    "of course": "certo",
    "to be honest": "pura boca",
    "by the way": "en passo",
    "as you know": "sabe vu",
    "believe it or not": "krede o ne",
    "long story short": "kurto",
}
PARTICLES = {"and": "e", "but": "ma", "because": "kar", "while": "dum"}


def pairs(n: int = 1500, seed: int = SEED, split: str = "train", careful: bool = False) -> list[Document]:
    """``n`` English sentences, each with its Pipit translation and the word links (``Document.links``).

    >>> one = pairs(1)[0]
    >>> all(i < len(one.tokens) and j < len(one.links.target) for i, j in one.links.sure | one.links.possible)
    True
    >>> translation("cat"), translation("garden")
    ('nukuda', 'dago')
    """
    chance = Chance(seed, "pairs", split, careful=careful)
    words = {
        "being": vocabulary(BEINGS, split),
        "thing": vocabulary(THINGS, split),
        "adjective": vocabulary(ADJECTIVES, split),
        "name": vocabulary(NAMES, split),
    }
    verbs = vocabulary(VERBS, split)
    return [_Translator(chance, words, verbs).document() for _ in range(n)]


@cache
def translation(word: str) -> str:
    """The Pipit stem of an English word: two or three syllables that depend on the word alone."""
    chance = Chance(7, "pipit", word)
    syllables = [chance.pick("bdfgklmnprstvz") + chance.pick("aeiou") for _ in range(chance.between(2, 3))]
    return "".join(syllables)


@dataclass
class _Word:
    """A Pipit word and the English positions that it translates."""

    text: str
    sure: list[int] = field(default_factory=list)
    possible: list[int] = field(default_factory=list)


class _Translator:
    """Generates one sentence: English words from left to right, together with its Pipit words."""

    def __init__(self, chance: Chance, words: dict[str, list[str]], verbs: list[tuple[str, ...]]) -> None:
        self.chance = chance
        self.words = words
        self.verbs = verbs
        self.english: list[str] = []

    def document(self) -> Document:
        """The pair, with errors of spelling and linking."""
        pipit = self.sentence()
        sure, possible = set(), set()
        for j, word in enumerate(pipit):
            for i in word.sure:
                said = self.chance.slip(
                    MISLINKED, "sure", lambda: "possible" if self.chance.happens(0.7) else "nothing"
                )
                if said == "sure":
                    sure.add((i, j))
                elif said == "possible":
                    possible.add((i, j))
            possible.update((i, j) for i in word.possible)
        english = [misspelt(w, self.chance) if self.chance.happens(MISSPELT) else w for w in self.english]
        document = Document.from_words(english)
        target = tuple(word.text for word in pipit)
        document.links = Links(target, frozenset(sure), frozenset(possible - sure))
        return document

    def sentence(self) -> list[_Word]:
        """One clause or two, sometimes with an opening remark."""
        pipit: list[_Word] = []
        if self.chance.happens(0.15):
            said = self.chance.pick(tuple(IDIOMS))
            positions = [self.say(w) for w in said.split()]
            pipit += [_Word(w, possible=positions) for w in IDIOMS[said].split()]
            pipit.append(_Word(",", sure=[self.say(",")]))
        if self.chance.happens(0.15):
            pipit += self.question()
            return pipit
        pipit += self.clause()
        if self.chance.happens(0.3):
            joint = self.chance.pick(tuple(PARTICLES))
            pipit.append(_Word(PARTICLES[joint], sure=[self.say(joint)]))
            pipit += self.clause()
        pipit.append(_Word(".", sure=[self.say(".")]))
        return pipit

    def clause(self) -> list[_Word]:
        """Subject, verb, object, place, time; in Pipit time, subject, place, object, verb."""
        subject, dropped = self.subject()
        verb = self.verb()
        verb[len(verb) // 2].possible += dropped  # a dropped pronoun has a possible link to the verb
        thing = self.noun_phrase(self.chance.pick(("being", "thing", "thing")))
        place = self.place() if self.chance.happens(0.4) else []
        past = verb[0].text.endswith("ta")
        time = self.time(past) if self.chance.happens(0.3) else []
        return time + subject + place + thing + verb

    def question(self) -> list[_Word]:
        """Did Anna see the cat? In Pipit a final particle marks the question."""
        did = self.say("did")
        subject = self.noun_phrase("being")
        _, base = self.chance.favour(self.verbs)
        verb = _Word(translation(base) + "ta", sure=[self.say(base)], possible=[did])
        thing = self.noun_phrase(self.chance.pick(("being", "thing", "thing")))
        mark = self.say("?")
        return [*subject, *thing, verb, _Word("ka", possible=[did, mark]), _Word("?", sure=[mark])]

    def subject(self) -> tuple[list[_Word], list[int]]:
        """A noun phrase, or a pronoun that Pipit usually drops; if it does, its position is returned."""
        if not self.chance.happens(0.35):
            return self.noun_phrase("being"), []
        pronoun = self.chance.pick(tuple(PRONOUNS))
        position = self.say(pronoun)
        if self.chance.happens(0.6):
            return [], [position]
        return [_Word(PRONOUNS[pronoun], sure=[position])], []

    def verb(self) -> list[_Word]:
        """Saw, did not see, will see, could not see."""
        past, base = self.chance.favour(self.verbs)
        stem = translation(base)
        way = self.chance.below(10)
        if way < 6:
            return [_Word(stem + "ta", sure=[self.say(past)])]
        if way < 8:
            did, not_ = self.say("did"), self.say("not")
            verb = _Word(stem + "ta", sure=[self.say(base)], possible=[did])
            return [_Word("ne", sure=[not_]), verb, _Word("pa", sure=[not_])]
        if way < 9:
            will = self.say("will")
            return [_Word(stem + "ru", sure=[self.say(base)], possible=[will])]
        could = self.say("could")
        return [_Word(stem, sure=[self.say(base)]), _Word("pota", sure=[could])]

    def noun_phrase(self, kind: str) -> list[_Word]:
        """Anna, the old cat, two cats, a teapot, the cat of Anna, Anna 's cat."""
        way = self.chance.below(12)
        if way < 2 and kind == "being":
            name = self.chance.favour(self.words["name"])
            return [_Word(name, sure=[self.say(name)])]
        if way < 3:
            owner = self.chance.favour(self.words["name"])
            position, mark = self.say(owner), self.say("'s")
            return [*self.noun(kind, "a", []), _Word("de", sure=[mark]), _Word(owner, sure=[position])]
        if way < 4:
            count = self.say(self.chance.pick(("two", "three")))
            number = {"two": "duo", "three": "tri"}[self.english[count]]
            return [*self.noun(kind, "i", [], plural=True), _Word(number, sure=[count])]
        definite = self.chance.happens(0.6)
        article = self.say("the" if definite else "a")
        adjectives = []
        if self.chance.happens(0.35):
            adjective = self.chance.favour(self.words["adjective"])
            if not definite and adjective[0] in "aeio":
                self.english[article] = "an"
            adjectives = [_Word(self.rendered(adjective), sure=[self.say(adjective)])]
        elif kind == "thing" and not definite and self.chance.happens(0.2):
            thing = self.chance.pick(tuple(DOUBLE_NOUNS))
            self.english[article] = "an" if thing[0] == "u" else "a"
            position = self.say(thing)
            return [_Word(w, sure=[position]) for w in DOUBLE_NOUNS[thing]]
        return self.noun(kind, "a" if definite else "", [article] if definite else []) + adjectives

    def noun(self, kind: str, ending: str, possible: list[int], plural: bool = False) -> list[_Word]:
        """The noun itself; the English article has a possible link to its ending."""
        noun = self.chance.favour(self.words[kind])
        before = self.english[-1] if self.english else ""
        if before == "a" and noun[0] in "aeiou":
            self.english[-1] = "an"
        written = _plural(noun) if plural else noun
        return [_Word(self.rendered(noun) + ending, sure=[self.say(written)], possible=possible)]

    def place(self) -> list[_Word]:
        """Under the bridge: in Pipit the bridge under."""
        preposition = self.chance.favour(PREPOSITIONS)
        position = self.say(preposition)
        return [*self.noun_phrase("thing"), _Word(translation(preposition)[:2], sure=[position])]

    def time(self, past: bool) -> list[_Word]:
        """Every morning: one word in Pipit."""
        time = self.chance.pick([t for t in TIMES if past or t not in PAST_TIMES])
        positions = [self.say(w) for w in time.split()]
        return [_Word(TIMES[time], sure=positions)]

    def rendered(self, word: str) -> str:
        """The stem of a word, or sometimes of a near synonym."""
        return translation(word + " (poetic)" if self.chance.happens(REPHRASED) else word)

    def say(self, word: str) -> int:
        """Add an English word; returns its position."""
        self.english.append(word)
        return len(self.english) - 1


def _plural(noun: str) -> str:
    return {"fisherman": "fishermen", "thief": "thieves", "knife": "knives", "wolf": "wolves"}.get(
        noun, noun + "s"
    )
