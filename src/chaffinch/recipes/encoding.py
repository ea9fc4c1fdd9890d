"""The features and inner labels that all discriminative taggers share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.features.files import feature_set
from chaffinch.features.own import OWN
from chaffinch.features.rows import FeatureRows
from chaffinch.features.templates import FeatureSet, columns_of, parse_all
from chaffinch.knobs import knob
from chaffinch.model import LabelSet
from chaffinch.model.chain_weights import Legal
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.recipes.recipe import TaggingTask
from chaffinch.text.clusters import Clusters
from chaffinch.text.document import LABEL, WORD
from chaffinch.text.first_pass import FIRST, MAJORITY
from chaffinch.text.gazetteers import Gazetteers
from chaffinch.text.schemes import (
    BIO,
    BIOES,
    Scheme,
    convert_column,
    detect_column,
    legal_transitions,
    repair_column,
    validate_column,
)
from chaffinch.text.schemes.table import letter_and_type
from chaffinch.text.table import Column, TokenTable

INSIDE = ("auto", "as given")

OUTSIDE = "O"

# Spans with a smaller share of capitalised tokens are not names in newspaper style.
FEW_CAPITALS = 0.1

# At most one tag in this many may break its scheme.
FEW = 100


@dataclass(frozen=True, kw_only=True)
class TemplateFeatures:
    """Knobs of all taggers with template features."""

    min_count: int = knob(1, "minimum count of a feature; rarer features are dropped", low=1)
    language: str = knob("english", "language of stems and prepositions, for the templates that use them")
    clusters: str | None = knob(None, "file of word clusters: path, word")
    gazetteers: str | None = knob(None, "files of phrases, separated by commas, or a folder of .txt files")
    stretch: int | None = knob(
        None,
        "consecutive sentences that count as one document if the data mark none, for features of a word's other "
        "occurrences; auto: 50 if capitalised words recur near each other, else 1",
        low=1,
    )


def encoded(
    task: TaggingTask,
    knobs: TemplateFeatures,
    *,
    preset: str,
    labels: Callable[[FeatureSet], Sequence[str]] | None = None,
    second: Sequence[str] = (),
) -> tuple[TemplateEncoder, FeatureRows]:
    """The encoder fitted to the task's sentences, and their rows. ``preset`` is used if the task names no features.

    labels: templates over decided labels, added if the features have none
    second: templates over the labels of a first pass, added if the features do not read them
    """
    encoder = new_encoder(task, knobs, preset=preset, labels=labels, second=second)
    settings = tuple(getattr(knobs, one.name) for one in fields(TemplateFeatures))
    key = (repr(encoder.features), settings)
    if task.encoded is not None and key in task.encoded:
        known: tuple[TemplateEncoder, FeatureRows] = task.encoded[key]
        return known
    readable = {name: task.table.columns[name] for name in task.columns or (WORD,)}
    table = TokenTable(task.table.ptr, readable, task.table.groups, attributes=task.attributes)
    made = encoder.fit(table)
    found = TemplateEncoder(encoder), made
    if task.encoded is not None:
        task.encoded[key] = found
    return found


def new_encoder(
    task: TaggingTask,
    knobs: TemplateFeatures,
    *,
    preset: str,
    labels: Callable[[FeatureSet], Sequence[str]] | None = None,
    second: Sequence[str] = (),
) -> FeatureEncoder:
    """The encoder of a task, not yet fitted; see :func:`encoded`."""
    paths = None if knobs.clusters is None else Clusters.read(knobs.clusters)
    phrases = None if knobs.gazetteers is None else Gazetteers.read(phrase_files(knobs.gazetteers))
    named = task.features if task.features is not None else preset
    chosen = _templates(named, task, paths, phrases)
    if labels is not None and not any(t.label_offsets for t in chosen.templates):
        chosen = replace(chosen, templates=(*chosen.templates, *parse_all(labels(chosen))))
    if not {FIRST, MAJORITY} & set(columns_of(chosen.templates)):
        chosen = replace(chosen, templates=(*chosen.templates, *parse_all(second)))
    return FeatureEncoder(
        chosen,
        min_count=knobs.min_count,
        language=knobs.language,
        clusters=paths,
        gazetteers=phrases,
        stretch=knobs.stretch,
        threads=task.threads,
    )


def _templates(
    named: FeatureSet | str | Sequence[str],
    task: TaggingTask,
    clusters: Clusters | None,
    gazetteers: Gazetteers | None,
) -> FeatureSet:
    """The templates; none if tokens hold all features."""
    if named == OWN:
        if task.attributes is None:
            raise ConfigError(
                f"features {OWN!r} needs tokens that are dicts or lists of features, or tuples that end in one"
            )
        return FeatureSet(())
    if task.without_words:
        raise ConfigError(
            "the tokens are your own features and have no words for templates to read: leave out features, or give "
            "tuples such as ('tea', {'cap': True})"
        )
    return feature_set(named, task.columns, clusters, gazetteers)


@dataclass(frozen=True)
class InnerLabels:
    """The labels that a model learns.

    labels:  inner and outer
    y:       int32 [tokens], inner ids
    scheme:  the tag scheme of the inner labels; None: they are plain, or break their scheme
    allowed: bool [tokens, Y], which labels a token may have; None: only the given one
    """

    labels: LabelSet
    y: NDArray[np.int32]
    scheme: Scheme | None = None
    allowed: NDArray[np.bool_] | None = None

    @classmethod
    def of(
        cls, column: Column, ptr: NDArray[np.int64], inside: str, unknown: str | None = None
    ) -> "InnerLabels":
        """The inner labels of a column: BIO is recoded as BIOES, unless ``inside`` is "as given".

        A few tags that break their scheme are repaired as scorers read them: an I without a span before it begins one.
        If more than one tag in a hundred breaks it, labels are neither recoded nor constrained. A token with the label
        ``unknown`` may have any label; then nothing is recoded.

        >>> column = Column(["B-NP", "I-NP", "O"], np.array([0, 1, 2, 0], np.int32))
        >>> InnerLabels.of(column, np.array([0, 4]), "auto").labels.inner
        ('B-NP', 'E-NP', 'O', 'S-NP')
        """
        if unknown is not None and unknown in column.types:
            return cls._partial(column, unknown)
        scheme = detect_column(column, ptr)
        if scheme is not None and (faults := len(validate_column(column, ptr, scheme))):
            tagged = np.array([label != OUTSIDE for label in column.types])[column.ids].sum()
            if faults * FEW > tagged:
                scheme = None
            else:
                column = repair_column(column, ptr, scheme)
        if scheme is BIO and inside == "auto":
            inner = convert_column(column, ptr, BIO, BIOES)
            labels = LabelSet.recoded(column.types, {tag: as_bio(tag) for tag in inner.types})
            return cls(labels, labels.column_ids(inner), BIOES)
        labels = LabelSet.plain(column.types)
        return cls(labels, labels.column_ids(column), scheme)

    @classmethod
    def _partial(cls, column: Column, unknown: str) -> "InnerLabels":
        known = [label for label in column.types if label != unknown]
        if not known:
            raise DataError(
                f"expected some known labels, but every label is {unknown!r}, the marker of unknown labels"
            )
        labels = LabelSet.plain(known)
        place = {label: i for i, label in enumerate(labels.inner)}
        y = np.array([place.get(label, -1) for label in column.types], np.int32)[column.ids]
        allowed = (y[:, None] == np.arange(len(labels.inner))) | (y < 0)[:, None]
        spans = any(label != "O" for label in known) and all(letter_and_type(label, BIO) for label in known)
        return cls(labels, np.maximum(y, 0), BIO if spans else None, allowed)

    @cached_property
    def legal(self) -> Legal | None:
        """Which label may follow which [Y, Y], start a sentence [Y] and end one [Y]; None: any may."""
        return None if self.scheme is None else legal_transitions(self.labels.inner, self.scheme)

    @cached_property
    def names(self) -> bool:
        """Whether labels are spans and most tokens are outside, as with names; phrases cover the text."""
        if self.scheme is None or OUTSIDE not in self.labels.inner:
            return False
        return bool((self.y == self.labels.inner.index(OUTSIDE)).mean() > 0.5)

    def with_labels_of(self, other: LabelSet) -> "InnerLabels":
        """The same tokens with the labels of another set added."""
        outer = {
            inner: labels.outer[o]
            for labels in (other, self.labels)
            for inner, o in zip(labels.inner, labels.outer_of.tolist(), strict=True)
        }
        labels = LabelSet.recoded([*other.outer, *self.labels.outer], outer)
        place = labels.ids(self.labels.inner)
        allowed = None
        if self.allowed is not None:
            allowed = np.zeros((len(self.y), len(labels.inner)), bool)
            allowed[:, place] = self.allowed
            allowed[self.allowed.all(axis=1)] = True
        return InnerLabels(labels, place[self.y], self.scheme, allowed)


def suggested_preset(task: TaggingTask, inner: InnerLabels) -> str:
    """The preset that suits the columns and the labels: names, phrases, or a label for every token."""
    if task.without_words:
        return OWN
    if task.table.images:
        return "pixels"
    if inner.names:
        return "pos" if _in_lower_case(task, inner) else "ner"
    if inner.legal is not None:
        return "chunking" if "pos" in task.columns else "default"
    return "pos" if "pos" not in task.columns else "default"


def _in_lower_case(task: TaggingTask, inner: InnerLabels) -> bool:
    """Whether spans are in lower case, as slots of requests are: capitals then do not help to find them."""
    words = task.table.columns[task.columns[0]]
    tokens = words.ids[inner.y != inner.labels.inner.index(OUTSIDE)]
    capital = np.array([word != word.lower() for word in words.types], bool)[tokens]
    small = np.array([word != word.upper() for word in words.types], bool)[tokens]
    return bool(len(tokens)) and bool(capital.mean() < FEW_CAPITALS and small.mean() > 0.5)


def encoded_without_labels(
    task: TaggingTask, knobs: TemplateFeatures, inner: InnerLabels
) -> tuple[TemplateEncoder, FeatureRows]:
    """:func:`encoded` for exact search over chains, which has no features of decided labels."""
    encoder, rows = encoded(task, knobs, preset=suggested_preset(task, inner))
    if encoder.features.label_templates:
        raise ConfigError(
            f"template {encoder.features.label_templates[0].text!r} reads labels; exact search learns label pairs "
            "without templates: use greedy, easiest-first or beam for these templates"
        )
    return encoder, rows


def inner_labels(task: TaggingTask, inside: str, unknown: str | None = None) -> InnerLabels:
    """The inner labels of a task."""
    return InnerLabels.of(task.table.columns[LABEL], task.table.ptr, inside, unknown)


def refuse_empty(left: NDArray[np.floating | np.bool_], min_weight: float, largest: float) -> None:
    """Refuse a threshold above every weight: the model would be empty."""
    if min_weight > 0 and largest > 0 and not np.any(left):
        raise ConfigError(f"min_weight {min_weight:g} leaves no weight: the largest is {largest:.2g}")


def as_bio(tag: str) -> str:
    """Map BIOES to BIO: E becomes I, S becomes B."""
    return {"E": "I", "S": "B"}.get(tag[0], tag[0]) + tag[1:]


def phrase_files(named: str) -> dict[str, Path]:
    """Files of phrases by name: those named, separated by commas, or those of a folder."""
    folder = Path(named)
    files = sorted(folder.glob("*.txt")) if folder.is_dir() else [Path(name) for name in named.split(",")]
    if not files:
        raise ConfigError(f"{named}: has no file of phrases ending in .txt")
    return {path.stem: path for path in files}
