"""Token tags as outputs to score: read from columns, checked word by word, with their confusions."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus import detect, read, read_table
from chaffinch.corpus.lines import lines
from chaffinch.errors import DataError
from chaffinch.evaluate.intervals import Comparison, compare
from chaffinch.evaluate.mistakes import NONE, ErrorSentence, ErrorType, Pieces, marked, paired
from chaffinch.evaluate.outputs import Classes, Confusions, Outputs, Rules, has_tags, probability
from chaffinch.evaluate.rates import Rates
from chaffinch.evaluate.reliability import Confidences
from chaffinch.evaluate.tags import TagPair, TagScorer, TagScores
from chaffinch.evaluate.tally import Tally
from chaffinch.files import STDIO, display_name
from chaffinch.text.document import LABEL, WORD
from chaffinch.text.table import Column, TokenTable

CONLLU = "conllu"
NOTHING = "_"  # a cell without a probability
SURENESS = "Probability="  # in the last column of CoNLL-U
SPANS_NOTE = (
    "Each gold span is paired with the predicted span that shares most words with it; (none) stands for a missed or "
    "spurious span. Spans of the same type may have different bounds."
)
TAGS_NOTE = "Tokens with a wrong tag: gold in rows, predicted in columns."


@dataclass(frozen=True)
class TagOutputs(Outputs):
    """Tokens with gold tags and one or two columns of predicted ones, as ids into one label list."""

    task = "tags"
    sizes = ("sentences", "tokens")
    headline = (
        "span.micro.f1",
        "span.micro.precision",
        "span.micro.recall",
        "span.macro.f1",
        "untyped.f1",
        "token_accuracy",
        "sentence_accuracy",
    )

    names: tuple[str, ...]
    words: Column
    ptr: NDArray[np.int64]
    labels: list[str]
    y: NDArray[np.int32]
    outputs: tuple[NDArray[np.int32], ...]
    sure: NDArray[np.float64] | None = None  # [T], probabilities of the first output's tags; NaN if missing

    @classmethod
    def reads(cls, path: str | Path, format: str | None) -> bool:
        """Whether the file has tags in columns."""
        return has_tags(detect(path, format))

    @classmethod
    def of_files(
        cls, paths: Sequence[str | Path], formats: Sequence[str], told: Sequence[dict[str, Any]]
    ) -> "TagOutputs":
        """Read the files: gold is a column of the first; in a single file, gold comes before the predictions."""
        tables = [read_table(path, f, **more) for path, f, more in zip(paths, formats, told, strict=True)]
        names = tuple(map(display_name, paths))
        gold = tables[0]
        for path, table in zip(paths, tables, strict=True):
            if LABEL not in table.columns:
                raise DataError(f"{display_name(path)}: has no column of tags beside the words")
        for path, table in zip(paths[1:], tables[1:], strict=True):
            _check_same_tokens(paths[0], gold, path, table)
        columns = [table.columns[LABEL] for table in tables]
        sure = _probabilities(tables[min(1, len(tables) - 1)])
        if len(paths) == 1:
            between = [name for name in gold.columns if name not in (WORD, LABEL)]
            if sure is not None:  # gold, probability, prediction
                between.pop()
            if not between:
                raise DataError(
                    f"{names[0]}: has one column of tags; a single file needs two, gold and then predicted, "
                    "or name a second file with the predictions"
                )
            columns.insert(0, gold.columns[between[-1]])
        found = cls.of_columns(names, gold, columns)
        if sure is None and CONLLU in formats[1:2]:
            sure = _conllu_probabilities(paths[1], len(found.y))
        return replace(found, sure=sure)

    @classmethod
    def of_columns(cls, names: tuple[str, ...], words: TokenTable, columns: Sequence[Column]) -> "TagOutputs":
        """Columns of tags, gold first, beside the words of a table."""
        labels = list(dict.fromkeys(tag for column in columns for tag in column.types))
        index = {tag: i for i, tag in enumerate(labels)}
        ids = [np.array([index[t] for t in c.types], dtype=np.int32)[c.ids] for c in columns]
        return cls(names, words.columns[WORD], words.ptr, labels, ids[0], tuple(ids[1:]))

    def scorer(self, rules: Rules) -> TagScorer:
        """The scorer of the labels under these rules."""
        return TagScorer(self.labels, rules.convention, rules.scheme)

    def scored(self, rules: Rules) -> tuple[TagScores, list[Tally]]:
        """Tokens, sentences and spans."""
        scorer = self.scorer(rules)
        tallies = [scorer.tally(self.y, output, self.ptr) for output in self.outputs]
        return scorer.scores_of(tallies[0].sums()), tallies

    def confidences(self) -> Confidences | None:
        """The probability of each token's tag, if the output has a column of them."""
        if self.sure is None:
            return None
        known = ~np.isnan(self.sure)
        return Confidences("tokens", self.sure[known], (self.y == self.outputs[0])[known])

    def convention(self, rules: Rules) -> str | None:
        """The convention of spans."""
        found = self.scorer(rules).rules
        if found is None:
            return None
        return f"{found.name} ({found.scheme})" if found.scheme else found.name

    def classes(self, scores: TagScores) -> Classes:
        """Types of spans; each tag if the tags mark no spans."""
        if scores.span is None:
            return Classes("tag", "tag", self.tag_rates())
        return Classes("type", "span.type", scores.span.types)

    def tag_rates(self) -> dict[str, Rates]:
        """The rates of each tag as a label of tokens, by name."""
        confusion = TagPair(self.labels, self.y, self.outputs[0], self.ptr).confusion
        gold, predicted = confusion.sum(axis=1).tolist(), confusion.sum(axis=0).tolist()
        rows = zip(self.labels, gold, predicted, confusion.diagonal().tolist(), strict=True)
        return {label: Rates.of(g, p, c) for label, g, p, c in sorted(rows) if g or p}

    def confusions(self, scores: TagScores, rules: Rules) -> Confusions:
        """Types of spans, or tags."""
        found, kinds, counts = mistakes(self, self.scorer(rules))
        spans = scores.span is not None
        return Confusions(
            "type" if spans else "tag", kinds, counts, SPANS_NOTE if spans else TAGS_NOTE, found
        )

    def seen(self, train: str | Path) -> dict[str, float]:
        """Token accuracy of the words that occur in the training file, and of the others."""
        known = set(read_table(train).columns[WORD].types)
        seen = np.array([word in known for word in self.words.types], dtype=np.bool_)[self.words.ids]
        right = self.y == self.outputs[0]
        found: dict[str, float] = {}
        for name, chosen in (("seen", seen), ("unseen", ~seen)):
            tokens = int(chosen.sum())
            found[f"{name}.tokens"] = tokens
            found[f"{name}.token_accuracy"] = float(right[chosen].mean()) if tokens else 0.0
        return found

    def sentence(self, n: int) -> list[str]:
        """The words of sentence n."""
        return [self.words.types[i] for i in self.words.ids[self.ptr[n] : self.ptr[n + 1]].tolist()]


def mistakes(
    source: TagOutputs, scorer: TagScorer, kinds: int = 12, examples: int = 2
) -> tuple[list[ErrorType], list[str], NDArray[np.int64]]:
    """The most frequent kinds of error with examples; and the confusions [types, types] with their names."""
    readings = list(_pieces(source, scorer))
    pairs: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for i, (n, gold, predicted) in enumerate(readings):
        length = int(source.ptr[n + 1] - source.ptr[n])
        for a, b, exact in paired(gold, predicted):
            pairs[a, b] += 1
            if not exact:
                shown[a, b].append((length, i))
    wrong = Counter({pair: len(cases) for pair, cases in shown.items()})
    found, used = [], set[int]()
    for (a, b), times in wrong.most_common(kinds):
        # The shortest sentences, except those of only a few words, each sentence once.
        cases = sorted({c for c in shown[a, b] if c[1] not in used}, key=lambda c: (c[0] < 5, c))[:examples]
        used |= {i for _, i in cases}
        found.append(ErrorType(a, b, times, [_example(source, *readings[i]) for _, i in cases]))
    names = [*sorted({name for pair in pairs for name in pair} - {NONE}), NONE]
    index = {name: i for i, name in enumerate(names)}
    confusion = np.zeros((len(names), len(names)), dtype=np.int64)
    for (a, b), times in pairs.items():
        confusion[index[a], index[b]] += times
    return found, names, confusion


def _pieces(source: TagOutputs, scorer: TagScorer) -> Iterator[tuple[int, Pieces, Pieces]]:
    """Sentence, gold spans and predicted spans (type, begin, end), for sentences that have any."""
    if scorer.rules is None:
        yield from _token_pieces(source)
        return
    sides = []
    for ids in (source.y, source.outputs[0]):
        by_sentence: dict[int, Pieces] = defaultdict(list)
        for n, begin, end, kind in zip(*(x.tolist() for x in scorer.spans(ids, source.ptr)), strict=True):
            start = int(source.ptr[n])
            by_sentence[n].append((scorer.types[kind], begin - start, end - start))
        sides.append(by_sentence)
    for n in sorted({*sides[0], *sides[1]}):
        yield n, sides[0].get(n, []), sides[1].get(n, [])


def _token_pieces(source: TagOutputs) -> Iterator[tuple[int, Pieces, Pieces]]:
    """The same for tags that mark no spans: the tokens that differ."""
    wrong = np.flatnonzero(source.y != source.outputs[0])
    sentences = np.searchsorted(source.ptr, wrong, side="right") - 1
    by_sentence: dict[int, tuple[Pieces, Pieces]] = defaultdict(lambda: ([], []))
    for t, n in zip(wrong.tolist(), sentences.tolist(), strict=True):
        at = t - int(source.ptr[n])
        for side, ids in zip(by_sentence[n], (source.y, source.outputs[0]), strict=True):
            side.append((source.labels[ids[t]], at, at + 1))
    for n, (gold, predicted) in by_sentence.items():
        yield n, gold, predicted


def _example(source: TagOutputs, n: int, gold: Pieces, predicted: Pieces) -> ErrorSentence:
    return ErrorSentence(n, source.sentence(n), marked(gold, predicted), marked(predicted, gold))


def _probabilities(table: TokenTable) -> NDArray[np.float64] | None:
    """The column before the labels [T], if it has the probabilities that ``predict --marginals`` writes."""
    names = list(table.columns)
    if names[-1] != LABEL or len(names) < 3 or table.n_tokens == 0:
        return None
    column = table.columns[names[-2]]
    values = [probability(cell) if "." in cell else None for cell in column.types]
    if any(p is None and cell != NOTHING for p, cell in zip(values, column.types, strict=True)):
        return None
    found = np.array([np.nan if p is None else p for p in values])[column.ids]
    return None if np.isnan(found).all() else found


def _conllu_probabilities(path: str | Path, tokens: int) -> NDArray[np.float64] | None:
    """The attribute ``Probability`` of the last column: [T]; None if no token has it."""
    cells = [cell for d in read(path, CONLLU) for cell in d.columns.get("misc", [NOTHING] * len(d.tokens))]
    found = [
        next((probability(a[len(SURENESS) :]) for a in cell.split("|") if a.startswith(SURENESS)), None)
        for cell in cells
    ]
    if len(found) != tokens or all(p is None for p in found):
        return None
    return np.array([np.nan if p is None else p for p in found], np.float64)


def _check_same_tokens(a: str | Path, gold: TokenTable, b: str | Path, other: TokenTable) -> None:
    """Raise at the first token at which the words of two files differ."""
    if np.array_equal(gold.ptr, other.ptr):
        first = _first_other_word(gold.columns[WORD], other.columns[WORD])
        if first is None:
            return
        n = int(np.searchsorted(gold.ptr, first, side="right")) - 1
        t = first - int(gold.ptr[n])
        ours, theirs = (c.types[c.ids[first]] for c in (gold.columns[WORD], other.columns[WORD]))
        raise DataError(f"{_place(b, n, t)}: the word is {theirs!r}, but {ours!r} at {_place(a, n, t)}")
    common = min(gold.n_sentences, other.n_sentences)
    lengths = np.diff(gold.ptr)[:common], np.diff(other.ptr)[:common]
    differ = np.flatnonzero(lengths[0] != lengths[1])
    if len(differ):
        n = int(differ[0])
        raise DataError(
            f"{_place(b, n, 0)}: sentence {n + 1} has {lengths[1][n]} tokens, but {lengths[0][n]} "
            f"at {_place(a, n, 0)}"
        )
    longer, shorter = (a, b) if gold.n_sentences > common else (b, a)
    raise DataError(
        f"{_place(longer, common, 0)}: sentence {common + 1} begins here, but {display_name(shorter)} ends "
        f"after {common}"
    )


def _first_other_word(a: Column, b: Column) -> int | None:
    index = {word: i for i, word in enumerate(a.types)}
    same = np.array([index.get(word, -1) for word in b.types], dtype=np.int32)[b.ids] == a.ids
    return None if same.all() else int(np.argmin(same))


def _place(path: str | Path, sentence: int, token: int) -> str:
    """``file:line`` of a token in a column file, found by reading it again."""
    name = display_name(path)
    if str(path) == STDIO:
        return f"{name}, sentence {sentence + 1}, token {token + 1}"
    n, t, inside = -1, 0, False
    cells = None
    for number, line in lines(path):
        if not line.strip() or line.startswith("-DOCSTART-"):
            inside = False
            continue
        count = len(line.split())
        if line.startswith("#") and count != cells:
            continue
        cells = count
        n, t, inside = (n, t + 1, True) if inside else (n + 1, 0, True)
        if (n, t) == (sentence, token):
            return f"{name}:{number}"
    return f"{name}, sentence {sentence + 1}, token {token + 1}"


Labels = Sequence[Sequence[str]]
SPANS, TOKENS = "span.micro.f1", "token_accuracy"


@dataclass(frozen=True)
class TagGain:
    """key: the compared score   scores: its value for each output   gain: ``ours`` over ``other``."""

    key: str
    scores: dict[str, float]
    gain: Comparison


def tag_gain(gold: Labels, outputs: Mapping[str, Labels], ours: str, other: str, seed: int = 0) -> TagGain:
    """Span F1, or token accuracy if labels are not spans; the interval is by paired bootstrap.

    >>> gold = [["B-NP", "I-NP"]] * 20
    >>> outputs = {"new": gold, "old": [["B-NP", "I-NP"]] * 15 + [["B-NP", "O"]] * 5}
    >>> found = tag_gain(gold, outputs, "new", "old")
    >>> found.scores, found.gain.low > 0
    ({'new': 1.0, 'old': 0.75}, True)
    """
    every = [labels for output in outputs.values() for labels in output]
    pair = TagPair.from_lists([*gold] * len(outputs), every)
    scorer, N = TagScorer(pair.labels), len(gold)
    tallies = {}
    for k, name in enumerate(outputs):
        ptr = pair.ptr[k * N : (k + 1) * N + 1]
        tokens = slice(int(ptr[0]), int(ptr[-1]))
        tallies[name] = scorer.tally(pair.y[tokens], pair.y_hat[tokens], ptr - ptr[0])
    compared = compare(tallies[ours], tallies[other], seed=seed)
    key = SPANS if SPANS in compared else TOKENS
    scores = {name: float(tally.score(tally.sums())[key]) for name, tally in tallies.items()}
    return TagGain(key, scores, compared[key])
