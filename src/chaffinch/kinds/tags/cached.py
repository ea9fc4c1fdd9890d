"""Training taggers on files larger than memory, and an estimate of the memory and time it needs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch.cache import Cache
from chaffinch.cache.sentences import TOKENS
from chaffinch.estimators import Tagger
from chaffinch.estimators.streams import CHECKPOINT, SENTENCES, fill_cache
from chaffinch.kinds.caching import corpus_blocks, source_of
from chaffinch.kinds.kind import Kind
from chaffinch.kinds.requests import Needs
from chaffinch.progress import Listener
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.crf_blocks import KEPT_BYTES, MIXED, MOST_WEIGHT_BYTES
from chaffinch.recipes.crf_config import SGD_PASSES, Crf
from chaffinch.recipes.crf_problem import CrfLayout
from chaffinch.recipes.perceptron import MiraTagger, StructuredPerceptron
from chaffinch.recipes.perceptron_blocks import TABLES
from chaffinch.text.table import TokenTable, concatenated

TRIAL: Any = Crf(
    optimiser="fast", passes=1, min_weight=0.0
)  # shows how features grow and how long a pass takes
# Of training in memory, besides the weights: features, labels and the duals of a CRF.
BYTES_PER_TOKEN, ONLINE_BYTES_PER_TOKEN = 1_000, 300
BYTES_PER_ROW = 160  # of a token's features
INDEXED = 38  # bytes of a feature in the index
COPIED = 2  # the tables of a perceptron are in the core and outside it
ONLINE_TABLES = 4  # of a perceptron in memory: weights, their sums, the average, and the scorer's weights
MOST_DROPPED = 64  # the largest count in the shares of features that repeat


def needs_of_sentences(
    corpora: Sequence[TokenTable], recipe: str | None = None, features: Any = None
) -> Needs | None:
    """Estimate from two short trainings how features grow with the data.

    recipe, features: the requested ones. A recipe that is not trained from a cache is estimated as a CRF.
    """
    if len(corpora) < 2:
        return None
    half, whole = (concatenated(list(part)) for part in (corpora[: len(corpora) // 2], corpora))
    trial, passes, online = TRIAL, SGD_PASSES, False
    asked = None if recipe is None else TAGGERS.by_name(recipe).config()
    if isinstance(asked, StructuredPerceptron | MiraTagger):
        trial, passes, online = replace(asked, epochs=1), asked.epochs, True
    models: list[Any] = [
        Tagger(trial, features=features, folds=0, threads=1).fit(part).model_ for part in (half, whole)
    ]
    fewer, more = (model.encoder.n_features for model in models)
    growth = np.log(max(more, 2) / max(fewer, 1)) / np.log(whole.n_tokens / max(half.n_tokens, 1))
    Y = len(models[1].labels.inner)
    table = 4 * CrfLayout(1, Y).S
    row = table * (COPIED * TABLES if online else 1)
    counts = models[1].encoder.features.counts()
    return Needs(
        memory=(ONLINE_BYTES_PER_TOKEN if online else BYTES_PER_TOKEN) * whole.n_tokens,
        features=more,
        growth=float(np.clip(growth, 0.0, 1.0)),
        weight_bytes=row,
        most=MOST_WEIGHT_BYTES * (COPIED if online else 1),
        blocks=3 * MIXED * TOKENS * BYTES_PER_ROW + KEPT_BYTES,  # a mixture, the next one and its pieces
        as_blocks=3 * BYTES_PER_ROW * whole.n_tokens,
        passes=passes / 1.5,
        index_bytes=INDEXED,
        in_memory=table * ONLINE_TABLES + INDEXED if online else None,
        repeated=tuple(float(np.mean(counts >= c)) for c in range(1, MOST_DROPPED + 1))
        if len(counts)
        else (),
    )


def fit_cached_sentences(
    kind: Kind,
    estimator: Tagger,
    paths: Sequence[Path],
    told: Mapping[str, str],
    folder: Path,
    dev: TokenTable | None,
    on_epoch: Listener,
) -> tuple[dict[str, int], list[str]]:
    """Train it block by block; ids of sentences are in the folder."""
    path, source = folder / SENTENCES, source_of(kind, paths, told)
    if not path.exists() or not source:
        fill_cache(path, corpus_blocks(kind, paths, told, on_epoch), source)
    cache = Cache.open(path, source)
    try:
        estimator.fit_cache(cache, dev=dev, checkpoint=folder / CHECKPOINT, on_epoch=on_epoch)
        facts = {
            "sentences": cache.n_sentences,
            "tokens": cache.n_tokens,
            "labels": len(estimator.classes_),
        }
        how = "SGD" if estimator.shards_ is None else str(estimator.shards_["method"])
        remarks = [
            f"the cache holds {cache.bytes_per_token:.2f} bytes a token; trained by {how}; nothing was chosen by "
            "cross-validation, and probabilities are not calibrated"
        ]
    finally:
        cache.close()
    model: Any = estimator.model_
    least = model.encoder.features.min_count
    if least > estimator.config_.min_count:
        remarks.append(
            f"features that occur fewer than {least} times were left out, because all of them do not fit in memory"
        )
    return facts, remarks
