"""Corpora for taggers with no setting given: several languages, sizes and kinds of labels, each in three parts."""

import gzip
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.corpora import corpus

Part = tuple[list[list[Any]], list[list[str]]]


@dataclass(frozen=True)
class Tagged:
    """Sentences and labels to learn from, to choose the rivals' settings on, and to test on."""

    train: Part
    dev: Part
    test: Part


def columns(path: str, separator: str = "\t", read: tuple[int, ...] = (0,)) -> Part:
    """Sentences of a file of columns, labels last; tokens are words, or tuples of the columns that are read."""
    name = corpus(path)
    opened = gzip.open if name.suffix == ".gz" else open
    X: list[list[Any]] = []
    Y: list[list[str]] = []
    with opened(name, "rt", encoding="utf-8") as stream:
        for block in re.split(r"\n\s*\n", stream.read().strip("\n")):
            rows = [line.split(separator) for line in block.split("\n") if separator in line]
            if rows:
                X.append([row[0] if len(read) == 1 else tuple(row[k] for k in read) for row in rows])
                Y.append([row[-1] for row in rows])
    return X, Y


def treebank(part: str, column: int) -> Part:
    """Words and one column of the English web treebank."""
    X: list[list[Any]] = []
    Y: list[list[str]] = []
    name = corpus(f"ud_english_ewt/en_ewt-ud-{part}.conllu.gz")
    with gzip.open(name, "rt", encoding="utf-8") as stream:
        for block in stream.read().strip("\n").split("\n\n"):
            rows = [line.split("\t") for line in block.split("\n") if line[:1].isdigit()]
            rows = [row for row in rows if row[0].isdigit()]
            X.append([row[1] for row in rows])
            Y.append([row[column] for row in rows])
    return X, Y


def penn() -> Part:
    """Words and tags of the leaves of trees."""
    X: list[list[Any]] = []
    Y: list[list[str]] = []
    with gzip.open(corpus("ptb_sample/trees.tsv.gz"), "rt", encoding="utf-8") as stream:
        next(stream)
        for line in stream:
            leaves = [leaf for leaf in re.findall(r"\(([^\s()]+) ([^\s()]+)\)", line) if leaf[0] != "-NONE-"]
            X.append([word for _, word in leaves])
            Y.append([tag for tag, _ in leaves])
    return X, Y


def first(part: Part, sentences: int, skip: int = 0) -> Part:
    """Some of the sentences, in their order."""
    return part[0][skip : skip + sentences], part[1][skip : skip + sentences]


def of_tokens(part: Part, tokens: int) -> Part:
    """The first sentences with at least this many tokens."""
    count = 0
    for n, sentence in enumerate(part[0]):
        count += len(sentence)
        if count >= tokens:
            return first(part, n + 1)
    return part


def spread(part: Part, *sizes: int) -> list[Part]:
    """Parts of sentences in random order."""
    order = list(range(len(part[0])))
    random.Random(1).shuffle(order)
    parts, start = [], 0
    for size in sizes:
        which = order[start : start + size]
        parts.append(([part[0][n] for n in which], [part[1][n] for n in which]))
        start += size
    return parts


def ewt(tokens: int, column: int) -> Tagged:
    train, dev, test = (treebank(part, column) for part in ("train", "dev", "test"))
    return Tagged(of_tokens(train, tokens), first(dev, 400), first(test, 800))


def ingredients(sentences: int) -> Tagged:
    train, dev = spread(columns("ingredients/train.tsv.gz", read=(0, 1)), sentences, 400)
    return Tagged(train, dev, spread(columns("ingredients/test.tsv.gz", read=(0, 1)), 1000)[0])


def sutd(name: str, sentences: int) -> Tagged:
    train, dev = spread(columns(f"sutd_hmm_2020/{name}/train", " "), sentences, 400)
    return Tagged(train, dev, first(columns(f"sutd_hmm_2020/{name}/dev.out", " "), 800))


def chunks() -> Tagged:
    train, test = (columns(f"conll2000/{part}.tsv", read=(0, 1)) for part in ("train", "test"))
    return Tagged(first(train, 400), first(train, 300, 1000), first(test, 600))


def spanish(sentences: int) -> Tagged:
    train, dev, test = (columns(f"conll2002_es/{part}.tsv") for part in ("train", "dev", "test"))
    return Tagged(first(train, sentences), first(dev, 400), first(test, 800))


def posts(sentences: int) -> Tagged:
    train, dev, test = (columns(f"wnut17/{part}.tsv") for part in ("train", "dev", "test"))
    return Tagged(first(train, sentences), first(dev, 500), first(test, 800))


def slots(sentences: int) -> Tagged:
    train, dev, test = spread(made_requests(sentences + 1200), sentences, 400, 800)
    return Tagged(train, dev, test)


CORPORA: dict[str, Callable[[], Tagged]] = {
    "treebank, 14,000 tokens": lambda: ewt(14_000, 3),
    "treebank, 37,000 tokens": lambda: ewt(37_000, 4),
    "chunks, 400": chunks,
    "Spanish names, 500": lambda: spanish(500),
    "Spanish names, 2500": lambda: spanish(2500),
    "posts, 800": lambda: posts(800),
    "posts, 3394": lambda: posts(3394),
    "ingredients, 500": lambda: ingredients(500),
    "ingredients, 2000": lambda: ingredients(2000),
    "tweets, 1000": lambda: sutd("SG", 1000),
    "phrases, 500": lambda: sutd("EN", 500),
    "slots, 700": lambda: slots(700),
    "news tags, 400": lambda: Tagged(*spread(penn(), 400, 300, 800)),
}

# -- requests in lower case: some forty kinds of slots whose fillers overlap, so that the context decides -------------

CITIES = "boston|denver|san francisco|new york|oslo|porto|lima|fort worth|salt lake city|quito|nice|reading|bath|lyon"
NAMES = "anna|ben|carla|li wei|omar|sofia|grace|will|mark|rose|jack miller|june park|hope|frank"
DAYS = "monday|tuesday|next friday|tomorrow|the fifth of may|june third|this weekend|tonight|on the first|december 24"
TIMES = "noon|five pm|half past six|eight thirty|the morning|after ten|before 7 am|midnight|three o'clock"
NUMBERS = "two|three|four|a couple of|12|one|seven|ten|a dozen|5"
THINGS = "coffee|lamp|running shoes|phone case|tea|garden hose|red wine|winter coat|kettle|notebook"
FOODS = "thai|italian|sushi|vegan|tacos|seafood|ramen|burgers|greek|pizza"
AIRLINES = "delta|united|blue wing|north star|iberia|quick air"
AMOUNTS = "fifty dollars|20 euros|a hundred|ten pounds|300 dollars|twelve fifty"
GENRES = "jazz|rock|folk|hip hop|classical|soul|ambient"
PARTS = ("ba", "mo", "ri", "ta", "len", "so", "vik", "dan", "ru", "el", "pa", "no", "shi", "kor", "mi", "gre")

FILLERS: dict[str, str] = {
    "from_city": CITIES, "to_city": CITIES, "stop_city": CITIES, "hotel_city": CITIES, "weather_city": CITIES,
    "depart_day": DAYS, "return_day": DAYS, "hotel_day": DAYS, "weather_day": DAYS,
    "table_day": DAYS, "event_day": DAYS,
    "depart_time": TIMES, "arrive_time": TIMES, "table_time": TIMES, "event_time": TIMES, "alarm_time": TIMES,
    "passengers": NUMBERS, "party_size": NUMBERS, "nights": NUMBERS, "quantity": NUMBERS, "rooms": NUMBERS,
    "airline": AIRLINES, "fare_class": "economy|business|first class|the cheapest", "food": FOODS, "dish": FOODS,
    "restaurant": "*", "artist": "*", "song": "* *", "playlist": "my *|*|* mix", "album": "the *|*",
    "genre": GENRES, "guest": NAMES, "payee": NAMES, "contact": NAMES,
    "event": "lunch|a meeting|yoga|standup|a call|dinner",
    "amount": AMOUNTS, "price_limit": AMOUNTS, "account": "savings|checking|my card|the joint account",
    "item": THINGS, "color": "red|blue|green|black|white", "size": "small|medium|large|extra large",
    "shop": "*|the corner shop", "weather": "rain|snow|sun|wind|a storm",
    "message": "i am late|call me|see you soon|happy birthday",
}  # fmt: skip

TEMPLATES = """
i need a flight from {from_city} to {to_city} {depart_day}
book {passengers} seats on {airline} to {to_city} leaving {depart_day} at {depart_time}
show me {fare_class} fares from {from_city} to {to_city} with a stop in {stop_city}
which flights arrive in {to_city} before {arrive_time} and return {return_day}
{airline} from {from_city} {depart_day} coming back {return_day} for {passengers}
does {airline} fly through {stop_city} on {depart_day}
find a hotel in {hotel_city} for {nights} nights from {hotel_day}
i want {rooms} rooms in {hotel_city} under {price_limit} for {nights} nights
reserve a table for {party_size} at {restaurant} {table_day} at {table_time}
is there a {food} place near {hotel_city} that takes {party_size} people {table_day}
order {quantity} {dish} from {restaurant}
get me {dish} and {quantity} {item} by {table_time}
will there be {weather} in {weather_city} {weather_day}
what is the forecast for {weather_city} {weather_day}
do i need to expect {weather} {weather_day}
play {song} by {artist}
add {song} to {playlist}
put on some {genre} or something by {artist}
play the album {album} from {artist} on {playlist}
i would like to hear {genre} from {playlist}
schedule {event} with {guest} {event_day} at {event_time}
move {event} with {guest} to {event_time}
cancel {event} {event_day}
wake me at {alarm_time} {event_day}
set an alarm for {alarm_time}
send {amount} to {payee} from {account}
transfer {amount} from {account} to {payee} {event_day}
how much did i pay {payee} out of {account}
text {contact} {message}
tell {contact} that {message}
call {contact} at {event_time}
buy {quantity} {color} {item} from {shop}
i am looking for a {size} {color} {item} below {price_limit}
compare {item} at {shop} under {price_limit}
do they have {item} in {size} at {shop}
"""
BEFORE = ("please", "hey", "could you", "can you please", "i think", "ok so")
AFTER = ("please", "thanks", "if possible", "right now", "as soon as you can")


def made_requests(count: int) -> Part:
    """Requests from templates and fillers, with words before and after, names made of syllables, and some words
    dropped."""
    chance = random.Random(7)
    templates = TEMPLATES.strip().split("\n")
    X: list[list[Any]] = []
    Y: list[list[str]] = []
    for _ in range(count):
        words: list[str] = []
        tags: list[str] = []

        def say(text: str, slot: str | None = None, words: list[str] = words, tags: list[str] = tags) -> None:
            for k, word in enumerate(text.split()):
                words.append(word)
                tags.append("O" if slot is None else f"{'B' if k == 0 else 'I'}-{slot}")

        if chance.random() < 0.3:
            say(chance.choice(BEFORE))
        for word in chance.choice(templates).split():
            slot = re.fullmatch(r"\{(.*)\}", word)
            if slot is not None:
                filler = chance.choice(FILLERS[slot[1]].split("|"))
                say(re.sub(r"\*", lambda _: _name(chance), filler), slot[1])
            elif chance.random() > 0.06:
                say(word)
        if chance.random() < 0.2:
            say(chance.choice(AFTER))
        X.append(words)
        Y.append(tags)
    return X, Y


def _name(chance: random.Random) -> str:
    return "".join(chance.choice(PARTS) for _ in range(chance.randint(2, 3)))
