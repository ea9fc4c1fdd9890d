"""The example of handwritten words, and the picture that it draws."""

import re
import runpy
from pathlib import Path

import pytest

from chaffinch import samples
from chaffinch.lab.handwriting import LINEAR, QUADRATIC, alone, picture, read_by, telling
from chaffinch.text.table import TokenTable

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "ocr.py"


def test_the_example_reads_the_sample_and_draws_its_page(tmp_path, capsys):
    page = tmp_path / "words.html"
    runpy.run_path(str(EXAMPLE))["main"](["--words", "120", "--out", str(page)])
    printed = capsys.readouterr().out
    right = {n: float(v) for n, v in re.findall(r"^(\S.*?)\s{2,}([\d.]+) %", printed, re.M)}
    assert set(right) == {r.name for r in (*LINEAR, *QUADRATIC)}
    assert right["M3N, quadratic"] > right["multiclass SVM"] > 30
    assert "<svg" in page.read_text()


def test_a_picture_has_every_letter_and_marks_the_wrong_ones():
    table = TokenTable.from_documents(samples.load("letters", "test", n=2))
    gold = table.lists("y")
    read = [list(word) for word in gold]
    read[1][0] = "?"
    shown = str(picture(table, {"reader": read}, [0, 1]))
    assert shown.count("<path") == sum(len(word) for word in gold)
    assert shown.count("var(--bad)") == 1
    assert telling(table, read, gold, 1) == [1]


def test_letters_alone_are_words_of_one_letter():
    table = TokenTable.from_documents(samples.load("letters", "test", n=2))
    assert alone(table).n_sentences == table.n_tokens


@pytest.mark.parametrize("reader", LINEAR[:1], ids=lambda r: r.name)
def test_letters_read_alone_are_put_back_into_words(reader):
    table = TokenTable.from_documents(samples.load("letters", "train", n=30))
    (found,) = read_by([reader], table, table)
    assert [len(w) for w in found.predicted] == [len(w) for w in table.lists("y")]
    assert found.letters > 0.5
