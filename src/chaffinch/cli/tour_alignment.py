"""The tour's part on alignment: links by IBM model 1 and by a trained matching, and one pair as a grid."""

import time
from pathlib import Path

from rich.table import Table

from chaffinch import samples
from chaffinch.cli.console import out
from chaffinch.cli.samples import picture
from chaffinch.estimators import Aligner
from chaffinch.evaluate import score_alignments
from chaffinch.files import writing_text
from chaffinch.model.associations import Associations, ibm1_links
from chaffinch.recipes.aligners import MarginAligner
from chaffinch.report import alignment_grid
from chaffinch.report.standalone import svg_file
from chaffinch.text.document import Document, Links

PAIRS, SHOWN = 150, 60


def show_alignment(folder: Path) -> None:
    """Error rates beside each other, a pair with its links, and the same pair drawn in a file of the folder."""
    train = _linked(samples.load("pairs", "train")[:PAIRS])
    test = _linked(samples.load("pairs", "test")[:SHOWN])
    pairs = [(words, list(links.target)) for words, links in test]
    sure, possible = [links.sure for _, links in test], [links.possible for _, links in test]
    began = time.perf_counter()
    X = [(words, list(links.target)) for words, links in train]
    aligner = Aligner(MarginAligner(epochs=5)).fit(
        X, [links.sure for _, links in train], possible=[links.possible for _, links in train], text=pairs
    )
    seconds = time.perf_counter() - began
    text = Associations.learnt([*X, *pairs], str.lower)
    both = [ibm1_links(text, pair) for pair in pairs]
    ways = {
        "IBM model 1": [there for there, _ in both],
        "IBM model 1, both ways": [there & back for there, back in both],
        f"matching, trained in {seconds:.1f} s": aligner.predict(pairs),
    }
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("links by", "error rate", "precision", "recall"):
        shown.add_column(heading, justify="left" if heading == "links by" else "right")
    for name, found in ways.items():
        scores = score_alignments(sure, possible, found)
        values = (scores.aer, scores.precision, scores.recall)
        shown.add_row(name, *(f"{100 * value:.2f} %" for value in values))
    out.print(shown)
    n = max(range(len(pairs)), key=lambda k: len(found[k]))
    document = Document.from_words(list(pairs[n][0]))
    document.links = Links(tuple(pairs[n][1]), found[n])
    out.print(picture(document, out.width))
    drawn = folder / "alignment.svg"
    with writing_text(drawn) as stream:
        stream.write(
            svg_file(alignment_grid("A pair and its links", *pairs[n], found[n], sure[n], possible[n]))
        )
    out.print(f"The pair is drawn in {drawn.name}.")


def _linked(documents: list[Document]) -> list[tuple[list[str], Links]]:
    return [(d.words(), d.links) for d in documents if d.links is not None]
