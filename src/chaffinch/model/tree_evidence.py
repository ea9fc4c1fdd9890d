"""Evidence for trees: the parts of the chosen tree against those of the runner-up.

A parser that maximises expected brackets compares trees by   sum over brackets of (p(bracket) - toll);
the model below it by the sum over the parts of a derivation: rules and words, or features of spans.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from chaffinch.corpus.brackets import bracketed
from chaffinch.model.choice_evidence import ListExample
from chaffinch.model.evidence import FEATURE, Decision, Term, span_offsets
from chaffinch.model.parsing import SpanChance
from chaffinch.text.document import Tree

TREE, DERIVATION = "the tree", "its derivation"
READINGS = 50  # best trees among which the runner-up is searched

Bracket = tuple[int, int, str, int]  # start, end, label, number of equal brackets above it
TreeReading = tuple[float, Tree, Callable[[], list[Term]]]  # score, tree and parts of a derivation


def tree_examples(
    chosen: Tree,
    readings: Sequence[TreeReading],
    toll: float | None,
    chances: Callable[[], Sequence[SpanChance]],
) -> list[ListExample]:
    """Expected brackets if these decide, and the derivation if it is among the readings, which are best first."""
    derived = derivation_example(readings, chosen, TREE if toll is None else DERIVATION)
    found = [] if derived is None else [derived]
    if toll is None:
        return found
    trees = list(dict.fromkeys(tree for _, tree, _ in readings))
    return [bracket_example(chosen, trees, chances(), toll), *found]


def bracket_example(
    answer: Tree, others: Sequence[Tree], chances: Sequence[SpanChance], toll: float
) -> ListExample:
    """The tree against other trees with other brackets; a bracket counts p - toll."""
    p: dict[Bracket, float] = {}
    for one in chances:
        above = 0
        while (one.start, one.end, one.label, above) in p:
            above += 1
        p[one.start, one.end, one.label, above] = one.p
    mine = sorted(brackets(answer))
    trees = [answer, *(tree for tree in others if sorted(brackets(tree)) != mine)]
    words = _leaves(answer)
    return ListExample(
        Decision(TREE),
        [bracketed(tree) for tree in trees],
        np.array([sum(p.get(b, 0.0) - toll for b in brackets(tree)) for tree in trees]),
        0,
        parts=lambda n: [_term(b, p, toll, words) for b in brackets(trees[n])],
        rivals=range(1, len(trees)),
        remark=lambda _: (
            f"A bracket adds its probability minus {toll:g}, so it helps if it is more probable than that."
        ),
    )


def derivation_example(readings: Sequence[TreeReading], answer: Tree, subject: str) -> ListExample | None:
    """The best derivation of the answer against the best of another tree; None if it is not among the readings."""
    mine = next((n for n, (_, tree, _) in enumerate(readings) if tree == answer), None)
    if mine is None:
        return None
    return ListExample(
        Decision(subject),
        [bracketed(tree) for _, tree, _ in readings],
        np.array([score for score, _, _ in readings]),
        mine,
        parts=lambda n: readings[n][2](),
    )


def brackets(tree: Tree) -> list[Bracket]:
    """The brackets of a tree, those over single words included, parts of speech left out.

    >>> brackets(Tree("S", (Tree("NP", (Tree("NP", (Tree("NN", (), "tea"),)),)),)))
    [(0, 1, 'S', 0), (0, 1, 'NP', 0), (0, 1, 'NP', 1)]
    """
    found: list[Bracket] = []
    seen: Counter[tuple[int, int, str]] = Counter()

    def walk(node: Tree, start: int) -> int:
        if node.word is not None:
            return start + 1
        place = len(found)
        found.append((start, start, node.label, 0))
        end = start
        for child in node.children:
            end = walk(child, end)
        found[place] = (start, end, node.label, 0)
        return end

    walk(tree, 0)
    numbered = []
    for start, end, label, _ in found:
        numbered.append((start, end, label, seen[start, end, label]))
        seen[start, end, label] += 1
    return numbered


def _term(b: Bracket, p: Mapping[Bracket, float], toll: float, words: Sequence[str]) -> Term:
    start, end, label, _ = b
    name = f"{label} over {phrase(words, start, end)}: p {p.get(b, 0.0):.3f}"
    return Term(name, p.get(b, 0.0) - toll, start, FEATURE, span_offsets(start, end))


def phrase(words: Sequence[str], start: int, end: int) -> str:
    """Consecutive words with their positions, the middle of long stretches left out.

    >>> phrase(["a", "b", "c", "d", "e"], 0, 5), phrase(["a", "b"], 1, 2)
    ("1-5 'a b .. e'", "2 'b'")
    """
    inside = list(words[start:end])
    shown = inside if len(inside) <= 4 else [*inside[:2], "..", inside[-1]]
    return f"{start + 1}{f'-{end}' if end - start > 1 else ''} '{' '.join(shown)}'"


def _leaves(tree: Tree) -> list[str]:
    if tree.word is not None:
        return [tree.word]
    return [word for child in tree.children for word in _leaves(child)]
