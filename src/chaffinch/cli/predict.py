"""chaffinch predict."""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from chaffinch.cli import documents
from chaffinch.cli.steps import show_steps
from chaffinch.corpus import detect, read_table
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Classifier, Tagger, load
from chaffinch.files import STDIO, display_name, writing_text
from chaffinch.text.table import TokenTable

EXAMPLES = """
chaffinch predict model.chaff new.conll -o tagged.conll
cat dev.in | chaffinch predict model.chaff --kbest 3
chaffinch predict model.chaff dev.in --nth 3
chaffinch predict model.chaff dev.in --marginals
chaffinch predict easiest.chaff dev.in --steps --beside greedy.chaff -o steps.html
chaffinch predict stars.chaff new.csv -o labelled.csv
"""


def command(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[Path, typer.Argument(help="Sentences in columns; '-' for standard input.")] = Path(STDIO),
    output: Annotated[Path, typer.Option("--out", "-o", help="Where the result goes; else stdout.")] = Path(
        STDIO
    ),
    kbest: Annotated[
        int | None, typer.Option(help="Append the K best readings, a column each.", min=1)
    ] = None,
    nth: Annotated[
        int | None, typer.Option(help="Append the N-th best reading instead of the best.", min=1)
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Put the label's probability before it.")
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Show the order of decisions; an .html output is a page.")
    ] = False,
    beside: Annotated[
        list[Path] | None, typer.Option(help="--steps: a further model to show beside; may be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per sentence.")] = False,
    text: Annotated[str | None, typer.Option(help="Documents: the column of the text.")] = None,
    threads: Annotated[int, typer.Option(help="0 for all cores.", min=0)] = 0,
) -> None:
    """Label the sentences or documents of a file: the input comes back with the prediction as its last column."""
    if kbest is not None and nth is not None:
        raise ConfigError("--kbest and --nth exclude each other")
    loaded = load(model)
    if isinstance(loaded, Classifier):
        if kbest is not None or nth is not None or marginals:
            raise ConfigError(
                "--kbest, --nth and --marginals are for taggers; --json gives every label's probability"
            )
        documents.predict(loaded, data, output, text, json, threads)
        return
    tagger: Tagger = loaded
    tagger.threads = threads
    table = _table(data, tagger)
    if steps:
        show_steps([tagger, *map(load, beside or [])], table, output, display_name(data))
        return
    if beside:
        raise ConfigError("--beside goes with --steps")
    separator = " " if len(table.columns) == 1 else "\t"
    readings = _readings(tagger, table, kbest, nth)
    shown = [table.lists(name) for name in table.columns]
    added = [list(column) for column in zip(*readings, strict=True)]
    if marginals:
        best = tagger.predict(table)
        place = {label: i for i, label in enumerate(tagger.classes_.tolist())}
        added.insert(
            len(added) - 1,
            [
                [f"{p[t, place[y]]:.4f}" for t, y in enumerate(labels)]
                for p, labels in zip(tagger.predict_marginals(table), best, strict=True)
            ],
        )
    with writing_text(output) as stream:
        if json:
            names = list(table.columns)
            for n in range(table.n_sentences):
                row = {name: column[n] for name, column in zip(names, shown, strict=True)}
                row["predictions"] = [column[n] for column in added]
                stream.write(json_text.dumps(row, ensure_ascii=False) + "\n")
            return
        for n in range(table.n_sentences):
            cells = zip(*(column[n] for column in [*shown, *added]), strict=True)
            stream.writelines(separator.join(row) + "\n" for row in cells)
            stream.write("\n")


def _table(path: Path, tagger: Tagger) -> TokenTable:
    """The input. A column file has the columns of the training data, or the first of them; what follows is kept."""
    if detect(path).name not in ("columns", "hmm"):
        return read_table(path)
    table = read_table(path, format="columns", label="")
    known, found = tagger.columns_, len(table.columns)
    names = [*known[:found], *(f"input{i}" for i in range(len(known) + 1, found + 1))]
    missing = [name for name in tagger.model_.columns if name not in names]
    if missing:
        raise DataError(
            f"{display_name(path)}: has {found} columns, and the model reads {', '.join(tagger.model_.columns)}; "
            f"expected the columns of its training data: {', '.join(known)}"
        )
    return TokenTable(table.ptr, dict(zip(names, table.columns.values(), strict=True)), table.groups)


def _readings(tagger: Tagger, table: TokenTable, kbest: int | None, nth: int | None) -> list[list[list[str]]]:
    """Per sentence, the columns to append."""
    if kbest is None and nth is None:
        return [[labels] for labels in tagger.predict(table)]
    wanted = kbest or nth or 1
    found = tagger.predict_kbest(table, wanted)
    missing = [["_"] * (int(b) - int(a)) for a, b in zip(table.ptr[:-1], table.ptr[1:], strict=True)]
    rows = []
    for readings, blank in zip(found, missing, strict=True):
        labels = [labels for _, labels in readings]
        labels += [blank] * (wanted - len(labels))
        rows.append(labels if kbest is not None else labels[-1:])
    return rows
