"""The laboratory's commands: experiment, preset, ablation, tune."""

import csv
import json
import tomllib
from pathlib import Path

import pytest

from chaffinch import samples
from commandline import Runner, run  # noqa: F401


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHAFFINCH_DATA", raising=False)


def test_an_experiment_writes_its_record_its_preset_and_its_model(run: Runner):  # noqa: F811
    made = run(
        *"experiment -d ingredients --recipe perceptron -e 2 -n first --record notes -j best -o m.chaff".split()
    )
    assert made.code == 0, made.err
    assert "epoch  2, train_acc" in made.out
    assert Path("records/notes.md").read_text().startswith("## first, ")
    preset = json.loads(Path("presets/best.json").read_text())
    assert preset["settings"]["epochs"] == 2
    assert Path("m.chaff").stat().st_size == preset["result"]["model_bytes"]


def test_a_preset_runs_to_the_same_bytes(run: Runner):  # noqa: F811
    run(*"train -d ingredients --recipe perceptron -e 1 -j p.toml --save a.chaff".split())
    again = run(*"preset p.toml -o b.chaff --record again --threads 1".split())
    assert again.code == 0, again.err
    assert "the same model to the byte" in again.out
    assert Path("a.chaff").read_bytes() == Path("b.chaff").read_bytes()
    assert "epoch  1" in Path("records/again.md").read_text()


def test_a_preset_whose_data_changed_says_so_and_fails(run: Runner):  # noqa: F811
    samples.export("ingredients", Path("d"))
    run(*"train -d d --recipe hmm -j p".split())
    lines = Path("d/train.conll").read_text().split("\n\n")
    Path("d/train.conll").write_text("\n\n".join(lines[:-100]) + "\n\n")
    again = run("preset", "p")
    assert again.code == 1
    assert "the train split is not the data" in again.err
    assert "the model file has other bytes" in again.err


def test_flags_may_be_written_with_underscores(run: Runner):  # noqa: F811
    dashed = run(*"experiment -d ingredients --recipe perceptron --epochs 1 --min-count 2 --json".split())
    underscored = run(
        *"experiment -d ingredients --recipe perceptron --epochs 1 --min_count 2 --json".split()
    )
    assert dashed.code == underscored.code == 0
    first, second = json.loads(dashed.out), json.loads(underscored.out)
    assert first["settings"] == second["settings"]
    assert first["settings"]["min_count"] == 2


def test_training_on_files_is_as_ever(run: Runner):  # noqa: F811
    samples.export("ingredients", Path("d"))
    assert run(*"train d/train.conll -o m.chaff --recipe hmm".split()).code == 0
    for missing in ("train -o m.chaff", "train d/train.conll --recipe hmm"):
        assert run(*missing.split()).code == 2


def test_the_older_spelling_of_an_experiment_writes_the_same_and_says_the_new_one(run: Runner):  # noqa: F811
    made = run(*"train -d ingredients --recipe perceptron --epoch 2 -o notes -j a --save a.chaff".split())
    assert made.code == 0, made.err
    now = "experiment -d ingredients --recipe perceptron --epoch 2 --record notes -j a -o a.chaff"
    assert f"train -d is now: chaffinch {now}" in made.err
    again = run(
        *now.replace("notes", "again").replace("--epoch", "--epochs").replace("a.chaff", "b.chaff").split()
    )
    assert again.code == 0, again.err
    assert Path("a.chaff").read_bytes() == Path("b.chaff").read_bytes()
    assert Path("records/notes.md").exists()
    assert Path("records/again.md").exists()


@pytest.mark.parametrize(
    ("older", "today"),
    [
        ("--epoch 2", "--epochs 2"),
        ("--lr=0.5", "--rate 0.5"),
        ("--no-stopword", "--stopwords none"),
        ("--stopword", "--stopwords english"),
    ],
)
def test_one_spelling_of_a_setting_is_shown_and_the_older_one_understood(run: Runner, older: str, today: str):  # noqa: F811
    base = "experiment -d questions --no-lemmatize -e 1 --json "
    first, second = (json.loads(run(*(base + flags).split()).out)["settings"] for flags in (older, today))
    assert first == second
    shown = run("experiment", "--help").out
    assert today.split(maxsplit=1)[0] in shown
    assert f"{older.split(maxsplit=1)[0].split('=', maxsplit=1)[0]} " not in shown


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("train x.conll -o m -n name", "No such option"),
        ("experiment x.conll -d ingredients", "unexpected extra argument"),
        ("experiment -d ingredients --dev x", "No such option"),
        ("train -d ingredients --dev x", "No such option"),
        ("experiment -d haiku", "there is no dataset 'haiku'"),
        ("experiment -d sst5", "CHAFFINCH_DATA"),
        ("experiment -d ingredients --recipe hmm -l 0.5", "recipe hmm has no knob for 'rate'"),
        ("experiment -d ingredients --recipe hmm -j p.yaml", "ends in .json or .toml"),
        ("preset nowhere", "there is no such preset"),
        ("ablation -d ingredients -p order -v 1 -v 2", "every -p needs its -v"),
        ("ablation -d ingredients --recipe hmm -p order -v ,", "expected values separated by commas"),
        ("ablation -d ingredients --recipe hmm -p order -v 1 --score bleu", "there is no score 'bleu'"),
        ("tune", "either a dataset (-d NAME) or labelled files"),
        ("tune -d ingredients x.conll", "either a dataset (-d NAME) or labelled files"),
        ("tune -d ingredients --time soon", "expected a time such as 60s"),
        ("tune -d ingredients --time 1s --trials 2", "tuning needs a budget"),
        ("tune -d ingredients --recipe hmm --trials 1 -o p.yaml", "ends in .json or .toml"),
    ],
)
def test_what_does_not_fit_is_one_sentence_and_exit_code_2(run: Runner, command: str, told: str):  # noqa: F811
    found = run(*command.split())
    assert found.code == 2
    assert told in found.err
    assert "Traceback" not in found.err
    assert not list(Path().rglob("*.y*ml"))


def test_an_ablation_writes_a_page_charts_and_figures(run: Runner):  # noqa: F811
    arguments = "ablation -d ingredients --recipe perceptron -p epoch -v 1,2 --seeds 2 --on dev --png".split()
    made = run(*arguments)
    assert made.code == 0, made.err
    begin = "evaluation/ablation-ingredients-epoch"
    assert "epoch=2" in made.out
    assert Path(f"{begin}.html").read_text().startswith("<!doctype html>")
    assert Path(f"{begin}-epochs.svg").read_text().startswith("<svg")
    assert Path(f"{begin}.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader(Path(f"{begin}.csv").read_text().splitlines()))
    assert [(r["epoch"], r["seed"]) for r in rows] == [("1", "0"), ("1", "1"), ("2", "0"), ("2", "1")]
    told = json.loads(Path(f"{begin}.json").read_text())
    scores = [float(r["token_accuracy"]) for r in rows]
    assert told["rows"][1]["mean"] == pytest.approx((scores[2] + scores[3]) / 2)
    journal = Path(f"{begin}.runs.jsonl").read_text()
    assert run(*arguments).out == made.out  # from the journal, times and all
    assert Path(f"{begin}.runs.jsonl").read_text() == journal


def test_a_cell_of_an_ablation_is_the_single_run(run: Runner):  # noqa: F811
    found = json.loads(
        run(*"ablation -d ingredients --recipe perceptron -p epoch -v 1 --seeds 2 --json".split()).out
    )
    single = json.loads(run(*"train -d ingredients --recipe perceptron -e 1 --seed 1 --json".split()).out)
    assert found["rows"][0]["runs"][1]["token_accuracy"] == single["test"]["token_accuracy"]


def test_tuning_writes_a_preset_that_runs_to_the_score_it_found(run: Runner):  # noqa: F811
    samples.export("ingredients", Path("d"))
    Path("d/test.conll").write_bytes(b"\xff poison")
    tuned = run(*"tune -d d --recipe hmm --trials 3 -o best.toml --json".split())
    assert tuned.code == 0, tuned.err
    best = json.loads(tuned.out)["best"]["token_accuracy"]
    Path("d/test.conll").unlink()
    again = run(*"preset best.toml --json".split())
    assert again.code == 0, again.err
    assert json.loads(again.out)["dev"]["token_accuracy"] == best


def test_a_preset_may_learn_from_what_was_held_out(run: Runner):  # noqa: F811
    run(*"tune -d ingredients --recipe hmm --trials 1 -o best.toml".split())
    whole = run(*"preset best.toml --whole -o w.chaff --json".split())
    assert whole.code == 0, whole.err
    assert set(json.loads(whole.out)) >= {"train", "test"}
    assert "dev" not in json.loads(whole.out)
    samples.export("ingredients", Path("d"))
    both = Path("d/train.conll").read_text() + Path("d/dev.conll").read_text()
    Path("both.conll").write_text(both)
    settings = tomllib.loads(Path("best.toml").read_text())["settings"]
    flags = [
        f"--{'' if v else 'no-'}{k.replace('_', '-')}"
        if isinstance(v, bool)
        else f"--{k.replace('_', '-')}={v}"
        for k, v in settings.items()
        if k != "unset"
    ]
    plain = run("train", "-d", "both.conll,d/test.conll", "--recipe", "hmm", *flags, "--json")
    assert json.loads(plain.out)["test"] == json.loads(whole.out)["test"]


def test_tuning_takes_files_and_keeps_what_flags_say(run: Runner):  # noqa: F811
    samples.export("ingredients", Path("d"))
    tuned = run(
        *"tune d/train.conll --dev d/dev.conll --recipe hmm --order 1 --trials 2 -o t.json --json".split()
    )
    assert tuned.code == 0, tuned.err
    assert all("order" not in t["settings"] for t in json.loads(tuned.out)["trials"])
    assert json.loads(Path("t.json").read_text())["settings"]["order"] == 1
    assert "trial" in run(*"tune d/train.conll --recipe hmm --trials 1".split()).out
