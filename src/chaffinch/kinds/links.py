"""Sentence pairs with word links, learnt and linked by aligners."""

import json as json_text
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch.corpus import detect, write
from chaffinch.corpus.alignment_tsv import read_pairs
from chaffinch.corpus.losses import Losses
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.estimators.aligner import Aligner
from chaffinch.evaluate import Tally, link_tally, score_alignments
from chaffinch.evaluate.alignments import LinkOutputs
from chaffinch.evaluate.mistakes import Pieces
from chaffinch.evaluate.outputs import row_place
from chaffinch.files import writing_text
from chaffinch.kinds.corpora import Corpus, ExampleLists
from chaffinch.kinds.kind import (
    Confusion,
    Contents,
    Kind,
    TestSet,
    holds_layer,
    missed_and_invented,
    refuse_other_format,
)
from chaffinch.kinds.requests import (
    ExplainRequest,
    PredictRequest,
    TrainRequest,
    reader_options,
    rows_of,
)
from chaffinch.kinds.weights import weights_of
from chaffinch.model.aligner import AlignerModel
from chaffinch.model.associations import Pair
from chaffinch.progress import Listener
from chaffinch.recipes.aligners import DEFAULT_ALIGNER
from chaffinch.text.document import Document, Links
from chaffinch.trust.explanation import Explanation

Answer = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Bitext(ExampleLists):
    """Pairs of sentences; sure links are required, possible links are allowed.

    weight: the weight of each pair
    """

    pairs: list[Pair]
    sure: list[Answer]
    possible: list[Answer]
    weight: list[float] | None = None

    def content(self) -> list[Any]:
        """Words and links."""
        words = [word for pair in self.pairs for side in (*pair, ["|||"]) for word in side]
        links = [
            " ".join(f"{i}-{j}" for i, j in sorted(one))
            for side in (self.sure, self.possible)
            for one in side
        ]
        return [words, links, *([] if self.weight is None else [np.array(self.weight)])]


class LinkKind(Kind):
    """Links between the words of two sentences."""

    plural = "sentence pairs"
    estimator = Aligner
    default = DEFAULT_ALIGNER
    quickest = "aligner-perceptron"
    example = "pairs.tsv"
    corpus = Bitext
    unit = "pairs"
    scores = ("link.f1", "aer", "link.precision", "link.recall")
    takes = ("kbest", "pairs")
    outputs = (LinkOutputs,)
    explains = ("against",)

    # -- files

    def holds(self, path: Path, format: str | None = None) -> bool:
        """A file of sentence pairs with links."""
        return "links" in detect(path, format).carries

    def read(self, path: Path, told: Mapping[str, str]) -> Bitext:
        """Pairs with links."""
        pairs = _pairs(path, told.get("from_format"))
        weight = weights_of(path, pairs, told["weight"]) if "weight" in told else None
        return replace(_bitext(pairs), weight=weight)

    def beside(self, asked: TrainRequest, told: Mapping[str, str]) -> dict[str, Any]:
        """The pairs without links of ``--pairs``."""
        text = [pair for path in asked.pairs or [] for pair in read_pairs(path)]
        return {"text": text} if text else {}

    def of_documents(self, documents: Sequence[Document], where: str) -> Corpus | None:
        """Documents with links."""
        return _bitext(documents) if all(d.links is not None for d in documents) else None

    # -- learning and scoring

    def fit(
        self,
        estimator: Aligner,
        train: Bitext,
        dev: Bitext | None,
        on_epoch: Listener,
        text: Sequence[Pair] = (),
    ) -> None:
        """Train it; ``text`` holds pairs without links, for the word associations."""
        held_out = None if dev is None else (dev.pairs, dev.sure, dev.possible)
        estimator.fit(
            train.pairs,
            train.sure,
            possible=train.possible,
            sample_weight=train.weight,
            text=text,
            dev=held_out,
            on_epoch=on_epoch,
        )

    def tally(self, estimator: Aligner, corpus: Bitext) -> Tally:
        """Counts by pair."""
        return link_tally(corpus.sure, corpus.possible, estimator.predict(corpus.pairs))

    def watcher(self, corpus: Bitext, threads: int) -> Callable[[AlignerModel], float]:
        """The F1 of links."""
        return lambda model: score_alignments(corpus.sure, corpus.possible, model.align(corpus.pairs)).f1

    def facts(self, estimator: Aligner, corpus: Bitext) -> dict[str, int]:
        """Pairs, links, features."""
        return {
            "pairs": len(corpus),
            "sure links": sum(map(len, corpus.sure)),
            "features": len(estimator.model_.scorer.w),
        }

    # -- answering

    def ending(self, model: Aligner, asked: PredictRequest) -> str | None:
        """Pairs with links are TSV, several alignments of a pair are JSON lines."""
        if asked.kbest is not None:
            return None if asked.output.suffix.lower() in (".jsonl", ".ndjson") else ".jsonl"
        return None if holds_layer(asked.output, "links") else ".tsv"

    def predict(self, model: Aligner, asked: PredictRequest) -> None:
        """Write the pairs with the predicted links as sure links, instead of any links that they had."""
        if not asked.json and asked.kbest is None:
            refuse_other_format(asked.output, "links", "a .tsv file")
        documents = _pairs(asked.data, asked.from_format)
        pairs = [_words(d) for d in documents]
        if asked.json or asked.kbest is not None:
            with writing_text(asked.output) as stream:
                for pair, answers in zip(pairs, model.predict_kbest(pairs, asked.kbest or 1), strict=True):
                    found = [
                        {"score": round(score, 6), "links": _from_one(links)} for score, links in answers
                    ]
                    record = {"source": pair[0], "target": pair[1], "alignments": found}
                    stream.write(json_text.dumps(record, ensure_ascii=False) + "\n")
            return
        for document, links in zip(documents, model.predict(pairs), strict=True):
            document.links = Links(_links(document).target, links)
        write(documents, asked.output, format="alignment")

    def inspect(self, model: Aligner, top: int, label: str | None) -> Contents:
        """The features with the largest positive and negative weights for links and for unaligned words."""
        if label is not None:
            raise DataError("an aligner has no labels; leave out --label")
        names, w = model.model_.feature_names(), model.model_.scorer.w
        rows = {
            side: [(names[k], float(w[k])) for k in np.argsort(-sign * w, kind="stable")[:top].tolist()]
            for side, sign in (("for", 1), ("against", -1))
        }
        return Contents((), rows=rows)

    def explain(self, model: Aligner, asked: ExplainRequest) -> list[Explanation]:
        """Explanations of links; --against 2-3 asks about the link of word 2 and word 3."""
        if asked.data is None:
            raise DataError("expected a file of sentence pairs for an aligner, got a text")
        link = None if asked.against is None else _link(asked.against)
        return [model.explain(_words(d), link=link) for d in asked.chosen(_pairs(asked.data))]

    def test_set(self, path: Path, models: Sequence[Aligner], told: Mapping[str, str]) -> "LinkTestSet":
        """Pairs to link."""
        return LinkTestSet(path)


LINKS = LinkKind()


class LinkTestSet(TestSet):
    """Sentence pairs and their word links; sure gold links are required, possible ones are allowed."""

    unit = "pairs"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.documents = _pairs(path)
        self.links = [_links(d) for d in self.documents]
        self.labelled = any(one.sure or one.possible for one in self.links)
        self.gold = [one.sure for one in self.links] if self.labelled else []
        self.units = len(self.documents)

    def ask(self, model: Aligner) -> list[Answer]:
        """The links of each pair."""
        return [frozenset(found) for found in model.predict([_words(d) for d in self.documents])]

    def answers_of(self, found: LinkOutputs) -> list[Answer]:
        """The sure links of an output."""
        return [d.links.sure for d in found.outputs[0] if d.links is not None]

    def outputs(self, names: tuple[str, ...], answers: Sequence[list[Answer]]) -> LinkOutputs:
        """Each output as documents."""
        made = tuple(
            [replace(d, links=Links((), links)) for d, links in zip(self.documents, output, strict=True)]
            for output in answers
        )
        return LinkOutputs(names, self.documents, made)

    def pieces(self, outputs: Sequence[Sequence[Answer]], rows: Sequence[int]) -> list[list[Pieces]]:
        """Each link."""
        return [[[("link", i, j) for i, j in sorted(answers[n])] for n in rows] for answers in outputs]

    def mistakes(self, row: int, right: Pieces, given: Pieces) -> Counter[Confusion]:
        """Missed and spurious links; possible links are neither."""
        possible = self.links[row].possible if self.labelled else frozenset()
        return missed_and_invented(right, [p for p in given if p[1:] not in possible or p in right])

    def piece(self, row: int, piece: tuple[str, int, int]) -> str:
        """The two words."""
        _, i, j = piece
        return f"{self.documents[row].words()[i]}-{self.links[row].target[j]}"

    def plain(self, answer: Answer) -> list[list[int]]:
        """Pairs of word numbers, from 1 as in files."""
        return _from_one(answer)


def _pairs(path: Path, format: str | None = None) -> list[Document]:
    """The pairs of a file; links that point outside their sentences are left out, and a warning says so."""
    losses = Losses()
    lenient: dict[str, Any] = {"format": format}
    if "out_of_range" in reader_options(path, format):
        lenient |= {"out_of_range": "drop", "losses": losses}
    documents = rows_of(path, lenient)
    for loss in losses:
        warn_about_data(str(loss))
    for n, d in enumerate(documents):
        if d.links is None:
            raise DataError(f"{row_place(path, n, d)}: has no second sentence to link to")
    return documents


def _bitext(documents: Sequence[Document]) -> Bitext:
    links = [_links(d) for d in documents]
    return Bitext(
        [_words(d) for d in documents], [one.sure for one in links], [one.possible for one in links]
    )


def _links(document: Document) -> Links:
    assert document.links is not None
    return document.links


def _words(document: Document) -> tuple[list[str], list[str]]:
    return document.words(), list(_links(document).target)


def _from_one(links: Any) -> list[list[int]]:
    """Links as files have them: word numbers from 1."""
    return [[i + 1, j + 1] for i, j in sorted(links)]


def _link(text: str) -> tuple[int, int]:
    """A written link, counted from 1."""
    places = text.split("-")
    if len(places) != 2 or not all(p.isdigit() and int(p) > 0 for p in places):
        raise ConfigError(f"--against: expected a link such as 2-3, got {text!r}")
    return int(places[0]) - 1, int(places[1]) - 1
