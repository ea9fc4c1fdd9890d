"""Texts with several annotators: their agreement, and which of their annotations is learnt.

    span F1        2 |A and B| / (|A| + |B|) over the exact spans of each pair of annotators of a text
    Cohen's kappa  (p - e) / (1 - e)   p: share of tokens, or texts, on which two annotators agree
                                       e: the share expected if each labelled at random by their own proportions

Kappa is computed for each pair of annotators and averaged, weighted by the number of tokens (texts) that both labelled.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from chaffinch.errors import ConfigError
from chaffinch.text.alignment import tagged
from chaffinch.text.document import LABEL, Annotation, Document, Span
from chaffinch.text.schemes import BIO, Scheme
from chaffinch.text.tokens import tokens

FIRST, MAJORITY, SOFT = "first", "majority", "soft"
CHOICES = (FIRST, MAJORITY, SOFT)
OUTSIDE = "O"

Pairs = Counter[tuple[str, str]]


@dataclass(slots=True)
class Agreement:
    """Counts of agreement between annotators, summed text by text.

    >>> agreement = Agreement()
    >>> spans = [Span("PER", 0, 3)]
    >>> agreement.add(Document("Ann left", annotations=[Annotation("a", spans), Annotation("b", spans)]))
    >>> agreement.span_f1, agreement.token_kappa
    (1.0, 1.0)
    """

    documents: int = 0
    annotators: set[str] = field(default_factory=set)
    shared: int = 0
    spans: int = 0
    labelled: int = 0
    _tokens: dict[tuple[str, str], Pairs] = field(default_factory=dict)
    _labels: dict[tuple[str, str], Pairs] = field(default_factory=dict)

    def add(self, d: Document) -> None:
        """Count a text; texts with fewer than two annotators are skipped."""
        if len(d.annotations) < 2:
            return
        self.documents += 1
        self.annotators.update(a.annotator for a in d.annotations)
        starts = [token.start for token in d.tokens or tokens(d.text)]
        for a, b in combinations(sorted(d.annotations, key=lambda one: one.annotator), 2):
            who = (a.annotator, b.annotator)
            left, right = ({(s.label, s.start, s.end) for s in one.spans} for one in (a, b))
            self.shared += 2 * len(left & right)
            self.spans += len(left) + len(right)
            self.labelled += len(a.labels) + len(b.labels)
            pairs = zip(_at(starts, a.spans), _at(starts, b.spans), strict=True)
            self._tokens.setdefault(who, Counter()).update(pairs)
            self._labels.setdefault(who, Counter())[_joined(a), _joined(b)] += 1

    @property
    def span_f1(self) -> float | None:
        """The F1 of exact spans between two annotators; None if there are no spans."""
        return self.shared / self.spans if self.spans else None

    @property
    def token_kappa(self) -> float | None:
        """Cohen's kappa of the labels of tokens; None if there are no spans."""
        return mean_kappa(self._tokens.values()) if self.spans else None

    @property
    def label_kappa(self) -> float | None:
        """Cohen's kappa of the labels of texts; None if there are no labels."""
        return mean_kappa(self._labels.values()) if self.labelled else None

    def __str__(self) -> str:
        figures = {
            "span F1": self.span_f1,
            "Cohen's kappa of tokens": self.token_kappa,
            "Cohen's kappa of labels": self.label_kappa,
        }
        shown = ", ".join(f"{name} {value:.3f}" for name, value in figures.items() if value is not None)
        return f"{self.documents} texts have several annotators ({len(self.annotators)} in all): {shown or 'all empty'}"


def kappa(pairs: Pairs) -> float:
    """Cohen's kappa of two annotators, from the counts of pairs of labels.

    >>> round(kappa(Counter({("x", "x"): 20, ("x", "y"): 5, ("y", "x"): 10, ("y", "y"): 15})), 6)
    0.4
    """
    n = pairs.total()
    left: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for (a, b), count in pairs.items():
        left[a] += count
        right[b] += count
    observed = sum(count for (a, b), count in pairs.items() if a == b) / n
    expected = sum(left[label] * right[label] for label in left) / n**2
    return 1.0 if expected == 1.0 else (observed - expected) / (1.0 - expected)


def mean_kappa(tables: Iterable[Pairs]) -> float | None:
    """The mean over pairs of annotators, weighted by the number of units that both labelled; None if there are none."""
    known = [(table.total(), kappa(table)) for table in tables if table]
    total = sum(n for n, _ in known)
    return sum(n * value for n, value in known) / total if total else None


def decided(d: Document, how: str) -> Document:
    """The document with one set of annotations made from those of several annotators.

    first:    as it was read: the annotation marked as final, else the first
    majority: spans and labels that more than half of the annotators gave; if each gave one label, the most
              frequent, in a tie the earliest
    soft:     the share of annotators who gave each label; spans become shares of tags

    An annotation marked as final (ground truth) overrides the others.

    >>> d = Document("x", labels=["+"], annotations=[Annotation(n, [], [y]) for n, y in zip("abc", "+--")])
    >>> decided(d, "majority").labels, decided(d, "soft").shares
    (['-'], {'+': 0.3333333333333333, '-': 0.6666666666666666})
    """
    if how not in CHOICES:
        raise ConfigError(f"annotators must be one of {', '.join(CHOICES)}, got {how!r}")
    if how == FIRST or len(d.annotations) < 2 or any(a.final for a in d.annotations):
        return d
    votes = Counter(label for a in d.annotations for label in a.labels)
    n = len(d.annotations)
    if how == SOFT:
        total = votes.total()
        shares = {label: count / total for label, count in votes.items()} if len(votes) > 1 else {}
        return replace(d, shares=shares, labels=[max(votes, key=votes.__getitem__)] if shares else d.labels)
    marked = Counter(s for a in d.annotations for s in dict.fromkeys(_bare(s) for s in a.spans))
    spans = sorted((s for s, count in marked.items() if 2 * count > n), key=lambda s: (s.start, -s.end))
    if votes and all(len(a.labels) == 1 for a in d.annotations):
        return replace(d, spans=spans, labels=[max(votes, key=votes.__getitem__)])
    return replace(d, spans=spans, labels=[label for label, count in votes.items() if 2 * count > n])


def soft_tags(d: Document, scheme: Scheme = BIO) -> list[dict[str, float]]:
    """For each token of a tokenised document the share of annotators who gave each tag.

    >>> d = Document("Ann left", tokens("Ann left"))
    >>> d.annotations = [Annotation("a", [Span("PER", 0, 3)]), Annotation("b", [])]
    >>> soft_tags(d)
    [{'B-PER': 0.5, 'O': 0.5}, {'O': 1.0}]
    """
    if len(d.annotations) < 2 or any(a.final for a in d.annotations):
        tags = [d.columns[LABEL] if LABEL in d.columns else _tags(d, d.spans, scheme)]
    else:
        tags = [_tags(d, a.spans, scheme) for a in d.annotations]
    made = []
    for given in zip(*tags, strict=True):
        made.append({tag: count / len(tags) for tag, count in Counter(given).items()})
    return made


def _tags(d: Document, spans: Sequence[Span], scheme: Scheme) -> list[str]:
    [made], _ = tagged([replace(d, spans=list(spans), columns={}, annotations=[])], scheme)
    return made.columns[LABEL]


def _at(starts: Sequence[int], spans: Sequence[Span]) -> list[str]:
    """The label of each token: that of the first span that contains its start."""
    return [next((s.label for s in spans if s.start <= at < s.end), OUTSIDE) for at in starts]


def _joined(a: Annotation) -> str:
    return "|".join(sorted(a.labels))


def _bare(s: Span) -> Span:
    return Span(s.label, s.start, s.end)
