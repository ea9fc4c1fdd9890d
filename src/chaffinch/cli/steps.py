"""chaffinch predict --steps: the order in which an incremental tagger decides."""

from collections.abc import Sequence
from pathlib import Path

from chaffinch.estimators import Tagger
from chaffinch.files import writing_text
from chaffinch.lab.decisions import beside, decisions, page
from chaffinch.text.table import TokenTable


def show_steps(taggers: Sequence[Tagger], table: TokenTable, output: Path, source: str) -> None:
    """The decisions of each tagger, sentence by sentence: as text, or as a page if the output ends in .html."""
    made = [decisions(tagger, table) for tagger in taggers]
    with writing_text(output) as stream:
        if output.suffix == ".html":
            stream.write(page(made, source).render())
            return
        for views in beside(made):
            stream.writelines(view.text() + "\n" for view in views)
            stream.write("\n")
