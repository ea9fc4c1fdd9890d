"""The vectoriser: texts to a sparse matrix of features, as a scikit-learn transformer."""

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError, missing_extra
from chaffinch.estimators.documents import documents_and_numbers, texts_of
from chaffinch.features.union import FeatureUnion
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.modelfile import Packed
from chaffinch.recipes.text_features import TextFeatures

FRAMES = ("pandas", "polars")


class Vectorizer:
    """The text features of :class:`Classifier`, for any estimator of scikit-learn.

    features: a preset's name, a :class:`TextVectorizer`, or a list of them
    dense:    give NumPy arrays instead of SciPy's sparse matrices
    seed:     seed of features that are selected at random
    threads:  0 for all cores; the result does not depend on it

    Texts are a list, or a column of a frame; in a ``ColumnTransformer`` name that one column, as a string or as a list.

    >>> vectorizer = Vectorizer("counts", dense=True)
    >>> vectorizer.fit_transform(["no tea", "tea"]).tolist()
    [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    >>> vectorizer.get_feature_names_out().tolist()
    ['tea', 'no', 'no tea']
    """

    encoder_: DocumentEncoder
    _output: str | None = None

    def __init__(self, features: Any = None, *, dense: bool = False, seed: int = 0, threads: int = 0) -> None:
        self.features = features
        self.dense = dense
        self.seed = seed
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> "Vectorizer":
        """Learn the features of texts; features that are selected or weighted by labels need y."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the features of texts and return their rows [N, features]."""
        texts = _texts(X)
        features = TextFeatures.of(self.features)
        self.encoder_ = features.encoder(len(texts), self.seed, self.threads)
        labels = (
            None if y is None or not features.reads_labels else [str(one) for one in np.asarray(y).tolist()]
        )
        return self._given(self.encoder_.fitted_rows(texts, labels, None), X)

    def transform(self, X: Any) -> Any:
        """The rows of texts over the learnt features: a SciPy matrix, an array or a frame."""
        self._check()
        return self._given(self.encoder_.rows(_texts(X), None, self.threads), X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the features, in the order of columns."""
        self._check()
        return np.array(self.encoder_.names(), dtype=object)

    # -- scikit-learn's interface -----------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> "Vectorizer":
        """Set arguments of the constructor."""
        for name, value in params.items():
            if name not in inspect.signature(type(self)).parameters:
                raise ConfigError(
                    f"Vectorizer has no parameter {name!r}; it has {', '.join(self.get_params())}"
                )
            setattr(self, name, value)
        return self

    def set_output(self, *, transform: str | None = None) -> "Vectorizer":
        """Choose what ``transform`` returns: "pandas", "polars" or "default"; frames need ``dense=True``."""
        if transform is not None:
            self._output = None if transform == "default" else transform
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Plain values only: the features in the form of a model file."""
        state = {name: value for name, value in vars(self).items() if name != "encoder_"}
        if hasattr(self, "encoder_"):
            encoder = self.encoder_
            assert encoder.union is not None
            packed = encoder.union.packed()
            strings = {name: list(some) for name, some in packed.strings.items()}
            state["_packed"] = (packed.details, packed.arrays, strings)
            state["_rest"] = (encoder.scales, encoder.views, encoder.clusters)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed, rest = state.pop("_packed", None), state.pop("_rest", None)
        vars(self).update(state)
        if packed is not None and rest is not None:
            scales, views, clusters = rest
            union = FeatureUnion.loaded(Packed(*packed).file())
            self.encoder_ = DocumentEncoder(union, scales, 0, views, clusters)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoder_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=[]),
            input_tags=InputTags(string=True, two_d_array=False),
        )

    def __repr__(self) -> str:
        given = {
            name: getattr(self, name)
            for name, parameter in inspect.signature(type(self)).parameters.items()
            if getattr(self, name) is not parameter.default and getattr(self, name) != parameter.default
        }
        shown = [repr(value) if name == "features" else f"{name}={value!r}" for name, value in given.items()]
        return f"Vectorizer({', '.join(shown)})"

    # -- inside -----------------------------------------------------------------------------------------------

    def _given(self, rows: Any, X: Any) -> Any:
        if self._output is None:
            return rows.dense() if self.dense else _sparse(rows)
        if self._output not in FRAMES or not self.dense:
            raise ConfigError(
                f"frames of {self._output} hold dense columns: make a Vectorizer(dense=True), or set the output "
                "to 'default'"
            )
        import importlib

        library = importlib.import_module(self._output)
        names = _distinct(self.get_feature_names_out().tolist())
        if self._output == "polars":
            return library.DataFrame(rows.dense(), schema=names)
        return library.DataFrame(rows.dense(), columns=names, index=getattr(X, "index", None))

    def _check(self) -> None:
        if not hasattr(self, "encoder_"):
            raise ConfigError("this Vectorizer is not fitted: call fit")


def _texts(X: Any) -> list[str]:
    texts, beside = documents_and_numbers(X)
    if beside is not None:
        raise DataError(
            "expected one column of texts, got columns of numbers beside it: name the text column alone"
        )
    if not isinstance(texts, list):
        raise DataError(
            f"expected texts, got {type(X).__name__}: give a list of strings or one column of texts"
        )
    return texts_of(texts)


def _sparse(rows: Any) -> Any:
    """A SciPy matrix of the rows, the columns of each in ascending order."""
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        raise missing_extra("sklearn", "scipy") from None
    made = csr_matrix((rows.weights(), rows.ids, rows.ptr), shape=rows.shape)
    made.sort_indices()
    return made


def _distinct(names: list[str]) -> list[str]:
    """The names made distinct: words and characters may give the same n-gram.

    >>> _distinct(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return made
