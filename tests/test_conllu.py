"""CoNLL-U: words placed in their text, comments, ranges and empty nodes kept, and round trips."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch import corpus
from chaffinch.errors import ConfigError, DataError
from chaffinch.text.document import Document, Token

SENTENCE = """\
# newdoc id = d1
# sent_id = s1
# newpar
# lang = en
# text = We don't go.
1\tWe\twe\tPRON\tPRP\tCase=Nom|Number=Plur\t4\tnsubj\t4:nsubj\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t4:aux\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t4:advmod\t_
4\tgo\tgo\tVERB\tVB\t_\t0\troot\t0:root\tSpaceAfter=No
4.1\tgone\tgo\tVERB\t_\t_\t_\t_\t0:root\t_
5\t.\t.\tPUNCT\t.\t_\t4\tpunct\t4:punct\t_

# sent_id = s2
# text = Du vin
1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_
2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_
3\tvin\tvin\tNOUN\t_\t_\t0\troot\t_\t_

"""


def file(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "f.conllu"
    path.write_bytes(content.encode())
    return path


def test_words_stand_where_the_text_has_them(tmp_path: Path) -> None:
    first, second = corpus.read(file(tmp_path, SENTENCE))
    assert first.text == "We don't go."
    assert first.tokens == [
        Token("We", 0, 2),
        Token("do", 3, 5),
        Token("n't", 5, 8),
        Token("go", 9, 11),
        Token(".", 11, 12),
    ]
    assert second.tokens == [Token("de", 0, 2), Token("le", 0, 2), Token("vin", 3, 6)]


def test_comments_name_the_sentence_its_document_and_the_rest(tmp_path: Path) -> None:
    first, second = corpus.read(file(tmp_path, SENTENCE))
    assert (first.id, first.group, second.id, second.group) == ("s1", "d1", "s2", "d1")
    assert {k: v for k, v in first.fields.items() if k[0] not in "0123456789"} == {"newpar": "", "lang": "en"}
    table = corpus.read_table(file(tmp_path, SENTENCE))
    assert table.groups is not None
    assert table.groups.tolist() == [1, 1]


def test_columns_have_their_own_names_and_the_label_is_y(tmp_path: Path) -> None:
    path = file(tmp_path, SENTENCE)
    first = next(corpus.read(path))
    assert list(first.columns) == ["lemma", "xpos", "feats", "head", "deprel", "deps", "misc", "y"]
    assert first.columns["y"] == ["PRON", "AUX", "PART", "VERB", "PUNCT"]
    first = next(corpus.read(path, label="upos|feats", columns="lemma,head"))
    assert list(first.columns) == ["lemma", "head", "y"]
    assert first.columns["y"][0] == "PRON|Case=Nom|Number=Plur"
    assert list(next(corpus.read(path, label="", columns="upos")).columns) == ["upos"]
    with pytest.raises(ConfigError, match="CoNLL-U has no column 'tag'; it has form, lemma, upos"):
        next(corpus.read(path, label="tag"))
    with pytest.raises(ConfigError, match="CoNLL-U has no column 'tag'"):
        next(corpus.read(path, columns="lemma,tag"))


@pytest.mark.parametrize("label", ["upos", "xpos", "deprel", "upos|feats", "lemma"])
def test_the_table_holds_what_the_documents_hold(tmp_path: Path, label: str) -> None:
    path = file(tmp_path, SENTENCE)
    documents = list(corpus.read(path, label=label))
    table = corpus.read_table(path, label=label)
    assert table.lists("w") == [d.words() for d in documents]
    for name in list(table.columns)[1:]:
        assert table.lists(name) == [d.columns[name] for d in documents]


@pytest.mark.parametrize("label", ["upos", "xpos", "upos|feats", "xpos|feats", "deprel", ""])
def test_a_file_is_written_back_as_it_was(tmp_path: Path, label: str) -> None:
    corpus.write(corpus.read(file(tmp_path, SENTENCE), label=label), tmp_path / "out.conllu")
    assert (tmp_path / "out.conllu").read_text() == SENTENCE


def test_a_changed_label_is_written_to_the_column_that_it_came_from(tmp_path: Path) -> None:
    documents = list(corpus.read(file(tmp_path, SENTENCE), label="xpos"))
    documents[0].columns["y"] = ["A", "B", "C", "D", "E"]
    corpus.write(documents, tmp_path / "out.conllu")
    again = next(corpus.read(tmp_path / "out.conllu"))
    assert again.columns["xpos"] == ["A", "B", "C", "D", "E"]
    assert again.columns["y"] == ["PRON", "AUX", "PART", "VERB", "PUNCT"]


def test_without_a_text_the_forms_and_spaces_spell_it(tmp_path: Path) -> None:
    bare = "\n".join(line for line in SENTENCE.split("\n") if not line.startswith("# text"))
    assert [d.text for d in corpus.read(file(tmp_path, bare))] == ["We don't go.", "Du vin"]


def test_a_text_that_does_not_go_with_the_forms_is_refused_or_rebuilt(tmp_path: Path) -> None:
    path = file(tmp_path, SENTENCE.replace("don't go.", "do go."))
    with pytest.raises(
        DataError, match=r"f.conllu:6: '# text' does not match the forms at \"don't\"; read with"
    ):
        next(corpus.read(path))
    assert next(corpus.read(path, rebuild_text=True)).text == "We don't go."


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("4\tgo\t", "6\tgo\t", ":10: expected token 4, a range or an empty node, found '6'"),
        ("2-3\t", "2-9\t", "a range ends at token 9, the sentence at 5"),
        ("2-3\t", "3-4\t", ":7: expected token 2, a range or an empty node, found '3-4'"),
        ("4.1\t", "3.1\t", ":11: expected token 5"),
    ],
)
def test_numbers_out_of_order_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(corpus.read(file(tmp_path, SENTENCE.replace(old, new, 1))))


def test_documents_of_other_formats_find_their_columns(tmp_path: Path) -> None:
    document = Document("Go!", [Token("Go", 0, 2), Token("!", 2, 3)], {"pos": ["VB", "."], "y": ["V", "P"]})
    corpus.write([document], tmp_path / "f.conllu")
    rows = (tmp_path / "f.conllu").read_text().split("\n")
    assert rows == [
        "# text = Go!",
        "1\tGo\t_\tV\tVB\t_\t_\t_\t_\tSpaceAfter=No",
        "2\t!\t_\tP\t.\t_\t_\t_\t_\t_",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (Document.from_words(["a\tb"]), r"sentence 1, token 1 'a\\tb': column 'form' holds a tab"),
        (Document.from_words(["a"], y=[""]), "sentence 1, token 1 'a': column 'upos' is empty"),
        (Document.from_words(["a"], x1=["b"]), "sentence 1: CoNLL-U has no column 'x1'"),
        (Document("a b c", [Token("a", 0, 1)]), "sentence 1: expected a text made of its tokens"),
        (
            Document("a\nb", [Token("a", 0, 1), Token("b", 2, 3)]),
            "sentence 1: a line end or a NUL inside a line",
        ),
        (Document("a"), "sentence 1: has no tokens"),
        (Document("a", [Token("a", 0, 1)], fields={"text": "b"}), "a field cannot be called 'text'"),
    ],
)
def test_what_the_format_cannot_say_is_refused(tmp_path: Path, document: Document, message: str) -> None:
    with pytest.raises(DataError, match=message):
        corpus.write([document], tmp_path / "f.conllu")
    assert list(tmp_path.iterdir()) == []


word = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.sampled_from(
    ["_", "#", "1-2", "a b", "\r"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(
            st.tuples(word, word, word, st.sampled_from(["", " ", "  ", "\u00a0"])), min_size=1, max_size=4
        ),
        min_size=1,
        max_size=3,
    )
)
def test_what_is_written_is_read_again_or_refused(
    tmp_path: Path, sentences: list[list[tuple[str, str, str, str]]]
) -> None:
    documents = []
    for n, sentence in enumerate(sentences):
        text, tokens = "", []
        for form, _, _, space in sentence:
            tokens.append(Token(form, len(text), len(text) + len(form)))
            text += form + space
        columns = {"lemma": [row[1] for row in sentence], "y": [row[2] for row in sentence]}
        documents.append(Document(text, tokens, columns, id=f"s{n}", group="g"))
    path = tmp_path / "out.conllu"
    path.unlink(missing_ok=True)
    refusal = ""
    try:
        corpus.write(documents, path)
    except DataError as e:
        refusal = str(e)
    if refusal:
        assert refusal.startswith("sentence ")
        assert not path.exists()
        return
    again = list(corpus.read(path, columns="lemma"))
    assert again == documents
