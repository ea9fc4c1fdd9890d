"""brat standoff: a folder of pairs, ``a.txt`` with the text and ``a.ann`` with its spans.

    T1<TAB>PER 0 3<TAB>Ann

A span over a line break is written as one fragment per line (``0 3;4 9``) and is read as one span;
fragments with anything else between them are refused. Relations, events, attributes and notes are not
carried.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from chaffinch.corpus.annotations import check_offsets
from chaffinch.corpus.format import Format
from chaffinch.corpus.lines import fault, shown, whole_text
from chaffinch.corpus.losses import Losses
from chaffinch.errors import DataError
from chaffinch.files import STDIO
from chaffinch.text.document import Document, Span

KINDS = {
    "R": "relations",
    "E": "events",
    "A": "attributes",
    "M": "attributes",
    "N": "normalisations",
    "#": "notes",
    "*": "equivalences",
}
_ENTITY = re.compile(r"(\S+) (\d{1,10} \d{1,10}(?:;\d{1,10} \d{1,10})*)", re.ASCII)
_SAFE_NAME = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*")


def read(path: str | Path, *, losses: Losses | None = None) -> Iterator[Document]:
    """The documents of a folder and its subfolders, in order of name, or the one pair that ``path`` names.

    The id of a document is its file's name, without the ending, inside the folder.
    """
    tally = losses if losses is not None else Losses()
    for name, text_path, ann_path in _pairs(Path(path)):
        text = whole_text(text_path)
        yield Document(text=text, id=name, spans=_spans(ann_path, text, tally))


def write(documents: Iterable[Document], path: str | Path, *, force: bool = False) -> None:
    """A new folder of pairs, named by the documents' ids, or numbered if they have none.

    force: replace an existing folder, if it holds only such pairs
    """
    with _writing_folder(Path(path), force) as folder:
        for number, d in enumerate(documents, start=1):
            name = str(d.id) if d.id is not None else f"{number:06d}"
            if not _SAFE_NAME.fullmatch(name):
                raise DataError(f"document {number}: its id {name!r} cannot be the name of a file")
            text_path = folder / f"{name}.txt"
            if text_path.exists():
                raise DataError(f"document {number}: its id {name!r} is a duplicate, and names the file")
            text_path.parent.mkdir(parents=True, exist_ok=True)
            text_path.write_bytes(d.text.encode())
            lines = [_line(i, s, d.text) for i, s in enumerate(d.spans, start=1)]
            (folder / f"{name}.ann").write_bytes("".join(lines).encode())


def _pairs(path: Path) -> Iterator[tuple[str, Path, Path]]:
    """Name, text and annotations of each document."""
    if str(path) == STDIO:
        raise DataError("brat standoff is a folder of files and cannot be read from standard input")
    if path.is_dir():
        texts = sorted(p for p in path.rglob("*.txt") if p.is_file())
        orphans = sorted(p for p in path.rglob("*.ann") if not p.with_suffix(".txt").is_file())
        if orphans:
            raise DataError(f"{orphans[0]}: there is no text {orphans[0].stem}.txt beside it")
        if not texts:
            raise DataError(f"{path}: has no .txt file, so it is not a folder of brat documents")
        root = path
    else:
        texts, root = [path.with_suffix(".txt")], path.parent
    for text_path in texts:
        ann_path = text_path.with_suffix(".ann")
        if text_path.is_file() and not ann_path.is_file():
            raise DataError(f"{text_path}: there are no annotations {ann_path.name} beside it")
        yield text_path.relative_to(root).with_suffix("").as_posix(), text_path, ann_path


def _spans(path: Path, text: str, tally: Losses) -> list[Span]:
    spans = []
    for number, ended in enumerate(whole_text(path).split("\n"), start=1):
        line = ended.removesuffix("\r")
        if not line.strip():
            continue
        if line[0] == "T":
            try:
                spans.append(_span(path, number, line, text))
            except DataError as e:
                tally.refuse(e)
        elif line[0] in KINDS:
            tally.add(f"brat {KINDS[line[0]]} are not carried", f"{path}:{number}")
        else:
            raise fault(
                path,
                number,
                f"expected a line of brat standoff such as 'T1<TAB>PER 0 3', found {shown(line)}",
            )
    return spans


def _span(path: Path, number: int, line: str, text: str) -> Span:
    cells = line.split("\t", 2)
    match = _ENTITY.fullmatch(cells[1]) if len(cells) > 1 else None
    if match is None:
        raise fault(path, number, f"expected 'T1<TAB>LABEL START END<TAB>TEXT', found {shown(line)}")
    ends = [int(n) for n in re.split("[ ;]", match[2])]
    fragments = list(zip(ends[::2], ends[1::2], strict=True))
    for start, end in fragments:
        check_offsets(f"{path}:{number}", start, end, text)
    for (_, before), (after, _) in pairwise(fragments):
        gap = text[before:after]
        if before > after or gap.strip() or "\n" not in gap:
            raise fault(
                path, number, f"the span has a gap ({match[2]}); discontinuous spans are not supported"
            )
    start, end = fragments[0][0], fragments[-1][1]
    if len(cells) == 3 and cells[2].split() != text[start:end].split():
        raise fault(
            path,
            number,
            f"the span {start} to {end} covers {shown(text[start:end])}, but says {shown(cells[2])}",
        )
    return Span(match[1], start, end)


def _line(i: int, s: Span, text: str) -> str:
    if not s.label or any(c.isspace() for c in s.label):
        raise DataError(f"the label {s.label!r} has a space, which brat labels cannot hold")
    covered = text[s.start : s.end]
    pieces = [(m.start() + s.start, m.end() + s.start) for m in re.finditer(r"[^\n]+", covered)]
    if not pieces or (pieces[0][0], pieces[-1][1]) != (s.start, s.end):
        pieces = [(s.start, s.end)]
    ends = ";".join(f"{start} {end}" for start, end in pieces)
    on_one_line = covered.replace("\n", " ").replace("\r", " ")
    return f"T{i}\t{s.label} {ends}\t{on_one_line}\n"


@contextmanager
def _writing_folder(path: Path, force: bool) -> Iterator[Path]:
    """A folder that appears under its name only once it is complete."""
    if str(path) == STDIO:
        raise DataError("brat standoff is a folder of files and cannot be written to standard output")
    if path.exists() and not path.is_dir():
        raise DataError(f"{path}: is a file, expected the name of a folder for brat documents")
    if path.is_dir() and any(path.iterdir()):
        if not force:
            raise DataError(f"{path}: is not empty; brat documents are written to a new folder")
        foreign = next((p for p in path.rglob("*") if p.is_file() and p.suffix not in (".txt", ".ann")), None)
        if foreign is not None:
            raise DataError(
                f"{path}: has {foreign.name}, which is not a brat document, so the folder is not replaced"
            )
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as e:
        raise DataError(f"{path}: cannot be written: {e.strerror}") from None
    try:
        yield made
        made.chmod(0o755)
        if path.is_dir():
            shutil.rmtree(path)
        os.replace(made, path)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _is_corpus(folder: Path) -> bool:
    return any(folder.rglob("*.ann"))


FORMAT = Format(
    name="brat",
    extensions=(".ann",),
    read=read,
    write=write,
    carries=frozenset({"text", "spans", "id"}),
    folder=_is_corpus,
)
