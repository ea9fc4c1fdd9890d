"""Classifiers trained on files larger than memory: what that takes, and how it is done."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from chaffinch.cache.documents import ITEMS
from chaffinch.estimators.classifier import Classifier
from chaffinch.estimators.streams import CHECKPOINT
from chaffinch.kinds.caching import corpus_blocks, source_of
from chaffinch.kinds.kind import Kind
from chaffinch.kinds.requests import Needs
from chaffinch.kinds.texts import Texts
from chaffinch.learners.choice import padded
from chaffinch.progress import Listener
from chaffinch.recipes.document_blocks import COUNTED_ON, MIXED, PASSES

OF_ITEM = 55  # bytes of a feature of a document that is being learnt from a cache
OF_TEXT, OF_DOCUMENT = 14, 200  # bytes in memory of a character and of a document, its features included


def needs_of_documents(corpora: Sequence[Texts]) -> Needs | None:
    """Two short trainings show how features grow with the data, up to the documents that are counted."""
    parts = [corpora[0].joined(rest) for rest in (corpora[1 : len(corpora) // 2], corpora[1:])]
    single = all(isinstance(label, str) for label in parts[1].labels)
    if len(corpora) < 2 or not single or len(set(parts[0].labels)) < 2:
        return None
    made = [Classifier("logistic", choose=False, calibrate=False, threads=1) for _ in parts]
    for one, part in zip(made, parts, strict=True):
        one.set_params(smallest=0.0).fit(part.texts, part.labels)
    fewer, more = (one.model_.encoder.n_features for one in made)
    half, whole = map(len, parts)
    growth = float(np.clip(np.log(max(more, 2) / max(fewer, 1)) / np.log(whole / max(half, 1)), 0.0, 1.0))
    characters = sum(map(len, parts[1].texts))
    # Texts and features of the documents that are counted.
    counted = OF_TEXT * characters + OF_DOCUMENT * whole
    items = len(made[1].model_.encoder.rows(parts[1].texts, None, 1).ids)
    return Needs(
        memory=OF_TEXT * characters + OF_DOCUMENT * whole,
        features=more,
        growth=growth,
        weight_bytes=4 * padded(len(set(parts[1].labels))),
        most=2**62,
        blocks=int(max(counted * COUNTED_ON / whole, OF_ITEM * MIXED * ITEMS)),
        as_blocks=max(counted, OF_ITEM * items),
        passes=PASSES / 1.5,
        counted=max(COUNTED_ON / whole, 1.0),
    )


def fit_cached_documents(
    kind: Kind,
    estimator: Classifier,
    paths: Sequence[Path],
    told: Mapping[str, str],
    folder: Path,
    dev: Texts | None,
    on_epoch: Listener,
) -> tuple[dict[str, int], list[str]]:
    """Train it block by block; the ids of the documents' features are in the folder."""
    asked = [estimator.features, estimator.settings, estimator.recipe, estimator.seed]
    if estimator.sharding is not None:
        asked.append("in shards")  # the loss is that of logistic regression
    source = source_of(kind, paths, told, repr(asked))
    estimator.fit_cache(
        (
            (text, label)
            for part in corpus_blocks(kind, paths, told, on_epoch)
            for text, label in zip(part.texts, part.labels, strict=True)
        ),
        folder,
        source=source,
        checkpoint=folder / CHECKPOINT,
        dev=None if dev is None else (dev.texts, dev.labels, dev.numbers),
        on_epoch=on_epoch,
    )
    facts = {
        **estimator.trained_on_,
        "labels": len(estimator.classes_),
        "features": estimator.model_.encoder.n_features,
    }
    cached = estimator.cached_
    how = f"{cached['recipe']} by {cached['how']}" if estimator.sharding is None else "logistic in shards"
    return facts, [
        f"the cache holds {cached['bytes_per_document']:.1f} bytes a document; trained {how}; "
        f"features ({cached['features']}), recipe and penalty were chosen, n-grams counted and probabilities "
        f"calibrated on a sample of at most {cached['counted_on']:,} documents"
    ]
