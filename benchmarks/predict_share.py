"""Speed of `chaffinch predict` on one core, as a share of the library's own without reading and writing, by format.

    python -m benchmarks.predict_share                    every row, about 2 minutes
    python -m benchmarks.predict_share --only conllu      rows whose name holds this
    python -m benchmarks.predict_share --rounds 21 --out shares.jsonl

Command and library answer the same generated sentences or documents in turn, in this process, with one thread. The
library has them in memory as its fastest function takes them: texts as a list of strings for ``Classifier.answers``,
sentences as a token table for ``decode``, whose words have numbers already. The last column compares the command with
what most programs call instead, ``Tagger.predict`` of lists of words. The command reads a file and writes one
(``predict_file``). All are CPU seconds; a share is the median of the ratios of the rounds, with its 95% bootstrap
interval. Files are in a folder of temporary files.
"""

import argparse
import csv
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.generate_corpus import documents, sentences
from benchmarks.machine import commit, machine
from benchmarks.ratio import Ratio, paired_ratio

DOCUMENTS, TOKENS = 200_000, 300_000
LEARNED = 20_000  # documents, and as many sentences, from which models are trained
BAR = 0.8
TEMPLATES = ["w[0]", "w[-1]", "w[1]", "suffix3[0]"]


@dataclass(frozen=True)
class Case:
    """One row: a model, the file that the command reads and the one that it writes, and the library's calls."""

    name: str
    model: Any
    given: Path
    output: Path
    library: Callable[[], Any]
    units: int
    lists: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Share:
    """CPU seconds of each round."""

    name: str
    units: int
    command_s: list[float]
    library_s: list[float]
    lists_s: list[float]

    @property
    def ratio(self) -> Ratio:
        """The library's time by that of the command."""
        return paired_ratio(self.command_s, self.library_s)

    def shown(self) -> str:
        """The row of the table."""
        r, least = self.ratio, min(self.library_s)
        missed = "" if r.median >= BAR else f"  below {100 * BAR:.0f} %"
        lists = ""
        if self.lists_s:
            lists = f"  {100 * paired_ratio(self.command_s, self.lists_s).median:5.0f} % of lists"
        return (
            f"{self.name:44s} {100 * r.median:5.1f} % [{100 * r.low:.1f}, {100 * r.high:.1f}]"
            f"{min(self.command_s):9.3f} s {least:9.3f} s {self.units / least / 1e6:7.2f} million/s{lists}{missed}"
        )


def document_cases(folder: Path, count: int) -> Iterator[Case]:
    """A linear classifier of words for two labels: texts, CSV, CSV with quoted texts, JSON lines."""
    from chaffinch import Classifier

    source = folder / "documents.csv"
    documents(count, source)
    with source.open(newline="", encoding="utf-8") as stream:
        rows = [(str(int(label[5:]) % 2), text) for label, text in list(csv.reader(stream))[1:]]
    texts = [text for _, text in rows]
    model = Classifier("nb", features="words", calibrate=False, threads=1)
    model.fit(texts[:LEARNED], [label for label, _ in rows[:LEARNED]])
    files = {
        "text": ("in.txt", (f"{text}\n" for text in texts)),
        "csv": ("in.csv", ["id,text\n", *(f"{n},{text}\n" for n, text in enumerate(texts))]),
        "csv, quoted": ("quoted.csv", ["id,text\n", *(f'{n},"{text}"\n' for n, text in enumerate(texts))]),
        "jsonl": ("in.jsonl", (json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts))),
    }
    for name, (file, lines) in files.items():
        (folder / file).write_text("".join(lines), encoding="utf-8")
        for end in ("jsonl",) if name == "jsonl" else ("csv", "jsonl") if name == "text" else ("csv",):
            output = folder / f"answers.{end}"
            yield Case(
                f"{name} into {end}", model, folder / file, output, lambda: model.answers(texts), count
            )


def sentence_cases(folder: Path, tokens: int) -> Iterator[Case]:
    """An HMM, a CRF with the default features and one of four templates: columns, CoNLL-U, JSON lines of tokens."""
    from chaffinch import Tagger
    from chaffinch.text.table import TokenTable

    source = folder / "sentences.tsv"
    sentences(tokens, source)
    cut = [part.split("\n") for part in source.read_text(encoding="utf-8").split("\n\n") if part.strip()]
    rows = [[line.split("\t") for line in part if line] for part in cut]
    words, tags = ([[row[c] for row in sentence] for sentence in rows] for c in (0, 1))
    files = {
        "columns": ("in.conll", "tagged.conll", map(_as_column, words)),
        "conllu": ("in.conllu", "tagged.conllu", map(_as_conllu, enumerate(words, 1))),
        "jsonl of tokens": (
            "tokens.jsonl",
            "tagged.jsonl",
            (json.dumps({"tokens": w}) + "\n" for w in words),
        ),
    }
    for file, _, lines in files.values():
        (folder / file).write_text("".join(lines), encoding="utf-8")
    table = TokenTable.from_lists({"w": words})
    models = {
        "hmm": Tagger("hmm", threads=1),
        "crf": Tagger("crf", features="default", folds=0, threads=1),
        "four templates": Tagger("perceptron", features=TEMPLATES, folds=0, threads=1),
    }
    learned = LEARNED // 10
    for recipe, model in models.items():
        model.fit(words[:learned], tags[:learned])
        for name, (file, out, _) in files.items():
            yield Case(
                f"{name}, {recipe}",
                model,
                folder / file,
                folder / out,
                lambda model=model: model.answering().decode(table, 1),
                table.n_tokens,
                lambda model=model: model.predict(words),
            )


def _as_column(words: list[str]) -> str:
    return "".join(f"{word}\n" for word in words) + "\n"


def _as_conllu(numbered: tuple[int, list[str]]) -> str:
    """Ten columns, filled about as far as those of a treebank."""
    number, words = numbered
    lines = [f"# sent_id = generated-{number:05d}", f"# text = {' '.join(words)}"]
    for t, word in enumerate(words, 1):
        cells = (
            str(t),
            word,
            word.lower(),
            "_",
            "_",
            "Number=Sing",
            str(t - 1),
            "nmod",
            f"{t - 1}:nmod",
            "_",
        )
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n\n"


def measured(case: Case, rounds: int) -> Share:
    """Both in turn, after a run of each that does not count."""
    from chaffinch.kinds import kind_of_model
    from chaffinch.kinds.requests import PredictRequest
    from chaffinch.kinds.streaming import predict_file

    kind = kind_of_model(case.model)
    request = PredictRequest(data=case.given, output=case.output, threads=1)
    command_s, library_s, lists_s = [], [], []
    for n in range(rounds + 1):
        begun = time.process_time()
        predict_file(kind, case.model, request)
        between = time.process_time()
        case.library()
        if n > 0:
            command_s.append(between - begun)
            library_s.append(time.process_time() - between)
        if case.lists is not None:
            begun = time.process_time()
            case.lists()
            if n > 0:
                lists_s.append(time.process_time() - begun)
    return Share(case.name, case.units, command_s, library_s, lists_s)


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def main() -> int:
    """Measure the requested rows; 1 if one is below the bar."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--only", default="", help="rows whose name holds this")
    asked.add_argument("--rounds", type=int, default=7)
    asked.add_argument("--documents", type=int, default=DOCUMENTS)
    asked.add_argument("--tokens", type=int, default=TOKENS)
    asked.add_argument("--folder", type=Path, help="keep the files here")
    asked.add_argument("--out", type=Path, help="append the measurements as a line of JSON")
    given = asked.parse_args()
    m, (head, _) = machine(), commit()
    print(f"{m['cpu']}, {m['architecture']}, commit {head}, {given.rounds} rounds")
    print(f"{'':44s} {'share':>5s}  [95 %]{'command':>17s} {'library':>11s} {'library':>9s}")
    found: list[Share] = []
    with _folder(given.folder) as folder:
        for cases in (document_cases(folder, given.documents), sentence_cases(folder, given.tokens)):
            for case in cases:
                if given.only in case.name:
                    found.append(measured(case, given.rounds))
                    print(found[-1].shown(), flush=True)
    if given.out is not None:
        with given.out.open("a") as stream:
            rows = [vars(share) | {"share": share.ratio.median} for share in found]
            stream.write(json.dumps({"machine": m, "commit": head, "rows": rows}) + "\n")
    return int(any(share.ratio.median < BAR for share in found))


if __name__ == "__main__":
    if "OPENBLAS_NUM_THREADS" not in os.environ:  # before NumPy reads it
        os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.predict_share", *sys.argv[1:]])
    sys.exit(main())
