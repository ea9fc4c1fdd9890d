"""A classifier of streamed documents: they are spooled to disk, then learnt block by block."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.cache.documents import DocumentCache, TextSpool
from chaffinch.defaults.documents import choose, suited_kinds
from chaffinch.errors import ConfigError, DataError
from chaffinch.knobs import check
from chaffinch.learners.choice_gradient import ChoicePerceptron
from chaffinch.learners.dual import CoordinateDual
from chaffinch.progress import Listener
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.document_blocks import DUALS, DocumentSettings, TextChoice, build_cache
from chaffinch.recipes.document_task import DocumentTask
from chaffinch.recipes.text_features import DEFAULT, TextFeatures

DOCUMENTS = "documents.cache"
BATCH = 2000
# Kinds of features that are always compared.
OF_WORDS = ("words", "more-words", "tf-idf")


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
        choose=partial(_chosen, recipe, fixed, features is not None),
        seed=classifier.seed,
        threads=classifier.threads,
        sharding=classifier.sharding,
        online=online,
        on_epoch=on_epoch,
    )


def _chosen(
    recipe: str | None, fixed: Mapping[str, Any], given: bool, task: DocumentTask, all_seen: bool
) -> TextChoice:
    """Features, recipe and penalty, chosen on a sample by cross-validation.

    If the sample is all documents, the choice is the same as in memory. Otherwise n-grams of characters must beat
    those of words by a standard error: they cost time, and words gain more from the documents outside the sample.

    recipe: the name of the recipe, if it is given     given: whether the features are given
    """
    if given or all_seen:
        return _choice(task, recipe, fixed, given, None).chosen
    found = {name: TextFeatures.named(name) for name in (*suited_kinds(task.X), *OF_WORDS)}
    words, characters = ([n for n, f in found.items() if of_characters(f) is dear] for dear in (False, True))
    best: _Choice | None = None
    failed: DataError | None = None
    for names in (words, characters):
        try:
            one = _choice(task, recipe, fixed, given, tuple(names)) if names else None
        except DataError as fault:  # no feature of this kind is in two documents
            failed = fault
            continue
        if one is not None and (best is None or one.clearly_better_than(best)):
            best = one
    if best is None:
        raise failed or DataError("no kind of features suits these documents")
    return best.chosen


@dataclass(frozen=True)
class _Choice:
    """A choice, and its out-of-fold accuracy with the standard error.

    right: whether each document of the sample was predicted correctly; None if some were not predicted
    """

    chosen: TextChoice
    accuracy: float = 0.0
    error: float = 0.0
    right: NDArray[np.bool_] | None = None

    def clearly_better_than(self, other: "_Choice") -> bool:
        """Whether the difference is more than its standard error."""
        if self.right is None or other.right is None:
            return self.accuracy > other.accuracy + self.error
        ahead = self.right.astype(np.float64) - other.right
        return bool(ahead.mean() > ahead.std() / np.sqrt(len(ahead)))


def _choice(
    task: DocumentTask,
    recipe: str | None,
    fixed: Mapping[str, Any],
    given: bool,
    names: tuple[str, ...] | None,
) -> _Choice:
    """The choice among kinds of features."""
    ready, config, choice = choose(task, recipe, fixed, given, names)
    name = "given features" if given else DEFAULT if choice is None else choice.features
    chosen = TextChoice(
        ready.features or TextFeatures.of(None),
        name,
        CLASSIFIERS.by_config(config).name,
        float(config.C),
        ready.ready,
    )
    if choice is None:
        return _Choice(chosen)
    right = None
    if ready.scored is not None:
        right = np.zeros(len(task.X), np.bool_)
        right[ready.scored.held] = ready.scored.scores.argmax(axis=1) == task.labels.ids[ready.scored.held]
    return _Choice(chosen, choice.accuracy, choice.error, right)


def of_characters(features: TextFeatures | None) -> bool:
    """Whether these features include n-grams of characters."""
    return features is not None and any("char" in kind.get("unit", "") for kind, _ in features.ngrams)


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
    with TemporaryDirectory(prefix="chaffinch-") as temporary:
        place = Path(temporary if folder is None else folder)
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
