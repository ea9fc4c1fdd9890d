"""Weights of training examples: from a field of the row, a column, or a file of numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch.corpus.lines import lines
from chaffinch.errors import DataError
from chaffinch.files import display_name
from chaffinch.knobs import knob
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.table import TokenTable


@dataclass(frozen=True, kw_only=True)
class WeightColumn:
    """Weights of examples."""

    weight: str | None = knob(
        None, "column or field of the example weights, or a text file with one number per example"
    )


def weights_of(path: Path, documents: Sequence[Document], name: str) -> list[float]:
    """One weight per document of a file: its field of this name, or its line in the file of this name.

    A weight is finite and at least 0; otherwise DataError names its place.
    """
    if not any(name in d.fields for d in documents):
        known = sorted({str(field) for d in documents for field in d.fields})
        return _of_file(path, name, len(documents), known)
    found = []
    for n, d in enumerate(documents, 1):
        where = f"{display_name(path)}: example {n}" if d.line is None else f"{display_name(path)}:{d.line}"
        if name not in d.fields:
            raise DataError(f"{where}: has no {name!r} to take its weight from")
        found.append(_number(d.fields[name], f"{where}: expected a weight in {name!r}"))
    return found


def weighted_table(path: Path, table: TokenTable, name: str) -> TokenTable:
    """The table with the weight of each sentence: a column that is constant within a sentence, or a file."""
    if name not in table.columns:
        known = [column for column in table.columns if column not in (WORD, LABEL)]
        return replace(table, weight=np.array(_of_file(path, name, table.n_sentences, known), np.float32))
    cells, found = table.columns[name].strings(), []
    for n, (a, b) in enumerate(pairwise(table.ptr.tolist()), 1):
        where = f"{display_name(path)}: sentence {n}"
        if len(set(cells[a:b])) > 1:
            raise DataError(f"{where}: its tokens have different weights in the column {name!r}")
        found.append(_number(cells[a] if b > a else 1, f"{where}: expected a weight in the column {name!r}"))
    rest = {column: table.columns[column] for column in table.columns if column != name}
    return replace(table, columns=rest, weight=np.array(found, np.float32))


def _of_file(path: Path, name: str, N: int, known: Sequence[str]) -> list[float]:
    if not Path(name).is_file():
        has = f"it has {', '.join(known)}" if known else "it has no further columns"
        raise DataError(
            f"{display_name(path)}: has no column or field {name!r} to take weights from ({has}), and there is no such "
            "file of numbers either"
        )
    shown = display_name(name)
    found = [
        _number(text.strip(), f"{shown}:{n}: expected a weight") for n, text in lines(name) if text.strip()
    ]
    if len(found) != N:
        raise DataError(f"{shown}: has {len(found)} weights, and {display_name(path)} has {N} examples")
    return found


def _number(value: Any, where: str) -> float:
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not (math.isfinite(found) and found >= 0):
        raise DataError(f"{where}, a number of at least 0, found {value!r:.60}")
    return found
