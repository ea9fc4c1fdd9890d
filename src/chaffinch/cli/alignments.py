"""Sentence pairs on the command line: how aligners are trained on files of links, how they link, what they hold."""

import json as json_text
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch.cli.console import err, progress_bar
from chaffinch.cli.task import Contents, Explaining, Prediction, Task, Training, refuse_other_format
from chaffinch.cli.training_report import clock, keep_trained
from chaffinch.corpus import Format, detect, read, write
from chaffinch.corpus.losses import Losses
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.aligner import Aligner
from chaffinch.evaluate import score_alignments
from chaffinch.files import display_name, writing_text
from chaffinch.knobs import knobs
from chaffinch.recipes.aligners import ALIGNERS, DEFAULT_ALIGNER
from chaffinch.text.document import Document, Links
from chaffinch.trust.explanation import Explanation

SHOWN = ("aer", "link.precision", "link.recall", "link.f1")
TITLE = "strongest features"


def train(asked: Training) -> None:
    """Train an aligner on files of linked pairs and write it to one file."""
    config = TASK.configured(asked.recipe, asked.settings)
    parts = {"train": [d for path in asked.data for d in _pairs(path, asked.from_format)]}
    if asked.dev is not None:
        parts["dev"] = _pairs(asked.dev, asked.from_format)
    aligner = Aligner(config, seed=asked.seed, threads=asked.threads)
    with progress_bar() as listener, clock() as took:
        aligner.fit(
            [_words(d) for d in parts["train"]],
            [_links(d).sure for d in parts["train"]],
            possible=[_links(d).possible for d in parts["train"]],
            on_epoch=listener,
        )
    scores = {name: _scores(aligner, documents) for name, documents in parts.items()}
    facts = {
        "pairs": len(parts["train"]),
        "sure links": sum(len(_links(d).sure) for d in parts["train"]),
        "features": len(aligner.model_.scorer.w),
    }
    keep_trained(asked, aligner, took, scores, facts)


def predict(aligner: Aligner, asked: Prediction) -> None:
    """Write the pairs back with the links that were found, as sure ones; any links that they had are put aside."""
    if not asked.json and asked.kbest is None:
        refuse_other_format(asked.output, "links", "a .tsv file")
    documents = _pairs(asked.data, asked.from_format)
    pairs = [_words(d) for d in documents]
    if asked.json or asked.kbest is not None:
        with writing_text(asked.output) as stream:
            for pair, readings in zip(pairs, aligner.predict_kbest(pairs, asked.kbest or 1), strict=True):
                found = [
                    {"score": round(score, 6), "links": [[i + 1, j + 1] for i, j in sorted(links)]}
                    for score, links in readings
                ]
                record = {"source": pair[0], "target": pair[1], "alignments": found}
                stream.write(json_text.dumps(record, ensure_ascii=False) + "\n")
        return
    for document, links in zip(documents, aligner.predict(pairs), strict=True):
        document.links = Links(_links(document).target, links)
    write(documents, asked.output, format="alignment")


def inspect(aligner: Aligner, top: int, label: str | None) -> Contents:
    """The features that speak most for a link or for staying alone, and most against."""
    names, w = aligner.model_.feature_names(), aligner.model_.scorer.w
    if label is not None:
        raise DataError("an aligner has no labels; leave --label out")
    rows = {
        kind: [(names[k], float(w[k])) for k in np.argsort(-sign * w, kind="stable")[:top].tolist()]
        for kind, sign in (("for", 1), ("against", -1))
    }
    return Contents((), TITLE, rows)


def holds_pairs(_path: Path, format: Format) -> bool:
    """A file of sentence pairs with links."""
    return "links" in format.carries


def explain(aligner: Aligner, asked: Explaining) -> list[Explanation]:
    """Why words were linked; --against 2-3 asks about the second word and the third."""
    if asked.data is None:
        raise DataError("an aligner reads pairs of sentences: give a file of them")
    link = None if asked.against is None else _link(asked.against)
    return [aligner.explain(_words(d), link=link) for d in asked.chosen(_pairs(asked.data))]


TASK = Task(
    plural="sentence pairs",
    recipes=ALIGNERS,
    default=DEFAULT_ALIGNER,
    holds=holds_pairs,
    estimator=Aligner,
    train=train,
    predict=predict,
    inspect=inspect,
    explain=explain,
    explains=("against",),
    takes=("kbest",),
)


def _pairs(path: Path, format: str | None = None) -> list[Document]:
    """The pairs of a file; links that point outside their sentences are left out, and stderr says so."""
    format_options = detect(path, format).options
    known = set() if format_options is None else {k.name for k in knobs(format_options)}
    losses = Losses()
    lenient: dict[str, Any] = {"out_of_range": "drop", "losses": losses} if "out_of_range" in known else {}
    documents = list(read(path, format, **lenient))
    for loss in losses:
        err.print(f"chaffinch: {loss}")
    if not documents:
        raise DataError(f"{display_name(path)}: has no sentence pair")
    for number, d in enumerate(documents, 1):
        if d.links is None:
            raise DataError(f"{display_name(path)}: document {number} has no translation to link")
    return documents


def _links(document: Document) -> Links:
    assert document.links is not None
    return document.links


def _words(document: Document) -> tuple[list[str], list[str]]:
    return document.words(), list(_links(document).target)


def _link(text: str) -> tuple[int, int]:
    """A link as people write it, counted from 1."""
    places = text.split("-")
    if len(places) != 2 or not all(p.isdigit() and int(p) > 0 for p in places):
        raise ConfigError(f"--against: expected a link such as 2-3, got {text!r}")
    return int(places[0]) - 1, int(places[1]) - 1


def _scores(aligner: Aligner, documents: list[Document]) -> dict[str, float]:
    sure, possible = ([getattr(_links(d), kind) for d in documents] for kind in ("sure", "possible"))
    found = score_alignments(sure, possible, aligner.predict([_words(d) for d in documents])).as_dict()
    return {name: found[name] for name in SHOWN}
