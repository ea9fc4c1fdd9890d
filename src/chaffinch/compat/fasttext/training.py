"""Training with fastText's arguments, and their meaning here."""

import os
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn

from chaffinch.compat.fasttext.lines import PREFIX, Line, read_lines
from chaffinch.compat.fasttext.model import FastText
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.classifier import Classifier
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.kinds.documents import DOCUMENTS
from chaffinch.kinds.texts import Texts
from chaffinch.lab.datasets import Dataset, Source
from chaffinch.lab.experiment import Experiment, Splits
from chaffinch.lab.size_search import parsed_size, smallest
from chaffinch.lab.tuning import space_of, tune

# In the order of fastText's own arguments.
DEFAULTS: dict[str, Any] = {
    "lr": 0.1,
    "dim": 100,
    "ws": 5,
    "epoch": 5,
    "minCount": 1,
    "minCountLabel": 0,
    "minn": 0,
    "maxn": 0,
    "neg": 5,
    "wordNgrams": 1,
    "loss": "softmax",
    "bucket": 2000000,
    "thread": max(1, (os.cpu_count() or 2) - 1),
    "lrUpdateRate": 100,
    "t": 1e-4,
    "label": PREFIX,
    "verbose": 2,
    "pretrainedVectors": "",
    "seed": 0,
    "autotuneValidationFile": "",
    "autotuneMetric": "f1",
    "autotunePredictions": 1,
    "autotuneDuration": 300,
    "autotuneModelSize": "",
}
ALIASES = {
    "min_count": "minCount",
    "word_ngrams": "wordNgrams",
    "lr_update_rate": "lrUpdateRate",
    "label_prefix": "label",
    "pretrained_vectors": "pretrainedVectors",
}
LOSSES = ("ns", "hs", "softmax", "ova")
MEANINGLESS = ("lr", "dim", "ws", "epoch", "neg", "bucket", "lrUpdateRate", "t", "pretrainedVectors")
FEATURE_SETTINGS = ("minCount", "wordNgrams", "minn", "maxn")
WEIGHTING: dict[str, Any] = {"tokens": "marks", "binary": True, "idf": True, "norm": "l2"}
TUNED = {
    False: ("ridge", "logistic"),
    True: ("ridge", "svm"),
}  # recipes, by whether texts have several labels

_said: set[str] = set()


def train_supervised(*args: Any, **kwargs: Any) -> FastText:
    """Train a linear classifier on a file of fastText lines.

    input:                  ``__label__a __label__b the words of a text``, one example per line
    wordNgrams, minn, maxn: longest n-gram of words; n-grams of characters within words
    minCount:               minimum number of examples with a word; minCountLabel: of examples with a label
    loss:                   ``ova`` gives each label a probability of its own, as do lines with several labels
    label, seed, thread, verbose: as in fastText
    autotuneValidationFile: searches for ``autotuneDuration`` seconds for the settings that are best on this file;
                            ``autotuneModelSize`` such as ``"2M"`` bounds the size of the model

    If none of wordNgrams, minn, maxn and minCount is given, the features are chosen by cross-validation, as
    ``Classifier()`` does; the recipe and its penalty always are. lr, dim, ws, epoch, neg, bucket, lrUpdateRate, t and
    pretrainedVectors have no meaning for this learner: they are accepted, and a warning says so once.
    """
    given = _arguments(args, kwargs)
    if "input" not in given:
        raise TypeError("train_supervised needs the argument input: the path of a file")
    path = given.pop("input")
    settings = {**DEFAULTS, **given}
    if settings["loss"] not in LOSSES:
        raise ConfigError(f"Unrecognized loss name {settings['loss']!r}; there are {', '.join(LOSSES)}")
    _say_once([name for name in MEANINGLESS if name in given])
    lines = [line for line in read_lines(path, settings["label"], "training") if line.labels]
    lines = _frequent(lines, settings["minCountLabel"])
    words = Counter(word for line in lines for word in line.words)
    if not lines or not words:
        raise DataError(f"{path}: Empty vocabulary. It has no line with a label and a word.")
    estimator = _train(settings, given, _corpus(lines, settings))
    least = settings["minCount"]
    return FastText(
        estimator,
        prefix=settings["label"],
        words={word: n for word, n in words.most_common() if n >= least},
        label_counts=dict(Counter(label for line in lines for label in line.labels).most_common()),
        settings=settings,
    )


def train_unsupervised(*_args: Any, **_kwargs: Any) -> NoReturn:
    """Word vectors without labels are not trained here."""
    raise ConfigError(
        "chaffinch.compat.fasttext trains classifiers (train_supervised); train word vectors with fasttext itself"
    )


def _arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by fastText's names; raises TypeError as a Python function does."""
    names = ["input", *DEFAULTS]
    if len(args) > len(names):
        raise TypeError(f"train_supervised takes {len(names)} arguments, got {len(args)}")
    found: dict[str, Any] = {}
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        own = ALIASES.get(name, name)
        if own not in names:
            raise TypeError(f"unexpected keyword argument '{own}'")
        if own in found:
            raise TypeError(f"multiple values for argument '{own}'")
        found[own] = value
    return found


def _say_once(names: list[str]) -> None:
    """Warn about arguments without a meaning, each once in a process."""
    fresh = [name for name in names if name not in _said]
    if fresh:
        _said.update(fresh)
        warnings.warn(
            f"{', '.join(fresh)}: accepted, but without a meaning here: this learner has no vectors and no rate",
            stacklevel=3,
        )


def _frequent(lines: list[Line], least: int) -> list[Line]:
    """Lines with the labels that occur often enough; lines without any are left out."""
    if least <= 1:
        return lines
    counts = Counter(label for line in lines for label in line.labels)
    kept = [Line(line.words, [y for y in line.labels if counts[y] >= least]) for line in lines]
    return [line for line in kept if line.labels]


def _corpus(lines: list[Line], settings: Mapping[str, Any]) -> Texts:
    """The lines as a corpus; labels are lists if each has a probability of its own."""
    several = settings["loss"] == "ova" or any(len(set(line.labels)) > 1 for line in lines)
    labels: list[Any] = [sorted(set(line.labels)) if several else line.labels[0] for line in lines]
    return Texts([line.text for line in lines], labels)


def _features(settings: Mapping[str, Any], given: Mapping[str, Any]) -> list[TextVectorizer] | None:
    """The features that the arguments name; None: they name none."""
    if not any(name in given and given[name] != DEFAULTS[name] for name in FEATURE_SETTINGS):
        return None
    least = max(1, settings["minCount"])
    kinds = [TextVectorizer(**WEIGHTING, ngram_high=max(1, settings["wordNgrams"]), min_df=least)]
    if settings["maxn"] > 0:
        shortest = max(1, settings["minn"])
        own = {**WEIGHTING, "unit": "char_wb", "ngram_low": shortest, "ngram_high": settings["maxn"]}
        kinds.append(TextVectorizer(**own, min_df=least))
    return kinds


def _train(settings: Mapping[str, Any], given: Mapping[str, Any], train: Texts) -> Classifier:
    threads, seed = max(0, int(settings["thread"])), int(settings["seed"])
    made = Classifier(features=_features(settings, given), seed=seed, threads=threads)
    made.fit(train.texts, train.labels)
    if settings["autotuneValidationFile"]:
        made = _tune(made, settings, train)
    elif settings["autotuneModelSize"]:
        raise ConfigError("autotuneModelSize needs autotuneValidationFile, on which sizes are compared")
    return made


def _tune(made: Classifier, settings: Mapping[str, Any], train: Texts) -> Classifier:
    """The best of the chosen classifier and those of a search, on held-out lines, within the requested size."""
    if settings["autotuneMetric"] != "f1":
        raise ConfigError(f"autotuneMetric {settings['autotuneMetric']!r} is not known here; there is f1")
    several = bool(made.model_.several)
    path, seed = settings["autotuneValidationFile"], settings["seed"]
    held_out = [line for line in read_lines(path, settings["label"], "validation") if line.labels]
    known = {str(label) for label in made.classes_.tolist()}
    held_out = [line for line in held_out if known.intersection(line.labels)]
    if not held_out:
        raise DataError(f"{path}: no line has a label of the training file")
    dev = Texts(
        [line.text for line in held_out],
        [sorted(set(line.labels)) if several else line.labels[0] for line in held_out],
    )
    splits = Splits(Dataset("lines", {"train": lambda: train, "dev": lambda: dev}), 0.0)
    recipes = TUNED[several]
    found = tune(
        [Experiment(source=Source(name="lines"), recipe=recipe, seed=seed) for recipe in recipes],
        [space_of(recipe, DOCUMENTS.settings_of(recipe)) for recipe in recipes],
        splits,
        seconds=float(settings["autotuneDuration"]),
        seed=seed,
        threads=made.threads,
    )
    best = dict(found.best.settings)
    features = best.pop("features", None)
    other = DOCUMENTS.made(found.best.recipe, best, features, seed, made.threads)
    other.fit(train.texts, train.labels)

    def scores(estimator: Classifier) -> dict[str, float]:
        return DOCUMENTS.scores_of(DOCUMENTS.tally(estimator, dev))

    winner = max((made, other), key=lambda one: next(iter(scores(one).values())))
    size = settings["autotuneModelSize"]
    if not size:
        return winner
    calibrated = winner.confidence_ is not None
    return smallest(
        winner,
        parsed_size(str(size)),
        scores,
        recalibrate=(lambda made: DOCUMENTS.recalibrate(made, dev)) if calibrated else None,
    ).estimator
