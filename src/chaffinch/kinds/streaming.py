"""Prediction block by block: in constant memory, each answer as soon as its row is read, in the order of the input."""

import csv
import io
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO

from chaffinch._core import delimited_lines
from chaffinch.corpus import detect
from chaffinch.corpus.annotations import CONFIDENCE, PREDICTION
from chaffinch.corpus.lines import BOM
from chaffinch.corpus.record_blocks import (
    JSON_LINES,
    TABLES,
    RecordBlock,
    has_records,
    record_blocks,
    single_records,
    without_header,
)
from chaffinch.corpus.registry import FORMATS, holds_nothing, with_extension, write_nothing
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.files import (
    STDIO,
    block_of,
    collecting,
    display_name,
    head,
    is_stream,
    many_writers,
    without_packing,
)
from chaffinch.kinds.document_answers import format_of_answers
from chaffinch.kinds.kind import Kind
from chaffinch.kinds.requests import BlockLayout, PredictRequest, Restart
from chaffinch.progress import Listener, Progress, keep_going

ON_ERROR = ("stop", "skip", "mark")
WHOLE_FORMATS = (
    "datasets",
    "label-studio",
    "brat",
    "letters",
    "token-rows",
)  # not a sequence of sentences or texts
BYTES = "MB"
NO_ANSWER = b"_"
TIMES = {"documents": 2}  # larger blocks: a byte of them has fewer features than one of sentences


def can_stream(kind: Kind, model: Any, asked: PredictRequest) -> bool:
    """Whether the answers of a row depend on that row alone, and input and output are sequences of rows."""
    if not kind.streams(model) or asked.steps or asked.rows is not None or Path(asked.data).is_dir():
        return False
    name = without_packing(asked.output.name)
    suggested = [FORMATS[asked.to_format]] if asked.to_format in FORMATS else with_extension(asked.output)
    whole = suggested and all(f.name in WHOLE_FORMATS for f in suggested)
    if name.endswith((".json", ".html", ".arrow")) or whole:
        return False
    format = detect(asked.data, asked.from_format, texts=kind.plural == "documents").name
    if format == "datasets" and _writes_parquet(asked):
        return False  # the ids of classes depend on all rows
    return has_records(format, head(asked.data))


def predict_file(
    kind: Kind, model: Any, asked: PredictRequest, on_error: str = "stop", listener: Listener = keep_going
) -> None:
    """Predict one file: block by block if that gives the same answers, else whole."""
    if holds_nothing(asked.data):
        write_nothing(asked.output, asked.to_format)
        return
    if can_stream(kind, model, asked):
        try:
            predict_stream(kind, model, asked, on_error, listener)
            return
        except Restart:
            if is_stream(asked.data) or is_stream(asked.output) or asked.layout is not None:
                raise DataError(
                    f"{display_name(asked.data)}: some rows have other columns than the first; predict one input file "
                    "into one output file"
                ) from None
    elif on_error != "stop":
        raise ConfigError("--on-error applies to files of rows whose answers are rows; leave it out")
    kind.predict(model, replace(asked, layout=None))


def predict_stream(
    kind: Kind, model: Any, asked: PredictRequest, on_error: str = "stop", listener: Listener = keep_going
) -> None:
    """Predict a file block by block; an output file is written completely or not at all.

    on_error: stop at a row that cannot be read; skip it; or mark it: write its bytes unchanged, without an answer
    """
    if on_error not in ON_ERROR:
        raise ConfigError(f"--on-error must be one of {', '.join(ON_ERROR)}, got {on_error!r}")
    format = detect(asked.data, asked.from_format, texts=kind.plural == "documents").name
    if on_error == "mark" and (format in TABLES or _writes_parquet(asked)):
        raise ConfigError("--on-error mark does not apply to Parquet, whose rows have types; use skip")
    if on_error == "mark" and _writes_conllu(asked) and format != "conllu":
        raise ConfigError("--on-error mark cannot write rows of another format into CoNLL-U; use skip")
    model, rules = (model, asked.rules) if asked.rules is None else (kind.ruled(model, asked.rules), None)
    request = replace(asked, from_format=format, layout=asked.layout or BlockLayout(), rules=rules)
    run = _StreamedPrediction(kind, model, request, on_error, _size(asked.data), listener)
    with many_writers(asked.output) as output:
        joined = ParquetBlocks(output) if _writes_parquet(asked) else None
        for block in record_blocks(asked.data, format, asked.text, TIMES.get(kind.plural, 1)):
            run.answer(block, output if joined is None else joined)
        run.write_waiting(output)
        if joined is not None:
            joined.close()
            if not joined.begun:
                write_nothing(asked.output, "parquet")
    run.tell()


def _writes_parquet(asked: PredictRequest) -> bool:
    """Whether the answers are a Parquet file."""
    name = without_packing(asked.output.name)
    return not asked.json and (
        asked.to_format == "parquet" or (asked.to_format is None and name.endswith(".parquet"))
    )


def _writes_conllu(asked: PredictRequest) -> bool:
    """Whether the answers are CoNLL-U."""
    name = without_packing(asked.output.name)
    return asked.to_format == "conllu" or (asked.to_format is None and name.endswith(".conllu"))


class ParquetBlocks(io.BytesIO):
    """Joins the Parquet files that are written to it into one; their columns must be the same."""

    def __init__(self, output: BinaryIO) -> None:
        super().__init__()
        self._output = output
        self._table: Any = None

    def write(self, content: Any) -> int:
        """Append the rows of a file; Restart if they have other columns than the first."""
        from pyarrow import parquet

        if not content:
            return 0
        rows = parquet.read_table(io.BytesIO(content))
        if self._table is None:
            self._table = parquet.ParquetWriter(self._output, rows.schema)
        elif rows.schema != self._table.schema:
            raise Restart
        self._table.write_table(rows)
        return len(content)

    @property
    def begun(self) -> bool:
        """Whether there was a file to join."""
        return self._table is not None

    def close(self) -> None:
        """Complete the file."""
        if self._table is not None:
            self._table.close()


@dataclass
class _StreamedPrediction:
    kind: Kind
    model: Any
    request: PredictRequest
    on_error: str
    size: int | None
    listener: Listener
    began: float = field(default_factory=perf_counter)
    failed: list[str] = field(default_factory=list)
    failures: int = 0
    waiting: list[bytes] = field(
        default_factory=list
    )  # marked rows above the first answer, whose header is not known

    def answer(self, block: RecordBlock, output: BinaryIO) -> None:
        """Predict a block; if some of its rows cannot be read, predict it row by row."""
        try:
            self._write(self._answered(block), output)
        except DataError as e:
            if self.on_error == "stop":
                raise
            pieces = single_records(block, self.request.from_format or "", self.request.text)
            if len(pieces) == 1:
                self._fail(block, e, output)
            else:
                for piece in pieces:
                    self.answer(piece, output)
        rate = block.end / (1 << 20) / max(perf_counter() - self.began, 1e-9)
        self.listener(Progress(BYTES, block.end >> 20, self.size, {"MB/s": rate}))

    def tell(self) -> None:
        """Warn about the number of failed rows, and show the first."""
        if self.failures:
            done = "left out" if self.on_error == "skip" else "written without an answer"
            rows, were = ("row", "was") if self.failures == 1 else ("rows", "were")
            warn_about_data(
                f"{self.failures:,} {rows} could not be read and {were} {done}; the first: {self.failed[0]}"
            )
        if self.request.layout is not None:
            for text, (count, of, always) in self.request.layout.remarks.items():
                replace(self.request, layout=None).remark(text, count, of, always=always)

    def _answered(self, block: RecordBlock) -> bytes:
        """The bytes that the kind writes for a block."""
        blank = not block.content or block.content.isspace()
        if blank and self.request.from_format not in ("text", *TABLES):
            return b""
        data, target = self.request.data, self.request.output
        with block_of(data, block.content, block.first_line), collecting(target) as collected:
            self.kind.predict(self.model, self.request)
        return collected.getvalue()

    def _write(self, answers: bytes, output: BinaryIO) -> None:
        layout = self.request.layout
        assert layout is not None
        if answers and self.kind.answers_have_header(self.request):
            header = answers[: answers.find(b"\n") + 1]
            if not layout.header:
                layout.header = header
            elif answers.startswith(layout.header):
                answers = answers[len(layout.header) :]
            else:
                raise Restart
            if self.waiting:
                output.write(header)
                self.write_waiting(output)
                answers = answers[len(header) :]
        output.write(answers)
        output.flush()

    def write_waiting(self, output: BinaryIO) -> None:
        """Write the marked rows that waited for a header; if there was no answer, below a header of their own."""
        layout = self.request.layout
        if not self.waiting or layout is None:
            return
        if not layout.header:
            names = [name.encode() for name in ("text", PREDICTION, CONFIDENCE)]
            layout.header = _delimiter_of_answers(self.request).join(names) + b"\n"
            output.write(layout.header)
        output.write(b"".join(_marked_cells(row, self.request, layout.header) for row in self.waiting))
        self.waiting = []

    def _fail(self, block: RecordBlock, error: DataError, output: BinaryIO) -> None:
        self.failures += 1
        self.failed = self.failed or [str(error)]
        if self.on_error != "mark" or self.request.layout is None:
            return
        record = without_header(block, self.request.from_format or "", self.request.text)
        record = record.removeprefix(BOM).strip(b"\r\n")
        if self.kind.answers_have_header(self.request):
            self.waiting.append(record)
            if self.request.layout.header:
                self.write_waiting(output)
        else:
            columns = self.kind.plural == "sentences"  # as which a tagger answers JSON on a pipe, too
            output.write(_marked(record, str(error), self.request, columns))
        output.flush()


def _marked(record: bytes, error: str, request: PredictRequest, columns: bool) -> bytes:
    """A row that could not be read, in the format of the answers: its bytes unchanged, without an answer.

    JSON holds no bytes that are not UTF-8: they become U+FFFD. columns: a pipe is answered in columns
    """
    if request.to_format is not None:
        of_json = request.to_format in JSON_LINES
    else:
        of_json = not columns and request.from_format in JSON_LINES and str(request.output) == STDIO
    if request.json or of_json or without_packing(request.output.name).endswith((".jsonl", ".ndjson")):
        row = record.decode(errors="replace")
        return (json.dumps({"error": error, "row": row}, ensure_ascii=False) + "\n").encode()
    lines = [line.removesuffix(b"\r") for line in record.split(b"\n") if line.strip()]
    width = len((request.layout or BlockLayout()).columns)
    answer = b"" if _writes_conllu(request) else (b"\t" if width > 1 else b" ") + NO_ANSWER
    return b"".join(line + answer + b"\n" for line in lines) + b"\n"


def _delimiter_of_answers(request: PredictRequest) -> bytes:
    """A tab if the answers are TSV, otherwise a comma."""
    format = format_of_answers(request.output, request.from_format or "", request.to_format)
    return b"\t" if format == "tsv" else b","


def _marked_cells(record: bytes, request: PredictRequest, header: bytes) -> bytes:
    """A row that could not be read as a row of a table: all its bytes are in the cell of the text.

    TSV cannot hold tabs and line breaks in a cell: they become spaces.
    """
    sign = _delimiter_of_answers(request).decode()
    names = next(csv.reader([header.decode()], delimiter=sign))
    text = record.decode("latin-1")  # which holds any byte
    cells = ["" for _ in names]
    cells[names.index("text") if "text" in names else 0] = (
        re.sub(r"[\t\r\n]", " ", text) if sign == "\t" else text
    )
    row = delimited_lines([[cell] for cell in cells], sign, sign == ",")
    return row.decode().encode("latin-1")


def _size(path: Path) -> int | None:
    """Megabytes of a file; None if its size is not known."""
    return (
        None
        if is_stream(path) or without_packing(path.name) != path.name.lower()
        else path.stat().st_size >> 20
    )
