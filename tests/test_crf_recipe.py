"""The crf recipe as users meet it: knobs, uncertain labels, going on, checkpoints, and every question to a model."""

from itertools import product

import numpy as np
import pytest

import chaffinch
from chaffinch import _core, modelfile, samples
from chaffinch.corpus import read_table
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Tagger
from chaffinch.knobs import check, knobs, settings_of
from chaffinch.learners.likelihood import Lbfgs, Sdca, Sgd
from chaffinch.progress import Progress
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.crf import Crf
from chaffinch.recipes.crf_config import Auto
from chaffinch.recipes.memm import Memm
from chaffinch.text.table import TokenTable
from test_crf_objective import problem, used, weights

X = [
    ["the", "dog", "barks"],
    ["a", "cat", "sees", "the", "dog"],
    ["dogs", "bark"],
    ["the", "cat", "sleeps", "here"],
    ["Rome"],
] * 4
TAGS = {"the": "DT", "a": "DT", "dog": "NN", "cat": "NN", "dogs": "NN", "Rome": "NN", "here": "RB"}
y = [[TAGS.get(word, "VB") for word in sentence] for sentence in X]
SPANS = [
    ["B-NP" if w in ("the", "a", "dogs", "Rome") else "I-NP" if w in ("dog", "cat") else "O" for w in s]
    for s in X
]
PLAIN = ["w[0]", "w[-1]"]


def tagger(features=PLAIN, **knobs) -> Tagger:
    return Tagger(Crf(**knobs), features=features, folds=0, seed=1, threads=1)


@pytest.mark.parametrize("optimiser", ["auto", "precise", "fast", "sdca", "sgd", "lbfgs"])
@pytest.mark.parametrize("labels", [y, SPANS], ids=["tags", "spans"])
def test_every_optimiser_learns_the_training_data(optimiser, labels):
    assert tagger(optimiser=optimiser, c2=0.1, passes=30).fit(X, labels).predict(X) == labels


@pytest.mark.parametrize("knobs", [{"order": 2}, {"c1": 0.05}, {"c2": 0.0}, {"states": "observed"}], ids=str)
def test_other_models_learn_it_too(knobs):
    assert tagger(**{"c2": 0.1, "passes": 60, **knobs}).fit(X, y).predict(X) == y


def test_templates_may_look_at_the_input_on_a_pair_of_labels(tmp_path):
    # B after A where the word is u, else A after A: no unary feature and no plain pair can tell.
    texts = [["x", "u", "v", "u"], ["x", "v", "v", "u"], ["x", "u", "u", "v"]] * 5
    labels = []
    for words in texts:
        row = ["A"]
        for word in words[1:]:
            row.append(("B" if row[-1] == "A" else "A") if word == "u" else row[-1])
        labels.append(row)
    plain = tagger(["w[0]"], c2=0.01, passes=60, optimiser="sgd").fit(texts, labels)
    paired = tagger(["w[0]", "y[-1]|w[0]"], c2=0.01, passes=60).fit(texts, labels)
    assert plain.predict(texts) != labels
    assert paired.predict(texts) == labels
    paired.save(tmp_path / "pairs.chaff")
    again = chaffinch.load(tmp_path / "pairs.chaff")
    assert again.predict(texts) == labels
    for a, b in zip(again.predict_marginals(texts), paired.predict_marginals(texts), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.predict_kbest(texts[:1], 3)[0][0][1] == labels[0]


def test_a_crf_cannot_read_labels_further_back():
    with pytest.raises(ConfigError, match=r"read y\[-1\]"):
        tagger(["w[0]", "y[-2]"]).fit(X, y)


def test_spans_are_bioes_inside_and_never_break_their_scheme():
    noisy = np.random.default_rng(1)
    words = [[f"w{noisy.integers(5)}" for _ in range(6)] for _ in range(60)]
    tags = [[("B-A", "I-A", "O")[noisy.integers(3)] for _ in s] for s in words]
    tags = [
        ["B-A" if t == "I-A" and (i == 0 or s[i - 1] == "O") else t for i, t in enumerate(s)] for s in tags
    ]
    model = tagger().fit(words, tags)
    assert set(model.model_.labels.inner) == {"B-A", "I-A", "E-A", "S-A", "O"}
    for sentence in model.predict(words):
        for before, after in zip(["O", *sentence], sentence, strict=False):
            assert not (after == "I-A" and before == "O")


def test_dual_ascent_converges_where_tokens_share_many_features(data):
    table = read_table(data / "conll2000/test.tsv").of_sentences(np.arange(2012) < 700)
    words = TokenTable(table.ptr, {name: table.columns[name] for name in ("w", "y")})
    gaps: list[float] = []
    tagger("default", c2=0.5).fit(words, on_epoch=lambda p: gaps.append(p.scores["gap"]) or True)
    assert len(gaps) < 20
    assert gaps[-1] < 0.02


def test_a_stray_tag_among_many_is_learnt_as_scorers_read_it_and_many_are_left_as_they_are():
    words = [["saw", "Ann", "Lee"], ["Lee", "ran"]] * 60
    good = [["O", "B-PER", "I-PER"], ["B-PER", "O"]] * 60
    stray = [*good[:-1], ["I-PER", "O"]]
    model = tagger().fit(words, stray).model_
    assert set(model.labels.inner) == {"B-PER", "E-PER", "S-PER", "O"}
    assert tagger().fit(words, stray).predict(words[-2:]) == good[-2:]
    broken = [["O", "I-PER", "I-PER"], ["B-PER", "O"]] * 60
    assert set(tagger().fit(words, broken).model_.labels.inner) == {"B-PER", "I-PER", "O"}


def test_the_model_has_the_same_bytes_for_any_number_of_threads_and_after_saving(tmp_path):
    files = []
    for threads in (1, 2):
        for optimiser in ("auto", "lbfgs"):
            path = tmp_path / f"{optimiser}{threads}.chaff"
            Tagger(Crf(optimiser=optimiser), features=PLAIN, seed=1, threads=threads).fit(X, y).save(path)
            files.append(path)
    assert files[0].read_bytes() == files[2].read_bytes()
    assert files[1].read_bytes() == files[3].read_bytes()
    assert chaffinch.load(files[0]).predict(X) == tagger().fit(X, y).predict(X)


@pytest.mark.parametrize(
    "knobs", [{"c1": 0.3}, {"min_weight": 0.2}, {"bits": 4}, {"bits": 8, "min_weight": 0.1}], ids=str
)
def test_small_models_forget_weights_and_features_and_are_the_same_after_saving(tmp_path, knobs):
    whole = tagger(c2=0.1).fit(X, y)
    small = tagger(**{"c2": 0.1, **knobs}).fit(X, y)
    assert small.predict(X) == y
    before, after = whole.model_.weights.unary, small.model_.weights.unary
    assert np.count_nonzero(after) < np.count_nonzero(before)
    assert small.model_.encoder.n_features == len(after)
    paths = tmp_path / "a.chaff", tmp_path / "b.chaff"
    small.save(paths[0])
    again = chaffinch.load(paths[0])
    np.testing.assert_array_equal(again.model_.weights.unary, after)
    again.save(paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()


# -- uncertain labels, weights ------------------------------------------------------------------------------------


def test_tokens_without_a_label_are_summed_over():
    half = [[None if (n + t) % 3 == 0 else label for t, label in enumerate(s)] for n, s in enumerate(y)]
    found = tagger(c2=0.1, passes=40).fit(X, half).predict(X)
    assert np.mean([a == b for s, g in zip(found, y, strict=True) for a, b in zip(s, g, strict=True)]) > 0.9
    named = [["?" if label is None else label for label in s] for s in half]
    assert tagger(c2=0.1, passes=40, unknown="?").fit(X, named).predict(X) == found


def test_soft_labels_that_are_certain_are_labels():
    certain = [[{label: 1.0} for label in s] for s in y]
    a, b = (tagger(margin=0.0).fit(X, labels) for labels in (y, certain))
    np.testing.assert_allclose(
        np.vstack(a.predict_marginals(X)), np.vstack(b.predict_marginals(X)), atol=1e-5
    )


def test_soft_labels_are_what_the_model_comes_to_believe():
    texts, labels = [["u"]] * 200, [[{"A": 0.8, "B": 0.2}]] * 200
    p = tagger(c2=0.01, optimiser="precise").fit(texts, labels).predict_marginals([["u"]])[0]
    assert p[0, 0] == pytest.approx(0.8, abs=0.02)


def test_a_sentence_that_weighs_three_counts_as_three():
    texts, labels = [["u"], ["u"]], [["A"], ["B"]]
    weighted = tagger(optimiser="precise").fit(texts, labels, sample_weight=[3, 1])
    repeated = tagger(optimiser="precise").fit([["u"]] * 4, [["A"], ["A"], ["A"], ["B"]])
    np.testing.assert_allclose(
        weighted.predict_marginals([["u"]])[0], repeated.predict_marginals([["u"]])[0], atol=5e-3
    )


def test_class_weights_move_the_decision():
    texts, labels = [["u"]] * 10, [["A"]] * 7 + [["B"]] * 3
    assert tagger(c2=0.01).fit(texts, labels).predict([["u"]]) == [["A"]]
    assert tagger(c2=0.01, class_weight="B=5").fit(texts, labels).predict([["u"]]) == [["B"]]
    even = tagger(c2=0.01, class_weight="balanced", optimiser="precise").fit(texts, labels)
    assert even.predict_marginals([["u"]])[0][0, 0] == pytest.approx(0.5, abs=0.02)
    for senseless in ("C=2", "A=inf", "A=nan", "A=-1"):
        with pytest.raises(ConfigError, match="class_weight"):
            tagger(class_weight=senseless).fit(texts, labels)
    with pytest.raises(DataError, match="finite and at least 0, got inf"):
        tagger().fit(texts, labels, sample_weight=[1.0] * 9 + [np.inf])


def test_a_margin_makes_the_model_surer_and_a_dearer_miss_finds_more_names():
    texts, labels = [["u"]] * 10, [["O"]] * 6 + [["B-PER"]] * 4
    plain = tagger(c2=0.1, margin=0.0, optimiser="precise").fit(texts, labels)
    assert plain.predict([["u"]]) == [["O"]]

    def found(recall: float) -> float:
        model = tagger(c2=0.1, margin=1.0, recall=recall, optimiser="precise").fit(texts, labels)
        return float(model.predict_marginals([["u"]])[0][0, 0])

    assert found(1.0) + 0.05 < found(3.0) < found(10.0)
    even = [["O"]] * 5 + [["B-PER"]] * 5
    dear = tagger(c2=0.1, margin=1.0, recall=3.0, optimiser="precise").fit(texts, even)
    assert dear.predict([["u"]]) == [["B-PER"]]
    certain = [["A"]] * 10

    def sure(margin: float) -> float:
        model = tagger(c2=0.1, margin=margin, optimiser="precise").fit([*texts, ["v"]], [*certain, ["B"]])
        return float(model.predict_marginals([["u"]])[0][0, 0])

    assert 0.5 < sure(0.0) < sure(2.0) < 1
    with pytest.raises(ConfigError, match="margin needs one known label"):
        tagger(margin=1.0).fit([["u", "v"]], [["A", None]])


def test_names_phrases_and_tags_get_the_features_made_for_them():
    def reads(X, y, column: str) -> bool:
        model = Tagger("crf", threads=1).fit(X, y).model_
        return any(column in template for template in model.encoder.features.templates)

    words = [["the", "dog", "saw", "Ann", "Lee"]] * 3
    pos = {"w": words, "pos": [["X"] * len(s) for s in words]}
    names = [["O", "O", "O", "B-PER", "I-PER"]] * 3
    phrases = [["B-NP", "I-NP", "O", "B-NP", "I-NP"]] * 3
    tags = [["DT", "NN", "VB", "NN", "NN"]] * 3
    assert reads(words, names, "elsewhere")
    assert reads(pos, names, "elsewhere")
    assert reads(pos, phrases, "w[-1]|pos[-1]")
    assert not reads(words, phrases, "elsewhere")
    assert reads(words, tags, "suffix5")


def test_a_weight_given_by_hand_is_kept(tmp_path):
    path = tmp_path / "fixed.tsv"
    path.write_text("w[0]=dog\tVB\t50\n")
    assert tagger(fixed=str(path)).fit(X, y).predict([["dog"]]) == [["VB"]]
    path.write_text("w[0]=unicorn\tVB\t50\n")
    with pytest.raises(DataError, match=r"fixed.tsv:1: training has no feature 'w\[0\]=unicorn'"):
        tagger(fixed=str(path)).fit(X, y)
    path.write_text("w[0]=dog\tVB\tnan\n")
    with pytest.raises(DataError, match=r"fixed.tsv:1: expected a number, found 'nan'"):
        tagger(fixed=str(path)).fit(X, y)
    path.write_bytes(b"w[0]=dog\tVB\t1\n\xff\tVB\t1\n")
    with pytest.raises(DataError, match=r"fixed.tsv:2: not UTF-8"):
        tagger(fixed=str(path)).fit(X, y)


def test_recipes_that_need_every_label_refuse_unknown_ones():
    with pytest.raises(ConfigError, match="recipe hmm cannot use unknown labels; crf can"):
        Tagger("hmm").fit(X, [[None, *s[1:]] for s in y])


# -- going on --------------------------------------------------------------------------------------------------------


def test_partial_fit_goes_on_and_adds_labels():
    model = tagger(c2=0.1, passes=10).fit(X, y)
    more, labels = [["dog", "the"]] * 10, [["XX", "DT"]] * 10
    model.partial_fit(more, labels)
    assert "XX" in model.classes_
    assert model.predict(more[:1]) == [["XX", "DT"]]
    assert model.predict([["a", "cat", "sleeps"]]) == [["DT", "NN", "VB"]]


@pytest.mark.parametrize(("optimiser", "c1"), [("sdca", 0.0), ("sdca", 0.1), ("sgd", 0.0)])
def test_an_interrupted_run_goes_on_to_the_same_weights(tmp_path, optimiser, c1):
    path = tmp_path / "run.chaff"
    knobs = {"optimiser": optimiser, "passes": 6, "tolerance": 0.0, "c1": c1, "c2": 0.1}
    whole = tagger(**knobs).fit(X, y)

    def stop(progress: Progress) -> bool:
        if progress.done == 3:
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        tagger(**knobs, checkpoint=str(path)).fit(X, y, on_epoch=stop)
    assert path.exists()
    resumed = tagger(**knobs, checkpoint=str(path)).fit(X, y)
    assert [p.done for p in resumed.history_] == [4, 5, 6]
    np.testing.assert_array_equal(resumed.model_.weights.unary, whole.model_.weights.unary)
    assert not path.exists()


@pytest.mark.parametrize("stop", [1, 3, 5])
@pytest.mark.parametrize(
    "knobs",
    [{"optimiser": "sdca"}, {"optimiser": "sdca", "c1": 0.1}, {"optimiser": "sgd"}, {"prune": 1e-3}],
    ids=str,
)
def test_an_interrupted_run_keeps_the_best_of_all_passes(tmp_path, monkeypatch, knobs, stop):
    knobs = {"passes": 6, "tolerance": 0.0, "c2": 0.1, "min_weight": 0.0, **knobs}
    told, scores = (0.2, 0.8, 0.3, 0.4, *[0.1] * 20), {}

    def score(model) -> float:
        return scores.setdefault(model.weights.dense.tobytes(), told[len(scores)])

    monkeypatch.setattr("chaffinch.recipes.training.tag_score", lambda *_: score)
    whole = tagger(**knobs).fit(X, y, dev=(X, y))
    passes = [p.scores["dev"] for p in whole.history_]
    assert passes == list(told[:5])  # the second is the best, and patience ends with the fifth

    def killed(progress: Progress) -> None:
        if progress.done == stop:
            raise KeyboardInterrupt

    path = tmp_path / "run.chaff"
    with pytest.raises(KeyboardInterrupt):
        tagger(**knobs, checkpoint=str(path)).fit(X, y, dev=(X, y), on_epoch=killed)
    with pytest.raises(ConfigError, match="not a checkpoint of this training"):
        tagger(**knobs, checkpoint=str(path)).fit(X, y, dev=(X[:3], y[:3]))
    resumed = tagger(**knobs, checkpoint=str(path)).fit(X, y, dev=(X, y))
    assert [p.scores["dev"] for p in resumed.history_] == passes
    np.testing.assert_array_equal(resumed.model_.weights.dense, whole.model_.weights.dense)
    assert not path.exists()


def test_a_run_that_was_interrupted_at_its_optimum_is_finished(tmp_path):
    path, knobs = tmp_path / "run.chaff", {"optimiser": "sdca", "c2": 1.0, "tolerance": 0.01, "passes": 50}
    whole = tagger(**knobs).fit(X, y)
    last = whole.history_[-1].done
    assert 1 < last < 50

    def killed(progress: Progress) -> None:
        if progress.done == last:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tagger(**knobs, checkpoint=str(path)).fit(X, y, on_epoch=killed)
    resumed = tagger(**knobs, checkpoint=str(path)).fit(X, y)
    assert [p.done for p in resumed.history_] == [last]
    np.testing.assert_array_equal(resumed.model_.weights.unary, whole.model_.weights.unary)


def test_another_trainings_checkpoint_is_refused(tmp_path):
    path = tmp_path / "run.chaff"

    def stop(_: Progress) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tagger(checkpoint=str(path)).fit(X, y, on_epoch=stop)
    with pytest.raises(ConfigError, match="not a checkpoint of this training"):
        tagger(checkpoint=str(path), c2=2.0).fit(X, y)


def test_with_dev_data_the_best_pass_is_kept_and_training_stops_soon_after():
    wrong = [["DT"] * len(s) for s in X]
    model = tagger(passes=50, tolerance=0.0, patience=2).fit(X, y, dev=(X, wrong))
    scores = [p.scores["dev"] for p in model.history_]
    assert len(scores) == scores.index(max(scores)) + 3
    assert model.score(X, wrong) == max(scores)


def test_knobs_that_do_not_go_together_are_refused():
    with pytest.raises(ConfigError, match="'sdca' needs"):
        tagger(optimiser="sdca", order=2).fit(X, y)
    with pytest.raises(ConfigError, match="needs c1 = 0"):
        tagger(optimiser="fast", c1=1.0).fit(X, y)


# -- questions to a model ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("knobs", [{}, {"order": 2}, {"inside": "as given"}], ids=str)
def test_a_distribution_agrees_with_the_list_of_all_labellings(knobs):
    model = tagger(**knobs).fit(X, SPANS)
    d = model.distributions([["the", "cat", "barks"]])[0]
    labels = list(model.classes_)
    everything = {s: d.probability(s) for s in product(labels, repeat=3)}
    assert sum(everything.values()) == pytest.approx(1.0, abs=1e-6)
    best = max(everything, key=everything.__getitem__)
    if knobs.get("inside"):
        assert tuple(d.best()) == best
        assert d.kbest(2)[0][0] == pytest.approx(everything[best])
        entropy = -sum(p * np.log(p) for p in everything.values() if p > 0)
        assert d.entropy == pytest.approx(entropy, abs=1e-5)
    for t, label in product(range(3), labels):
        p = sum(p for s, p in everything.items() if s[t] == label)
        assert d.marginals[t, labels.index(label)] == pytest.approx(p, abs=1e-5)
        assert d.probability_of({t: label}) == pytest.approx(p, abs=1e-6)
    if not knobs.get("order"):
        for t, a, b in product(range(2), labels, labels):
            p = sum(p for s, p in everything.items() if (s[t], s[t + 1]) == (a, b))
            assert d.pair_marginals[t, labels.index(a), labels.index(b)] == pytest.approx(p, abs=1e-6)
    span = sum(p for s, p in everything.items() if s[:2] == ("B-NP", "I-NP") and s[2] != "I-NP")
    assert d.span_probability(0, 2, "NP") == pytest.approx(span, abs=1e-6)
    assert d.posterior() == [labels[i] for i in d.marginals.argmax(axis=1)]


def test_samples_are_drawn_as_often_as_they_are_likely():
    model = tagger(c2=3.0, inside="as given").fit(X, SPANS)
    d = model.distributions([["the", "cat"]])[0]
    drawn = [tuple(s) for s in d.sample(4000, seed=1)]
    for labelling in product(model.classes_, repeat=2):
        assert drawn.count(labelling) / 4000 == pytest.approx(d.probability(labelling), abs=0.03)


def test_a_question_about_an_unknown_label_or_place_is_refused():
    d = tagger().fit(X, y).distributions([["the", "cat"]])[0]
    with pytest.raises(DataError, match="labels are DT"):
        d.probability(["DT", "XX"])
    with pytest.raises(DataError, match="2 tokens"):
        d.probability(["DT"])
    with pytest.raises(DataError, match="expected a span within"):
        d.span_probability(1, 3, "NN")


# -- composition ----------------------------------------------------------------------------------------------------

FLAT = {
    "auto": ({}, Auto()),
    "few passes": ({"passes": 7, "rate": 0.1}, Auto(epochs=7, rate=0.1)),
    "precise": ({"optimiser": "precise", "tolerance": 0.01}, Auto(precise=True, tolerance=0.01)),
    "fast": ({"optimiser": "fast", "passes": 3, "calibrate": True}, Sgd(epochs=3, calibrate=True)),
    "sdca": ({"optimiser": "sdca"}, Sdca(finish=Lbfgs())),
    "sdca, few passes": ({"optimiser": "sdca", "passes": 4, "tolerance": 0.5}, Sdca(epochs=4, tolerance=0.5)),
    "lbfgs": ({"optimiser": "lbfgs", "passes": 9, "rate": 0.3}, Lbfgs(steps=9, start=Sgd(rate=0.3))),
}


@pytest.mark.parametrize("name", FLAT)
def test_flat_settings_and_a_composed_learner_are_one_config(name):
    flat, learner = FLAT[name]
    recipe = TAGGERS.by_name("crf")
    config = recipe.configured({"c2": 0.3, **flat})
    assert config == Crf(c2=0.3, learner=learner) == Crf(c2=0.3, **flat)
    kept = settings_of(config)
    assert set(kept) == {k.name for k in knobs(Crf)}
    assert "learner" not in kept
    assert recipe.configured(kept) == config
    check(config)


def test_a_learner_out_of_range_is_refused_by_its_flat_name():
    with pytest.raises(ConfigError, match=r"Crf\.passes must be >= 1, got 0"):
        check(Crf(learner=Sgd(epochs=0)))
    with pytest.raises(ConfigError, match=r"Crf\.optimiser must be one of auto"):
        Crf(optimiser="adam")


def test_a_header_keeps_the_flat_settings_and_loads_as_the_composed_config(tmp_path):
    config = Crf(learner=Sgd(epochs=2, rate=0.1), margin=0.0)
    Tagger(config).fit([["a", "b"]] * 4, [["A", "B"]] * 4).save(tmp_path / "m.chaff")
    header = modelfile.read(str(tmp_path / "m.chaff")).header.settings
    assert (header["optimiser"], header["passes"], header["rate"]) == ("fast", 2, 0.1)
    assert chaffinch.load(tmp_path / "m.chaff").config_ == config


# -- real corpora ---------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_conll2000_reaches_the_f1_and_the_optimum_that_crfsuite_reaches(data):
    from chaffinch.evaluate import score_tags
    from chaffinch.features.encoder import FeatureEncoder
    from chaffinch.learners.native_likelihood import crf_problem as native_problem
    from chaffinch.recipes.crf_problem import CrfLayout, crf_problem
    from chaffinch.recipes.encoding import InnerLabels

    train, test = read_table(data / "conll2000/train.tsv"), read_table(data / "conll2000/test.tsv")
    fast = Crf(optimiser="fast", c2=1.0, inside="as given")
    model = Tagger(fast, features="chunking19", folds=0, seed=1).fit(train)
    found = score_tags(test.lists("y"), model.predict(test))
    assert found.span.micro.f1 >= 0.936

    encoder = FeatureEncoder("chunking19")
    rows = encoder.fit(train)
    inner = InnerLabels.of(train.columns["y"], train.ptr, "as given")
    shape = CrfLayout(encoder.n_features, len(inner.labels.inner))
    problem = crf_problem(shape, rows, inner, seed=1, observed_only=True)
    w = Sdca(tolerance=0.003).fit(problem, threads=1).w
    objective = _core.CrfObjective(native_problem(problem), 1.0)(w, np.empty_like(w))
    assert objective == pytest.approx(13139.36, rel=1e-3)  # where CRFsuite's L-BFGS ends


def test_the_samples_are_learnt_from_their_table():
    table = TokenTable.from_documents(samples.load("ingredients", n=200))
    assert Tagger(Crf(passes=5)).fit(table).score(table) > 0.9


# -- the MEMM beside it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimiser", ["sgd", "lbfgs"])
@pytest.mark.parametrize("labels", [y, SPANS], ids=["tags", "spans"])
def test_a_memm_learns_the_training_data_and_is_the_same_after_saving(tmp_path, optimiser, labels):
    model = Tagger(Memm(c2=0.05, optimiser=optimiser, passes=30), features=PLAIN, seed=1).fit(X, labels)
    assert model.predict(X) == labels
    model.save(tmp_path / "memm.chaff")
    assert chaffinch.load(tmp_path / "memm.chaff").predict(X) == labels


def test_the_scores_of_a_memm_are_log_probabilities_that_sum_to_one():
    model = Tagger(Memm(inside="as given", constraints=False), features=PLAIN, folds=0, seed=1).fit(X, SPANS)
    readings = model.predict_kbest([["the", "cat", "barks"]], 27)[0]
    assert len(readings) == 27
    assert sum(np.exp(score) for score, _ in readings) == pytest.approx(1.0, abs=1e-5)
    p = model.predict_marginals([["the", "cat", "barks"]])[0]
    for t, label in product(range(3), range(3)):
        mass = sum(np.exp(s) for s, r in readings if r[t] == model.classes_[label])
        assert p[t, label] == pytest.approx(mass, abs=1e-5)


def test_the_memm_objective_is_local_and_its_gradient_is_its_derivative():
    p, (sentences, ptr, ids, gold, _) = problem(1)
    p = _core.CrfProblem(sentences, ptr, ids, gold, 7, 3, local=True)
    f, w = _core.CrfObjective64(p, 0.5, 1), weights(2, p, 3)
    gradient, scratch = np.empty(p.size), np.empty(p.size)
    value = f(w, gradient)
    for k in np.flatnonzero(used(p, 3)):
        step = np.zeros(p.size)
        step[k] = 1e-5
        assert gradient[k] == pytest.approx((f(w + step, scratch) - f(w - step, scratch)) / 2e-5, abs=2e-7)
    S, (pair, start, *_) = p.stride, p.blocks
    loss = 0.0
    for a, b in zip(sentences[:-1].tolist(), sentences[1:].tolist(), strict=True):
        for t in range(a, b):
            into = start if t == a else pair + gold[t - 1] * S
            s = w[into : into + 3] + sum(
                (w[f * S : f * S + 3] for f in ids[ptr[t] : ptr[t + 1]]), np.zeros(3)
            )
            loss += np.logaddexp.reduce(s) - s[gold[t]]
    assert value == pytest.approx(loss + 0.5 * float(w @ w))


def test_training_that_starts_from_a_model_is_that_of_partial_fit(tmp_path):
    first = tmp_path / "first.chaff"
    Tagger(Crf(), features=PLAIN, seed=1).fit(X[:5], y[:5]).save(first)
    more = [["zork", *X[0]]], [["NEW", *y[0]]]
    started = Tagger(Crf(start=str(first)), seed=1).fit(*more)
    continued = chaffinch.load(first).partial_fit(*more)
    assert "NEW" in started.classes_
    assert started.predict(X) == continued.predict(X)
    np.testing.assert_array_equal(started.model_.weights.unary, continued.model_.weights.unary)
    hmm = tmp_path / "hmm.chaff"
    Tagger("hmm").fit(X, y).save(hmm)
    with pytest.raises(ConfigError, match=r"Crf\.start: .* recipe 'hmm', expected a crf"):
        Tagger(Crf(start=str(hmm))).fit(X, y)


def test_data_without_a_signal_keep_what_little_there_is():
    tagger = Tagger("crf", folds=0).fit([["a"], ["a"]], [["X"], ["Y"]])
    assert tagger.predict([["a"], ["b"]]) == [["X"], ["X"]]
    with pytest.raises(ConfigError, match="leaves no weight"):
        Tagger(Crf(min_weight=0.5), folds=0).fit([["a"], ["a"]], [["X"], ["Y"]])
