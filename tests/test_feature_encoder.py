"""The native feature engine against a naive extractor, and what freezing, counting and saving promise."""

import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.errors import ConfigError, DataError, ModelFileError
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.features.rows import FeatureRows
from chaffinch.features.templates import FeatureSet, parse_all
from chaffinch.modelfile import Packed
from chaffinch.text.table import Column, TokenTable
from naive_features import extract, observations

WORDS = ["the", "The", "dog", "dogs", "runs", "1990s", "É", "naïve", ",", "New", "York", "x-ray"]
TAGS = ["D", "N", "V"]

ATOMS = st.tuples(st.sampled_from(["w", "pos", "lower", "suffix2", "prefix1"]), st.integers(-3, 3))
TEMPLATES = st.one_of(
    st.lists(ATOMS, min_size=1, max_size=4, unique=True).map(lambda a: "|".join(f"{c}[{o}]" for c, o in a)),
    st.tuples(st.integers(-4, 2), st.integers(0, 3)).map(lambda r: f"any(w,{r[0]}..{r[0] + r[1]})"),
    st.lists(ATOMS, max_size=2, unique=True).map(lambda a: "|".join(["y[-1]", *(f"{c}[{o}]" for c, o in a)])),
    st.just("bias"),
    st.just("y[-2]|y[1]"),
)
SENTENCES = st.lists(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(TAGS)), max_size=8), min_size=1, max_size=6
)


def table_of(sentences: list[list[tuple[str, str]]]) -> TokenTable:
    return TokenTable.from_lists(
        {"w": [[w for w, _ in s] for s in sentences], "pos": [[p for _, p in s] for s in sentences]}
    )


def columns_of(sentence: list[tuple[str, str]]) -> dict[str, list[str | None]]:
    words = [w for w, _ in sentence]
    return {
        "w": list(words),
        "pos": [p for _, p in sentence],
        "lower": [w.lower() for w in words],
        "suffix2": [w[-2:] if len(w) >= 2 else None for w in words],
        "prefix1": [w[:1] for w in words],
    }


def named(encoder: FeatureEncoder, rows: FeatureRows) -> list[list[str]]:
    return [encoder.names(rows.ids[a:b]) for a, b in zip(rows.ptr[:-1], rows.ptr[1:], strict=True)]


@settings(deadline=None, max_examples=80)
@given(st.lists(TEMPLATES, min_size=1, max_size=6), SENTENCES, SENTENCES, st.booleans(), st.integers(1, 3))
def test_features_are_those_of_the_naive_extractor(templates, train, test, boundary, min_count):
    features = FeatureSet(parse_all(templates), boundary)
    encoder = FeatureEncoder(features, min_count=min_count, threads=1)
    rows = encoder.fit(table_of(train))

    expected = [f for s in train if s for f in extract(features, columns_of(s))]
    counts = Counter(f for token in expected for f in token)
    kept = {f for f, n in counts.items() if n >= min_count}
    assert encoder.n_features == len(kept)
    assert [sorted(token) for token in named(encoder, rows)] == [sorted(token & kept) for token in expected]
    assert [counts[f] for f in encoder.names(range(encoder.n_features))] == encoder.counts().tolist()

    again = encoder.transform(table_of(test))
    expected = [f for s in test if s for f in extract(features, columns_of(s))]
    assert [sorted(token) for token in named(encoder, again)] == [sorted(token & kept) for token in expected]
    lists = encoder.transform(
        {"w": [[w for w, _ in s] for s in test], "pos": [[p for _, p in s] for s in test]}
    )
    assert lists.ptr.tolist() == again.ptr.tolist()
    assert lists.ids.tolist() == again.ids.tolist()
    assert lists.sentences.tolist() == again.sentences.tolist()


@settings(deadline=None, max_examples=50)
@given(st.lists(TEMPLATES, min_size=1, max_size=6), SENTENCES, SENTENCES, st.booleans(), st.integers(1, 2))
def test_observations_of_label_templates_are_those_of_the_naive_extractor(
    templates, train, test, boundary, min_count
):
    features = FeatureSet(parse_all(templates), boundary)
    encoder = FeatureEncoder(features, min_count=min_count, threads=1)
    rows = encoder.fit(table_of(train))
    seen = [o for s in train if s for o in observations(features, columns_of(s))]
    labelled = [t for t in features.templates if t.label_offsets]
    assert [t.offsets for t in encoder.label_templates] == [t.label_offsets for t in labelled]
    kept = [
        {name for name, n in Counter(o[k] for o in seen).items() if n >= min_count and name is not None}
        for k in range(len(labelled))
    ]
    assert [t.n_observations for t in encoder.label_templates] == [len(names) for names in kept]

    for sentences, got in ((train, rows), (test, encoder.transform(table_of(test)))):
        expected = [o for s in sentences if s for o in observations(features, columns_of(s))]
        assert got.observations.shape == (len(expected), len(labelled))
        for token, ids in zip(expected, got.observations.tolist(), strict=True):
            names = [None if i < 0 else encoder.observation_name(k, i) for k, i in enumerate(ids)]
            assert names == [n if n in kept[k] else None for k, n in enumerate(token)]


@settings(deadline=None, max_examples=20)
@given(st.lists(TEMPLATES, min_size=1, max_size=6), SENTENCES)
def test_two_threads_give_the_same_ids_as_one(templates, train):
    features = FeatureSet(parse_all(templates))
    one, two = FeatureEncoder(features, threads=1), FeatureEncoder(features, threads=2)
    a, b = one.fit(table_of(train)), two.fit(table_of(train))
    assert a.ids.tolist() == b.ids.tolist()
    assert a.observations.tolist() == b.observations.tolist()
    assert one.transform(table_of(train)).ids.tolist() == two.transform(table_of(train)).ids.tolist()


def test_threads_and_batches_do_not_change_a_long_text():
    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 40, 2500)
    words = [[f"w{int(i)}" for i in rng.zipf(1.3, n) % 5000] for n in lengths]
    table = TokenTable.from_lists({"w": words})
    made = []
    for threads in (1, 2, 3):
        encoder = FeatureEncoder("default", threads=threads, min_count=2)
        made.append((encoder.fit(table), encoder.transform(table), encoder.transform(words)))
    for fitted, found, listed in made:
        for rows in (fitted, found, listed):
            assert np.array_equal(rows.ids, made[0][0].ids)
            assert np.array_equal(rows.ptr, made[0][0].ptr)


def test_many_atoms_of_many_values_keep_exact_keys_and_names():
    rng = np.random.default_rng(1)
    words = [[f"w{int(i)}" for i in rng.integers(0, 20_000, 30)] for _ in range(1000)]
    features = FeatureSet(
        parse_all(["w[-2]|w[-1]|w[0]|w[1]|w[2]|w[3]|w[4]|w[5]|w[6]", "y[-1]|w[0]|w[1]|w[2]|w[3]"])
    )
    encoder = FeatureEncoder(features, threads=1)
    rows = encoder.fit(TokenTable.from_lists({"w": words}))
    again = FeatureEncoder.loaded(encoder.packed().file())
    for s in (0, 17, 999):
        expected = [sorted(f) for f in extract(features, {"w": list(words[s])})]
        bounds = rows.ptr[s * 30 : (s + 1) * 30 + 1].tolist()
        assert [sorted(encoder.names(rows.ids[a:b])) for a, b in pairwise(bounds)] == expected
        assert again.transform([words[s]]).ids.tolist() == rows.ids[bounds[0] : bounds[-1]].tolist()
        assert (
            again.transform([words[s]]).observations.tolist()
            == rows.observations[s * 30 : s * 30 + 30].tolist()
        )


def test_ids_fall_with_frequency():
    encoder = FeatureEncoder(["w[0]", "w[-1]|w[0]"])
    encoder.fit(TokenTable.from_lists({"w": [["a", "b", "a", "b", "c", "a"]]}))
    assert encoder.counts().tolist() == sorted(encoder.counts().tolist(), reverse=True)
    assert encoder.names([0, 1]) == ["w[0]=a", "w[0]=b"]


def test_pruned_features_are_gone_and_the_others_close_ranks():
    encoder = FeatureEncoder(["w[0]", "suffix1[0]"])
    rows = encoder.fit(TokenTable.from_lists({"w": [["ab", "cb"]]}))
    names = encoder.names(range(encoder.n_features))
    keep = np.array([name.startswith("w") for name in names])
    small = encoder.pruned(keep)
    assert small.names(range(small.n_features)) == [n for n in names if n.startswith("w")]
    assert named(small, small.transform([["ab", "cb"]])) == [["w[0]=ab"], ["w[0]=cb"]]
    assert encoder.names(range(encoder.n_features)) == names
    assert len(rows.ids) == 4
    with pytest.raises(ConfigError, match="keep for each of 2 features, got 3"):
        small.pruned(np.ones(3, bool))


def test_unseen_words_share_the_features_of_their_parts_and_have_no_others():
    encoder = FeatureEncoder(["w[0]", "suffix3[0]", "shape[0]", "w[-1]|w[0]"])
    encoder.fit(TokenTable.from_lists({"w": [["the", "walking", "dog"]]}))
    rows = encoder.transform([["the", "talking", "dog"], ["Zzz"]])
    assert named(encoder, rows)[1] == ["suffix3[0]=ing", "shape[0]=x"]
    assert named(encoder, rows)[2] == ["w[0]=dog", "suffix3[0]=dog", "shape[0]=x"]
    assert named(encoder, rows)[3] == []


def test_the_cache_of_words_survives_many_calls_and_gives_the_same_rows():
    encoder = FeatureEncoder("pos")
    encoder.fit(TokenTable.from_lists({"w": [["The", "dog", "barks", "."]]}))
    first = encoder.transform([["The", "frog", "naïvely", "barks"]])
    for _ in range(3):
        again = encoder.transform([["The", "frog", "naïvely", "barks"]])
        assert again.ids.tolist() == first.ids.tolist()


def test_missing_values_make_no_feature():
    words = Column(["a", "b"], np.array([0, -1, 1], np.int32))
    encoder = FeatureEncoder(["w[0]", "w[-1]|w[0]", "position[0]", "run[0]", "elsewhere[0]"])
    rows = encoder.fit(TokenTable(np.array([0, 3]), {"w": words}))
    assert named(encoder, rows)[1] == ["position[0]=1"]
    assert named(encoder, encoder.transform({"w": [["a", None, "b"]]})) == named(encoder, rows)


def test_labels_in_the_table_are_never_features():
    table = TokenTable.from_lists({"w": [["a"]], "y": [["SECRET"]]})
    encoder = FeatureEncoder("default")
    rows = encoder.fit(table)
    assert not any("SECRET" in name for name in encoder.names(rows.ids))
    assert encoder.sources == ("w",)


def test_another_column_of_the_corpus_can_be_taken_apart_too():
    encoder = FeatureEncoder(["suffix2(lemma)[0]"])
    rows = encoder.fit(TokenTable.from_lists({"w": [["went"]], "lemma": [["gone"]]}))
    assert encoder.names(rows.ids) == ["suffix2(lemma)[0]=ne"]


def test_state_survives_json_and_gives_equal_rows(data):
    words = [["New", "York", ",", "isn't", "far", "from", "É", "1990s"], ["(", "to", "the", "dog", ")"]]
    encoder = FeatureEncoder("ner", min_count=1)
    rows = encoder.fit(TokenTable.from_lists({"w": words}))
    packed = encoder.packed()
    header, arrays, strings = packed.details, packed.arrays, packed.strings
    again = FeatureEncoder.loaded(
        Packed(json.loads(json.dumps(header)), arrays, json.loads(json.dumps(strings))).file()
    )
    assert again.transform(words).ids.tolist() == rows.ids.tolist()
    assert again.names(rows.ids) == encoder.names(rows.ids)
    assert again.label_templates == encoder.label_templates


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("feature_template", lambda a: a + 100),
        ("feature_key", lambda a: a + np.uint64(2**60)),
        ("feature_key", np.zeros_like),
        ("feature_key", lambda a: a[:-1]),
        ("observation_ptr", lambda a: a + 5),
        ("observation_ptr", lambda a: a[:-1]),
        ("observation_key", lambda a: a + np.uint64(10**6)),
        ("join_ptr", lambda a: a - 9),
        ("join_ptr", lambda a: a[:1]),
        ("join_key", lambda a: a[:-1]),
    ],
)
def test_a_damaged_index_is_refused(name, damage):
    words = [[f"w{i}" for i in range(300)]]
    encoder = FeatureEncoder(["w[0]|w[1]|w[2]|w[3]|w[4]|w[5]|w[6]|w[7]|w[8]", "y[-1]|w[0]", "y[-1]|w[-1]"])
    encoder.fit(TokenTable.from_lists({"w": words}))
    packed = encoder.packed()
    header, arrays, strings = packed.details, packed.arrays, packed.strings
    assert len(arrays["join_ptr"]) > 1
    arrays[name] = np.ascontiguousarray(damage(arrays[name]).astype(arrays[name].dtype))
    with pytest.raises(ModelFileError):
        FeatureEncoder.loaded(Packed(header, arrays, strings).file())


def test_bad_input_is_refused_in_one_sentence():
    encoder = FeatureEncoder(["w[0]", "pos[0]"])
    with pytest.raises(ConfigError, match="call fit first"):
        encoder.transform([["a"]])
    with pytest.raises(ConfigError, match="no column 'pos'"):
        encoder.fit(TokenTable.from_lists({"w": [["a"]]}))
    encoder.fit(TokenTable.from_lists({"w": [["a"]], "pos": [["N"]]}))
    with pytest.raises(DataError, match="need column 'pos'; there are w"):
        encoder.transform([["a"]])
    with pytest.raises(DataError, match="tokens of sentence 1: column 1 has 1, column 2 has 2"):
        encoder.transform({"w": [["a"]], "pos": [["N", "N"]]})
    with pytest.raises(DataError, match="expected a list of strings"):
        encoder.transform({"w": ["a"], "pos": ["N"]})
    with pytest.raises(DataError, match="expected strings, found"):
        encoder.transform({"w": [[1]], "pos": [["N"]]})
    with pytest.raises(ConfigError, match="no feature preset and no file 'nosuch'"):
        FeatureEncoder("nosuch").fit(TokenTable.from_lists({"w": [["a"]]}))


def test_conll2000_has_the_attributes_that_crfsuite_counts(data):
    columns: dict[str, list[list[str]]] = {"w": [], "pos": []}
    for block in (data / "conll2000" / "train.tsv").read_text(encoding="utf-8").strip().split("\n\n"):
        fields = [line.split("\t") for line in block.split("\n")]
        columns["w"].append([f[0] for f in fields])
        columns["pos"].append([f[1] for f in fields])
    encoder = FeatureEncoder("chunking19")
    rows = encoder.fit(TokenTable.from_lists(columns))
    assert (encoder.n_features, rows.n_tokens) == (335_672, 211_727)


def test_the_default_features_of_a_treebank_leave_its_other_gold_columns_alone():
    from chaffinch.features.presets import PRESETS

    gold = ["lemma", "xpos", "feats", "deprel"]
    for label in gold:  # the column that is learnt is not among those of the table
        whole = PRESETS["default"](["w", *(name for name in gold if name != label), "y"])
        assert not [t for t in whole if any(name in t for name in gold)]
    assert any(t.startswith("xpos[") for t in PRESETS["default"](["w", "xpos", "y"]))  # chosen by --columns


def test_an_index_holds_no_memory_of_the_features_that_were_only_counted() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in rng.integers(0, 700, 20_000)]
    encoder = FeatureEncoder(["w[0]|w[1]"], min_count=2, threads=1)
    encoder.fit(TokenTable.from_lists({"w": [words]}))
    assert 20 < encoder.n_features < 1_000  # of about 20,000 that were counted
    assert encoder._engine is not None
    assert encoder._engine.index_bytes < 70 * encoder.n_features
    few = encoder.pruned(np.arange(encoder.n_features) < 10)
    assert few._engine is not None
    assert few._engine.index_bytes < 2_000
    assert few.names(np.arange(10)) == encoder.names(np.arange(10))
