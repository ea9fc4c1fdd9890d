"""A model file of another tool is named as what it is, with the way to a model of this one."""

import gzip
import pickle
from pathlib import Path

import pytest

from chaffinch.errors import ModelFileError
from chaffinch.estimators import load
from chaffinch.modelfile.file import named_by_start
from commandline import Runner, run  # noqa: F401

FILES = {
    "LIBSVM": b"svm_type c_svc\nkernel_type linear\n",
    "a pickle": pickle.dumps({"coef_": [1.0, 2.0]}),
    "a compressed file": gzip.compress(pickle.dumps([1])),
}


@pytest.mark.parametrize("tool", FILES)
def test_a_foreign_model_is_named(tool: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(FILES[tool])
    with pytest.raises(ModelFileError, match=rf"model: is .*{tool}.*: chaffinch train DATA -o MODEL"):
        load(path)


def test_predict_says_it_in_one_line(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "names.libsvm").write_bytes(FILES["LIBSVM"])
    outcome = run("predict", tmp_path / "names.libsvm", stdin=b"Ann left\n")
    assert outcome.code == 2
    assert "names.libsvm: is a model of LIBSVM" in outcome.err
    assert outcome.err.count("\n") == 1


def test_our_own_damaged_files_are_not_taken_for_others() -> None:
    assert named_by_start((200).to_bytes(8, "little") + b'{"__metadata__":{"chaffinch":') is None
    assert named_by_start(b"") is None
    assert named_by_start(b"w the 1\n") is None
