"""Presets: sets of templates by name, chosen on held-out data for the task that they are named after."""

from collections.abc import Callable, Sequence

from chaffinch.errors import ConfigError
from chaffinch.features.templates import FeatureSet, parse_all
from chaffinch.text.clusters import Clusters
from chaffinch.text.document import LABEL, WORD
from chaffinch.text.gazetteers import Gazetteers

POS = "pos"


def preset(
    name: str,
    columns: Sequence[str],
    clusters: Clusters | None = None,
    gazetteers: Gazetteers | None = None,
) -> FeatureSet:
    """A preset by name, with templates over clusters and gazetteers if these are given."""
    if name not in PRESETS:
        raise ConfigError(f"no feature preset and no file {name!r}; presets are {', '.join(PRESETS)}")
    texts = PRESETS[name](columns)
    if name in PLAIN:
        return FeatureSet(parse_all(texts), boundary=False)
    if clusters is not None:
        texts = [*texts, *CLUSTERS, *(TAG_CLUSTERS if name == "pos" else ())]
    if gazetteers is not None and gazetteers.lists:
        texts = [*texts, "gaz[-1..1]", "gaz[0]|caps[0]", "gaz[-1]|gaz[0]|gaz[1]"]
    return FeatureSet(parse_all(texts))


def _affixes(*lengths: int) -> list[str]:
    return [f"{side}{n}" for side in ("prefix", "suffix") for n in lengths]


def _window(column: str) -> list[str]:
    """A column two tokens to either side, its pairs and triples: 12 templates."""
    c = column
    return [
        f"{c}[-2..2]",
        *(f"{c}[{o}]|{c}[{o + 1}]" for o in (-2, -1, 0, 1)),
        *(f"{c}[{o}]|{c}[{o + 1}]|{c}[{o + 2}]" for o in (-2, -1, 0)),
    ]


def _pairs(column: str) -> list[str]:
    return [f"{column}[-1]|{column}[0]", f"{column}[0]|{column}[1]"]


def _crossed(a: str, b: str) -> list[str]:
    """All pairs of two columns at -1, 0, 1: 9 templates."""
    return [f"{a}[-1..1]|{b}[-1..1]"]


WORDS = ["w[-2..2]", *_pairs("w")]

# Paths of 4, 6, 8, 10 and 20 bits; whole clusters of the neighbours; pairs and a triple.
CLUSTERS = [
    *(f"cluster{n}[-1..1]" for n in (4, 6, 8, 10, 20)),
    *(f"cluster{n}[{o}]" for n in (6, 10) for o in (-2, 2)),
    *_pairs("cluster10"),
    *_pairs("cluster6"),
    "cluster6[-1]|cluster6[0]|cluster6[1]",
    "cluster10[0]|suffix3[0]",
    "cluster10[0]|caps[0]",
    "cluster10[-1]|w[0]",
    "w[0]|cluster10[1]",
]


# Further templates for parts of speech: more of the neighbours, and forms of the word itself.
TAG_CLUSTERS = [
    *(f"cluster{n}[{o}]" for n in (8, 20) for o in (-2, 2)),
    *_pairs("cluster20"),
    *_pairs("cluster8"),
    "cluster8[-2]|cluster8[-1]|cluster8[0]",
    "cluster8[0]|cluster8[1]|cluster8[2]",
    "cluster8[-1]|cluster8[1]",
    "cluster20[0]|caps[0]",
    "cluster20[0]|suffix2[0]",
]


def _chunking19(_: Sequence[str]) -> list[str]:
    return [*WORDS, *_window(POS)]


def _crfsuite(columns: Sequence[str]) -> list[str]:
    return [*_chunking19(columns), "bos", "eos"]


def _ewt19(_: Sequence[str]) -> list[str]:
    return [*WORDS, "lower", *_affixes(1, 2, 3, 4), "shape[-1..1]"]


def _chunking(columns: Sequence[str]) -> list[str]:
    if POS not in columns:
        return _no_pos()
    crossed = _crossed(WORD, POS)
    return [*WORDS, *_window(POS), *crossed, *_affixes(2, 3), "suffix4", "shape[-1..1]", "caps"]


def _no_pos() -> list[str]:
    """Templates that replace part-of-speech tags: forms of the word and of its neighbours."""
    return [
        *WORDS,
        "lower[-2..2]",
        *_pairs("lower"),
        *_affixes(1, 2, 3, 4),
        "shape[-1..1]",
        "caps[-1..1]",
        *_pairs("caps"),
        "suffix2[-1]",
        "suffix2[1]",
        "suffix3[-1]",
        "suffix3[1]",
        *_pairs("suffix2"),
        *_pairs("suffix3"),
    ]


def _pos(_: Sequence[str]) -> list[str]:
    return [
        *WORDS,
        "lower[-2..2]",
        *_pairs("lower"),
        *_affixes(1, 2, 3, 4, 5),
        "shape[-1..1]",
        "caps[-1..1]",
        *_pairs("caps"),
        *(f"suffix{n}[{o}]" for n in (2, 3) for o in (-1, 1)),
        "suffix3[-2]",
        "suffix3[2]",
        "mostly_capitals",
        "last_word",
        "sentence_length",
    ]


def _ner(columns: Sequence[str]) -> list[str]:
    return [
        "w[-3..3]",
        *_pairs("w"),
        "lower[-1..1]",
        *_pairs("lower"),
        "shape[-2..2]",
        *_pairs("shape"),
        "caps[-2..2]",
        *_pairs("caps"),
        "caps[-1]|caps[0]|caps[1]",
        "caps[0]|w[-1]",
        "caps[0]|w[1]",
        "caps[0]|lower[0]",
        *_affixes(1, 2, 3, 4),
        "bos|caps",
        "mostly_capitals|caps",
        "run",
        "run_length|run_place",
        "elsewhere",
        "elsewhere|caps",
        "elsewhere[-1..1]|caps[0]|bos[0]",
        "elsewhere_before",
        "elsewhere_after",
        "elsewhere_run",
        "elsewhere_first",
        "quoted",
        "quoted|caps",
        *([*_window(POS), "pos[0]|caps[0]", "pos[0]|w[0]"] if POS in columns else []),
    ]


def _ingredients(columns: Sequence[str]) -> list[str]:
    structure = [
        "brackets",
        "commas",
        "numbers",
        "position",
        "remaining",
        "first_word",
        "last_punctuation",
        "last_preposition",
        "seen",
    ]
    return [
        "stem[-4..4]",
        *_pairs("stem"),
        "w",
        *_affixes(1, 2, 3, 4),
        "shape[-1..1]",
        "caps",
        "fold[-1..1]",
        *_pairs("fold"),
        *(f"fold[{o}]|fold[{o + 1}]|fold[{o + 2}]" for o in (-2, -1, 0)),
        *structure,
        *(f"{s}|stem" for s in structure),
        *([*_window(POS), *_crossed("stem", POS)] if POS in columns else []),
    ]


def _default(columns: Sequence[str]) -> list[str]:
    left = (WORD, LABEL, POS, *(ANNOTATED if len(set(TREEBANK) & set(columns)) > 1 else ()))
    own = [c for c in columns if c not in left]
    return [
        *_no_pos(),
        *([*_window(POS), *_crossed(WORD, POS)] if POS in columns else []),
        *(t for c in own for t in (f"{c}[-1..1]", *_pairs(c))),
    ]


def _pixels(_: Sequence[str]) -> list[str]:
    """The black pixels of a letter image of 16 rows of 8, and a constant."""
    return ["bias", *(f"bit{k}[0]" for k in range(128))]


# A table with two of TREEBANK is a treebank. New text will not have its annotation, so templates
# read it only if they name it, or if its columns were selected.
TREEBANK = ("lemma", "feats", "deprel")
ANNOTATED = ("lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

PRESETS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "default": _default,
    "chunking": _chunking,
    "pos": _pos,
    "ner": _ner,
    "ingredients": _ingredients,
    "chunking19": _chunking19,
    "ewt19": _ewt19,
    "crfsuite": _crfsuite,
    "pixels": _pixels,
}

# Complete sets: no boundary values, no added templates.
PLAIN = ("chunking19", "ewt19", "crfsuite", "pixels")
