"""The page on a model's training: the objectives and the gap between them, held-out scores, and every number."""

from collections.abc import Mapping, Sequence
from typing import Any

from chaffinch.evaluate.page import calibration_section
from chaffinch.kinds.kind import Kind
from chaffinch.progress import Listener, Progress
from chaffinch.report import Html, Page, cards, figure, lines, paragraph, table

# The meaning of reported scores; those that are not listed are self-explanatory.
MEANING = {
    "dev": "The score on held-out data.",
    "loss": "The loss on the training examples.",
    "missed": "The largest violation of an optimality condition in the pass.",
    "wrong": "The share of training examples that the model answered wrongly when it visited them.",
}
OBJECTIVES = ("primal", "dual")
GAP = "gap"
SHARE = "gap / primal"


def learning_page(
    recipe: str,
    history: Sequence[Progress],
    calibration: Mapping[str, Any] | None = None,
    accuracy: Sequence[Mapping[str, float]] = (),
) -> Page:
    """A page of the scores that training reported: a curve for each score, the objectives together, and a table.

    accuracy:    the accuracy after each pass, by split
    calibration: the calibration scores, from :meth:`Confidence.packed`
    """
    unit = "epoch" if history and history[0].task == "epoch" else "pass"
    page = Page(f"How {recipe} learnt", _counted(len(history), unit))
    last = _last(history)
    if all(name in last for name in (*OBJECTIVES, GAP)):
        page.add("Optimum", _bounds(last), *_objectives(history, unit))
    if accuracy:
        page.add("Learning curve", *_learning_curve(accuracy, unit))
    for name in dict.fromkeys(name for p in history for name in p.scores):
        points = _points(history, name)
        if name not in (*OBJECTIVES, GAP) and len(points) > 1:
            page.add(name, figure(lines(f"{name} by {unit}", {name: points}, unit, name), MEANING.get(name)))
    if calibration and calibration.get("bins"):
        where = f"{calibration['folds']} folds" if calibration["folds"] else "the dev data"
        page.add(
            "Reliability",
            paragraph(
                f"Probabilities of {calibration['unit']} after calibration, on {where} that the models had not seen "
                f"({calibration['decisions']:,} decisions); the calibration error was {calibration['raw_error']:.4f} "
                "before."
            ),
            *calibration_section(calibration),
        )
    page.add("Numbers", _numbers(history, unit))
    return page


def watching(
    kind: Kind, corpora: Mapping[str, Any], into: list[dict[str, float]], listener: Listener, threads: int
) -> Listener:
    """A listener that appends the accuracy on each corpus after every pass; it does not affect training."""
    found = {name: kind.watcher(corpus, threads) for name, corpus in corpora.items()}
    watchers = {name: watcher for name, watcher in found.items() if watcher is not None}

    def listen(progress: Progress) -> object:
        if watchers and progress.model is not None:
            model = progress.model()
            into.append({name: float(accuracy(model)) for name, accuracy in watchers.items()})
        return listener(progress)

    return listen if watchers else listener


def _learning_curve(accuracy: Sequence[Mapping[str, float]], unit: str) -> list[Html]:
    """Accuracy after each pass, a line for each split, and the numbers."""
    splits = list(accuracy[0])
    series = {name: [(float(n), 100 * a[name]) for n, a in enumerate(accuracy, 1)] for name in splits}
    rows = [[n, *(f"{100 * a[name]:.2f}" for name in splits)] for n, a in enumerate(accuracy, 1)]
    drawn = figure(
        lines(f"Accuracy by {unit}", series, unit, "accuracy, %"),
        "If the curves are far apart, the model overfits; if both are low, it underfits.",
    )
    return [drawn, table([unit, *splits], rows)] if len(accuracy) > 1 else [table([unit, *splits], rows)]


def _bounds(last: dict[str, float]) -> Html:
    return cards(
        [
            ("primal", f"{last['primal']:,.5g}", "objective of the weights"),
            ("dual", f"{last['dual']:,.5g}", "lower bound for any weights"),
            ("gap", f"{100 * _share(last):.3g} %", "of the primal: the most that could still be gained"),
        ]
    )


def _objectives(history: Sequence[Progress], unit: str) -> list[Html]:
    """The primal above the dual, and the gap between them on a logarithmic axis; nothing if evaluated only once."""
    both = {name: _points(history, name) for name in OBJECTIVES}
    if len(both["primal"]) < 2:
        return []
    gaps = [(float(p.done), _share(p.scores)) for p in history if GAP in p.scores]
    return [
        figure(
            lines("Primal and dual objective", both, unit, "objective"),
            "The optimum of both lies between the curves.",
        ),
        figure(
            lines("The gap, as a share of the primal", {SHARE: gaps}, unit, SHARE, log=True),
            "Logarithmic axis: on a straight line the gap shrinks by the same factor in every pass.",
        ),
    ]


def _numbers(history: Sequence[Progress], unit: str) -> Html:
    names = list(dict.fromkeys(name for p in history for name in p.scores))
    if not names:
        return paragraph("Training reported no scores.")
    rows = [
        [p.done, *(f"{p.scores[name]:,.5g}" if name in p.scores else "" for name in names)] for p in history
    ]
    return table([unit, *names], rows)


def _points(history: Sequence[Progress], name: str) -> list[tuple[float, float]]:
    return [(float(p.done), float(p.scores[name])) for p in history if name in p.scores]


def _last(history: Sequence[Progress]) -> dict[str, float]:
    """The last reported value of each score."""
    return {name: value for p in history for name, value in p.scores.items()}


def _share(scores: dict[str, float]) -> float:
    return max(scores[GAP], 0.0) / max(abs(scores["primal"]), 1e-30)


def _counted(n: int, unit: str) -> str:
    plural = {"pass": "passes", "epoch": "epochs"}[unit]
    return f"{n} {unit if n == 1 else plural}"
