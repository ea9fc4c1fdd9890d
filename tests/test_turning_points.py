"""How many features have to go for another answer."""

from hypothesis import given
from hypothesis import strategies as st

from chaffinch.trust.explain import turning_point


@given(st.lists(st.sampled_from("AAAB"), max_size=40), st.floats(-5, 50))
def test_n_features_turn_the_answer_and_one_less_does_not(answers, margin):
    def answer(n):
        return "A" if n == 0 else answers[n - 1]

    found = turning_point([1.0] * len(answers), margin, "A", answer)
    if found is None:
        assert not answers or answers[-1] == "A"
    else:
        n, turned = found
        assert answer(n) == turned == "B"
        assert answer(n - 1) == "A"


def test_where_the_rival_overtakes_two_answers_are_enough():
    asked = []

    def answer(n):
        asked.append(n)
        return n >= 400

    assert turning_point([1.0] * 1000, 399.5, False, answer) == (400, True)
    assert len(asked) == 2
