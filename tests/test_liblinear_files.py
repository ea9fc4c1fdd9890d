"""Files of LIBLINEAR: decisions by the definition, messages, damaged files."""

import random
import tracemalloc

import numpy as np
import pytest

from chaffinch import Classifier
from chaffinch.errors import DataError, ModelFileError
from chaffinch.rescue.foreign import ForeignFile
from chaffinch.rescue.liblinear import read
from modelfile_mutations import bits_flipped, block_moved, bytes_appended, bytes_replaced, cut_short

THREE = b"""solver_type L2R_LR
nr_class 3
label 4 -1 2
nr_feature 2
bias 2
w
0.5 -1 0.25
1 2e-1 -3
0.5 0 0.125
"""
TWO = b"solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n1.5 \n-2 \n"
MUTATIONS = (bits_flipped, block_moved, bytes_appended, bytes_replaced, cut_short)


def classifier(content: bytes) -> Classifier:
    found = read(ForeignFile("a.model", content))
    return Classifier.around(found.model, found.config)


def test_scores_are_sums_of_weights_and_the_bias() -> None:
    made = classifier(THREE)
    rows = [{1: 2.0}, {1: 1.0, 2: 1.0, 3: 9.0}, {}]
    expected = np.array([[2.0, -2.0, 0.75], [2.5, -0.8, -2.5], [1.0, 0.0, 0.25]])
    assert made.classes_.tolist() == [4, -1, 2]
    assert np.allclose(made.decision_function(rows), expected)
    p = 1 / (1 + np.exp(-expected))
    assert np.allclose(made.predict_proba(rows), p / p.sum(axis=1, keepdims=True))
    assert made.predict(np.array([[2.0, 0.0], [0.0, 0.0]])).tolist() == [4, 4]


def test_two_labels_share_one_column_and_a_tie_goes_to_the_second() -> None:
    made = classifier(TWO)
    assert made.predict(["1:1", "2:1", "", "1:4 2:3"]).tolist() == [1, -1, -1, -1]


def test_rows_that_are_no_pairs_are_refused() -> None:
    made = classifier(TWO)
    for row in ("good tea", "1:x", "0:1", "1:1 1:2"):
        with pytest.raises(DataError, match="row 1: expected ind"):
            made.predict([row])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"L2R_LR\n", b"L2R_L2LOSS_SVR\n", "for regression; only classifiers are read"),
        (b"L2R_LR\n", b"ELSE\n", "a solver of LIBLINEAR"),
        (b"label 4 -1 2", b"label 4 4 2", "3 different labels"),
        (b"nr_class 3\n", b"", "a line nr_class before w"),
        (b"nr_feature 2", b"nr_feature 999999999999", "the number of features"),
        (b"nr_feature 2", b"nr_feature 40", "40 rows|41 rows"),
        (b"2e-1", b"nan", "finite weights"),
        (b"2e-1", b"1e200", "32-bit floats"),
        (b"2e-1", b"x", "weights, found"),
        (b"bias 2", b"bias inf", "the bias, a finite number"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_name(old: bytes, new: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message) as caught:
        read(ForeignFile("a.model", THREE.replace(old, new)))
    assert str(caught.value).startswith("a.model: ")


def test_damaged_files_are_refused_or_give_a_model() -> None:
    rng = random.Random(1)
    said: list[str] = []
    tracemalloc.start()
    for n in range(1500):
        content = MUTATIONS[n % len(MUTATIONS)](rng.choice((TWO, THREE)), rng)
        try:
            model = classifier(content)
        except ModelFileError as e:
            said.append(str(e))
            continue
        assert len(model.predict([{1: 1.0}])) == 1
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
    assert len(said) > 500
    assert all(one.startswith("a.model: ") and "\n" not in one for one in said)
