"""The HTML report of an evaluation: scores with intervals, confusions, a comparison, examples of errors."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from chaffinch.evaluate.evaluation import ERRORS, Evaluation, description, p_text, title_of, verdict
from chaffinch.evaluate.mistakes import ErrorSentence, ErrorType, Marked
from chaffinch.evaluate.outputs import Classes, Confusions
from chaffinch.report import (
    Bar,
    Html,
    Page,
    bars,
    cards,
    figure,
    grouped_bars,
    heat_map,
    join,
    paragraph,
    reliability,
    table,
    tag,
)

LARGEST_MAP = 30
LARGEST_CHART = 40


def page(evaluation: Evaluation) -> Page:
    """The report, section by section; empty ones are left out."""
    names = evaluation.outputs.names
    files = list(dict.fromkeys(names[:2]))  # a single file if it holds gold and predictions
    report = Page("Evaluation", " against ".join(files[::-1]))
    report.add("Scores", _headline(evaluation))
    if evaluation.comparison is not None:
        report.add(f"Against {names[2]}", *_comparison(evaluation))
    if evaluation.confidences is not None:
        report.add("Reliability", *calibration_section(evaluation.confidences.as_dict()))
    classes = evaluation.outputs.classes(evaluation.scores)
    if classes is not None and classes.rates:
        report.add(f"By {classes.what}", *_by_class(evaluation, classes))
    found = evaluation.outputs.confusions(evaluation.scores, evaluation.rules)
    if found is not None:
        report.add("Confusions", _confusion_map(found))
        if found.mistakes:
            report.add("Examples of errors", *_errors(found.mistakes))
        if found.pairs is not None:
            head = ("gold", "predicted", "times", "for example")
            shown = table(head, found.pairs) if found.pairs else paragraph("There are no confusions.")
            report.add("Most confused pairs", shown)
    if evaluation.seen is not None:
        report.add("Seen and unseen words", *_seen(evaluation.seen))
    return report


def _headline(evaluation: Evaluation) -> Html:
    scores = evaluation.scores.as_dict()
    boxes = []
    for key in evaluation.headline:
        interval = evaluation.intervals.get(key)
        note = f"{interval.low:.4f} to {interval.high:.4f}" if interval else ""
        boxes.append((title_of(key), f"{scores[key]:.4f}", note))
    return join(
        cards(boxes),
        paragraph(
            f"{description(evaluation)}. Below each score is its {evaluation.confidence:g}% bootstrap interval."
        ),
    )


def calibration_section(found: Mapping[str, Any]) -> Iterable[Html]:
    """Calibration error, Brier score and the reliability diagram; ``found``: ``Confidences.as_dict()``."""
    unit = found["unit"]
    yield cards(
        [
            (
                "calibration error",
                f"{found['error']:.4f}",
                "mean gap between confidence and accuracy, 0 is best" + _by_chance(found),
            ),
            ("Brier score", f"{found['brier']:.4f}", "mean of (probability - right)², 0 is best"),
        ]
    )
    yield figure(
        reliability(f"Reliability of the probabilities of {unit}", found["bins"]),
        f"Each point is a bin of {unit} with similar probabilities. On the dashed diagonal, accuracy equals "
        "probability; below it, accuracy is lower. Whiskers are 95 % intervals of the accuracy; the columns show the "
        f"number of {unit} in each bin.",
    )
    yield table(
        ("probability", "right", unit),
        [(f"{p:.3f}", f"{right:.3f}", f"{n:,.0f}") for p, right, n in found["bins"]],
    )


def _by_chance(found: Mapping[str, Any]) -> str:
    """How large the error of perfect probabilities is expected to be, if that is known."""
    return f"; {found['by_chance']:.4f} by chance alone" if "by_chance" in found else ""


def _comparison(evaluation: Evaluation) -> Iterable[Html]:
    found = evaluation.comparison or {}
    rows = []
    for key in evaluation.headline:
        c = found[key]
        colour = "soft" if c.p_swap > 0.05 else "good" if (c.difference > 0) != (key in ERRORS) else "bad"
        rows.append(
            (
                title_of(key),
                f"{c.ours:.4f}",
                f"{c.other:.4f}",
                tag("span", f"{c.difference:+.4f}", class_=colour),
                f"{c.low:+.4f} to {c.high:+.4f}",
                p_text(c.p_swap),
                p_text(c.p_bootstrap),
            )
        )
    yield paragraph(verdict(evaluation))
    yield table(("score", "ours", "other", "difference", "interval", "p (swap)", "p (bootstrap)"), rows)
    yield paragraph(
        "p (swap): how often swapping the outputs of random sentences makes a difference at least as large. "
        "p (bootstrap): fraction of the bootstrap samples in which the better output is not better."
    )


def _by_class(evaluation: Evaluation, classes: Classes) -> Iterable[Html]:
    heading, key = classes.what, classes.key
    largest = sorted(classes.rates.items(), key=lambda item: -item[1].gold)[:LARGEST_CHART]
    items = []
    for name, one in largest:
        interval = evaluation.intervals.get(f"{key}.{name}.f1")
        low, high = (interval.low, interval.high) if interval else (None, None)
        items.append(Bar(name, one.f1, low, high, f"{one.gold:,} in gold"))
    whiskers = "; whiskers are bootstrap intervals" if any(bar.low is not None for bar in items) else ""
    yield figure(bars(f"F1 by {heading}", items), f"Most frequent first{whiskers}.")
    rows = [
        (
            name,
            f"{one.precision:.4f}",
            f"{one.recall:.4f}",
            f"{one.f1:.4f}",
            f"{one.gold:,}",
            f"{one.predicted:,}",
            f"{one.correct:,}",
        )
        for name, one in classes.rates.items()
    ]
    yield table((heading, "precision", "recall", "F1", "gold", "predicted", "correct"), rows)


def _confusion_map(found: Confusions) -> Html:
    names, confusion = found.names, found.counts
    errors = confusion - np.diag(confusion.diagonal())
    weight = errors.sum(axis=0) + errors.sum(axis=1)
    kept = sorted(np.argsort(-weight, kind="stable")[:LARGEST_MAP].tolist())
    some = f" Shown: the {len(kept)} of {len(names)} with most errors." if len(kept) < len(names) else ""
    chosen = [names[i] for i in kept]
    cells = confusion[np.ix_(kept, kept)].tolist()
    drawn = heat_map(f"Confusion matrix by {found.what}", chosen, chosen, cells, "predicted", "gold", True)
    return figure(
        drawn, (found.note or "Gold in rows, predicted in columns.") + some + " Colour is logarithmic."
    )


def _errors(found: Sequence[ErrorType]) -> Iterable[Html]:
    rows = [(m.name, f"{m.times:,}") for m in found]
    yield table(("kind of error", "times"), rows)
    yield paragraph(
        "For the most frequent kinds, the shortest sentences that show them. ",
        tag("mark", "right", class_="right"),
        " ",
        tag("mark", "partly right", class_="mixed"),
        " ",
        tag("mark", "wrong", class_="wrong"),
    )
    for mistake in found:
        for example in mistake.examples:
            yield tag(
                "div",
                tag("div", f"{mistake.name} · sentence {example.sentence + 1:,}", class_="where"),
                tag("div", *_readings(example), class_="reading"),
                class_="sentence",
            )


def _readings(example: ErrorSentence) -> Iterable[Html]:
    for side, marks in (("gold", example.gold), ("predicted", example.predicted)):
        yield tag("div", side, class_="side")
        yield tag("div", highlighted(example.words, marks))


def highlighted(words: Sequence[str], marks: Sequence[Marked]) -> Html:
    """A sentence with its spans in colour."""
    starts = {mark.begin: mark for mark in marks}
    pieces: list[object] = []
    t = 0
    while t < len(words):
        mark = starts.get(t)
        if mark is None:
            pieces.append(words[t])
            t += 1
        else:
            text = " ".join(words[mark.begin : mark.end])
            pieces.append(tag("mark", text, tag("small", mark.kind), class_=mark.verdict))
            t = max(mark.end, t + 1)
        pieces.append(" ")
    return join(*pieces)


def _seen(seen: dict[str, float]) -> Iterable[Html]:
    chart = grouped_bars(
        "Token accuracy of words seen and unseen in training",
        [f"{name} ({seen[f'{name}.tokens']:,.0f})" for name in ("seen", "unseen")],
        {"token accuracy": [seen[f"{name}.token_accuracy"] for name in ("seen", "unseen")]},
    )
    yield figure(chart)
