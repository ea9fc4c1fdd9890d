"""Run what crf.md reports of real corpora and write its tables anew: python docs/run_crf.py [TABLE ...]."""

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.corpora import corpus

from chaffinch.corpus import read_table
from chaffinch.estimators import Tagger
from chaffinch.evaluate import score_tags
from chaffinch.lab.recipe_comparison import compare_recipes
from chaffinch.recipes.crf import Crf
from chaffinch.recipes.hmm import Hmm
from chaffinch.recipes.memm import Memm
from chaffinch.text.table import Column, TokenTable, concatenated

PAGE = Path(__file__).parent / "crf.md"
LISTS = ("countries", "names_female", "names_male", "nationalities", "uscities", "usstates")

WORDS = ["w[-2..2]", "w[-1]|w[0]", "w[0]|w[1]", "lower[-1..1]"]
CAPITALS = [
    *("shape[-2..2]", "caps[-2..2]", "caps[-1]|caps[0]", "caps[0]|caps[1]", "caps[-1]|caps[0]|caps[1]"),
    *("caps[0]|w[-1]", "caps[0]|w[1]", "bos|caps", "mostly_capitals|caps"),
]
AFFIXES = [f"{side}{n}" for side in ("prefix", "suffix") for n in (1, 2, 3, 4)]
POS = [
    "pos[-2..2]",
    "pos[-1]|pos[0]",
    "pos[0]|pos[1]",
    "pos[-1]|pos[0]|pos[1]",
    "pos[0]|caps[0]",
    "pos[0]|w[0]",
]
BEYOND = ["run", "run_length|run_place", "elsewhere", "elsewhere|caps", "elsewhere[-1..1]|caps[0]|bos[0]"]
CLUSTERS = [
    *(f"cluster{n}[-1..1]" for n in (4, 6, 8, 10, 20)),
    *("cluster10[-1]|cluster10[0]", "cluster10[0]|cluster10[1]", "cluster10[0]|caps[0]"),
]
GAZETTEERS = ["gaz[-1..1]", "gaz[0]|caps[0]"]


def names() -> Iterator[str]:
    """Names: what each group of features adds, on two corpora."""
    yield "| features | WNUT-17 dev | test | Spanish dev | test |"
    yield "|---|---:|---:|---:|---:|"
    english, spanish = ([read_table(corpus(f"{c}/{p}.tsv")) for p in ("train", "dev", "test")] for c in NAMES)
    so_far: list[str] = []
    for group, templates, there in (
        ("words before and after", WORDS, "es en"),
        ("+ capitalisation and shape", CAPITALS, "es en"),
        ("+ affixes", AFFIXES, "es en"),
        ("+ parts of speech", POS, "es"),
        ("+ runs of capitals, same word elsewhere", BEYOND, "es en"),
        ("+ word clusters", CLUSTERS, "en"),
        ("+ gazetteers", GAZETTEERS, "en"),
        ("+ majority label of a first pass", [], "es en"),
    ):
        so_far += templates
        twice = not templates
        cells = [""] * 4
        if "en" in there:
            mine = [t for t in so_far if "pos" not in t]
            cells[:2] = _f1(english, mine, Crf(**WNUT, **_outside(so_far), second_pass=twice))
        if "es" in there:
            mine = [t for t in so_far if "cluster" not in t and "gaz" not in t]
            cells[2:] = _f1(spanish, mine, Crf(**SPANISH, second_pass=twice))
        yield f"| {group} | {' | '.join(cells)} |"


NAMES = ("wnut17", "conll2002_es")
WNUT = {"optimiser": "fast", "c2": 0.1, "margin": 1.0, "recall": 4.0, "passes": 8}
SPANISH = {"optimiser": "fast", "c2": 1.0, "margin": 4.0, "language": "spanish"}


def chains() -> Iterator[str]:
    """The three chain models on CoNLL-2000."""
    yield "| model | CPU s | token accuracy | F1 |"
    yield "|---|---:|---:|---:|"
    train, test = (read_table(corpus(f"conll2000/{p}.tsv")) for p in ("train", "test"))
    configs = [Hmm(), Memm(inside="as given"), Crf(inside="as given", optimiser="fast", c2=1.0)]
    for e in compare_recipes(train, test, configs, features="chunking19", seed=1, threads=1).entries:
        accuracy, f1 = (100 * e.scores[name] for name in ("token_accuracy", "span.micro.f1"))
        yield f"| {e.recipe} | {e.train_s:.1f} | {accuracy:.2f} | {f1:.2f} |"


def scores() -> Iterator[str]:
    """What settings chosen on held-out data reach on the test parts."""
    yield "| data | features and settings | CPU s | held out | test |"
    yield "|---|---|---:|---:|---:|"
    ewt = [
        read_table(corpus(f"ud_english_ewt/en_ewt-ud-{p}.conllu.gz"), label="xpos")
        for p in ("train", "dev", "test")
    ]
    fast = {"optimiser": "fast", "passes": 8}
    outside = _outside(["cluster", "gaz"])
    for preset, said, knobs in (
        ("ewt19", "c2 0.3, margin 3", {"c2": 0.3, "margin": 3.0}),
        ("pos", "c2 0.3, margin 6", {"c2": 0.3, "margin": 6.0}),
        ("pos", "clusters, gazetteers, c2 0.3, margin 4", {"c2": 0.3, "margin": 4.0, **outside}),
    ):
        yield _row("EWT xpos", f"`{preset}`, {said}, 8 passes", ewt, preset, Crf(**fast, **knobs))
    full = [_full_morphology(table, p) for table, p in zip(ewt, ("train", "dev", "test"), strict=True)]
    morphology = Crf(min_count=2, margin=3.0)
    yield _row("EWT full morphology, 321 labels", "`ewt19`, min_count 2, margin 3", full, "ewt19", morphology)
    english, spanish = ([read_table(corpus(f"{c}/{p}.tsv")) for p in ("train", "dev", "test")] for c in NAMES)
    said = "`ner`, clusters, gazetteers, c2 0.1, margin 1, recall 4, 8 passes"
    yield _row("WNUT-17", said, english, None, Crf(**WNUT, **outside))
    both = [concatenated(english[:2]), None, english[2]]
    yield _row("WNUT-17, train and dev", "the same", both, None, Crf(**WNUT, **outside))
    alone = [None if part is None else _alone(part) for part in both]
    said = "the same, every sentence a document of its own"
    yield _row("WNUT-17, train and dev", said, alone, None, Crf(**WNUT, **outside))
    yield _row("CoNLL-2002 Spanish", "`ner`, c2 1, margin 4", spanish, None, Crf(**SPANISH))
    said = "the same with a second pass"
    yield _row("CoNLL-2002 Spanish", said, spanish, None, Crf(**SPANISH, second_pass=True))


def _alone(table: TokenTable) -> TokenTable:
    """Every sentence a document of its own, as posts are."""
    return TokenTable(table.ptr, table.columns, np.arange(table.n_sentences, dtype=np.int32))


def _full_morphology(table: TokenTable, part: str) -> TokenTable:
    """Labels of part of speech and features in one."""
    path = corpus(f"ud_english_ewt/en_ewt-ud-{part}.conllu.gz")
    upos, feats = (read_table(path, label=name).lists("y") for name in ("upos", "feats"))
    joined = [[f"{u}|{f}" for u, f in zip(a, b, strict=True)] for a, b in zip(upos, feats, strict=True)]
    labels = TokenTable.from_lists({"y": joined}).columns["y"]
    return TokenTable(table.ptr, {"w": table.columns["w"], "y": Column(labels.types, labels.ids)})


def _outside(templates: list[str]) -> dict[str, str]:
    """The outside knowledge that templates read."""
    knobs = {}
    if any("cluster" in t for t in templates):
        knobs["clusters"] = str(corpus("brown_clusters/tweets_6m_paths.tsv.gz"))
    if any("gaz" in t for t in templates):
        knobs["gazetteers"] = ",".join(str(corpus(f"gazetteers/{name}.txt")) for name in LISTS)
    return knobs


def _f1(parts: list[TokenTable], features: list[str], config: Crf) -> list[str]:
    tagger = Tagger(config, features=features, seed=1, threads=1).fit(parts[0])
    return [f"{_score(tagger, part):.1f}" for part in parts[1:]]


def _row(name: str, said: str, parts: list[TokenTable | None], features: str | None, config: Crf) -> str:
    before = time.process_time()
    assert parts[0] is not None
    tagger = Tagger(config, features=features, seed=1, threads=1).fit(parts[0])
    seconds = time.process_time() - before
    dev, test = ("" if part is None else f"{_score(tagger, part):.2f}" for part in parts[1:])
    return f"| {name} | {said} | {seconds:.1f} | {dev} | {test} |"


def _score(tagger: Tagger, part: TokenTable) -> float:
    """Span F1 where labels spell spans, else the share of tokens, in percent."""
    found = score_tags(part.lists("y"), tagger.predict(part))
    return 100 * (found.token_accuracy if found.span is None else found.span.micro.f1)


TABLES = {f.__name__: f for f in (names, chains, scores)}


def main() -> None:
    """The tables that are named, or all, anew."""
    for name in sys.argv[1:] or TABLES:
        lines = "\n".join(TABLES[name]())
        text = PAGE.read_text(encoding="utf-8")
        begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        PAGE.write_text(re.sub(rf"(?s){begin}.*?{end}", begin + lines + end, text), encoding="utf-8")


if __name__ == "__main__":
    main()
