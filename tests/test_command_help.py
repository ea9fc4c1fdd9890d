"""What the commands say of themselves: the front page, help with examples and knobs, completion in shells."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from chaffinch.cli import COMMANDS
from chaffinch.recipes import TAGGERS
from commandline import Runner, run

__all__ = ["run"]


def test_listing_the_commands_imports_none_of_them(tmp_path: Path) -> None:
    code = (
        "import sys; from chaffinch.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "Commands" in done.stdout
    assert all(name in done.stdout for name in COMMANDS)
    ours = {name for name in loaded if name.startswith("chaffinch")}
    assert ours == {
        "chaffinch",
        "chaffinch.cli",
        "chaffinch.cli.terminal",
        "chaffinch.errors",
    }
    assert not loaded & {"numpy", "safetensors", "rich.progress", "rich.markdown", "typer.rich_utils"}


def test_a_mistyped_command_is_answered_with_the_nearest(run: Runner) -> None:
    outcome = run("trian")
    assert outcome.code == 2
    assert "Did you mean 'train'?" in outcome.err


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself_with_examples(
    name: str, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    outcome = run(name, "--help")
    assert outcome.code == 0
    assert f"Usage: chaffinch {name}" in outcome.out
    assert "\x1b" not in outcome.out
    examples = [
        line.strip()
        for line in import_module(f"chaffinch.cli.{name.replace('-', '_')}").EXAMPLES.splitlines()
        if line.strip()
    ]
    shown = [line.strip() for line in outcome.out.rstrip().splitlines()]
    assert shown[-len(examples) - 2 :] == ["Examples", "", *examples]
    assert all("chaffinch " in example for example in examples)
    assert any(f"chaffinch {name}" in example for example in examples)


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("tune", "--preset"),
        ("ablation", "--prefix"),
        ("doctor", "--findings"),
        ("samples", "--folder"),
        ("cluster", "--clusters"),
    ],
)
def test_an_output_that_is_no_model_has_a_flag_of_its_own(
    name: str, flag: str, run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = run(name, "--help").out.split("Examples")[0]
    assert flag in shown
    assert not {"-o", "--out", "--output"} & set(shown.split())
    if name == "cluster":
        assert "Missing option '--clusters'." in run(name, tmp_path / "text.txt").err
        (tmp_path / "text.txt").write_text("a b a b\n")
        for old in (flag, "--out", "--output", "-o"):
            assert run(name, tmp_path / "text.txt", old, tmp_path / old).code == 0
            assert (tmp_path / old).exists()


def test_help_shows_the_knobs_of_the_recipe_that_is_named(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    short = run("train", "--help").out
    assert "--rung-strength" not in short
    assert "Knobs of a recipe: chaffinch train --recipe crf --help" in short
    hmm, nb = run("train", "--recipe", "hmm", "--help").out, run("train", "--recipe=nb", "--help").out
    assert "Sentences: knobs of recipe hmm" in hmm
    assert "--rung-strength" in hmm
    assert "Documents: features of text" not in hmm
    assert "Documents: features of text" in nb
    assert "--rung-strength" not in nb


def test_help_tells_the_default_of_the_recipe_that_is_named(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    for recipe in ("greedy", "mira"):
        shown = run("train", "--recipe", recipe, "--help").out
        line = next(line for line in shown.splitlines() if "--epochs" in line)
        assert f"[default: {TAGGERS.by_name(recipe).config().epochs}]" in line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_their_options(
    shell: str, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_CHAFFINCH_COMPLETE", f"complete_{shell}")

    def completed(line: str) -> str:
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        return run().out

    assert "evaluate" in completed("chaffinch ev")
    assert "train" not in completed("chaffinch ev")
    assert "--recipe" in completed("chaffinch train --re")
