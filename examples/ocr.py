"""Reading handwritten words: what a chain and a kernel each add, with a picture of the words they help with.

python examples/ocr.py                                    on the embedded letters
python examples/ocr.py letters.npz --train 0 --test 1-9   on an archive with folds
python examples/ocr.py --out words.html --cubic
"""

import argparse
from pathlib import Path

from chaffinch import samples
from chaffinch.corpus import read
from chaffinch.lab.handwriting import CUBIC, LINEAR, QUADRATIC, picture, read_by, telling
from chaffinch.report.html import Page, figure, table
from chaffinch.text.table import TokenTable


def main(arguments: list[str] | None = None) -> None:
    """Train the readers, print their table, write the page."""
    asked = _asked(arguments)
    if asked.letters is None:
        train, test = (samples.load("letters", part, n=asked.words) for part in ("train", "test"))
    else:
        train, test = (list(read(asked.letters, folds=f)) for f in (asked.train, asked.test))
    seen, unseen = TokenTable.from_documents(train), TokenTable.from_documents(test)
    readers = [*LINEAR, *QUADRATIC, *(CUBIC if asked.cubic else ())]
    found, rows = {}, []
    print(f"{seen.n_tokens:,} letters to learn from, {unseen.n_tokens:,} to read\n")
    print(f"{'':28}{'letters':>10}{'words':>10}{'CPU s':>8}")
    for r in read_by(readers, seen, unseen):
        found[r.reader.name] = r.predicted
        rows.append((r.reader.name, f"{100 * r.letters:.2f} %", f"{100 * r.words:.1f} %", f"{r.train_s:.2f}"))
        print(f"{rows[-1][0]:28}{rows[-1][1]:>10}{rows[-1][2]:>10}{rows[-1][3]:>8}", flush=True)
    names = ("multiclass SVM", "structured SVM", "M3N, quadratic")
    shown = {name: found[name] for name in names}
    words = telling(unseen, found[names[0]], found[names[-1]], 8)
    page = Page("Handwritten words", f"{seen.n_tokens:,} letters to learn from, {unseen.n_tokens:,} to read")
    page.add("How many are right", table(("reader", "letters", "words", "CPU s"), rows))
    page.add("What was read", figure(picture(unseen, shown, words), "letters that are wrong in red"))
    Path(asked.out).write_text(page.render(), encoding="utf-8")
    print(f"\nThe words that gained most are in {asked.out}")


def _asked(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("letters", nargs="?", help="an archive of letter images; else the embedded sample")
    parser.add_argument("--train", default="0", help="folds to learn from, such as 0")
    parser.add_argument("--test", default="1-9", help="folds to read")
    parser.add_argument("--words", type=int, default=400, help="words of the sample, each part")
    parser.add_argument("--cubic", action="store_true", help="the cubic kernel as well")
    parser.add_argument("--out", default="words.html", help="where the page goes")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
