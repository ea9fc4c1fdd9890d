"""Rules over transitions: every chain recipe obeys them in training, decoding, k-best lists and marginals."""

from itertools import pairwise, product

import numpy as np
import pytest

from chaffinch import Tagger, load
from chaffinch.errors import ConfigError, DataError
from chaffinch.learners.examples import SentenceExamples
from chaffinch.learners.learner import native
from chaffinch.learners.likelihood import Lbfgs, Sdca
from chaffinch.learners.online import Arow, MarginPerceptron, Mira, PassiveAggressive, Perceptron
from chaffinch.learners.problem import Problem
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.hmm import Hmm
from chaffinch.recipes.incremental_search import BeamTagger, EasiestFirstTagger, Greedy
from chaffinch.recipes.latent import LatentPerceptronTagger, LatentSvmTagger
from chaffinch.recipes.margin import MaxMarginMarkovNetwork, StructuredSvm
from chaffinch.recipes.memm import Memm
from chaffinch.recipes.perceptron import MiraTagger, StructuredPerceptron
from chaffinch.recipes.rules import ForbiddenGold
from chaffinch.recipes.semi_crf import SemiCrf
from chaffinch.scorers import Layout, Linear
from chaffinch.structures import Chain, Held, LabelStates, Parts, RuledChain, RuledLocalChain
from commandline import run  # noqa: F401

Y = 3


def random_rules(seed):
    """A chain under rules of every kind, and the same rules as a test of one labelling."""
    rng = np.random.default_rng(seed)
    follows, starts, ends = rng.random((Y, Y)) < 0.8, np.ones(Y, bool), np.ones(Y, bool)
    starts[rng.integers(Y)] = False
    held = Held.none(Y)
    held.pair[tuple(rng.integers(Y, size=2))] = 1.5
    held.start[rng.integers(Y)] = -0.5
    held.end[rng.integers(Y)] = 0.7
    a, b, c = rng.permutation(Y)
    masks = np.eye(Y, dtype=bool)
    states = LabelStates.of(Y, [(masks[a], masks[b], masks[c])])

    def legal(y):
        met = False
        for t, label in enumerate(y):
            if (not starts[label]) if t == 0 else (not follows[y[t - 1], label]):
                return False
            if label == a and not met:
                return False
            met = (met and label != c) or label == b
        return bool(ends[y[-1]])

    def constant(y):
        used = [held.start[y[0]], held.end[y[-1]], *(held.pair[p, q] for p, q in pairwise(y))]
        return float(np.nansum(used))

    return RuledChain(Chain(Y, follows, starts, ends), held, states), legal, constant


@pytest.mark.parametrize("seed", range(12))
def test_a_ruled_chain_agrees_with_the_enumeration_of_legal_labellings(seed):
    chain, legal, constant = random_rules(seed)
    rng = np.random.default_rng(seed + 100)
    T = 4
    learnt = {"pair": ~np.isfinite(chain.held.pair), "start": ~np.isfinite(chain.held.start)}
    pot = Parts(
        unary=rng.normal(size=(T, Y)),
        pair=rng.normal(size=(Y, Y)) * learnt["pair"],
        start=rng.normal(size=Y) * learnt["start"],
        end=rng.normal(size=Y) * ~np.isfinite(chain.held.end),
    )
    every = [y for y in product(range(Y), repeat=T) if legal(y)]
    if not every:
        with pytest.raises(DataError):
            chain.argmax(pot)
        return
    plain = Chain(Y)
    parts = {y: plain.parts(pot.shape, np.array(y)) for y in every}
    score = {y: pot.dot(parts[y]) + constant(y) for y in every}
    ranked = sorted(every, key=lambda y: -score[y])
    assert tuple(chain.argmax(pot)) == ranked[0]
    listed = chain.kbest(pot, 5)
    assert [tuple(y) for _, y in listed] == ranked[:5]
    assert np.allclose([s for s, _ in listed], [score[y] for y in ranked[:5]])
    assert chain.constant(np.array(ranked[0])) == pytest.approx(constant(ranked[0]))
    log_z = np.logaddexp.reduce([score[y] for y in every])
    found, marginals = chain.logsum(pot)
    assert found == pytest.approx(log_z)
    for name, block in marginals.items():
        expected = sum(np.exp(score[y] - log_z) * parts[y][name].astype(float) for y in every)
        if name in learnt:
            expected = expected * learnt[name]
        if name == "end":
            expected = expected * ~np.isfinite(chain.held.end)
        assert np.allclose(block, expected, atol=1e-6), name


def sentences(seed, legal, F=6, N=8):
    """Random sentences with legal gold labels."""
    rng = np.random.default_rng(seed)
    lengths, rows, gold = [], [], []
    while len(lengths) < N:
        T = int(rng.integers(1, 5))
        choices = [y for y in product(range(Y), repeat=T) if legal(y)]
        if not choices:
            continue
        lengths.append(T)
        gold += choices[int(rng.integers(len(choices)))]
        rows += [sorted(rng.choice(F, 2, replace=False).tolist()) for _ in range(T)]
    ptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    ids = np.array([f for row in rows for f in row], np.int32)
    return SentenceExamples(np.cumsum([0, *lengths], dtype=np.int64), ptr, ids, np.array(gold, np.int32))


def last(learner, problem, *, fused):
    assert not fused or native(learner, problem) is not None
    passes = learner.passes(problem, 1) if fused else learner.until_done(learner.generic(problem))
    return list(passes)[-1].model().w


@pytest.mark.parametrize(
    ("kind", "seed"), [("masks", 0), ("held", 1), ("needs", 2), ("all", 0), ("all", 1), ("all", 2)]
)
def test_the_native_likelihood_under_rules_ends_where_the_generic_one_does(kind, seed):
    chain, legal, _ = random_rules(seed)
    if kind == "masks":
        chain = RuledChain(chain.chain)
    elif kind == "held":
        chain = RuledChain(Chain(Y), chain.held)
    elif kind == "needs":
        chain = RuledChain(Chain(Y), None, chain.states)
    examples = sentences(seed, legal)
    problem = Problem(chain, Linear(Layout.packed_chain(6, Y)), examples)
    learners = (Lbfgs(c2=0.3, steps=200, tolerance=1e-9), Sdca(c2=0.3, epochs=300, tolerance=1e-7, still=0.0))
    found = [last(learner, problem, fused=fused) for learner in learners for fused in (False, True)]
    for w in found[1:]:
        assert np.allclose(w, found[0], atol=5e-3)
    held = chain.held
    if held is not None:
        scorer = Linear(problem.scorer.layout, found[1].astype(np.float32))
        assert not scorer.block("pair")[np.isfinite(held.pair)].any()


@pytest.mark.parametrize("seed", range(3))
def test_the_native_local_likelihood_under_rules_ends_where_the_generic_one_does(seed):
    ruled, legal, _ = random_rules(seed)
    chain = RuledLocalChain(ruled.chain, ruled.held, ruled.states)
    problem = Problem(chain, Linear(Layout.packed_chain(6, Y)), sentences(seed, legal))
    learner = Lbfgs(c2=0.3, steps=200, tolerance=1e-9)
    w = [last(learner, problem, fused=fused) for fused in (False, True)]
    assert np.allclose(*w, atol=5e-3)


@pytest.mark.parametrize("learner", [Perceptron, MarginPerceptron, PassiveAggressive, Mira, Arow])
def test_online_learners_move_no_held_weight_and_learn_legal_answers(learner):
    chain, legal, _ = random_rules(4)
    examples = sentences(4, legal)
    scorer = learner(epochs=5).fit(Problem(chain, Linear(Layout.chain(6, Y)), examples))
    assert not scorer.block("pair")[np.isfinite(chain.held.pair)].any()
    assert scorer.w.any()
    assert all(legal(chain.argmax(scorer.potentials(x))) for x, _ in examples)


# -- recipes ------------------------------------------------------------------------------------------------------

CONFIGS = {
    "hmm": Hmm(),
    "hmm of order 1": Hmm(order=1),
    "crf": Crf(),
    "crf by sgd": Crf(optimiser="fast"),
    "crf by lbfgs": Crf(optimiser="lbfgs"),
    "crf by lbfgs with l1": Crf(optimiser="lbfgs", c1=0.1),
    "crf of order 2": Crf(order=2),
    "crf pruned": Crf(prune=0.001),
    "crf in two passes": Crf(second_pass=True),
    "memm": Memm(),
    "memm by lbfgs": Memm(optimiser="lbfgs"),
    "perceptron": StructuredPerceptron(epochs=3),
    "plain perceptron": StructuredPerceptron(epochs=3, margin=0.0),
    "mira": MiraTagger(epochs=3),
    "3-best mira": MiraTagger(epochs=3, k=3),
    "pa": MiraTagger(epochs=3, rule="pa"),
    "arow": MiraTagger(epochs=3, rule="arow"),
    "ssvm": StructuredSvm(passes=5),
    "ssvm by subgradient": StructuredSvm(passes=5, learner="subgradient"),
    "m3n": MaxMarginMarkovNetwork(passes=5),
    "m3n by eg": MaxMarginMarkovNetwork(passes=5, learner="exponentiated-gradient"),
    "m3n with a kernel": MaxMarginMarkovNetwork(passes=5, kernel="polynomial"),
    "latent perceptron": LatentPerceptronTagger(epochs=3, restarts=2),
    "latent ssvm": LatentSvmTagger(rounds=2, restarts=1),
}
X = [["the", "dog", "barks"], ["a", "cat", "sees", "the", "dog"], ["dogs", "bark"], ["she", "sees"]] * 4
TAGS = [["D", "N", "V"], ["D", "N", "V", "D", "N"], ["N", "V"], ["P", "V"]] * 4
NEW = [["sees", "the"], ["dog", "dog", "dog"], ["the", "the", "a"], ["barks"], ["she", "the", "cat", "bark"]]


def with_rules(config, **rules):
    from dataclasses import fields, replace

    names = {f.name for f in fields(config)}
    return replace(config, **{k: v for k, v in rules.items() if k in names})


def refused(name, **rules):
    if "need" in rules:
        return name in ("hmm", "crf of order 2", "crf pruned")
    return "fixed" in rules and name in ("m3n by eg",)


def labellings(tagger):
    """All that a tagger says of new sentences."""
    yield from tagger.predict(NEW)
    for readings in tagger.predict_kbest(NEW, 4):
        for _, y in readings:
            yield y


@pytest.mark.parametrize("name", CONFIGS)
def test_no_recipe_predicts_a_forbidden_transition(name, tmp_path):
    config = with_rules(CONFIGS[name], forbid="D->D, <s>->V, N->N, D-></s>")
    tagger = Tagger(config, folds=0).fit(X, TAGS)
    tagger.save(tmp_path / "m.chaff")
    again = load(tmp_path / "m.chaff")
    assert list(labellings(again)) == list(labellings(tagger))
    for y in labellings(tagger):
        assert not {("D", "D"), ("N", "N")} & set(pairwise(y))
        assert y[0] != "V"
        assert y[-1] != "D"
    if name.startswith(("crf", "hmm", "memm")):
        place = list(tagger.classes_).index
        for p in tagger.predict_marginals(NEW):
            assert p[0, place("V")] == 0
            assert np.allclose(p.sum(axis=1), 1, atol=1e-4)


@pytest.mark.parametrize("name", CONFIGS)
def test_no_recipe_predicts_a_label_whose_need_is_not_met(name, tmp_path):
    config = with_rules(CONFIGS[name], need="V needs N since D")
    if refused(name, need=True) and name != "hmm":
        with pytest.raises(ConfigError, match="need"):
            Tagger(config, folds=0).fit(X[:3], TAGS[:3])
        return
    tagger = Tagger(config, folds=0).fit(X[:3] * 4, TAGS[:3] * 4)
    tagger.save(tmp_path / "m.chaff")
    assert list(labellings(load(tmp_path / "m.chaff"))) == list(labellings(tagger))
    for y in labellings(tagger):
        met = False
        for label in y:
            assert label != "V" or met
            met = (met and label != "D") or label == "N"


@pytest.mark.parametrize("name", CONFIGS)
def test_fixed_transitions_keep_their_value_and_the_rest_is_learnt(name, tmp_path):
    config = with_rules(CONFIGS[name], fixed="D->N = 2.0, N->V=-1, <s>->D=0.5, N-></s>=0.25")
    if refused(name, fixed=True):
        with pytest.raises(ConfigError, match="fixed"):
            Tagger(config, folds=0).fit(X, TAGS)
        return
    tagger = Tagger(config, folds=0).fit(X, TAGS)
    tagger.save(tmp_path / "m.chaff")
    model = load(tmp_path / "m.chaff").model_
    model = getattr(model, "second", model)
    w, place = model.weights, list(model.labels.inner).index
    kind = "#2" if name.startswith("latent") else ""  # a hidden label
    D, N, V = place("D" + kind), place("N" + kind), place("V" + kind)
    assert (w.pair[D, N], w.pair[N, V], w.start[D], w.end[N]) == (2.0, -1.0, 0.5, 0.25)
    if w.triple is not None:
        assert not w.triple[:, D, N].any()
    assert np.any(w.dense)
    if "hmm" not in name:
        free = np.ones_like(w.pair, bool)
        free[D, N] = free[N, V] = False
        assert w.pair[free].any()


def test_emissions_are_learnt_while_all_transitions_are_frozen():
    frozen = Tagger(Crf(fixed="*->*, <s>->*, *-></s>", margin=0.0), folds=0).fit(X, TAGS)
    w = frozen.model_.weights
    assert not w.pair.any()
    assert not w.start.any()
    assert not w.end.any()
    assert w.dense.any()
    assert frozen.predict(X) == TAGS


def test_what_is_held_by_hand_changes_what_is_learnt_elsewhere():
    plain, held = (
        Tagger(Crf(fixed=f, optimiser="lbfgs"), folds=0).fit(X, TAGS).model_.weights.pair
        for f in (None, "D->N=5")
    )
    D, P = 0, 2
    assert not np.allclose(plain[D, P], held[D, P], atol=1e-4)


def test_rules_of_outer_labels_hold_for_all_inner_ones():
    y = [["B-X", "I-X", "O"], ["B-X", "O", "B-Y"], ["O", "B-Y", "I-Y", "I-Y"]] * 4
    words = [["a", "b", "c"], ["a", "c", "d"], ["c", "d", "e", "e"]] * 4
    for config in (Crf(forbid="B-Y->B-X, O->B-X"), StructuredPerceptron(forbid="B-Y->B-X, O->B-X")):
        tagger = Tagger(config, folds=0).fit(words, y)
        assert set(tagger.model_.labels.inner) > set(tagger.model_.labels.outer) - {"I-X"}
        for _, found in tagger.predict_kbest([["c", "a", "a", "d", "a"]], 50)[0]:
            assert not {("B-Y", "B-X"), ("O", "B-X")} & set(pairwise(found))


def test_the_hmm_never_emits_a_tag_that_the_scheme_forbids():
    rng = np.random.default_rng(0)
    words = [[f"w{rng.integers(6)}" for _ in range(6)] for _ in range(60)]
    tags = []
    for row in words:
        before, made = "O", []
        for word in row:
            choice = str(rng.choice(["B-X", "B-Y", "O", "I"])) if word > "w1" else "O"
            tag = (
                f"I-{before[-1]}"
                if choice == "I" and before != "O"
                else choice.replace("I", "O")
                if choice == "I"
                else choice
            )
            made.append(tag)
            before = tag
        tags.append(made)
    new = [[f"w{rng.integers(9)}" for _ in range(7)] for _ in range(80)]

    def faults(tagger):
        return sum(
            b.startswith("I-") and a[2:] != b[2:]
            for y in tagger.predict(new) + [y for r in tagger.predict_kbest(new, 5) for _, y in r]
            for a, b in pairwise(["O", *y])
        )

    assert faults(Tagger(Hmm(transition_amount=5.0, legal="none"), folds=0).fit(words, tags)) > 0
    for order in (1, 2):
        assert faults(Tagger(Hmm(order=order, transition_amount=5.0), folds=0).fit(words, tags)) == 0


@pytest.mark.parametrize("config", [Hmm(legal="seen"), Crf(legal="seen"), Memm(legal="seen")])
def test_transitions_that_training_lacks_can_be_ruled_out(config):
    seen = {pair for y in TAGS for pair in pairwise(y)}
    for y in labellings(Tagger(config, folds=0).fit(X, TAGS)):
        assert set(pairwise(y)) <= seen or y in (["V", "D"],)


def test_gold_that_breaks_a_rule_is_named(tmp_path, run):  # noqa: F811
    with pytest.raises(ForbiddenGold, match="sentence 2, token 4: V -> D is forbidden"):
        Tagger(Crf(forbid="V->D"), folds=0).fit(X, TAGS)
    with pytest.raises(ForbiddenGold, match="sentence 4, token 2: V is forbidden here: V needs N"):
        Tagger(StructuredPerceptron(need="V needs N"), folds=0).fit(X, TAGS)
    path = tmp_path / "gold.tsv"
    path.write_text(
        "\n\n".join("\n".join(map("\t".join, zip(*p, strict=True))) for p in zip(X, TAGS, strict=True))
    )
    made = run("train", path, "-o", tmp_path / "m.chaff", "--forbid", "V->D", "--recipe", "crf")
    assert made.code == 2
    assert "gold.tsv:8: V -> D is forbidden" in made.err


def test_rules_that_cannot_be_read_are_refused():
    for rules, message in (
        ({"forbid": "D->Z"}, "there is no label 'Z'"),
        ({"forbid": "D N"}, "expected 'A->B'"),
        ({"fixed": "D->N=x"}, "expected a finite number, got 'x'"),
        ({"fixed": "D->Z=1"}, "there is no label 'Z'"),
        ({"need": "V wants N"}, "expected 'A needs B since C'"),
    ):
        with pytest.raises(ConfigError, match=message):
            Tagger(Crf(**rules), folds=0).fit(X, TAGS)
    with pytest.raises(ConfigError, match="needs a value"):
        Tagger(Hmm(fixed="D->N"), folds=0).fit(X, TAGS)


def test_rules_are_calibrated_and_survive_folds_that_lack_a_label():
    tags = [*TAGS[:-1], ["Q", "V"]]
    tagger = Tagger(Crf(forbid="Q->N")).fit(X, tags)
    assert tagger.predict(X[:2]) == TAGS[:2]


INCREMENTAL = [Greedy, EasiestFirstTagger, BeamTagger]


@pytest.mark.parametrize("config", INCREMENTAL)
def test_gold_that_breaks_a_rule_is_named_by_incremental_recipes(config, tmp_path, run):  # noqa: F811
    with pytest.raises(ForbiddenGold, match="sentence 2, token 4: V -> D is forbidden"):
        Tagger(config(forbid="V->D"), folds=0).fit(X, TAGS)
    with pytest.raises(ForbiddenGold, match="sentence 4, token 2: V is forbidden here: V needs N"):
        Tagger(config(need="V needs N"), folds=0).fit(X, TAGS)
    path = tmp_path / "gold.tsv"
    path.write_text(
        "\n\n".join("\n".join(map("\t".join, zip(*p, strict=True))) for p in zip(X, TAGS, strict=True))
    )
    recipe = {Greedy: "greedy", EasiestFirstTagger: "easiest-first", BeamTagger: "beam"}[config]
    made = run("train", path, "-o", tmp_path / "m.chaff", "--forbid", "V->D", "--recipe", recipe)
    assert made.code == 2
    assert "gold.tsv:8: V -> D is forbidden" in made.err


@pytest.mark.parametrize("config", INCREMENTAL)
def test_incremental_rules_of_outer_labels_hold_for_all_inner_ones(config):
    y = [["B-X", "I-X", "O"], ["B-X", "O", "B-Y"], ["O", "B-Y", "I-Y", "I-Y"]] * 4
    words = [["a", "b", "c"], ["a", "c", "d"], ["c", "d", "e", "e"]] * 4
    tagger = Tagger(config(forbid="B-Y->B-X, O->B-X, B-X->B-X", inside="auto", epochs=2), folds=0).fit(
        words, y
    )
    assert "S-X" in tagger.model_.labels.inner
    for found in tagger.predict([["c", "a", "a", "d", "a"], ["a", "a", "a"], ["d", "a", "c", "a"]]):
        assert not {("B-Y", "B-X"), ("O", "B-X"), ("B-X", "B-X")} & set(pairwise(found))
    with pytest.raises(ConfigError, match="need works only with labels that are learnt as given"):
        Tagger(config(need="I-X needs B-X", inside="auto"), folds=0).fit(words, y)


def test_rules_of_incremental_recipes_survive_folds_that_lack_a_label():
    tags = [*TAGS[:-1], ["Q", "V"]]
    assert Tagger(Greedy(forbid="Q->N", epochs=3), folds=3).fit(X, tags).predict(X[:2]) == TAGS[:2]


# -- posterior decoding ---------------------------------------------------------------------------------------------


def torn(config):
    """A tagger of sentences whose most probable labels, token by token, break its rules."""
    words, tags = [["a", "b"]] * 10, [["B-X", "I-X"]] * 4 + [["O", "B-X"]] * 3 + [["O", "O"]] * 3
    return Tagger(config, features=["w[0]"], folds=0).fit(words, tags)


@pytest.mark.parametrize("config", [Crf(c2=0.01, margin=0.0), Memm(), SemiCrf(margin=0.0, passes=40)])
def test_posterior_labels_obey_the_tag_scheme(config, tmp_path, run):  # noqa: F811
    tagger = torn(config)
    p = tagger.predict_marginals([["a", "b"]])[0]
    place = list(tagger.classes_).index
    likeliest = [tagger.classes_[i] for i in p.argmax(axis=1)]
    legal = {
        y: p[0, place(y[0])] + p[1, place(y[1])]
        for y in product(tagger.classes_, repeat=2)
        if y[0] != "I-X" and y != ("O", "I-X")
    }
    best = max(legal, key=legal.__getitem__)
    assert likeliest == ["O", "I-X"]  # what each token would have by itself
    assert tagger.predict_posterior([["a", "b"]]) == [list(best)]
    tagger.save(tmp_path / "m.chaff")
    (tmp_path / "new").write_text("a\nb\n\na\nb\n")
    shown = run("predict", tmp_path / "m.chaff", tmp_path / "new", "--posterior")
    assert [line.split()[1] for line in shown.out.split("\n") if line] == [*best, *best]


@pytest.mark.parametrize("name", [n for n in CONFIGS if n.startswith(("crf", "hmm", "memm"))])
def test_posterior_labels_obey_rules_and_expect_the_most_correct_labels(name):
    rules = {"forbid": "D->D, <s>->V, N->N, D-></s>"}
    if not refused(name, need=True):
        rules["need"] = "V needs N since D"
    tagger = Tagger(with_rules(CONFIGS[name], **rules), folds=0).fit(X[:3] * 4, TAGS[:3] * 4)
    labels = tagger.classes_.tolist()

    def legal(y):
        met = False
        for label in y:
            if "need" in rules and label == "V" and not met:
                return False
            met = (met and label != "D") or label == "N"
        return not {("D", "D"), ("N", "N")} & set(pairwise(y)) and y[0] != "V" and y[-1] != "D"

    marginals = tagger.predict_marginals(NEW)
    for n, found in enumerate(tagger.predict_posterior(NEW)):
        p, T = marginals[n], len(NEW[n])
        assert legal(found), found
        gain = {
            y: sum(p[t, labels.index(l)] for t, l in enumerate(y))
            for y in product(labels, repeat=T)
            if legal(y)
        }
        assert gain[tuple(found)] == pytest.approx(max(gain.values()), abs=1e-5)
        if hasattr(tagger.model_, "lattices") and name != "crf pruned":
            assert tagger.distributions([NEW[n]])[0].posterior() == found


@pytest.mark.parametrize("config", [Greedy(forbid="D->D, N->N"), EasiestFirstTagger(forbid="D->D, N->N")])
def test_posterior_labels_of_incremental_recipes_are_those_decided(config):
    tagger = Tagger(config, folds=0).fit(X, TAGS)
    assert tagger.predict_posterior(NEW) == tagger.predict(NEW)


def test_incremental_recipes_read_the_same_rules():
    tagger = Tagger(Greedy(forbid="D->D, N->N", need="V needs N since D", epochs=3), folds=0).fit(
        X[:3], TAGS[:3]
    )
    for y in tagger.predict(NEW):
        assert not {("D", "D"), ("N", "N")} & set(pairwise(y))
