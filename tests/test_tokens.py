import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.text.document import Document
from chaffinch.text.tokens import tokenised, tokens


def words(text: str) -> list[str]:
    return [token.text for token in tokens(text)]


@given(st.text())
def test_tokens_are_where_they_say_and_cover_all_but_white_space(text: str) -> None:
    covered = set()
    for token in tokens(text):
        assert text[token.start : token.end] == token.text
        assert token.text
        assert not any(c.isspace() for c in token.text)
        assert covered.isdisjoint(range(token.start, token.end))
        covered |= set(range(token.start, token.end))
    assert covered == {i for i, c in enumerate(text) if not c.isspace()}


@pytest.mark.parametrize(
    "whole",
    [
        "http://example.org/a?b=c&d=(e)f",
        "www.example.org/index.html",
        "jo.smith+news@mail.example.org",
        "@some_one",
        "#läuft2",
        "5.2",
        "1,000.50",
        "10:30",
        "1/2",
        "U.S.",
        "e.g.",
        "don't",
        "l’eau",
        "rock'n'roll",
        "well-known",
        "10g",
        "naïve",
        "e\u0301te\u0301",
        "नमस्ते",
        "...",
        "!!!",
        "👩🏽\u200d💻",
        "🇫🇷",
    ],
)
def test_what_belongs_together_stays_whole(whole: str) -> None:
    assert words(whole) == [whole]
    assert words(f"({whole}) a {whole}") == ["(", whole, ")", "a", whole]


def test_signs_are_cut_off() -> None:
    assert words('He said: "Stop, 50%!"') == ["He", "said", ":", '"', "Stop", ",", "50", "%", "!", '"']
    assert words("See http://a.org/x. (www.b.org)") == ["See", "http://a.org/x", ".", "(", "www.b.org", ")"]
    assert words("$5.20kg") == ["$", "5.20", "kg"]
    assert words("我们 go") == ["我", "们", "go"]


@pytest.mark.parametrize(
    "piece", ["1.1.", "a+a", "a.b.", "-'a", "a@", "http://.", "👩\u200d", "www.", "#", "_"]
)
def test_hostile_repetition_takes_linear_time(piece: str) -> None:
    assert sum(len(token.text) for token in tokens(piece * 20_000)) == len(piece) * 20_000


def test_tokens_that_are_there_are_kept() -> None:
    document = Document.from_words(["New York"])
    assert tokenised(document).words() == ["New York"]
    assert tokenised(Document("New York")).words() == ["New", "York"]
