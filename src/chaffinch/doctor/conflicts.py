"""Conflicts: one text, one context or one name with different labels. Duplicates: one text twice."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from chaffinch.doctor.corpus_file import CorpusFile, annotation, content, is_annotated, normalised
from chaffinch.doctor.finding import ERROR, HINT, WARNING, Finding, quoted
from chaffinch.kinds.tags.reading import with_tags
from chaffinch.text.document import LABEL, Document
from chaffinch.text.schemes import spans

CHECK = "conflicts"

WINDOW = 2  # words of context on each side
OFTEN, SELDOM = 5, 0.1  # minimum number of spans of a name, maximum share with another type
EDGE = ""  # beyond the ends of a sentence
WHOLE_ROWS = 1e3  # extra weight of a text with two annotations, compared with a word

Window = tuple[str, ...]
Place = tuple[int, int]  # file and document


def conflicts(files: Sequence[CorpusFile]) -> Iterator[Finding]:
    """Rows that contradict others; rarer labels come first."""
    told: set[Place] = set()
    yield from _texts(files, told)
    yield from _surroundings(files, told)
    yield from _names(files)


def _texts(files: Sequence[CorpusFile], told: set[Place]) -> Iterator[Finding]:
    """Whole texts with more than one annotation; their places are added to ``told``."""
    rows: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for f, file in enumerate(files):
        for n, d in enumerate(file.documents):
            if (is_annotated(d) or file.has_spans) and d.text.strip():
                rows[normalised(content(d))].append((f, n))
    for places in rows.values():
        if len(places) < 2:
            continue
        seen = [annotation(files[f].documents[n]) for f, n in places]
        counted = Counter(seen)
        if len(counted) < 2:
            continue
        usual, most = counted.most_common(1)[0]
        g, m = places[seen.index(usual)]
        other = files[g].documents[m]
        for (f, n), one in zip(places, seen, strict=True):
            if one == usual:
                continue
            d = files[f].documents[n]
            if d.columns.get(LABEL) and len(d.tokens) != len(other.tokens):
                continue  # the same letters, tokenised differently
            told.add((f, n))
            often = f"{most} of {len(places)} times" if most > 1 else "once"
            what = f"{_difference(d, other)} at {files[g].place(m)} ({often}): {quoted(d.text)}"
            severity = ERROR if content(d) == content(other) else WARNING
            yield files[f].finding(
                CHECK,
                severity,
                n,
                what,
                _advice(d, other) if most > counted[one] else "choose one",
                token=_first_difference(d, other),
                weight=most / counted[one],
            )


def _surroundings(files: Sequence[CorpusFile], told: set[Place]) -> Iterator[Finding]:
    """Tokens with another tag than usual in the same context, except in rows that were reported as a whole."""
    mixed = _mixed_windows(files)
    tags: dict[Window, Counter[str]] = defaultdict(Counter)
    places: dict[Window, list[tuple[int, int, int, str]]] = defaultdict(list)
    for f, n, t, window, tag in _tagged_windows(files):
        if hash(window) in mixed:
            tags[window][tag] += 1
            places[window].append((f, n, t, tag))
    for window, counted in tags.items():
        if len(counted) < 2 or (window[0] == EDGE and window[-1] == EDGE):
            continue
        (usual, most), (_, second) = counted.most_common(2)
        if most == second:
            continue
        around = " ".join(word for word in window if word != EDGE)
        for f, n, t, given in places[window]:
            if given == usual or (f, n) in told:
                continue
            times = f"{most} of {counted.total()} times"
            what = f"{window[WINDOW]!r} is {given} in {around!r}, elsewhere {usual} ({times})"
            yield files[f].finding(
                CHECK, WARNING, n, what, f"{usual}?", token=t, weight=most / counted[given] - WHOLE_ROWS
            )


def _mixed_windows(files: Sequence[CorpusFile]) -> set[int]:
    """The hashes of the windows that have more than one tag: a pass that keeps no window in memory."""
    first: dict[int, str] = {}
    mixed: set[int] = set()
    for _, _, _, window, tag in _tagged_windows(files):
        key = hash(window)
        if first.setdefault(key, tag) != tag:
            mixed.add(key)
    return mixed


def _tagged_windows(files: Sequence[CorpusFile]) -> Iterator[tuple[int, int, int, Window, str]]:
    """File, document and token, the words around it and its tag."""
    for f, file in enumerate(files):
        for n, document in enumerate(file.documents):
            d = with_tags(document, file.has_spans)
            if d is None:
                continue
            words = [EDGE] * WINDOW + [token.text for token in d.tokens] + [EDGE] * WINDOW
            for t, tag in enumerate(d.columns.get(LABEL, ())):
                yield f, n, t, tuple(words[t : t + 2 * WINDOW + 1]), tag


def _names(files: Sequence[CorpusFile]) -> Iterator[Finding]:
    """Spans of words that nearly always have another type elsewhere."""
    found: dict[str, list[tuple[str, int, int, int]]] = defaultdict(list)
    for f, file in enumerate(files):
        for n, d in enumerate(file.documents):
            for label, words, t in _labelled_words(file, d):
                found[normalised(words)].append((label, f, n, t))
    for words, cases in found.items():
        counted = Counter(label for label, *_ in cases)
        usual, most = counted.most_common(1)[0]
        if len(counted) < 2 or most < OFTEN:
            continue
        for label, f, n, t in cases:
            if label != usual and counted[label] <= SELDOM * len(cases):
                what = f"{words!r} is {label} here, elsewhere {usual} ({most} of {len(cases)} times)"
                yield files[f].finding(
                    CHECK, HINT, n, what, f"{usual}?", token=t, weight=most / counted[label]
                )


def _labelled_words(file: CorpusFile, d: Document) -> Iterator[tuple[str, str, int]]:
    """Type, words and first token of every span."""
    if d.spans:
        for s in d.spans:
            yield s.label, d.text[s.start : s.end], 0
    elif file.scheme is not None and LABEL in d.columns:
        for label, start, end in spans(d.columns[LABEL], file.scheme):
            yield label, d.text[d.tokens[start].start : d.tokens[end - 1].end], start


def _first_difference(d: Document, other: Document) -> int:
    both = zip(d.columns.get(LABEL, []), other.columns.get(LABEL, []), strict=False)
    return next((t for t, (a, b) in enumerate(both) if a != b), 0)


def _difference(d: Document, other: Document) -> str:
    """The differences of two annotations, d first."""
    if d.columns.get(LABEL) != other.columns.get(LABEL):
        t = _first_difference(d, other)
        a, b = (x.columns.get(LABEL, [""])[t] for x in (d, other))
        return f"{d.tokens[t].text!r} is {a} here, {b}"
    if sorted(d.labels) != sorted(other.labels):
        return f"labelled {_listed(d.labels)} here, {_listed(other.labels)}"
    if d.spans != other.spans:
        mine, theirs = ({(s.label, d.text[s.start : s.end]) for s in x.spans} for x in (d, other))
        only = [_spoken(sorted(a - b)) for a, b in pairwise((mine, theirs, mine))]
        return f"{only[0]} here, {only[1]}"
    return "a different tree here than" if d.tree is not None else "different links here than"


def _advice(d: Document, other: Document) -> str:
    """The other annotation, if it is one label."""
    if d.columns.get(LABEL) != other.columns.get(LABEL):
        return f"{other.columns.get(LABEL, [''])[_first_difference(d, other)]}?"
    return f"{_listed(other.labels)}?" if sorted(d.labels) != sorted(other.labels) else "as there?"


def _spoken(pairs: list[tuple[str, str]]) -> str:
    return ", ".join(f"{text!r} is {label}" for label, text in pairs) or "no such span"


def _listed(labels: list[str]) -> str:
    return " and ".join(sorted(labels)) or "nothing"


# -- duplicates: texts that occur twice in a file, or in a training file and a held-out file -----------------------

DUPLICATES = "duplicates"

# Shorter lines repeat by chance: "1 onion", "Thank you ."
LONG = 8


def duplicates(files: Sequence[CorpusFile]) -> Iterator[Finding]:
    """Every row that repeats the text of an earlier row, ignoring case and spaces.

    Eight or more words repeated in another file are an error: a score on training text says nothing about new text.
    """
    first: dict[str, list[tuple[int, int]]] = defaultdict(list)  # by text, its first row in each file
    for f, file in enumerate(files):
        for n, d in enumerate(file.documents):
            key = normalised(content(d))
            if not key:
                continue
            met = first[key]
            if met:
                g, m = met[0]
                leak = g < f
                same = (
                    "the same text as"
                    if files[g].documents[m].text == d.text
                    else "except for case and spaces, the same text as"
                )
                words = len(key.split())
                what = f"{same} {files[g].place(m)}: {quoted(d.text)}"
                severity = ERROR if leak and words >= LONG else HINT
                advice = "remove it from one of the two files" if severity == ERROR else ""
                yield file.finding(DUPLICATES, severity, n, what, advice, weight=words + 1e6 * leak)
            if not met or met[-1][0] != f:
                met.append((f, n))
