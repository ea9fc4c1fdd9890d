"""Loading: the estimator that a model file holds."""

from pathlib import Path
from typing import Any

from chaffinch import modelfile
from chaffinch.estimators.classifier import TASK, Classifier
from chaffinch.estimators.tagger import Tagger


def load(path: str | Path) -> Any:
    """The estimator that a file holds, ready to predict; nothing in the file is executed.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "tiny.chaff"
    >>> Tagger("hmm").fit([["a", "b"], ["b", "a"]], [["X", "Y"], ["Y", "X"]]).save(path)
    >>> load(path).predict([["b", "a"]])
    [['Y', 'X']]
    """
    file = modelfile.read(path)
    return Classifier.loaded(file) if file.header.details.get("task") == TASK else Tagger.loaded(file)
