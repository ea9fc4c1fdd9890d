"""Learning on, any recipe: corrections and further sentences beside what was learnt before, which stays learnt."""

import warnings

import numpy as np
import pytest

import chaffinch
from chaffinch import Tagger
from chaffinch.errors import ConfigError, DataError, DataWarning
from chaffinch.estimators.learnt import sentence_strings
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.latent import LatentPerceptronTagger, LatentSvmTagger
from chaffinch.recipes.quiet_direction import quiet_direction
from chaffinch.recipes.token_step import with_features_of
from chaffinch.text.table import TokenTable, concatenated
from commandline import Runner, run  # noqa: F401
from lessons import HELD_OUT, N, answers, mistakes, part, refusal_of, reloaded, sentence, twin, uncalibrated


def replaced_labels(table: TokenTable, label: str) -> TokenTable:
    columns = {name: table.lists(name) for name in table.columns}
    return TokenTable.from_lists({**columns, "y": [[label] * len(words) for words in columns["w"]]})


@pytest.fixture(scope="module")
def held_out() -> TokenTable:
    return part(N, N + HELD_OUT)


# Every recipe but crf, whose tests follow; those with hidden labels in a small form, since they are slow.
OTHERS = {
    **{recipe.name: recipe.name for recipe in TAGGERS if recipe.name != "crf"},
    "latent-perceptron": LatentPerceptronTagger(restarts=1, epochs=3),
    "latent-ssvm": LatentSvmTagger(restarts=1, rounds=1, passes=1),
}


@pytest.mark.parametrize("recipe", OTHERS)
def test_a_correction_of_any_recipe_taught_ten_times_is_right_and_harms_nothing_or_is_refused(recipe):
    corpus, size = ("posts", 300) if recipe == "semi-crf" else ("ingredients", 300)
    train, held_out = part(0, size, corpus), part(N, N + HELD_OUT, corpus)
    fitted = Tagger(OTHERS[recipe], folds=0, threads=1).fit(train)
    before, score, falls, refused = answers(fitted, held_out), fitted.score(held_out), [], 0
    for n in mistakes(fitted, held_out)[:40:10]:
        tagger, lesson = twin(fitted), sentence(held_out, n)
        if (refusal := refusal_of(tagger, lesson)) is not None:
            assert recipe in ("hmm", "emission")
            assert "These recipes can: crf, memm, semi-crf" in refusal
            assert tagger.model_ is fitted.model_
            refused += 1
            continue
        model = tagger.model_
        for _ in range(9):
            assert tagger.partial_fit(lesson).model_ is model
        assert n not in mistakes(tagger, held_out)
        changed = sum(a != b for a, b in zip(before, answers(tagger, held_out), strict=True)) - 1
        assert changed <= 0.02 * HELD_OUT
        falls.append(score - tagger.score(held_out))
    assert refused <= 3
    assert max(falls) < 0.001
    assert np.mean(falls) < 0.0005


@pytest.mark.parametrize("recipe", ["perceptron", "ssvm"])
def test_a_correction_of_names_changes_at_most_one_in_a_hundred_other_answers(recipe):
    held_out = part(N, N + 1000, "posts")
    fitted = Tagger(recipe, folds=0, seed=1, threads=1).fit(part(0, N, "posts"))
    before, score, changed = answers(fitted, held_out), fitted.score(held_out), []
    wrong = mistakes(fitted, held_out)
    for n in [wrong[len(wrong) * k // 12] for k in range(12)]:
        tagger = twin(fitted).partial_fit(sentence(held_out, n))
        after = answers(tagger, held_out)
        assert after[n] == held_out.lists("y")[n]
        assert tagger.score(held_out) > score - 0.001
        changed.append(sum(a != b for a, b in zip(before, after, strict=True)) - 1)
    assert max(changed) <= 0.01 * held_out.n_sentences
    assert np.mean(changed) <= 0.003 * held_out.n_sentences


@pytest.mark.parametrize("recipe", ["perceptron", "memm", "greedy", "easiest-first", "beam"])
def test_weights_for_the_new_features_of_a_lesson_change_no_answer(recipe, held_out):
    model = uncalibrated(300, recipe).model_
    grown, _ = with_features_of(model, part(300, 400), 1)
    assert grown.encoder.n_features > model.encoder.n_features
    np.testing.assert_array_equal(grown.decode(held_out, 1), model.decode(held_out, 1))


def test_a_correction_of_a_new_word_is_kept_to_that_word():
    words = ["salt", "flour", "sugar", "pepper", "thyme", "paprika"]
    lines = [[str(k + 2), "g", word] for word in words for k in range(3)]
    tagger = Tagger("perceptron", features=["w[0]", "w[-1]", "shape[0]"], folds=0, threads=1)
    tagger.fit([*lines, ["diced"]], [*[["QTY", "UNIT", "NAME"]] * len(lines), ["PREP"]])
    tagger.partial_fit([["3", "g", "papika"]], [["QTY", "UNIT", "PREP"]])
    assert tagger.predict([["3", "g", "papika"]]) == [["QTY", "UNIT", "PREP"]]
    assert tagger.predict(lines) == [["QTY", "UNIT", "NAME"]] * len(lines)
    assert tagger.predict([["3", "g", "saffron"]]) == [["QTY", "UNIT", "NAME"]]


@pytest.mark.parametrize(("N", "k"), [(40, 3), (4, 9), (0, 2)])
def test_a_step_moves_the_scores_of_learnt_examples_least(N, k):
    rng = np.random.default_rng(0)
    learnt = (rng.random((N, k)) < 0.4).astype(float)
    x = rng.random(k) + 0.1
    examples, features = np.nonzero(learnt)
    d = quiet_direction(x, (examples, features, np.ones(len(features))))

    def harm(d):
        return np.square(learnt @ d).sum() + np.mean(x * x) * (d @ d)

    assert np.isclose(x @ d, x @ x)
    for size in (1e-3, 0.1, 1.0):
        for _ in range(200):
            other = d + size * rng.normal(size=k)
            assert harm(other * (x @ x) / (x @ other)) >= harm(d) - 1e-9


@pytest.mark.parametrize("recipe", ["greedy", "beam", "memm"])
def test_other_labels_of_a_known_sentence_are_learnt_near_the_weights(recipe, held_out):
    train, fitted = part(0, 300), uncalibrated(300, recipe)
    before = answers(fitted, held_out)
    words, labels = train.lists("w")[7], train.lists("y")[7]
    other = next(label for label in fitted.classes_ if label != labels[0])
    given = [list(zip(words, train.lists("pos")[7], strict=True))]
    fitted.partial_fit(given, [[other, *labels[1:]]])
    assert fitted.predict(given) == [[other, *labels[1:]]]
    changed = sum(a != b for a, b in zip(before, answers(fitted, held_out), strict=True))
    assert changed <= 0.02 * HELD_OUT


def test_a_few_corrections_are_learnt_near_the_weights_and_more_by_training_on_all(held_out, monkeypatch):
    tagger = uncalibrated(300, "ssvm")
    trainings = []
    train = TAGGERS.train
    monkeypatch.setattr(type(TAGGERS), "train", lambda self, *a, **k: trainings.append(1) or train(*a, **k))
    for n in mistakes(tagger, held_out)[:3]:
        tagger.partial_fit(sentence(held_out, n))
    assert not trainings
    before = tagger.model_
    tagger.partial_fit(sentence(held_out, mistakes(tagger, held_out)[0]))
    assert trainings
    assert tagger.model_ is not before


@pytest.mark.parametrize("recipe", ["crf", "perceptron", "greedy", "memm"])
def test_a_tagger_learns_on_after_its_first_correction_was_taken_back(recipe, held_out):
    tagger = uncalibrated(300, recipe)  # a crf without marginals
    before, model = answers(tagger, held_out), tagger.model_
    lesson = sentence(held_out, mistakes(tagger, held_out)[0])
    tagger.partial_fit(lesson).forget(lesson)
    assert tagger.model_ is model
    assert answers(tagger, held_out) == before
    anew = Tagger(recipe, folds=0, seed=1, threads=1).fit(part(0, 300))  # shares nothing with the first
    taught = [tagger.partial_fit(lesson), anew.partial_fit(lesson)]
    assert answers(taught[0], held_out) == answers(taught[1], held_out)


@pytest.mark.parametrize("recipe", ["crf", "perceptron", "memm", "greedy"])
def test_the_last_of_two_labellings_in_one_lesson_is_learnt_and_this_is_said(recipe):
    tagger = uncalibrated(300, recipe)
    words = [("2", "CD"), ("cups", "NNS"), ("zyzzyva", "NN")]
    first, last = ["QTY", "UNIT", "NAME"], ["QTY", "NAME", "UNIT"]
    same = r"sentences 2 and 4 of this lesson are the same with different labels: the last of them is learnt"
    with pytest.warns(DataWarning, match=same):
        tagger.partial_fit(
            [[("3", "CD")], words, [("4", "CD")], words],
            [["QTY"], first, ["QTY"], last],
            sample_weight=[0, 1, 0, 1],
        )
    assert tagger.predict([words]) == [last]
    with pytest.raises(DataError, match="nothing to forget"):
        tagger.forget([words], [first])


def test_sentences_have_the_same_string_in_any_table():
    rows = part(0, 50).lists("w"), part(0, 50).lists("pos")
    joined = tuple("\n".join(map("\x1f".join, zip(*cells, strict=True))) for cells in zip(*rows, strict=True))
    odd = [["a\nb"], []], [["NN"], []]  # a token with a line break, a sentence without tokens
    for before in (([], []), odd):
        columns = [a + b for a, b in zip(before, rows, strict=True)]
        table = TokenTable.from_lists(dict(zip(("w", "pos"), columns, strict=True)))
        assert sentence_strings(table, ["w", "pos"])[len(before[0]) :] == joined
    table = TokenTable.from_lists({"w": [["a\nb"], ["a", "b"], ["a\nb"]]})
    first, other, again = sentence_strings(table, ["w"])
    assert first == again != other


@pytest.mark.parametrize("recipe", ["perceptron", "hmm", "greedy"])
def test_a_recipe_without_duals_trains_anew_on_all_data_or_says_that_it_cannot(recipe, held_out, tmp_path):
    first, more = part(0, 200), part(200, 300)
    known = {tuple(words) for words in first.lists("w")}
    more = more.of_sentences(np.array([tuple(words) not in known for words in more.lists("w")]))
    tagger = Tagger(recipe, seed=1, threads=1).fit(first).partial_fit(more)
    anew = Tagger(recipe, seed=1, threads=1).fit(concatenated([first, more]))
    assert answers(tagger, held_out) == answers(anew, held_out)
    loaded = reloaded(tagger, tmp_path / "m.chaff")
    if recipe == "hmm":
        with pytest.raises(ConfigError, match="cannot continue training without its training data"):
            loaded.partial_fit(part(300, 310))
        return
    loaded.partial_fit(part(300, 310))
    assert answers(loaded, part(300, 310)) == part(300, 310).lists("y")


QUICK = [r.name for r in TAGGERS if r.near and r.name != "semi-crf" and not r.name.startswith("latent")]


@pytest.mark.parametrize("recipe", QUICK)
def test_a_loaded_tagger_learns_a_correction_and_harms_nothing(recipe, held_out, tmp_path):
    tagger = Tagger(recipe, seed=1, threads=1).fit(part(0, 200))
    before = answers(tagger, held_out)
    gold = held_out.lists("y")
    wrong = [n for n in range(len(gold)) if before[n] != gold[n]][:3]
    for n in wrong:
        loaded, lesson = reloaded(tagger, tmp_path / "m.chaff"), held_out.taken(np.array([n]))
        for _ in range(3):
            loaded.partial_fit(lesson)
        after = answers(loaded, held_out)
        assert after[n] == gold[n]
        assert np.mean([a != b for a, b in zip(after, before, strict=True)]) < 0.02
        model = loaded.model_
        assert loaded.partial_fit(lesson).model_ is model
        assert answers(loaded.forget(lesson), held_out) == before


def test_a_loaded_tagger_learns_many_sentences_and_names_those_that_contradict(held_out, tmp_path):
    first, more = part(0, 200), part(200, 260)
    for recipe in ("perceptron", "greedy"):
        tagger = reloaded(Tagger(recipe, seed=1, threads=1).fit(first), tmp_path / "m.chaff")
        before = tagger.score(held_out)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            tagger.partial_fit(more)  # some of which contradict others
        assert "60 sentences were learnt by small changes of a model of 200 sentences" in str(said[0].message)
        assert tagger.score(held_out) > before - 0.005
    other = replaced_labels(part(5, 6), "NEW")
    again = reloaded(Tagger("perceptron", seed=1, threads=1).fit(first), tmp_path / "m.chaff").partial_fit(
        other
    )
    assert answers(again, other) == other.lists("y")
    greedy = reloaded(Tagger("greedy", seed=1, threads=1).fit(first), tmp_path / "m.chaff")
    with pytest.warns(DataWarning, match="1 of 1 sentences of this lesson is still wrong"):
        greedy.partial_fit(
            other
        )  # a search that decides label by label gets no further label without its data


@pytest.mark.parametrize(
    "features",
    [
        "chunking",
        "ingredients",
        "ner",
        ["w[0]", "any(w,-3..3)", "w[-2]|w[-1]|w[0]|w[1]|pos[-2]|pos[-1]|pos[0]|shape[0]"],
    ],
    ids=str,
)
def test_a_grown_encoder_is_one_that_saw_all_text_and_keeps_its_ids(features):
    first, more, both = (
        TokenTable(t.ptr, {k: t.columns[k] for k in ("w", "pos")})
        for t in (part(0, 100), part(100, 160), part(0, 160))
    )
    encoder = FeatureEncoder(features, threads=1, stretch=10)
    rows = encoder.fit(first)
    grown, further = encoder.grown(more)
    whole = FeatureEncoder(features, threads=1, stretch=10)
    expected = whole.fit(both)
    assert grown.names(range(encoder.n_features)) == encoder.names(range(encoder.n_features))
    np.testing.assert_array_equal(grown.transform(first).ids, rows.ids)
    np.testing.assert_array_equal(grown.transform(more).ids, further.ids)
    assert sorted(grown.names(range(grown.n_features))) == sorted(whole.names(range(whole.n_features)))
    assert grown.names(further.ids) == whole.names(expected.ids[expected.ptr[first.n_tokens] :])
    again = grown.pruned(np.ones(grown.n_features, bool))
    np.testing.assert_array_equal(again.transform(more).ids, further.ids)


@pytest.mark.parametrize("recipe", ["crf", "greedy"])
def test_training_that_starts_from_a_file_keeps_settings_and_calibration(
    recipe,
    tmp_path,
    run: Runner,  # noqa: F811
    monkeypatch,
):
    monkeypatch.chdir(tmp_path)
    first = Tagger(recipe, features=["w[0]", "w[-1]"], seed=1, threads=1).fit(part(0, 200))
    first.save("m.chaff")
    lesson = part(200, 202)
    tokens = zip(*(lesson.lists(name) for name in ("w", "pos", "y")), strict=True)
    lines = ["".join("\t".join(cells) + "\n" for cells in zip(*one, strict=True)) for one in tokens]
    (tmp_path / "more.tsv").write_text("\n".join(lines), encoding="utf-8")
    made = run("train", "more.tsv", "--start", "m.chaff", "-o", "n.chaff", "--columns", "w,pos,y")
    assert made.code == 0, made.err
    started = chaffinch.load("n.chaff")
    assert answers(started, lesson) == lesson.lists("y")
    assert started.config_ == first.config_
    assert started.model_.temperature == first.model_.temperature != 1.0
    assert started.confidence_ is not None
    if recipe == "crf":
        again = Tagger(Crf(start="m.chaff"), seed=1, threads=1).fit(lesson)
        assert again.model_.temperature == first.model_.temperature
        assert again.confidence_ is not None
