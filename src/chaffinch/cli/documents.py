"""Documents on the command line: how classifiers are trained on files of texts, and how they label them."""

import json as json_text
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from chaffinch.cli.console import out, print_json, progress_bar
from chaffinch.corpus import detect, read, write
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.classifier import Classifier
from chaffinch.evaluate import score_documents
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.files import display_name, writing_text
from chaffinch.knobs import knobs
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.text.document import Document

TEXT_KNOBS = {k.name for k in knobs(TextVectorizer)} - {"seed", "threads"}


def holds_documents(path: Path) -> bool:
    """A file whose rows are texts with labels, as opposed to sentences of tokens."""
    found = detect(path).carries
    return "labels" in found and not found & {"columns", "tokens", "tree", "links"}


def train(
    data: list[Path],
    model: Path,
    *,
    recipe: str,
    dev: Path | None,
    features: str | None,
    text: str | None,
    label: str | None,
    settings: dict[str, Any],
    seed: int,
    threads: int,
    json: bool,
) -> None:
    """Train a classifier on files of documents and write it to one file."""
    chosen = CLASSIFIERS.by_name(recipe)
    own = {k.name for k in knobs(chosen.config)}
    for flag in settings:
        if flag not in own | TEXT_KNOBS | {"clusters"}:
            takers = [r.name for r in CLASSIFIERS if flag in {k.name for k in knobs(r.config)}]
            raise ConfigError(
                f"recipe {recipe} for documents has no knob --{flag.replace('_', '-')}"
                + (f"; recipes with it: {', '.join(takers)}" if takers else "")
            )
    made = chosen.configured({k: v for k, v in settings.items() if k in own})
    kinds = TextFeatures.of(features).with_clusters(settings.get("clusters"))
    kinds = kinds.with_settings({k: v for k, v in settings.items() if k in TEXT_KNOBS - own})
    parts = {"train": [d for path in data for d in _labelled(path, text, label)]}
    if dev is not None:
        parts["dev"] = list(_labelled(dev, text, label))
    classifier = Classifier(made, features=kinds, seed=seed, threads=threads)
    wall, cpu = time.perf_counter(), time.process_time()
    with progress_bar() as listener:
        classifier.fit([d.text for d in parts["train"]], _targets(parts["train"]), on_epoch=listener)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    scores = {name: _scores(classifier, documents) for name, documents in parts.items()}
    classifier.save(
        model, scores={f"{part}.{key}": v for part, found in scores.items() for key, v in found.items()}
    )
    record = {
        "recipe": chosen.name,
        "wall_s": round(wall, 4),
        "cpu_s": round(cpu, 4),
        "epochs": len(classifier.history_),
        "documents": len(parts["train"]),
        "features": classifier.model_.encoder.n_features,
        "labels": len(classifier.classes_),
        **scores,
        "model": str(model),
        "model_bytes": model.stat().st_size,
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "seed": seed,
    }
    if json:
        print_json(record)
    else:
        _show(record, scores)


def predict(
    classifier: Classifier, data: Path, output: Path, text: str | None, json: bool, threads: int
) -> None:
    """Write the documents back with a prediction and a confidence each."""
    classifier.threads = threads
    documents = list(read(data, **_options(data, text, None)))
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
    if json:
        with writing_text(output) as stream:
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
    write(documents, output, format=chosen if chosen in ("csv", "tsv", "jsonl") else "csv")


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


def _show(record: dict[str, Any], scores: dict[str, dict[str, float]]) -> None:
    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column("scored on")
    names = list(next(iter(scores.values())))
    for name in names:
        shown.add_column(name, justify="right")
    for part, found in scores.items():
        shown.add_row(part, *(f"{100 * found[name]:.2f} %" for name in names))
    out.print(shown)
    out.print(
        f"{record['recipe']}: {record['documents']:,} documents, {record['features']:,} features, "
        f"{record['labels']} labels, trained in {record['wall_s']:.2f} s; {record['model']} has "
        f"{record['model_bytes'] / 1024:,.0f} KB"
    )
