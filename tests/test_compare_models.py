"""What a new model changed: rows fixed and broken, the verdict, and answers of every kind."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch import Aligner, Classifier, Parser, Tagger, load, samples
from chaffinch.corpus import write
from chaffinch.corpus.conversion import convert
from chaffinch.errors import ConfigError, DataError, DataWarning
from chaffinch.evaluate.evaluation import Evaluation, evaluate_files
from chaffinch.evaluate.intervals import Comparison
from chaffinch.evaluate.mistakes import NONE
from chaffinch.kinds.trees import TreeTestSet
from chaffinch.lab.model_difference import (
    BOTH_WRONG,
    BROKEN,
    CHANGED,
    FIXED,
    ModelDifference,
    Side,
    compare_models,
    verdict,
)
from chaffinch.text.document import Document


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small models of every kind, an old and a new one each, and rows to ask them about."""
    made = tmp_path_factory.mktemp("models")
    for split, n in (("train", 300), ("test", 80)):
        for name, ending in (("posts", "conll"), ("reviews", "csv"), ("trees", "mrg"), ("pairs", "tsv")):
            write(
                samples.load(name, split, n=n if name in ("posts", "reviews") else n // 3),
                made / f"{name}-{split}.{ending}",
            )
    posts = samples.load("posts", n=300)
    X, y = [d.words() for d in posts], [d.columns["y"] for d in posts]
    Tagger("hmm").fit(X, y).save(made / "tags-old.chaff")
    Tagger("perceptron").fit(X, y).save(made / "tags-new.chaff")
    reviews = samples.load("reviews", n=300)
    texts, labels = [d.text for d in reviews], [d.labels[0] for d in reviews]
    Classifier("nb").fit(texts, labels).save(made / "labels-old.chaff")
    Classifier("ridge").fit(texts, labels).save(made / "labels-new.chaff")
    trees = [d.tree for d in samples.load("trees", n=150)]
    Parser("pcfg").fit(trees[:20]).save(made / "trees-old.chaff")
    Parser("pcfg").fit(trees).save(made / "trees-new.chaff")
    pairs = samples.load("pairs", n=60)
    words = [(d.words(), list(d.links.target)) for d in pairs]
    for name, n in (("old", 5), ("new", 60)):
        Aligner().fit(words[:n], [d.links.sure for d in pairs[:n]]).save(made / f"links-{name}.chaff")
    return made


KINDS = [
    ("tags", "posts", "conll"),
    ("labels", "reviews", "csv"),
    ("trees", "trees", "mrg"),
    ("links", "pairs", "tsv"),
]


def compared(folder: Path, kind: str, corpus: str, ending: str, *, swapped: bool = False) -> ModelDifference:
    models = [folder / f"{kind}-old.chaff", folder / f"{kind}-new.chaff"]
    return compare_models(*(models[::-1] if swapped else models), folder / f"{corpus}-test.{ending}")


@pytest.mark.parametrize(("kind", "corpus", "ending"), KINDS)
def test_a_model_compared_with_itself_changes_nothing(
    folder: Path, kind: str, corpus: str, ending: str
) -> None:
    model = folder / f"{kind}-old.chaff"
    same = compare_models(model, model, folder / f"{corpus}-test.{ending}")
    assert same.changes == []
    assert same.evaluation is not None
    assert all(c.difference == c.low == c.high == 0 for c in same.evaluation.comparison.values())
    assert not verdict(same.evaluation, point=True).regression


@pytest.mark.parametrize(("kind", "corpus", "ending"), KINDS)
def test_swapping_old_and_new_swaps_fixed_and_broken(
    folder: Path, kind: str, corpus: str, ending: str
) -> None:
    there = compared(folder, kind, corpus, ending)
    back = compared(folder, kind, corpus, ending, swapped=True)
    for a, b in ((FIXED, BROKEN), (BROKEN, FIXED), (BOTH_WRONG, BOTH_WRONG)):
        assert {c.row for c in there.of_kind(a)} == {c.row for c in back.of_kind(b)}
    assert there.of_kind(FIXED)
    assert {name: (g, c) for name, g, c in there.confusions()} == {n: (c, g) for n, g, c in back.confusions()}
    for key, c in there.evaluation.comparison.items():
        assert c.difference == -back.evaluation.comparison[key].difference


@pytest.mark.parametrize(("kind", "corpus", "ending"), KINDS)
def test_every_row_says_where_it_stands_and_what_changed(
    folder: Path, kind: str, corpus: str, ending: str
) -> None:
    difference = compared(folder, kind, corpus, ending)
    for change in difference.changes:
        assert (
            change.where
            == f"{folder / corpus}-test.{ending}:{difference.test_set.documents[change.row].line}"
        )
        assert change.gone or change.come or change.kind == BOTH_WRONG
        assert change.as_dict()["old"] != change.as_dict()["new"]
        for piece in (*change.old, *change.new):
            assert difference.test_set.piece(change.row, piece)
    assert difference.old.speed > 0
    assert difference.new.model_bytes == (folder / f"{kind}-new.chaff").stat().st_size


tags = st.sampled_from(["X", "Y", "Z"])
rows = st.lists(st.lists(st.tuples(tags, tags, tags), min_size=1, max_size=3), min_size=1, max_size=6)


@settings(max_examples=40)
@given(rows)
def test_rows_are_fixed_broken_or_both_wrong_as_comparing_them_one_by_one_says(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[tuple[str, str, str]]]
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    paths = [folder / f"{name}.conll" for name in ("gold", "old", "new")]
    for i, path in enumerate(paths):
        write([Document.from_words(["w"] * len(s), y=[t[i] for t in s]) for s in sentences], path)
    difference = compare_models(paths[1], paths[2], paths[0])
    naive = Counter[str]()
    for s in sentences:
        gold, old, new = ([t[i] for t in s] for i in range(3))
        if old != new:
            naive[FIXED if new == gold else BROKEN if old == gold else BOTH_WRONG] += 1
    assert Counter(c.kind for c in difference.changes) == naive
    gone = sum(g for _, g, _ in difference.confusions())
    come = sum(c for _, _, c in difference.confusions())
    right = [sum(t[0] == t[i] for s in sentences for t in s) for i in (1, 2)]
    assert gone - come == right[1] - right[0]


def test_scores_and_intervals_are_those_of_an_evaluation_against_the_old_output(
    folder: Path, tmp_path: Path
) -> None:
    gold = folder / "posts-test.conll"
    test = samples.load("posts", "test", n=80)
    for name in ("old", "new"):
        answers = load(folder / f"tags-{name}.chaff").predict([d.words() for d in test])
        made = [Document.from_words(d.words(), y=y) for d, y in zip(test, answers, strict=True)]
        write(made, tmp_path / f"{name}.conll")
    known = evaluate_files(gold, tmp_path / "new.conll", tmp_path / "old.conll").comparison
    models = compare_models(folder / "tags-old.chaff", folder / "tags-new.chaff", gold)
    mixed = compare_models(tmp_path / "old.conll", folder / "tags-new.chaff", gold)
    assert models.evaluation.comparison == known == mixed.evaluation.comparison
    assert [c.row for c in mixed.changes] == [c.row for c in models.changes]
    assert mixed.old.speed is None
    assert mixed.old.model_bytes is None


def test_without_right_answers_changes_are_listed_and_not_judged(folder: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.conll"
    plain.write_text(
        "".join("".join(f"{w}\n" for w in d.words()) + "\n" for d in samples.load("posts", "test", n=80))
    )
    difference = compare_models(folder / "tags-old.chaff", folder / "tags-new.chaff", plain)
    labelled = compared(folder, "tags", "posts", "conll")
    assert difference.evaluation is None
    assert {c.kind for c in difference.changes} == {CHANGED}
    assert {c.row for c in difference.changes} >= {c.row for c in labelled.changes}
    assert any("became" in name for name, _, _ in difference.confusions())
    assert "not judged" in difference.notes()[-1]


def test_texts_without_labels_can_be_compared(folder: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("the soup was awful\nthe staff were lovely\n")
    found = compare_models(folder / "labels-old.chaff", folder / "labels-new.chaff", plain)
    assert found.evaluation is None
    assert found.rows == 2


def test_models_with_other_labels_and_recipes_are_compared_and_the_difference_is_said(tmp_path: Path) -> None:
    X = [["two", "eggs"], ["one", "lemon"], ["two", "lemon"]]
    Tagger("hmm").fit(X, [["Q", "N"]] * 3).save(tmp_path / "old.chaff")
    Tagger("perceptron").fit(X, [["QTY", "N"]] * 3).save(tmp_path / "new.chaff")
    (tmp_path / "test.conll").write_text("two QTY\neggs N\n\n")
    found = compare_models(tmp_path / "old.chaff", tmp_path / "new.chaff", tmp_path / "test.conll")
    assert [c.kind for c in found.changes] == [FIXED]
    assert found.notes() == [
        "The recipe of the old model is hmm, that of the new one perceptron.",
        "Labels of the old model only: Q.",
        "Labels of the new model only: QTY.",
    ]


def test_columns_that_a_model_does_not_read_may_be_there(tmp_path: Path) -> None:
    X = [[("two", "CD"), ("eggs", "NNS")], [("one", "CD"), ("lemon", "NN")]]
    with pytest.warns(DataWarning, match="parts of speech"):
        Tagger("perceptron").fit(X, [["Q", "N"]] * 2).save(tmp_path / "two.chaff")
    Tagger("hmm").fit([[w for w, _ in s] for s in X], [["Q", "N"]] * 2).save(tmp_path / "one.chaff")
    (tmp_path / "test.conll").write_text("two\tCD\tQ\neggs\tNNS\tN\n\n")
    assert compare_models(tmp_path / "one.chaff", tmp_path / "two.chaff", tmp_path / "test.conll").rows == 1


def test_of_several_labels_those_missed_and_those_invented_are_told(tmp_path: Path) -> None:
    texts = ["good soup", "good staff", "bad soup", "bad staff"] * 3
    sets = [["soup"], ["staff"], ["soup", "bad"], ["staff", "bad"]] * 3
    Classifier("svm").fit(texts, [one[:1] for one in sets]).save(tmp_path / "old.chaff")
    Classifier("svm").fit(texts, sets).save(tmp_path / "new.chaff")
    (tmp_path / "test.csv").write_text("text,label\nbad soup,soup|bad\ngood staff,staff\n")
    found = compare_models(
        tmp_path / "old.chaff", tmp_path / "new.chaff", tmp_path / "test.csv", label_separator="|"
    )
    [change] = found.changes
    assert (change.kind, dict(change.gone)) == (FIXED, {"bad missed": 1})
    assert change.as_dict()["new"] == ["bad", "soup"]


def test_spans_of_characters_are_compared_with_their_lines(folder: Path, tmp_path: Path) -> None:
    spans = tmp_path / "posts.jsonl"
    convert(folder / "posts-test.conll", spans, to_format="jsonl-spans")
    by_spans = compare_models(folder / "tags-old.chaff", folder / "tags-new.chaff", spans)
    assert {c.where for c in by_spans.changes} == {f"{spans}:{c.row + 1}" for c in by_spans.changes}
    assert by_spans.changes


def test_another_column_may_hold_the_right_labels(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "posts-test.conll").read_text().splitlines()
    turned = [f"{line}\tX" if line else "" for line in lines]
    (tmp_path / "turned.conll").write_text("\n".join(turned) + "\n")
    models = folder / "tags-old.chaff", folder / "tags-new.chaff"
    turned_scores = compare_models(*models, tmp_path / "turned.conll", label="2").evaluation
    assert (
        turned_scores.comparison == compare_models(*models, folder / "posts-test.conll").evaluation.comparison
    )


# -- the verdict --------------------------------------------------------------------------------------------------


def evaluation(key: str, ours: float, other: float, low: float, high: float) -> Evaluation:
    found = object.__new__(Evaluation)
    c = Comparison(ours, other, ours - other, low, high, 0.0, 0.0)
    for name, value in (("comparison", {key: c}), ("confidence", 95.0)):
        object.__setattr__(found, name, value)
    return found


@pytest.mark.parametrize(
    ("ours", "low", "high", "options", "regression"),
    [
        (0.88, -0.03, -0.01, {}, True),  # surely worse
        (0.88, -0.05, 0.01, {}, False),  # worse, perhaps by chance
        (0.88, -0.05, 0.01, {"point": True}, True),
        (0.88, -0.03, -0.01, {"tolerance": 0.015}, False),  # the loss may be as small as 0.01
        (0.88, -0.03, -0.02, {"tolerance": 0.015}, True),
        (0.88, -0.03, -0.01, {"tolerance": 0.03, "point": True}, False),
        (0.92, 0.01, 0.03, {}, False),
        (0.92, 0.01, 0.03, {"fail_below": 0.95}, True),
        (0.92, 0.01, 0.03, {"fail_below": 0.90}, False),
    ],
)
def test_a_regression_is_a_loss_beyond_the_tolerance(
    ours: float, low: float, high: float, options: dict[str, Any], regression: bool
) -> None:
    found = verdict(evaluation("accuracy", ours, 0.90, low, high), score="accuracy", **options)
    assert found.regression == regression
    assert found.sentence.startswith("Regression") == regression


def test_of_an_error_rate_more_is_worse() -> None:
    worse = evaluation("aer", 0.12, 0.10, 0.01, 0.03)
    better = evaluation("aer", 0.08, 0.10, -0.03, -0.01)
    assert verdict(worse, score="aer").regression
    assert not verdict(better, score="aer").regression
    assert verdict(better, score="aer", fail_below=0.05).regression
    assert "better" in verdict(better, score="aer").sentence


# -- bad input ----------------------------------------------------------------------------------------------------


def test_models_of_two_kinds_are_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="a tagger and a classifier"):
        compare_models(folder / "tags-old.chaff", folder / "labels-new.chaff", folder / "posts-test.conll")


def test_answers_about_other_words_are_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.conll"
    other.write_text("word O\n\n")
    with pytest.raises(DataError, match=r"other\.conll:1: sentence 1 has 1 tokens"):
        compare_models(other, folder / "tags-new.chaff", folder / "posts-test.conll")


def test_an_option_that_the_kind_has_not_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="--text does not apply to a tagger"):
        compare_models(
            folder / "tags-old.chaff", folder / "tags-new.chaff", folder / "posts-test.conll", text="body"
        )


def test_parts_of_speech_are_not_taken_for_constituents_over_the_same_word(tmp_path: Path) -> None:
    path = tmp_path / "x.mrg"
    path.write_text("(S (NP (PRP they)) (VP (VBD saw) (S (NP (PRP her)) (VP (VB fly)))))\n")
    test_set = TreeTestSet(path)
    [[right]] = test_set.pieces([test_set.gold], [0])
    other = tmp_path / "y.mrg"
    other.write_text("(S (NP (PRP they)) (VP (VBD saw) (NP (PRP$ her) (NN fly))))\n")
    [[answer]] = test_set.pieces([TreeTestSet(other).gold], [0])
    found = test_set.mistakes(0, right, answer)
    assert found["PRP", "PRP$"] == found["VB", "NN"] == 1
    assert found["NP", NONE] == found["VP", NONE] == 1
    assert found["S", "NP"] == 1


def test_labels_of_the_data_that_no_model_knows_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("label,text\nnever seen,one\n")
    for texts, name in ((["a b", "c d"], "old"), (["a c", "b d"], "new")):
        Classifier("nb").fit(texts, ["x", "y"]).save(tmp_path / f"{name}.chaff")
    with pytest.warns(DataWarning, match="no prediction is a gold label"):
        found = compare_models(tmp_path / "old.chaff", tmp_path / "new.chaff", path)
    assert "Labels of the data that neither model knows: never seen." in found.notes()


def test_of_many_labels_that_one_model_has_alone_a_few_are_named() -> None:
    names = [f"L{i}" for i in range(30)]
    old, new = (Side("x", "hmm", tuple(labels)) for labels in (["A", *names], ["A"]))
    [note] = ModelDifference(
        test_set=SimpleNamespace(unknown_labels=lambda _: []),
        old=old,
        new=new,
        changes=[],
        evaluation=object(),
    ).notes()  # type: ignore[arg-type]
    assert note.endswith("and 18 more.")
