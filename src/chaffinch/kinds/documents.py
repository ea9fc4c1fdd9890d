"""Documents with labels: one or several each, or shares of labels; learnt and labelled by classifiers."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus import Format, detect, read, write
from chaffinch.corpus.annotations import CONFIDENCE, PREDICTION
from chaffinch.corpus.annotators import FIRST
from chaffinch.corpus.json_records import writing_json
from chaffinch.corpus.registry import TEXT_TABLES, every_document, write_nothing
from chaffinch.defaults.documents import SINGLE
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.classifier import Classifier
from chaffinch.estimators.documents import labels_of
from chaffinch.evaluate import LabelPair, LabelSets, Tally
from chaffinch.evaluate.documents import LabelOutputs
from chaffinch.evaluate.label_sets import LabelSetOutputs
from chaffinch.evaluate.outputs import SEPARATOR
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.files import display_name, is_stream, writing_text
from chaffinch.kinds.cached_documents import fit_cached_documents, needs_of_documents
from chaffinch.kinds.corpora import Corpus
from chaffinch.kinds.document_answers import (
    DELIMITED,
    ON_SCREEN,
    TOOLS,
    LabelTestSet,
    can_hold_answers,
    certain_labels,
    format_of_answers,
    header_above,
    label_values,
    number_columns,
    numbers_beside,
    numbers_of,
    predict_table,
    write_for_tools,
)
from chaffinch.kinds.kind import Contents, Kind
from chaffinch.kinds.needs import Needs
from chaffinch.kinds.requests import (
    COLUMN_FLAGS,
    ExplainRequest,
    PredictRequest,
    reader_options,
    rows_of,
)
from chaffinch.kinds.texts import TextLabels, Texts, as_strings
from chaffinch.kinds.weights import WeightColumn, weights_of
from chaffinch.knobs import knob, knobs
from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.kernel_classifier import KernelModel, ObjectEncoder
from chaffinch.progress import Listener
from chaffinch.recipes.classifiers import DEFAULT_CLASSIFIER
from chaffinch.recipes.document_task import DocumentOptions, as_arguments
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.text.document import Document, ValueLabel
from chaffinch.trust.explanation import Explanation

_FURTHER = {k.name for config in (TextVectorizer, DocumentOptions) for k in knobs(config)}
LOOKED_AT = 100  # documents in which the detection looks for a span

NUMBER = re.compile(r"\s*[-+]?\d[\d.,]*\s*")


@dataclass(frozen=True, kw_only=True)
class DocumentColumns(WeightColumn):
    """Further columns of a file of documents."""

    numbers: str | None = knob(
        None, "numeric columns used as features in addition to the text, separated by commas"
    )


class DocumentKind(Kind, TextLabels):
    """Labels for texts. Its settings are the knobs of the recipe, of features and of the classifier."""

    plural = "documents"
    estimator = Classifier
    default = DEFAULT_CLASSIFIER
    quickest = "nb"
    example = "reviews.csv"
    corpus = Texts
    unit = "texts"
    scores = ("micro_f1", "accuracy", "macro_f1")
    knobs = (
        ("features of text", TextVectorizer),
        ("weights of labels, threshold, file", DocumentOptions),
    )
    columns = (("further columns", DocumentColumns),)
    takes = (
        "engine",
        "workers",
        "shards",
        "features",
        "max_size",
        "self_train",
        "self_train_rounds",
        "self_train_confidence",
        "stop_on_dev",
        "threshold",
        "precision",
        "text",
        "to_format",
        "cache",
        "keep_cache",
    )
    tells = (*COLUMN_FLAGS, "annotators")
    explains = ("against", "text")
    baseline = True
    # No weight is dropped after training, so the model scored after the last pass is the one that is saved.
    experimental = {"smallest": 0.0, "calibrate": False}  # noqa: RUF012
    outputs = (LabelSetOutputs, LabelOutputs)

    # -- files

    def holds(self, path: Path, format: str | None = None) -> bool:
        """A file whose rows are texts with labels, as opposed to sentences of tokens or texts with spans."""
        chosen = detect(path, format)
        if "labels" not in chosen.carries or chosen.carries & {"tree", "links"}:
            return False
        if not chosen.carries & {"spans", "columns"} or is_stream(path):
            return "columns" not in chosen.carries
        return not any(d.spans or d.columns for d in islice(chosen.read(path), LOOKED_AT))

    def read(self, path: Path, told: Mapping[str, str]) -> Texts:
        """Texts with labels; if any has several, some may have none."""
        format = detect(path, told.get("from_format"))
        options = _options(path, format, {k: v for k, v in told.items() if k in COLUMN_FLAGS})
        annotators = told.get("annotators", FIRST)
        documents = rows_of(path, {"format": format.name, "annotators": annotators, **options})
        if "label_separator" not in told and not any(len(d.labels) > 1 for d in documents):
            for n, d in enumerate(documents, 1):
                if not d.labels:
                    at = f": document {n}" if d.line is None else f":{d.line}: the document"
                    raise DataError(
                        f"{display_name(path)}{at} has no label{_label_advice(path, format, documents)}"
                    )
        if documents and "text" not in told and all(NUMBER.fullmatch(d.text) for d in documents):
            raise DataError(
                f"{display_name(path)}: all texts are numbers, such as {documents[0].text!r}; "
                "name the column of the text with --text"
            )
        return Texts(
            [d.text for d in documents],
            targets(documents, display_name(path)),
            number_columns(documents, told.get("numbers")),
            weights_of(path, documents, told["weight"]) if "weight" in told else None,
        )

    def of_documents(self, documents: Sequence[Document], where: str) -> Corpus | None:
        """Documents with labels."""
        if not any(d.labels for d in documents):
            return None
        return Texts([d.text for d in documents], targets(documents, where))

    # -- learning and scoring

    def made(
        self, recipe: str | None, settings: Mapping[str, Any], features: Any, seed: int, threads: int
    ) -> Classifier:
        """A classifier; without a recipe it chooses one, and every setting that is not given."""
        if settings.get("start") is not None:
            begun: Classifier = self.started(recipe, settings, threads)
            return begun
        own = {name: value for name, value in settings.items() if name not in _FURTHER}
        chosen = any(own.keys() <= self.settings_of(name).keys() for name in SINGLE)
        if recipe is not None or settings.get("choose") is False or not chosen:
            name = recipe or self.default
            self.refuse_settings_of_others(name, settings)
            config, further = self.split(name, settings)
            return self.build(config, further, features, seed, threads)
        _, further = self.split(self.default, {k: v for k, v in settings.items() if k in _FURTHER})
        made = self.build(None, further, features, seed, threads)
        return made.set_params(settings=own or None)

    def build(
        self, config: Any, further: Sequence[Mapping[str, Any]], features: Any, seed: int, threads: int
    ) -> Classifier:
        """A classifier."""
        text, options = further
        given = features is not None or text or options.get("clusters") or options.get("phrases")
        kinds = TextFeatures.of(features).with_clusters(options.get("clusters"))
        kinds = kinds.with_phrases(options.get("phrases")).with_settings(text)
        own = kinds if given else None
        return self.estimator(config, features=own, seed=seed, threads=threads, **as_arguments(options))

    def fit(self, estimator: Classifier, train: Texts, dev: Texts | None, on_epoch: Listener) -> None:
        """Train it, or train it further."""
        if hasattr(estimator, "model_"):
            estimator.label_values_ = dict(estimator.label_values_) | _label_values(train.labels)
            estimator.partial_fit(train.texts, train.labels, sample_weight=train.weight, beside=train.numbers)
            return
        estimator.label_values_ = _label_values(train.labels)
        estimator.fit(
            train.texts,
            train.labels,
            train.weight,
            beside=train.numbers,
            dev=None if dev is None else (dev.texts, dev.labels, dev.numbers),
            on_epoch=on_epoch,
        )

    def needs(self, corpora: Sequence[Texts], _recipe: str | None, features: Any) -> Needs | None:
        """The memory and time of training on such documents."""
        return needs_of_documents(corpora, features)

    def fit_cached(
        self,
        estimator: Classifier,
        paths: Sequence[Path],
        told: Mapping[str, str],
        folder: Path,
        dev: Texts | None,
        on_epoch: Listener,
    ) -> tuple[dict[str, int], list[str]]:
        """Train it block by block; the ids of the documents' features are in the folder."""
        return fit_cached_documents(self, estimator, paths, told, folder, dev, on_epoch)

    def recalibrate(self, estimator: Classifier, corpus: Texts) -> None:
        """Fit the probabilities of a trained model on held-out texts."""
        estimator.recalibrate(corpus.texts, corpus.labels, beside=corpus.numbers)

    def tally(self, estimator: Classifier, corpus: Texts) -> Tally:
        """Counts by text; the largest share counts as gold."""
        predicted = estimator.predict(corpus.texts, corpus.numbers)
        if estimator.model_.several:
            gold = [[y] if isinstance(y, str) else list(y) for y in corpus.labels]
            return LabelSets.from_lists(gold, predicted).tally()
        most = [max(y, key=lambda name: y[name]) if isinstance(y, dict) else y for y in corpus.labels]
        for n, y in enumerate(most, 1):
            if not isinstance(y, str):
                raise DataError(
                    f"document {n}: expected one label, as the model predicts one, found {len(y)}"
                )
        return LabelPair.from_lists(most, [str(label) for label in predicted.tolist()]).tally()

    def watcher(self, corpus: Texts, threads: int) -> Callable[[ClassifierModel], float]:
        """Accuracy of texts; rows of features are computed once for all passes."""
        labels = labels_of(corpus.labels)
        made: list[tuple[Any, Any]] = []

        def accuracy(model: ClassifierModel) -> float:
            if not made or made[0][0] is not model.encoder:
                made[:] = [(model.encoder, model.encoder.rows(corpus.texts, corpus.numbers, threads))]
            s = model.scores_of_rows(made[0][1], threads)
            gold = labels.table(model.classes)
            if model.several:
                return float((model.given(s) == gold).all(axis=1).mean())
            return float(gold[np.arange(len(s)), s.argmax(axis=1)].mean())

        return accuracy

    def facts(self, estimator: Classifier, corpus: Texts) -> dict[str, int]:
        """Documents, features, labels, support vectors."""
        model = estimator.model_
        found = {"documents": len(corpus)}
        if not isinstance(model.encoder, ObjectEncoder):
            found["features"] = model.encoder.n_features
        found["labels"] = len(estimator.classes_)
        if isinstance(model, KernelModel):
            found["support_vectors"] = len(model.support)
        return found

    # -- answering

    def streams(self, model: Classifier) -> bool:
        """Always."""
        return True

    def ending(self, model: Classifier, asked: PredictRequest) -> str | None:
        """Labels are a column of CSV."""
        return None if can_hold_answers(asked.output) else ".csv"

    def answers_have_header(self, asked: PredictRequest) -> bool:
        """If they are written as CSV or TSV."""
        if asked.json:
            return False
        return format_of_answers(asked.output, asked.from_format or "", asked.to_format) in DELIMITED

    def predict(self, model: Classifier, asked: PredictRequest) -> None:
        """Write the documents back with a prediction and a confidence each."""
        data = asked.data
        model.threads = asked.threads
        if asked.threshold is not None:
            if not (model.model_.several or getattr(model.model_, "independent", False)):
                raise ConfigError(
                    "--threshold needs a model that predicts several labels; this one predicts one per document"
                )
            model.model_ = replace(model.model_, threshold=asked.threshold, several=True)
        format = detect(
            data, asked.from_format, texts=True
        )  # before reading, since a pipe can be read only once
        written = format.name if asked.json else format_of_answers(asked.output, format.name, asked.to_format)
        told = _options(data, format, {} if asked.text is None else {"text": asked.text})
        if asked.layout is not None and written in ON_SCREEN and not asked.json and not numbers_of(model):
            # A block of rows: no object for each is made, and it can be read again.
            table = TEXT_TABLES[format.name](data, **told) if format.name in TEXT_TABLES else None
            if table is not None and predict_table(model, table, asked, written):
                return
        documents = list(every_document(data, format, **told))
        if not documents:
            if written in DELIMITED and not asked.json:
                write([], asked.output, written, fields=[PREDICTION, CONFIDENCE], labelled=False)
            else:
                write_nothing(asked.output, None if asked.json else written)
            return
        documents = asked.picked(documents)
        for document, note in zip(documents, asked.notes, strict=bool(asked.notes)):
            document.fields |= note
        p, labels = model.answers([d.text for d in documents], numbers_beside(model, documents))
        given = [one if isinstance(one, list) else [str(one)] for one in labels]
        if asked.precision is not None:
            given = certain_labels(model, p, given, asked)
        values = label_values(model)
        if asked.json:
            with writing_text(asked.output) as stream, writing_json(stream, asked.output) as put:
                for document, labelled, row in zip(documents, given, p, strict=True):
                    names: list[Any] = [values.get(str(name), name) for name in labelled]
                    shares = dict(zip(map(str, model.classes_.tolist()), row.round(6).tolist(), strict=True))
                    known = {} if document.id is None else {"id": document.id}
                    answer = names if model.model_.several else names[0] if names else None
                    put(known | {"text": document.text, PREDICTION: answer, "labels": shares})
            return
        sure = [round(most, 4) for most in p.max(axis=1).tolist()]
        if written in TOOLS:
            write_for_tools(documents, given, sure, asked.output, written)
            return
        for document, found, confidence in zip(documents, given, sure, strict=True):
            shown = f"{confidence:.4f}" if written in DELIMITED else confidence
            joined = SEPARATOR.join(map(str, found))
            answer = joined if written in DELIMITED or model.model_.several else values.get(joined, joined)
            document.fields |= {PREDICTION: answer, CONFIDENCE: shown}
        options: dict[str, Any] = {}
        if written in DELIMITED:
            above = header_above(asked, written)
            options["labelled"] = any(d.labels for d in documents) or above[:1] == ["label"]
            ids = any(d.id is not None for d in documents) or "id" in above
            options["fields"] = [*(["id"] if ids else []), *documents[0].fields]
            options["label_separator"] = SEPARATOR if any(len(d.labels) > 1 for d in documents) else None
        write(documents, asked.output, format=written, **options)

    def inspect(self, model: Classifier, top: int, label: str | None) -> Contents:
        """The strongest features of each label, or its support vectors."""
        labels = tuple(str(name) for name in model.model_.classes.tolist())
        title, rows = model.model_.strongest(top, label)
        return Contents(labels, title, rows)

    def explain(self, model: Classifier, asked: ExplainRequest) -> list[Explanation]:
        """Explanations of the labels of documents."""
        model.threads = asked.threads
        if asked.data is None:
            documents = [Document(text=asked.words or "")]
        else:
            told = {} if asked.text is None else {"text": asked.text}
            documents = list(read(asked.data, **_options(asked.data, detect(asked.data), told)))
        return [
            model.explain(d.text, against=asked.against, beside=numbers_beside(model, [d]))
            for d in asked.chosen(documents)
        ]

    def name_features(self, model: Classifier, path: Path) -> None:
        """Recover the names of hashed features from the documents of a file."""
        model.model_.encoder.learn_hashed_names([d.text for d in read(path)])

    def test_set(self, path: Path, models: Sequence[Classifier], told: Mapping[str, str]) -> LabelTestSet:
        """Texts to classify."""
        return LabelTestSet(path, models, told)

    # -- active learning

    starts_at_centres = True
    strategy = "typical"

    def pool(self, model: Classifier, asked: PredictRequest) -> Texts:
        """All texts of a file; their labels are None."""
        format = detect(asked.data, asked.from_format, texts=True)
        told = {} if asked.text is None else {"text": asked.text}
        documents = list(every_document(asked.data, format, **_options(asked.data, format, told)))
        return Texts([d.text for d in documents], [None] * len(documents), numbers_beside(model, documents))

    def texts(self, corpus: Texts) -> list[str]:
        """The texts."""
        return corpus.texts

    def uncertainty(self, model: Classifier, corpus: Texts) -> NDArray[np.float64]:
        """1 - (p of the best label - p of the second); with several labels, by the one nearest to one half."""
        p = model.predict_proba(corpus.texts, corpus.numbers)
        if model.model_.several:
            return 1.0 - 2.0 * np.abs(p - 0.5).min(axis=1)
        if p.shape[1] < 2:
            return np.zeros(len(p))
        best = np.partition(p, -2, axis=1)[:, -2:]
        return 1.0 - (best[:, 1] - best[:, 0])

    def wrong_units(self, model: Classifier, corpus: Texts) -> NDArray[np.int64]:
        """1 for each text with a wrong label."""
        found = model.predict(corpus.texts, corpus.numbers)
        return np.array(
            [set(as_strings(a)) != set(as_strings(b)) for a, b in zip(found, corpus.labels, strict=True)],
            np.int64,
        )

    def self_labelled(
        self, model: Classifier, pool: Texts, train: Texts
    ) -> tuple[Texts, NDArray[np.float64]]:
        """Classified texts; with several labels, predicted labels count as right and all others as wrong."""
        p, answers = model.answers(pool.texts, pool.numbers)
        as_read = {str(y): y for own in train.labels for y in ([own] if isinstance(own, str) else own)}
        given = [[str(y) for y in (one if model.model_.several else [one])] for one in answers]
        if model.model_.several:
            place = {str(label): i for i, label in enumerate(model.classes_.tolist())}
            chosen = np.zeros(p.shape, np.bool_)
            for row, names in zip(chosen, given, strict=True):
                row[[place[name] for name in names]] = True
            sure = np.where(chosen, p, 1.0 - p).min(axis=1)
            labels: list[Any] = [[as_read[name] for name in names] for names in given]
        else:
            sure, labels = p.max(axis=1), [as_read[name] for (name,) in given]
        weight = None if train.weight is None else [float(np.mean(train.weight))] * len(labels)
        return replace(pool, labels=labels, weight=weight), sure


DOCUMENTS = DocumentKind()


def _label_values(labels: Sequence[Any]) -> dict[str, Any]:
    """The labels that are numbers or booleans in their file, by their text, unless they are also text somewhere."""
    found = [name for y in labels for name in ([y] if isinstance(y, str) else y)]
    text = {str(name) for name in found if not isinstance(name, ValueLabel)}
    return {str(name): name.value for name in found if isinstance(name, ValueLabel) and name not in text}


def targets(documents: Sequence[Document], where: str) -> list[Any]:
    """The targets of documents: shares if any has shares, lists if any has several labels, else one label."""
    if any(d.shares for d in documents):
        lone = next((n for n, d in enumerate(documents) if not d.labels), None)
        if lone is not None:
            raise DataError(f"{where}: document {lone + 1} has no label")
        return [d.shares or {d.labels[0]: 1.0} for d in documents]
    several = any(len(d.labels) != 1 for d in documents)
    return [d.labels if several else d.labels[0] for d in documents]


def _label_advice(path: Path, format: Format, documents: Sequence[Document]) -> str:
    """Advice for a document without a label."""
    if any(d.labels for d in documents):
        return ", others have one; label it or remove it"
    return "; name its column with --label" if "label" in reader_options(path, format.name) else ""


def _options(path: Path, format: Format, told: Mapping[str, str]) -> dict[str, str]:
    """The options of the reader; an option that it does not have is refused."""
    for name in told:
        if name not in reader_options(path, format.name):
            raise ConfigError(
                f"{display_name(path)}: format {format.name} has no option --{name.replace('_', '-')}"
            )
    return dict(told)
