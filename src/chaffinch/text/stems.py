"""Words to stems or lemmas, once per word type."""

from chaffinch.errors import ConfigError, missing_extra

STEMMERS = ("none", "stem", "lemma")
# The codes under which lemmas are looked up; stems go by the language's name.
LANGUAGES = {"danish": "da", "dutch": "nl", "english": "en", "finnish": "fi", "french": "fr", "german": "de",
             "hungarian": "hu", "italian": "it", "norwegian": "nb", "portuguese": "pt", "romanian": "ro",
             "russian": "ru", "spanish": "es", "swedish": "sv", "turkish": "tr"}  # fmt: skip


def stems(words: list[str], how: str, language: str = "english") -> list[str]:
    """What each word becomes: itself (``none``), its Snowball stem, or its dictionary form (``lemma``).

    >>> stems(["happily", "geese"], "stem")
    ['happili', 'gees']
    """
    if how == "none":
        return words
    if language not in LANGUAGES:
        raise ConfigError(f"no {how} for {language!r}; there are {', '.join(LANGUAGES)}")
    if how == "stem":
        from snowballstemmer import stemmer

        stemmed: list[str] = stemmer(language).stemWords(words)
        return stemmed
    try:
        from simplemma import lemmatize
    except ImportError:
        raise missing_extra("lemma", "simplemma") from None
    return [lemmatize(word, lang=LANGUAGES[language]) for word in words]
