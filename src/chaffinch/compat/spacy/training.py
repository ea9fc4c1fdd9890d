"""Training from spaCy's docs and examples."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.text.document import WORD
from chaffinch.text.schemes import BIO, TokenSpan, tags_of

ENTS, SPANS, TAG, POS, CATS = "ents", "spans", "tag", "pos", "cats"
ASSIGNED = (ENTS, SPANS, TAG, POS, CATS)
# The token attributes that give the columns which a tagger reads beside the word.
ATTRIBUTES = {
    "pos": "tag",
    "xpos": "tag",
    "upos": "pos",
    "lemma": "lemma",
    "feats": "morph",
    "deprel": "dep",
}


def train(
    docs: Iterable[Any],
    *,
    assigns: str | None = None,
    spans_key: str = "sc",
    columns: Mapping[str, str] | None = None,
    **settings: Any,
) -> Any:
    """A :class:`Tagger` or :class:`Classifier` of annotated docs or examples.

    docs:     spaCy's ``Doc`` or ``Example`` objects: a corpus, or the output of ``nlp.pipe``
    assigns:  what to learn: "ents", "spans", "tag", "pos" or "cats"; None: the only annotation that the docs have
    columns:  columns beside the word and the token attributes that give them: ``{"pos": "tag"}``
    settings: arguments of the estimator: ``recipe="crf"``, ``folds=0``

    Entities and tags that are unknown, or do not fit the tokens of an example, are unknown labels: the recipe crf
    learns from the other tokens of such a sentence, other recipes leave the sentence out.
    """
    from chaffinch.estimators import Classifier, Tagger

    given = [Annotated.of(doc) for doc in docs]
    if not given:
        raise DataError("expected at least one doc to train on, got none")
    kind = checked_kind(assigns) or _only_annotation(given, spans_key)
    if kind == CATS:
        texts, labels = _categories(given)
        return Classifier(**settings).fit(texts, labels)
    read = {WORD: "text", **attributes_of(columns or {})}
    rows: dict[str, list[list[str]]] = {name: [] for name in read}
    y: list[list[str | None]] = []
    for n, one in enumerate(given, 1):
        labels = one.tags(kind, spans_key)
        cells = {name: one.cells(attribute) for name, attribute in read.items()}
        for sentence in one.sentences(labels):
            for name, attribute in read.items():
                rows[name].append(_complete([cells[name][t] for t in sentence], name, attribute, n))
            y.append([labels[t] for t in sentence])
    unknown = [any(label is None for label in sentence) for sentence in y]
    if not any(label is not None for sentence in y for label in sentence):
        raise DataError(f"expected docs with {kind}, found none")
    if any(unknown) and settings.get("recipe") not in (None, "crf"):
        warn_about_data(
            f"{sum(unknown)} of {len(y)} sentences have unknown labels, or annotations that do not fit the tokens, "
            f"and are left out: the recipe {settings['recipe']} needs a label for every token, crf does not"
        )
        keep = [n for n, some in enumerate(unknown) if not some]
        rows, y = {name: [cells[n] for n in keep] for name, cells in rows.items()}, [y[n] for n in keep]
    elif any(unknown):
        settings = {**settings, "recipe": "crf"}  # the only recipe that learns from unknown labels
    return Tagger(**settings).fit(rows, y)


@dataclass(frozen=True)
class Annotated:
    """A doc that gives the tokens, and the reference that annotates them: the same doc, or an example's.

    example: None if the doc annotates itself
    """

    doc: Any
    reference: Any
    example: Any = None

    @classmethod
    def of(cls, given: Any) -> "Annotated":
        """A doc, or an example of one."""
        if hasattr(given, "reference"):
            return cls(given.predicted, given.reference, given)
        if not hasattr(given, "ents"):
            raise DataError(f"expected spaCy's Doc or Example objects, got {type(given).__name__}")
        return cls(given, given)

    def cells(self, attribute: str) -> list[str | None]:
        """A string per token; attributes other than the text come from the reference."""
        if attribute == "text":
            return [token.text for token in self.doc]
        if self.example is None:
            return [str(getattr(t, "morph" if attribute == "morph" else f"{attribute}_")) for t in self.doc]
        found: list[str | None] = self.example.get_aligned(attribute.upper(), as_string=True)
        return found

    def tags(self, kind: str, spans_key: str) -> list[str | None]:
        """The label of each token; None if it is unknown."""
        if kind in (TAG, POS):
            return [label or None for label in self.cells(kind)]
        if kind == ENTS:
            if not self.reference.has_annotation("ENT_IOB"):
                return [None] * len(self.doc)
            if self.example is None:
                missing = {token.i for token in self.doc if token.ent_iob == 0}
                spans = [TokenSpan(s.label_, s.start, s.end) for s in self.doc.ents]
            else:
                missing = {t for t, tag in enumerate(self.example.get_aligned_ner()) if tag is None}
                spans = self._aligned(self.reference.ents)
        else:
            if spans_key not in self.reference.spans:
                return [None] * len(self.doc)
            missing, given = set(), list(self.reference.spans[spans_key])
            spans = (
                self._aligned(given)
                if self.example is not None
                else [TokenSpan(s.label_, s.start, s.end) for s in given]
            )
            if len(spans) < len(given):
                warn_about_data(
                    f"{len(given) - len(spans)} spans do not fit the tokens of {self.doc.text[:40]!r}"
                )
            taken: set[int] = set()
            for span in spans:
                if not taken.isdisjoint(range(span.start, span.end)):
                    raise DataError(
                        f"the spans {spans_key!r} of {self.doc.text[:40]!r} overlap, which tags cannot represent"
                    )
                taken.update(range(span.start, span.end))
        tags: list[str | None] = [*tags_of(spans, len(self.doc), BIO)]
        for t in missing:
            tags[t] = None
        return tags

    def sentences(self, labels: Sequence[str | None]) -> Iterator[list[int]]:
        """The token numbers of each sentence without white space; a span is never cut."""
        starts = {0}
        if self.example is None:
            if self.doc.has_annotation("SENT_START"):
                starts |= {token.i for token in self.doc if token.is_sent_start}
        elif self.reference.has_annotation("SENT_START"):
            starts |= {t for t, start in enumerate(self.example.get_aligned("SENT_START")) if start == 1}
        sentence: list[int] = []
        for token in self.doc:
            if token.i in starts and sentence and not str(labels[token.i]).startswith("I-"):
                yield sentence
                sentence = []
            if not token.is_space:
                sentence.append(token.i)
        if sentence:
            yield sentence

    def _aligned(self, spans: Iterable[Any]) -> list[TokenSpan]:
        found = self.example.get_aligned_spans_y2x(list(spans), allow_overlap=True)
        return [TokenSpan(s.label_, s.start, s.end) for s in found]


def checked_kind(assigns: str | None) -> str | None:
    """The annotation to assign; ConfigError if it is unknown."""
    if assigns is not None and assigns not in ASSIGNED:
        raise ConfigError(f"assigns must be one of {', '.join(ASSIGNED)}, got {assigns!r}")
    return assigns


def attributes_of(columns: Mapping[str, str]) -> dict[str, str]:
    """Token attributes by column, spelt as spaCy's constants: ``tag_`` and ``TAG`` are ``tag``."""
    made = {name: attribute.rstrip("_").lower() for name, attribute in columns.items()}
    known = set(ATTRIBUTES.values()) | {"norm", "lower", "shape", "ent_type"}
    for name, attribute in made.items():
        if attribute not in known:
            raise ConfigError(
                f"column {name}: {attribute!r} is not one of the token attributes {', '.join(sorted(known))}"
            )
    return made


def _only_annotation(given: Sequence[Annotated], spans_key: str) -> str:
    """The one kind of annotation that the docs have."""
    found = []
    if any(one.reference.ents for one in given):
        found.append(ENTS)
    if any(spans_key in one.reference.spans for one in given):
        found.append(SPANS)
    if any(one.reference.cats for one in given):
        found.append(CATS)
    found += [kind for kind in (TAG, POS) if any(one.reference.has_annotation(kind.upper()) for one in given)]
    if len(found) != 1:
        has = " and ".join(found) or "none of " + ", ".join(ASSIGNED)
        raise ConfigError(f"the docs have {has}: choose what to learn with assigns=")
    return found[0]


def _categories(given: Sequence[Annotated]) -> tuple[list[str], list[Any]]:
    """The texts and their labels: single labels, lists or shares, depending on the values of ``doc.cats``."""
    known = [one for one in given if one.reference.cats]
    if not known:
        raise DataError("expected docs with cats, found none")
    if len(known) < len(given):
        warn_about_data(f"{len(given) - len(known)} of {len(given)} docs have no cats and are left out")
    texts, cats = [one.doc.text for one in known], [one.reference.cats for one in known]
    values = {value for one in cats for value in one.values()}
    if values <= {0, 1}:
        chosen = [[label for label, value in one.items() if value] for one in cats]
        return texts, [one[0] for one in chosen] if all(len(one) == 1 for one in chosen) else chosen
    if all(abs(sum(one.values()) - 1) < 1e-3 and min(one.values()) >= 0 for one in cats):
        return texts, [dict(one) for one in cats]
    raise DataError("expected values of cats that are 0 or 1, or add up to 1 in every doc")


def _complete(cells: list[str | None], column: str, attribute: str, n: int) -> list[str]:
    if not all(cells):
        raise DataError(f"doc {n}: a token has no {attribute}, which gives the column {column}")
    return [str(cell) for cell in cells]
