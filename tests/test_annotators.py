"""Tasks that nobody annotated teach nothing; what several annotators say is compared, counted and decided."""

import json
from pathlib import Path

import pytest
from sklearn.metrics import cohen_kappa_score

from chaffinch.corpus import read
from chaffinch.corpus.annotators import Agreement, decided, kappa, soft_tags
from chaffinch.errors import ConfigError, DataWarning
from chaffinch.text.document import Annotation, Document, Span
from chaffinch.text.tokens import tokenised
from commandline import Runner, run  # noqa: F401

TEXT = "Ann met Bob in Oslo"
PLACES = {"Ann": ("PER", 0, 3), "Bob": ("PER", 8, 11), "Oslo": ("LOC", 15, 19)}


def marked(*names: str, who: int | None = None, **flags: bool) -> dict:
    values = [{"start": a, "end": b, "labels": [label]} for label, a, b in (PLACES[name] for name in names)]
    made = {"result": [{"type": "labels", "value": value} for value in values], **flags}
    return made if who is None else made | {"completed_by": who}


def ticked(label: str, who: int | None = None) -> dict:
    made = {"result": [{"type": "choices", "value": {"choices": [label]}}]}
    return made if who is None else made | {"completed_by": who}


def tasks(path: Path, *annotations: list[dict], text: str = TEXT) -> Path:
    path.write_text(
        json.dumps([{"id": n, "data": {"text": text}, "annotations": a} for n, a in enumerate(annotations)])
    )
    return path


def test_tasks_that_nobody_annotated_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tasks(tmp_path / "t.json", [marked("Ann")], [], [marked("Bob", was_cancelled=True)], [])
    with pytest.warns(DataWarning, match=r"tasks without annotations are left out: 3 \(first at .*item 2\)"):
        found = list(read(path))
    assert [len(d.spans) for d in found] == [1]


def test_an_annotation_without_a_span_says_that_there_is_none(tmp_path: Path) -> None:
    path = tasks(tmp_path / "t.json", [marked("Ann")], [marked()])
    assert [len(d.spans) for d in read(path)] == [1, 0]


def test_training_on_a_half_annotated_project_is_training_on_its_annotated_half(
    run: Runner,  # noqa: F811
    tmp_path: Path,
) -> None:
    whole = tasks(tmp_path / "whole.json", *[[marked("Ann", "Bob", "Oslo")]] * 4)
    half = tasks(tmp_path / "half.json", *[[marked("Ann", "Bob", "Oslo")]] * 4, *[[]] * 8)
    assert run("train", whole, "-o", tmp_path / "a.chaff").code == 0
    outcome = run("train", half, "-o", tmp_path / "b.chaff")
    assert outcome.code == 0
    assert f"chaffinch: {half}: tasks without annotations are left out: 8" in outcome.err
    assert (tmp_path / "a.chaff").read_bytes() == (tmp_path / "b.chaff").read_bytes()


def test_choices_that_nobody_made_are_left_out_instead_of_stopping(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    path = tasks(tmp_path / "t.json", [ticked("+")], [ticked("-")], [], [ticked("+")])
    outcome = run("train", path, "-o", tmp_path / "m.chaff")
    assert outcome.code == 0, outcome.err
    assert "left out: 1" in outcome.err


def test_predict_labels_the_tasks_that_nobody_annotated(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    train = tasks(tmp_path / "train.json", *[[marked("Ann", "Bob", "Oslo")]] * 4)
    assert run("train", train, "-o", tmp_path / "m.chaff").code == 0
    new = tasks(tmp_path / "new.json", [], [marked("Ann")], [marked("Ann", was_cancelled=True)])
    assert run("predict", tmp_path / "m.chaff", new, "-o", tmp_path / "out.jsonl").code == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 3


def test_predictions_stand_in_only_where_the_whole_file_has_no_annotation(tmp_path: Path) -> None:
    guessed = {"data": {"text": TEXT}, "predictions": [{"score": 0.5, **marked("Ann")}]}
    done = {"data": {"text": TEXT}, "annotations": [marked("Bob")]}
    path = tmp_path / "t.json"
    path.write_text(json.dumps([guessed, guessed]))
    assert [(len(d.spans), d.score) for d in read(path)] == [(1, 0.5), (1, 0.5)]
    path.write_text(json.dumps([guessed, done]))
    with pytest.warns(DataWarning, match="left out: 1"):
        assert [d.spans[0].start for d in read(path)] == [8]


def test_the_agreement_of_two_annotators_is_said(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    path = tasks(tmp_path / "t.json", *[[marked("Ann", "Bob", who=1), marked("Ann", who=2)]] * 3)
    outcome = run("train", path, "-o", tmp_path / "m.chaff")
    assert outcome.code == 0
    # Each task: one span in common of two and one, so 2 / 3.
    assert "3 texts have several annotators (2 in all): span F1 0.667" in outcome.err
    assert "--annotators majority or soft" in outcome.err


def test_kappa_is_that_of_scikit_learn() -> None:
    from collections import Counter

    a, b = list("xxyyzzxyzxxy"), list("xyyyzxxyzzxx")
    assert kappa(Counter(zip(a, b, strict=True))) == pytest.approx(cohen_kappa_score(a, b))


def test_token_kappa_is_that_of_the_labels_of_tokens() -> None:
    both = [
        Annotation("1", [Span("PER", 0, 3), Span("PER", 8, 11)]),
        Annotation("2", [Span("PER", 0, 3), Span("LOC", 15, 19)]),
    ]
    agreement = Agreement()
    agreement.add(Document(TEXT, annotations=both))
    first, second = ["PER", "O", "PER", "O", "O"], ["PER", "O", "O", "O", "LOC"]
    assert agreement.token_kappa == pytest.approx(cohen_kappa_score(first, second))
    assert agreement.span_f1 == 0.5


def test_a_majority_of_spans_is_more_than_half_of_the_annotators() -> None:
    a, b = Span("PER", 0, 3), Span("PER", 8, 11)
    three = [Annotation("1", [a, b]), Annotation("2", [a]), Annotation("3", [])]
    d = Document(TEXT, spans=[a, b], annotations=three)
    assert decided(d, "first").spans == [a, b]
    assert decided(d, "majority").spans == [a]
    assert decided(Document(TEXT, spans=[a], annotations=three[1:]), "majority").spans == []


def test_an_annotation_marked_as_ground_truth_decides_alone(tmp_path: Path) -> None:
    path = tasks(tmp_path / "t.json", [marked("Ann"), marked("Ann"), marked("Bob", ground_truth=True)])
    for how in ("first", "majority", "soft"):
        with pytest.warns(DataWarning, match="several annotators"):
            [d] = read(path, annotators=how)
        assert [s.start for s in d.spans] == [8]


def test_soft_tags_are_the_shares_of_annotators() -> None:
    d = tokenised(Document(TEXT))
    d.annotations = [Annotation("1", [Span("PER", 0, 3)]), Annotation("2", []), Annotation("3", [])]
    assert soft_tags(d)[:2] == [{"B-PER": pytest.approx(1 / 3), "O": pytest.approx(2 / 3)}, {"O": 1.0}]


@pytest.mark.parametrize("how", ["majority", "soft"])
def test_train_takes_the_majority_or_the_shares(how: str, run: Runner, tmp_path: Path) -> None:  # noqa: F811
    spans = tasks(tmp_path / "spans.json", *[[marked("Ann", "Oslo", who=1), marked("Ann", who=2)]] * 6)
    assert run("train", spans, "-o", tmp_path / "m.chaff", "--annotators", how).code == 0
    tagged = run("predict", tmp_path / "m.chaff", "--json", "--marginals", stdin=TEXT.encode())
    found = json.loads(tagged.out)["predictions"]
    assert found[1][0] == "B-PER"
    if how == "majority":
        assert found[1][4] == "O"  # one of two is no majority
    else:
        assert 0.3 < float(found[0][4]) < 0.7  # as undecided as its annotators
    labels = tasks(
        tmp_path / "labels.json", *[[ticked("+", 1), ticked("+", 2), ticked("-", 3)]] * 4, [ticked("-")]
    )
    asked = ("--annotators", how, "--recipe", "maxent")
    assert run("train", labels, "-o", tmp_path / "c.chaff", *asked).code == 0


def test_an_unknown_way_to_decide_is_refused() -> None:
    with pytest.raises(ConfigError, match="annotators must be one of first, majority, soft"):
        decided(Document("x"), "most")
