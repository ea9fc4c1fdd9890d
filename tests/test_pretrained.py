"""Folders in the form of Hugging Face: a model, its description and its card, without network or further packages."""

import json
from pathlib import Path

import numpy as np
import pytest

from chaffinch import Classifier, ConfigError, DataError, Parser, Tagger, load, samples
from recipe_models import models

X = [["Ann", "left", "Rome"], ["Bob", "saw", "Oslo"]] * 20
Y = [["B-PER", "O", "B-LOC"]] * 40
TEXTS, LABELS = ["good tea", "bad tea", "fine cake", "poor cake"] * 10, ["+", "-", "+", "-"] * 10


def front_matter(card: str) -> dict[str, object]:
    """The YAML at the head of a card, which is of strings and lists of strings."""
    found: dict[str, object] = {}
    key = ""
    for line in card.split("---\n")[1].splitlines():
        if line.startswith("- "):
            listed = found.setdefault(key, [])
            assert isinstance(listed, list)
            listed.append(line[2:])
        else:
            key, _, value = line.partition(":")
            if value:
                found[key] = value.strip()
    return found


# The file of a reranker does not hold the function that makes its features, so it has no folder.
@pytest.mark.parametrize("name", [name for name in models() if not name.startswith("reranker")])
def test_every_estimator_goes_through_a_folder(name: str, tmp_path: Path) -> None:
    train, use = models()[name]
    estimator = train()
    estimator.save_pretrained(tmp_path / "folder")
    again = type(estimator).from_pretrained(tmp_path / "folder")
    assert str(use(again)) == str(use(estimator))
    assert sorted(p.name for p in (tmp_path / "folder").iterdir()) == [
        "README.md",
        "config.json",
        "model.chaff",
    ]
    assert (tmp_path / "folder" / "README.md").read_text("utf-8").startswith("---\nlibrary_name: chaffinch\n")


def test_the_card_of_a_tagger_says_what_the_model_knows(tmp_path: Path) -> None:
    tagger = Tagger("crf", folds=3).fit(X, Y)
    tagger.save_pretrained(tmp_path / "names")
    card = (tmp_path / "names" / "README.md").read_text("utf-8")
    assert front_matter(card) == {
        "library_name": "chaffinch",
        "pipeline_tag": "token-classification",
        "tags": ["chaffinch", "crf"],
    }
    for said in (
        "# names",
        "| training data | 40 sentences, 120 tokens |",
        f"`{tagger.fingerprint_}`",
        "`B-LOC`, `B-PER`, `O`",
        "`w[0]`",
        f"| Brier score | {tagger.confidence_.brier:.4f} |",
        'Tagger.from_pretrained("names")',
    ):
        assert said in card, said
    assert "## Scores" not in card
    assert json.loads((tmp_path / "names" / "config.json").read_text("utf-8")) == {
        "library_name": "chaffinch",
        "chaffinch_version": __import__("chaffinch").__version__,
        "estimator": "Tagger",
        "recipe": "crf",
        "labels": ["B-LOC", "B-PER", "O"],
    }


def test_the_card_of_a_classifier_has_the_scores_of_its_file(tmp_path: Path) -> None:
    classifier = Classifier("ridge").fit(TEXTS, LABELS)
    classifier.save(tmp_path / "m.chaff", scores={"dev.accuracy": 0.875})
    loaded = load(tmp_path / "m.chaff")
    assert loaded.known_scores() == {"dev.accuracy": 0.875}
    assert loaded.trained_on_ == {"documents": 40}
    loaded.save_pretrained(tmp_path / "folder")
    card = (tmp_path / "folder" / "README.md").read_text("utf-8")
    assert "| dev.accuracy | 0.8750 |" in card
    assert front_matter(card)["pipeline_tag"] == "text-classification"
    again = Classifier.from_pretrained(tmp_path / "folder")
    assert again.known_scores() == {"dev.accuracy": 0.875}
    np.testing.assert_array_equal(again.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    # Scores of an earlier training are not those of a new one.
    assert loaded.fit(TEXTS[:20], LABELS[:20]).known_scores() == {}


def test_a_kind_without_a_task_of_the_hub_has_none(tmp_path: Path) -> None:
    trees = [d.tree for d in samples.load("trees", "train", n=10)]
    Parser("pcfg").fit(trees).save_pretrained(tmp_path / "p")
    assert "pipeline_tag" not in (tmp_path / "p" / "README.md").read_text("utf-8")


def test_other_folders_and_kinds_are_refused(tmp_path: Path) -> None:
    Tagger("hmm").fit(X, Y).save_pretrained(tmp_path / "t")
    with pytest.raises(ConfigError, match="holds a Tagger, expected a Classifier"):
        Classifier.from_pretrained(tmp_path / "t")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"expected a folder with a file model.chaff"):
        Tagger.from_pretrained(tmp_path / "empty")
    with pytest.raises(DataError, match="is a file, expected a folder"):
        Tagger("hmm").fit(X, Y).save_pretrained(tmp_path / "t" / "README.md")
    with pytest.raises(ConfigError, match="not trained"):
        Tagger("hmm").save_pretrained(tmp_path / "u")
    assert not (tmp_path / "u").exists()
