"""Hidden parts of an answer: one mark opens and closes quotations, and only a hidden kind of mark remembers which.

    python examples/hidden_kinds.py

Words do not tell whether they are inside a quotation. A first-order chain of the labels IN, MARK and OUT forgets at
each mark what was before it. With two hidden kinds of MARK, never seen in training, it remembers: the latent
perceptron and the latent conditional random field learn that one kind opens and the other closes.
"""

from typing import Any

import numpy as np

from chaffinch import samples
from chaffinch.learners.latent import LatentLikelihood, LatentPerceptron, Refined
from chaffinch.learners.online import Perceptron
from chaffinch.learners.problem import Problem
from chaffinch.scorers import Example, Layout, Linear
from chaffinch.structures import Chain

LABELS = ("IN", "MARK", "OUT")
KINDS = Refined(Chain(4), np.array([0, 1, 1, 2]))  # which label each of four hidden ones shows
LEARNERS = {
    "latent perceptron": LatentPerceptron(epochs=8),
    "latent conditional random field": LatentLikelihood(epochs=8, rate=0.3),
}


def main() -> dict[str, float]:
    """Train all three and print the accuracy of each on new sentences."""
    F, train, test = quotations()
    plain = Perceptron(epochs=12).fit(Problem(Chain(3), Linear(Layout.chain(F, 3)), train))
    found = {"perceptron, nothing hidden": right(Chain(3), plain, test)}
    for name, learner in LEARNERS.items():
        scorer = learner.fit(Problem(KINDS, Linear(Layout.chain(F, 4)), train))
        found[name] = right(KINDS.structure, scorer, test, KINDS.shown)
        words, hidden = samples.load("quotations", "test", n=1)[0].words(), KINDS.structure.argmax
        kinds = hidden(scorer.potentials(test[0][0])).tolist()
        print(
            f"{name}: "
            + " ".join(f"{w}/{'IN MARK-1 MARK-2 OUT'.split()[h]}" for w, h in zip(words, kinds, strict=True))
        )
    for name, share in found.items():
        print(f"{name:34}{100 * share:6.1f} % of the labels")
    return found


def quotations() -> tuple[int, list[Any], list[Any]]:
    """The number of words, and training and test sentences: the word at each position, and the labels."""
    parts = [samples.load("quotations", split, n=n) for split, n in (("train", 80), ("test", 60))]
    ids = {w: i for i, w in enumerate(sorted({w for d in parts[0] for w in d.words()}))}
    made = [
        [
            (
                Example(
                    np.arange(len(d.tokens) + 1),
                    np.array([ids.get(w, len(ids)) for w in d.words()], np.int32),
                ),
                np.array([LABELS.index(y) for y in d.columns["y"]], np.int32),
            )
            for d in documents
        ]
        for documents in parts
    ]
    return len(ids) + 1, made[0], made[1]


def right(structure: Any, scorer: Any, examples: list[Any], shown: Any = lambda y: y) -> float:
    """The share of labels that are right."""
    return float(
        np.mean(np.concatenate([shown(structure.argmax(scorer.potentials(x))) == y for x, y in examples]))
    )


if __name__ == "__main__":
    main()
