"""A classifier of documents that come one by one: spooled to disk, then learnt block by block."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chaffinch.cache.documents import DocumentCache, TextSpool
from chaffinch.defaults.documents import choose, suited_kinds
from chaffinch.errors import ConfigError, DataError
from chaffinch.learners.choice_gradient import ChoicePerceptron
from chaffinch.learners.dual import DualLogistic
from chaffinch.progress import Listener
from chaffinch.recipes.document_blocks import DocumentSettings, build_cache
from chaffinch.recipes.document_task import DocumentTask
from chaffinch.recipes.text_features import TextFeatures

DOCUMENTS = "documents.cache"
BATCH = 2000


def settings_of(classifier: Any, on_epoch: Listener) -> DocumentSettings:
    """What a classifier sets; DataError and ConfigError for what needs all documents in memory."""
    given = dict(classifier.settings or {})
    config = classifier._config()
    online: ChoicePerceptron | None = None
    if classifier.recipe is not None:
        if not isinstance(config, DualLogistic | ChoicePerceptron):
            raise ConfigError(
                "training from a cache is logistic regression by SGD, or the perceptron: leave the recipe out, or name "
                "logistic or perceptron"
            )
        if isinstance(config, DualLogistic):
            given = {"C": config.C, **given}
        else:
            online, given = config, {}
            if online.bias:
                raise ConfigError("bias needs training in memory; leave it out, or train without a cache")
            if classifier.sharding is not None:
                raise ConfigError("training in shards from a cache is logistic regression; name logistic")
    if classifier.class_weight is not None or classifier.kernel is not None:
        raise ConfigError("class weights and kernels need training in memory; leave them out")
    if strange := given.keys() - {"C"}:
        raise ConfigError(f"{min(strange)} needs training in memory; leave it out, or train without a cache")
    features = None if classifier.features is None else TextFeatures.of(classifier.features)
    return DocumentSettings(
        features=features,
        C=given.get("C"),
        choose=_chosen(features is not None),
        seed=classifier.seed,
        threads=classifier.threads,
        sharding=classifier.sharding,
        online=online,
        on_epoch=on_epoch,
    )


def _chosen(given: bool) -> Any:
    """Chooses features and penalty of logistic regression on a sample, by cross-validation."""

    def on_sample(task: DocumentTask, C: float | None) -> tuple[TextFeatures, str, float]:
        fixed = {} if C is None else {"C": C}
        best: tuple[float, TextFeatures, str, float] | None = None
        failed: DataError | None = None
        for name in ("given features",) if given else _kinds(task.X):
            features = task.features if given else TextFeatures.named(name)
            try:
                _, config, choice = choose(replace(task, features=features), "logistic", fixed, True)
            except DataError as fault:  # no feature of this kind is in two documents
                failed = fault
                continue
            accuracy = 0.0 if choice is None else choice.accuracy
            ahead = choice.error if choice is not None and _dear(features) else 0.0
            if best is None or accuracy > best[0] + ahead:
                best = accuracy, features or TextFeatures.of(None), name, float(config.C)
        if best is None:
            raise failed or DataError("no kind of features suits these documents")
        return best[1:]

    return on_sample


def _kinds(texts: Sequence[str]) -> list[str]:
    """The kinds of features that training in memory would compare, and more of words; not those that read labels.

    Those of characters come last, and must be ahead by a standard error: they cost time, and words gain more from the
    documents that are not in the sample.
    """
    names = dict.fromkeys([*suited_kinds(texts), "words", "more-words", "tf-idf"])
    found = {name: TextFeatures.named(name) for name in names}
    usable = [name for name, kind in found.items() if kind.phrases is None and not kind.reads_labels]
    return sorted(usable, key=lambda name: _dear(found[name]))


def _dear(features: TextFeatures | None) -> bool:
    """Whether they are n-grams of characters."""
    return features is not None and any("char" in kind.get("unit", "") for kind, _ in features.ngrams)


def spooled(examples: Iterable[tuple[Any, Any]], spool: TextSpool) -> None:
    """Write pairs of a text and its label to a spool."""
    coming = iter(examples)
    while batch := list(islice(coming, BATCH)):
        for text, label in batch:
            if not isinstance(text, str) or not isinstance(label, str):
                raise DataError(
                    f"documents that come one by one are texts with one label each, both strings; found {text!r:.40} "
                    f"and {label!r:.40}"
                )
        spool.add([text for text, _ in batch], [label for _, label in batch])
    if len(spool) == 0:
        raise DataError("expected at least one document to train on, got none")


@contextmanager
def cached_documents(
    examples: Iterable[tuple[Any, Any]],
    folder: str | Path | None,
    settings: DocumentSettings,
    source: str = "",
) -> Iterator[tuple[DocumentCache, Path]]:
    """A cache of documents that come one by one, and its folder, which is dropped if none is given.

    A cache that is in the folder is used if it was made from the same source.
    """
    with TemporaryDirectory(prefix="chaffinch-") as temporary:
        place = Path(temporary if folder is None else folder)
        place.mkdir(parents=True, exist_ok=True)
        if not source or not (place / DOCUMENTS).exists():
            spool = TextSpool(place)
            try:
                spooled(examples, spool)
                build_cache(spool, place, DOCUMENTS, settings, source)
            finally:
                spool.close()
        cache = DocumentCache(place / DOCUMENTS, source)
        try:
            yield cache, place
        finally:
            cache.close()
