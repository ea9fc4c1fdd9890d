"""What estimators take as input: columns of any library, one text, nothing; what is missing is refused with its row."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaffinch.errors import ConfigError, DataError, DataWarning
from chaffinch.estimators import Classifier, Tagger
from commandline import Runner, run  # noqa: F401

TEXTS = ["good tea", "fine tea", "bad tea", "awful tea"]
LABELS = ["+", "+", "-", "-"]
SENTENCES = [["the", "dog", "barks"], ["a", "cat"], ["dogs", "bark"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["N", "V"]]
NAN = float("nan")


def series(column: list) -> Any:
    return pytest.importorskip("pandas").Series(column)


def arrow(column: list) -> Any:
    return pytest.importorskip("pyarrow").array(column)


def chunked(column: list) -> Any:
    return pytest.importorskip("pyarrow").chunked_array([column[:1], column[1:]])


def polars(column: list) -> Any:
    return pytest.importorskip("polars").Series(column)


def generator(column: list) -> Any:
    return (one for one in column)


def objects(column: list) -> Any:
    made = np.empty(len(column), dtype=object)
    made[:] = column
    return made


KINDS = [series, arrow, chunked, polars, generator, objects, tuple]


@pytest.mark.parametrize("made", KINDS)
def test_a_classifier_reads_columns_of_any_kind(made: Callable[[list], Any]) -> None:
    expected = Classifier("nb").fit(TEXTS, LABELS).predict_proba(TEXTS)
    classifier = Classifier("nb").fit(made(TEXTS), made(LABELS))
    np.testing.assert_array_equal(classifier.predict_proba(made(TEXTS)), expected)


@pytest.mark.parametrize("made", KINDS)
def test_a_tagger_reads_columns_of_any_kind(made: Callable[[list], Any]) -> None:
    tagger = Tagger("hmm").fit(made(SENTENCES), made(TAGS))
    assert tagger.predict(made(SENTENCES)) == Tagger("hmm").fit(SENTENCES, TAGS).predict(SENTENCES)
    assert tagger.score(made(SENTENCES), made(TAGS)) == 1.0


def test_a_frame_with_one_text_column_is_that_column() -> None:
    pandas = pytest.importorskip("pandas")
    classifier = Classifier("nb").fit(pandas.DataFrame({"text": TEXTS}), LABELS)
    assert classifier.predict(pandas.DataFrame({"t": ["good", "bad"]})).tolist() == ["+", "-"]
    table = pytest.importorskip("pyarrow").table({"text": TEXTS})
    assert classifier.predict(table).tolist() == LABELS
    for library in (pandas, pytest.importorskip("polars")):
        assert classifier.predict(library.DataFrame({"t": TEXTS})).tolist() == LABELS
        with pytest.raises(DataError, match="text columns text, n: give one of them"):
            Classifier("nb").fit(library.DataFrame({"text": TEXTS, "n": TEXTS}), LABELS)


def test_a_frame_of_numbers_is_a_matrix() -> None:
    for library in (pytest.importorskip("pandas"), pytest.importorskip("polars")):
        frame = library.DataFrame({"a": [0.0, 1.0, 5.0, 6.0], "b": [1.0, 0.0, 1.0, 0.0]})
        assert Classifier("maxent").fit(frame, LABELS).predict(frame).tolist() == LABELS


def test_one_text_is_one_document_or_one_sentence() -> None:
    assert Classifier("nb").fit(TEXTS, LABELS).predict("good tea").tolist() == ["+"]
    assert Tagger("hmm").fit(SENTENCES, TAGS).predict("the cat barks") == [["D", "N", "V"]]


def test_nothing_gives_nothing() -> None:
    assert len(Classifier("nb").fit(TEXTS, LABELS).predict([])) == 0
    assert Tagger("hmm").fit(SENTENCES, TAGS).predict([]) == []
    table = {"w": SENTENCES, "shape": TAGS}
    assert Tagger("crf", features=["w[0]", "shape[0]"]).fit(table, TAGS).predict([]) == []


@pytest.mark.parametrize("missing", [NAN, None, np.nan])
def test_a_missing_label_of_a_document_is_refused_with_its_row(missing: Any) -> None:
    rows = ["+", "-", missing, "-"]
    for y in (rows, objects(rows), series(rows), polars(["+", "-", None, "-"])):
        with pytest.raises(DataError, match="NaN: the label of document 3"):
            Classifier("nb").fit(TEXTS, y)
    with pytest.raises(DataError, match="document 2"):
        Classifier("nb").fit(TEXTS, [["+"], ["-", missing], ["-"], ["+"]])


def test_numbers_among_which_one_is_missing_are_refused_with_the_row() -> None:
    for y in ([0, 1, NAN, 1], np.array([0, 1, NAN, 1])):
        with pytest.raises(DataError, match="NaN: the label of document 3"):
            Classifier("nb").fit(TEXTS, y)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DataError, match="NaN: the label of document 1"):
        Classifier("nb").fit(TEXTS, pandas.Series([pandas.NA, 1, 0, 1], dtype="Int64"))
    with pytest.raises(DataError, match="NaN: the label of document 2"):
        Classifier("nb").fit(TEXTS, polars([0, None, 0, 1]))


def test_polars_columns_of_numbers_categories_and_sentences_are_read() -> None:
    library = pytest.importorskip("polars")
    numbers = Classifier("nb").fit(polars(TEXTS), polars([1, 1, 0, 0]))
    assert numbers.predict(polars(TEXTS)).tolist() == [1, 1, 0, 0]
    names = library.Series(LABELS, dtype=library.Categorical)
    assert Classifier("nb").fit(polars(TEXTS), names).predict(TEXTS).tolist() == LABELS
    frame = library.DataFrame({"tokens": SENTENCES, "tags": TAGS})
    tagger = Tagger("crf", features=["w[0]"], folds=0).fit(
        frame["tokens"], frame["tags"], sample_weight=[1, 2, 1]
    )
    assert tagger.predict(frame["tokens"]) == TAGS
    weights = library.Series([1.0, 0.0, 2.0, 1.0])
    assert Classifier("ridge").fit(polars(TEXTS), polars(LABELS), weights).predict("bad tea").tolist() == [
        "-"
    ]


def test_a_missing_text_is_refused_with_its_row() -> None:
    with pytest.raises(DataError, match="document 1 is missing"):
        Classifier("nb").fit([None, *TEXTS[1:]], LABELS)
    with pytest.raises(DataError, match="document 2 is missing"):
        Classifier("nb").fit(series([TEXTS[0], None, *TEXTS[2:]]), LABELS)


def test_a_tag_that_is_not_a_number_is_refused_with_its_place() -> None:
    with pytest.raises(DataError, match="token 2 of sentence 2 is nan"):
        Tagger("hmm").fit(SENTENCES, [TAGS[0], ["D", NAN], TAGS[2]])


@pytest.mark.parametrize("made", [list, series, arrow, polars, generator, objects])
def test_a_missing_sentence_is_refused_with_its_row(made: Callable[[list], Any]) -> None:
    for n in range(3):
        X, y = ([*side[:n], None, *side[n + 1 :]] for side in (SENTENCES, TAGS))
        with pytest.raises(
            DataError, match=f"sentence {n + 1} is missing: expected a list of tokens, got None"
        ):
            Tagger("hmm").fit(made(X), TAGS)
        with pytest.raises(
            DataError, match=f"sentence {n + 1} is missing: expected a list of labels, got None"
        ):
            Tagger("hmm").fit(SENTENCES, made(y))
        with pytest.raises(DataError, match=f"sentence {n + 1} is missing"):
            Tagger("hmm").fit(SENTENCES, TAGS).predict(made(X))
        with pytest.raises(DataError, match=f"sentence {n + 1} is missing"):
            Tagger("hmm").fit({"w": made(X), "pos": TAGS}, TAGS)


def test_a_token_that_is_no_string_is_refused_with_its_place() -> None:
    with pytest.raises(DataError, match=r"found None \(token 2 of sentence 2\)"):
        Tagger("hmm").fit([SENTENCES[0], ["a", None], SENTENCES[2]], TAGS)


def test_errors_in_a_stream_of_sentences_count_from_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaffinch.estimators.streams.BATCH", 2)
    pyarrow = pytest.importorskip("pyarrow")

    def refused(X: list, y: list) -> str:
        table = pyarrow.table({"tokens": X, "tags": y})
        said = set()
        for stream in (iter(zip(X, y, strict=True)), table.to_reader(max_chunksize=1)):
            with pytest.raises(DataError) as error:
                Tagger("crf").fit(stream)
            said.add(str(error.value))
        (one,) = said
        return one

    before, labels = SENTENCES * 3, TAGS * 3
    assert "sentence 10 is missing: expected a list of tokens" in refused([*before, None], [*labels, ["D"]])
    assert "sentence 10 is missing: expected a list of labels" in refused([*before, ["a"]], [*labels, None])
    assert refused([*before, ["a"]], [*labels, ["D", "N"]]) == "sentence 10 has 1 tokens and 2 labels"
    assert "found None (token 2 of sentence 10)" in refused([*before, ["a", None]], [*labels, ["D", "N"]])
    assert refused([*before, ["a"]], [*labels, [None]]).startswith("sentence 10: a stream")


def test_errors_in_a_stream_of_documents_count_from_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaffinch.estimators.streamed_documents.BATCH", 2)
    for text, label in ((None, "+"), ("good tea", None)):
        stream = iter([*zip(TEXTS, LABELS, strict=True), (text, label)])
        with pytest.raises(DataError, match="document 5: expected a stream of texts with one label each"):
            Classifier().fit(stream)


def test_whole_numbers_as_tags_are_learned_as_strings_and_said() -> None:
    with pytest.warns(DataWarning, match="whole numbers"):
        tagger = Tagger("hmm").fit(SENTENCES, [[0, 1, 2], np.array([0, 1]), [1, 2]])
    assert tagger.predict([["the", "cat"]]) == [["0", "1"]]


def test_feature_strings_and_second_columns_are_not_guessed_in_silence() -> None:
    features = [[["w=the", "bias"], ["w=dog", "bias"]]]
    assert Tagger("crf").fit(features, [["D", "N"]]).columns_ == ("attributes",)
    with pytest.raises(ConfigError, match="no words for templates to read"):
        Tagger("crf", features=["w[0]", "pos[0]"]).fit(features, [["D", "N"]])
    with pytest.warns(DataWarning, match="second column of tokens is read as parts of speech"):
        Tagger("crf", features=["w[0]", "pos[0]"]).fit([[("the", "x"), ("dog", "y")]], [["D", "N"]])


def test_columns_that_no_feature_reads_are_said() -> None:
    tokens = [[("the", "a", "b"), ("dog", "c", "d")]]
    with pytest.warns(DataWarning, match="no feature reads the columns x1, x2"):
        Tagger("hmm").fit(tokens, [["D", "N"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tagger("crf", features=["w[0]", "x1[0]", "x2[0]"]).fit(tokens, [["D", "N"]])
        named = {"w": [["the", "dog"]], "mine": [["a", "b"]]}
        Tagger("hmm").fit(named, [["D", "N"]])


def test_columns_of_a_file_that_no_feature_reads_are_a_line_on_stderr(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "a.conll").write_text("the a b D\ndog c d N\n\n")
    outcome = run("train", tmp_path / "a.conll", "-o", tmp_path / "m.chaff", "--recipe", "hmm")
    assert outcome.code == 0
    assert "chaffinch: no feature reads the columns x1, x2" in outcome.err
    (tmp_path / "b.conll").write_text("the DT D\ndog NN N\n\n")
    outcome = run("train", tmp_path / "b.conll", "-o", tmp_path / "m.chaff")
    assert "the second of three columns is read as parts of speech (pos)" in outcome.err
    outcome = run("train", tmp_path / "b.conll", "-o", tmp_path / "m.chaff", "--columns", "w,pos,y")
    assert "parts of speech" not in outcome.err
    rows = "sentence,word,pos,label\n1,the,DT,D\n1,dog,NN,N\n2,a,DT,D\n2,cat,NN,N\n"
    (tmp_path / "c.csv").write_text(rows)  # its header names the columns
    outcome = run("train", tmp_path / "c.csv", "-o", tmp_path / "m.chaff", "--recipe", "hmm")
    assert (outcome.code, "parts of speech" in outcome.err) == (0, False)
