"""Document scores against scikit-learn."""

import random

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_recall_fscore_support

from chaffinch.errors import DataError
from chaffinch.evaluate import LabelPair, score_documents


def test_scores_equal_scikit_learn_on_random_labels():
    rng = random.Random(1)
    for _ in range(60):
        labels = [f"label {i}" for i in range(rng.choice([2, 5, 30]))]
        gold = [*labels[:2], *(rng.choice(labels) for _ in range(rng.randrange(60)))]
        predicted = [g if rng.random() < 0.6 else rng.choice([*labels, "other"]) for g in gold]
        ours = score_documents(gold, predicted)
        assert ours.accuracy == accuracy_score(gold, predicted)
        assert ours.macro_f1 == f1_score(gold, predicted, average="macro", zero_division=0)
        assert ours.weighted_f1 == pytest.approx(
            f1_score(gold, predicted, average="weighted", zero_division=0), rel=1e-14
        )
        each = precision_recall_fscore_support(gold, predicted, average=None, zero_division=0)
        rows = [(r.precision, r.recall, r.f1, r.gold) for r in ours.labels.values()]
        assert rows == list(zip(*(x.tolist() for x in each), strict=True))
        assert np.array_equal(ours.confusion, confusion_matrix(gold, predicted, labels=list(ours.labels)))


def test_counts_of_the_documents_add_up_to_the_scores():
    rng = random.Random(2)
    gold = [rng.choice("abc") for _ in range(50)]
    predicted = [rng.choice("abd") for _ in range(50)]
    pair = LabelPair.from_lists(gold, predicted)
    known = score_documents(gold, predicted).as_dict()
    tally = pair.tally()
    for key, value in tally.score(tally.sums()).items():
        assert known[key] == pytest.approx(value, abs=1e-15), key


def test_lists_of_different_length_are_refused():
    with pytest.raises(DataError, match="gold has 1 documents, the prediction has 2"):
        score_documents(["a"], ["a", "b"])
