"""Features of your own: dicts, lists of strings and values per token, beside templates or instead of them."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from chaffinch import Tagger, load
from chaffinch.errors import ConfigError, DataError, ModelFileError
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.modelfile import read, write
from chaffinch.recipes.margin import MaxMarginMarkovNetwork
from chaffinch.text.table import TokenTable, concatenated

WORDS = "tea milk drink hot cold cup saucer spoon".split()
TAG = {"drink": "V", "hot": "A", "cold": "A"}


def sentences(n: int = 40, seed: int = 0) -> tuple[list[list[str]], list[list[dict]], list[list[str]]]:
    """Words, their features and their tags."""
    chance = np.random.default_rng(seed)
    words, X, y = [], [], []
    for _ in range(n):
        drawn = chance.choice(WORDS, chance.integers(2, 6)).tolist()
        words.append(drawn)
        X.append(
            [
                {
                    "w": w,
                    "bias": 1.0,
                    "length": len(w) / 4,
                    "first": i == 0,
                    "near": {"next": drawn[i + 1 : i + 2]},
                }
                for i, w in enumerate(drawn)
            ]
        )
        y.append([TAG.get(w, "N") for w in drawn])
    return words, X, y


RECIPES = ["crf", "perceptron", "mira", "ssvm", "m3n", "memm", "greedy", "easiest-first", "beam"]
RECIPES += ["latent-perceptron", "latent-ssvm"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_chain_recipe_learns_from_dicts_and_predicts_the_same_once_loaded(
    recipe: str, tmp_path: Path
) -> None:
    _, X, y = sentences()
    tagger = Tagger(recipe, folds=0).fit(X, y)
    found = tagger.predict(X)
    assert tagger.score(X, y) > 0.99
    tagger.save(tmp_path / "m.chaff")
    loaded = load(tmp_path / "m.chaff")
    assert loaded.predict(X) == found
    assert loaded.columns_ == ("attributes",)
    names = {c.name for c in loaded.explain(X[0], token=0).decisions[0].contributions}
    assert "bias" in names
    assert f"w:{X[0][0]['w']}" in names


def test_contributions_are_weights_times_values_and_add_up_to_the_margin() -> None:
    _, X, y = sentences()
    tagger = Tagger("crf", folds=0).fit(X, y)
    why = tagger.explain(X[0], token=0).decisions[0]
    assert sum(c.difference for c in why.contributions) == pytest.approx(why.margin, abs=1e-6)
    doubled = [{**X[0][0], "length": 2 * X[0][0]["length"]}, *X[0][1:]]
    twice = tagger.explain(doubled, token=0, against=why.rival).decisions[0]
    once, more = (next(c.difference for c in d.contributions if c.name == "length") for d in (why, twice))
    assert more == pytest.approx(2 * once, rel=1e-5)


def test_marginals_with_values_are_those_of_enumeration() -> None:
    _, X, y = sentences()
    tagger = Tagger("crf", folds=0).fit(X, y)
    model = tagger.model_
    x = next(x for x in X if len(x) == 3)
    rows = model.encoder.rows(TokenTable.over_lists({"attributes": [x]}), 1)
    w, Y = model.weights, len(model.labels.inner)
    unary = np.array(
        [
            (rows.values[a:b, None] * w.dense[rows.ids[a:b]]).sum(0)
            for a, b in zip(rows.ptr, rows.ptr[1:], strict=False)
        ]
    )
    p = np.zeros((3, Y))
    for labels in product(range(Y), repeat=3):
        score = w.start[labels[0]] + w.end[labels[-1]] + unary[np.arange(3), labels].sum()
        score += w.pair[labels[0], labels[1]] + w.pair[labels[1], labels[2]]
        p[np.arange(3), labels] += np.exp(float(score))
    np.testing.assert_allclose(tagger.predict_marginals([x])[0], p / p.sum(axis=1, keepdims=True), atol=1e-5)


def test_values_of_one_train_the_same_bytes_as_strings(tmp_path: Path) -> None:
    words, _, y = sentences()
    forms = [
        [[{"w": w, "bias": 1.0} for w in s] for s in words],
        [[{"w": w, "bias": True, "never": False} for w in s] for s in words],
        [[[f"w:{w}", ("bias", 1)] for w in s] for s in words],
        [[{"w": [w], "bias": 1} for w in s] for s in words],
    ]
    files = []
    for k, X in enumerate(forms):
        tagger = Tagger("crf", folds=0).fit({"attributes": X}, y)
        tagger.save(tmp_path / f"{k}.chaff")
        assert tagger.model_.encoder.rows(TokenTable.over_lists({"attributes": X}), 1).values is None
        files.append(read(tmp_path / f"{k}.chaff"))
    for other in files[1:]:
        assert list(other.strings["features.attribute_names"]) == list(
            files[0].strings["features.attribute_names"]
        )
        for name, array in files[0].arrays.items():
            assert array.tobytes() == other.arrays[name].tobytes()


def test_features_stand_beside_templates_and_the_most_frequent_come_first(tmp_path: Path) -> None:
    words, X, y = sentences()
    both = [[(w, x) for w, x in zip(*s, strict=True)] for s in zip(words, X, strict=True)]
    tagger = Tagger("crf", features=["w[0]", "w[-1]"], folds=0).fit(both, y)
    assert tagger.columns_ == ("w", "attributes")
    encoder = tagger.model_.encoder.features
    names = encoder.names(range(encoder.n_features))
    assert {"w[0]=tea", "w:tea", "bias", "near:next:tea"} <= set(names)
    rows = encoder.transform(TokenTable.over_lists({"w": words, "attributes": X}))
    counts = np.bincount(rows.ids, minlength=len(names))
    assert (np.diff(counts) <= 0).all()
    for t in (0, 5):
        here = slice(rows.ptr[t], rows.ptr[t + 1])
        found = dict(zip(encoder.names(rows.ids[here]), rows.values[here].tolist(), strict=True))
        x = [token for s in X for token in s][t]
        assert found["length"] == x["length"]
        assert found[f"w[0]={x['w']}"] == 1
    tagger.save(tmp_path / "m.chaff")
    assert load(tmp_path / "m.chaff").predict(both) == tagger.predict(both)
    small = tagger.model_.shrunk(0.3, 8)
    assert small.encoder.n_features < encoder.n_features
    table = TokenTable.over_lists({"w": words, "attributes": X})
    assert (small.decode(table, 1) == tagger.model_.decode(table, 1)).mean() > 0.95
    alone = Tagger("crf", features="own", folds=0).fit(both, y)
    assert alone.model_.columns == ("attributes",)


def test_partial_fit_keeps_ids_and_learns_further_features() -> None:
    words, X, y = sentences()
    for given in (X, [[(w, x) for w, x in zip(*s, strict=True)] for s in zip(words, X, strict=True)]):
        tagger = Tagger("crf", folds=0).fit(given[:30], y[:30])
        before = tagger.model_.encoder.features
        fresh = {"w": "kettle", "bias": 1.0, "iron": 2.0}
        token = fresh if isinstance(given[0][0], dict) else ("kettle", fresh)
        tagger.partial_fit([[token]] * 3, [["K"]] * 3)
        after = tagger.model_.encoder.features
        known = before.names(range(before.n_features))
        assert after.names(range(len(known))) == known
        assert {"w:kettle", "iron"} <= set(after.names(range(len(known), after.n_features)))
        assert tagger.predict([[token]]) == [["K"]]
        assert tagger.score(given[:30], y[:30]) > 0.99


def test_choosing_folds_and_calibration_work_on_features_alone() -> None:
    _, X, y = sentences(130)
    tagger = Tagger().fit(X, y)
    assert tagger.choice_["features"] == "own"
    assert all(span.probability > 0.5 for span in tagger.predict_spans(X[:1])[0])
    assert tagger.predict(X[:3], k=2)[0][0] == tagger.predict(X[:1])[0]


def test_lists_of_strings_are_features_if_they_look_like_them() -> None:
    words, _, y = sentences()
    equals = [[[f"w={w}", "bias"] for w in s] for s in words]
    uneven = [[["bias", w] if len(w) > 3 else [w] for w in s] for s in words]
    for X in (equals, uneven):
        tagger = Tagger("crf", folds=0).fit(X, y)
        assert tagger.columns_ == ("attributes",)
        assert tagger.score(X, y) > 0.99
    with pytest.raises(DataError, match="dicts or lists of features"):
        tagger.predict([["tea"]])


def test_selected_and_joined_tables_have_the_rows_of_their_sentences() -> None:
    _, X, _ = sentences(6)
    whole = TokenTable.over_lists({"attributes": X})
    interned = TokenTable(
        whole.ptr, whole.columns, attributes=type(whole.attributes)(True, found=whole.attributes.rows)
    )
    for table in (whole, interned):
        chosen = table.taken([4, 1])
        assert chosen.lists("attributes") == [whole.lists("attributes")[n] for n in (4, 1)]
        picked = table.of_sentences(np.array([False, True, False, False, True, False]))
        both = concatenated([picked, chosen])
        assert both.lists("attributes") == [whole.lists("attributes")[n] for n in (1, 4, 4, 1)]
        assert both.lists("w") == [whole.lists("w")[n] for n in (1, 4, 4, 1)]
    one, other = (FeatureEncoder([], min_count=2) for _ in range(2))
    rows, again = one.fit(whole), other.fit(interned)
    assert rows.ids.tobytes() == again.ids.tobytes()
    assert one.names(range(one.n_features)) == other.names(range(other.n_features))


@pytest.mark.parametrize(
    ("token", "told"),
    [
        ({"a": None}, "feature 'a' is NoneType"),
        ({"a": float("nan")}, "expected a finite number"),
        ({"a": 1e300}, "expected a finite number"),
        ({3: "a"}, "names of features must be strings"),
        ({"a": [1]}, "a list of features holds int"),
    ],
)
def test_what_is_no_feature_is_refused_with_its_place(token: dict, told: str) -> None:
    with pytest.raises(DataError, match=rf"sentence 2, token 1: .*{told}"):
        Tagger("crf").fit([[{"a": 1}], [token]], [["A"], ["B"]])


def test_recipes_that_cannot_use_them_say_which_can() -> None:
    words, X, y = sentences(10)
    with pytest.raises(ConfigError, match=r"recipe hmm cannot use your own features .* crf, memm"):
        Tagger("hmm").fit(X, y)
    with pytest.raises(ConfigError, match="have no words for templates to read"):
        Tagger("crf", features=["w[0]"]).fit(X, y)
    with pytest.raises(ConfigError, match="features 'own' needs"):
        Tagger("crf", features="own").fit(words, y)
    spans = [["B-X" if tag == "N" else "O" for tag in s] for s in y]
    with pytest.raises(ConfigError, match="semi-crf reads the words of spans"):
        Tagger("semi-crf").fit(X, spans)
    both = [[(w, x) for w, x in zip(*s, strict=True)] for s in zip(words, X, strict=True)]
    assert Tagger("semi-crf", folds=0).fit(both, spans).score(both, spans) > 0.9
    with pytest.raises(ConfigError, match="polynomial kernel"):
        Tagger(MaxMarginMarkovNetwork(kernel="polynomial")).fit(X, y)


def test_a_damaged_file_of_own_features_is_refused(tmp_path: Path) -> None:
    words, X, y = sentences(10)
    both = [[(w, x) for w, x in zip(*s, strict=True)] for s in zip(words, X, strict=True)]
    Tagger("crf", folds=0).fit(both, y).save(tmp_path / "m.chaff")
    file = read(tmp_path / "m.chaff")
    order = file.arrays["features.feature_order"].copy()
    order[0] = order[1]
    write(tmp_path / "bad.chaff", file.header, {**file.arrays, "features.feature_order": order}, file.strings)
    with pytest.raises(ModelFileError, match="feature_order"):
        load(tmp_path / "bad.chaff")
    names = [*file.strings["features.attribute_names"]]
    names[0] = names[1]
    write(
        tmp_path / "bad.chaff", file.header, file.arrays, {**file.strings, "features.attribute_names": names}
    )
    with pytest.raises(ModelFileError, match="same name"):
        load(tmp_path / "bad.chaff")
