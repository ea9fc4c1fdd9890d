"""A spaCy pipeline component for taggers and classifiers; needs the extra [spacy].

    nlp.add_pipe("chaffinch", config={"model": "names.chaff"})

A tagger whose labels encode spans sets ``doc.ents`` (or a span group, ``assigns="spans"``), one with universal parts of
speech ``token.pos_``, any other ``token.tag_``; a classifier sets ``doc.cats``. Tokens are spaCy's. If an earlier
component found sentences, they are read one by one, otherwise the whole doc is one sentence. White space tokens are not
shown to the model.

spaCy finds the factory through the entry point group ``spacy_factories``, which this module serves with
:func:`__getattr__`: spaCy is imported only when it loads the entry point.
"""

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.compat.spacy.batch import Batch
from chaffinch.compat.spacy.training import (
    ATTRIBUTES,
    CATS,
    ENTS,
    POS,
    SPANS,
    TAG,
    attributes_of,
    checked_kind,
    train,
)
from chaffinch.errors import ConfigError, missing_extra
from chaffinch.text.document import WORD
from chaffinch.text.schemes import scheme_of

UNIVERSAL = frozenset(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X SPACE CONJ".split()
)
SPACE_TAG, SPACE_POS = "_SP", "SPACE"  # of white space tokens, as spaCy's own pipelines tag them
MODEL_FILE, SETTINGS_FILE = "model.chaff", "cfg"

DEFAULTS: dict[str, Any] = {
    "model": None,
    "assigns": None,
    "spans_key": "sc",
    "scores": None,
    "threshold": 0.0,
    "overwrite": False,
    "columns": {},
    "threads": 0,
    "training": {},
}


def __getattr__(name: str) -> Any:
    """The factory, made when spaCy loads the entry point."""
    if name == "factory":
        return _registered()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@dataclass
class Chaffinch:
    """The component: a model, what it assigns, and spaCy's protocol of serialisation and training.

    assigns:   "ents", "spans", "tag", "pos" or "cats"; None: as the model's labels suggest
    spans_key: the span group of ``assigns="spans"``, and of entities with scores
    scores:    write ``doc.spans[spans_key].attrs["scores"]``, the probability of every span; for "ents" the group holds
               the entities again. None: for "spans" if the model has probabilities
    threshold: leave out spans that are less probable than this
    overwrite: replace entities and tags that are set already, instead of keeping them
    columns:   the token attributes that give the model's columns: ``{"pos": "tag"}``
    threads:   0 for all cores
    training:  arguments of the estimator that ``initialize`` trains
    """

    name: str
    model: str | None = None
    assigns: str | None = None
    spans_key: str = "sc"
    scores: bool | None = None
    threshold: float = 0.0
    overwrite: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    threads: int = 0
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.columns = attributes_of(self.columns)
        checked_kind(self.assigns)
        if not 0 <= self.threshold <= 1:
            raise ConfigError(f"threshold must be between 0 and 1, got {self.threshold}")
        self._estimator: Any = None
        self._error_handler: Any = None
        # A saved pipeline names the original model file, which need not exist: its folder holds the model.
        if self.model is not None and Path(self.model).exists():
            from chaffinch.estimators import load

            self._take(load(self.model))

    # -- annotating -------------------------------------------------------------------------------------------

    def __call__(self, doc: Any) -> Any:
        """Annotate one doc."""
        try:
            self._annotate([doc])
        except Exception as e:
            self.get_error_handler()(self.name, self, [doc], e)
        return doc

    def pipe(self, stream: Iterable[Any], *, batch_size: int = 1000) -> Iterator[Any]:
        """Annotate docs in batches: the model reads all sentences of a batch at once."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            try:
                self._annotate(batch)
            except Exception as e:
                self.get_error_handler()(self.name, self, batch, e)
                continue
            yield from batch

    @property
    def estimator(self) -> Any:
        """The :class:`Tagger` or :class:`Classifier`, for ``explain`` and everything else."""
        if self._estimator is None:
            if self.model is not None:
                raise ConfigError(f"{self.name}: there is no model file {self.model}")
            raise ConfigError(
                f"{self.name}: has no model: give config={{'model': FILE}}, or train it with nlp.initialize"
            )
        return self._estimator

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that it can assign: types of entities, tags or categories."""
        if self._estimator is None:
            return ()
        known = [str(label) for label in self._estimator.classes_.tolist()]
        scheme = scheme_of(known) if self._kind in (ENTS, SPANS) else None
        if scheme is None:
            return tuple(known)
        return tuple(sorted({label.split("-", 1)[1] for label in known if "-" in label}))

    def _annotate(self, docs: Sequence[Any]) -> None:
        estimator = self.estimator
        if self._kind == CATS:
            p, _ = estimator.answers([doc.text for doc in docs])
            names = [str(label) for label in estimator.classes_.tolist()]
            for doc, row in zip(docs, p.tolist(), strict=True):
                doc.cats = {**doc.cats, **dict(zip(names, row, strict=True))}
            return
        batch = Batch.of(docs, {name: self._attribute(name) for name in estimator.model_.columns})
        if self._kind in (TAG, POS):
            self._set_tags(batch, estimator.model_.decode(batch.table, self.threads))
        else:
            self._set_spans(batch)

    def _set_tags(self, batch: Batch, decoded: NDArray[np.int32]) -> None:
        from spacy import symbols

        labels, strings = self._estimator.model_.labels.outer, batch.docs[0].vocab.strings
        if self._kind == TAG:
            values, space = [strings.add(label) for label in labels], strings.add(SPACE_TAG)
        else:
            values, space = [symbols.IDS[label] for label in labels], symbols.IDS[SPACE_POS]
        made = np.full(batch.bounds[-1], space, np.uint64)
        made[batch.words] = np.array(values, np.uint64)[decoded]
        attribute = self._kind.upper()
        for doc, (a, b) in zip(batch.docs, pairwise(batch.bounds), strict=True):
            if a == b:
                continue
            cells = made[a:b]
            if not self.overwrite:
                present = doc.to_array(attribute)
                cells = np.where(present != 0, present, cells)
            doc.from_array([attribute], cells)

    def _set_spans(self, batch: Batch) -> None:
        from spacy.tokens import Span, SpanGroup

        scored = self._scored()
        by_doc: list[list[tuple[Any, float]]] = [[] for _ in batch.docs]
        for n, found in enumerate(self._found(batch, scored or self.threshold > 0)):
            at = batch.doc_of[n]
            first = batch.bounds[at]
            tokens = batch.words[batch.table.ptr[n] : batch.table.ptr[n + 1]]
            for start, end, label, p in found:
                if p >= self.threshold:
                    a, b = int(tokens[start]) - first, int(tokens[end - 1]) + 1 - first
                    by_doc[at].append((Span(batch.docs[at], a, b, label=label), p))
        for doc, given in zip(batch.docs, by_doc, strict=True):
            kept = given if self._kind == SPANS else self._set_entities(doc, given)
            if self._kind == SPANS or scored:
                group = SpanGroup(doc, name=self.spans_key, spans=[span for span, _ in kept])
                if scored:
                    group.attrs["scores"] = np.array([p for _, p in kept], np.float64)
                doc.spans[self.spans_key] = group

    def _found(self, batch: Batch, scored: bool) -> Iterable[Sequence[tuple[int, int, str, float]]]:
        """The spans of each sentence; scored: with probabilities."""
        if scored:
            found: list[Any] = self._estimator.predict_spans(batch.table)
            return found
        from chaffinch.text.schemes import spans

        scheme = scheme_of(self._estimator.model_.labels.outer)
        assert scheme is not None
        return (
            [(s.start, s.end, s.label, 1.0) for s in spans(tags, scheme)]
            for tags in self._estimator.predict(batch.table)
        )

    def _set_entities(self, doc: Any, given: list[tuple[Any, float]]) -> list[tuple[Any, float]]:
        """Add entities to those that are set already, and return the added ones."""
        present = [] if self.overwrite else list(doc.ents)
        taken = {t for span in present for t in range(span.start, span.end)}
        kept = [one for one in given if taken.isdisjoint(range(one[0].start, one[0].end))]
        doc.set_ents([*present, *(span for span, _ in kept)], default="outside")
        return kept

    def _scored(self) -> bool:
        if self.scores is not None:
            return self.scores
        from chaffinch.model.protocols import Tempered

        return self._kind == SPANS and isinstance(self._estimator.model_, Tempered)

    def _attribute(self, column: str) -> str:
        if column == WORD:
            return "text"
        found = self.columns.get(column) or ATTRIBUTES.get(column)
        if found is None:
            raise ConfigError(
                f"{self.name}: the model reads the column {column}; name the token attribute that gives it: "
                f"config={{'columns': {{{column!r}: 'tag'}}}}"
            )
        return found

    # -- training and scoring ---------------------------------------------------------------------------------

    def initialize(self, get_examples: Callable[[], Iterable[Any]], *, nlp: Any = None) -> None:
        """Train on the examples; if the config names a model, that is kept as it is."""
        if self.model is not None:
            _ = self.estimator
            return
        settings = {"threads": self.threads, **self.training}
        self._take(
            train(
                get_examples(),
                assigns=self.assigns,
                spans_key=self.spans_key,
                columns=self.columns,
                **settings,
            )
        )

    def score(self, examples: Iterable[Any], **_: Any) -> dict[str, Any]:
        """spaCy's scores of the annotation that it assigns."""
        from spacy.scorer import Scorer, get_ner_prf

        if self._estimator is None:
            return {}
        if self._kind == ENTS:
            found: dict[str, Any] = get_ner_prf(examples)
        elif self._kind == CATS:
            several = bool(self._estimator.model_.several)
            found = Scorer.score_cats(
                examples, "cats", labels=self.labels, multi_label=several, positive_label=None
            )
        elif self._kind == SPANS:
            key = self.spans_key
            found = Scorer.score_spans(
                examples,
                f"spans_{key}",
                getter=lambda doc, _: doc.spans.get(key, []),
                has_annotation=lambda doc: key in doc.spans,
                allow_overlap=True,
            )
        else:
            found = Scorer.score_token_attr(examples, self._kind)
        return found

    # -- keeping ----------------------------------------------------------------------------------------------

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The settings and the model file as bytes."""
        from spacy import util

        parts: dict[str, Any] = {"cfg": lambda: json.dumps(self._settings()).encode()}
        if self._estimator is not None:
            parts["model"] = self._model_bytes
        made: bytes = util.to_bytes(parts, exclude)
        return made

    def from_bytes(self, content: bytes, *, exclude: Iterable[str] = ()) -> "Chaffinch":
        """Read the settings and the model from bytes."""
        from spacy import util

        parts: dict[str, Any] = {
            "cfg": lambda b: self._take_settings(json.loads(b)),
            "model": self._take_bytes,
        }
        util.from_bytes(content, parts, exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write a folder with the settings and the model file."""
        from spacy import util

        parts: dict[str, Any] = {
            SETTINGS_FILE: lambda p: Path(p).write_text(json.dumps(self._settings()), encoding="utf-8")
        }
        if self._estimator is not None:
            parts[MODEL_FILE] = self._estimator.save
        util.to_disk(path, parts, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "Chaffinch":
        """Read a folder that :meth:`to_disk` wrote."""
        from spacy import util

        from chaffinch.estimators import load

        parts: dict[str, Any] = {
            SETTINGS_FILE: lambda p: self._take_settings(json.loads(Path(p).read_text(encoding="utf-8")))
        }
        if (Path(path) / MODEL_FILE).exists():
            parts[MODEL_FILE] = lambda p: self._take(load(p))
        util.from_disk(path, parts, exclude)
        return self

    def set_error_handler(self, handler: Any) -> None:
        """Set the handler of docs that cannot be annotated, as ``nlp.set_error_handler`` does."""
        self._error_handler = handler

    def get_error_handler(self) -> Any:
        """The error handler: spaCy's, which raises, unless another was set."""
        if self._error_handler is not None:
            return self._error_handler
        from spacy.util import raise_error

        return raise_error

    def _settings(self) -> dict[str, Any]:
        return {"assigns": None if self._estimator is None else self._kind}

    def _take_settings(self, settings: Mapping[str, Any]) -> None:
        if self.assigns is None:
            self.assigns = settings.get("assigns")

    def _model_bytes(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / MODEL_FILE
            self._estimator.save(path)
            return path.read_bytes()

    def _take_bytes(self, content: bytes) -> None:
        from chaffinch.estimators import load

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / MODEL_FILE
            path.write_bytes(content)
            self._take(load(path))

    def _take(self, estimator: Any) -> None:
        """Use a model, and decide what it assigns."""
        self._kind = _assigned_by(estimator, self.assigns, self.name)
        estimator.threads = self.threads
        self._estimator = estimator


def _registered() -> Any:
    """The factory, registered with spaCy under the name chaffinch."""
    try:
        from spacy.language import Language
    except ImportError:
        raise missing_extra("spacy", "spacy") from None

    def create_chaffinch(
        nlp: Language,  # noqa: ARG001
        name: str,
        model: str | None,
        assigns: str | None,
        spans_key: str,
        scores: bool | None,
        threshold: float,
        overwrite: bool,
        columns: dict[str, str],
        threads: int,
        training: dict[str, Any],
    ) -> Chaffinch:
        return Chaffinch(
            name, model, assigns, spans_key, scores, threshold, overwrite, columns, threads, training
        )

    return Language.factory(
        "chaffinch",
        assigns=[
            "doc.ents",
            "doc.cats",
            "doc.spans",
            "token.ent_iob",
            "token.ent_type",
            "token.tag",
            "token.pos",
        ],
        default_config=DEFAULTS,
        default_score_weights={
            "ents_f": 1.0,
            "ents_p": 0.0,
            "ents_r": 0.0,
            "tag_acc": 1.0,
            "pos_acc": 1.0,
            "cats_score": 1.0,
        },
        func=create_chaffinch,
    )


def _assigned_by(estimator: Any, assigns: str | None, name: str) -> str:
    """The annotation that a model assigns; ConfigError if it cannot assign the requested one."""
    from chaffinch.estimators import Classifier, Tagger

    if isinstance(estimator, Classifier):
        if estimator.model_.encoder.reads != "texts":
            raise ConfigError(
                f"{name}: the classifier reads {estimator.model_.encoder.reads}, but a doc has only a text"
            )
        able: tuple[str, ...] = (CATS,)
    elif isinstance(estimator, Tagger):
        labels = estimator.model_.labels.outer
        universal = UNIVERSAL.issuperset(labels)
        able = (ENTS, SPANS) if scheme_of(labels) is not None else (POS, TAG) if universal else (TAG,)
    else:
        raise ConfigError(f"{name}: expected a tagger or a classifier, got a {type(estimator).__name__}")
    if assigns is not None and assigns not in able:
        raise ConfigError(f"{name}: this model can assign {' or '.join(able)}, not {assigns}")
    return assigns or able[0]
