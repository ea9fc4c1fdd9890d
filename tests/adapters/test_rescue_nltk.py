"""Taggers of NLTK: the same tags as NLTK gives, from its JSON files and from the object."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nltk.tag.perceptron import PerceptronTagger

import chaffinch
from chaffinch import samples
from chaffinch.errors import ConfigError, DataWarning, ModelFileError


def sentences(split: str, n: int) -> list[list[tuple[str, str]]]:
    read = samples.load("ingredients", split, n=n)
    return [list(zip(d.words(), d.columns["y"], strict=True)) for d in read]


@pytest.fixture(scope="module")
def original() -> Any:
    random.seed(0)
    tagger = PerceptronTagger(load=False)
    rare = [[("x-ray", "NN"), ("1984", "CD"), ("3rd", "JJ"), ("-", "SYM"), ("Österreich", "NE")]] * 3
    tagger.train(sentences("train", 300) + rare, nr_iter=3)
    return tagger


@pytest.fixture(scope="module")
def folder(original: Any, tmp_path_factory: Any) -> Path:
    made: Path = tmp_path_factory.mktemp("nltk")
    for part, content in zip(("weights", "tagdict", "classes"), original.encode_json_obj(), strict=True):
        (made / f"averaged_perceptron_tagger_eng.{part}.json").write_text(json.dumps(content))
    return made


def loaded(path: Path) -> Any:
    with pytest.warns(DataWarning, match="read an NLTK perceptron tagger"):
        return chaffinch.load(path)


@pytest.fixture(scope="module")
def texts() -> list[list[str]]:
    known = [[w for w, _ in s] for s in sentences("test", 300)]
    return [*known, [], ["x-ray"], ["2001", "-", "4th", ""], ["unseen"] * 5, ["É", "-a", "b-"]]


def test_tags_are_those_of_nltk(original: Any, folder: Path, texts: list[list[str]]) -> None:
    wanted = [[tag for _, tag in original.tag(words)] for words in texts]
    assert original.tagdict  # some tokens are not searched
    assert loaded(folder).predict(texts) == wanted
    assert loaded(folder / "averaged_perceptron_tagger_eng.weights.json").predict(texts) == wanted
    assert chaffinch.load(original).predict(texts) == wanted


def test_ties_go_to_the_greatest_tag(tmp_path: Path) -> None:
    weights = {
        "bias": {"A": 0.5, "C": 0.5},
        "i word x": {"B": 0.5},
        "i-1 tag B": {"A": 0.3},
        "i suffix x": {"A": 0.1, "B": -0.1},
    }
    original = PerceptronTagger(load=False)
    original.model.weights, original.model.classes, original.tagdict = weights, {"A", "B", "C"}, {"d": "A"}
    texts = [["x", "y", "x"], ["d", "x", "d"], ["q"] * 4]
    wanted = [[tag for _, tag in original.tag(words)] for words in texts]
    assert chaffinch.load(original).predict(texts) == wanted


def test_confidence_is_the_softmax_of_the_scores(original: Any, texts: list[list[str]]) -> None:
    tagger = chaffinch.load(original)
    labels = tagger.classes_.tolist()
    for words, p in zip(texts[:40], tagger.predict_marginals(texts[:40]), strict=True):
        context = original.START + [original.normalize(w) for w in words] + original.END
        before, before2 = original.START
        for t, word in enumerate(words):
            tag = original.tagdict.get(word)
            if tag:
                assert p[t, labels.index(tag)] == 1
            else:
                scores = dict.fromkeys(labels, 0.0)
                for feature in original._get_features(t, word, context, before, before2):
                    for label, w in original.model.weights.get(feature, {}).items():
                        scores[label] += w
                e = np.exp([scores[y] - max(scores.values()) for y in labels])
                np.testing.assert_allclose(p[t], e / e.sum(), atol=1e-6)
                tag = max(labels, key=lambda y: (scores[y], y))
            before, before2 = tag, before


def test_a_saved_tagger_gives_the_same_tags(folder: Path, texts: list[list[str]], tmp_path: Path) -> None:
    tagger = loaded(folder)
    tagger.save(tmp_path / "m.chaff")
    assert chaffinch.load(tmp_path / "m.chaff").predict(texts) == tagger.predict(texts)


def test_contributions_add_up_to_the_difference_of_the_scores(folder: Path, texts: list[list[str]]) -> None:
    tagger = loaded(folder)
    shown = 0
    for words in texts[:20]:
        for decision in tagger.explain(words).decisions:
            if decision.rival is not None and decision.contributions:
                assert sum(c.difference for c in decision.contributions) == pytest.approx(
                    decision.margin, abs=1e-5
                )
                shown += 1
    assert shown > 20


@pytest.mark.parametrize(
    ("part", "content", "sentence"),
    [
        ("classes", "{}", "expected a list of tags"),
        ("classes", "[]", "expected at least one tag|expected from 1 to"),
        ("classes", '["A B"]', "expected tags without spaces"),
        ("tagdict", '{"a": 1}', "expected a tag for each word"),
        ("weights", '{"bias": {"NAME": 1e999}}', "expected a finite weight"),
        ("weights", '{"bias": 1}', "expected {feature: {tag: weight}}"),
        ("weights", '{"bias": ', "expected JSON"),
        ("weights", "[" * 100000, "expected JSON"),
    ],
)
def test_a_damaged_part_is_refused(
    part: str, content: str, sentence: str, folder: Path, tmp_path: Path
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_text(content if f".{part}." in path.name else path.read_text())
    with pytest.raises(ModelFileError, match=sentence):
        chaffinch.load(tmp_path)


def test_an_object_that_is_no_model_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"nltk\.PerceptronTagger.*got list"):
        chaffinch.load([1])
