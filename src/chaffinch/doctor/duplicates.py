"""Duplicates: texts that occur twice in a file, or in a training file and a held-out file."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from chaffinch.doctor.corpus_file import CorpusFile, content, normalised
from chaffinch.doctor.finding import ERROR, HINT, Finding, quoted

CHECK = "duplicates"

# Lines of fewer words repeat themselves without anybody's doing: "1 onion", "Thank you ."
LONG = 8


def duplicates(files: Sequence[CorpusFile]) -> Iterator[Finding]:
    """Every row whose text, case and spaces aside, an earlier row has.

    In another file it is an error from eight words on: what a model was trained on says nothing about new text.
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
                    else "case and spaces aside, the text of"
                )
                words = len(key.split())
                what = f"{same} {files[g].place(m)}: {quoted(d.text)}"
                severity = ERROR if leak and words >= LONG else HINT
                advice = "remove it from one of the two files" if severity == ERROR else ""
                yield file.finding(CHECK, severity, n, what, advice, weight=words + 1e6 * leak)
            if not met or met[-1][0] != f:
                met.append((f, n))
