"""Incremental search and learning, held against versions that score everything again at every step."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch import _core
from naive_tagging import END, OPEN, START, NaivePerceptron, NaiveTagger, legal_by_enumeration

LEFT = [((-1,), 0), ((-2,), 0), ((-2, -1), 0), ((-1,), 1), ((-3, -1), 1)]
BOTH = [*LEFT, ((1,), 0), ((-1, 1), 1), ((1, 2), 0), ((2,), 1)]
OBSERVATIONS = (1, 3)


class Sentences:
    """Random sentences, in the shape of the core and in that of the naive tagger."""

    def __init__(self, rng, F, Y, lengths, templates):
        self.F, self.Y, self.templates = F, Y, templates
        self.native_templates = [(list(o), OBSERVATIONS[c], c - 1) for o, c in templates]
        self.xs, self.gold = [], []
        for T in lengths:
            ids = [sorted(rng.choice(F, size=rng.integers(0, 4), replace=False).tolist()) for _ in range(T)]
            observed = [(0, int(rng.integers(-1, OBSERVATIONS[1]))) for _ in range(T)]
            self.xs.append((ids, observed))
            self.gold.append(rng.integers(0, Y, size=T).tolist())
        rows = [row for ids, _ in self.xs for row in ids]
        self.sentences = np.cumsum([0, *lengths]).astype(np.int64)
        self.ptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        self.ids = np.array([f for row in rows for f in row], np.int32)
        by_token = [o for _, observed in self.xs for o in observed]
        self.observations = np.array([[o[1]] for o in by_token], np.int32).reshape(-1, 1)
        self.y = np.array([y for g in self.gold for y in g], np.int32)

    @property
    def tokens(self):
        return self.sentences, self.ptr, self.ids, self.observations

    def key(self, number, observation, around):
        """The core's number for a context."""
        B, code = self.Y + 3, 0
        symbols = {START: self.Y, END: self.Y + 1, OPEN: self.Y + 2}
        for symbol in reversed(around):
            code = code * B + symbols.get(symbol, symbol)
        return observation * B ** len(around) + code

    def tagger(self, naive, **legality):
        """The core's tagger with the naive one's weights."""
        unary = np.zeros((self.F, self.Y), np.float32)
        contexts = {}
        for (name, y), w in naive.weights.items():
            if name[0] == "f":
                unary[name[1], y] = w
            else:
                key = (name[1], self.key(*name[1:]))
                contexts.setdefault(key, np.zeros(self.Y, np.float32))[y] = w
        template = np.array([t for t, _ in contexts], np.int32)
        keys = np.array([k for _, k in contexts], np.uint64)
        rows = np.array(list(contexts.values()), np.float32).reshape(-1, self.Y)
        return _core.IncrementalTagger(unary, self.native_templates, template, keys, rows, **legality)


def random_tagger(rng, data, whole):
    """A naive tagger with weights on features and on contexts that may come up; whole numbers make ties."""
    naive = NaiveTagger(data.Y, data.templates)

    def weight():
        return np.float32(rng.integers(-2, 3) if whole else rng.normal())

    for f in range(data.F):
        for y in range(data.Y):
            naive.weights[("f", f), y] = weight()
    symbols = [*range(data.Y), START, END, OPEN]
    for number, (offsets, column) in enumerate(data.templates):
        for _ in range(40):
            around = tuple(symbols[i] for i in rng.integers(0, len(symbols), size=len(offsets)))
            observation = int(rng.integers(0, OBSERVATIONS[column]))
            naive.weights[("y", number, observation, around), int(rng.integers(0, data.Y))] = weight()
    return naive


def random_rules(rng, Y):
    follows = rng.random((Y, Y)) < 0.7
    np.fill_diagonal(follows, True)
    starts, ends = rng.random(Y) < 0.8, rng.random(Y) < 0.8
    needs = [(int(rng.integers(Y)), int(rng.integers(Y)), int(rng.integers(-1, Y)))]
    return follows, starts, ends, needs


def native(rules):
    follows, starts, ends, needs = rules
    return {
        "transitions": follows.astype(np.uint8),
        "start": starts.astype(np.uint8),
        "end": ends.astype(np.uint8),
        "needs": needs,
    }


def decisions(labels, order, sentences):
    """The decisions of each sentence in order: (position, label)."""
    made = []
    for a, b in itertools.pairwise(sentences):
        steps = [(int(order[t]), int(t - a), int(labels[t])) for t in range(a, b)]
        made.append([(t, y) for _, t, y in sorted(steps)])
    return made


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), whole=st.booleans(), ease=st.sampled_from(["score", "margin"]))
def test_easiest_first_decides_as_the_quadratic_algorithm_does_step_by_step(seed, whole, ease):
    rng = np.random.default_rng(seed)
    data = Sentences(rng, F=6, Y=int(rng.integers(1, 5)), lengths=[1, 2, 5, 9, 0, 20], templates=BOTH)
    naive = random_tagger(rng, data, whole)
    labels, order, _, _ = data.tagger(naive).tag(
        *data.tokens, direction="easiest-first", ease=ease, details=True
    )
    assert decisions(labels, order, data.sentences) == [naive.easiest_first(x, ease) for x in data.xs]


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), whole=st.booleans())
def test_left_to_right_takes_the_best_label_of_each_position(seed, whole):
    rng = np.random.default_rng(seed)
    data = Sentences(rng, F=6, Y=int(rng.integers(1, 5)), lengths=[1, 5, 0, 12], templates=LEFT)
    naive = random_tagger(rng, data, whole)
    labels, *_ = data.tagger(naive).tag(*data.tokens, direction="left-to-right", ease="score")
    assert labels.tolist() == [y for x in data.xs for y in naive.left_to_right(x)]


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), width=st.integers(1, 5))
def test_beam_keeps_the_best_beginnings(seed, width):
    rng = np.random.default_rng(seed)
    data = Sentences(rng, F=6, Y=3, lengths=[1, 4, 7], templates=LEFT)
    naive = random_tagger(rng, data, whole=True)
    labels, scores, found = data.tagger(naive).beam(*data.tokens, width=width, k=width)
    for n, x in enumerate(data.xs):
        a, b = data.sentences[n], data.sentences[n + 1]
        expected = naive.beam(x, width)
        assert found[n] == len(expected)
        rows = labels[width * a : width * b].reshape(width, b - a)
        for i, (score, path) in enumerate(expected):
            assert rows[i].tolist() == path
            assert scores[n * width + i] == pytest.approx(score)


def test_a_beam_as_wide_as_all_beginnings_finds_the_best_labelling():
    rng = np.random.default_rng(3)
    data = Sentences(rng, F=6, Y=3, lengths=[4], templates=LEFT)
    naive = random_tagger(rng, data, whole=False)
    labels, scores, found = data.tagger(naive).beam(*data.tokens, width=81, k=81)
    assert found[0] == 81
    everything = [tuple(labels[i * 4 : i * 4 + 4].tolist()) for i in range(81)]
    assert len(set(everything)) == 81
    assert np.all(np.diff(scores) <= 0)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_easiest_first_offers_only_labels_that_leave_a_legal_way_out_on_both_sides(seed):
    rng = np.random.default_rng(seed)
    data = Sentences(rng, F=6, Y=3, lengths=[1, 2, 4, 6], templates=BOTH)
    naive = random_tagger(rng, data, whole=False)
    rules = random_rules(rng, data.Y)
    naive.legal = legal_by_enumeration(data.Y, *rules)
    labels, order, _, _ = data.tagger(naive, **native(rules)).tag(
        *data.tokens, direction="easiest-first", ease="score", details=True
    )
    made = decisions(labels, order, data.sentences)
    for x, steps in zip(data.xs, made, strict=True):
        if not naive.legal([None] * len(x[0])):
            continue
        assert steps == naive.easiest_first(x)
        assert naive.legal([y for _, y in sorted(steps)])


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_left_to_right_and_beam_offer_only_labels_that_leave_a_legal_way_out(seed):
    rng = np.random.default_rng(seed)
    data = Sentences(rng, F=6, Y=3, lengths=[1, 3, 5], templates=LEFT)
    naive = random_tagger(rng, data, whole=False)
    rules = random_rules(rng, data.Y)
    naive.legal = legal_by_enumeration(data.Y, *rules)
    tagger = data.tagger(naive, **native(rules))
    labels, *_ = tagger.tag(*data.tokens, direction="left-to-right", ease="score")
    paths, _, found = tagger.beam(*data.tokens, width=3, k=1)
    for n, x in enumerate(data.xs):
        if not naive.legal([None] * len(x[0])):
            continue
        a, b = data.sentences[n], data.sentences[n + 1]
        assert labels[a:b].tolist() == naive.left_to_right(x)
        assert found[n] == 1
        assert paths[a:b].tolist() == naive.beam(x, 3)[0][1]


LEARNERS = {
    "greedy on own guesses": ("left-to-right", LEFT, False, 1.0, lambda n, x, y: n.learn_left_to_right(x, y)),
    "greedy on gold": (
        "left-to-right",
        LEFT,
        False,
        0.0,
        lambda n, x, y: n.learn_left_to_right(x, y, own=False),
    ),
    "local, own guesses": ("easiest-first", BOTH, False, 1.0, lambda n, x, y: n.learn_easiest_first(x, y)),
    "local, gold": (
        "easiest-first",
        BOTH,
        False,
        0.0,
        lambda n, x, y: n.learn_easiest_first(x, y, own=False),
    ),
    "Goldberg and Elhadad": (
        "easiest-first",
        BOTH,
        True,
        0.0,
        lambda n, x, y: n.learn_goldberg_elhadad(x, y),
    ),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("legal", [False, True])
def test_learning_moves_the_same_weights_as_the_plain_algorithm(name, legal):
    search, templates, everywhere, own, learn = LEARNERS[name]
    rng = np.random.default_rng(5)
    data = Sentences(rng, F=12, Y=4, lengths=[3, 5, 1, 6, 4, 2, 5, 5], templates=templates)
    naive = NaivePerceptron(data.Y, templates)
    rules = {}
    if legal:
        masks = np.ones((4, 4), bool), np.ones(4, bool), np.ones(4, bool), [(3, 0, -1)]
        masks[0][1, 2] = False
        naive.legal = legal_by_enumeration(data.Y, *masks)
        rules = native(masks)
        for n, gold in enumerate(data.gold):
            if not naive.legal(gold):
                data.gold[n] = [0] * len(gold)
        data.y = np.array([y for g in data.gold for y in g], np.int32)
    trainer = _core.IncrementalTrainer(
        *data.tokens,
        data.y,
        F=data.F,
        Y=data.Y,
        templates=data.native_templates,
        search=search,
        everywhere=everywhere,
        **rules,
    )
    for epoch in range(3):
        order = _core.permutation(len(data.xs), epoch)
        trainer.epoch(order, own)
        for n in order.tolist():
            learn(naive, data.xs[n], data.gold[n])
    S = _core.padded(data.Y)
    for average, expected in ((False, naive.weights), (True, naive.averaged())):
        w = trainer.weights(average).reshape(-1, S)
        template, key = trainer.contexts()
        rows = {(int(t), int(k)): data.F + 1 + i for i, (t, k) in enumerate(zip(template, key, strict=True))}
        found = np.zeros_like(w)
        for (feature, y), value in expected.items():
            row = feature[1] if feature[0] == "f" else rows[feature[1], data.key(*feature[1:])]
            found[row, y] = value
        np.testing.assert_allclose(w, found, atol=1e-4)


def test_features_stay_unseen_until_they_were_rewarded_often_enough():
    rng = np.random.default_rng(0)
    data = Sentences(rng, F=8, Y=3, lengths=[4] * 12, templates=LEFT)
    arguments = {"F": 8, "Y": 3, "templates": data.native_templates, "search": "left-to-right"}
    order = np.arange(12)
    plain = _core.IncrementalTrainer(*data.tokens, data.y, **arguments)
    hidden = _core.IncrementalTrainer(*data.tokens, data.y, **arguments, min_updates=10**6)
    assert plain.epoch(order)[1] != hidden.epoch(order)[1] or plain.weights(False).any()
    assert not hidden.weights(False).any()


def test_known_labels_are_kept_without_a_search():
    rng = np.random.default_rng(1)
    data = Sentences(rng, F=6, Y=3, lengths=[5, 4], templates=BOTH)
    tagger = data.tagger(random_tagger(rng, data, whole=False))
    known = np.array([-1, 2, -1, 0, -1, 1, -1, -1, 1], np.int32)
    labels, order, _, p = tagger.tag(
        *data.tokens, direction="easiest-first", ease="score", details=True, known=known
    )
    settled = known >= 0
    assert np.array_equal(labels[settled], known[settled])
    assert np.allclose(p.reshape(-1, 3)[np.arange(9), labels][settled], 1)
    assert sorted(order[:5].tolist()) == list(range(5))


def test_a_beam_goes_on_after_a_known_label_that_no_legal_label_follows():
    """Every beginning of the beam is at a dead end: any label may follow, and the known label stays."""
    rng = np.random.default_rng(1)
    data = Sentences(rng, F=6, Y=3, lengths=[4], templates=LEFT)
    dead = np.ones((3, 3), bool), np.ones(3, bool), np.ones(3, bool), []
    dead[0][2] = False
    tagger = data.tagger(random_tagger(rng, data, whole=False), **native(dead))
    labels, _, found = tagger.beam(*data.tokens, width=3, k=2, known=np.array([-1, 2, -1, -1], np.int32))
    assert found.tolist() == [2]
    assert labels.reshape(2, 4)[:, 1].tolist() == [2, 2]


def test_labels_to_the_right_are_refused_where_they_are_decided_later():
    rng = np.random.default_rng(1)
    data = Sentences(rng, F=6, Y=3, lengths=[5], templates=BOTH)
    with pytest.raises(ValueError, match="to the left only"):
        _core.IncrementalTrainer(
            *data.tokens, data.y, F=6, Y=3, templates=data.native_templates, search="left-to-right"
        )


def test_two_threads_decide_as_one_does():
    rng = np.random.default_rng(2)
    data = Sentences(rng, F=6, Y=3, lengths=rng.integers(0, 9, 300).tolist(), templates=BOTH)
    tagger = data.tagger(random_tagger(rng, data, whole=False))
    one, two = (
        tagger.tag(*data.tokens, direction="easiest-first", ease="score", details=True, threads=n)
        for n in (1, 2)
    )
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a, b)
