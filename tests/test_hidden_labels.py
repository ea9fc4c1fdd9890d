"""Labels that are not known do not count as mistakes; the folder of a gazetteer is not in the model file."""

import json
import shutil
from pathlib import Path

from chaffinch import modelfile
from chaffinch.estimators import Tagger, load
from commandline import Runner, run  # noqa: F401

FULL = "Ann B-PER\nleft O\nOslo B-LOC\n\nthe O\ntea O\n\n" * 4


def test_the_train_score_does_not_count_hidden_labels(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "part.conll").write_text(FULL.replace("left O", "left ?", 2).replace("the O", "the ?", 1))
    asked = ("train", tmp_path / "part.conll", "-o", tmp_path / "m.chaff", "--unknown", "?", "--json")
    outcome = run(*asked)
    assert outcome.code == 0, outcome.err
    scores = json.loads(outcome.out)["train"]
    assert scores["token_accuracy"] == 1.0
    assert scores["sentence_accuracy"] == 1.0
    assert scores["span.micro.f1"] == 1.0


def test_score_leaves_out_labels_that_are_none() -> None:
    X, y = [["Ann", "left"], ["the", "tea"]] * 3, [["B", None], ["O", "O"]] * 3
    tagger = Tagger("crf").fit(X, y)
    assert tagger.score(X, y) == 1.0
    assert tagger.score([["Ann", "tea"]], [[None, "B"]]) == 0.0


def test_the_same_gazetteer_in_two_folders_gives_the_same_bytes(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "names.conll").write_text(FULL)
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "city.txt").write_text("Oslo\nRome\n")
        asked = ("--gazetteers", tmp_path / folder / "city.txt", "-o", tmp_path / f"{folder}.chaff")
        assert run("train", tmp_path / "names.conll", *asked).code == 0
    assert (tmp_path / "here.chaff").read_bytes() == (tmp_path / "there.chaff").read_bytes()
    assert str(tmp_path).encode() not in (tmp_path / "here.chaff").read_bytes()
    assert modelfile.read(tmp_path / "here.chaff").header.settings["gazetteers"] == "city.txt"
    shutil.rmtree(tmp_path / "here")
    assert load(tmp_path / "here.chaff").predict([["Rome"]])
