"""Label errors found by out-of-fold models, on samples with known annotation errors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.benchmark import Benchmark, Contender

NAMES = ("questions", "topics", "reviews")
SEED = 14  # not the one that the odds were chosen on
FOLDS = 5


@dataclass(frozen=True)
class Labelled:
    """Texts, their labels, and which labels are slips."""

    texts: list[str]
    labels: list[str]
    slips: list[bool]


Corpora = dict[str, Labelled]
Found = dict[str, list[int]]


def corpora(seed: int) -> Corpora:
    from chaffinch import samples

    made = {}
    for name in NAMES:
        written, meant = (samples.load(name, seed=SEED + seed, careful=careful) for careful in (False, True))
        slips = [a.labels != b.labels for a, b in zip(written, meant, strict=True)]
        made[name] = Labelled([d.text for d in written], [d.labels[0] for d in written], slips)
    return made


def ours(given: Corpora) -> Callable[[], Found]:
    from chaffinch.doctor.label_errors import ODDS
    from chaffinch.doctor.out_of_fold import out_of_fold
    from chaffinch.kinds.documents import Texts

    def run() -> Found:
        found = {}
        for name, one in given.items():
            opinions = out_of_fold(Texts(one.texts, one.labels), one.texts, folds=FOLDS, threads=1)
            found[name] = opinions.doubtful(ODDS).tolist()
        return found

    return run


def cleanlab(given: Corpora, model: Callable[[], Any]) -> Callable[[], Found]:
    import numpy as np
    from cleanlab.filter import find_label_issues
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)  # otherwise the threads of BLAS compete: six times as slow

    def run() -> Found:
        found = {}
        for name, one in given.items():
            _, y = np.unique(one.labels, return_inverse=True)
            words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
            p = cross_val_predict(
                make_pipeline(words, model()), one.texts, y, cv=FOLDS, method="predict_proba"
            )
            found[name] = np.flatnonzero(find_label_issues(y, p, n_jobs=1)).tolist()
        return found

    return run


def over_logistic(given: Corpora) -> Callable[[], Found]:
    from sklearn.linear_model import LogisticRegression

    return cleanlab(given, LogisticRegression)


def over_sgd(given: Corpora) -> Callable[[], Found]:
    from sklearn.linear_model import SGDClassifier

    return cleanlab(given, lambda: SGDClassifier(loss="log_loss", alpha=1e-5, random_state=0))


def scores(given: Corpora, found: Found) -> dict[str, float]:
    """F1 of the slips, in percent."""
    rates = {}
    for name, one in given.items():
        both = sum(one.slips[i] for i in found[name])
        rates[f"{name} F1"] = 200.0 * both / (len(found[name]) + sum(one.slips))
    return rates


BENCHMARK = Benchmark(
    name="label_errors",
    question="How well and how fast are annotation errors found, beside cleanlab over scikit-learn?",
    input=corpora,
    work=lambda given: (float(sum(len(one.texts) for one in given.values())), "texts"),
    ours=Contender(name="chaffinch doctor", prepare=ours, run=lambda find: find()),
    rivals=(
        Contender(
            name="cleanlab, logistic", prepare=over_logistic, run=lambda find: find(), package="cleanlab"
        ),
        Contender(name="cleanlab, SGD", prepare=over_sgd, run=lambda find: find(), package="cleanlab"),
    ),
    scores=scores,
    bar=3.0,
    repeats=3,
)
