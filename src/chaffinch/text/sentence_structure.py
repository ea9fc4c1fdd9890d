"""The names of columns that depend on the whole sentence or document; the core computes them."""

# Name in a template: the core's name, the word column that it reads (if any), and its meaning.
SENTENCE_COLUMNS = {
    "bos": ("bos", None, "yes at the first token; else no value"),
    "eos": ("eos", None, "yes at the last token; else no value"),
    "brackets": ("brackets", None, "whether it is in brackets"),
    "commas": ("commas", None, "commas before it: 0, 1, 2, 3+"),
    "numbers": ("numbers", None, "numbers before it: 0, 1, 2, 3+"),
    "position": ("position", None, "tokens before it, in buckets"),
    "remaining": ("remaining", None, "tokens after it, in buckets"),
    "sentence_length": ("sentence_length", None, "tokens of the sentence, in buckets"),
    "mostly_capitals": ("mostly_capitals", None, "whether more words are all capitals than all lower case"),
    "first_word": ("first_word", "lower", "the sentence's first word, lower-cased"),
    "last_word": ("last_word", "lower", "the sentence's last word, lower-cased"),
    "last_punctuation": ("last_punctuation", "punctuation", "the nearest punctuation before it"),
    "last_preposition": ("last_preposition", "preposition", "the nearest preposition before it"),
    "seen": ("seen", None, "the words among or, for, to, plus before it"),
    "run_length": ("run_length", None, "length of its run of capitalised words: 0 to 4+"),
    "run_place": ("run_place", None, "its place in that run: 0 to 3+; no value outside one"),
    "run": ("run", None, "the words of that run; no value outside one"),
    "quoted": ("quoted", None, "yes between quotation marks; else no value"),
    "elsewhere": (
        "elsewhere",
        None,
        "whether its word also occurs capitalised, lower-cased or both elsewhere in the document",
    ),
    "elsewhere_before": (
        "elsewhere_before",
        "lower",
        "for a capitalised word: the word before the nearest other run of capitalised words that contains it",
    ),
    "elsewhere_after": ("elsewhere_after", "lower", "the word after that run"),
    "elsewhere_run": (
        "elsewhere_run",
        None,
        "the word's place in the longest run that contains it elsewhere in the document, such as 2 of 3",
    ),
    "elsewhere_first": ("elsewhere_first", "identity", "the first word of that longest run"),
}

TRIGGERS = ("or", "for", "to", "plus")

PREPOSITIONS = {
    "english": (
        "about above across after against along among around as at before behind below beneath beside "
        "besides between beyond by despite down during except for from in inside into like near of off on "
        "onto out outside over past per since than through throughout till to toward towards under "
        "underneath until up upon via with within without"
    ),
    "spanish": (
        "a al ante bajo con contra de del desde durante en entre hacia hasta mediante para por según sin "
        "sobre tras"
    ),
    "french": "à au aux avec avant après chez contre dans de des du depuis derrière devant dès en entre hors "
    "jusque malgré par parmi pendant pour sans sauf selon sous sur vers",
    "german": "ab am an auf aus außer bei beim bis durch für gegen hinter im in ins mit nach neben ohne seit "
    "trotz über um unter vom von vor während wegen zu zum zur zwischen",
}


def prepositions(language: str) -> tuple[str, ...]:
    """The prepositions of a language, lower-cased; empty for languages without a list.

    >>> "with" in prepositions("english"), prepositions("klingon")
    (True, ())
    """
    return tuple(PREPOSITIONS.get(language, "").split())
