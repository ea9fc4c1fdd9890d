"""Text pipelines of scikit-learn that are in memory: a vectoriser, optionally tf-idf, a linear classifier.

Nothing is unpickled: the caller gives the trained object. Settings that cannot be reproduced are refused by
name. Weights, idf and sums are rounded to 32 bits.
"""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.union import FeatureUnion
from chaffinch.features.views import View
from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.quantised import with_lanes
from chaffinch.recipes.rescued import Imported
from chaffinch.rescue.foreign import ForeignObject, Rescued

VECTORISERS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")
TRANSFORMER = "TfidfTransformer"
LOGISTIC = ("LogisticRegression", "LogisticRegressionCV")
LINEAR = (
    *LOGISTIC,
    "LinearSVC",
    "SGDClassifier",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "Perceptron",
    "PassiveAggressiveClassifier",
)
NAIVE_BAYES = ("MultinomialNB", "ComplementNB")
PATTERNS = {
    r"(?u)\b\w\w+\b": "long-words",
    r"\b\w\w+\b": "long-words",
    r"(?u)\b\w+\b": "words",
    r"\b\w+\b": "words",
    r"(?u)\w+": "words",
    r"\w+": "words",
    r"(?u)\S+": "spaces",
    r"\S+": "spaces",
}


def read(pipeline: Any) -> Rescued:
    """The classifier of a fitted pipeline."""
    steps = [(name, step) for name, step in pipeline.steps if step is not None and step != "passthrough"]
    kinds = [_kind(step) for _, step in steps]
    between = len(steps) - 2
    fits = len(steps) >= 2 and kinds[0] in VECTORISERS and all(k == TRANSFORMER for k in kinds[1:-1])
    if not fits or between > 1 or (between == 1 and kinds[0] == "TfidfVectorizer"):
        odd = next((k for k in kinds[1:-1] if k != TRANSFORMER), " + ".join(kinds))
        raise ConfigError(
            f"this pipeline cannot be read because of {odd}; expected a {' or '.join(VECTORISERS)}, optionally "
            f"{TRANSFORMER}, and a linear classifier"
        )
    vectoriser, classifier = steps[0][1], steps[-1][1]
    weighting = steps[1][1] if between else vectoriser if kinds[0] == "TfidfVectorizer" else None
    own = _vectoriser(vectoriser, kinds[0], weighting)
    encoder = DocumentEncoder(FeatureUnion((own,), scaled=True), (1.0,), 0, (View(),))
    w, classes, link = _weights(classifier, kinds[-1])
    if len(w) - 1 != encoder.n_features:
        raise ConfigError(f"the classifier has {len(w) - 1} features, the vectoriser {encoder.n_features}")
    model = ClassifierModel(encoder, with_lanes(w), classes, link)
    told = f"a scikit-learn pipeline ({' + '.join(kinds)}): {len(classes):,} labels, {len(w) - 1:,} features"
    return Rescued(told, "classifier", model, Imported(tool="scikit-learn", method=kinds[-1]))


def _kind(step: Any) -> str:
    """The name of a class of scikit-learn itself; subclasses may do anything."""
    kind = type(step)
    return kind.__name__ if kind.__module__.startswith("sklearn.") else f"{kind.__module__}.{kind.__name__}"


def _refuse(kind: str, setting: str, value: Any) -> NoReturn:
    raise ConfigError(f"{kind}({setting}={value!r}) is not read: no model of this package reproduces it")


def _vectoriser(given: Any, kind: str, weighting: Any) -> TextVectorizer:
    """Our vectoriser with the same columns."""
    for setting, expected in (
        ("input", "content"),
        ("strip_accents", None),
        ("preprocessor", None),
        ("tokenizer", None),
    ):
        if getattr(given, setting) != expected:
            _refuse(kind, setting, getattr(given, setting))
    low, high = given.ngram_range
    settings: dict[str, Any] = {
        "lower": bool(given.lowercase),
        "binary": bool(given.binary),
        "ngram_low": int(low),
        "ngram_high": int(high),
        **_units(given, kind, int(high)),
    }
    if weighting is not None:
        settings |= {"sublinear": bool(weighting.sublinear_tf), "norm": weighting.norm or "none"}
    if kind == "HashingVectorizer":
        return _hashing(given, weighting, settings)
    if not hasattr(given, "vocabulary_"):
        raise ConfigError(f"this {kind} is not fitted")
    vocabulary = {str(term): int(column) for term, column in given.vocabulary_.items()}
    if settings["unit"] == "word":
        vocabulary = {t: c for t, c in vocabulary.items() if low <= t.count(" ") + 1 <= high and t.strip()}
    columns = max((int(c) for c in given.vocabulary_.values()), default=-1) + 1
    idf = np.asarray(weighting.idf_) if weighting is not None and weighting.use_idf else None
    return TextVectorizer.of_vocabulary(vocabulary, columns, idf, **settings)


def _units(given: Any, kind: str, high: int) -> dict[str, Any]:
    """The units of n-grams."""
    if given.analyzer not in ("word", "char", "char_wb"):
        _refuse(kind, "analyzer", given.analyzer)
    if given.analyzer != "word":
        return {"unit": given.analyzer}
    if given.token_pattern not in PATTERNS:
        _refuse(kind, "token_pattern", given.token_pattern)
    found: dict[str, Any] = {"unit": "word", "tokens": PATTERNS[given.token_pattern]}
    removed = given.get_stop_words()
    if removed and (high > 1 or kind == "HashingVectorizer"):
        found["removed"] = tuple(sorted(map(str, removed)))
    return found


def _hashing(given: Any, weighting: Any, settings: dict[str, Any]) -> TextVectorizer:
    bits = int(given.n_features).bit_length() - 1
    if given.n_features != 1 << bits:
        _refuse("HashingVectorizer", "n_features", given.n_features)
    if not given.alternate_sign:
        _refuse("HashingVectorizer", "alternate_sign", given.alternate_sign)
    if weighting is not None:
        raise ConfigError("HashingVectorizer + TfidfTransformer is not read: hashed columns have no idf here")
    return TextVectorizer.of_signed_hash(hash_bits=bits, norm=given.norm or "none", **settings)


def _weights(given: Any, kind: str) -> tuple[NDArray[np.float32], NDArray[Any], str]:
    """Weights [F+1, Y] with the intercepts last, the labels, and how scores become probabilities."""
    if kind in NAIVE_BAYES:
        table, constant = given.feature_log_prob_, given.class_log_prior_
        if kind == "ComplementNB" and len(given.classes_) > 1:
            constant = np.zeros(len(given.classes_))
        link = "softmax"
    elif kind in LINEAR:
        table, constant = given.coef_, np.atleast_1d(np.asarray(given.intercept_, np.float64))
        link = _link(given, kind, len(given.classes_))
    else:
        raise ConfigError(
            f"the classifier {kind} is not read; there are {', '.join((*LINEAR, *NAIVE_BAYES))}"
        )
    classes = _classes(given.classes_, kind)
    if hasattr(table, "toarray"):  # sparsified
        table = table.toarray()
    table = np.atleast_2d(np.asarray(table, np.float64))
    constant = np.broadcast_to(constant, (len(table),))
    w = np.concatenate([table.T, constant[None, :]])
    if kind not in NAIVE_BAYES and len(classes) == 2 and w.shape[1] == 1:  # above 0 means the second label
        twice = getattr(given, "multi_class", None) == "multinomial"
        w = np.concatenate([-w if twice else np.zeros_like(w), w], axis=1)
    if w.shape[1] != len(classes):
        raise ConfigError(f"{kind} has {w.shape[1]} columns of weights for {len(classes)} labels")
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray(w, np.float32)
    if not np.isfinite(narrow).all():
        raise ConfigError(f"{kind} has a weight that is not a finite number of 32 bits")
    return narrow, classes, link


def _link(given: Any, kind: str, labels: int) -> str:
    if kind in LOGISTIC:
        rest = getattr(given, "multi_class", None) == "ovr" or given.solver == "liblinear"
        return "rest" if rest and labels > 2 else "softmax"
    if kind == "SGDClassifier" and given.loss == "modified_huber":
        return "clipped"
    return "rest" if kind == "SGDClassifier" and given.loss == "log_loss" and labels > 2 else "softmax"


def _classes(given: Any, kind: str) -> NDArray[Any]:
    """The labels."""
    classes = np.asarray(given)
    if classes.ndim != 1:
        raise ConfigError(f"{kind} with several outputs is not read; one label per text is")
    if classes.dtype == object:
        classes = np.array(classes.tolist())
    if classes.dtype.kind not in "biuU":
        raise ConfigError(
            f"{kind} has labels of the type {classes.dtype}; strings and whole numbers are read"
        )
    return classes


PIPELINE = ForeignObject("sklearn.pipeline", "Pipeline", read)
