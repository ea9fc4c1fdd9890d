"""Classifiers of documents that are not in memory: features are chosen on a sample, their ids are in a cache.

Samples are evenly spaced documents. On them, cross-validation chooses kinds of features, recipe and penalty, n-grams
are counted, and recipe and penalty are tried on more documents. The recipes are the same as in memory (ridge
regression, Crammer and Singer's margin, logistic regression), by dual ascent. If the dual variables of all documents
would take too much memory, the last two are learnt by SGD, and the step size is tried too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch._core import choice_scores
from chaffinch.cache.blocks import Ids
from chaffinch.cache.documents import DocumentCache, DocumentWriter, TextSpool
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.rows import SparseRows
from chaffinch.learners.block_choice import BlockChoice, BlockDual
from chaffinch.learners.block_sgd import DocumentBlocks
from chaffinch.learners.choice import ChoiceWeights, padded
from chaffinch.learners.choice_gradient import ChoicePerceptron
from chaffinch.learners.dual import CoordinateDual, DualCrammerSinger, DualLogistic, DualRidge
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.problem import Problem
from chaffinch.learners.shards import Sharding, Unweighted
from chaffinch.learners.training import Checkpoint, train_passes
from chaffinch.model.confidence import RAW, Calibration
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.modelfile import fingerprint
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.recipes.document_block_examples import DocumentBlockExamples, raw_rows
from chaffinch.recipes.document_task import DocumentLabels, DocumentTask, finished, suited
from chaffinch.recipes.fingerprints import held_out_fingerprint
from chaffinch.recipes.out_of_fold import first_duplicates
from chaffinch.recipes.recipe import Trained
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.recipes.training import train_in_place
from chaffinch.scorers import Layout
from chaffinch.structures import Choice
from chaffinch.trust.calibration import fitted_calibration

CHOSEN_ON = 5_000  # documents on which kinds of features, recipe and penalty are chosen
CHOSEN_ON_ALL, CHOSEN_CHARACTERS = (
    20_000,
    40_000_000,
)  # if documents and characters are at most this many, the choice uses all documents
COUNTED_ON = 200_000  # documents on which recipes are tried and probabilities calibrated
COUNTED_CHARACTERS = 150_000_000
NAMED_ON, NAMED_FEATURES = (
    1_000_000,
    30_000_000,
)  # documents, and features of them all, of which n-grams are counted
DUALS: dict[str, type[CoordinateDual]] = {
    "ridge": DualRidge,
    "crammer-singer": DualCrammerSinger,
    "logistic": DualLogistic,
}
DUAL_BYTES = 1 << 30  # maximum size of the dual variables of all documents
PENALTIES = {"ridge": (0.3, 1.0), "crammer-singer": (0.1, 0.3), "logistic": (1.0, 3.0)}  # the first C to try
RATES = (0.125, 0.5, 2.0, 8.0, 32.0)
SGD_PENALTIES = {"logistic": (0.3, 1.0, 3.0), "hinge": (0.03, 0.1, 0.3, 1.0)}
WIDER, FASTER = 3.0, 4.0  # steps of the grid of weights and rates
TRIED_FEATURES = (
    300_000,
    4_000_000,
)  # maximum number of features of all documents in the first and the last trials
GROWN = 6  # factor by which the documents grow from one round of trials to the next
FEWEST = 1_000  # minimum number of documents of a trial, if there are as many
# A loss is not tried on more documents if it is behind the best by more accuracy than this, and by more standard errors
# of the difference.
CLOSE, CLOSE_ERRORS = 0.01, 2.0
MOST_STEPS = 12  # maximum number of trials beyond the first ones of a round
PASSES, MOST_PASSES = 4, 12
MIXED = 8  # blocks in memory at a time
STEPS = 200_000  # minimum number of steps of SGD, within MOST_PASSES passes
BYTES_OF_ID = 1.5  # approximate size of a document's feature in a cache
ENCODER = "encoder.cache"  # beside the cache of documents


@dataclass(frozen=True)
class DocumentSettings:
    """The settings of training from a cache that are given.

    features: None: chosen on a sample     C: the weight of the loss against the penalty; None: chosen on a sample
    learner:  the learner, if it is given; None: chosen among ridge regression, margin and logistic regression
    choose:   chooses on a sample; its second argument: whether the sample is all documents
    sharding: the engine to train on, in shards, by logistic regression; None: in this process
    online:   the averaged perceptron to train instead
    """

    features: TextFeatures | None = None
    C: float | None = None
    learner: CoordinateDual | None = None
    choose: Callable[[DocumentTask, bool], "TextChoice"] | None = None
    seed: int = 0
    threads: int = 0
    sharding: Sharding | None = None
    online: ChoicePerceptron | None = None
    on_epoch: Listener = field(default=keep_going, compare=False)


@dataclass(frozen=True)
class TextChoice:
    """Features, their name, a recipe (one of DUALS) and its penalty.

    ready: the encoder and the rows of the sample, if they were computed
    """

    features: TextFeatures
    name: str
    recipe: str
    C: float
    ready: tuple[DocumentEncoder, SparseRows] | None = None


def passes_over(N: int) -> int:
    """Number of passes of SGD over this many documents: few documents get more passes.

    >>> passes_over(1000), passes_over(30_000), passes_over(5_000_000)
    (12, 7, 4)
    """
    return int(np.clip(-(-STEPS // max(N, 1)), PASSES, MOST_PASSES))


def all_documents(N: int, characters: int) -> bool:
    """Whether the choice uses all documents."""
    return N <= CHOSEN_ON_ALL and characters <= CHOSEN_CHARACTERS


def counted_documents(N: int, characters: int) -> int:
    """The number of documents on which recipes are tried and, from a cache, n-grams are counted first."""
    mean = characters // max(N, 1) + 1
    return min(N, COUNTED_ON, max(CHOSEN_ON, COUNTED_CHARACTERS // mean))


def named_documents(N: int, counted: int, features: float) -> int:
    """The number of documents of which n-grams are counted for the features of all.

    counted: the number of documents on which recipes were tried     features: the mean of a document

    >>> named_documents(5_000_000, 200_000, 20), named_documents(5_000_000, 200_000, 400)
    (1000000, 200000)
    """
    return max(counted, min(N, NAMED_ON, int(NAMED_FEATURES / max(features, 1.0))))


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
    few = all_documents(len(spool), spool.characters)
    small = sample_task(spool, CHOSEN_ON_ALL if few else CHOSEN_ON, settings)
    chosen = TextChoice(
        settings.features or TextFeatures.of(None), "given features", "logistic", settings.C or 1.0
    )
    all_seen = len(small.X) == len(spool)
    if settings.choose is not None:
        chosen = settings.choose(small, all_seen)
    features, called = chosen.features, chosen.name
    if features.phrases is not None or features.reads_labels:
        raise ConfigError("features that read labels or labelled phrases need training in memory")
    large = sample_task(spool, counted_documents(len(spool), spool.characters), settings)
    encoder, rows = replace(large, features=features, ready=chosen.ready if all_seen else None).encoded()
    if settings.online is not None:
        trial = PERCEPTRON
    elif duals_fit(len(spool), len(spool.labels)) and (all_seen or settings.choose is None):
        trial = LearnerTrial(chosen.recipe, chosen.C)  # there are no more documents to try it on
    else:
        trial = choose_trial(large, rows, chosen, settings, len(spool)).trial
    # Scores of a perceptron grow with the number of its steps, so those of a sample do not calibrate it.
    calibration = RAW if settings.online else held_out_calibration(large, rows, trial, settings)
    counted = named_documents(len(spool), len(large.X), len(rows.ids) / max(len(rows), 1))
    texts = texts_are_smaller(large.X, rows)
    del small, chosen
    if counted > len(rows):  # rare words too, which a sample of documents lacks
        del rows, large, encoder
        encoder = replace(sample_task(spool, counted, settings), features=features).encoded()[0]
    else:
        del rows, large
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
                "calibration": vars(calibration),
                "counted_on": counted,
                "counts": [spool.counts[spool.labels[label]] for label in classes],
            },
            classes,
        )
    except BaseException:
        writer.discard()
        raise


def texts_are_smaller(texts: Sequence[str], rows: SparseRows) -> bool:
    """Whether texts take fewer bytes than the ids of their features, as with n-grams of characters."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    above = sum(int(np.count_nonzero(np.frombuffer(one, np.uint8) > 127)) for one in encoded)
    return sum(map(len, encoded)) + above < BYTES_OF_ID * len(rows.ids)


@dataclass(frozen=True)
class LearnerTrial:
    """Settings of a learner to try: the loss, its weight against the penalty, and the first step size of SGD.

    loss: one of DUALS, by dual ascent, if there is no rate; of SGD: logistic or hinge
    """

    loss: str
    C: float
    rate: float | None = None

    def near(self, fixed: bool) -> "list[LearnerTrial]":
        """The trial itself and its neighbours in the grid. fixed: with the same C."""
        rates = [] if self.rate is None else [self.rate / FASTER, self.rate * FASTER]
        # Rounded: 0.3 / 3 is not 0.1, and would be tried beside it.
        weights = [] if fixed else [float(f"{C:.6g}") for C in (self.C / WIDER, self.C * WIDER)]
        return [self, *(replace(self, rate=rate) for rate in rates), *(replace(self, C=C) for C in weights)]


PERCEPTRON = LearnerTrial("perceptron", 1.0, 1.0)


@dataclass(frozen=True, eq=False)
class MeasuredTrial:
    """A trial, and whether its model predicted each held-out document of a sample correctly.

    right:     bool [held-out documents]; empty if none could be held out
    documents: the size of the sample
    """

    trial: LearnerTrial
    right: NDArray[np.bool_]
    documents: int

    @property
    def accuracy(self) -> float:
        """The share of held-out documents."""
        return float(self.right.mean()) if len(self.right) else 0.0

    def close_to(self, best: "MeasuredTrial") -> bool:
        """Whether it may be better than the best on more documents."""
        behind = best.right.astype(np.float64) - self.right
        return bool(behind.mean() < max(CLOSE, CLOSE_ERRORS * behind.std() / np.sqrt(len(behind))))


def duals_fit(N: int, Y: int) -> bool:
    """Whether the dual variables of this many documents and labels fit in memory."""
    return 4 * N * padded(Y) <= DUAL_BYTES


def choose_trial(
    task: DocumentTask, rows: SparseRows, chosen: TextChoice, settings: DocumentSettings, N: int
) -> MeasuredTrial:
    """The trial with the highest accuracy on held-out documents of a sample.

    The best weight and step size change with the number of documents. So all trials run on a few thousand documents,
    then the neighbours of the best trial of each loss on six times as many, and so on.

    N: number of documents of the whole training set; it decides the number of passes, and whether to train by SGD
    """
    free = settings.C is None and settings.choose is not None
    leaders = _first_trials(chosen, settings, free, duals_fit(N, len(task.labels.classes)))
    few, most = (max(FEWEST, n * len(rows) // max(len(rows.ids), 1)) for n in TRIED_FEATURES)
    most = min(most, len(rows))
    count = min(few, most, CHOSEN_ON)
    while True:
        which = np.arange(count) * len(rows) // count
        held = _every_third(task, which)
        if not held.any() or held.all():
            return MeasuredTrial(leaders[0][len(leaders[0]) // 2], np.zeros(0, np.bool_), count)
        sample = TrialSample(
            rows.taken(which),
            task.labels.taken(which).ids,
            held,
            len(task.labels.classes),
            passes_over(N) if count == most else PASSES,
            settings.learner,
        )
        found = sorted(
            (_climb(trials, sample.measured, not free) for trials in leaders), key=lambda one: -one.accuracy
        )
        if count == most:
            return found[0]
        leaders = [[one.trial] for one in found if one is found[0] or one.close_to(found[0])]
        count = min(most, GROWN * count)


def _first_trials(
    chosen: TextChoice, settings: DocumentSettings, free: bool, dual: bool
) -> list[list[LearnerTrial]]:
    """Trials by loss. free: whether to choose C, and the loss unless it is given."""
    alone = not free or settings.learner is not None or settings.sharding is not None
    if dual:
        losses = [chosen.recipe, *(name for name in DUALS if name != chosen.recipe and not alone)]
        weights = {loss: set(PENALTIES[loss] if free else ()) for loss in losses}
        weights[chosen.recipe].add(chosen.C)
        return [[LearnerTrial(loss, C) for C in sorted(cs)] for loss, cs in weights.items()]
    losses = [_SGD_LOSSES.get(chosen.recipe, "logistic")] if alone else list(SGD_PENALTIES)
    of_loss = {loss: SGD_PENALTIES[loss] if free else (chosen.C,) for loss in losses}
    return [[LearnerTrial(loss, C, rate) for C in cs for rate in RATES] for loss, cs in of_loss.items()]


_SGD_LOSSES = {"crammer-singer": "hinge"}


def _climb(
    trials: Sequence[LearnerTrial], measure: Callable[[LearnerTrial], MeasuredTrial], fixed: bool
) -> MeasuredTrial:
    """The best trial by hill climbing: the given trials, then the neighbours of the best one."""
    known = {trial: measure(trial) for trial in trials}
    while True:
        best = max(known.values(), key=lambda one: one.accuracy)
        known |= {trial: measure(trial) for trial in best.trial.near(fixed) if trial not in known}
        better = max(known.values(), key=lambda one: one.accuracy)
        if better is best or len(known) > len(trials) + MOST_STEPS:
            return better


@dataclass(frozen=True)
class TrialSample:
    """Rows of a sample on which trials are compared: models of the other rows score the held-out ones.

    gold: the labels, of Y     held: bool [rows]     passes: of SGD     given: the settings of dual ascent, if given
    """

    rows: SparseRows
    gold: Ids
    held: NDArray[np.bool_]
    Y: int
    passes: int
    given: CoordinateDual | None

    def measured(self, trial: LearnerTrial) -> MeasuredTrial:
        """The trial on the held-out rows."""
        right = self.scores(trial, quick=True).argmax(axis=1) == self.gold[self.held]
        return MeasuredTrial(trial, right, len(self.rows))

    def scores(self, trial: LearnerTrial, quick: bool = False) -> NDArray[np.float32]:
        """The scores [held-out rows, Y] by a trial's model of the other rows. quick: with the passes of a comparison"""
        Y, rest = self.Y, ~self.held
        learnt = DocumentExamples.of_rows(self.rows.taken(np.flatnonzero(rest)), self.gold[rest], Y)
        other = self.rows.taken(np.flatnonzero(self.held))
        learner = _learner(self.rows.columns, Y, trial, len(learnt), self.passes, self.given, quick)
        learner = replace(learner, sizes=np.array([len(learnt)]))
        w = train_passes(learner, Problem(None, None, learnt), threads=1).made.w
        scores = np.zeros((len(other), Y), np.float32)
        choice_scores(other.native(1.0), w, 1, scores)
        return scores


def _every_third(task: DocumentTask, which: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each of these documents is held out: every third; a duplicate goes with the first of its text."""
    held: NDArray[np.bool_] = first_duplicates([task.X[n] for n in which.tolist()]) % 3 == 2
    return held


def held_out_calibration(
    task: DocumentTask, rows: SparseRows, trial: LearnerTrial, settings: DocumentSettings
) -> Calibration:
    """The calibration of the scores, fitted on a held-out third of a sample."""
    count = min(len(rows), max(FEWEST, TRIED_FEATURES[1] * len(rows) // max(len(rows.ids), 1)))
    which = np.arange(count) * len(rows) // max(count, 1)
    held, gold, Y = _every_third(task, which), task.labels.taken(which).ids, len(task.labels.classes)
    if len(np.unique(gold[~held])) < 2 or not held.any():
        return RAW
    sample = TrialSample(rows.taken(which), gold, held, Y, PASSES, settings.learner)
    return fitted_calibration(sample.scores(trial), gold[held])


def _calibration(header: Mapping[str, Any]) -> Calibration:
    """The calibration in a cache; those of earlier versions have a temperature."""
    found = header.get("calibration", {"temperature": header.get("temperature", 1.0)})
    return Calibration(**found | {"curve": tuple((x, y) for x, y in found.get("curve", ()))})


def _learner(
    F: int,
    Y: int,
    trial: LearnerTrial,
    N: int,
    passes: int,
    given: CoordinateDual | None = None,
    quick: bool = False,
) -> BlockChoice | BlockDual:
    """The learner of a trial.

    given: the settings of dual ascent, in which the trial's C replaces C
    quick: dual ascent makes the passes of a comparison
    """
    if trial.rate is None:
        dual = DUALS[trial.loss](C=trial.C) if given is None else replace(given, C=trial.C)
        return BlockDual(dual=suited(dual, True, N, quick), mixed=MIXED, F=F, Y=Y)
    return BlockChoice(
        loss=trial.loss, l2=1 / (trial.C * max(N, 1)), rate=trial.rate, epochs=passes, mixed=MIXED, F=F, Y=Y
    )


def train_documents(
    cache: DocumentCache,
    folder: Path,
    settings: DocumentSettings,
    task: DocumentTask,
    checkpoint: Path | None,
) -> Trained:
    """Learn from a cache. task: settings of the finished model; its documents are not used."""
    encoder = DocumentEncoder.loaded(modelfile.read(folder / ENCODER))
    header = cache.header
    trial = LearnerTrial(header["loss"], header["C"], header["rate"])
    F, Y, N = encoder.n_features, len(cache.labels), len(cache)
    learner: Any = _learner(F, Y, trial, N, passes_over(N), settings.learner)
    if settings.online is not None:
        online = settings.online
        learner = replace(learner, l2=0.0, epochs=online.epochs, average=online.average, falling=False)

    items = int(cache.file.entries["items"].sum(dtype=np.int64))
    made = DocumentBlockExamples(cache, encoder, settings.threads).made
    blocks = DocumentBlocks(cache.sizes, made, items, cache.file.fingerprint, F, Y)
    problem = Problem(None, None, blocks, seed=settings.seed)
    if settings.sharding is not None:
        if trial.loss != "logistic":
            raise ConfigError(
                "the cache was made to train a margin, which cannot be trained in shards; delete it"
            )
        learner = suited(DualLogistic(C=trial.C), True, N)
        problem = replace(problem, structure=Choice(Y), scorer=Unweighted(Layout.choice(F + 1, Y)))
    dev = held_out_fingerprint(task.dev)
    asked = fingerprint([repr(learner), str(settings.seed), cache.file.fingerprint, dev])
    labels = DocumentLabels(np.array(cache.labels), np.zeros(1, np.int64), np.zeros(0, np.int32))
    # What features could be dropped without loss is not known: there are no folds to tell.
    task = replace(task, labels=labels, smallest=0.0 if task.smallest is None else task.smallest)

    def model(weights: ChoiceWeights) -> Any:
        masses = np.array(header["counts"], np.float64)
        made = finished(task, encoder, weights, None, masses)[0]
        return replace(made, calibration=_calibration(header))

    training = train_in_place(
        settings,
        learner,
        problem,
        model=lambda weights: model(replace(weights, w=weights.w.copy())),
        held_out_score=task.held_out_score(encoder),
        dev=dev,
        checkpoint=None if checkpoint is None else Checkpoint(str(checkpoint), asked),
    )
    return Trained(model(training.made), training.history, shards=training.shards)
