"""Conditionals of a chain: probabilities of spans and entropies, for many sentences at once."""

from dataclasses import replace

import numpy as np
import pytest

from chaffinch import Tagger
from chaffinch.model.chain_conditionals import Decided, conditionals, entropies, is_markov, span_probabilities
from chaffinch.text.schemes import BIO, spans
from chaffinch.text.schemes.legality import SpanArrays
from chaffinch.text.table import TokenTable

WORDS = "a b c d e".split()
TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def tagged(n: int, seed: int, longest: int = 7) -> tuple[list[list[str]], list[list[str]]]:
    chance = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        length = int(chance.integers(1, longest + 1))
        own = []
        for t in range(length):
            tag = TAGS[int(chance.integers(5))]
            own.append(tag if tag[0] != "I" or (t and own[-1][1:] == tag[1:]) else "O")
        X.append([WORDS[int(chance.integers(5))] for _ in range(length)])
        y.append(own)
    return X, y


@pytest.fixture(scope="module", params=[0.0, 1.7], ids=["as trained", "at a temperature"])
def tagger(request: pytest.FixtureRequest) -> Tagger:
    made = Tagger("crf", features=["w[0]", "w[-1]"], folds=0, threads=1).fit(*tagged(60, 1))
    if request.param:
        made.model_ = made.model_.with_temperature(request.param)
    return made


@pytest.fixture(scope="module")
def table() -> TokenTable:
    X, _ = tagged(25, 2)
    return TokenTable.from_lists({"w": [*X, ["a"], [], ["b", "c"]]})


def test_span_probabilities_equal_those_of_each_distribution(tagger: Tagger, table: TokenTable) -> None:
    found = [spans(tags, BIO) for tags in tagger.predict(table)]
    every = [
        [*own, *(type(own[0])("X", 0, end) for end in range(1, len(words) + 1))] if own else []
        for own, words in zip(found, table.lists("w"), strict=True)
    ]
    asked = SpanArrays.of_lists(every)
    given = span_probabilities(tagger.model_, table, asked, 1)
    assert len(given) > 30
    assert given.tobytes() == span_probabilities(tagger.model_, table, asked, 2).tobytes()
    exact = [
        d.span_probability(s.start, s.end, s.label)
        for d, own in zip(tagger.distributions(table), every, strict=True)
        for s in own
    ]
    assert given.tolist() == pytest.approx(exact, abs=1e-8)
    known = Decided.of(tagger.model_, table, 1)
    assert known is not None
    assert known.ids.tolist() == tagger.model_.decode(table, 1).tolist()
    assert (tagger.model_.labels.collapsed(known.p) == tagger.model_.marginals(table, 1)).all()
    assert span_probabilities(tagger.model_, table, asked, 1, known).tolist() == pytest.approx(
        exact, abs=1e-5
    )


def test_spans_outside_their_sentence_are_refused(tagger: Tagger) -> None:
    table = TokenTable.from_lists({"w": [["a", "b"], ["c"]]})
    for wrong in ([("X", 0, 3)], [("X", 1, 1)], [("X", -1, 1)]):
        with pytest.raises(ValueError, match="must have tokens of its sentence"):
            span_probabilities(tagger.model_, table, SpanArrays.of_lists([wrong, []]), 1)
    with pytest.raises(ValueError, match="the spans of each sentence"):
        span_probabilities(tagger.model_, table, SpanArrays.of_lists([[]]), 1)
    unknown = span_probabilities(tagger.model_, table, SpanArrays.of_lists([[], [("Z", 0, 1)]]), 1)
    assert unknown.tolist() == [0.0]  # no label marks such a span


def test_entropies_and_marginals_equal_those_of_each_distribution(tagger: Tagger, table: TokenTable) -> None:
    given = entropies(tagger.model_, table, 1)
    own = [d.entropy if d.T else 0.0 for d in tagger.distributions(table)]
    assert given.tolist() == pytest.approx(own, abs=1e-6)
    (block,) = conditionals(tagger.model_, table, 1)
    p = tagger.model_.lattice_labels.collapsed(block.marginals().astype(np.float32))
    assert np.abs(p - tagger.model_.marginals(table, 1)).max() < 1e-5


def test_marginals_at_a_temperature_equal_those_of_divided_weights(table: TokenTable) -> None:
    model = Tagger("crf", features=["w[0]"], folds=0, threads=1).fit(*tagged(60, 3)).model_
    w = model.weights
    divided = {name: getattr(w, name) / np.float32(2.5) for name in ("unary", "start", "end", "pair")}
    other = replace(model, source=model.source.with_weights(replace(w, **divided)))
    found = model.with_temperature(2.5).marginals(table, 1)
    assert np.abs(found - other.marginals(table, 1)).max() < 1e-5
    assert np.abs(found - model.marginals(table, 1)).max() > 0.01


def test_second_order_has_no_conditionals_of_one_label() -> None:
    assert not is_markov(Tagger("hmm", folds=0).fit(*tagged(30, 4)).model_)
    assert is_markov(Tagger("crf", features=["w[0]"], folds=0).fit(*tagged(30, 4)).model_)


@pytest.mark.parametrize("scheme", ["BIOES", "BILOU", "IO"])
def test_spans_of_other_schemes_have_the_probability_of_their_labellings(scheme: str) -> None:
    """Against the sum over all labellings of a short sentence that have exactly this span."""
    from itertools import product

    from chaffinch.text.schemes import TokenSpan, tags_of

    X, y = tagged(60, 5, longest=4)
    if scheme == "IO":
        recoded = [[tag if tag == "O" else f"I-{tag[2:]}" for tag in tags] for tags in y]
    else:
        recoded = [tags_of(spans(tags, BIO), len(tags), scheme) for tags in y]
    made = Tagger("crf", features=["w[0]"], folds=0, threads=1).fit(X, recoded)
    sentence = ["a", "b", "c"]
    (d,) = made.distributions([sentence])
    labels = made.classes_.tolist()
    sums: dict[TokenSpan, float] = {}
    for tags in product(labels, repeat=3):
        for span in spans(tags, scheme):
            canonical = scheme == "IO" or tags_of([span], 3, scheme)[span.start : span.end] == list(
                tags[span.start : span.end]
            )
            if canonical:
                sums[span] = sums.get(span, 0.0) + d.probability(tags)
    assert max(sums.values()) > 0.05
    for span, p in sums.items():
        assert d.span_probability(span.start, span.end, span.label) == pytest.approx(p, abs=1e-9)
