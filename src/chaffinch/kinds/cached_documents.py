"""Training classifiers on files larger than memory, and an estimate of the memory and time it needs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

from chaffinch.cache.documents import ITEMS
from chaffinch.defaults.documents import SAMPLE, suited_kinds
from chaffinch.defaults.many_documents import of_characters
from chaffinch.estimators.classifier import Classifier
from chaffinch.estimators.streams import CHECKPOINT
from chaffinch.kinds.caching import corpus_blocks, source_of
from chaffinch.kinds.kind import Kind
from chaffinch.kinds.needs import Growth, Needs
from chaffinch.kinds.texts import Texts
from chaffinch.learners.choice import padded
from chaffinch.progress import Listener
from chaffinch.recipes.document_blocks import (
    CHOSEN_CHARACTERS,
    CHOSEN_ON,
    CHOSEN_ON_ALL,
    COUNTED_CHARACTERS,
    COUNTED_ON,
    MIXED,
    PASSES,
    TRIED_FEATURES,
    named_documents,
)
from chaffinch.recipes.text_features import TextFeatures

OF_ITEM = 40  # bytes per feature of a document in training from a cache
# Bytes in memory per character and per document, its word features included.
OF_TEXT, OF_DOCUMENT = 14, 1000
OF_STRING = 70  # bytes of a text besides its characters
# Bytes per feature of a document while n-grams are counted, by whether there is one kind of n-grams or several, whose
# rows are joined; while settings are tried: those of the rows, and of the part of them that is tried.
OF_VALUE, OF_JOINED, OF_ROW, OF_TRIED = 16, 34, 8, 30
# If features are character n-grams, bytes per feature of a document while recipes are compared on all documents, and
# while kinds of features are compared on a sample.
OF_CHOICE, OF_ROUND = 46, 27


def needs_of_documents(corpora: Sequence[Texts], features: Any = None) -> Needs | None:
    """Estimate from two short trainings how features grow with the data, up to the documents that are counted.

    features: the requested ones; None: words, and also character n-grams if they may be chosen
    """
    parts = [corpora[0].joined(rest) for rest in (corpora[1 : len(corpora) // 2], corpora[1:])]
    single = all(isinstance(label, str) for label in parts[1].labels)
    if len(corpora) < 2 or not single or len(set(parts[0].labels)) < 2:
        return None
    found = _needs(parts, TextFeatures.of(features))
    names = suited_kinds(parts[1].texts) if features is None else ()
    kinds = [kind for name in names if of_characters(kind := TextFeatures.named(name))]
    if kinds:
        larger = _needs(parts, max(kinds, key=lambda kind: len(kind.ngrams)))
        of_documents = larger.chosen / OF_CHOICE * SAMPLE / len(parts[1])
        found = replace(found, larger=larger, first=OF_ROUND * len(kinds) * of_documents)
    return found


def _needs(parts: Sequence[Texts], features: TextFeatures) -> Needs:
    """The needs of these features on half of a sample and on the whole."""
    began = process_time()
    half, whole = map(len, parts)
    characters = sum(map(len, parts[1].texts))
    in_memory = OF_TEXT * characters + OF_DOCUMENT * whole
    row = 4 * padded(len(set(parts[1].labels)))
    mean = characters // whole + 1
    counted_on = min(COUNTED_ON, max(CHOSEN_ON, COUNTED_CHARACTERS // mean))
    chosen_on = min(CHOSEN_ON_ALL, CHOSEN_CHARACTERS // mean)
    if of_characters(features):
        encoders = [features.encoder(len(part), 0, 1) for part in parts]
        items = [
            len(one.fitted_rows(part.texts, None, None).ids)
            for one, part in zip(encoders, parts, strict=True)
        ][1]
        fewer, more = (one.n_features for one in encoders)
        in_memory = max(in_memory, OF_CHOICE * items)
        learnt, chosen = 0, OF_CHOICE * items
    else:
        made = [
            Classifier("logistic", features=features, choose=False, calibrate=False, threads=1) for _ in parts
        ]
        for one, part in zip(made, parts, strict=True):
            one.set_params(smallest=0.0).fit(part.texts, part.labels)
        fewer, more = (one.model_.encoder.n_features for one in made)
        items = len(made[1].model_.encoder.rows(parts[1].texts, None, 1).ids)
        learnt, chosen = OF_ITEM * items, in_memory
    named_on = named_documents(2**62, counted_on, items / whole)
    texts = characters + OF_STRING * whole
    counted = texts + (OF_VALUE if len(features.ngrams) == 1 else OF_JOINED) * items
    named = texts + OF_ROW * items
    return Needs(
        memory=in_memory,
        growth=Growth.of([half, whole], [fewer, more]),
        weight_bytes=row,
        most=2**62,
        # The texts and features of the counted documents.
        blocks=int(max(counted * counted_on / whole, named * named_on / whole, OF_ITEM * MIXED * ITEMS)),
        as_blocks=max(counted, learnt),
        # Half of the sample and the whole were trained on; from a cache, features are made once.
        each_pass=0.75 * (process_time() - began) / 1.5,
        passes=PASSES,
        counted=max(named_on / whole, 1.0),
        each=row * whole,
        rows=texts + OF_ROW * items,
        held_out=texts + OF_ROW * items,
        tried=OF_TRIED * items,
        most_tried=OF_TRIED * TRIED_FEATURES[1],
        chosen=chosen,
        chosen_up_to=chosen_on / whole,
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
    how = f"{cached['recipe']} by {cached['how']}" if estimator.sharding is None else "in shards"
    return facts, [
        f"the cache holds {cached['bytes_per_document']:.1f} bytes a document; trained {how}; "
        f"features ({cached['features']}), recipe and penalty were chosen and probabilities calibrated on a sample of "
        f"at most {min(cached['counted_on'], COUNTED_ON):,} documents, n-grams counted on {cached['counted_on']:,}"
    ]
