"""Repeated random cuts of training splits: the default classifier, the best of our grid, and a tuned rival.

A draw cuts the training split of a corpus at random: 60 % of its size to learn from, 20 % to choose the grid's best
and the rival on, and all remaining documents, up to 2,000, to test on. The default sees the first part only. The
corpus's own test split is not read.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.defaults_documents import (
    FEWER,
    GRID,
    MOST,
    WHOLE,
    Corpus,
    calibration_error,
    chosen_settings,
    cut,
    kinds_for,
)

TESTED = 2000  # documents
RIVALS = {"LinearSVC": (0.1, 0.3, 1.0, 3.0), "LogisticRegression": (3.0, 10.0, 30.0)}


@dataclass(frozen=True)
class Draw:
    """The results of one cut; accuracies are in percent.

    chose:     the settings of the default
    grid:      the test accuracy of the setting with the best dev accuracy; all: dev and test accuracy of each
    rival:     the same for the rival
    seconds:   CPU seconds of the default's training, of one training with its settings, and without calibration
    ece:       expected calibration error of the default; noise: the error that perfect probabilities would show
    """

    corpus: str
    seed: int
    default: float
    chose: str
    grid: float
    best: str
    rival: float
    theirs: str
    seconds: tuple[float, float, float]
    ece: float
    noise: float
    all: dict[str, tuple[float, float]]


def drawn(whole: tuple[list[str], list[str]], size: int, seed: int) -> Corpus:
    """A random cut: six tenths of ``size`` to learn from, two tenths to choose on, up to 2,000 others to test on."""
    size = min(len(whole[0]), size)
    learnt, chosen = 6 * size // 10, 2 * size // 10
    rest = min(TESTED, len(whole[0]) - learnt - chosen)
    train, dev, test = cut(*whole, learnt, chosen, rest, seed=seed)
    return Corpus(train, test, dev)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean over draws and its standard error.

    >>> mean_and_error([1.0, 3.0])
    (2.0, 1.0)
    """
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def best_on_dev(scores: dict[str, tuple[float, float]]) -> tuple[str, float]:
    """The name with the highest dev accuracy, the first of equals, and its test accuracy.

    >>> best_on_dev({"a": (70.0, 60.0), "b": (80.0, 50.0), "c": (80.0, 90.0)})
    ('b', 50.0)
    """
    name = max(scores, key=lambda name: scores[name][0])
    return name, scores[name][1]


def grid_scores(data: Corpus) -> dict[str, tuple[float, float]]:
    """Dev and test accuracy of each setting of the grid: the weights as trained, without rounding or calibration."""
    from chaffinch import DataError
    from chaffinch._core import choice_scores
    from chaffinch.estimators.documents import labels_of
    from chaffinch.recipes.classifiers import CLASSIFIERS
    from chaffinch.recipes.document_task import DocumentTask, suited, without_own_folds
    from chaffinch.recipes.text_features import TextFeatures

    assert data.dev is not None
    texts, y = data.train
    labels = labels_of(y)
    usual = Counter(y).most_common(1)[0][0]
    found = {}
    for kind in kinds_for(texts):
        task = DocumentTask(
            X=texts,
            text=True,
            labels=labels,
            importance=np.ones(len(texts), np.float32),
            features=TextFeatures.named(kind),
            threads=1,
        )
        try:
            encoder, rows = task.encoded()
        except DataError:  # these texts have no such features
            continue
        problem = task.problem(rows)
        held = [(encoder.rows(part[0], None, 1), np.array(part[1])) for part in (data.dev, data.test)]
        for recipe, penalties in GRID.items():
            for C in penalties:
                config = CLASSIFIERS.by_name(recipe).configured({"C": C})
                learner = without_own_folds(suited(config, True, len(texts)), True)
                w = learner.fit(problem, threads=1).w
                accuracies = []
                for other, gold in held:
                    scores = np.zeros((len(other), len(labels.classes)), np.float32)
                    choice_scores(other.native(1.0), w, 1, scores)
                    given = labels.classes[scores.argmax(axis=1)]
                    given = np.where(np.diff(other.ptr) > 0, given, usual)
                    accuracies.append(100 * float((given == gold).mean()))
                found[f"{kind} {recipe} {C:g}"] = (accuracies[0], accuracies[1])
    return found


def rival_scores(data: Corpus) -> dict[str, tuple[float, float]]:
    """Dev and test accuracy of scikit-learn's linear models on tf-idf of words and pairs, for each penalty."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    assert data.dev is not None
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    X = words.fit_transform(data.train[0])
    held = [(words.transform(part[0]), part[1]) for part in (data.dev, data.test)]
    found = {}
    for name, penalties in RIVALS.items():
        for C in penalties:
            model: Any = LinearSVC(C=C) if name == "LinearSVC" else LogisticRegression(C=C, max_iter=300)
            model.fit(X, data.train[1])
            dev, test = (100 * float(model.score(rows, y)) for rows, y in held)
            found[f"{name} {C:g}"] = (dev, test)
    return found


def measured(name: str, data: Corpus, seed: int) -> Draw:
    """The results of one cut."""
    from chaffinch import Classifier

    def timed(model: Any) -> float:
        start = time.process_time()
        model.fit(*data.train)
        return time.process_time() - start

    made = Classifier(threads=1)
    took = timed(made)
    features = made.choice_["features"] if made.choice_ else None
    one = timed(Classifier(made.config_, features=features, threads=1))
    bare = timed(Classifier(made.config_, features=features, calibrate=False, threads=1))
    p = made.predict_proba(data.test[0])
    right = made.classes_[p.argmax(axis=1)] == np.array(data.test[1])
    top = p.max(axis=1)
    random = np.random.default_rng(seed)
    ours, theirs = grid_scores(data), rival_scores(data)
    best, grid = best_on_dev(ours)
    name_of_rival, rival = best_on_dev(theirs)
    return Draw(
        corpus=name,
        seed=seed,
        default=100 * float(right.mean()),
        chose=chosen_settings(made),
        grid=grid,
        best=best,
        rival=rival,
        theirs=name_of_rival,
        seconds=(took, one, bare),
        ece=calibration_error(top, right),
        noise=float(np.mean([calibration_error(top, random.random(len(top)) < top) for _ in range(20)])),
        all=ours | theirs,
    )


def draws_of(name: str, seeds: Sequence[int]) -> Iterator[Draw]:
    """The results of a corpus for each seed."""
    base, size = FEWER.get(name, (name, MOST))
    whole = WHOLE[base]().train
    for seed in seeds:
        yield measured(name, drawn(whole, size, seed), seed)


def row(draws: Sequence[Draw], sizes: tuple[int, int]) -> str:
    """A row of the table: means over draws, with standard errors of the differences."""

    def mean(name: str) -> float:
        return float(np.mean([getattr(draw, name) for draw in draws]))

    def ahead(name: str) -> str:
        d, error = mean_and_error([getattr(draw, name) - draw.default for draw in draws])
        return f"{d:+.2f} ± {error:.2f}"

    kinds = Counter(" ".join(draw.chose.split()[:2]) for draw in draws)
    often = ", ".join(f"{kind} {n}" for kind, n in kinds.most_common())
    took, one, bare = (sum(draw.seconds[k] for draw in draws) for k in range(3))
    return (
        f"| {draws[0].corpus} | {sizes[0]:,} | {sizes[1]:,} | {mean('default'):.2f} | {mean('grid'):.2f} | "
        f"{ahead('grid')} | {mean('rival'):.2f} | {ahead('rival')} | {often} | {took / len(draws):.2f} | "
        f"{took / one:.1f} ({took / bare:.1f}) | {mean('ece'):.3f} ({mean('noise'):.3f}) |"
    )


def print_draws(names: Sequence[str], seeds: Sequence[int], records: str | None) -> None:
    """Print the table. records: file to which each draw is appended."""
    print(
        "| corpus | documents | tested on | default | grid | grid - default | rival | rival - default | chose | CPU s "
        "| trainings | ECE (noise) |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name in names:
        base, size = FEWER.get(name, (name, MOST))
        first = drawn(WHOLE[base]().train, size, seeds[0])
        draws = []
        for draw in draws_of(name, seeds):
            draws.append(draw)
            if records is not None:
                with Path(records).open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(asdict(draw)) + "\n")
        print(row(draws, (len(first.train[0]), len(first.test[0]))), flush=True)
