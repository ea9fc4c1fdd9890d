"""Trees as pictures."""

from dataclasses import dataclass, field
from typing import Protocol

from chaffinch.report.charts import chart
from chaffinch.report.html import Html, tag

STEP, LETTER, GAP, TOP = 46.0, 7.4, 16.0, 40.0


class DrawnNode(Protocol):
    """A node to draw: a label over children or over a word."""

    @property
    def label(self) -> str:
        """The label of the node."""
        ...

    @property
    def children(self) -> "tuple[DrawnNode, ...]":
        """The children of the node."""
        ...

    @property
    def word(self) -> str | None:
        """The word of a leaf."""
        ...


def tree_picture(title: str, tree: DrawnNode) -> Html:
    """A picture of a tree: words on one line, each phrase centred above its words.

    >>> from chaffinch.text.document import Tree
    >>> svg = tree_picture("A tree", Tree("NP", (Tree("DT", word="the"), Tree("NN", word="fox"))))
    >>> str(svg).count("<line")
    4
    """
    placed = _placed(tree)
    depth = max(place.depth for place in placed)
    width = max(place.right for place in placed) + GAP
    words = TOP + STEP * (depth + 1)
    marks: list[Html] = []
    for place in placed:
        y = TOP + STEP * place.depth
        for below in place.below:
            end = TOP + STEP * below.depth - 13
            marks.append(_line(place.x, y + 5, below.x, end))
        marks.append(_text(place.label, place.x, y, "600" if place.word is None else "400"))
        if place.word is not None:
            marks.append(_line(place.x, y + 5, place.x, words - 15))
            marks.append(
                tag("text", place.word, x=round(place.x, 1), y=round(words, 1), text_anchor="middle")
            )
    return chart(title, words + 16, marks, width)


@dataclass
class _Place:
    label: str
    word: str | None
    depth: int
    x: float = 0.0
    right: float = 0.0
    below: "list[_Place]" = field(default_factory=list)


def _placed(tree: DrawnNode) -> list[_Place]:
    """Every node with its place; not recursive, so that no tree is too deep."""
    found: list[_Place] = []
    waiting: list[tuple[DrawnNode, _Place | None, int]] = [(tree, None, 0)]
    at = GAP
    while waiting:
        node, above, depth = waiting.pop()
        place = _Place(node.label, node.word, depth)
        found.append(place)
        if above is not None:
            above.below.append(place)
        if node.word is not None:
            wide = LETTER * max(len(node.word), len(node.label), 2) + GAP
            place.x, place.right = at + wide / 2, at + wide
            at += wide
        waiting.extend((child, place, depth + 1) for child in reversed(node.children))
    for place in reversed(found):
        if place.below:
            place.x = (place.below[0].x + place.below[-1].x) / 2
            place.right = place.below[-1].right
    return found


def _text(text: str, x: float, y: float, weight: str) -> Html:
    return tag(
        "text",
        text,
        x=round(x, 1),
        y=round(y, 1),
        text_anchor="middle",
        font_weight=weight,
        fill="var(--accent)",
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> Html:
    return tag(
        "line", x1=round(x1, 1), y1=round(y1, 1), x2=round(x2, 1), y2=round(y2, 1), stroke="var(--soft)"
    )
