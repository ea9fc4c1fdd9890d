"""OCR letters in both regimes, every reader of chaffinch.lab.handwriting: the rows of docs/margins.md.

python -m benchmarks.ocr_table LETTERS.npz small             fold 0 to learn from, nine to read
python -m benchmarks.ocr_table LETTERS.npz large --only cubic      only readers with that in their name
python -m benchmarks.ocr_table LETTERS.npz small --folds 0-9 --into docs/margins.md   means, spread; rows written there
python -m benchmarks.ocr_table LETTERS.npz small --passes    accuracy and gap after every pass
python -m benchmarks.ocr_table LETTERS.npz small --folds 0-9 --memory scores.jsonl   continues an earlier run
"""

import argparse
import json
import re
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ocr_letters
from benchmarks.kernel_svm import Letters, fit_ours
from chaffinch.corpus import read
from chaffinch.estimators import Tagger
from chaffinch.files import writing_text
from chaffinch.lab.handwriting import CUBIC, LINEAR, QUADRATIC, Reader, read_by
from chaffinch.recipes.margin import MaxMarginMarkovNetwork, StructuredSvm
from chaffinch.text.document import Document
from chaffinch.text.table import TokenTable

Score = tuple[float, float, float, float]  # letters %, words %, CPU seconds to train and to read
RBF = "kernel SVM, RBF, each letter alone"
# Chosen in the large regime by ocr_choose, where the small one's defaults are a little tight.
LOOSER = Reader("structured SVM, C = 0.5, 40 passes", StructuredSvm(C=0.5, passes=40))


def main() -> None:
    """Print a row for every reader, or a row for every pass."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("letters")
    parser.add_argument("regime", choices=("small", "large"))
    parser.add_argument("--only", default="", help="a pattern of names")
    parser.add_argument("--folds", default="0")
    parser.add_argument("--passes", action="store_true")
    parser.add_argument("--memory", type=Path, help="a file of scores of single folds, read and added to")
    parser.add_argument("--into", type=Path, help="a page whose table of the regime has these rows")
    asked = parser.parse_args()
    words = list(read(asked.letters))
    first, _, last = asked.folds.partition("-")
    folds = range(int(first), int(last or first) + 1)
    if asked.passes:
        by_pass(*split(words, first, asked.regime))
        return
    known = Memory(asked.memory)
    for name, scored in readers():
        if re.search(asked.only, name):
            found = [
                known.of(
                    f"{name} | {asked.regime} | {f}", partial(scored, *split(words, str(f), asked.regime))
                )
                for f in folds
            ]
            line = row(name, found)
            print(line, flush=True)
            if asked.into:
                put(asked.into, asked.regime, line)


class Memory:
    """Scores by reader, regime and fold, kept in a file, if there is one, as soon as they are known."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.known = path, {}
        if path is not None and path.exists():
            self.known = dict(map(json.loads, path.read_text("utf-8").splitlines()))

    def of(self, key: str, measured: Callable[[], Score]) -> Score:
        """The score under that key, measured if it is not known."""
        if key not in self.known:
            self.known[key] = measured()
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


def readers() -> Iterator[tuple[str, Callable[[TokenTable, TokenTable], Score]]]:
    """Names of readers and functions that score them."""
    for reader in (*LINEAR, LOOSER, *QUADRATIC, *CUBIC):
        passes = f", {reader.config.passes} passes" if reader in CUBIC else ""
        yield (
            reader.name + ("" if reader.chain else ", each letter alone") + passes,
            partial(by_recipe, reader),
        )
    yield RBF, by_rbf
    for name, train in (
        ("averaged perceptron", ocr_letters.crfsuite_perceptron),
        ("L-BFGS", ocr_letters.crfsuite_lbfgs),
    ):
        yield f"*CRFsuite, {name}*", partial(by_crfsuite, train)


def by_recipe(reader: Reader, train: TokenTable, test: TokenTable) -> Score:
    """The score of a tagger."""
    (found,) = read_by([reader], train, test)
    return 100 * found.letters, 100 * found.words, found.train_s, found.predict_s


def by_crfsuite(fitted: Callable[[Any], Any], train: TokenTable, test: TokenTable) -> Score:
    """The score of CRFsuite; its lists of features are made before the clock starts."""
    ready = ocr_letters.crfsuite_input((train, test))
    began = time.process_time()
    tagger = fitted(ready)
    trained = time.process_time()
    found = ocr_letters.right((train, test), tagger)
    return 100 * found["letters"], 100 * found["words"], trained - began, time.process_time() - trained


def by_rbf(train: TokenTable, test: TokenTable) -> Score:
    """The score of the kernel machine, on pixels."""
    labels = sorted({y for word in train.lists("y") for y in word})
    (X, y), (Z, gold) = (
        (
            np.unpackbits(
                np.frombuffer(bytes.fromhex("".join(chain.from_iterable(t.lists("w")))), np.uint8)
            ).reshape(-1, 128),
            np.searchsorted(labels, [*chain.from_iterable(t.lists("y"))]),
        )
        for t in (train, test)
    )
    given = Letters(X.astype(np.float64), y.astype(np.int64), Z.astype(np.float64), gold.astype(np.int64))
    began = time.process_time()
    predict = fit_ours(given)
    trained = time.process_time()
    right = predict(given.test) == given.gold
    took = time.process_time() - trained
    whole = np.logical_and.reduceat(right, test.ptr[:-1])
    return 100 * float(right.mean()), 100 * float(whole.mean()), trained - began, took


def row(name: str, found: list[Score]) -> str:
    """Means over folds, and the standard deviation between folds."""
    letters, whole, train_s, read_s = (statistics.mean(v) for v in zip(*found, strict=True))
    spread = f" ± {statistics.stdev(f[0] for f in found):.2f}" if len(found) > 1 else ""
    return f"| {name} | {letters:.2f}{spread} | {whole:.1f} | {train_s:.2f} | {read_s:.2f} | {len(found)} |"


def put(page: Path, regime: str, line: str) -> None:
    """The row in the table of the regime: in place of the one of that name, or before the other packages'."""
    before, table, after = re.split(
        f"(?<=<!-- {regime} -->\n)|(?=<!-- /{regime} -->)", page.read_text("utf-8")
    )
    rows = table.splitlines()
    name = line.split(" | ", maxsplit=1)[0]
    same = [k for k, r in enumerate(rows) if r.split(" | ", maxsplit=1)[0] == name]
    if same:
        rows[same[0]] = line
    else:
        rows.insert(next((k for k, r in enumerate(rows) if r.startswith("| *")), len(rows)), line)
    with writing_text(page) as file:
        file.write(before + "\n".join(rows) + "\n" + after)


def split(words: list[Document], fold: str, regime: str) -> tuple[TokenTable, TokenTable]:
    """Words to learn from and words to read."""
    inside = TokenTable.from_documents([d for d in words if d.group == fold])
    outside = TokenTable.from_documents([d for d in words if d.group != fold])
    return (inside, outside) if regime == "small" else (outside, inside)


def by_pass(train: TokenTable, test: TokenTable) -> None:
    """Accuracy, primal, dual and gap after every pass."""
    gold = [y for word in test.lists("y") for y in word]
    for config in (StructuredSvm(measure=1), MaxMarginMarkovNetwork(kernel="polynomial", measure=1)):
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

        Tagger(config, folds=0, threads=1).fit(train, on_epoch=show)


if __name__ == "__main__":
    main()
