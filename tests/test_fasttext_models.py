"""Models of fastText, as its files hold them: answers by the definition, evidence, files of ours, damaged files."""

import pickle
import random
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chaffinch
from chaffinch import Classifier
from chaffinch.errors import ConfigError, ModelFileError
from chaffinch.rescue.fasttext import read
from chaffinch.rescue.foreign import ForeignFile
from modelfile_mutations import block_moved, bytes_appended, bytes_replaced, cut_short
from naive_fasttext import LABELS, MODELS, NaiveFastText

TEXTS = [
    "the tea is good",
    "bad tea",
    "naïve 日本 unknown words",
    "the\ttea\vis\ngood good good",
    "",
    "tea __label__bad __label__what is",
    "good </s> bad bad bad",
    "a b c d e f g",
]
MUTATIONS = (block_moved, bytes_appended, bytes_replaced, cut_short)


def classifier(naive: NaiveFastText) -> Classifier:
    found = read(ForeignFile("a.bin", naive.file()))
    return Classifier.around(found.model, found.config)


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_the_definition(name: str) -> None:
    naive, model = MODELS[name], classifier(MODELS[name]).model_
    for threads in (1, 2):
        found = model.scores(TEXTS, None, threads)
        assert np.allclose(found, [naive.logs(text) for text in TEXTS], atol=2e-4)


@pytest.mark.parametrize("name", MODELS)
def test_the_best_label_leads_the_ranking(name: str) -> None:
    made = classifier(MODELS[name])
    scores = made.model_.scores(TEXTS, None, 1)
    ranked = made.model_.ranked(TEXTS, len(made.classes_), 1)
    in_order = np.take_along_axis(scores, ranked, axis=1)
    assert (np.diff(in_order, axis=1) <= 0).all()
    assert made.predict(TEXTS).tolist() == made.predict(TEXTS, k=1)[:, 0].tolist()
    assert made.predict_proba(TEXTS).argmax(axis=1).tolist() == scores.argmax(axis=1).tolist()


def test_of_equal_scores_the_last_label_wins_as_in_its_heap() -> None:
    naive = NaiveFastText(["</s>"], LABELS, [3, 2, 1, 1], loss=4)
    naive.output[:] = naive.output[0]
    assert classifier(naive).predict(["x"]).tolist() == ["none"]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_the_same_after_saving_loading_and_pickling(name: str, tmp_path: Path) -> None:
    made = classifier(MODELS[name])
    path = tmp_path / "m.chaff"
    made.save(path)
    loaded = chaffinch.load(path)
    for other in (loaded, pickle.loads(pickle.dumps(loaded))):
        assert other.model_.scores(TEXTS, None, 1).tobytes() == made.model_.scores(TEXTS, None, 1).tobytes()
        assert other.predict(TEXTS).tolist() == made.predict(TEXTS).tolist()
    loaded.save(tmp_path / "again.chaff")
    assert path.read_bytes() == (tmp_path / "again.chaff").read_bytes()


class Watched:
    """A native object, and the names of the methods that were called."""

    def __init__(self, core: Any) -> None:
        self.core, self.called = core, []

    def __getattr__(self, name: str) -> Any:
        self.called.append(name)
        return getattr(self.core, name)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("text", TEXTS)
def test_an_explanation_reads_its_text_once_and_gives_the_predicted_label(name: str, text: str) -> None:
    made = classifier(MODELS[name])
    watched = Watched(made.model_.core)
    made.model_ = replace(made.model_, core=watched)
    (one,) = made.explain(text).decisions
    assert set(watched.called) <= {"named_rows", "answer", "paths"}
    assert watched.called.count("named_rows") == 1
    assert one.answer == made.predict([text])[0]
    assert one.probability == pytest.approx(made.predict_proba([text]).max())


@pytest.mark.parametrize("name", [name for name in MODELS if name != "one label"])
@pytest.mark.parametrize("text", TEXTS)
def test_contributions_of_words_add_up_to_the_margin(name: str, text: str) -> None:
    made = classifier(MODELS[name])
    (one,) = made.explain(text).decisions
    naive = MODELS[name]
    assert one.answer == made.predict([text])[0]
    a, b = (list(made.classes_).index(label) for label in (one.answer, one.rival))
    rows = naive.rows(text)
    if naive.loss == 1:
        logs = naive.logs(text)
        margin = logs[a] - logs[b]
    else:
        h = naive.input[rows].astype(np.float64).mean(axis=0)
        margin = float((naive.output[a] - naive.output[b]).astype(np.float64) @ h)
    assert sum(c.difference for c in one.contributions) == pytest.approx(margin, abs=1e-5)


def test_a_word_that_is_given_twice_contributes_twice() -> None:
    made = classifier(MODELS["softmax"])
    once = {c.name: c for c in made.explain("good tea").decisions[0].contributions}
    twice = {c.name: c for c in made.explain("good tea good").decisions[0].contributions}
    assert once["good"].value == pytest.approx(1 / 3)
    assert twice["good"].value == pytest.approx(2 / 4)
    assert set(once) == {"good", "tea", "</s>"}


def test_an_explanation_names_n_grams() -> None:
    names = {c.name for c in classifier(MODELS["both"]).explain("good tea").decisions[0].contributions}
    assert {"good", "tea"} <= names
    assert any("characters '<g'" in name for name in names)
    assert any("good tea" in name for name in names)
    assert any("tea </s>" in name for name in names)


def test_labels_of_one_vs_all_can_be_chosen_by_a_threshold(tmp_path: Path) -> None:
    made = classifier(MODELS["ova"])
    p = made.predict_proba(TEXTS)
    from dataclasses import replace

    made.model_ = replace(made.model_, several=True, threshold=0.4)
    expected = [made.classes_[row >= 0.4].tolist() for row in p]
    assert made.predict(TEXTS) == expected
    made.save(tmp_path / "m.chaff")
    assert chaffinch.load(tmp_path / "m.chaff").predict(TEXTS) == expected
    assert made.explain("good tea").decisions


def test_the_strongest_words_of_a_label_have_the_greatest_products() -> None:
    naive = MODELS["subwords"]
    title, rows = classifier(naive).model_.strongest(3, "bad")
    products = naive.input[: len(naive.words)] @ naive.output[1]
    best = np.argsort(-products)[:3]
    assert title == "strongest words"
    assert [name for name, _ in rows["bad"]] == [naive.words[i] for i in best]
    assert np.allclose([weight for _, weight in rows["bad"]], products[best], atol=1e-5)
    assert list(rows) == ["bad"]


def test_models_of_other_tools_are_not_trained() -> None:
    made = classifier(MODELS["softmax"])
    with pytest.raises(ConfigError, match="a model of fastText is read, not trained"):
        made.fit(["a", "b"], ["x", "y"])
    with pytest.raises(ConfigError, match="there are ridge"):
        Classifier("nonsense").fit(["a", "b"], ["x", "y"])


def _with(offset: int, raw: bytes, name: str = "softmax") -> bytes:
    content = MODELS[name].file()
    return content[:offset] + raw + content[offset + len(raw) :]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_with(4, b"\x09"), "version 11 or 12"),
        (_with(8 + 7 * 4, b"\x02"), "holds word vectors, not a classifier"),
        (_with(8 + 6 * 4, b"\x09"), "unknown loss 9"),
        (_with(64, b"\xff\xff\xff\x7f"), "the number of words and labels, at least 1 and at most"),
        (MODELS["softmax"].file() + b"\0", "the end of the file"),
        (MODELS["softmax"].file()[:-4], "a matrix"),
        (MODELS["softmax"].file()[:-4] + b"\0\0\xc0\x7f", "finite numbers"),
        (NaiveFastText(["a", "a"], LABELS, [1, 1, 1, 1]).file(), "occurs twice"),
        (NaiveFastText(["a"], LABELS, [1, 1, 1, 1], longest=2).file(), "no buckets"),
        (NaiveFastText(["a"], LABELS, [2**60, 1, 1, 1], loss=1).file(), "make no tree"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_name(content: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message) as caught:
        read(ForeignFile("a.bin", content))
    assert str(caught.value).startswith("a.bin: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", MODELS)
def test_damaged_files_are_refused_or_give_a_model(name: str) -> None:
    sound, rng = MODELS[name].file(), random.Random(name)
    said: list[str] = []
    tracemalloc.start()
    for n in range(300):
        content = MUTATIONS[n % len(MUTATIONS)](sound, rng)
        if n % 3 == 0:  # a number of the header or of a matrix's size
            at = rng.choice([*range(4, 92, 4), rng.randrange(len(sound) - 8)])
            content = sound[:at] + rng.choice((b"\xff\xff\xff\x7f", b"\xff" * 8, b"\0" * 4)) + sound[at + 4 :]
        try:
            model: Any = read(ForeignFile("a.bin", content)).model
        except ModelFileError as e:
            said.append(str(e))
            continue
        assert model.ranked(TEXTS, 2, 1).shape[0] == len(TEXTS)
    assert tracemalloc.get_traced_memory()[1] < 50 * len(sound) + 2**20
    tracemalloc.stop()
    assert len(said) > 100
    assert all(one.startswith("a.bin: ") and "\n" not in one for one in said)
