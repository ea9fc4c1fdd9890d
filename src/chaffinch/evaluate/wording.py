"""The words of a report: what scores are called, what was evaluated, and whether one output is better."""

from chaffinch.evaluate.evaluation import Evaluation

TITLES = {
    "span.micro.f1": "span F1",
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

# Scores of which less is better.
ERRORS = frozenset({"aer", "loss"})


def title_of(key: str) -> str:
    """What a report calls a score."""
    return TITLES.get(key, key)


def p_text(p: float) -> str:
    """A p-value as it is written.

    >>> p_text(0.0312), p_text(0.0)
    ('0.0312', '<0.001')
    """
    return "<0.001" if p < 0.001 else f"{p:.4f}"


def description(evaluation: Evaluation) -> str:
    """What was scored and how: "1,094 sentences, 26,131 tokens; spans by conlleval"."""
    scores = evaluation.scores.as_dict()
    counted = ("sentences", "tokens", "documents", "trees", "pairs", "lists")
    sizes = ", ".join(f"{scores[name]:,} {name}" for name in counted if name in scores)
    convention = evaluation.outputs.convention(evaluation.rules)
    if convention is None:
        return sizes
    return f"{sizes}; {'brackets' if convention == 'evalb' else 'spans'} by {convention}"


def verdict(evaluation: Evaluation) -> str:
    """One sentence on the first headline score: better, worse, or not to be told apart."""
    key = evaluation.headline[0]
    c = (evaluation.comparison or {})[key]
    other = evaluation.outputs.names[2]
    if c.p_swap > 0.05:
        return (
            f"By {title_of(key)} the two cannot be told apart: {c.ours:.4f} against {c.other:.4f}, "
            f"p = {c.p_swap:.3f}."
        )
    better = (c.difference > 0) != (key in ERRORS)
    return (
        f"By {title_of(key)} the output is {'better' if better else 'worse'} than {other}: "
        f"{c.ours:.4f} against {c.other:.4f}, p = {c.p_swap:.3f}."
    )
