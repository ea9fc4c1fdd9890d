"""The baseline: a log-linear classifier's settings under short names, and the knobs that they set.

Unigrams and bigrams, the 20,000 most frequent, lemmatised, stop words out; stochastic gradient descent with a
fixed rate, a document at a time. Every experiment accepts its settings by these names, if its recipe
has such a knob.
"""

import importlib.util
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from chaffinch.errors import ConfigError, warn_about_data
from chaffinch.knobs import Knob, knob, knobs

RECIPE = "loglinear"
FEATURES = "top-20000"
CLEANING = "none"  # on 20 newsgroups headers and quotations help more than their noise hurts


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """The short names, with the baseline's values."""

    epochs: int = knob(10, "passes over the training data", low=1)
    batch: int = knob(500, "examples of a batch", low=1)
    iteration: int = knob(1, "iterations over a batch before the next", low=1)
    feature_size: int = knob(20000, "maximum number of features", low=1)
    rand_lr: bool = knob(False, "draw the learning rate of each step at random")
    rate: float = knob(0.01, "learning rate, or the largest of random ones", low=0.0)
    trigram: bool = knob(False, "trigrams in addition to unigrams and bigrams")
    stopwords: str = knob("english", "drop n-grams that consist only of these stop words: english, none")
    lemmatize: bool = knob(True, "replace words by their lemmas")
    penalty: float = knob(0.0, "L2 penalty", low=0.0)
    feature_pick: str = knob(
        "top", "how features are picked: the most frequent, or drawn by frequency", choices=("top", "freq")
    )
    feature_drop: float = knob(0.0, "share of each label's features dropped at random", low=0.0, high=1.0)


# The letters of the short names that have one.
LETTERS = {
    "epochs": "-e",
    "batch": "-b",
    "iteration": "-i",
    "feature_size": "-f",
    "rand_lr": "-r",
    "rate": "-l",
}

# Older names of three settings, and those that records of the learning rate have.
SYNONYMS = {"epoch": "epochs", "lr": "rate", "lr_fixed": "rate", "lr_rand_coef": "rate"}

# Short names set the first of these knobs that the recipe has.
_TURNS: dict[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    "epochs": (("epochs", "passes"), int),
    "epoch": (("epochs", "passes"), int),
    "batch": (("batch",), int),
    "iteration": (("iterations",), int),
    "feature_size": (("feature_size",), int),
    "rand_lr": (("schedule",), lambda on: "random" if on else "fixed"),
    "lr": (("rate",), float),
    "lr_fixed": (("rate",), float),
    "lr_rand_coef": (("rate",), float),
    "trigram": (("ngram_high",), lambda on: 3 if on else 2),
    "stopword": (("stopwords",), lambda on: "english" if on else "none"),
    "lemmatize": (("stemming",), lambda on: "lemma" if on else "none"),
    "penalty": (("l2", "c2"), float),
    "feature_pick": (("feature_pick",), lambda how: {"freq": "sample"}.get(how, how)),
    "feature_drop": (("feature_drop",), float),
}


def start(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The baseline's values; without the extra ``lemma`` words are not lemmatised unless lemmas are requested."""
    made = asdict(Baseline())
    given = {name.replace("-", "_") for name in settings}
    if not given & {"lemmatize", "stemming"} and not _lemmas_installed():
        made["lemmatize"] = False
        warn_about_data(
            "the baseline does not lemmatise: its lemmas need the extra lemma, pip install 'chaffinch[lemma]'"
        )
    return made


def short_names() -> dict[str, Knob]:
    """Every short name."""
    return {k.name: k for k in knobs(Baseline)}


def as_knobs(settings: Mapping[str, Any], recipe: str, known: Collection[str]) -> dict[str, Any]:
    """Settings by short name or by knob, as knobs of the recipe, which are ``known``.

    >>> as_knobs({"epochs": 5}, "crf", ["c1", "passes"])
    {'passes': 5}
    >>> as_knobs({"epochs": 5}, "hmm", ["order", "emission_amount"])
    Traceback (most recent call last):
    chaffinch.errors.ConfigError: recipe hmm has no knob for 'epochs'; it has emission_amount, ...
    """
    found: dict[str, Any] = {}
    for name, value in settings.items():
        key = name.replace("-", "_")
        candidates, turn = _TURNS.get(key, ((), _unchanged))
        target = next((c for c in (key, *candidates) if c in known), None)
        if target is None:
            raise ConfigError(f"recipe {recipe} has no knob for {name!r}; it has {', '.join(sorted(known))}")
        found[target] = turn(value)
    return found


def read_value(name: str, text: str, recipe: str, known: Mapping[str, Knob]) -> Any:
    """The value that a user wrote for a short name or a knob, converted to its type.

    >>> read_value("lr", "2", "loglinear", {}), read_value("trigram", "true", "loglinear", {})
    (2.0, True)
    """
    key = name.replace("-", "_")
    if key == "stopword":
        return _read_bool(name, text)
    k = known.get(key) or short_names().get(SYNONYMS.get(key, key))
    if k is None:
        raise ConfigError(f"recipe {recipe} has no knob {name!r}; it has {', '.join(sorted(known))}")
    if k.optional and text.lower() == "none":
        return None
    try:
        if k.type is bool:
            return _read_bool(name, text)
        return int(text) if k.type is int else float(text) if k.type is float else text
    except ValueError:
        wanted = {int: "a whole number", float: "a number"}[k.type]
        raise ConfigError(f"{name}: expected {wanted}, got {text!r}") from None


def _lemmas_installed() -> bool:
    try:
        return importlib.util.find_spec("simplemma") is not None
    except ImportError:  # an import hook that refuses it
        return False


def _read_bool(name: str, text: str) -> bool:
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in known:
        raise ConfigError(f"{name}: expected true or false, got {text!r}")
    return known[text.lower()]


def _unchanged(value: Any) -> Any:
    return value
