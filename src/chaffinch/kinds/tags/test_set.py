"""Test sets of taggers: sentences, with gold tags if a file has them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from chaffinch.corpus import detect, read
from chaffinch.corpus.sentences import as_sentences
from chaffinch.estimators import Tagger
from chaffinch.estimators.sentences import input_names
from chaffinch.evaluate import TagScorer
from chaffinch.evaluate.mistakes import Pieces, paired
from chaffinch.evaluate.tag_outputs import TagOutputs
from chaffinch.kinds.kind import Confusion, TestSet
from chaffinch.kinds.requests import rows_of
from chaffinch.text.document import LABEL, Document
from chaffinch.text.table import TokenTable

PLAIN_COLUMNS = ("columns", "hmm")


class TagTestSet(TestSet):
    """Sentences and their tags; if these mark spans, the pieces are spans, else tokens."""

    unit = "tokens"

    def __init__(self, path: Path, models: Sequence[Tagger], label: str | None = None) -> None:
        self.path = path
        self.documents = _tagged_documents(path, models, label)
        self.labelled = all(LABEL in d.columns for d in self.documents)
        self.gold: list[list[str]] = [d.columns[LABEL] for d in self.documents] if self.labelled else []
        self.table = TokenTable.from_documents(self.documents)
        self.units = self.table.n_tokens

    def ask(self, model: Tagger) -> list[list[str]]:
        """Labels of each sentence."""
        return model.predict(self.table)

    def answers_of(self, found: TagOutputs) -> list[list[str]]:
        """The tags of an output's last column."""
        flat = [found.labels[i] for i in found.outputs[0].tolist()]
        return [flat[a:b] for a, b in pairwise(found.ptr.tolist())]

    def outputs(self, names: tuple[str, ...], answers: Sequence[list[list[str]]]) -> TagOutputs:
        """Ids into one label list."""
        columns = [TokenTable.from_lists({LABEL: tags}).columns[LABEL] for tags in (self.gold, *answers)]
        return TagOutputs.of_columns(names, self.table, columns)

    def pieces(self, outputs: Sequence[Sequence[list[str]]], rows: Sequence[int]) -> list[list[Pieces]]:
        """Spans, if all tags on all sides mark spans; else the tags of all tokens."""
        scorer = TagScorer(sorted({tag for answers in outputs for tags in answers for tag in tags}))
        return [_spans_or_tags(scorer, [answers[n] for n in rows]) for answers in outputs]

    def mistakes(self, row: int, right: Pieces, given: Pieces) -> Counter[Confusion]:
        """Each gold span paired with the predicted span that shares most words with it."""
        if [p[1:] for p in right] == [p[1:] for p in given]:
            return Counter((a[0], b[0]) for a, b in zip(right, given, strict=True) if a != b)
        return Counter((a, b) for a, b, exact in paired(right, given) if not exact)

    def piece(self, row: int, piece: tuple[str, int, int]) -> str:
        """Words and label."""
        label, begin, end = piece
        return f"{' '.join(self.documents[row].words()[begin:end])}/{label}"

    def words(self, row: int) -> list[str]:
        """The sentence."""
        return self.documents[row].words()

    def plain(self, answer: list[str]) -> list[str]:
        """The tags."""
        return answer


def _spans_or_tags(scorer: TagScorer, sentences: Sequence[list[str]]) -> list[Pieces]:
    if scorer.rules is None:
        return [[(tag, t, t + 1) for t, tag in enumerate(tags)] for tags in sentences]
    index = {tag: i for i, tag in enumerate(scorer.labels)}
    ids = np.array([index[tag] for tags in sentences for tag in tags], dtype=np.int32)
    ptr = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    found: list[Pieces] = [[] for _ in sentences]
    for n, begin, end, kind in zip(*(x.tolist() for x in scorer.spans(ids, ptr)), strict=True):
        start = int(ptr[n])
        found[n].append((scorer.types[kind], begin - start, end - start))
    return found


def _tagged_documents(path: Path, models: Sequence[Tagger], label: str | None) -> list[Document]:
    """The sentences of a file, with gold tags if its last column holds labels that a model knows."""
    form = detect(path).name
    if form not in PLAIN_COLUMNS:
        return as_sentences(read(path, **({} if label is None else {"label": label})), path)
    if label is not None:
        return rows_of(path, {"format": form, "label": label})
    documents = rows_of(path, {"format": form})
    if not models or _knows(models, documents):
        return documents
    plain = rows_of(path, {"format": "columns", "label": ""})
    return [_renamed(d, models[0].columns_) for d in plain]


def _knows(models: Sequence[Tagger], documents: Sequence[Document]) -> bool:
    """Whether at least half of the tokens have a tag that one of the models predicts."""
    known = {str(label) for model in models for label in model.classes_.tolist()}
    seen = Counter(tag in known for d in documents for tag in d.columns.get(LABEL, []))
    return seen[True] >= max(1, seen[False])


def _renamed(d: Document, known: Sequence[str]) -> Document:
    """The columns of an input, named like those of the training data."""
    names = input_names(known, 1 + len(d.columns))
    return replace(d, columns=dict(zip(names[1:], d.columns.values(), strict=True)))
