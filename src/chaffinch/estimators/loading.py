"""Loading: the estimator that a model file holds."""

from pathlib import Path

from chaffinch import modelfile
from chaffinch.estimators.tagger import Tagger


def load(path: str | Path) -> Tagger:
    """The estimator that a file holds, ready to predict; nothing in the file is executed.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "tiny.chaff"
    >>> Tagger("hmm").fit([["a", "b"], ["b", "a"]], [["X", "Y"], ["Y", "X"]]).save(path)
    >>> load(path).predict([["b", "a"]])
    [['Y', 'X']]
    """
    return Tagger.loaded(modelfile.read(path))
