"""Model files of other tools, known by how they begin, so that a refusal can say what a file is."""

import re
from pathlib import Path

SEEN = 1 << 16  # bytes that are looked at

# What a file begins with, and what it is.
STARTS: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(start, re.DOTALL), name)
    for start, name in (
        (rb"lCRF", "a model of CRFsuite (python-crfsuite, sklearn-crfsuite)"),
        (re.escape((793712314).to_bytes(4, "little")), "a model of fastText"),
        (rb"solver_type ", "a model of LIBLINEAR"),
        (rb"svm_type ", "a model of LIBSVM"),
        (rb"#mdl#", "a model of Wapiti"),
        (rb"version: \d+\s+cost-factor: ", "a model of CRF++, as text"),
        (rb"\x64\0\0\0[\0-\x03]\0\0\0", "a model of CRF++"),
        (rb"\x80[\x02-\x05]", "a pickle (pickle, joblib, scikit-learn)"),
        (rb"x[\x01\x5e\x9c\xda]|\x1f\x8b", "a compressed file (joblib, gzip)"),
        (rb"PK\x03\x04", "a zip archive (PyTorch, Keras, NumPy)"),
        (rb"\x89HDF", "an HDF5 file (Keras)"),
        (rb'\s*[{\[].*"(i suffix|i-1 tag|i pref1|bias)["  ]', "a model of NLTK's perceptron tagger, as JSON"),
    )
)


def foreign_model(path: str | Path) -> str | None:
    """What a model file of another tool is, or None if its start says nothing."""
    try:
        if not Path(path).is_file():  # a pipe would be waited for
            return None
        with Path(path).open("rb") as stream:
            start = stream.read(SEEN)
    except OSError:
        return None
    return named_by_start(start)


def named_by_start(start: bytes) -> str | None:
    """The same from the first bytes.

    >>> named_by_start(b"lCRF\\x00\\x10"), named_by_start(b"solver_type L2R_LR\\nnr_class 2\\n")
    ('a model of CRFsuite (python-crfsuite, sklearn-crfsuite)', 'a model of LIBLINEAR')
    """
    if start[8:9] == b"{":  # a directory behind its length: one of ours, or of that kind
        return None
    return next((name for begins, name in STARTS if begins.match(start)), None)
