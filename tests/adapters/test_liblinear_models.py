"""Models of LIBLINEAR: the answers of the package itself."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from liblinear import liblinearutil

import chaffinch
from chaffinch import Classifier, samples
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.rescue.foreign import ForeignFile
from chaffinch.rescue.liblinear import read

SOLVERS = range(8)


def rows_of(name: str, n: int) -> tuple[list[dict[int, float]], list[str]]:
    documents = samples.load(name, "train", n=n)
    found = TextVectorizer(idf=True, norm="l2").fit_transform([d.text for d in documents])
    bounds, ids, values = found.ptr.tolist(), found.ids.tolist(), found.weights().astype(float).tolist()
    rows = [dict(zip((i + 1 for i in ids[a:b]), values[a:b], strict=True)) for a, b in pairwise(bounds)]
    return rows, [d.labels[0] for d in documents]


def rescued(path: Path) -> Classifier:
    found = read(ForeignFile(str(path), path.read_bytes()))
    return Classifier.around(found.model, found.config)


@pytest.fixture(scope="module", params=["reviews", "topics"])
def data(request: pytest.FixtureRequest) -> tuple[list[dict[int, float]], list[int]]:
    rows, labels = rows_of(request.param, 400)
    names = sorted(set(labels))
    return rows, [7 - 2 * names.index(label) for label in labels]


def _is_clear(values: list[float]) -> bool:
    """Whether LIBLINEAR's two best scores differ by more than the digits of its file and of our weights."""
    if len(values) == 1:
        return abs(values[0]) > 1e-5
    second, best = sorted(values)[-2:]
    return best - second > 1e-5


@pytest.mark.parametrize("bias", [-1, 1, 2.5])
@pytest.mark.parametrize("solver", SOLVERS)
def test_labels_are_those_of_liblinear(solver: int, bias: float, data: Any, tmp_path: Path) -> None:
    rows, y = data
    model = liblinearutil.train(y[:200], rows[:200], f"-s {solver} -B {bias} -q")
    path = tmp_path / "a.model"
    liblinearutil.save_model(str(path), model)
    made = rescued(path)
    asked = [*rows, {}, {10**6: 1.0}]
    logistic = solver in (0, 6, 7)
    labels, _, values = liblinearutil.predict([], asked, model, "-b 1 -q" if logistic else "-q")
    clear = np.array([_is_clear(one) for one in values])
    assert clear.mean() > 0.9
    assert made.predict(asked)[clear].tolist() == np.array(labels, int)[clear].tolist()
    order = [model.get_labels().index(label) for label in made.classes_.tolist()]
    if logistic:
        assert np.allclose(made.predict_proba(asked), np.array(values)[:, order], atol=1e-6)
    else:
        found = made.decision_function(asked)
        theirs = np.array(values)
        assert np.allclose(found, theirs[:, 0] if found.ndim == 1 else theirs[:, order], atol=1e-5)
    made.save(tmp_path / "m.chaff")
    assert chaffinch.load(tmp_path / "m.chaff").predict(asked).tolist() == made.predict(asked).tolist()


def test_rows_may_be_text_as_in_its_data_files(data: Any, tmp_path: Path) -> None:
    rows, y = data
    path = tmp_path / "a.model"
    liblinearutil.save_model(str(path), liblinearutil.train(y, rows, "-s 0 -q"))
    made = rescued(path)
    as_text = [" ".join(f"{i}:{v!r}" for i, v in row.items()) for row in rows[:50]]
    assert made.predict(as_text).tolist() == made.predict(rows[:50]).tolist()
    assert made.explain(as_text[0]).decisions[0].contributions


@pytest.mark.parametrize("solver", [11, 12, 13, 21])
def test_other_tasks_are_refused_by_name(solver: int, tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    liblinearutil.save_model(
        str(path), liblinearutil.train([1, 2, 3], [{1: 1}, {2: 1}, {1: 2}], f"-s {solver} -q")
    )
    with pytest.raises(chaffinch.errors.ModelFileError, match="only classifiers are read"):
        rescued(path)
