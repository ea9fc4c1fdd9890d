"""Repeated random cuts of training parts: the default tagger, beside the best of our grid.

    python -m benchmarks.tag_draws [--draws N] [NAME ...]

A draw cuts the training part of a corpus at random, in runs of 50 consecutive sentences, so that few documents are in
two parts: some to learn from, 500 to choose the grid's best on, and up to 1,500 others to test on. The default sees the
first part only. The corpus's own dev and test parts, which may be of other sources, are not read.
"""

import argparse
import random
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise

from benchmarks.defaults_tags import Scorer, best_of_grid
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


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=list(WHOLE), metavar="NAME")
    parser.add_argument("--draws", type=int, default=4)
    asked = parser.parse_args()
    print("| corpus | default | grid | grid - default | ± its standard error |\n|---|---|---|---|---|")
    for name in asked.names:
        found = []
        for default, grid, chose, best in measured(name, asked.draws):
            found.append((default, grid))
            print(f"  {name}: {default:.2f} {chose}; grid {grid:.2f} {best}", flush=True)
        lead, error = mean_and_error([grid - default for default, grid in found])
        default, grid = (sum(side) / len(side) for side in zip(*found, strict=True))
        print(f"| {name} | {default:.2f} | {grid:.2f} | {lead:+.2f} | {error:.2f} |", flush=True)


if __name__ == "__main__":
    main()
