"""chaffinch explain, where the model is a reranker: lists of a file, or those that its base model makes."""

from pathlib import Path

from chaffinch.cli.rerank import base_model, list_of_file
from chaffinch.cli.task import Explaining
from chaffinch.corpus import read_table
from chaffinch.corpus.candidate_lists import read_lists
from chaffinch.corpus.sentences import as_sentences
from chaffinch.errors import ConfigError
from chaffinch.estimators import Parser, Reranker
from chaffinch.estimators.tag_lists import tag_lists
from chaffinch.estimators.tree_lists import tree_lists
from chaffinch.lab.input_columns import words_to_parse
from chaffinch.model.candidates import CandidateList
from chaffinch.text.document import Document
from chaffinch.text.table import TokenTable
from chaffinch.trust.explanation import Explanation


def explain(reranker: Reranker, asked: Explaining, base: Path | None, kbest: int) -> list[Explanation]:
    """Why each candidate was chosen; --against 3 asks about the third of its list."""
    reranker.threads = asked.threads
    against = None
    if asked.against is not None:
        if not asked.against.isdigit() or asked.against == "0":
            raise ConfigError(f"--against: expected a candidate's number such as 2, got {asked.against!r}")
        against = int(asked.against) - 1
    return [reranker.explain(one, against=against) for one in asked.chosen(_lists(asked, base, kbest))]


def _lists(asked: Explaining, base: Path | None, kbest: int) -> list[CandidateList]:
    if base is None:
        if asked.data is None:
            raise ConfigError(
                "a reranker chooses among the answers of another model: name it with --base, or give a file of lists"
            )
        return [list_of_file(one) for one in read_lists(asked.data)]
    model = base_model(base, asked.threads)
    typed = [Document(text=asked.words or "")]
    if isinstance(model, Parser):
        words = (
            [d.words() for d in as_sentences(typed, asked.source)]
            if asked.data is None
            else words_to_parse(asked.data)
        )
        return tree_lists(model, words, kbest)
    table = (
        TokenTable.from_documents(as_sentences(typed, asked.source))
        if asked.data is None
        else read_table(asked.data)
    )
    return tag_lists(model, table, kbest)
