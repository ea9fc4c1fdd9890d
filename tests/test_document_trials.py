"""Settings for many documents, chosen on samples: the same in memory as from a cache."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from chaffinch import Classifier
from chaffinch.cache.documents import TextSpool
from chaffinch.learners.dual import DualRidge
from chaffinch.recipes.document_blocks import (
    PASSES,
    DocumentSettings,
    LearnerTrial,
    MeasuredTrial,
    TextChoice,
    TrialSample,
    choose_trial,
    sample_task,
)
from chaffinch.recipes.text_features import TextFeatures
from topic_texts import documents


def test_characters_are_chosen_if_they_are_clearly_better(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaffinch.recipes.document_blocks.CHOSEN_ON_ALL", 200)
    monkeypatch.setattr("chaffinch.recipes.document_blocks.CHOSEN_ON", 200)
    rng = np.random.default_rng(0)

    def word(ending: str) -> str:
        return "".join(rng.choice(list("bcdfgklmnprst"), 5)) + ending

    endings = {"one": "ova", "two": "sson", "three": "ez"}
    y = [list(endings)[n % 3] for n in range(400)]
    X = [" ".join(word(endings[label]) for _ in range(3)) for label in y]
    made = Classifier(threads=1).fit(iter(zip(X[:300], y[:300], strict=True)))
    kinds = TextFeatures.named(made.cached_["features"]).ngrams
    assert any("char" in kind.get("unit", "") for kind, _ in kinds)
    assert np.mean([a == b for a, b in zip(made.predict(X[300:]), y[300:], strict=True)]) > 0.95
    X, y = documents(600)
    assert "characters" not in Classifier(threads=1).fit(iter(zip(X, y, strict=True))).cached_["features"]


def test_many_documents_get_the_same_settings_in_memory_as_from_a_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in (("CHOSEN_ON_ALL", 150), ("CHOSEN_ON", 100), ("FEWEST", 100), ("COUNTED_ON", 200)):
        monkeypatch.setattr(f"chaffinch.recipes.document_blocks.{name}", value)
    X, y = documents(250)
    there = Classifier(threads=1).fit(X, y)
    here = Classifier(threads=1).fit(iter(zip(X, y, strict=True)))
    chosen = there.choice_
    assert chosen is not None
    assert (chosen["features"], chosen["recipe"]) == (here.cached_["features"], here.cached_["recipe"])
    assert chosen["settings"] == {"C": there.config_.C} == {"C": here.config_.C}
    assert set(chosen["tried"]) > {"words", "more-words", "tf-idf", "characters"}
    assert "on a held-out third of 200 documents of the training data; on 100 documents: " in chosen["told"]
    there.save(tmp_path / "one.chaff")
    Classifier(threads=2).fit(X, y).save(tmp_path / "two.chaff")
    assert (tmp_path / "one.chaff").read_bytes() == (tmp_path / "two.chaff").read_bytes()


def test_given_settings_of_many_documents_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("CHOSEN_ON_ALL", 150), ("CHOSEN_ON", 100), ("FEWEST", 100), ("COUNTED_ON", 200)):
        monkeypatch.setattr(f"chaffinch.recipes.document_blocks.{name}", value)
    X, y = documents(250)
    with_C = Classifier(features="words", settings={"C": 0.7}, threads=1).fit(X, y)
    assert with_C.config_.C == 0.7
    assert "C 0.7" not in with_C.choice_["told"]  # it was not chosen
    named = Classifier("ridge", features="words", choose=True, threads=1).fit(X, y)
    assert (named.choice_["recipe"], named.choice_["folds"]) == ("ridge", 0)
    # Weights and several labels need all documents.
    weighted = Classifier(features="words", class_weight="balanced", threads=1).fit(X, y)
    several = Classifier(features="words", threads=1).fit(X, [[label] for label in y])
    assert weighted.choice_["folds"] == several.choice_["folds"] == 5


def test_a_loss_within_two_standard_errors_of_the_best_is_tried_on_more_documents() -> None:
    trial = LearnerTrial("ridge", 0.3)
    alike = np.arange(900) % 2 == 0

    def wrong_on(count: int, other: int) -> MeasuredTrial:
        """Not right on these documents, on which the best is, but on some others."""
        right = alike.copy()
        right[0 : 2 * count : 2], right[1 : 2 * other : 2] = False, True
        return MeasuredTrial(trial, right, 2700)

    best = MeasuredTrial(trial, alike, 2700)
    assert wrong_on(60, 45).close_to(best)  # 1.7 points behind, standard error 1.1
    assert not wrong_on(75, 30).close_to(best)  # 5 points
    assert wrong_on(8, 0).close_to(best)  # 0.9 points, standard error 0.3
    assert not wrong_on(18, 0).close_to(best)  # 2 points, standard error 0.5


def test_neighbours_of_a_penalty_are_those_of_the_grid() -> None:
    assert [one.C for one in LearnerTrial("ridge", 0.3).near(False)] == [0.3, 0.1, 0.9]


def test_trials_go_beyond_the_grid_and_follow_the_best_to_more_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = TextSpool(tmp_path)
    spool.add(*documents(600))
    settings = DocumentSettings(TextFeatures.of("words"), choose=lambda task, all_seen: None)  # type: ignore[arg-type,return-value]
    chosen = TextChoice(TextFeatures.of("words"), "words", "logistic", 1.0)
    task = sample_task(spool, 600, settings)
    _, rows = task.encoded()
    monkeypatch.setattr("chaffinch.recipes.document_blocks.CHOSEN_ON", 100)
    tried: list[tuple[int, int]] = []

    def peaked(sample: TrialSample, trial: LearnerTrial) -> MeasuredTrial:
        """Best for the margin at a rate below the grid and a C that falls with the number of documents."""
        count = len(sample.rows)
        assert sample.held.sum() == count // 3
        tried.append((count, sample.passes))
        C = 0.1 if count == 100 else 0.01
        away = abs(np.log((trial.rate or 0.01) / 0.01)) + abs(np.log(trial.C / C))
        accuracy = 1 - 0.01 * away - 0.005 * (trial.loss not in ("hinge", "crammer-singer"))
        return MeasuredTrial(trial, np.array([accuracy]), count)  # type: ignore[arg-type]

    monkeypatch.setattr(TrialSample, "measured", peaked)
    best = choose_trial(task, rows, chosen, settings, 1_000_000).trial
    assert (best.loss, best.rate) == ("crammer-singer", None)
    assert 0.01 < best.C < 0.012
    best = choose_trial(task, rows, chosen, settings, 1_000_000_000).trial  # too many for dual variables
    assert best.loss == "hinge"
    assert best.rate == pytest.approx(0.0078125)
    assert 0.01 < best.C < 0.012
    assert {n for n, _ in tried} == {100, 600}
    assert {passes for _, passes in tried} == {PASSES}
    for many, rate in ((1_000_000, None), (1_000_000_000, 0.0078125)):
        only = choose_trial(task, rows, replace(chosen, C=7.0), replace(settings, C=7.0), many).trial
        assert (only.loss, only.C, only.rate) == ("logistic", 7.0, rate)
    margin = replace(chosen, recipe="ridge")
    named = choose_trial(task, rows, margin, replace(settings, learner=DualRidge()), 1_000_000).trial
    assert named.loss == "ridge"
    spool.close()
