"""Documents on the command line: how classifiers are trained on files of texts, how they label them, what they hold."""

import json as json_text
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch.cli.console import progress_bar
from chaffinch.cli.task import Contents, Prediction, Task, Training
from chaffinch.cli.training_report import clock, flat, report_training
from chaffinch.corpus import detect, read, write
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.classifier import Classifier
from chaffinch.evaluate import score_documents
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.files import display_name, writing_text
from chaffinch.knobs import knob, knobs
from chaffinch.recipes.classifiers import CLASSIFIERS, DEFAULT_CLASSIFIER
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.text.document import Document

TEXT_KNOBS = {k.name for k in knobs(TextVectorizer)} - {"seed", "threads"}


@dataclass(frozen=True)
class WordClusters:
    """Clusters whose n-grams are features beside those of the words."""

    clusters: str | None = knob(None, "file of word clusters: path, word")


def holds_documents(path: Path) -> bool:
    """A file whose rows are texts with labels, as opposed to sentences of tokens."""
    found = detect(path).carries
    return "labels" in found and not found & {"columns", "tokens", "tree", "links"}


def train(asked: Training) -> None:
    """Train a classifier on files of documents and write it to one file."""
    recipe, config = TASK.configured(asked.recipe, asked.settings)
    own = {k.name for k in knobs(recipe.config)}
    kinds = TextFeatures.of(asked.features).with_clusters(asked.settings.get("clusters"))
    kinds = kinds.with_settings({k: v for k, v in asked.settings.items() if k in TEXT_KNOBS - own})
    parts = {"train": [d for path in asked.data for d in _labelled(path, asked.text, asked.label)]}
    if asked.dev is not None:
        parts["dev"] = list(_labelled(asked.dev, asked.text, asked.label))
    classifier = Classifier(config, features=kinds, seed=asked.seed, threads=asked.threads)
    with progress_bar() as listener, clock() as took:
        classifier.fit([d.text for d in parts["train"]], _targets(parts["train"]), on_epoch=listener)
    scores = {name: _scores(classifier, documents) for name, documents in parts.items()}
    classifier.save(asked.model, scores=flat(scores))
    facts = {
        "documents": len(parts["train"]),
        "features": classifier.model_.encoder.n_features,
        "labels": len(classifier.classes_),
    }
    report_training(
        recipe.name,
        asked.model,
        took,
        scores,
        facts,
        epochs=len(classifier.history_),
        seed=asked.seed,
        json=asked.json,
    )


def predict(classifier: Classifier, asked: Prediction) -> None:
    """Write the documents back with a prediction and a confidence each."""
    data = asked.data
    classifier.threads = asked.threads
    documents = list(read(data, **_options(data, asked.text, None)))
    texts = [d.text for d in documents]
    if not texts:
        raise DataError(f"{display_name(data)}: has no document")
    p = classifier.predict_proba(texts)
    labels = classifier.predict(texts)
    given = [
        one if isinstance(one, list) else [str(one)]
        for one in (labels if isinstance(labels, list) else labels.tolist())
    ]
    sure = [f"{row.max():.4f}" for row in p]
    if asked.json:
        with writing_text(asked.output) as stream:
            for document, names, row in zip(documents, given, p, strict=True):
                shares = dict(zip(map(str, classifier.classes_.tolist()), row.round(6).tolist(), strict=True))
                found = {
                    "text": document.text,
                    "prediction": names if len(names) != 1 else names[0],
                    "labels": shares,
                }
                stream.write(json_text.dumps(found, ensure_ascii=False) + "\n")
        return
    for document, names, confidence in zip(documents, given, sure, strict=True):
        document.fields |= {"prediction": "|".join(map(str, names)), "confidence": confidence}
    chosen = detect(data).name
    write(documents, asked.output, format=chosen if chosen in ("csv", "tsv", "jsonl") else "csv")


def inspect(classifier: Classifier, top: int, label: str | None) -> Contents:
    """The strongest features of each label."""
    model = classifier.model_
    labels = tuple(str(name) for name in model.classes.tolist())
    names = model.encoder.names()
    rows = {}
    for y, name in enumerate(labels):
        if label is None or name == label:
            weights = model.w[: len(names), y]
            order = np.argsort(-weights, kind="stable")[:top]
            rows[name] = [(names[f], float(weights[f])) for f in order.tolist()]
    return Contents(labels, rows=rows)


TASK = Task(
    plural="documents",
    recipes=CLASSIFIERS,
    default=DEFAULT_CLASSIFIER,
    holds=holds_documents,
    estimator=Classifier,
    train=train,
    predict=predict,
    inspect=inspect,
    takes=("features", "label", "text"),
    knobs=(("Documents: features of text", TextVectorizer), ("Documents: clusters", WordClusters)),
)


def _labelled(path: Path, text: str | None, label: str | None) -> Iterator[Document]:
    for n, document in enumerate(read(path, **_options(path, text, label))):
        if not document.labels:
            raise DataError(
                f"{display_name(path)}: document {n + 1} has no label; name its column with --label"
            )
        yield document


def _options(path: Path, text: str | None, label: str | None) -> dict[str, Any]:
    """What the reader is told, refused where it does not listen."""
    wanted = {k: v for k, v in {"text": text, "label": label}.items() if v is not None}
    format_options = detect(path).options
    known = set() if format_options is None else {k.name for k in knobs(format_options)}
    for name in wanted:
        if name not in known:
            raise ConfigError(f"{display_name(path)}: format {detect(path).name} has no option --{name}")
    return wanted


def _targets(documents: list[Document]) -> list[Any]:
    """One label per document, or all of them where any document has several."""
    if all(len(d.labels) == 1 for d in documents):
        return [d.labels[0] for d in documents]
    return [list(d.labels) for d in documents]


def _scores(classifier: Classifier, documents: list[Document]) -> dict[str, float]:
    texts, gold = [d.text for d in documents], _targets(documents)
    if classifier.model_.several:
        return {"accuracy": classifier.score(texts, [list(d.labels) for d in documents])}
    found = score_documents(gold, [str(label) for label in classifier.predict(texts).tolist()])
    return {"accuracy": found.accuracy, "macro_f1": found.macro_f1}
