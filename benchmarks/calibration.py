"""Expected calibration error of every recipe that gives probabilities, and of the defaults on whole corpora.

    python -m benchmarks.calibration recipes      every recipe of every kind on small held-out data
    python -m benchmarks.calibration defaults     no setting given, on held-out parts of corpora
    python -m benchmarks.calibration cuts         linear recipes on several random cuts of one corpus, and their mean

Ten bins of equal width. The interval is a bootstrap over documents or sentences; "noise" is the mean error that
perfectly calibrated answers with the same confidences would show, by simulation: a small test set shows some. It leaves
out the noise of the calibration itself, which is fitted on a small training set: the mean over cuts shows it.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.corpora import corpus
from benchmarks.defaults_documents import CORPORA, Corpus, cut

RESAMPLES = 500
Decided = tuple[
    list[np.ndarray], list[np.ndarray]
]  # confidence and rightness of each answer, by document or sentence


def documents(model: Any, X: Any, y: list[str]) -> Decided:
    p = model.predict_proba(X)
    right = model.classes_[p.argmax(axis=1)] == np.array(y)
    return [p.max(axis=1)[n : n + 1] for n in range(len(p))], [right[n : n + 1] for n in range(len(p))]


def tags(model: Any, table: Any) -> Decided:
    from chaffinch.text.schemes import scheme_of, spans

    scheme = scheme_of(model.classes_.tolist())
    p, right = [], []
    for gold, found in zip(table.lists("y"), model.predict_spans(table), strict=True):
        true = (
            {(t, t + 1, tag) for t, tag in enumerate(gold)}
            if scheme is None
            else {(s.start, s.end, s.label) for s in spans(gold, scheme)}
        )
        p.append(np.array([s.probability for s in found]))
        right.append(np.array([s[:3] in true for s in found], bool))
    return p, right


def tokens(model: Any, table: Any) -> Decided:
    """The most probable tag of each token, by its marginal probability."""
    p, right = [], []
    for gold, found in zip(table.lists("y"), model.predict_marginals(table), strict=True):
        p.append(found.max(axis=1))
        right.append(model.classes_[found.argmax(axis=1)] == np.array(gold))
    return p, right


def phrases(model: Any, documents: list[Any]) -> Decided:
    """Phrases that are more probable than not."""
    from chaffinch.estimators.parser import trees_of
    from chaffinch.recipes.tree_calibration import in_tree

    p, right = [], []
    found = model.predict_marginals([d.words() for d in documents], least=0.5)
    for tree, chances in zip(trees_of(documents), found, strict=True):
        p.append(np.array([one.p for one in chances]))
        right.append(np.array(in_tree(chances, tree), bool))
    return p, right


def error(p: np.ndarray, right: np.ndarray) -> float:
    from chaffinch.evaluate.reliability import reliability

    return float(reliability(p, right).error) if len(p) else 0.0


def row(name: str, decided: Decided) -> str:
    from chaffinch.evaluate.reliability import brier_score

    rng = np.random.default_rng(0)
    p, right = (np.concatenate(part) if part else np.zeros(0) for part in decided)
    sizes = np.array([len(one) for one in decided[0]])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    found, noise = [], []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(sizes), len(sizes))
        at = np.repeat(starts[drawn] - np.concatenate([[0], np.cumsum(sizes[drawn])[:-1]]), sizes[drawn])
        at = at + np.arange(len(at))
        found.append(error(p[at], right[at]))
        noise.append(error(p, rng.random(len(p)) < p))
    low, high = np.quantile(found, [0.025, 0.975])
    return (
        f"| {name} | {len(p):,} | {100 * right.mean():.1f} | {100 * p.mean():.1f} | {error(p, right):.3f} | "
        f"{low:.3f} to {high:.3f} | {np.mean(noise):.3f} | {brier_score(p, right.astype(bool)):.3f} |"
    )


HEAD = "| | answers | right % | confidence % | ECE | 95 % interval | noise | Brier |\n|---|---|---|---|---|---|---|---|"


def table_of(name: str, split: str, n: int | None = None) -> Any:
    from chaffinch import samples
    from chaffinch.text.table import TokenTable

    return TokenTable.from_documents(samples.load(name, split, n=n))


def recipes() -> Iterator[tuple[str, Callable[[], Decided]]]:
    from chaffinch import Classifier, Parser, Tagger, samples
    from chaffinch.recipes import TAGGERS
    from chaffinch.recipes.classifiers import CLASSIFIERS
    from chaffinch.recipes.parsers import PARSERS

    train, test = cut(*CORPORA["trec"]().train, 1500, 2000)
    for recipe in CLASSIFIERS:
        yield (
            f"texts: {recipe.name}",
            lambda name=recipe.name: documents(Classifier(name, threads=1).fit(*train), *test),
        )
    numbers, targets = digits()
    for recipe in CLASSIFIERS:
        yield (
            f"numbers: {recipe.name}",
            lambda name=recipe.name: documents(
                Classifier(name, threads=1).fit(numbers[:900], targets[:900]), numbers[900:], targets[900:]
            ),
        )
    for recipe in PARSERS:
        yield (
            f"trees: {recipe.name}",
            lambda name=recipe.name: phrases(
                Parser(name, threads=1).fit(samples.load("trees", "train")), samples.load("trees", "test")
            ),
        )
    for sample in ("posts", "ingredients"):
        learnt, held = table_of(sample, "train", 600), table_of(sample, "test", 1500)
        for recipe in TAGGERS:
            if recipe.name == "beam":
                continue  # has no probabilities
            yield (
                f"{sample}: {recipe.name}",
                lambda name=recipe.name, a=learnt, b=held: tags(Tagger(name, threads=1).fit(a), b),
            )


CUTS = 12
LINEAR = ("ridge", "svm", "crammer-singer", "logistic")


def cuts(wanted: Sequence[str]) -> None:
    """The error of recipes on 2,000 questions after training on 1,500, over random cuts of the training part."""
    from chaffinch import Classifier

    texts, labels = CORPORA["trec"]().train
    print("| recipe | mean ECE | standard error | least | most | confidence - accuracy, points |")
    print("|---|---|---|---|---|---|")
    for name in wanted or LINEAR:
        errors, leads = [], []
        for seed in range(CUTS):
            order = np.random.default_rng(seed).permutation(len(texts))
            train, test = (
                ([texts[n] for n in part], [labels[n] for n in part])
                for part in np.split(order[:3500], [1500])
            )
            decided = documents(Classifier(name, threads=1).fit(*train), *test)
            p, right = (np.concatenate(part) for part in decided)
            errors.append(error(p, right))
            leads.append(100 * (p.mean() - right.mean()))
        print(
            f"| {name} | {np.mean(errors):.3f} | {np.std(errors) / np.sqrt(CUTS):.3f} | {min(errors):.3f} | "
            f"{max(errors):.3f} | {np.mean(leads):+.1f} |",
            flush=True,
        )


def digits() -> tuple[Any, list[str]]:
    """Noisy images of digits as rows of numbers."""
    from sklearn.datasets import load_digits

    found = load_digits()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(found.target))
    X = (found.data + rng.normal(0, 6, found.data.shape)) / 16
    return X[order].astype(np.float32), [str(t) for t in found.target[order]]


def defaults() -> Iterator[tuple[str, Callable[[], Decided]]]:
    from chaffinch import Classifier, Tagger
    from chaffinch.corpus import read_table

    def classifier(data: Corpus) -> Decided:
        return documents(Classifier().fit(*data.train), *data.test)

    for name in ("trec", "trec fine", "sst5", "20news", "topics", "reviews", "names"):
        yield name, lambda name=name: classifier(CORPORA[name]())

    def tagger(train: Any, held: Any, decided: Callable[[Any, Any], Decided] = tags) -> Decided:
        return decided(Tagger().fit(train), held)

    yield "posts sample", lambda: tagger(table_of("posts", "train"), table_of("posts", "test", 4000))
    yield (
        "ingredients sample",
        lambda: tagger(table_of("ingredients", "train"), table_of("ingredients", "test")),
    )
    for name, folder in (("WNUT", "wnut17"), ("Spanish", "conll2002_es")):
        parts = (corpus(f"{folder}/train.tsv"), corpus(f"{folder}/dev.tsv"))
        yield f"{name} dev", lambda parts=parts: tagger(*map(read_table, parts))
        yield f"{name} dev, tokens", lambda parts=parts: tagger(*map(read_table, parts), tokens)


def main(wanted: list[str]) -> None:
    what = {"recipes": recipes, "defaults": defaults}
    if wanted[0] == "cuts":
        cuts(wanted[1:])
        return
    print(HEAD)
    for name, measure in what[wanted[0]]():
        if len(wanted) == 1 or any(part in name for part in wanted[1:]):
            try:
                print(row(name, measure()), flush=True)
            except Exception as fault:  # the row reports it, and the others follow
                print(f"| {name} | {type(fault).__name__}: {fault} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
