"""chaffinch next."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from chaffinch.active import STRATEGIES, Queue, choose_queue, start_queue
from chaffinch.active.queue import AUDIT
from chaffinch.cli.console import err
from chaffinch.corpus import FORMATS, detect, read, write
from chaffinch.corpus.registry import TABLES, written_as
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import load
from chaffinch.files import STDIO, display_name, refuse_unwritable
from chaffinch.kinds import kind_of_model
from chaffinch.kinds.requests import PredictRequest
from chaffinch.knobs import LARGEST

EXAMPLES = """
chaffinch next names.chaff letters.txt -n 50 -o queue.jsonl
chaffinch next names.chaff letters.txt -n 50 -o tasks.json --to label-studio
chaffinch next stars.chaff new.csv -n 100 -o queue.csv
chaffinch next new.csv -n 50 -o start.csv
chaffinch next tagger.chaff pool.conll -n 50 -o queue.conll --audit-file audit.conll
"""


def command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="A model and a file of rows to choose from; without a model a first batch is chosen.",
            metavar="[MODEL] POOL",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--out", "--output", "-o", help="File to write the queue to; by default stdout.")
    ] = Path(STDIO),
    n: Annotated[int, typer.Option("-n", "--count", help="Number of rows.", min=1)] = 50,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="; ".join(f"{name}: {what}" for name, (what, _) in STRATEGIES.items())
            + ". By default doubt for sentences, typical for documents."
        ),
    ] = None,
    audit: Annotated[
        int,
        typer.Option(help="Draw one row in N at random, for an unbiased score; 0: none.", min=0),
    ] = AUDIT,
    audit_file: Annotated[
        Path | None, typer.Option(help="Write the audit rows to this file instead of the queue.")
    ] = None,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            help=f"Format of POOL, by default detected: {', '.join(sorted(FORMATS))}.",
            metavar="FORMAT",
        ),
    ] = None,
    to_format: Annotated[
        str | None,
        typer.Option(
            "--to", help="Format of the queue, if its name does not determine it.", metavar="FORMAT"
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Sentences: names of the columns (w,pos), or which to take (w=2,pos=4)."),
    ] = None,
    text: Annotated[str | None, typer.Option(help="Documents: the column of the text.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0, max=LARGEST[int])] = 0,
    threads: Annotated[int, typer.Option(help="0 for all cores.", min=0)] = 0,
) -> None:
    """Choose the rows to label next, and write them as tasks with the model's answers.

    One row in five is drawn at random: only the score on these rows estimates the score on the pool, because the
    others are chosen for being hard. Near-duplicates of chosen rows are left out. If the format has fields, the
    field "chosen" says why a row was chosen (doubt, audit, start).
    """
    if len(paths) > 2:
        raise ConfigError(f"expected a model and a pool, or a pool alone; got {len(paths)} files")
    pool = paths[-1]
    if str(pool) == STDIO:
        raise ConfigError("the pool is read twice, so it must be a file, not standard input")
    for path in (output, *([audit_file] if audit_file else [])):
        refuse_unwritable(path)
    if strategy is not None and strategy not in STRATEGIES:
        raise ConfigError(f"--strategy {strategy}: expected {', '.join(STRATEGIES)}")
    if len(paths) == 1:
        queue = _start(pool, from_format, text, n, seed, audit, output, audit_file, to_format, strategy)
    else:
        model = load(paths[0])
        kind = kind_of_model(model)
        asked = PredictRequest(
            data=pool,
            output=output,
            from_format=from_format,
            to_format=to_format,
            columns=columns,
            text=text,
            marginals="marginals" in kind.takes,
            threads=threads,
        )
        corpus = kind.pool(model, asked)
        texts = kind.texts(corpus)
        if not texts:
            raise DataError(f"{display_name(pool)}: has no row to choose from")
        queue = choose_queue(
            texts, kind.uncertainty(model, corpus), n, strategy or kind.strategy, seed, audit
        )
        for path, places in _files(queue, output, audit_file):
            kind.predict(
                model,
                dataclasses.replace(
                    asked,
                    output=path,
                    rows=tuple(queue.rows[i].number for i in places),
                    notes=tuple(_note(queue, i) for i in places),
                ),
            )
    _say(queue, output, audit_file, to_format)


def _files(queue: Queue, output: Path, audit_file: Path | None) -> list[tuple[Path, list[int]]]:
    """The files to write, and the places of the queue that each holds."""
    apart = set(queue.audit) if audit_file else set()
    found = [(output, [i for i in range(len(queue.rows)) if i not in apart])]
    return [*found, (audit_file, sorted(apart))] if audit_file else found


def _note(queue: Queue, place: int) -> dict[str, str | float]:
    row = queue.rows[place]
    return {"chosen": row.chosen} | ({} if row.doubt is None else {"doubt": round(row.doubt, 4)})


def _start(
    pool: Path,
    from_format: str | None,
    text: str | None,
    n: int,
    seed: int,
    audit: int,
    output: Path,
    audit_file: Path | None,
    to_format: str | None,
    strategy: str | None,
) -> Queue:
    """A first batch without a model: the centres of clusters of texts."""
    if strategy is not None:
        raise ConfigError("--strategy needs a model; without one the centres of clusters are chosen")
    documents = list(read(pool, from_format, **({} if text is None else {"text": text})))
    if not documents:
        raise DataError(f"{display_name(pool)}: has no row to choose from")
    queue = start_queue([d.text for d in documents], n, seed, audit)
    for path, places in _files(queue, output, audit_file):
        chosen = []
        for i in places:
            document = documents[queue.rows[i].number]
            document.fields |= _note(queue, i)
            chosen.append(document)
        as_it_came = detect(pool, from_format).name if str(path) == STDIO else None
        write(chosen, path, format=to_format or as_it_came)
    return queue


def _say(queue: Queue, output: Path, audit_file: Path | None, to_format: str | None) -> None:
    """Report what was chosen, and warn if the file cannot mark the audit rows."""
    audit = len(queue.audit)
    passed = f"; {queue.collapsed:,} near-duplicates skipped" if queue.collapsed else ""
    err.print(f"{len(queue.rows) - audit:,} rows chosen, {audit:,} drawn at random for the audit{passed}")
    format = to_format or (None if str(output) == STDIO else written_as(output, frozenset()).name)
    if audit and audit_file is None and (format is None or format in TABLES):
        err.print(
            "a file of columns cannot mark the audit rows: name a file for them with --audit-file, or write .jsonl"
        )
