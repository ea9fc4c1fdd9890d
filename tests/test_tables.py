"""Tables of texts and numbers: frames of pandas and polars, Arrow, and scikit-learn's ColumnTransformer."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from chaffinch import Classifier, ConfigError, DataError, Tagger, Vectorizer, load
from chaffinch.features.ngrams import TextVectorizer

N = 120
rng = np.random.default_rng(3)
PRICE = rng.normal(50, 20, N)
STARS = rng.integers(1, 6, N)
TEXT = [
    f"{rng.choice(['good', 'fine', 'bad', 'poor'])} {rng.choice(['tea', 'cake', 'dog'])}" for _ in range(N)
]
# The label needs the word and the number: cheap things are liked if they are good or fine.
LABEL = [
    "yes" if (text.split()[0] in ("good", "fine")) == (price < 50) else "no"
    for text, price in zip(TEXT, PRICE, strict=True)
]
SIMPLE = ["yes" if price < 50 else "no" for price in PRICE]
FRAME = pandas.DataFrame({"price": PRICE, "text": TEXT, "stars": STARS}, index=range(1000, 1000 + N))


def as_frame(library: str) -> Any:
    if library == "pandas":
        return FRAME
    return (
        polars.DataFrame(FRAME.to_dict("list"))
        if library == "polars"
        else pyarrow.table(FRAME.to_dict("list"))
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_table_of_a_text_and_numbers_is_learnt_as_text_with_numbers_beside(library: str) -> None:
    expected = Classifier("ridge").fit(TEXT, SIMPLE, beside={"price": PRICE, "stars": STARS})
    classifier = Classifier("ridge").fit(as_frame(library), SIMPLE)
    np.testing.assert_array_equal(
        classifier.predict_proba(as_frame(library)),
        expected.predict_proba(TEXT, beside={"price": PRICE, "stars": STARS}),
    )
    assert classifier.score(as_frame(library), SIMPLE) > 0.9
    assert classifier.get_feature_names_out()[-2:].tolist() == ["price", "stars"]


def test_columns_are_matched_by_name_and_checked() -> None:
    classifier = Classifier("ridge").fit(FRAME, SIMPLE)
    np.testing.assert_array_equal(
        classifier.predict_proba(FRAME[["stars", "price", "text"]]), classifier.predict_proba(FRAME)
    )
    with pytest.raises(DataError, match="expected the columns price, stars beside the text"):
        classifier.predict(FRAME[["text", "price"]])
    with pytest.raises(DataError, match="expected 2 columns beside the text"):
        classifier.predict(FRAME["text"])
    with pytest.raises(DataError, match="numbers are also given beside it"):
        Classifier("ridge").fit(FRAME, SIMPLE, beside=FRAME[["price"]])
    with pytest.raises(DataError, match="text columns text, again"):
        Classifier("ridge").fit(FRAME.assign(again=TEXT), SIMPLE)
    with pytest.raises(DataError, match="column 'when' beside the text must hold numbers, found"):
        Classifier("ridge").fit(FRAME.assign(when=pandas.Timestamp("2020-01-01")), SIMPLE)


def test_missing_numbers_and_truth_values_are_read() -> None:
    frame = FRAME.assign(stars=FRAME["stars"].astype("Int64").mask(STARS == 3), new=PRICE < 50)
    classifier = Classifier("ridge").fit(frame, SIMPLE)
    assert "stars missing" in classifier.get_feature_names_out().tolist()
    assert classifier.score(frame, SIMPLE) == 1.0


def test_weights_of_zero_leave_rows_of_a_table_out() -> None:
    weight = (np.arange(N) % 3 > 0).astype(float)
    kept = np.flatnonzero(weight)
    expected = Classifier("ridge").fit(FRAME.iloc[kept], [SIMPLE[n] for n in kept])
    for table in (FRAME, FRAME[["text", "price", "stars"]].to_numpy(dtype=object)):
        classifier = Classifier("ridge").fit(table, SIMPLE, sample_weight=weight)
        np.testing.assert_array_equal(classifier.predict_proba(table), expected.predict_proba(FRAME))


def test_a_model_of_a_table_is_kept_in_a_file_and_explained(tmp_path: Path) -> None:
    classifier = Classifier("ridge").fit(FRAME, SIMPLE)
    classifier.save(tmp_path / "m.chaff")
    for again in (load(tmp_path / "m.chaff"), pickle.loads(pickle.dumps(classifier))):
        np.testing.assert_array_equal(again.predict(FRAME), classifier.predict(FRAME))
    why = classifier.explain(FRAME.iloc[[0]])
    assert why.decisions[0].ranked()[0].name == "price"
    assert why.answer == classifier.predict(FRAME.iloc[[0]])[0]


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_a_classifier_ends_a_pipeline_of_texts_and_scaled_numbers(output: str) -> None:
    prepared = ColumnTransformer(
        [("text", "passthrough", ["text"]), ("numbers", StandardScaler(), ["price", "stars"])]
    )
    prepared.set_output(transform=output)
    pipeline = Pipeline([("prepared", prepared), ("classifier", Classifier("ridge"))]).fit(FRAME, SIMPLE)
    expected = Classifier("ridge").fit(FRAME, SIMPLE)
    # Numbers are scaled by their spread in training: scaling them before changes nothing.
    np.testing.assert_allclose(pipeline.predict_proba(FRAME), expected.predict_proba(FRAME), atol=1e-5)
    assert pipeline.score(FRAME, SIMPLE) > 0.9
    assert cross_val_score(pipeline, FRAME, SIMPLE, cv=3).min() > 0.8


def test_numbers_of_any_scale_give_the_same_classifier() -> None:
    plain = Classifier("ridge").fit(FRAME, SIMPLE)
    scaled = FRAME.assign(price=FRAME["price"] * 1e6 - 1e5, stars=FRAME["stars"] / 1000)
    np.testing.assert_allclose(
        Classifier("ridge").fit(scaled, SIMPLE).predict_proba(scaled), plain.predict_proba(FRAME), atol=1e-4
    )


def test_settings_of_a_classifier_in_a_pipeline_are_searched() -> None:
    pipeline = make_pipeline(
        ColumnTransformer([("text", "passthrough", ["text"]), ("numbers", StandardScaler(), ["price"])]),
        Classifier("ridge", calibrate=False),
    )
    found = GridSearchCV(
        pipeline, {"classifier__features": ["words", "counts"], "classifier__bits": [8, 32]}, cv=3
    )
    assert found.fit(FRAME, SIMPLE).best_score_ > 0.8


# -- the vectoriser ---------------------------------------------------------------------------------------------------


def test_the_vectoriser_counts_what_scikit_learn_counts() -> None:
    ours = Vectorizer(TextVectorizer(ngram_high=2))
    theirs = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\w+")
    a, b = ours.fit_transform(TEXT), theirs.fit_transform(TEXT)
    order = [ours.get_feature_names_out().tolist().index(name) for name in theirs.get_feature_names_out()]
    np.testing.assert_array_equal(a.toarray()[:, order], b.toarray())
    np.testing.assert_array_equal(
        ours.transform(["good dog x"]).toarray()[:, order], theirs.transform(["good dog x"]).toarray()
    )


@pytest.mark.parametrize("column", ["text", ["text"]])
def test_the_vectoriser_feeds_any_estimator_in_a_column_transformer(column: Any) -> None:
    prepared = ColumnTransformer(
        [("text", Vectorizer("counts"), column), ("numbers", StandardScaler(), ["price", "stars"])]
    )
    pipeline = make_pipeline(prepared, LogisticRegression(max_iter=1000)).fit(FRAME, SIMPLE)
    assert pipeline.score(FRAME, SIMPLE) > 0.9
    names = prepared.get_feature_names_out().tolist()
    assert names[-2:] == ["numbers__price", "numbers__stars"]
    assert "text__good" in names
    numbers = prepared.transform(FRAME)[:, -2:].toarray()
    np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(numbers.std(axis=0), 1)
    searched = GridSearchCV(pipeline, {"columntransformer__text__features": ["counts", "words"]}, cv=3)
    assert searched.fit(FRAME, SIMPLE).best_score_ > 0.8
    # And for a classifier of ours, which then reads a matrix.
    assert make_pipeline(prepared, Classifier("maxent")).fit(FRAME, SIMPLE).score(FRAME, SIMPLE) > 0.9


def test_the_vectoriser_gives_frames_and_joins_unions() -> None:
    dense = Vectorizer("counts", dense=True)
    for library, kind in (("pandas", pandas.DataFrame), ("polars", polars.DataFrame)):
        prepared = ColumnTransformer([("text", dense, "text"), ("numbers", "passthrough", ["price"])])
        made = prepared.set_output(transform=library).fit_transform(FRAME)
        assert isinstance(made, kind)
        assert "text__good" in list(made.columns)
    assert dense.set_output(transform="pandas").fit_transform(FRAME["text"]).index.equals(FRAME.index)
    with pytest.raises(ConfigError, match="hold dense columns"):
        Vectorizer("counts").set_output(transform="pandas").fit_transform(TEXT)
    union = FeatureUnion(
        [("a", Vectorizer("counts")), ("b", Vectorizer(TextVectorizer(unit="char", ngram_low=2)))]
    )
    both = union.fit_transform(TEXT)
    assert both.shape[1] == sum(v.transform(TEXT).shape[1] for _, v in union.transformer_list)


def test_the_vectoriser_is_a_transformer() -> None:
    vectorizer = Vectorizer(TextVectorizer(ngram_high=1), threads=1)
    again = clone(vectorizer)
    assert again.get_params() == vectorizer.get_params()
    assert repr(Vectorizer("counts", dense=True)) == "Vectorizer('counts', dense=True)"
    with pytest.raises(ConfigError, match="not fitted"):
        vectorizer.transform(TEXT)
    fitted = pickle.loads(pickle.dumps(vectorizer.fit(TEXT)))
    assert (fitted.transform(TEXT) != vectorizer.transform(TEXT)).nnz == 0
    with pytest.raises(ConfigError, match="no parameter 'sparse'"):
        vectorizer.set_params(sparse=True)
    with pytest.raises(DataError, match="columns of numbers beside"):
        vectorizer.fit(FRAME)
    with pytest.raises(DataError, match="document 2 is missing"):
        vectorizer.fit(pandas.Series(["a", None]))


# -- taggers ----------------------------------------------------------------------------------------------------------

SENTENCES = [["the", "dog", "barks"], ["a", "cat"], ["dogs", "bark"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["N", "V"]]
LIBRARIES = [pandas.DataFrame, polars.DataFrame, pyarrow.table]


@pytest.mark.parametrize("made", LIBRARIES)
def test_a_tagger_reads_the_columns_of_a_frame(made: Any) -> None:
    expected = Tagger("hmm").fit(SENTENCES, TAGS)
    tagger = Tagger("hmm").fit(made({"tokens": SENTENCES}), made({"tags": TAGS}))
    assert tagger.fingerprint_ == expected.fingerprint_
    assert tagger.predict(made({"tokens": SENTENCES})) == TAGS
    assert tagger.score(made({"x": SENTENCES}), made({"tags": TAGS})["tags"]) == 1.0
    two = Tagger("crf", features=["w[0]", "pos[0]"], folds=0).fit(
        made({"tokens": SENTENCES, "pos": TAGS}), TAGS
    )
    assert two.columns_ == ("w", "pos")
    assert two.predict(made({"pos": TAGS, "words": SENTENCES})) == TAGS
    with pytest.raises(DataError, match="column of words called w or tokens or words, found a, b"):
        tagger.predict(made({"a": SENTENCES, "b": TAGS}))


@pytest.mark.parametrize("made", [pandas.Series, polars.Series, pyarrow.array])
def test_a_tagger_cuts_a_column_of_texts_into_words(made: Any) -> None:
    tagger = Tagger("hmm").fit(SENTENCES, TAGS)
    texts = ["the dog barks", "a cat"]
    assert tagger.predict(made(texts)) == [["D", "N", "V"], ["D", "N"]]
    assert [len(found) for found in tagger.predict_spans(made(texts))] == [3, 2]
    with pytest.raises(DataError, match="sentence 1 is a string"):
        tagger.predict(texts)
    with pytest.raises(DataError, match="document 2 is missing"):
        tagger.predict(made(["a cat", None]))


@pytest.mark.parametrize("made", [pandas.Series, polars.Series, pyarrow.array])
def test_a_classifier_learns_on_from_columns(made: Any) -> None:
    classifier = Classifier("ridge").fit(made(["good tea", "bad tea"]), made(["+", "-"]))
    assert classifier.partial_fit(made(["lovely cake"]), made(["+"])).predict(made(["lovely"])).tolist() == [
        "+"
    ]
    assert classifier.forget(made(["lovely cake"])).predict(["bad"]).tolist() == ["-"]
