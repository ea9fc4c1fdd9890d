"""Parse trees from a grammar in which words, not categories, decide where a phrase attaches."""

import operator
from functools import partial

from chaffinch.samples.chance import SEED, Chance, phrases, vocabulary
from chaffinch.text.document import Document, Tree

MISPARSED = 0.03  # fraction of the attachments that are annotated with the wrong reading

PEOPLE = phrases("""
    baker, pirate, doctor, teacher, girl, neighbour, boy, poet, thief, queen, plumber, clown, widow,
    juggler, farmer, astronomer, ferryman, barber, violinist, colonel, lodger""")
ANIMALS = phrases("""
    dog, cat, parrot, goose, fox, donkey, owl, otter, hedgehog, goat, pig, badger, crow, ferret""")
FOODS = phrases("""
    soup, pizza, salad, cake, pie, pasta, porridge, stew, omelette, curry, pudding, risotto, pancake,
    trifle""")
MACHINES = phrases("""
    clock, bicycle, radio, piano, boat, toaster, tractor, pump, engine, kite, lamp, gramophone, mill,
    loom""")
WRITINGS = phrases("""
    letter, book, poem, map, recipe, diary, postcard, song, speech, story, memoir, riddle, ballad, sermon""")
NAMES = phrases("Ada, Bruno, Chloe, Dmitri, Edith, Farid, Greta, Hugo, Inga, Jonas, Kirsten, Leo, Maud, Nils")

PLURALS = {"goose": "geese", "fox": "foxes", "thief": "thieves", "story": "stories", "diary": "diaries"}

# Instruments of the verb and properties of the noun: the preposition is the same, the pair of words decides.
VERBS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "ate served finished burnt ordered",
        FOODS,
        phrases("a fork, a spoon, her fingers, chopsticks, great joy, a ladle"),
    ),
    (
        "saw watched noticed followed sketched",
        PEOPLE,
        phrases("a telescope, binoculars, some suspicion, a pencil, one eye"),
    ),
    (
        "fixed broke built painted oiled",
        MACHINES,
        phrases("a hammer, a spanner, a brush, some string, bare hands"),
    ),
    ("chased fed washed caught tamed", ANIMALS, phrases("a net, a biscuit, a broom, warm water, a whistle")),
    (
        "wrote read copied signed tore",
        WRITINGS,
        phrases("a pen, a candle, a quill, shaky hands, a magnifying glass"),
    ),
)
FEATURES: dict[tuple[str, ...], tuple[str, ...]] = {
    FOODS: phrases("olives, cheese, extra garlic, a cherry, raisins, too much salt"),
    PEOPLE: phrases("a moustache, a telescope, binoculars, red hair, a limp, an umbrella"),
    MACHINES: phrases("a bell, two wheels, a loud engine, a brush, a broken handle"),
    ANIMALS: phrases("a collar, one ear, white paws, a whistle, long whiskers"),
    WRITINGS: phrases("a happy ending, pictures, a red cover, a candle, gold letters"),
}
ROOMS = phrases("""
    kitchen, garden, attic, hall, cellar, library, park, barn, stable, tower, harbour, chapel, dairy,
    loft""")
TIMES = phrases("noon, midnight, dawn, breakfast, the weekend, dusk, lunch")
SPOKE = phrases("sang, laughed, wept, snored, danced, lied, whistled, fainted, waltzed, blushed")
CRIED = phrases("barked, squawked, hissed, howled, purred, brayed, bit, moulted")
CLAIMED = phrases("said, thought, knew, hoped, swore, dreamt, feared")
LOOKS = phrases("""
    old, small, clever, tired, famous, hungry, round, green, noisy, enormous, elegant, rusty, shy,
    crooked""")
DISHES = phrases("bowl, plate, basket, pot, box, dish, crate")
FRUIT = phrases("apples, pears, plums, nuts, cherries, figs, grapes, peaches, apricots, dates")
CUTLERY = phrases("a spoon, a napkin, a candle, a knife, a pair of gloves, a letter, a straw hat")


def trees(n: int = 1500, seed: int = SEED, split: str = "train", careful: bool = False) -> list[Document]:
    """``n`` sentences with their trees (``Document.tree``) and parts of speech in column ``pos``.

    "Ate the pizza with a fork" and "ate the pizza with olives" attach differently; "watched the boy with a telescope"
    is ambiguous and occurs with both trees.

    >>> one = trees(1)[0]
    >>> one.tree.label, len(one.columns["pos"]) == len(one.tokens)
    ('S', True)
    """
    grammar = _Grammar(Chance(seed, "trees", split, careful=careful), split)
    return [grammar.document() for _ in range(n)]


class _Grammar:
    """Generates trees from the words that its split may use."""

    def __init__(self, chance: Chance, split: str) -> None:
        self.chance = chance
        self.split = split
        self.known: dict[tuple[str, ...], list[str]] = {}

    def document(self) -> Document:
        """One sentence."""
        tree = Tree("S", (*self.clause(), Tree(".", word=".")))
        tags, words = zip(*_leaves(tree), strict=True)
        document = Document.from_words(list(words), pos=list(tags))
        document.tree = tree
        return document

    def clause(self) -> tuple[Tree, Tree]:
        """NP VP."""
        return self.subject(), self.chance.weighted(_PREDICATES)(self)

    def subject(self) -> Tree:
        """The old pirate, Ada, she, the parrot of the pirate who sang."""
        way = self.chance.below(10)
        if way < 2:
            return Tree("NP", (Tree("NNP", word=self.a(NAMES)),))
        if way < 4:
            return Tree("NP", (Tree("PRP", word=self.chance.pick(("she", "he", "they", "we"))),))
        if way < 5:
            return self.owned()
        return self.noun_phrase(self.a(PEOPLE))

    # Predicates.

    def transitive(self) -> Tree:
        """Ate the pizza with ...: the phrase attaches to the verb or to the noun."""
        verbs, objects, tools = self.chance.pick(VERBS)
        verb = Tree("VBD", word=self.chance.favour(vocabulary(verbs.split(), self.split)))
        noun = self.a(objects)
        thing = self.noun_phrase(noun)
        way = self.chance.below(10)
        if way < 4:
            high = self.chance.happens(0.5)
            other = self.a(tools) if high else self.a(FEATURES[objects])
            phrase = _pp("with", _phrase(other))
            return self.attached(verb, thing, phrase, high)
        if way < 6:
            high = self.chance.happens(0.7) if objects is not MACHINES else self.chance.happens(0.25)
            return self.attached(verb, thing, _pp("in", _phrase(f"the {self.a(ROOMS)}")), high)
        if way < 7:
            return self.attached(verb, thing, _pp("at", _phrase(self.a(TIMES))), high=True)
        if way < 8 and objects in (WRITINGS, ANIMALS):
            return self.attached(verb, thing, _pp("of", self.noun_phrase(self.a(PEOPLE))), high=False)
        if way < 9:
            room, time = _pp("in", _phrase(f"the {self.a(ROOMS)}")), _pp("at", _phrase(self.a(TIMES)))
            return Tree("VP", (verb, thing, room, time))
        return Tree("VP", (verb, thing))

    def shared_dish(self) -> Tree:
        """Brought a bowl of apples and pears, or a bowl of apples and a spoon."""
        verb = Tree("VBD", word=self.chance.pick(("brought", "found", "wanted", "sold", "carried")))
        dish = _phrase(f"a {self.a(DISHES)}")
        fruit, and_ = _phrase(self.a(FRUIT)), Tree("CC", word=self.chance.pick(("and", "and", "or")))
        low = self.chance.happens(0.5)
        other = self.a(FRUIT) if low else self.a(CUTLERY)
        low = self.chance.slip(MISPARSED, low, partial(operator.not_, low))
        if low:
            filled = _pp("of", Tree("NP", (fruit, and_, _phrase(other))))
            return Tree("VP", (verb, Tree("NP", (dish, filled))))
        return Tree("VP", (verb, Tree("NP", (Tree("NP", (dish, _pp("of", fruit))), and_, _phrase(other)))))

    def adjective_pair(self) -> Tree:
        """Met old poets and clowns: both are old, or only the poets."""
        verb = Tree("VBD", word=self.chance.pick(("met", "invited", "painted", "feared")))
        kinds = self.chance.pick(((PEOPLE, PEOPLE), (ANIMALS, ANIMALS), (PEOPLE, ANIMALS), (ANIMALS, PEOPLE)))
        first, second = (Tree("NNS", word=_plural(self.a(kind))) for kind in kinds)
        look, and_ = Tree("JJ", word=self.a(LOOKS)), Tree("CC", word="and")
        if self.chance.happens(0.85 if kinds[0] is kinds[1] else 0.15):
            return Tree("VP", (verb, Tree("NP", (look, first, and_, second))))
        return Tree("VP", (verb, Tree("NP", (Tree("NP", (look, first)), and_, Tree("NP", (second,))))))

    def her_duck(self) -> Tree:
        """Saw her duck: the bird, or the movement."""
        verb = Tree("VBD", word=self.chance.pick(("saw", "heard", "watched", "made")))
        word = self.chance.pick(("duck", "swallow", "fly", "bear"))
        if self.chance.happens(0.2 if verb.word == "made" else 0.5):
            return Tree("VP", (verb, Tree("NP", (Tree("PRP$", word="her"), Tree("NN", word=word)))))
        bare = Tree("VP", (Tree("VB", word=word),))
        return Tree("VP", (verb, Tree("S", (Tree("NP", (Tree("PRP", word="her"),)), bare))))

    def claim(self) -> Tree:
        """Said that the dog barked."""
        verb = Tree("VBD", word=self.a(CLAIMED))
        clause = Tree("S", self.clause())
        that = (Tree("IN", word="that"),) if self.chance.happens(0.6) else ()
        return Tree("VP", (verb, Tree("SBAR", (*that, clause))))

    def intransitive(self) -> Tree:
        """Danced in the attic."""
        verb = Tree("VBD", word=self.a(SPOKE))
        where = (_pp("in", _phrase(f"the {self.a(ROOMS)}")),) if self.chance.happens(0.5) else ()
        return Tree("VP", (verb, *where))

    def two_deeds(self) -> Tree:
        """Fixed the clock and sang."""
        return Tree("VP", (self.transitive(), Tree("CC", word="and"), self.intransitive()))

    # Noun phrases.

    def owned(self) -> Tree:
        """The parrot of the pirate who sang: the verb decides who sang."""
        animal, person = self.noun_phrase(self.a(ANIMALS)), self.noun_phrase(self.a(PEOPLE))
        low = self.chance.happens(0.5)
        verb = self.a(SPOKE) if low else self.a(CRIED)
        low = self.chance.slip(MISPARSED, low, partial(operator.not_, low))
        who = Tree("WHNP", (Tree("WDT", word="that"),))
        did = Tree("S", (Tree("VP", (Tree("VBD", word=verb),)),))
        clause = Tree("SBAR", (who, did))
        if low:
            return Tree("NP", (animal, _pp("of", Tree("NP", (person, clause)))))
        return Tree("NP", (Tree("NP", (animal, _pp("of", person))), clause))

    def noun_phrase(self, noun: str) -> Tree:
        """A determiner, sometimes an adjective, the noun."""
        look = self.a(LOOKS) if self.chance.happens(0.25) else ""
        first = look or noun
        article = "an" if first[0] in "aeio" else "a"
        return _phrase(f"{self.chance.pick(('the', 'the', article, 'her', 'this'))} {look} {noun}")

    def attached(self, verb: Tree, thing: Tree, phrase: Tree, high: bool) -> Tree:
        """The phrase under the verb (high) or under the noun."""
        high = self.chance.slip(MISPARSED, high, partial(operator.not_, high))
        return Tree("VP", (verb, thing, phrase)) if high else Tree("VP", (verb, Tree("NP", (thing, phrase))))

    def a(self, words: tuple[str, ...]) -> str:
        """One of the words that the split may use."""
        if words not in self.known:
            self.known[words] = vocabulary(words, self.split)
        return self.chance.favour(self.known[words])


_PREDICATES = (
    (56, _Grammar.transitive),
    (9, _Grammar.shared_dish),
    (8, _Grammar.adjective_pair),
    (8, _Grammar.her_duck),
    (7, _Grammar.claim),
    (5, _Grammar.intransitive),
    (7, _Grammar.two_deeds),
)

_TAGS = {
    "a": "DT",
    "an": "DT",
    "the": "DT",
    "this": "DT",
    "some": "DT",
    "her": "PRP$",
    "one": "CD",
    "two": "CD",
    "of": "IN",
}
_ADJECTIVES = frozenset(
    (
        *LOOKS,
        *phrases(
            "great, extra, red, long, white, loud, broken, happy, gold, bare, warm, shaky, straw, magnifying"
        ),
    )
)


def _leaves(tree: Tree) -> list[tuple[str, str]]:
    """(tag, word) from left to right."""
    if tree.word is not None:
        return [(tree.label, tree.word)]
    return [leaf for child in tree.children for leaf in _leaves(child)]


def _phrase(text: str) -> Tree:
    """A flat noun phrase of plain words."""
    words = text.split()
    if "of" in words:
        i = words.index("of")
        return Tree("NP", (_phrase(" ".join(words[:i])), _pp("of", _phrase(" ".join(words[i + 1 :])))))
    return Tree("NP", tuple(Tree(_tag(word), word=word) for word in words))


def _tag(word: str) -> str:
    if word in _TAGS:
        return _TAGS[word]
    if word in ("too", "much"):
        return "RB" if word == "too" else "JJ"
    if word in _ADJECTIVES:
        return "JJ"
    return "NNS" if word.endswith("s") and not word.endswith(("ss", "lass")) else "NN"


def _pp(preposition: str, noun_phrase: Tree) -> Tree:
    return Tree("PP", (Tree("IN", word=preposition), noun_phrase))


def _plural(noun: str) -> str:
    return PLURALS.get(noun, noun + "s")
