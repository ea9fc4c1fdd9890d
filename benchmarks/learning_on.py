"""Learning on: the cost of a correction, whether it is right afterwards, and the other answers it changes.

    python -m benchmarks.learning_on CORPUS SIZE [SIZE ...] [--loaded] [--recipe NAME] [--corrections N]

For each size: a model of that number of sentences (documents); then corrections of held-out ones that it gets wrong,
each applied ten times, on copies of the same model. Also: ten parts learnt one after the other against one training on
all, and a correction that was learnt before. CPU seconds of one thread.
"""

import argparse
import copy
import time
from typing import Any

import numpy as np

from benchmarks.corpora import corpus
from benchmarks.defaults_documents import CORPORA, cut

TAGGED = {"ingredients": "ingredients/{}.tsv.gz", "conll2000": "conll2000/{}.tsv"}
CORRECTIONS = 5
WATCHED = 2500


def sentences(name: str) -> tuple[Any, Any]:
    from chaffinch.corpus import read_table

    train, test = (read_table(corpus(TAGGED[name].format(part))) for part in ("train", "test"))
    return train, test.of_sentences(np.arange(test.n_sentences) < WATCHED)


def first(table: Any, n: int) -> Any:
    return table.of_sentences(np.arange(table.n_sentences) < n)


def nth(table: Any, n: int) -> Any:
    return table.of_sentences(np.arange(table.n_sentences) == n)


def timed(run: Any) -> tuple[Any, float]:
    start = time.process_time()
    made = run()
    return made, time.process_time() - start


def twin(model: Any, loaded: bool) -> Any:
    """The same estimator; loaded: as a file would give it back, without its memory."""
    if loaded:
        return copy.copy(model)
    made = object.__new__(type(model))
    vars(made).update(vars(model))
    return made


class Sentences:
    """Taggers of a corpus."""

    def __init__(self, name: str, recipe: str | None) -> None:
        self.train, self.held = sentences(name)
        self.recipe = None if recipe == "default" else recipe

    def trained(self, n: int) -> Any:
        from chaffinch import Tagger

        return Tagger(self.recipe, folds=0, threads=1).fit(first(self.train, n))

    def lesson(self, n: int) -> Any:
        return (nth(self.held, n),)

    def piece(self, a: int, b: int) -> Any:
        at = np.arange(self.train.n_sentences)
        return (self.train.of_sentences((at >= a) & (at < b)),)

    def answers(self, model: Any) -> list[Any]:
        return list(model.predict(self.held))

    def gold(self) -> list[Any]:
        return self.held.lists("y")

    def score(self, model: Any) -> float:
        return float(model.score(self.held))


class Texts:
    """Classifiers of a corpus."""

    def __init__(self, name: str, recipe: str | None) -> None:
        data = CORPORA[name]()
        self.recipe = None if recipe == "default" else recipe or "ridge"
        # In random order: a file may be sorted by label.
        (self.train,) = cut(*data.train, len(data.train[0]))
        (self.held,) = cut(*data.test, WATCHED)

    def trained(self, n: int) -> Any:
        from chaffinch import Classifier

        return Classifier(self.recipe, threads=1).fit(self.train[0][:n], self.train[1][:n])

    def lesson(self, n: int) -> Any:
        return [self.held[0][n]], [self.held[1][n]]

    def piece(self, a: int, b: int) -> Any:
        return self.train[0][a:b], self.train[1][a:b]

    def answers(self, model: Any) -> list[Any]:
        return list(model.predict(self.held[0]).tolist())

    def gold(self) -> list[Any]:
        return list(self.held[1])

    def score(self, model: Any) -> float:
        return float(model.score(*self.held))


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", choices=[*TAGGED, *CORPORA])
    parser.add_argument(
        "sizes", nargs="+", type=int, metavar="SIZE", help="sentences or documents to train on"
    )
    parser.add_argument(
        "--loaded", action="store_true", help="the model comes from a file: it has only weights"
    )
    parser.add_argument(
        "--recipe", action="append", help="a recipe, or default for the choice without a setting; repeatable"
    )
    parser.add_argument("--corrections", type=int, default=CORRECTIONS, help="number of corrections")
    return parser.parse_args(given)


def main() -> None:
    asked = arguments()
    name, sizes, loaded, corrections = asked.corpus, asked.sizes, asked.loaded, asked.corrections
    recipes = asked.recipe or [None]
    print(
        "| corpus | size | training s | correction s | ten times s | worst fall | right | changed % | taught twice |"
        " ten parts | all at once |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for recipe, n in [(recipe, n) for recipe in recipes for n in sizes]:
        data: Any = (Texts if name in CORPORA else Sentences)(name, recipe)
        model, cost = timed(lambda n=n, data=data: data.trained(n))
        before, score, gold = data.answers(model), data.score(model), data.gold()
        wrong = [i for i, (a, b) in enumerate(zip(before, gold, strict=True)) if a != b]
        chosen = [wrong[len(wrong) * k // corrections] for k in range(corrections)]
        costs, tens, falls, changed, right, again = [], [], [], [], 0, 0
        for i in chosen:
            one = twin(model, loaded)
            _, took = timed(lambda one=one, i=i, data=data: one.partial_fit(*data.lesson(i)))
            costs.append(took)
            once = data.answers(one)
            changed.append(sum(a != b for k, (a, b) in enumerate(zip(before, once, strict=True)) if k != i))
            _, took = timed(
                lambda one=one, i=i, data=data: [one.partial_fit(*data.lesson(i)) for _ in range(9)]
            )
            tens.append(took)
            after = data.answers(one)
            right += after[i] == gold[i]
            falls.append(score - data.score(one))
            held = one.model_
            again += one.partial_fit(*data.lesson(i)).model_ is not held
        parts, whole = "", ""
        if n == sizes[-1]:
            grown = data.trained(n // 10)
            for k in range(1, 10):
                grown.partial_fit(*data.piece(k * n // 10, (k + 1) * n // 10))
            parts, whole = f"{100 * data.score(grown):.2f}", f"{100 * score:.2f}"
        shown = f"{name}, {recipe}" if recipe else name
        print(
            f"| {shown} | {n:,} | {cost:.2f} | {np.median(costs):.2f} (most {max(costs):.2f}) | "
            f"{np.median(tens):.2f} | {100 * max(falls):+.3f} | {right} of {len(chosen)} | "
            f"{100 * np.median(changed) / len(gold):.2f} (most {100 * max(changed) / len(gold):.2f}) | "
            f"{again} changed | {parts} | {whole} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
