"""Word alignment: train an aligner on the sample pairs, compare it with IBM model 1, and draw one pair as a grid.

    python examples/alignment.py FOLDER

The model scores every link between two sentences by features (word associations learnt from the text alone, spelling,
positions, neighbours) and finds the best matching: each word has at most two links. The weights are learnt from
pairs that were linked by hand, so that the right matching scores better than all others.
"""

import sys
from pathlib import Path

import numpy as np

from chaffinch import Aligner, samples
from chaffinch.evaluate import score_alignments
from chaffinch.model.associations import Associations, ibm1_links
from chaffinch.recipes.aligners import MarginAligner
from chaffinch.report import alignment_grid
from chaffinch.report.html import svg_file

Pairs = list[tuple[list[str], list[str]]]


def main(folder: Path) -> dict[str, float]:
    """Train, score and draw; returns the alignment error rate of each method."""
    train, test = samples.load("pairs", "train")[:300], samples.load("pairs", "test")[:100]
    X, X_test = ([(d.words(), list(d.links.target)) for d in part if d.links] for part in (train, test))
    links = {name: [getattr(d.links, name) for d in train] for name in ("sure", "possible")}
    gold = {name: [getattr(d.links, name) for d in test] for name in ("sure", "possible")}

    # Associations need no links, so they are learnt from the test text too; IBM model 1 learns from the same text.
    aligner = Aligner(MarginAligner(epochs=5)).fit(X, links["sure"], possible=links["possible"], text=X_test)
    found = aligner.predict(X_test)

    text = Associations.learnt([*X, *X_test], str.lower)
    both = [ibm1_links(text, pair) for pair in X_test]
    ways = {
        "IBM model 1": [there for there, _ in both],
        "IBM model 1, both ways": [there & back for there, back in both],
        "matching": found,
    }
    rates = {}
    for name, predicted in ways.items():
        scores = score_alignments(gold["sure"], gold["possible"], predicted)
        rates[name] = scores.aer
        shown = {"AER": scores.aer, "precision": scores.precision, "recall": scores.recall}
        print(f"{name:24}", "   ".join(f"{key} {100 * value:5.2f}" for key, value in shown.items()))

    n = max(
        range(len(X_test)),
        key=lambda k: (len(gold["possible"][k]) > 1, len(X_test[k][0]) <= 12, len(found[k])),
    )
    lean = 1 / (1 + np.exp(-2 * aligner.model_.scores(X_test[n])))
    grid = alignment_grid(
        "A pair and its links", *X_test[n], found[n], gold["sure"][n], gold["possible"][n], lean
    )
    picture = folder / "alignment.svg"
    picture.write_text(svg_file(grid), encoding="utf-8")
    print(f"{' '.join(X_test[n][0])}  =  {' '.join(X_test[n][1])}: drawn in {picture.name}")
    return rates


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
