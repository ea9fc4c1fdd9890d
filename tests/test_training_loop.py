"""The training loop, for every recipe of every kind: listeners, held-out data, the best pass, checkpoints."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chaffinch import Aligner, Classifier, Parser, Reranker, Tagger
from chaffinch.errors import ConfigError
from chaffinch.learners.problem import Pass, Problem
from chaffinch.learners.training import Checkpoint, train_passes
from chaffinch.progress import Progress
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.aligners import ALIGNERS
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.parsers import PARSERS
from chaffinch.recipes.rerankers import RERANKERS
from recipe_models import LABELS, TAGS, TEXTS, WORDS, _lists, _pairs, _trees

Fit = Callable[..., Any]


def _fits() -> dict[str, Fit]:
    """By name, how an estimator of each recipe is trained, with or without held-out data."""
    pairs, sure = _pairs()
    held_out = (pairs[:4], sure[:4], [frozenset()] * 4)
    found: dict[str, Fit] = {}
    for r in TAGGERS:
        found[f"tagger {r.name}"] = lambda on_epoch, dev, name=r.name: Tagger(name).fit(
            WORDS, TAGS, dev=(WORDS[:3], TAGS[:3]) if dev else None, on_epoch=on_epoch
        )
    for r in CLASSIFIERS:
        found[f"classifier {r.name}"] = lambda on_epoch, dev, name=r.name: Classifier(name).fit(
            TEXTS, LABELS, dev=(TEXTS[:4], LABELS[:4]) if dev else None, on_epoch=on_epoch
        )
    for r in PARSERS:
        found[f"parser {r.name}"] = lambda on_epoch, dev, name=r.name: Parser(name).fit(
            _trees(), dev=_trees()[:4] if dev else None, on_epoch=on_epoch
        )
    for r in ALIGNERS:
        found[f"aligner {r.name}"] = lambda on_epoch, dev, name=r.name: Aligner(name).fit(
            pairs, sure, dev=held_out if dev else None, on_epoch=on_epoch
        )
    for r in RERANKERS:
        found[f"reranker {r.name}"] = lambda on_epoch, dev, name=r.name: Reranker(name).fit(
            _lists(), dev=_lists()[:3] if dev else None, on_epoch=on_epoch
        )
    return found


FITS = _fits()


@pytest.mark.parametrize("name", FITS)
def test_a_listener_that_returns_nothing_or_zero_does_not_end_training(name: str, capsys: Any) -> None:
    whole = FITS[name](lambda _: True, dev=False).history_
    printed = FITS[name](print, dev=False).history_
    assert printed == whole
    assert capsys.readouterr().out.count("Progress(") == len(whole)
    assert FITS[name](lambda _: 0, dev=False).history_ == whole


@pytest.mark.parametrize("name", FITS)
def test_a_listener_that_returns_false_ends_training_after_one_pass(name: str) -> None:
    assert len(FITS[name](lambda _: False, dev=False).history_) == 1


@pytest.mark.parametrize("name", FITS)
def test_held_out_data_are_scored_after_every_pass_and_stopped_on(name: str) -> None:
    seen: list[Progress] = []
    history = FITS[name](seen.append, dev=True).history_
    assert [p.scores["dev"] for p in seen] == [p.scores["dev"] for p in history]
    scores = [p.scores["dev"] for p in history]
    best = int(np.argmax(scores))
    assert len(scores) - 1 - best <= 5  # the longest patience of any recipe


class Counting:
    """Passes that make their own number."""

    def __init__(self, passes: int = 9, resumable: bool = False) -> None:
        self.passes_, self.resumable = passes, resumable
        self.started: list[int] = []

    def passes(self, problem: Problem, threads: int = 0, state: Any = None) -> Any:
        done = 0 if state is None else int(state["done"][0])
        self.started.append(done)
        for number in range(done + 1, self.passes_ + 1):
            kept = (lambda n=number: {"done": np.array([n])}) if self.resumable else None
            yield Pass(number, {}, lambda n=number: n, state=kept)


NOTHING = Problem(None, None, [])


def test_the_best_pass_is_kept_and_training_stops_when_patience_ends() -> None:
    scores = {1: 0.3, 2: 0.5, 3: 0.4, 4: 0.5, 5: 0.5, 6: 0.9}
    found = train_passes(Counting(), NOTHING, held_out_score=scores.__getitem__, patience=3)
    assert found.made == 2
    assert len(found.history) == 5
    patient = train_passes(Counting(6), NOTHING, held_out_score=scores.__getitem__, patience=4)
    assert patient.made == 6


def test_an_interrupted_training_goes_on_from_its_checkpoint(tmp_path: Any) -> None:
    checkpoint = Checkpoint(str(tmp_path / "kept"), "this")
    learner = Counting(5, resumable=True)

    def interrupt(p: Progress) -> None:
        if p.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_passes(learner, NOTHING, checkpoint=checkpoint, on_epoch=interrupt)
    found = train_passes(learner, NOTHING, checkpoint=checkpoint)
    assert learner.started == [0, 3]
    assert [p.done for p in found.history] == [4, 5]
    assert not (tmp_path / "kept").exists()


def test_a_checkpoint_of_a_learner_that_cannot_go_on_is_refused(tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match="Counting cannot continue from a checkpoint"):
        train_passes(Counting(), NOTHING, checkpoint=Checkpoint(str(tmp_path / "kept"), "this"))
