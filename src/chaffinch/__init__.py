"""Chaffinch: linear models of text that train in seconds and say why.

The public names are imported on first use, so that ``import chaffinch`` is fast.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Aligner": "estimators",
    "ChaffinchError": "errors",
    "Classifier": "estimators",
    "ConfigError": "errors",
    "DataError": "errors",
    "ModelFileError": "errors",
    "Parser": "estimators",
    "Reranker": "estimators",
    "Tagger": "estimators",
    "Vectorizer": "estimators.vectorizer",
    "load": "estimators",
    "sentence_accuracy_scorer": "estimators.tagger",
    "span_f1_scorer": "estimators.tagger",
    "token_accuracy_scorer": "estimators.tagger",
}

__all__ = [
    "Aligner",
    "ChaffinchError",
    "Classifier",
    "ConfigError",
    "DataError",
    "ModelFileError",
    "Parser",
    "Reranker",
    "Tagger",
    "Vectorizer",
    "__version__",
    "load",
    "sentence_accuracy_scorer",
    "span_f1_scorer",
    "token_accuracy_scorer",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"chaffinch.{_HOME[name]}"), name)
    raise AttributeError(f"module 'chaffinch' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
