"""Self-training: a model labels unlabelled rows and learns from its confident answers, if that helps on held-out data.

    model 0 = trained on the labelled rows
    round k : label every unlabelled row by model k - 1, take those with a probability of at least ``confidence``,
              model k = trained on the labelled rows and these

Yarowsky 1995; Abney 2007. Every round labels the whole pool again, so a wrong label can be withdrawn.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from chaffinch.errors import ConfigError
from chaffinch.evaluate import Tally
from chaffinch.evaluate.intervals import RESAMPLES, Interval, intervals
from chaffinch.kinds.corpora import Corpus, fingerprint, held_out, joined, size, taken
from chaffinch.kinds.kind import Kind
from chaffinch.progress import Listener, keep_going

ROUNDS = 3
CONFIDENCE = 0.9
HELD_OUT = 0.2  # the share of the labelled rows that is held out, if no held-out data is given
ERROR = 5.0  # per cent: probability that useless self-training seems useful, over all rounds


@dataclass(frozen=True)
class RoundScore:
    """The model of one round on held-out data; round 0 is the supervised model.

    added:              predicted rows that it was trained on
    score, low, high:   with the 95 % interval
    gain:               over the supervised model
    gain_low, gain_high: its interval by paired bootstrap, 95 % for all rounds together (Bonferroni)
    """

    round: int
    added: int
    score: float
    low: float
    high: float
    gain: float = 0.0
    gain_low: float = 0.0
    gain_high: float = 0.0


@dataclass(frozen=True)
class SelfTraining:
    """The curve, the round that is kept (0: the supervised model), and its model, trained on all labelled rows.

    key:      the score of the curve
    held_out: number of held-out rows    pool: number of unlabelled rows
    added:    predicted rows that the kept model was trained on
    """

    model: Any
    kept: int
    added: int
    curve: list[RoundScore]
    key: str
    held_out: int
    pool: int
    confidence: float

    def verdict(self) -> str:
        """One sentence: whether self-training helps, and what is kept."""
        if len(self.curve) == 1:
            return (
                f"No unlabelled row has an answer with a probability of {self.confidence:g} or more: "
                "the supervised model is kept."
            )
        if self.kept == 0:
            return (
                "No round is better than the supervised model by more than its interval: "
                "the supervised model is kept."
            )
        best = self.curve[self.kept]
        return (
            f"Round {self.kept} is {100 * best.gain:+.2f} points above the supervised model "
            f"({100 * best.gain_low:+.2f} to {100 * best.gain_high:+.2f}): it is kept, trained on {self.added:,} "
            "predicted rows and all labelled ones."
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything but the model."""
        plain = ("kept", "added", "key", "held_out", "pool", "confidence")
        curve = [asdict(judged) for judged in self.curve]
        return {name: getattr(self, name) for name in plain} | {"curve": curve, "verdict": self.verdict()}


def self_train(
    kind: Kind,
    supervised: Any,
    made: Callable[[], Any],
    train: Corpus,
    unlabelled: Corpus,
    dev: Corpus | None = None,
    *,
    rounds: int = ROUNDS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    listener: Listener = keep_going,
) -> SelfTraining:
    """Judge self-training on held-out data; keep its best round if that is better than the supervised model.

    supervised: a model trained on ``train``; it is kept if no round has a gain whose interval is above zero
    made:       makes an untrained model of the same settings
    dev:        held-out data, used only to judge; without it a fifth of ``train`` is held out, and the best round is
                repeated with all of ``train``

    Unlabelled rows with the text of a labelled one are left out. A kept round has no calibration and no record
    of a choice of settings: its folds contain its own predicted labels, so out-of-fold scores would not be valid.
    """
    if rounds < 1:
        raise ConfigError(f"self-training needs at least one round, got {rounds}")
    if not 0.0 <= confidence <= 1.0:
        raise ConfigError(f"the confidence of self-training is a probability from 0 to 1, got {confidence:g}")
    known = {text for corpus in (train, dev) if corpus is not None for text in kind.texts(corpus)}
    pool = taken(unlabelled, [n for n, text in enumerate(kind.texts(unlabelled)) if text not in known])
    loop = _Loop(kind, made, pool, rounds, confidence, listener)
    if dev is not None:
        learnt, judge, first = train, dev, supervised
    else:
        learnt, judge = held_out(train, HELD_OUT, seed)
        first = loop.fitted(learnt)
    runs = [(first, 0), *loop.run(first, learnt)]
    key, curve = _curve(
        kind, [kind.tally(model, judge) for model, _ in runs], [n for _, n in runs], rounds, seed
    )
    better = [judged for judged in curve if judged.gain_low > 0]
    kept = max(better, key=lambda judged: judged.gain).round if better else 0
    model, added = supervised, 0
    if kept and dev is not None:
        model, added = runs[kept]
    elif kept:
        *_, (model, added) = [(supervised, 0), *replace(loop, rounds=kept).run(supervised, train)]
    if added:
        model.confidence_ = model.choice_ = None
    return SelfTraining(model, kept, added, curve, key, size(judge), size(pool), confidence)


@dataclass(frozen=True)
class _Loop:
    """The rounds, from any supervised model."""

    kind: Kind
    made: Callable[[], Any]
    pool: Corpus
    rounds: int
    confidence: float
    listener: Listener

    def fitted(self, corpus: Corpus) -> Any:
        """A model of a corpus."""
        model = self.made()
        self.kind.fit(model, corpus, None, self.listener)
        return model

    def run(self, model: Any, train: Corpus) -> Iterator[tuple[Any, int]]:
        """The model of each round, and its number of predicted rows; ends early if none is added or none changes."""
        before = None
        for _ in range(self.rounds if size(self.pool) else 0):
            answered, sure = self.kind.self_labelled(model, self.pool, train)
            rows = np.flatnonzero(sure >= self.confidence).tolist()
            added = taken(answered, rows)
            if not rows or (now := fingerprint(added)) == before:
                return
            before = now
            model = self.fitted(joined([train, added]))
            yield model, len(rows)


def _curve(
    kind: Kind, tallies: list[Tally], added: list[int], rounds: int, seed: int
) -> tuple[str, list[RoundScore]]:
    """The score of each model with its interval, and its gain over the first one."""
    found = [tally.score(tally.sums()) for tally in tallies]
    key = next(name for name in kind.scores if all(name in scores for scores in found))
    curve = []
    for n, (tally, scores) in enumerate(zip(tallies, found, strict=True)):
        own = intervals(tally, seed=seed)[key]
        judged = RoundScore(n, added[n], float(scores[key]), own.low, own.high)
        if n:
            between = _gain(tally, tallies[0], key, 100.0 - ERROR / rounds, seed)
            gain = judged.score - float(found[0][key])
            judged = RoundScore(n, added[n], judged.score, own.low, own.high, gain, between.low, between.high)
        curve.append(judged)
    return key, curve


def _gain(ours: Tally, other: Tally, key: str, confidence: float, seed: int) -> Interval:
    """The interval of a difference: one seed draws the same rows for both, whatever labels each model gave."""
    drawn = (tally.score(tally.bootstrap(RESAMPLES, seed))[key] for tally in (ours, other))
    tail = (100.0 - confidence) / 2.0
    low, high = np.percentile(np.subtract(*drawn), [tail, 100.0 - tail])
    return Interval(float(low), float(high))
