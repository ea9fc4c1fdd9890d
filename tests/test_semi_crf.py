"""The semi-Markov recipe: what it learns, that it answers like any tagger, and that it is kept."""

import numpy as np
import pytest

from chaffinch import Tagger, load, modelfile, samples
from chaffinch.errors import ConfigError, ModelFileError
from chaffinch.evaluate import score_tags
from chaffinch.features.spans import span_features
from chaffinch.recipes.semi_crf import SemiCrf
from chaffinch.text.gazetteers import Gazetteers


def posts(part, n):
    documents = samples.load("posts", part)[:n]
    return [d.words() for d in documents], [d.columns["y"] for d in documents]


TRAIN, TEST = posts("train", 150), posts("test", 60)


@pytest.fixture(scope="module")
def tagger():
    return Tagger(SemiCrf(steps=20)).fit(*TRAIN)


@pytest.mark.parametrize("learner", ["likelihood", "perceptron"])
def test_it_learns_spans_by_either_learner(learner, tagger):
    trained = tagger if learner == "likelihood" else Tagger(SemiCrf(learner=learner, epochs=4)).fit(*TRAIN)
    ours, theirs = (_f1(one) for one in (trained, Tagger("hmm").fit(*TRAIN)))
    assert ours > theirs


def _f1(tagger):
    return score_tags(TEST[1], tagger.predict(TEST[0])).as_dict()["span.micro.f1"]


def test_marginals_add_up_and_the_best_reading_is_the_prediction(tagger):
    for p in tagger.predict_marginals(TEST[0][:10]):
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-4)
    for best, readings in zip(
        tagger.predict(TEST[0][:10]), tagger.predict_kbest(TEST[0][:10], 3), strict=True
    ):
        assert readings[0][1] == best
        assert readings[0][0] >= readings[-1][0]


def test_a_saved_model_answers_alike(tagger, tmp_path):
    tagger.save(tmp_path / "m.chaff")
    again = load(tmp_path / "m.chaff")
    assert again.predict(TEST[0]) == tagger.predict(TEST[0])
    np.testing.assert_array_equal(again.predict_marginals(TEST[0])[0], tagger.predict_marginals(TEST[0])[0])
    file = modelfile.read(tmp_path / "m.chaff")
    arrays = {name: np.array(a) for name, a in file.arrays.items()}
    arrays["keys"] = arrays["keys"][::-1].copy()
    modelfile.write(
        tmp_path / "bad.chaff", file.header, arrays, {k: list(v) for k, v in file.strings.items()}
    )
    with pytest.raises(ModelFileError, match="not ascending"):
        load(tmp_path / "bad.chaff")


def test_whole_phrases_of_a_list_are_features(tmp_path):
    (tmp_path / "city.txt").write_text("new york\nrome\n", "utf-8")
    words = [["to", "New", "York", "by", "Rome", "."], ["in", "Rome", "."], ["New", "shoes", "."]] * 4
    tags = [["O", "B-C", "I-C", "O", "B-C", "O"], ["O", "B-C", "O"], ["O", "O", "O"]] * 4
    tagger = Tagger(SemiCrf(gazetteers=str(tmp_path / "city.txt"))).fit(words, tags)
    tagger.save(tmp_path / "m.chaff")
    assert load(tmp_path / "m.chaff").predict([["by", "New", "York", "."]]) == [["O", "B-C", "I-C", "O"]]
    plain, listed = (
        span_features(words[:1], 2, g) for g in (None, Gazetteers.from_lists({"city": ["New York", "Rome"]}))
    )
    more = np.flatnonzero(np.diff(listed.ptr) - np.diff(plain.ptr))
    assert more.tolist() == [1 * 2 + 1, 4 * 2]  # the spans New York and Rome, and no other


def test_a_span_has_the_features_of_its_tokens_and_its_own():
    words = [["a", "b"], ["c"]]
    rows = span_features(words, 3)
    sizes = np.diff(rows.ptr).reshape(3, 3)
    assert sizes.tolist() == [[15, 21, 0], [15, 0, 0], [15, 0, 0]]
    apart = span_features(words[1:], 3)
    assert apart.keys.tolist() == rows.keys[rows.ptr[6] :].tolist()


def test_spans_longer_than_the_longest_are_learnt_in_pieces():
    words = [["x", "a", "b", "c", "d", "e", "y"]] * 3
    tags = [["O", "B-N", "I-N", "I-N", "I-N", "I-N", "O"]] * 3
    predicted = Tagger(SemiCrf(longest=2, min_count=1)).fit(words, tags).predict(words[:1])[0]
    assert len(predicted) == 7
    assert [tag[0] for tag in predicted] == ["O", "B", "I", "B", "I", "B", "O"]


def test_labels_that_are_no_spans_are_refused():
    with pytest.raises(ConfigError, match="recipe semi-crf labels spans"):
        Tagger("semi-crf").fit([["a", "b"]], [["NN", "VB"]])
    with pytest.raises(ConfigError, match="features of its own"):
        Tagger("semi-crf", features="default").fit([["a"]], [["B-X"]])
