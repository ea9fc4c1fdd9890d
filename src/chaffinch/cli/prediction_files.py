"""The files that ``chaffinch predict`` reads and writes."""

from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Any

from chaffinch.errors import ConfigError, DataError
from chaffinch.files import STDIO, is_stream, refuse_unwritable, without_packing
from chaffinch.kinds import Kind
from chaffinch.kinds.answer_names import OF_FOLDERS, name_of_answers
from chaffinch.kinds.requests import PredictRequest

ONE_VALUE = (".json", ".html", ".parquet")


def inputs_of(given: Sequence[Path]) -> list[Path]:
    """The named files and the matches of patterns, in order."""
    found: list[Path] = []
    for path in given:
        if any(sign in str(path) for sign in "*?[") and not path.exists():
            matches = sorted(Path(name) for name in glob(str(path)))
            if not matches:
                raise DataError(f"{path}: no file matches")
            found += matches
        else:
            found.append(path)
    return found


def is_folder_for(inputs: Sequence[Path], out: str, to_format: str | None, engine: str | None) -> bool:
    """Whether the output is a folder with a file per input; what could not be written is refused.

    >>> is_folder_for([Path("a.csv")], "out/", None, None), is_folder_for([Path("a.csv")], "b.csv", None, None)
    (True, False)
    """
    output = Path(out)
    if engine is not None:
        _refuse_without_folder(inputs, output)
        return True
    folders = [path for path in inputs if path.is_dir()]
    several = len(inputs) > 1
    if to_format == OF_FOLDERS and several:
        return True
    if to_format != OF_FOLDERS and (output.is_dir() or out.endswith("/")):
        if folders and several:
            raise DataError(f"{folders[0]}: is a directory, expected a file")
        if not folders:
            if output.is_dir():
                refuse_unwritable(output / inputs[0].name)
            return True
    if several and to_format is None and not (output.exists() or output.suffix or is_stream(output)):
        raise ConfigError(
            f"{output}: its name has no extension and it is no folder; end it with / to make a folder with a file per "
            f"input, or name one file for all answers, such as {output}.jsonl"
        )
    if several and without_packing(output.name).endswith(ONE_VALUE):
        raise ConfigError(
            f"{output}: this format cannot hold the rows of several files; name a folder or a .jsonl file"
        )
    if not output.is_dir():  # a folder may be a corpus of brat
        refuse_unwritable(output)
    for path in inputs:
        if several and output.exists() and path.exists() and output.samefile(path):
            raise ConfigError(f"{output}: is an input too; name another file")
    return False


def targets_in(
    output: Path,
    inputs: Sequence[Path],
    kind: Kind,
    model: Any,
    asked: PredictRequest,
) -> list[Path]:
    """The file in a folder, which is made if it does not exist, for the answers to each input.

    In the folder of an input no file is replaced: it may be another input, or other data.
    """
    if any(str(path) == STDIO for path in inputs):
        raise ConfigError(f"{output}: a folder as output needs input files; name a file")
    targets = [output / name_of_answers(kind, model, path, asked) for path in inputs]
    taken: dict[Path, Path] = {}
    among_inputs = output.resolve() in {path.parent.resolve() for path in inputs}
    for path, target in zip(inputs, targets, strict=True):
        if target in taken:
            raise ConfigError(
                f"{output}: the answers to {taken[target]} and {path} would both be {target.name}; predict them into "
                "different folders"
            )
        taken[target] = path
        if target.exists() and path.exists() and target.samefile(path):
            raise ConfigError(f"{target}: is an input too; name another folder")
        if target.exists() and among_inputs:
            raise ConfigError(f"{target}: exists in the folder of an input; name another folder")
    if not output.is_dir():
        try:
            output.mkdir(parents=True)
        except OSError as e:
            raise DataError(f"{output}: cannot be created: {e.strerror}") from None
    for target in targets:
        if asked.to_format != OF_FOLDERS:
            refuse_unwritable(target)
    return targets


def _refuse_without_folder(inputs: Sequence[Path], output: Path) -> None:
    """Raise if the output for an engine is no folder and cannot become one."""
    if any(is_stream(path) for path in inputs) or is_stream(output):
        raise ConfigError("--engine needs input files and, as -o, a folder")
    if not output.is_dir() and (output.exists() or output.suffix):
        raise ConfigError(f"--engine needs a folder as -o, got {output}")
