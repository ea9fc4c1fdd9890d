"""The name of a file of answers in a folder: that of its input, if its format can hold the answers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from chaffinch.corpus.registry import named, with_extension
from chaffinch.files import PACKED
from chaffinch.kinds.kind import Kind
from chaffinch.kinds.requests import PredictRequest

OF_FOLDERS = "brat"  # a format whose output is a folder
OF_JSON = (".jsonl", ".ndjson", ".json")


def name_of_answers(kind: Kind, model: Any, path: Path, asked: PredictRequest) -> str:
    """The name of a file for the answers to this one: with another extension if a file of its name could not hold them.

    An explicit format decides on the extension, brat makes a folder; answers to a packed file are packed.
    """
    packing = path.suffix if path.suffix.lower() in PACKED else ""
    name = Path(path.name.removesuffix(packing))
    ending: str | None
    if asked.to_format == OF_FOLDERS:
        return name.stem
    if asked.json:
        ending = None if name.suffix.lower() in OF_JSON else OF_JSON[0]
    elif asked.to_format is not None:
        format = named(asked.to_format)
        ending = None if format in with_extension(name) else format.extensions[0]
    else:
        fixed = asked.steps or not with_extension(name)
        ending = None if fixed else kind.ending(model, replace(asked, data=path, output=name))
    return f"{name if ending is None else name.with_suffix(ending)}{packing}"
