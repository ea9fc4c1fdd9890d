"""Questions with the type of their answer: six coarse types, each with finer ones."""

from functools import partial

from chaffinch.samples.chance import SEED, Chance, misspelt, phrases, vocabulary
from chaffinch.text.document import Document

MISSPELT = 0.01
MISTYPED = 0.02

# The slots of templates; the first entries are the most common.
FILLERS = {
    "thing": phrases("""
        zipper, teabag, umbrella, elevator, bagpipe, paper clip, toaster, accordion, lighthouse,
        sandwich, compass, corkscrew, hammock, pencil, kaleidoscope, wheelbarrow, thermos, yo-yo,
        trampoline, harmonica, teaspoon"""),
    "person": phrases("""
        captain, baker, queen, inventor, goalkeeper, pirate, poet, barber, astronaut, mayor, conductor,
        beekeeper, lighthouse keeper, tailor, explorer, clown, librarian, ferryman, composer, judge,
        cartographer"""),
    "place": phrases("""
        Lisbon, Peru, Madrid, Norway, Tasmania, Cairo, Lake Titicaca, Wales, Vienna, Samoa, Timbuktu,
        Cornwall, Bhutan, Reykjavik, the Gobi desert, Malta, Quebec, Zanzibar, Oslo, the Azores,
        Patagonia"""),
    "animal": phrases("""
        otter, penguin, snail, giraffe, owl, octopus, hedgehog, camel, woodpecker, lobster, gannet, bat, mole,
        chameleon, ferret, chaffinch, walrus, newt, osprey, beetle, axolotl"""),
    "idea": phrases("""
        gravity, a leap year, jazz, democracy, rust, fog, a sonnet, inflation, an echo, photosynthesis,
        thunder, irony, a mirage, fermentation, static electricity, a fugue, entropy, yawning,
        an eclipse, sourdough, dew"""),
    "deed": phrases("""
        whistle, bake bread, tie a bow tie, remove a wine stain, fold a fitted sheet, skim a stone,
        learn to juggle, sharpen a knife, cross the desert, tune a piano, ripen an avocado, catch a bus,
        hide a drum, wrap a bicycle"""),
    "did": phrases("""
        invented, painted, discovered, swallowed, lost, sold, married, crossed, bought, photographed,
        rescued, banned, tamed, borrowed, repaired, buried, measured, ignored, polished, insured, admired"""),
    "letters": phrases("""
        NATO, FAQ, RSVP, UFO, DNA, BBC, VAT, ASAP, GIF, LED, ZIP, PDF, SOS, ATM, DIY, EFTA, CEO, RAM,
        HTML, PIN, IOU"""),
    "name": phrases("""
        the world health organization, for your information, personal computer, estimated time of arrival,
        public limited company, miles per hour, do it yourself, value added tax, frequently asked questions,
        chief executive officer"""),
}

# Words before a person, an animal or a thing, and at the end of any question.
MANNERS = phrases("""
    old, famous, red, tiny, lazy, giant, silver, retired, modern, stubborn, invisible, polite, musical, foreign, grumpy,
    wooden, lucky, forgotten, striped, clumsy, glass""")
TAILS = phrases("""
    these days, in winter, according to your aunt, in the old days, at sea, without a ladder, on a tuesday, in 1962,
    after all, before breakfast, in one word, with both eyes closed, by the way, for the first time""")

# type of answer -> templates. The words that reveal the type are early, late or absent.
TEMPLATES = {
    "PERSON:one": phrases("""
        Who {did} the {thing} ?, Who was the first {person} in {place} ?,
        What {person} {did} the {thing} ?,
        What is the name of the {person} who {did} the {animal} of {place} ?,
        Which {person} was born in {place} ?, Name the {person} that {did} a {thing} in {place} .,
        After the {person} of {place} vanished what was the successor called ?,
        In {place} what {person} is remembered for {idea} ?"""),
    "PERSON:group": phrases("""
        What team {did} the {person} of {place} ?, Which band sings about {idea} ?,
        Who makes the best {thing} in {place} ?, What company {did} the {thing} ?,
        What tribe {did} {place} ?, Which people of {place} worship the {animal} ?"""),
    "PLACE:land": phrases("""
        What country {did} the {thing} ?, Which island has no {animal} ?, In what country is {place} ?,
        What is the largest country without a {thing} ?,
        The {person} who {did} the {animal} came from which country ?,
        Name a country that borders {place} ."""),
    "PLACE:other": phrases("""
        Where was the {thing} {did} ?, Where do {animal}s sleep ?, What city has the oldest {thing} ?
        Which river runs through {place} ?, Where can I see {idea} ?, What is the home of the {animal} ?
        What street did the {person} live in ?, Where did the {person} hide the {thing} ?
        From where did the {person} get the {animal} ?"""),
    "NUMBER:count": phrases("""
        How many {animal}s live in {place} ?, How many legs does a {animal} have ?,
        How many {person}s {did} the {thing} ?, What is the population of {place} ?,
        What is the number of {thing}s in {place} ?,
        Of all the {animal}s in {place} how many can {deed} ?"""),
    "NUMBER:date": phrases("""
        When was the {thing} {did} ?, What year did the {person} reach {place} ?, When do {animal}s {deed} ?
        In which century was {place} {did} ?, What is the birthday of the {person} of {place} ?
        On what day did the {person} {deed} ?"""),
    "NUMBER:size": phrases("""
        How far is {place} from {place2} ?, How fast can a {animal} run ?,
        How long does it take to {deed} ?, What is the weight of a {thing} ?,
        How much does a {thing} cost ?, How tall was the {person} of {place} ?,
        What is the price of a {animal} in {place} ?, How hot is it in {place} ?"""),
    "THING:animal": phrases("""
        What animal {did} the {person} ?, Which bird can {deed} ?, What kind of {animal} lives in {place} ?
        What insect do {animal}s eat ?, What creature has more legs than a {animal} ?
        Name an animal that can {deed} ."""),
    "THING:made": phrases("""
        What did the {person} of {place} {do} ?, What instrument does the {person} play ?,
        What do {animal}s eat ?, Which book did the {person} write in {place} ?,
        What is the {person} holding besides the {thing} ?, What food was {did} in {place} ?,
        What color is a {animal} ?, What language is spoken in {place} ?,
        What is the best thing to {deed} with ?"""),
    "REASON:meaning": phrases("""
        What is {idea} ?, What are {animal}s ?, What is a {thing} ?, What does a {person} do ?,
        What does {idea} mean ?, What is the difference between a {thing} and a {animal} ?,
        Define {idea} ., What does it mean to {deed} ?, Who was the {person} of {place} ?"""),
    "REASON:how": phrases("""
        How do you {deed} ?, How did the {person} {deed} ?, How does a {thing} work ?,
        How can a {animal} {deed} ?, What is the best way to {deed} ?, How is {idea} made ?,
        How was the {thing} {did} ?"""),
    "REASON:why": phrases("""
        Why do {animal}s {deed} ?, Why is the {thing} so popular in {place} ?, What causes {idea} ?
        Why did the {person} leave {place} ?, What makes a {animal} {deed} ?, What is {idea} good for ?
        For what reason was the {thing} {did} ?, How come {animal}s never {deed} ?"""),
    "SHORT:long": phrases("""
        What does {letters} stand for ?, What is the full form of {letters} ?, {letters} is short for what ?
        What do the letters {letters} mean ?, What does the acronym {letters} mean ?"""),
    "SHORT:letters": phrases("""
        What is the abbreviation for {name} ?, How do you abbreviate {name} ?, What letters stand for {name} ?
        What is the short form of {name} ?, What acronym is used for {name} ?"""),
}

LABELS = ("PERSON", "PLACE", "NUMBER", "THING", "REASON", "SHORT")
FINE = tuple(TEMPLATES)
_VOWELS = frozenset("aeiouAEIO")
_KINDS = [({"SHORT:long": 2, "SHORT:letters": 1}.get(fine, 5), fine) for fine in FINE]


def questions(n: int = 2000, seed: int = SEED, split: str = "train", careful: bool = False) -> list[Document]:
    """``n`` questions; the label is the coarse type, the field ``fine`` holds the finer one.

    >>> one = questions(1)[0]
    >>> one.labels[0] in LABELS, one.fields["fine"] in FINE
    (True, True)
    """
    asker = _Asker(Chance(seed, "questions", split, careful=careful), split)
    return [asker.document() for _ in range(n)]


class _Asker:
    """Generates questions from the words that its split may use."""

    def __init__(self, chance: Chance, split: str) -> None:
        self.chance = chance
        self.fillers = {blank: vocabulary(entries, split) for blank, entries in FILLERS.items()}
        self.templates = {fine: vocabulary(entries, split) for fine, entries in TEMPLATES.items()}
        self.manners, self.tails = vocabulary(MANNERS, split), vocabulary(TAILS, split)

    def document(self) -> Document:
        """One question, with errors of spelling and type."""
        fine = self.chance.weighted(_KINDS)
        asked = self.chance.pick(self.templates[fine]).format(**self.blanks())
        if self.chance.happens(0.25):
            asked = f"{asked[:-1]}{self.chance.pick(self.tails)} {asked[-1]}"
        words = _articles(asked.split())
        text = " ".join(misspelt(w, self.chance) if self.chance.happens(MISSPELT) else w for w in words)
        fine = self.chance.slip(MISTYPED, fine, partial(self.chance.pick, FINE))
        return Document(text=text, labels=[fine.partition(":")[0]], fields={"fine": fine})

    def blanks(self) -> dict[str, str]:
        """A word for every slot."""
        blanks = {blank: self.chance.pick(entries) for blank, entries in self.fillers.items()}
        for blank in ("thing", "person", "animal"):
            if self.chance.happens(0.35):
                blanks[blank] = f"{self.chance.favour(self.manners)} {blanks[blank]}"
        blanks["place2"] = self.chance.pick([p for p in self.fillers["place"] if p != blanks["place"]])
        blanks["do"] = self.chance.pick(
            ("steal", "bring home", "paint", "sell", "eat for lunch", "carry to work")
        )
        return blanks


def _articles(words: list[str]) -> list[str]:
    """Replace "a" by "an" before a vowel."""
    heard = zip(words, [*words[1:], ""], strict=True)
    return ["an" if word == "a" and after[:1] in _VOWELS else word for word, after in heard]
