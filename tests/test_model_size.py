"""Small models: size options that forget what they drop, and the best model within a number of bytes."""

import json

import numpy as np
import pytest

from chaffinch import Classifier, Tagger, load
from chaffinch.errors import ConfigError
from chaffinch.kinds import KINDS
from chaffinch.lab.size_search import file_size, parsed_size, smallest, with_model
from chaffinch.model.protocols import Shrinkable
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.incremental_search import BeamTagger, EasiestFirstTagger, Greedy
from chaffinch.recipes.latent import LatentSvmTagger
from commandline import run  # noqa: F401
from recipe_models import LABELS, MANY, TAGS, TEXTS, WORDS

SHRINKABLE = [r.name for r in TAGGERS if r.unshrinkable is None]
TAGS_KIND = next(kind for kind in KINDS if kind.estimator is Tagger)


@pytest.fixture(scope="module")
def corpus():
    """Names among words of which there are many, most of them seen once."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(150):
        words, tags = [], []
        for _ in range(int(rng.integers(2, 6))):
            if rng.random() < 0.4:
                words += [str(rng.choice(["Ann", "Bob", "Eva"])), f"Name{rng.integers(40)}"]
                tags += ["B-PER", "I-PER"]
            else:
                words.append(f"word{rng.integers(200)}")
                tags.append("O")
        X.append(words)
        y.append(tags)
    return X, y


def halfway(estimator):
    """Between the sizes of the compressed files of all weights and of none."""
    sizes = []
    for threshold in (0.0, 1e9):
        small = with_model(estimator, estimator.model_.shrunk(threshold, 8))
        small.compressed_ = True
        sizes.append(file_size(small))
    return sum(sizes) // 2


def right(corpus):
    X, y = corpus

    def score(tagger):
        found = tagger.predict(X[100:])
        tokens = [
            (a, b) for one, two in zip(y[100:], found, strict=True) for a, b in zip(one, two, strict=True)
        ]
        return {"right": sum(a == b for a, b in tokens) / len(tokens)}

    return score


@pytest.mark.parametrize("kind", [Greedy, EasiestFirstTagger, BeamTagger])
def test_size_options_forget_the_features_that_they_drop(corpus, kind, tmp_path):
    X, y = corpus
    config = kind(epochs=4, rule="perceptron", min_weight=1.0, min_updates=3, bits=8)
    tagger = Tagger(config, folds=0).fit(X, y)
    weights = tagger.model_.weights
    assert len(weights.unary) == tagger.model_.encoder.n_features
    assert np.any(weights.unary != 0, axis=1).all()
    assert np.any(weights.context != 0, axis=1).all()
    whole = Tagger(kind(epochs=4, rule="perceptron"), folds=0).fit(X, y)
    assert file_size(tagger) < file_size(whole) / 3
    tagger.save(tmp_path / "m.chaff")
    assert load(tmp_path / "m.chaff").predict(X) == tagger.predict(X)


@pytest.mark.parametrize("kind", [Greedy, EasiestFirstTagger])
def test_forgetting_changes_no_answer(corpus, kind, monkeypatch):
    from chaffinch.model.incremental import IncrementalModel

    X, y = corpus
    config = kind(epochs=4, rule="perceptron", min_weight=1.0, min_updates=2, bits=8)
    lean = Tagger(config, folds=0).fit(X, y)
    monkeypatch.setattr(IncrementalModel, "reduced", lambda self: self)
    assert Tagger(config, folds=0).fit(X, y).predict(X) == lean.predict(X)


@pytest.mark.parametrize("config", [Greedy(epochs=1, min_weight=50.0), Crf(min_weight=50.0)])
def test_a_threshold_that_no_weight_reaches_is_refused(corpus, config):
    with pytest.raises(ConfigError, match="min_weight 50 leaves no weight: the largest is"):
        Tagger(config, folds=0).fit(*corpus)


@pytest.mark.parametrize("name", SHRINKABLE)
def test_every_tagger_comes_near_its_budget_from_below(corpus, name, tmp_path):
    X, y = corpus
    quick = LatentSvmTagger(rounds=1, restarts=1) if name == "latent-ssvm" else name
    tagger = Tagger(quick, folds=0).fit(X[:100], y[:100])
    most = halfway(tagger)
    found = smallest(tagger, most, right(corpus))
    assert 0.6 * most < max(p.bytes for p in found.curve if p.bytes <= most)
    assert found.best in found.curve
    assert found.best.bytes <= most < file_size(tagger)
    found.estimator.save(tmp_path / "small.chaff")
    assert (tmp_path / "small.chaff").stat().st_size == found.best.bytes
    again = load(tmp_path / "small.chaff")
    assert again.predict(X) == found.estimator.predict(X)
    again.save(tmp_path / "again.chaff")
    assert (tmp_path / "again.chaff").stat().st_size == found.best.bytes


@pytest.mark.parametrize("config", ["crf of many labels", Crf(second_pass=True), Crf(order=2)], ids=str)
def test_other_shapes_of_a_crf_shrink_too(config, tmp_path):
    tagger = Tagger("crf", folds=0).fit(MANY) if isinstance(config, str) else Tagger(config).fit(WORDS, TAGS)
    assert isinstance(tagger.model_, Shrinkable)
    threshold = float(np.sort(tagger.model_.magnitudes())[-20])
    small = with_model(tagger, tagger.model_.shrunk(threshold, 6))
    small.save(tmp_path / "small.chaff")
    assert load(tmp_path / "small.chaff").predict(WORDS) == small.predict(WORDS)
    assert (tmp_path / "small.chaff").stat().st_size < file_size(tagger)


@pytest.mark.parametrize("name", [r.name for r in CLASSIFIERS if r.unshrinkable is None])
def test_every_classifier_keeps_its_strongest_features_or_examples(name, tmp_path):
    texts = [
        f"{text} {' '.join(f'owl{n * k % 97}' for k in range(2, 12))}" for n, text in enumerate(TEXTS * 3)
    ]
    model = Classifier(name).fit(texts, LABELS * 3)
    most = halfway(model)
    found = smallest(model, most, lambda m: {"accuracy": m.score(texts, LABELS * 3)})
    assert found.best.bytes <= most
    keeps_examples = name in ("knn", "kernel-svm", "kernel-perceptron", "kernel-eg")
    assert found.best.scores["accuracy"] > (0.6 if keeps_examples else 0.99)
    found.estimator.save(tmp_path / "small.chaff")
    assert load(tmp_path / "small.chaff").predict(texts).tolist() == found.estimator.predict(texts).tolist()


def wordy(seed, n):
    """Texts of twelve words, of which one in five was drawn from the words of the text's label."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    hint = np.where(rng.random((n, 12)) < 0.2, y[:, None], rng.integers(0, 3, (n, 12)))
    words = 3 * (rng.zipf(1.3, (n, 12)) % 600) + hint
    return [" ".join(f"word{w}" for w in row) for row in words], [f"label {label}" for label in y]


def test_a_smaller_model_is_calibrated_again_and_uses_most_of_its_budget():
    dev, test = wordy(1, 1500), wordy(2, 3000)
    model = Classifier("ridge", features="words").fit(*wordy(0, 1500), dev=dev)
    half = halfway(model)
    for most in (half, 3 * half // 4):
        found = smallest(
            model, most, lambda m: {"accuracy": m.score(*dev)}, recalibrate=lambda m: m.recalibrate(*dev)
        )
        assert 0.85 * most < max(p.bytes for p in found.curve if p.bytes <= most)
        assert file_size(found.estimator) == found.best.bytes <= most
        confidence = found.estimator.predict_proba(test[0]).max(axis=1).mean()
        assert abs(confidence - found.estimator.score(*test)) < 0.04


def test_what_does_not_fit_and_what_is_no_size_are_refused(corpus):
    tagger = Tagger(Greedy(epochs=1), folds=0).fit(*corpus)
    with pytest.raises(ConfigError, match=r"no setting fits into 0\.1 KB; the smallest tried has \d+\.\d KB"):
        smallest(tagger, 100, right(corpus), spare=50)
    with pytest.raises(ConfigError, match="expected a size"):
        parsed_size("small")


def test_hypotheses_of_a_voted_perceptron_are_joined_when_an_example_goes():
    config = CLASSIFIERS.by_name("kernel-perceptron").config(hypothesis="votes")
    model = Classifier(config).fit(TEXTS * 2, LABELS * 2).model_
    whole = model.scorer
    small = model.shrunk(float(np.median(model.magnitudes())), 32).scorer
    assert len(small.support) < len(whole.support)
    assert small.survived.sum() == pytest.approx(whole.survived.sum())
    assert len(small.survived) == len(small.mistakes) + 1


@pytest.mark.parametrize("recipe", ["hmm", "emission", "greedy"])
def test_the_file_with_its_scores_is_within_the_budget(recipe, corpus, tmp_path, run):  # noqa: F811
    X, y = corpus
    path = tmp_path / "data.tsv"
    rows = ("\n".join(f"{w}\t{t}" for w, t in zip(a, b, strict=True)) for a, b in zip(X, y, strict=True))
    path.write_text("\n\n".join(rows) + "\n")
    ask = [
        "train",
        path,
        "-o",
        tmp_path / "m.chaff",
        "--recipe",
        recipe,
        "--folds",
        "0",
        "--json",
        "--max-size",
    ]
    size = 8000
    for _ in range(2):  # then the model without its scores has just the size that is asked for
        made = run(*ask, size)
        assert made.code == 0, made.err
        assert (tmp_path / "m.chaff").stat().st_size <= size
        size = json.loads(made.out)["best"]["bytes"]
