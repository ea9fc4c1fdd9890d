"""Documents at random, for round trips through every format that carries their content."""

from hypothesis import strategies as st

from chaffinch.text.document import Document, Links, Span, Tree

# Any character that a UTF-8 text may hold but NUL; line breaks, quotes, tabs and emoji among them.
characters = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
texts = st.text(characters, max_size=30)
plain_texts = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=20)
words = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=6).filter(
    lambda w: not w.startswith("__label__") and not set(w) & set("()")
)
names = st.from_regex(r"[A-Za-z][A-Za-z_-]{0,8}", fullmatch=True)
field_names = names.filter(lambda n: n.lower() not in RESERVED)
RESERVED = {
    *("id", "text", "data", "sentence", "document", "content", "body", "review", "message", "question"),
    *("label", "labels", "class", "category", "target", "tag", "topic", "sentiment", "y"),
    *("spans", "entities", "annotations", "relations", "comments", "tokens", "accept", "options", "answer"),
}


@st.composite
def labelled(draw: st.DrawFn, text: st.SearchStrategy[str] = texts, most: int = 1) -> Document:
    """A document with labels, fields and perhaps an id."""
    return Document(
        text=draw(text),
        labels=draw(st.lists(names, max_size=most, unique=True)),
        id=draw(st.none() | names),
    )


@st.composite
def spanned(draw: st.DrawFn, scores: bool = False, text: st.SearchStrategy[str] = texts) -> Document:
    """A document with spans, which may overlap and stand in any order."""
    d = Document(text=draw(text))
    if d.text:
        for _ in range(draw(st.integers(0, 4))):
            start = draw(st.integers(0, len(d.text) - 1))
            end = draw(st.integers(start + 1, len(d.text)))
            score = draw(st.none() | st.floats(0, 1)) if scores else None
            d.spans.append(Span(draw(names), start, end, score))
    return d


leaves = st.builds(lambda label, word: Tree(label, (), word), names, words)
trees = st.recursive(
    leaves,
    lambda below: st.builds(
        lambda label, children: Tree(label, tuple(children)), names, st.lists(below, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def linked(draw: st.DrawFn) -> Document:
    """A pair of sentences with links between them."""
    source, target = (
        draw(st.lists(words, min_size=1, max_size=5)),
        draw(st.lists(words, min_size=1, max_size=5)),
    )
    pairs = st.frozensets(
        st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1)), max_size=5
    )
    d = Document.from_words(source)
    d.links = Links(tuple(target), draw(pairs), draw(pairs))
    return d
