"""Columns of words and sentences, each held against a few lines of Python."""

import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.errors import ConfigError
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.features.templates import FeatureSet, Pattern, parse_all
from chaffinch.modelfile import Packed
from chaffinch.text.clusters import Clusters
from chaffinch.text.columns import column, register_column, register_sentence_column
from chaffinch.text.gazetteers import Gazetteers
from chaffinch.text.sentence_structure import prepositions
from chaffinch.text.stretch import STRETCH
from chaffinch.text.table import TokenTable


def values(
    name: str, sentences: list[list[str]], groups: list[int] | None = None, **options
) -> list[list[str | None]]:
    """What a column says of every token, read off the names of its features."""
    encoder = FeatureEncoder(options.pop("features", [f"{name}[0]"]), **options)
    table = TokenTable.from_lists({"w": sentences})
    if groups is not None:
        table = TokenTable(table.ptr, table.columns, np.array(groups, np.int32))
    rows = encoder.fit(table)
    flat = [
        encoder.names(rows.ids[a:b])[0].split("=", 1)[1] if b > a else None
        for a, b in zip(rows.ptr[:-1], rows.ptr[1:], strict=True)
    ]
    return [flat[a:b] for a, b in zip(table.ptr[:-1], table.ptr[1:], strict=True)]


def kind(c: str) -> str:
    if c.isupper() or c.istitle():
        return "X"
    if c.islower():
        return "x"
    return "d" if c.isdigit() else "x" if c.isalpha() else c


def bit(word: str, k: int) -> str | None:
    digit = word[k // 4 : k // 4 + 1]
    return "1" if digit and digit in "0123456789abcdef" and int(digit, 16) >> (3 - k % 4) & 1 else None


NAIVE = {
    "lower": str.lower,
    "longshape": lambda w: "".join(map(kind, w)),
    "shape": lambda w: re.sub(r"(.)\1+", r"\1", "".join(map(kind, w)), flags=re.DOTALL),
    "prefix1": lambda w: w[:1],
    "prefix5": lambda w: w[:5] if len(w) >= 5 else None,
    "suffix2": lambda w: w[-2:] if len(w) >= 2 else None,
    "suffix4": lambda w: w[-4:] if len(w) >= 4 else None,
    "digit": lambda w: (
        None if not any(c.isdigit() for c in w) else "all" if all(c.isdigit() for c in w) else "some"
    ),
    "hyphen": lambda w: "yes" if "-" in w[1:-1] else None,
    "fold": lambda w: re.sub(r"[0-9]+", "0", w.lower()),
    "bit0": lambda w: bit(w, 0),
    "bit7": lambda w: bit(w, 7),
    "bit1001": lambda w: bit(w, 1001),
}
TEXT = st.text(
    st.one_of(
        st.sampled_from("aAbBzZ0789-.',ßéÉΣσŽǅ½٣中"),
        st.characters(min_codepoint=1, max_codepoint=sys.maxunicode, exclude_categories=("Cs",)),
    ),
    min_size=1,
    max_size=9,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(TEXT, min_size=1, max_size=8))
@pytest.mark.parametrize("name", NAIVE)
def test_native_columns_say_what_python_says(name, words):
    assert values(name, [words]) == [[NAIVE[name](w) for w in words]]


def test_the_bits_of_a_picture_are_columns():
    picture = "f0" * 150  # 1,200 bits
    for k, seen in (
        (0, "1"),
        (3, "1"),
        (4, None),
        (7, None),
        (8, "1"),
        (1195, "1"),
        (1196, None),
        (1200, None),
    ):
        assert values(f"bit{k}", [[picture]]) == [[seen]]
    assert values("bit0", [["7", "8", "A", "a"]]) == [[None, "1", None, "1"]]


def test_capitalisation_classes_name_what_is_in_the_word():
    words = ["dog", "Dog", "DOG", "iPhone", "I", "1990", "O'Neil", "A.B.", "B-52", "...", "É", "Zürich"]
    assert values("caps", [words]) == [
        ["lower", "initial", "upper", "mixed", "initial", "none+digit", "mixed+apostrophe+sign", "upper+dot+sign",
         "initial+digit+hyphen+sign", "none+dot", "initial", "initial"]
    ]  # fmt: skip


def test_stem_and_lemma_follow_the_language():
    assert values("stem", [["Dogs", "running"]]) == [["dog", "run"]]
    assert values("stem", [["gatos"]], language="spanish") == [["gat"]]
    assert values("lemma", [["mice", "went"]]) == [["mouse", "go"]]
    with pytest.raises(ConfigError, match="no stem for 'klingon'"):
        values("stem", [["a"]], language="klingon")


def test_cluster_paths_are_looked_up_as_written_then_in_lower_case():
    clusters = Clusters.from_pairs([("0011", "monday"), ("0100", "the"), ("1", "The")])
    words = [["Monday", "the", "The", "xyzzy"]]
    assert values("cluster", words, clusters=clusters) == [["0011", "0100", "1", None]]
    assert values("cluster2", words, clusters=clusters) == [["00", "01", "1", None]]
    with pytest.raises(ConfigError, match="no clusters were given"):
        values("cluster2", words)


def test_the_longest_listed_phrase_wins_and_its_lists_are_named():
    lists = Gazetteers.from_lists(
        {"city": ["New York", "York", "Paris"], "paper": ["New York Times"], "name": ["paris"]}
    )
    words = [["the", "NEW", "york", "Times", "in", "York", "and", "Paris"]]
    assert values("gaz", words, gazetteers=lists) == [
        [None, "B-paper", "I-paper", "I-paper", None, "B-city", None, "B-city+name"]
    ]
    assert values("gaz_city", words, gazetteers=lists) == [[None, "B", "I", None, None, "B", None, "B"]]
    exact = Gazetteers.from_lists({"city": ["Paris"]}, fold=False)
    assert values("gaz", [["paris", "Paris"]], gazetteers=exact) == [[None, "B-city"]]
    with pytest.raises(ConfigError, match="there is no gazetteer 'town'; there are city, paper, name"):
        values("gaz_town", words, gazetteers=lists)


def test_gazetteers_and_clusters_travel_in_the_state():
    lists = Gazetteers.from_lists({"city": ["New York", "York"]})
    clusters = Clusters.from_pairs([("0011", "new"), ("01", "york")])
    encoder = FeatureEncoder(
        ["gaz[0]", "cluster2[0]", "gaz_city[-1]|w[0]"], gazetteers=lists, clusters=clusters
    )
    words = [["New", "York", "York"]]
    rows = encoder.fit(TokenTable.from_lists({"w": words}))
    again = FeatureEncoder.loaded(encoder.packed().file())
    assert again.transform(words).ids.tolist() == rows.ids.tolist()


def test_patterns_are_columns():
    patterns = {
        "url": Pattern("^https?://"),
        "year": Pattern("[0-9]{4}", "match"),
        "odd": Pattern("x", "test"),
    }

    def of(name: str) -> list[list[str | None]]:
        features = FeatureSet(parse_all([name]), patterns=patterns)
        return values(name, [["http://a.b", "in1990s"]], features=features)

    assert of("url") == [["yes", None]]
    assert of("year") == [["", "1990"]]
    assert of("odd") == [["false", "false"]]
    bad = FeatureSet(parse_all(["p"]), patterns={"p": Pattern("(")})
    with pytest.raises(ConfigError, match="pattern p: '\\(' is not a regular expression"):
        values("p", [["a"]], features=bad)


SENTENCE = "1 cup ( 8 oz , drained ) Heinz Baked beans , or 2 tins , for the top of".split()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("brackets", "no no no yes yes yes yes no no no no no no no no no no no no no"),
        ("commas", "0 0 0 0 0 0 1 1 1 1 1 1 2 2 2 2 3+ 3+ 3+ 3+"),
        ("numbers", "0 1 1 1 2 2 2 2 2 2 2 2 2 2 3+ 3+ 3+ 3+ 3+ 3+"),
        ("position", "0 1 2 3 4 5-6 5-6 7-9 7-9 7-9 10-14 10-14 10-14 10-14 10-14 15+ 15+ 15+ 15+ 15+"),
        ("remaining", "15+ 15+ 15+ 15+ 15+ 10-14 10-14 10-14 10-14 10-14 7-9 7-9 7-9 5-6 5-6 4 3 2 1 0"),
        ("first_word", " ".join(["1"] * 20)),
        ("last_word", " ".join(["of"] * 20)),
        ("last_punctuation", "__none __none __none ( ( ( , , ) ) ) ) , , , , , , , ,"),
        ("last_preposition", " ".join(["__none"] * 17 + ["for", "for", "for"])),
        ("run_length", "0 0 0 0 0 0 0 0 2 2 0 0 0 0 0 0 0 0 0 0"),
    ],
)
def test_sentence_columns_follow_the_sentence(name, expected):
    assert len(SENTENCE) == 20
    assert values(name, [["An", "other"], SENTENCE, ["one"]])[1] == expected.split()


def test_words_seen_so_far_runs_and_ends():
    assert values("seen", [SENTENCE])[0] == [""] * 13 + ["or"] * 4 + ["or+for"] * 3
    runs = values("run", [SENTENCE])[0]
    assert runs == [None] * 8 + ["Heinz Baked"] * 2 + [None] * 10
    assert values("run_place", [["A", "B", "c", "D", "E", "F", "G", "H"]]) == [
        ["0", "1", None, "0", "1", "2", "3+", "3+"]
    ]
    assert values("bos", [["a", "b"], ["c"]]) == [["yes", None], ["yes"]]
    assert values("eos", [["a", "b"], ["c"]]) == [[None, "yes"], ["yes"]]
    assert values("mostly_capitals", [["STOP", "IT", "now"], ["I", "see", "it"]]) == [["yes"] * 3, ["no"] * 3]
    assert values("sentence_length", [["a", "b"], ["c"] * 12]) == [["2"] * 2, ["10-14"] * 12]
    assert "with" in prepositions("english")


def test_the_same_word_elsewhere_is_looked_for_in_its_document_only():
    sentences = [["Apple", "fell"], ["the", "Apple", "apple"], ["Apple"], ["an", "apple"]]
    alone = values("elsewhere", sentences, groups=[0, 1, 2, 3])
    assert alone == [[None, None], [None, "lower", "capitalised"], [None], [None, None]]
    together = values("elsewhere", sentences, groups=[0, 0, 0, 1])
    assert together == [["both", None], [None, "lower", "capitalised"], ["both"], [None, None]]


def test_without_documents_the_same_word_is_looked_for_in_a_stretch_of_sentences():
    sentences = [["an", "Apple"], *[["so", "on"]] * (STRETCH - 2), ["an", "apple"], ["no", "apple"]]
    found = values("elsewhere", sentences, stretch=STRETCH)
    assert found[0] == ["lower", "lower"]
    assert found[STRETCH - 1] == ["lower", "capitalised"]
    assert found[STRETCH] == [None, None]
    encoder = FeatureEncoder(["elsewhere[0]"], stretch=STRETCH)
    rows = encoder.fit(TokenTable.from_lists({"w": sentences}))
    assert encoder.transform(sentences).ids.tolist() == rows.ids.tolist()


CASED = st.lists(
    st.lists(st.sampled_from(["Ann", "ann", "Bo", "bo", "said", "."]), max_size=6), min_size=1, max_size=8
)


@settings(max_examples=60, deadline=None)
@given(CASED, st.integers(1, 4))
def test_other_uses_of_a_name_are_those_of_a_search_through_its_document(sentences, size):
    groups = [n // size for n in range(len(sentences))]
    places = [(n, t) for n, words in enumerate(sentences) for t in range(len(words))]

    def run(n: int, t: int) -> tuple[int, int]:
        first = last = t
        while first > 0 and sentences[n][first - 1][0].isupper():
            first -= 1
        while last < len(sentences[n]) and sentences[n][last][0].isupper():
            last += 1
        return first, last

    found = {
        name: values(f"elsewhere_{name}", sentences, groups=groups)
        for name in ("before", "after", "run", "first")
    }
    for n, t in places:
        word = sentences[n][t]
        others = [
            (m, u)
            for m, u in places
            if word[0].isupper() and sentences[m][u] == word and groups[m] == groups[n] and (m, u) != (n, t)
        ]
        if not others:
            assert all(column[n][t] is None for column in found.values())
            continue
        earlier, later = [p for p in others if p < (n, t)], [p for p in others if p > (n, t)]
        m, u = min([*earlier[-1:], *later[:1]], key=lambda p: abs(p[0] - n))
        first, last = run(m, u)
        assert found["before"][n][t] == (sentences[m][first - 1].lower() if first > 0 else "__none")
        assert found["after"][n][t] == (sentences[m][last].lower() if last < len(sentences[m]) else "__none")
        m, u = max(others, key=lambda p: run(*p)[1] - run(*p)[0])
        first, last = run(m, u)
        shown = ["", "1", "2", "3", "4+"]
        assert found["run"][n][t] == f"{shown[min(u - first + 1, 4)]} of {shown[min(last - first, 4)]}"
        assert found["first"][n][t] == sentences[m][first]


def test_quoted_is_said_between_quotation_marks_of_any_kind():
    assert values("quoted", [['"', "a", '"', "b"], ["``", "a", "''", "«", "b"]]) == [
        [None, "yes", None, None],
        [None, "yes", None, None, "yes"],
    ]


def test_the_stretch_is_kept_and_used_on_new_text():
    running = [["saw", f"Name{i // 5}"] for i in range(200)]
    encoder = FeatureEncoder(["elsewhere[0]"])
    encoder.fit(TokenTable.from_lists({"w": running}))
    assert FeatureEncoder.loaded(encoder.packed().file()).stretch == encoder.stretch == STRETCH
    mixed = FeatureEncoder(["elsewhere[0]"], stretch=1)
    assert mixed.fit(TokenTable.from_lists({"w": running})).ids.size == 0
    assert mixed.transform(running).ids.size == 0


def test_a_registered_column_is_called_once_per_distinct_word():
    calls: list[str] = []

    @column("vowelcount")
    def vowelcount(word: str) -> str | None:
        calls.append(word)
        return str(sum(c in "aeiou" for c in word)) or None

    encoder = FeatureEncoder(["vowelcount[0]"])
    encoder.fit(TokenTable.from_lists({"w": [["a", "bee", "a"], ["bee"]]}))
    assert sorted(calls) == ["a", "bee"]
    encoder.transform([["see", "bee"]])
    encoder.transform([["see", "bee"]])
    assert calls.count("see") == 1


def test_a_model_that_needs_an_unregistered_column_says_so():
    register_column("ephemeral", str.upper)
    encoder = FeatureEncoder(["ephemeral[0]"])
    encoder.fit(TokenTable.from_lists({"w": [["a"]]}))
    packed = encoder.packed()
    header, arrays, strings = packed.details, packed.arrays, packed.strings
    header["registered"] = ["ephemeral2"]
    with pytest.raises(ConfigError, match="reads the column 'ephemeral2', which is not registered"):
        FeatureEncoder.loaded(Packed(header, arrays, strings).file())
    with pytest.raises(ConfigError, match="'lower' is the name of a built-in column"):
        register_column("lower", str.upper)


def test_a_registered_function_of_the_sentence_is_a_column():
    register_sentence_column(
        "mirror", lambda words: [None if len(words) == 1 else w for w in reversed(words)]
    )
    encoder = FeatureEncoder(["mirror[0]|w[0]"])
    rows = encoder.fit(TokenTable.from_lists({"w": [["a", "b"], ["c"]]}))
    assert encoder.names(rows.ids) == ["mirror[0]=b|w[0]=a", "mirror[0]=a|w[0]=b"]
    assert encoder.transform([["a", "b"], ["c"]]).ids.tolist() == rows.ids.tolist()
    assert (
        FeatureEncoder.loaded(encoder.packed().file()).transform([["a", "b"]]).ids.tolist()
        == rows.ids.tolist()
    )
    assert encoder.sources == ("w",)
