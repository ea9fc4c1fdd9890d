from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch import corpus
from chaffinch.errors import DataError
from chaffinch.text.document import Document


def test_lines_split_at_the_last_space(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("New York B-x\n# O\n-DOCSTART- O\n\n## B-y\n")
    found = list(corpus.read(tmp_path / "train", "hmm"))
    assert [d.words() for d in found] == [["New York", "#", "-DOCSTART-"], ["##"]]
    assert found[0].columns == {"y": ["B-x", "O", "O"]}
    assert corpus.read_table(tmp_path / "train", "hmm").lists("w") == [d.words() for d in found]


def test_in_files_hold_tokens_only(tmp_path: Path) -> None:
    (tmp_path / "dev.in").write_text("New York\nis\n\nbig\n")
    assert [d.words() for d in corpus.read(tmp_path / "dev.in", "hmm")] == [["New York", "is"], ["big"]]
    assert list(corpus.read_table(tmp_path / "dev.in", "hmm").columns) == ["w"]
    (tmp_path / "dev").write_text("New\n")
    assert [d.words() for d in corpus.read(tmp_path / "dev", "hmm", tags=False)] == [["New"]]


def test_the_name_says_what_is_written(tmp_path: Path) -> None:
    documents = [Document.from_words(["a", "b"], pos=["N", "N"], y=["X", "Y"])]
    corpus.write(documents, tmp_path / "dev.in", "hmm")
    corpus.write(documents, tmp_path / "dev.out", "hmm")
    assert (tmp_path / "dev.in").read_text() == "a\nb\n\n"
    assert (tmp_path / "dev.out").read_text() == "a X\nb Y\n\n"
    with pytest.raises(DataError, match="sentence 1: has no column 'y' to write as its tags"):
        corpus.write([Document.from_words(["a"])], tmp_path / "x.out", "hmm")


cell = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.sampled_from(
    ["a b", "\ufeff", "\r", " "]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.tuples(cell, cell), min_size=1, max_size=4), min_size=1, max_size=3),
    st.sampled_from(["dev.in", "dev.out"]),
)
def test_what_is_written_is_read_again_or_refused(
    tmp_path: Path, sentences: list[list[tuple[str, str]]], name: str
) -> None:
    documents = [Document.from_words([w for w, _ in s], y=[y for _, y in s]) for s in sentences]
    if name == "dev.in":
        documents = [Document.from_words(d.words()) for d in documents]
    path = tmp_path / name
    path.unlink(missing_ok=True)
    refusal = ""
    try:
        corpus.write(documents, path, "hmm")
    except DataError as e:
        refusal = str(e)
    if refusal:
        assert refusal.startswith("sentence ")
        assert not path.exists()
    else:
        assert list(corpus.read(path, "hmm")) == documents
