"""Taggers with no setting given: beside the best of our own grid and a tuned python-crfsuite.

    python -m benchmarks.defaults_tags [NAME ...] [--write docs/tagger-defaults.md]

With ``--write``, rows of other corpora on the page are kept.

The grid and the rival are chosen on the dev part; the test part is read once for each of the three. Our default sees
the training part alone. The rival has the features that its users write: words, lower case, affixes, shapes,
neighbours, and the second column if there is one; six settings of its two likelihood trainers. Scores are F1 of spans
if labels encode spans, else token accuracy; ± is twice the standard error of the difference to the rival, by sentences.
CPU s is the time of the whole fit, choice and calibration included; trainings is this time divided by that of one
training as chosen, without calibration; both are the faster of two runs.

That a CRF may pay more for missed names was found on the posts, whose dev and test parts were looked at: their rows are
not independent. These parts come from other sources than the training part, so that dev prefers a higher cost than the
training data can show. On four random cuts of the training part each, the choice gains 5.3 ± 0.8 points with 400 posts,
1.4 ± 1.2 with 1,000 and 0.3 ± 0.7 with 2,200.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.crfsuite_rival import _shape
from benchmarks.tag_corpora import CORPORA, Tagged

GRID: tuple[tuple[str, dict[str, Any]], ...] = (
    ("crf", {}),
    ("crf", {"margin": 8.0, "c2": 0.5}),
    ("ssvm", {"C": 0.1}),
    ("easiest-first", {}),
    ("greedy", {}),
)
OF_NAMES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("crf", {"recall": 2.0}),
    ("crf", {"recall": 2.0, "margin": 8.0, "c2": 0.5}),
    ("crf", {"recall": 3.0, "margin": 8.0, "c2": 0.5}),
)  # besides, if most tokens are outside of spans
KINDS = ("ner", "pos", "default", "ingredients")
RIVALS: tuple[tuple[str, dict[str, float]], ...] = (
    ("lbfgs", {"c1": 0.0, "c2": 1.0}),
    ("lbfgs", {"c1": 0.0, "c2": 0.1}),
    ("lbfgs", {"c1": 0.1, "c2": 0.01}),
    ("lbfgs", {"c1": 0.1, "c2": 0.1}),
    ("lbfgs", {"c1": 1.0, "c2": 0.01}),
    ("l2sgd", {"c2": 0.1}),
)
MOST_ITERATIONS = 100  # of the rival, as users set it


class Scorer:
    """Counts by sentence; the score is the ratio of their sums."""

    def __init__(self, gold: list[list[str]]) -> None:
        self.gold = gold

    def counts(self, found: list[list[str]]) -> tuple[Any, Any]:
        from chaffinch.evaluate.tags import TagPair, TagScorer

        pair = TagPair.from_lists(self.gold, found)
        scorer = TagScorer(pair.labels)
        tally = scorer.tally(pair.y, pair.y_hat, pair.ptr)
        dense = np.zeros((tally.N, tally.K))
        dense[np.repeat(np.arange(tally.N), np.diff(tally.ptr)), tally.columns] = tally.values
        if scorer.rules is None:
            return dense[:, 1], dense[:, 0]
        typed = dense[:, 7:].reshape(tally.N, -1, 3).sum(axis=1)
        return 2 * typed[:, 2], typed[:, 0] + typed[:, 1]

    def score(self, found: list[list[str]]) -> float:
        right, of = self.counts(found)
        return 100 * float(right.sum() / of.sum())

    def interval(self, one: list[list[str]], other: list[list[str]]) -> float:
        """Twice the standard error of the difference of two scores."""
        parts = []
        for found in (one, other):
            right, of = self.counts(found)
            parts.append((right - right.sum() / of.sum() * of) / of.sum())
        return 200 * float(np.sqrt(np.square(parts[0] - parts[1]).sum()))


def best_of_grid(data: Tagged) -> tuple[str, Any]:
    """Every recipe with the suggested features, then the best recipe with the other presets."""
    from chaffinch import Tagger
    from chaffinch.recipes import TAGGERS

    dev = Scorer(data.dev[1])
    every = [label for labels in data.train[1] for label in labels]
    many, names = len(set(every)) > 60, 2 * every.count("O") > len(every)

    def trained(recipe: str, settings: dict[str, Any], features: str | None) -> tuple[float, str, Any]:
        config = TAGGERS.by_name(recipe).configured(settings)
        model = Tagger(config, features=features, folds=0, threads=1).fit(*data.train)
        name = " ".join([features or "", recipe, *(f"{k} {v:g}" for k, v in settings.items())]).strip()
        return dev.score(model.predict(data.dev[0])), name, model

    found = [
        (trained(recipe, settings, None), recipe, settings)
        for recipe, settings in (*GRID, *(OF_NAMES if names else ()))
        if not (many and recipe == "ssvm")
    ]
    found.sort(key=lambda one: -one[0][0])
    further = [trained(recipe, settings, kind) for _, recipe, settings in found[:1] for kind in KINDS]
    best = max([found[0][0], *further], key=lambda one: one[0])
    return best[1], best[2]


def features(sentence: list[Any]) -> list[list[str]]:
    """The features that a user of python-crfsuite writes for each token."""
    tokens = [(token, "") if isinstance(token, str) else token for token in sentence]
    rows = []
    for t, (word, tag) in enumerate(tokens):
        row = [
            "bias",
            f"w={word}",
            f"lower={word.lower()}",
            f"shape={_shape(word)}",
            f"digit={word.isdigit()}",
        ]
        row += [f"s{n}={word[-n:]}" for n in (1, 2, 3, 4)] + [f"p{n}={word[:n]}" for n in (1, 2, 3)]
        row += [f"title={word.istitle()}", f"upper={word.isupper()}"] + ([f"tag={tag}"] if tag else [])
        for o in (-2, -1, 1, 2):
            if 0 <= t + o < len(tokens):
                near, its = tokens[t + o]
                row += [f"{o}:lower={near.lower()}", f"{o}:shape={_shape(near)}", f"{o}:s3={near[-3:]}"]
                row += [f"{o}:tag={its}"] if its else []
            else:
                row.append(f"{o}:none")
        if t > 0:
            row.append(f"-1|0={tokens[t - 1][0].lower()}|{word.lower()}")
        if t + 1 < len(tokens):
            row.append(f"0|1={word.lower()}|{tokens[t + 1][0].lower()}")
        rows.append(row)
    return rows


def rival(data: Tagged) -> tuple[str, list[list[str]]]:
    """The name of the best setting on dev, and its labels of the test part."""
    import pycrfsuite

    dev = Scorer(data.dev[1])
    made = [features(sentence) for sentence in data.train[0]]
    held = [features(sentence) for sentence in data.dev[0]]
    best: tuple[float, str, Any] = (-1.0, "", None)
    with tempfile.TemporaryDirectory() as folder:
        for n, (algorithm, settings) in enumerate(RIVALS):
            trainer = pycrfsuite.Trainer(
                algorithm, {**settings, "max_iterations": MOST_ITERATIONS}, verbose=False
            )
            for rows, labels in zip(made, data.train[1], strict=True):
                trainer.append(rows, labels)
            path = str(Path(folder) / f"{n}.crfsuite")
            trainer.train(path)
            tagger = pycrfsuite.Tagger()
            tagger.open(path)
            score = dev.score([tagger.tag(rows) for rows in held])
            if score > best[0]:
                best = (score, " ".join([algorithm, *(f"{k} {v:g}" for k, v in settings.items())]), tagger)
        return best[1], [best[2].tag(features(sentence)) for sentence in data.test[0]]


def timed(fit: Callable[[], Any]) -> tuple[float, Any]:
    """The CPU seconds of the faster of two runs, and the result."""
    found = []
    for _ in range(2):
        start = time.process_time()
        made = fit()
        found.append(time.process_time() - start)
    return min(found), made


def row(name: str) -> str:
    """One line of the table."""
    from chaffinch import Tagger

    data = CORPORA[name]()
    test = Scorer(data.test[1])
    took, made = timed(lambda: Tagger(threads=1).fit(*data.train))
    as_chosen = {"features": made._features, "folds": 0, "threads": 1}
    one, _ = timed(lambda: Tagger(made.config_, **as_chosen).fit(*data.train))
    chosen = made.choice_ or {"features": "", "recipe": "crf", "settings": {}}
    what = " ".join(
        [chosen["features"], chosen["recipe"], *(f"{k} {v:g}" for k, v in chosen["settings"].items())]
    )
    ours = made.predict(data.test[0])
    grid, best = best_of_grid(data)
    theirs, other = rival(data)
    return (
        f"| {name} | {test.score(ours):.2f} | {what} | {test.score(best.predict(data.test[0])):.2f} | {grid} | "
        f"{test.score(other):.2f} | {theirs} | ±{test.interval(ours, other):.2f} | {took:.1f} | "
        f"{took / max(one, 1e-9):.0f} |"
    )


HEAD = (
    "| corpus | default | chose | grid | best of grid | rival | its setting | | CPU s | trainings |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)
PAGE = """# Taggers with no setting

`python -m benchmarks.defaults_tags --write docs/tagger-defaults.md` writes this page. {about}

{table}
"""


def kept_rows(page: Path, rows: list[str], names: Sequence[str]) -> list[str]:
    """The rows of the table on a page in the order of these names, new ones in place of old ones."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    kept = {line.split(" | ")[0]: line for line in [*text.split("\n"), *rows] if line.startswith("| ")}
    return [kept[f"| {name}"] for name in names if f"| {name}" in kept]


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    page = None
    if "--write" in arguments:
        at = arguments.index("--write")
        page, arguments = Path(arguments[at + 1]), arguments[:at] + arguments[at + 2 :]
    print(HEAD)
    rows = []
    for name in arguments or CORPORA:
        rows.append(row(name))
        print(rows[-1], flush=True)
        if page is not None:
            assert __doc__ is not None
            about = " ".join(__doc__.split("\n\n", 3)[3].split())
            table = [HEAD, *kept_rows(page, rows, list(CORPORA))]
            page.write_text(PAGE.format(about=about, table="\n".join(table)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
