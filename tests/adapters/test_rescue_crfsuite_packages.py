"""Models that others ship or hold in memory: usaddress, probablepeople, sklearn-crfsuite."""

from pathlib import Path
from typing import Any

import probablepeople
import pycrfsuite
import pytest
import sklearn_crfsuite
import usaddress

import chaffinch
from chaffinch import samples
from chaffinch.errors import ConfigError, DataWarning
from chaffinch.rescue import verify

STREETS = ("Main St", "N. 5th Avenue", "Old Mill Rd.", "Rue de l'Église", "US Highway 12", "Broadway")
TOWNS = ("Springfield, IL 62704", "Chicago IL", "St. Paul, MN 55101-1234", "Washington, D.C.", "El Paso TX")
NAMES = (
    "Mr. John Q. Smith Jr.",
    "Garcia, Maria",
    "Ann and Bob Miller",
    "Dr. Wei Chen PhD",
    "O'Neill & Sons LLC",
)
FIRMS = ("The Acme Company, Inc.", "Smith, Jones and Partners LLP", "First Bank of Ohio", "Trust of Mary Lee")


def addresses() -> list[str]:
    made = []
    for n, street in enumerate(STREETS):
        for k, town in enumerate(TOWNS):
            made += [
                f"{17 * n + 3 * k} {street}, {town}",
                f"P.O. Box {n}{k} {town}",
                f"Apt {k}B, {n} {street} # {k}",
            ]
    return made


def people() -> list[str]:
    return [
        *NAMES,
        *FIRMS,
        *(f"{a} c/o {b}" for a in NAMES for b in FIRMS),
        *(f"{b} / {a}" for a in NAMES for b in FIRMS),
    ]


def shipped(package: Any) -> list[Path]:
    return sorted(Path(package.__file__).parent.glob("*.crfsuite"))


def loaded(path: Path) -> Any:
    with pytest.warns(DataWarning, match="read a CRFsuite model"):
        return chaffinch.load(path)


CASES = [(usaddress, path, addresses) for path in shipped(usaddress)] + [
    (probablepeople, path, people) for path in shipped(probablepeople)
]


def test_there_are_four_shipped_models() -> None:
    assert len(CASES) == 4


@pytest.mark.parametrize(("package", "path", "texts"), CASES, ids=[path.stem for _, path, _ in CASES])
def test_a_shipped_model_gives_the_same_labels(package: Any, path: Path, texts: Any) -> None:
    original = pycrfsuite.Tagger()
    original.open(str(path))
    X = [package.tokens2features(package.tokenize(text)) for text in texts()]
    found = verify(loaded(path), original, X)
    assert found.texts >= 40
    assert found.identical, str(found)
    assert (found.largest or 0) < 1e-5


def test_a_crf_in_memory_gives_the_same_labels(tmp_path: Path) -> None:
    read = samples.load("ingredients", "train", n=120)
    X = [[{"w": w, "n": len(w), "up": w.isupper()} for w in d.words()] for d in read]
    crf = sklearn_crfsuite.CRF(max_iterations=15, all_possible_transitions=True)
    with pytest.raises(ConfigError, match="is not fitted"):
        chaffinch.load(crf)
    crf.fit(X, [d.columns["y"] for d in read])
    tagger = chaffinch.load(crf)
    found = verify(tagger, crf, X)
    assert found.identical, str(found)
    assert (found.largest or 0) < 1e-5
    tagger.save(tmp_path / "m.chaff")
    assert chaffinch.load(tmp_path / "m.chaff").predict(X) == tagger.predict(X)
