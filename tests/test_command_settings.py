"""Settings from a TOML file: flags win over them, and their faults name the file and the key."""

import json
from pathlib import Path

import pytest

from commandline import Runner, run

__all__ = ["run"]

GOOD = b"the DT\ndog NN\nbarks VB\n\na DT\ncat NN\nsleeps VB\n\n" * 10


def training_by_file(folder: Path) -> list[object]:
    return ["train", folder / "good.conll", "-o", folder / "m.chaff", "--config", folder / "run.toml"]


def test_settings_come_from_a_file_and_flags_win(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "good.conll").write_bytes(GOOD)
    (tmp_path / "run.toml").write_text(
        'recipe = "hmm"\norder = 1\nseed = 7\nemission-amount = 1\nfloor = "none"\n'
    )
    command = training_by_file(tmp_path)
    assert json.loads(run(*command, "--json").out)["seed"] == 7
    held = json.loads(run("inspect", tmp_path / "m.chaff", "--json").out)
    assert held["settings"]["order"] == 1
    assert held["settings"]["emission_amount"] == 1.0
    assert held["settings"]["floor"] is None
    assert json.loads(run(*command, "--seed", 8, "--order", 2, "--json").out)["seed"] == 8
    shown = run("inspect", tmp_path / "m.chaff", "--json").out
    assert json.loads(shown)["settings"]["order"] == 2
    assert "Infinity" not in shown


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("order = 0", "run.toml: order must be >= 1, got 0"),
        ('order = "two"', "run.toml: order must be a whole number, got 'two'"),
        ("order = true", "run.toml: order must be a whole number, got True"),
        ("emission_amount = nan", "run.toml: emission_amount must be"),
        ('transition_smoothing = "x"', "run.toml: transition_smoothing must be one of "),
        ("oder = 1", "run.toml: train has no setting 'oder'; it has "),
        ("config = 'x'", "run.toml: train has no setting 'config'"),
        ("seed = -1", "run.toml: seed: "),
        ("seed = 'x'", "run.toml: seed: "),
        ("order = ", "run.toml: is not TOML: "),
        ("\udcff", "run.toml: is not TOML: "),
    ],
)
def test_faults_in_a_settings_file_name_the_file_and_the_key(
    toml: str, said: str, tmp_path: Path, run: Runner
) -> None:
    (tmp_path / "good.conll").write_bytes(GOOD)
    (tmp_path / "run.toml").write_bytes(toml.encode(errors="surrogateescape"))
    command = training_by_file(tmp_path)
    outcome = run(*command, "--recipe", "hmm")
    assert outcome.code == 2
    assert outcome.err.startswith(f"chaffinch: {tmp_path}/{said}")
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "m.chaff").exists()


def test_inspect_names_the_settings_that_were_set_by_hand_and_no_others(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "good.conll").write_bytes(GOOD)
    trained = ("train", tmp_path / "good.conll", "-o", tmp_path / "m.chaff", "--recipe", "hmm")
    run(*trained)
    assert "settings: all are defaults" in run("inspect", tmp_path / "m.chaff").out
    run(*trained, "--order", 1)
    assert "settings: order=1; all others are defaults" in run("inspect", tmp_path / "m.chaff").out


@pytest.mark.parametrize("name", ["out", "output"])
def test_a_flag_of_two_names_may_have_either_in_a_file(name: str, tmp_path: Path, run: Runner) -> None:
    (tmp_path / "good.conll").write_bytes(GOOD)
    (tmp_path / "run.toml").write_text(f'{name} = "{tmp_path}/m.chaff"\nrecipe = "hmm"\n')
    assert run("train", tmp_path / "good.conll", "--config", tmp_path / "run.toml").code == 0
    assert (tmp_path / "m.chaff").exists()
