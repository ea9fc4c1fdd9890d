"""The semi-Markov recipe: what it learns, that it answers like any tagger, and that it is kept."""

import numpy as np
import pytest

import brute
from chaffinch import Tagger, _core, load, modelfile, samples
from chaffinch.errors import ConfigError, ModelFileError
from chaffinch.evaluate import score_tags
from chaffinch.features.spans import span_features
from chaffinch.recipes.semi_crf import SemiCrf
from chaffinch.scorers.segments import SegmentScorer
from chaffinch.structures import Parts
from chaffinch.structures.segments import Segment
from chaffinch.text.gazetteers import Gazetteers


def posts(part, n):
    documents = samples.load("posts", part)[:n]
    return [d.words() for d in documents], [d.columns["y"] for d in documents]


TRAIN, TEST = posts("train", 150), posts("test", 60)


@pytest.fixture(scope="module")
def tagger():
    return Tagger("semi-crf").fit(*TRAIN)


def test_it_learns_spans(tagger):
    assert _f1(tagger) > _f1(Tagger("hmm").fit(*TRAIN))


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


def test_spans_within_a_sentence_have_features_and_no_others():
    words = [["a", "b"], ["c"]]
    rows = span_features(words, 3)
    sizes = np.diff(rows.ptr).reshape(3, 3)
    assert (sizes > 0).tolist() == [[True, True, False], [True, False, False], [True, False, False]]
    apart = span_features(words[1:], 3)
    assert apart.keys.tolist() == rows.keys[rows.ptr[6] :].tolist()


LONGEST = np.array([1, 2, 3], np.int32)


def _drawn_problem(rng, T=5, F=4, G=3):
    """One sentence with random features, and its feature lists: of tokens, and of spans by (start, length)."""
    L = int(LONGEST.max())
    tokens = [sorted(rng.choice(F, rng.integers(0, F), replace=False)) for _ in range(T)]
    spans = {
        (t, n): sorted(rng.choice(G, rng.integers(0, G), replace=False)) if t + n <= T else []
        for t in range(T)
        for n in range(1, L + 1)
    }
    token_ptr = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    span_ptr = np.cumsum([0, *map(len, spans.values())], dtype=np.int64)
    flat = [np.array([f for one in every for f in one], np.int32) for every in (tokens, spans.values())]
    problem = _core.SegmentProblem(
        np.array([0, T], np.int64), token_ptr, flat[0], span_ptr, flat[1], F, G, LONGEST
    )
    w = np.zeros(problem.size, np.float32)
    weights = SegmentScorer(w, F, G, LONGEST)
    for block in weights.blocks().values():
        block[...] = rng.normal(size=block.shape)
    return problem, weights, tokens, spans


def _potentials(problem, weights, T):
    segment, pair, start, end = problem.scores(weights.w, 0)
    Y = len(LONGEST)
    return Parts(segment=segment.reshape(T * weights.L, Y), pair=pair.reshape(Y, Y), start=start, end=end)


@pytest.mark.parametrize("seed", range(5))
def test_a_segment_scores_what_its_tokens_show_in_their_places_and_what_it_shows_as_a_whole(seed):
    T = 5
    problem, weights, tokens, spans = _drawn_problem(np.random.default_rng(seed), T)
    token, span = weights.blocks()["token"], weights.blocks()["span"]
    found = _potentials(problem, weights, T)["segment"].reshape(T, weights.L, -1)
    for (t, n), features in spans.items():
        for y, most in enumerate(LONGEST):
            if t + n > T or n > most:
                assert found[t, n - 1, y] == -np.inf
                continue
            bioes = ["alone"] if n == 1 else ["first", *["inside"] * (n - 2), "last"]
            places = [
                0 if y == 0 else 1 + 4 * (y - 1) + ["alone", "first", "inside", "last"].index(name)
                for name in bioes
            ]
            expected = sum(token[f, place] for k, place in enumerate(places) for f in tokens[t + k])
            expected += sum(span[g, y] for g in features)
            assert found[t, n - 1, y] == pytest.approx(expected, abs=1e-5)


def test_a_step_goes_down_the_gradient_of_the_loss():
    T = 5
    problem, weights, _, _ = _drawn_problem(np.random.default_rng(7), T)
    gold = np.array([[0, 1, 0], [1, 3, 2], [4, 1, 1]], np.int32)
    y = tuple(Segment(t, t + n, label) for t, n, label in gold.tolist())
    structure = weights.structure

    def loss():
        potentials = _potentials(problem, weights, T)
        return structure.logsum(potentials)[0] - brute.score(structure, potentials, y)

    before, moved, rate = weights.w.copy(), weights.w.copy(), 1e-3
    learner = _core.SegmentSgd(
        problem,
        gold,
        np.array([0, 3], np.int64),
        c2=0.0,
        rate=rate,
        epochs=10**9,
        margin=0.0,
        recall=1.0,
        seed=1,
    )
    assert learner.run(moved) == pytest.approx(loss(), rel=1e-5)
    gradient = (before - moved) / rate
    for k in np.flatnonzero(before):
        weights.w[k] = before[k] + 0.01
        above = loss()
        weights.w[k] = before[k] - 0.01
        below = loss()
        weights.w[k] = before[k]
        assert gradient[k] == pytest.approx((above - below) / 0.02, abs=3e-3)


def test_touching_spans_of_one_type_are_one_where_tags_cannot_tell_them_apart():
    words, tags = [["a", "b", "x"]] * 6, [["I-N", "I-N", "O"]] * 6
    predicted = Tagger(SemiCrf(longest=1)).fit(words, tags).predict(words[:1])
    assert predicted == tags[:1]


def test_spans_longer_than_the_longest_are_learnt_in_pieces():
    words = [["x", "a", "b", "c", "d", "e", "y"]] * 3
    tags = [["O", "B-N", "I-N", "I-N", "I-N", "I-N", "O"]] * 3
    predicted = Tagger(SemiCrf(longest=2)).fit(words, tags).predict(words[:1])[0]
    assert len(predicted) == 7
    assert [tag[0] for tag in predicted] == ["O", "B", "I", "B", "I", "B", "O"]


def test_labels_that_are_no_spans_are_refused():
    with pytest.raises(ConfigError, match="recipe semi-crf needs labels of a tag scheme"):
        Tagger("semi-crf").fit([["a", "b"]], [["NN", "VB"]])
    with pytest.raises(ConfigError, match="no templates over labels"):
        Tagger("semi-crf", features=["w[0]", "y[-1]|w[0]"]).fit([["a", "b"]], [["B-X", "O"]])
