"""The second pass: what it reads, that it helps where a name is only clear elsewhere, and that it is kept."""

import numpy as np
import pytest

import chaffinch
from chaffinch.errors import ConfigError
from chaffinch.estimators import Tagger
from chaffinch.model.two_pass import TwoPassModel
from chaffinch.recipes.crf import FOLDS, Crf, _folds
from chaffinch.text.first_pass import with_first_pass
from chaffinch.text.table import TokenTable


def documents(n: int, seed: int) -> tuple[TokenTable, TokenTable]:
    """Texts of two sentences: one says what a new word is, the other only uses it. Without labels, and with."""
    rng = np.random.default_rng(seed)
    words, labels = [], []
    for _ in range(n):
        name = "".join(rng.choice(list("abcdefghij"), 5))
        person = bool(rng.random() < 0.5)
        words += [["mister" if person else "town", name], ["saw", name, "today"]]
        kind = "B-PER" if person else "B-LOC"
        labels += [["O", kind], ["O", kind, "O"]]
    plain = TokenTable.from_lists({"w": words})
    groups = np.repeat(np.arange(n, dtype=np.int32), 2)
    both = TokenTable.from_lists({"w": words, "y": labels})
    return TokenTable(plain.ptr, plain.columns, groups), TokenTable(both.ptr, both.columns, groups)


def test_the_majority_is_that_of_the_other_uses_counted_one_by_one():
    rng = np.random.default_rng(1)
    words = [[str(w) for w in rng.choice(list("aAbBc"), 4)] for _ in range(12)]
    table = TokenTable.from_lists({"w": words})
    groups = np.repeat(np.arange(4), 3).astype(np.int32)
    labels = rng.integers(0, 3, 48).astype(np.int32)
    kinds = ["Z", "O", "Z"]
    column = with_first_pass(table, labels, kinds, groups).columns["majority"]
    flat = [w.lower() for s in words for w in s]
    document = np.repeat(groups, 4)
    for t in range(48):
        others = [
            kinds[labels[u]]
            for u in range(48)
            if u != t and flat[u] == flat[t] and document[u] == document[t]
        ]
        expected = max(sorted(set(others)), key=others.count) if others else None
        assert (column.types[column.ids[t]] if column.ids[t] >= 0 else None) == expected


def test_documents_are_not_cut_into_folds_where_there_are_enough():
    groups = np.repeat(np.arange(10), 7).astype(np.int32)
    folds = _folds(groups)
    assert sorted(set(folds.tolist())) == list(range(FOLDS))
    assert all(len(set(folds[groups == g].tolist())) == 1 for g in range(10))
    assert len(set(_folds(np.zeros(50, np.int32)).tolist())) == FOLDS


@pytest.mark.parametrize("threads", [1, 2])
def test_a_name_that_is_clear_elsewhere_is_found(tmp_path, threads):
    _, train = documents(120, 1)
    plain, test = documents(40, 2)
    features = ["w[-1..1]"]
    one = Tagger(Crf(), features=features, seed=1, threads=threads).fit(train)
    two = Tagger(Crf(second_pass=True), features=features, seed=1, threads=threads).fit(train)
    assert one.score(test) < 0.95
    assert two.score(test) == 1.0
    assert two.model_.columns == ("w",)
    two.save(tmp_path / f"{threads}.chaff")
    again = chaffinch.load(tmp_path / f"{threads}.chaff")
    assert isinstance(again.model_, TwoPassModel)
    assert again.predict(plain) == two.predict(plain)
    assert again.distributions(plain)[1].best() == two.predict(plain)[1]
    assert again.predict_kbest(plain, 2)[0][0][1] == two.predict(plain)[0]


def test_any_number_of_threads_gives_the_same_bytes(tmp_path):
    _, train = documents(60, 3)
    for threads in (1, 2):
        config = Crf(second_pass=True, optimiser="fast")
        Tagger(config, features=["w[-1..1]"], threads=threads).fit(train).save(tmp_path / f"{threads}.chaff")
    assert (tmp_path / "1.chaff").read_bytes() == (tmp_path / "2.chaff").read_bytes()


def test_what_a_second_pass_cannot_use_is_refused():
    _, train = documents(20, 3)
    with pytest.raises(ConfigError, match="second_pass supports neither checkpoints nor soft labels"):
        Tagger(Crf(second_pass=True, checkpoint="run.chaff")).fit(train)


def test_templates_of_a_users_own_may_read_what_the_first_pass_said():
    _, train = documents(60, 3)
    tagger = Tagger(Crf(second_pass=True), features=["w[-1..1]", "majority[0]", "first[-1]"]).fit(train)
    assert "majority[0]" in tagger.model_.second.encoder.features.templates
    assert "majority[0]" not in tagger.model_.first.encoder.features.templates
