"""Bracketed trees: on one line each or over several, Penn style or with numbers as labels; streamed.

    (S (NP (NNP Ann)) (VP (VBD left)))          ( (S ...) )          (3 (2 The) (4 best))

Escapes such as -LRB- are kept. A table with the header ``file<TAB>tree`` is read too: its file
becomes the document's group. No function is recursive, so no tree is too deep.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chaffinch.corpus.format import Format
from chaffinch.corpus.lines import BOM, lines, shown
from chaffinch.errors import DataError
from chaffinch.files import display_name, writing_text
from chaffinch.knobs import knob
from chaffinch.text.binary_trees import nodes
from chaffinch.text.document import Document, Tree

TABLE_HEADER = "file\ttree"
EMPTY = "-NONE-"
_PIECE = re.compile(r"[()]|[^\s()]+", re.ASCII)  # a no-break space is part of a word
_FUNCTION = re.compile(r"[-=|]")


@dataclass(frozen=True, kw_only=True)
class BracketOptions:
    """Options of the reader of trees."""

    strip: bool = knob(False, "remove traces and function tags")


def read(path: str | Path, *, strip: bool = False) -> Iterator[Document]:
    """One document per tree: its leaves are the tokens, their labels the column ``pos``.

    strip: remove traces and function tags, as for training parsers (a tree of traces only is left out)
    """
    for line, group, tree in _trees(path):
        kept = stripped(tree) if strip else tree
        if kept is not None:
            words, labels = _leaves(kept)
            d = Document.from_words(words, pos=labels)
            d.tree, d.group, d.line = kept, group, line
            yield d


def write(documents: Iterable[Document], path: str | Path) -> None:
    """One tree per line."""
    with writing_text(path) as out:
        for number, d in enumerate(documents, start=1):
            out.write(bracketed(_tree_of(d, number)) + "\n")


def write_table(documents: Iterable[Document], path: str | Path) -> None:
    """A table ``file<TAB>tree``; the file is the document's group."""
    with writing_text(path) as out:
        out.write(TABLE_HEADER + "\n")
        for number, d in enumerate(documents, start=1):
            group = d.group or ""
            if any(c in group for c in "\t\n\r"):
                raise DataError(
                    f"document {number}: a tab or line break in the file name {group!r} does not fit"
                )
            out.write(f"{group}\t{bracketed(_tree_of(d, number))}\n")


def parse(text: str, where: str = "<tree>") -> Tree:
    """The one tree that a string holds.

    >>> parse("( (S (NP (NNP Ann)) (VP (VBD left))))").label
    'S'
    """
    builder = _Builder()
    found = list(builder.feed(text, where))
    builder.finish(where)
    if len(found) != 1:
        raise DataError(f"{where}: expected one tree, found {len(found)}")
    return found[0]


def bracketed(tree: Tree) -> str:
    """The tree on one line.

    >>> bracketed(parse("(S\\n (NP (NNP Ann))\\n (VP (VBD left)))"))
    '(S (NP (NNP Ann)) (VP (VBD left)))'
    """
    pieces: list[str] = []
    waiting: list[Tree | str] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif node.word is not None:
            pieces.append(f" ({_atom(node.label)} {_atom(node.word)})")
        else:
            pieces.append(f" ({_atom(node.label)}")
            waiting.append(")")
            waiting.extend(reversed(node.children))
    return "".join(pieces)[1:]


def stripped(tree: Tree) -> Tree | None:
    """The tree without traces, nodes that become empty, and function tags; None if nothing is left.

    >>> t = parse("(S (NP-SBJ-1 (-NONE- *T*)) (VP (VB go) (PP-DIR (TO to) (-LRB- -LRB-))))")
    >>> bracketed(stripped(t))
    '(S (VP (VB go) (PP (TO to) (-LRB- -LRB-))))'
    """
    done: list[list[Tree]] = [[]]
    waiting: list[tuple[Tree, bool]] = [(tree, False)]
    while waiting:
        node, visited = waiting.pop()
        if node.word is not None:
            if node.label != EMPTY:
                done[-1].append(Tree(plain_label(node.label), (), node.word))
        elif not visited:
            done.append([])
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(node.children))
        elif children := done.pop():
            done[-1].append(Tree(plain_label(node.label), tuple(children)))
    return done[0][0] if done[0] else None


def plain_label(label: str) -> str:
    """A label without its function tags; labels that begin with a dash (-LRB-, -NONE-) are not cut.

    >>> [plain_label(x) for x in ("NP-SBJ=2", "ADVP|PRT", "-LRB-", "S")]
    ['NP', 'ADVP', '-LRB-', 'S']
    """
    return label if label.startswith("-") else _FUNCTION.split(label, maxsplit=1)[0]


class _Builder:
    """An incremental reader of trees."""

    def __init__(self) -> None:
        self.open: list[_Node] = []

    def feed(self, text: str, where: str) -> Iterator[Tree]:
        """The trees that end in this text."""
        for match in _PIECE.finditer(text):
            piece = match[0]
            if piece == "(":
                self.open.append(_Node(where))
            elif not self.open:
                raise DataError(f"{where}: expected a tree to begin with '(', found {shown(piece)}")
            elif piece != ")":
                self.open[-1].add_atom(piece, where)
            else:
                tree = self.open.pop().closed(where, outermost=not self.open)
                if self.open:
                    self.open[-1].add_child(tree, where)
                else:
                    yield tree

    def finish(self, name: str) -> None:
        """Raise if a tree is still open."""
        if self.open:
            raise DataError(
                f"{self.open[0].where}: expected ')' before the end of {name}: this tree is not closed"
            )


class _Node:
    """A bracket that is not closed yet."""

    __slots__ = ("atoms", "children", "where")

    def __init__(self, where: str) -> None:
        self.where = where
        self.atoms: list[str] = []
        self.children: list[Tree] = []

    def add_atom(self, piece: str, where: str) -> None:
        if self.children or len(self.atoms) == 2:
            raise DataError(f"{where}: expected '(' or ')', found {shown(piece)}")
        self.atoms.append(piece)

    def add_child(self, tree: Tree, where: str) -> None:
        if len(self.atoms) == 2:
            raise DataError(
                f"{where}: expected a word alone in its bracket, found {shown(self.atoms[1])} beside another bracket"
            )
        self.children.append(tree)

    def closed(self, where: str, outermost: bool) -> Tree:
        if not self.atoms:
            if outermost and len(self.children) == 1:
                return self.children[0]
            raise DataError(
                f"{where}: expected a label after '(', found a bracket with {len(self.children)} trees and no label"
            )
        if len(self.atoms) == 1 and not self.children:
            raise DataError(f"{where}: expected a word or a tree after the label, found ({self.atoms[0]})")
        word = self.atoms[1] if len(self.atoms) == 2 else None
        return Tree(self.atoms[0], tuple(self.children), word)


def _trees(path: str | Path) -> Iterator[tuple[int, str | None, Tree]]:
    """Each tree with the line on which it begins and the file that a table names for it."""
    name = display_name(path)
    builder = _Builder()
    table, begun = False, 0
    for number, line in lines(path):
        where = f"{name}:{number}"
        if number == 1 and line == TABLE_HEADER:
            table = True
        elif not table:
            begun = begun if builder.open else number
            for tree in builder.feed(line, where):
                yield begun, None, tree
                begun = number
        elif line:
            cells = line.split("\t")
            if len(cells) != 2:
                raise DataError(f"{where}: expected 2 columns as in the header, found {len(cells)}")
            yield number, cells[0] or None, parse(cells[1], where)
    builder.finish(name)


def _leaves(tree: Tree) -> tuple[list[str], list[str]]:
    words, labels = [], []
    for node in nodes(tree):
        if node.word is not None:
            words.append(node.word)
            labels.append(node.label)
    return words, labels


def _tree_of(d: Document, number: int) -> Tree:
    if d.tree is None:
        raise DataError(f"document {number} has no tree to write")
    return d.tree


def _atom(text: str) -> str:
    if not _PIECE.fullmatch(text) or text in "()":
        raise DataError(
            f"{text!r} cannot be written in a bracketed tree: write brackets as -LRB-, -RRB-, and no spaces"
        )
    return text


def _looks_like_table(_name: str, head: bytes) -> bool:
    return head.removeprefix(BOM).startswith(TABLE_HEADER.encode())


def _looks_like_trees(_name: str, head: bytes) -> bool:
    return bool(re.match(rb"\s*\(\s*(\(|[^\s()]+\s+[^\s)])", head.removeprefix(BOM)))


TABLE = Format(
    name="brackets-tsv",
    extensions=(".tsv",),
    read=read,
    write=write_table,
    carries=frozenset({"tokens", "tree", "group"}),
    looks_like=_looks_like_table,
    options=BracketOptions,
)
FORMAT = Format(
    name="brackets",
    extensions=(".mrg", ".ptb", ".trees", ".brackets", ".txt"),
    read=read,
    write=write,
    carries=frozenset({"tokens", "tree"}),
    looks_like=_looks_like_trees,
    options=BracketOptions,
)
