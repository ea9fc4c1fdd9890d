"""Trees made binary and restored."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute import quick
from chaffinch.corpus import read
from chaffinch.corpus.brackets import bracketed, parse
from chaffinch.text.binary_trees import binary, is_part, labels, nodes, restored
from chaffinch.text.document import Tree
from chaffinch.text.heads import head

names = st.sampled_from(["S", "NP", "VP", "PP", "@", "^", "X+Y", "NP-SBJ"])
words = st.builds(
    lambda label, word: Tree(label, (), word), names, st.sampled_from(["a", "b", "@", "(", "^"])
)
trees = st.recursive(
    words,
    lambda below: st.builds(Tree, names, st.lists(below, min_size=1, max_size=5).map(tuple)),
    max_leaves=12,
)


@quick
@given(tree=trees, horizontal=st.integers(0, 3), vertical=st.integers(1, 4), annotate=st.booleans())
def test_a_tree_made_binary_is_restored_exactly(tree, horizontal, vertical, annotate):
    made = binary(tree, horizontal=horizontal, vertical=vertical, annotate_words=annotate)
    assert all(len(node.children) == (2 if node.word is None else 0) for node in nodes(made))
    assert restored(made) == tree


def test_siblings_are_cut_off_towards_the_head_the_right_ones_first():
    tree = parse("(S (NP (PRP it)) (ADVP (RB now)) (VP (VBZ is)) (. .) (. !))")
    assert bracketed_symbols(binary(tree)) == ("[S [S(@ [S(@ NP PRP [S(@ ADVP RB VP VBZ]] .] .]")


def bracketed_symbols(tree):
    if tree.word is not None:
        return tree.label
    return f"[{tree.label} {' '.join(map(bracketed_symbols, tree.children))}]"


def test_a_part_remembers_its_last_siblings_and_what_is_above():
    tree = parse("(VP (VB eat) (NP (DT the) (JJ red) (JJ ripe) (NN fig)))")
    symbols = [node.label for node in nodes(binary(tree, horizontal=1, vertical=2))]
    assert symbols == ["VP", "VB", "NP(^VP", "DT", "NP(@ DT ^VP", "JJ", "NP(@ JJ ^VP", "JJ", "NN"]
    assert [is_part(s) for s in symbols[2:5]] == [False, False, True]
    assert labels("S VP(^X") == ("S", "VP")


def test_depth_is_no_limit():
    tree = Tree("X", (), "w")
    for _ in range(5000):
        tree = Tree("X", (tree, Tree("Y", (), "v")))
    made = restored(binary(tree))
    depth = 0
    while made.children:
        made, depth = made.children[0], depth + 1
    assert depth == 5000


@pytest.mark.parametrize(
    ("label", "children", "place"),
    [
        ("NP", "DT JJ NN", 2),
        ("NP", "NP PP", 0),
        ("NP", "NNP POS", 1),
        ("VP", "MD VP", 0),
        ("PP", "RB IN NP", 1),
        ("SBAR", "IN S", 0),
        ("UNKNOWN", "A B", 0),
    ],
)
def test_heads_follow_the_table(label, children, place):
    assert head(label, children.split()) == place


@pytest.mark.data
def test_every_third_tree_of_the_treebank_is_restored(data, tmp_path):
    with gzip.open(data / "ptb_sample" / "trees.tsv.gz", "rt", encoding="utf-8") as rows:
        header, *lines = rows
    (tmp_path / "trees.tsv").write_text(header + "".join(lines[::3]), encoding="utf-8")
    documents = list(read(tmp_path / "trees.tsv", strip=True))
    assert len(documents) == 1305
    for d in documents:
        made = binary(d.tree, horizontal=1, vertical=2, annotate_words=True)
        assert bracketed(restored(made)) == bracketed(d.tree)
