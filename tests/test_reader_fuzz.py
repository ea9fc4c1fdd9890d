"""Files of every format with something changed in them: read, or refused in one line that begins with the file."""

from pathlib import Path

import pytest

import fuzz_readers
from chaffinch import corpus
from chaffinch.corpus import FORMATS


def test_every_format_is_there() -> None:
    assert fuzz_readers.FILES.keys() == FORMATS.keys()


@pytest.mark.parametrize("format", FORMATS)
def test_changed_files_are_read_or_refused_in_one_line(format: str, tmp_path: Path) -> None:
    counts = fuzz_readers.run(150, 1, tmp_path, [format])
    assert counts[format, "refused"] > 10
    assert counts.total() == 150


@pytest.mark.parametrize("format", FORMATS)
def test_documents_of_every_format_come_back_from_its_files(format: str, tmp_path: Path) -> None:
    name, made = fuzz_readers.FILES[format]
    documents = made()
    read = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        corpus.write(documents, folder / name, format)
        documents = list(corpus.read(folder / name, format))
        read.append(documents)
    assert read[0] == read[1]
    assert [d.text for d in read[0]] == [d.text for d in made()]
    assert [(d.labels, d.spans, d.tree, d.links) for d in read[0]] == [
        (d.labels, d.spans, d.tree, d.links) for d in made()
    ]
