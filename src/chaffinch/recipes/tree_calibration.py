"""Calibrate a parser: a monotone map of the probabilities of phrases, fitted on trees that its model has not seen.

The probability of a phrase is summed over all trees that contain it. A model with many features or rules and little
training data is overconfident about phrases. Calibration does not change the trees.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ChaffinchError
from chaffinch.knobs import knob
from chaffinch.model.parsing import ParsingModel, Sentence, SpanChance
from chaffinch.progress import keep_going
from chaffinch.recipes.recipe import Recipe
from chaffinch.recipes.training import ParsingTask
from chaffinch.text.binary_trees import nodes
from chaffinch.text.document import Tree
from chaffinch.trust.calibration import LogitMap, fitted_map, logits
from chaffinch.trust.confidence import PHRASES, Confidence

# Folds by the number of trees: small treebanks are cheap to train on, and suffer most if much is held out.
FOLDS_UP_TO = ((100, 10), (200, 5), (500, 3))
PART = 5  # beyond that, one model is trained, with one fifth of the trees held out
FEWEST = 20  # trees: with fewer, nothing is calibrated
MOST_WORDS = 3_000  # of held-out sentences: more would cost time and change little
LEAST = 0.001  # phrases with a lower probability are not considered
LIKELY = 0.5  # phrases with at least this probability are the decisions by which calibration is judged


@dataclass(frozen=True, kw_only=True)
class TreeOptions:
    """How to calibrate the probabilities of phrases."""

    folds: int | None = knob(
        None,
        "number of models for calibrating probabilities of phrases on held-out trees, unless there is dev data; auto: "
        "10, 5 or 3 for small treebanks, 1 for large; 0: no calibration",
        low=0,
        high=20,
    )


def calibrate_parser(
    task: ParsingTask, recipe: Recipe, config: Any, model: ParsingModel, folds: int | None
) -> Confidence | None:
    """The map of the probabilities of phrases; None if there are no trees to fit it on.

    folds: number of models to train; None: it depends on the number of trees; 0: no calibration
    """
    if folds == 0:
        return None
    count = 0
    if task.dev is not None:
        found = [_phrases(model, _some(task.dev, MOST_WORDS), task.threads)]
        trees = len(task.dev)
    else:
        found = list(_out_of_fold(task, recipe, config, folds))
        count, trees = len(found), len(task.trees)
    if not found or trees < FEWEST:
        return None
    p = np.concatenate([one[0] for one in found])
    right = np.concatenate([one[1] for one in found])
    likely = p >= LIKELY
    if not likely.any():
        return None
    # Phrases of one tree depend on each other, so a map is judged on folds that it was not fitted on.
    fold = np.repeat(np.arange(len(found)), [len(one[0]) for one in found])
    if len(found) == 1:
        fold = (np.arange(len(p)) * 2 // len(p)).astype(fold.dtype)
    crossed = np.empty_like(p)
    for k in range(int(fold.max()) + 1):
        part = fold == k
        crossed[part] = fitted_map(p[~part], right[~part])(p[part])
    to_honest = fitted_map(p, right)
    if log_loss(crossed, right) >= log_loss(p, right):
        crossed, to_honest = p, LogitMap.line(1.0, 0.0)
    return Confidence.of_decisions(
        PHRASES, count, p[likely], right[likely], p[likely], crossed[likely], to_honest
    )


def log_loss(p: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """The mean negative log-likelihood of decisions, from their probabilities of being right."""
    z = logits(p)
    return float(np.logaddexp(0, np.where(right, -z, z)).mean())


def _out_of_fold(
    task: ParsingTask, recipe: Recipe, config: Any, folds: int | None
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """The phrases of each fold, scored by a model trained on the other trees."""
    N = len(task.trees)
    if folds is None:
        folds = next((k for trees, k in FOLDS_UP_TO if trees >= N), 1)
    if folds == 1:
        held = [np.arange(N) * PART // max(N, 1) == PART - 1]
    else:
        held = [np.arange(N) * folds // max(N, 1) == k for k in range(folds)]
    for out in held:
        if not out.any() or out.all() or N < FEWEST:
            continue
        part = replace(
            task,
            trees=[task.trees[n] for n in np.flatnonzero(~out).tolist()],
            weight=None if task.weight is None else task.weight[~out],
            on_epoch=keep_going,
        )
        try:
            model = recipe.train(part, config).model
        except ChaffinchError:  # a fold may lack something that all trees have
            continue
        left = [task.trees[n] for n in np.flatnonzero(out).tolist()]
        yield _phrases(model, _some(left, MOST_WORDS // len(held)), task.threads)


def _phrases(
    model: ParsingModel, trees: Sequence[Tree], threads: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The probabilities of the phrases that a model considers in these sentences, and which are in the trees."""
    sentences = [Sentence([node.word for node in nodes(tree) if node.word is not None]) for tree in trees]
    p: list[float] = []
    right: list[bool] = []
    for tree, found in zip(trees, model.chances(sentences, LEAST, threads), strict=True):
        p += [one.p for one in found]
        right += in_tree(found, tree)
    return np.array(p, np.float64), np.array(right, bool)


def in_tree(found: Sequence[SpanChance], tree: Tree) -> list[bool]:
    """Which phrases a tree has. Of equal phrases, the more probable ones are matched first.

    >>> tree = Tree("S", (Tree("NP", (Tree("NP", (Tree("NN", word="tea"),)),)),))
    >>> chances = [SpanChance(0, 1, "NP", p) for p in (0.9, 0.4, 0.1)]
    >>> in_tree([*chances, SpanChance(0, 1, "VP", 0.2)], tree)
    [True, True, False, False]
    """
    left: Counter[tuple[int, int, str]] = Counter()
    words = 0
    waiting: list[tuple[Tree, int | None]] = [
        (tree, None)
    ]  # a node, and its first word if its children were visited
    while waiting:
        node, start = waiting.pop()
        if node.word is not None:
            words += 1
        elif start is None:
            waiting.append((node, words))
            waiting.extend((child, None) for child in reversed(node.children))
        else:
            left[start, words, node.label] += 1
    right = [False] * len(found)
    for k in sorted(range(len(found)), key=lambda k: -found[k].p):
        phrase = (found[k].start, found[k].end, found[k].label)
        if left[phrase] > 0:
            left[phrase] -= 1
            right[k] = True
    return right


def _some(trees: Sequence[Tree], words: int) -> list[Tree]:
    """Evenly spaced trees with about this many words."""
    every = sum(1 for tree in trees for node in nodes(tree) if node.word is not None)
    N = len(trees)
    most = N if every <= words else max(1, N * words // every)
    return [trees[n] for n in (np.arange(most) * N // most).tolist()]
