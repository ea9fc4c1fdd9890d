"""Choose the settings of a text classifier of many documents on samples, the same in memory and from a cache.

Kinds of features are compared on a few thousand documents by cross-validation (:mod:`chaffinch.defaults.documents`),
then recipes and penalties on samples of growing size (:func:`chaffinch.recipes.document_blocks.choose_trial`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.defaults.choice import DefaultChoice
from chaffinch.defaults.documents import choose, evenly_spaced, suited_kinds
from chaffinch.errors import DataError
from chaffinch.recipes import document_blocks as blocks
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.document_blocks import DUALS, DocumentSettings, MeasuredTrial, TextChoice
from chaffinch.recipes.document_task import DocumentTask
from chaffinch.recipes.text_features import DEFAULT, TextFeatures

# Kinds of features that are always compared.
OF_WORDS = ("words", "more-words", "tf-idf")


def choose_settings(
    task: DocumentTask, recipe: str | None, settings: Mapping[str, Any], features: bool
) -> tuple[DocumentTask, Any, DefaultChoice | None]:
    """The task with features, the recipe's config, and the choice; None if nothing could be measured.

    Few documents are all used (:func:`chaffinch.defaults.documents.choose`, with the same arguments). So are those
    with several labels, shares of labels, weights or numbers beside them, which a cache does not hold.
    """
    if not _on_samples(task, recipe, settings):
        return choose(task, recipe, settings, features)
    N = len(task.X)
    kind = _kind(recipe, settings, features, evenly_spaced(task, blocks.CHOSEN_ON), False)
    task = replace(task, features=kind.chosen.features)
    encoder, rows = task.encoded()
    counted = blocks.counted_documents(N, sum(map(len, task.X)))
    asked = DocumentSettings(
        C=settings.get("C"),
        learner=None if recipe is None else DUALS[recipe](),
        choose=partial(text_choice, recipe, settings, features),
        threads=task.threads,
    )
    part = rows if counted == N else rows.taken(np.arange(counted) * N // counted)
    found = blocks.choose_trial(evenly_spaced(task, counted), part, kind.chosen, asked, counted)
    config = CLASSIFIERS.by_name(found.trial.loss).configured({**settings, "C": found.trial.C})
    return replace(task, ready=(encoder, rows)), config, _record(kind, found, settings, N)


def _on_samples(task: DocumentTask, recipe: str | None, settings: Mapping[str, Any]) -> bool:
    """Whether settings are chosen on samples: as from a cache, if a cache could hold these documents."""
    if not task.text or blocks.all_documents(len(task.X), sum(map(len, task.X))):
        return False
    given = task.features
    return (
        not task.labels.several
        and task.labels.soft is None
        and task.beside is None
        and bool((task.importance == 1).all())
        and len(task.labels.classes) > 1
        and recipe in (None, *DUALS)
        and settings.keys() <= {"C"}
        and (given is None or (given.phrases is None and not given.reads_labels))
        and blocks.duals_fit(blocks.COUNTED_ON, len(task.labels.classes))
    )


def _record(kind: "_Kind", found: MeasuredTrial, settings: Mapping[str, Any], N: int) -> DefaultChoice:
    right = found.right if len(found.right) else np.zeros(1)
    return DefaultChoice(
        features=kind.chosen.name,
        recipe=found.trial.loss,
        settings={} if "C" in settings else {"C": found.trial.C},
        accuracy=found.accuracy,
        error=float(right.std() / np.sqrt(len(right))),
        folds=0,
        examples=found.documents,
        whole=N,
        sample=kind.sample,
        tried=kind.tried,
    )


def text_choice(
    recipe: str | None, fixed: Mapping[str, Any], given: bool, task: DocumentTask, all_seen: bool
) -> TextChoice:
    """Features, recipe and penalty, chosen on a sample by cross-validation.

    If the sample is all documents, the choice is that of few documents in memory. Otherwise n-grams of characters must
    beat those of words by a standard error: they cost time, and words gain more from the documents outside the sample.

    recipe: the name of the recipe, if it is given     given: whether the features are given
    """
    return _kind(recipe, fixed, given, task, all_seen).chosen


def _kind(
    recipe: str | None, fixed: Mapping[str, Any], given: bool, task: DocumentTask, all_seen: bool
) -> "_Kind":
    """The choice of :func:`text_choice` with its accuracy."""
    if given or all_seen:
        return _kind_among(task, recipe, fixed, given, None)
    found = {name: TextFeatures.named(name) for name in (*suited_kinds(task.X), *OF_WORDS)}
    words, characters = ([n for n, f in found.items() if of_characters(f) is dear] for dear in (False, True))
    best: _Kind | None = None
    failed: DataError | None = None
    for names in (words, characters):
        try:
            one = _kind_among(task, recipe, fixed, given, tuple(names)) if names else None
        except DataError as fault:  # no feature of this kind is in two documents
            failed = fault
            continue
        if one is not None and best is not None:
            tried = {**best.tried, **one.tried}
            best = replace(one if one.clearly_better_than(best) else best, tried=tried)
        elif one is not None:
            best = one
    if best is None:
        raise failed or DataError("no kind of features suits these documents")
    return best


@dataclass(frozen=True)
class _Kind:
    """A choice on a sample, and its out-of-fold accuracy with the standard error.

    right:         whether each document was predicted correctly; None if some were not predicted
    tried, sample: the accuracy of the kinds of features, and the number of documents it was measured on
    """

    chosen: TextChoice
    accuracy: float = 0.0
    error: float = 0.0
    right: NDArray[np.bool_] | None = None
    tried: Mapping[str, float] = field(default_factory=dict)
    sample: int = 0

    def clearly_better_than(self, other: "_Kind") -> bool:
        """Whether the difference is more than its standard error."""
        if self.right is None or other.right is None:
            return self.accuracy > other.accuracy + self.error
        ahead = self.right.astype(np.float64) - other.right
        return bool(ahead.mean() > ahead.std() / np.sqrt(len(ahead)))


def _kind_among(
    task: DocumentTask,
    recipe: str | None,
    fixed: Mapping[str, Any],
    given: bool,
    names: tuple[str, ...] | None,
) -> _Kind:
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
        return _Kind(chosen)
    right = None
    if ready.scored is not None:
        right = np.zeros(len(task.X), np.bool_)
        right[ready.scored.held] = ready.scored.scores.argmax(axis=1) == task.labels.ids[ready.scored.held]
    return _Kind(chosen, choice.accuracy, choice.error, right, choice.tried, choice.sample)


def of_characters(features: TextFeatures | None) -> bool:
    """Whether these features include n-grams of characters."""
    return features is not None and any("char" in kind.get("unit", "") for kind, _ in features.ngrams)
