"""Elastic-net CRFs (c1 0.1, c2 0.01): OWL-QN down a path of penalties beside CRFsuite's, on the same features.

    python -m benchmarks.crf_elastic [TOKENS]

For each: CPU seconds of training (ours make their features, CRFsuite's are made before); the objective it ends at; CPU
seconds until CRFsuite's is reached within 1 %; the accuracy on dev. Beside them the dual ascent of the default penalty.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import crfsuite_rival as rival
from benchmarks.tag_corpora import of_tokens, treebank

C1, C2 = 0.1, 0.01


def crfsuite(X: list[list[str]], y: list[list[str]], dev: Any) -> tuple[list[tuple[float, float]], float]:
    """The objective after each iteration with the CPU seconds so far, and the accuracy on dev."""
    import pycrfsuite

    met: list[tuple[float, float]] = []
    start = 0.0

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        def message(self, message: str) -> None:
            if message.startswith("Loss:"):
                met.append((time.process_time() - start, float(message.split()[1])))

    trainer = Trainer("lbfgs", {"c1": C1, "c2": C2}, verbose=True)
    for words, labels in zip(X, y, strict=True):
        trainer.append(rival.tagging_features([[word] for word in words]), labels)
    path = str(Path(tempfile.mkdtemp()) / "model.crfsuite")
    start = time.process_time()
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    found = [tagger.tag(rival.tagging_features([[word] for word in words])) for words in dev[0]]
    return met, accuracy(found, dev[1])


def ours(
    X: list[list[str]], y: list[list[str]], dev: Any, **settings: Any
) -> tuple[list[tuple[float, float]], float]:
    """The same of our own training."""
    from chaffinch import Tagger
    from chaffinch.recipes.crf import Crf

    met: list[tuple[float, float]] = []
    start = time.process_time()

    def heard(progress: Any) -> None:
        met.append((time.process_time() - start, progress.scores["objective"]))

    tagger = Tagger(Crf(**settings), features="ewt19", folds=0, threads=1).fit(X, y, on_epoch=heard)
    return met, accuracy(tagger.predict(dev[0]), dev[1])


def accuracy(found: Any, gold: Any) -> float:
    right = [a == b for one, other in zip(found, gold, strict=True) for a, b in zip(one, other, strict=True)]
    return 100 * sum(right) / len(right)


def reached(met: list[tuple[float, float]], value: float) -> str:
    return next((f"{at:.2f}" for at, objective in met if objective <= value), "-")


def main(tokens: int) -> None:
    X, y = of_tokens(treebank("train", 3), tokens)
    dev = of_tokens(treebank("dev", 3), 12_000)
    theirs = crfsuite(X, y, dev)
    found = {
        "CRFsuite": theirs,
        "elastic net, observed pairs": ours(X, y, dev, c1=C1, c2=C2, states="observed", tolerance=1e-4),
        "elastic net": ours(X, y, dev, c1=C1, c2=C2),
        "default penalty": ours(X, y, dev),
    }
    goal = 1.01 * theirs[0][-1][1]
    print("| | CPU s | objective | CPU s to CRFsuite's + 1 % | dev |")
    print("|---|---|---|---|---|")
    for name, (met, score) in found.items():
        to = reached(met, goal) if name != "default penalty" else ""
        print(f"| {name} | {met[-1][0]:.2f} | {met[-1][1]:.1f} | {to} | {score:.2f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 14_000)
