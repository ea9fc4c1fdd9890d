"""chaffinch predict: posterior decoding, and how likely readings and spans are."""

import json

import numpy as np
import pytest

import chaffinch
from chaffinch import Tagger
from chaffinch.recipes.crf import Crf
from commandline import Runner, run  # noqa: F401

WORDS = [["Ann", "Lee", "saw", "Bo"], ["Bo", "and", "Ann", "ran"], ["she", "saw", "Lee", "Ann"]] * 3
LABELS = [["B-PER", "I-PER", "O", "B-PER"], ["B-PER", "O", "B-PER", "O"], ["O", "O", "B-PER", "I-PER"]] * 3


@pytest.fixture
def model(tmp_path):
    Tagger(Crf(c2=1.0, margin=0.0), features=["w[-1..1]"], seed=1).fit(WORDS, LABELS).save(
        tmp_path / "m.chaff"
    )
    (tmp_path / "new").write_text("\n\n".join("\n".join(s) for s in WORDS[:3]) + "\n")
    return tmp_path


def test_posterior_gives_each_token_its_likeliest_label(run: Runner, model):  # noqa: F811
    shown = run("predict", model / "m.chaff", model / "new", "--posterior")
    assert shown.code == 0
    tagger = chaffinch.load(model / "m.chaff")
    likeliest = [tagger.classes_[p.argmax(axis=1)].tolist() for p in tagger.predict_marginals(WORDS[:3])]
    found = [[line.split()[1] for line in s.splitlines()] for s in shown.out.strip().split("\n\n")]
    assert found == likeliest


def test_readings_and_spans_come_with_the_probabilities_of_the_distribution(run: Runner, model):  # noqa: F811
    shown = run("predict", model / "m.chaff", model / "new", "--kbest", 3, "--json", "--probabilities")
    rows = [json.loads(line) for line in shown.out.splitlines()]
    for row, d in zip(rows, chaffinch.load(model / "m.chaff").distributions(WORDS[:3]), strict=True):
        best = d.kbest(3)
        assert row["predictions"] == [labels for _, labels in best]
        np.testing.assert_allclose(row["probabilities"], [p for p, _ in best], rtol=1e-5)
        assert row["entropy"] == pytest.approx(d.entropy)
        assert row["spans"]
        for span in row["spans"]:
            assert span["probability"] == pytest.approx(
                d.span_probability(span["start"], span["end"], span["label"])
            )


def test_marginals_are_those_of_the_first_reading_shown(run: Runner, model):  # noqa: F811
    shown = run("predict", model / "m.chaff", model / "new", "--kbest", 2, "--marginals")
    first = [line.split() for line in shown.out.strip().split("\n\n")[0].splitlines()]
    tagger = chaffinch.load(model / "m.chaff")
    p = tagger.predict_marginals(WORDS[:1])[0]
    place = {label: i for i, label in enumerate(tagger.classes_.tolist())}
    for t, (_, sure, label, _) in enumerate(first):
        assert float(sure) == pytest.approx(float(p[t, place[label]]), abs=1e-4)


@pytest.mark.parametrize("flags", [["--posterior", "--kbest", "2"], ["--probabilities"]])
def test_flags_that_do_not_go_together_are_refused(run: Runner, model, flags):  # noqa: F811
    assert run("predict", model / "m.chaff", model / "new", *flags).code == 2
