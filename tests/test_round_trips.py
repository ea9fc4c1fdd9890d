"""What is written is read back equal, for every format and the content it carries."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch import corpus
from chaffinch.corpus import brackets, letters
from chaffinch.errors import DataError
from chaffinch.text.document import Document, Span, Token, Tree
from documents import field_names, labelled, linked, spanned, texts, trees, words

few = settings(max_examples=30, deadline=None)


def through(
    documents: list[Document], name: str, format: str, write: dict | None = None, read: dict | None = None
) -> list[Document]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        corpus.write(documents, path, format, **(write or {}))
        return list(corpus.read(path, format, **(read or {})))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.jsonl.gz"])
@few
@given(documents=st.lists(labelled(), min_size=1, max_size=5))
def test_labelled_documents_come_back_from_rows_and_json_lines(name: str, documents: list[Document]) -> None:
    if name.startswith("a.csv") and documents[0].id is None:
        for d in documents:
            d.id = None
    assert through(documents, name, name.split(".")[1]) == documents


@few
@given(documents=st.lists(labelled(most=3), min_size=1, max_size=5))
def test_several_labels_come_back_from_a_cell_with_a_separator(documents: list[Document]) -> None:
    for d in documents:
        d.id = None
    options = {"label_separator": "|"}
    assert through(documents, "a.csv", "csv", options, options) == documents


@few
@given(documents=st.lists(labelled(most=3), max_size=5).filter(bool))
def test_several_labels_come_back_from_json_lines(documents: list[Document]) -> None:
    assert through(documents, "a.jsonl", "jsonl") == documents


@few
@given(
    texts=st.lists(texts.filter(lambda t: not set(t) & set("\t\n\r")), min_size=1, max_size=4),
    fields=st.dictionaries(field_names, texts.filter(lambda t: not set(t) & set("\t\n\r")), max_size=3),
)
def test_fields_come_back_from_every_table(texts: list[str], fields: dict[str, str]) -> None:
    documents = [Document(text=text, labels=["x"], fields=dict(fields)) for text in texts]
    for format in ("csv", "tsv", "jsonl", "jsonl-spans", "doccano", "label-studio", "prodigy", "parquet"):
        assert through(documents, "a", format) == documents, format


@few
@given(
    documents=st.lists(
        labelled(most=3, text=texts.filter(lambda t: not set(t) & set("\n\r") and t.strip())),
        min_size=1,
        max_size=5,
    )
)
def test_labelled_documents_come_back_from_fasttext_lines(documents: list[Document]) -> None:
    for d in documents:
        d.id = None
    assert through(documents, "a.ft", "fasttext") == documents


@pytest.mark.parametrize("format", ["jsonl-spans", "label-studio", "prodigy", "parquet"])
@few
@given(documents=st.lists(spanned(scores=True), min_size=1, max_size=4))
def test_spans_and_their_scores_come_back(format: str, documents: list[Document]) -> None:
    told = {"predicted": True} if format in ("label-studio", "prodigy") else {}
    assert through(documents, "a", format, told) == documents


@pytest.mark.parametrize("format", ["jsonl-spans", "label-studio", "prodigy", "parquet", "doccano", "brat"])
@few
@given(documents=st.lists(spanned(), min_size=1, max_size=4))
def test_spans_come_back_from_every_format_of_spans(format: str, documents: list[Document]) -> None:
    if format == "brat":
        for i, d in enumerate(documents):
            d.id = f"{i:03d}"
    assert through(documents, "a", format) == documents


@few
@given(
    document=spanned(),
    chosen=st.lists(
        st.sampled_from(["jsonl-spans", "label-studio", "prodigy", "parquet", "doccano"]),
        min_size=2,
        max_size=4,
    ),
)
def test_spans_survive_any_chain_of_formats(document: Document, chosen: list[str]) -> None:
    documents = [document]
    for format in chosen:
        documents = through(documents, "a", format)
    assert documents == [document]


@few
@given(drawn=st.lists(st.tuples(trees, st.none() | words), min_size=1, max_size=4))
def test_trees_come_back_from_brackets(drawn: list[tuple[Tree, str | None]]) -> None:
    documents = [tree_document(tree) for tree, _ in drawn]
    assert through(documents, "a.mrg", "brackets") == documents
    for d, (_, group) in zip(documents, drawn, strict=True):
        d.group = group
    assert through(documents, "a.tsv", "brackets-tsv") == documents


def tree_document(tree: Tree) -> Document:
    leaves = [n for n in brackets.nodes(tree) if n.word is not None]
    d = Document.from_words([n.word or "" for n in leaves], pos=[n.label for n in leaves])
    d.tree = tree
    return d


@few
@given(documents=st.lists(linked(), min_size=1, max_size=4))
def test_links_come_back_from_an_alignment_table(documents: list[Document]) -> None:
    assert through(documents, "a.tsv", "alignment") == documents


@few
@given(document=spanned())
def test_tokens_come_back_from_prodigy(document: Document) -> None:
    start = 0
    for piece in document.text.split(" "):
        if piece:
            document.tokens.append(Token(piece, start, start + len(piece)))
        start += len(piece) + 1
    assert through([document], "a.jsonl", "prodigy") == [document]


@few
@given(lengths=st.lists(st.integers(1, 5), max_size=5), seed=st.integers(0, 9))
def test_letter_images_come_back(lengths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    L = sum(lengths)
    made = letters.Letters(
        rng.integers(0, 2, (L, 128), dtype=np.uint8),
        rng.integers(0, 26, L, dtype=np.uint8),
        np.cumsum([0, *lengths], dtype=np.int32),
        rng.integers(0, 10, len(lengths), dtype=np.uint8),
    )
    with TemporaryDirectory() as folder:
        letters.write(made, Path(folder) / "a.npz")
        found = letters.read(Path(folder) / "a.npz")
    for name in ("pixels", "labels", "word_offsets", "fold"):
        np.testing.assert_array_equal(getattr(found, name), getattr(made, name))


def test_a_tree_of_any_depth_is_read_stripped_and_written() -> None:
    depth = 100_000
    text = "(S " * depth + "(NN deep)" + ")" * depth
    tree = brackets.parse(text)
    assert brackets.bracketed(tree) == text
    assert brackets.bracketed(brackets.stripped(tree) or tree) == text


def test_trees_over_several_lines_and_with_an_empty_outer_bracket_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg"
    path.write_text("\n( (S\n    (NP (NNP Ann))\n    (VP (VBD left) (NP (-NONE- *)))) )\n\n(X y) (X z)\n")
    read = [brackets.bracketed(d.tree) for d in corpus.read(path)]
    assert read == ["(S (NP (NNP Ann)) (VP (VBD left) (NP (-NONE- *))))", "(X y)", "(X z)"]
    assert [d.text for d in corpus.read(path, strip=True)] == ["Ann left", "y", "z"]


def test_a_document_that_has_both_spans_and_labels_keeps_both_where_the_format_can() -> None:
    d = Document(text="Ann left", spans=[Span("PER", 0, 3)], labels=["news"])
    for format in ("jsonl-spans", "label-studio", "prodigy", "parquet"):
        assert through([d], "a", format) == [d], format


def test_a_failed_writer_leaves_nothing_behind(tmp_path: Path) -> None:
    good, bad = Document(text="a", labels=["x"]), Document(text="b\nc", labels=["x"])
    for format, name in (
        ("tsv", "a.tsv"),
        ("fasttext", "a.ft"),
        ("brackets", "a.mrg"),
        ("alignment", "a.tsv"),
    ):
        with pytest.raises(DataError):
            corpus.write([good, bad], tmp_path / name, format)
    with pytest.raises(DataError):
        corpus.write([Document("a", id="x"), Document("b", id="../x")], tmp_path / "folder", "brat")
    assert list(tmp_path.iterdir()) == []
