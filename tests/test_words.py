import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_ngrams as naive
from chaffinch.errors import ConfigError, DataError
from chaffinch.text.cleaning import cleaned, without_mail_marks, without_markdown
from chaffinch.text.words import SPACE, WORD, _stem, stems, word_rule, word_tokens


def test_every_code_point_is_the_kind_that_python_says():
    kinds = word_rule("words").kinds(["é"])
    points = [chr(code) for code in range(sys.maxunicode + 1)]
    assert np.array_equal(kinds == WORD, [c.isalnum() or c == "_" for c in points])
    assert np.array_equal(kinds == SPACE, [c.isspace() for c in points])
    assert np.array_equal(word_rule("words").kinds(["e"]), kinds[:128])


@given(st.text(), st.sampled_from(sorted(naive.RULES)))
def test_tokens_stand_where_they_say(text, rule):
    tokens = word_tokens(text, rule)
    found = [(m.group(), m.start(), m.end()) for m in re.finditer(naive.RULES[rule], text)]
    assert [(t.text, t.start, t.end) for t in tokens] == found


@given(st.text(st.sampled_from("aAİΣ ßé!")), st.sampled_from(sorted(naive.RULES)))
def test_lower_cased_tokens_are_those_of_the_lower_cased_text_at_the_places_of_the_text_given(text, rule):
    tokens = word_tokens(text, rule, lower=True)
    assert [t.text for t in tokens] == naive.words(text, rule)
    for token in tokens:
        assert token.text in text[token.start : token.end].lower() or "Σ" in text


def test_unknown_rules_and_lone_surrogates_are_refused():
    with pytest.raises(
        ConfigError, match="unknown word rule 'x'; there are words, long-words, marks, spaces"
    ):
        word_tokens("a", "x")
    with pytest.raises(DataError, match="document 1, character 2: a lone surrogate"):
        word_tokens("a\ud800")


MAIL = """From: Ann <ann@x.org>
Subject: Re: tea
Lines: 12
X-Mailer: none
 of this

In article <1@y.org> bob@y.org (Bob) writes:
> Green tea?
>> Black!
Both.
-----------
--
Ann, x.org
"""


def test_mail_keeps_what_was_written_for_readers():
    assert without_mail_marks(MAIL).split() == ["Ann", "Re:", "tea", "Green", "tea?", "Black!", "Both."]


def test_a_body_without_headers_loses_no_line_that_looks_like_one():
    assert without_mail_marks("Hello\nLines: 12\n\nx").split() == ["Hello", "Lines:", "12", "x"]


def test_markdown_keeps_what_was_written_for_readers():
    text = (
        '# Tea\n\n- *Green* and __black__, see [the list](http://x.org "t") ![cup](c.png)\n```py\ncode\n```'
    )
    text += "\n<b>hot</b>"
    assert without_markdown(text).split() == [
        "Tea", "Green", "and", "black,", "see", "the", "list", "cup", "code", "hot",
    ]  # fmt: skip


def test_words_with_underscores_and_products_keep_their_signs():
    assert without_markdown("snake_case_name 2*3*4") == "snake_case_name 2*3*4"


@given(st.text(st.sampled_from("ab >*_[]()<:\n-#`")), st.sampled_from(["none", "mail", "markdown", "all"]))
def test_cleaning_invents_no_letters(text, kind):
    result = cleaned(text, kind)
    assert "".join(re.findall("[ab]", result)) in _subsequences(text) or kind == "none"
    if kind == "none":
        assert result == text


class _subsequences:
    def __init__(self, text):
        self.text = text

    def __contains__(self, letters):
        rest = iter(self.text)
        return all(c in rest for c in letters)


def test_a_signature_is_found_in_a_time_that_grows_with_the_text_alone():
    body = "-- \n" + "a line of some length, as mail has them\n" * 20_000
    began = time.process_time()
    assert cleaned(body, "mail").count("length") == 20_000  # no signature: more than twelve lines follow
    assert time.process_time() - began < 5.0
    assert cleaned("tea?\n-- \nAda\nLovelace\n", "mail").split() == ["tea?"]


def test_the_stems_of_a_large_vocabulary_are_found_once():
    words = [f"w{n}" for n in range(33_000)]
    first = stems(words, "stem")
    missed = _stem.cache_info().misses
    assert stems(words, "stem") == first
    assert _stem.cache_info().misses == missed


def test_threads_stem_different_words_at_once():
    words = [f"{a}{b}ingly" for a in "bcdfgh" for b in ("happ", "walk", "sing", "tear")]
    expected = stems(words, "stem")
    _stem.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: stems(words, "stem"), range(32))) == [expected] * 32
