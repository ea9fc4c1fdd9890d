"""Topic documents: club notices of several paragraphs, with misleading headers and quotes from elsewhere."""

from functools import partial

from chaffinch.samples.chance import SEED, Chance, misspelt, phrases, vocabulary
from chaffinch.text.document import Document

MISSPELT = 0.01
MISFILED = 0.03  # fraction of the documents with the label of a related topic

# Families of related topics: shared words, then each topic's own words.
FAMILIES: tuple[tuple[str, dict[str, str]], ...] = (
    (
        "oven, dough, flavour, sugar, recipe, batch, temperature, kitchen, thermometer, sieve, aroma, scale",
        {
            "baking": """
                bread, crust, sourdough, yeast, tin, cake, icing, flour, proofing basket, pastry, scone,
                oven shelf, meringue, rolling pin, brioche, glaze, marzipan, crumb""",
            "brewing": """
                hops, barrel, malt, yeast, stout, cider, keg, foam, barley, bottle, mash tun, ale, cask,
                fermenter, hydrometer, wort, tap, yeast starter""",
            "coffee": """
                grinder, espresso, beans, roast, crema, kettle, barista, portafilter, cup, milk jug,
                latte, grounds, French press, burr, drip tray, decaf, tasting spoon, moka pot""",
            "cheese": """
                curd, rind, rennet, whey, cheddar, cave, milk, mould, brie, goat, cheesecloth, wheel,
                cultures, press, halloumi, wax, stilton, paddle""",
        },
    ),
    (
        "club, trail, hill, map, boots, weather, distance, knee, water bottle, route, backpack, heel",
        {
            "cycling": """
                saddle, pedal, chain, tyre, gears, helmet, puncture, wheel, brake, handlebar, peloton,
                inner tube, tandem, spokes, derailleur, panniers, cadence, bell""",
            "running": """
                marathon, stopwatch, sprint, pace, laces, finish line, treadmill, track, relay, cramp,
                interval, starting gun, pacemaker, shin, parkrun, stride, lap, medal""",
            "hiking": """
                summit, tent, ridge, compass, stile, waterfall, hut, cairn, sleeping bag, moor, valley,
                rucksack, scree, footbridge, signpost, blister, gaiters, bothy""",
            "sailing": """
                mast, jib, harbour, tide, rudder, knot, hull, anchor, regatta, keel, rope, wind,
                spinnaker, buoy, tiller, lifejacket, boom, mainsail""",
        },
    ),
    (
        "garden, nest, season, flower, hedge, spring, seed, frost, shed, pollen, wing, meadow, pond",
        {
            "birds": """
                binoculars, wren, feeder, chaffinch, hide, owl, plumage, song, warbler, beak, migration,
                heron, kestrel, fledgling, robin, nest box, egg, field guide""",
            "bees": """
                hive, queen, swarm, honey, smoker, frame, drone, veil, wax, comb, propolis, brood,
                nectar, colony, foundation, entrance, stings, extractor""",
            "gardening": """
                compost, tulip, spade, greenhouse, slugs, rose, pruning, weeds, lawn, tomato, mulch,
                wheelbarrow, bulb, watering can, dahlia, trellis, rake, seedlings""",
        },
    ),
    (
        "lens, signal, night, focus, exposure, antenna, tripod, battery, sky, noise, cable, band, software",
        {
            "astronomy": """
                telescope, nebula, planet, eclipse, comet, moon, galaxy, eyepiece, star chart, saturn,
                meteor, observatory, orbit, constellation, sunspot, jupiter, mirror, dark site""",
            "photography": """
                shutter, camera, darkroom, portrait, film, aperture, flash, print, negative, enlarger,
                contrast, tripod head, macro, negatives, developer, light meter, studio, album""",
            "radio": """
                transmitter, frequency, morse key, receiver, call sign, shortwave, repeater, headphones,
                mast, static, soldering iron, oscillator, ionosphere, contest, dipole, relay, dial, valve""",
        },
    ),
    (
        "table, rules, opponent, move, clock, player, tournament, board, piece, evening, score, corner",
        {
            "chess": """
                bishop, pawn, endgame, knight, opening, gambit, queen, castling, rook, checkmate,
                stalemate, fork, blunder, sacrifice, file, grandmaster, king, zugzwang""",
            "boardgames": """
                dice, meeple, expansion, card, token, tiles, auction, victory points, rulebook, dungeon,
                deck, hex map, insert, cooperative, drafting, settlers, sand timer, shuffle""",
            "crosswords": """
                clue, anagram, grid, setter, cryptic, pencil, homophone, solver, wordplay, dictionary,
                across, letters, palindrome, synonym, down, thesaurus, eraser, black square""",
        },
    ),
    (
        "workshop, pattern, glue, needle, finish, tool, edge, colour, clamp, thread, sandpaper, bench, wood",
        {
            "knitting": """
                wool, cable stitch, cardigan, yarn, purl, sock, mitten, gauge, row, skein, jumper,
                cast-off, moss stitch, alpaca, bobble, crochet hook, ribbing, scarf""",
            "pottery": """
                clay, kiln, glaze, wheel, bowl, firing, teapot, slip, mug, stoneware, porcelain,
                trimming, throwing, raku, vase, cone, sponge, handle""",
            "guitars": """
                fret, chord, string, amplifier, capo, pickup, neck, bridge, solo, plectrum, luthier,
                body, strumming, riff, tuning peg, truss rod, blues, barre""",
        },
    ),
)

LABELS = tuple(topic for _, topics in FAMILIES for topic in topics)

SENTENCES = phrases("""
    has anyone tried a different {} since the {} broke
    my {} is not what it used to be and the {} is to blame
    we spent all morning on the {} and forgot the {} completely
    the trick with the {} is patience and a decent {}
    i would swap my {} for your {} any day
    last week somebody left a {} in the hall next to the {}
    the old {} is better than any {} money can buy
    please bring your own {} because the {} belongs to Margaret
    there is nothing wrong with a {} that a new {} would not cure
    my uncle says you should never lend a {}
    it took me a year to understand the {}
    a beginner needs one good {} and no {} at all
    the question of the {} came up again and no one could agree
    we are looking for a {} in good condition
    if you are unsure about the {} then ask before you touch the {}
    i dropped the {} on the {} and nobody laughed
    do not let the {} near the {} in this heat
    the judges liked the {} but not the {}
    what finally worked was a smaller {}
    you can tell a lot about people from their {}""")
CHATTER = phrases("""
    thanks to everybody who came on thursday
    the biscuits were finished before eight
    parking is still a problem
    new members are always welcome
    the minutes will follow
    please pay what you owe by the end of the month
    does anyone own a blue scarf left behind the door
    next time we meet in the smaller room
    sorry for the long message
    and yes there will be cake""")
ORDINARY = phrases("""
    key, door, chair, newspaper, train ticket, umbrella, teapot, lamp, notebook, ladder, sandwich, scarf,
    bicycle, radio, piano, candle, postcard, bucket, telephone, rug, calendar""")
PEOPLE = phrases("""
    Margaret, Olu, Piet, Anneke, Bashir, Rosalind, Tomos, Wen, Greta, Idris, Frances, Yusuf, Kaja, Bertie""")


def topics(n: int = 1500, seed: int = SEED, split: str = "train", careful: bool = False) -> list[Document]:
    """``n`` documents of several paragraphs on twenty topics; the label is the topic.

    Related topics share words, the subject line may be left over from another thread, and quoted text (after ``>``)
    may come from another club.

    >>> len(LABELS)
    20
    >>> one = topics(1)[0]
    >>> one.labels[0] in LABELS, one.text.count("\\n\\n") >= 2
    (True, True)
    """
    post = _Post(Chance(seed, "topics", split, careful=careful), split)
    return [post.document() for _ in range(n)]


class _Post:
    """Generates documents from the words that its split may use."""

    def __init__(self, chance: Chance, split: str) -> None:
        self.chance = chance
        self.sentences = vocabulary(SENTENCES, split)
        self.own: dict[str, list[str]] = {}
        self.shared: dict[str, list[str]] = {}
        self.sisters: dict[str, list[str]] = {}
        for words, family in FAMILIES:
            for topic, own in family.items():
                self.own[topic] = vocabulary(phrases(own), split)
                self.shared[topic] = vocabulary(phrases(words), split)
                self.sisters[topic] = [t for t in family if t != topic]

    def document(self) -> Document:
        """Header, sometimes a quotation, two to four paragraphs, a signature."""
        topic = self.chance.pick(LABELS)
        blocks = [self.header(topic)]
        if self.chance.happens(0.45):
            blocks.append(self.quotation(self.another(topic) if self.chance.happens(0.5) else topic))
        blocks += [self.paragraph(topic) for _ in range(self.chance.between(2, 4))]
        if self.chance.happens(0.5):
            blocks.append(
                f"-- \n{self.chance.pick(PEOPLE)}, {self.chance.pick(('secretary', 'treasurer', 'member'))}"
            )
        filed = self.chance.slip(MISFILED, topic, partial(self.chance.pick, self.sisters[topic]))
        return Document(text="\n\n".join(blocks), labels=[filed])

    def header(self, topic: str) -> str:
        """From and Subject lines; the subject is often left over from another thread."""
        about = self.another(topic) if self.chance.happens(0.5) else topic
        word = self.word(about, straying=0.5)
        subject = self.chance.pick(
            ("Re: {}", "{}", "the {} again", "Re: Re: a question about the {}", "lost: {}")
        ).format(word)
        return f"From: {self.chance.pick(PEOPLE).lower()}@clubs.example\nSubject: {subject}"

    def quotation(self, topic: str) -> str:
        """One or two sentences by another writer."""
        lines = [f"> {self.sentence(topic)}" for _ in range(self.chance.between(1, 2))]
        return "\n".join([f"{self.chance.pick(PEOPLE)} wrote:", *lines])

    def paragraph(self, topic: str) -> str:
        """One to three sentences on the topic, often with a general remark."""
        said = [self.sentence(topic) for _ in range(self.chance.between(1, 3))]
        if self.chance.happens(0.6):
            said.insert(self.chance.below(len(said) + 1), f"{_upper(self.chance.pick(CHATTER))}.")
        return " ".join(said)

    def sentence(self, topic: str) -> str:
        """One sentence; its nouns are from the topic, the family, or the common words."""
        template = self.chance.pick(self.sentences)
        filled = template.format(*(self.word(topic, straying=0.45) for _ in range(template.count("{}"))))
        words = (misspelt(w, self.chance) if self.chance.happens(MISSPELT) else w for w in filled.split())
        return _upper(" ".join(words)) + self.chance.pick((".", ".", "!", "..."))

    def word(self, topic: str, straying: float) -> str:
        """A noun of the topic; with probability ``straying``, of the family, a related topic or the common words."""
        if not self.chance.happens(straying):
            return self.chance.favour(self.own[topic])
        where = self.chance.below(4)
        if where < 2:
            return self.chance.pick(self.shared[topic])
        if where == 2:
            return self.chance.favour(self.own[self.chance.pick(self.sisters[topic])])
        return self.chance.pick(ORDINARY)

    def another(self, topic: str) -> str:
        """Any other topic."""
        return self.chance.pick([t for t in LABELS if t != topic])


def _upper(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
