"""Why taggers gave their labels: contributions add up to the model's own scores, rivals are truly the best."""

from collections import Counter

import numpy as np
import pytest

from chaffinch import ConfigError, DataError, Tagger, load
from chaffinch.features.spans import names_of_span, span_features, span_names
from chaffinch.model import chain_evidence
from chaffinch.model.encoders import SymbolEncoder, TemplateEncoder
from chaffinch.model.evidence import FEATURE
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.crf import Crf
from chaffinch.recipes.hmm import Hmm
from chaffinch.recipes.incremental_search import BeamTagger, EasiestFirstTagger, Greedy
from chaffinch.recipes.latent import LatentSvmTagger
from chaffinch.recipes.margin import MaxMarginMarkovNetwork
from chaffinch.scorers.segments import places_of
from chaffinch.structures import Parts
from chaffinch.text.gazetteers import Gazetteers
from chaffinch.text.schemes import convert
from chaffinch.text.table import TokenTable
from chaffinch.trust.explain import Evidence

WORDS = ["Anna", "lives", "in", "New", "York", "with", "Leo", "Marsh", "near", "Paris"]
TAGS = {"Anna": "PER", "Leo": "PER", "Marsh": "PER", "New": "LOC", "York": "LOC", "Paris": "LOC"}
TEMPLATES = ["w[0]", "w[-1]|w[0]", "suffix2[0]", "caps[1]"]


def sentences(n, seed):
    chance = np.random.default_rng(seed)
    X = [[WORDS[i] for i in chance.integers(0, len(WORDS), chance.integers(1, 6))] for _ in range(n)]
    return X, [tags(words, chance) for words in X]


def tags(words, chance):
    """Spans in BIO, with some noise so that no model is sure of everything."""
    found = []
    for t, word in enumerate(words):
        kind = TAGS.get(word)
        if kind is None or chance.random() < 0.1:
            found.append("O")
        else:
            follows = t > 0 and found[-1] != "O" and found[-1][2:] == kind
            found.append(("I-" if follows else "B-") + kind)
    return found


# Every recipe as it comes (one with fewer rounds), and what models of other kinds they can make.
TAGGING = {recipe.name: (recipe.config(), None) for recipe in TAGGERS} | {
    "latent-ssvm": (LatentSvmTagger(rounds=2, restarts=1), None),
    "crf of order 2": (Crf(order=2), TEMPLATES),
    "pruned crf": (Crf(prune=0.02), TEMPLATES),
    "crf in two passes": (Crf(second_pass=True), None),
    "crf whose pairs see words": (Crf(), ["w[0]", "y[-1]|w[0]", "y[-1]|caps[0]"]),
    "crf in six bits": (Crf(bits=6), None),
    "quadratic m3n": (MaxMarginMarkovNetwork(kernel="polynomial"), TEMPLATES),
    "cubic m3n": (MaxMarginMarkovNetwork(kernel="polynomial", degree=3), TEMPLATES),
    "greedy with contexts": (Greedy(epochs=2), ["w[0]", "y[-1]|w[0]", "y[-2]|y[-1]"]),
    "easiest-first both ways": (EasiestFirstTagger(epochs=2), ["w[0]", "y[-1]", "y[1]|w[0]", "y[-1]|y[1]"]),
    "greedy with a dictionary": (Greedy(epochs=2, dictionary=8), ["w[0]", "y[-1]|w[0]"]),
    "beam with a dictionary": (BeamTagger(epochs=2, dictionary=8), ["w[0]", "y[-1]|w[0]"]),
    "beam with contexts": (BeamTagger(epochs=2), ["w[0]", "y[-1]|w[0]", "y[-2]|y[-1]"]),
}


@pytest.fixture(scope="module", params=TAGGING)
def tagger(request):
    config, templates = TAGGING[request.param]
    return Tagger(config, features=templates, seed=1, threads=1).fit(*sentences(60, 0))


def added_up(one: Evidence) -> tuple[float, float]:
    return (
        one.shared + sum(c.value * c.weight for c in one.contributions),
        one.shared + sum(c.value * c.rival for c in one.contributions),
    )


def is_local(tagger) -> bool:
    """Whether it decides token by token, so that a score is that of one decision."""
    return tagger.config_.__class__ in (Greedy, EasiestFirstTagger)


def test_contributions_add_up_to_the_scores_of_every_decision(tagger):
    for words in sentences(10, 1)[0]:
        explanation = tagger.explain(words)
        predicted = tagger.predict([words])[0]
        assert [one.answer for one in explanation.decisions] == predicted
        for one in explanation.decisions:
            score, rival = added_up(one)
            assert score == pytest.approx(one.score, abs=2e-3)
            assert sum(c.difference for c in one.contributions) == pytest.approx(one.margin, abs=2e-3)
            if one.rival is not None:
                assert rival == pytest.approx(one.rival_score, abs=2e-3)
                assert one.rival != one.answer
                assert one.margin > -2e-3


def test_the_score_is_the_one_that_the_model_itself_gives(tagger):
    for words in sentences(10, 2)[0]:
        own = tagger.predict_kbest([words], 1)[0][0][0]
        decisions = tagger.explain(words).decisions
        if is_local(tagger):
            assert sum(one.score for one in decisions) == pytest.approx(own, abs=1e-2)
        else:
            assert [one.score for one in decisions] == pytest.approx([own] * len(words), abs=2e-3)


def test_the_rival_is_the_best_labelling_with_another_label_there(tagger):
    if is_local(tagger):
        rivals_of_steps(tagger)
        return
    labels = len(tagger.model_.labels.inner)
    for words in (s for s in sentences(20, 3)[0] if len(s) <= 3):
        every = tagger.predict_kbest([words], labels ** len(words))[0]
        for t, one in enumerate(tagger.explain(words).decisions):
            others = [(score, y) for score, y in every if y[t] != one.answer and score > -1e20]
            if one.rival is None:
                assert not others
                continue
            assert one.rival_score == pytest.approx(others[0][0], abs=2e-3)
            ahead = {y[t] for score, y in others if score > others[0][0] - 2e-3}
            assert one.rival in ahead
            wanted = next((score for score, y in others if y[t] == others[-1][1][t]), None)
            asked = tagger.explain(words, token=t, against=others[-1][1][t]).decisions[0]
            assert asked.rival_score == pytest.approx(wanted, abs=2e-3)


def test_a_beam_that_lost_the_better_labelling_says_so():
    templates = ["caps[0]", "y[-1]|w[0]", "y[-1]|caps[0]", "y[-2]|y[-1]|caps[0]"]
    tagger = Tagger(BeamTagger(epochs=1, width=1), features=templates, threads=1).fit(*sentences(12, 0))
    every = [one for words in sentences(60, 7)[0] for one in tagger.explain(words).decisions if one.rival]
    assert {one.margin < 0 for one in every} == {True, False}
    assert all((one.margin < 0) == ("which a wider beam finds" in one.note) for one in every)


def rivals_of_steps(tagger):
    """Where decisions are made one by one, the rival is the best other label of that step."""
    model = tagger.model_
    for words in sentences(20, 3)[0]:
        steps = model.steps(TokenTable.from_lists({"w": [words]}), 1)
        for t, one in enumerate(tagger.explain(words).decisions):
            assert one.step == steps.order[t]
            others = np.array([model.labels.outer[i] != one.answer for i in model.labels.outer_of])
            best = steps.scores[t][others].max()
            assert one.rival_score == pytest.approx(best) if np.isfinite(best) else one.rival is None


class Without:
    """An encoder that has forgotten some features of some tokens."""

    def __init__(self, encoder, gone):
        self.encoder, self.gone = encoder, gone

    def __getattr__(self, name):
        return getattr(self.encoder, name)

    def rows(self, table, threads):
        rows = self.encoder.rows(table, threads)
        of = np.repeat(np.arange(len(rows.ptr) - 1), np.diff(rows.ptr))
        names = self.encoder.names(rows.ids)
        keep = np.array([(t, n) not in self.gone for t, n in zip(of.tolist(), names, strict=True)], bool)
        ptr = np.concatenate([[0], np.cumsum(np.bincount(of[keep], minlength=len(rows.ptr) - 1))])
        made = type("Rows", (), {"values": None})()
        made.__dict__.update(
            ptr=ptr.astype(np.int64),
            ids=np.ascontiguousarray(rows.ids[keep]),
            n_tokens=len(ptr) - 1,
            observations=getattr(rows, "observations", None),
            sentences=getattr(rows, "sentences", None),
        )
        return made


def test_without_the_features_that_are_named_the_answer_is_the_other(tagger):
    model = getattr(tagger.model_, "second", tagger.model_)
    turned = 0
    for words in sentences(10, 4)[0]:
        table = TokenTable.from_lists({"w": [words]})
        if hasattr(tagger.model_, "read"):
            table = tagger.model_.read(table, 1)
        for one in tagger.explain(words).decisions:
            if one.without is None or any(": " in c.name for c in one.without.features):
                continue  # features of spans are none of the encoder's
            assert all(c.kind == FEATURE and c.difference > 0 for c in one.without.features)
            gone = {(c.place, c.name) for c in one.without.features}
            changed = object.__new__(type(model))
            changed.__dict__.update(model.__dict__)
            object.__setattr__(changed, "encoder", Without(model.encoder, gone))
            got = changed.decode(table, 1)[one.place]
            assert model.labels.outer[got] == one.without.answer != one.answer
            turned += 1
    polynomial = isinstance(tagger.config_, MaxMarginMarkovNetwork) and tagger.config_.kernel != "linear"
    assert (turned == 0) == polynomial


def test_without_features_of_spans_a_token_gets_the_tag_that_is_named():
    tagger = Tagger("semi-crf", features=["w[0]"], seed=1, threads=1).fit(*sentences(60, 0))
    model, turned = tagger.model_, 0
    for words in sentences(12, 4)[0]:
        table = TokenTable.from_lists({"w": [words]})
        (potentials, T), L = model._potentials(table, 1)[0], model.weights.L
        keys, of_spans = model.spans.keys.tolist(), model.weights.blocks()["span"]
        of_tokens, rows = model.weights.blocks()["token"], model.encoder.rows(table, 1)
        seen = span_features([words], L, model.spans.gazetteers)
        for one in tagger.explain(words).decisions:
            if one.without is None or not any(": " in c.name for c in one.without.features):
                continue
            segment = np.array(potentials["segment"], np.float64).reshape(T, L, -1)
            for c in one.without.features:
                if ": " not in c.name:
                    place = int(rows.ptr[c.place])
                    ids = rows.ids[place : int(rows.ptr[c.place + 1])]
                    (f,) = [
                        f for f in ids.tolist() if model.encoder.names(np.array([f], np.int32)) == [c.name]
                    ]
                    for start in range(T):
                        for end in range(start + 1, min(T, start + L) + 1):
                            for y in range(segment.shape[2]):
                                if start <= c.place < end:
                                    column = places_of(y, end - start)[c.place - start]
                                    segment[start, end - start - 1, y] -= of_tokens[f, column]
                    continue
                span, _, name = c.name.partition(": ")
                start, end = (int(n) for n in span.rpartition(" ")[2].split("-"))
                row = (start - 1) * L + end - start
                k = names_of_span(words, start - 1, end - start + 1, model.spans.gazetteers).index(name)
                g = keys.index(int(seen.keys[seen.ptr[row] + k]))
                segment[start - 1, end - start] -= of_spans[g]
            rest = {block: potentials[block] for block in ("pair", "start", "end")}
            y = model.weights.structure.argmax(Parts(segment=segment.reshape(T * L, -1), **rest))
            assert model.labels.outer[model._tags(y, T)[one.place]] == one.without.answer != one.answer
            turned += 1
    assert turned


def test_long_sentences_are_explained_as_short_ones_are(tagger, monkeypatch):
    words = [word for sentence in sentences(12, 5)[0] for word in sentence]
    records = []
    for long in (1, 1_000_000):
        monkeypatch.setattr(chain_evidence, "LONG", long)
        records.append(tagger.explain(words).decisions)
    for one, other in zip(*records, strict=True):
        assert (one.answer, one.note) == (other.answer, other.note)
        assert one.rival_score == pytest.approx(other.rival_score)
        if one.rival == other.rival and one.whole == other.whole:
            assert one.without == other.without
            assert added_up(one) == pytest.approx(added_up(other))


def test_a_sentence_is_encoded_once(tagger, monkeypatch):
    times = Counter()
    for kind in (TemplateEncoder, SymbolEncoder):

        def counted(self, table, threads, rows=kind.rows):
            times[id(self)] += 1
            return rows(self, table, threads)

        monkeypatch.setattr(kind, "rows", counted)
    tagger.explain(WORDS)
    assert set(times.values()) == {1}
    assert len(times) == (2 if hasattr(tagger.model_, "second") else 1)


def test_where_there_is_no_rival_the_token_itself_is_told_of(tagger):
    words = [word for sentence in sentences(30, 6)[0] for word in sentence]
    alone = [one for one in tagger.explain(words).decisions if one.rival is None]
    for one in alone:
        assert {c.place for c in one.contributions} <= {one.place}
        assert added_up(one)[0] == pytest.approx(one.score, abs=1e-2)
    assert alone or not isinstance(tagger.config_, BeamTagger)


def test_asking_about_one_token_gives_its_decision_alone(tagger):
    words = ["Anna", "lives", "in", "Paris"]
    (one,) = tagger.explain(words, token=3).decisions
    assert one == tagger.explain(words).decisions[3]
    with pytest.raises(DataError, match="there is no token 5: the sentence has 4"):
        tagger.explain(words, token=4)
    with pytest.raises(ConfigError, match="the model has no label 'X'; it has B-LOC"):
        tagger.explain(words, against="X")
    if not one.note:
        with pytest.raises(ConfigError, match=r"token 4 .Paris. got the label"):
            tagger.explain(words, token=3, against=one.answer)
    assert all(one.answer != "O" for one in tagger.explain(words, against="O").decisions if not one.note)


def test_a_sentence_without_tokens_has_nothing_to_explain(tagger):
    assert tagger.explain([]).decisions == ()


@pytest.mark.parametrize("scheme", ["IO", "IOB1", "IOE2", "BIOES"])
def test_segments_of_any_scheme_have_rivals_that_differ(scheme):
    X, y = sentences(60, 0)
    tagger = Tagger("semi-crf").fit(X, convert(y, "BIO", scheme))
    for words in (s for s in sentences(20, 3)[0] if len(s) <= 3):
        every = tagger.predict_kbest([words], 4000)[0]
        for t, one in enumerate(tagger.explain(words).decisions):
            best = next((score for score, labels in every if labels[t] != one.answer), None)
            assert (one.rival is None) == (best is None)
            assert best is None or one.rival_score == pytest.approx(best, abs=2e-3)


def test_labels_that_were_pruned_away_are_compared_all_the_same():
    tagger = Tagger(Crf(prune=0.3), features=TEMPLATES).fit(*sentences(60, 0))
    notes = set()
    for words in sentences(10, 3)[0]:
        for label in tagger.classes_:
            for one in tagger.explain(words, against=label).decisions:
                notes.add(one.note)
                if one.rival is not None:
                    assert one.rival == label
                    score, rival = added_up(one)
                    assert (score, rival) == pytest.approx((one.score, one.rival_score), abs=2e-3)
    assert "The model did not try the other label here." in notes


def test_the_names_of_a_spans_features_are_in_the_order_of_its_keys():
    lists = Gazetteers.from_lists({"cities": ["New York", "Paris"], "words": ["Paris", "in"]})
    words, L = ["in", "New", "York", "Paris"], 2
    rows = span_features([words], L, lists)
    for t in range(len(words)):
        for length in range(1, min(L, len(words) - t) + 1):
            row = t * L + length - 1
            keys = rows.keys[rows.ptr[row] : rows.ptr[row + 1]].tolist()
            names = names_of_span(words, t, length, lists)
            assert len(names) == len(keys)
            known = span_names(L, lists)
            for key, name in zip(keys, names, strict=True):
                if key in known:
                    assert name == known[key].replace("list=", "on list ")
                else:
                    assert not name.startswith("length=")
                    assert "length=" in name or not name.startswith("on list")


def test_what_a_model_finds_impossible_is_said_to_be_so():
    tagger = Tagger(
        Hmm(floor=None, unknown="one", emission_smoothing="none", transition_smoothing="none", order=1)
    )
    tagger.fit([["a", "b"], ["a", "b"]], [["X", "Y"], ["X", "Y"]])
    (one, _) = tagger.explain(["a", "b"]).decisions
    assert (one.rival, one.note) == (None, "No other label is allowed at this token.")
    with pytest.raises(
        DataError, match="rules out every labelling of this sentence, so there is nothing to explain"
    ):
        tagger.explain(["b", "a"])


def test_a_model_from_a_file_gives_the_same_reasons(tagger, tmp_path):
    tagger.save(tmp_path / "model.chaff")
    for words in sentences(5, 6)[0]:
        again, first = load(tmp_path / "model.chaff").explain(words), tagger.explain(words)
        assert again.answer == first.answer
        assert [c.name for one in again.decisions for c in one.contributions] == [
            c.name for one in first.decisions for c in one.contributions
        ]
