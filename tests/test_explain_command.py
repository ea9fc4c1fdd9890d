"""chaffinch explain on sentences and documents, and explanations as text, as a page and as plain values."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from chaffinch import Classifier, Tagger, samples
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.model.chain_evidence import ChainExample, ChainScores, chain_terms, summing
from chaffinch.model.evidence import Question, Seen
from chaffinch.model.labels import LabelSet
from chaffinch.structures import Chain, Parts
from chaffinch.text.table import TokenTable
from chaffinch.trust.explain import Evidence, explain
from chaffinch.trust.explanation import explanation_page
from chaffinch.trust.word_evidence import TextPieces, text_evidence, token_evidence
from commandline import Runner, run  # noqa: F401


@pytest.fixture(scope="module")
def tagger():
    table = TokenTable.from_documents(samples.load("ingredients", "train")[:200])
    words = TokenTable(table.ptr, {name: table.columns[name] for name in ("w", "y")})
    return Tagger("crf").fit(words)


@pytest.fixture(scope="module")
def classifier():
    X = ["good tea", "fine tea", "lovely cake", "bad tea", "awful cake", "poor tea"] * 2
    return Classifier().fit(X, ["good", "good", "good", "bad", "bad", "bad"] * 2)


@pytest.fixture
def models(tmp_path, tagger, classifier):
    tagger.save(tmp_path / "tagger.chaff")
    classifier.save(tmp_path / "stars.chaff")
    return tmp_path / "tagger.chaff", tmp_path / "stars.chaff"


# -- the command ----------------------------------------------------------------------------------------------------


def test_a_sentence_is_explained_token_by_token(models, run):  # noqa: F811
    shown = run("explain", models[0], "2 cups chopped onions")
    assert shown.code == 0
    assert shown.out.startswith("crf: 2/QTY cups/UNIT")
    assert [f"\n{n} {w}: " in shown.out for n, w in enumerate("2 cups chopped onions".split(), 1)] == [
        True
    ] * 4


def test_one_token_against_one_label(models, run):  # noqa: F811
    shown = run("explain", models[0], "2 cups chopped onions", "--token", 2, "--against", "NAME", "--top", 2)
    assert shown.code == 0
    assert "2 cups: UNIT, not NAME: +" in shown.out
    assert "1 2:" not in shown.out
    assert re.search(r"^  +[+-]\d+\.\d{3}  \d+ others", shown.out, re.M)
    lines = [line for line in shown.out.splitlines() if re.match(r" +[+-]\d", line)]
    assert len(lines) == 3


def test_the_same_from_a_file_from_standard_input_and_as_typed(models, run, tmp_path):  # noqa: F811
    typed = run("explain", models[1], "awful tea")
    file = tmp_path / "new.csv"
    file.write_text("text\ngood cake\nawful tea\n")
    assert run("explain", models[1], file, "--number", 2).out == typed.out
    assert run("explain", models[1], "-", stdin=b"awful tea\n").out == typed.out
    assert run("explain", models[1], stdin=b"awful tea\n").out == typed.out
    both = run("explain", models[1], file).out
    assert typed.out in both
    assert "good, not bad" in both


def test_columns_of_a_file_reach_a_tagger_that_reads_them(run, tmp_path):  # noqa: F811
    table = TokenTable.from_documents(samples.load("ingredients", "train")[:100])
    words = TokenTable(table.ptr, {name: table.columns[name] for name in ("w", "y")})
    Tagger("hmm").fit(words).save(tmp_path / "hmm.chaff")
    Tagger("perceptron").fit(table).save(tmp_path / "both.chaff")
    file = tmp_path / "new.conll"
    file.write_text("2\tCD\ncups\tNNS\nrice\tNN\n\n3\tCD\neggs\tNNS\n\n")
    assert "1 3:" in run("explain", tmp_path / "both.chaff", file, "--number", 2).out
    assert run("explain", tmp_path / "hmm.chaff", "2 cups rice").code == 0
    refused = run("explain", tmp_path / "both.chaff", "2 cups rice")
    assert refused.code == 2
    assert "a text has only words: give a file of columns" in refused.err


def test_json_holds_every_contribution_and_they_add_up(models, run):  # noqa: F811
    found = json.loads(run("explain", models[1], "good tea", "--json").out)
    (decision,) = found["explanations"][0]["decisions"]
    sums = sum(c["difference"] for c in decision["contributions"])
    assert sums == pytest.approx(decision["margin"], abs=1e-5)
    assert decision["without"]["answer"] == decision["rival"] == "bad"
    few = json.loads(run("explain", models[1], "good tea", "--json", "--top", 1).out)
    shown = few["explanations"][0]["decisions"][0]["contributions"]
    assert [c["kind"] for c in shown] == ["feature", "rest"]
    assert sum(c["difference"] for c in shown) == pytest.approx(decision["margin"], abs=1e-5)


def test_a_page_needs_nothing_but_itself(models, run, tmp_path):  # noqa: F811
    page = tmp_path / "why.html"
    assert run("explain", models[0], "2 cups <i>rice</i>", "--html", page).code == 0
    text = page.read_text("utf-8")
    assert text.count("<svg") >= 3
    assert "&lt;" in text
    assert "<i>" not in text
    assert not re.search(r'(src|href)="(?!#)', text)
    assert "<script" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tagger", "no-such-file.conll"], "no-such-file.conll"),
        (["tagger", "folder/no-such-file"], "no-such-file"),
        (["tagger", "  "], "expected a text to explain"),
        (["tagger", "one word", "--token", 7], "there is no token 7: the sentence has 2 tokens"),
        (["tagger", "one word", "--against", "X"], "the model has no label 'X'; it has"),
        (["tagger", "one word", "--number", 3], "there is no number 3; the input has 1"),
        (["tagger", "one word", "--text", "body"], "--text does not apply to sentences"),
        (["tagger", "one word", "--base", "x"], "--base does not apply to sentences"),
        (["tagger", "one word", "--kbest", 5], "--kbest does not apply to sentences"),
        (["stars", "awful tea", "--token", 1], "--token does not apply to documents"),
        (["stars", "awful tea", "--against", "bad"], "the answer is bad: name another label"),
    ],
)
def test_what_cannot_be_explained_is_one_sentence_and_exit_code_2(models, run, arguments, message):  # noqa: F811
    model, *rest = arguments
    outcome = run("explain", models[0].parent / f"{model}.chaff", *rest)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.startswith("chaffinch: ")
    assert outcome.err.count("\n") == 1


def test_a_text_may_be_longer_than_a_name_of_a_file_and_have_lines(models, run):  # noqa: F811
    assert run("explain", models[1], "awful tea " * 600).code == 0
    assert run("explain", models[1], "awful\ntea").code == 0


def test_nothing_is_written_where_the_page_fails(models, run, tmp_path):  # noqa: F811
    page = tmp_path / "why.html"
    assert run("explain", models[0], "one word", "--token", 9, "--html", page).code == 2
    assert not page.exists()


def test_contributions_are_summed_by_word_or_by_kind_of_feature(models, run):  # noqa: F811
    by_kind = run(
        "explain", models[0], "2 cups chopped onions", "--token", 2, "--group", "kind", "--top", 99
    ).out
    assert "  suffix2[0]" in by_kind
    assert "  labels" in by_kind
    by_word = run("explain", models[0], "2 cups chopped onions", "--token", 2, "--group", "word").out
    assert "  cups" in by_word
    assert "others" not in by_word
    assert "  awful" in run("explain", models[1], "awful, awful tea", "--group", "word").out
    assert "  words" in run("explain", models[1], "awful tea", "--group", "kind").out
    refused = run("explain", models[1], "awful tea", "--group", "x")
    assert (refused.code, "grouped by word or kind, not by 'x'" in refused.err) == (2, True)


# -- explanations ---------------------------------------------------------------------------------------------------


def test_notebooks_and_pages_show_the_words_and_the_bars(tagger, classifier):
    for explanation in (tagger.explain(["2", "cups"]), classifier.explain("awful tea")):
        assert "<iframe" in explanation._repr_html_()
        page = explanation_page([explanation], "a title", 3).render()
        assert "<svg" in page
        assert "color-mix" in page
        assert str(explanation) == explanation.text()


def test_words_get_the_evidence_of_the_features_that_see_them(tagger, classifier):
    one = tagger.explain(["2", "cups", "rice"], token=1).decisions[0]
    by_word = token_evidence(one, 3)
    assert sum(by_word) == pytest.approx(one.margin, abs=1e-6)
    assert all(by_word)
    one = classifier.explain("Awful, awful tea!").decisions[0]
    pieces = TextPieces("Awful, awful tea!")
    evidence = dict(zip(pieces.spans, text_evidence(one, pieces), strict=True))
    assert evidence[0, 5] == pytest.approx(evidence[7, 12])
    assert evidence[0, 5] > abs(evidence[13, 16])


@pytest.mark.parametrize("by", ["word", "kind"])
def test_groups_of_contributions_add_up_to_the_same_scores(tagger, classifier, by):
    for whole in (tagger.explain("2 cups chopped onions".split()), classifier.explain("Awful, awful tea!")):
        for one, summed in zip(whole.decisions, whole.grouped(by).decisions, strict=True):
            assert len({(c.name, c.kind, c.place) for c in summed.contributions}) == len(summed.contributions)
            for side in ("weight", "rival"):
                sums = [sum(c.value * getattr(c, side) for c in e.contributions) for e in (one, summed)]
                assert sums[0] == pytest.approx(sums[1], abs=1e-9)
            assert summed.without == one.without


def test_features_of_a_sentence_are_summed_by_the_tokens_that_they_see(tagger):
    whole = tagger.explain(["2", "cups", "rice"], token=1)
    (one,), (summed,) = whole.decisions, whole.grouped("word").decisions
    features = Evidence("", "", 0.0, tuple(c for c in one.contributions if c.kind == "feature"))
    found = {c.place: c.difference for c in summed.contributions if c.kind == "feature"}
    assert found == pytest.approx(dict(enumerate(token_evidence(features, 3))))


def test_numbers_beside_a_text_colour_no_word_that_is_called_alike():
    classifier = Classifier("ridge").fit(["tea", "cake"] * 4, ["+", "-"] * 4, beside={"tea": [1.0, 0.0] * 4})
    (one,) = classifier.explain("tea", beside={"tea": [1.0]}).decisions
    seen = [c for c in one.contributions if c.name == "tea"]
    assert [c.seen.grams is None for c in seen] == [False, True]
    assert text_evidence(one, TextPieces("tea")) == pytest.approx([seen[0].difference])


def test_labels_with_spaces_are_labels_like_others():
    tagger = Tagger("perceptron").fit(
        [["a", "b"], ["b", "a"]] * 3, [["a noun", "a verb"], ["a verb", "a noun"]] * 3
    )
    assert "a: a noun, not a verb" in tagger.explain(["a", "b"]).text()


def test_words_that_look_like_features_colour_their_own_token():
    """What a word is called says nothing about where it stands."""
    words = ["a|w[2]=b", "c", "d"]
    tagger = Tagger("perceptron", features=["w[0]"]).fit(
        [words, words[::-1]] * 3, [["X", "Y", "Y"], ["Y", "Y", "X"]] * 3
    )
    one = tagger.explain(words, token=0).decisions[0]
    assert "w[0]=a|w[2]=b" in {c.name for c in one.contributions}
    by_word = token_evidence(one, 3)
    assert by_word[0] != 0
    assert by_word[2] == 0


def test_hashed_names_are_found_on_the_command_line(run, tmp_path):  # noqa: F811
    X = ["good tea", "fine tea", "bad tea", "poor tea"] * 3
    hashed = Classifier("svm", features=TextVectorizer(hash_bits=12)).fit(X, ["+", "+", "-", "-"] * 3)
    hashed.save(tmp_path / "hashed.chaff")
    shown = run("explain", tmp_path / "hashed.chaff", "bad tea").out
    assert "  bad" in shown
    assert "#" not in shown


# -- against enumeration --------------------------------------------------------------------------------------------


@st.composite
def chains(draw):
    """A sentence of a chain with weights that are multiples of 1/8, two inner labels that look alike from outside."""
    T, Y = draw(st.integers(1, 4)), draw(st.integers(2, 3))
    order = draw(st.sampled_from([1, 2]))
    numbers = st.integers(-24, 24).map(lambda n: n / 8)

    def array(*shape):
        return np.array(
            draw(st.lists(numbers, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        ).reshape(shape)

    weights = [array(draw(st.integers(0, 3)), Y) for _ in range(T)]
    blocks = {"start": array(Y), "end": array(Y), "pair": array(Y, Y)}
    if order == 2:
        blocks |= {"triple": array(Y, Y, Y), "first": array(Y, Y), "last": array(Y, Y)}
    names, sums = tuple("ABC"[:Y]), summing(weights)
    outer_of = np.array([0, 1, 1][:Y] if draw(st.booleans()) else range(Y), np.int32)
    labels = LabelSet(tuple("XYZ"[: outer_of.max() + 1]), names, outer_of)
    scores = ChainScores(
        Chain(Y, order=order),
        weights,
        lambda t, places: [(f"f{t}.{k}", Seen()) for k in places.tolist()],
        lambda without, tokens: Parts(unary=sums(without, tokens), **blocks),
        chain_terms(names, blocks, T),
    )
    words = [f"w{t}" for t in range(T)]
    return scores, labels, words


@settings(max_examples=80)
@given(chains())
def test_evidence_of_a_chain_agrees_with_the_enumeration_of_all_labellings(drawn):
    x, labels, words = drawn
    every = slice(0, len(words))
    potentials = x.scored({}, every)
    outer_of = labels.outer_of
    scored = [
        (potentials.dot(x.chain.parts(potentials.shape, y)), tuple(outer_of[y].tolist()))
        for y in brute.labelings(x.chain, potentials)
    ]
    best = max(score for score, _ in scored)
    decided = outer_of[x.chain.argmax(potentials)]
    example = ChainExample(x, labels, words, decided)
    for t, one in enumerate(explain(example, Question())):
        assert one.score == pytest.approx(best)
        rivals = [(score, y) for score, y in scored if y[t] != decided[t]]
        top = max(score for score, _ in rivals)
        assert one.rival_score == pytest.approx(top)
        assert one.rival in {labels.outer[y[t]] for score, y in rivals if score == top}
        assert one.shared + sum(c.weight for c in one.contributions) == pytest.approx(one.score)
        assert one.shared + sum(c.rival for c in one.contributions) == pytest.approx(one.rival_score)
        if one.without is not None:
            gone = {}
            for c in one.without.features:
                u, k = (int(n) for n in c.name[1:].split("."))
                assert u == c.place
                gone.setdefault(u, []).append(k)
            without = {u: np.array(rows) for u, rows in gone.items()}
            now = outer_of[x.chain.argmax(x.scored(without, every))][t]
            assert labels.outer[now] == one.without.answer != one.answer
