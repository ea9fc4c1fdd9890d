"""The quick way to the bounds of tokens gives what the tokeniser gives."""

from hypothesis import given
from hypothesis import strategies as st

from chaffinch.text.tokens import token_bounds, tokens

SIGNS = "ab1 \t\n.,:/-'’@#_()…!?é\u0301\u200d\u200c\x1c\x85\u2028\u3000漢字👩🇩🇪"
PIECES = [
    "http://a.org/x.",
    "www.b.de",
    "someone@example.org",
    "U.S.",
    "5.2",
    "1/2",
    "don't",
    "...",
    "@bob",
    "10g",
]


@given(st.one_of(st.text(), st.text(alphabet=SIGNS), st.lists(st.sampled_from(PIECES)).map(" ".join)))
def test_bounds_are_those_of_the_tokens(text: str) -> None:
    assert token_bounds(text) == [(token.start, token.end) for token in tokens(text)]


def test_long_strings_without_space_are_cut_too() -> None:
    text = "a-b" * 50 + ", " + "漢" * 60
    assert token_bounds(text) == [(token.start, token.end) for token in tokens(text)]
