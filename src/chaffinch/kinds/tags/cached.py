"""Training taggers on files larger than memory, and an estimate of the memory and time it needs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from chaffinch.cache import Cache
from chaffinch.cache.sentences import TOKENS
from chaffinch.estimators import Tagger
from chaffinch.estimators.streams import CHECKPOINT, SENTENCES, fill_cache
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.kinds.caching import corpus_blocks, source_of
from chaffinch.kinds.kind import Kind
from chaffinch.kinds.needs import Growth, Needs
from chaffinch.progress import Listener
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.crf_blocks import KEPT_BYTES, MIXED, MOST_WEIGHT_BYTES
from chaffinch.recipes.crf_config import SGD_PASSES, Crf
from chaffinch.recipes.crf_problem import CrfLayout
from chaffinch.recipes.perceptron import MiraTagger, StructuredPerceptron
from chaffinch.recipes.perceptron_blocks import TABLES
from chaffinch.text.table import TokenTable, concatenated

TRIAL_PASSES = 2  # the second shows how long a pass takes
TRIAL: Any = Crf(optimiser="fast", passes=TRIAL_PASSES, min_weight=0.0)
# Of training in memory, besides the weights: features, labels and the duals of a CRF.
BYTES_PER_TOKEN, ONLINE_BYTES_PER_TOKEN = 1_000, 300
OF_TOKEN = 24  # bytes of a token besides the ids of its features: bounds, label, columns
INDEXED = 44  # bytes of a feature in the index
ONLINE_TABLES = 4  # of a perceptron in memory: weights, their sums, the average, and the scorer's weights
CACHED_TABLES = 3.5  # from a cache: weights, their sums, the average; the model, whose rows have no padding
MOST_DROPPED = 64  # the largest count of a feature that may be left out
HELD_OUT = 2  # times the rows of held-out sentences, for their own features and weights
READ = 3e-6  # CPU seconds to read a token, write it to the cache and find the labels


def needs_of_sentences(
    corpora: Sequence[TokenTable], recipe: str | None = None, features: Any = None
) -> Needs | None:
    """Estimate from a short training how long a pass takes, and from parts of the sample how features grow.

    recipe, features: the requested ones. A recipe that is not trained from a cache is estimated as a CRF.
    """
    if len(corpora) < 2:
        return None
    whole = concatenated(list(corpora))
    trial, passes, online = TRIAL, SGD_PASSES, False
    asked = None if recipe is None else TAGGERS.by_name(recipe).config()
    if isinstance(asked, StructuredPerceptron | MiraTagger):
        trial, passes, online = replace(asked, epochs=TRIAL_PASSES), asked.epochs, True
    ends = [process_time()] * 2  # of passes: a recipe may stop after one
    tagger = Tagger(trial, features=features, folds=0, threads=1)
    model: Any = tagger.fit(whole, on_epoch=lambda _: ends.append(process_time())).model_
    found, columns = model.encoder.features, model.encoder.columns
    sizes, counts, took = [], [], 0.0
    for n in (len(corpora) // 4, len(corpora) // 2, len(corpora)):
        if n > 0:
            began = process_time()
            part = concatenated(list(corpora[:n]))
            encoder = FeatureEncoder(
                found.features, min_count=found.min_count, language=found.language, threads=1
            )
            encoder.fit(replace(part, columns={name: part.columns[name] for name in columns}))
            sizes.append(part.n_tokens)
            counts.append(encoder.n_features)
            took = process_time() - began
    per_token = int(found.counts().sum(dtype=np.int64)) / whole.n_tokens
    row = 4 * per_token + OF_TOKEN
    table = 4 * CrfLayout(1, len(model.labels.inner)).S
    return Needs(
        memory=(ONLINE_BYTES_PER_TOKEN if online else BYTES_PER_TOKEN) * whole.n_tokens,
        growth=Growth.of(sizes, counts),
        weight_bytes=int(table * CACHED_TABLES) if online else table,
        most=int(MOST_WEIGHT_BYTES * CACHED_TABLES / TABLES) if online else MOST_WEIGHT_BYTES,
        blocks=int((MIXED + 2) * TOKENS * row) + KEPT_BYTES,  # a mixture, and blocks on their way into it
        ahead=int(MIXED * TOKENS * row),
        as_blocks=2 * row * whole.n_tokens,
        once=took + READ * whole.n_tokens,
        each_pass=ends[-1] - ends[-2] + took / 2,  # rows are looked up again, but not counted
        passes=passes,
        index_bytes=INDEXED,
        in_memory=table * ONLINE_TABLES + INDEXED if online else None,
        most_dropped=MOST_DROPPED,
        held_out=HELD_OUT * row * whole.n_tokens,
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
            "cross-validation"
            + (", and probabilities are not calibrated; --dev calibrates them" if dev is None else "")
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
