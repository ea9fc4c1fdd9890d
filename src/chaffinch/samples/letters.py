"""Words as sequences of noisy letter images, 16 by 8; each word is in one handwriting."""

from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from chaffinch.samples.chance import SEED, Chance, phrases, vocabulary
from chaffinch.text.document import Document

ROWS, COLUMNS = 16, 8

BROKEN = 0.25  # fraction of the letters that lose a stroke
MISREAD = 0.01  # fraction of the letters that are labelled as a similar letter

LOOKALIKES = {
    "n": "h",
    "h": "n",
    "c": "e",
    "e": "c",
    "i": "l",
    "l": "i",
    "u": "v",
    "v": "u",
    "g": "q",
    "q": "g",
    "o": "a",
    "a": "o",
}

VOCABULARY = phrases("""
    meadow, heron, thistle, sparrow, willow, bramble, feather, chaffinch, barley, kestrel, nettle,
    harvest, orchard, swallow, cottage, lantern, village, pasture, clover, magpie, hedgerow, plover,
    stream, brook, finch, acorn, badger, hollow, robin, thrush, warbler, linnet, starling, blackbird,
    goldfinch, nightjar, wren, curlew, lapwing, osprey, falcon, raven, jackdaw, cuckoo, pigeon, pheasant,
    partridge, quail, buzzard, kingfisher, dipper, wagtail, pipit, siskin, redwing, fieldfare, bullfinch,
    nuthatch, treecreeper, waxwing, skylark, woodpecker, swift, martin, mallard, gannet, puffin,
    cormorant, tern, avocet, oak, birch, hazel, rowan, alder, hawthorn, maple, poplar, juniper, chestnut,
    walnut, cherry, elder, holly, ivy, heather, bracken, fern, gorse, primrose, bluebell, cowslip,
    foxglove, poppy, violet, daisy, buttercup, snowdrop, wheat, chaff, grain, straw, furrow, plough,
    tractor, scarecrow, windmill, barn, stable, paddock, fence, gate, otter, hedgehog, weasel, rabbit,
    squirrel, beetle, dragonfly, ladybird, bumblebee, cricket, spider, snail, newt, toad, river, valley,
    quarry, bridge, moorland, marsh, island, harbour, cliff, beach, pebble, tide, shallow, drift,
    thunder, drizzle, frost, breeze, twilight, rainbow, sunrise, blizzard, shadow, mist, autumn, winter,
    summer, spring, whistle, murmur, flutter, rustle, chatter, quiver, gather, wander, linger, sparkle,
    glimmer, scatter, nestle, warble, basket, bucket, ladder, wagon, saddle, kettle, blanket, candle,
    jacket, pocket, thicket, vixen, zigzag, quartz""")

Pixels = NDArray[np.uint8]

_LEANING = ((1, -1), (4, 0), (1, 1))  # weights of a slant to the left, none, to the right


def letters(
    n: int = 1500, seed: int = SEED, split: str = "train", careful: bool = False
) -> tuple[list[Document], Pixels, NDArray[np.int64]]:
    """``n`` words: the documents, the images of all their letters, and the bounds of each word among them.

    documents: one per word; a token is an image as 32 hexadecimal digits, column ``y`` its letter
    pixels:    uint8 [letters, 128], 0 or 1, row by row, 16 rows of 8
    bounds:    int64 [n+1], word w is the letters bounds[w] .. bounds[w+1]

    >>> documents, pixels, bounds = letters(2)
    >>> pixels.shape == (bounds[-1], 128), len(documents), len(bounds)
    (True, 2, 3)
    """
    chance = Chance(seed, "letters", split, careful=careful)
    words = vocabulary(VOCABULARY, split)
    documents, images, bounds = [], [], [0]
    for _ in range(n):
        word = chance.pick(words)
        written = _written(word, chance)
        read = [chance.slip(MISREAD, c, partial(_lookalike, c)) for c in word]
        tokens = [np.packbits(image).tobytes().hex() for image in written]
        documents.append(Document.from_words(tokens, y=read))
        images += written
        bounds.append(len(images))
    pixels = np.array(images, dtype=np.uint8).reshape(-1, ROWS * COLUMNS)
    return documents, pixels, np.array(bounds, dtype=np.int64)


def image(token: str) -> Pixels:
    """The image that a token encodes: uint8 [16, 8], 0 or 1."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(token), dtype=np.uint8)).reshape(ROWS, COLUMNS)


def _written(word: str, chance: Chance) -> list[Pixels]:
    """The letters of a word in one handwriting: slant and pen are the same for all, noise differs."""
    slant, thick = chance.weighted(_LEANING), chance.happens(0.3)
    return [_slips(_shaped(_drawn()[c], slant, thick), chance) for c in word]


def _shaped(glyph: Pixels, slant: int, thick: bool) -> Pixels:
    shaped = glyph
    if slant:
        shaped = shaped.copy()
        shaped[: ROWS // 3] = np.roll(shaped[: ROWS // 3], slant, axis=1)
        shaped[-ROWS // 3 :] = np.roll(shaped[-ROWS // 3 :], -slant, axis=1)
    if thick:
        shaped = shaped | np.roll(shaped, 1, axis=1)
    return shaped


def _slips(glyph: Pixels, chance: Chance) -> Pixels:
    """The letter shifted, with a stroke missing, and with noise pixels."""
    picture = np.roll(glyph, (chance.between(-1, 1), chance.weighted(_LEANING)), axis=(0, 1))
    if chance.happens(BROKEN):
        if chance.happens(0.5):
            row = chance.between(3, 11)
            picture[row : row + 3] = 0
        else:
            column = chance.between(1, 5)
            picture[:, column : column + 2] = 0
    return picture ^ _speckles(chance)


def _speckles(chance: Chance) -> Pixels:
    """Noise on one pixel in sixteen: a bit that is set in all of four draws."""
    bits = [chance.next() & chance.next() & chance.next() & chance.next() for _ in range(2)]
    packed = np.frombuffer(b"".join(b.to_bytes(8, "big") for b in bits), dtype=np.uint8)
    return np.unpackbits(packed).reshape(ROWS, COLUMNS)


@cache
def _drawn() -> dict[str, Pixels]:
    """Letter -> uint8 [16, 8]: the font's 8 by 5 pixels, doubled in height, with margins at the sides."""
    drawn = {}
    for letter in LETTERS:
        ink = np.array([[sign == "#" for sign in row] for row in glyphs()[letter]], dtype=np.uint8)
        tall = np.repeat(ink, 2, axis=0)
        drawn[letter] = np.pad(tall, ((0, 0), (1, 2)))
    return drawn


def _lookalike(label: str) -> str:
    return LOOKALIKES.get(label, label)


# -- a bitmap font of the small letters a to z, 8 rows of 5 ---------------------------------------------------------

# Rows 0 and 1 are for ascenders, rows 6 and 7 for descenders.
_SHEETS = """
..... #.... ..... ....# ..... ..##. .....
..... #.... ..... ....# ..... .#... .....
.###. ####. .###. .#### .###. ####. .####
....# #...# #.... #...# #...# .#... #...#
.#### #...# #.... #...# ##### .#... #...#
#...# #...# #...# #...# #.... .#... .####
.#### ####. .###. .#### .###. .#... ....#
..... ..... ..... ..... ..... ..... .###.

#.... ..#.. ...#. #.... .##.. ..... .....
#.... ..... ..... #.... ..#.. ..... .....
#.##. .##.. ..##. #..#. ..#.. ##.#. #.##.
##..# ..#.. ...#. #.#.. ..#.. #.#.# ##..#
#...# ..#.. ...#. ##... ..#.. #.#.# #...#
#...# ..#.. ...#. #.#.. ..#.. #.#.# #...#
#...# .###. #..#. #..#. .###. #.#.# #...#
..... ..... .##.. ..... ..... ..... .....

..... ..... ..... ..... ..... .#... .....
..... ..... ..... ..... ..... .#... .....
.###. ####. .#### #.##. .#### ####. #...#
#...# #...# #...# ##..# #.... .#... #...#
#...# #...# #...# #.... .###. .#... #...#
#...# ####. .#### #.... ....# .#..# #..##
.###. #.... ....# #.... ####. ..##. .##.#
..... #.... ....# ..... ..... ..... .....

..... ..... ..... ..... .....
..... ..... ..... ..... .....
#...# #...# #...# #...# #####
#...# #.#.# .#.#. #...# ...#.
#...# #.#.# ..#.. #...# ..#..
.#.#. #.#.# .#.#. .#### .#...
..#.. .#.#. #...# ....# #####
..... ..... ..... .###. .....
"""

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def glyphs() -> dict[str, tuple[str, ...]]:
    """Letter -> 8 rows of 5 characters, ``#`` for ink.

    >>> print("\\n".join(glyphs()["h"]))
    #....
    #....
    #.##.
    ##..#
    #...#
    #...#
    #...#
    .....
    """
    drawn: list[tuple[str, ...]] = []
    for sheet in _SHEETS.strip().split("\n\n"):
        rows = [line.split() for line in sheet.splitlines()]
        drawn += zip(*rows, strict=True)
    return dict(zip(LETTERS, drawn, strict=True))
