"""Classifiers of LIBLINEAR: text files of weights, without names of features.

    solver_type L2R_LR
    nr_class 3
    label 4 1 2
    nr_feature 1000
    bias 1
    w
    one line for each feature, and one for the bias if it is not negative: a number for each label, or, if there are
    two labels, a single number

Documents are rows of ``index:value`` from 1, as in LIBLINEAR's own data. Weights are rounded to 32 bits.
"""

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.quantised import with_lanes
from chaffinch.recipes.rescued import Imported
from chaffinch.rescue.foreign import ForeignFile, ForeignFormat, Rescued

LOGISTIC = ("L2R_LR", "L1R_LR", "L2R_LR_DUAL")
CRAMMER_SINGER = "MCSVM_CS"
MARGINS = (
    "L2R_L2LOSS_SVC_DUAL",
    "L2R_L2LOSS_SVC",
    "L2R_L1LOSS_SVC_DUAL",
    "L1R_L2LOSS_SVC",
    CRAMMER_SINGER,
)
OTHERS = {
    "L2R_L2LOSS_SVR": "regression",
    "L2R_L2LOSS_SVR_DUAL": "regression",
    "L2R_L1LOSS_SVR_DUAL": "regression",
    "ONECLASS_SVM": "finding outliers",
}
KEYS = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho")
MOST_LABELS = 2**20


def read(file: ForeignFile) -> Rescued:
    """The classifier of a file."""
    solver, labels, features, bias, at = _header(file)
    Y = len(labels)
    columns = 1 if Y == 2 and solver != CRAMMER_SINGER else Y
    table = _table(file, at, features + (bias >= 0), columns)
    w = np.zeros((features + 1, columns))
    w[:features] = table[:features]
    if bias >= 0:
        w[features] = table[features] * bias
    classes = np.array(labels)
    if columns == 1 and Y == 2:  # a positive sum means the first label, anything else the second
        classes, w = classes[::-1].copy(), np.concatenate([np.zeros((features + 1, 1)), w], axis=1)
    with np.errstate(over="ignore"):
        narrow = w.astype(np.float32)
    if not np.isfinite(narrow).all():
        raise file.refusal("has a weight outside the range of 32-bit floats")
    link = "rest" if solver in LOGISTIC and Y > 2 else "softmax"
    model = ClassifierModel(DocumentEncoder(None, (), features), with_lanes(narrow), classes, link)
    told = f"a LIBLINEAR model: {Y:,} labels, {features:,} features, solver {solver}"
    return Rescued(told, "classifier", model, Imported(tool="LIBLINEAR", method=solver))


def _header(file: ForeignFile) -> tuple[str, list[int], int, float, int]:
    """The solver, the labels, the number of features, the bias, and the offset of the first weight."""
    found: dict[str, tuple[list[bytes], int]] = {}
    at, content = 0, file.content
    while True:
        end = content.find(b"\n", at)
        words = content[at : len(content) if end < 0 else end].split()
        if end < 0 or not words:
            raise file.fault(at, "a line of the header, or w", content[at : at + 40])
        key = words[0].decode("ascii", "replace")
        if key == "w":
            break
        if key not in KEYS or key in found:
            raise file.fault(at, f"one of {', '.join(KEYS)}, each once, or w", words[0])
        found[key] = words[1:], at
        at = end + 1
    if "solver_type" not in found:
        raise file.fault(at, "a line solver_type before w", "none")
    solver = b" ".join(found["solver_type"][0]).decode("ascii", "replace")
    if solver in OTHERS:
        raise file.refusal(f"has the solver {solver}, for {OTHERS[solver]}; only classifiers are read")
    if solver not in (*LOGISTIC, *MARGINS):
        raise file.fault(found["solver_type"][1], "a solver of LIBLINEAR", solver)
    for key in KEYS[:-1]:
        if key not in found:
            raise file.fault(at, f"a line {key} before w", "none")
    classes = _whole(file, *found["nr_class"], "the number of labels", 1, MOST_LABELS)
    words, place = found["label"]
    labels = [_whole(file, [word], place, "a label", -(2**31), 2**31 - 1) for word in words]
    if len(labels) != classes or len(set(labels)) != classes:
        raise file.fault(place, f"{classes} different labels", len(labels))
    features = _whole(file, *found["nr_feature"], "the number of features", 1, len(content))
    words, place = found["bias"]
    bias = _real(file, words, place, "the bias")
    return solver, labels, features, bias, end + 1


def _table(file: ForeignFile, at: int, rows: int, columns: int) -> NDArray[np.float64]:
    """The weights [rows, columns]."""
    room = (len(file.content) - at + 1) // 2  # a digit and a space each
    if rows * columns > room:
        raise file.fault(at, f"{rows} rows of {columns} weights", f"{len(file.content) - at} bytes")
    words = file.content[at:].split()
    if len(words) != rows * columns:
        raise file.fault(at, f"{rows} rows of {columns} weights", f"{len(words)} numbers")
    try:
        found = np.array(words, dtype=np.bytes_).astype(np.float64)
    except ValueError:
        bad = next(word for word in words if not _is_real(word))
        raise file.fault(at, "weights", bad) from None
    if not np.isfinite(found).all():
        raise file.fault(at, "finite weights", words[int(np.flatnonzero(~np.isfinite(found))[0])])
    return found.reshape(rows, columns)


def _whole(file: ForeignFile, words: list[bytes], at: int, what: str, least: int, most: int) -> int:
    try:
        (value,) = map(int, words)
    except ValueError:
        raise file.fault(at, what, b" ".join(words)) from None
    if not least <= value <= most:
        raise file.fault(at, f"{what} from {least} to {most}", value)
    return value


def _real(file: ForeignFile, words: list[bytes], at: int, what: str) -> float:
    if len(words) != 1 or not _is_real(words[0]):
        raise file.fault(at, f"{what}, a finite number", b" ".join(words))
    return float(words[0])


def _is_real(word: bytes) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False


def _holds(start: bytes) -> bool:
    return start.startswith(b"solver_type ")


LIBLINEAR = ForeignFormat("liblinear", _holds, read)
