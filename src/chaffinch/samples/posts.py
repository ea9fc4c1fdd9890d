"""Short posts with entities and their sentiment; the clue is often far from the name."""

from functools import partial

from chaffinch.samples.chance import SEED, Chance, misspelt, phrases, vocabulary
from chaffinch.text.document import Document

LABELS = ("O", "B-positive", "I-positive", "B-neutral", "I-neutral", "B-negative", "I-negative")

MISSPELT = 0.025
MISJUDGED = 0.06  # fraction of the entities with a wrong sentiment

# Half of these are also everyday words: mango, comet, otter, sunday, harbour, lantern, juniper, copper.
GADGETS = phrases("""
    Mango 7, Lumo, Kestrel Pro, Comet, Tinwhistle, Otter Mini, the new Pebblephone, Halo Watch, Nimbus 3,
    Copper OS, Snail Mail, Wobble, Quill Pad, Juniper, Zephyr Buds, Brick Two, Marmot Cam, Toastly,
    Owl Reader, Gizmo Max, Fern""")
PLACES = phrases("""
    Cafe Otter, Harbour Street, the Lantern, Pickle and Rye, Noodle Palace, Grumble Park, Sunday Bakery,
    Little Tbilisi, Copper Kettle, the Salty Goose, Juniper Bar, Dumpling Lane, Old Mill Cinema,
    Waffle Yard, Birch and Bean, Mango Tree, Cafe Zeppelin, the Blue Heron, Soup Republic, Upper Wickham,
    Fat Radish""")
PEOPLE = phrases("""
    Mira Okafor, the Quiet Otters, Dolly Parsnip, Captain Static, Ines Vall, Velvet Kettle, coach Brandt,
    Theo Lark, the Harbour Lions, mayor Pimm, Sunday League, Nadia Frost, the Copper Kings, Rollo,
    Professor Gull, Ada Winters, the Tuesday Band, Jun Park, Comet Girls, Bram Stone, Otis Fable""")
COMPANIES = phrases("""
    Lumo Air, Brightwater Bank, NorthBus, Comet Rail, Pronto Parcel, Mango Mobile, Sunday Times Square,
    Gull Energy, City Ferries, Harbour Bank, Tiger Gym, SnackDash, Otterlink, Bluebell Broadband,
    Metro 4, Kettle and Co, Fizz Taxi, Juniper Insurance, Penguin Post, Copper Water, Velo Share""")
HANDLES = phrases("""
    @lumo_air, @mira_sings, @harbourlions, @snackdash, @northbus, @brightwater, @quietotters, @cometrail,
    @otterlink, @dollyparsnip, @tigergym, @sundaybakery, @velo_share, @fizztaxi""")
FRIENDS = phrases("""
    @jo_ellen, @tomasz, @nightowl22, @pia, @kev_in_kent, @soupfan, @lin, @mx_biscuit, @oldjim, @zara_k""")

GOOD = phrases("""
    love it, what a treat, best thing this year, never been happier, five stars, so so good,
    can not stop smiling, made my day, worth every penny, not bad at all, nobody does it better,
    i would queue again in the rain, my gran approves, absolute joy, no complaints whatsoever,
    still grinning, how did i live without it, 10/10, pure magic, count me in, exactly what i needed""")
BAD = phrases("""
    never again, what a mess, total waste of money, want my money back, so disappointed, not worth it,
    one star, hate it, worst ever, i gave up after an hour, not good at all, nobody answers the phone,
    avoid, still waiting, my gran does it better, what a joke, an absolute shambles, want to cry, 0/10,
    a swindle, do better""")
SO_SO = phrases("""
    opens at nine, see you there, does anyone have a spare ticket, is it far, on channel 4 tonight,
    more on this later, who is coming, saw it from the train, apparently, it is a thing now,
    asking for a friend, any news, discuss, out on friday, same as last year, just saying,
    according to the radio, need directions, photos later, so there""")

PRAISE = phrases("""
    great, lovely, brilliant, superb, gorgeous, delightful, stunning, perfect, wonderful, sweet""")
BLAME = phrases("awful, terrible, useless, rubbish, dreadful, hopeless, rude, dire, grim, broken")

OPENERS = phrases("""
    so, ok so, just, well, today, finally, right, guys, psst, honestly, breaking :, oh, ugh monday but,
    hello world, in other news, day three :""")
FILLERS = phrases("""
    after two weeks of rain, while the kids were asleep, on the way to work, with my cousin and her dog,
    before my second coffee, between two meetings, in front of the whole office,
    for the third time this month, with half the town watching, under a copper sky, over a bowl of soup,
    at the harbour, on a sunday, because my sister would not stop talking about it,
    and then it started to snow, with mango juice all over my shirt""")
TAGS = phrases("""
    #mondays, #tbt, #foodie, #fail, #blessed, #nofilter, #help, #commute, #weekend, #tired, #win, #lol,
    #sunday""")
SIGNS = phrases(":), :(, :D, 😂, 🙄, ❤, !!, ..., haha, lol, 👏, xx")

VERBS = {
    "gadget": phrases("""
        got, tried, dropped, bought, unboxed, upgraded to, returned from the shop with, found"""),
    "place": phrases("""
        went to, ate at, walked past, was at, ended up at, took mum to, am stuck in, waited outside"""),
    "person": phrases("saw, heard, met, watched, listened to, bumped into, waited for, danced to"),
    "company": phrases("called, switched to, took, waited for, wrote to, tried, signed up with, heard from"),
}
KINDS = {"gadget": GADGETS, "place": PLACES, "person": PEOPLE, "company": COMPANIES}

Entity = tuple[list[str], str]  # its words, its sentiment
Piece = str | Entity


def posts(n: int = 2500, seed: int = SEED, split: str = "train", careful: bool = False) -> list[Document]:
    """``n`` posts with entities and their sentiment as B-/I-/O tags in column ``y``.

    The clue to the sentiment may be at the other end of the post, negated, or ironic.

    >>> sorted({tag for post in posts(300) for tag in post.columns["y"]})
    ['B-negative', 'B-neutral', 'B-positive', 'I-negative', 'I-neutral', 'I-positive', 'O']
    """
    pen = _Pen(Chance(seed, "posts", split, careful=careful), split)
    return [pen.document() for _ in range(n)]


class _Pen:
    """Generates posts from the words that its split may use."""

    def __init__(self, chance: Chance, split: str) -> None:
        self.chance = chance
        self.names = {kind: vocabulary(names, split) for kind, names in KINDS.items()}
        self.verbs = {kind: vocabulary(verbs, split) for kind, verbs in VERBS.items()}
        self.handles = vocabulary(HANDLES, split)
        self.clues = {
            "positive": vocabulary(GOOD, split),
            "negative": vocabulary(BAD, split),
            "neutral": vocabulary(SO_SO, split),
        }
        self.adjectives = {"positive": vocabulary(PRAISE, split), "negative": vocabulary(BLAME, split)}
        self.fillers = vocabulary(FILLERS, split)

    def document(self) -> Document:
        """One post, with errors of spelling and sentiment."""
        pieces = self.chance.weighted(_SHAPES)(self)
        if self.chance.happens(0.2):
            pieces = [self.chance.pick(FRIENDS), *pieces]
        if self.chance.happens(0.25):
            pieces = [*pieces, self.chance.pick(SIGNS)]
        if self.chance.happens(0.25):
            pieces = [*pieces, self.chance.pick(TAGS)]
        if self.chance.happens(0.15):
            pieces = [*pieces, f"http://t.example/{self.chance.below(16**4):04x}"]
        words: list[str] = []
        tags: list[str] = []
        for piece in pieces:
            if isinstance(piece, str):
                for word in piece.split():
                    slips = self.chance.happens(MISSPELT)
                    words.append(misspelt(word, self.chance) if slips else word)
                    tags.append("O")
            else:
                name, sentiment = piece
                heard = partial(self.chance.pick, ("positive", "neutral", "negative"))
                sentiment = self.chance.slip(MISJUDGED, sentiment, heard)
                words += name
                tags += [f"{'I' if i else 'B'}-{sentiment}" for i in range(len(name))]
        return Document.from_words(words, y=tags)

    # The shapes of a post.

    def far_clue(self) -> list[Piece]:
        """Saw Mira Okafor while the kids were asleep, my gran approves."""
        sentiment = self.sentiment()
        verb, entity = self.action(sentiment)
        middle = self.chance.some(self.fillers, self.chance.weighted(((3, 0), (5, 1), (2, 2))))
        return [
            *self.opener(),
            verb,
            entity,
            *middle,
            ",",
            *self.detour(),
            self.chance.favour(self.clues[sentiment]),
        ]

    def early_clue(self) -> list[Piece]:
        """What a mess, for the third time this month NorthBus left without me."""
        sentiment = self.sentiment()
        clue = self.chance.favour(self.clues[sentiment])
        verb, entity = self.action(sentiment)
        return [clue, self.chance.pick((",", "!", "...")), self.chance.pick(self.fillers), "i", verb, entity]

    def adjective(self) -> list[Piece]:
        """The Lantern is not terrible."""
        sentiment = self.chance.pick(("positive", "negative"))
        other = "negative" if sentiment == "positive" else "positive"
        negated = self.chance.happens(0.3)
        word = self.chance.favour(self.adjectives[other if negated else sentiment])
        verb = self.chance.pick(("is", "was", "sounds", "looks", "has been"))
        degree = self.chance.pick(("", "so", "really", "truly", "just", "pretty"))
        said = f"{verb} not {word}" if negated else f"{verb} {degree} {word}"
        return [
            *self.opener(),
            self.entity(sentiment),
            said,
            self.chance.pick((*self.fillers, "", "", "again")),
        ]

    def contrast(self) -> list[Piece]:
        """Left Lumo Air for Comet Rail and never been happier: one up, one down."""
        kind = self.chance.pick(tuple(KINDS))
        won, lost = (name.split() for name in self.chance.some(self.names[kind], 2))
        up = self.chance.happens(0.5)
        clue = self.chance.favour(self.clues["positive" if up else "negative"])
        old: Entity = (lost, "negative" if up else "positive")
        new: Entity = (won, "positive" if up else "negative")
        how = self.chance.below(3)
        if how == 0:
            return [*self.opener(), "left", old, "for", new, self.chance.pick(self.fillers), ",", clue]
        if how == 1:
            return ["we had", old, "last year and now", new, ",", *self.detour(), clue]
        return ["from", old, "to", new, "in one week :", clue]

    def two_neutral(self) -> list[Piece]:
        """Is there a bus from Harbour Street to the Blue Heron."""
        first, second = (name.split() for name in self.chance.some(self.names["place"], 2))
        return [
            self.chance.pick(("is there a bus from", "how far is it from", "meet me between", "a kite over")),
            (first, "neutral"),
            self.chance.pick(("to", "and")),
            (second, "neutral"),
            self.chance.favour(self.clues["neutral"]),
        ]

    def irony(self) -> list[Piece]:
        """Oh great, NorthBus is late again 👏."""
        trouble = self.chance.pick(
            ("is late again", "is down again", "lost my parcel again", "cancelled on us")
        )
        praise = self.chance.favour(self.adjectives["positive"])
        return [
            "oh",
            praise,
            ",",
            self.entity("negative"),
            trouble,
            self.chance.pick(("👏", "🙄", "thanks", "!!", "")),
        ]

    def handle(self) -> list[Piece]:
        """@snackdash my soup arrived cold, never again."""
        sentiment = self.sentiment()
        story = self.chance.pick(
            ("my soup arrived", "i sat in row 12", "the app opened", "we waited", "it rained")
        )
        clue = self.chance.favour(self.clues[sentiment])
        return [
            ([self.chance.favour(self.handles)], sentiment),
            story,
            self.chance.pick(self.fillers),
            ",",
            clue,
        ]

    def nothing(self) -> list[Piece]:
        """A post without an entity, with words that are names in other posts."""
        thing = self.chance.pick(
            ("a comet", "an otter", "the lantern", "mango", "juniper", "a kestrel", "a copper kettle")
        )
        mood = self.chance.pick(("positive", "neutral", "negative"))
        verb = self.chance.pick(("saw", "found", "dreamt of", "bought", "drew", "is this"))
        return [
            *self.opener(),
            verb,
            thing,
            self.chance.pick(self.fillers),
            ",",
            self.chance.favour(self.clues[mood]),
        ]

    # The parts.

    def sentiment(self) -> str:
        """A random sentiment, most often neutral."""
        return self.chance.weighted(((4, "neutral"), (3, "positive"), (3, "negative")))

    def action(self, sentiment: str) -> tuple[str, Entity]:
        """Ate at | the Salty Goose."""
        kind = self.chance.pick(tuple(KINDS))
        return self.chance.favour(self.verbs[kind]), (self.chance.favour(self.names[kind]).split(), sentiment)

    def entity(self, sentiment: str) -> Entity:
        """Any name, sometimes in lower case or as a hashtag."""
        words = self.chance.favour(self.names[self.chance.pick(tuple(KINDS))]).split()
        if self.chance.happens(0.12):
            return ["#" + "".join(words).lower()], sentiment
        return ([w.lower() for w in words] if self.chance.happens(0.3) else words), sentiment

    def opener(self) -> list[Piece]:
        """Ok so."""
        return [self.chance.favour(OPENERS)] if self.chance.happens(0.5) else []

    def detour(self) -> list[Piece]:
        """A remark between the entity and the clue, sometimes with the opposite adjective in it."""
        if not self.chance.happens(0.35):
            return []
        word = self.chance.pick((*PRAISE, *BLAME))
        about = self.chance.pick(("the weather was", "my hair looked", "the parking was", "the bus home was"))
        return [f"{about} {word} but"]


_SHAPES = (
    (26, _Pen.far_clue),
    (12, _Pen.early_clue),
    (16, _Pen.adjective),
    (10, _Pen.contrast),
    (10, _Pen.two_neutral),
    (6, _Pen.irony),
    (10, _Pen.handle),
    (10, _Pen.nothing),
)
