"""Perceptron taggers as users meet them: trained, saved, loaded, asked."""

from dataclasses import replace

import numpy as np
import pytest

from chaffinch import modelfile
from chaffinch.errors import ConfigError, ModelFileError
from chaffinch.estimators import Tagger, load
from chaffinch.evaluate.reliability import reliability
from chaffinch.kinds.tags.output import decisions, page
from chaffinch.lab.recipe_comparison import compare_recipes
from chaffinch.modelfile.compressed import SECTION
from chaffinch.recipes.incremental_search import BeamTagger, EasiestFirstTagger, Greedy, label_templates
from chaffinch.recipes.perceptron import MIRA, PERCEPTRON, MiraTagger, StructuredPerceptron
from chaffinch.recipes.recipe import Recipes
from chaffinch.text.schemes import validate
from chaffinch.text.table import TokenTable
from chaffinch.trust.calibration import fitted_temperature
from commandline import run  # noqa: F401

CONFIGS = {
    "perceptron": StructuredPerceptron(epochs=3),
    "mira": MiraTagger(epochs=3),
    "2-best mira": MiraTagger(epochs=2, k=2),
    "pa": MiraTagger(epochs=3, rule="pa"),
    "arow": MiraTagger(epochs=3, rule="arow"),
    "greedy": Greedy(epochs=3),
    "greedy mira": Greedy(epochs=3, rule="mira"),
    "easiest-first": EasiestFirstTagger(epochs=3),
    "local easiest-first": EasiestFirstTagger(epochs=3, update="local", ease="margin", own=0.5),
    "easiest-first pa": EasiestFirstTagger(epochs=3, rule="pa"),
    "beam": BeamTagger(epochs=3, width=3),
    "early beam": BeamTagger(epochs=3, width=3, violation="early"),
    "beam arow": BeamTagger(epochs=3, width=3, rule="arow"),
}


@pytest.fixture(scope="module")
def corpus():
    """Spans of colours and animals, some of two words, in sentences made by chance."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(120):
        words, tags = [], []
        for _ in range(int(rng.integers(1, 5))):
            kind = int(rng.integers(3))
            if kind == 0:
                words.append(str(rng.choice(["saw", "the", "and", "near"])))
                tags.append("O")
            elif kind == 1:
                words.append(str(rng.choice(["red", "blue", "green"])))
                tags.append("B-COL")
            else:
                first = str(rng.choice(["sea", "wild", "old"]))
                words += [first, str(rng.choice(["lion", "cat", "horse"]))]
                tags += ["B-ANI", "I-ANI"]
        X.append(words)
        y.append(tags)
    return X, y


def table_of(X, y):
    return TokenTable.from_lists({"w": X, "y": y})


@pytest.mark.parametrize("name", CONFIGS)
def test_every_recipe_learns_and_comes_back_from_its_file_the_same(name, corpus, tmp_path):
    X, y = corpus
    tagger = Tagger(CONFIGS[name], seed=3).fit(X[:90], y[:90])
    assert tagger.score(X[90:], y[90:]) > 0.97
    tagger.save(tmp_path / "model.chaff")
    again = load(tmp_path / "model.chaff")
    assert again.predict(X) == tagger.predict(X)
    tagger.save(tmp_path / "twice.chaff")
    assert (tmp_path / "twice.chaff").read_bytes() == (tmp_path / "model.chaff").read_bytes()


@pytest.mark.parametrize("name", ["greedy", "easiest-first", "beam", "perceptron"])
def test_labels_are_legal_whatever_the_words(name, corpus):
    X, y = corpus
    tagger = Tagger(CONFIGS[name]).fit(X[:20], y[:20])
    rng = np.random.default_rng(1)
    vocabulary = sorted({w for s in X for w in s})
    strange = [[str(w) for w in rng.choice(vocabulary, 7)] for _ in range(60)]
    assert validate(tagger.predict(strange), "BIO") == []


@pytest.mark.parametrize("name", ["greedy", "easiest-first", "beam"])
def test_a_label_that_needs_an_earlier_one_never_stands_without(name, corpus):
    from dataclasses import replace

    X = [["x", "y", "z"], ["y", "z"], ["x", "z"]] * 5
    y = [["A", "O", "C"], ["O", "O"], ["A", "C"]] * 5
    config = replace(CONFIGS[name], need="C needs A", legal="none", epochs=2)
    tagger = Tagger(config).fit(X, y)
    for labels in tagger.predict([["z", "y"], ["y", "z", "x"], ["z"], ["x", "z"]]):
        for t, label in enumerate(labels):
            assert label != "C" or "A" in labels[:t]


def test_confidence_sums_to_one_and_names_the_decision(corpus):
    X, y = corpus
    for name in ("greedy", "easiest-first"):
        tagger = Tagger(CONFIGS[name]).fit(X[:60], y[:60], dev=(X[60:], y[60:]))
        place = {label: i for i, label in enumerate(tagger.classes_.tolist())}
        for p, labels in zip(tagger.predict_marginals(X), tagger.predict(X), strict=True):
            np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-5)
            assert [int(row.argmax()) for row in p] == [place[label] for label in labels]


def test_a_temperature_brings_confidence_closer_to_the_truth():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 5)) * 2
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(5, p=row) for row in p])
    loud = logits * 6
    tau = fitted_temperature(loud, y)
    assert tau == pytest.approx(6, rel=0.1)

    def error(scores):
        q = np.exp(scores - scores.max(axis=1, keepdims=True))
        q /= q.sum(axis=1, keepdims=True)
        return reliability(q.max(axis=1), q.argmax(axis=1) == y).error

    assert error(loud / tau) < 0.03 < error(loud)


@pytest.mark.parametrize("inside", ["auto", "as given"])
@pytest.mark.parametrize("config", [Greedy, EasiestFirstTagger])
def test_the_temperature_makes_held_out_labels_likeliest(corpus, config, inside):
    X, y = corpus
    tagger = Tagger(config(epochs=3, inside=inside)).fit(X[:60], y[:60], dev=(X[60:], y[60:]))
    held_out = table_of(X[60:], y[60:])
    model, column = tagger.model_, held_out.columns["y"]
    gold = np.array([model.labels.outer.index(t) for t in column.types])[column.ids]

    def surprise(temperature):
        p = model.with_temperature(temperature).marginals(held_out, 1)[np.arange(len(gold)), gold]
        return np.log(temperature) ** 2 - np.log(np.maximum(p, 1e-12)).sum()

    assert model.temperature != 1.0
    assert surprise(model.temperature) <= min(surprise(model.temperature * factor) for factor in (0.9, 1.1))


def test_steps_show_the_softmax_and_the_calibrated_confidence(corpus):
    X, y = corpus
    tagger = Tagger(EasiestFirstTagger(epochs=3)).fit(X[:60], y[:60], dev=(X[60:], y[60:]))
    steps = tagger.model_.steps(table_of(X[:1], y[:1]), 1)
    for t, d in enumerate(decisions(tagger, table_of(X[:1], y[:1]))[0].tokens):
        for tau, shown in ((1.0, d.confidence), (tagger.model_.temperature, d.calibrated)):
            q = np.exp(steps.scores[t] / tau)
            assert shown == pytest.approx(q[steps.labels[t]] / q.sum(), rel=1e-4)


def test_beam_offers_its_readings_and_refuses_confidence(corpus):
    X, y = corpus
    tagger = Tagger(CONFIGS["beam"]).fit(X, y)
    readings = tagger.predict_kbest([["sea", "lion", "saw", "red"]], 3)[0]
    scores = [score for score, _ in readings]
    assert scores == sorted(scores, reverse=True)
    assert readings[0][1] == tagger.predict([["sea", "lion", "saw", "red"]])[0]
    with pytest.raises(ConfigError, match="no confidence for each label"):
        tagger.predict_marginals(X)


def test_templates_to_the_right_are_refused_where_they_cannot_be_read(corpus):
    with pytest.raises(ConfigError, match=r"'y\[1\]' reads a label to the right"):
        Tagger(Greedy(), features=["w[0]", "y[1]"]).fit(*corpus)
    with pytest.raises(ConfigError, match="exact search learns label pairs"):
        Tagger(StructuredPerceptron(), features=["w[0]", "y[-1]|w[0]"]).fit(*corpus)


def test_label_templates_mirror_each_other():
    left, both = (label_templates(3, sides, ["stem[0]", "pos[0]"]) for sides in (False, True))
    assert set(left) < set(both)
    assert "y[-1]|y[1]|stem[0]" in both
    assert "y[1]|y[2]|y[3]" in both
    assert label_templates(0, True, []) == []


def test_dev_data_stops_training_and_keeps_the_best_epoch(corpus):
    X, y = corpus
    tagger = Tagger(Greedy(epochs=50, patience=2)).fit(X[:60], y[:60], dev=(X[60:], y[60:]))
    scores = [p.scores["dev"] for p in tagger.history_]
    assert len(scores) < 50
    assert max(scores[-2:]) <= max(scores)
    assert tagger.model_.temperature != 1


def test_the_dictionary_fixes_words_that_always_have_one_label(corpus):
    X, y = corpus
    tagger = Tagger(EasiestFirstTagger(epochs=2, dictionary=5)).fit(X, y)
    assert "red" in tagger.model_.dictionary.words
    assert tagger.predict([["red", "saw", "sea", "cat"]]) == [["B-COL", "O", "B-ANI", "I-ANI"]]


def test_a_reduced_model_decides_as_the_pruned_one_does_and_is_smaller(corpus, tmp_path):
    from chaffinch.lab.size_search import with_model

    X, y = corpus
    tagger = Tagger(EasiestFirstTagger(epochs=4)).fit(X, y)
    pruned = with_model(tagger, tagger.model_.pruned(0.3, 8))
    small = with_model(tagger, tagger.model_.shrunk(0.3, 8))
    small.compressed_ = True
    sizes = []
    for name, one in (("whole", tagger), ("pruned", pruned), ("small", small)):
        one.save(tmp_path / name)
        sizes.append((tmp_path / name).stat().st_size)
        assert load(tmp_path / name).predict(X) == one.predict(X)
    assert small.predict(X) == pruned.predict(X)
    assert sizes[2] < sizes[1] < sizes[0]


def test_a_damaged_squeezed_section_is_refused(corpus, tmp_path):
    X, y = corpus
    tagger = Tagger(Greedy(epochs=2)).fit(X, y)
    tagger.compressed_ = True
    tagger.save(tmp_path / "m.chaff")
    file = modelfile.read(tmp_path / "m.chaff")
    good = file.arrays[SECTION]
    for bad in (good[: len(good) // 2], np.zeros(9, np.uint8), np.roll(good, 7)):
        modelfile.write(tmp_path / "bad.chaff", file.header, {**file.arrays, SECTION: bad}, {})
        with pytest.raises(ModelFileError):
            load(tmp_path / "bad.chaff")


def test_decisions_come_in_order_with_scores_and_confidence(corpus):
    X, y = corpus
    taggers = [Tagger(CONFIGS[name]).fit(X, y) for name in ("easiest-first", "greedy")]
    table = TokenTable.from_lists({"w": [["saw", "the", "sea", "lion"], ["red"]]})
    made = [decisions(tagger, table) for tagger in taggers]
    greedy = made[1][0]
    assert [d.step for d in greedy.tokens] == [1, 2, 3, 4]
    assert sorted(d.step for d in made[0][0].tokens) == [1, 2, 3, 4]
    assert all(0 <= d.confidence <= 1 and d.label != d.rival for d in greedy.tokens)
    assert "easiest-first" in page(made, "two").render()
    with pytest.raises(ConfigError, match="decodes the whole sentence"):
        decisions(Tagger(StructuredPerceptron(epochs=1)).fit(X, y), table)


def test_recipes_are_compared_on_the_same_sentences(corpus):
    X, y = corpus
    found = compare_recipes(
        table_of(X[:80], y[:80]), table_of(X[80:], y[80:]), [CONFIGS["greedy"], CONFIGS["perceptron"]]
    )
    assert [e.recipe for e in found.entries] == ["greedy", "perceptron"]
    assert found.best.scores["span.micro.f1"] == max(e.scores["span.micro.f1"] for e in found.entries)
    assert "Scores and costs" in found.page("test").render()


def written(path, X, y):
    text = "\n\n".join(
        "\n".join(f"{w}\t{t}" for w, t in zip(*pair, strict=True)) for pair in zip(X, y, strict=True)
    )
    path.write_text(text + "\n")
    return str(path)


def test_the_command_line_compares_shrinks_and_shows_steps(corpus, tmp_path, run):  # noqa: F811
    X, y = corpus
    train, dev = (
        written(tmp_path / "train.tsv", X[:80], y[:80]),
        written(tmp_path / "dev.tsv", X[80:], y[80:]),
    )
    best, small, steps = (str(tmp_path / name) for name in ("best.chaff", "small.chaff", "steps.html"))
    report = str(tmp_path / "report.html")
    made = run(
        "train", train, "--dev", dev, "-o", best, "--compare", "greedy,easiest-first", "--epochs", 2,
        "--report", report,
    )  # fmt: skip
    assert made.code == 0
    assert "greedy" in made.out
    made = run(
        "train",
        train,
        "--dev",
        dev,
        "-o",
        small,
        "--recipe",
        "easiest-first",
        "--max-size",
        "20KB",
        "--epochs",
        2,
    )
    assert made.code == 0
    assert "bits" in made.out
    assert (tmp_path / "small.chaff").stat().st_size <= 20 * 1024
    assert run("predict", small, dev, "--steps", "--beside", best, "-o", steps).code == 0
    assert "easiest-first" in (tmp_path / "steps.html").read_text()
    assert "confidence" in run("predict", small, dev, "--steps").out
    refused = run("train", train, "-o", best, "--compare", "greedy")
    assert refused.code == 2
    assert "at least two recipes" in refused.err


@pytest.mark.parametrize("config", [Greedy(epochs=2), EasiestFirstTagger(epochs=2)])
def test_the_names_of_weights_add_up_to_the_scores_of_every_decision(corpus, config):
    X, y = corpus
    right = [] if isinstance(config, Greedy) else ["y[1]|w[0]", "y[-1]|y[1]"]
    templates = ["w[0]", "w[-1]|w[0]", "y[-1]", "y[-2]|y[-1]|w[0]", *right]
    model = Tagger(config, features=templates).fit(X, y).model_
    w = np.concatenate([model.weights.unary, model.weights.context])
    named = dict(zip(model.names(np.arange(len(w), dtype=np.int32)), w, strict=True))
    assert len(named) == len(w)
    inner = model.labels.inner
    for words in X[:20]:
        table = TokenTable.over_lists({"w": [words]})
        steps = model.steps(table, 1)
        for t in range(len(words)):
            decided = {
                u: inner[steps.labels[u]] for u in range(len(words)) if steps.order[u] < steps.order[t]
            }

            def label(offset, t=t, decided=decided, words=words):
                at = t + offset
                return "<s>" if at < 0 else "</s>" if at >= len(words) else decided.get(at, "?")

            here, before = f"w[0]={words[t]}", words[t - 1] if t else "__BOS-1"
            seen = [
                here,
                f"w[-1]={before}|{here}",
                f"y[-1]={label(-1)}",
                f"y[-2]={label(-2)}|y[-1]={label(-1)}|{here}",
                *([f"y[1]={label(1)}|{here}", f"y[-1]={label(-1)}|y[1]={label(1)}"] if right else []),
            ]
            summed = sum(named.get(name, np.zeros(len(inner), np.float32)) for name in seen)
            legal = np.isfinite(steps.scores[t])
            np.testing.assert_allclose(summed[legal], steps.scores[t][legal], atol=1e-4)


def test_inspect_shows_what_labels_around_a_word_count_for(corpus, tmp_path, run):  # noqa: F811
    X, y = corpus
    Tagger(Greedy(epochs=2), features=["w[0]", "y[-1]"]).fit(X, y).save(tmp_path / "m.chaff")
    assert "y[-1]=B-ANI" in run("inspect", tmp_path / "m.chaff", "--label", "I-ANI").out


@pytest.mark.parametrize("other", [{"name": "mira"}, {"config": MiraTagger}])
def test_two_recipes_cannot_share_a_name_or_a_config(other):
    mine = replace(PERCEPTRON, **other)
    with pytest.raises(TypeError, match="each recipe needs a name and a config of its own"):
        Recipes(MIRA, mine)
    Recipes(MIRA, PERCEPTRON)
