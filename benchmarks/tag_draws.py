"""Repeated random cuts of training parts: the default tagger, beside the best of our grid.

    python -m benchmarks.tag_draws [--draws N] [--write docs/tagger-draws.md] [NAME ...]

A draw cuts the training part of a corpus at random, in runs of 50 consecutive sentences, so that few documents are in
two parts: some to learn from, 500 to choose the grid's best on, and up to 1,500 others to test on. The default sees the
first part only. The corpus's own dev and test parts, which may be of other sources, are not read. Scores are F1 of
spans if labels encode spans, else token accuracy, in percent; ± is the standard error of the mean difference over
draws. That a wide margin needs no more than to be ahead was chosen on further draws of these corpora.
"""

import argparse
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from benchmarks.defaults_tags import Scorer, best_of_grid, kept_rows
from benchmarks.document_draws import mean_and_error
from benchmarks.tag_corpora import Part, Tagged, columns, made_requests, penn, treebank

RUN = 50  # consecutive sentences
CHOSEN, TESTED = 500, 1500  # sentences
WHOLE: dict[str, tuple[Callable[[], Part], int]] = {
    "treebank, 900": (lambda: treebank("train", 3), 900),
    "chunks, 400": (lambda: columns("conll2000/train.tsv", read=(0, 1)), 400),
    "Spanish names, 500": (lambda: columns("conll2002_es/train.tsv"), 500),
    "Spanish names, 2500": (lambda: columns("conll2002_es/train.tsv"), 2500),
    "posts, 800": (lambda: columns("wnut17/train.tsv"), 800),
    "posts, 2000": (lambda: columns("wnut17/train.tsv"), 2000),
    "ingredients, 500": (lambda: columns("ingredients/train.tsv.gz", read=(0, 1)), 500),
    "tweets, 1000": (lambda: columns("sutd_hmm_2020/SG/train", " "), 1000),
    "phrases, 500": (lambda: columns("sutd_hmm_2020/EN/train", " "), 500),
    "slots, 700": (lambda: made_requests(2700), 700),
    "news tags, 400": (penn, 400),
}


def drawn(whole: Part, learnt: int, seed: int) -> Tagged:
    """A random cut: ``learnt`` sentences to learn from, 500 to choose on, up to 1,500 others to test on."""
    starts = list(range(0, len(whole[0]), RUN))
    random.Random(seed).shuffle(starts)
    order = [n for start in starts for n in range(start, min(start + RUN, len(whole[0])))]
    bounds = (0, learnt, learnt + CHOSEN, learnt + CHOSEN + TESTED)
    if bounds[2] >= len(order):
        raise ValueError(f"{len(order)} sentences are too few")
    train, dev, test = (
        ([whole[0][n] for n in order[a:b]], [whole[1][n] for n in order[a:b]]) for a, b in pairwise(bounds)
    )
    return Tagged(train, dev, test)


def measured(name: str, draws: int) -> Iterator[tuple[float, float, str, str]]:
    """For each draw the scores of the default and of the grid's best, and what they are."""
    from chaffinch import Tagger

    read, learnt = WHOLE[name]
    whole = read()
    for seed in range(draws):
        data = drawn(whole, learnt, seed)
        test = Scorer(data.test[1])
        made = Tagger(folds=0, threads=1).fit(*data.train)
        choice = made.choice_ or {"features": "", "recipe": "crf", "settings": {}}
        settings = [f"{k} {v:g}" for k, v in choice["settings"].items()]
        chose = " ".join([choice["features"], choice["recipe"], *settings])
        best, model = best_of_grid(data)
        yield test.score(made.predict(data.test[0])), test.score(model.predict(data.test[0])), chose, best


HEAD = "| corpus, sentences | draws | default | grid | grid - default | | chosen |\n|---|---|---|---|---|---|---|"
PAGE = """# Taggers with no setting, on random cuts

`python -m benchmarks.tag_draws --write docs/tagger-draws.md` writes this page. {about}

{table}
"""


def row(name: str, draws: int) -> str:
    """One line of the table; what was chosen in each draw is printed too."""
    defaults, grids, choices = [], [], Counter[str]()
    for default, grid, chose, best in measured(name, draws):
        defaults.append(default)
        grids.append(grid)
        choices[chose] += 1
        print(f"  {name}: {default:.2f} {chose}; grid {grid:.2f} {best}", file=sys.stderr, flush=True)
    lead, error = mean_and_error([grid - default for default, grid in zip(defaults, grids, strict=True)])
    means = f"{sum(defaults) / draws:.2f} | {sum(grids) / draws:.2f}"
    chosen = ", ".join(f"{chose} ({count})" for chose, count in choices.most_common())
    return f"| {name} | {draws} | {means} | {lead:+.2f} | ±{error:.2f} | {chosen} |"


def main() -> None:
    warnings.simplefilter("ignore")
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(WHOLE), metavar="NAME")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="keeps the rows of other corpora")
    asked = parser.parse_args()
    print(HEAD)
    rows = []
    for name in asked.names:
        rows.append(row(name, asked.draws))
        print(rows[-1], flush=True)
        if asked.write is not None:
            about = " ".join(__doc__.split("\n\n", 2)[2].split())
            table = [HEAD, *kept_rows(asked.write, rows, list(WHOLE))]
            asked.write.write_text(PAGE.format(about=about, table="\n".join(table)), encoding="utf-8")


if __name__ == "__main__":
    main()
