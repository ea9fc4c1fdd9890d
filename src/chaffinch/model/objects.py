"""Objects that kernels compare, as strings in a model file: texts, lists of words, trees, numbers, and tuples."""

import json
from typing import Any

import numpy as np

from chaffinch.corpus.brackets import bracketed, parse
from chaffinch.errors import ConfigError, DataError, ModelFileError
from chaffinch.text.document import Document, Tree


def written(thing: Any) -> str:
    """An object as a string.

    >>> written("tea"), written(["a", "b"]), written(Tree("N", (), "tea"))
    ('"tea"', '{"words": ["a", "b"]}', '{"tree": "(N tea)"}')
    """
    return json.dumps(_plain(thing), ensure_ascii=False)


def read_back(text: str) -> Any:
    """The object that a string of :func:`written` stands for."""
    try:
        return _thing(json.loads(text))
    except (ValueError, RecursionError, DataError) as error:
        raise ModelFileError(f"a support object of the model is damaged: {error}") from None


def shown(thing: Any, width: int = 60) -> str:
    """A short description of an object for people."""
    plain = _plain(thing)
    text = plain if isinstance(plain, str) else " ".join(str(v) for v in _leaves(plain))
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def _plain(thing: Any) -> Any:
    if isinstance(thing, str):
        return thing
    if isinstance(thing, Document) and thing.tree is not None:
        thing = thing.tree
    if isinstance(thing, Tree):
        return {"tree": bracketed(thing)}
    if isinstance(thing, tuple):
        return {"parts": [_plain(part) for part in thing]}
    if isinstance(thing, list) and all(isinstance(word, str) for word in thing):
        return {"words": thing}
    numbers = np.asarray(thing) if isinstance(thing, (list, np.ndarray)) else None
    if numbers is not None and numbers.ndim == 1 and np.issubdtype(numbers.dtype, np.number):
        return {"numbers": numbers.astype(np.float64).tolist()}
    raise ConfigError(
        f"an object of type {type(thing).__name__} cannot be saved: a model file holds texts, lists of words, "
        "trees, numbers, and tuples of those"
    )


def _thing(plain: Any) -> Any:
    if isinstance(plain, str):
        return plain
    if isinstance(plain, dict) and len(plain) == 1:
        ((kind, value),) = plain.items()
        if kind == "tree" and isinstance(value, str):
            return parse(value)
        if kind == "parts" and isinstance(value, list):
            return tuple(_thing(one) for one in value)
        if kind == "words" and isinstance(value, list) and all(isinstance(w, str) for w in value):
            return value
        if kind == "numbers" and isinstance(value, list):
            return [float(number) for number in value]
    raise ValueError("expected a text, words, a tree, numbers or parts")


def _leaves(plain: Any) -> list[Any]:
    if isinstance(plain, dict):
        return [leaf for value in plain.values() for leaf in _leaves(value)]
    return [leaf for one in plain for leaf in _leaves(one)] if isinstance(plain, list) else [plain]
