"""A trained model never changes: not while training goes on, not while others use it, not when a copy learns on."""

import copy
import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import old_models
import recipe_models
from chaffinch import Classifier, ConfigError, Tagger, load, samples
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.latent import LatentSvmTagger
from chaffinch.text.table import TokenTable

MODELS = old_models.models()
QUICK = {"latent-ssvm": LatentSvmTagger(rounds=1, restarts=1)}  # whose default takes seconds


@cache
def trained(name: str) -> Any:
    """The model of this name, for tests that leave it alone."""
    return MODELS[name]()


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_of_any_pass_is_the_same_when_training_has_ended(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[tuple[Any, Any, str]] = []
    finished = trained(name)

    def on_epoch(progress: Any) -> bool:
        if progress.model is not None:
            model = progress.model()
            met.append((model, _answers(finished, model, name), _bytes(model)))
        return True

    kind = type(finished)
    fit = kind.fit
    monkeypatch.setattr(
        kind, "fit", lambda self, *given, **named: fit(self, *given, **named, on_epoch=on_epoch)
    )
    MODELS[name]()
    for model, said, packed in met:
        assert _bytes(model) == packed
        assert _answers(finished, model, name) == said


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(MODELS))
def test_eight_threads_that_predict_at_once_get_the_serial_answers(name: str) -> None:
    one = copy.copy(trained(name))
    one.threads = 1
    serial = old_models.answers(one, name)
    start = Barrier(8)

    def asked(i: int) -> list[Any]:
        mine = copy.copy(one)  # the model is shared; how many threads each call may use differs
        mine.threads = 1 + i % 3
        start.wait()
        return [old_models.answers(mine, name) for _ in range(2)]

    with ThreadPoolExecutor(8) as pool:
        assert all(found == [serial] * 2 for found in pool.map(asked, range(8)))


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_that_is_saved_and_loaded_answers_as_before(name: str, tmp_path: Path) -> None:
    one = trained(name)
    one.save(tmp_path / "one.chaff")
    now = old_models.answers(load(tmp_path / "one.chaff"), name)
    assert old_models.differences(now, old_models.answers(one, name)) == []


def test_a_model_from_a_pass_scores_the_same_after_fit() -> None:
    X, y, more, _ = _ingredients()
    table = TokenTable.from_lists({"w": X + more})
    taken: list[Any] = []

    def on_epoch(progress: Any) -> bool:
        model = progress.model()
        taken.append((model, model.decode(table, 1).tolist()))
        return True

    Tagger(Crf(min_weight=0.1)).fit(X, y, on_epoch=on_epoch)
    assert taken
    assert all(model.decode(table, 1).tolist() == said for model, said in taken)


@pytest.mark.parametrize("recipe", [recipe.name for recipe in recipe_models.TAGGERS])
def test_a_copy_of_a_tagger_that_learns_on_leaves_the_original_alone(recipe: str) -> None:
    X, y, more, more_y = _ingredients()
    if recipe == "semi-crf":  # which needs labels of spans
        X, y, more, more_y = recipe_models.WORDS[:3], recipe_models.TAGS[:3], *_names()
    tagger = Tagger(QUICK.get(recipe, recipe)).fit(X, y)
    before, packed = tagger.predict(X + more), _bytes(tagger.model_)
    other = copy.copy(tagger)
    try:
        other.partial_fit(more, more_y)
    except ConfigError:
        return  # the recipe cannot go on from a model
    assert tagger.predict(X + more) == before
    assert _bytes(tagger.model_) == packed


@pytest.mark.parametrize("recipe", ["loglinear", "perceptron", "nb", "complement-nb"])
def test_a_copy_of_a_classifier_that_learns_on_leaves_the_original_alone(recipe: str) -> None:
    texts, labels = recipe_models.TEXTS, recipe_models.LABELS
    classifier = Classifier(recipe).partial_fit(texts, labels, classes=["+", "-"])
    before, packed = classifier.decision_function(texts).tolist(), _bytes(classifier.model_)
    with suppress(ConfigError):  # naive Bayes goes on only where it began
        copy.copy(classifier).partial_fit(texts, labels[::-1])
    assert classifier.decision_function(texts).tolist() == before
    assert _bytes(classifier.model_) == packed


def _ingredients() -> tuple[Any, Any, Any, Any]:
    documents = samples.load("ingredients", "train", n=40)
    X, y = [d.words() for d in documents], [list(d.columns["y"]) for d in documents]
    return X[:20], y[:20], X[20:], y[20:]


def _names() -> tuple[Any, Any]:
    return [["Lee", "met", "Bob"]], [["B-PER", "O", "B-PER"]]


def _answers(finished: Any, model: Any, name: str) -> Any:
    """What an estimator with this model says; None for the scorer of a learner, whose weights are compared alone."""
    if not hasattr(model, "packed"):
        return None
    if isinstance(finished, Tagger):  # the second of two models reads what the first said
        same = [["O"] * len(words) for words in old_models.WORDS]
        table = TokenTable.from_lists({"w": old_models.WORDS, "first": same, "majority": same})
        return model.decode(table, 1).tolist(), model.columns
    probe = copy.copy(finished)
    probe.model_ = model
    return old_models.answers(probe, name)


def _bytes(model: Any) -> str:
    """A digest of all that a file would keep of the model."""
    if not hasattr(model, "packed"):
        return hashlib.sha256(model.w.tobytes()).hexdigest()
    packed = model.packed()
    digest = hashlib.sha256(repr((packed.details, packed.strings, packed.templates)).encode())
    for key, array in sorted(packed.arrays.items()):
        digest.update(f"{key} {array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
