"""Folders and repositories in Hugging Face's layout: the model file, its description, and a model card.

    model.chaff    the model, as ``save`` writes it
    config.json    library, kind, recipe and labels
    README.md      the model card, written from the facts of the model

A folder needs no network and no further package; repositories on the hub need the extra [hub]. Nothing is pickled.
"""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chaffinch import __version__, modelfile
from chaffinch.errors import ConfigError, DataError, missing_extra
from chaffinch.estimators.loading import load
from chaffinch.files import writing_text
from chaffinch.knobs import settings_of

MODEL, DESCRIPTION, CARD = "model.chaff", "config.json", "README.md"
# The hub's names of tasks; other kinds have no name there.
TASKS = {"Tagger": "token-classification", "Classifier": "text-classification"}
MOST_LABELS, MOST_SETTINGS = 60, 60  # listed on a card
USE = {
    "Tagger": 'model.predict([["Ann", "left", "Rome"]])  # or model.spans("Ann left Rome")',
    "Classifier": 'model.predict(["a text"])  # or model.predict_proba(["a text"])',
    "Parser": 'model.predict([["the", "dog", "barks"]])',
    "Aligner": 'model.predict([(["the", "dog"], ["der", "Hund"])])',
    "Reranker": "model.predict(candidates)",
}


def save_folder(estimator: Any, folder: str | Path, *, name: str | None = None) -> None:
    """Write the model, its description and its card to a folder, which is created if needed."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise DataError(f"{path}: is a file, expected a folder")
    path.mkdir(parents=True, exist_ok=True)
    estimator.save(path / MODEL, scores=estimator.known_scores())
    header = modelfile.read(path / MODEL).header
    facts = {
        "library_name": "chaffinch",
        "chaffinch_version": __version__,
        "estimator": type(estimator).__name__,
        "recipe": header.recipe,
        "labels": list(_labels(estimator)),
    }
    with writing_text(path / DESCRIPTION) as out:
        out.write(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    with writing_text(path / CARD) as out:
        out.write(model_card(estimator, name or path.resolve().name))


def load_folder(cls: type, source: str | Path, **hub: Any) -> Any:
    """The estimator of a folder, or of a repository on the hub if there is no such folder.

    hub: arguments of ``huggingface_hub.hf_hub_download``: revision, token, cache_dir, local_files_only ...
    """
    path = Path(source)
    if path.is_dir():
        if not (path / MODEL).exists():
            raise DataError(f"{path}: expected a folder with a file {MODEL}, found none")
        found = load(path / MODEL)
    elif path.exists():
        found = load(path)
    else:
        found = load(_hub().hf_hub_download(str(source), MODEL, library_name="chaffinch", **hub))
    if not isinstance(found, cls):
        raise ConfigError(f"{source}: holds a {type(found).__name__}, expected a {cls.__name__}")
    return found


def push(
    estimator: Any,
    repository: str,
    *,
    private: bool | None = None,
    token: str | None = None,
    revision: str | None = None,
    message: str = "Upload a model of chaffinch",
    endpoint: str | None = None,
) -> str:
    """Upload the folder of a model to a repository on the hub, which is created if needed; return its address."""
    api = _hub().HfApi(endpoint=endpoint, token=token, library_name="chaffinch", library_version=__version__)
    made = str(api.create_repo(repository, private=private, exist_ok=True))
    with tempfile.TemporaryDirectory() as folder:
        save_folder(estimator, folder, name=repository)
        api.upload_folder(repo_id=repository, folder_path=folder, commit_message=message, revision=revision)
    return made


def model_card(estimator: Any, name: str) -> str:
    """The README of a model: its training, its labels, its scores, and how to use it.

    >>> from chaffinch import Tagger
    >>> tagger = Tagger("hmm", folds=0).fit([["a", "dog"], ["the", "cat"]], [["D", "N"], ["D", "N"]])
    >>> model_card(tagger, "tiny").splitlines()[:3]
    ['---', 'library_name: chaffinch', 'pipeline_tag: token-classification']
    """
    kind = type(estimator).__name__
    recipe = estimator.recipes.by_config(estimator.config_)
    task = TASKS.get(kind)
    front = ["---", "library_name: chaffinch", *([f"pipeline_tag: {task}"] if task else [])]
    front += ["tags:", "- chaffinch", f"- {recipe.name}", "---", ""]
    summary = recipe.summary.rstrip(".")
    body = [
        f"# {name}",
        "",
        f"A {kind.lower()} of Chaffinch: {summary}.",
        "",
    ]
    body += _table("Facts", _facts(estimator, recipe.name))
    labels = _labels(estimator)
    if labels:
        shown = ", ".join(f"`{label}`" for label in labels[:MOST_LABELS])
        more = f" and {len(labels) - MOST_LABELS} more" if len(labels) > MOST_LABELS else ""
        body += [f"## Labels ({len(labels)})", "", shown + more, ""]
    scores = estimator.known_scores()
    if scores:
        body += _table("Scores on held-out data", {key: f"{value:.4f}" for key, value in scores.items()})
    body += _calibration(estimator)
    settings = {key: f"`{value}`" for key, value in _settings(estimator).items()}
    body += _table("Settings", dict(list(settings.items())[:MOST_SETTINGS]))
    return "\n".join([*front, *body, *_usage(kind, name)])


def _facts(estimator: Any, recipe: str) -> dict[str, str]:
    model = estimator.model_
    facts = {"recipe": recipe}
    trained = getattr(estimator, "trained_on_", None) or {}
    if trained:
        facts["training data"] = ", ".join(f"{count:,} {what}" for what, count in trained.items())
    if estimator.fingerprint_:
        facts["fingerprint of the training data"] = f"`{estimator.fingerprint_}`"
    templates = tuple(estimator._packed().templates)
    if templates:
        facts["feature templates"] = ", ".join(f"`{t.replace('|', chr(92) + '|')}`" for t in templates)
    encoder = getattr(model, "encoder", None)
    count = getattr(encoder, "n_features", None)
    if isinstance(count, int):
        facts["features"] = f"{count:,}"
    columns = getattr(estimator, "columns_", ())
    if len(columns) > 1:
        facts["columns of a token"] = ", ".join(columns)
    if estimator.choice_:
        facts["chosen by cross-validation"] = "yes"
    facts["seed"] = str(estimator.seed)
    return facts


def _settings(estimator: Any) -> dict[str, Any]:
    """The settings that differ from the recipe's defaults."""
    plain = settings_of(estimator.recipes.by_config(estimator.config_).config())
    return {k: v for k, v in settings_of(estimator.config_).items() if v != plain.get(k)}


def _calibration(estimator: Any) -> list[str]:
    confidence = getattr(estimator, "confidence_", None)
    if confidence is None or not confidence.decisions:
        return []
    source = f"{confidence.folds} cross-validation models" if confidence.folds else "held-out data"
    facts = {
        "decisions": f"{confidence.decisions:,} {confidence.unit}, of {source}",
        "expected calibration error": f"{confidence.error:.4f} ({confidence.raw_error:.4f} before calibration)",
        "Brier score": f"{confidence.brier:.4f}",
    }
    return _table("Calibration of probabilities", facts)


def _labels(estimator: Any) -> tuple[str, ...]:
    known = getattr(estimator, "classes_", None)
    return () if known is None else tuple(str(label) for label in known.tolist())


def _table(title: str, rows: Mapping[str, str]) -> list[str]:
    if not rows:
        return []
    return [
        f"## {title}",
        "",
        "| | |",
        "|---|---|",
        *(f"| {key} | {value} |" for key, value in rows.items()),
        "",
    ]


def _usage(kind: str, name: str) -> list[str]:
    return [
        "## Use",
        "",
        "```python",
        f"from chaffinch import {kind}",
        "",
        f'model = {kind}.from_pretrained("{name}")  # a folder, or a repository on the hub',
        USE.get(kind, "model.predict(X)"),
        "```",
        "",
        "The file `model.chaff` holds numbers and JSON, no code.",
        "",
    ]


def _hub() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise missing_extra("hub", "huggingface_hub") from None
    return huggingface_hub
