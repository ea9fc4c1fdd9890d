"""Stop words: the small words that grammar needs and topics do not."""

from chaffinch.errors import ConfigError

_ENGLISH = """
a about above after again against all am an and any are aren as at be because been before being
below between both but by can cannot could couldn d did didn do does doesn doing don down during
each few for from further had hadn has hasn have haven having he her here hers herself him himself
his how i if in into is isn it its itself just ll m ma me might mightn more most must mustn my
myself needn no nor not now o of off on once only or other ought our ours ourselves out over own re
s same shall shan she should shouldn so some such t than that the their theirs them themselves then
there these they this those through to too under until up upon us ve very was wasn we were weren
what when where which while who whom whose why will with won would wouldn y yet you your yours
yourself yourselves
"""

STOPWORDS = {"none": frozenset[str](), "english": frozenset(_ENGLISH.split())}


def stopwords(name: str) -> frozenset[str]:
    """The stop words of a language, lower-cased; what a word rule cuts off ("isn" and "t") is among them.

    >>> sorted(w for w in ("not", "happy", "i") if w in stopwords("english"))
    ['i', 'not']
    """
    if name not in STOPWORDS:
        raise ConfigError(f"no stop words for {name!r}; there are {', '.join(STOPWORDS)}")
    return STOPWORDS[name]
