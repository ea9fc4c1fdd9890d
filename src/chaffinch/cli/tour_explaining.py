"""The part of the tour that asks a model why."""

from pathlib import Path

from chaffinch import samples
from chaffinch.cli.console import out
from chaffinch.estimators import Classifier, Tagger
from chaffinch.files import writing_text
from chaffinch.text.document import WORD
from chaffinch.text.table import TokenTable
from chaffinch.trust.explanation import explanation_page

REVIEW = "the museum was charming . the cafe was bland ."
SENTENCE = "1 large can chopped tomatoes , drained".split()
PAGE = "why.html"


def show_explaining(folder: Path) -> None:
    """A review and a token, each with what put its label ahead of the next; and a page of the same."""
    reviews = samples.load("reviews", "train")
    classifier = Classifier().fit([d.text for d in reviews], [d.labels[0] for d in reviews])
    first = classifier.explain(REVIEW)
    out.print(f"A review of how many stars? [italic]{REVIEW}[/italic]\n")
    out.print(first.text(5), markup=False, soft_wrap=True)
    table = TokenTable.from_documents(samples.load("ingredients", "train"))
    words = TokenTable(table.ptr, {name: table.columns[name] for name in (WORD, "y")})
    second = Tagger("crf").fit(words).explain(SENTENCE, token=2)
    out.print(f"\nAnd why is [italic]can[/italic] what it is? [italic]{' '.join(SENTENCE)}[/italic]\n")
    out.print(second.text(5), markup=False, soft_wrap=True)
    with writing_text(folder / PAGE) as stream:
        stream.write(explanation_page([first, second], "two answers of the tour", None).render())
    out.print(f"\nThe numbers of a decision add up to how far it is ahead. {PAGE} shows them as bars.")
