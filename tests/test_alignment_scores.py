"""Alignment error rate against its definition."""

import random

import pytest

from chaffinch.errors import DataError
from chaffinch.evaluate import score_alignments


def test_error_rate_precision_and_recall_follow_the_definition():
    rng = random.Random(1)
    for _ in range(200):
        pairs = range(rng.randrange(1, 5))
        sure, possible, predicted = (
            [{(rng.randrange(4), rng.randrange(4)) for _ in range(rng.randrange(6))} for _ in pairs]
            for _ in range(3)
        )
        ours = score_alignments(sure, possible, predicted)
        S = {(n, *link) for n, links in enumerate(sure) for link in links}
        P = S | {(n, *link) for n, links in enumerate(possible) for link in links}
        A = {(n, *link) for n, links in enumerate(predicted) for link in links}
        if A or S:
            assert ours.aer == pytest.approx(1 - (len(A & S) + len(A & P)) / (len(A) + len(S)))
        assert ours.precision == (len(A & P) / len(A) if A else 0.0)
        assert ours.recall == (len(A & S) / len(S) if S else 0.0)


def test_the_sure_links_themselves_have_no_error():
    assert score_alignments([[(0, 0), (1, 2)]], [[(3, 3)]], [[(0, 0), (1, 2)]]).aer == 0.0


def test_lists_of_different_length_are_refused():
    with pytest.raises(DataError, match="gold has 1 sentence pairs, the prediction has 2"):
        score_alignments([[]], [[]], [[], []])
