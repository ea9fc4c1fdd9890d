"""Documents on the command line: how classifiers are trained on files of texts, how they label them, what they hold."""

import json as json_text
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from chaffinch.cli.console import progress_bar
from chaffinch.cli.task import Contents, Explaining, Prediction, Task, Training
from chaffinch.cli.train_compare import train_and_compare
from chaffinch.cli.training_report import clock, keep_trained
from chaffinch.corpus import Format, detect, read, write
from chaffinch.corpus.annotators import FIRST
from chaffinch.corpus.registry import every_document, named, with_extension
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.classifier import Classifier
from chaffinch.evaluate import score_documents, score_label_sets
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.files import display_name, writing_text
from chaffinch.knobs import knob, knobs
from chaffinch.lab.input_columns import number_columns
from chaffinch.lab.parts import Texts
from chaffinch.lab.parts import targets as lab_targets
from chaffinch.lab.tasks import Classification
from chaffinch.model.kernel_classifier import KernelModel, ObjectEncoder
from chaffinch.recipes.classifiers import CLASSIFIERS, DEFAULT_CLASSIFIER
from chaffinch.recipes.document_options import DocumentOptions
from chaffinch.text.document import Document
from chaffinch.trust.explanation import Explanation

TEXT_KNOBS = {k.name for k in knobs(TextVectorizer)} - {"seed", "threads"}
OPTION_KNOBS = {k.name for k in knobs(DocumentOptions)}
# Predictions of several labels are joined so in a cell.
SEPARATOR = "|"
# The formats with a place for whatever a row holds; those of them that are lines of text, that are separated cells.
WITH_FIELDS = ("csv", "tsv", "jsonl", "parquet")
ON_SCREEN, DELIMITED = WITH_FIELDS[:3], WITH_FIELDS[:2]


@dataclass(frozen=True, kw_only=True)
class DocumentColumns:
    """Further columns of a file of documents."""

    weight: str | None = knob(None, "column that says how much a document counts")
    numbers: str | None = knob(None, "columns of numbers that are features beside the text, by commas")


def holds_documents(_path: Path, format: Format) -> bool:
    """A file whose rows are texts with labels, as opposed to sentences of tokens."""
    return "labels" in format.carries and not format.carries & {"columns", "tree", "links"}


def train(asked: Training) -> None:
    """Train a classifier on files of documents and write it to one file."""
    parts = {"train": [d for path in asked.data for d in _labelled(path, asked)]}
    if asked.dev is not None:
        parts["dev"] = list(_labelled(asked.dev, asked))
    elif asked.stop_on_dev:
        raise ConfigError("--stop-on-dev needs held-out documents: name their file with --dev")
    if asked.compare is not None:
        _compare(asked, parts)
        return
    config = TASK.configured(asked.recipe, asked.settings)
    classifier = _classifier(asked, config)
    columns = {k.name: asked.settings.get(k.name) for k in knobs(DocumentColumns)}
    numbers = {name: number_columns(documents, columns["numbers"]) for name, documents in parts.items()}
    targets = {name: lab_targets(documents, name) for name, documents in parts.items()}
    weight = None if columns["weight"] is None else number_columns(parts["train"], columns["weight"])
    texts = {name: [d.text for d in documents] for name, documents in parts.items()}
    dev = (texts["dev"], targets["dev"], numbers["dev"]) if asked.stop_on_dev else None
    with progress_bar() as listener, clock() as took:
        classifier.fit(
            texts["train"],
            targets["train"],
            None if weight is None else next(iter(weight.values())),
            beside=numbers["train"],
            dev=dev,
            on_epoch=listener,
        )
    scores = {name: _scores(classifier, documents, numbers[name]) for name, documents in parts.items()}
    model = classifier.model_
    facts = {"documents": len(parts["train"])}
    if not isinstance(model.encoder, ObjectEncoder):
        facts["features"] = model.encoder.n_features
    facts["labels"] = len(classifier.classes_)
    if isinstance(model, KernelModel):
        facts["support_vectors"] = len(model.support)
    keep_trained(asked, classifier, took, scores, facts)


def predict(classifier: Classifier, asked: Prediction) -> None:
    """Write the documents back with a prediction and a confidence each."""
    data = asked.data
    classifier.threads = asked.threads
    if asked.threshold is not None:
        if not classifier.model_.several:
            raise ConfigError("--threshold is for models that give several labels; this one gives one each")
        classifier.model_ = replace(classifier.model_, threshold=asked.threshold)
    format = detect(data, asked.from_format)  # before reading, since a pipe is gone afterwards
    written = format.name if asked.json else _format_of_answers(asked.output, format.name, asked.to_format)
    documents = list(every_document(data, format, **_options(data, format, text=asked.text)))
    texts = [d.text for d in documents]
    if not texts:
        raise DataError(f"{display_name(data)}: has no document")
    union = classifier.model_.encoder.union
    numbers = number_columns(documents, ",".join(union.beside_names) if union else None)
    p, labels = classifier.answers(texts, numbers)
    given = [one if isinstance(one, list) else [str(one)] for one in labels]
    sure = [f"{row.max():.4f}" for row in p]
    if asked.json:
        with writing_text(asked.output) as stream:
            for document, names, row in zip(documents, given, p, strict=True):
                shares = dict(zip(map(str, classifier.classes_.tolist()), row.round(6).tolist(), strict=True))
                found = {
                    "text": document.text,
                    "prediction": names if classifier.model_.several else names[0],
                    "labels": shares,
                }
                stream.write(json_text.dumps(found, ensure_ascii=False) + "\n")
        return
    for document, names, confidence in zip(documents, given, sure, strict=True):
        document.fields |= {"prediction": SEPARATOR.join(map(str, names)), "confidence": confidence}
    options: dict[str, Any] = {}
    if written in DELIMITED:
        options["labelled"] = any(d.labels for d in documents)
        options["label_separator"] = SEPARATOR if any(len(d.labels) > 1 for d in documents) else None
    write(documents, asked.output, format=written, **options)


def inspect(classifier: Classifier, top: int, label: str | None) -> Contents:
    """The strongest features of each label, or its support vectors."""
    model = classifier.model_
    labels = tuple(str(name) for name in model.classes.tolist())
    title, rows = model.strongest(top, label)
    return Contents(labels, title, rows)


def explain(classifier: Classifier, asked: Explaining) -> list[Explanation]:
    """Why each document got its label."""
    classifier.threads = asked.threads
    if asked.data is None:
        documents = [Document(text=asked.words or "")]
    else:
        documents = list(read(asked.data, **_options(asked.data, detect(asked.data), text=asked.text)))
    union = classifier.model_.encoder.union
    found = []
    for document in asked.chosen(documents):
        numbers = number_columns([document], ",".join(union.beside_names) if union else None)
        found.append(classifier.explain(document.text, against=asked.against, beside=numbers))
    return found


def name_features(classifier: Classifier, path: Path) -> None:
    """Find what hashed features stand for in the documents of a file."""
    classifier.model_.encoder.learn_hashed_names([d.text for d in read(path)])


TASK = Task(
    plural="documents",
    recipes=CLASSIFIERS,
    default=DEFAULT_CLASSIFIER,
    holds=holds_documents,
    estimator=Classifier,
    train=train,
    predict=predict,
    inspect=inspect,
    explain=explain,
    explains=("against", "text"),
    takes=(
        "features",
        "label",
        "text",
        "label_separator",
        "annotators",
        "to_format",
        "compare",
        "stop_on_dev",
        "threshold",
    ),
    knobs=(
        ("features of text", TextVectorizer),
        ("weights of labels, threshold, file", DocumentOptions),
        ("further columns", DocumentColumns),
    ),
    name_features=name_features,
)


def _classifier(asked: Training, config: Any) -> Classifier:
    """A classifier as the flags describe it, yet to be trained."""
    recipe = CLASSIFIERS.by_config(config).name
    settings = {k: v for k, v in asked.settings.items() if k in TEXT_KNOBS | OPTION_KNOBS}
    return Classification().estimator(
        recipe, {**asdict(config), **settings}, asked.features, asked.seed, asked.threads
    )


def _compare(asked: Training, parts: dict[str, list[Document]]) -> None:
    """Several recipes on the same documents."""
    for k in knobs(DocumentColumns):
        if k.name in asked.settings:
            raise ConfigError(f"{k.flag} does not go with --compare")
    made = {
        name: Texts([d.text for d in documents], lab_targets(documents, name))
        for name, documents in parts.items()
    }
    shared = {k: v for k, v in asked.settings.items() if k in TEXT_KNOBS | OPTION_KNOBS}
    train_and_compare(
        asked,
        CLASSIFIERS,
        made["train"],
        made.get("dev"),
        f"{len(parts['train']):,} documents to learn from",
        features=asked.features,
        shared=shared,
        stop_on_held_out=asked.stop_on_dev,
    )


def _labelled(path: Path, asked: Training) -> Iterator[Document]:
    """Documents with labels; where any has several, some may have none."""
    format = detect(path, asked.from_format)
    options = _options(
        path, format, text=asked.text, label=asked.label, label_separator=asked.label_separator
    )
    several = asked.label_separator is not None
    advice = "; name its column with --label" if "label" in _told(format) else ""
    n = 0
    documents = read(path, format.name, annotators=asked.annotators or FIRST, **options)
    for n, document in enumerate(documents, 1):
        if not document.labels and not several:
            place = f": document {n}" if document.line is None else f":{document.line}: the document"
            raise DataError(f"{display_name(path)}{place} has no label{advice}")
        yield document
    if n == 0:
        raise DataError(f"{display_name(path)}: has no document")


def _format_of_answers(output: Path, of_input: str, wanted: str | None) -> str:
    """How documents with predictions are written: as asked, as the output's name says, as they came, else as CSV.

    A format that cannot carry the predictions is refused.
    """
    suggested = [named(wanted).name] if wanted is not None else [f.name for f in with_extension(output)]
    if not suggested:
        return of_input if of_input in ON_SCREEN else ON_SCREEN[0]
    fit = [name for name in (of_input, *WITH_FIELDS) if name in WITH_FIELDS and name in suggested]
    if not fit:
        raise ConfigError(
            f"{output}: by its name of the format {suggested[-1]}, which has no place for predictions; "
            "name a .csv, .tsv, .jsonl or .parquet file"
        )
    return fit[0]


def _told(format: Format) -> set[str]:
    """What the reader of a format can be told."""
    return set() if format.options is None else {k.name for k in knobs(format.options)}


def _options(path: Path, format: Format, **told: str | None) -> dict[str, Any]:
    """What the reader is told, refused where it does not listen."""
    wanted = {k: v for k, v in told.items() if v is not None}
    for name in wanted:
        if name not in _told(format):
            raise ConfigError(
                f"{display_name(path)}: format {format.name} has no option --{name.replace('_', '-')}"
            )
    return wanted


def _scores(classifier: Classifier, documents: list[Document], numbers: Any) -> dict[str, float]:
    texts = [d.text for d in documents]
    if classifier.model_.several:
        sets = score_label_sets([d.labels for d in documents], classifier.predict(texts, numbers))
        return {"micro_f1": sets.micro_f1, "macro_f1": sets.macro_f1, "accuracy": sets.accuracy}
    for n, d in enumerate(documents):
        if len(d.labels) != 1:
            raise DataError(f"document {n + 1} has {len(d.labels)} labels, and the model gives one each")
    gold = [d.labels[0] for d in documents]
    found = score_documents(gold, [str(label) for label in classifier.predict(texts, numbers).tolist()])
    return {"accuracy": found.accuracy, "macro_f1": found.macro_f1}
