"""Model files of every recipe with something changed in them: refused in one sentence, or they answer."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import fuzz_recipes
import recipe_models
from chaffinch import ModelFileError, load, modelfile

FUZZER = Path(fuzz_recipes.__file__)


@pytest.mark.long
def test_damaged_models_of_every_recipe_are_refused_or_answer() -> None:
    """In a process of its own, with little memory: a crash is an exit code, and no end of memory an exception."""
    paths = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, str(FUZZER), "15", "1"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-1500:]}"
    assert len(done.stdout.splitlines()) == len(recipe_models.models())
    assert done.stdout.count("refused: ") == done.stdout.count("answers: ") == len(recipe_models.models())


@pytest.mark.parametrize("name", ["tagger crf", "classifier ridge"])
def test_what_a_model_says_of_damage_begins_with_the_file_and_is_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.chaff"
    train, _ = recipe_models.models()[name]
    train().save(path)
    sound = modelfile.read(path)
    header = replace(sound.header, settings={**sound.header.settings, "no such setting": 1})
    modelfile.write(path, header, sound.arrays, sound.strings)
    with pytest.raises(ModelFileError) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}: recipe ")
    assert "no such setting" in str(refused.value)


@pytest.mark.parametrize("temperature", [0.0, -1.5, None, "x"])
def test_a_temperature_that_is_none_is_refused_when_the_file_is_read(
    temperature: object, tmp_path: Path
) -> None:
    path = tmp_path / "m.chaff"
    recipe_models.models()["tagger greedy"][0]().save(path)
    sound = modelfile.read(path)
    header = replace(sound.header, details={**sound.header.details, "temperature": temperature})
    modelfile.write(path, header, sound.arrays, sound.strings)
    with pytest.raises(ModelFileError, match=r"gives 'temperature' as .*, expected a number above 0"):
        load(path)
