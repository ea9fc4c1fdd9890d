"""The best pass of a training from a cache: scored without a copy of the weights, kept in a file, found again."""

import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaffinch.cache import Cache
from chaffinch.errors import ModelFileError
from chaffinch.learners.best_pass import BestInFile
from chaffinch.learners.problem import Pass
from chaffinch.recipes.crf_blocks import BlockExamples, CachedTask, train_blocks
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.perceptron import MiraTagger, StructuredPerceptron
from chaffinch.recipes.perceptron_blocks import train_online_blocks
from chaffinch.recipes.recipe import Trained
from chaffinch.recipes.scored_rows import ScoredRows
from chaffinch.scorers import Layout, Linear
from test_block_training import cached, corpus, same

CRF = Crf(passes=5, patience=2, min_weight=0.0)
CONFIGS = [CRF, StructuredPerceptron(epochs=4), MiraTagger(epochs=4, rule="arow")]


def trained(task: CachedTask, config: Any) -> Trained:
    return train_blocks(task, config) if isinstance(config, Crf) else train_online_blocks(task, config)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setattr("chaffinch.recipes.crf_blocks.MIXED", 2)
    return cached(tmp_path / "c", corpus(150, faults=0.1), tokens=60)


@pytest.fixture
def falling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores by which the second pass is the best."""
    told = (0.2, 0.8, 0.3, 0.4, 0.1)
    for module in ("crf_blocks", "perceptron_blocks"):
        scores: dict[bytes, float] = {}

        def score(model: Any, scores: dict[bytes, float] = scores) -> float:
            weights = model.weights.dense.tobytes()
            return scores.setdefault(weights, told[len(scores)])

        monkeypatch.setattr(f"chaffinch.recipes.{module}.tag_score", lambda *_, score=score: score)


@pytest.mark.parametrize("config", CONFIGS)
def test_the_best_pass_in_a_file_is_that_in_memory(
    tmp_path: Path, cache: Cache, config: Any, falling: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = CachedTask(cache, ("w",), dev=corpus(40, seed=1))
    found = trained(task, config)
    assert [p.scores["dev"] for p in found.history] == [0.2, 0.8, 0.3, 0.4][: len(found.history)]
    assert not (tmp_path / "c.best").exists()
    monkeypatch.setattr(CachedTask, "best_file", lambda *_: None)
    held = trained(task, config)
    assert same(found.model.packed(), held.model.packed())
    first_two = replace(config, passes=2) if isinstance(config, Crf) else replace(config, epochs=2)
    if not isinstance(config, Crf):  # the rate of SGD depends on the number of passes
        assert same(found.model.packed(), trained(replace(task, dev=None), first_two).model.packed())


@pytest.mark.parametrize("config", CONFIGS)
def test_held_out_rows_are_answered_as_by_the_whole_model(
    cache: Cache, config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dev = corpus(60, seed=2)
    seen: list[Any] = []
    monkeypatch.setattr("chaffinch.recipes.scored_rows.IDS", 50)
    for module in ("crf_blocks", "perceptron_blocks"):
        monkeypatch.setattr(
            f"chaffinch.recipes.{module}.tag_score",
            lambda *_: lambda model: float(seen.append(model.decode(dev, 1)) or len(seen)),
        )
    most = {"passes": 2} if isinstance(config, Crf) else {"epochs": 2}
    model = trained(CachedTask(cache, ("w",), dev=dev), replace(config, **most)).model
    assert np.array_equal(seen[-1], model.decode(dev, 1))
    assert not np.array_equal(seen[0], np.zeros_like(seen[0]))


def test_the_rows_of_held_out_sentences_have_only_their_own_features(cache: Cache) -> None:
    model = trained(CachedTask(cache, ("w",)), CRF).model
    dev = corpus(5, seed=3)
    rows = ScoredRows.of(dev, model.encoder, 1)
    whole = model.encoder.rows(dev, 1)
    assert len(rows.features) < model.encoder.n_features
    assert rows.features[rows.encoder.rows(dev, 1).ids].tolist() == whole.ids.tolist()


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("stop", [0.1, 0.5, 0.7, 1.0])
def test_a_training_with_held_out_data_goes_on_with_the_same_bytes(
    tmp_path: Path,
    cache: Cache,
    config: Any,
    stop: float,
    falling: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chaffinch.learners.training.CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr("chaffinch.learners.training.CHECKPOINT_SHARE", 0)
    task = CachedTask(cache, ("w",), dev=corpus(40, seed=1), checkpoint=tmp_path / "point")
    steps: list[Any] = []
    whole = trained(replace(task, on_epoch=steps.append), config)
    met = 0

    def killed(progress: Any) -> None:
        nonlocal met
        met += 1
        if met == counted + int(stop * (len(steps) - counted)):
            raise KeyboardInterrupt

    counted = sum(step.task == "counting" for step in steps)

    with pytest.raises(KeyboardInterrupt):
        trained(replace(task, on_epoch=killed), config)
    again = trained(task, config)
    assert same(again.model.packed(), whole.model.packed())
    assert again.history == whole.history
    assert not list(tmp_path.glob("point*"))


def test_the_weights_are_not_copied_to_be_scored(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> Linear:
        raise AssertionError("a copy of the weights")

    monkeypatch.setattr(Linear, "with_weights", refused)
    assert len(train_blocks(CachedTask(cache, ("w",), dev=corpus(40, seed=1)), CRF).history) >= 2


@pytest.mark.parametrize("config", CONFIGS[:2])
def test_blocks_are_freed_before_the_next_ones_are_made(
    cache: Cache, config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, alive = BlockExamples.made, []
    last: list[weakref.ref[Any]] = []

    def watched(self: BlockExamples, numbers: Any) -> Any:
        alive.extend(ids() is not None for ids in last)
        found = made(self, numbers)
        last[:] = [weakref.ref(found.ids)]
        return found

    monkeypatch.setattr(BlockExamples, "made", watched)
    trained(CachedTask(cache, ("w",), threads=1), config)
    assert len(alive) > 3
    assert not any(alive)


def test_a_damaged_file_of_the_best_pass_is_reported(tmp_path: Path) -> None:
    layout = Layout.chain(3, 2)
    best = BestInFile(tmp_path / "w.best", layout)
    w = np.arange(layout.size, dtype=np.float32)
    best.compare(Pass(1, {}, None, 3), Linear(layout, w), 0.5)
    assert best.read().w.tobytes() == w.tobytes()
    assert best.in_file(Pass(2, {}, None, 3))
    assert not best.in_file(Pass(1, {}, None, 3))
    best.path.write_bytes(w[::-1].tobytes())
    with pytest.raises(ModelFileError, match="is damaged"):
        best.read()
    best.remove()
    with pytest.raises(ModelFileError, match="cannot be read"):
        best.read()
