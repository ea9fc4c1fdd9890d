"""Why a parser chose this tree: its parts against those of the runner-up.

A parser that looks for the most expected brackets compares trees by   sum over brackets of (p(bracket) - toll);
the model below it by the sum over the parts of a derivation: rules and words, or features of spans.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from chaffinch.corpus.brackets import bracketed
from chaffinch.model.evidence import Contribution, Evidence, Term, told_apart
from chaffinch.model.parsing import SpanChance
from chaffinch.text.document import Tree

TREE, DERIVATION = "the tree", "its derivation"
READINGS = 50  # best trees among which the runner-up is looked for

Bracket = tuple[int, int, str, int]  # start, end, label, how many of the same stand above it


def bracket_evidence(
    answer: Tree, others: Sequence[Tree], chances: Sequence[SpanChance], toll: float
) -> Evidence:
    """The tree against the one of the others with the most expected brackets; a bracket counts p - toll."""
    p: dict[Bracket, float] = {}
    for one in chances:
        above = 0
        while (one.start, one.end, one.label, above) in p:
            above += 1
        p[one.start, one.end, one.label, above] = one.p
    mine = brackets(answer)
    rivals = [tree for tree in others if sorted(brackets(tree)) != sorted(mine)]
    gains = [sum(p.get(b, 0.0) - toll for b in brackets(tree)) for tree in (answer, *rivals)]
    best = max(range(1, len(gains)), key=lambda n: gains[n], default=None)
    theirs = [] if best is None else brackets(rivals[best - 1])
    words = list(_leaves(answer))
    contributions = [_bracket(b, p, toll, words, True) for b in mine if b not in theirs]
    contributions += [_bracket(b, p, toll, words, False) for b in theirs if b not in mine]
    return Evidence(
        subject=TREE,
        answer=bracketed(answer),
        score=gains[0],
        contributions=tuple(contributions),
        rival=None if best is None else bracketed(rivals[best - 1]),
        rival_score=None if best is None else gains[best],
        shared=sum(p.get(b, 0.0) - toll for b in mine if b in theirs),
        note=f"A bracket counts its probability less {toll:g}: it pays where it is likelier than that.",
    )


def derivation_evidence(
    readings: Sequence[tuple[float, Tree, Callable[[], list[Term]]]], answer: Tree, subject: str
) -> Evidence | None:
    """The best derivation of the answer against the best of another tree; None where it is not among the readings.

    readings: score, tree and parts of the best derivations, best first
    """
    mine = next(((s, t, terms) for s, t, terms in readings if t == answer), None)
    if mine is None:
        return None
    rival = next(((s, t, terms) for s, t, terms in readings if t != answer), None)
    contributions, shared = told_apart(mine[2](), [] if rival is None else rival[2]())
    return Evidence(
        subject=subject,
        answer=bracketed(answer),
        score=mine[0],
        contributions=tuple(contributions),
        rival=None if rival is None else bracketed(rival[1]),
        rival_score=None if rival is None else rival[0],
        shared=shared,
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


def _bracket(
    b: Bracket, p: Mapping[Bracket, float], toll: float, words: Sequence[str], mine: bool
) -> Contribution:
    gain = p.get(b, 0.0) - toll
    start, end, label, _ = b
    name = f"{label} over {phrase(words, start, end)}: p {p.get(b, 0.0):.3f}"
    return Contribution(name, gain if mine else 0.0, 0.0 if mine else gain, place=start, last=end - 1)


def phrase(words: Sequence[str], start: int, end: int) -> str:
    """Words in a row, the middle of long ones left out; numbered, so that no two are alike.

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
