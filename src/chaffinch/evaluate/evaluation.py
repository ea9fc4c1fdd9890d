"""A whole evaluation of files: read, check, score, with intervals, a comparison and the unseen words apart."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from chaffinch.corpus import read_table
from chaffinch.corpus.brackets import nodes, plain_label
from chaffinch.errors import ConfigError
from chaffinch.evaluate.alignments import link_tally, score_alignments
from chaffinch.evaluate.conventions import CONVENTIONS
from chaffinch.evaluate.documents import LabelPair
from chaffinch.evaluate.intervals import RESAMPLES, Comparison, Interval, compare, intervals
from chaffinch.evaluate.label_sets import LabelSets
from chaffinch.evaluate.sources import (
    DOCUMENTS,
    LABEL_SETS,
    LINKS,
    SPANS,
    TAGS,
    TREES,
    DocumentSource,
    TagSource,
    predicted_label,
    predicted_labels,
    source,
)
from chaffinch.evaluate.spans import score_spans, span_tally
from chaffinch.evaluate.tags import AUTO, TagScorer
from chaffinch.evaluate.tally import Tally
from chaffinch.evaluate.trees import TreeScores, tree_tally
from chaffinch.text.document import WORD, Document, Tree

# The scores that stand at the top of a report, in order, for each task.
HEADLINES = {
    TAGS: ("span.micro.f1", "span.macro.f1", "untyped.f1", "token_accuracy", "sentence_accuracy"),
    DOCUMENTS: ("accuracy", "macro_f1", "weighted_f1"),
    LABEL_SETS: ("micro_f1", "macro_f1", "accuracy"),
    SPANS: ("span.micro.f1", "span.macro.f1", "untyped.f1", "exact_match"),
    TREES: ("bracket.f1", "bracket.precision", "bracket.recall", "exact_match", "tag_accuracy"),
    LINKS: ("aer", "link.precision", "link.recall", "link.f1"),
}


class Scores(Protocol):
    """What every task's scores offer."""

    def as_dict(self) -> dict[str, float]:
        """Every score under its stable key."""


@dataclass(frozen=True)
class Evaluation:
    """The scores of an output file, and whatever else was asked for.

    seen:       scores of the words that the training file has and of those it does not
    comparison: our output against another one, by score
    """

    task: str
    source: TagSource | DocumentSource = field(repr=False)
    scores: Scores
    intervals: dict[str, Interval]
    confidence: float
    seed: int
    comparison: dict[str, Comparison] | None = None
    seen: dict[str, float] | None = None
    scorer: TagScorer | None = field(default=None, repr=False)

    @property
    def headline(self) -> list[str]:
        """The keys of the scores to show first."""
        known = self.scores.as_dict()
        return [key for key in HEADLINES[self.task] if key in known]

    @property
    def convention(self) -> str | None:
        """By which rules spans were counted, as a report names them."""
        if self.scorer is None or self.scorer.rules is None:
            return "evalb" if self.task == TREES else None
        rules = self.scorer.rules
        return f"{rules.name} ({rules.scheme})" if rules.scheme else rules.name

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; scores are flat, under stable keys."""
        names = self.source.names
        found: dict[str, Any] = {
            "task": self.task,
            "gold": names[0],
            "predicted": names[min(1, len(names) - 1)],
        }
        if self.convention is not None:
            found["convention"] = self.convention
        found |= self.scores.as_dict() | (self.seen or {})
        found["intervals"] = {
            "confidence": self.confidence,
            "resamples": RESAMPLES,
            "seed": self.seed,
            **{key: [i.low, i.high] for key, i in self.intervals.items()},
        }
        if self.comparison is not None:
            found["against"] = names[2]
            found["comparison"] = {key: asdict(c) for key, c in self.comparison.items()}
        return found


def evaluate_files(
    gold: str | Path,
    predicted: str | Path | None = None,
    against: str | Path | None = None,
    *,
    format: str | None = None,
    convention: str = AUTO,
    scheme: str | None = None,
    confidence: float = 95.0,
    seed: int = 0,
    train: str | Path | None = None,
    **options: Any,
) -> Evaluation:
    """Score the output ``predicted`` against ``gold``, or the last two columns of one file.

    The task is read off the gold file. ``train`` splits the tokens by whether their word was seen in it;
    options go to the reader of the gold file's format.
    """
    if convention not in (AUTO, *CONVENTIONS):
        raise ConfigError(f"unknown convention {convention!r}; there are {', '.join((AUTO, *CONVENTIONS))}")
    paths = [path for path in (gold, predicted, against) if path is not None]
    read = source(paths, format, options)
    seen = _seen_scores(read, train) if train is not None and isinstance(read, TagSource) else None
    return evaluated(read, convention=convention, scheme=scheme, confidence=confidence, seed=seed, seen=seen)


def evaluated(
    read: TagSource | DocumentSource,
    *,
    convention: str = AUTO,
    scheme: str | None = None,
    confidence: float = 95.0,
    seed: int = 0,
    seen: dict[str, float] | None = None,
) -> Evaluation:
    """The scores of the first output of a source; with a second, compared with it."""
    if isinstance(read, TagSource):
        scorer = TagScorer(read.labels, convention, scheme)
        scores: Scores = scorer.score(read.y, read.outputs[0], read.ptr)
        tallies = [scorer.tally(read.y, output, read.ptr) for output in read.outputs]
        task = TAGS
    else:
        scorer, task = None, read.task
        scores, tallies = _document_scores(read)
    return Evaluation(
        task=task,
        source=read,
        scores=scores,
        intervals=intervals(tallies[0], confidence, seed),
        confidence=confidence,
        seed=seed,
        comparison=compare(tallies[0], tallies[1], confidence, seed) if len(tallies) > 1 else None,
        seen=seen,
        scorer=scorer,
    )


def _document_scores(read: DocumentSource) -> tuple[Scores, list[Tally]]:
    gold, outputs = read.gold, read.outputs
    if read.task == DOCUMENTS:
        y = [d.labels[0] for d in gold]
        y_hats = [[predicted_label(d) for d in output] for output in outputs]
        every = sorted({label for y_hat in y_hats for label in y_hat})
        pairs = [LabelPair.from_lists(y, y_hat, every) for y_hat in y_hats]
        return pairs[0].scores(), [pair.tally() for pair in pairs]
    if read.task == LABEL_SETS:
        sets = [[predicted_labels(d) for d in output] for output in outputs]
        given = sorted({name for output in sets for one in output for name in one})
        sides = [LabelSets.from_lists([d.labels for d in gold], output, given) for output in sets]
        return sides[0].scores(), [side.tally() for side in sides]
    if read.task == TREES:
        trees = [[_tree(d) for d in side] for side in (gold, *outputs)]
        # To be compared, two outputs need one label list: whatever either calls a constituent.
        compared = trees[1:] if len(trees) > 2 else []
        used = {plain_label(node.label) for side in compared for tree in side for node in nodes(tree)}
        tallies = [tree_tally(trees[0], side, also=used) for side in trees[1:]]
        return TreeScores.of(*tallies[0]), [tally for tally, _ in tallies]
    if read.task == SPANS:
        spans = [[d.spans for d in side] for side in (gold, *outputs)]
        types = sorted({s.label for side in spans for each in side for s in each})
        return score_spans(spans[0], spans[1]), [span_tally(spans[0], s, types)[0] for s in spans[1:]]
    sure = [_links(d)[0] for d in gold]
    possible = [_links(d)[1] for d in gold]
    links = [[_links(d)[0] for d in output] for output in outputs]
    return score_alignments(sure, possible, links[0]), [link_tally(sure, possible, a) for a in links]


def _tree(d: Document) -> Tree:
    return d.tree if d.tree is not None else Tree("")


def _links(d: Document) -> Sequence[frozenset[tuple[int, int]]]:
    return (d.links.sure, d.links.possible) if d.links is not None else (frozenset(), frozenset())


def _seen_scores(read: TagSource, train: str | Path) -> dict[str, float]:
    known = set(read_table(train).columns[WORD].types)
    seen = np.array([word in known for word in read.words.types], dtype=np.bool_)[read.words.ids]
    right = read.y == read.outputs[0]
    found: dict[str, float] = {}
    for name, chosen in (("seen", seen), ("unseen", ~seen)):
        tokens = int(chosen.sum())
        found[f"{name}.tokens"] = tokens
        found[f"{name}.token_accuracy"] = float(right[chosen].mean()) if tokens else 0.0
    return found
