"""The cost of a correction on the server: until it is answered, learnt, and its effects are listed.

    python -m benchmarks.serve_learning [--sentences 2000] [--pool 20000] [--corrections 200]

A CRF of the first sentences of CoNLL-2000's training part is served beside its training data and a pool. Sentences
after them that it gets wrong are corrected: some beside the pool, then all of them one by one without it. Then the
model is compared with a full training on the same sentences, on sentences that neither has seen. By the clock: the
machine must be quiet.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.corpora import corpus
from benchmarks.serve_bars import Row, printed
from benchmarks.serve_load import cpu_seconds

BESIDE_THE_POOL = 8
HELD_OUT = 2000
STARTS_WITHIN = 240.0  # seconds

Sentence = tuple[list[str], list[str]]


def sentences() -> list[Sentence]:
    """Words and chunk tags."""
    found: list[Sentence] = []
    words: list[str] = []
    tags: list[str] = []
    for line in [*corpus("conll2000/train.tsv").read_text().splitlines(), ""]:
        if line:
            cells = line.split("\t")
            words.append(cells[0])
            tags.append(cells[-1])
        elif words:
            found.append((words, tags))
            words, tags = [], []
    return found


def pieces(of: list[Sentence], n: int) -> list[str]:
    """Different texts: sentences, then their beginnings of every length."""
    made: dict[str, None] = {}
    for share in (1.0, 0.5, 0.75, 0.25):
        for words, _ in of:
            made[" ".join(words[: max(3, int(share * len(words)))])] = None
    return list(made)[:n]


def ready(server: Any) -> None:
    """Wait for the full training with which a server with --train begins."""
    end = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < end:
        versions = server.ask("/models")[1]["models"][0]["versions"]
        if any(v["note"].startswith("trained on all data") for v in versions):
            return
        time.sleep(0.5)
    raise SystemExit("the full training did not end in time")


def corrected(server: Any, one: Sentence) -> tuple[float, float, float, float, bool]:
    """Correct a sentence and learn it: seconds of learning and of the request, its CPU seconds, the gap, if pinned."""
    words, tags = one
    status, answer = server.ask("/corrections", {"tokens": words, "tags": tags})
    assert status == 200, answer
    (found,) = server.ask("/predict", {"tokens": words})[1]["results"]
    pinned = found["pinned"] and found["tags"] == tags
    begun, cpu = time.perf_counter(), cpu_seconds(server.process.pid)
    status, answer = server.ask("/learn", {})
    assert status == 200, answer
    took, used = time.perf_counter() - begun, cpu_seconds(server.process.pid) - cpu
    return answer["seconds"], took, used, answer.get("gap", 0.0), pinned


def right(answers: list[list[str]], gold: list[list[str]]) -> float:
    """The share of tokens with the right tag, in percent."""
    pairs = [a == b for own, true in zip(answers, gold, strict=True) for a, b in zip(own, true, strict=True)]
    return 100 * float(np.mean(pairs))


def measured(given: argparse.Namespace) -> Iterator[list[Row]]:
    """Rows of the table, as they are measured."""
    from tests.page.serving import Process, write_columns

    from chaffinch import Tagger

    every = sentences()
    train, later = every[: given.sentences], every[given.sentences :]
    held = later[-HELD_OUT:]
    model = Tagger("crf", folds=0, threads=1).fit([w for w, _ in train], [y for _, y in train])
    answers = model.predict([words for words, _ in later[:-HELD_OUT]])
    wrong = [one for one, tags in zip(later, answers, strict=False) if one[1] != tags]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.save(folder / "chunks.chaff")
        write_columns(folder / "train.conll", [w for w, _ in train], [y for _, y in train])
        (folder / "pool.txt").write_text("".join(f"{text}\n" for text in pieces(every, given.pool)))
        start = [folder / "chunks.chaff", "--train", folder / "train.conll", "--retrain-after", 3600]
        with Process(*start, "--data", folder / "pool.txt", "--journal", folder / "a") as server:
            ready(server)
            server.ask("/rows?count=1")  # the pool is answered once
            told = [corrected(server, one) for one in wrong[:BESIDE_THE_POOL]]
        learnt, listed, used, gaps, pinned = zip(*told, strict=True)
        yield [
            ("corrected texts answered so at once, %", 100 * float(np.mean(pinned)), "100", lambda v: v == 100),
            (f"learnt beside {given.sentences:,} sentences, s, median", median(learnt), "< 0.5", lambda v: v < 0.5),
            ("the same, s, most", max(learnt), "", lambda _: True),
            ("duality gap after it, most", max(gaps), "<= 0.001", lambda v: v <= 0.001),
            (f"changed rows of {given.pool:,} listed, s, median", median(listed), "< 2", lambda v: v < 2),
            ("the same, s, most", max(listed), "< 2", lambda v: v < 2),
            ("CPU seconds of both, median", median(used), "", lambda _: True),
        ]  # fmt: skip
        lessons = wrong[: given.corrections]
        with Process(*start, "--journal", folder / "b") as server:
            ready(server)
            times = [corrected(server, one)[0] for one in lessons]
            asked = {"sentences": [words for words, _ in held], "probabilities": False}
            one_by_one = [r["tags"] for r in server.ask("/predict", asked)[1]["results"]]
    whole = Tagger("crf", folds=0, threads=1).fit(
        [w for w, _ in train + lessons], [y for _, y in train + lessons]
    )
    gold = [tags for _, tags in held]
    scores = [right(found, gold) for found in (one_by_one, whole.predict([words for words, _ in held]))]
    yield [
        (f"each of {len(lessons)} corrections one by one, s, median", median(times), "< 0.5", lambda v: v < 0.5),
        ("the same, s, 95 of 100", float(np.quantile(times, 0.95)), "< 0.5", lambda v: v < 0.5),
        ("the same, s, most", max(times), "", lambda _: True),
        (f"token accuracy after {len(lessons)} corrections one by one, %", scores[0], "", lambda _: True),
        ("token accuracy of a full training, %", scores[1], "", lambda _: True),
        ("difference in points", abs(scores[0] - scores[1]), "< 0.1", lambda v: v < 0.1),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--pool", type=int, default=20_000)
    parser.add_argument("--corrections", type=int, default=200)
    for rows in measured(parser.parse_args()):
        printed(rows)


if __name__ == "__main__":
    main()
