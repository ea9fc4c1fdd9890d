"""Parsing: train on a small treebank, parse new sentences, list the runners-up, draw the tree.

Run it from the project's root: .venv/bin/python examples/parsing.py [folder for the picture]
"""

import sys
from pathlib import Path

from chaffinch import Parser, samples
from chaffinch.corpus.brackets import bracketed
from chaffinch.files import writing_text
from chaffinch.report.html import svg_file
from chaffinch.report.trees import tree_picture

SENTENCES = (
    "the hungry pirate ate the pizza with a fork",
    "the hungry pirate ate the pizza with olives",
)


def main(folder: Path) -> None:
    """The words decide where the last phrase is attached: to the verb, or to the pizza."""
    train = [d.tree for d in samples.load("trees", "train") if d.tree is not None]
    test = [d.tree for d in samples.load("trees", "test") if d.tree is not None]
    for recipe in ("pcfg", "parser"):
        parser = Parser(recipe).fit(train)
        print(f"{recipe}: bracket F1 {100 * parser.score(test):.2f} % on {len(test)} new sentences")
    for sentence in SENTENCES:
        print(f"\n{sentence}")
        for score, tree in parser.predict_kbest([sentence.split()], 3)[0]:
            print(f"  {score:8.2f}  {bracketed(tree)}")
    (tree,) = parser.predict([SENTENCES[0].split()])
    picture = folder / "parse-tree.svg"
    with writing_text(picture) as out:
        out.write(svg_file(tree_picture("What the pirate ate with", tree)))
    print(f"\nthe tree is drawn in {picture.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
