"""The page of a training: objectives between which the optimum lies, curves where there is more than one point."""

from chaffinch.lab.learning_page import learning_page
from chaffinch.progress import Progress


def passes(*scores, task="pass"):
    return [Progress(task, n, len(scores), found) for n, found in enumerate(scores, 1)]


def objective(primal, dual):
    return {"primal": primal, "dual": dual, "gap": primal - dual}


def test_the_gap_is_drawn_by_pass_and_told_as_a_share_of_the_primal():
    page = learning_page("m3n", passes(objective(400.0, 100.0), {}, {**objective(200.0, 199.0), "dev": 0.9}))
    shown = page.render()
    assert page.subtitle == "3 passes"
    assert "Primal and dual objective" in shown
    assert "<title>gap / primal: 1, 0.75</title>" in shown
    assert "0.5 %" in shown
    assert [heading for heading, _ in page.sections] == ["Optimum", "Numbers"]  # dev has one point: no curve


def test_scores_that_are_reported_once_are_numbers_and_no_curve():
    shown = learning_page("svm", passes({"missed": 2.0}, {"missed": 0.5, **objective(10.0, 9.0)})).render()
    assert shown.count("<svg") == 1  # that of what was missed
    assert "10 %" in shown
    assert "The largest violation" in shown


def test_a_training_without_scores_has_a_page_too():
    assert "Training reported no scores" in learning_page("hmm", []).render()
    assert learning_page("perceptron", passes({"wrong": 0.1}, task="epoch")).subtitle == "1 epoch"
