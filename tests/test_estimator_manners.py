"""The contract of sequence estimators: lists in, lists out, and scikit-learn's tools work on them."""

import inspect
import pickle

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import Pipeline

from chaffinch import Aligner, Classifier, ConfigError, DataError, Parser, Reranker, Tagger, load, samples
from chaffinch.errors import DataWarning
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.hmm import Hmm
from chaffinch.recipes.latent import LatentSvmTagger

RECIPES = [recipe.name for recipe in TAGGERS]
# Recipes whose defaults take seconds here.
QUICK = {"latent-ssvm": LatentSvmTagger(rounds=1, passes=1, restarts=2)}


@pytest.fixture(scope="module")
def sentences():
    documents = samples.load("ingredients", "train", n=60)
    return [d.words() for d in documents], [d.columns["y"] for d in documents]


def labelled(recipe, sentences):
    """A few sentences with labels as the recipe wants them: semi-crf labels spans."""
    X, y = (part[:30] for part in sentences)
    return X, [[f"B-{label}" for label in tags] for tags in y] if recipe == "semi-crf" else y


@pytest.mark.parametrize("recipe", RECIPES)
def test_parameters_are_stored_untouched_and_cloned(recipe):
    tagger = Tagger(recipe, seed=3)
    twin = clone(tagger)
    assert twin is not tagger
    assert twin.get_params() == tagger.get_params()
    assert twin.recipe == recipe
    assert not hasattr(twin, "model_")


def test_knobs_of_the_recipe_are_nested_parameters():
    tagger = Tagger("hmm").set_params(recipe__order=1, seed=5)
    assert tagger.recipe == Hmm(order=1)
    assert tagger.get_params()["recipe__order"] == 1
    assert tagger.seed == 5
    with pytest.raises(ConfigError, match="no parameter 'sed'"):
        tagger.set_params(sed=5)
    with pytest.raises(ConfigError, match="Hmm has no setting 'orders'"):
        tagger.set_params(recipe__orders=5)


def test_an_unknown_recipe_is_refused_with_those_there_are(sentences):
    with pytest.raises(ConfigError, match=r"there is no recipe 'hhm'; there are .*hmm"):
        Tagger("hhm").fit(*sentences)


@pytest.mark.parametrize("recipe", RECIPES)
def test_answers_are_lists_of_lists_even_when_all_sentences_have_one_length(recipe, sentences):
    X, y = labelled(recipe, sentences)
    tagger = Tagger(QUICK.get(recipe, recipe)).fit(X, y)
    assert tagger.predict([]) == []
    assert tagger.predict([[]]) == [[]]
    one = tagger.predict([["salt"], ["pepper"]])
    assert [len(tags) for tags in one] == [1, 1]
    assert all(isinstance(tag, str) for tags in one for tag in tags)
    assert [len(tags) for tags in tagger.predict(X)] == [len(words) for words in X]


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_same_seed_gives_the_same_file_for_any_number_of_threads(recipe, sentences, tmp_path):
    files = []
    for threads in (1, 2):
        path = tmp_path / f"{threads}.chaff"
        tagger = Tagger(QUICK.get(recipe, recipe), seed=7, threads=threads)
        tagger.fit(*labelled(recipe, sentences)).save(path)
        files.append(path.read_bytes())
    assert files[0] == files[1]
    assert load(tmp_path / "1.chaff").predict(sentences[0]) == load(tmp_path / "2.chaff").predict(
        sentences[0]
    )


def test_cross_validation_grid_search_and_pipelines_work(sentences):
    X, y = sentences
    scores = cross_val_score(Tagger("hmm"), X, y, cv=KFold(3))
    assert len(scores) == 3
    assert all(0.5 < s <= 1.0 for s in scores)
    search = GridSearchCV(Tagger("hmm"), {"recipe__order": [1, 2]}, cv=KFold(2)).fit(X, y)
    assert search.best_params_["recipe__order"] in (1, 2)
    grouped = cross_val_score(Tagger("hmm"), X, y, cv=GroupKFold(3), groups=[i % 6 for i in range(len(X))])
    assert len(grouped) == 3
    pipeline = Pipeline([("tag", Tagger("hmm"))]).fit(X, y)
    assert pipeline.predict(X[:2]) == Tagger("hmm").fit(X, y).predict(X[:2])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (7, "expected a list of sentences, got int"),
        (["a", "sentence"], "sentence 1 is a string, expected a list of tokens: 'a'"),
        ([[1, 2]], "sentence 1: expected tokens of"),
        ([["a"], [("b", "NN")]], "expected"),
    ],
)
def test_input_that_is_no_list_of_sentences_is_refused(X, message, sentences):
    tagger = Tagger("hmm").fit(*sentences)
    with pytest.raises(DataError, match=message):
        tagger.predict(X)


@pytest.mark.parametrize(
    ("recipe", "features"),
    [("hmm", None), ("perceptron", ["w[0]"]), ("perceptron", ["w[0]", "elsewhere[0]"])],
)
def test_a_missing_token_is_refused(recipe, features, sentences):
    tagger = Tagger(recipe, features=features).fit(*sentences)
    with pytest.raises(DataError, match=r"expected .*strings, found .*None"):
        tagger.predict([["salt", None]])


def test_labels_that_differ_only_in_spelling_are_said():
    with pytest.warns(DataWarning, match="'spam' and 'Spam ' differ only"):
        Classifier("nb").fit(["a b", "b c", "c d"], ["spam", "ham", "Spam "])
    with pytest.warns(DataWarning, match=r"'NOUN'.* differ only"):
        Tagger("hmm").fit([["a", "b"], ["b", "c"]], [["NOUN", "VERB"], ["noun", "VERB"]])


class Louder(Tagger):
    """A subclass without a task of its own."""


def test_saving_a_subclass_that_is_loaded_as_its_base_is_said(sentences, tmp_path):
    louder = Louder("hmm").fit(*sentences)
    with pytest.warns(DataWarning, match="this Louder is loaded as Tagger"):
        louder.save(tmp_path / "m.chaff")
    assert type(load(tmp_path / "m.chaff")) is Tagger
    assert type(pickle.loads(pickle.dumps(louder))) is Louder  # without a warning


def test_a_tagger_that_was_not_trained_says_so():
    with pytest.raises(ConfigError, match="not trained"):
        Tagger("hmm").predict([["a"]])


def test_a_label_never_seen_counts_as_wrong_when_scoring(sentences):
    X, y = sentences
    tagger = Tagger("hmm").fit(X, y)
    assert tagger.score([["salt"]], [["ELSE"]]) == 0.0


@pytest.mark.parametrize("kind", [Tagger, Classifier, Parser, Aligner, Reranker])
def test_every_estimator_is_cloned_with_its_parameters_and_names_those_it_has(kind):
    made = kind(seed=7, threads=1)
    copy = clone(made)
    assert copy.get_params() == made.get_params()
    assert copy.get_params(deep=False).keys() == set(inspect.signature(kind).parameters)
    assert repr(copy) == f"{kind.__name__}(seed=7, threads=1)"
    assert not copy.__sklearn_is_fitted__()
    knob = next(name for name in copy.get_params() if name.startswith("recipe__"))
    copy.set_params(**{knob: copy.get_params()[knob]}, threads=2)
    assert (copy.threads, made.threads) == (2, 1)
    with pytest.raises(ConfigError, match=f"{kind.__name__} has no parameter 'strange'; it has recipe, "):
        copy.set_params(strange=1)
