"""Classifiers of documents that are not in memory: their features are chosen on a sample, their ids are in a cache.

Three things are done on evenly spaced documents: kinds of features and penalty are chosen by cross-validation, n-grams
are counted, and loss, penalty and step size are tried: logistic regression, or a margin over all labels, by SGD.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch._core import choice_scores
from chaffinch.cache.blocks import Ids
from chaffinch.cache.documents import DocumentCache, DocumentWriter, Rows, TextSpool
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.rows import SparseRows, joined
from chaffinch.learners.block_choice import BlockChoice
from chaffinch.learners.block_sgd import DocumentBlocks
from chaffinch.learners.choice import ChoiceWeights
from chaffinch.learners.choice_gradient import ChoicePerceptron
from chaffinch.learners.dual import DualLogistic
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.problem import Problem
from chaffinch.learners.shards import Sharding, Unweighted
from chaffinch.learners.training import Checkpoint, train_passes
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.modelfile import fingerprint
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.recipes.document_task import DocumentLabels, DocumentTask, finished, suited
from chaffinch.recipes.recipe import Trained
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.recipes.training import train_in_place
from chaffinch.scorers import Layout
from chaffinch.structures import Choice

CHOSEN_ON = 5_000  # documents on which kinds of features, penalty and step size are chosen
COUNTED_ON = 200_000  # documents whose n-grams are counted
COUNTED_CHARACTERS = 150_000_000
RATES = (0.125, 0.5, 2.0, 8.0, 32.0)
LOGISTIC, HINGE = (0.3, 1.0, 3.0), (0.03, 0.1, 0.3, 1.0)  # weights of a document's loss to try
WIDER, FASTER = 3.0, 4.0  # steps of the grid of weights and rates
TRIED_FEATURES = (300_000, 4_000_000)  # of all documents of the first and of the last trials, at most
GROWN = 6  # times as many documents in the next round of trials
FEWEST = 1_000  # documents of a trial, if there are as many
CLOSE = 0.01  # of accuracy: a loss that is this far behind is not tried on more documents
MOST_STEPS = 12  # trials beyond the first ones of a round
PASSES, MOST_PASSES = 4, 12
MIXED = 8  # blocks in memory together
STEPS = 200_000  # of SGD, at least, if that takes no more than the most passes
BYTES_OF_ID = 1.5  # of a feature of a document in a cache, about
ENCODER = "encoder.cache"  # beside the cache of documents


@dataclass(frozen=True)
class DocumentSettings:
    """How documents become rows and weights, as far as it is given.

    features: None: chosen on a sample     C: the weight of the loss against the penalty; None: chosen on a sample
    choose:   choices on a sample: from documents, labels and given features to features, their name and C
    sharding: the engine to train on, in shards, by logistic regression; None: SGD in this process
    online:   the averaged perceptron to train instead; None: logistic regression or a margin
    """

    features: TextFeatures | None = None
    C: float | None = None
    choose: Callable[[DocumentTask, float | None], tuple[TextFeatures, str, float]] | None = None
    seed: int = 0
    threads: int = 0
    sharding: Sharding | None = None
    online: ChoicePerceptron | None = None
    on_epoch: Listener = field(default=keep_going, compare=False)


def passes_over(N: int) -> int:
    """How many passes SGD makes over so many documents: few documents are met more often.

    >>> passes_over(1000), passes_over(30_000), passes_over(5_000_000)
    (12, 7, 4)
    """
    return int(np.clip(-(-STEPS // max(N, 1)), PASSES, MOST_PASSES))


def sample_task(spool: TextSpool, most: int, settings: DocumentSettings) -> DocumentTask:
    """Evenly spaced documents as a task in memory."""
    texts, labels = spool.sample(most)
    classes = np.array(sorted(spool.labels), dtype=object)
    place = {label: n for n, label in enumerate(classes.tolist())}
    ids = np.array([place[label] for label in labels], np.int32)
    return DocumentTask(
        X=texts,
        text=True,
        labels=DocumentLabels(np.array(classes.tolist()), np.arange(len(texts) + 1, dtype=np.int64), ids),
        importance=np.ones(len(texts), np.float32),
        features=settings.features,
        seed=settings.seed,
        threads=settings.threads,
    )


def build_cache(spool: TextSpool, folder: Path, name: str, settings: DocumentSettings, source: str) -> None:
    """Choose and count features on samples, then write the ids of all documents' features."""
    if len(spool.labels) < 2:
        raise DataError(f"expected documents with at least two labels, found {len(spool.labels)}")
    small = sample_task(spool, CHOSEN_ON, settings)
    features, called, C = settings.features or TextFeatures.of(None), "given features", settings.C or 1.0
    if settings.choose is not None:
        features, called, C = settings.choose(small, settings.C)
    if features.phrases is not None or features.reads_labels:
        raise ConfigError("features that read labels or labelled phrases need training in memory")
    mean = spool.characters // max(len(spool), 1) + 1
    large = sample_task(spool, min(COUNTED_ON, max(CHOSEN_ON, COUNTED_CHARACTERS // mean)), settings)
    encoder, rows = replace(large, features=features).encoded()
    trial = PERCEPTRON if settings.online else tried_learner(large, rows, C, settings, len(spool))
    counted = len(large.X)
    texts = texts_are_smaller(large.X, rows)
    del rows, large, small
    packed = encoder.packed()
    modelfile.write(
        folder / ENCODER,
        modelfile.Header(recipe="encoder", details=packed.details),
        packed.arrays,
        packed.strings,
    )
    assert encoder.union is not None
    binary = all(v.binary for v in encoder.union.vectorizers)
    classes = sorted(spool.labels)
    place = {label: n for n, label in enumerate(classes)}
    writer = DocumentWriter(folder / name, len(encoder.union.vectorizers), not binary, texts=texts)
    try:
        done = 0
        for here, gold in spool.blocks():
            labels = np.array([place[y] for y in gold], np.int32)
            if texts:
                writer.add_texts(here, labels)
            else:
                writer.add(raw_rows(encoder, here, settings.threads), labels)
            done += len(here)
            settings.on_epoch(Progress("encoding", done, len(spool)))
        writer.close(
            {
                "source": source,
                "features": called,
                "loss": trial.loss,
                "C": trial.C,
                "rate": trial.rate,
                "counted_on": counted,
                "counts": [spool.counts[spool.labels[label]] for label in classes],
            },
            classes,
        )
    except BaseException:
        writer.discard()
        raise


def texts_are_smaller(texts: Sequence[str], rows: SparseRows) -> bool:
    """Whether texts take fewer bytes than the ids of their features, as those of characters do."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    above = sum(int(np.count_nonzero(np.frombuffer(one, np.uint8) > 127)) for one in encoded)
    return sum(map(len, encoded)) + above < BYTES_OF_ID * len(rows.ids)


def raw_rows(encoder: DocumentEncoder, texts: list[str], threads: int) -> list[Rows]:
    """The counts of each kind of features."""
    assert encoder.union is not None
    found: list[Rows] = []
    for vectorizer, view in zip(encoder.union.vectorizers, encoder.views, strict=True):
        vectorizer.threads = threads
        rows = vectorizer.counted(view.of(texts, encoder.clusters))
        counts = None if rows.values is None else rows.values.astype(np.int32)
        found.append((rows.ptr, rows.ids, counts))
    return found


def weighted_rows(encoder: DocumentEncoder, kinds: Sequence[Rows]) -> SparseRows:
    """Rows of counts as ``encoder.rows`` would give them for the texts."""
    assert encoder.union is not None
    blocks = []
    for (ptr, ids, counts), vectorizer, scale in zip(
        kinds, encoder.union.vectorizers, encoder.scales, strict=True
    ):
        values = None if counts is None else counts.astype(np.float32)
        rows = SparseRows(ptr, ids, values, vectorizer.feature_count)
        blocks.append(vectorizer.weighted(rows).times(scale))
    return joined(blocks)


@dataclass(frozen=True)
class SgdTrial:
    """Settings of SGD to try: the loss, its weight against the penalty, and the first step size."""

    loss: str
    C: float
    rate: float

    def near(self, fixed: bool) -> "list[SgdTrial]":
        """The trial itself and those one step of the grid away. fixed: with the same C."""
        rates = [replace(self, rate=rate) for rate in (self.rate / FASTER, self.rate * FASTER)]
        weights = [] if fixed else [replace(self, C=C) for C in (self.C / WIDER, self.C * WIDER)]
        return [self, *rates, *weights]


PERCEPTRON = SgdTrial("perceptron", 1.0, 1.0)


def tried_learner(
    task: DocumentTask, rows: SparseRows, C: float, settings: DocumentSettings, N: int
) -> SgdTrial:
    """The trial that is right most often on documents of a sample that were not learnt.

    The best weight and step size change as documents are added. So all trials are made on a few thousand documents;
    then those near the best one of each loss on six times as many, and so on. If C is given, the loss is
    that of logistic regression and only the step size is tried.

    N: documents of the whole training set, which decides on the number of passes
    """
    chosen = settings.C is None and settings.choose is not None
    margins = HINGE if chosen and settings.sharding is None else ()
    weights = {"logistic": {C, *LOGISTIC} if chosen else {C}, "hinge": set(margins)}
    first = [SgdTrial(loss, c, rate) for loss, cs in weights.items() for c in sorted(cs) for rate in RATES]
    leaders = [[trial for trial in first if trial.loss == loss] for loss in weights if weights[loss]]
    few, most = (max(FEWEST, n * len(rows) // max(len(rows.ids), 1)) for n in TRIED_FEATURES)
    most = min(most, len(rows))
    count = min(few, most, CHOSEN_ON)
    while True:
        which = np.arange(count) * len(rows) // count
        held = np.arange(count) % 3 == 2
        if not held.any() or held.all():
            return SgdTrial("logistic", C, RATES[len(RATES) // 2])
        right = partial(
            accuracy_of,
            rows.taken(which),
            task.labels.taken(which).ids,
            held,
            len(task.labels.classes),
            passes_over(N) if count == most else PASSES,
        )
        found = sorted((_climbed(trials, right, not chosen) for trials in leaders), key=lambda pair: -pair[1])
        if count == most:
            return found[0][0]
        close = [trial for trial, share in found if share > found[0][1] - CLOSE]
        leaders = [[trial] for trial in close]
        count = min(most, GROWN * count)


def _climbed(
    trials: Sequence[SgdTrial], right: Callable[[SgdTrial], float], fixed: bool
) -> tuple[SgdTrial, float]:
    """The best trial and how often it is right: of those given, then of its neighbours while they are better."""
    known = {trial: right(trial) for trial in trials}
    while True:
        best = max(known, key=known.__getitem__)
        known |= {trial: right(trial) for trial in best.near(fixed) if trial not in known}
        if max(known, key=known.__getitem__) == best or len(known) > len(trials) + MOST_STEPS:
            best = max(known, key=known.__getitem__)
            return best, known[best]


def accuracy_of(
    rows: SparseRows, gold: Ids, held: NDArray[np.bool_], Y: int, passes: int, trial: SgdTrial
) -> float:
    """The share of the held-out rows that SGD on the other rows gets right."""
    learnt = DocumentExamples.of_rows(rows.taken(np.flatnonzero(~held)), gold[~held], Y)
    other = rows.taken(np.flatnonzero(held))
    learner = _learner(rows.columns, Y, trial, len(learnt), passes)
    learner = replace(learner, sizes=np.array([len(learnt)]))
    w = train_passes(learner, Problem(None, None, learnt), threads=1).made.w
    scores = np.zeros((len(other), Y), np.float32)
    choice_scores(other.native(1.0), w, 1, scores)
    return float((scores.argmax(axis=1) == gold[held]).mean())


def _learner(F: int, Y: int, trial: SgdTrial, N: int, passes: int) -> BlockChoice:
    return BlockChoice(
        loss=trial.loss, l2=1 / (trial.C * max(N, 1)), rate=trial.rate, epochs=passes, mixed=MIXED, F=F, Y=Y
    )


def made_examples(
    cache: DocumentCache, encoder: DocumentEncoder, numbers: Sequence[int], threads: int = 1
) -> DocumentExamples:
    """The documents of some blocks, end to end. threads: those that derive features, if the cache holds texts."""
    if cache.holds_texts:
        read = [cache.texts(number) for number in numbers]
        rows = raw_rows(encoder, [text for texts, _ in read for text in texts], threads)
        return DocumentExamples.of_rows(
            weighted_rows(encoder, rows), np.concatenate([y for _, y in read]), len(cache.labels)
        )
    found = [cache.block(number) for number in numbers]
    kinds: list[Rows] = []
    for k in range(cache.kinds):
        pieces = [rows[k] for rows, _ in found]
        starts = np.cumsum([0, *(int(ptr[-1]) for ptr, _, _ in pieces[:-1])])
        ptr = np.concatenate([[0], *(p[1:] + s for (p, _, _), s in zip(pieces, starts, strict=True))])
        counts = None if not cache.counted else np.concatenate([c for _, _, c in pieces if c is not None])
        kinds.append((ptr.astype(np.int64), np.concatenate([ids for _, ids, _ in pieces]), counts))
    return DocumentExamples.of_rows(
        weighted_rows(encoder, kinds), np.concatenate([y for _, y in found]), len(cache.labels)
    )


def train_documents(
    cache: DocumentCache,
    folder: Path,
    settings: DocumentSettings,
    task: DocumentTask,
    checkpoint: Path | None,
) -> Trained:
    """Learn from a cache. task: how the model is finished; its documents do not count."""
    encoder = DocumentEncoder.loaded(modelfile.read(folder / ENCODER))
    header = cache.header
    trial = SgdTrial(header["loss"], header["C"], header["rate"])
    F, Y, N = encoder.n_features, len(cache.labels), len(cache)
    learner: Any = _learner(F, Y, trial, N, passes_over(N))
    if settings.online is not None:
        online = settings.online
        learner = replace(learner, l2=0.0, epochs=online.epochs, average=online.average, falling=False)

    def made(numbers: Sequence[int]) -> DocumentExamples:
        return made_examples(cache, encoder, numbers, settings.threads)

    items = int(cache.file.entries["items"].sum(dtype=np.int64))
    blocks = DocumentBlocks(cache.sizes, made, items, cache.file.fingerprint, F, Y)
    problem = Problem(None, None, blocks, seed=settings.seed)
    if settings.sharding is not None:
        if trial.loss != "logistic":
            raise ConfigError("the cache was made to train a margin, which has no form for shards; delete it")
        learner = suited(DualLogistic(C=trial.C), True, N)
        problem = replace(problem, structure=Choice(Y), scorer=Unweighted(Layout.choice(F + 1, Y)))
    asked = fingerprint([repr(learner), str(settings.seed), cache.file.fingerprint])
    labels = DocumentLabels(np.array(cache.labels), np.zeros(1, np.int64), np.zeros(0, np.int32))
    task = replace(task, labels=labels)

    def model(weights: ChoiceWeights) -> Any:
        masses = np.array(header["counts"], np.float64)
        return finished(task, encoder, weights, None, masses)[0]

    training = train_in_place(
        settings,
        learner,
        problem,
        model=lambda weights: model(replace(weights, w=weights.w.copy())),
        held_out_score=task.held_out_score(encoder),
        checkpoint=None if checkpoint is None else Checkpoint(str(checkpoint), asked),
    )
    return Trained(model(training.made), training.history, shards=training.shards)
