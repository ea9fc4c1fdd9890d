"""Words inside and outside quotation marks. Opening and closing marks are the same: a model must remember the last."""

from chaffinch.samples.chance import SEED, Chance, phrases, vocabulary
from chaffinch.text.document import Document

MARK = '"'

WORDS = phrases("""
    the finch, sings, at dawn, over, a quiet field, and, nobody, listens, but, the wind, who, has heard, it all,
    before, so, they say, of, an old barn, where, swallows, nest, each spring, under, the eaves, while, rain, falls,
    on, thirsty ground, until, evening, brings, starlings, home, past, crooked chimneys, towards, their reeds""")


def quotations(n: int = 300, seed: int = SEED, split: str = "train", careful: bool = False) -> list[Document]:
    """``n`` sentences; column ``y`` says whether a word is quoted (``IN``) or not (``OUT``); marks are ``MARK``.

    Words carry no information. The label after a mark depends on the label before the mark, which is not a neighbour.

    >>> d = quotations(1)[0]
    >>> set(d.columns["y"]) <= {"IN", "OUT", "MARK"}
    True
    """
    chance = Chance(seed, "quotations", split, careful=careful)
    phrases_met = vocabulary(WORDS, split)
    documents = []
    for _ in range(n):
        words: list[str] = []
        labels: list[str] = []
        for stretch in range(2 * chance.between(1, 3) + 1):
            quoted = stretch % 2 == 1
            if quoted:
                words.append(MARK)
                labels.append("MARK")
            said = [word for _ in range(chance.between(1, 2)) for word in chance.pick(phrases_met).split()]
            words += said
            labels += ["IN" if quoted else "OUT"] * len(said)
            if quoted:
                words.append(MARK)
                labels.append("MARK")
        documents.append(Document.from_words(words, y=labels))
    return documents
