"""Heads: the child that a phrase is built around, by the rules of Magerman and Collins for the Penn Treebank.

Collins 1999, "Head-driven statistical models for natural language parsing", appendix A. A phrase that the table does
not name is headed by its first child.
"""

from collections.abc import Sequence

# Label: the side where the search begins, and the labels searched for, in order of preference.
_RULES = {
    "ADJP": "left NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB",
    "ADVP": "right RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN",
    "CONJP": "right CC RB IN",
    "FRAG": "right",
    "INTJ": "left",
    "LST": "right LS :",
    "NAC": "left NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW",
    "PP": "right IN TO VBG VBN RP FW",
    "PRN": "left",
    "PRT": "right RP",
    "QP": "left $ IN NNS NN JJ RB DT CD NCD QP JJR JJS",
    "RRC": "right VP NP ADVP ADJP PP",
    "S": "left TO IN VP S SBAR ADJP UCP NP",
    "SBAR": "left WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG",
    "SBARQ": "left SQ S SINV SBARQ FRAG",
    "SINV": "left VBZ VBD VBP VB MD VP S SINV ADJP NP",
    "SQ": "left VBZ VBD VBP VB MD VP SQ",
    "UCP": "right",
    "VP": "left TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP",
    "WHADJP": "left CC WRB JJ ADJP",
    "WHADVP": "right CC WRB",
    "WHNP": "left WDT WP WP$ WHADJP WHPP WHNP",
    "WHPP": "right IN TO FW",
}
_TABLE = {
    label: (words[0] == "right", tuple(words[1:]))
    for label, words in ((k, v.split()) for k, v in _RULES.items())
}
_NOUNS = frozenset("NN NNP NNPS NNS NX POS JJR".split())
_LATER = (
    (False, frozenset({"NP"})),
    (True, frozenset({"$", "ADJP", "PRN"})),
    (True, frozenset({"CD"})),
    (True, frozenset({"JJ", "JJS", "RB", "QP"})),
)


def head(label: str, children: Sequence[str]) -> int:
    """The place of the head among a phrase's children.

    >>> head("NP", ["DT", "JJ", "NN"]), head("VP", ["MD", "RB", "VP"]), head("S", ["NP", "VP", "."])
    (2, 0, 1)
    """
    if label in ("NP", "NX"):
        return _noun(children)
    backwards, wanted = _TABLE.get(label, (False, ()))
    places = range(len(children) - 1, -1, -1) if backwards else range(len(children))
    for one in wanted:
        for i in places:
            if children[i] == one:
                return i
    return places[0]


def _noun(children: Sequence[str]) -> int:
    last = len(children) - 1
    if children[last] == "POS":
        return last
    for i in range(last, -1, -1):
        if children[i] in _NOUNS:
            return i
    for backwards, wanted in _LATER:
        for i in range(last, -1, -1) if backwards else range(last + 1):
            if children[i] in wanted:
                return i
    return last
