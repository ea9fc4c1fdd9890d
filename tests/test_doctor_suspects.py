"""Labels that models of the other rows doubt: slips are found, and no row judges itself."""

from pathlib import Path

import numpy as np
import pytest

from chaffinch import samples
from chaffinch.corpus import write
from chaffinch.doctor import OutOfFold, examine, out_of_fold
from chaffinch.doctor.corpus_file import normalised
from chaffinch.doctor.label_errors import Judgement
from chaffinch.errors import DataError
from chaffinch.kinds import corpus_of
from chaffinch.kinds.texts import Texts
from doctor_findings import CLEAN

# -- labels that models doubt -----------------------------------------------------------------------------------


def test_the_slips_of_a_sample_are_doubted_and_little_else(tmp_path: Path) -> None:
    given_, meant = (samples.load("ingredients", n=1200, careful=careful) for careful in (False, True))
    path = tmp_path / "train.conll"
    write(given_, path)
    doubted = {f.line for f in examine([path], checks=["suspects"]).findings}
    lines_of, start = {}, 1
    for d, e in zip(given_, meant, strict=True):
        for t, (a, b) in enumerate(zip(d.columns["y"], e.columns["y"], strict=True)):
            lines_of[start + t] = a != b
        start += len(d.tokens) + 1
    slips = {line for line, wrong in lines_of.items() if wrong}
    assert len(slips) > 50
    assert len(slips & doubted) > 0.85 * len(slips)
    assert len(slips & doubted) > 0.8 * len(doubted)


def test_a_row_never_judges_itself() -> None:
    """A label that stands in one row only, and in the copies of it, is one that the judges have never met."""
    texts = [f"word{i} other{i % 7} more" for i in range(60)] + ["lonely text here", "Lonely  text here"]
    labels = ["a" if i % 2 else "b" for i in range(60)] + ["rare", "rare"]
    opinions = out_of_fold(Texts(texts, labels), [normalised(t) for t in texts])
    assert np.isnan(opinions.p_given[-2:]).all()
    assert not np.isnan(opinions.p_given[:60]).any()


def test_out_of_fold_predictions_are_the_same_on_one_thread_and_on_two() -> None:
    documents = samples.load("ingredients", n=150)
    part = corpus_of(documents, "sample")
    groups = [d.text for d in documents]
    one, two = (out_of_fold(part, groups, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.p_other, two.p_other, equal_nan=True)


def test_held_out_probabilities_of_two_labels_sum_to_one() -> None:
    texts = [f"good {i}" if i % 2 else f"bad {i}" for i in range(40)]
    labels = ["plus" if i % 2 else "minus" for i in range(40)]
    opinions = out_of_fold(Texts(texts, labels), texts)
    assert np.allclose(opinions.p_given + opinions.p_other, 1.0, atol=1e-5)


def test_a_label_that_models_seldom_find_is_doubted_by_hints_and_after_the_others() -> None:
    found = OutOfFold(
        ["O", "RARE"],
        np.array([0] * 9 + [0] + [1, 1, 1], np.int32),
        np.array([1] * 10 + [0, 0, 0], np.int32),
        np.array([0.99] * 9 + [0.01, 0.001, 0.001, 0.9], np.float32),
        np.array([0.01] * 9 + [0.99, 0.999, 0.999, 0.1], np.float32),
    )
    np.testing.assert_allclose(found.trust, [0.9, 1 / 3])
    np.testing.assert_allclose(found.share_doubted(10.0), [0.1, 2 / 3])
    judged = Judgement(found, 10.0)
    assert [judged.severity(label) for label in (0, 1, [0, 1])] == ["warning", "hint", "hint"]
    assert judged.weight(100.0, 0) > judged.weight(100.0, 1) == judged.weight(100.0, [0, 1])


def test_of_several_labels_each_is_doubted_for_itself(tmp_path: Path) -> None:
    rows = []
    for i in range(60):
        topic, mood = ("soup", "staff")[i % 2], ("good", "bad")[i // 2 % 2]
        labels = [topic, *(["complaint"] if mood == "bad" else [])]
        rows.append(f"{'|'.join(labels)},the {topic} was {mood} on day {i}")
    rows[30] = "soup|complaint,the soup was good on day 30"
    rows[33] = "staff,the staff was bad on day 33"
    path = tmp_path / "x.csv"
    path.write_text("label,text\n" + "\n".join(rows) + "\n")
    doubted = examine([path], checks=["suspects"], label_separator="|").of("suspects")
    assert {f.line: f.suggestion for f in doubted} == {32: "remove complaint?", 35: "complaint?"}


def test_too_few_rows_are_not_judged_and_a_note_says_so(tmp_path: Path) -> None:
    path = tmp_path / "few.conll"
    path.write_text(CLEAN)
    examined = examine([path])
    assert examined.of("suspects") == []
    assert "30 different rows" in examined.notes[0]


def test_one_group_alone_cannot_be_judged_by_others() -> None:
    with pytest.raises(DataError, match="at least two rows and two groups"):
        out_of_fold(Texts(["a", "b"], ["x", "y"]), ["same", "same"])


def test_careful_samples_have_the_same_texts_and_other_labels_here_and_there() -> None:
    for name in samples.SAMPLES:
        slips, careful = (samples.load(name, n=300, careful=c) for c in (False, True))
        assert [d.text for d in slips] == [d.text for d in careful]
        differ = sum(a != b for a, b in zip(slips, careful, strict=True))
        assert differ < 150
        assert (differ > 0) == (name != "quotations")
