"""Choose C and the number of passes for OCR letters, on words held out of the training split alone.

python -m benchmarks.ocr_choose LETTERS.npz small            five-fold cross-validation within fold 0
python -m benchmarks.ocr_choose LETTERS.npz large            folds 1-8 to learn from, fold 9 to read
python -m benchmarks.ocr_choose LETTERS.npz small --kernel polynomial --degree 2 --C 0.2 0.5 1 --gamma 0.02 0.05 0.1

It never reads the words that docs/margins.md reports on: fold 0 in the large regime, folds 1-9 in the small.
"""

import argparse
import itertools
import time

import numpy as np

from chaffinch.corpus import read
from chaffinch.estimators import Tagger
from chaffinch.recipes.margin import KERNELS, MaxMarginMarkovNetwork
from chaffinch.text.table import TokenTable

FOLDS = 5


def main() -> None:
    """Print letters % on the held-out words for every C and gamma, after every few passes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("letters")
    parser.add_argument("regime", choices=("small", "large"))
    parser.add_argument("--kernel", choices=KERNELS, default="linear")
    parser.add_argument("--degree", type=int)
    parser.add_argument("--C", type=float, nargs="+", default=[0.05, 0.1, 0.2, 0.5, 1.0])
    parser.add_argument("--gamma", type=float, nargs="+", default=[0.05])
    parser.add_argument("--passes", type=int, nargs="+", default=[3, 5, 8, 10, 12, 15, 20, 30, 40])
    parser.add_argument("--last", action="store_true", help="the last weights instead of their mean")
    parser.add_argument(
        "--folds", type=int, default=FOLDS, help="small: read only this many of the five folds"
    )
    asked = parser.parse_args()
    splits = held_out(asked.letters, asked.regime)[: asked.folds]
    print("| C | gamma |", " | ".join(map(str, asked.passes)), "| s |")
    for C, gamma in itertools.product(asked.C, asked.gamma):
        config = MaxMarginMarkovNetwork(
            kernel=asked.kernel,
            degree=asked.degree,
            C=C,
            gamma=gamma,
            passes=max(asked.passes),
            average=not asked.last,
            tolerance=0.0,
            measure=0,
        )
        found = [after_passes(config, train, dev, asked.passes) for train, dev in splits]
        right = np.mean([f[0] for f in found], axis=0)
        took = sum(f[1] for f in found) / len(found)
        cells = " | ".join(f"{100 * share:.2f}" for share in right)
        print(f"| {C:g} | {gamma:g} | {cells} | {took:.2f} |", flush=True)


def held_out(path: str, regime: str) -> list[tuple[TokenTable, TokenTable]]:
    """Words to learn from and words to choose by, of the training split alone."""
    if regime == "large":
        train, dev = (TokenTable.from_documents(read(path, folds=f)) for f in ("1-8", "9"))
        return [(train, dev)]
    words = list(read(path, folds="0"))
    fold = np.random.default_rng(0).permutation(len(words)) % FOLDS
    return [
        tuple(
            TokenTable.from_documents([w for w, p in zip(words, fold, strict=True) if (p == k) == held])
            for held in (False, True)
        )  # type: ignore[misc]
        for k in range(FOLDS)
    ]


def after_passes(
    config: MaxMarginMarkovNetwork, train: TokenTable, dev: TokenTable, passes: list[int]
) -> tuple[list[float], float]:
    """The share of letters read rightly after each of these passes, and the CPU seconds of training."""
    gold = np.array([y for word in dev.lists("y") for y in word])
    shares: list[float] = []
    reading = 0.0

    def note(record):  # type: ignore[no-untyped-def]
        nonlocal reading
        began = time.process_time()
        if record.done in passes:
            model = record.model()
            found = np.array(model.labels.outer)[model.decode(dev, 1)]
            shares.append(float(np.mean(found == gold)))
        reading += time.process_time() - began
        return True

    began = time.process_time()
    Tagger(config, folds=0, threads=1).fit(train, on_epoch=note)
    return shares, time.process_time() - began - reading


if __name__ == "__main__":
    main()
