"""The evaluation of files: read, check and score, with intervals, a comparison and scores of unseen words."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chaffinch.errors import ConfigError
from chaffinch.evaluate.alignments import LinkOutputs
from chaffinch.evaluate.conventions import CONVENTIONS
from chaffinch.evaluate.documents import LabelOutputs
from chaffinch.evaluate.intervals import RESAMPLES, Comparison, Interval, compare, intervals
from chaffinch.evaluate.label_sets import LabelSetOutputs
from chaffinch.evaluate.outputs import Outputs, Rules, Scores, read_outputs
from chaffinch.evaluate.reliability import Confidences
from chaffinch.evaluate.spans import SpanOutputs
from chaffinch.evaluate.tag_outputs import TagOutputs
from chaffinch.evaluate.tags import AUTO
from chaffinch.evaluate.trees import TreeOutputs

# The tasks of documents and sentences; the first that fits is used.
OUTPUTS: tuple[type[Outputs], ...] = (
    TagOutputs,
    TreeOutputs,
    LinkOutputs,
    LabelSetOutputs,
    LabelOutputs,
    SpanOutputs,
)


@dataclass(frozen=True)
class Evaluation:
    """The scores of an output file, with the requested comparisons.

    seen:       scores of the words that occur in the training file and of those that do not
    comparison: our output against another one, for each score
    confidences: the probabilities of answers, if the output has any
    """

    outputs: Outputs = field(repr=False)
    scores: Scores
    intervals: dict[str, Interval]
    confidence: float
    seed: int
    comparison: dict[str, Comparison] | None = None
    seen: dict[str, float] | None = None
    rules: Rules = field(default_factory=Rules)
    confidences: Confidences | None = None

    @property
    def headline(self) -> list[str]:
        """The keys of the scores to show first."""
        known = self.scores.as_dict()
        return [key for key in self.outputs.headline if key in known]

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; scores are flat, under stable keys."""
        names = self.outputs.names
        found: dict[str, Any] = {
            "task": self.outputs.task,
            "gold": names[0],
            "predicted": names[min(1, len(names) - 1)],
        }
        convention = self.outputs.convention(self.rules)
        if convention is not None:
            found["convention"] = convention
        found |= self.scores.as_dict() | (self.seen or {})
        found["intervals"] = {
            "confidence": self.confidence,
            "resamples": RESAMPLES,
            "seed": self.seed,
            **{key: [i.low, i.high] for key, i in self.intervals.items()},
        }
        if self.confidences is not None:
            found["calibration"] = self.confidences.as_dict()
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
    known: Sequence[type[Outputs]] = OUTPUTS,
    **options: Any,
) -> Evaluation:
    """Score the output ``predicted`` against ``gold``, or the last two columns of one file.

    The task is inferred from the gold file, among those ``known``. ``train`` splits the tokens by whether their word
    occurs in it; options go to the reader of the gold file's format.
    """
    if convention not in (AUTO, *CONVENTIONS):
        raise ConfigError(f"unknown convention {convention!r}; there are {', '.join((AUTO, *CONVENTIONS))}")
    paths = [path for path in (gold, predicted, against) if path is not None]
    outputs = read_outputs(paths, format, options, known)
    seen = None if train is None else outputs.seen(train)
    return evaluated(
        outputs, convention=convention, scheme=scheme, confidence=confidence, seed=seed, seen=seen
    )


def evaluated(
    outputs: Outputs,
    *,
    convention: str = AUTO,
    scheme: str | None = None,
    confidence: float = 95.0,
    seed: int = 0,
    seen: dict[str, float] | None = None,
) -> Evaluation:
    """The scores of the first output, compared with a second one if there is one."""
    rules = Rules(convention, scheme)
    scores, tallies = outputs.scored(rules)
    return Evaluation(
        outputs=outputs,
        scores=scores,
        intervals=intervals(tallies[0], confidence, seed),
        confidence=confidence,
        seed=seed,
        comparison=compare(tallies[0], tallies[1], confidence, seed) if len(tallies) > 1 else None,
        seen=seen,
        rules=rules,
        confidences=outputs.confidences(),
    )


TITLES = {
    "span.micro.f1": "span F1",
    "span.micro.precision": "span precision",
    "span.micro.recall": "span recall",
    "span.macro.f1": "span F1, macro",
    "untyped.f1": "untyped span F1",
    "token_accuracy": "token accuracy",
    "sentence_accuracy": "sentence accuracy",
    "accuracy": "accuracy",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "weighted_f1": "weighted F1",
    "exact_match": "exact match",
    "bracket.f1": "bracket F1",
    "bracket.precision": "bracket precision",
    "bracket.recall": "bracket recall",
    "tag_accuracy": "tag accuracy",
    "aer": "alignment error rate",
    "link.precision": "link precision",
    "link.recall": "link recall",
    "link.f1": "link F1",
    "best_chosen": "best candidate chosen",
    "loss": "mean loss",
    "loss.base": "mean loss of the first candidates",
    "loss.oracle": "mean loss of the best candidates",
}

# Scores for which lower is better.
ERRORS = frozenset({"aer", "loss"})


def title_of(key: str) -> str:
    """The name of a score in a report."""
    return TITLES.get(key, key)


def p_text(p: float) -> str:
    """A p-value as text.

    >>> p_text(0.0312), p_text(0.0)
    ('0.0312', '<0.001')
    """
    return "<0.001" if p < 0.001 else f"{p:.4f}"


def description(evaluation: Evaluation) -> str:
    """The size of the scored data and the convention: "1,094 sentences, 26,131 tokens; spans by conlleval"."""
    scores = evaluation.scores.as_dict()
    sizes = ", ".join(f"{scores[name]:,} {name}" for name in evaluation.outputs.sizes)
    convention = evaluation.outputs.convention(evaluation.rules)
    if convention is None:
        return sizes
    return f"{sizes}; {'brackets' if convention == 'evalb' else 'spans'} by {convention}"


def verdict(evaluation: Evaluation) -> str:
    """One sentence on the first headline score: better, worse, or no significant difference."""
    key = evaluation.headline[0]
    c = (evaluation.comparison or {})[key]
    other = evaluation.outputs.names[2]
    if c.p_swap > 0.05:
        return (
            f"The two do not differ significantly in {title_of(key)}: {c.ours:.4f} against {c.other:.4f}, "
            f"p = {c.p_swap:.3f}."
        )
    better = (c.difference > 0) != (key in ERRORS)
    return (
        f"The output is {'better' if better else 'worse'} than {other} in {title_of(key)}: "
        f"{c.ours:.4f} against {c.other:.4f}, p = {c.p_swap:.3f}."
    )
