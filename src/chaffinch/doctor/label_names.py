"""Names of labels: rare, not in the training data, or look-alikes."""

from collections import Counter
from collections.abc import Iterator, Sequence

from chaffinch.corpus.brackets import plain_label
from chaffinch.doctor.corpus_file import CorpusFile
from chaffinch.doctor.finding import ERROR, HINT, WARNING, Finding, quoted, times
from chaffinch.doctor.tag_schemes import spells_spans
from chaffinch.text.binary_trees import nodes
from chaffinch.text.document import LABEL, Document
from chaffinch.text.label_names import look_alikes
from chaffinch.text.schemes import OUTSIDE

CHECK = "labels"

RARE = 2  # a label that occurs at most this often is rare


def label_names(files: Sequence[CorpusFile]) -> Iterator[Finding]:
    """Rows without a label, rare labels, labels that the first file lacks, names that look alike."""
    yield from _unlabelled(files)
    counts = [Counter[str]() for _ in files]
    first: dict[str, tuple[int, int, int]] = {}
    first_in: list[dict[str, tuple[int, int]]] = [{} for _ in files]
    for f, file in enumerate(files):
        typed = file.has_tags and spells_spans(file.tag_column)
        for n, d in enumerate(file.documents):
            for t, label in _labels(d, typed):
                counts[f][label] += 1
                first.setdefault(label, (f, n, t))
                first_in[f].setdefault(label, (n, t))
    total = Counter[str]()
    for one in counts:
        total.update(one)
    alike = look_alikes(total)
    for label, usual in alike.items():
        f, n, t = first[label]
        what = f"the label {label!r} ({times(total[label])}, first here) looks like {usual!r} ({times(total[usual])})"
        yield files[f].finding(CHECK, ERROR, n, what, f"{usual}?", token=t, weight=total[usual])
    for f, file in enumerate(files[1:], 1):
        for label, (n, t) in first_in[f].items():
            if counts[0] and not counts[0][label] and label not in alike:
                what = f"the label {label!r} ({times(counts[f][label])}, first here) never occurs in {files[0].name}"
                yield file.finding(CHECK, WARNING, n, what, token=t, weight=counts[f][label])
    for label, count in total.items():
        f, n, t = first[label]
        if count <= RARE and label not in alike:
            what = f"the label {label!r} occurs {times(count)}: too few to learn from"
            yield files[f].finding(CHECK, HINT, n, what, token=t, weight=-count)


def _unlabelled(files: Sequence[CorpusFile]) -> Iterator[Finding]:
    """Texts without a label, unless some have several: then having none is valid."""
    counts = Counter(len(d.labels) for file in files for d in file.documents)
    if max(counts, default=0) != 1:
        return
    for file in files:
        for n, d in enumerate(file.documents):
            if not d.labels and not d.spans:
                yield file.finding(
                    CHECK, ERROR, n, f"has no label: {quoted(d.text)}", "label it, or remove it"
                )


def _labels(d: Document, typed: bool) -> Iterator[tuple[int, str]]:
    """Each label with its token; if tags mark spans, the type of each span once."""
    for t, tag in enumerate(d.columns.get(LABEL, [])):
        letter, dash, kind = tag.partition("-")
        if not typed:
            yield t, tag
        elif tag != OUTSIDE and (not dash or letter in ("B", "S", "U") or _begins(d.columns[LABEL], t)):
            yield t, kind if dash else tag
    for s in d.spans:
        yield 0, s.label
    for label in d.labels:
        yield 0, label
    if d.tree is not None:
        for node in nodes(d.tree):
            yield 0, plain_label(node.label)


def _begins(tags: list[str], t: int) -> bool:
    """Whether a span begins here in a scheme without a letter for beginnings."""
    kind = tags[t].partition("-")[2]
    return t == 0 or tags[t - 1].partition("-")[2] != kind
