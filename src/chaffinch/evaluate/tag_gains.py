"""Several outputs for the same sentences, their main score, and how far one is ahead of another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaffinch.evaluate.intervals import Comparison, compare
from chaffinch.evaluate.tags import TagPair, TagScorer

Labels = Sequence[Sequence[str]]
SPANS, TOKENS = "span.micro.f1", "token_accuracy"


@dataclass(frozen=True)
class TagGain:
    """key: the score that was compared   scores: of each output   gain: of ``ours`` over ``other``."""

    key: str
    scores: dict[str, float]
    gain: Comparison


def tag_gain(gold: Labels, outputs: Mapping[str, Labels], ours: str, other: str, seed: int = 0) -> TagGain:
    """Span F1, or the share of right labels where labels are no spans; the interval is by paired bootstrap.

    >>> gold = [["B-NP", "I-NP"]] * 20
    >>> outputs = {"new": gold, "old": [["B-NP", "I-NP"]] * 15 + [["B-NP", "O"]] * 5}
    >>> found = tag_gain(gold, outputs, "new", "old")
    >>> found.scores, found.gain.low > 0
    ({'new': 1.0, 'old': 0.75}, True)
    """
    every = [labels for output in outputs.values() for labels in output]
    pair = TagPair.from_lists([*gold] * len(outputs), every)
    scorer, N = TagScorer(pair.labels), len(gold)
    tallies = {}
    for k, name in enumerate(outputs):
        ptr = pair.ptr[k * N : (k + 1) * N + 1]
        tokens = slice(int(ptr[0]), int(ptr[-1]))
        tallies[name] = scorer.tally(pair.y[tokens], pair.y_hat[tokens], ptr - ptr[0])
    compared = compare(tallies[ours], tallies[other], seed=seed)
    key = SPANS if SPANS in compared else TOKENS
    scores = {name: float(tally.score(tally.sums())[key]) for name, tally in tallies.items()}
    return TagGain(key, scores, compared[key])
