"""Text to rows of n-gram features."""

import copy
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Cut, NGramIndex, Symbols, Texts, count_ngrams, hashed_ngrams, keep_columns
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.rows import SparseRows
from chaffinch.features.selection import (
    LABELLED_PICKS,
    PICKS,
    LabelRows,
    picked,
    renumbering,
    sums_by_label,
    undropped,
)
from chaffinch.features.shared_counts import NGramCounts, SharedCounts
from chaffinch.features.signed_hash import signed_columns, signed_rows
from chaffinch.features.weighting import (
    NORMS,
    inverse_document_frequency,
    log_count_ratios,
    strongest_ratio,
    weighted,
)
from chaffinch.knobs import check, configured, knob, knobs
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, array, fact, strings
from chaffinch.text.cleaning import CLEANINGS, cleaned
from chaffinch.text.words import (
    STEMMERS,
    STOPWORDS,
    WORD_RULES,
    lowered,
    stems,
    stopwords,
    surrogate_error,
    word_rule,
)

# Maximum number of n-grams named for a hashed feature.
SHOWN = 3

# Token rules under which words can be removed before n-grams are formed.
WORD_PATTERNS = {
    name: re.compile(pattern)
    for name, pattern in (("words", r"\w+"), ("long-words", r"\w\w+"), ("spaces", r"\S+"))
}

UNITS = {"word": Cut.words, "char": Cut.chars, "char_wb": Cut.chars_in_words}

KIND, VERSION = "ngrams", 1  # of its sections in a model file


@dataclass(kw_only=True)
class TextVectorizer:
    """Documents to rows of n-gram features: fitted once, then frozen.

    Features are numbered by falling frequency, then by n, then by first occurrence, the same for any
    number of threads. Stop words are kept in the text, so removing them never creates new bigrams; n-grams of stop
    words alone are dropped: "I am" goes, "not happy" stays.

    >>> vectorizer = TextVectorizer(stopwords="english", norm="none")
    >>> rows = vectorizer.fit_transform(["I am not happy", "happy tea"])
    >>> vectorizer.names()
    ['happy', 'tea', 'not happy', 'happy tea']
    >>> vectorizer.transform(["I am not tea, I am happy, happy tea"]).dense().tolist()
    [[2.0, 2.0, 0.0, 1.0]]
    """

    unit: str = knob(
        "word", "n-grams of words, of characters, or of characters within words", choices=tuple(UNITS)
    )
    tokens: str = knob("words", "token rule", choices=tuple(WORD_RULES))
    cleaning: str = knob("none", "markup of mail or Markdown to remove first", choices=CLEANINGS)
    lower: bool = knob(True, "convert text to lower case")
    stemming: str = knob("none", "replace words by their stems or lemmas", choices=STEMMERS)
    language: str = knob("english", "language of stems and lemmas")
    ngram_low: int = knob(1, "shortest n-gram", low=1)
    ngram_high: int = knob(2, "longest n-gram", low=1)
    stopwords: str = knob("none", "drop n-grams that consist only of stop words", choices=tuple(STOPWORDS))
    min_df: float = knob(
        1, "minimum document frequency of a feature; a value below 1 is a share of the documents", low=0.0
    )
    max_df: float = knob(
        1.0, "maximum document frequency of a feature; a value up to 1 is a share of the documents", low=0.0
    )
    feature_size: int | None = knob(None, "maximum number of features", low=1)
    feature_pick: str = knob("top", "criterion by which features are kept", choices=PICKS)
    feature_drop: float = knob(0.0, "share of each label's features dropped at random", low=0.0, high=1.0)
    hash_bits: int = knob(0, "hash n-grams into 2^bits features; 0 keeps an exact index", low=0, high=30)
    binary: bool = knob(False, "presence instead of counts")
    sublinear: bool = knob(False, "1 + ln(count) instead of counts")
    idf: bool = knob(False, "multiply by the inverse document frequency")
    idf_power: float = knob(1.0, "exponent of the inverse document frequency", low=0.0)
    ratios: bool = knob(False, "multiply by the labels' log-count ratios")
    ratio_alpha: float = knob(1.0, "smoothing count added before ratios are computed", low=0.0)
    norm: str = knob("none", "divide each row by its norm", choices=tuple(NORMS))
    seed: int = knob(0, "seed of random choices", low=0)
    threads: int = knob(0, "threads to use; 0 for all cores", low=0)
    stop_list: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()  # words that are removed before n-grams are formed, as scikit-learn does
    signed_hash: bool = False  # hash by MurmurHash3 with signs, as scikit-learn does
    _fitted: "_Fitted | None" = field(default=None, init=False, repr=False, compare=False)

    def fit(self, texts: Iterable[str], labels: Sequence[Any] | None = None) -> "TextVectorizer":
        """Learn the features of ``texts``; some selection criteria and ratios need labels."""
        self.fit_transform(texts, labels)
        return self

    def fit_transform(
        self,
        texts: Iterable[str],
        labels: Sequence[Any] | None = None,
        *,
        shared: SharedCounts | None = None,
    ) -> SparseRows:
        """Learn the features of ``texts`` and return their rows.

        labels: one per document, or a list of them per document
        shared: counts of the same texts that other vectorisers read too
        """
        self._check(labels)
        documents = _texts(texts)
        N = len(documents)
        label_rows = None if labels is None else LabelRows.of(labels)
        if label_rows is not None and len(label_rows) != N:
            raise DataError(f"expected labels for {N} documents, got {len(label_rows)}")
        if self.hash_bits:
            index, rows = None, self._hashed(self._symbols(documents))
            frequency = np.bincount(rows.ids, minlength=rows.columns) if self.idf else None
        else:
            index, rows, frequency = self._counted(documents, label_rows, shared)
        scale = self._scale(rows, frequency, label_rows)
        del frequency
        self._fitted = _Fitted(index, scale, rows.columns)
        return self._weighted(rows, scale)

    def transform(self, texts: Iterable[str] | Texts, *, threads: int | None = None) -> SparseRows:
        """The rows of ``texts`` over the features learnt by ``fit``.

        threads: for this call; None: the vectoriser's own setting
        """
        if threads is not None and threads != self.threads:
            asked = copy.copy(self)
            asked.threads = threads
            return asked.transform(texts)
        return self.weighted(self.counted(texts))

    @property
    def reads_bytes(self) -> bool:
        """Whether the core can read texts as they are: no step of the preparation runs in Python."""
        plain = self.cleaning == "none" and not self.removed and word_rule(self.tokens).pattern is None
        return plain and self.stemming == "none" and self._ready().index is not None

    def counted(self, texts: Iterable[str] | Texts) -> SparseRows:
        """The rows of ``texts`` as counts, not yet weighted."""
        fitted = self._ready()
        if isinstance(texts, Texts) and self.reads_bytes and fitted.index is not None:
            cut, rule = texts.lowered() if self.lower and not texts.ascii else texts, word_rule(self.tokens)
            kinds = rule.kinds_of(ascii=texts.ascii)
            settings = UNITS[self.unit], kinds, rule.shortest, rule.marks, self.lower, self.threads
            return _rows(
                fitted.index.rows_of_held_texts(cut, *settings, presence=self.binary), len(fitted.index)
            )
        if isinstance(texts, Texts):
            texts = texts.strings()
        if fitted.index is None:
            return self._hashed(self._symbols(_texts(texts)))
        if self.stemming != "none":
            found = fitted.index.rows(self._symbols(_texts(texts)), self.binary, self.threads)
        else:
            found = self._cut(_texts(texts), partial(fitted.index.rows_of_texts, presence=self.binary))
        return _rows(found, len(fitted.index))

    def weighted(self, rows: SparseRows) -> SparseRows:
        """Rows of counts multiplied by the weights learnt by ``fit``; the counts are overwritten."""
        return self._weighted(rows, self._ready().scale)

    @classmethod
    def of_vocabulary(
        cls, vocabulary: Mapping[str, int], columns: int, idf: Any = None, **settings: Any
    ) -> "TextVectorizer":
        """A fitted vectoriser with these n-grams: words joined by a space, or characters, each with its column.

        columns: the number of columns   idf: a factor for each, or None

        >>> made = TextVectorizer.of_vocabulary({"no tea": 0, "tea": 1}, 2, ngram_high=2)
        >>> made.transform(["no tea, no cake"]).dense().tolist()
        [[1.0, 1.0]]
        """
        made = cls(idf=idf is not None, **settings)
        made._check(None)
        grams = {tuple(name.split(" ") if made.unit == "word" else name): i for name, i in vocabulary.items()}
        index = NGramIndex(*_trie(grams), columns)
        scale = None if idf is None else np.asarray(idf, np.float32).astype(np.float64)
        made._fitted = _Fitted(index, scale, columns)
        return made

    @classmethod
    def of_signed_hash(cls, **settings: Any) -> "TextVectorizer":
        """A vectoriser that hashes with signs; it has nothing to fit."""
        made = cls(signed_hash=True, **settings)
        made._check(None)
        made._fitted = _Fitted(None, None, 1 << made.hash_bits)
        return made

    @property
    def feature_count(self) -> int:
        """The number of columns."""
        return self._ready().columns

    def restricted(self, keep: NDArray[np.bool_]) -> "TextVectorizer":
        """The same vectoriser with some of its features, in the same order; hashed features cannot be dropped.

        keep: bool [F]
        """
        fitted = self._ready()
        if fitted.index is None or len(keep) != fitted.columns:
            raise ConfigError("restricted needs an exact index and one entry per feature")
        count = int(keep.sum())
        scale = None if fitted.scale is None else fitted.scale[keep]
        made = replace(self)
        made._fitted = _Fitted(fitted.index.renumbered(renumbering(keep), count), scale, count)
        return made

    def symbols(self) -> list[str]:
        """The words or characters that are part of some n-gram; none if n-grams are hashed."""
        index = self._ready().index
        return [] if index is None else index.symbols()

    def words_of(self, texts: list[str]) -> list[str]:
        """The words of texts as this vectoriser cuts them, the most frequent first, without stop words.

        >>> TextVectorizer(stopwords="english").words_of(["I am not happy", "Happy tea"])
        ['happy', 'tea']
        """
        alone = self._of_single_words()
        symbols = alone._symbols(_texts(texts))
        index, *_ = count_ngrams(symbols, 1, 1, 1, len(texts), alone._stops(symbols), False, True, 1)
        return list(index.names(" "))

    def of_words(self, words: list[str]) -> "TextVectorizer":
        """A vectoriser of these words alone, cut as this one does: 1 if a text has the word.

        >>> TextVectorizer(norm="l2").of_words(["tea", "cake"]).transform(["Tea, tea!"]).dense().tolist()
        [[1.0, 0.0]]
        """
        made = self._of_single_words()
        index = NGramIndex(*_trie({(word,): n for n, word in enumerate(words)}), len(words))
        made._fitted = _Fitted(index, None, len(words))
        return made

    def _of_single_words(self) -> "TextVectorizer":
        """The same cut, and the presence of every single word."""
        return replace(
            self,
            ngram_low=1,
            ngram_high=1,
            min_df=1.0,
            max_df=1.0,
            feature_size=None,
            feature_drop=0.0,
            binary=True,
            sublinear=False,
            idf=False,
            ratios=False,
            norm="none",
        )

    def names(self) -> list[str]:
        """The n-gram of each feature: words joined by a space, characters by nothing."""
        index = self._ready().index
        if index is None:
            raise ConfigError("hashed features have no stored names; hashed_names(texts) finds them in texts")
        return list(index.names(self._joint))

    def column_names(self) -> list[str]:
        """The name of each column; hashed columns: from ``learn_hashed_names``, or a number such as ``#7``."""
        if not self.hash_bits:
            return self.names()
        found = self._ready().hashed_names
        return [" / ".join(found.get(i, [])[:SHOWN]) or f"#{i}" for i in range(self.feature_count)]

    def learn_hashed_names(self, texts: Iterable[str]) -> None:
        """Store the names that ``hashed_names`` finds in texts for ``column_names``; model files do not store them."""
        self._fitted = replace(self._ready(), hashed_names=self.hashed_names(texts))

    def hashed_names(self, texts: Iterable[str]) -> dict[int, list[str]]:
        """The n-grams of ``texts`` by hashed feature, the most frequent first."""
        if not self.hash_bits:
            raise ConfigError("hashed_names needs hash_bits; an exact index has names()")
        documents = _texts(texts)
        symbols, N = self._symbols(documents), len(documents)
        stops = self._stops(symbols)
        index, *_ = count_ngrams(symbols, *self._range, 1, N, stops, self._pads, True, self.threads)
        names = list(index.names(self._joint))
        buckets = (
            signed_columns(names, 1 << self.hash_bits)[0]
            if self.signed_hash
            else index.buckets(1 << self.hash_bits)
        )
        found: dict[int, list[str]] = {}
        for name, bucket in zip(names, buckets.tolist(), strict=True):
            found.setdefault(bucket, []).append(name)
        return found

    def packed(self) -> Packed:
        """The content for a model file."""
        fitted = self._ready()
        # Threads do not change the result, so a file does not depend on them.
        settings = {k.name: getattr(self, k.name) for k in knobs(self)} | {"threads": 0}
        index = fitted.index
        parents, lasts, features = (None, None, None) if index is None else index.arrays()
        return _Sections(
            kind=KIND,
            version=VERSION,
            settings=settings,
            columns=fitted.columns,
            stop_list=list(self.stop_list),
            removed=list(self.removed) or None,
            signed_hash=self.signed_hash,
            symbols=None if index is None else index.symbols(),
            parents=parents,
            lasts=lasts,
            features=features,
            scale=fitted.scale,
        ).packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "TextVectorizer":
        """The vectoriser of a model file; every number is checked."""
        found = _Sections.loaded(Requirements(file))
        try:
            made: TextVectorizer = configured(cls, found.settings, "model file")
            tree: Any = found.symbols, found.parents, found.lasts, found.features, found.columns
            index = None if made.hash_bits else NGramIndex(*tree)
        except (TypeError, ValueError) as error:
            raise file.fault(f"the state of n-gram features is damaged: {error}") from None
        made.stop_list = tuple(found.stop_list)
        made.removed = tuple(found.removed or ())
        made.signed_hash = found.signed_hash
        if made.hash_bits and found.columns != 1 << made.hash_bits:
            raise file.fault("the state of n-gram features is damaged: columns and hash_bits disagree")
        if (found.scale is not None) != (made.idf or made.ratios):
            raise file.fault("the state of n-gram features is damaged: scale and settings disagree")
        made._fitted = _Fitted(index, found.scale, found.columns)
        return made

    def _check(self, labels: Sequence[Any] | None) -> None:
        check(self)
        if self.ngram_high < self.ngram_low:
            raise ConfigError(f"ngram_high must be >= ngram_low, got {self.ngram_low} to {self.ngram_high}")
        if self.removed and (
            self.unit != "word" or self.tokens not in WORD_PATTERNS or self.stemming != "none"
        ):
            raise ConfigError(
                "removed needs n-grams of plain words: set unit='word', stemming='none', and tokens to one of "
                f"{', '.join(WORD_PATTERNS)}"
            )
        if self.signed_hash and not self.hash_bits:
            raise ConfigError("signed_hash needs hash_bits")
        if self.unit != "word" and (self.stopwords != "none" or self.stop_list or self.stemming != "none"):
            raise ConfigError(f"stop words and stems need unit='word', got unit={self.unit!r}")
        if labels is None:
            if self.ratios:
                raise ConfigError("ratios need labels: fit_transform(texts, labels)")
            if self.feature_size is not None and self.feature_pick in LABELLED_PICKS:
                raise ConfigError(
                    f"feature_pick={self.feature_pick!r} needs labels: fit_transform(texts, labels)"
                )
        if self.hash_bits and (self.min_df > 1 or 0 < self.min_df < 1 or self.max_df != 1):
            raise ConfigError(
                "hashing cannot leave out rare or common n-grams: set hash_bits=0, or min_df=1 and max_df=1.0"
            )
        if self.hash_bits and (self.feature_size is not None or self.feature_drop):
            raise ConfigError(
                "hashing cannot pick or drop features: set hash_bits=0, or give fewer hash_bits"
            )

    def _ready(self) -> "_Fitted":
        if self._fitted is None:
            raise ConfigError("this TextVectorizer is not fitted: call fit or fit_transform first")
        return self._fitted

    @property
    def _range(self) -> tuple[int, int]:
        return self.ngram_low, self.ngram_high

    @property
    def _joint(self) -> str:
        return " " if self.unit == "word" else ""

    @property
    def _pads(self) -> bool:
        return self.unit == "char_wb"

    def _symbols(self, documents: list[str]) -> Symbols:
        """Documents as words or characters; stems replace words if ``stemming`` is set."""
        symbols = self._cut(documents, Symbols)
        if self.stemming != "none":
            symbols.rename(stems(symbols.types(), self.stemming, self.language), self.threads)
        return symbols

    def _cut(self, documents: list[str], native: Callable[..., Any]) -> Any:
        """Call ``native`` with the documents and the token rule."""
        if self.cleaning != "none":
            documents = [cleaned(text, self.cleaning) for text in documents]
        cut = lowered(documents) if self.lower else documents
        rule = word_rule(self.tokens)
        if self.removed:
            find, gone = WORD_PATTERNS[self.tokens], frozenset(self.removed)
            cut = [text.lower() for text in documents] if self.lower else documents
            cut = [" ".join(word for word in find.findall(text) if word not in gone) for text in cut]
        if rule.pattern is not None:
            cut = [" ".join(rule.pattern.findall(text)) for text in cut]
        kinds = rule.kinds(cut)
        try:
            return native(cut, UNITS[self.unit], kinds, rule.shortest, rule.marks, self.lower, self.threads)
        except UnicodeEncodeError:
            raise surrogate_error(documents) from None

    def _stops(self, symbols: Symbols) -> NDArray[np.uint8]:
        """Which types are stop words: uint8 [types]; the list goes through the same stemmer as the text."""
        listed = [*stopwords(self.stopwords), *self.stop_list]
        if not listed:
            return np.zeros(0, dtype=np.uint8)
        words = {w.lower() for w in listed} if self.lower else set(listed)
        stopped = set(stems(sorted(words), self.stemming, self.language))
        return np.array([t in stopped for t in symbols.types()], dtype=np.uint8)

    def _hashed(self, symbols: Symbols) -> SparseRows:
        columns = 1 << self.hash_bits
        stops = self._stops(symbols)
        if self.signed_hash:
            index, found, *_ = count_ngrams(
                symbols, *self._range, 1, 2**62, stops, self._pads, False, self.threads
            )
            return signed_rows(_rows(found, len(index)), list(index.names(self._joint)), columns)
        return _rows(hashed_ngrams(symbols, *self._range, stops, self._pads, columns, self.threads), columns)

    @property
    def counting(self) -> Hashable | None:
        """The settings on which counts depend; None if they are not shared: they are hashed, or picked by labels."""
        if self.hash_bits or self.feature_drop or self.feature_size is not None:
            return None
        return (
            *(self.unit, self.tokens, self.cleaning, self.lower, self.stemming, self.language),
            *(self.stopwords, self.stop_list, self.removed),
            *(self.ngram_low, self.ngram_high, self.min_df, self.max_df),
        )

    def _counts(self, documents: list[str], presence: bool) -> NGramCounts:
        """All n-grams that occur in enough documents and not in too many."""
        symbols, N = self._symbols(documents), len(documents)
        least = max(1, math.ceil(self.min_df * N if self.min_df < 1 else self.min_df))
        most = math.floor(self.max_df * N if self.max_df <= 1 else self.max_df)
        stops = self._stops(symbols)
        index, arrays, totals, frequency = count_ngrams(
            symbols, *self._range, least, most, stops, self._pads, presence, self.threads
        )
        return NGramCounts(index, _rows(arrays, len(index)), totals, frequency)

    def _counted(
        self, texts: list[str], labels: LabelRows | None, shared: SharedCounts | None
    ) -> tuple[NGramIndex, SparseRows, NDArray[Any]]:
        """The index, the rows, and the document frequency of each feature."""
        if shared is None or self.counting is None:
            found = self._counts(texts, self.binary)
        else:
            found = shared.counts(self.counting, self.binary, partial(self._counts, texts))
        index, rows, totals, documents = found.index, found.rows, found.totals, found.documents
        if self.feature_drop:
            keep = undropped(self.feature_drop, rows, labels, self.seed)
            index, rows = self._kept(keep, index, rows)
            totals, documents = totals[keep], documents[keep]
        if self.feature_size is not None:
            keep = picked(
                self.feature_pick, self.feature_size, totals=totals, rows=rows, labels=labels, seed=self.seed
            )
            index, rows = self._kept(keep, index, rows)
            documents = documents[keep]
        if len(index) == 0:
            raise DataError(
                f"no n-gram is left of {len(texts)} documents: they are empty, or stop words, min_df, max_df or "
                "feature_drop remove all n-grams"
            )
        return index, rows, documents

    def _kept(
        self, keep: NDArray[np.bool_], index: NGramIndex, rows: SparseRows
    ) -> tuple[NGramIndex, SparseRows]:
        if keep.all():
            return index, rows
        to = renumbering(keep)
        count = int(keep.sum())
        values = rows.weights()
        keep_columns(rows.ptr, rows.ids, values, to, self.threads)
        nnz = int(rows.ptr[-1])
        kept = SparseRows(rows.ptr, rows.ids[:nnz].copy(), values[:nnz].copy(), count)
        return index.renumbered(to, count), kept

    def _scale(
        self, rows: SparseRows, documents: NDArray[Any] | None, labels: LabelRows | None
    ) -> NDArray[np.float64] | None:
        if not (self.idf or self.ratios):
            return None
        scale = np.ones(rows.columns)
        if self.idf and documents is not None:
            idf = inverse_document_frequency(documents, len(rows))
            scale *= idf if self.idf_power == 1.0 else idf**self.idf_power
        if self.ratios and labels is not None:
            sums = sums_by_label(rows, labels, presence=self.binary)
            scale *= strongest_ratio(log_count_ratios(sums, self.ratio_alpha))
        # Rounded to 32 bits as in a file, so that rows are the same before and after saving.
        return scale.astype(np.float32).astype(np.float64)

    def _weighted(self, rows: SparseRows, scale: NDArray[np.float64] | None) -> SparseRows:
        return weighted(
            rows, scale, binary=self.binary, sublinear=self.sublinear, norm=self.norm, threads=self.threads
        )


@dataclass(frozen=True)
class _Fitted:
    """The fitted state: the frozen index (None: hashed), one factor per feature, the number of features."""

    index: NGramIndex | None
    scale: NDArray[np.float64] | None
    columns: int
    hashed_names: Mapping[int, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of a vectoriser: its settings, and an exact index as a trie, unless it hashes."""

    kind: str = fact(str, check=KIND.__eq__, expected=KIND)
    version: int = fact(int, check=VERSION.__eq__, expected=str(VERSION))
    settings: dict[str, Any] = fact(dict)
    columns: int = fact(int, check=lambda n: n >= 0, expected="a count", size="columns")
    stop_list: list[str] = strings("stop_list", made=list)
    removed: list[str] | None = strings("removed", made=list, optional=True)
    signed_hash: bool = fact(bool, default=False)
    symbols: list[str] | None = strings("symbols", made=list, optional=True)
    parents: NDArray[np.int32] | None = array("int32", "grams", optional=True)
    lasts: NDArray[np.int32] | None = array("int32", "grams", optional=True)
    features: NDArray[np.int32] | None = array("int32", "features", optional=True)
    scale: NDArray[np.float64] | None = array("float64", "columns", optional=True, finite=True)


def _trie(grams: Mapping[tuple[str, ...], int]) -> tuple[list[str], Any, Any, Any]:
    """A trie: its symbols, the parent and the last symbol of each longer n-gram, and the column of each node."""
    symbols = {symbol: i for i, symbol in enumerate(dict.fromkeys(s for gram in grams for s in gram))}
    nodes: dict[tuple[str, ...], int] = {(symbol,): i for symbol, i in symbols.items()}
    parents, lasts = [], []
    for gram in sorted(grams, key=len):
        for n in range(2, len(gram) + 1):
            if gram[:n] not in nodes:
                nodes[gram[:n]] = len(nodes)
                parents.append(nodes[gram[: n - 1]])
                lasts.append(symbols[gram[n - 1]])
    features = np.full(len(nodes), -1, np.int32)
    for gram, column in grams.items():
        features[nodes[gram]] = column
    return list(symbols), np.array(parents, np.int32), np.array(lasts, np.int32), features


def _rows(arrays: tuple[Any, ...], columns: int) -> SparseRows:
    ptr, ids, counts = arrays
    return SparseRows(ptr, ids, counts if len(counts) == len(ids) else None, columns)


def _texts(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise DataError("expected a list of texts, got a single text; put it in a list")
    documents = texts if isinstance(texts, list) else list(texts)
    if set(map(type, documents)) - {str}:
        for n, text in enumerate(documents):
            if not isinstance(text, str):
                raise DataError(f"document {n + 1} is {type(text).__name__}, expected str")
    return documents
