"""Tuning: reproducible by trials, within its time, and blind to the test split."""

import random
import time

import pytest

from chaffinch import samples
from chaffinch.engines import InProcess, Processes
from chaffinch.errors import ConfigError
from chaffinch.kinds import DOCUMENTS, KINDS, TAGS
from chaffinch.kinds.texts import Texts
from chaffinch.lab import Source, bench, dataset, run, tune
from chaffinch.lab.datasets import Dataset
from chaffinch.lab.tuning import Among, Between, drawn, space_of, written_space
from chaffinch.progress import keep_going

# An HMM reads words alone, and the sample has parts of speech too.
pytestmark = pytest.mark.filterwarnings("ignore::chaffinch.errors.DataWarning")


def hmm(source):
    laid = bench(source, recipe="hmm", dev_needed=True)
    return laid, [space_of("hmm", laid.kind.settings_of("hmm"))]


def test_the_same_number_of_trials_finds_the_same_settings():
    laid, spaces = hmm(Source(name="ingredients"))
    runs = [tune([laid.experiment], spaces, laid.splits, trials=5, threads=threads) for threads in (1, 2)]
    told = [[(t.number, t.settings, t.share, t.score) for t in found.trials] for found in runs]
    assert told[0] == told[1]
    assert runs[0].preset == runs[1].preset


@pytest.mark.parametrize("engine", [InProcess(), Processes(2)])
def test_an_engine_gives_the_table_of_the_serial_search(engine):
    laid, spaces = hmm(Source(name="ingredients"))
    runs = [tune([laid.experiment], spaces, laid.splits, trials=4, engine=one) for one in (None, engine)]
    told = [[(t.number, t.settings, t.share, t.score) for t in found.trials] for found in runs]
    assert told[0] == told[1]
    assert runs[0].preset == runs[1].preset
    with pytest.raises(ConfigError, match="needs a number of trials"):
        tune([laid.experiment], spaces, laid.splits, seconds=5, engine=engine)


def test_the_best_is_the_best_on_all_the_data_and_its_preset_runs_to_the_same_score():
    laid, spaces = hmm(Source(name="ingredients"))
    found = tune([laid.experiment], spaces, laid.splits, trials=5)
    full = [t for t in found.trials if t.share == 1.0]
    assert found.best.score == max(t.score for t in full)
    assert full[0].settings == {}  # the recipe as it is
    again = run(found.preset.experiment, laid.splits, scored=("dev",))
    assert again.scores["dev"][found.score] == found.best.score
    assert again.model_digest()[0] == found.preset.model


def test_rungs_keep_the_best_third():
    laid, spaces = hmm(Source(name="ingredients"))
    trials = tune([laid.experiment], spaces, laid.splits, trials=7).trials[1:]
    rungs = {share: [t for t in trials if t.share == share] for share in sorted({t.share for t in trials})}
    counts = [len(rung) for rung in rungs.values()]
    assert counts == [7, 3, 1]
    low, middle, _ = rungs.values()
    best = sorted(low, key=lambda t: (-t.score, t.number))[:3]
    assert {t.number for t in middle} == {t.number for t in best}


def test_tuning_never_reads_the_test_part(tmp_path):
    samples.export("ingredients", tmp_path)
    clean, spaces = hmm(Source(name=str(tmp_path)))
    expected = tune([clean.experiment], spaces, clean.splits, trials=3)
    (tmp_path / "test.conll").write_bytes(b"\xff poison \x00")
    poisoned, spaces = hmm(Source(name=str(tmp_path)))
    found = tune([poisoned.experiment], spaces, poisoned.splits, trials=3)
    assert [t.score for t in found.trials] == [t.score for t in expected.trials]
    assert "test" not in found.preset.data
    assert "test" not in found.preset.scores


def test_without_a_dev_part_a_fifth_is_held_out_the_same_way_by_the_preset(tmp_path):
    samples.export("ingredients", tmp_path)
    source = Source(train=(str(tmp_path / "train.conll"),))
    laid, spaces = hmm(source)
    found = tune([laid.experiment], spaces, laid.splits, trials=2)
    experiment = found.preset.experiment
    assert experiment.hold_out == 0.2
    again = run(experiment, experiment.splits(dataset(source)), scored=("dev",))
    assert again.scores["dev"][found.score] == found.best.score


def test_time_is_kept():
    laid, spaces = hmm(Source(name="ingredients"))
    began = time.monotonic()
    found = tune([laid.experiment], spaces, laid.splits, seconds=1.5)
    assert time.monotonic() - began < 6.0  # one run too long at most, on a busy machine
    assert len(found.trials) >= 1


def test_a_time_too_short_for_one_run_is_refused():
    laid, spaces = hmm(Source(name="ingredients"))
    with pytest.raises(ConfigError, match="not enough to train once"):
        tune([laid.experiment], spaces, laid.splits, seconds=1e-9)


def test_trials_or_a_time_but_not_both():
    laid, spaces = hmm(Source(name="ingredients"))
    for budget in ({}, {"trials": 1, "seconds": 1.0}):
        with pytest.raises(ConfigError, match="tuning needs a budget"):
            tune([laid.experiment], spaces, laid.splits, **budget)


def test_a_small_space_is_tried_once_and_no_more():
    laid, _ = hmm(Source(name="ingredients"))
    found = tune([laid.experiment], [{"order": Among((1, 2))}], laid.splits, trials=50)
    assert {t.settings.get("order") for t in found.trials} == {None, 1, 2}


def test_every_drawn_setting_is_one_that_its_recipe_accepts():
    chance = random.Random(0)
    for kind in KINDS:
        for recipe in kind.recipes:
            spaces = space_of(recipe.name, kind.settings_of(recipe.name))
            for _ in range(12):
                settings = drawn(spaces, chance)
                features = settings.pop("features", None)
                kind.full_settings(recipe.name, settings)
                if kind is DOCUMENTS:  # features come together when they are fitted
                    texts = Texts(
                        ["good tea", "fine cake", "bad tea", "poor cake"] * 4, ["+", "+", "-", "-"] * 4
                    )
                    kind.fit(kind.made(recipe.name, settings, features, 0, 1), texts, None, keep_going)


def test_ranges_are_drawn_between_their_ends_and_lists_from_their_values():
    known = TAGS.settings_of("crf")
    chance = random.Random(1)
    name, space = written_space("penalty", "0.1..10", "crf", known)
    assert name == "c2"
    assert all(0.1 <= space.draw(chance) <= 10 for _ in range(100))
    assert isinstance(Between(1, 9, whole=True).draw(chance), int)
    assert written_space("order", "1,2", "crf", known) == ("order", Among((1, 2)))
    with pytest.raises(ConfigError, match="a range goes from"):
        written_space("c2", "5..1", "crf", known)


def test_a_dataset_is_asked_for_train_and_dev_alone():
    whole = dataset(Source(name="ingredients"))
    asked = []
    readers = {n: lambda n=n: asked.append(n) or whole.split(n) for n in ("train", "dev", "test")}
    laid, spaces = hmm(Source(name="ingredients"))
    splits = laid.experiment.splits(Dataset("watched", readers))
    tune([laid.experiment], spaces, splits, trials=2)
    assert set(asked) == {"train", "dev"}
