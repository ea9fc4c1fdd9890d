"""Repeat the measurements of perceptrons.md and write its tables: ``python docs/run_perceptrons.py [TABLE...]``.

The corpora are those of the benchmarks. Settings are the defaults; any other was chosen on training or dev sentences.
Times are CPU seconds of one thread.
"""

import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.corpora import corpus

from chaffinch.corpus import read_table
from chaffinch.estimators import Tagger
from chaffinch.evaluate import score_tags
from chaffinch.lab.size_search import file_size, smallest
from chaffinch.recipes.incremental_search import BeamTagger, EasiestFirstTagger, Greedy
from chaffinch.recipes.perceptron import MiraTagger, StructuredPerceptron
from chaffinch.text.table import TokenTable

PAGE = Path(__file__).parent / "perceptrons.md"
T_975 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # Student's t by the number of seeds
RECIPES = {
    "greedy": Greedy(),
    "easiest-first": EasiestFirstTagger(),
    "beam, width 8": BeamTagger(),
    "structured perceptron, Viterbi": StructuredPerceptron(),
    "MIRA, Viterbi": MiraTagger(),
}
SHOWN = {"sentence_accuracy": "sentences", "token_accuracy": "words", "span.micro.f1": "chunk F1"}
CHOICES = {
    "greedy, perceptron": Greedy(rule="perceptron"),
    "greedy, margins": Greedy(),
    "easiest-first, perceptron, global update, by score": EasiestFirstTagger(
        rule="perceptron", update="global", ease="score"
    ),
    "easiest-first, perceptron, local update, by margin": EasiestFirstTagger(rule="perceptron"),
    "easiest-first, margins, global update, by score": EasiestFirstTagger(update="global", ease="score"),
    "easiest-first, margins, local update, by margin": EasiestFirstTagger(),
}


def main() -> None:
    """Rewrite the named tables, or all."""
    for name in sys.argv[1:] or TABLES:
        text = PAGE.read_text(encoding="utf-8")
        made = TABLES[name]()
        pattern = rf"(?s)(<!-- {name} -->\n).*?(<!-- end -->)"
        if not re.search(pattern, text):
            raise SystemExit(f"{PAGE.name} has no place for the table {name!r}")
        PAGE.write_text(re.sub(pattern, lambda m, t=made: m[1] + t + "\n" + m[2], text), encoding="utf-8")
        sys.stdout.write(made + "\n\n")


def ingredients() -> str:
    """Five ways to search and learn, with the same features and the corpus's own split."""
    train, test = _ingredients()
    gold, rows = test.lists("y"), []
    for name, config in RECIPES.items():
        words, sentences, whole, epoch, tokens_per_s = [], [], math.inf, math.inf, 0.0
        for seed in range(2):
            ends = [time.process_time()]
            tagger = Tagger(config, features="ingredients", folds=0, seed=seed, threads=1)
            tagger.fit(train, on_epoch=lambda _, ends=ends: ends.append(time.process_time()) is None)
            whole = min(whole, time.process_time() - ends[0])
            epoch = min(epoch, (ends[-1] - ends[1]) / (len(ends) - 2))
            scores = score_tags(gold, tagger.predict(test)).as_dict()
            words.append(100 * scores["token_accuracy"])
            sentences.append(100 * scores["sentence_accuracy"])
            tokens_per_s = max(tokens_per_s, _speed(tagger, test))
        sys.stderr.write(f"{name} {words} {sentences} {epoch} {whole} {tokens_per_s}\n")
        rows.append(
            [
                name,
                _mean(words),
                _mean(sentences),
                f"{epoch:.2f}",
                f"{whole:.1f}",
                f"{file_size(tagger) / 1024:,.0f}",
                f"{tokens_per_s / 1000:,.0f}",
            ]
        )
    head = ["", "words %", "sentences %", "epoch s", "10 epochs from text, s", "KB", "thousand tokens/s"]
    return _table(head, rows)


def greedy_and_easiest_first() -> str:
    """Paired by seed, on three corpora."""
    rows = [
        *_paired("ingredients", *_ingredients(), ("token_accuracy", "sentence_accuracy"), "ingredients"),
        *_paired("CoNLL-2000", *_chunks(), ("span.micro.f1",), None),
        *_paired("EWT, xpos", *_ewt("test"), ("token_accuracy",), "pos"),
    ]
    return _table(
        ["corpus", "score", "greedy", "easiest-first", "difference, 95 % interval over 3 seeds"], rows
    )


def choices() -> str:
    """How the defaults were chosen: on held-out sentences, none of them of a test split."""
    corpora: list[tuple[str, tuple[TokenTable, TokenTable], str, str | None]] = [
        ("ingredients, sentences", _tenth(_ingredients()[0]), "sentence_accuracy", "ingredients"),
        ("CoNLL-2000, F1", _tenth(_chunks()[0]), "span.micro.f1", None),
        ("EWT dev, words", _ewt("dev"), "token_accuracy", "pos"),
    ]
    rows = [[name] for name in CHOICES]
    for _, (train, held_out), score, features in corpora:
        for row, config in zip(rows, CHOICES.values(), strict=True):
            row.append(_mean(_scores(config, train, held_out, [score], features, range(2))[:, 0]))
    return _table(["", *(name for name, *_ in corpora)], rows)


def chunking() -> str:
    """CoNLL-2000, test F1."""
    train, test = _chunks()
    plain = StructuredPerceptron(margin=0.0, inside="as given", constraints=False)
    asked = [
        ("structured perceptron without margin, the 19 templates, BIO", plain, "chunking19"),
        ("structured perceptron, our features, BIOES inside", StructuredPerceptron(), "chunking"),
        ("MIRA, our features, BIOES inside", MiraTagger(), "chunking"),
    ]
    rows = [
        [name, _mean(_scores(config, train, test, ["span.micro.f1"], features, range(3))[:, 0])]
        for name, config, features in asked
    ]
    return _table(["CoNLL-2000, ten epochs", "F1, 3 seeds"], rows)


def small() -> str:
    """At most 300 KB, found on a tenth of the training split, scored on the test split."""
    whole, test = _ingredients()
    train, dev = _tenth(whole)
    tagger = Tagger(EasiestFirstTagger(), features="ingredients", folds=0, threads=1).fit(train, dev=dev)

    def score(made: Tagger) -> dict[str, float]:
        found = score_tags(dev.lists("y"), made.predict(dev)).as_dict()
        return {"words": found["token_accuracy"], "sentences": found["sentence_accuracy"]}

    found = smallest(tagger, 300 * 1024, score)
    rows = [
        [
            f"{p.bytes / 1024:,.0f}",
            f"{p.weights:,}",
            str(p.bits),
            f"{100 * p.scores['words']:.2f}",
            f"{100 * p.scores['sentences']:.2f}",
        ]
        for p in found.curve
    ]
    scores = score_tags(test.lists("y"), found.estimator.predict(test)).as_dict()
    kept = (
        f"\n\nKept: {file_size(found.estimator) / 1024:,.0f} KB; on the test split "
        f"{100 * scores['token_accuracy']:.2f} % of words and {100 * scores['sentence_accuracy']:.2f} % of sentences."
    )
    return _table(["KB", "weights", "bits", "words %", "sentences %"], rows) + kept


TABLES: dict[str, Callable[[], str]] = {
    "ingredients": ingredients,
    "greedy_and_easiest_first": greedy_and_easiest_first,
    "choices": choices,
    "chunking": chunking,
    "small": small,
}


def _ingredients() -> tuple[TokenTable, TokenTable]:
    return read_table(corpus("ingredients/train.tsv.gz")), read_table(corpus("ingredients/test.tsv.gz"))


def _chunks() -> tuple[TokenTable, TokenTable]:
    return read_table(corpus("conll2000/train.tsv")), read_table(corpus("conll2000/test.tsv"))


def _ewt(part: str) -> tuple[TokenTable, TokenTable]:
    made = []
    for name in ("train", part):
        table = read_table(corpus(f"ud_english_ewt/en_ewt-ud-{name}.conllu.gz"), label="xpos")
        made.append(TokenTable(table.ptr, {c: table.columns[c] for c in ("w", "y")}))
    return made[0], made[1]


def _tenth(table: TokenTable) -> tuple[TokenTable, TokenTable]:
    """Nine sentences of ten, and every tenth."""
    held_out = np.arange(table.n_sentences) % 10 == 9

    def part(keep: Any) -> TokenTable:
        lists = {name: table.lists(name) for name in table.columns}
        return TokenTable.from_lists(
            {name: [s for s, k in zip(rows, keep, strict=True) if k] for name, rows in lists.items()}
        )

    return part(~held_out), part(held_out)


def _paired(
    name: str, train: TokenTable, test: TokenTable, scores: Sequence[str], features: str | None
) -> list[list[str]]:
    seeds = range(3)
    greedy, easiest = (
        _scores(c, train, test, scores, features, seeds) for c in (Greedy(), EasiestFirstTagger())
    )
    rows = []
    for i, score in enumerate(scores):
        gaps = easiest[:, i] - greedy[:, i]
        half = T_975[len(gaps)] * float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
        middle = float(gaps.mean())
        interval = f"{middle:+.2f} [{middle - half:+.2f}, {middle + half:+.2f}]"
        rows.append(
            [name, SHOWN[score], f"{greedy[:, i].mean():.2f}", f"{easiest[:, i].mean():.2f}", interval]
        )
    return rows


def _scores(
    config: Any,
    train: TokenTable,
    test: TokenTable,
    scores: Sequence[str],
    features: str | None,
    seeds: Iterable[int],
) -> Any:
    """Per cent: [seeds, scores]."""
    gold, found = test.lists("y"), []
    for seed in seeds:
        tagger = Tagger(config, features=features, folds=0, seed=seed, threads=1).fit(train)
        made = score_tags(gold, tagger.predict(test)).as_dict()
        found.append([100 * made[score] for score in scores])
        sys.stderr.write(f"{config} {seed} {found[-1]}\n")
    return np.array(found)


def _speed(tagger: Tagger, test: TokenTable) -> float:
    """Tokens tagged per second, from lists of strings."""
    lists = {name: test.lists(name) for name in test.columns if name != "y"}
    spent = []
    for _ in range(3):
        began = time.process_time()
        tagger.predict(lists)
        spent.append(time.process_time() - began)
    return test.n_tokens / min(spent)


def _mean(values: Any) -> str:
    return f"{np.mean(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
