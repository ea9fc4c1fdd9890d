"""Repeat the measurements of crf.md on real corpora and write its tables: python docs/run_crf.py [TABLE ...]."""

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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
BEYOND = [
    *("run", "run_length|run_place", "elsewhere", "elsewhere|caps", "elsewhere[-1..1]|caps[0]|bos[0]"),
    *("elsewhere_before", "elsewhere_after", "elsewhere_run", "elsewhere_first", "quoted", "quoted|caps"),
]
CLUSTERS = [
    *(f"cluster{n}[-1..1]" for n in (4, 6, 8, 10, 20)),
    *("cluster10[-1]|cluster10[0]", "cluster10[0]|cluster10[1]", "cluster10[0]|caps[0]"),
]
GAZETTEERS = ["gaz[-1..1]", "gaz[0]|caps[0]"]


def names() -> Iterator[str]:
    """Names: the gain from each group of features, on two corpora."""
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
            cells[:2] = _f1(english, mine, Crf(**_outside(so_far), second_pass=twice))
        if "es" in there:
            mine = [t for t in so_far if "cluster" not in t and "gaz" not in t]
            cells[2:] = _f1(spanish, mine, Crf(language="spanish", second_pass=twice))
        yield f"| {group} | {' | '.join(cells)} |"


NAMES = ("wnut17", "conll2002_es")


def chunking() -> Iterator[str]:
    """CoNLL-2000 by optimiser and features."""
    yield "| CoNLL-2000 chunking | optimiser | CPU s | F1 |"
    yield "|---|---|---:|---:|"
    train, test = (read_table(corpus(f"conll2000/{p}.tsv")) for p in ("train", "test"))
    for preset, said, config in (
        ("chunking19", "`fast`, 3 passes", Crf(inside="as given", optimiser="fast", c2=1.0, passes=3)),
        ("chunking19", "`fast`", Crf(inside="as given", optimiser="fast", c2=1.0)),
        ("chunking19", "`auto`", Crf(inside="as given", c2=1.0)),
        ("chunking", "`fast`", Crf(optimiser="fast", c2=1.0)),
        (None, "`auto`", Crf()),
    ):
        tagger, seconds = _trained(config, preset, train)
        name = "no settings at all" if preset is None else f"`{preset}`, c2 = 1"
        yield f"| {name} | {said} | {seconds:.1f} | {_score(tagger, test):.2f} |"


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
    """The scores of settings chosen on held-out data on the test splits."""
    yield "| data | features and settings | CPU s | held out | test |"
    yield "|---|---|---:|---:|---:|"
    ewt = [
        read_table(corpus(f"ud_english_ewt/en_ewt-ud-{p}.conllu.gz"), label="xpos")
        for p in ("train", "dev", "test")
    ]
    outside = _outside(["cluster", "gaz"])
    for preset, said, knobs in (
        ("ewt19", "c2 0.3, margin 3, 8 passes", {"c2": 0.3, "margin": 3.0, "passes": 8}),
        ("pos", "c2 0.3, margin 6, 8 passes", {"c2": 0.3, "margin": 6.0, "passes": 8}),
        (
            "pos",
            "clusters, gazetteers, dual ascent, c2 1, margin 6",
            {"c2": 1.0, "margin": 6.0, "optimiser": "sdca", **outside},
        ),
    ):
        yield _row("EWT xpos", f"`{preset}`, {said}", ewt, preset, Crf(**{"optimiser": "fast", **knobs}))
    full = [_full_morphology(table, p) for table, p in zip(ewt, ("train", "dev", "test"), strict=True)]
    morphology = Crf(min_count=2, margin=3.0)
    yield _row("EWT full morphology, 321 labels", "`ewt19`, min_count 2, margin 3", full, "ewt19", morphology)


def entities() -> Iterator[str]:
    """Names, and the two datasets of a course, with default knobs."""
    yield "| data | besides the defaults | CPU s | held out | test |"
    yield "|---|---|---:|---:|---:|"
    english, spanish = ([read_table(corpus(f"{c}/{p}.tsv")) for p in ("train", "dev", "test")] for c in NAMES)
    outside = _outside(["cluster", "gaz"])
    yield _row("WNUT-17", "clusters, gazetteers", english, None, Crf(**outside))
    both = [concatenated(english[:2]), None, english[2]]
    yield _row("WNUT-17, train and dev", "clusters, gazetteers", both, None, Crf(**outside))
    yield _row("CoNLL-2002 Spanish", "", spanish, None, Crf(language="spanish"))
    clusters = _outside(["cluster"])
    for part, said, knobs in (("SG", "", {}), ("EN", "", {}), ("EN", "clusters", clusters)):
        course = [read_table(corpus(f"sutd_hmm_2020/{part}/{name}")) for name in ("train", "dev.out")]
        yield _row(f"SUTD 2020 {part}", said, [*course, None], None, Crf(**knobs), "hmm-project")


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
    tagger = Tagger(config, features=features, folds=0, seed=1, threads=1).fit(parts[0])
    return [f"{_score(tagger, part):.1f}" for part in parts[1:]]


def _row(
    name: str,
    said: str,
    parts: list[TokenTable | None],
    features: str | None,
    config: Crf,
    convention: str | None = None,
) -> str:
    assert parts[0] is not None
    tagger, seconds = _trained(config, features, parts[0])
    dev, test = ("" if part is None else _shown(tagger, part, convention) for part in parts[1:])
    return f"| {name} | {said} | {seconds:.1f} | {dev} | {test} |"


def _trained(config: Crf, features: str | None, train: TokenTable) -> tuple[Tagger, float]:
    """The tagger, and the CPU seconds that it took to train."""
    before = time.process_time()
    tagger = Tagger(config, features=features, folds=0, seed=1, threads=1).fit(train)
    return tagger, time.process_time() - before


def _shown(tagger: Tagger, part: TokenTable, convention: str | None) -> str:
    """The score; by the course's convention, those of spans without and with their type."""
    if convention is None:
        return f"{_score(tagger, part):.2f}"
    found = score_tags(part.lists("y"), tagger.predict(part), convention)
    assert found.span is not None
    assert found.untyped is not None
    return f"{100 * found.untyped.f1:.2f} / {100 * found.span.micro.f1:.2f}"


def _score(tagger: Tagger, part: TokenTable) -> float:
    """Span F1 if labels encode spans, else token accuracy, in percent."""
    found = score_tags(part.lists("y"), tagger.predict(part))
    return 100 * (found.token_accuracy if found.span is None else found.span.micro.f1)


TABLES = {f.__name__: f for f in (chunking, names, chains, scores, entities)}


def main() -> None:
    """Rewrite the named tables, or all."""
    for name in sys.argv[1:] or TABLES:
        lines = "\n".join(TABLES[name]())
        text = PAGE.read_text(encoding="utf-8")
        begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        PAGE.write_text(re.sub(rf"(?s){begin}.*?{end}", begin + lines + end, text), encoding="utf-8")


if __name__ == "__main__":
    main()
