"""The 64-bit numbers that stand for strings in spaCy's files: symbols, or hashes."""

from functools import cache

_MASK = (1 << 64) - 1
_M = 0xC6A4A7935BD1E995

# spaCy's symbols in order, from 1: flags of lexemes, attributes, universal parts of speech, unused ones, types of
# entities, dependency labels, later attributes. A name followed by a range stands for numbered names.
_SYMBOLS = """
IS_ALPHA IS_ASCII IS_DIGIT IS_LOWER IS_PUNCT IS_SPACE IS_TITLE IS_UPPER LIKE_URL LIKE_NUM LIKE_EMAIL IS_STOP
IS_OOV_DEPRECATED IS_BRACKET IS_QUOTE IS_LEFT_PUNCT IS_RIGHT_PUNCT IS_CURRENCY FLAG:19:63
ID ORTH LOWER NORM SHAPE PREFIX SUFFIX LENGTH CLUSTER LEMMA POS TAG DEP ENT_IOB ENT_TYPE HEAD SENT_START SPACY PROB
LANG
ADJ ADP ADV AUX CONJ CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X EOL
SPACE DEPRECATED:001:276
PERSON NORP FACILITY ORG GPE LOC PRODUCT EVENT WORK_OF_ART LANGUAGE LAW DATE TIME PERCENT MONEY QUANTITY ORDINAL
CARDINAL
acomp advcl advmod agent amod appos attr aux auxpass cc ccomp complm conj cop csubj csubjpass dep det dobj expl hmod
hyph infmod intj iobj mark meta neg nmod nn npadvmod nsubj nsubjpass num number oprd obj obl parataxis partmod
pcomp pobj poss possessive preconj prep prt punct quantmod relcl rcmod root xcomp acl
ENT_KB_ID MORPH ENT_ID IDX _
"""


@cache
def symbols() -> dict[str, int]:
    """The number of each symbol.

    >>> symbols()["ORTH"], symbols()["NOUN"], symbols()["PERSON"]
    (65, 92, 380)
    """
    names = [""]
    for word in _SYMBOLS.split():
        name, *bounds = word.split(":")
        if bounds:
            first, last = bounds
            names += [f"{name}{i:0{len(first)}}" for i in range(int(first), int(last) + 1)]
        else:
            names.append(name)
    return {name: number for number, name in enumerate(names)}


def string_number(string: str) -> int:
    """The number of a string.

    >>> string_number("coffee"), string_number("NOUN"), string_number("")
    (3197928453018144401, 92, 0)
    """
    number = symbols().get(string)
    return murmur_hash(string.encode()) if number is None else number


def murmur_hash(content: bytes, seed: int = 1) -> int:
    """Austin Appleby's MurmurHash64A."""
    h = seed ^ (len(content) * _M & _MASK)
    whole = len(content) & ~7
    for at in range(0, whole, 8):
        k = int.from_bytes(content[at : at + 8], "little") * _M & _MASK
        k = (k ^ (k >> 47)) * _M & _MASK
        h = (h ^ k) * _M & _MASK
    if whole < len(content):
        h = (h ^ int.from_bytes(content[whole:], "little")) * _M & _MASK
    h = (h ^ (h >> 47)) * _M & _MASK
    return h ^ (h >> 47)
