"""Regular expressions of feature files: they find what `re` finds, and no expression can hang its reader."""

import re
import time
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch import ConfigError, Tagger
from chaffinch.features.templates import FeatureSet, Pattern, parse_all
from chaffinch.text.columns import pattern_column
from chaffinch.text.linear_patterns import MOST_STATES, LinearPattern

CHARACTERS = (
    r"a b c [ab] [^a] . \w \W \d \s A é 1 _ \. (?i:a) (?s:.) [b-é] (?i:[À-É]) ß (?a:\w) ſ (?i:s)".split()
)
ASSERTIONS = r"^ $ \b \B \A \Z (?m:^) (?m:$) (?a:\b)".split()
REPEATS = "* + ? *? +? ?? {2} {1,2} {0,2}? {1,} {2,} {2,}? {0}".split()
TEXTS = st.text(alphabet="aabbc1 \néÉA_ſsß.", max_size=9)


def _pieces(repeat_all: bool) -> st.SearchStrategy[tuple[str, bool]]:
    """Expressions, each with whether it can match nothing; repeats of those only if `repeat_all`."""
    one = st.sampled_from(CHARACTERS).map(lambda c: (c, False))
    none = st.sampled_from(ASSERTIONS).map(lambda c: (c, True))

    def larger(inner: st.SearchStrategy[tuple[str, bool]]) -> st.SearchStrategy[tuple[str, bool]]:
        def repeated(pair: tuple[tuple[str, bool], str]) -> tuple[str, bool]:
            (piece, empty), times = pair
            if empty and not repeat_all:
                times = "?"
            return f"(?:{piece}){times}", empty or times[0] in "*?" or times.startswith("{0")

        joined = st.lists(inner, min_size=2, max_size=3)
        return (
            joined.map(lambda ps: ("".join(p for p, _ in ps), all(e for _, e in ps)))
            | joined.map(lambda ps: (f"({'|'.join(p for p, _ in ps)})", any(e for _, e in ps)))
            | st.tuples(inner, st.sampled_from(REPEATS)).map(repeated)
        )

    return st.recursive(one | one | none, larger, max_leaves=8)


FLAGS = st.sampled_from(["", "", "(?i)", "(?m)", "(?a)", "(?s)", "(?im)"])


@settings(max_examples=400, deadline=None)
@given(FLAGS, _pieces(repeat_all=False), st.lists(TEXTS, min_size=1, max_size=8))
def test_the_text_found_is_that_of_re(flags, piece, texts):
    expected, linear = re.compile(flags + piece[0]), LinearPattern(flags + piece[0])
    for text in texts:
        found = expected.search(text)
        assert linear.search(text) == (None if found is None else found.group())
        assert linear.test(text) == (found is not None)


@settings(max_examples=400, deadline=None)
@given(FLAGS, _pieces(repeat_all=True), st.lists(TEXTS, min_size=1, max_size=8))
def test_whether_something_is_found_is_what_re_says(flags, piece, texts):
    expected, linear = re.compile(flags + piece[0]), LinearPattern(flags + piece[0])
    assert [linear.test(text) for text in texts] == [expected.search(text) is not None for text in texts]


@pytest.mark.parametrize(
    ("regex", "text"),
    [
        ("a|ab", "ab"),
        ("(a|ab)(c|bcd)", "abcd"),
        ("a+?", "aaa"),
        ("(a+?)(b*)", "aab"),
        ("(|a)+", "aa"),
        ("(a*)*", "b"),
        (r"[+-]?\d+([.,]\d+)*", "at -1,000.5!"),
        ("(?x) a  b # c", "xab"),
        ("^$", ""),
        (r"\B", ""),
        (r"\Bb", "ab"),
        ("a$", "a\n"),
        (r"a\Z", "a\n"),
    ],
)
def test_known_cases_are_those_of_re(regex, text):
    found = re.search(regex, text)
    assert LinearPattern(regex).search(text) == (None if found is None else found.group())


@pytest.mark.parametrize("regex", [r"^(\w|\w\w)+!$", r"(a*)*!", r"(a|a)*!", r"(a?){30}a{30}!", r"(\w+\w+)+!"])
def test_time_is_linear_in_the_word(regex):
    word = "a" * 20_000
    pattern, began = LinearPattern(regex), time.process_time()
    assert not pattern.test(word)
    assert pattern.search(word) is None
    assert pattern.test(word + "!")
    assert time.process_time() - began < 10  # `re` would need longer than the world is old


def test_few_states_are_kept_whatever_is_read():
    pattern, text = LinearPattern("(a|b)*a(a|b){14}c"), "".join("ab"[(n * n // 7) % 2] for n in range(20_000))
    assert not pattern.test(text)
    assert len(pattern._backward._states) <= MOST_STATES + 1
    assert len(pattern._forward._states) <= MOST_STATES + 1
    assert pattern.test(text + "a" + "b" * 14 + "c")


@pytest.mark.parametrize(
    ("regex", "why"),
    [
        (r"(a)\1", "references to groups"),
        (r"(?=a)b", "look-around"),
        (r"(?<!a)b", "look-around"),
        (r"(?>a+)b", "atomic groups"),
        (r"a++b", "possessive repeats"),
        ("(a{1000}){1000}", "steps after its repeats are expanded"),
    ],
)
def test_what_cannot_be_matched_in_linear_time_is_refused_by_name(regex, why):
    with pytest.raises(ConfigError, match=f"pattern p: .* is refused: .*{why}"):
        pattern_column(regex, "hit", False, "p")


def test_a_tagger_with_a_pattern_that_hangs_re_tags_long_words():
    features = FeatureSet(parse_all(["w", "bang"]), patterns={"bang": Pattern(r"^(\w|\w\w)+!$")})
    tagger = Tagger("perceptron", features=features).fit([["a", "bb!"]] * 3, [["x", "y"]] * 3)
    began = time.process_time()
    assert tagger.predict([["a" * 5000, "c" * 5000 + "!"]]) == [["x", "y"]]
    assert time.process_time() - began < 10


def test_no_warning_comes_from_a_sound_expression():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearPattern("[a-z]+")
