"""A classifier of streamed documents: they are spooled to disk, then learnt block by block."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chaffinch.cache.documents import DocumentCache, TextSpool
from chaffinch.defaults.many_documents import text_choice
from chaffinch.errors import ConfigError, DataError
from chaffinch.knobs import check
from chaffinch.learners.choice_gradient import ChoicePerceptron
from chaffinch.learners.dual import CoordinateDual
from chaffinch.progress import Listener
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.document_blocks import DUALS, DocumentSettings, build_cache
from chaffinch.recipes.text_features import TextFeatures

DOCUMENTS = "documents.cache"
BATCH = 2000


def settings_of(classifier: Any, on_epoch: Listener) -> DocumentSettings:
    """The settings of a classifier for streams; ConfigError for those that need all documents in memory."""
    given = dict(classifier.settings or {})
    config = classifier._config()
    learner: CoordinateDual | None = None
    online: ChoicePerceptron | None = None
    if classifier.recipe is not None:
        named = CLASSIFIERS.by_config(config).name
        if isinstance(config, ChoicePerceptron):
            online, given = config, {}
            if online.bias:
                raise ConfigError("bias needs training in memory; leave it out, or train without a cache")
            if classifier.sharding is not None:
                raise ConfigError("training in shards from a cache is logistic regression; name logistic")
        elif named in DUALS:
            plain = type(config)()
            own = {k: v for k, v in vars(config).items() if v != getattr(plain, k) or k == "C"}
            given = {**own, **given}
        else:
            raise ConfigError(
                f"training from a cache has no recipe {named}: leave it out, or name one of "
                f"{', '.join([*DUALS, 'perceptron'])}"
            )
    if classifier.class_weight is not None or classifier.kernel is not None:
        raise ConfigError("class weights and kernels need training in memory; leave them out")
    if strange := given.keys() - ({"C", "epochs", "loss"} if classifier.recipe is not None else {"C"}):
        raise ConfigError(f"{min(strange)} needs training in memory; leave it out, or train without a cache")
    if classifier.recipe is not None and online is None:
        learner = replace(type(config)(), **given)
        check(learner)
    features = None if classifier.features is None else TextFeatures.of(classifier.features)
    recipe = named if learner is not None else None if classifier.sharding is None else "logistic"
    if recipe not in (None, "logistic") and classifier.sharding is not None:
        raise ConfigError("training in shards from a cache is logistic regression; name logistic")
    fixed = {} if given.get("C") is None else {"C": given["C"]}
    return DocumentSettings(
        features=features,
        C=given.get("C"),
        learner=learner,
        choose=partial(text_choice, recipe, fixed, features is not None),
        seed=classifier.seed,
        threads=classifier.threads,
        sharding=classifier.sharding,
        online=online,
        on_epoch=on_epoch,
    )


def spool_all(examples: Iterable[tuple[Any, Any]], spool: TextSpool) -> None:
    """Write pairs of a text and its label to a spool."""
    coming = iter(examples)
    before = 0
    while batch := list(islice(coming, BATCH)):
        for n, (text, label) in enumerate(batch, before + 1):
            if not isinstance(text, str) or not isinstance(label, str):
                raise DataError(
                    f"document {n:,}: expected a stream of texts with one label each, both strings; found "
                    f"{text!r:.40} and {label!r:.40}"
                )
        spool.add([text for text, _ in batch], [label for _, label in batch])
        before += len(batch)
    if len(spool) == 0:
        raise DataError("expected at least one document to train on, got none")


@contextmanager
def cached_documents(
    examples: Iterable[tuple[Any, Any]],
    folder: str | Path | None,
    settings: DocumentSettings,
    source: str = "",
) -> Iterator[tuple[DocumentCache, Path]]:
    """A cache of streamed documents, and its folder; without a given folder, a temporary one.

    A cache that is already in the folder is used if it was made from the same source.
    """
    with TemporaryDirectory(prefix="chaffinch-") if folder is None else nullcontext(folder) as given:
        place = Path(given)
        place.mkdir(parents=True, exist_ok=True)
        if not source or not (place / DOCUMENTS).exists():
            spool = TextSpool(place)
            try:
                spool_all(examples, spool)
                build_cache(spool, place, DOCUMENTS, settings, source)
            finally:
                spool.close()
        cache = DocumentCache(place / DOCUMENTS, source)
        try:
            yield cache, place
        finally:
            cache.close()
