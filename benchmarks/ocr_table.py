"""OCR letters in both regimes, every reader of chaffinch.lab.handwriting: the rows of docs/margins.md.

python -m benchmarks.ocr_table LETTERS.npz small             fold 0 to learn from, nine to read
python -m benchmarks.ocr_table LETTERS.npz large cubic       only readers of that name
python -m benchmarks.ocr_table LETTERS.npz small SVM --folds 0-9   each fold in turn, means and spread
python -m benchmarks.ocr_table LETTERS.npz small --passes    accuracy and gap after every pass
"""

import argparse
import statistics

from chaffinch.corpus import read
from chaffinch.estimators import Tagger
from chaffinch.lab.handwriting import CUBIC, LINEAR, QUADRATIC, read_by
from chaffinch.recipes.margin import MaxMarginMarkovNetwork, StructuredSvm
from chaffinch.text.document import Document
from chaffinch.text.table import TokenTable


def main() -> None:
    """Print a row for every reader, or a row for every pass."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("letters")
    parser.add_argument("regime", choices=("small", "large"))
    parser.add_argument("only", nargs="?", default="")
    parser.add_argument("--folds", default="0")
    parser.add_argument("--passes", action="store_true")
    asked = parser.parse_args()
    words = list(read(asked.letters))
    first, _, last = asked.folds.partition("-")
    parts = [split(words, str(f), asked.regime) for f in range(int(first), int(last or first) + 1)]
    if asked.passes:
        by_pass(*parts[0])
        return
    for reader in (*LINEAR, *QUADRATIC, *CUBIC):
        if asked.only not in reader.name:
            continue
        found = [r for train, test in parts for r in read_by([reader], train, test)]
        letters, whole = [100 * r.letters for r in found], [100 * r.words for r in found]
        spread = f" ± {statistics.stdev(letters):.2f}" if len(letters) > 1 else ""
        train_s, predict_s = (
            statistics.mean(v) for v in zip(*((r.train_s, r.predict_s) for r in found), strict=True)
        )
        row = f"{statistics.mean(letters):.2f}{spread} | {statistics.mean(whole):.1f} | {train_s:.2f} | {predict_s:.2f}"
        print(f"| {reader.name} | {row} |", flush=True)


def split(words: list[Document], fold: str, regime: str) -> tuple[TokenTable, TokenTable]:
    """Words to learn from and words to read."""
    inside = TokenTable.from_documents([d for d in words if d.group == fold])
    outside = TokenTable.from_documents([d for d in words if d.group != fold])
    return (inside, outside) if regime == "small" else (outside, inside)


def by_pass(train: TokenTable, test: TokenTable) -> None:
    """Accuracy, primal, dual and gap after every pass."""
    gold = [y for word in test.lists("y") for y in word]
    for config in (StructuredSvm(passes=20), MaxMarginMarkovNetwork(kernel="quadratic", C=1.0, passes=20)):
        print(
            f"\n{type(config).__name__}, C = {config.C:g}\n\n| pass | letters % | primal | dual | gap / primal |"
        )
        print("|---:|---:|---:|---:|---:|")

        def show(record):  # type: ignore[no-untyped-def]
            s, model = record.scores, record.model()
            found = model.labels.outer
            right = sum(found[a] == b for a, b in zip(model.decode(test, 1).tolist(), gold, strict=True))
            if record.done in (1, 2, 3, 5, 8, 12, 16, 20):
                where = f"{s['primal']:.1f} | {s['dual']:.1f} | {s['gap'] / s['primal']:.3f}"
                cells = f"{100 * right / len(gold):.2f} | {where}"
                print(f"| {record.done} | {cells} |", flush=True)
            return True

        Tagger(config, threads=1).fit(train, on_epoch=show)


if __name__ == "__main__":
    main()
