"""NLTK's averaged perceptron tagger: greedy, from left to right, with fourteen features of a token.

    score(t, y) = sum over the features of token t, in the order below, of weight[feature][y]

A word of the tag dictionary gets its tag without search; among equal scores the greatest label wins.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.model.dictionary import LabelDictionary
from chaffinch.model.evidence import Named, Question, Seen, TaggedSentence
from chaffinch.model.foreign_chain import OrderedRows
from chaffinch.model.incremental_evidence import StepScores, TokenRows, step_sentence
from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import Reading
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, array, fact, nested, strings
from chaffinch.text.document import WORD
from chaffinch.text.table import TokenTable

# In the order in which they are summed, with the offsets of the words that they read.
SLOTS: Mapping[str, tuple[int, ...]] = {
    "bias": (0,),
    "i suffix": (0,),
    "i pref1": (0,),
    "i-1 tag": (0,),
    "i-2 tag": (0,),
    "i tag+i-2 tag": (0,),
    "i word": (0,),
    "i-1 tag+i word": (0,),
    "i-1 word": (-1,),
    "i-1 suffix": (-1,),
    "i-2 word": (-2,),
    "i+1 word": (1,),
    "i+1 suffix": (1,),
    "i+2 word": (2,),
}
NAMES = tuple(SLOTS)
OF_LABELS = ("i-1 tag", "i-2 tag", "i tag+i-2 tag", "i-1 tag+i word")
BEFORE = ("-START-", "-START2-")  # the labels before a sentence, nearest first
STARTS = ("-START2-", "-START-")  # the words before a sentence, nearest first
ENDS = ("-END-", "-END2-")
KIND = "nltk-perceptron"


@dataclass(frozen=True, eq=False)
class NltkPerceptron:
    """A trained tagger.

    keys:    the features that have weights, as NLTK writes them ("i-1 tag NN"), distinct
    weights: float64 rows of the keys; columns are labels
    classes: bool [Y], the labels that the perceptron may choose; others come from the dictionary alone
    """

    labels: LabelSet
    keys: tuple[str, ...]
    weights: OrderedRows
    classes: NDArray[np.bool_]
    dictionary: LabelDictionary

    columns = (WORD,)

    def __post_init__(self) -> None:
        _ = self._native, self._context

    def decode(self, table: TokenTable, threads: int) -> NDArray[np.int32]:
        """Greedy labels."""
        return self.labels.outer_of[self._run(table, threads, details=False)[0]]

    def kbest(self, table: TokenTable, k: int, threads: int) -> list[list[Reading]]:
        """The one labelling of each sentence."""
        if k > 1:
            raise ConfigError(f"NLTK's perceptron keeps one labelling, so it cannot list the {k} best")
        labels, scores = self._run(table, threads, details=True)
        chosen = scores[np.arange(len(labels)), labels]
        return [
            [Reading(self.labels.outer_of[labels[a:b]], float(chosen[a:b].sum()))]
            for a, b in pairwise(table.ptr.tolist())
        ]

    def marginals(self, table: TokenTable, threads: int) -> NDArray[np.float32]:
        """The softmax of the scores of each decision; 1 for words of the dictionary."""
        labels, scores = self._run(table, threads, details=True)
        known = self.dictionary.known(table)
        return self.labels.collapsed(self._softmax(labels, scores, known))

    def examples(
        self, table: TokenTable, which: Sequence[int], question: Question, threads: int
    ) -> Iterator[TaggedSentence]:
        """Features of words, and of the labels decided before."""
        del threads
        fixed, words = self._encoded(table)
        known, texts = self.dictionary.known(table), table.lists(WORD)
        for n in which:
            a, b = int(table.ptr[n]), int(table.ptr[n + 1])
            seen = np.column_stack([fixed[a:b], words[a:b]])
            ids = [row[row >= 0] for row in fixed[a:b]]
            x = TokenRows(
                texts[n],
                ids,
                np.ascontiguousarray(seen),
                None if known is None else known[a:b],
                lambda t, places, ids=ids: self._named(ids[t][places]),  # type: ignore[misc]
            )
            yield step_sentence(self, x, question)

    # -- the interface of explanations

    def unary(self, ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """Weights [n, Y] of features."""
        return self.weights.dense(ids, self.Y)

    def contexts(
        self, x: TokenRows, t: int, decided: Sequence[int]
    ) -> tuple[list[Named], NDArray[np.float64]]:
        """The features of the labels before that have weights: their names and weights [n, Y]."""
        c, Y = self._context, self.Y
        before = decided[t - 1] if t else Y
        before2 = decided[t - 2] if t > 1 else Y if t else Y + 1
        found = [c["of_before"][before], c["of_before2"][before2], c["of_both"][before * (Y + 2) + before2]]
        if (w := int(x.observations[t, -1])) >= 0:
            i, j = c["word_ptr"][w], c["word_ptr"][w + 1]
            found += c["word_features"][i:j][c["word_labels"][i:j] == before].tolist()
        rows = np.array([f for f in found if f >= 0], np.int32)
        return self._named(rows), self.weights.dense(rows, self.Y)

    def steps_of(self, x: TokenRows) -> StepScores:
        """The decisions on one sentence, without the features that were removed from it."""
        T, S = len(x.words), len(SLOTS)
        fixed = np.ascontiguousarray(x.observations[:, :S]).copy()
        for t, ids in enumerate(x.ids):
            fixed[t][~np.isin(fixed[t], ids)] = -1
        words = np.ascontiguousarray(x.observations[:, S])
        known = np.full(T, -1, np.int32) if x.known is None else x.known
        labels, scores = self._greedy(np.array([0, T], np.int64), fixed, words, known, 1, details=True)
        p = self.labels.collapsed(self._softmax(labels, scores, x.known))
        scores = np.where(self.classes, scores, -np.inf)
        return StepScores(np.arange(T, dtype=np.int32), labels, scores.astype(np.float32), p)

    def names(self, rows: NDArray[np.int32]) -> list[str]:
        """The names of features."""
        return [self.keys[f] for f in rows.tolist()]

    def of_label(self, y: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The features with a weight for label y, and the weights."""
        here = np.flatnonzero(self.weights.columns == y)
        rows = np.searchsorted(self.weights.bounds, here, side="right") - 1
        return rows.astype(np.int32), self.weights.weights[here]

    # -- saving

    def packed(self) -> Packed:
        """Keys, weights and the dictionary."""
        own = _Sections(KIND, self.keys, self.weights, self.classes.astype(np.uint8))
        return own.packed() | self.dictionary.packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "NltkPerceptron":
        """The model of a file, every index checked."""
        need = Requirements(file, Y=len(file.header.labels))
        labels = LabelSet.loaded(need, inner=file.header.labels)
        found = _Sections.loaded(need)
        classes = found.classes.astype(bool)
        if not classes.any():
            raise need.fault("allows no label")
        return cls(labels, found.keys, found.weights, classes, LabelDictionary.loaded(need))

    @staticmethod
    def absent(file: ModelFile) -> bool:
        """Whether a file holds no such model."""
        return _Sections.absent(Requirements(file))

    # -- inside

    @property
    def Y(self) -> int:
        """The number of labels."""
        return len(self.labels.inner)

    @cached_property
    def _native(self) -> Any:
        return self.weights.native(self.Y)

    @cached_property
    def _by_slot(self) -> dict[str, dict[str, int]]:
        """The rest of each key, by slot."""
        made: dict[str, dict[str, int]] = {name: {} for name in NAMES}
        for f, key in enumerate(self.keys):
            for name in sorted(NAMES, key=len, reverse=True):
                if key == name or key.startswith(name + " "):
                    made[name][key[len(name) + 1 :]] = f
                    break
        return made

    @cached_property
    def _words(self) -> dict[str, int]:
        """The words that some feature has together with the label before."""
        return {
            word: n
            for n, word in enumerate(
                dict.fromkeys(k.partition(" ")[2] for k in self._by_slot["i-1 tag+i word"])
            )
        }

    @cached_property
    def _context(self) -> dict[str, NDArray[Any]]:
        names = [*self.labels.inner, *BEFORE]
        by = self._by_slot
        place = {name: n for n, name in enumerate(names)}
        rows: list[list[tuple[int, int]]] = [[] for _ in self._words]
        for key, f in by["i-1 tag+i word"].items():
            label, _, word = key.partition(" ")
            if label in place:
                rows[self._words[word]].append((place[label], f))
        flat = [pair for row in rows for pair in row]
        both = [by["i tag+i-2 tag"].get(f"{a} {b}", -1) for a in names for b in names]
        return {
            "places": np.array([NAMES.index(name) for name in OF_LABELS], np.int32),
            "of_before": np.array([by["i-1 tag"].get(a, -1) for a in names], np.int32),
            "of_before2": np.array([by["i-2 tag"].get(a, -1) for a in names], np.int32),
            "of_both": np.array(both, np.int32),
            "word_ptr": np.cumsum([0, *map(len, rows)], dtype=np.int64),
            "word_labels": np.array([label for label, _ in flat], np.int32),
            "word_features": np.array([f for _, f in flat], np.int32),
            "allowed": self.classes.astype(np.uint8),
        }

    def _encoded(self, table: TokenTable) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The features of words [T, slots], and the row of each word; each type is looked at once."""
        column, by = table.columns[WORD], self._by_slot
        V, T = len(column.types), table.n_tokens
        shown = [*(normalised(w) for w in column.types), *STARTS, *ENDS]
        of_context = {
            name: np.array([by[name].get(w[-3:] if "suffix" in name else w, -1) for w in shown], np.int32)
            for name in NAMES
            if name.startswith(("i-1 w", "i-1 s", "i-2 w", "i+1 w", "i+1 s", "i+2 w", "i word"))
        }
        fixed = np.full((T, len(SLOTS)), -1, np.int32)
        fixed[:, NAMES.index("bias")] = by["bias"].get("", -1)
        for name, part in (("i suffix", slice(-3, None)), ("i pref1", slice(0, 1))):
            found = np.array([by[name].get(w[part], -1) for w in column.types], np.int32)
            fixed[:, NAMES.index(name)] = found[column.ids] if T else 0
        first = np.repeat(table.ptr[:-1], np.diff(table.ptr))
        last = np.repeat(table.ptr[1:], np.diff(table.ptr)) - 1
        t = np.arange(T)
        for name, found in of_context.items():
            at = t + SLOTS[name][0]
            inside = column.ids[np.clip(at, 0, max(T - 1, 0))] if T else column.ids
            type_there = np.where(
                at < first, V + first - at - 1, np.where(at > last, V + 2 + at - last - 1, inside)
            )
            fixed[:, NAMES.index(name)] = found[type_there]
        rows = np.array([self._words.get(w, -1) for w in shown[:V]], np.int32)
        return fixed, rows[column.ids] if T else np.zeros(0, np.int32)

    def _run(
        self, table: TokenTable, threads: int, *, details: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        known = self.dictionary.known(table)
        if known is None:
            known = np.full(table.n_tokens, -1, np.int32)
        return self._greedy(table.ptr, *self._encoded(table), known, threads, details=details)

    def _greedy(
        self,
        ptr: NDArray[np.int64],
        fixed: NDArray[np.int32],
        words: NDArray[np.int32],
        known: NDArray[np.int32],
        threads: int,
        *,
        details: bool,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        greedy: Any = _core.ordered_greedy
        labels, scores = greedy(
            self._native,
            *self._context.values(),
            ptr,
            np.ascontiguousarray(fixed),
            np.ascontiguousarray(words),
            np.ascontiguousarray(known, np.int32),
            threads,
            details,
        )
        return labels, scores.reshape(-1, self.Y)

    def _softmax(
        self, labels: NDArray[np.int32], scores: NDArray[np.float64], known: NDArray[np.int32] | None
    ) -> NDArray[np.float32]:
        shifted = np.where(self.classes, scores, -np.inf)
        p = np.exp(shifted - shifted.max(axis=1, keepdims=True, initial=-1e300))
        p /= np.maximum(p.sum(axis=1, keepdims=True), 1e-300)
        if known is not None:
            p[known >= 0] = 0.0
            p[known >= 0, labels[known >= 0]] = 1.0
        return p.astype(np.float32)

    def _named(self, ids: NDArray[np.int32]) -> list[Named]:
        made = []
        for key in self.names(ids):
            slot = next(
                n for n in sorted(NAMES, key=len, reverse=True) if key == n or key.startswith(n + " ")
            )
            made.append((key, Seen(slot, SLOTS[slot])))
        return made


def normalised(word: str) -> str:
    """A word in the form of NLTK's features.

    >>> [normalised(w) for w in ("Well-known", "1984", "3rd", "Dog", "-", "")]
    ['!HYPHEN', '!YEAR', '!DIGITS', 'dog', '-', '']
    """
    if "-" in word and word[0] != "-":
        return "!HYPHEN"
    if word.isdigit() and len(word) == 4:
        return "!YEAR"
    if word and word[0].isdigit():
        return "!DIGITS"
    return word.lower()


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of the tagger; classes: whether each label may be predicted."""

    model: str = fact(str, check=KIND.__eq__, expected=KIND)
    keys: tuple[str, ...] = strings("F", distinct=True)
    weights: OrderedRows = nested(OrderedRows, "weights.", width="Y")
    classes: NDArray[np.uint8] = array("uint8", "Y", below=2)
