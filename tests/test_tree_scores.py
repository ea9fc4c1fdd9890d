"""Bracket scores against a restatement of evalb that reads the bracketed text, as evalb does."""

import random
from collections import Counter

import pytest

from chaffinch.errors import DataError
from chaffinch.evaluate import score_trees
from chaffinch.text.document import Tree

TAGS = ["NN", "DT", "VB", ",", ".", "``", "RP"]
PHRASES = ["NP", "VP", "PP", "ADVP", "PRT", "NP-SBJ", "S"]


def random_tree(rng, words):
    """A random tree over tagged words, with unary chains and duplicate labels."""
    if len(words) == 1 and rng.random() < 0.7:
        return Tree(words[0][0], word=words[0][1])
    label = rng.choice(PHRASES)
    if len(words) == 1 or rng.random() < 0.2:
        inner = Tree(words[0][0], word=words[0][1]) if len(words) == 1 else random_tree(rng, words)
        return Tree(label, (inner,))
    cut = rng.randrange(1, len(words))
    return Tree(label, (random_tree(rng, words[:cut]), random_tree(rng, words[cut:])))


def text(tree):
    return f"({tree.label} {tree.word or ' '.join(map(text, tree.children))})"


def evalb(line):
    """Constituents read off a bracketed line: a stack of open labels, a counter of words that stay."""
    found, stack, words = Counter(), [], 0
    pieces = line.replace("(", " ( ").replace(")", " ) ").split()
    for i, piece in enumerate(pieces):
        if piece == "(":
            stack.append((pieces[i + 1], words))
        elif piece == ")":
            label, start = stack.pop()
            preterminal = pieces[i - 2] == label and pieces[i - 3] == "("
            if not preterminal and label != "TOP" and words > start:
                label = label.split("-")[0]
                found["ADVP" if label == "PRT" else label, start, words] += 1
        elif pieces[i - 1] not in ("(", ")") and pieces[i - 2] == "(" and pieces[i - 1] not in TAGS[3:6]:
            words += 1
    return found


def test_bracket_scores_equal_evalb_on_random_trees():
    rng = random.Random(1)
    for _ in range(300):
        gold, predicted = [], []
        for _ in range(rng.randrange(1, 4)):
            words = [(rng.choice(TAGS), f"w{i}") for i in range(rng.randrange(1, 9))]
            gold.append(Tree("TOP", (random_tree(rng, words),)))
            predicted.append(gold[-1] if rng.random() < 0.3 else Tree("TOP", (random_tree(rng, words),)))
        ours = score_trees(gold, predicted)
        theirs = [(evalb(text(a)), evalb(text(b))) for a, b in zip(gold, predicted, strict=True)]
        assert ours.bracket.gold == sum(a.total() for a, _ in theirs)
        assert ours.bracket.predicted == sum(b.total() for _, b in theirs)
        assert ours.bracket.correct == sum((a & b).total() for a, b in theirs)
        assert ours.exact_match == sum(a == b for a, b in theirs) / len(theirs)
        assert ours.tag_accuracy in (0.0, 1.0)


def leaf(tag, word):
    return Tree(tag, word=word)


def test_traces_are_stripped_with_the_constituents_they_leave_empty():
    noun = Tree("NP-SBJ", (leaf("NN", "finch"),))
    trace = Tree("NP", (leaf("-NONE-", "*-1"),))
    verb = leaf("VB", "sings")
    full = Tree("S", (noun, Tree("VP", (verb, trace))))
    bare = Tree("S", (Tree("NP", (leaf("NN", "finch"),)), Tree("VP", (verb,))))
    scores = score_trees([full], [bare])
    assert (scores.bracket.gold, scores.bracket.f1, scores.exact_match) == (3, 1.0, 1.0)
    assert score_trees([full], [full], strip_empty=False).bracket.f1 == 1.0


def test_punctuation_moves_no_bracket_even_when_it_is_tagged_wrongly():
    def tree(tag, attach_low):
        comma = leaf(tag, ",")
        noun = Tree("NP", (leaf("NN", "a"), comma) if attach_low else (leaf("NN", "a"),))
        return Tree("S", (noun, *(() if attach_low else (comma,)), Tree("VP", (leaf("VB", "b"),))))

    assert score_trees([tree(",", True)], [tree("NN", False)]).bracket.f1 == 1.0


def test_trees_over_other_words_are_refused():
    with pytest.raises(DataError, match="tree 1: gold has 1 words, the prediction has 2"):
        score_trees([leaf("NN", "a")], [Tree("NP", (leaf("NN", "a"), leaf("NN", "b")))])
    with pytest.raises(DataError, match="tree 1: word 1 is 'a' in gold, 'b' in the prediction"):
        score_trees([leaf("NN", "a")], [leaf("NN", "b")])
