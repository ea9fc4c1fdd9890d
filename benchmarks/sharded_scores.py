"""The effect of training in shards on the scores: CoNLL-2000 and 20 newsgroups, in memory and in 8 shards.

    python -m benchmarks.sharded_scores           the table, about 3 minutes on 2 cores
    python -m benchmarks.sharded_scores --write   the table into docs/scale.md

Every recipe has the same features and settings both times. CPU seconds are those of the training, workers included.
"""

import argparse
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.corpora import corpus
from benchmarks.engines import SHARDS, WORKERS, timed
from benchmarks.labelled import NEWS, texts

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"
MARK = re.compile(r"(<!-- sharded scores -->\n).*?(<!-- end -->)", re.DOTALL)
HEAD = ["recipe", "data", "", "score", "objective", "passes", "CPU s"]
TAGGERS: dict[str, dict[str, Any]] = {
    "crf": {"features": "chunking19"},
    "perceptron": {"features": "chunking19"},
    "hmm": {},
}


def tagged(recipe: str, sentences: int | None) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    """How a tagger of CoNLL-2000 is made and fitted, and its span F1 on the test part."""
    from chaffinch import Tagger
    from chaffinch.corpus import read_table
    from chaffinch.evaluate import score_tags

    train, test = (read_table(corpus(f"conll2000/{part}.tsv")) for part in ("train", "test"))
    gold = test.lists("y")

    def f1(tagger: Any) -> float:
        span = score_tags(gold, tagger.predict(test)).span
        assert span is not None
        return 100 * span.micro.f1

    def made() -> Any:
        tagger = Tagger(recipe, folds=0, threads=1, **TAGGERS[recipe])
        table = train if sentences is None else train.taken(range(sentences))
        return tagger, lambda: tagger.fit(table)

    return made, f1


def classified(documents: int | None) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    """The same for a classifier of 20 newsgroups: accuracy on the test part."""
    from chaffinch import Classifier

    (train, labels), (test, gold) = texts(NEWS[0]), texts(NEWS[1])
    step = 1 if documents is None else max(1, len(train) // documents)

    def accuracy(model: Any) -> float:
        return 100 * sum(a == b for a, b in zip(model.predict(test), gold, strict=True)) / len(gold)

    def made() -> Any:
        model = Classifier("logistic", calibrate=False, threads=1)
        return model, lambda: model.fit(train[::step], labels[::step])

    return made, accuracy


def rows(made: Callable[[], Any], score: Callable[[Any], float], recipe: str, data: str) -> list[list[str]]:
    """A row in memory and a row in shards."""
    from chaffinch.engines import Processes
    from chaffinch.learners.shards import Sharding

    found = []
    for engine in (None, Processes(WORKERS)):
        model, fit = made()
        with tempfile.TemporaryDirectory() as folder:
            if engine is not None:
                model.sharding = Sharding(engine, Path(folder), SHARDS)

            def work(fit: Callable[[], Any] = fit, engine: Any = engine) -> None:
                fit()
                if engine is not None:
                    engine.close()

            _, cpu = timed(work)
        history = model.history_
        objective = history[-1].scores.get("objective") if history else None
        how = (
            "in memory"
            if engine is None
            else f"{SHARDS} shards" + ("" if model.shards_["exact"] else ", approximate")
        )
        told = "" if objective is None else f"{objective:,.1f}"
        found.append([recipe, data, how, f"{score(model):.2f}", told, str(len(history)), f"{cpu:.1f}"])
        print(*found[-1], sep="\t", flush=True)
    return found


def main() -> None:
    """Measure, print, and write the table if asked."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--write", action="store_true", help="write the table into docs/scale.md")
    asked.add_argument("--most", type=int, help="this many training examples at most")
    asked.add_argument("--only", choices=(*TAGGERS, "logistic"))
    given = asked.parse_args()
    table: list[list[str]] = []
    for recipe in TAGGERS:
        if given.only in (None, recipe):
            table += rows(*tagged(recipe, given.most), recipe, "CoNLL-2000, span F1")
    if given.only in (None, "logistic"):
        table += rows(*classified(given.most), "logistic", "20 newsgroups, accuracy")
    lines = [f"| {' | '.join(row)} |" for row in (HEAD, ["---"] * len(HEAD), *table)]
    text = "\n".join(lines) + "\n"
    print(text)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(MARK.sub(lambda found: found[1] + text + found[2], page), encoding="utf-8")


if __name__ == "__main__":
    main()
