"""CRFsuite's text of attributes: read, written, trained on, predicted and refused where it is wrong."""

from pathlib import Path

import pytest

from chaffinch import Tagger, load
from chaffinch.corpus import read, read_table, write
from chaffinch.errors import DataError
from commandline import Runner, run  # noqa: F401

TEXT = (
    "B-NP\tw[0]=He\tcap\tlength:0.5\nB-VP\tw[0]=saw\\:it\tback\\\\slash:2\n\n"
    "B-NP\tw[0]=He\tcap\tlength:0.5\nO\tw[0]=.\n\n"
)


def test_names_values_and_escapes_are_read_as_crfsuite_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "train.crfsuite.txt"
    path.write_text(TEXT)
    table = read_table(path)
    rows = table.attributes.rows
    assert rows.names.names(rows.ids[:5]) == ["w[0]=He", "cap", "length", "w[0]=saw:it", "back\\slash"]
    assert rows.values[:5].tolist() == [1.0, 1.0, 0.5, 1.0, 2.0]
    assert table.lists("w")[0] == ["He", "saw:it"]
    assert table.names == ["y", "attributes"]
    documents = list(read(path))
    write(documents, tmp_path / "again.crfs")
    assert (tmp_path / "again.crfs").read_text() == TEXT


def test_dicts_and_the_text_train_the_same_model(tmp_path: Path) -> None:
    X = [[{"w": "tea", "length": 0.75}, {"w": "hot"}], [{"w": "hot", "length": 0.75}]] * 6
    y = [["N", "A"], ["A"]] * 6
    lines = []
    for x, labels in zip(X, y, strict=True):
        for token, label in zip(x, labels, strict=True):
            cells = [f"w\\:{token['w']}", *([f"length:{token['length']}"] if "length" in token else [])]
            lines.append("\t".join([label, *cells]))
        lines.append("")
    (tmp_path / "t.crfs").write_text("\n".join(lines) + "\n")
    one, other = Tagger("crf", folds=0).fit(X, y), Tagger("crf", folds=0).fit(read_table(tmp_path / "t.crfs"))
    assert one.predict_marginals(X)[0].tobytes() == other.predict_marginals(X)[0].tobytes()


def test_a_file_is_trained_on_and_predicted_from_the_command_line(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    path, model = tmp_path / "t.crfs", tmp_path / "m.chaff"
    path.write_text(TEXT * 20)
    assert run("train", str(path), "-o", str(model), "--recipe", "crf").code == 0
    assert load(model).columns_ == ("attributes",)
    out = tmp_path / "out.tsv"
    assert run("predict", str(model), str(path), "-o", str(out)).code == 0
    assert out.read_text().split("\n")[0].split("\t") == ["He", "B-NP", "B-NP"]


@pytest.mark.parametrize(("line", "told"), [("O\tw:a", "number after the colon"), ("\tw=a", "a label")])
def test_wrong_lines_are_named(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "t.crfs").write_text(f"O\tok\n{line}\n")
    with pytest.raises(DataError, match=rf"t\.crfs:2: .*{told}"):
        list(read(tmp_path / "t.crfs"))
