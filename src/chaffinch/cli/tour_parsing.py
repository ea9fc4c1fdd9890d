"""The tour's part on parsing: a grammar and a span parser, trained now, and a sentence that words decide."""

import time
from pathlib import Path

from rich.table import Table

from chaffinch import samples
from chaffinch.cli.console import out
from chaffinch.cli.samples import picture
from chaffinch.estimators import Parser
from chaffinch.files import writing_text
from chaffinch.recipes.span_parser import SpanParser
from chaffinch.report.standalone import svg_file
from chaffinch.report.trees import tree_picture
from chaffinch.text.document import Document

SENTENCES = ("the old poet ate the pizza with a fork .", "the old poet ate the pizza with olives .")
TREES = 600


def show_parsing(folder: Path) -> None:
    """Two parsers beside each other, and two trees; the second is drawn in a file of the folder."""
    train = [d.tree for d in samples.load("trees", "train")[:TREES] if d.tree is not None]
    test = [d.tree for d in samples.load("trees", "test") if d.tree is not None]
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("recipe", "trained in", "bracket F1"):
        shown.add_column(heading, justify="left" if heading == "recipe" else "right")
    for name, recipe in (("pcfg", "pcfg"), ("parser", SpanParser(epochs=3))):
        began = time.perf_counter()
        parser = Parser(recipe).fit(train)
        seconds = time.perf_counter() - began
        shown.add_row(name, f"{seconds:.2f} s", f"{100 * parser.score(test):.2f} %")
    out.print(shown)
    out.print("\nWords decide where the last phrase belongs: to eating, or to the pizza.\n")
    for sentence in SENTENCES:
        (tree,) = parser.predict([sentence.split()])
        document = Document.from_words(sentence.split())
        document.tree = tree
        out.print(picture(document, out.width))
    drawn = folder / "parse-tree.svg"
    with writing_text(drawn) as stream:
        stream.write(svg_file(tree_picture(SENTENCES[1], tree)))
    out.print(f"The second tree is drawn in {drawn.name}.")
