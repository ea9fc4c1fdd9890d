"""The model object: fastText's methods over a classifier of ours or one that was read from fastText's file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from chaffinch.compat.fasttext.lines import EOS, PREFIX, parsed, read_lines, tokens_of
from chaffinch.compat.fasttext.meter import Meter
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.classifier import Classifier
from chaffinch.estimators.loading import load
from chaffinch.lab.size_search import file_size, parsed_size, smallest
from chaffinch.model.fasttext import FastTextModel

PREFIX_NOTE, COUNTS_NOTE = "label_prefix", "label_counts"
SHARE = 4  # quantising divides the size of a model by this, unless a size is given
NOT_HERE = (
    "a classifier of this package has no {what}: it has a weight for each word and label, and no matrices of vectors; "
    "models read from fastText's files have them"
)

Answer = tuple[tuple[str, ...], NDArray[np.float64]]
Answers = tuple[list[list[str]], list[NDArray[np.float32]]]


class FastText:
    """A trained classifier, as ``train_supervised`` and ``load_model`` return it.

    estimator: the classifier of this package that answers
    """

    def __init__(
        self,
        estimator: Classifier,
        *,
        prefix: str = PREFIX,
        words: dict[str, int] | None = None,
        label_counts: dict[str, int] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self._prefix = prefix
        self._counts = words
        self._label_counts = label_counts
        self._quantized = False
        for name, value in (settings or {}).items():
            setattr(self, name, value)

    # -- answers

    @overload
    def predict(
        self, text: str, k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict"
    ) -> Answer: ...

    @overload
    def predict(
        self, text: list[str], k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict"
    ) -> Answers: ...

    def predict(self, text: Any, k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict") -> Any:
        """The k best labels whose probability reaches the threshold, and their probabilities; k = -1: all labels.

        One text gives a tuple and an array; a list of texts gives a list of lists and a list of arrays.
        """
        if isinstance(text, list):
            found = self._best([_one_line(one, "predict") for one in text], k, threshold)
            return [labels for labels, _ in found], [p for _, p in found]
        ((labels, p),) = self._best([_one_line(text, "predict")], k, threshold)
        return tuple(labels), p.astype(np.float64)

    def _best(
        self, texts: list[str], k: int, threshold: float
    ) -> list[tuple[list[str], NDArray[np.float32]]]:
        """The labels with their prefix, and the probabilities."""
        names = self._names
        k = len(names) if k == -1 else k
        if k < 1:
            raise ConfigError("k needs to be 1 or higher!")
        model = self.estimator.model_
        if isinstance(model, FastTextModel):
            ids, logs = model.best(texts, k, threshold, self.estimator.threads)
            p = np.exp(logs.astype(np.float64)).astype(np.float32)
            kept = (ids >= 0).sum(axis=1)
        else:
            everything = self.estimator.predict_proba([" ".join(tokens_of(text)) for text in texts])
            ids = np.argsort(-everything, axis=1, kind="stable")[:, :k].astype(np.int32)
            p = np.take_along_axis(everything, ids, axis=1).astype(np.float32)
            kept = (p >= threshold).sum(axis=1)
        return [
            ([names[i] for i in row[:n].tolist()], scores[:n].copy())
            for row, scores, n in zip(ids, p, kept.tolist(), strict=True)
        ]

    def test(self, path: str, k: int = 1, threshold: float = 0.0) -> tuple[int, float, float]:
        """The number of examples, and precision and recall of the k best labels."""
        meter = self._measured(path, k, threshold)
        return meter.examples, meter.all.precision, meter.all.recall

    def test_label(self, path: str, k: int = 1, threshold: float = 0.0) -> dict[str, dict[str, float]]:
        """Precision, recall and F1 of each label."""
        meter = self._measured(path, k, threshold)
        return {
            label: {"precision": one.precision, "recall": one.recall, "f1score": one.f1}
            for label, one in meter.by_label.items()
        }

    def get_meter(self, path: str, k: int = -1) -> Meter:
        """The counts of a file, for curves of precision and recall."""
        return self._measured(path, k, 0.0)

    def _measured(self, path: str, k: int, threshold: float) -> Meter:
        known = set(self._names)
        lines = []
        for line in read_lines(path, self._prefix, "testing"):
            gold = [self._prefix + label for label in line.labels if self._prefix + label in known]
            if gold:
                lines.append((line.text, gold))
        meter = Meter(self._names)
        for (_, gold), (labels, p) in zip(
            lines, self._best([text for text, _ in lines], k, threshold), strict=True
        ):
            meter.log(gold, list(zip(labels, p.tolist(), strict=True)))
        return meter

    # -- words and labels

    @property
    def _names(self) -> list[str]:
        """The labels with their prefix, in the order of the classifier's."""
        return [self._prefix + str(label) for label in self.estimator.classes_.tolist()]

    @property
    def labels(self) -> list[str]:
        """The labels, the most frequent first."""
        return self.get_labels()

    @property
    def words(self) -> list[str]:
        """The words, the most frequent first."""
        return self.get_words()

    def get_labels(self, include_freq: bool = False, on_unicode_error: str = "strict") -> Any:
        """The labels, the most frequent first; ``include_freq``: also their counts in training."""
        model = self.estimator.model_
        if isinstance(model, FastTextModel):
            counts = model.sections.counts[model.sections.words :]
            return (self._names, counts.copy()) if include_freq else self._names
        if self._label_counts is None:
            if include_freq:
                raise ConfigError("this model file has no counts of labels in training")
            return self._names
        names = [self._prefix + label for label in self._label_counts]
        return (names, np.array(list(self._label_counts.values()), np.int64)) if include_freq else names

    def get_words(self, include_freq: bool = False, on_unicode_error: str = "strict") -> Any:
        """The words; a loaded model of this package has only the words that are features, without counts."""
        model = self.estimator.model_
        if isinstance(model, FastTextModel):
            names = model.encoder.names()
            counts = model.sections.counts[: model.sections.words]
            return (list(names), counts.copy()) if include_freq else list(names)
        if self._counts is not None:
            counts = np.array(list(self._counts.values()), np.int64)
            return (list(self._counts), counts) if include_freq else list(self._counts)
        if include_freq:
            raise ConfigError("this model file has no counts of words in training")
        union = model.encoder.union
        of_words = [one.names() for one in union.vectorizers if one.unit == "word" and not one.hash_bits]
        return list(dict.fromkeys(name for names in of_words for name in names if " " not in name))

    def get_word_id(self, word: str) -> int:
        """The number of a word, or -1."""
        model = self.estimator.model_
        if isinstance(model, FastTextModel):
            return int(model.core.find(word))
        words = self.get_words()
        return words.index(word) if word in words else -1

    def get_label_id(self, label: str) -> int:
        """The number of a label, or -1."""
        labels = self.get_labels()
        return labels.index(label) if label in labels else -1

    def get_line(self, text: Any, on_unicode_error: str = "strict") -> Any:
        """The words of a line, ``</s>`` at their end, and its labels that the model knows."""
        if isinstance(text, list):
            pairs = [self.get_line(one) for one in text]
            return [words for words, _ in pairs], [labels for _, labels in pairs]
        line = parsed(_one_line(text, "get_line"), self._prefix)
        known = set(self._names)
        return [*line.words, EOS], [self._prefix + one for one in line.labels if self._prefix + one in known]

    def __contains__(self, word: str) -> bool:
        return word in self.words

    # -- vectors

    def get_dimension(self) -> int:
        """Length of a word's vector: fastText's, or the number of labels, since a word has a weight for each."""
        model = self.estimator.model_
        return model.sections.input.shape[1] if isinstance(model, FastTextModel) else len(self._names)

    def get_word_vector(self, word: str) -> NDArray[np.float32]:
        """fastText's vector of a word; of a classifier of this package the weights of its features for each label."""
        model = self.estimator.model_
        if isinstance(model, FastTextModel):
            ids = [row for row, _, _ in model.core.named_subwords(word)]
            if not ids:
                return np.zeros(self.get_dimension(), np.float32)
            return self._rows(ids).mean(axis=0)
        return self._weights(word)

    __getitem__ = get_word_vector

    def get_sentence_vector(self, text: str) -> NDArray[np.float32]:
        """The mean vector of a text; of a classifier of this package the scores of its labels."""
        text = _one_line(text, "get_sentence_vector")
        model = self.estimator.model_
        if isinstance(model, FastTextModel):
            out = np.empty((1, self.get_dimension()), np.float32)
            model.core.hidden([text], 1, out)
            return out[0]
        return self._weights(text)

    def get_input_vector(self, ind: int) -> NDArray[np.float32]:
        """A row of the input matrix."""
        return self._rows([ind])[0]

    def get_input_matrix(self) -> NDArray[np.float32]:
        """The input matrix, if it is not quantised."""
        return _dense(self._foreign("input matrix").sections.input.dense)

    def get_output_matrix(self) -> NDArray[np.float32]:
        """The output matrix, if it is not quantised."""
        model = self._foreign("output matrix")
        _dense(model.sections.input.dense)
        return _dense(model.sections.labels.dense)

    def get_subwords(
        self, word: str, on_unicode_error: str = "strict"
    ) -> tuple[list[str], NDArray[np.int64]]:
        """The word, if it is known, and its character n-grams, with their rows in the input matrix."""
        found = self._foreign("subwords").core.named_subwords(word)
        return [name.decode("utf-8", "replace") for _, _, name in found], np.array(
            [row for row, _, _ in found], np.int64
        )

    def get_subword_id(self, subword: str) -> int:
        """The row of a character n-gram."""
        sections = self._foreign("subwords").sections
        h = 2166136261
        for byte in subword.encode():
            h = ((h ^ (byte | (0xFFFFFF00 if byte > 127 else 0))) * 16777619) % 2**32
        return sections.words + (h % sections.bucket_count if sections.bucket_count else 0)

    def _rows(self, ids: Sequence[int]) -> NDArray[np.float32]:
        sections = self._foreign("input matrix").sections
        out = np.empty((len(ids), sections.input.shape[1]), np.float32)
        sections.input.native(sections.input_part).vectors(np.array(ids, np.int32), out)
        return out

    def _weights(self, text: str) -> NDArray[np.float32]:
        scores = self.estimator.model_.scores([text], None, 1)[0]
        return np.asarray(scores, np.float32)

    def _foreign(self, what: str) -> FastTextModel:
        model = self.estimator.model_
        if not isinstance(model, FastTextModel):
            raise ConfigError(NOT_HERE.format(what=what))
        return model

    # -- size and files

    def is_quantized(self) -> bool:
        """Whether the model was made smaller."""
        model = self.estimator.model_
        if isinstance(model, FastTextModel):
            return model.sections.input.dense is None
        return self._quantized

    def quantize(
        self,
        input: str | None = None,
        qout: bool = False,
        cutoff: int = 0,
        retrain: bool = False,
        epoch: int | None = None,
        lr: float | None = None,
        thread: int | None = None,
        verbose: int | None = None,
        dsub: int = 2,
        qnorm: bool = False,
        *,
        size: int | str | None = None,
    ) -> None:
        """Drop the features with the smallest weights, so that the file has at most ``size`` bytes.

        size:   such as ``"300KB"``; None: a quarter of the present file
        input:  lines with labels on which sizes are compared; None: the largest that fits is kept
        The other arguments are those of fastText's own quantiser and have no meaning here. Probabilities keep the
        calibration of the larger model: lines to learn from cannot calibrate.
        """
        if isinstance(self.estimator.model_, FastTextModel):
            raise ConfigError(
                "a model that was read from fastText's file is quantised by fastText, before it is read"
            )
        if retrain and not input:
            raise ConfigError("Need input file path if retraining")
        most = file_size(self.estimator) // SHARE if size is None else parsed_size(str(size))
        lines = [] if input is None else [x for x in read_lines(input, self._prefix, "training") if x.labels]

        def score(estimator: Any) -> dict[str, float]:
            if not lines:
                return {"size": 0.0}
            given = estimator.predict([line.text for line in lines], k=1)[:, 0]
            right = [str(one) in line.labels for one, line in zip(given, lines, strict=True)]
            return {"accuracy": float(np.mean(right))}

        self.estimator = smallest(self.estimator, most, score).estimator
        self._quantized = True

    def save_model(self, path: str) -> None:
        """Write a model file of this package, whatever the name ends in; ``load_model`` reads it."""
        self.estimator.notes_ = {
            PREFIX_NOTE: self._prefix,
            **({} if self._label_counts is None else {COUNTS_NOTE: list(self._label_counts.items())}),
        }
        self.estimator.save(path)


def load_model(path: str) -> FastText:
    """The model of a file: one of this package, or a classifier in fastText's ``.bin`` or ``.ftz``."""
    if not Path(path).is_file():
        raise DataError(f"{path} cannot be opened for loading!")
    estimator = load(path)
    if not isinstance(estimator, Classifier) or estimator.model_.encoder.reads != "texts":
        raise ConfigError(f"{path}: is not a classifier of texts")
    if isinstance(estimator.model_, FastTextModel):
        return FastText(estimator, prefix=estimator.model_.sections.prefix)
    notes = estimator.notes_
    counts = notes.get(COUNTS_NOTE)
    prefix = notes.get(PREFIX_NOTE)
    made = FastText(
        estimator,
        prefix=prefix if isinstance(prefix, str) else PREFIX,
        label_counts=_label_counts(counts),
    )
    made._quantized = estimator.compressed_
    return made


def _label_counts(counts: Any) -> dict[str, int] | None:
    """The counts in the notes of a file; None if they are missing or invalid."""
    if not isinstance(counts, list) or not all(isinstance(one, list) and len(one) == 2 for one in counts):
        return None
    made = {str(label): n for label, n in counts if isinstance(n, int)}
    return made if len(made) == len(counts) else None


def _one_line(text: str, method: str) -> str:
    if "\n" in text:
        raise DataError(f"{method} processes one line at a time (remove '\\n')")
    return text


def _dense(matrix: NDArray[np.float32] | None) -> NDArray[np.float32]:
    if matrix is None:
        raise ConfigError("Can't get quantized Matrix")
    return matrix
